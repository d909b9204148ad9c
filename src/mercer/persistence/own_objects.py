"""Objects of Mercer's own classes in files: which classes, which fields, and how they are made.

An object is made empty and its fields are set, so that neither a constructor nor any other code of
its class runs. A class may be in a file if it is an estimator (kernels, distances, learners and
indexes are), a dataclass, or declares its fields by `mercer.persistence.fields`, and is in one of
the rooms of which models are made. A field may be in a file if the class declares it: as a
parameter of its constructor, by an annotation, in ``__slots__``, by `fields`, or, in an estimator,
by a name that ends or begins with one underscore. It may not take the place of a method.
"""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from types import MemberDescriptorType
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.persistence.field_rules import DECLARED
from mercer.persistence.records import KeepsRecords, unpacked

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
        if name in records and isinstance(value, str):
            value = unpacked(records[name], value)
        object.__setattr__(found, name, value)
    return found


def made_tuple(owner: type, values: list) -> Any:
    """The same for a named tuple."""
    names = owner._fields  # type: ignore[attr-defined]
    if len(values) != len(names):
        raise ValueError(f"a {owner.__name__} of {len(values)} fields, not {len(names)}")
    return tuple.__new__(owner, values)


def mark_own(description: Any) -> None:
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
            if isinstance(self.parts, list):
                return made_tuple(self.owner, [item.construct() for item in self.parts])
            parts: Any = None if self.parts is None else self.parts.construct()
            if issubclass(self.owner, np.ndarray):
                return parts.view(self.owner)
            return made(self.owner, parts)

    NODE_TYPE_MAPPING[OWN_NODE, PROTOCOL] = OwnNode
