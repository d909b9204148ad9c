"""What a fitted support vector machine says of itself: gap, objective, margin, rounds, solver."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from learners.margin.machines import (
    CANCER,
    DIABETES,
    IRIS,
    MACHINES,
    beta_of,
    nu_svc_primal,
    nu_svr_primal,
    one_class_primal,
    overlapping,
    svc_primal,
    svr_primal,
    target,
)
from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import RBF, Polynomial

TOLS = [1e-1, 1e-3, 1e-8]
KERNELS = [RBF(0.3), Polynomial(2, gamma=0.2, coef0=1.0)]


def primal(model, K, y, w):
    """The primal's value at the machine's β and b."""
    beta, b = beta_of(model, len(K)), model.intercept_[0]
    sign = 2.0 * y - 1
    if isinstance(model, SVC):
        return svc_primal(K, sign, model.C * w, beta, b)
    if isinstance(model, NuSVC):  # Σ|β| is ν Σ w divided by the margin; the bounds are too
        C = w * np.abs(beta).sum() / (model.nu * w.sum())
        return nu_svc_primal(K, sign, C, model.nu, beta, b)
    t = target(SVR, y)
    if isinstance(model, SVR):
        return svr_primal(K, t, model.C * w, model.epsilon, beta, b)
    if isinstance(model, NuSVR):
        return nu_svr_primal(K, t, model.C * w, model.nu, model.epsilon_, beta, b)
    return one_class_primal(K, w, model.nu, beta, model.offset_)


@pytest.mark.parametrize("kernel", KERNELS, ids=["rbf", "poly"])
@pytest.mark.parametrize("tol", TOLS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("Machine", MACHINES)
def test_the_gap_is_that_between_the_primal_and_the_dual(Machine, tol, kernel, weighted):
    X, y = overlapping(150)
    w = np.random.default_rng(0).uniform(0.5, 2, 150) if weighted else np.ones(150)
    model = Machine(kernel=kernel, tol=tol, **({"nu": 0.6} if Machine is NuSVC else {}))
    model.fit(X, target(Machine, y), sample_weight=w)
    K = kernel(X)
    gap = primal(model, K, y, w) - model.objective_
    scale = 1 + abs(model.objective_)
    assert gap >= -1e-9 * scale  # weak duality
    assert_allclose(gap, model.dual_gap_, rtol=1e-6, atol=1e-9 * scale)
    sharp = Machine(kernel=kernel, tol=1e-10, **({"nu": 0.6} if Machine is NuSVC else {}))
    sharp.fit(X, target(Machine, y), sample_weight=w)
    if Machine is not NuSVC:  # where both are divided by a margin of their own
        assert sharp.objective_ - model.objective_ <= model.dual_gap_ + 1e-9 * scale
    assert sharp.dual_gap_ <= 1e-7 * scale


@pytest.mark.parametrize("Machine", MACHINES)
def test_the_gap_of_a_fit_that_was_cut_off_bounds_its_distance(Machine):
    X, y = overlapping(2300)
    parameters = {"gamma": 0.5} | ({"nu": 0.6} if Machine is NuSVC else {})
    with pytest.warns(UserWarning, match="duality gap"):
        model = Machine(max_iter=4, **parameters).fit(X, target(Machine, y))
    assert not model.converged_
    gap = primal(model, RBF(0.5)(X), y, np.ones(2300)) - model.objective_
    assert_allclose(gap, model.dual_gap_, rtol=1e-4)


@pytest.mark.parametrize("Machine", MACHINES)
def test_the_margin_is_one_over_the_norm(Machine):
    X, y = CANCER
    X = X + 5  # off the origin, from which OneClassSVM separates
    model = Machine(kernel="linear", **({"nu": 0.2} if Machine is NuSVC else {}))
    model.fit(X, target(Machine, y))
    # of columns whose means are 0 the one-class machine has w = 0 up to roundings
    norms = np.linalg.norm(model.coef_, axis=1)
    assert_allclose(1 / model.margin_, norms, rtol=1e-6, atol=1e-5)


def test_margins_of_several_machines():
    X, y = IRIS
    for multi_class, machines in (("ovo", 3), ("ovr", 3)):
        model = SVC(kernel="linear", multi_class=multi_class).fit(X, y)
        assert model.margin_.shape == model.intercept_.shape == model.n_iter_.shape == (machines,)
        assert_allclose(model.margin_, 1 / np.linalg.norm(model.coef_, axis=1), rtol=1e-6)


def test_a_machine_without_support_vectors_has_no_end_of_margin():
    with pytest.warns(UserWarning, match=r"inside the tube of epsilon=1000000000.* below"):
        model = SVR(epsilon=1e9).fit(*DIABETES)
    assert len(model.support_) == 0
    assert model.margin_.tolist() == [np.inf]
    assert model.objective_ == model.dual_gap_ == 0


@pytest.mark.parametrize("Machine", MACHINES)
def test_the_words_for_how_it_was_solved(Machine):
    X, y = overlapping(2200)
    parameters = {"nu": 0.6} if Machine is NuSVC else {}
    t = target(Machine, y)
    model = Machine(**parameters).fit(X, t)
    assert model.solver_ == "batch SMO"
    assert model.gram_ == "TiledGram 2200 x 2200 float32"
    model = Machine(**parameters, tol=1e-6).fit(X, t)
    assert model.gram_ == "TiledGram 2200 x 2200 float64"
    model = Machine(**parameters, solver="low_rank", rank=20).fit(X, t)
    assert model.solver_ == "batch SMO, low rank"
    assert model.gram_ == "LowRankGram 2200 x 2200 float32, rank 20"
    if Machine is not NuSVC:  # no plane parts these classes by a margin
        model = Machine(kernel="linear").fit(X, t)
        assert model.solver_ == "batch SMO in the primal"
        assert model.gram_ == "FeatureGram 2200 x 2200 float64"
    K = RBF(0.5)(X[:300])
    model = Machine(kernel="precomputed", **parameters).fit(K, None if t is None else t[:300])
    assert model.gram_ == "DenseGram 300 x 300 float64"
    assert model.converged_
    assert model.fit_status_ == 0
    assert np.all(np.asarray(model.n_iter_) >= 1)


def test_objective_and_gap_of_several_machines(monkeypatch):
    """The sum of the objectives, the largest of the gaps."""
    X, y = IRIS
    monkeypatch.setattr("mercer.solvers.smo.smo.TINY", 0)  # else all are exact
    model = SVC(tol=0.5, C=100.0, multi_class="ovr").fit(X, y)
    K, duals, gaps = model.kernel_(X), [], []
    for c in range(3):
        beta = np.zeros(150)
        beta[model.support_] = model.dual_coef_[c]
        duals.append(np.abs(beta).sum() - beta @ K @ beta / 2)
        sign = np.where(y == c, 1.0, -1.0)
        primal = svc_primal(K, sign, np.full(150, 100.0), beta, model.intercept_[c])
        gaps.append(primal - duals[-1])
    assert max(gaps) > 1.1 * min(gaps)  # so that it matters which
    assert_allclose(model.objective_, sum(duals), rtol=1e-9)
    assert_allclose(model.dual_gap_, max(gaps), rtol=1e-6)


def test_one_class_levels_without_free_variables():
    """nu=1: all at their bounds, and the plane is the nearest that leaves no row within."""
    X, _ = overlapping(60)
    model = OneClassSVM(nu=1.0, gamma=0.5).fit(X)
    assert_allclose(model.dual_coef_, 1)
    assert_allclose(model.decision_function(X).max(), 0, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine", "laplacian"])
@pytest.mark.parametrize("C", [1e-3, 1e4, 1.6e10])
@pytest.mark.parametrize("classes", [2, 6])
def test_the_gap_includes_its_own_rounding(kernel, C, classes, recwarn):
    """In long double, at the coefficients that were found. At large C any error of f is large."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(30, 90))
        X = rng.normal(size=(n, 4)) * 10.0 ** rng.uniform(-2, 2, 4)
        y = np.argsort(np.argsort(X[:, 0] / X[:, 0].std() + rng.choice([0, 0.3]) * X[:, 1]))
        y = y * classes // n
        model = SVC(C=C, kernel=kernel, tol=1e-4).fit(X, y)
        K = model.kernel_(X).astype(np.longdouble)
        beta = np.zeros((n, len(model.intercept_)), np.longdouble)
        beta[model.support_] = model._pair_coef()
        machines = [(0, 1)] if classes == 2 else list(combinations(range(classes), 2))
        for m, (a, b) in enumerate(machines):
            rows = np.flatnonzero((y == a) | (y == b))
            sign = np.where(y[rows] == (b if classes == 2 else a), 1, -1).astype(np.longdouble)
            mine = beta[rows, m]
            f = K[np.ix_(rows, rows)] @ mine
            errors = np.maximum(0, 1 - sign * (f + np.longdouble(model.intercept_[m]))).sum()
            gap = mine @ f + np.longdouble(C) * errors - sign @ mine
            assert gap <= model.dual_gap_ + 1e-17 * np.abs(mine).sum()  # that of the long doubles
