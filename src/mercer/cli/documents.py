"""Files of documents, read record by record, with the bytes of each record as they are.

A record is a line of JSON lines or of plain text, or a row of a delimited file, whose fields may
hold ends of lines between quotes; or a sequence of FASTA or FASTQ. Parquet is read by runs of rows.
A large file that is not compressed is read as several shards, each of which ends where a record
does. document_files.py has the files that are given.
"""

from __future__ import annotations

import copy
import csv
import io
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice, pairwise
from typing import Any, BinaryIO, Self

import numpy as np
import polars as pl

from mercer.cli.columnar import check_headers
from mercer.cli.files import ByteSource
from mercer.cli.formats import blamed
from mercer.cli.sequence_files import LETTERS, SHOWN
from mercer.cli.terminal import TableError, no_column
from mercer.cli.text_layout import separator_of
from mercer.persistence import read_json
from mercer.samples import kind_named
from mercer.tables import Column, is_missing_mark

BOM = b"\xef\xbb\xbf"
ROWS = 32_768  # records of a part
BYTES = 2**26  # and about so many at most
SHARD = 2**28  # bytes of a shard, about
STEP = 2**22  # bytes that are looked through at a time
SAMPLE = 2**16  # bytes that tell the separator


class RecordError(ValueError):
    """A record that cannot be read; the message continues "line 3 ..."."""


class Format(ABC):
    """How records of one format are read."""

    unit = "row"  # what a record is called
    skips_blank = False  # whether a blank record is none
    #: where the records of a shard begin and end, in bytes or rows; None: those of the whole file
    begin: int | None = None
    end: int | None = None
    kept: Column | None = None  # how the texts in the column of --keep are read
    of = ""  # "molecule" or "sequence", where the documents are no texts
    notice = ""  # a note for the user about the documents

    def __init__(self, source: ByteSource, column: str, keep: str | None, separator: str | None):
        self.source, self.column, self.keep = source, column, keep
        self.separator = separator

    @abstractmethod
    def records(self, place: dict | None) -> Iterator[tuple[Any, int]]:
        """The records after a place, as parts of them; and where each part ends."""

    def first(self, count: int) -> list[Any]:
        """The first records, which tell what all are."""
        return list(next(self.records(None), ([], 0))[0][:count])

    @abstractmethod
    def found(self, record: object) -> tuple[str, Any]:
        """The text of a record, and its cell in the column of --keep; or a RecordError."""

    def document(self, record: object) -> tuple[str, float]:
        """The text of a record, and the number by which it is preferred; or a RecordError."""
        text, cell = self.found(record)
        if self.of == "molecule" and (reason := kind_named("molecules").fault(text)):
            raise RecordError(f"has {text[:SHOWN]!r}, which is no molecule: {reason}")
        text = text.upper() if self.of == "sequence" else text
        return text, 0.0 if self.keep is None else as_number(cell, self.keep, self.kept)

    def header(self) -> bytes:
        """What stands above the records."""
        return b""

    def shards(self) -> list[Self]:
        """The same file as several of about `SHARD` bytes."""
        bounds: list[int | None] = [None, *(self._bounds() if self.source.plain else []), None]
        return [self._between(begin, end) for begin, end in pairwise(bounds)]

    def before(self) -> int:
        """How many records of the file come before those of this shard."""
        if self.begin is None:
            return 0
        return sum(len(part) for part, _ in self._between(None, self.begin).records(None))

    @property
    def size(self) -> int:
        """Where the file ends, in the units of `begin`."""
        return self.source.size

    @abstractmethod
    def _bounds(self) -> Iterator[int]:
        """Where shards end, but for the last one."""

    def _between(self, begin: int | None, end: int | None) -> Self:
        shard = copy.copy(self)
        shard.begin, shard.end = begin, end
        return shard


