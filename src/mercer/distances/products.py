"""Products and sums over the features of pairs of vectors, for distances and kernels.

Products may lose all digits by which rows differ: `float_range` and `safe_unit` see to it that they
keep some. Rows may be dense or sparse. Inner products read sparse rows directly; for the other
loops, sparse rows are made dense, one block at a time. The unit balls of the p-norms follow: their
volume, and random points of their surface. At the end stands how a matrix is computed in tiles
(square blocks): their size, and how threads fill them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from mercer import _native
from mercer.samples import Prepared, Samples, float_array, largest_column, plain_rows
from mercer.threads import ordered_map, raise_if_stopped

# NumPy computes X Xᵀ by the routine syrk, and that of OpenBLAS 0.3.31 crashes at 18,000 rows on two
# threads. So a product of more rows than these is computed by strips: none of them is symmetric.
WHOLE, PART = 8192, 2048
BLOCK = 256  # rows of a product whose rounding must not depend on their place
SOME, FAR = 256, 64  # rows whose spread is looked at, and how far from 0 is far beside it
LOST = 16  # units of the last digit of inner products, below which a variance is lost in them
FARTHEST = float(np.finfo(np.float32).max)


def from_origin(X: Any, like: Prepared | None = None) -> Prepared:
    """Rows measured from an origin (that of ``like``, if given), and their squared norms.

    The origin of dense rows is the mean of some of them. This does not change distances, but it
    makes the norms small, so that ‖x‖² + ‖z‖² - 2<x, z> loses few digits. Sparse rows are not
    changed.
    """
    if like is not None:
        origin = like.common
    elif sp.issparse(X):
        origin = None
    else:
        # rounded to float32, so that it is the same for sides of different precision
        with np.errstate(over="ignore"):
            mean = X[:: len(X) // 32 + 1].mean(axis=0, dtype=np.float64)
        origin = np.clip(mean, -FARTHEST, FARTHEST).astype(np.float32)
    with np.errstate(all="ignore"):
        rows = X if origin is None else dense_rows(X) - origin
        norms = squared_norms(rows)
    refuse_beyond_squares(X, norms)
    return Prepared((rows, norms), origin)


def refuse_beyond_squares(X: Samples, squares: np.ndarray) -> None:
    """Raise ValueError if squares of encoded vectors X are not finite."""
    if not np.isfinite(squares).all():
        j, size = largest_column(X)
        raise ValueError(
            f"column {j} of X reaches {size:.3g}, and the square of a distance between such rows "
            f"is beyond {squares.dtype}: divide the column by its largest value "
            "(sklearn.preprocessing.MaxAbsScaler does it for all columns)."
        )


def squared_euclidean(X: Prepared, Z: Prepared) -> np.ndarray:
    """‖x - z‖² for every pair of rows `from_origin`, by one matrix product; a new array (n, m).

    If X is Z, the diagonal is exactly 0.
    """
    (A, xx), (B, zz) = X.parts, Z.parts
    D = inner_products(A, B)
    _native.squares(D, xx.astype(D.dtype, copy=False), zz.astype(D.dtype, copy=False))
    if X is Z:
        np.fill_diagonal(D, 0)
    return D


def inner_products(X: Any, Z: Any) -> np.ndarray:
    """<x, z> for every pair of rows, dense or sparse; a new dense array (n, m)."""
    if sp.issparse(X) or sp.issparse(Z):
        product = X @ Z.T
        return np.ascontiguousarray(product.toarray() if sp.issparse(product) else product)
    if min(len(X), len(Z)) <= WHOLE:
        return X @ Z.T
    K = np.empty((len(X), len(Z)), np.result_type(X, Z))
    for start in range(0, len(X), PART):
        np.matmul(X[start : start + PART], Z.T, out=K[start : start + PART])
    return K


def squared_norms(X: Any) -> np.ndarray:
    """‖x‖² for every row, shape (n,)."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=X.dtype).ravel()
    return np.einsum("ij,ij->i", X, X)


