"""Lists of named kernels, in the form of scikit-learn's ColumnTransformer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from mercer.kernels import RBF, Convex, Kernel, Linear, Precomputed, scale_gamma
from mercer.samples import Samples

WIDTHS = (1 / 16, 1 / 4, 1, 4, 16)  # factors of gamma="scale"


class Item(NamedTuple):
    """One kernel of a list; columns is None if it reads whole samples."""

    name: str
    kernel: Kernel
    columns: tuple | None

    @property
    def on_columns(self) -> Kernel:
        """The kernel, which reads its columns."""
        return self.kernel if self.columns is None else self.kernel.on(*self.columns)


def read_kernels(kernels: Any, reserved: Collection[str] = ()) -> list[Item]:
    """The items of a list of kernels.

    Parameters
    ----------
    kernels : list
        Items are (name, kernel, columns), (name, kernel), or kernels alone, which get the name of
        their class, with a number if there are several of this class.
    reserved : collection of str
        Names that a kernel cannot have, because parameters have them.

    Examples
    --------
    >>> [item.name for item in read_kernels([("age", RBF(), ["age"]), Linear(), Linear()])]
    ['age', 'linear-1', 'linear-2']
    """
    if not isinstance(kernels, (list, tuple)) or not len(kernels):
        raise ValueError(
            f"kernels={kernels!r}: give a list of kernels, or of (name, kernel, columns)."
        )
    alone = [type(item).__name__.lower() for item in kernels if isinstance(item, Kernel)]
    seen: Counter = Counter()
    items = []
    for place, item in enumerate(kernels):
        if isinstance(item, Kernel):
            name = type(item).__name__.lower()
            seen[name] += 1
            number = f"-{seen[name]}" if alone.count(name) > 1 else ""
            items.append(Item(name + number, item, None))
            continue
        whole = isinstance(item, (list, tuple)) and len(item) in (2, 3)
        if not (whole and isinstance(item[0], str) and isinstance(item[1], Kernel)):
            raise TypeError(
                f"kernels[{place}]={item!r}: give (name, kernel, columns), (name, kernel), or a "
                'kernel; names such as "rbf" are objects here, RBF().'
            )
        columns = None
        if len(item) == 3:
            one = isinstance(item[2], (str, Integral))
            columns = (item[2],) if one else tuple(item[2]) if np.iterable(item[2]) else ()
            if not columns:
                raise ValueError(
                    f"kernels[{place}] reads the columns {item[2]!r}: give a list of at least one."
                )
        items.append(Item(item[0], item[1], columns))
    names = [item.name for item in items]
    wrong = [n for n in names if names.count(n) > 1 or "__" in n or n in reserved or not n]
    if wrong:
        raise ValueError(
            f"kernels has the name {wrong[0]!r}, which is empty, there twice, has two underscores, "
            "or is the name of a parameter: give each kernel a name of its own."
        )
    return items


def with_kernels(kernels: Any, changes: dict[str, Any]) -> list:
    """The list with other kernels under some names; a kernel that had none keeps its name."""
    changed = []
    for read, item in zip(read_kernels(kernels), kernels):
        if read.name not in changes:
            changed.append(item)
        else:
            rest = () if isinstance(item, Kernel) else tuple(item)[2:]
            changed.append((read.name, changes[read.name], *rest))
    return changed


def standard_kernels(X: Samples, weights: np.ndarray | None) -> list[Item]:
    """Kernels for encoded vectors if none are given: linear, and Gaussian with five widths."""
    gamma = min(scale_gamma(X, weights), np.finfo(np.float64).max / max(WIDTHS))
    widths = [Item(f"rbf-{place}", RBF(f * gamma), None) for place, f in enumerate(WIDTHS, 1)]
    return [Item("linear", Linear(), None), *widths]


def matrix_kernels(count: int) -> list[Item]:
    """One kernel for each of several precomputed matrices."""
    return [Item(f"matrix-{t}", Precomputed(), (t,)) for t in range(count)]


def kind_read(kernels: Any) -> str:
    """The kind of samples that the kernels read; "vectors" where this is not known."""
    if isinstance(kernels, str):
        return kernels
    try:
        return Convex([item.on_columns for item in read_kernels(kernels)]).kind
    except (TypeError, ValueError):
        return "vectors"
