"""Lists of small records in model files: each is one text there.

A table of 800 columns has thousands of records of ten values. As objects of their own they were
57,000 nodes of a model file, 37 MB, and took four seconds to write and to read.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np


class KeepsRecords:
    """Mixin of estimators whose attributes include lists of dataclasses, named in ``records``."""

    records: ClassVar[dict[str, type]] = {}

    def __getstate__(self) -> dict[str, Any]:
        whole: Any = super()
        state: dict[str, Any] = whole.__getstate__()
        known = {name: state[name] for name in self.records if state.get(name) is not None}
        return state | {name: packed(items) for name, items in known.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        texts = {name: text for name, text in state.items() if name in self.records}
        known = {
            name: unpacked(self.records[name], text)
            for name, text in texts.items()
            if isinstance(text, str)  # in older files, a list
        }
        whole: Any = super()
        whole.__setstate__(state | known)


def packed(items: list) -> str | list:
    """Dataclasses as one text; as they are where a value is no text, number or list of these.

    Examples
    --------
    >>> from mercer.tables.columns import Column
    >>> text = packed([Column("age", "number", "", 0, 9)])
    >>> text
    '[["age", "number", "", 0, 9, null, null, [], null, 0, "", "", "", "", false, "", []]]'
    >>> unpacked(Column, text) == [Column("age", "number", "", 0, 9)]
    True
    """
    rows = [list(vars(item).values()) for item in items]
    try:
        text = json.dumps(rows, default=_plain)
    except TypeError:
        return items
    return text if json.loads(text) == rows else items


def unpacked(kind: type, text: str) -> list:
    """The inverse of `packed`, for records of one kind."""
    return [kind(*row) for row in json.loads(text)]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no plain value")
