"""Values that are data but no JSON, such as dates: each is a short text in a file.

Levels of categories may be such values, of Python or of pandas. skops would call functions that
a file names with arguments from the file; here a table says for each type how a value is
written, and how it is made again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np

from mercer.persistence.json_texts import read_json

VALUE_NODE = "ValueNode"  # how files call their loader
MICROSECOND = timedelta(microseconds=1)


def _zone(zone: tzinfo | None) -> Any:
    """A time zone as JSON: its name, or its distance from UTC in microseconds."""
    if zone is None:
        return None
    if type(zone) is timezone:
        return zone.utcoffset(None) // MICROSECOND
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)  # of zoneinfo, and of pytz
    if not isinstance(name, str):
        raise TypeError(f"the time zone {zone!r} has no name: use zoneinfo.ZoneInfo")
    return name


def _read_zone(said: Any) -> tzinfo | None:
    if said is None:
        return None
    return ZoneInfo(said) if isinstance(said, str) else timezone(said * MICROSECOND)


def _moment(value: Any) -> list:
    return [value.replace(tzinfo=None).isoformat(), value.fold, _zone(value.tzinfo)]


def _read_moment(made: Any, said: list) -> Any:
    text, fold, zone = said
    return made.fromisoformat(text).replace(fold=fold, tzinfo=_read_zone(zone))


def _read_stamp(pd: Any, said: list) -> Any:
    count, unit, zone = said
    found = pd.Timestamp(np.datetime64(count, unit))
    return found if zone is None else found.tz_localize("UTC").tz_convert(_read_zone(zone))


def _count(value: Any) -> list:
    return [int(value.asm8.view("i8")), value.unit]


#: by the name of a type in files, what JSON is written of a value, and how it is read again
VALUES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "datetime.date": (date.isoformat, date.fromisoformat),
    "datetime.datetime": (_moment, lambda said: _read_moment(datetime, said)),
    "datetime.time": (_moment, lambda said: _read_moment(time, said)),
    "datetime.timedelta": (lambda v: v // MICROSECOND, lambda said: said * MICROSECOND),
    "datetime.timezone": (_zone, _read_zone),
    "zoneinfo.ZoneInfo": (_zone, _read_zone),
    "decimal.Decimal": (str, Decimal),
    "fractions.Fraction": (str, Fraction),
    "uuid.UUID": (str, UUID),
    "builtins.complex": (lambda v: [v.real, v.imag], lambda said: complex(*said)),
    "pandas.Timestamp": (
        lambda v: [*_count(v), _zone(v.tzinfo)],
        lambda said: _read_stamp(import_module("pandas"), said),
    ),
    "pandas.Timedelta": (
        _count, lambda said: import_module("pandas").Timedelta(np.timedelta64(*said)),
    ),
    "pandas.Period": (
        lambda v: [v.ordinal, v.freqstr],
        lambda said: import_module("pandas").Period(ordinal=said[0], freq=said[1]),
    ),
    "pandas.Interval": (
        lambda v: [v.closed, *(_named(end) for end in (v.left, v.right))],
        lambda said: import_module("pandas").Interval(*map(_unnamed, said[1:]), closed=said[0]),
    ),
}  # fmt: skip


def _named(value: object) -> Any:
    """A number, or a value of the table with the name of its type."""
    name = _name(type(value))
    return [name, VALUES[name][0](value)] if name in VALUES else np.asarray(value).item()


def _unnamed(said: object) -> Any:
    return VALUES[said[0]][1](said[1]) if isinstance(said, list) else said


def _name(owner: type) -> str:
    package = owner.__module__.partition(".")[0]
    return f"{package if package == 'pandas' else owner.__module__}.{owner.__qualname__}"


def register_values() -> None:
    """Let skops, which is imported by then, write and read the values of the table."""
    _register_builtin()
    if "pandas" in sys.modules:
        _register_pandas()


@cache
def _register_builtin() -> None:
    """Let skops write and read values of Python's own types."""
    from skops.io import _utils
    from skops.io._audit import NODE_TYPE_MAPPING
    from skops.io._protocol import PROTOCOL

    NODE_TYPE_MAPPING[VALUE_NODE, PROTOCOL] = _value_node()
    known = (date, datetime, time, timedelta, timezone, ZoneInfo, Decimal, Fraction, UUID, complex)
    register: Any = _utils._get_state.register  # of functions that return, whatever skops declares
    for owner in known:
        register(owner, _state)
    register(frozenset, _state_of_frozenset)


@cache
def _register_pandas() -> None:
    """Let skops write and read pandas' dates, times and intervals."""
    import pandas as pd
    from skops.io import _utils

    register: Any = _utils._get_state.register
    for owner in (pd.Timestamp, pd.Timedelta, pd.Period, pd.Interval):
        register(owner, _state)


def _state(value: object, context: Any) -> dict[str, Any]:
    """The text that is written for a value."""
    from skops.io._general import object_get_state

    name = _name(type(value))
    if name not in VALUES:  # a class below one of the table
        return object_get_state(value, context)
    module, _, attribute = name.rpartition(".")
    content = json.dumps(VALUES[name][0](value))
    return {
        "__class__": attribute, "__module__": module, "__loader__": VALUE_NODE, "content": content,
    }  # fmt: skip


def _state_of_frozenset(value: frozenset, context: Any) -> dict[str, Any]:
    from skops.io._general import set_get_state

    return set_get_state(value, context)


def _value_node() -> type:
    """The class of a node of skops that holds a value of the table."""
    from skops.io._audit import Node

    class ValueNode(Node):
        """The node for a value of the table."""

        def __init__(self, state: dict, load_context: Any, trusted: Any = None) -> None:
            super().__init__(state, load_context, trusted)
            self.content = state["content"]

        def _construct(self) -> Any:
            read = VALUES[f"{self.module_name}.{self.class_name}"][1]
            return read(read_json(self.content, 4))

    return ValueNode
