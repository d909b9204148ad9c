"""Compute a matrix in tiles (square blocks): choose their size, and fill them with threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mercer.threads import ordered_map, raise_if_stopped

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
