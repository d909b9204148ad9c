"""Rules for the arrays of a file: declared beside their classes, and checked when read.

Whoever makes up a file may write any numbers into it. Compiled code, scipy and loops that walk
through a tree take some of them for places in memory, or for the next step of a way that ends. So
a class declares rules for its fields, and `check_fields`, which sees everything that is read
from files, compares every object with the rules of its class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral, Real
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from mercer.persistence.json_texts import reason

#: raises ValueError for a value that its owner cannot have
Rule = Callable[[Any, Any], None]
#: a number that an owner says of its other fields
Size = Callable[[Any], int]
Class = TypeVar("Class", bound=type)

DECLARED: dict[type, dict[str, Rule]] = {}
STEP = 2**20  # offsets that are compared at a time
_ABSENT = object()
PLAIN = {str, bytes, int, float, bool, complex, type(None)}
NO_PARTS = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)


def fields(**rules: Rule) -> Callable[[Class], Class]:
    """Declare the rules for fields of a class that are read from a file.

    A field may be absent. Classes below this one have the same fields, and may declare more. A
    class that is no estimator and no dataclass can be in files only if it, or one above it, is
    declared so, if need be without a rule; `mercer.persistence.own_objects` says which fields it
    may have.

    Examples
    --------
    >>> @fields(codes=whole(lambda chosen: len(chosen.names)))
    ... class Chosen:
    ...     def __init__(self, codes, names):
    ...         self.codes, self.names = codes, names
    >>> check_fields([Chosen(np.array([0, 1]), ["a", "b"])])
    >>> check_fields([Chosen(np.array([0, 2]), ["a", "b"])])
    Traceback (most recent call last):
    ValueError: Chosen.codes reaches from 0 to 2, beyond 0 to 1
    """

    def declare(owner: Class) -> Class:
        DECLARED[owner] = rules
        return owner

    return declare


def declared(owner: type) -> dict[str, Rule]:
    """The rules for the fields of a class, and of those that it is made of."""
    found: dict[str, Rule] = {}
    for base in reversed(owner.__mro__):
        found |= DECLARED.get(base, {})
    return found


def check_fields(root: object) -> None:
    """Check the fields of all objects that something from a file holds.

    Raises
    ------
    ValueError
        It names the class and the field.
    """
    waiting, seen = [root], set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, NO_PARTS):
            continue
        seen.add(id(value))
        for name, rule in declared(type(value)).items():
            field = getattr(value, name, _ABSENT)
            if field is not _ABSENT:
                _check(rule, value, field, f"{type(value).__name__}.{name}")
        if sp.issparse(value):
            check_indices(value)
        elif isinstance(value, np.ndarray):
            waiting += _with_parts(value.ravel().tolist()) if value.dtype.hasobject else []
        elif isinstance(value, dict):
            waiting += _with_parts(value.values())
        elif isinstance(value, (list, tuple, set, frozenset)):
            waiting += _with_parts(value)
        else:
            waiting += _with_parts(getattr(value, "__dict__", {}).values())


def _with_parts(values: Iterable[Any]) -> list[Any]:
    """Those of some values that may hold others; most of a long alphabet do not."""
    return [value for value in values if type(value) not in PLAIN]


def _check(rule: Rule, owner: Any, value: object, name: str) -> None:
    try:
        rule(owner, value)
    except Exception as error:  # a size that is asked for may not be there
        said = str(error) if type(error) is ValueError else f"does not fit: {reason(error)}"
        raise ValueError(f"{name} {said}") from error


def check_indices(rows: Any) -> None:
    """Refuse sparse rows or columns whose indices lie outside: scipy reads and writes there.

    Raises
    ------
    ValueError
        It says what is wrong.
    """
    if rows.format in ("csr", "csc", "bsr"):
        _as_array(rows.indices, 1)
        _check_ascent(_as_array(rows.indptr, 1))
        rows.check_format(full_check=True)
    elif rows.format == "coo":
        for indices, size in zip(rows.coords, rows.shape, strict=True):
            _check_range(_as_array(indices, 1), 0, size)


# --- rules ---------------------------------------------------------------------------------------


def whole(
    below: Callable[[Any], int | None] | None = None,
    least: int = 0,
    *,
    axes: int = 1,
    length: Size | None = None,
) -> Rule:
    """Whole numbers from ``least`` to less than ``below``.

    Parameters
    ----------
    below : function of the owner, optional
        None: any numbers that are not below ``least``.
    axes : int, default=1
    length : function of the owner, optional
        How many there are along the first axis. None: any number.
    """

    def check(owner: object, value: object) -> None:
        array = _as_array(value, axes)
        _check_range(array, least, None if below is None else below(owner))
        _check_length(array, length, owner)

    return check


def offsets(end: Size, *, length: Size | None = None, axes: int = 1) -> Rule:
    """Where parts of a list start: numbers that ascend from 0 to ``end``, in each row."""

    def check(owner: object, value: object) -> None:
        array = _as_array(value, axes)
        _check_length(array, length, owner)
        for row in array.reshape(-1, array.shape[-1]):
            _check_ascent(row)
            if row[-1] != end(owner):
                raise ValueError(f"ends at {row[-1]}, not at {end(owner)}")

    return check


def permutation(length: Size) -> Rule:
    """Each of the numbers 0, 1 ... below ``length`` once."""

    def check(owner: object, value: object) -> None:
        array = _as_array(value, 1)
        _check_length(array, length, owner)
        _check_range(array, 0, len(array))
        seen = np.zeros(len(array), bool)
        seen[array] = True
        if not seen.all():
            raise ValueError(f"lacks {int(seen.argmin())}")

    return check


def halves(owner: object, value: object) -> None:
    """The two parts of each inner node of a tree: a later node, or ~ the number of a leaf.

    Each node but the first is a part of one node, and each leaf is, so that ways down end.
    """
    array = _as_array(value, 2)
    nodes = np.arange(len(array))
    if array.shape[1] != 2:
        raise ValueError(f"has the shape {array.shape}, not two columns")
    leaves = ~np.arange(len(array) + 1)[::-1]
    parts = np.concatenate([leaves, nodes[1:]]) if len(array) else nodes
    if not np.array_equal(np.sort(array, axis=None), parts):
        raise ValueError("does not name every node and every leaf once")
    if ((array >= 0) & (array <= nodes[:, None])).any():
        raise ValueError("leads back to an earlier node")


def floats(axes: int, length: Size | None = None, columns: Size | None = None) -> Rule:
    """Numbers with a point, in one of the precisions; of any value."""

    def check(owner: object, value: object) -> None:
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.ndim != axes:
            raise ValueError(f"is {_words(value)}, not floating numbers with {axes} axes")
        _check_length(value, length, owner)
        if columns is not None and value.shape[1] != columns(owner):
            raise ValueError(f"has {value.shape[1]} columns, not {columns(owner)}")

    return check


def number(most: Size | None = None, least: float = 0) -> Rule:
    """A number from ``least`` to ``most``; a whole one, if ``most`` is."""

    def check(owner: object, value: Any) -> None:
        high = np.inf if most is None else most(owner)
        right = Integral if type(high) is int else Real
        is_number = isinstance(value, right) and not isinstance(value, bool)
        if not (is_number and least <= float(value) <= high):
            raise ValueError(f"is {str(value)[:40]}, not a number from {least} to {high}")

    return check


def equal(wanted: Size) -> Rule:
    """A whole number that follows from other fields."""

    def check(owner: object, value: object) -> None:
        if not isinstance(value, Integral) or value != wanted(owner):
            raise ValueError(f"is {str(value)[:40]}, not {wanted(owner)}")

    return check


def one_of(*known: object) -> Rule:
    """One of some values."""

    def check(owner: object, value: object) -> None:
        if not any(type(value) is type(each) and value == each for each in known):
            raise ValueError(f"is {str(value)[:40]!r}, not one of {known}")

    return check


def length_of(wanted: Size) -> Rule:
    """Samples, arrays or lists of a length that follows from other fields."""

    def check(owner: Any, value: np.ndarray) -> None:
        found = value.shape[0] if hasattr(value, "shape") else len(value)
        if found != wanted(owner):
            raise ValueError(f"has {found} rows, not {wanted(owner)}")

    return check


def each(rule: Rule) -> Rule:
    """A list whose items obey a rule."""

    def check(owner: object, value: object) -> None:
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"is {_words(value)}, not a list")
        for item in value:
            rule(owner, item)

    return check


def optional(rule: Rule) -> Rule:
    """None, or what obeys a rule."""

    def check(owner: object, value: object) -> None:
        if value is not None:
            rule(owner, value)

    return check


def unread(owner: object, value: object) -> None:
    """Anything: no code takes it for a place, and a comparison with it cannot go wrong."""


# --- what rules check ----------------------------------------------------------------------------


def _as_array(value: object, axes: int) -> np.ndarray:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu" or value.ndim != axes:
        raise ValueError(f"is {_words(value)}, not whole numbers with {axes} axes")
    return value


def _check_range(array: np.ndarray, least: int, below: int | None) -> None:
    """Refuse whole numbers below ``least``, or from ``below`` on."""
    if not array.size:
        return
    low, high = int(array.min()), int(array.max())
    if low < least or (below is not None and high >= below):
        end = "" if below is None else f" to {below - 1}"
        raise ValueError(f"reaches from {low} to {high}, beyond {least}{end}")


def _check_ascent(array: np.ndarray) -> None:
    """Numbers that begin with 0 and do not fall; in parts, as there may be many."""
    if not len(array) or array[0] != 0:
        raise ValueError("does not begin with 0")
    for start in range(0, len(array), STEP):
        part = array[start : start + STEP + 1]
        if (part[1:] < part[:-1]).any():
            raise ValueError("descends, so that parts overlap")


def _check_length(array: np.ndarray, length: Size | None, owner: object) -> None:
    if length is not None and len(array) != length(owner):
        raise ValueError(f"has {len(array)} entries, not {length(owner)}")


def _words(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return f"of the type {type(value).__name__}"
