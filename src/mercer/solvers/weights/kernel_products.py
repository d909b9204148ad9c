r"""Inner products of many Gram matrices, summed tile by tile, so that none of them is in memory.

A tile of all matrices is a matrix B with one row for each of them, and their inner products over
the tile are B Bᵀ. Centring is a projection, :math:`K^c = H K H` with :math:`H = I - u u^\top`, so
that inner products of centred matrices follow from those of the others and from the products K u.
Rows of weight w count w times: K is then :math:`K_{ij} \sqrt{w_i w_j}` and u is the direction of
:math:`\sqrt{w}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mercer.gram import GramOperator, Place
from mercer.threads import count_jobs, ordered_map, raise_if_stopped

EDGE = 256  # rows of the largest tile
CENTRES = 256  # rows whose mean is subtracted before the sums, which then keep their digits
STRIP = 64  # rows whose single entries are read at a time
CONSTANT = 64  # a centred matrix this many units of rounding large is 0


class InnerProducts(NamedTuple):
    r"""Inner products of T centred Gram matrices and a target.

    .. math:: M_{st} = \langle K^c_s, K^c_t \rangle_F, \qquad
              a_t = \langle K^c_t, Y Y^\top \rangle_F

    :math:`K^c` is the centred matrix.

    Attributes
    ----------
    grams : ndarray of shape (T, T) or (T,)
        :math:`\langle K_s^c, K_t^c \rangle_F`, or only those of each matrix with itself; 0 for
        a matrix that is constant up to rounding.
    target : ndarray of shape (T,)
        :math:`\langle K_t^c, Y Y^\top \rangle_F`.
    norm : float
        :math:`\|Y Y^\top\|_F` of the centred Y.

    References
    ----------
    Cortes, Mohri & Rostamizadeh, "Algorithms for learning kernels based on centered alignment",
    JMLR 13, 2012.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> y = np.array([[1.0], [-1.0]])
    >>> inner_products([DenseGram(y @ y.T, symmetric=True)], y)
    InnerProducts(grams=array([[4.]]), target=array([4.]), norm=2.0)
    """

    grams: np.ndarray
    target: np.ndarray
    norm: float


def inner_products(
    grams: Sequence[GramOperator],
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    pairs: bool = True,
    memory: int | float | str | None = None,
    n_jobs: int | None = None,
) -> InnerProducts:
    r"""Inner products of centred Gram matrices with each other and with a centred Y Yᵀ.

    .. math:: \langle K^c_s, K^c_t \rangle_F = \sum_{ij} (K^c_s)_{ij} (K^c_t)_{ij}, \qquad
              K^c = H K H, \qquad H = I - 1 1^\top / n

    With weights H subtracts the weighted mean.

    Parameters
    ----------
    grams : sequence of T GramOperator of shape (n, n), symmetric
    Y : ndarray of shape (n, c)
        Targets, or indicators of classes.
    weights : ndarray of shape (n,), optional
        Weights of the rows, which mean repetition.
    pairs : bool, default=True
        Whether the products of all pairs of matrices are wanted, or only of each with itself.
    memory, n_jobs
        The same as for `mercer.gram.gram`.

    Notes
    -----
    Each matrix is computed once. O(n² T²) operations with pairs, O(n² T) without; memory for a tile
    of each matrix, and O(n T). The mean of at most 256 rows is subtracted first: the sums are then
    of numbers of the size of the centred ones, and few digits are lost. Centred alignment needs
    them (Cortes, Mohri & Rostamizadeh 2012).

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> y = np.array([[1.0], [-1.0]])
    >>> K = [DenseGram(np.eye(2), symmetric=True), DenseGram(y @ y.T, symmetric=True)]
    >>> inner_products(K, y).grams
    array([[1., 2.],
           [2., 4.]])
    """
    T, n = len(grams), grams[0].shape[0]
    w = np.ones(n) if weights is None else weights
    s = np.sqrt(w)
    u = s / np.linalg.norm(s)
    Z = (Y - np.average(Y, axis=0, weights=w)) * s[:, None]
    shifts = [_shift(K, w) for K in grams]
    step, jobs = _edge(grams, memory, n_jobs), count_jobs(n_jobs)

    def strip(first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The sums over the tiles of one block row, and of their transposes."""
        i = slice(first, min(first + step, n))
        sums = np.zeros((T, T) if pairs else T)
        target, products = np.zeros(T), np.zeros((T, n - first))
        for start in range(first, n, step):
            raise_if_stopped()
            j = slice(start, min(start + step, n))
            twice = 1 if start == first else 2
            B = np.empty((T, (i.stop - i.start) * (j.stop - j.start)))
            for t, (K, shift) in enumerate(zip(grams, shifts)):
                tile = B[t].reshape(i.stop - i.start, j.stop - j.start)
                tile[...] = K.block(i, j)
                tile -= shift[i, None]
                tile -= shift[j]
                tile *= s[i, None]
                tile *= s[j]
                products[t, : i.stop - first] += tile @ u[j]
                if start > first:
                    products[t, start - first : j.stop - first] += u[i] @ tile
            sums += twice * (B @ B.T if pairs else np.einsum("ta,ta->t", B, B))
            target += twice * (B @ (Z[i] @ Z[j].T).ravel())
        return sums, target, products

    total, target = np.zeros((T, T) if pairs else T), np.zeros(T)
    products = np.zeros((T, n))
    starts = range(0, n, step)
    for first, found in zip(starts, ordered_map(strip, starts, jobs), strict=True):
        total += found[0]
        target += found[1]
        products[:, first:] += found[2]
    middle = products @ u
    # tr(H K H L) = <K, L> - 2 (K u)ᵀ(L u) + (uᵀK u)(uᵀL u)
    if pairs:
        total += np.outer(middle, middle) - 2 * products @ products.T
        squares = total.diagonal()
    else:
        total += middle**2 - 2 * np.einsum("ti,ti->t", products, products)
        squares = total
    traces = np.array([float(np.abs(K.diag()).astype(np.float64) @ w) for K in grams])
    rounding = np.array([float(np.finfo(K.dtype).eps) for K in grams])
    known = np.sqrt(np.maximum(squares, 0)) > CONSTANT * rounding * traces
    mask = np.outer(known, known) if pairs else known
    ZZ = Z.T @ Z
    return InnerProducts(
        np.where(mask, total, 0.0), np.where(known, target, 0.0), float(np.linalg.norm(ZZ))
    )


