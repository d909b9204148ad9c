"""Tables from files: CSV, TSV and Parquet, also compressed, read into polars frames.

Everything a file can do wrong ends in a `TableError` that names the file, the row where there is
one, and the remedy.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from mercer.cli.delimited import read_delimited
from mercer.cli.errors import TableError

__all__ = ["read_table"]

FORMATS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": None, ".parquet": None, ".pq": None}
COMPRESSIONS = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
SUFFIXES = "CSV, TSV or Parquet, plain or compressed (.gz, .bz2, .xz, .zst, .zip)"


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
        frame = _read_parquet(path, content)
    else:
        frame = read_delimited(path, content, FORMATS[suffix], encoding)
    if frame.height == 0:
        raise TableError(f"{path} has a header ({frame.width} columns) but no rows.")
    _refuse_nested(path, frame)
    _refuse_infinities(path, frame)
    return frame


def _read(path: Path) -> tuple[str, bytes]:
    """The file's name without its compression suffix, and its uncompressed content."""
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe might never end
        what = "a folder" if os.path.isdir(path) else "a pipe or a device"
        raise TableError(f"{path} cannot be read: it is {what}. Give the name of a file.")
    try:
        content = path.read_bytes()
    except (FileNotFoundError, ValueError):  # a name with NUL
        raise TableError(f"There is no file {path}.") from None
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}.") from error
    name, suffix = path.name, path.suffix.lower()
    try:
        if suffix in COMPRESSIONS:
            return path.stem, COMPRESSIONS[suffix](content)
        if suffix == ".zst":
            return path.stem, _unzstd(path, content)
        if suffix == ".zip":
            return _unzip(path, content)
    except TableError:
        raise
    except Exception as error:  # each of these libraries raises several types of its own
        raise TableError(
            f"{path} cannot be uncompressed: {error}. Copy or compress it again."
        ) from error
    return name, content


def _unzip(path: Path, content: bytes) -> tuple[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [m for m in archive.namelist() if not m.endswith("/")]
        if len(members) != 1:
            raise TableError(
                f"{path} holds {len(members)} files: {members[:5]}. Unpack it, and give the one "
                "that is the table."
            )
        return Path(members[0]).name, archive.read(members[0])


def _unzstd(path: Path, content: bytes) -> bytes:
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        raise TableError(
            f"{path}: Python reads .zst from version 3.14 on. Uncompress it first: zstd -d {path}"
        ) from None
    return zstd.decompress(content)


def _read_parquet(path: Path, content: bytes) -> pl.DataFrame:
    try:
        with _quiet():
            return pl.read_parquet(io.BytesIO(content))
    except (Exception, pl.exceptions.PanicException) as error:  # of damaged files
        said = str(error).partition("\n")[0]
        raise TableError(
            f"{path} is not a readable Parquet file: {said}. Copy or write it again."
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
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


def _refuse_nested(path: Path, frame: pl.DataFrame) -> None:
    for name, dtype in frame.schema.items():
        items = dtype.inner if isinstance(dtype, (pl.List, pl.Array)) else None
        if isinstance(dtype, (pl.Struct, pl.Object)) or (items is not None and items.is_nested()):
            raise TableError(
                f"{path}: column {name!r} holds {dtype}, but a cell must be a number, a text, a "
                "date, true or false, or a list of these. Write the table without that column."
            )


def _refuse_infinities(path: Path, frame: pl.DataFrame) -> None:
    for column in frame.iter_columns():
        if not column.dtype.is_float():
            continue
        rows = np.flatnonzero(np.isinf(column.to_numpy()))
        if len(rows):
            raise TableError(
                f"{path}: column {column.name!r} holds an infinity in row {rows[0] + 1} below the "
                "header: replace it, or leave the field empty."
            )
