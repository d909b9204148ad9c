"""Factors of a Gram matrix, by routines of BLAS and LAPACK that let other threads run meanwhile.

`LapackFactor` is the factor of every matrix in this machine's memory. An operator that lives
elsewhere returns one of its own from `GramOperator.factorise`.

SciPy's own wrappers hold the interpreter's lock, so that the folds of a search, each on a thread,
would wait for each other. The same routines are published for callers in C, by
`scipy.linalg.cython_blas` and `cython_lapack`; ctypes calls them without the lock. Matrices are
float32 or float64 in Fortran order; the lower triangle is read.
"""

from __future__ import annotations

import ctypes
import threading
from abc import ABC, abstractmethod
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg
import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack

from mercer.threads import blas_limit, jobs_for, jobs_here, ordered_map, raise_if_stopped

LOWER, UPPER, PLAIN, TRANSPOSED, LEFT, RIGHT, NON_UNIT = (
    ctypes.c_char(c) for c in (b"L", b"U", b"N", b"T", b"L", b"R", b"N")
)
LARGE = 4096  # rows, from which a matrix is factorised in panels, between which work may stop
PANEL = 512  # columns: as fast as whole matrices, while 4096 cost a third more
SHARED = 1500  # rows, from which the tiles of a matrix are shared among threads
TILE = 512  # rows and columns of a tile: 256 cost a tenth more


@cache
def _routine(name: str, dtype: np.dtype) -> Any:
    """``potrf`` and so on, for a precision; all its arguments are addresses."""
    name = {"float32": "s", "float64": "d"}[dtype.name] + name
    for module in (scipy.linalg.cython_blas, scipy.linalg.cython_lapack):
        capsule = vars(module)["__pyx_capi__"].get(name)
        if capsule is not None:
            break
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = api.PyCapsule_GetName(capsule)
    arguments = [ctypes.c_void_p] * (signature.count(b",") + 1)
    return ctypes.CFUNCTYPE(None, *arguments)(api.PyCapsule_GetPointer(capsule, signature))


def _call(name: str, dtype: np.dtype, *arguments: Any) -> None:
    """Numbers become addresses of ints, or of floats of the routine's precision."""
    real = ctypes.c_float if dtype == np.float32 else ctypes.c_double
    kinds, held = {int: ctypes.c_int, float: real}, []
    for value in arguments:
        if isinstance(value, np.ndarray):
            held.append(value.ctypes.data)
        else:
            kind = kinds.get(type(value))
            held.append(ctypes.byref(value if kind is None else kind(value)))
    _routine(name, dtype)(*held)


def _check(A: np.ndarray) -> None:
    """The routines would read past the end of what is laid out otherwise."""
    if not (A.ndim == 2 and len(A) == A.shape[1] and A.flags.f_contiguous and A.flags.aligned):
        raise ValueError(f"wanted a square matrix in Fortran order, got shape {A.shape}.")


def cholesky_factor(A: np.ndarray, n_jobs: int | None = 1) -> bool:
    """Overwrite the lower triangle of A by L, A = L Lᵀ; False if A is not positive definite.

    What stands above the diagonal may change. A large matrix is factorised panel by panel, each
    from those to its left: so the work can be stopped, and the routine of OpenBLAS 0.3.30 for whole
    matrices writes past the end of its buffers on two threads, measured at 17,000 rows (as in
    OpenBLAS issue 2562).

    With ``n_jobs`` other than 1 the threads are ours, see `tiled_factor`, where they pay; with 1
    they are those that BLAS has.

    Raises
    ------
    KeyboardInterrupt
        The work of this thread should stop; A is then of no use.

    Examples
    --------
    >>> A = np.array([[4.0, 0.0], [2.0, 2.0]], order="F")
    >>> cholesky_factor(A), A
    (True, array([[2., 0.],
           [1., 1.]]))
    """
    _check(A)
    n, info = len(A), ctypes.c_int()
    if n >= SHARED and jobs_here(n_jobs) > 1:
        return tiled_factor(A, n_jobs)
    panel = n if n <= LARGE else PANEL
    for s in range(0, n, max(panel, 1)):
        raise_if_stopped()
        e = min(s + panel, n)
        if s:
            _call(
                "gemm", A.dtype, PLAIN, TRANSPOSED, n - s, e - s, s, -1.0, A[s:, :s], n,
                A[s:e, :s], n, 1.0, A[s:, s:e], n,
            )  # fmt: skip
        _call("potrf", A.dtype, LOWER, e - s, A[s:e, s:e], n, info)
        if info.value:
            return False
        if e < n:
            _call(
                "trsm", A.dtype, RIGHT, LOWER, TRANSPOSED, NON_UNIT, n - e, e - s, 1.0,
                A[s:e, s:e], n, A[e:, s:e], n,
            )  # fmt: skip
    return True