def _shift(K: GramOperator, w: np.ndarray) -> np.ndarray:
    """r with K_ij - r_i - r_j centred on the mean of some rows, (n,)."""
    n = K.shape[0]
    rows = np.unique(np.linspace(0, n - 1, min(n, CENTRES)).astype(int))
    share = w[rows] / w[rows].sum()
    means = K.part(np.arange(n), rows) @ share
    return means.astype(np.float64) - float(share @ means[rows]) / 2


def _edge(
    grams: Sequence[GramOperator], memory: int | float | str | None, n_jobs: int | None
) -> int:
    """Rows of a square tile, of which an eighth of the budget holds one of each matrix."""
    cost = 8 * len(grams) * count_jobs(n_jobs)  # bytes of a pair of rows, in all threads
    room = Place(memory).budget(8 * cost * EDGE**2) // 8
    return int(np.clip(np.sqrt(room / cost), 16, min(EDGE, *(K.edge() for K in grams))))


def entries(
    K: GramOperator, rows: np.ndarray, columns: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """K[rows[a], columns[a]] for each a, (len(rows),); whole rows of K are computed.

    Parameters
    ----------
    K : GramOperator of shape (n, m)
    rows, columns : ndarray of int, of one length
    n_jobs : int or None

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> entries(DenseGram(np.arange(6.0).reshape(2, 3)), np.array([1, 0]), np.array([2, 1]))
    array([5., 1.])
    """
    order = np.argsort(rows, kind="stable")
    wanted, out = rows[order], np.empty(len(rows), K.dtype)
    found = np.unique(wanted)
    strips = [found[s : s + STRIP] for s in range(0, len(found), STRIP)]

    def strip(each: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise_if_stopped()
        places = order[slice(*np.searchsorted(wanted, [each[0], each[-1] + 1]))]
        part = K.block(each, slice(None))
        return places, part[np.searchsorted(each, rows[places]), columns[places]]

    for places, values in ordered_map(strip, strips, n_jobs):
        out[places] = values
    return out
