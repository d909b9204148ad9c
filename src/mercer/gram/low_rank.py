"""Gram matrices with a factor: K = F Fᵀ of finitely many features, or K ≈ F Fᵀ of low rank.

With n rows and m features, dense or sparse, a product costs O(n m) and K itself is never formed:
this is the primal form of a linear kernel (`FactoredGram`).

`LowRankGram` approximates another matrix by randomly pivoted Cholesky. This is the Nyström
approximation with well chosen centres S: K ≈ K[:, S] K[S, S]⁻¹ K[S, :]. With K[S, S] = L Lᵀ the
factor is F = K[:, S] L⁻ᵀ. So a function with coefficients β on the columns of F has the
coefficients L⁻ᵀ β at the centres, and predictions need only the centres.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer.distances import inner_products, squared_norms
from mercer.gram.lapack import whitened
from mercer.gram.operator import DenseGram, GramOperator, Rows
from mercer.gram.place import Place
from mercer.threads import ordered_map, raise_if_stopped

PRODUCT = 4096  # rows of a product with a known factor


class FactoredGram(GramOperator):
    r"""A Gram matrix of shape (n, n) with a factor. Abstract: define `factor` and ``rank``.

    .. math:: K = F F^\top, \qquad K v = F\, (F^\top v)

    F has the shape (n, rank), so that a product takes O(n rank) operations.

    References
    ----------
    Shawe-Taylor & Cristianini, "Kernel Methods for Pattern Analysis", 2004.
    """

    symmetric = True
    cheap = frozenset({"rows", "factor"})
    rank: int

    @abstractmethod
    def factor(self, i: Rows) -> Any:
        """F[i], shape (len(i), m)."""

    @abstractmethod
    def strips(self) -> Iterator[tuple[slice, Any]]:
        """Yield (rows, F[rows]); the strips cover F once."""

    def combine(self, i: Rows, coef: np.ndarray) -> np.ndarray:
        """F[i]ᵀ coef, shape (m,), summed over strips in float64."""
        rows, total = np.arange(self.shape[0])[i], np.zeros(self.rank)
        for s in range(0, len(rows), PRODUCT):
            F = self.factor(rows[s : s + PRODUCT])
            total += F.T @ coef[s : s + PRODUCT].astype(F.dtype, copy=False)
        return total

    def gathered(self) -> np.ndarray:
        """Fᵀ F, shape (m, m), in float64, summed over strips."""
        total = np.zeros((self.rank, self.rank))
        for _, F in self.strips():
            total += F.T @ F
        return total

    def project(self, w: np.ndarray) -> np.ndarray:
        """F w, shape (n,)."""
        w = w.astype(self.dtype, copy=False)
        return np.concatenate([F @ w for _, F in self.strips()])

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> GramOperator:
        return FeatureGram(self.factor(i), Place(1, 1)) if j is None else super().part(i, j)

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        return inner_products(self.factor(i), self.factor(j))


class FeatureGram(FactoredGram):
    r"""F in memory: samples of a linear kernel, or features of another finite map:

    .. math:: K = F F^\top, \qquad K_{ij} = \langle f_i, f_j \rangle

    The rows of F are the features of the samples.

    Parameters
    ----------
    F : ndarray or CSR matrix of shape (n, m)
    place : Place, default=Place(memory=1)
        Memory and threads; if K needs at most half of the memory, K may be kept in it.

    References
    ----------
    Shawe-Taylor & Cristianini, "Kernel Methods for Pattern Analysis", 2004.

    Examples
    --------
    >>> K = FeatureGram(np.array([[1.0, 0.0], [1.0, 2.0]]))
    >>> K.dense(), K @ np.array([1.0, 1.0])
    (array([[1., 1.],
           [1., 5.]]), array([2., 6.]))
    """

    nature = "in the primal"

    def __init__(self, F: Any, place: Place = Place(memory=1)):
        n, self.rank = F.shape
        self.shape, self.dtype, self.place = (n, n), F.dtype, place
        # strips do not depend on the number of threads; slices of a sparse matrix are copied once
        edges = [*range(0, n, PRODUCT), n]
        self._strips = [(slice(a, b), F[a:b]) for a, b in pairwise(edges)]
        self.F = F
        self._keep_if_it_fits()

    def factor(self, i: Rows) -> Any:
        return self.F[i]

    def strips(self) -> Iterator[tuple[slice, Any]]:
        yield from self._strips

    def project(self, w: np.ndarray) -> np.ndarray:
        w = w.astype(self.dtype, copy=False)
        parts = ordered_map(lambda strip: strip[1] @ w, self._strips, self.n_jobs)
        return np.concatenate(list(parts))

    def diag(self) -> np.ndarray:
        return squared_norms(self.F)

    def __matmul__(self, V: Any) -> np.ndarray:
        return self.F @ (self.F.T @ np.asarray(V))


class CrossFeatureGram(GramOperator):
    r"""The matrix between two sets of samples, from the features of both:

    .. math:: K = F G^\top, \qquad K_{ij} = \langle f_i, g_j \rangle

    K has the shape (n, m).

    Parameters
    ----------
    F, G : ndarray or CSR matrix of shape (n, p), (m, p)
    place : Place
        Memory and threads.

    References
    ----------
    Shawe-Taylor & Cristianini, "Kernel Methods for Pattern Analysis", 2004.

    Examples
    --------
    >>> CrossFeatureGram(np.array([[1.0, 2.0]]), np.eye(2)) @ np.array([1.0, 10.0])
    array([21.])
    """

    nature = "in the primal"

    def __init__(self, F: Any, G: Any, place: Place = Place()):
        self.F, self.G, self.place = F, G, place
        self.shape = F.shape[0], G.shape[0]
        self.dtype = np.result_type(F.dtype, G.dtype)

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        return inner_products(self.F[i], self.G[j])

    def diag(self) -> np.ndarray:
        n = min(self.shape)
        products = self.F[:n] * self.G[:n]  # entry by entry, for sparse arrays too
        return np.asarray(products.sum(axis=1)).ravel()

    def __matmul__(self, V: Any) -> np.ndarray:
        return self.F @ (self.G.T @ np.asarray(V))


STRIP = 2048  # most rows of a strip of F
NUMBERS = 2**18  # most numbers in it if the rank is small
CHOICE = 2  # rows for each centre that is chosen, where columns are costly
#: units of K's rounding, of which a smaller pivot has too many: entries of K are wrong by some, and
#: their errors grow with each pivot that is not far above them
PIVOT = 256


class LowRankGram(FactoredGram):
    r"""The approximation of a Gram matrix by its columns at some centres S:

    .. math:: \hat K = F F^\top = K_{:S}\, K_{SS}^{-1} K_{S:}, \qquad F = K_{:S}\, L^{-\top}

    It has the shape (n, n), and F, of shape (n, m), is kept in memory or computed strip by strip.

    Parameters
    ----------
    centres : ndarray of shape (m,), int
        The rows S of the matrix that is approximated.
    L : ndarray of shape (m, m)
        Lower triangular, K[S, S] = L Lᵀ.
    F : ndarray of shape (n, m), optional
        The factor; None to compute strips of it from K.
    K : GramOperator, optional
        The matrix that is approximated; needed if F is None.
    error : float
        tr(K - K̂) / tr(K), measured when the centres were chosen.

    References
    ----------
    Williams & Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.

    Examples
    --------
    >>> from mercer.gram import DenseGram, pivoted_cholesky
    >>> X = np.array([[1.0], [2.0], [4.0]])
    >>> K = pivoted_cholesky(DenseGram(X @ X.T, symmetric=True), 1, random_state=0)
    >>> K.dense().round(6).tolist()
    [[1.0, 2.0, 4.0], [2.0, 4.0, 8.0], [4.0, 8.0, 16.0]]
    """

    nature = "low rank"
    centres: np.ndarray

    def __init__(
        self,
        centres: np.ndarray,
        L: np.ndarray,
        F: np.ndarray | None = None,
        K: GramOperator | None = None,
        error: float = np.nan,
    ):
        if F is None and K is None:
            raise ValueError(
                "F and K are both None: give the factor F, or the matrix K to compute it from."
            )
        self.centres, self.L, self.F, self.K, self.error = centres, L, F, K, error
        n = len(F) if F is not None else K.shape[0]  # type: ignore[union-attr]
        self.shape = (n, n)
        self.dtype = L.dtype
        self.rank = len(centres)
        self.place = Place() if K is None else K.place

    def factor(self, i: Rows) -> np.ndarray:
        """F[i], shape (len(i), m)."""
        if self.F is not None:
            return self.F[i]
        C = self.K.block(i, self.centres)  # type: ignore[union-attr]
        return whitened(self.L, C)

    def columns_of(self, i: Rows) -> np.ndarray:
        """K[i, S], shape (len(i), m), of a matrix that is known."""
        assert self.K is not None
        return self.K.block(i, self.centres)

    def cross(self) -> np.ndarray:
        """K[:, S], shape (n, m); F Lᵀ if K itself is not known."""
        if self.K is None:
            assert self.F is not None
            return self.F @ self.L.T
        return self.K.part(np.arange(self.shape[0]), self.centres).dense()

    def strips(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield (rows, F[rows]); the strips cover F once."""
        step = strip_rows(self.rank)
        for s in range(0, self.shape[0], step):
            raise_if_stopped()
            rows = slice(s, min(s + step, self.shape[0]))
            yield rows, self.factor(rows)

    def describe(self) -> str:
        return f"{super().describe()}, rank {self.rank}"

    def lift(self, beta: np.ndarray) -> np.ndarray:
        """L⁻ᵀ β: convert coefficients on F to those at the centres, both (m,) or (m, c)."""
        L = self.L.astype(np.float64, copy=False)
        return solve_triangular(L, beta, lower=True, trans=1, check_finite=False)

    def diag(self) -> np.ndarray:
        return np.concatenate([np.einsum("ij,ij->i", F, F) for _, F in self.strips()])

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V)
        if self.F is not None and V.dtype == self.F.dtype:
            return self.F @ (self.F.T @ V)
        inner = sum(F.T @ V[rows] for rows, F in self.strips())
        return np.concatenate([F @ inner for _, F in self.strips()])


