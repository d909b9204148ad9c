"""Tables in files that know their types: svmlight and Excel.

Each class reads one source as frames, at once or in blocks of rows, as `DelimitedText` does.
`Lines` is the base of those that are read line by line (json_tables.py and headed_files.py), and
`Whole` of those that a library reads (also columnar.py).
"""

from __future__ import annotations

import io
import logging
import os
import re
import sys
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice, pairwise
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import numpy as np
import polars as pl

from mercer.cli.delimited import encoding_of
from mercer.cli.files import ByteSource
from mercer.cli.terminal import TableError, counted
from mercer.cli.text_layout import (
    MOST_ABOVE,
    MOST_BELOW,
    begins_below,
    filled_right,
    joined_names,
    joined_said,
    rows_above,
    rows_below,
    without_total,
)
from mercer.spoken import first_of
from mercer.tables import spelled_number

# it tells of each column that it takes for texts, unless someone listens
logging.getLogger("fastexcel").addHandler(logging.NullHandler())

UNNAMED = "__UNNAMED__"  # begins the names that columns without one get
LARGEST = 4_000_000_000  # bytes of a table that is unpacked, or of a sparse one that is written out
CELL = 32  # bytes of a cell of a sheet, where it is read
MOST_ROWS, MOST_COLUMNS = 2**20, 2**14  # of a sheet of Excel
STEP, PLACE = 2**22, 100  # bytes of a sheet that are looked through at a time, and twice
#: places of cells in columns from CA on, and in rows from 1000 on; and cells without a place
WIDE_CELLS = re.compile(rb"""\sr\s*=\s*["']([C-Z][A-Z]|[A-Z]{3,20})\d""")
LOW = re.compile(rb"""\sr\s*=\s*["'][A-Z]{0,20}(\d{4,20})["']""")
PLACELESS = re.compile(rb"<c(?:\s+(?!r\s*=)[^>]*)?/?>")


class Typed(ABC):
    """Abstract: a table whose columns have types."""

    texts = False
    gaps = False  # whether a row may lack columns that others have

    def __init__(self, source: ByteSource):
        self.source = source
        self.notes: list[str] = []
        self.unnamed: list[str] = []  # columns that had no name in the file
        self.kinds: dict[str, str] = {}  # of the columns of which the file tells it
        self.target = ""  # the column that is to be predicted, if the file tells it

    @abstractmethod
    def blocks(self, rows: int | None = None) -> Iterator[pl.DataFrame]:
        """The rows, at once or so many at a time."""


