"""Randomly pivoted Cholesky, and the operator that it makes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import DenseGram, LowRankGram, Place, TiledGram, gram, pivoted_cholesky
from mercer.kernels import RBF, Linear
from mercer.threads import Stop


def gaussian(n=120, dtype=np.float64, seed=0, place=Place()):
    X = np.random.default_rng(seed).normal(size=(n, 3)).astype(dtype)
    return TiledGram(RBF(0.2).bind(X), X, place=place)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_operator_agrees_with_its_dense_twin(dtype):
    low = pivoted_cholesky(gaussian(dtype=dtype), 20, random_state=0)
    dense = low.F @ low.F.T
    atol = 1e-12 if dtype == np.float64 else 1e-5
    V = np.random.default_rng(1).normal(size=(120, 3)).astype(dtype)
    rows = np.array([5, 0, 77])
    assert low.shape == (120, 120)
    assert low.dtype == dtype
    assert low.T is low
    assert_allclose(low @ V, dense @ V, atol=20 * atol)
    assert_allclose(low @ V[:, 0], dense @ V[:, 0], atol=20 * atol)
    assert_allclose(low.dense(), dense, atol=atol)
    assert_allclose(low.diag(), dense.diagonal(), atol=atol)
    assert_allclose(low.rows(rows), dense[rows], atol=atol)
    assert_allclose(low.block(rows, slice(3, 9)), dense[rows, 3:9], atol=atol)
    whole = np.zeros_like(dense)
    for i, j, tile in low.tiles():
        whole[i, j] = tile
        whole[j, i] = tile.T
    assert_allclose(whole, dense, atol=atol)


def test_factor_is_the_nystroem_approximation_on_its_centres():
    K = gaussian().dense()
    low = pivoted_cholesky(DenseGram(K, symmetric=True), 25, random_state=0)
    S = low.centres
    assert len(set(S.tolist())) == 25
    nystroem = K[:, S] @ np.linalg.solve(K[np.ix_(S, S)], K[S])
    assert_allclose(low.dense(), nystroem, atol=1e-9)
    assert_allclose(low.L @ low.L.T, K[np.ix_(S, S)], atol=1e-12)
    beta = np.random.default_rng(0).normal(size=25)
    assert_allclose(K[:, S] @ low.lift(beta), low.F @ beta, atol=1e-7)
    assert low.error == pytest.approx(np.trace(K - low.dense()) / np.trace(K), abs=1e-10)


def test_error_is_near_that_of_the_best_approximation():
    K = gaussian(300).dense()
    eigenvalues = np.linalg.eigvalsh(K)[::-1]
    errors = [
        pivoted_cholesky(DenseGram(K, symmetric=True), 30, random_state=s).error for s in range(5)
    ]
    assert np.mean(errors) < 5 * eigenvalues[30:].sum() / eigenvalues.sum()


def test_all_rows_as_centres_give_the_matrix():
    K = gaussian(40)
    low = pivoted_cholesky(K, 40, random_state=0)
    assert_allclose(low.dense(), K.dense(), atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_matrix_of_low_rank_is_found_out(dtype):
    X = np.random.default_rng(0).normal(size=(60, 4)).astype(dtype)
    low = pivoted_cholesky(TiledGram(Linear(), X), 30, random_state=0)
    assert low.rank == 4
    assert_allclose(low.dense(), X @ X.T, atol=1e-10 if dtype == np.float64 else 1e-4)


@pytest.mark.parametrize("columns", [3, 8])
def test_pivots_that_are_mostly_rounding_are_left_out(columns):
    """Smooth kernels of float32 had columns of rounding, and K - F Fᵀ entries as large as K's."""
    X = np.random.default_rng(0).uniform(-1.7, 1.7, size=(1000, columns)).astype(np.float32)
    K = gram(RBF(0.5 if columns == 3 else 0.01), X)
    for seed in range(4):
        low = pivoted_cholesky(K, 500, random_state=seed)
        streamed = LowRankGram(low.centres, low.L, K=K)
        for held in (low, streamed):
            assert np.abs(K.dense() - held.dense()).max() < 2e-4


