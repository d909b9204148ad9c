"""Ridge regression by a sketch: the solution of the normal equations, wherever the centres are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelRidge, KernelRidgeClassifier
from mercer.gram import DenseGram, FeatureGram, LowRankGram, gram, pivoted_cholesky
from mercer.gram.low_rank import pivots_of_some
from mercer.kernels import RBF
from mercer.learners.ridge import penalty
from mercer.solvers import LowRankSolver, Reason, SketchedSolver
from mercer.solvers.ridge import sketched


def on_centres(K, S, dtype=np.float64):
    block = K.block(S, S).astype(np.float64)
    return LowRankGram(S, np.linalg.cholesky(block + 1e-8 * np.eye(len(S))).astype(dtype), K=K)


def sample(kind, dtype=np.float64, n=900, m=60, outputs=None):
    """K on centres of a kind, targets, weights of which some are 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    if kind == "outlying":
        X[: m // 2] *= 6
    if kind == "doubled":
        X[:450] = X[450:]
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
    if outputs:
        y = np.column_stack([y, *rng.normal(size=(outputs - 1, n))])
    K = gram(RBF(0.1), X.astype(dtype))
    if kind == "pivoted":
        low = pivots_of_some(K, m, 5 * m, 0)
    elif kind == "doubled":
        low = on_centres(K, np.concatenate([np.arange(m // 2), 450 + np.arange(m // 2)]), dtype)
    else:
        low = on_centres(K, np.arange(m), dtype)
    return low, y, rng.integers(0, 4, n).astype(float)


def values(low, coef):
    return low.cross().astype(np.float64) @ coef


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("use_weights", [False, True])
@pytest.mark.parametrize("kind", ["uniform", "pivoted", "outlying", "doubled"])
@pytest.mark.parametrize("penalty", [1e-5, 0.9])
def test_it_is_the_solution_of_the_normal_equations(kind, use_weights, dtype, penalty):
    low, y, w = sample(kind, dtype)
    w = w if use_weights else None
    C = low.cross().astype(np.float64)
    V = C if w is None else w[:, None] * C
    A = C.T @ V + penalty * low.K.block(low.centres, low.centres).astype(np.float64)
    wanted = C @ np.linalg.lstsq(A, V.T @ y, rcond=1e-13)[0]
    share = np.ones(len(y)) if w is None else w  # a row of weight 0 may be anywhere

    def off(result):
        return np.sqrt(np.average((values(low, result.coef) - wanted) ** 2, weights=share))

    result = SketchedSolver(penalty).solve(low, y, w)
    most = 40 if kind == "doubled" else 30  # of a singular K[S, S], float32 knows less
    assert result.converged
    assert result.gap < 1e-4
    assert result.iterations <= most
    assert off(result) < 2e-3
    if dtype == np.float64:
        result = SketchedSolver(penalty, tol=1e-9).solve(low, y, w)
        assert result.converged
        assert off(result) < 1e-5
        error = y - values(low, result.coef)
        size = result.coef @ low.K.block(low.centres, low.centres) @ result.coef
        assert result.objective == pytest.approx(share @ error**2 + penalty * size, rel=1e-5)


def test_targets_have_their_penalties_and_share_the_sketch():
    low, y, w = sample("uniform", outputs=3)
    penalties = np.array([0.1, 1.0, 0.1])
    found = SketchedSolver(penalties, tol=1e-8).solve(low, y, w)
    factor = SketchedSolver(tol=1e-8).factorise(low, w)
    for j in range(3):
        one = factor.solve(y[:, j], penalties[j])
        assert_allclose(values(low, one.coef), values(low, found.coef[:, j]), atol=1e-6)
        sums = factor.residual_sums(y[:, j], one.coef)
        assert sums == pytest.approx(w @ (y[:, j] - values(low, one.coef)), abs=1e-6)
    assert factor.residual_sums(y, found.coef).shape == (3,)


def test_targets_far_from_zero_are_as_exact():
    low, y, _ = sample("uniform")
    exact = LowRankSolver(0.01).solve(low, y + 500)
    found = SketchedSolver(0.01).solve(low, y + 500)
    assert np.std(values(low, found.coef) - values(low, exact.coef)) < 0.02 * y.std()
    constant = SketchedSolver(0.01).solve(low, np.full(len(y), 3.0))
    assert constant.converged
    nothing = SketchedSolver(0.01).solve(low, np.zeros(len(y)))
    assert nothing.converged
    assert not nothing.coef.any()


def test_strips_and_panels_of_any_size(monkeypatch):
    low, y, w = sample("uniform", outputs=2)
    wanted = SketchedSolver(tol=1e-9).solve(low, y, w)
    monkeypatch.setattr(sketched, "STRIP_NUMBERS", 700)
    monkeypatch.setattr(sketched, "STRIPS", 3)
    monkeypatch.setattr(sketched, "PANEL", 7)
    found = SketchedSolver(tol=1e-9).solve(low, y, w)
    assert_allclose(values(low, found.coef), values(low, wanted.coef), atol=1e-6)


def test_no_penalty_and_a_factor_alone():
    low, y, _ = sample("pivoted", m=20)
    C = low.cross()
    wanted = C @ np.linalg.lstsq(C, y, rcond=None)[0]
    found = SketchedSolver(0.0, tol=1e-9).solve(low, y)
    assert_allclose(values(low, found.coef), wanted, atol=1e-4)
    dense = DenseGram(low.K.dense(), symmetric=True)
    given = pivoted_cholesky(dense, 20, random_state=0)
    given.K = None  # F and L alone
    found, other = (solver(0.5).solve(given, y) for solver in (SketchedSolver, LowRankSolver))
    assert_allclose(given.cross() @ found.coef, given.cross() @ other.coef, atol=1e-3)


def test_what_cannot_be_solved_is_said():
    low, y, _ = sample("uniform", m=20)
    with pytest.raises(ValueError, match="penalty=-1"):
        SketchedSolver(-1.0).solve(low, y)
    with pytest.raises(ValueError, match=r"oversampling=1\.0"):
        SketchedSolver(oversampling=1.0).solve(low, y)
    with pytest.raises(TypeError, match="centres"):
        SketchedSolver().solve(FeatureGram(np.eye(3)), np.ones(3))
    assert SketchedSolver(1e-6, max_iter=2).solve(low, y).reason is Reason.LIMIT
    low.K = DenseGram(np.full((900, 900), np.nan), symmetric=True)
    with pytest.raises(np.linalg.LinAlgError, match="NaN"):
        SketchedSolver().solve(low, y)
    low.K = DenseGram(np.diag(np.resize([1.0, -1.0], 900)), symmetric=True)
    with pytest.raises(np.linalg.LinAlgError, match="not positive semidefinite"):
        SketchedSolver().solve(low, y)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(penalty, "CENTRES", 30)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_low_rank_learner_takes_it_for_many_centres(dtype, small):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3)).astype(dtype)
    y, w = np.sin(X).sum(axis=1), rng.integers(0, 3, 800)
    given = {"alpha": 0.01, "kernel": "rbf", "gamma": 0.2, "rank": 40, "random_state": 0}
    model = KernelRidge(**given, solver="low_rank").fit(X, y, w)
    assert model.solver_ == "low_rank"
    assert model.n_iter_ > 1
    assert len(model.centres_) <= 40
    assert model.dual_coef_.dtype == dtype
    assert model.dual_coef_.shape == model.centres_.shape
    value = KernelRidge(**given, solver=SketchedSolver(tol=1e-6)).fit(X, y, w)
    assert_allclose(value.predict(X), model.predict(X), atol=2e-2)
    exact = KernelRidge(**{**given, "rank": None}).fit(X, y, w)
    assert np.std(value.predict(X) - exact.predict(X)) < 0.1 * y.std()
    # with deviations, and for leave-one-out errors, the normal equations serve
    assert KernelRidge(**given, solver="low_rank", uncertainty=True).fit(X, y).n_iter_ == 1
    assert KernelRidge(**{**given, "alpha": "auto"}, solver="low_rank").fit(X, y).n_iter_ == 1


def test_a_classifier_has_its_intercept(small):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = np.digitize(X[:, 0], [-1.0, 0.5])
    given = {"alpha": 0.1, "kernel": "rbf", "rank": 40, "random_state": 0, "solver": "low_rank"}
    fast = KernelRidgeClassifier(**given).fit(X, y)
    assert fast.n_iter_ > 1
    assert fast.score(X, y) > 0.95


def test_memory_that_is_too_small_is_said():
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = KernelRidge(1.0, kernel="rbf", solver=SketchedSolver(), rank=100, memory="100KB")
    with pytest.raises(MemoryError, match="sketch of 100 centres"):
        model.fit(X, X[:, 0])


def test_a_fit_that_did_not_converge_warns(small):
    X = np.random.default_rng(0).normal(size=(400, 3))
    model = KernelRidge(1e-6, kernel="rbf", solver=SketchedSolver(max_iter=1), rank=40)
    with pytest.warns(ConvergenceWarning, match="SketchedSolver stopped at the iteration limit"):
        model.fit(X, X[:, 0])


def test_an_indefinite_kernel_is_refused():
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ValueError, match="positive semidefinite kernel"):
        KernelRidge(1.0, kernel="sigmoid", solver=SketchedSolver()).fit(X, X[:, 0])
