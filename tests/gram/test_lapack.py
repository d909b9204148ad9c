"""Cholesky's method in panels: what the routine for whole matrices gives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import cholesky_factor, inverse_diagonal, lapack
from mercer.threads import Stop


@pytest.fixture(params=[3, 8, 20])
def in_panels(request, monkeypatch):
    monkeypatch.setattr(lapack, "LARGE", 19)
    monkeypatch.setattr(lapack, "PANEL", request.param)


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
