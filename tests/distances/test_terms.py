"""Distances as weighted sums of terms, and the slopes by the weights; unit balls of norms."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.distances import (
    Edit,
    Jaccard,
    KernelDistance,
    Mahalanobis,
    MappedMinkowski,
    Match,
    Minkowski,
    Mixed,
    Sum,
)
from mercer.kernels import Spectrum

rng = np.random.default_rng(0)
X, Z = np.round(rng.normal(size=(9, 3)), 1), np.round(rng.normal(size=(7, 3)), 1)
Z[0] = X[0]
CODES = rng.choice(list("ab"), (9, 3))
TABLE = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "c": CODES[:, 0]})
W = np.array([0.5, 2.0, 0.0])
WORDS = ["anna", "hanna", "", "otto"]
CASES = [
    *[(Minkowski(p, W), X, Z) for p in (0, 0.5, 1, 2, 3.5)],
    (Minkowski(2, W), sp.csr_array(X), sp.csr_array(Z)),
    (Minkowski(1, W), X.astype(np.float32), Z.astype(np.float32)),
    (Match(W), CODES, CODES[:4]),
    (Mixed([(Minkowski(2), ["x", "y"]), (Match(), ["c"])], W[:2]), TABLE, TABLE[:4]),
    (Sum([Minkowski(1), Minkowski(2)], W[:2]), X, Z),
    (Sum([Minkowski(1), Minkowski(2)], W[:2], power=2), X.astype(np.float32), Z),
    (Sum([Edit(), KernelDistance(Spectrum(1))], W[:2], power=2), WORDS, WORDS[:2]),
]


@pytest.mark.parametrize(("distance", "left", "right"), CASES, ids=lambda value: repr(value)[:40])
def test_raw_is_a_sum_of_terms(distance, left, right):
    A = distance.encode(left)
    B = distance.encode(right, like=A)
    weights = np.asarray(distance.weights)
    terms = [distance.term(A, B, j) for j in range(distance.terms(A))]
    assert len(terms) == len(weights)
    raw = distance.raw(A, B)
    assert_allclose(np.tensordot(weights, terms, 1), raw, atol=1e-6 if raw.dtype == "f4" else 1e-12)
    coef = rng.normal(size=raw.shape)
    expected = [(coef * t).sum() for t in terms]
    assert_allclose(distance.weight_slopes(A, B, coef), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("distance", [Minkowski(np.inf), Mahalanobis(np.eye(3)), Edit()], ids=repr)
def test_others_have_no_terms(distance):
    assert distance.terms(X) == 0
    with pytest.raises(TypeError, match="not a weighted sum over features"):
        distance.term(X, Z, 0)


@pytest.mark.parametrize(
    "norm",
    [
        Minkowski(0.7),
        Minkowski(1),
        Minkowski(2, [0.3, 2.0]),
        Minkowski(5),
        Minkowski(np.inf, [3.0, 1.0]),
        Mahalanobis([[2.0, 0.5], [0.5, 0.4]]),
        MappedMinkowski([[1.0, 0.3], [0.0, 2.0]], 1),
        MappedMinkowski([1.0, -0.5], np.inf),
    ],
    ids=repr,
)
def test_balls(norm):
    """The volume by Monte Carlo; steps have length 1, and uniform radii fill the ball evenly."""
    side = 4.0
    points = rng.uniform(-side, side, (200_000, 2))
    inside = points[norm(points, np.zeros((1, 2)))[:, 0] <= 1]
    assert_allclose(np.exp(norm.log_ball(2)), len(inside) / 200_000 * (2 * side) ** 2, rtol=0.03)
    steps = norm.unit_steps(40_000, 2, np.random.RandomState(0))
    assert_allclose(norm(steps, np.zeros((1, 2)))[:, 0], 1, rtol=1e-9)
    filled = steps * np.sqrt(rng.uniform(size=(40_000, 1)))
    assert_allclose(np.cov(filled.T), np.cov(inside.T), atol=0.05 * np.cov(inside.T).max())


@pytest.mark.parametrize(
    "distance",
    [Minkowski(0), Minkowski(2, [1.0, 0.0]), Mahalanobis(precision=[[1.0, 0], [0, 0]]),
     MappedMinkowski([[1.0, 1.0]]), Match()],
    ids=repr,
)  # fmt: skip
def test_balls_without_volume(distance):
    assert distance.log_ball(2) is None


@pytest.mark.parametrize(
    ("distance", "error", "message"),
    [
        (Sum([]), ValueError, "give a list of at least one distance"),
        (Sum(Edit()), ValueError, "give a list of at least one distance"),
        (Sum([Edit(), Spectrum(2)]), TypeError, "for a kernel give KernelDistance"),
        (Sum([Edit()], [1.0, 2.0]), ValueError, "one finite number >= 0 for each of the 1"),
        (Sum([Edit()], [np.inf]), ValueError, "one finite number >= 0"),
        (Sum([Edit()], power=0), ValueError, "power=0: give a finite number > 0"),
        (Sum([Edit(), Jaccard()]), TypeError, "mixes distances on sets and strings"),
        (
            Sum([Edit(), Edit()], power=float("nan")),
            ValueError,
            "power=nan: give a finite number > 0",
        ),
    ],
)
def test_sums_refuse(distance, error, message):
    with pytest.raises(error, match=message):
        distance(WORDS)


def test_a_sum_of_kernel_distances_is_that_of_the_sum_of_kernels():
    one, two = Spectrum(1), Spectrum(2)
    rho = Sum([KernelDistance(one), KernelDistance(two)], [0.5, 2.0], power=2)
    assert_allclose(rho(WORDS), KernelDistance(0.5 * one + 2 * two)(WORDS), atol=1e-12)
    assert rho.definite_up_to == 2
    assert rho.metric is True
    assert Sum([KernelDistance(one)], power=0.5).metric is False
