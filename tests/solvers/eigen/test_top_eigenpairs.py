"""The largest eigenpairs beside LAPACK's of the whole matrix, also where K is not kind."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import CentredGram, DenseGram, FeatureGram, Place, gram
from mercer.kernels import RBF
from mercer.solvers import Reason, TopEigenSolver, dense_eigenpairs, factor_eigenpairs
from mercer.solvers.eigen.top_eigenpairs import GUARDS
from mercer.threads import Stop

RNG = np.random.default_rng(0)


def dense(A):
    return DenseGram(A, symmetric=True)


def matrix(n, values):
    Q = np.linalg.qr(RNG.normal(size=(n, n)))[0]
    A = (Q * values) @ Q.T
    return (A + A.T) / 2


MATRICES = {
    "decaying": matrix(200, 0.8 ** np.arange(200)),
    "of rank 3": matrix(150, np.r_[3.0, 2.0, 1.0, np.zeros(147)]),
    "indefinite": matrix(120, np.r_[5.0, 4.0, -9.0, np.linspace(-3, 2, 117)]),
    "degenerate": matrix(150, np.r_[np.full(5, 7.0), np.full(4, 6.0), np.linspace(0, 1, 141)]),
    "identity": np.eye(90),
    "zero": np.zeros((40, 40)),
    "negative": -np.eye(30),
    "one row": np.array([[2.0]]),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("count", [1, 3, 9, 10**6])
def test_as_lapack(name, count):
    A = MATRICES[name]
    n, count = len(A), min(count, len(A))
    wanted = np.linalg.eigvalsh(A)[::-1][:count]
    size = max(np.abs(A).max(), 1e-300)
    for found in (
        TopEigenSolver(count, random_state=0).solve(dense(A)),
        dense_eigenpairs(dense(A), count),
    ):
        V = found.coef
        assert found.converged
        assert_allclose(found.values, wanted, atol=1e-10 * n * size)
        assert_allclose(V.T @ V, np.eye(count), atol=1e-9)
        assert_allclose(A @ V, V * found.values, atol=3e-6 * np.linalg.norm(A, 2) + 1e-300)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_by_tiles_in_both_precisions(dtype):
    X = RNG.normal(size=(600, 3)).astype(dtype)
    K = CentredGram(gram(RBF(0.5), X, place=Place("4MB")))
    whole = CentredGram(gram(RBF(0.5), X.astype(np.float64)))
    found = TopEigenSolver(6, random_state=0).solve(K)
    tol = 1e-12 if dtype == np.float64 else 1e-5
    assert found.converged
    assert_allclose(found.values, dense_eigenpairs(whole, 6).values, rtol=tol)


def test_the_certificate_is_the_residual():
    A = MATRICES["decaying"]
    for tol in (1e-2, 1e-5, 1e-12):
        found = TopEigenSolver(5, tol=tol, random_state=0).solve(dense(A))
        residual = np.linalg.norm(A @ found.coef - found.coef * found.values, axis=0).max()
        assert_allclose(residual / found.values[0], found.gap, rtol=1e-6, atol=1e-15)
        assert found.gap <= tol


def test_a_good_start_needs_one_product():
    A = MATRICES["decaying"]
    first = TopEigenSolver(5, tol=1e-9, random_state=0).solve(dense(A))
    again = TopEigenSolver(5, tol=1e-8, random_state=0).solve(dense(A), first.coef)
    assert (again.iterations, again.converged) == (1, True)


def test_little_memory_restarts_and_less_is_refused():
    A = MATRICES["decaying"]
    block = 5 + GUARDS
    least = 16 * len(A) * (5 + block + block + 5 + block)
    small = TopEigenSolver(5, memory=least, random_state=0).solve(dense(A))
    large = TopEigenSolver(5, memory="1GB", random_state=0).solve(dense(A))
    assert small.converged
    assert small.iterations >= large.iterations
    assert_allclose(small.values, large.values, rtol=1e-10)
    with pytest.raises(MemoryError, match=r'give memory="1MB" or more, or fewer eigenpairs'):
        TopEigenSolver(5, memory=least - 1).solve(dense(A))


def test_a_limit_is_said_and_a_stop_stops():
    found = TopEigenSolver(5, max_iter=1, random_state=0).solve(dense(MATRICES["decaying"]))
    assert (found.reason, found.iterations, found.converged) == (Reason.LIMIT, 1, False)
    with Stop() as stop:
        stop.set()
        with pytest.raises(KeyboardInterrupt):
            TopEigenSolver(5).solve(dense(np.eye(9)))


def test_patience_ends_where_rounding_does():
    """A large mean beside small differences: float32 does not reach this residual."""
    X = RNG.normal(size=(600, 3)).astype(np.float32)
    K = CentredGram(dense(RBF(1e-4)(X)))
    found = TopEigenSolver(9, tol=1e-9, random_state=0, patience=4).solve(K)
    assert found.iterations < 40
    assert not found.converged
    again = TopEigenSolver(9, tol=1e-9, random_state=0, patience=4).solve(dense(np.eye(90)))
    assert again.converged


def test_values_that_are_not_finite_are_refused():
    with np.errstate(all="ignore"), pytest.raises(np.linalg.LinAlgError, match="NaN or infinity"):
        TopEigenSolver(2, random_state=0).solve(dense(np.full((9, 9), np.inf)))


def test_a_factor_is_centred_before_it_is_squared():
    F = RNG.normal(size=(5000, 4)) * [4, 3, 2, 1] + 1e7
    pairs, mean = factor_eigenpairs(FeatureGram(F))
    C = F - F.mean(axis=0)
    assert_allclose(pairs.values, np.linalg.eigvalsh(C.T @ C)[::-1], rtol=1e-6)
    assert_allclose(mean, F.mean(axis=0))
    with pytest.raises(TypeError, match="factor"):
        factor_eigenpairs(dense(np.eye(3)))
