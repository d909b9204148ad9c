"""Distances between sets: peers, exact values, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from mercer import kernels
from mercer.distances import Dice, Jaccard, Tanimoto


@pytest.mark.parametrize(("distance", "name"), [(Jaccard(), "jaccard"), (Dice(), "dice")])
@pytest.mark.parametrize("width", [1, 9, 64, 200, 3000])
def test_0_1_matrices_agree_with_scipy_dense_and_sparse(distance, name, width):
    X = np.random.default_rng(0).random((20, width)) > 0.6
    X[1] = X[0]
    X[0, 0] = X[1, 0] = True  # scipy has no value for the Dice distance of two empty sets
    X[2:, 0] = True
    D = distance(X.astype(float))
    assert_allclose(D, cdist(X, X, name), rtol=1e-14, atol=1e-15)
    assert_array_equal(distance(sp.csr_array(X)), D)
    assert_array_equal(distance(X), D)


@given(st.lists(st.sets(st.integers(0, 200)), min_size=1, max_size=8))
def test_a_distance_is_1_less_its_kernel(sets):
    for distance, kernel in ((Jaccard(), kernels.Jaccard()), (Dice(), kernels.Dice())):
        D = distance(sets)
        assert_allclose(D, 1 - kernel(sets), rtol=0, atol=1e-15)
        assert_array_equal(D == 0, [[a == b for b in sets] for a in sets])
        assert_array_equal(D == 1, [[bool(a or b) and not a & b for b in sets] for a in sets])


def test_who_is_a_metric():
    assert Jaccard().metric
    assert not Dice().metric
    D = Dice()([{"a"}, {"b"}, {"a", "b"}])
    assert D[0, 1] > D[0, 2] + D[2, 1]


def test_tanimoto_is_a_metric_of_minima_and_maxima_alone():
    assert Tanimoto().metric
    assert not Tanimoto("dot").metric
    D = Tanimoto("dot")([{"a": 1}, {"a": 2}, {"a": 4}])
    assert_allclose(D[0], [0, 1 / 3, 9 / 13])
    assert D[0, 2] > D[0, 1] + D[1, 2]


@pytest.mark.parametrize("most", [20_000, 2**40])
def test_products_of_large_counts_in_float32(most):
    rng = np.random.default_rng(0)
    rows = rng.integers(most // 8, most, (40, 60))
    X = Tanimoto("dot").encode(np.concatenate([rows, rows])).astype(np.float32)
    D = Tanimoto("dot").block(X, X)
    assert D.dtype == np.float32
    assert D.min() >= 0
    assert_array_equal(np.diag(D), 0) if most < 2**20 else assert_allclose(np.diag(D), 0, atol=1e-7)
    exact = Tanimoto("dot")(np.concatenate([rows, rows]))
    assert exact.min() >= 0
    assert_allclose(D, exact, atol=1e-7)
    K = kernels.Tanimoto("dot")
    assert_allclose(np.diag(K.block(X, X)), K.diag(X), atol=1e-7)


def test_float32():
    X = Jaccard().encode([{1, 2, 3}, {2}]).astype(np.float32)
    D = Jaccard().block(X, X)
    assert D.dtype == np.float32
    assert D[0, 1] == np.float32(2) / np.float32(3)


def test_numbers_are_no_sets():
    with pytest.raises(ValueError, match=r"X holds 0\.3, but Jaccard reads a matrix.*\(X > 0\)"):
        Jaccard()(np.array([[0.3, 1.0]]))
    with pytest.raises(ValueError, match=r"2 columns, but .* 3 items"):
        Jaccard()(np.eye(2), np.eye(3))
