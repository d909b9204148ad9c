"""What separates the fields of a text, and the fields by the rules of quotes in delimited.py."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from itertools import islice
from typing import Any

from mercer.cli.layout import lines_above

SAMPLE_ROWS = 200
SEPARATORS = ",;\t|"
NAMED = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}


def found_above(text: str, usual: str | None, separator: str | None) -> int:
    """How many lines stand above the header.

    The separator is that which gives the most rows one width, the first one of these.
    """
    best, above = 0.0, 0
    order = [separator] if separator else dict.fromkeys([*(usual or ""), *SEPARATORS])
    for each in order:
        widths = [width for width in _widths(text, each) if width]
        width, rows = Counter(widths).most_common(1)[0] if widths else (1, 0)
        if width > 1 and rows > best * len(widths):
            best, above = rows / len(widths), lines_above(text, each)
    return above


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


def has_escapes(text: str, separator: str) -> bool:
    """Whether quotes or separators within fields stand behind a backslash, as databases write them.

    Then alone all rows have one width.
    """
    if '\\"' not in text and f"\\{separator}" not in text:
        return False
    plain = _widths(text, separator, most=None)
    found = _widths(text, separator, "\\", most=None)
    broken = len(set(plain)) > 1 or len(plain) < len(found)
    return broken and len(set(found)) == 1 < found[0]


def without_escapes(text: str, separator: str) -> str:
    """The same table with doubled quotes in place of backslashes; ``\\N`` is a missing value."""
    ends = rf"(?=[{re.escape(separator)}\r\n]|$)"
    text = re.sub(rf"(?<![^{re.escape(separator)}\r\n])\\N{ends}", "", text)
    found, lines, begins = io.StringIO(newline=""), list(io.StringIO(text, newline="")), 0
    rows = fields_of(iter(lines), separator, len(text), "\\")
    writer = csv.writer(found, delimiter=separator, lineterminator="\n")
    try:
        for row in rows:
            writer.writerow(row)
            begins = rows.line_num
    except csv.Error:  # cut in a quoted field, or wrong: who checks the rows tells that of the rest
        found.writelines(lines[begins:])
    return found.getvalue()


def _widths(
    text: str, separator: str, escape: str | None = None, most: int | None = SAMPLE_ROWS
) -> list[int]:
    """The number of fields of the first rows."""
    found: list[int] = []
    try:
        for fields in islice(
            fields_of(io.StringIO(text, newline=""), separator, len(text), escape), most
        ):
            found += [len(fields)] if fields or not found else []
    except csv.Error:  # cut in a quoted field, or wrong: the whole will tell
        pass
    return found


def fields_of(lines: Any, separator: str, longest: int, escape: str | None = None) -> Any:
    """The fields of row after row, by the rules of quotes in delimited.py."""
    csv.field_size_limit(max(csv.field_size_limit(), longest))  # a cell may hold a whole book
    return csv.reader(lines, delimiter=separator, strict=True, escapechar=escape)
