"""An index without its large arrays, which `mercer.search.files` writes separately.

`Skeleton` takes the large arrays out of dicts, lists, tuples, sparse rows and objects of this
library, and leaves a `Stored` in the place of each. An array that occurs twice is taken out once.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from mercer.persistence import read_json
from mercer.samples import Objects, plain_rows
from mercer.search.rows import OrderedRows

LARGE = 2**16  # bytes at least of an array that is taken out
LONG = 1000  # items at least of a list (the words of an alphabet) that is taken out
PLAIN = {str, int, float, bool, type(None)}  # what such a list may hold


@dataclass(eq=False)
class Stored:
    """The place of an array that was taken out."""

    number: int
    form: str  # what it was: "array", or "list", which is stored as its text in JSON


@dataclass(eq=False)
class SparseRows:
    """A ``scipy.sparse.csr_array`` as its arrays, which may be taken out."""

    shape: tuple
    arrays: list  # the values, their columns, and where each row starts


@dataclass(eq=False)
class StoredRows:
    """`OrderedRows` with what is prepared of them, which they leave out of other files."""

    parts: dict  # their attributes


class Skeleton:
    """The attributes of an index without its large arrays; ``state`` has a `Stored` for each.

    Raises TypeError if there are samples that are Python objects.
    """

    def __init__(self, parts: dict):
        self.arrays: list[np.ndarray] = []  # in the order of their numbers
        self.state = _replaced(parts, self._take_out, {})

    @staticmethod
    def filled(state: dict, arrays: list[np.ndarray]) -> dict:
        """The dict of which ``state`` and ``arrays`` were made."""
        lists: dict[int, list] = {}

        def put_back(value: Any) -> Any:
            if isinstance(value, Stored):
                array = arrays[value.number]
                if value.form == "array":
                    return array
                if value.number not in lists:
                    lists[value.number] = read_json(array.tobytes(), 1)
                return lists[value.number]
            if isinstance(value, StoredRows):
                found = OrderedRows.__new__(OrderedRows)
                vars(found).update(value.parts)
                return found
            if isinstance(value, SparseRows):
                data, indices, indptr = map(put_back, value.arrays)
                if len(indptr) != value.shape[0] + 1:  # or as many numbers would be made
                    raise ValueError("sparse rows of another number than they say")
                rows = cast(Any, sp.csr_array(value.shape, dtype=data.dtype))
                # not by the constructor, which might read or copy what should stay in the file
                rows.data, rows.indices, rows.indptr = data, indices, indptr
                return rows
            return value

        return _replaced(state, put_back, {})

    def _take_out(self, value: Any) -> Any:
        value = plain_rows(value)
        if isinstance(value, Objects):
            raise TypeError(
                f"its {len(value)} samples are Python objects, which a file that runs no code "
                "cannot hold. Compare vectors, strings or sets, or keep the objects in a file of "
                "your own and fit the index again."
            )
        if isinstance(value, OrderedRows):
            parts = dict(vars(value))
            if _holds_objects(value.prepared):
                parts["prepared"] = None  # texts of strings, say, which the next query makes again
            return StoredRows(parts)
        if isinstance(value, np.ndarray) and value.nbytes >= LARGE and not value.dtype.hasobject:
            return self._stored(np.asarray(value), "array")  # samples of vectors are a subclass
        if isinstance(value, sp.csr_array):
            return SparseRows(cast(tuple, value.shape), [value.data, value.indices, value.indptr])
        if type(value) is list and len(value) >= LONG and set(map(type, value)) <= PLAIN:
            return self._stored(np.frombuffer(json.dumps(value).encode(), np.uint8), "list")
        return value

    def _stored(self, array: np.ndarray, form: str) -> Stored:
        self.arrays.append(array)
        return Stored(len(self.arrays) - 1, form)


def _replaced(value: Any, change: Callable[[Any], Any], seen: dict[int, tuple[Any, Any]]) -> Any:
    """A copy with ``change`` applied to each part; parts that were one object stay one.

    ``seen`` has, for each part that was met, what became of it, and the part itself, so that its
    id is not reused.
    """
    if id(value) in seen:
        return seen[id(value)][1]
    new = change(value)
    if type(new) is dict:
        new = {name: _replaced(part, change, seen) for name, part in new.items()}
    elif type(new) in (list, tuple):
        new = type(new)(_replaced(part, change, seen) for part in new)
    elif _is_own(new):
        changed = {name: _replaced(part, change, seen) for name, part in vars(new).items()}
        new = copy.copy(new)
        vars(new).update(changed)
    seen[id(value)] = value, new
    return new


def _holds_objects(value: Any) -> bool:
    """Whether an array of Python objects is among the parts of a value."""
    if isinstance(value, np.ndarray):
        return value.dtype.hasobject
    if type(value) is dict:
        return any(map(_holds_objects, value.values()))
    if type(value) in (list, tuple):
        return any(map(_holds_objects, value))
    return _is_own(value) and any(map(_holds_objects, vars(value).values()))


def _is_own(value: Any) -> bool:
    """Whether this is an object of a class of this library, with attributes."""
    library = type(value).__module__.split(".")[0] == "mercer"
    return library and hasattr(value, "__dict__") and not isinstance(value, type)
