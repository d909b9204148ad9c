"""Cholesky's method in panels and in tiles: what the routine for whole matrices gives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import cholesky_factor, inverse_diagonal, lapack, whitened
from mercer.threads import Stop, ordered_map


@pytest.fixture(params=[3, 8, 20])
def in_panels(request, monkeypatch):
    monkeypatch.setattr(lapack, "LARGE", 19)
    monkeypatch.setattr(lapack, "PANEL", request.param)


@pytest.fixture(params=[1, 3, 8, 20, 64])
def in_tiles(request, monkeypatch):
    monkeypatch.setattr(lapack, "SHARED", 2)
    monkeypatch.setattr(lapack, "TILE", request.param)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_large_matrix_is_factorised_in_panels(dtype, in_panels):
    B = np.random.default_rng(0).normal(size=(20, 30))
    A = np.asfortranarray(B @ B.T, dtype)
    L = A.copy(order="F")
    assert cholesky_factor(L)
    tol = 1e-12 if dtype == np.float64 else 1e-4
    assert_allclose(np.tril(L), np.linalg.cholesky(A.astype(float)), rtol=tol, atol=tol)


@pytest.mark.parametrize("row", [0, 10, 19])
def test_a_matrix_that_is_not_positive_definite_is_told_in_every_panel(row, in_panels):
    A = np.asfortranarray(np.eye(20))
    A[row, row] = -1
    assert not cholesky_factor(A)


def test_no_rows():
    assert cholesky_factor(np.empty((0, 0), order="F"))


@pytest.mark.parametrize("routine", [cholesky_factor, inverse_diagonal])
def test_work_that_should_stop_ends_between_two_panels(routine, in_panels):
    A = np.asfortranarray(np.eye(20))
    with Stop() as stop:
        routine(A)
        stop.set()
        with pytest.raises(KeyboardInterrupt):
            routine(A)


@pytest.mark.parametrize("jobs", [2, 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [2, 19, 20, 61])
def test_a_matrix_is_factorised_in_tiles(n, dtype, jobs, in_tiles):
    B = np.random.default_rng(0).normal(size=(n, n + 10))
    A = np.asfortranarray(B @ B.T, dtype)
    L, again = A.copy(order="F"), A.copy(order="F")
    assert cholesky_factor(L, jobs)
    tol = 1e-11 if dtype == np.float64 else 1e-3
    assert_allclose(np.tril(L), np.linalg.cholesky(A.astype(float)), rtol=tol, atol=tol)
    assert lapack.tiled_factor(again, 1)
    assert (again == L).all()  # whatever the number of threads


@pytest.mark.parametrize("row", [0, 10, 19])
def test_a_matrix_that_is_not_positive_definite_is_told_by_every_tile(row, in_tiles):
    A = np.asfortranarray(np.eye(20))
    A[row, row] = -1
    assert not cholesky_factor(A, 2)


def test_work_that_should_stop_ends_between_two_tiles(in_tiles):
    A = np.asfortranarray(np.eye(20))
    with Stop() as stop:
        cholesky_factor(A, 2)
        stop.set()
        with pytest.raises(KeyboardInterrupt):
            cholesky_factor(A, 2)


def test_tiles_of_many_tasks_at_once(in_tiles):
    """Factorisations that start within a map have its threads among them, and end."""
    B = np.random.default_rng(0).normal(size=(40, 50))
    A = np.asfortranarray(B @ B.T)

    def task(jobs):
        L = A.copy(order="F")
        assert cholesky_factor(L, jobs)
        return np.tril(L)

    for L in ordered_map(task, [2, 3, None, 2, 4], 2):
        assert_allclose(L, np.linalg.cholesky(A), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 3), (3, 7), (2, 0)])
def test_whitened_rows(shape, dtype, order):
    rng = np.random.default_rng(0)
    n, m = shape
    L = np.array(np.tril(rng.normal(size=(m, m))) + 3 * np.eye(m), dtype, order=order)
    L += np.triu(np.full((m, m), np.nan), 1)  # the other triangle is not read
    rows = rng.normal(size=(n, m)).astype(dtype)
    wanted = np.linalg.solve(np.tril(np.nan_to_num(L)), rows.T.astype(float)).T
    for given in (rows, np.asfortranarray(rows)):
        assert_allclose(whitened(L, given.copy("A")), wanted, rtol=1e-3, atol=1e-5)
    with pytest.raises(ValueError, match="L has shape"):
        whitened(L, np.zeros((n, m + 1), dtype))