class DocumentLines(Format):
    """Plain text, a document in each line."""

    unit = "line"

    def records(self, place: dict | None) -> Iterator[tuple[list[bytes], int]]:
        start = self.begin if place is None else place["offset"]
        end = sys.maxsize if self.end is None else self.end
        with self.source.opened(start or 0) as file:
            offset = self._begin(file) if start is None else start
            part, size = [], 0
            for record in self._split(file) if offset < end else ():
                part.append(record)
                size += len(record)
                if len(part) == ROWS or size > BYTES or offset + size >= end:
                    offset += size
                    yield part, offset
                    part, size = [], 0
                    if offset >= end:
                        break
            if part:
                yield part, offset + size

    def first(self, count: int) -> list[bytes]:
        with self.source.opened() as file:
            self._begin(file)
            return list(islice(self._split(file), count))

    def _bounds(self) -> Iterator[int]:
        """Where shards of about equal size end, always between two records."""
        end = 0
        for target in range(SHARD, self.source.size, SHARD):
            if target > end:
                with self.source.opened(target) as file:
                    end = target + self._before_record(file)
                if end < self.source.size:
                    yield end

    def _before_record(self, file: BinaryIO) -> int:
        """Read on to where a record begins; how many bytes stand before it."""
        return len(file.readline())

    def found(self, record: bytes) -> tuple[str, Any]:
        return _decoded(record).rstrip("\r\n"), None

    def _begin(self, file: BinaryIO) -> int:
        """Read what stands above the records; how many bytes it has."""
        start = file.peek(3)[:3]  # type: ignore[attr-defined]
        return len(file.read(3)) if start == BOM else 0

    def _split(self, file: BinaryIO) -> Iterator[bytes]:
        return iter(file)


class DocumentJsonLines(DocumentLines):
    """One JSON object in each line. Columns inside of objects are named ``user.text``."""

    skips_blank = True

    def found(self, record: bytes) -> tuple[str, Any]:
        try:
            found = read_json(_decoded(record))
        except ValueError as error:
            if isinstance(error, RecordError):
                raise
            raise RecordError(f"is no JSON: {error}") from None
        if not isinstance(found, dict):
            raise RecordError(f"holds {_kind(found)} and no object")
        text = _as_text(_inside(found, self.column), self.column)
        return text, None if self.keep is None else _inside(found, self.keep)


class Delimited(DocumentLines):
    """Rows of fields, the first of which is the header."""

    unit = "row"
    skips_blank = True

    def records(self, place: dict | None) -> Iterator[tuple[list[bytes], int]]:
        self.header()  # says which field is the text
        return super().records(place)

    def _bounds(self) -> Iterator[int]:
        """Ends of lines that are not between quotes."""
        with self.source.opened() as file:
            at, quotes = self._begin(file), 0
            for target in range(SHARD, self.source.size, SHARD):
                if at >= target:
                    continue
                while at < target and (some := file.read(min(STEP, target - at))):
                    at, quotes = at + len(some), quotes + some.count(b'"')
                while line := file.readline():
                    at, quotes = at + len(line), quotes + line.count(b'"')
                    if quotes % 2 == 0:
                        break
                if target <= at < self.source.size:
                    yield at

    def header(self) -> bytes:
        with self.source.opened() as file:
            self._begin(file)
        return self._header

    def found(self, record: bytes) -> tuple[str, Any]:
        fields = self._fields(record)
        if len(fields) != len(self.names):
            raise RecordError(f"has {len(fields)} fields, and the header has {len(self.names)}")
        return fields[self._of_text], fields[self._of_keep]

    def _begin(self, file: BinaryIO) -> int:
        """Read the header, and the separator where none is given."""
        start = super()._begin(file)
        self._header = next(self._split(file), b"")
        if not self._header.strip():
            raise TableError(f"{self.source.label} is empty: it has no header.")
        if self.separator is None:
            rows = self._header + file.peek(SAMPLE)[:SAMPLE].rpartition(b"\n")[0]  # type: ignore
            usual = "\t" if self.source.name.lower().endswith(".tsv") else ","
            self.separator = separator_of(rows.decode("utf-8", "replace"), usual)
        try:
            self.names = self._fields(self._header)
        except RecordError as error:
            raise TableError(f"{self.source.label}: the header {error}.") from None
        self._of_text = self._place("--column", self.column)
        self._of_keep = self._place("--keep", self.keep) if self.keep else 0
        return start + len(self._header)

    def _place(self, option: str, name: str) -> int:
        if name not in self.names:
            raise no_column(option, name, self.source.label, self.names)
        return self.names.index(name)

    def _fields(self, record: bytes) -> list[str]:
        """The fields of a record."""
        try:
            text = io.StringIO(_decoded(record), newline="")
            rows = list(csv.reader(text, delimiter=self.separator or ",", strict=True))
        except csv.Error as error:
            raise RecordError(f"is no row of fields: {error}") from None
        return rows[0] if rows else []

    def _split(self, file: BinaryIO) -> Iterator[bytes]:
        """Lines, joined where one ends between quotes."""
        lines: list[bytes] = []
        quotes = 0
        for line in file:
            lines.append(line)
            quotes += line.count(b'"')
            if quotes % 2 == 0:
                yield line if len(lines) == 1 else b"".join(lines)
                lines, quotes = [], 0
        if lines:
            yield b"".join(lines)


