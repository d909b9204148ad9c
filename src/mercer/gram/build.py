"""Which Gram operator: dense when it fits the memory budget, else tiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.dense import DenseGram
from mercer.gram.memory import memory_budget
from mercer.gram.operator import GramOperator
from mercer.gram.schedule import ordered_map
from mercer.gram.tiled import TiledGram

__all__ = ["Gram"]


def Gram(
    kernel: Any,
    X: Any,
    Z: Any = None,
    *,
    memory: int | float | str | None = None,
    n_jobs: int | None = None,
) -> GramOperator:
    """The Gram matrix of a bound kernel on encoded samples, as an operator.

    Parameters
    ----------
    kernel : Kernel
    X, Z : samples
        Raw data are encoded; Z defaults to X.
    memory : int, str or None
        Budget in bytes or as "4GB"; None means half of what is free. K is held whole when it
        takes at most half of the budget (solvers need room beside it), else it is streamed.
    n_jobs : int or None
        Threads; None means all cores.
    """
    X = kernel.encode(X)
    Z = X if Z is None else kernel.encode(Z, like=X)
    tiled = TiledGram(kernel, X, Z, n_jobs)
    if tiled.shape[0] * tiled.shape[1] * tiled.dtype.itemsize * 2 > memory_budget(memory):
        return tiled
    K = kernel.held(X, Z) if hasattr(kernel, "held") else None  # looked up, in a search
    return DenseGram(fill(tiled, n_jobs) if K is None else K, tiled.symmetric)


def fill(tiled: GramOperator, n_jobs: int | None = None) -> np.ndarray:
    """The whole matrix by block rows; of a symmetric one the upper triangle is mirrored."""
    n, m = tiled.shape
    K = np.empty((n, m), tiled.dtype)
    step = tiled.edge(512)
    below = np.tri(min(n, step), k=-1, dtype=bool)

    def strip(s: int) -> None:
        e = min(s + step, n)
        for t in range(s if tiled.symmetric else 0, m, step):
            j = slice(t, min(t + step, m))
            K[s:e, j] = tiled.block(slice(s, e), j)
            if tiled.symmetric and t > s:
                K[j, s:e] = K[s:e, j].T
            elif tiled.symmetric:  # rounding differs across the diagonal of a tile too
                tile = K[s:e, j]
                tile[...] = np.where(below[: e - s, : e - s], tile.T, tile)

    for _ in ordered_map(strip, range(0, n, step), n_jobs):
        pass
    return K
