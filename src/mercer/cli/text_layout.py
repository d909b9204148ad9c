"""How a text holds a table: what separates its fields, and what stands above and below its rows.

`separator_of` finds the separator, `lines_above` the header of a table by its first rows, and
`lines_below` the end of a table by its last lines.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from mercer.spoken import first_of
from mercer.tables import UNITS, as_numbers, is_missing_mark, spelled_number

MOST_ABOVE, MOST_BELOW = 60, 20  # lines
LEAST_ADDED = 4  # rows, with that of the total
FEW_BELOW = 3  # cells that show what is below a heading
DATE = re.compile(r"\s*\d{1,4}[-/.]\d")  # as one begins
csv.field_size_limit(1 << 30)  # a cell may hold a whole book
#: how a total, or a note below a table, begins
TOTAL = re.compile(
    r"\W*(?:grand |sub ?)?(?:totals?|sums?|summe|gesamt|insgesamt|somme|suma|totale)\b\W*",
    re.IGNORECASE,
)
NOTE = re.compile(
    rf"(?:{TOTAL.pattern}|\W*(?:sources?|notes?|generated|exported|created|printed|count|averages?|"
    r"means?|quelle|end of)\b|[*#]|\W*\d+ (?:rows?|records?|lines?)\b)",
    re.IGNORECASE,
)


def lines_above(text: str, separator: str) -> int:
    """How many lines stand above the header, by the first rows of a text; 0 in doubt.

    Examples
    --------
    >>> lines_above("Sales of March\\n\\nsize,price\\n1,2\\n3,4\\n", ",")
    2
    >>> lines_above("a,b,c\\n1,2,3,4\\n5,6,7,8\\n", ",")
    0
    """
    rows, ends = rows_of_text(text, separator)
    above = rows_above(rows)
    return ends[above - 1] if above else 0


def rows_above(rows: Sequence[Sequence[str]]) -> int:
    """How many rows of fields stand above the header; 0 in doubt."""
    widths = Counter(len(row) for row in rows if _filled(row))
    if not widths:
        return 0
    width = widths.most_common(1)[0][0]
    for i, row in enumerate(rows[:MOST_ABOVE]):
        padded = len(row) == width
        most = width // 2 if not padded else (width + 1) // 2 if i else 2 if width >= 5 else 1
        if _filled(row) > max(1, most):
            header = padded and _is_header(row, rows[i + 1 :])
            return i if header else 0
    return 0


def lines_below(lines: Sequence[str], separator: str) -> int:
    """How many of the last lines of a text are a total or notes, and no rows of the table.

    Examples
    --------
    >>> lines_below(["a,1,2\\n", "b,3,4\\n", "Total,,6\\n", "Source: a survey\\n"], ",")
    2
    >>> lines_below(["a,1,2\\n", "b,3,4\\n", "c,5\\n"], ",")
    0
    """
    return rows_below([_fields(line, separator) for line in lines])


def rows_below(rows: Sequence[Sequence[str]], padded: bool = False) -> int:
    """How many of the last rows of fields are a total or notes.

    ``padded`` says that all rows are as wide as the table, so that a note fills its first field.
    """
    widths = Counter(len(row) for row in rows if _filled(row))
    width = widths.most_common(1)[0][0] if widths else 1
    if width < 2:
        return 0
    below = 0
    for count, row in enumerate(reversed(rows), start=1):
        if not _filled(row):
            continue
        first = next(field for field in row if field.strip())
        total = TOTAL.fullmatch(first) is not None and _filled(row) <= (width + 1) // 2
        note = NOTE.match(first) is not None and _filled(row) <= max(1, width // 2)
        short = _filled(row[:1]) == _filled(row) if padded else len(row) != width
        if not (total and _filled(row) < width) and not (note and short):
            break
        below = count
    return below


def is_row(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the first row of fields is one of the table, and names no columns; False in doubt.

    A name is no fraction. Whole numbers may be names, as years are.

    Examples
    --------
    >>> is_row(["2.8", "blue"], [["1.1", "red"]]), is_row(["2019", "2020"], [["1.1", "1.2"]])
    (True, False)
    """
    alike = [row for row in below[:20] if len(row) == len(first)]
    if not alike or len(alike) < min(3, len(below)):
        return False

    def fraction(field: str) -> bool:
        number = spelled_number(field)
        return number is not None and bool(re.search(r"[.,]\d|^\s*[-\u2212]", field))

    numbers = [j for j, field in enumerate(first) if fraction(field)]
    return any(all(spelled_number(row[j]) is not None for row in alike) for j in numbers)


