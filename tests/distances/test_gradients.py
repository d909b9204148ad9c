"""Gradients of distances, against finite differences, one output at a time and all at once."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.distances import Cosine, Mahalanobis, MappedMinkowski, Minkowski

WEIGHTS = [0.5, 0.0, 2.0, 1.5]
MAP = np.array([[1.0, 0.5, 0.0, 0.0], [0.5, 1.0, -1.0, 0.0], [0.0, 0.0, 3.0, 0.2]])
DISTANCES = [
    *[Minkowski(p) for p in (1, 1.5, 2, 3)],
    *[Minkowski(p, WEIGHTS) for p in (1, 2)],
    Mahalanobis(precision=MAP.T @ MAP),
    *[MappedMinkowski(WEIGHTS, p) for p in (1, 2)],
    *[MappedMinkowski(MAP, p) for p in (1, 2, 2.5)],
]


def rows(seed, n):
    return np.random.default_rng(seed).normal(size=(n, 4))


@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
def test_gradients_equal_finite_differences(distance):
    X, Z = rows(0, 5), rows(1, 7)
    weights, coef = rows(2, 35)[:, 0].reshape(5, 7), rows(3, 7)[:, :3]
    step, expected = 1e-6, np.empty((3, 5, 4))
    for j in range(4):
        ahead, back = X.copy(), X.copy()
        ahead[:, j] += step
        back[:, j] -= step
        change = (distance.raw(ahead, Z) - distance.raw(back, Z)) / (2 * step)
        expected[:, :, j] = ((weights * change) @ coef).T
    found = distance.gradients(X, Z, weights, coef)
    assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    for c in range(3):
        one = distance.gradient(X, Z, weights * coef[:, c])
        assert_allclose(one, expected[c], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
def test_gradients_of_sparse_and_short_rows(distance):
    X, Z, weights, coef = rows(0, 5), rows(1, 7), np.ones((5, 7)), np.ones((7, 2))
    expected = distance.gradients(X, Z, weights, coef)
    sparse = distance.gradients(sp.csr_array(X), sp.csr_array(Z), weights, coef)
    assert_allclose(sparse, expected, rtol=1e-12, atol=1e-12)
    short = distance.gradients(*(A.astype(np.float32) for A in (X, Z, weights, coef)))
    assert short.dtype == np.float32
    assert_allclose(short, expected, rtol=1e-3, atol=1e-3)


def test_a_distance_without_a_gradient_says_so():
    for distance in (Cosine(), Minkowski(np.inf), MappedMinkowski(WEIGHTS, 0.5)):
        with pytest.raises(TypeError, match="has no gradient"):
            distance.gradients(rows(0, 3), rows(1, 3), np.ones((3, 3)), np.ones((3, 1)))


def test_a_mapped_distance_is_that_of_mapped_rows():
    X, Z = rows(0, 5), rows(1, 7)
    for p in (1, 2, np.inf):
        expected = Minkowski(p)(X @ MAP.T, Z @ MAP.T)
        assert_allclose(MappedMinkowski(MAP, p)(X, Z), expected, rtol=1e-12)
    expected = Mahalanobis(precision=MAP.T @ MAP)(X, Z)
    assert_allclose(MappedMinkowski(MAP)(X, Z), expected, rtol=1e-6)
    for linear_map in (WEIGHTS, MAP):
        sparse = MappedMinkowski(linear_map)(sp.csr_array(X), sp.csr_array(Z))
        assert_allclose(sparse, MappedMinkowski(linear_map)(X, Z), rtol=1e-6)


def test_units_far_apart_lose_no_digits():
    units = np.array([1e-12, 1.0, 1e12, 1e6])
    X = rows(0, 6)
    found = MappedMinkowski(1 / units)(X * units)
    assert_allclose(found, Minkowski(2)(X), rtol=1e-9, atol=1e-9)
    short = MappedMinkowski(MAP[:2] / units)((X * units).astype(np.float32))
    assert_allclose(short, MappedMinkowski(MAP[:2])(X), rtol=1e-4, atol=1e-4)


def test_a_map_that_loses_directions_is_no_metric():
    assert MappedMinkowski([1.0, 2.0]).metric
    assert not MappedMinkowski([1.0, 0.0]).metric
    assert MappedMinkowski(np.eye(3)).metric
    assert not MappedMinkowski(np.eye(3)[:2]).metric
    assert not MappedMinkowski([1.0, 2.0], p=0.5).metric


@pytest.mark.parametrize(
    ("linear_map", "message"),
    [
        ([1.0, 2.0], r"linear_map has shape \(2,\), but X has 4 columns"),
        (np.ones((2, 3)), r"linear_map has shape \(2, 3\), but X has 4 columns"),
        (np.ones((1, 1, 4)), r"linear_map has shape \(1, 1, 4\): give one factor"),
        (np.full(4, np.nan), "linear_map has NaN or infinity"),
    ],
)
def test_wrong_maps(linear_map, message):
    with pytest.raises(ValueError, match=message):
        MappedMinkowski(linear_map)(rows(0, 3))