def test_duplicates_are_taken_once():
    X = np.repeat(np.arange(5.0)[:, None], 8, axis=0)
    low = pivoted_cholesky(TiledGram(RBF(1.0), X), 40, random_state=0)
    assert low.rank == 5
    assert len(np.unique(X[low.centres])) == 5


def test_same_seed_same_centres_whatever_the_threads():
    one, three = (gaussian(3000, place=Place(n_jobs=jobs)) for jobs in (1, 3))
    a, b = (pivoted_cholesky(K, 30, random_state=3) for K in (one, three))
    assert np.array_equal(a.centres, b.centres)
    assert np.array_equal(a.F, b.F)
    other = pivoted_cholesky(gaussian(3000), 30, random_state=4)
    assert not np.array_equal(a.centres, other.centres)


def test_a_small_budget_streams_the_factor():
    X = np.random.default_rng(0).normal(size=(500, 3))
    kernel = RBF(0.2).bind(X)
    held = gram(kernel, X, rank=20, random_state=0)
    streamed = gram(kernel, X, rank=20, place=Place(2 * 100 * 20 * 8), random_state=0)
    assert held.F is not None
    assert streamed.F is None
    K = kernel.block(X, X)
    S = streamed.centres
    nystroem = K[:, S] @ np.linalg.solve(K[np.ix_(S, S)], K[S])
    assert_allclose(streamed.dense(), nystroem, atol=1e-8)
    with pytest.raises(MemoryError, match=r"memory=100 .*smaller rank="):
        gram(kernel, X, rank=20, place=Place(100))


def test_wrong_arguments():
    with pytest.raises(ValueError, match="rank=0: give a positive"):
        pivoted_cholesky(gaussian(), 0)
    with pytest.raises(ValueError, match="F and K are both None"):
        LowRankGram(np.arange(2), np.eye(2))


def test_centres_are_drawn_in_proportion_to_what_is_unexplained():
    K = DenseGram(np.diag(np.r_[100.0, np.ones(99)]), symmetric=True)
    found = [0 in pivoted_cholesky(K, 10, random_state=s).centres for s in range(20)]
    assert sum(found) >= 19  # each draw finds the first row with probability 1/2


def test_a_factor_of_low_rank_keeps_half_of_its_budget():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    whole = 20_000 * 100 * 8
    for memory, held in ((2 * whole, True), (2 * whole - 1, False), (whole // 2, False)):
        tracemalloc.start()
        low = gram(RBF(0.5), X, rank=100, place=Place(memory, 1), random_state=0)
        kept, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (low.F is not None) == held
        assert kept < memory / 2 + 1_000_000
        assert peak < memory / 2 + 6_000_000  # strips of it


def test_centres_of_a_streamed_factor_are_of_no_more_rows_than_fit():
    X = np.random.default_rng(0).normal(size=(500, 3))
    kernel = RBF(0.2).bind(X)
    seen = []

    class Watched(type(kernel)):
        def block(self, A, B):
            seen.append(A.shape[0])
            return super().block(A, B)

    K = gram(Watched(0.2).bind(X), X, rank=20, place=Place(2 * 100 * 20 * 8), random_state=0)
    assert max(seen) <= 100
    assert K.centres.max() >= 100  # of all rows, not of the first


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_work_that_should_stop_ends_between_two_strips(n_jobs):
    low = pivoted_cholesky(gaussian(), 20, random_state=0)
    with Stop() as stop:
        stop.set()
        with pytest.raises(KeyboardInterrupt):
            pivoted_cholesky(gaussian(place=Place(n_jobs=n_jobs)), 20, random_state=0)
        with pytest.raises(KeyboardInterrupt):
            next(low.strips())
