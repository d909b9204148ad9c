"""Parquet files, whose headers are checked before polars reads them.

polars trusts the counts and sizes in a file: a page that claims a negative number of values makes
it ask for 2^61 bytes, which ends the process. `check_headers` walks the footer and the headers of
all pages, which are records of Thrift's compact protocol, without touching the values.

Source: github.com/apache/parquet-format, parquet.thrift; thrift-compact-protocol.md of Thrift.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO, ClassVar

import polars as pl

from mercer.cli.files import Source
from mercer.cli.formats import Whole, blamed

MAGIC, TAIL = b"PAR1", 8  # ends the file, after the length of the footer
HEADER = 512  # bytes that hold most headers of pages: longer ones are read again
#: numbers of fields: of the file, of a group of rows, of a column in it, of its description
GROUPS, COLUMNS, DESCRIPTION = 4, 1, 3
ROWS = 3  # of the file, and of a group
VALUES, PACKED, DATA, DICTIONARY = 5, 7, 9, 11
UNPACKED_PAGE, PACKED_PAGE, PAGES, DICTIONARY_PAGE = 2, 3, (5, 8), 7  # of a page


class ParquetFile(Whole):
    """A table in a Parquet file."""

    kind = "Parquet"
    sliced: ClassVar = {MAGIC: partial(pl.scan_parquet, hive_partitioning=False)}

    def _read(self, content: bytes) -> pl.DataFrame:
        check_headers(io.BytesIO(content))
        return pl.read_parquet(io.BytesIO(content))

    def _slices(self, rows: int) -> Iterator[pl.DataFrame]:
        check_source(self.source)
        return super()._slices(rows)


def check_source(source: Source) -> None:
    """A TableError if the headers of a plain file do not fit together."""
    with blamed(source, "Parquet"), source.path.open("rb") as file:
        check_headers(file)


def check_headers(file: BinaryIO) -> None:
    """A ValueError if counts, sizes or places in a Parquet file are none that it can have.

    Its rows are those of its groups, and the values of a column in a group are those of its
    pages, which lie in the file. The cost is about 20 us for each page and column of a group.
    """
    end = file.seek(0, io.SEEK_END) - TAIL
    length, magic = struct.unpack("<I4s", _bytes_at(file, max(end, 0), TAIL))
    if magic != MAGIC or length > end:
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


def _bytes_at(file: BinaryIO, at: int, length: int) -> bytes:
    file.seek(at)
    found = file.read(length) if length > 0 else b""
    if len(found) < length or not found:
        raise ValueError("it ends too early")
    return found


def _count(of: dict[int, Any], field: int) -> int:
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
    value = shift = 0
    while (byte := content[at]) & 128:
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if shift > 63:
            raise ValueError("a header has a number of more than 64 bits")
    return value | byte << shift, at + 1
