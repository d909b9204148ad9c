"""Objects of Mercer's own classes in files: which classes, which fields, and how they are made.

An object is made empty and its fields are set, so that neither a constructor nor any other code of
its class runs. A class may be in a file if it is an estimator (kernels, distances, learners and
indexes are), a dataclass, or declares its fields by `mercer.persistence.fields`, and is in one of
the rooms of which models are made. A field may be in a file if the class declares it: as a
parameter of its constructor, by an annotation, in ``__slots__``, by `fields`, or, in an estimator,
by a name that ends or begins with one underscore. It may not take the place of a method.

Lists and dicts of small records are one text each, a member of the file: a table of 800 columns has
thousands of records of ten values. As objects of their own they were 57,000 nodes of a model file,
37 MB, and took four seconds to write and to read.
"""

from __future__ import annotations

import inspect
import json
from dataclasses import MISSING, fields as fields_of, is_dataclass
from functools import cache
from importlib import import_module
from itertools import repeat
from types import MemberDescriptorType, NoneType
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.persistence.field_rules import DECLARED
from mercer.persistence.json_texts import read_json


class KeepsRecords:
    """Mixin of estimators that hold lists or dicts of dataclasses; ``records`` names them."""

    records: ClassVar[dict[str, type]] = {}

    def __getstate__(self) -> dict[str, Any]:
        whole: Any = super()
        state: dict[str, Any] = whole.__getstate__()
        known = {
            name: packed(state[name])
            for name, kind in self.records.items()
            if state.get(name) is not None and _are(state[name], kind)
        }
        return state | known

    def __setstate__(self, state: dict[str, Any]) -> None:
        known = {
            name: unpacked(kind, state[name])
            for name, kind in self.records.items()
            if isinstance(state.get(name), bytes)
        }
        whole: Any = super()
        whole.__setstate__(state | known)


def _are(items: Any, kind: type) -> bool:
    """Whether these are records of one kind, in a list or by name."""
    each = items.values() if isinstance(items, dict) else items
    return isinstance(items, (list, dict)) and all(type(item) is kind for item in each)


def packed(items: list | dict) -> bytes | list | dict:
    """Dataclasses as one text, which has one of their fields after the other; as they are where a
    value is no text, number or list of these.

    Of a dict, the names are kept with them. A field that is the same in all records is written
    once; but not the first one, which tells how many there are.

    Examples
    --------
    >>> from mercer.tables.columns import Column
    >>> columns = [Column("age", "number", "", 0, 9), Column("sex", "category", "", 0, 2)]
    >>> text = packed(columns)
    >>> text[:65]
    b'[null, [["age", "sex"], ["number", "category"], [""], [0], [9, 2]'
    >>> unpacked(Column, text) == columns
    True
    """
    names = list(items) if isinstance(items, dict) else None
    records = items.values() if isinstance(items, dict) else items
    whole = [list(values) for values in zip(*(vars(item).values() for item in records))]
    if not (_are_plain(names or []) and all(map(_are_plain, whole))):
        return items
    text = [values[:1] if i and _are_one(values) else values for i, values in enumerate(whole)]
    return json.dumps([names, text], default=np.generic.item).encode()


PLAIN = (str, int, float, NoneType, np.integer, np.floating, np.bool_)


def _are_plain(values: list) -> bool:
    """Whether JSON keeps these values as they are: no NaN, which is equal to nothing."""
    kinds = set(map(type, values))
    if list in kinds:
        kinds.remove(list)
        if not all(_are_plain(each) for each in values if type(each) is list and each):
            return False
    real = any(issubclass(kind, (float, np.floating)) for kind in kinds)
    nowhere = real and any(each != each for each in values)
    return not nowhere and all(issubclass(kind, PLAIN) for kind in kinds)


def _are_one(values: list) -> bool:
    """Whether all are the same text, whole number or empty list. Of other lists each record has
    its own, and numbers of floats are 0 or -0."""
    first = values[0]
    if not (type(first) in (str, int, bool, NoneType) or first == []):
        return False
    return values.count(first) == len(values) and len(set(map(type, values))) == 1


def unpacked(kind: type, text: bytes) -> list | dict:
    """The inverse of `packed`, for records of one kind; no code of theirs runs."""
    content, fields = read_json(text), fields_of(kind)
    names, columns = content if isinstance(content, list) and len(content) == 2 else (None, 0)
    if not (isinstance(columns, list) and all(isinstance(each, list) for each in columns)):
        raise ValueError("records that are no list of lists")
    spare = [[[]] if each.default_factory is list else [each.default] for each in fields]
    whole: list[list] = [*columns, *spare[len(columns) :]]
    if columns and (len(whole) > len(fields) or [MISSING] in whole):
        raise ValueError(f"a {kind.__name__} of {len(columns)} fields, not {len(fields)}")
    count = len(columns[0]) if columns else 0
    if not all(len(each) in (1, count) for each in whole):
        raise ValueError(f"records of which a field has not one value, nor {count}")
    found = [object.__new__(kind) for _ in range(count)]
    for field, values in zip(fields, whole):
        alike = values[0] if len(values) < count else None
        each: Any = values if len(values) == count else repeat(alike)
        if isinstance(alike, list):
            each = ([*alike] for _ in found)
        for record, value in zip(found, each):
            vars(record)[field.name] = value
    return found if names is None else dict(zip(names, found, strict=True))


