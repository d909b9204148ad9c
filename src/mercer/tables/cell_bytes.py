"""What a cell holds as bytes, by which cells, rows and columns are told to be equal."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

import numpy as np

NUMBERS = "fiub"  # kinds of types


def cell_bytes(cell: Any, text: Callable[[Any], str] = repr) -> bytes:
    """The content of a cell, the same for equal cells; ``text`` is of what holds nothing else.

    Arrays and lists of numbers are compared as float64 by all their numbers: the text of an array
    takes long to write, and leaves out the middle of a long one.

    Examples
    --------
    >>> cell_bytes([1, 2]) == cell_bytes(np.array([1.0, 2.0]))
    True
    >>> cell_bytes({"b", "a"})
    b"{'a' 'b'}"
    """
    if isinstance(cell, Set):
        return f"{{{' '.join(sorted(map(text, cell)))}}}".encode("utf-8", "surrogatepass")
    if not isinstance(cell, (list, tuple, np.ndarray)):
        return text(cell).encode("utf-8", "surrogatepass")
    numbers = _numbers(cell)
    if numbers is not None:
        return str(numbers.shape).encode() + numbers.tobytes()
    return b"[%b]" % b"\0".join(cell_bytes(part, text) for part in cell)


def column_bytes(values: np.ndarray) -> bytes:
    """The content of the cells of a column."""
    kind = values.dtype.kind
    if kind not in "fiubmM":
        cells = values.tolist()
        if all(type(cell) is str or cell is None for cell in cells):  # each different one once
            known = {cell: cell_bytes(cell) for cell in set(cells)}
            return b"\0".join([known[cell] for cell in cells])
        return b"\0".join(map(cell_bytes, cells))
    if kind == "f":
        values = values + 0.0  # -0 is 0
    elif kind in "iu":
        values = values.astype(np.int64)
    return np.ascontiguousarray(values).tobytes()


def _numbers(cell: Any) -> np.ndarray | None:
    """A cell of numbers alone as an array, in which -0 is 0; None for other cells."""
    if not isinstance(cell, np.ndarray):
        if not len(cell) or not isinstance(
            cell[0], (int, float, np.number, list, tuple, np.ndarray)
        ):
            return None
        try:
            cell = np.array(cell)
        except ValueError:  # parts of different lengths
            return None
    return cell.astype(np.float64) + 0.0 if cell.dtype.kind in NUMBERS else None