def unit_rows(X: Any) -> Any:
    """Rows divided by their lengths; zero rows stay as they are."""
    with np.errstate(over="ignore", under="ignore"):
        squares = squared_norms(X)
    usual = np.finfo(X.dtype).tiny / np.finfo(X.dtype).eps
    if not ((squares > usual) & (squares < np.inf)).all():  # a zero row, or squares out of range
        X = _largest_is_one(X)
        squares = squared_norms(X)
    length = np.sqrt(squares)
    scale = np.where(length > 0, 1 / np.where(length > 0, length, 1), 1)[:, None].astype(X.dtype)
    return sp.csr_array(X.multiply(scale)) if sp.issparse(X) else X * scale


def _largest_is_one(X: Any) -> Any:
    """Rows divided by their largest entry; zero rows stay as they are."""
    largest = abs(X).max(axis=1)
    largest = largest.toarray().ravel() if sp.issparse(X) else largest
    divisor = np.where(largest > 0, largest, 1)
    if sp.issparse(X):
        X = X.copy()
        X.data /= np.repeat(divisor, np.diff(X.indptr))
        return X
    return X / divisor[:, None]


def cosines(X: Samples, Z: Samples) -> np.ndarray:
    """Cosines of the angles between rows of length 1 or 0, in [-1, 1]."""
    C = inner_products(X, Z)
    return np.clip(C, -1, 1, out=C)


def feature_sum(
    loop: Callable, X: Samples, Z: Samples, weights: np.ndarray | None = None, *arguments: object
) -> np.ndarray:
    """Sum over features by a native loop over pairs, (n, m)."""
    dtype = np.result_type(X.dtype, Z.dtype)
    w = np.ones(X.shape[1], dtype) if weights is None else np.asarray(weights, dtype)
    return over_pairs(lambda rows, columns, out: loop(rows, columns, w, out, *arguments), X, Z)


def check_weights(weights: ArrayLike | None, *, shares: bool = False) -> None:
    """Raise an error if weights of columns, or None, are not numbers >= 0; if they are ``shares``
    of their sum, it must not be 0."""
    if weights is None:
        return
    w = float_array("weights", weights)
    if not (w >= 0).all():
        raise ValueError("weights must be >= 0: with a negative weight this is not a distance.")
    if shares and not w.any():
        raise ValueError("weights are 0 for all columns: give some a weight > 0.")


def feature_weights(weights: ArrayLike | None, X: Samples) -> np.ndarray | None:
    """The weights of the columns of encoded vectors X, in their precision; None if there are none.

    Raises ValueError where X has another number of columns.
    """
    if weights is None:
        return None
    w = np.asarray(weights, dtype=X.dtype)
    if w.shape != (X.shape[1],):
        raise ValueError(
            f"weights has shape {w.shape}, but X has {X.shape[1]} columns: give one for each."
        )
    return w


def over_pairs(fill: Callable[[np.ndarray, np.ndarray, np.ndarray], None], X: Samples, Z: Samples):
    """A block (n, m), filled by a native loop over dense rows of X and transposed rows of Z.

    Z is transposed so that vector instructions work on neighbouring columns of the block.
    """
    dtype = np.result_type(X.dtype, Z.dtype)
    rows, columns = (
        np.require(A, dtype, ["C", "ALIGNED"]) for A in (dense_rows(X), dense_rows(Z).T)
    )
    out = np.empty((X.shape[0], Z.shape[0]), dtype)
    fill(rows, columns, out)
    return out


def mapped_rows(X: Samples, A: np.ndarray) -> np.ndarray:
    """X @ A in the precision of X, where equal rows have equal results; A is (d, r), float64.

    A product of matrices may round its last rows otherwise than those before, so that it is
    computed by blocks of one shape.
    """
    out = np.empty((X.shape[0], A.shape[1]), X.dtype)
    for start in range(0, len(out), BLOCK):
        rows = dense_rows(X[start : start + BLOCK])
        block = np.zeros((BLOCK, X.shape[1]))
        block[: len(rows)] = rows
        with np.errstate(over="ignore"):  # the caller looks at the numbers
            out[start : start + BLOCK] = (block @ A)[: len(rows)]
    return out


def dense_rows(X: Any) -> np.ndarray:
    """Rows as a dense array, (n, d): X itself, unless it is sparse.

    Kernels and distances on vectors may get sparse rows.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> dense_rows(sp.csr_array([[0.0, 2.0]]))
    array([[0., 2.]])
    """
    return X.toarray() if sp.issparse(X) else X


