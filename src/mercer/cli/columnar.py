"""Parquet and Arrow files, whose headers are checked before polars reads them.

polars trusts the counts, sizes and places in a file. A page of Parquet that claims a negative
number of values, or a buffer of Arrow that claims to unpack to 2^60 bytes, makes it ask for so
much memory that the process is ended. `check_parquet` and `check_arrow` walk the headers, which
are records of Thrift's compact protocol and tables of flatbuffers, without touching the values.

Source: parquet.thrift of github.com/apache/parquet-format; thrift-compact-protocol.md of Thrift;
File.fbs and Message.fbs of github.com/apache/arrow; flatbuffers.dev/internals.
"""

from __future__ import annotations

import io
import struct
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, ClassVar

import numpy as np
import polars as pl

from mercer.cli.files import ByteSource
from mercer.cli.formats import Whole, blamed, unfolded

PARQUET, ARROW = b"PAR1", b"ARROW1"  # begin and end a file


class Columnar(Whole):
    """Abstract: a file that holds its columns one after the other, of which polars reads a part."""

    begin: ClassVar[bytes]  # of the files of which it can
    scan: ClassVar[Callable[..., pl.LazyFrame]]

    @abstractmethod
    def _table(self, content: bytes) -> pl.DataFrame:
        """The whole table."""

    def _read(self, content: bytes) -> pl.DataFrame:
        CHECKS[self.kind](io.BytesIO(content))
        return self._table(content)

    def blocks(self, rows: int | None = None) -> Iterator[pl.DataFrame]:
        if rows is None or not self.source.plain or not self._has_parts():
            yield from super().blocks(rows)
            return
        check_headers(self.source, self.kind)
        start = 0
        while True:
            with blamed(self.source, self.kind):
                block = self.scan(self.source.path, glob=False).slice(start, rows).collect()
            if not block.height:
                break
            yield unfolded(block)
            start += rows
        self.source.check_unchanged()

    def _has_parts(self) -> bool:
        with self.source.opened() as file:
            return file.read(len(self.begin)) == self.begin


class ParquetFile(Columnar):
    kind = "Parquet"
    begin = PARQUET
    scan = staticmethod(partial(pl.scan_parquet, hive_partitioning=False))

    def _table(self, content: bytes) -> pl.DataFrame:
        return pl.read_parquet(io.BytesIO(content))


class ArrowFile(Columnar):
    """Arrow's file format, which Feather is too, and its stream format."""

    kind = "Arrow"
    begin = ARROW
    scan = staticmethod(partial(pl.scan_ipc, hive_partitioning=False))

    def _table(self, content: bytes) -> pl.DataFrame:
        read = pl.read_ipc if content.startswith(self.begin) else pl.read_ipc_stream
        return read(io.BytesIO(content), use_pyarrow=False)


def check_headers(source: ByteSource, kind: str) -> None:
    """A TableError if the headers of a plain file cannot be."""
    with blamed(source, kind), source.path.open("rb") as file:
        CHECKS[kind](file)


def _bytes_at(file: BinaryIO, at: int, length: int) -> bytes:
    file.seek(at)
    found = file.read(length) if length > 0 else b""
    if len(found) < length or not found:
        raise ValueError("it ends too early")
    return found


# ---------------------------------------------------------------- Parquet

TAIL = 8  # bytes of the length of the footer, and of what ends the file
HEADER = 512  # bytes that hold most headers of pages: longer ones are read again
#: numbers of fields: of the file, of a group of rows, of a column in it, of its description
GROUPS, COLUMNS, DESCRIPTION = 4, 1, 3
ROWS = 3  # of the file, and of a group
VALUES, PACKED, DATA, DICTIONARY = 5, 7, 9, 11
UNPACKED_PAGE, PACKED_PAGE, PAGES, DICTIONARY_PAGE = 2, 3, (5, 8), 7  # of a page


