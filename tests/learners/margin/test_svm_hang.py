"""Fits that once took minutes end after few rounds: stalls, infeasible ν, very many classes."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.learners.margin import many_classes
from mercer.solvers.smo import SmoSolver, smo
from mercer.solvers.smo.smo_state import LAST_ROUNDS, PATIENCE

MOST_ROUNDS = 4 * (PATIENCE + LAST_ROUNDS + 2)  # NuSVC solves up to four times


def uneven(seed, n=262, d=29):
    """Columns whose scales differ by twelve decades, and classes that do not depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-6, 6, d)
    return X, rng.permutation(n) < n * rng.uniform(0.27, 0.5)


@pytest.mark.spread(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kernel", ["cosine", "linear", "poly", "rbf"])
@pytest.mark.parametrize(
    "learner",
    [NuSVC(nu=0.534, tol=0.01), SVC(C=1e8, tol=1e-6), SVR(C=1e8, epsilon=0), NuSVR(C=1e6),
     OneClassSVM(nu=0.3, tol=1e-9)],
    ids=lambda learner: type(learner).__name__,
)  # fmt: skip
def test_a_stall_is_seen_early(learner, kernel, seed, monkeypatch):
    monkeypatch.setattr(smo, "TINY", 0)
    assert iterations(learner, kernel, seed) <= MOST_ROUNDS


@pytest.mark.spread(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kernel", ["cosine", "linear", "rbf"])
@pytest.mark.parametrize("learner", [SVC(C=1e8, tol=1e-6), OneClassSVM(nu=0.3, tol=1e-9)], ids=str)
def test_a_stall_is_seen_early_in_one_call(learner, kernel, seed):
    """Its steps are counted, and not its rounds."""
    most = smo.FIRST_STEPS * len(uneven(seed)[0])  # steps of a round
    assert iterations(learner, kernel, seed) <= smo.ROUNDS / 4 * most


def iterations(learner, kernel, seed):
    X, y = uneven(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not all of them can reach their tolerance
        try:
            learner.set_params(kernel=kernel).fit(X, y.astype(float))
        except ValueError as error:
            if "nu is infeasible" not in str(error):
                raise
            return 0
    assert np.isfinite(learner.predict(X)).all()
    return np.max(learner.n_iter_)


def test_an_infeasible_nu_is_seen_before_the_first_step(monkeypatch):
    monkeypatch.setattr(SmoSolver, "solve", None)
    y = np.repeat([0, 1, 2, 3], [40, 40, 40, 4])
    X = np.random.default_rng(0).normal(size=(len(y), 3))
    for multi_class, others in [("ovo", "0 and 3"), ("ovr", "3 and the rest")]:
        with pytest.raises(ValueError, match=f"nu=0.5 for the classes {others} must be <= 0"):
            NuSVC(nu=0.5, multi_class=multi_class).fit(X, y)


@pytest.mark.parametrize("learner", [SVC(), SVC(C=1e4), NuSVC(nu=0.1)], ids=str)
def test_very_many_classes_are_solved_together(learner, monkeypatch):
    """4,005 pairs of 2 to 7 rows; each class has one row at least."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(142, 5)), np.r_[np.arange(90), rng.integers(0, 90, 52)]
    calls = []
    solve = SmoSolver.solve
    monkeypatch.setattr(SmoSolver, "solve", lambda *a, **k: calls.append(1) or solve(*a, **k))
    learner.fit(X, y)
    assert len(calls) < 200
    assert learner.converged_
    assert learner.decision_function(X[:3]).shape == (3, 90)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize(
    "learner", [SVC(tol=1e-7), NuSVC(nu=0.3, tol=1e-7), SVC(C=np.inf)], ids=str
)
def test_pairs_that_are_solved_together_are_as_those_alone(learner, weights, monkeypatch):
    rng = np.random.default_rng(1)
    centres = 6 * rng.normal(size=(7, 3))
    y = np.repeat(np.arange(7), 9)
    X = centres[y] + rng.normal(size=(63, 3))
    w = rng.integers(1, 4, 63).astype(float) if weights else None
    together = learner.fit(X, y, w).decision_function(X)
    duals, gap = learner.dual_coef_, learner.dual_gap_
    monkeypatch.setattr(many_classes, "TINY", 0)
    monkeypatch.setattr(smo, "TINY", 0)
    alone = learner.fit(X, y, w).decision_function(X)
    assert_allclose(together, alone, atol=1e-4)
    assert_array_equal(duals.shape[0], learner.dual_coef_.shape[0])
    assert 0 <= gap < 1e-2
    assert 0 <= learner.dual_gap_ < 1e-2