def tiled_factor(A: np.ndarray, n_jobs: int | None = None) -> bool:
    """`cholesky_factor` by tiles on threads of ours, each with BLAS in one thread.

    Threads of BLAS wait for each other without sleeping, so that beside other processes several are
    slower than one. Here a thread that has to wait sleeps, and lends its core to the one it waits
    for. Tile (i, k) needs row i and row k of tiles as far as column k alone, which come before it
    in the order by columns. The result is the same with any number of threads.
    """
    _check(A)
    n = len(A)
    starts = range(0, n, TILE)
    finished = [0] * len(starts)  # columns of tiles that are done in each row of them
    broken, changed = False, threading.Condition()

    def reach(i: int, count: int) -> bool:
        """Wait until row i has so many tiles; False if it never will."""
        if finished[i] < count:
            with changed:
                changed.wait_for(lambda: broken or finished[i] >= count)
        return not broken

    def compute(k: int, i: int) -> bool:
        """L_ik = (A_ik - Σ_j L_ij L_kjᵀ) L_kk⁻ᵀ over j < k, or the factor of that on the diagonal.

        Golub & Van Loan, "Matrix Computations", 4th edition, 2013, section 4.2.6.
        """
        if not (reach(k, k) and reach(i, k)):
            return False
        s, r = starts[k], starts[i]
        rows, columns = min(TILE, n - r), min(TILE, n - s)
        tile = A[r:, s:]
        if k and i == k:
            _call(
                "syrk", A.dtype, LOWER, PLAIN, rows, s, -1.0, A[r:, :s], n, 1.0, tile, n
            )  # fmt: skip
        elif k:
            _call(
                "gemm", A.dtype, PLAIN, TRANSPOSED, rows, columns, s, -1.0, A[r:, :s], n,
                A[s:, :s], n, 1.0, tile, n,
            )  # fmt: skip
        if i == k:
            info = ctypes.c_int()
            _call("potrf", A.dtype, LOWER, rows, tile, n, info)
            return not info.value
        if not reach(k, k + 1):
            return False
        _call(
            "trsm", A.dtype, RIGHT, LOWER, TRANSPOSED, NON_UNIT, rows, columns, 1.0,
            A[s:, s:], n, tile, n,
        )  # fmt: skip
        return True

    def finish(place: tuple[int, int]) -> None:
        nonlocal broken
        k, i = place
        done = False
        try:
            raise_if_stopped()
            done = compute(k, i)
        finally:  # nobody may wait for a tile that will not come
            with changed:
                broken = broken or not done
                finished[i] += done
                changed.notify_all()

    tiles = ((k, i) for k in range(len(starts)) for i in range(k, len(starts)))
    for _ in ordered_map(finish, tiles, n_jobs):
        if broken:
            break
    return not broken


