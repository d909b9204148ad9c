"""Checks of an archive before objects are built: its members, and their arrays.

Nothing in a file of Mercer is compressed. So there is no limit to the size of a model, and yet a
small file cannot become large by being unpacked: all sizes are bounded by that of the file.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
from pathlib import Path
from threading import RLock
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

import mercer
from mercer.persistence.field_rules import check_indices
from mercer.persistence.json_texts import ModelFileError, read_json, reason

#: Held by who reads arrays. numpy gives their headers to Python's parser, which in some releases of
#: Python 3.11 fails now and then where several threads use it (python/cpython#106905).
one_reader = RLock()

LOCAL = 30  # bytes before each member, beside its name
ZIP64, TOO_LARGE = 2**31 - 1, 2**32 - 1  # from where zipfile writes numbers elsewhere, and a sign
SYSTEMS = (3, 0)  # that wrote an archive: Unix, or Windows
HEADER_SIZE = 2**16  # bytes of a header, of which 50 are needed
SPARSE = {"format", "shape", "data", "indices", "indptr", "row", "col", "coords", "offsets"}


def check_members(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive of ``size`` bytes that is not laid out as Mercer writes it.

    Its members lie in it one after the other, and nothing lies before, between or after them. Every
    byte outside of them, the list of contents included, is what it has to be.

    Raises
    ------
    ValueError
        A member is compressed, encrypted or there twice, members overlap, or a byte is another.
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
    _check_layout(archive, size)


def _check_layout(archive: zipfile.ZipFile, size: int) -> None:
    """Compare all bytes of an archive outside of its members with those that they should be."""
    file: Any = archive.fp
    end, contents = 0, b""
    for member in archive.infolist():
        local, entry = _headers(member, end)
        file.seek(end)
        if member.header_offset != end or file.read(len(local)) != local:
            # the sizes of a member that was written in parts stand in a longer header
            local, entry = _headers(member, end, longer=True)
            file.seek(end)
            if member.header_offset != end or file.read(len(local)) != local:
                raise ValueError(f"{member.filename!r} does not begin where it should")
        contents += entry
        end += len(local) + member.file_size
    count = len(archive.infolist())
    tail = contents + _end(count, len(contents), end)
    file.seek(end)
    if end + len(tail) != size or file.read(len(tail)) != tail:
        raise ValueError("its list of contents was altered, or something follows it")


def _headers(member: zipfile.ZipInfo, start: int, longer: bool = False) -> tuple[bytes, bytes]:
    """The bytes before a member, and its entry in the list of contents (APPNOTE.TXT, 4.3)."""
    name, size = member.filename.encode("ascii"), member.file_size
    year, month, day, hour, minute, second = member.date_time
    moment = hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day
    longer = longer or size > ZIP64
    shown = TOO_LARGE if longer else size
    more = struct.pack("<HHQQ", 1, 16, size, size) if longer else b""
    version = 45 if longer else 20
    local = struct.pack(
        "<4sHHHHHLLLHH", b"PK\3\4", version, 0, 0, *moment, member.CRC, shown, shown, len(name),
        len(more),
    )  # fmt: skip
    large = [size, size] if size > ZIP64 else []
    large += [start] if start > ZIP64 else []
    extra = struct.pack(f"<HH{len(large)}Q", 1, 8 * len(large), *large) if large else b""
    shown = TOO_LARGE if size > ZIP64 else size
    version = 45 if extra else version
    system = member.create_system if member.create_system in SYSTEMS else SYSTEMS[0]
    entry = struct.pack(
        "<4sBBHHHHHLLLHHHHHLL", b"PK\1\2", version, system, version, 0, 0, *moment, member.CRC,
        shown, shown, len(name), len(extra), 0, 0, 0, 0o600 << 16,
        TOO_LARGE if start > ZIP64 else start,
    )  # fmt: skip
    return local + name + more, entry + name + extra


def _end(count: int, length: int, start: int) -> bytes:
    """The end of an archive, after a list of contents of a length that begins at ``start``."""
    found = b""
    if count > 2**16 - 1 or start > ZIP64 or length > ZIP64:
        found = struct.pack(
            "<4sQHHLLQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, length, start
        ) + struct.pack("<4sLQL", b"PK\6\7", 0, start + length, 1)
    count, length, start = min(count, 2**16 - 1), min(length, TOO_LARGE), min(start, TOO_LARGE)
    return found + struct.pack("<4sHHHHLLH", b"PK\5\6", 0, 0, count, count, length, start, 0)


def read_header(
    archive: zipfile.ZipFile, name: str, path: Path, wanted: str, newest: int, hint: str = ""
) -> dict:
    """The JSON header of an archive, if this version reads its format.

    ``name`` is the member that holds it, ``newest`` the newest format that this version reads;
    ``path`` and ``wanted``, what the file should be, are for messages, and ``hint`` says what to do
    if it is something else. ModelFileError: there is no header, or the file has a newer format.
    """
    known = name in archive.namelist() and archive.getinfo(name).file_size <= HEADER_SIZE
    header = read_json(archive.read(name)) if known else None
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