def safe_unit(X: Any, power: float = 2.0, dtype: Any = None) -> float:
    """A power of two that makes vectors large enough for powers of their numbers; mostly 1.

    Products with it are exact, so that the rows keep their digits and their order. ``dtype`` is the
    precision of the powers; None means that of X.

    Examples
    --------
    >>> safe_unit(np.array([[3.0]])), safe_unit(np.array([[2.0**-600]])) == 2.0**357
    (1.0, True)
    """
    values = X.data if sp.issparse(X) else plain_rows(X)
    floats = np.finfo(dtype or X.dtype)
    enough = 2.0 ** (float(floats.minexp + floats.nmant) / power)
    largest = 0.0
    for part in (values[:SOME], values):  # mostly the first rows are large enough
        largest = max(float(part.max(initial=0)), -float(part.min(initial=0)))
        if largest >= enough:
            return 1.0
    if largest == 0:
        return 1.0
    # halfway, so that other rows may be larger
    middle = int((floats.minexp + floats.nmant) / (2 * power))
    return 2.0 ** min(middle - int(np.frexp(largest)[1]), floats.maxexp - 2)


def float_range(X: Samples, like: Samples | None = None) -> Any:
    """Encoded samples that kernels can compare without losing their digits.

    Products of numbers in float32 have no digit left of what tells rows apart, if rows are far from
    0 beside the distances between them, or if all numbers are tiny. Such rows become float64; all
    other samples stay as they are. For new rows the training rows ``like`` decide.
    """
    if not isinstance(X, (np.ndarray, sp.csr_array)) or X.dtype != np.float32:
        return X
    if like is not None and like.dtype == np.float32:
        return X
    return X if _float32_serves(X if like is None else like) else in_float64(X)


def in_float64(X: Samples) -> Any:
    """Vectors of float32 in float64; other samples as they are."""
    if not isinstance(X, (np.ndarray, sp.csr_array)) or X.dtype != np.float32:
        return X
    rows: Any = type(X)(plain_rows(X).astype(np.float64))
    rows.checked = getattr(X, "checked", "")
    return rows


def _float32_serves(X: Samples) -> bool:
    """Whether differences of the rows keep enough digits in float32."""
    if safe_unit(X, dtype=np.float32) != 1:
        return False
    if not X.shape[0]:
        return True
    mean, variance = column_moments(X)
    spread = float(np.sqrt(variance.max(initial=0)))
    return not 0 < spread < np.abs(mean).max(initial=0) / FAR