LIBRARY, OWN_NODE = "mercer.", "OwnNode"
#: where the classes are of which models are made
ROOMS = (
    "deep", "dedup", "distances", "distributed", "explain", "gram", "kernels", "learners", "link",
    "machines", "samples", "search", "selection", "solvers", "speech", "streams.checkpoint",
    "tables",
)  # fmt: skip


def own_class(name: str) -> type | None:
    """The class of Mercer with a dotted name of which files may hold objects; None if none is."""
    module, _, attribute = name.rpartition(".")
    if not any(f"{module}.".startswith(f"{LIBRARY}{room}.") for room in ROOMS):
        return None  # and is not imported
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError:
        return None
    if not (isinstance(found, type) and found.__module__ == module):
        return None
    return found if _is_stored(found) else None


@cache
def _is_stored(owner: type) -> bool:
    from sklearn.base import BaseEstimator  # it is imported by then

    declares = any(base in DECLARED for base in owner.__mro__)
    return declares or is_dataclass(owner) or issubclass(owner, BaseEstimator)


def loader_of(owner: type) -> str:
    """The loader of skops by which files describe objects of a class of Mercer."""
    if issubclass(owner, np.ndarray):
        return "NdArrayNode"
    if issubclass(owner, sp.sparray):
        return "SparseMatrixNode"
    return "TupleNode" if issubclass(owner, tuple) else "ObjectNode"


@cache
def field_names(owner: type) -> frozenset[str]:
    """The fields that a class declares, but for those of estimators by their underscores."""
    found: set[str] = set()
    for base in owner.__mro__:
        if base is object:
            continue
        if "__init__" in vars(base):
            found.update(inspect.signature(vars(base)["__init__"]).parameters)
        notes = inspect.get_annotations(base)
        found.update(name for name, note in notes.items() if "ClassVar" not in str(note))
        slots = vars(base).get("__slots__", ())
        found.update([slots] if isinstance(slots, str) else slots)
        found.update(DECLARED.get(base, {}))
    return frozenset(found)


def check_field(owner: type, name: str) -> None:
    """Raise ValueError if objects of a class have no field of that name."""
    from sklearn.base import BaseEstimator

    kept = issubclass(owner, BaseEstimator) and (name.endswith("_") or name.startswith("_"))
    usual = name.isidentifier() and not name.startswith("__")
    of_class = inspect.getattr_static(owner, name, None)
    taken = hasattr(of_class, "__get__") and not isinstance(of_class, MemberDescriptorType)
    if not usual or taken or not (kept or name in field_names(owner)):
        raise ValueError(f"{owner.__name__} has no field {name!r} that a file may set")


def made(owner: type, fields: dict[str, Any] | None) -> Any:
    """An object with these fields, of which no code has run."""
    found = object.__new__(owner)
    records = owner.records if issubclass(owner, KeepsRecords) else {}
    for name, value in (fields or {}).items():
        check_field(owner, name)
        if name in records and isinstance(value, bytes):
            value = unpacked(records[name], value)
        object.__setattr__(found, name, value)
    return found


def made_tuple(owner: type, values: list) -> Any:
    """The same for a named tuple."""
    names = owner._fields  # type: ignore[attr-defined]
    if len(values) != len(names):
        raise ValueError(f"a {owner.__name__} of {len(values)} fields, not {len(names)}")
    return tuple.__new__(owner, values)


def mark_own(description: dict) -> None:
    """Let skops, which is imported by then, make the objects of Mercer's classes in a description
    by `made`, and not by their methods."""
    _register_node()
    waiting = [description]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            own = str(part.get("__module__")).startswith(LIBRARY)
            if own and part.get("__loader__") != "SparseMatrixNode":
                part["__loader__"] = OWN_NODE
        parts = part.values() if isinstance(part, dict) else part
        waiting += [each for each in parts if isinstance(each, (dict, list))]


@cache
def _register_node() -> None:
    """Let skops make objects of Mercer's classes from their fields."""
    from skops.io._audit import NODE_TYPE_MAPPING, get_tree
    from skops.io._general import ObjectNode
    from skops.io._numpy import NdArrayNode
    from skops.io._protocol import PROTOCOL

    class OwnNode(ObjectNode):
        """The node for an object of one of Mercer's classes."""

        def __init__(self, state: dict, load_context: Any, trusted: Any = None) -> None:
            own = {key: value for key, value in state.items() if key != "content"}
            super().__init__(own, load_context, trusted)
            owner = own_class(f"{self.module_name}.{self.class_name}")
            if owner is None:
                raise ValueError(f"{self.class_name} is no class of which files hold objects")
            self.owner: type = owner
            content, self.parts = state.get("content"), None
            if issubclass(owner, np.ndarray):
                plain = {**state, "__module__": "numpy", "__class__": "ndarray", "__id__": None}
                self.parts = NdArrayNode(plain, load_context, trusted)
            elif issubclass(owner, tuple):
                self.parts = [get_tree(item, load_context, trusted) for item in content or ()]
            elif content is not None:
                self.parts = get_tree(content, load_context, trusted)
            self.children = {"parts": self.parts}

        def _construct(self) -> Any:
            """The object, after its fields were checked."""
            if isinstance(self.parts, list):
                return made_tuple(self.owner, [item.construct() for item in self.parts])
            parts: Any = None if self.parts is None else self.parts.construct()
            if issubclass(self.owner, np.ndarray):
                return parts.view(self.owner)
            return made(self.owner, parts)

    NODE_TYPE_MAPPING[OWN_NODE, PROTOCOL] = OwnNode