def are_units(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a row below the header holds the units of columns of numbers.

    Examples
    --------
    >>> are_units(["mm", "[kg]", ""], [["1", "2", "a"]]), are_units(["in", "of"], [["1", "2"]])
    (True, False)
    """
    units = {j: field.strip().strip("()[]") for j, field in enumerate(row) if field.strip(" -")}
    known = [unit.casefold() in UNITS or unit in ("%", "€", "$") for unit in units.values()]
    alike = [other for other in below[:5] if len(other) == len(row)]
    return bool(units and alike) and all(known) and all(
        spelled_number(other[j]) is not None or not other[j].strip()
        for other in alike for j in units
    )  # fmt: skip


def are_meanings(header: Sequence[str], row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a row below the header says what its names mean, as the questions of a survey do.

    It has words where all cells below are numbers or dates, in two columns or in a question; or it
    has some of the names again.

    Examples
    --------
    >>> rows = [["R1", "31", "5"], ["R2", "28", "7"], ["R3", "45", "2"]]
    >>> are_meanings(["id", "Q1", "Q2"], ["Response", "How old are you?", "How do you feel?"], rows)
    True
    >>> are_meanings(["name", "age", "size"], ["Anna", "unknown", "1.7"], rows)
    False
    """
    if len(row) != len(header) or any(_is_measured(field) for field in row):
        return False
    alike = [other for other in below[:20] if len(other) == len(row)]
    cells = [[other[j] for other in alike if other[j].strip()] for j in range(len(row))]
    words = [field.strip() for field, column in zip(row, cells)
             if len(column) >= FEW_BELOW and all(map(_is_measured, column))]  # fmt: skip
    asked = sum(field.strip().endswith("?") for field in row)
    again = sum(_squeezed(a) == _squeezed(b) != "" for a, b in zip(row, header))
    longer = sum(map(len, row)) > sum(map(len, header)) or len(set(header)) < len(header)
    return (
        longer and len(words) + asked + again > 1
        and (len(set(words)) > (len(words) > 1) or 1 < again < len(row))
        and not any(field in column for field, column in zip(row, cells))
        and all(re.search(r"[^\W\d_]", word) and not is_missing_mark(word) for word in words)
    )  # fmt: skip


def _squeezed(name: str) -> str:
    """A name without blanks, signs and capital letters."""
    return re.sub(r"[\W_]", "", name).casefold()


def _is_measured(field: str) -> bool:
    return spelled_number(field) is not None or DATE.match(field) is not None


def are_tags(row: Sequence[str]) -> bool:
    """Whether a row holds what a program of surveys knows its columns by."""
    return any(row) and all(field.startswith('{"ImportId"') for field in row if field)


def filled_right(row: Sequence[str], spans: Iterable[tuple[int, int]] | None = None) -> list[str]:
    """A row of headings that stand over several columns each, with the heading in all of them.

    Without ``spans``, a heading goes on over the blank fields on its right.
    """
    found = list(row)
    if spans is None:
        for j in range(1, len(found)):
            found[j] = found[j] if found[j].strip() else found[j - 1]
    for left, right in spans or ():
        found[left : right + 1] = [found[left]] * len(found[left : right + 1])
    return found


def joined_names(above: Sequence[str], below: Sequence[str]) -> list[str]:
    """The names of columns whose headings stand in two rows; "" where both are blank."""
    found: list[str] = []
    for both in zip(above, below):
        name = " / ".join(word.strip() for word in both if word.strip())
        found.append(f"{name} ({found.count(name) + 1})" if name and name in found else name)
    return found


def joined_said(names: Sequence[str]) -> str:
    """That headings stand in two rows."""
    said = first_of([name for name in names if name])
    return f"The headings stand in two rows, which are joined: {said}."


def begins_below(count: int, noun: str, first: str) -> str:
    """What is said of lines above the header.

    Examples
    --------
    >>> begins_below(1, "line", "sep=;")
    "The table begins below the first line, 'sep=;'. If this is a row, give --skip-rows 0."
    """
    shown = repr(first.strip()[:60])
    if count == 1:
        return (
            f"The table begins below the first {noun}, {shown}. If this is a row, give --skip-rows "
            "0."
        )
    return (
        f"The table begins below the first {count} {noun}s, of which one is {shown}. If these are "
        "rows, give --skip-rows 0."
    )


def below_lines(text: str, count: int) -> str:
    """The text below its first lines, which end with LF, CR LF or CR."""
    return text[sum(map(len, islice(lines_of(text), count))) :]


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text with their ends, one after the other, so that the first cost little."""
    return (line.group() for line in re.finditer(r"[^\r\n]*(?:\r\n|[\r\n])|[^\r\n]+", text))


def rows_end(text: str, separator: str, quotes: int = 0) -> int:
    """Where the rows of a text end, and a total or notes begin.

    ``quotes`` stand before the text: what is in a quoted field belongs to a row.
    """
    start, mark = len(text), "\n" if "\n" in text else "\r"
    for _ in range(MOST_BELOW + 1):
        start = text.rfind(mark, 0, max(start, 0))
    last = io.StringIO(text[start + 1 :], newline="").readlines()
    below = min(lines_below(last, separator), len(last) - (start < 0))  # the header stays
    end = len(text) - sum(map(len, last[len(last) - below :]))
    return end if not below or (quotes + text.count('"', 0, end)) % 2 == 0 else len(text)


def without_header(frame: pl.DataFrame, header: list[str]) -> pl.DataFrame:
    """The rows of a frame, whose columns are numbered, without those that repeat the header."""
    if len(header) < 2:
        return frame
    again = pl.repeat(True, frame.height, eager=True)
    for name, column in zip(header, frame.iter_columns()):
        again &= column.eq_missing(pl.Series([name or None], dtype=pl.String))
        if not again.any():
            return frame
    return frame.filter(~again)


def without_total(frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The rows without a last one that adds up the others, and what this says, if it is there."""
    if frame.height < LEAST_ADDED or frame.width < 2:
        return frame, ""
    cells = [str(cell) for column in frame.iter_columns() if (cell := column[-1]) is not None]
    if any(TOTAL.fullmatch(cell) for cell in cells):
        for column in frame.iter_columns():
            if column.dtype == pl.String:
                numbers = as_numbers(column.to_numpy().astype(object))
            elif column.dtype.is_numeric():
                numbers = column.cast(pl.Float64).to_numpy()
            else:
                continue
            total = float(np.nansum(numbers[:-1]))
            if total and abs(numbers[-1] - total) <= 1e-6 * abs(total):
                return frame[:-1], ", ".join(cells[:5])
    return frame, ""


def _is_header(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a row names the columns of the rows below it."""
    names = [field.strip() for field in row]
    alike = [other for other in below[:3] if len(other) == len(row)]
    if len(alike) < min(3, len(below)) or not alike or sum(map(bool, names)) < len(names) - 1:
        return False
    if len(set(names)) < len(names) or any(spelled_number(name) is not None for name in names):
        return False
    fields = [field for other in alike for field in other]
    return len(row) > 2 or any(spelled_number(field) is not None for field in fields)


def _filled(row: Sequence[str]) -> int:
    return sum(1 for field in row if field.strip())


def _fields(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator), [])


def rows_of_text(text: str, separator: str) -> tuple[list[list[str]], list[int]]:
    """The first rows of a text, and how many lines each has come to."""
    rows, ends = [], []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for row in reader:
            rows.append(row)
            ends.append(reader.line_num)
            if len(rows) > 4 * MOST_ABOVE:
                break
    except csv.Error:  # cut in a quoted field, or wrong: the whole will tell
        pass
    return rows, ends


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

    Then alone all rows have one width. Or a field is ``\\N``, among tabs or other escapes.
    """
    if "\\" not in text:
        return False
    null = re.search(_null(separator), text)
    null = null and (separator == "\t" or re.search(r"\\[^N]", text))
    if not null and not any(f"\\{each}" in text for each in ('"', separator, "\n")):
        return False
    plain = _widths(text, separator, most=None)
    found = _widths(text, separator, "\\", most=None)
    broken = len(set(plain)) > 1 or len(plain) < len(found)
    return bool(broken or null) and len(set(found)) == 1 < found[0]


def _null(separator: str) -> str:
    """The pattern of a field that is ``\\N``."""
    return rf"(?<![^{re.escape(separator)}\r\n])\\N(?=[{re.escape(separator)}\r\n]|$)"


def without_escapes(text: str, separator: str) -> str:
    """The same table with doubled quotes in place of backslashes; ``\\N`` is a missing value."""
    text = re.sub(_null(separator), "", text)
    meant = {"t": "\t", "n": "\n", "r": "\r"}
    text = re.sub(r"\\([tnr\\])", lambda found: "\\" + meant.get(found[1], found[1]), text)
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


def returns_in_cells(text: str, separator: str) -> int:
    """How many lines have a carriage return in a cell: where rows that end there break."""
    if "\r" not in text or "\n" not in text or not re.search(r"\r(?!\n)", text):
        return 0
    whole = re.sub(r"\r(?!\n)", " ", text)
    widths = {*_widths(whole, separator, most=None)} - {0}
    if len(widths) != 1 or widths == {*_widths(text, separator, most=None)} - {0}:
        return 0
    return sum("\r" in line for line in text.replace("\r\n", "\n").split("\n"))


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
