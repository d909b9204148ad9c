"""Sinkhorn divergence: its limits, weights, what is refused, and that it makes no kernel."""

import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from mercer import KNeighborsClassifier
from mercer.distances import Sinkhorn, SlicedWasserstein
from mercer.kernels import FromDistance, check_mercer

pytest.importorskip("ot")

RNG = np.random.default_rng(3)
BAGS = [RNG.normal(size=(n, 2)).round(3) for n in (4, 1, 9, 3)]


def wasserstein(a, b, u=None, v=None):
    """W2 squared, by a linear programme."""
    n, m = len(a), len(b)
    C = ((a[:, None] - b) ** 2).sum(axis=2)
    u, v = (np.full(k, 1 / k) if w is None else w / w.sum() for k, w in ((n, u), (m, v)))
    sums = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    return linprog(C.ravel(), A_eq=sums, b_eq=np.concatenate([u, v])).fun


def test_little_entropy_is_the_linear_programme():
    expected = [[np.sqrt(max(0, wasserstein(a, b))) for b in BAGS] for a in BAGS]
    found = Sinkhorn(0.01, max_iter=5000, tol=1e-3)(BAGS)
    assert_allclose(found, expected, atol=5e-3)
    assert found[0, 2] > 0.1


def test_much_entropy_is_the_distance_of_means():
    means = np.array([bag.mean(axis=0) for bag in BAGS])
    expected = np.linalg.norm(means[:, None] - means, axis=2)
    assert_allclose(Sinkhorn(1e6)(BAGS), expected, atol=1e-4)


def test_weights_are_repetition():
    bag = np.array([[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]])
    repeated = bag[[0, 1, 1, 1, 2, 2]]
    weighted = np.column_stack([bag, [1.0, 3.0, 2.0]])
    other = np.column_stack([BAGS[2], np.ones(9)])
    found = Sinkhorn(2.0, weight_column=2, tol=1e-9)([weighted], [other])
    assert_allclose(found, Sinkhorn(2.0, tol=1e-9)([repeated], [BAGS[2]]), rtol=1e-8)
    assert_allclose(Sinkhorn(2.0, weight_column=-1, tol=1e-9)([weighted], [other]), found)
    assert abs(found - Sinkhorn(2.0, tol=1e-9)([bag], [BAGS[2]])).min() > 0.01
    weighted[0, 2], u = 0.0, np.array([0.0, 3.0, 2.0])
    little = Sinkhorn(0.01, weight_column=2, max_iter=5000, tol=1e-3)([weighted], [other])
    assert_allclose(little**2, wasserstein(bag, BAGS[2], u), atol=0.02)


def test_values_do_not_depend_on_the_pairs_beside():
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(n, 2)) for n in (1, 30, 7, 9, 12, 2)]
    rho = Sinkhorn(4.0, tol=1e-8)
    D = rho(bags)
    for i, j in ((0, 1), (1, 3), (5, 4)):
        assert_allclose(rho([bags[i]], [bags[j]]), D[i, j], rtol=1e-6)


def test_far_from_the_origin_and_of_little_scale():
    D = Sinkhorn(4.0, tol=1e-9)(BAGS)
    assert_allclose(Sinkhorn(4.0, tol=1e-9)([bag + 1e6 for bag in BAGS]), D, atol=1e-4)
    assert_allclose(Sinkhorn(4e-16, tol=1e-9)([bag * 1e-8 for bag in BAGS]), D * 1e-8, atol=1e-13)
    assert_allclose(Sinkhorn(4e200, tol=1e-9)([bag * 1e100 for bag in BAGS]), D * 1e100, rtol=1e-6)


def test_a_share_of_the_spread_is_learnt_from_the_training_bags():
    points = np.concatenate(BAGS)
    weights = np.concatenate([np.full(len(bag), 1 / len(bag)) for bag in BAGS]) / len(BAGS)
    gaps = ((points[:, None] - points) ** 2).sum(axis=2)
    rho = Sinkhorn()
    X = rho.encode(BAGS)
    assert_allclose(rho.bind(X).regularisation, 0.05 * weights @ gaps @ weights)
    twice = rho.bind(X, sample_weight=np.array([1.0, 1, 2, 1])).regularisation
    doubled = rho.bind(rho.encode([*BAGS, BAGS[2]])).regularisation
    assert_allclose(twice, doubled)
    assert Sinkhorn().bind(rho.encode([[[3.0, 4.0]]] * 3)).regularisation == 1.0


