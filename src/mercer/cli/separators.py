"""What separates the fields of a text, and the fields by the rules of quotes in delimited.py."""

from __future__ import annotations

import csv
import io
from itertools import islice
from typing import Any

from mercer.cli.layout import lines_above

SAMPLE_ROWS = 200
SEPARATORS = ",;\t|"
NAMED = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}


def found_above(text: str, usual: str | None, separator: str | None) -> int:
    """How many lines stand above the header, by the separator that shows some."""
    usual = separator or usual
    order = [usual] if separator else [*([usual] if usual else []), *SEPARATORS]
    return next((above for s in order if (above := lines_above(text, s or ","))), 0)


def separator_of(text: str, usual: str | None) -> str:
    """The separator: the usual one, unless another one alone gives rows of equal widths."""
    order = ([usual] if usual else []) + [s for s in SEPARATORS if s != usual]
    widths = {separator: _widths(text, separator) for separator in order}
    for separator in order:
        found = widths[separator]
        if found and found[0] > 1 and len(set(found)) == 1:
            return separator
    heads = {separator: found[0] if found else 1 for separator, found in widths.items()}
    if usual and heads[usual] > 1:
        return usual
    return max(order, key=lambda separator: heads[separator])


def _widths(text: str, separator: str) -> list[int]:
    """The number of fields of the first rows."""
    found: list[int] = []
    try:
        for fields in islice(fields_of(io.StringIO(text, newline=""), separator, len(text)),
                             SAMPLE_ROWS):  # fmt: skip
            found += [len(fields)] if fields or not found else []
    except csv.Error:  # cut in a quoted field, or wrong: the whole will tell
        pass
    return found


def fields_of(lines: Any, separator: str, longest: int) -> Any:
    """The fields of row after row, by the rules of quotes above."""
    csv.field_size_limit(max(csv.field_size_limit(), longest))  # a cell may hold a whole book
    return csv.reader(lines, delimiter=separator, strict=True)