def column_moments(X: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each column of some rows, dense or sparse, in float64."""
    some = X[:: X.shape[0] // SOME + 1]
    if not sp.issparse(some):
        some = plain_rows(some).astype(np.float64)
        return some.mean(axis=0), some.var(axis=0)
    some = some.astype(np.float64)
    mean = np.asarray(some.mean(axis=0)).ravel()
    # those that are stored, measured from the mean, and the zeros that are not
    away = (some.data - mean[some.indices]) ** 2
    stored = np.bincount(some.indices, minlength=len(mean))
    squares = np.bincount(some.indices, away, minlength=len(mean))
    return mean, (squares + (some.shape[0] - stored) * mean**2) / some.shape[0]


def refuse_lost_products(X: Samples, reader: str) -> None:
    """Raise ValueError if no digit of inner products of vectors distinguishes the rows."""
    if safe_unit(X) != 1:
        j, size = largest_column(X)
        raise ValueError(
            f"column {j} of X reaches only {size:.3g}, and products of such numbers, which "
            f"{reader} reads, have no digits as floats: divide X by its largest value "
            "(sklearn.preprocessing.MaxAbsScaler does it for each column)."
        )
    with np.errstate(all="ignore"):
        mean, variance = column_moments(X)
        spread = float(variance.sum())
        digit, size = float(np.finfo(X.dtype).eps), float(mean @ mean)
    # equal rows have the variance that rounding of their mean makes
    if LOST * digit**2 * size < spread < LOST * digit * size < np.inf:
        j = int(np.abs(mean).argmax())
        raise ValueError(
            f"column {j} of X is near {mean[j]:.3g}, and the rows differ by {spread**0.5:.2g}: "
            f"inner products, which {reader} reads, lose that by rounding. Subtract the mean of "
            "each column (sklearn.preprocessing.StandardScaler does it), or read X in float64."
        )


def log_unit_ball(d: int, p: float) -> float:
    r"""Logarithm of the volume of the ball :math:`\|x\|_p \le 1` in d dimensions, p > 0.

    :math:`V = (2 Γ(1 + 1/p))^d / Γ(1 + d/p)` (Dirichlet 1839); :math:`2^d` for p = inf.

    Examples
    --------
    >>> float(np.exp(log_unit_ball(2, 2)).round(4)), float(np.exp(log_unit_ball(3, 1)).round(4))
    (3.1416, 1.3333)
    """
    from scipy.special import gammaln

    if np.isinf(p):
        return d * float(np.log(2))
    return float(d * (np.log(2) + gammaln(1 + 1 / p)) - gammaln(1 + d / p))


def unit_sphere(n: int, d: int, p: float, rng: np.random.RandomState) -> np.ndarray:
    """n points with ‖v‖_p = 1, in proportion to the volume of the cone below them: (n, d).

    A point of a uniform ball has such a direction, which does not depend on its length. (Schechtman
    & Zinn, "On the volume of the intersection of two L_p^n balls", Proc. AMS 110, 1990.)
    """
    if np.isinf(p):
        v = rng.uniform(-1, 1, (n, d))
        return v / np.abs(v).max(axis=1, keepdims=True)
    v = rng.choice([-1.0, 1.0], (n, d)) * rng.gamma(1 / p, size=(n, d)) ** (1 / p)
    return v / (np.abs(v) ** p).sum(axis=1, keepdims=True) ** (1 / p)


WORK = 1e9  # most operations of one tile: some tenths of a second


STRIP = 2**20  # bytes of a strip of rows
BELOW = np.tri(128, k=-1, dtype=bool)  # the lower triangle of a square on the diagonal
LARGE = 2048  # rows of the largest tile
EDGE = 512  # rows of a square tile of 1 MB in float32, which stays in a core's L2 cache


def tile_edge(shape: tuple[int, int], cost: float, most: int = EDGE) -> int:
    """Rows of a square tile: ``most``, or fewer if a pair costs many operations."""
    # At least 8 rows, because normalised kernels also need k(x, x) for every row of a tile; and at
    # most an eighth of all rows if a pair costs much, so that threads can share the work.
    enough = np.sqrt(WORK / max(cost, WORK / most**2))
    if enough < most:
        enough = min(enough, max(shape) / 8)
    return min(most, max(8, int(enough)))


def fill(
    tiles: Callable[[slice, slice], Iterable[np.ndarray]],
    matrices: Sequence[np.ndarray],
    step: int,
    symmetric: bool,
    n_jobs: int | None,
) -> None:
    """Write matrices of one shape tile by tile.

    ``tiles`` gives for some rows and columns a tile of each matrix. For symmetric matrices, the
    upper triangle is copied to the lower.
    """
    n, m = matrices[0].shape

    def strip(s: int) -> None:
        raise_if_stopped()
        i = slice(s, min(s + step, n))
        for t in range(s if symmetric else 0, m, step):
            j = slice(t, min(t + step, m))
            for K, tile in zip(matrices, tiles(i, j)):
                K[i, j] = tile
                if symmetric and t == s:  # rounding differs between the two halves of this tile
                    mirrored(K[i, j])
                elif symmetric:
                    K[j, i] = tile.T

    for _ in ordered_map(strip, range(0, n, step), n_jobs):
        pass


def by_strips(
    A: np.ndarray, function: Callable[[np.ndarray], Any], dtype: DTypeLike, n_jobs: int | None
) -> np.ndarray:
    """function(A) as a new array of a dtype, computed by strips of rows that stay in cache."""
    out = np.empty(A.shape, dtype)
    rows = max(1, STRIP // (A.itemsize * max(A.shape[1], 1)))

    def strip(s: int) -> None:
        out[s : s + rows] = function(A[s : s + rows])

    for _ in ordered_map(strip, range(0, len(A), rows), n_jobs):
        pass
    return out


def mirrored(K: np.ndarray) -> np.ndarray:
    """Copy the upper triangle of K into the lower one; overwrites and returns K."""
    for s in range(0, len(K), len(BELOW)):
        e = min(s + len(BELOW), len(K))
        K[s:e, :s] = K[:s, s:e].T
        square = K[s:e, s:e]
        square[...] = np.where(BELOW[: e - s, : e - s], square.T, square)
    return K
