"""What is checked of an archive before anything is made of it: its members, and their arrays.

Nothing in a file of Mercer is compressed. So there is no limit to the size of a model, and yet a
small file cannot become large by being unpacked: all sizes are bounded by that of the file.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from pathlib import Path
from threading import RLock
from typing import IO

import numpy as np
import scipy.sparse as sp

import mercer
from mercer.persistence.errors import ModelFileError, reason
from mercer.persistence.field_rules import check_indices

#: Held by who reads arrays. numpy gives their headers to Python's parser, which in some releases of
#: Python 3.11 fails now and then where several threads use it (python/cpython#106905).
one_reader = RLock()

LOCAL = 30  # bytes before each member, beside its name
HEADER_SIZE = 2**16  # bytes of a header, of which 50 are needed
SPARSE = {"format", "shape", "data", "indices", "indptr", "row", "col", "coords", "offsets"}


def check_members(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive of ``size`` bytes whose members do not lie in it one after the other.

    Raises
    ------
    ValueError
        A member is compressed, encrypted or there twice, or members overlap.
    """
    taken = 0
    names = set()
    for member in archive.infolist():
        if member.filename in names:
            raise ValueError(f"{member.filename!r} is there twice")
        names.add(member.filename)
        if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
            raise ValueError(f"{member.filename!r} is compressed, which Mercer's files never are")
        if member.flag_bits & 1:
            raise ValueError(f"{member.filename!r} is encrypted, which Mercer's files never are")
        taken += LOCAL + len(member.filename) + member.file_size
    if taken > size:
        raise ValueError(f"its members take {taken:,} bytes, but it has {size:,}")


def read_header(
    archive: zipfile.ZipFile, name: str, path: Path, wanted: str, newest: int, hint: str = ""
) -> dict:
    """The JSON header of an archive, if this version reads its format.

    ``name`` is the member that holds it, ``newest`` the newest format that this version reads;
    ``path`` and ``wanted``, what the file should be, are for messages, and ``hint`` says what to do
    if it is something else. ModelFileError: there is no header, or the file has a newer format.
    """
    known = name in archive.namelist() and archive.getinfo(name).file_size <= HEADER_SIZE
    header = json.loads(archive.read(name)) if known else None
    if not (isinstance(header, dict) and _is_format(header.get("format"))):
        raise ModelFileError(
            f"{str(path)!r} is a zip archive but not {wanted}: it lacks {name}, or this gives no "
            f"format.{hint}"
        )
    if header["format"] > newest:
        raise ModelFileError(
            f"{str(path)!r} was written by mercer {_plain(header.get('mercer'))} in format "
            f"{_plain(header['format'])}; this is mercer {mercer.__version__}, which reads formats "
            f"up to {newest}. Upgrade: pip install --upgrade mercer."
        )
    return header


def _is_format(value: object) -> bool:
    return type(value) is int and value >= 1  # True is an int, too


def _plain(value: object) -> str:
    """A version as it may be shown; a file may hold anything in its place."""
    text = str(value)[:20]
    return text if text.isprintable() else "(unreadable)"


def check_array(file: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype]:
    """The shape, Fortran order and dtype in the header of an array in numpy's format.

    Raises ValueError if it does not agree with its size in bytes, if the array holds Python
    objects, or if this is not such a header.
    """
    start = file.tell()
    try:
        # the third version differs from the second in the letters that names of fields may have
        first = np.lib.format.read_magic(file) == (1, 0)
        with one_reader:
            if first:
                shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
            else:
                shape, fortran, dtype = np.lib.format.read_array_header_2_0(file)
    except Exception as error:  # Python's parser, which numpy uses, raises MemoryError as well
        raise ValueError(f"not the header of an array ({reason(error)})") from error
    if dtype.hasobject:
        raise ValueError("an array of Python objects")
    numbers = math.prod(shape) * dtype.itemsize  # as an int of Python, which does not overflow
    if min(shape, default=0) < 0 or file.tell() - start + numbers != size:
        raise ValueError(
            f"a header of an array, {dtype} of shape {shape}, that does not agree with its size"
        )
    return shape, fortran, dtype


def check_sparse(content: bytes) -> None:
    """Refuse what is not a sparse matrix as `scipy.sparse.save_npz` writes it, uncompressed.

    Raises ValueError if arrays do not agree with their sizes, or indices lie outside the matrix:
    scipy would read and write there.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        check_members(archive, len(content))
        for member in archive.infolist():
            if member.filename.removesuffix(".npy") not in SPARSE | {"_is_array"}:
                raise ValueError(f"a sparse matrix has no {member.filename!r}")
            with archive.open(member) as file:
                check_array(file, member.file_size)
    check_indices(sp.load_npz(io.BytesIO(content)))