class Fasta(DocumentLines):
    """Sequences, each below a line that begins with ``>``."""

    unit = "record"
    skips_blank = True
    of = "sequence"

    def found(self, record: bytes) -> tuple[str, Any]:
        lines = [line.strip() for line in _decoded(record).splitlines()]
        head, *lines = [line for line in lines if line and not line.startswith(";")] or [""]
        if not head.startswith(">"):
            raise RecordError(f"is {head[:SHOWN]!r}, but a record of FASTA begins with >")
        return _letters("".join(lines)), None

    def _split(self, file: BinaryIO) -> Iterator[bytes]:
        """Lines, joined up to the next one that begins a record."""
        lines: list[bytes] = []
        for line in file:
            if line[:1] == b">" and any(line.strip() and line[:1] != b";" for line in lines):
                yield b"".join(lines)
                lines = []
            lines.append(line)
        if lines:
            yield b"".join(lines)

    def _before_record(self, file: BinaryIO) -> int:
        size = super()._before_record(file)
        while (line := file.readline()) and line[:1] != b">":
            size += len(line)
        return size


class Fastq(Fasta):
    """Sequences of four lines each: ``@`` and a name, letters, ``+``, and qualities.

    A read that was trimmed may have no letters; its lines of letters and qualities are blank.
    """

    def found(self, record: bytes) -> tuple[str, Any]:
        lines = [line.strip() for line in _decoded(record.lstrip()).split("\n")]
        head, letters, plus, quality = [*lines, "", "", ""][:4]
        if head[:1] != "@" or plus[:1] != "+" or len(letters) != len(quality):
            raise RecordError(
                f"is {head[:SHOWN]!r}, but a record of FASTQ is @ and a name, a line of letters, "
                "+, and as many qualities as letters"
            )
        return _letters(letters), None

    def _split(self, file: BinaryIO) -> Iterator[bytes]:
        """Records of four lines; blank lines before one belong to it."""
        blank: list[bytes] = []  # before a record
        for line in file:
            if line.strip():
                yield b"".join([*blank, line, *islice(file, 3)])
                blank = []
            else:
                blank.append(line)
        if blank:
            yield b"".join(blank)

    def _bounds(self) -> Iterator[int]:
        """None: a quality may begin as a name does."""
        return iter(())


