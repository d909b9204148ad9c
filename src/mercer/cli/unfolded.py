"""Objects in the cells of a table, unfolded: each of their values is in a column of its own."""

from __future__ import annotations

import polars as pl


def unfolded(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with a column for each value in the objects of its cells, such as "user.age".

    Examples
    --------
    >>> unfolded(pl.DataFrame([{"id": 1, "user": {"age": 30, "at": {"x": 2}}}])).columns
    ['id', 'user.age', 'user.at.x']
    """
    found: dict[str, pl.Series] = {}
    for column in frame.iter_columns():
        parts = {column.name: column}
        if isinstance(column.dtype, pl.Struct):
            inner = column.alias("").struct.unnest()
            named = {f"{column.name}.{part.name}": part for part in inner.iter_columns()}
            parts = {c.name: c for c in unfolded(pl.DataFrame(named)).iter_columns()}
        for given, part in parts.items():
            name = given
            while name in found:
                name += " (2)"
            found[name] = part
    return pl.DataFrame(found)
