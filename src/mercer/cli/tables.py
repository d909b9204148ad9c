"""Tables from files: CSV, TSV and Parquet, also compressed, read into polars frames.

Everything a file can do wrong ends in a `TableError` that names the file, the row where there is
one, and the remedy.
"""

from __future__ import annotations

import bz2
import csv
import difflib
import gzip
import io
import lzma
import re
import zipfile
from pathlib import Path

import numpy as np
import polars as pl

__all__ = ["SUFFIXES", "TableError", "counted", "no_column", "read_table"]

FORMATS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": None, ".parquet": None, ".pq": None}
COMPRESSIONS = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
SUFFIXES = "CSV, TSV or Parquet, plain or compressed (.gz, .bz2, .xz, .zst, .zip)"


class TableError(ValueError):
    """A table file that cannot be read; the message names file, row and remedy."""


def read_table(path: str | Path, encoding: str = "utf-8") -> pl.DataFrame:
    """Read a table; an empty field is a missing value.

    Parameters
    ----------
    path : str or path
        The format follows from the name: ``train.csv``, ``train.tsv.gz``, ``train.parquet``.
    encoding : str, default="utf-8"
        Of text files.

    Raises
    ------
    TableError
        There is no such file, or it is empty, unreadable, ragged or wrongly encoded.
    """
    path = Path(path)
    name, content = _read(path)
    suffix = Path(name).suffix.lower()
    if suffix not in FORMATS:
        raise TableError(f"{path}: the name ends in {suffix or 'nothing'!r}; give {SUFFIXES}.")
    if not content:
        raise TableError(f"{path} is empty.")
    if suffix in (".parquet", ".pq"):
        try:
            frame = pl.read_parquet(io.BytesIO(content))
        except Exception as error:  # polars raises several types for damaged files
            raise TableError(f"{path} is not a readable Parquet file: {error}.") from error
    else:
        frame = _read_text(path, content, FORMATS[suffix], encoding)
    if frame.height == 0:
        raise TableError(f"{path} has a header ({frame.width} columns) but no rows.")
    _refuse_infinities(path, frame)
    return frame


def no_column(option: str, name: str, path: Path, columns: list[str]) -> TableError:
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


def _read(path: Path) -> tuple[str, bytes]:
    """The file's name without its compression suffix, and its uncompressed content."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise TableError(f"There is no file {path}.") from None
    except (OSError, IsADirectoryError) as error:
        raise TableError(f"{path} cannot be read: {error.strerror}.") from error
    name, suffix = path.name, path.suffix.lower()
    try:
        if suffix in COMPRESSIONS:
            return path.stem, COMPRESSIONS[suffix](content)
        if suffix == ".zst":
            return path.stem, _unzstd(path, content)
        if suffix == ".zip":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                members = [m for m in archive.namelist() if not m.endswith("/")]
                if len(members) != 1:
                    raise TableError(
                        f"{path} holds {len(members)} files: {members[:5]}. Unpack it, and give "
                        "the one that is the table."
                    )
                return Path(members[0]).name, archive.read(members[0])
    except TableError:
        raise
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, lzma.LZMAError) as error:
        raise TableError(f"{path} cannot be uncompressed: {error}.") from error
    return name, content


def _unzstd(path: Path, content: bytes) -> bytes:
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        raise TableError(
            f"{path}: Python reads .zst from version 3.14 on. Uncompress it first: zstd -d {path}"
        ) from None
    return zstd.decompress(content)


def _read_text(path: Path, content: bytes, separator: str | None, encoding: str) -> pl.DataFrame:
    try:
        text = content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise TableError(
            f"--encoding {encoding} is not known; try utf-8, latin-1 or cp1252."
        ) from None
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
        raise TableError(
            f"{path} is not {encoding}: byte 0x{content[error.start]:02x} in row {row}. Tell its "
            "encoding, for example --encoding latin-1 or --encoding cp1252."
        ) from None
    if "\0" in text:
        row = text[: text.index("\0")].count("\n") + 1
        raise TableError(f"{path} has a NUL character in row {row}: this is no text table.")
    separator = separator or _sniff(text)
    if separator in text.partition("\n")[0]:  # of a single column an empty line is a missing value
        text = text.rstrip("\r\n") + "\n"
    _refuse_ragged(path, text, separator)
    try:
        frame = pl.read_csv(
            io.StringIO(text), separator=separator, infer_schema_length=None, try_parse_dates=True
        )
        return _with_codes(frame, text, separator)
    except pl.exceptions.PolarsError as error:
        raise TableError(f"{path} cannot be read: {str(error).splitlines()[0]}.") from error


def _with_codes(frame: pl.DataFrame, text: str, separator: str) -> pl.DataFrame:
    """The table with integers that begin with 0, such as 0123, as the codes that they are."""
    whole = {name: pl.String for name, dtype in frame.schema.items() if dtype.is_integer()}
    if not (whole and re.search(rf'(^|["\n{re.escape(separator)}])0\d', text)):
        return frame
    texts = pl.read_csv(
        io.StringIO(text), separator=separator, columns=list(whole), schema_overrides=whole
    )
    codes = [c for c in texts.iter_columns() if c.str.contains(r"^0\d").any()]
    return frame.with_columns(codes)


def _refuse_infinities(path: Path, frame: pl.DataFrame) -> None:
    for column in frame.iter_columns():
        if not column.dtype.is_float():
            continue
        rows = column.is_infinite().fill_null(False).arg_true()
        if len(rows):
            raise TableError(
                f"{path}: column {column.name!r} holds an infinity in row {rows[0] + 1} below the "
                "header: replace it, or leave the field empty."
            )


def _sniff(text: str) -> str:
    """The separator of a .txt table: the candidate that the header has most of."""
    header = text[: text.find("\n")]
    return max("\t,;|", key=header.count)


def _refuse_ragged(path: Path, text: str, separator: str) -> None:
    """Every row has as many fields as the header: polars would not say which has not."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a cell may hold a whole book
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    header = next(reader, [])
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise TableError(
            f"{path} names the column{'s' if len(twice) > 1 else ''} {', '.join(map(repr, twice))} "
            "more than once: rename them."
        )
    if '"' not in text and _fields_agree(text, separator, len(header)):
        return
    try:
        for fields in reader:
            if len(fields) != len(header) and fields:
                raise TableError(
                    f"{path} is ragged: row {reader.line_num} has {len(fields)} fields, the header "
                    f"has {len(header)}. Mend that row, or check the separator and the quotes."
                )
    except csv.Error as error:
        raise TableError(f"{path}, row {reader.line_num}: {error}.") from error


def _fields_agree(text: str, separator: str, width: int) -> bool:
    """Whether every line without quotes has ``width`` fields: counted without a Python loop."""
    content = np.frombuffer(text.encode(), np.uint8)
    ends = np.flatnonzero(content == ord("\n"))
    separators = np.searchsorted(np.flatnonzero(content == ord(separator)), ends)
    return bool((np.diff(separators, prepend=0) == width - 1).all())