class Parquet(Format):
    """Rows of a Parquet file."""

    def __init__(self, source: ByteSource, column: str, keep: str | None, separator: str | None):
        super().__init__(source, column, keep, separator)
        if not source.plain:
            raise TableError(f"{source.label}: give Parquet as a file that is not compressed.")
        check_headers(source, "Parquet")
        self.names = self.scan().collect_schema().names()
        for option, name in (("--column", column), ("--keep", keep)):
            if name is not None and name not in self.names:
                raise no_column(option, name, source.label, self.names)

    def scan(self) -> pl.LazyFrame:
        with blamed(self.source, "Parquet"):
            frame = pl.scan_parquet(self.source.path, glob=False)
            frame.collect_schema()
        return frame

    def records(self, place: dict | None) -> Iterator[tuple[list[tuple], int]]:
        names = [self.column] + ([] if self.keep is None else [self.keep])
        frame = self.scan().select(list(dict.fromkeys(names)))
        offset = (self.begin or 0) if place is None else place["offset"]
        end = sys.maxsize if self.end is None else self.end
        while offset < end:
            with blamed(self.source, "Parquet"):
                rows = frame.slice(offset, min(ROWS, end - offset)).collect().rows()
            self.source.check_unchanged()
            if not rows:
                return
            offset += len(rows)
            yield rows, offset

    def _bounds(self) -> Iterator[int]:
        each = max(1, self.size * SHARD // max(self.source.size, 1))
        return iter(range(each, self.size, each))

    @property
    def size(self) -> int:
        with blamed(self.source, "Parquet"):
            return self.scan().select(pl.len()).collect().item()

    def found(self, record: tuple) -> tuple[str, Any]:
        return _as_text(record[0], self.column), record[-1]


def as_number(value: object, name: str, kept: Column | None = None) -> float:
    """A number or a date as a number; what is missing is preferred least.

    ``kept`` says how the texts of the column are read.
    """
    if value is None or is_missing_mark(value):
        return -1e308
    number = _number(value, kept)
    if number is None:
        raise RecordError(f"has {str(value)[:40]!r} as {name!r}, which is no number or date")
    if number != number or abs(number) == float("inf"):
        raise RecordError(f"has {value!r} as {name!r}, which is not finite")
    return number


def _number(value: Any, kept: Column | None) -> float | None:
    """The number or the date of a value, None if it is neither."""
    if isinstance(value, str) and kept is not None and kept.of.numeric:
        return kept.numbers.read([value]).get(value)
    with suppress(TypeError, ValueError):
        return float(value)
    with suppress(ValueError):
        date = datetime.fromisoformat(str(value))
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    if kept is None:
        return None
    date = kept.of.read(np.array([value], object), kept)[0]
    return None if np.isnat(date) else float(date.astype(np.int64))


def _letters(text: str) -> str:
    """The letters of a sequence without blanks."""
    found = "".join(text.split())
    if not LETTERS.fullmatch(found):
        raise RecordError(f"has {found[:SHOWN]!r}, but a sequence has letters, *, - and . alone")
    return found


def _decoded(record: bytes) -> str:
    """The text of a record in UTF-8."""
    try:
        return record.decode()
    except UnicodeDecodeError as error:
        raise RecordError(
            f"is not UTF-8: byte {error.start + 1} is 0x{record[error.start]:02x}"
        ) from None


def _inside(found: dict, name: str) -> Any:
    """The value of a column, also of one inside of objects; a RecordError if there is none."""
    if name in found:
        return found[name]
    value: Any = found
    for key in name.split("."):
        if not isinstance(value, dict) or key not in value:
            raise RecordError(f"has no column {name!r}; it has {list(found)[:10]}")
        value = value[key]
    return value


def _as_text(value: object, column: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RecordError(f"has {_kind(value)} as {column!r}, and no text (--column names another)")
    return value


def _kind(value: Any) -> str:
    known = {dict: "an object", list: "a list", str: "a text", bool: "a truth value",
             int: "a number", float: "a number"}  # fmt: skip
    return known.get(type(value), "null" if value is None else f"a {type(value).__name__}")