def solve_factored(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(L Lᵀ)⁻¹ b for b of shape (n, k), in the precision of L; a fresh array.

    A few columns are faster one by one: a solver of many copies all of L first.
    """
    _check(L)
    if len(L) != len(b):
        raise ValueError(f"L has shape {L.shape}, but b {b.shape}.")
    x = np.array(b, L.dtype, order="F")
    n, k = x.shape
    ld = max(n, 1)
    for side in (PLAIN, TRANSPOSED):
        if k <= 4:
            for j in range(k):
                _call("trsv", L.dtype, LOWER, side, NON_UNIT, n, L, ld, x[:, j], 1)
        else:
            _call("trsm", L.dtype, LEFT, LOWER, side, NON_UNIT, n, k, 1.0, L, ld, x, ld)
    return x


def whitened(L: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """rows L⁻ᵀ, of shape (n, m), for a lower triangular L (m, m).

    ``rows`` is overwritten where it is an array by rows in L's precision.

    Examples
    --------
    >>> whitened(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([[4.0, 3.0]]))
    array([[2., 1.]])
    """
    if not (L.flags.c_contiguous and L.flags.aligned):
        L = np.require(L, requirements=["F", "A"])
    by_columns = L.flags.f_contiguous
    _check(L if by_columns else L.T)
    rows = np.require(rows, L.dtype, ["C", "A", "W"])
    n, m = rows.shape
    if m != len(L):
        raise ValueError(f"L has shape {L.shape}, but rows {rows.shape}.")
    # rows by rows are their transpose by columns: L⁻¹ rowsᵀ, and L by rows is the upper Lᵀ
    half, side = (LOWER, PLAIN) if by_columns else (UPPER, TRANSPOSED)
    if n and m:
        _call("trsm", L.dtype, LEFT, half, side, NON_UNIT, m, n, 1.0, L, m, rows, m)
    return rows


def inverse_diagonal(L: np.ndarray) -> np.ndarray:
    """The diagonal of (L Lᵀ)⁻¹, float64; O(n³ / 3) operations, and no other n x n matrix.

    [(L Lᵀ)⁻¹]_ii = Σ_k (L⁻¹)_ki², and L⁻¹ is computed a panel of columns at a time, between which
    the work can be stopped as that of `cholesky_factor`.

    Examples
    --------
    >>> inverse_diagonal(np.array([[2.0, 0.0], [1.0, 1.0]], order="F"))
    array([0.5, 1. ])
    """
    _check(L)
    n = len(L)
    out = np.empty(n)
    for s in range(0, n, PANEL):
        raise_if_stopped()
        k = min(PANEL, n - s)
        columns = np.eye(n - s, k, dtype=L.dtype, order="F")
        _call(
            "trsm", L.dtype, LEFT, LOWER, PLAIN, NON_UNIT, n - s, k, 1.0,
            L[s:, s:], n, columns, n - s,
        )  # fmt: skip
        out[s : s + k] = np.einsum("ki,ki->i", columns, columns, dtype=np.float64)
    return out


def symmetric_product(S: np.ndarray, w: np.ndarray) -> np.ndarray:
    """S w for a vector w, from one triangle of a symmetric S in either order."""
    _check(S if S.flags.f_contiguous else S.T)
    w = np.ascontiguousarray(w, S.dtype)
    out = np.empty_like(w)
    _call("symv", S.dtype, LOWER, len(w), 1.0, S, max(len(w), 1), w, 1, 0.0, out, 1)
    return out


STRIP = 64  # columns of a matrix whose absolute values are summed at a time


class GramFactor(ABC):
    r"""A factorisation of a positive definite K + shift I. Abstract.

    .. math:: K + s I = L L^\top, \qquad (K + s I)^{-1} B = L^{-\top} L^{-1} B

    K has the shape (n, n), s is the shift, and B has the shape (n, k).

    References
    ----------
    Golub & Van Loan, "Matrix Computations", 4th edition, 2013, section 4.2.
    """

    @abstractmethod
    def solve(self, B: np.ndarray) -> np.ndarray:
        """(K + shift I)⁻¹ B for B of shape (n, k), in float64."""

    @abstractmethod
    def inverse_diagonal(self) -> np.ndarray:
        """The diagonal of (K + shift I)⁻¹, (n,), in float64."""


class LapackFactor(GramFactor):
    """A = L Lᵀ by Cholesky's method, in the memory of A.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        Symmetric, in Fortran order; its lower triangle is overwritten by L.
    n_jobs : int or None
        Threads.

    Raises
    ------
    LinAlgError
        A is not positive definite to its precision, or in float64 singular to it. How well a factor
        of float32 serves is seen by the residuals of those who use it.
    """

    def __init__(self, A: np.ndarray, n_jobs: int | None = 1):
        wide = A.dtype == np.float64
        norm = _largest_sum(A, n_jobs) if wide else 0.0
        if cholesky_factor(A, n_jobs):
            self.L = A
            if not wide:
                return
            (pocon,) = scipy.linalg.get_lapack_funcs(("pocon",), (A,))
            with blas_limit(0):  # solutions for single columns are no work for threads
                reciprocal_condition, _ = pocon(A, norm, uplo="L")
            if reciprocal_condition > 4 * np.finfo(A.dtype).eps:
                return
        raise np.linalg.LinAlgError(
            f"the matrix is singular to the precision of {A.dtype}, or not positive definite"
        )

    def solve(self, B: np.ndarray) -> np.ndarray:
        return solve_factored(self.L, B).astype(np.float64)

    def inverse_diagonal(self) -> np.ndarray:
        return inverse_diagonal(self.L)


def _largest_sum(A: np.ndarray, n_jobs: int | None) -> float:
    """The largest sum of the absolute values of a column, by strips: |A| is another matrix."""

    def strip(s: int) -> float:
        return float(np.abs(A[:, s : s + STRIP]).sum(axis=0).max())

    starts = range(0, len(A), STRIP)
    return max(ordered_map(strip, starts, jobs_for(A.nbytes, n_jobs)), default=0.0)


def eigenpairs(A: np.ndarray, in_place: bool) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (n,), ascending, and eigenvectors (n, n) of a symmetric A, which is overwritten.

    ``in_place`` is slower, but needs no other matrix; otherwise two more than A are needed.
    """
    refuse_overflow(A)
    driver = "ev" if in_place else "evd"  # the QR method, or divide and conquer
    return scipy.linalg.eigh(A, overwrite_a=True, check_finite=False, driver=driver)


def refuse_overflow(A: np.ndarray) -> None:
    """Raise LinAlgError if a matrix that is to be factorised has NaN or infinity.

    LAPACK may not return from one.
    """
    if not np.isfinite(A).all():
        raise np.linalg.LinAlgError(
            "K, weighted by the rows' weights, has NaN or infinity: the samples or the weights are "
            f"too large for {A.dtype}. Scale them, or normalise the kernel."
        )
