"""The largest eigenvalues of a symmetric operator, and their eigenvectors.

Three ways, each for what is cheap: `TopEigenSolver` needs products alone and comes with a
certificate; `dense_eigenpairs` reads the whole matrix; `factor_eigenpairs` reads a factor F of
K = F Fᵀ with fewer columns than rows. (All eigenpairs for ridge regression: `eigenpairs`.)
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mercer.estimator import Seed
from mercer.gram import FactoredGram, GramOperator, Place, refuse_overflow, require
from mercer.solvers.result import Reason, Result
from mercer.threads import blas_limit, blas_threads, raise_if_stopped

WIDEST = 64  # columns of a block: wider ones need fewer products, but the products take longer
GUARDS = 11  # columns beyond those wanted, which make the wanted ones converge sooner
BLOCKS = 8  # blocks of the basis, in addition to what a restart keeps
SLIM = 2**25  # numbers of a basis, up to which one thread of BLAS computes with it
FLOOR = 32  # what rounding leaves of a residual, in units of eps
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Eigenpairs(Result):
    r"""Eigenvalues in decreasing order; ``coef`` has their eigenvectors as columns, (n, count).

    .. math:: K v_j = \lambda_j v_j, \qquad \lambda_1 \ge \lambda_2 \ge \ldots, \qquad V^\top V = I

    V is ``coef``.

    Attributes
    ----------
    values : ndarray of shape (count,)

    References
    ----------
    Wu & Simon, "Thick-restart Lanczos method for large symmetric eigenvalue problems", SIAM J.
    Matrix Anal. Appl. 22, 2000.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> found = dense_eigenpairs(DenseGram(np.diag([1.0, 3.0]), symmetric=True), 1)
    >>> found.values, abs(found.coef).round(6).tolist()
    (array([3.]), [[0.0], [1.0]])
    """

    values: np.ndarray = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True)
class TopEigenSolver:
    r"""The largest eigenvalues of a symmetric operator by products with blocks of vectors.

    .. math:: K v = \lambda v, \qquad \|K v - \lambda v\| \le \mathrm{tol}\, \max |\lambda|

    v is a unit vector of shape (n,).

    Parameters
    ----------
    count : int
        Number of eigenpairs.
    tol : float >= 0, default=1e-6
        Largest residual :math:`\|K v - λ v\|` of a unit vector v, relative to the largest
        :math:`|λ|`. An eigenvalue is then wrong by at most that, and mostly by its square. Below 32
        rounding units of K's precision it means these.
    max_iter : int, default=300
        Most products with K.
    memory : int, str or None
        Budget in bytes or as "4GB" in addition to K: the work takes about 200 numbers for each
        row and eigenpair, or less with less memory and more products; None means half of the free
        memory.
    random_state : int, RandomState or None
        Seed for the first block of vectors.
    patience : int, optional
        Stop after this many products that did not halve the residual, which may then be smaller
        than what ``tol`` allows for rounding: for a matrix that only has to give a good start.

    Notes
    -----
    A block Krylov method: the basis grows by the residuals of the pairs that are not yet good
    enough, and restarts from the best vectors when it is full (Wu & Simon, "Thick-restart Lanczos
    method for large symmetric eigenvalue problems", SIAM J. Matrix Anal. Appl. 22, 2000, in
    blocks). All vectors are orthogonalised twice. Negative eigenvalues count as smaller than 0:
    the largest are wanted, not the largest in size.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> K = DenseGram(np.diag(np.arange(100.0)), symmetric=True)
    >>> found = TopEigenSolver(3, random_state=0).solve(K)
    >>> found.values.round(6), found.coef.shape
    (array([99., 98., 97.]), (100, 3))
    """

    count: int
    tol: float = 1e-6
    max_iter: int = 300
    memory: int | float | str | None = None
    random_state: Seed = None
    patience: int | None = None

    def solve(self, K: GramOperator, start: np.ndarray | None = None) -> Eigenpairs:
        """The largest eigenpairs of K (n, n); ``start`` has approximate eigenvectors as columns."""
        from sklearn.utils import check_random_state

        random = check_random_state(self.random_state)
        n, k = K.shape[0], min(self.count, K.shape[0])
        block = min(k + GUARDS, WIDEST, n)
        keep = min(k + block, n)
        most = self._columns(K.beside(self.memory), n, keep, block)
        tol = max(self.tol, 0.0 if self.patience else FLOOR * float(np.finfo(K.dtype).eps))
        # threads of BLAS wait for each other longer than such slim matrices take
        with blas_threads(1) if n * most <= SLIM else nullcontext():
            return self._iterate(_Basis(K, most), k, keep, block, tol, random, start)

    def _iterate(self, basis, k, keep, block, tol, random, start) -> Eigenpairs:
        """Block Lanczos steps until the eigenpairs that are wanted have converged."""
        n, most = basis.V.shape
        new = random.standard_normal((n, block)) if start is None else start
        reached: list[float] = []
        for _ in range(self.max_iter):
            raise_if_stopped()
            if not basis.grow(new):  # an invariant subspace: go on outside of it
                basis.grow(random.standard_normal((n, block)))
            values, vectors, residuals = basis.ritz(min(keep, basis.size))
            errors = np.linalg.norm(residuals[:, :k], axis=0) / max(np.abs(values).max(), TINY)
            wanted = np.flatnonzero(errors > tol)
            whole = basis.size == n
            if whole or (len(errors) == k and len(wanted) == 0):
                break
            reached.append(float(errors.max(initial=0)))
            if self.patience and reached[-1] > min(reached[: -self.patience], default=np.inf) / 2:
                break
            # the residuals of what is not yet good enough, then those of the next pairs
            order = [*wanted, *range(min(k, len(errors)), residuals.shape[1])]
            new = residuals[:, order[:block]]
            if basis.size + new.shape[1] > most < n:
                basis.restart(keep)
        worst = float(errors.max(initial=0))
        converged = whole or (len(errors) == k and worst <= tol)
        return Eigenpairs(
            vectors[:, :k],
            values=values[:k],
            gap=worst,
            iterations=basis.products,
            converged=converged,
            reason=Reason.CONVERGED if converged else Reason.LIMIT,
            solver="TopEigenSolver",
            certificate="relative residual",
        )

    def _columns(self, place: Place, n: int, keep: int, block: int) -> int:
        """Columns of the basis: two such matrices in float64, and two of ``keep`` columns."""
        least, most = min(keep + block, n), min(keep + BLOCKS * block, n)
        column = 16 * n
        budget = place.budget((most + keep) * column)
        if budget < (least + keep) * column:
            what = f"{self.count} eigenpairs of {n:,} rows"
            place.refuse((least + keep) * column, what, ", or fewer eigenpairs")
        return min(most, budget // column - keep)


class _Basis:
    """An orthonormal basis V, the products W = K V, and the best approximations in its span."""

    def __init__(self, K: GramOperator, most: int):
        n = K.shape[0]
        self.K, self.size, self.products = K, 0, 0
        # columns in a row: those that are not used take no memory
        self.V, self.W = (np.empty((n, most), order="F") for _ in range(2))
        self.H = np.zeros((most, most))  # Vᵀ W; only its upper triangle is read

    def grow(self, new: np.ndarray) -> bool:
        """Add what the columns of ``new`` add to the span; False if that is nothing."""
        V = self.V[:, : self.size]
        Q = _orthonormal(new, V)[:, : self.V.shape[1] - self.size]
        if not Q.shape[1]:
            return False
        part = slice(self.size, self.size + Q.shape[1])
        self.V[:, part] = Q
        self.W[:, part] = self.K @ Q.astype(self.K.dtype, copy=False)
        self.size = part.stop
        self.H[: self.size, part] = self.V[:, : self.size].T @ self.W[:, part]
        self.products += 1
        return True

    def ritz(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The largest Ritz values, their vectors, and the residuals K v - λ v as columns."""
        V, W = self.V[:, : self.size], self.W[:, : self.size]
        H = self.H[: self.size, : self.size]
        refuse_overflow(H)
        with blas_limit(len(H)):
            values, Y = scipy.linalg.eigh(H, lower=False, check_finite=False)
        self.values, self.Y = values[::-1], Y[:, ::-1]
        values, Y = self.values, self.Y[:, :count]
        vectors = V @ Y
        return values[:count], vectors, W @ Y - vectors * values[:count]

    def restart(self, count: int) -> None:
        """Keep the span of the best vectors of the last `ritz` alone."""
        Y = self.Y[:, :count]
        self.H[:count, :count] = np.diag(self.values[:count])
        for A in (self.V, self.W):
            A[:, :count] = A[:, : self.size] @ Y
        self.size = count


