"""The interface of all Gram matrices K[i, j] = k(X[i], Z[j]): products, rows, blocks.

Learners and solvers use only this interface. ``cheap`` names the operations that are cheap for
some operators only; `require` raises an error before a solver starts if it needs one that is not
cheap. This file also has the operators that every operator can give: a part of it, its transpose,
the same with scaled rows and columns, an array in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

import numpy as np

from mercer.distances import EDGE
from mercer.gram.lapack import GramFactor, LapackFactor, eigenpairs, symmetric_product
from mercer.gram.place import Place, PreparedSide
from mercer.threads import jobs_for, ordered_map

STRIP = 64  # rows of a matrix that are copied at a time, so that they stay in a core's cache
WIDENED = 512  # rows of a matrix that are made wide, or squared, at a time
RUNS = 16  # up to this many runs of neighbouring columns, columns are copied run by run

SHARED = 2**22  # numbers of a matrix whose products threads share
FEW = 4  # columns of a product, up to which one triangle is read for each of them

Rows = slice | np.ndarray


class GramOperator(ABC):
    r"""The matrix K of shape (n, m). Abstract: define `block`; everything else has a default.

    .. math:: K_{ij} = k(x_i, z_j), \qquad (K V)_{ic} = \sum_j K_{ij} V_{jc}

    V has the shape (m,) or (m, c), and K V has the shape (n,) or (n, c).
    """

    shape: tuple[int, int]
    dtype: np.dtype
    #: whether K is square and K == K.T
    symmetric: bool = False
    #: operations that are cheap where it lives: "dense" (all of K fits in memory), "factorise"
    #: (and ``eigenpairs``: linear systems are solved there), "rows" (a row costs only its values),
    #: "factor" (K = F Fᵀ, and F is read by ``strips``)
    cheap: frozenset[str] = frozenset({"rows"})
    #: the rows on which an approximation of low rank is built; None for other operators
    centres: np.ndarray | None = None
    #: its columns, if it shares what is prepared of them with other matrices
    columns: PreparedSide | None = None
    #: where it lives: its memory, threads and device
    place: Place = Place()
    #: words for ``solver_``, such as "in the primal" or "low rank"; empty for most operators
    nature: str = ""

    @property
    def n_jobs(self) -> int | None:
        """Threads of its place; None means all cores."""
        return self.place.n_jobs

    @property
    def nbytes(self) -> int:
        """Bytes of a matrix of this size and precision."""
        return self.shape[0] * self.shape[1] * np.dtype(self.dtype).itemsize

    @property
    def held_bytes(self) -> int:
        """Bytes of the memory budget that K takes if it is held; 0 if it was given."""
        return self.nbytes

    def fits(self, matrices: int) -> bool:
        """Whether this many matrices of this size fit where it lives.

        K is one of them, which does not count if the user gave it.
        """
        return self.place.holds(self._needed(matrices))

    def refuse(self, matrices: int, what: str, instead: str = "") -> NoReturn:
        """Raise MemoryError with the least ``memory`` in which this many matrices fit."""
        self.place.refuse(self._needed(matrices), f"{what} and {self.shape[0]:,} rows", instead)

    def concede(self, matrices: int, what: str, instead: str) -> None:
        """Warn that so many matrices do not fit, and name the fallback for ``what``."""
        self.place.concede(self._needed(matrices), f"{what} and {self.shape[0]:,} rows", instead)

    @property
    def kept_bytes(self) -> int:
        """Bytes of the memory budget that K takes now."""
        return 0

    def beside(self, memory: int | float | str | None = None) -> Place:
        """What this matrix leaves of the memory where it lives; or ``memory``, if it is given."""
        if memory is None:
            return self.place.beside(self.kept_bytes)
        return replace(self.place, memory=memory)

    def _needed(self, matrices: int) -> int:
        return self.held_bytes + (matrices - 1) * self.nbytes

    def _keep_if_it_fits(self) -> None:
        """Say that "dense" is cheap if K needs at most half of the memory."""
        if self.place.holds(2 * self.nbytes):
            self.cheap = self.cheap | {"dense", "factorise"}

    @abstractmethod
    def block(self, i: Rows, j: Rows) -> np.ndarray:
        """K[i, j] for row and column slices or index arrays; a new array (len(i), len(j))."""

    @abstractmethod
    def diag(self) -> np.ndarray:
        """The diagonal, shape (min(n, m),)."""

    @property
    def T(self) -> GramOperator:
        """The transposed operator."""
        return self if self.symmetric else TransposedGram(self)

    def rows(self, i: Rows, out: np.ndarray | None = None) -> np.ndarray:
        """K[i], shape (len(i), m); written to ``out``, in the precision of ``out``, if given."""
        values = self.block(i, slice(None))
        if out is None:
            return values
        out[...] = values
        return out

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> GramOperator:
        """The operator of rows i and columns j; j=None means the same numbers as i."""
        return PartGram(self, i, i if j is None else j)

    def tiles(self) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield (rows, columns, K[rows, columns]); covers K once, or its upper triangle only if K
        is symmetric."""
        n, m = self.shape
        step = self.edge()
        for s in range(0, n, step):
            for t in range(s if self.symmetric else 0, m, step):
                i, j = slice(s, min(s + step, n)), slice(t, min(t + step, m))
                yield i, j, self.block(i, j)

    def edge(self) -> int:
        """Number of rows of the square tiles in which K is computed."""
        return EDGE if np.dtype(self.dtype).itemsize <= 4 else 3 * EDGE // 4

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """K @ V for V of shape (m,) or (m, c)."""
        V = np.asarray(V)
        step = self.edge()
        strips = [self.rows(slice(s, s + step)) @ V for s in range(0, self.shape[0], step)]
        return np.concatenate(strips)

    def dense(self) -> np.ndarray:
        """K as an array, shape (n, m). Do not write to it."""
        return self.block(slice(None), slice(None))

    def held(self) -> GramOperator:
        """This matrix, computed and kept in memory if it fits; else this operator itself."""
        if "dense" not in self.cheap:
            return self
        return DenseGram(self.dense(), self.symmetric, counted=True, place=self.place)

    def scaled(self, factors: np.ndarray) -> GramOperator:
        """diag(s) K diag(s) for a symmetric K and s of shape (n,), where K lives."""
        return ScaledGram(self, factors)

    def fresh(self, dtype: np.dtype | None = None) -> np.ndarray:
        """K as a new array (n, m), in K's precision or another; the caller may write to it."""
        return np.array(self.dense(), dtype=dtype, order="C", copy=True)

    def factorise(self, shift: float = 0.0, dtype: np.dtype | None = None) -> GramFactor:
        """K + shift I for a symmetric K as a factor, which solves linear systems where K lives.

        Parameters
        ----------
        shift : float
        dtype : dtype, optional
            The precision of the factor; None means that of K. One of float32 serves iterations
            that measure their residuals in float64, and need not be well conditioned.

        Raises
        ------
        LinAlgError
            The matrix is not positive definite to this precision, or singular to float64.
        """
        return LapackFactor(self._shifted(shift, dtype), self.n_jobs)

    def eigenpairs(self, memory: int | float | str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """All eigenvalues (n,) of a symmetric K, ascending, and eigenvectors as columns (n, n).

        ``memory`` is the budget in addition to K; None means what K leaves where it lives.
        """
        fast = self.beside(memory).holds(3 * self.nbytes)
        return eigenpairs(self._shifted(0.0), in_place=not fast)

    def _shifted(self, shift: float, dtype: np.dtype | None = None) -> np.ndarray:
        """A new K + shift I in Fortran order, as LAPACK overwrites it."""
        A = self.fresh(dtype)
        A.flat[:: len(A) + 1] += shift
        return A.T  # symmetric: the transposed view is A itself in the other order

    def norm(self) -> float:
        """The Frobenius norm, from one pass over the tiles."""
        total = 0.0
        for i, j, tile in self.tiles():
            twice = 2 if self.symmetric and i != j else 1
            total += twice * float(np.square(tile, dtype=np.float64).sum())
        return float(np.sqrt(total))

    def wide_product(self, V: np.ndarray) -> np.ndarray:
        """K @ V, (n, c) for V (m, c), in the wider precision of the two."""
        return self @ V

    def describe(self) -> str:
        """A description of the operator: its class, shape and precision."""
        n, m = self.shape
        return f"{type(self).__name__} {n} x {m} {np.dtype(self.dtype).type.__name__}"


class AlteredGram(GramOperator):
    """Abstract: an operator that reads another one, K, and lives where that lives.

    It has the shape of K, and no cheap factor; it is factorised by itself where all of it fits.
    """

    def __init__(self, K: GramOperator):
        self.K, self.place = K, K.place
        lost = {"factor"} if "dense" in K.cheap else {"factor", "factorise"}
        self.shape, self.dtype, self.cheap = K.shape, K.dtype, K.cheap - lost

    @property
    def kept_bytes(self) -> int:
        return self.K.kept_bytes


class PartGram(AlteredGram):
    """The operator of rows i and columns j of an operator K."""

    def __init__(self, K: GramOperator, i: np.ndarray, j: np.ndarray):
        super().__init__(K)
        self.i, self.j, self.shape = i, j, (len(i), len(j))
        self.symmetric = K.symmetric and i is j

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        return self.K.block(self.i[i], self.j[j])

    def diag(self) -> np.ndarray:
        if self.symmetric:
            return self.K.diag()[self.i]
        n = min(self.shape)
        return np.array([self.block(slice(k, k + 1), slice(k, k + 1))[0, 0] for k in range(n)])


class TransposedGram(AlteredGram):
    """Kᵀ of an operator K that is not symmetric."""

    def __init__(self, K: GramOperator):
        super().__init__(K)
        self.shape = (K.shape[1], K.shape[0])

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        return self.K.block(j, i).T

    def diag(self) -> np.ndarray:
        return self.K.diag()

    @property
    def T(self) -> GramOperator:
        return self.K


class ScaledGram(AlteredGram):
    r"""A matrix with scaled rows and columns, for normalised similarities:

    .. math:: \tilde K_{ij} = s_i K_{ij} s_j

    K has the shape (n, n). The factors 1 / √k(x, x) make it the cosine in the feature space.

    Parameters
    ----------
    K : GramOperator of shape (n, n), symmetric
    factors : ndarray of shape (n,)
        s.

    Raises
    ------
    ValueError
        K is not symmetric, or ``factors`` has not one number for each row.

    References
    ----------
    Shawe-Taylor & Cristianini, "Kernel Methods for Pattern Analysis", 2004.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> ScaledGram(DenseGram(np.ones((2, 2)), symmetric=True), np.array([1.0, 3.0])).dense()
    array([[1., 3.],
           [3., 9.]])
    """

    symmetric = True

    def __init__(self, K: GramOperator, factors: np.ndarray):
        if not K.symmetric or np.shape(factors) != K.shape[:1]:
            raise ValueError(
                f"K has shape {K.shape} and factors has shape {np.shape(factors)}: give a "
                "symmetric K, and as factors= one number for each row."
            )
        super().__init__(K)
        self.factors = np.asarray(factors, np.float64)

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        block = self.K.block(i, j) * self.factors[i][:, None] * self.factors[j]
        return block.astype(self.dtype, copy=False)

    def fresh(self, dtype: np.dtype | None = None) -> np.ndarray:
        A = self.K.fresh(dtype)
        A *= self.factors.astype(A.dtype)[:, None]
        A *= self.factors.astype(A.dtype)
        return A

    def norm(self) -> float:
        squares = (self.factors**2).astype(self.dtype)
        strips = (slice(s, s + WIDENED) for s in range(0, self.shape[0], WIDENED))
        return float(np.sqrt(sum(squares[i] @ (self.K.rows(i) ** 2 @ squares) for i in strips)))

    def diag(self) -> np.ndarray:
        return (self.K.diag() * self.factors**2).astype(self.dtype, copy=False)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V)
        s = self.factors.reshape(-1, *[1] * (V.ndim - 1))
        product = self.K @ (s * V).astype(V.dtype, copy=False)
        return (s * product).astype(product.dtype, copy=False)