class Lines(Typed):
    """Abstract: a text that is read line by line."""

    def __init__(self, source: ByteSource, encoding: str):
        super().__init__(source)
        self.encoding = encoding

    def blocks(self, rows: int | None = None) -> Iterator[pl.DataFrame]:
        lines = self._data(self._lines())
        while block := list(islice(lines, rows)):
            yield self._frame(block)

    def _lines(self) -> Iterator[tuple[int, str]]:
        """The lines with their numbers, without the blanks around them."""
        with self.source.opened() as file:
            encoding = encoding_of(file.read(1024), self.encoding, self.source.label)
        try:
            with self.source.opened() as file:
                for i, line in enumerate(io.TextIOWrapper(file, encoding), start=1):
                    line.encode()  # some encodings can write halves of characters
                    yield i, line.removeprefix("\ufeff").strip()
        except (UnicodeError, LookupError) as error:
            raise TableError(
                f"{self.source.label} is not {encoding}: {error}. Give its encoding, for example "
                "--encoding latin-1."
            ) from None

    def _data(self, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Those of the lines that hold a row each."""
        return ((i, line) for i, line in lines if line)

    @abstractmethod
    def _frame(self, lines: list[tuple[int, str]]) -> pl.DataFrame:
        """The rows in some lines."""


class Whole(Typed):
    """Abstract: a file that a library reads whole, by ``_read``."""

    kind: str

    @abstractmethod
    def _read(self, content: bytes) -> pl.DataFrame:
        """The table in the bytes of a file; any error is one of the file."""

    def blocks(self, rows: int | None = None) -> Iterator[pl.DataFrame]:
        with blamed(self.source, self.kind):
            frame = self._read(self.source.read())
        frame = unfolded(frame)
        yield from frame.iter_slices(rows) if rows is not None else [frame]


class SvmlightFile(Whole):
    """Lines such as ``1 3:0.5 7:2``: a target, and the values of some features; others are 0."""

    kind = "svmlight"

    def _read(self, content: bytes) -> pl.DataFrame:
        """The table in the bytes of a file."""
        from sklearn.datasets import load_svmlight_file

        if not content.strip():
            raise TableError(f"{self.source.label} is empty.")
        if content.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
            raise TableError(f"{self.source.label} begins with a mark of Unicode: take it out.")
        load: Any = load_svmlight_file  # whose types say that zero_based is a text
        X, y, qid = load(io.BytesIO(content), zero_based=True, query_id=True)
        if X.shape[0] * X.shape[1] * 8 > LARGEST:
            raise TableError(
                f"{self.source.label} has {counted(X.shape[0], 'row')} and {X.shape[1]} features, "
                "too many to write out as a table: SVC and KernelRidge of the library read it "
                "sparse."
            )
        whole = (y == np.round(y)).all() and (np.abs(y) < 2**53).all()
        self.target = "target"
        columns = {self.target: pl.Series(y.astype(np.int64) if whole else y)}
        if qid.any():
            columns["qid"] = pl.Series(qid)
            self.notes.append(
                "The groups of a ranking are the column qid: give --group qid to keep each on one "
                "side of a split."
            )
        dense, used = X.toarray(), np.diff(X.tocsc().indptr)
        first = 0 if X.shape[1] and used[0] else 1  # most writers begin with feature 1
        columns |= {f"x{j}": pl.Series(dense[:, j]) for j in range(first, X.shape[1])}
        self.notes.append("Each line's first number is the column target, and feature 3 is x3.")
        return pl.DataFrame(columns)


class ExcelFile(Whole):
    """A sheet of a workbook: the first one with a table, or the one that is named."""

    kind = "Excel"

    def __init__(self, source: ByteSource, skip: int | None = None, sheet: str | None = None):
        super().__init__(source)
        self.skip, self.sheet = skip, sheet

    def _read(self, content: bytes) -> pl.DataFrame:
        """The table in the bytes of a file."""
        try:
            import fastexcel
        except ImportError:
            raise TableError(
                f'{self.source.label}: to read .xlsx, pip install "mercer[formats]", or save the '
                "sheet as CSV."
            ) from None
        check_sheets(content)
        workbook = fastexcel.read_excel(content)
        if not workbook.sheet_names:
            raise ValueError("it has no sheets")
        name = self._chosen(workbook)
        merged = merged_cells(content, name)
        rows = _texts(workbook, name, max(MOST_ABOVE, (self.skip or 0) + 2))
        skip, names = self._header(rows, merged)
        how: dict[str, Any] = {"header_row": skip}
        if names:
            how = {"header_row": None, "skip_rows": skip + 1, "column_names": names}
        whole = pl.DataFrame(workbook.load_sheet(name, schema_sample_rows=None, **how))
        frame = self._above_foot(_refined(self._filled(whole, merged, skip)))
        if frame.width == 0:
            raise TableError(f"{self.source.label}: the sheet {name!r} is empty.")
        return self._named(frame, rows[skip])

    def _header(self, rows: list[list[str]], merged: list[Merged]) -> tuple[int, list[str]]:
        """The row of the header from 0, and its names if headings stand in two rows."""
        groups = [m for m in merged if m.left < m.right and m.top == m.bottom and (
            self.skip is None or m.top == self.skip + 1)]  # fmt: skip
        width = max(map(len, rows))
        for top in sorted({m.top - 1 for m in groups if m.top < len(rows)}, reverse=True):
            names = _joined(rows, top, [m for m in groups if m.top == top + 1], width)
            if names:
                self._say_above(rows, top)
                self.notes.append(joined_said(names))
                names = [name or f"{UNNAMED}{place}" for place, name in enumerate(names)]
                return top + 1, names
        above = rows_above(rows) if self.skip is None else self.skip
        self._say_above(rows, above)
        return above, []

    def _say_above(self, rows: list[list[str]], count: int) -> None:
        """Say that rows above the header are left out, where no user wanted that."""
        first = next((cell for row in rows[:count] for cell in row if cell.strip()), "")
        if count and self.skip is None:
            self.notes.append(begins_below(count, "row", first))

    def _chosen(self, workbook: Any) -> str:
        """The name of the sheet to read."""
        names = workbook.sheet_names
        if self.sheet is not None:
            if self.sheet not in names:
                raise TableError(
                    f"--sheet {self.sheet}: {self.source.label} has no such sheet; it has "
                    f"{', '.join(names)}."
                )
            return self.sheet
        tables = [name for name in names if _holds_table(_texts(workbook, name, MOST_ABOVE))]
        name = tables[0] if tables else names[0]
        others = [each for each in names if each != name]
        if others:
            self.notes.append(
                f"Of {len(names)} sheets one is read, {name}; --sheet reads another: "
                f"{', '.join(others)}."
            )
        return name

    def _named(self, frame: pl.DataFrame, header: list[str]) -> pl.DataFrame:
        """The frame with names for the columns that have no text as a name, such as dates."""
        names, self.unnamed = [], []
        for place, name in enumerate(frame.columns, start=1):
            given = name
            if name.startswith(UNNAMED):
                at = int(name.removeprefix(UNNAMED))
                given = header[at].removesuffix(" 00:00:00") if at < len(header) else ""
            names.append(given if given.strip() and given not in names else f"column {place}")
            if not given.strip():
                self.unnamed.append(names[-1])
        if self.unnamed:
            self.notes.append(f"Without a name in the header: {first_of(self.unnamed)}.")
        return frame.rename(dict(zip(frame.columns, names, strict=True)))

    def _filled(self, frame: pl.DataFrame, merged: list[Merged], skip: int) -> pl.DataFrame:
        """The frame with the value of merged cells in all of their rows."""
        filled = set()
        for left, first, right, last in merged:
            top, bottom = first - skip - 2, last - skip - 1  # the header is in row skip + 1
            inside = top >= 0 and bottom <= frame.height and left < frame.width
            if left != right or first == last or not inside:
                continue
            cells = frame.to_series(left)
            if cells[top] is not None and cells[top + 1 : bottom].null_count() == bottom - top - 1:
                rows = pl.int_range(frame.height, eager=True).is_between(top, bottom - 1)
                value = cells[top : top + 1].new_from_index(0, frame.height)
                frame = frame.with_columns(value.zip_with(rows, cells).alias(cells.name))
                filled.add(cells.name)
        if filled:
            self.notes.append(f"Merged cells have their value in each row: {', '.join(filled)}.")
        return frame

    def _above_foot(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows of a sheet without a total or notes below them."""
        if self.skip is not None:
            return frame
        last = frame.tail(MOST_BELOW).rows()
        texts = [["" if cell is None else str(cell) for cell in row] for row in last]
        below = min(rows_below(texts, padded=True), frame.height - 1)
        if below <= 0:
            frame, total = without_total(frame)
            if total:
                self.notes.append(f"The last row adds up the others and is left out: {total}.")
            return frame
        said = [cell for row in texts[len(texts) - below :] for cell in row if cell.strip()]
        are = "The last row is" if below == 1 else f"The last {below} rows are"
        self.notes.append(
            f"{are} no part of the table and left out: {', '.join(said[:5])}. To keep it, give "
            "--skip-rows."
        )
        return _refined(frame[:-below])


def _texts(workbook: Any, name: str, rows: int) -> list[list[str]]:
    """The first rows of a sheet as texts."""
    begin = workbook.load_sheet(name, header_row=None, n_rows=rows, dtypes="string")
    found = [[cell or "" for cell in row] for row in pl.DataFrame(begin).iter_rows()]
    return found + [[""]] * (rows - len(found))


def _holds_table(rows: list[list[str]]) -> bool:
    """Whether some rows, one below the other, have several cells."""
    wide = [sum(bool(cell.strip()) for cell in row) > 1 for row in rows]
    return any(one and other for one, other in pairwise(wide))


def check_sheets(content: bytes) -> None:
    """Refuse a workbook that takes no room in its file, but too much where it is read.

    The reader unpacks a sheet whole and makes a table of all cells up to the farthest ones.
    """
    try:
        book = zipfile.ZipFile(io.BytesIO(content))
    except zipfile.BadZipFile:
        return  # another format, or none: the reader says so
    unpacked = sum(member.file_size for member in book.infolist())
    if unpacked > LARGEST:
        raise ValueError(f"it holds {unpacked:,} bytes in {len(content):,}, which is too much")
    for member in book.infolist():
        if not member.filename.startswith("xl/worksheets/"):
            continue
        columns, rows, before = 0, 0, b""
        with book.open(member) as file:
            while part := file.read(STEP):
                text = before + part
                before = text[-PLACE:]
                wide = {_place(name) + 1 for name in WIDE_CELLS.findall(text)}
                columns = max({columns, *wide})
                rows = max([rows, *map(int, set(LOW.findall(text)))])
                if PLACELESS.search(text):  # cells that follow the last one
                    columns = max(columns, *(row.count(b"<c") for row in text.split(b"<row")))
        if rows > MOST_ROWS or columns > MOST_COLUMNS or rows * columns > LARGEST / CELL:
            raise ValueError(
                f"cells of {member.filename} reach row {rows:,} and column {columns:,}: a table of "
                "so many is too large"
            )


class Merged(NamedTuple):
    """Merged cells: their first and last column from 0, and row from 1."""

    left: int
    top: int
    right: int
    bottom: int


def _joined(rows: list[list[str]], top: int, groups: list[Merged], width: int) -> list[str]:
    """The names of columns whose headings stand in a row and the one below; none if they do not.

    A title that spans the whole table is no heading of a group.
    """
    above, below = ([*rows[i], *[""] * (width - len(rows[i]))] for i in (top, top + 1))
    several = sum(bool(cell.strip()) for cell in above) > 1
    numbers = any(spelled_number(cell) is not None for cell in below)
    inside = all(below[j].strip() for m in groups for j in range(m.left, min(m.right + 1, width)))
    if not (several and inside) or numbers:
        return []
    return joined_names(filled_right(above, [(m.left, m.right) for m in groups]), below)


def merged_cells(content: bytes, sheet: str) -> list[Merged]:
    """The merged cells of a sheet of an .xlsx file.

    The readers of workbooks do not tell them. A file that is not as the format says has none.
    """
    try:
        book = zipfile.ZipFile(io.BytesIO(content))
        sheets = book.read("xl/workbook.xml").decode()
        told = next(tag for tag in re.findall(r"<sheet [^>]*>", sheets)
                    if f'name="{escape(sheet)}"' in tag)  # fmt: skip
        key = re.search(r'r:id="([^"]+)"', told)[1]  # type: ignore[index]
        related = book.read("xl/_rels/workbook.xml.rels").decode()
        link = next(tag for tag in re.findall(r"<Relationship [^>]*>", related)
                    if f'Id="{key}"' in tag)  # fmt: skip
        target = re.search(r'Target="/?(?:xl/)?([^"]+)"', link)[1]  # type: ignore[index]
        content = book.read(f"xl/{target}")
    except (zipfile.BadZipFile, KeyError, StopIteration, TypeError, UnicodeDecodeError):
        return []
    found = re.findall(rb'<mergeCell ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"', content)
    return [Merged(_place(a), int(top), _place(b), int(bottom)) for a, top, b, bottom in found]


def _place(letters: bytes) -> int:
    """The place of a column of a sheet, from 0."""
    place = 0
    for letter in letters:
        place = 26 * place + letter - ord("A") + 1
    return place - 1


def _refined(frame: pl.DataFrame) -> pl.DataFrame:
    """A sheet without its empty rows and nameless empty columns.

    Numbers that are all whole are integers, and times of midnight are dates: Excel has no types for
    them. (`polars.read_excel` does the same, but fails at whole numbers beyond 2^63.)
    """
    unnamed = [c for c in frame.columns if c.startswith(UNNAMED)]
    frame = frame.drop([c for c in unnamed if frame[c].null_count() == frame.height])
    if frame.width == 0:
        return frame
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    for column in frame.iter_columns():
        known = column.drop_nulls()
        if (
            column.dtype.is_float()
            and (known.abs() < 2**53).all()
            and (known.floor() == known).all()
        ):
            frame = frame.with_columns(column.cast(pl.Int64))
        elif column.dtype == pl.Datetime and (known.dt.truncate("1d") == known).all():
            frame = frame.with_columns(column.cast(pl.Date))
    return frame


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


@contextmanager
def blamed(source: ByteSource, kind: str) -> Iterator[None]:
    """Errors of a library that reads a damaged file are a TableError, and so are its panics."""
    try:
        with quiet():
            yield
    except TableError:
        raise
    except BaseException as error:  # fastexcel and polars have panics of their own
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        said = str(error).partition("\n")[0].rstrip(".")
        if panic := re.search(r'Panic\(.*"(.*)"', said):  # of a thread, beside its number
            said = panic[1]
        raise TableError(
            f"{source.label} is not a readable {kind} file: {said}. Copy or write it again."
        ) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing is written to standard error, where polars tells of each panic at length."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
