"""The error that a table is to blame for, and the words that such errors share."""

from __future__ import annotations

import difflib

__all__ = ["TableError", "counted", "no_column"]


class TableError(ValueError):
    """A table that cannot be read or used; the message names the file, the row and the remedy."""


def no_column(option: str, name: str, path: str, columns: list[str]) -> TableError:
    """The error of an option that names a column which a table has not."""
    lower = {column.lower(): column for column in columns}
    close = difflib.get_close_matches(name.lower(), lower, 1)
    more = f" and {len(columns) - 20} more" if len(columns) > 20 else ""
    return TableError(
        f"{option} {name}: {path} has no such column; it has {columns[:20]}{more}."
        + (f" Did you mean {lower[close[0]]!r}?" if close else "")
    )


def counted(n: int, noun: str) -> str:
    """1 row, 2 rows."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
