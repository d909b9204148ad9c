"""Sums over all training rows that lie within a window of each query, by tiles of distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.distances import Distance
from mercer.gram import Place
from mercer.learners.windows.shapes import window
from mercer.threads import ordered_map

EDGE, LEAST = 512, 16  # rows and columns of a tile, at most and at least


def window_sums(
    distance: Distance,
    Z: Any,
    X: Any,
    T: np.ndarray,
    name: str,
    widths: Sequence[float],
    reduce: Callable[[np.ndarray, slice], np.ndarray],
    *,
    place: Place,
) -> np.ndarray:
    """What ``reduce`` makes of Σ_j K(ρ(z_i, x_j) / h) T[j], for each width h.

    Parameters
    ----------
    distance : Distance
        Bound.
    Z : encoded samples (q) or None
        None means the rows of X; no row counts for itself.
    X : encoded samples (n)
    T : ndarray of shape (n, columns)
    name : str
        Name of a window.
    widths : sequence of float
    reduce : callable
        Takes the sums of some queries, (widths, rows, columns), and which queries they are; returns
        an array whose second axis are these queries.
    place : Place
        Memory and threads.

    Returns
    -------
    ndarray
        The results, joined along the second axis.

    Notes
    -----
    q n distances, each computed once for all widths. Memory: some tiles for each thread.
    """
    n = X.shape[0]
    B = distance.prepare(X)
    A = B if Z is None else distance.prepare(Z, B)
    q = A.shape[0]
    room = place.budget() // (place.jobs * 40)
    edge = int(np.clip(np.sqrt(room), LEAST, EDGE))

    def strip(start: int) -> np.ndarray:
        rows = slice(start, min(start + edge, q))
        sums = np.zeros((len(widths), rows.stop - start, T.shape[1]))
        for s in range(0, n, edge):
            D = distance.block(A[rows], B[s : s + edge])
            if not np.isfinite(D).all():
                raise FloatingPointError("a distance is not finite")
            if Z is None and s == start:
                np.fill_diagonal(D, np.inf)
            for total, width in zip(sums, widths):
                total += window(name, D, width) @ T[s : s + edge]
        return reduce(sums, rows)

    return np.concatenate(list(ordered_map(strip, range(0, q, edge), place.n_jobs)), axis=1)
