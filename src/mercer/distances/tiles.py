"""Compute a matrix in tiles (square blocks): choose their size, and fill them with threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.threads import ordered_map

__all__ = ["EDGE", "WORK", "fill", "tile_edge"]

WORK = 1e9  # most operations of one tile: some tenths of a second


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
    block: Callable[[slice, slice], np.ndarray],
    K: np.ndarray,
    step: int,
    symmetric: bool,
    n_jobs: int | None,
) -> np.ndarray:
    """Write all blocks to K; for a symmetric matrix, the upper triangle is copied to the lower.

    Returns K.
    """
    n, m = K.shape
    below = np.tri(min(n, step), k=-1, dtype=bool)

    def strip(s: int) -> None:
        e = min(s + step, n)
        for t in range(s if symmetric else 0, m, step):
            j = slice(t, min(t + step, m))
            tile = block(slice(s, e), j)
            if symmetric and t == s:  # rounding differs also between the two halves of this tile
                K[s:e, j] = np.where(below[: e - s, : e - s], tile.T, tile)
                continue
            K[s:e, j] = tile
            if symmetric:
                K[j, s:e] = tile.T

    for _ in ordered_map(strip, range(0, n, step), n_jobs):
        pass
    return K
