"""Choose the Gram operator that suits a kernel and samples; all Gram matrices are made here."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.factored import CrossFeatureGram, FeatureGram
from mercer.gram.low_rank import low_rank_gram
from mercer.gram.operator import DenseGram, GramOperator, MatrixPart
from mercer.gram.tiled import TiledGram
from mercer.threads import count_jobs

__all__ = ["gram"]


def gram(
    kernel: Any,
    X: Any,
    Z: Any = None,
    *,
    memory: int | float | str | None = None,
    n_jobs: int | None = None,
    rank: int | None = None,
    random_state: Any = None,
    device: str | None = None,
) -> GramOperator:
    """The Gram matrix of a bound kernel between encoded samples, as an operator.

    Nothing is computed yet, unless ``rank`` is given. `GramOperator.held` computes K and keeps it
    if it needs at most half of the budget (solvers need memory too).

    Parameters
    ----------
    kernel : Kernel
        Bound to the training samples.
    X, Z : encoded samples
        Samples encoded by ``kernel.encode``; Z defaults to X.
    memory : int, str or None
        Budget in bytes or as "4GB"; None means half of the free memory.
    n_jobs : int or None
        Threads; None means all cores.
    rank : int, optional
        Approximate K by a factor with this number of columns, or fewer if K has a lower rank.
    random_state : int, RandomState or None
        Seed of the centres of the factor; used only with ``rank``.
    device : {"cpu"}, optional
        The device that computes the blocks; None means "cpu".

    Returns
    -------
    GramOperator

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> K = gram(RBF(0.5), np.arange(6.0).reshape(3, 2))
    >>> K.shape, (K @ np.ones(3)).round(3)
    ((3, 3), array([1.018, 1.037, 1.018]))
    """
    if device not in (None, "cpu"):
        raise ValueError(
            f'device={device!r}: Gram matrices are computed only on the CPU; give "cpu" or None.'
        )
    count_jobs(n_jobs)  # raises an error for 0, even if no threads are needed
    K = _operator(kernel, X, X if Z is None else Z, memory, n_jobs)
    if rank is None:
        return K
    return low_rank_gram(K, rank, memory=memory, random_state=random_state, n_jobs=n_jobs)


def _operator(kernel: Any, X: Any, Z: Any, memory: Any, n_jobs: int | None) -> GramOperator:
    known = kernel.matrix(X, Z)
    if known is not None:
        K, i, j = known
        symmetric = kernel.symmetric and Z is X
        if all(np.array_equal(part, np.arange(size)) for part, size in zip((i, j), K.shape)):
            return DenseGram(K, symmetric, n_jobs=n_jobs)
        return MatrixPart(K, i, j, symmetric=symmetric, n_jobs=n_jobs)
    if kernel.linear:
        if Z is X:
            return FeatureGram(X, n_jobs, memory)
        return CrossFeatureGram(X, Z)
    K = TiledGram(kernel, X, Z, n_jobs, memory)
    return K.held() if kernel.at_once else K