class DenseGram(GramOperator):
    """K as an array in memory.

    Parameters
    ----------
    K : ndarray of shape (n, m)
    symmetric : bool
    counted : bool
        Whether K counts in the memory budget: not if it is an array of the user's own.
    place : Place
        Memory and threads.

    Examples
    --------
    >>> K = DenseGram(np.array([[2.0, 1.0], [1.0, 3.0]]), symmetric=True)
    >>> K @ np.array([1.0, 0.0]), K.diag()
    (array([2., 1.]), array([2., 3.]))
    """

    cheap = frozenset({"rows", "dense", "factorise"})

    def __init__(
        self,
        K: np.ndarray,
        symmetric: bool = False,
        *,
        counted: bool = False,
        place: Place = Place(),
    ):
        self.K, self.counted, self.place = K, counted, place
        self.shape = K.shape
        self.dtype = K.dtype
        self.symmetric = symmetric

    @property
    def held_bytes(self) -> int:
        return self.K.nbytes if self.counted else 0

    @property
    def kept_bytes(self) -> int:
        return self.held_bytes

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        if isinstance(i, slice) and isinstance(j, slice):
            return self.K[i, j].copy()
        if isinstance(i, slice) or isinstance(j, slice):
            return self.K[i, j]
        return self.K[np.ix_(i, j)]

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> GramOperator:
        alike = j is None or j is i
        columns = i if j is None else j
        return MatrixPart(self.K, i, columns, symmetric=self.symmetric and alike, place=self.place)

    def diag(self) -> np.ndarray:
        return self.K.diagonal().copy()

    @property
    def T(self) -> DenseGram:
        return DenseGram(self.K.T, self.symmetric, counted=self.counted, place=self.place)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V)
        if V.ndim < 2 or self.K.size < SHARED:
            return self.K @ V
        # by our threads, also where BLAS is kept to one: its own would wait for each other
        out = np.empty((self.shape[0], V.shape[1]), np.result_type(self.dtype, V))

        def strip(s: int) -> None:
            np.matmul(self.K[s : s + EDGE], V, out=out[s : s + EDGE])

        for _ in ordered_map(strip, range(0, self.shape[0], EDGE), self.n_jobs):
            pass
        return out

    def wide_product(self, V: np.ndarray) -> np.ndarray:
        wide = np.result_type(self.dtype, V)
        if self.dtype == wide:
            few = self.symmetric and V.ndim == 2 and V.shape[1] <= FEW
            if few and V.dtype == wide and self.K.flags.c_contiguous and self.K.flags.aligned:
                return np.stack([symmetric_product(self.K, v) for v in V.T], axis=1)
            return self @ V
        out = np.empty((self.shape[0], *V.shape[1:]), wide)

        def strip(s: int) -> None:  # a wide copy of K would be another matrix
            for t in range(s, min(s + EDGE, len(out)), STRIP):
                np.matmul(self.K[t : t + STRIP].astype(wide), V, out=out[t : t + STRIP])

        for _ in ordered_map(strip, range(0, len(out), EDGE), self.n_jobs):
            pass
        return out

    def norm(self) -> float:
        return float(np.linalg.norm(self.K))

    def dense(self) -> np.ndarray:
        return self.K

    def fresh(self, dtype: np.dtype | None = None) -> np.ndarray:
        out = np.empty(self.shape, self.dtype if dtype is None else dtype)

        def strip(s: int) -> None:
            out[s : s + STRIP] = self.K[s : s + STRIP]

        for _ in ordered_map(strip, range(0, len(out), STRIP), jobs_for(out.nbytes, self.n_jobs)):
            pass
        return out

    def held(self) -> DenseGram:
        return self


