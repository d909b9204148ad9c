"""The one door to Gram matrices: `gram` asks a list of makers, newest first, for an operator.

A maker says whether it can serve a kernel, samples and a place, and makes the operator. Those of
this file serve everything on this machine's processor; `register` adds others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from contextlib import ExitStack
from typing import Any

import numpy as np

from mercer.estimator import Seed
from mercer.gram.combined import MultipliedGram
from mercer.gram.low_rank import CrossFeatureGram, FeatureGram, low_rank_gram
from mercer.gram.operator import DenseGram, GramOperator, MatrixPart
from mercer.gram.place import Place, PreparedSide
from mercer.gram.tiled import TiledGram
from mercer.kernels import Kernel
from mercer.needs_torch import need_torch
from mercer.samples import Samples, describe

#: devices of torch, which a number may follow, as in "cuda:1"; "cpu:torch" is its code here
TORCH = ("cuda", "mps", "xpu", "cpu")

#: the operator of a bound kernel between encoded samples, for a place; None if it is for others
Maker = Callable[[Any, Any, Any, Place], GramOperator | None]


def gram(
    kernel: Kernel,
    X: Samples,
    Z: Any = None,
    *,
    place: Place | None = None,
    rank: int | None = None,
    random_state: Seed = None,
) -> GramOperator:
    """The Gram matrix of a bound kernel between encoded samples, as an operator.

    .. math:: K_{ij} = k(x_i, z_j)

    K has the shape (n, m).

    Nothing is computed yet, unless ``rank`` is given. `GramOperator.held` computes K and keeps it
    if it needs at most half of the budget (solvers need memory too).

    Parameters
    ----------
    kernel : Kernel
        The kernel, bound to the training samples.
    X, Z : encoded samples
        Samples encoded by ``kernel.encode``; Z defaults to X, and may be a `PreparedSide`, which
        several matrices have.
    place : Place, optional
        Memory, threads and device; None means half of the free memory and all cores.
    rank : int, optional
        Approximate K by a factor with this number of columns, or fewer if K has a lower rank.
    random_state : int, RandomState or None
        Seed of the centres of the factor; used only with ``rank``.

    Returns
    -------
    GramOperator

    Raises
    ------
    ValueError
        No maker serves the device of the place, or not for this kernel and these samples.
    ImportError
        The device is one of torch, and torch is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> K = gram(RBF(0.5), np.arange(6.0).reshape(3, 2))
    >>> K.shape, (K @ np.ones(3)).round(3)
    ((3, 3), array([1.018, 1.037, 1.018]))
    """
    place = Place() if place is None else place
    for name, raw in (("X", X), ("Z", Z)):
        if isinstance(raw, (np.ndarray, PreparedSide)):
            continue
        if isinstance(raw, (str, bytes, list, tuple, Mapping, Set)) or (name == "X" and X is None):
            raise TypeError(
                f"{name} is {describe(raw)}: give encoded samples, kernel.encode({name})."
            )
    columns = Z if isinstance(Z, PreparedSide) else None
    Z = X if Z is None else Z.samples if columns else Z
    for maker in _makers:
        K = maker(kernel, X, Z, place)
        if K is not None:
            break
    else:
        raise ValueError(
            f"device={place.device!r}: no maker of Gram matrices serves it for {kernel!r}. Give "
            'None, or "cuda" or "cpu:torch" for torch, or add a maker that does by '
            "mercer.gram.register."
        )
    if "cheap" not in vars(K) and type(K).cheap is GramOperator.cheap:
        K.cheap = GramOperator.cheap | _cheap_if_kept(K, place)  # its author left it to us
    K.columns = columns
    return K if rank is None else low_rank_gram(K, rank, random_state=random_state)


def _cheap_if_kept(K: GramOperator, place: Place) -> frozenset[str]:
    """What can be done with an operator of a user, because all of it fits in memory."""
    return frozenset({"dense", "factorise"} if place.holds(2 * K.nbytes) else ())


def register(maker: Maker) -> ExitStack:
    """Let a maker of operators be asked before all that are there.

    Parameters
    ----------
    maker : callable
        ``maker(kernel, X, Z, place)`` returns a `GramOperator`, or None to leave this matrix to the
        other makers. Z is X if the matrix is that of one set of samples. The operator should
        compute nothing until it is used: searches make one only to know who serves the matrix.

    Returns
    -------
    contextlib.ExitStack
        Its ``close()`` takes the maker away again, and so does the end of a ``with`` block.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> def ones(kernel, X, Z, place):
    ...     return DenseGram(np.ones((len(X), len(Z))), Z is X) if kernel.linear else None
    >>> with register(ones):
    ...     gram(Linear(), np.zeros((2, 1))).dense().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    >>> gram(Linear(), np.zeros((2, 1))).dense().tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    _makers.insert(0, maker)
    registered = ExitStack()
    registered.callback(_makers.remove, maker)
    return registered


def made_here(kernel: Kernel, X: Samples, place: Place) -> bool:
    """Whether no maker from outside serves a matrix, so that it may be kept as an array here."""
    others = _makers[:-1]  # one of them raises an error where it cannot serve
    return all(maker(kernel, X, X, place) is None for maker in others)


def _by_torch(kernel: Kernel, X: Samples, Z: Samples, place: Place) -> GramOperator | None:
    """Kernels with a formula on a device of torch, which is imported if one is asked for."""
    device = place.device
    if not isinstance(device, str) or device.partition(":")[0] not in TORCH or device == "cpu":
        return None
    need_torch(f"device={device!r}")
    from mercer.gram.on_torch import torch_gram

    return torch_gram(kernel, X, Z, place)


def _on_this_processor(kernel: Kernel, X: Samples, Z: Samples, place: Place) -> GramOperator | None:
    """Any kernel by Mercer's own code: a matrix that is known, products, features, or tiles."""
    if place.device not in (None, "cpu"):
        return None
    symmetric = kernel.symmetric and Z is X
    known = kernel.matrix(X, Z)
    if known is not None:  # the samples are its rows and columns
        K, i, j = known
        if all(np.array_equal(part, np.arange(size)) for part, size in zip((i, j), K.shape)):
            return DenseGram(K, symmetric, place=place)
        return MatrixPart(K, i, j, symmetric=symmetric, place=place)
    products = kernel.products(X, Z)
    if products is not None:  # it is multiplied as a whole, without its entries
        return MultipliedGram(products, np.result_type(X.dtype, Z.dtype), place)
    if kernel.linear:
        return FeatureGram(X, place) if Z is X else CrossFeatureGram(X, Z, place)
    tiles = TiledGram(kernel, X, Z, place)
    return tiles.held() if kernel.at_once else tiles


_makers: list[Maker] = [_by_torch, _on_this_processor]