def check_parquet(file: BinaryIO) -> None:
    """A ValueError if counts, sizes or places in a Parquet file are none that it can have.

    Its rows are those of its groups, and the values of a column in a group are those of its
    pages, which lie in the file. The cost is about 20 us for each page and column of a group.
    """
    end = file.seek(0, io.SEEK_END) - TAIL
    length, magic = struct.unpack("<I4s", _bytes_at(file, max(end, 0), TAIL))
    if magic != PARQUET or length > end:
        raise ValueError("its end is damaged or missing")
    whole, _ = _header(file, end - length, end)
    groups = _records(whole, GROUPS)
    if sum(_count(group, ROWS) for group in groups) != _count(whole, ROWS):
        raise ValueError("its groups of rows do not have all of its rows")
    for group in groups:
        for column in _records(group, COLUMNS):
            _check_pages(file, end - length, _record(column, DESCRIPTION))


def _check_pages(file: BinaryIO, end: int, column: dict[int, Any]) -> None:
    """Look at the pages of one column of one group, as far as its values reach."""
    at = _count(column, DICTIONARY) if DICTIONARY in column else _count(column, DATA)
    left = _count(column, VALUES)
    while left > 0:
        page, size = _header(file, at, end)
        at += size + _count(page, PACKED_PAGE)
        _count(page, UNPACKED_PAGE)
        if at > end:
            raise ValueError("a page does not end in the file")
        if DICTIONARY_PAGE in page:
            _count(_record(page, DICTIONARY_PAGE), 1)
        for kind in PAGES:
            if kind in page:
                left -= _count(_record(page, kind), 1)
    if left < 0:
        raise ValueError("a page has more values than its column")


def _header(file: BinaryIO, at: int, end: int) -> tuple[dict[int, Any], int]:
    """The record that begins at a byte, and its length."""
    length = HEADER
    while True:
        content = _bytes_at(file, at, min(length, end - at))
        try:
            return _struct(content, 0)
        except IndexError:
            if length >= end - at:
                raise ValueError("a header does not end in the file") from None
            length *= 8


def _count(of: dict[int, Any], field: int) -> int:
    """A count of the headers, after a check that it is one."""
    value = of.get(field)
    if not isinstance(value, int) or value < 0:
        raise ValueError(
            "a count or place in its headers is "
            + (f"{value}" if isinstance(value, int) else "missing")
        )
    return value


def _record(of: dict[int, Any], field: int) -> dict[int, Any]:
    value = of.get(field)
    if not isinstance(value, dict):
        raise ValueError("a header lacks a part")
    return value


def _records(of: dict[int, Any], field: int) -> list[dict[int, Any]]:
    value = of.get(field)
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ValueError("a header lacks a list of parts")
    return value


# ---------------------------------------------------------------- Thrift's compact protocol

TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = 1, 2, 3, 7, 8, 9, 10, 11, 12, 13


def _struct(content: bytes, at: int) -> tuple[dict[int, Any], int]:
    """The fields of the struct that begins at a place, by their numbers, and where it ends.

    Whole numbers are ints, structs are dicts and lists are lists; of all else there is only None.
    An IndexError if the bytes end before it does.
    """
    fields: dict[int, Any] = {}
    number = 0
    while head := content[at]:
        if head >> 4:
            number, at = number + (head >> 4), at + 1
        else:
            number, at = _whole(content, at + 1)
        kind = head & 15
        if kind in (TRUE, FALSE):  # the value is the type
            fields[number] = None
        else:
            fields[number], at = _value(content, at, kind)
    return fields, at + 1