def _orthonormal(new: np.ndarray, V: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what the columns of ``new`` add to the span of V.

    By matrix products and a small eigenproblem, twice: algorithm SVQB of Stathopoulos & Wu, "A
    block orthogonalization procedure with constant synchronization requirements", SIAM J. Sci.
    Comput. 23, 2002.
    """
    Q = np.asarray(new, np.float64)
    for least in (1e-14, 1e-2):  # of the squares of singular values, of unit columns
        size = np.linalg.norm(Q, axis=0)
        Q = Q[:, size > 0] / size[size > 0]
        Q = Q - V @ (V.T @ Q)
        with blas_limit(Q.shape[1]):
            squares, U = scipy.linalg.eigh(Q.T @ Q, check_finite=False)
        held = squares > least
        Q = Q @ (U[:, held] / np.sqrt(squares[held]))
    return Q


def dense_eigenpairs(K: GramOperator, count: int) -> Eigenpairs:
    r"""The largest eigenpairs from the whole matrix:

    .. math:: K = V \mathrm{diag}(\lambda) V^\top

    K has the shape (n, n). It takes O(n³) operations, and up to two matrices besides K.

    References
    ----------
    Golub & Van Loan, "Matrix Computations", 4th edition, 2013, section 8.3.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> dense_eigenpairs(DenseGram(np.diag([1.0, 3.0]), symmetric=True), 1).values
    array([3.])
    """
    A = K.block(slice(None), slice(None)).T  # in Fortran order, as LAPACK overwrites it
    refuse_overflow(A)
    n = len(A)
    values, vectors = scipy.linalg.eigh(
        A, subset_by_index=(n - count, n - 1), overwrite_a=True, check_finite=False
    )
    return Eigenpairs(vectors[:, ::-1], values=values[::-1], solver="LAPACK")


def factor_eigenpairs(K: FactoredGram) -> tuple[Eigenpairs, np.ndarray]:
    r"""Eigenpairs of a centred matrix from its factor:

    .. math:: \tilde F^\top \tilde F = Q \Lambda Q^\top, \qquad
              \tilde K = \tilde F \tilde F^\top = V \Lambda V^\top, \qquad
              V = \tilde F Q \Lambda^{-1/2}

    F̃, of shape (n, m), is F less the means of its columns.

    Returns the eigenpairs of F̃ᵀ F̃, of which ``coef`` is Q (m, m) so that K̃ has the eigenvectors
    F̃ Q / √λ, and the means (m,). O(n m²) operations. It is kernel PCA by a factor (Schölkopf et al.
    1998).

    Examples
    --------
    >>> from mercer.gram import FeatureGram
    >>> pairs, mean = factor_eigenpairs(FeatureGram(np.array([[1.0, 5.0], [3.0, 5.0]])))
    >>> pairs.values, mean
    (array([2., 0.]), array([2., 5.]))
    """
    require(K, "factor", "factor_eigenpairs")
    # one pass, since strips may be costly: centred by the mean of the first, then by what is left
    near, total, A = None, np.zeros(K.rank), np.zeros((K.rank, K.rank))
    for _, F in K.strips():
        F = F.toarray() if sp.issparse(F) else F
        near = F.mean(axis=0, dtype=np.float64).astype(F.dtype) if near is None else near
        C = F - near
        total += C.sum(axis=0, dtype=np.float64)
        A += C.T @ C
    rest = total / K.shape[0]
    A -= np.outer(total, rest)
    mean = rest if near is None else near + rest
    refuse_overflow(A)
    values, Q = scipy.linalg.eigh(A, overwrite_a=True, check_finite=False)
    return Eigenpairs(Q[:, ::-1], values=values[::-1], solver="LAPACK"), mean