def test_float32_bags_have_float32_distances():
    short = [bag.astype(np.float32) for bag in BAGS]
    found = Sinkhorn(2.0, tol=1e-8)(short)
    assert found.dtype == np.float32
    assert_allclose(found, Sinkhorn(2.0, tol=1e-8)(BAGS), atol=1e-5)


def test_neighbours():
    rng = np.random.default_rng(1)
    here = [rng.normal(size=(n, 2)) for n in (5, 9, 7)]
    there = [4 + rng.normal(size=(n, 2)) for n in (6, 8, 10)]
    model = KNeighborsClassifier(1, metric=Sinkhorn(2.0)).fit(here + there, [0] * 3 + [1] * 3)
    assert model.predict([here[0][::-1] + 0.1, there[2] - 0.1]).tolist() == [0, 1]


def test_iterations_end_with_a_warning_that_says_how_far():
    with pytest.warns(
        ConvergenceWarning, match=r"max_iter=2 for \d+ of \d+ pairs.*tol=1e-12.*give"
    ):
        D = Sinkhorn(0.01, max_iter=2, tol=1e-12)(BAGS)
    assert np.isfinite(D).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Sinkhorn(4.0)(BAGS)


@pytest.mark.parametrize(
    ("rho", "bags", "message"),
    [
        (Sinkhorn(0), BAGS, r'regularisation=0: give a finite number > 0, or "auto"'),
        (Sinkhorn("median"), BAGS, "regularisation='median'"),
        (Sinkhorn(weight_column=0.5), BAGS, "weight_column=0.5: give the number of a column"),
        (Sinkhorn(max_iter=0), BAGS, "max_iter=0: give a whole number >= 1"),
        (Sinkhorn(tol=-1.0), BAGS, "tol=-1.0: give a finite number > 0"),
        (Sinkhorn(weight_column=2), BAGS, "weight_column=2, but points have 2 numbers: give a"),
        (Sinkhorn(weight_column=0), [[[1.0]]], "weight_column=0, but points have 1 numbers"),
        (
            Sinkhorn(weight_column=1),
            [[[0, 1.0]], [[0, 2.0], [0, -1]]],
            r"column=1: point 1 of X\[1\] .* -1:",
        ),
        (
            Sinkhorn(weight_column=1),
            [[[0, 1.0]], [[0, 0.0]]],
            r"all points of X\[1\] have the",
        ),
        (Sinkhorn(1e-30), BAGS, r"regularisation=1e-30 is too small .* bags \d and \d"),
        (Sinkhorn(1.0), [[[1e200]], [[0.0]]], "regularisation=1 is too small"),
        (Sinkhorn(), [[[np.nan]]], r"X\[0\] holds nan in point 0"),
        (Sinkhorn(), [[]], r"X\[0\] has no points"),
    ],
)
def test_bad_input_is_refused(rho, bags, message):
    with pytest.raises(ValueError, match=message):
        rho(bags)


def test_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot.batch", None)
    with pytest.raises(ImportError, match=r'needs POT .* pip install "mercer\[objects\]"'):
        Sinkhorn()(BAGS)


def test_its_gaussian_is_no_kernel_where_that_of_sliced_transport_is_one():
    bags = list(np.random.default_rng(1).integers(0, 3, (24, 2, 2)).astype(float))
    kernel = FromDistance(Sinkhorn(0.02, tol=1e-6), 0.3, 2.0)
    assert kernel.positive_definite is not True
    check = check_mercer(kernel, bags)
    assert check.symmetric
    assert not check.positive_definite
    assert check.eigenvalues[-1] < -0.05
    assert check_mercer(FromDistance(SlicedWasserstein(), 0.3, 2.0), bags).positive_definite