def least_pivot(diagonal: np.ndarray, dtype: np.dtype) -> float:
    """The least pivot of K with this diagonal, in this precision, that is not made of rounding."""
    return PIVOT * float(np.finfo(dtype).eps) * float(diagonal.max(initial=0))


def pivoted_cholesky(
    K: GramOperator,
    rank: int,
    *,
    random_state: int | np.random.RandomState | None = None,
    tol: float | None = None,
) -> LowRankGram:
    r"""A factor of K by blocked randomly pivoted Cholesky with rejection:

    .. math:: K \approx F F^\top, \qquad P(\text{pivot } i) = \frac{r_i}{\sum_j r_j}, \qquad
              r_i = K_{ii} - \|f_i\|^2

    F has the shape (n, rank), and its row i so far is :math:`f_i`.

    Parameters
    ----------
    K : GramOperator of shape (n, n)
        Symmetric and positive semidefinite.
    rank : int
        Largest number of centres; there are fewer if K has a lower rank.
    random_state : int, RandomState or None
        The same seed gives the same centres, with any number of threads.
    tol : float, optional
        Stop when tr(K - F Fᵀ) <= tol · tr(K). None means the rounding unit of K's precision.

    Notes
    -----
    The probability of a pivot is proportional to the part of its diagonal entry that the factor
    does not explain yet, so that outliers and dense regions both get centres. The expected error
    is near that of the best approximation of the same rank. Blocks of proposals are thinned by
    rejection: the centres have the same distribution as in the sequential method, but the work
    is in matrix products. It takes n m² operations, n m values of K and memory for n m numbers.

    References
    ----------
    Epperly, Tropp & Webber, "Embrace rejection: kernel matrix approximation by accelerated
    randomly pivoted Cholesky", 2024, algorithm 2.1.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> K = DenseGram(X @ X.T, symmetric=True)  # of rank 2
    >>> low = pivoted_cholesky(K, rank=3, random_state=0)
    >>> low.rank, bool(np.allclose(low.dense(), K.dense()))
    (2, True)
    """
    from sklearn.utils import check_random_state

    if rank < 1:
        raise ValueError(f"rank={rank}: give a positive number of centres.")
    random = check_random_state(random_state)
    n, dtype = K.shape[0], np.dtype(K.dtype)
    rank = min(rank, n)
    u = K.diag().astype(np.float64)
    trace, floor = u.sum(), least_pivot(u, dtype)
    if tol is None:
        tol = np.finfo(dtype).eps
    F = np.empty((n, rank), dtype)
    centres = np.empty(rank, np.intp)
    filled, proposals = 0, max(10, -(-rank // 10))
    while filled < rank:
        u[u <= floor] = 0  # only rounding errors are left: the factor explains these rows
        if not u.sum() > tol * trace:
            break
        J = random.choice(n, size=proposals, p=u / u.sum())  # with replacement
        H = K.block(J, J).astype(np.float64) - np.asarray(F[J, :filled] @ F[J, :filled].T)
        accepted, L = _thin(H, random, floor)
        accepted, L = accepted[: rank - filled], L[: rank - filled, : rank - filled]
        if not len(accepted):  # only due to rounding: exact arithmetic always takes the first
            u[J] = 0
            continue
        pivots = J[accepted]
        new = slice(filled, filled + len(pivots))
        _append(K, F, new, pivots, L.astype(dtype), u)
        centres[new] = pivots
        u[pivots] = 0
        filled = new.stop
        # reject about a quarter: smaller blocks need more passes, larger blocks waste work
        rejected = 1 - len(pivots) / len(J)
        proposals = int(np.clip(proposals * (1.5 if rejected < 0.25 else 0.75), 10, max(10, rank)))
    if filled == 0:  # K = 0: one centre with a factor of zeros
        return LowRankGram(np.zeros(1, np.intp), np.eye(1, dtype=dtype), np.zeros((n, 1), dtype), K)
    centres, F = centres[:filled], F[:, :filled]
    error = float(u.sum() / trace) if trace > 0 else 0.0
    return LowRankGram(centres, np.tril(F[centres]), F=F, K=K, error=error)


def factor_rows(rank: int, place: Place, size: int) -> int:
    """Rows of a factor that half of the memory has room for, of entries of ``size`` bytes."""
    return int(place.budget() / 2 / (rank * size))


def _thin(H: np.ndarray, random: np.random.RandomState, floor: float):
    """Accept proposal j with probability H_jj(now) / H_jj(at first), and eliminate it from H.

    Returns the accepted positions and the Cholesky factor of H at these positions.
    """
    now, draws = H.diagonal().copy(), random.uniform(size=len(H)) * H.diagonal()
    C, accepted = np.empty_like(H), []
    for j in range(len(H)):
        if now[j] <= floor or draws[j] >= now[j]:
            continue
        k = len(accepted)
        C[:, k] = (H[:, j] - C[:, :k] @ C[j, :k]) / np.sqrt(now[j])
        now -= C[:, k] ** 2
        accepted.append(j)
    return np.array(accepted, dtype=np.intp), np.tril(C[accepted, : len(accepted)])


def strip_rows(rank: int) -> int:
    """Rows of a strip of a factor with this many columns."""
    # each strip adds to rank x rank sums, which would take longer than the products of few rows
    return int(np.clip(max(NUMBERS // max(rank, 1), rank // 2), 64, STRIP))


def _append(K, F, new, pivots, L, u):
    """Set F[:, new] = (K[:, pivots] - F F[pivots]ᵀ) L⁻ᵀ, and subtract its squared rows from u."""
    P = F[pivots, : new.start].copy()
    step = strip_rows(len(pivots))

    def strip(s: int) -> np.ndarray:
        raise_if_stopped()
        rows = slice(s, min(s + step, len(F)))
        C = K.block(rows, pivots) - F[rows, : new.start] @ P.T
        F[rows, new] = whitened(L, C)
        return np.einsum("ij,ij->i", F[rows, new], F[rows, new], dtype=np.float64)

    starts = range(0, len(F), step)
    for s, squares in zip(starts, ordered_map(strip, starts, K.n_jobs), strict=True):
        u[s : s + len(squares)] = np.maximum(u[s : s + len(squares)] - squares, 0)


def low_rank_gram(
    K: GramOperator, rank: int, *, random_state: int | np.random.RandomState | None = None
) -> LowRankGram:
    r"""A low-rank approximation of a Gram matrix within the memory of its place.

    .. math:: K \approx \hat K = K_{:S}\, K_{SS}^{-1} K_{S:}

    K has the shape (n, n), and S has ``rank`` centres, chosen by `pivoted_cholesky`.

    The factor of n x rank numbers is kept in memory if it needs at most half of the budget.
    Otherwise the centres are chosen from as many random rows as fit, and the factor is computed
    strip by strip each time it is read. They are chosen from 2 rank random rows if K has no cheap
    rows; its columns at the centres are computed once then.

    Raises
    ------
    MemoryError
        Fewer than ``rank`` rows of the factor fit in half of the budget; the message names the
        least budget.

    References
    ----------
    Chen, Epperly, Tropp & Webber, "Randomly pivoted Cholesky: practical approximation of a kernel
    matrix with few entry evaluations", Communications on Pure and Applied Mathematics 78, 2025.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> K = DenseGram(np.ones((3, 3)), symmetric=True)
    >>> low = low_rank_gram(K, 2, random_state=0)
    >>> low.rank, low.dense().tolist()[0]
    (1, [1.0, 1.0, 1.0])
    """
    from sklearn.utils import check_random_state

    random = check_random_state(random_state)
    n, rank = K.shape[0], min(rank, K.shape[0])
    size = np.dtype(K.dtype).itemsize
    rows = factor_rows(rank, K.place, size)
    if rows >= n and "rows" not in K.cheap:
        return _of_columns(K, rank, random)
    if rows >= n:
        return pivoted_cholesky(K, rank, random_state=random)
    if rows < rank:
        what = f"more than {rows} rows of a factor of rank {rank}, of which {rank} are needed"
        K.place.refuse(2 * rank**2 * size, what, ", or a smaller rank=")
    return pivots_of_some(K, rank, rows, random)


def _of_columns(K: GramOperator, rank: int, random: np.random.RandomState) -> LowRankGram:
    """K ≈ F Fᵀ of an operator whose columns are computed as a whole, and each at some cost."""
    sample = np.sort(random.permutation(K.shape[0])[: CHOICE * rank])
    some = DenseGram(K.block(sample, sample), symmetric=True, place=K.place)
    part = pivoted_cholesky(some, rank, random_state=random)
    centres = sample[part.centres]
    F = K.block(slice(None), centres)
    for rows in (slice(s, s + STRIP) for s in range(0, len(F), STRIP)):
        F[rows] = whitened(part.L, F[rows])
    return LowRankGram(centres, part.L, F, K, part.error)


def pivots_of_some(
    K: GramOperator, rank: int, rows: int, random_state: int | np.random.RandomState | None
) -> LowRankGram:
    """K ≈ F Fᵀ with the centres that `pivoted_cholesky` chooses from so many random rows.

    F is not computed, so that it costs rows · rank² operations, however many rows K has.
    """
    from sklearn.utils import check_random_state

    random = check_random_state(random_state)
    sample = np.sort(random.choice(K.shape[0], size=rows, replace=False))
    part = pivoted_cholesky(K.part(sample), rank, random_state=random)
    return LowRankGram(sample[part.centres], part.L, K=K, error=part.error)
