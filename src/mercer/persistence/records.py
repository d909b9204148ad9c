"""Lists and dicts of small records in model files: each is one text there.

A table of 800 columns has thousands of records of ten values. As objects of their own they were
57,000 nodes of a model file, 37 MB, and took four seconds to write and to read.
"""

from __future__ import annotations

import json
from dataclasses import MISSING
from dataclasses import fields as fields_of
from typing import Any, ClassVar

import numpy as np

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
        texts = {name: text for name, text in state.items() if name in self.records}
        known = {
            name: unpacked(self.records[name], text)
            for name, text in texts.items()
            if isinstance(text, str)  # in older files, a list
        }
        whole: Any = super()
        whole.__setstate__(state | known)


def packed(items: list | dict) -> str | list | dict:
    """Dataclasses as one text; as they are where a value is no text, number or list of these.

    Of a dict, the names are kept with them.

    Examples
    --------
    >>> from mercer.tables.columns import Column
    >>> text = packed([Column("age", "number", "", 0, 9)])
    >>> text[:29]
    '[["age", "number", "", 0, 9, '
    >>> unpacked(Column, text) == [Column("age", "number", "", 0, 9)]
    True
    """
    try:
        if isinstance(items, dict):
            rows: Any = {name: list(vars(item).values()) for name, item in items.items()}
        else:
            rows = [list(vars(item).values()) for item in items]
        text = json.dumps(rows, default=_plain)
        return text if read_json(text) == rows else items
    except (TypeError, ValueError):
        return items


def unpacked(kind: type, text: str) -> list | dict:
    """The inverse of `packed`, for records of one kind; no code of theirs runs."""
    defaults = {field.name: field.default for field in fields_of(kind)}
    content, found = read_json(text), []
    rows = list(content.values()) if isinstance(content, dict) else content
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise ValueError("records that are no list of lists, and no dict of them")
    for row in rows:
        values = defaults | dict(zip(defaults, row))
        if len(row) > len(defaults) or any(value is MISSING for value in values.values()):
            raise ValueError(f"a {kind.__name__} of {len(row)} fields, not {len(defaults)}")
        record = object.__new__(kind)
        vars(record).update(values)
        found.append(record)
    return dict(zip(content, found)) if isinstance(content, dict) else found


def _are(items: Any, kind: type) -> bool:
    """Whether these are records of one kind, in a list or by name."""
    each = items.values() if isinstance(items, dict) else items
    return isinstance(items, (list, dict)) and all(type(item) is kind for item in each)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no plain value")