def _value(content: bytes, at: int, kind: int) -> tuple[Any, int]:
    """A value in Thrift's compact form, and where it ends."""
    if BYTE < kind < DOUBLE:
        return _whole(content, at)
    if kind == BINARY:
        length, at = _varint(content, at)
        content[at + length - 1]  # it must be there
        return None, at + length
    if kind == STRUCT:
        return _struct(content, at)
    if kind in (LIST, SET):
        head = content[at]
        size, at = (head >> 4, at + 1) if head >> 4 < 15 else _varint(content, at + 1)
        found = []
        for _ in range(size):
            value, at = _value(content, at, head & 15)
            found.append(value)
        return found, at
    if kind == MAP:
        size, at = _varint(content, at)
        if size:
            head, at = content[at], at + 1
            for _ in range(size):
                _, at = _value(content, at, head >> 4)
                _, at = _value(content, at, head & 15)
        return None, at
    fixed = {TRUE: 1, FALSE: 1, BYTE: 1, DOUBLE: 8, UUID: 16}
    if kind not in fixed:
        raise ValueError("a header has a field of a type that there is not")
    content[at + fixed[kind] - 1]
    return None, at + fixed[kind]


def _whole(content: bytes, at: int) -> tuple[int, int]:
    """A number in zigzag: 0, -1, 1, -2, ..."""
    value, at = _varint(content, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A whole number of as many bytes as it needs, and where it ends."""
    value = shift = 0
    while (byte := content[at]) & 128:
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if shift > 63:
            raise ValueError("a header has a number of more than 64 bits")
    return value | byte << shift, at + 1


# ---------------------------------------------------------------- Arrow

NEXT = b"\xff\xff\xff\xff"  # begins a message
#: numbers of fields: of a footer, of a message, of a batch of rows; of what a dictionary holds
DICTIONARIES, BATCHES = 2, 3
HEADER_KIND, HEADER_TABLE, BODY = 1, 2, 3
LENGTH, NODES, BUFFERS, COMPRESSION = 0, 1, 2, 3
DICTIONARY_BATCH, RECORD_BATCH, BATCH_OF_DICTIONARY = 2, 3, 1
RECORD_BLOCK = np.dtype([("at", "<i8"), ("head", "<i4"), ("pad", "<i4"), ("body", "<i8")])
PAIR = np.dtype([("first", "<i8"), ("second", "<i8")])  # offset and length; length and nulls
RATIO = 2**15  # a block of zstd has at least four bytes, and at most 2^17 unpacked ones


def check_arrow(file: BinaryIO) -> None:
    """A ValueError if counts, sizes or places in an Arrow file or stream are none it can have.

    Buffers lie in the bodies of their batches, and unpack to at most `RATIO` times their bytes.
    The cost is about 50 us for each batch, and 1 us for each buffer that is packed.
    """
    try:
        end = file.seek(0, io.SEEK_END)
        file.seek(0)
        whole = file.read(len(ARROW)) == ARROW
        for at in _messages_of_file(file, end) if whole else _messages_of_stream(file, end):
            _check_message(file, at, end)
    except (struct.error, IndexError, OverflowError):
        raise ValueError("a header is damaged") from None


def _messages_of_file(file: BinaryIO, end: int) -> Iterator[int]:
    """Where the batches begin that the footer lists."""
    end -= len(ARROW) + 4
    length, magic = struct.unpack("<i6s", _bytes_at(file, max(end, 0), len(ARROW) + 4))
    if magic != ARROW or not 0 < length <= end:
        raise ValueError("its end is damaged or missing")
    footer = FlatTable.first(_bytes_at(file, end - length, length))
    for field in (DICTIONARIES, BATCHES):
        for at, head, _, body in footer.structs(field, RECORD_BLOCK).tolist():
            if min(at, head, body) < 0 or at + head + body > end - length:
                raise ValueError("a batch of rows does not lie in the file")
            if at + head != sum(_head(file, at)):
                raise ValueError("the header of a batch has two lengths")
            yield at


def _messages_of_stream(file: BinaryIO, end: int) -> Iterator[int]:
    at = 0
    while at < end and (length := _head(file, at)[1]):
        yield at
        start, _ = _head(file, at)
        at = start + length + FlatTable.first(_bytes_at(file, start, length)).number(BODY)


def _head(file: BinaryIO, at: int) -> tuple[int, int]:
    """Where the header of a message begins, and its length; old files have no mark before it."""
    content = _bytes_at(file, at, 4)
    if content == NEXT:
        at, content = at + 4, _bytes_at(file, at + 4, 4)
    (length,) = struct.unpack("<i", content)
    if length < 0:
        raise ValueError(f"a header has {length} bytes")
    return at + 4, length


def _check_message(file: BinaryIO, at: int, end: int) -> None:
    """Look at the nodes and buffers of a batch of rows, or of a dictionary."""
    start, length = _head(file, at)
    message = FlatTable.first(_bytes_at(file, start, length))
    kind, body = message.number(HEADER_KIND, "<B"), message.number(BODY)
    start += length
    if not 0 <= body <= end - start:
        raise ValueError("a batch of rows does not end in the file")
    if kind not in (DICTIONARY_BATCH, RECORD_BATCH):
        return
    batch = message.table(HEADER_TABLE)
    if kind == DICTIONARY_BATCH:
        batch = batch.table(BATCH_OF_DICTIONARY)
    nodes, buffers = batch.structs(NODES, PAIR), batch.structs(BUFFERS, PAIR)
    if batch.number(LENGTH) < 0 or (nodes["second"] < 0).any():
        raise ValueError("a batch has a negative number of rows")
    if (nodes["second"] > nodes["first"]).any():
        raise ValueError("a column has more missing values than values")
    offsets, sizes = buffers["first"], buffers["second"]
    if ((offsets < 0) | (sizes < 0) | (offsets > body) | (sizes > body - offsets)).any():
        raise ValueError("a buffer does not lie in its batch")
    if batch.has(COMPRESSION):
        for offset, size in buffers[sizes > 0].tolist():
            (unpacked,) = struct.unpack("<q", _bytes_at(file, start + offset, 8))
            if not -1 <= unpacked <= RATIO * size:
                raise ValueError(f"a buffer of {size} bytes claims to unpack to {unpacked}")


#: by the kind of a file
CHECKS: dict[str, Callable[[BinaryIO], None]] = {"Parquet": check_parquet, "Arrow": check_arrow}


class FlatTable:
    """A table of flatbuffers: its fields are found by a list of offsets, its vtable."""

    def __init__(self, content: bytes, at: int):
        self.content, self.at = content, at
        self._fields = at - self._read("<i", at)
        if at < 0 or self._fields < 0:
            raise ValueError("a header is damaged")

    @classmethod
    def first(cls, content: bytes) -> FlatTable:
        """The table that the bytes hold."""
        return cls(content, struct.unpack_from("<I", content)[0])

    def has(self, field: int) -> bool:
        return self._place(field) is not None

    def number(self, field: int, form: str = "<q") -> int:
        place = self._place(field)
        return 0 if place is None else self._read(form, place)

    def table(self, field: int) -> FlatTable:
        return FlatTable(self.content, self._target(field))

    def structs(self, field: int, dtype: np.dtype) -> np.ndarray:
        """A vector of structs."""
        if not self.has(field):
            return np.empty(0, dtype)
        at = self._target(field)
        count = self._read("<I", at)
        if count > (len(self.content) - at - 4) // dtype.itemsize:
            raise ValueError("a list in a header does not end in it")
        return np.frombuffer(self.content, dtype, count, at + 4)

    def _target(self, field: int) -> int:
        place = self._place(field)
        if place is None:
            raise ValueError("a header lacks a part")
        return place + self._read("<I", place)

    def _place(self, field: int) -> int | None:
        at = 4 + 2 * field
        if at >= self._read("<H", self._fields):
            return None
        offset = self._read("<H", self._fields + at)
        return self.at + offset if offset else None

    def _read(self, form: str, at: int) -> int:
        return struct.unpack_from(form, self.content, at)[0]