class MatrixPart(GramOperator):
    """Some rows and columns of an array in memory, which are copied only when they are read.

    Parameters
    ----------
    K : ndarray of shape (N, M)
    i, j : ndarray of shape (n,), (m,), int
        Row and column numbers.
    symmetric : bool
        Whether the part is symmetric.
    place : Place
        Memory and threads.

    Examples
    --------
    >>> K = np.arange(9.0).reshape(3, 3)
    >>> MatrixPart(K, np.array([0, 2]), np.array([1])).dense()
    array([[1.],
           [7.]])
    """

    cheap = frozenset({"rows", "dense", "factorise"})

    def __init__(
        self,
        K: np.ndarray,
        i: np.ndarray,
        j: np.ndarray,
        *,
        symmetric: bool = False,
        place: Place = Place(),
    ):
        self.K, self.i, self.j, self.place = K, i, j, place
        self.shape, self.dtype, self.symmetric = (len(i), len(j)), K.dtype, symmetric

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        rows, columns = self.i[i], self.j[j]
        return self._copy(rows, columns, np.empty((len(rows), len(columns)), self.dtype))

    def rows(self, i: Rows, out: np.ndarray | None = None) -> np.ndarray:
        rows = self.i[i]
        values = np.empty((len(rows), len(self.j)), self.dtype) if out is None else out
        return self._copy(rows, self.j, values)

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> MatrixPart:
        alike = j is None or j is i
        columns = self.j[i if j is None else j]
        return MatrixPart(
            self.K, self.i[i], columns, symmetric=self.symmetric and alike, place=self.place
        )

    def diag(self) -> np.ndarray:
        n = min(self.shape)
        return self.K[self.i[:n], self.j[:n]]

    @property
    def T(self) -> MatrixPart:
        return self if self.symmetric else MatrixPart(self.K.T, self.j, self.i, place=self.place)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """K[i][:, j] V by whole rows of K: V is first spread to the columns j of all columns."""
        V = np.asarray(V)
        W = np.zeros((self.K.shape[1], *V.shape[1:]), np.result_type(self.dtype, V))
        np.add.at(W, self.j, V)

        def strip(s: int) -> np.ndarray:
            rows = self.i[s : s + STRIP]
            if (np.diff(rows) == 1).all():  # as those of folds often are: no copy
                return self.K[rows[0] : rows[-1] + 1] @ W
            return self.K[rows] @ W

        jobs = jobs_for(self.shape[0] * W.nbytes, self.n_jobs)
        parts = list(ordered_map(strip, range(0, self.shape[0], STRIP), jobs))
        return np.concatenate(parts) if parts else np.empty((0, *V.shape[1:]), W.dtype)

    def dense(self) -> np.ndarray:
        return self.rows(slice(None))

    def _copy(self, i: np.ndarray, j: np.ndarray, out: np.ndarray) -> np.ndarray:
        """K[i][:, j] in ``out``; fast if the columns form few runs, as those of folds often do."""
        edges = np.flatnonzero(np.diff(j) != 1) + 1
        runs = list(zip([0, *edges], [*edges, len(j)])) if len(j) else []

        def strip(s: int) -> None:
            rows, part = i[s : s + STRIP], out[s : s + STRIP]
            if len(runs) > RUNS:
                part[...] = np.take(self.K[rows], j, axis=1)
                return
            for a, b in runs:
                part[:, a:b] = self.K[rows, j[a] : j[a] + b - a]

        for _ in ordered_map(strip, range(0, len(i), STRIP), jobs_for(out.nbytes, self.n_jobs)):
            pass
        return out


def require(K: GramOperator, operation: str, solver: str) -> None:
    """Raise TypeError if an operation that the solver needs is not cheap for the operator."""
    if operation not in K.cheap:
        raise TypeError(
            f"{solver} needs {operation!r} of the Gram matrix, but this is not cheap for "
            f"{type(K).__name__} (cheap are {sorted(K.cheap)}): choose another solver, or a larger "
            "memory=."
        )
