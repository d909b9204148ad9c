"""The tree of leaves, and the Gram matrix that is exact inside them, against the definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import DenseGram, LocalGram, gram, grow_leaves, pivoted_cholesky
from mercer.kernels import RBF


def problem(n=130, rank=12, leaf_rows=20, dtype=np.float64, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3)).astype(dtype)
    low = pivoted_cholesky(gram(RBF(0.4), X), rank, random_state=0)
    return X, low, grow_leaves(low, leaf_rows, 0)


@pytest.mark.parametrize(("n", "leaf_rows"), [(130, 20), (128, 16), (7, 2), (5, 5), (1, 2), (3, 2)])
def test_each_row_has_one_leaf_and_leaves_are_alike_in_size(n, leaf_rows):
    _, _, leaves = problem(n, leaf_rows=leaf_rows)
    assert_array_equal(np.sort(leaves.order), np.arange(n))
    sizes = np.diff(leaves.starts)
    assert sizes.max() == leaves.largest <= leaf_rows
    assert sizes.max() - sizes.min() <= 1
    assert leaves.count & (leaves.count - 1) == 0
    for leaf in range(leaves.count):
        assert_array_equal(leaves.numbers()[leaves.rows(leaf)], leaf)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_training_rows_find_the_leaf_that_they_are_in(dtype):
    X, low, leaves = problem(dtype=dtype)
    scores = gram(RBF(0.4), X, X[low.centres]) @ leaves.routes
    assert_array_equal(leaves.find(scores), leaves.numbers())


def test_new_rows_go_where_their_neighbours_are():
    X, low, leaves = problem(400, 30, 50)
    Z = X + 1e-6
    found = leaves.find(gram(RBF(0.4), Z, X[low.centres]) @ leaves.routes)
    assert np.mean(found == leaves.numbers()) > 0.98


def test_rows_that_are_all_equal_are_cut_into_leaves_as_well():
    X = np.ones((50, 2))
    low = pivoted_cholesky(gram(RBF(1.0), X), 5, random_state=0)
    leaves = grow_leaves(low, 8, 0)
    assert leaves.largest <= 8
    assert (leaves.find(np.zeros((3, leaves.count - 1))) >= 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_is_exact_inside_leaves_and_of_low_rank_between_them(dtype):
    X, low, leaves = problem(dtype=dtype)
    K = LocalGram(low, leaves)
    exact, Q, leaf = RBF(0.4)(X), low.F @ low.F.T, leaves.numbers()
    wanted = np.where(leaf[:, None] == leaf, exact, Q)
    assert_allclose(K.dense(), wanted, atol=1e-6)
    assert_allclose(K.diag(), exact.diagonal(), atol=1e-6)
    i, j = np.array([5, 3, 100]), slice(20, 90, 3)
    assert_allclose(K.block(i, j), wanted[i][:, j], atol=1e-6)
    v = np.arange(len(X), dtype=dtype)
    assert_allclose(K @ v, wanted @ v, rtol=1e-4)
    assert np.linalg.eigvalsh(K.dense().astype(float)).min() > -1e-5
    rest, F = K.residual(2, np.dtype(np.float64))
    rows = leaves.rows(2)
    assert_allclose(rest + F @ F.T, exact[np.ix_(rows, rows)], atol=1e-6)


def test_some_leaves_are_the_part_of_the_matrix_for_their_rows():
    _, low, leaves = problem()
    K = LocalGram(low, leaves)
    some, rows = K.some(3)
    assert some.leaves.count == 3
    assert_allclose(some.dense(), K.dense()[np.ix_(rows, rows)], atol=1e-12)
    everything, rows = K.some(100)
    assert everything.shape == K.shape


def test_a_factor_that_is_not_held_gives_the_same():
    _, low, leaves = problem()
    strips = type(low)(low.centres, low.L, K=low.K)
    assert_allclose(LocalGram(strips, leaves).dense(), LocalGram(low, leaves).dense(), atol=1e-9)


def test_a_factor_of_an_unknown_matrix_is_refused():
    _, low, leaves = problem()
    with pytest.raises(ValueError, match="give one with K"):
        LocalGram(type(low)(low.centres, low.L, low.F), leaves)


def test_one_leaf_is_the_matrix_itself():
    K = np.cov(np.random.default_rng(0).normal(size=(9, 30)))
    low = pivoted_cholesky(DenseGram(K, symmetric=True), 3, random_state=0)
    assert_allclose(LocalGram(low, grow_leaves(low, 9)).dense(), K)
