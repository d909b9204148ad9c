"""Index files: one zip archive, whose large arrays are mapped into memory and not read.

The members are ``index.json`` (the format, the version of this library, the class of the index),
``skeleton.mercer`` (all that is not a large array, as `mercer.save` writes it) and
``arrays/0.npy``, ``arrays/1.npy`` ... These are not compressed, and their numbers begin at
multiples of 64 bytes of the file, as native loops need it. Nothing in a file is run.

`Skeleton` takes the large arrays out of dicts, lists, tuples, sparse rows and objects of this
library, and leaves a `Stored` in the place of each. An array that occurs twice is taken out once.
"""

from __future__ import annotations

import copy
import json
import os
import struct
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import scipy.sparse as sp

import mercer
from mercer.persistence import (
    ModelFileError,
    check_array,
    check_fields,
    check_members,
    installed_only,
    model_bytes,
    open_regular,
    read_header,
    read_json,
    read_unchecked,
    reason,
    stamp,
    trusted_names,
    written_whole,
)
from mercer.samples import Objects, plain_rows
from mercer.search.rows import OrderedRows

LARGE = 2**16  # bytes at least of an array that is taken out
LONG = 1000  # items at least of a list (the words of an alphabet) that is taken out
PLAIN = {str, int, float, bool, type(None)}  # what such a list may hold


@dataclass(eq=False)
class Stored:
    """The place of an array that was taken out."""

    number: int
    form: str  # what it was: "array", or "list", which is stored as its text in JSON


@dataclass(eq=False)
class StoredSparse:
    """A ``scipy.sparse.csr_array`` as its arrays, which may be taken out."""

    shape: tuple
    arrays: list  # the values, their columns, and where each row starts


@dataclass(eq=False)
class StoredRows:
    """`OrderedRows` with what is prepared of them, which they leave out of other files."""

    parts: dict  # their attributes


class Skeleton:
    """The attributes of an index without its large arrays; ``state`` has a `Stored` for each.

    Raises TypeError if there are samples that are Python objects.
    """

    def __init__(self, parts: dict):
        self.arrays: list[np.ndarray] = []  # in the order of their numbers
        self.state = _replaced(parts, self._take_out, {})

    @staticmethod
    def filled(state: dict, arrays: list[np.ndarray]) -> dict:
        """The dict of which ``state`` and ``arrays`` were made."""
        lists: dict[int, list] = {}

        def put_back(value: object) -> Any:
            if isinstance(value, Stored):
                array = arrays[value.number]
                if value.form == "array":
                    return array
                if value.number not in lists:
                    lists[value.number] = read_json(array.tobytes(), 1)
                return lists[value.number]
            if isinstance(value, StoredRows):
                found = OrderedRows.__new__(OrderedRows)
                vars(found).update(value.parts)
                return found
            if isinstance(value, StoredSparse):
                data, indices, indptr = map(put_back, value.arrays)
                if len(indptr) != value.shape[0] + 1:  # or as many numbers would be made
                    raise ValueError("sparse rows of another number than they say")
                rows = cast(Any, sp.csr_array(value.shape, dtype=data.dtype))
                # not by the constructor, which might read or copy what should stay in the file
                rows.data, rows.indices, rows.indptr = data, indices, indptr
                return rows
            return value

        return _replaced(state, put_back, {})

    def _take_out(self, value: object) -> Any:
        """A value without its large arrays, which are written beside it."""
        value = plain_rows(value)
        if isinstance(value, Objects):
            raise TypeError(
                f"its {len(value)} samples are Python objects, which a file that runs no code "
                "cannot hold. Compare vectors, strings or sets, or keep the objects in a file of "
                "your own and fit the index again."
            )
        if isinstance(value, OrderedRows):
            parts = dict(vars(value))
            if _holds_objects(value.prepared):
                parts["prepared"] = None  # texts of strings, say, which the next query makes again
            return StoredRows(parts)
        if isinstance(value, np.ndarray) and value.nbytes >= LARGE and not value.dtype.hasobject:
            return self._stored(np.asarray(value), "array")  # samples of vectors are a subclass
        if isinstance(value, sp.csr_array):
            return StoredSparse(cast(tuple, value.shape), [value.data, value.indices, value.indptr])
        if type(value) is list and len(value) >= LONG and set(map(type, value)) <= PLAIN:
            return self._stored(np.frombuffer(json.dumps(value).encode(), np.uint8), "list")
        return value

    def _stored(self, array: np.ndarray, form: str) -> Stored:
        self.arrays.append(array)
        return Stored(len(self.arrays) - 1, form)


def _replaced(value: object, change: Callable[[Any], Any], seen: dict[int, tuple[Any, Any]]) -> Any:
    """A copy with ``change`` applied to each part; parts that were one object stay one.

    ``seen`` has, for each part that was met, what became of it, and the part itself, so that its
    id is not reused.
    """
    if id(value) in seen:
        return seen[id(value)][1]
    new = change(value)
    if type(new) is dict:
        new = {name: _replaced(part, change, seen) for name, part in new.items()}
    elif type(new) in (list, tuple):
        new = type(new)(_replaced(part, change, seen) for part in new)
    elif _is_own(new):
        changed = {name: _replaced(part, change, seen) for name, part in vars(new).items()}
        new = copy.copy(new)
        vars(new).update(changed)
    seen[id(value)] = value, new
    return new


def _holds_objects(value: Any) -> bool:
    """Whether an array of Python objects is among the parts of a value."""
    if isinstance(value, np.ndarray):
        return value.dtype.hasobject
    if type(value) is dict:
        return any(map(_holds_objects, value.values()))
    if type(value) in (list, tuple):
        return any(map(_holds_objects, value))
    return _is_own(value) and any(map(_holds_objects, vars(value).values()))


def _is_own(value: object) -> bool:
    """Whether this is an object of a class of this library, with attributes."""
    library = type(value).__module__.split(".")[0] == "mercer"
    return library and hasattr(value, "__dict__") and not isinstance(value, type)


FORMAT = 1
HEADER, SKELETON, ARRAY = "index.json", "skeleton.mercer", "arrays/{}.npy"
ALIGNED = 64  # bytes
STEP = 2**24  # bytes written or read at a time


def save_index(path: str | os.PathLike, index: Any) -> None:
    """Write an index; see `mercer.search.Index.save`."""
    with installed_only():
        _save(path, index)


def _save(path: str | os.PathLike, index: Any) -> None:
    """Write an index, with large arrays as members that can be mapped."""
    name = type(index).__name__
    try:
        skeleton = Skeleton({k: v for k, v in vars(index).items() if k != "_mapped"})
    except TypeError as error:
        raise ModelFileError(f"{name} cannot be saved: {error}") from error
    header = {"format": FORMAT, "mercer": mercer.__version__, "class": _dotted(type(index))}
    small = model_bytes(skeleton.state)
    with written_whole(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(HEADER, json.dumps(header))
        archive.writestr(SKELETON, small)
        for number, array in enumerate(skeleton.arrays):
            _write_array(archive, file, ARRAY.format(number), array)


def load_index(
    path: str | os.PathLike, wanted: type, trusted: Iterable[str | type], check: bool
) -> Any:
    """Read an index of the class ``wanted`` or below; see `mercer.search.Index.load`."""
    path = Path(path)
    allowed = trusted_names(trusted)  # wrong ones are no fault of the file
    with installed_only(), open_regular(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                check_members(archive, os.fstat(file.fileno()).st_size)
                found = _class_of(_class_in(archive, path), wanted, path)
                state = _read_skeleton(archive.read(SKELETON), path, wanted, allowed)
                arrays = _map_arrays(archive, file, check)
                index = object.__new__(found)
                vars(index).update(Skeleton.filled(state, arrays))
                check_fields(index)
                index._mapped = (str(path.absolute()), stamp(path)) if arrays else None
        except (ModelFileError, MemoryError):
            raise
        except Exception as error:  # zipfile, numpy and json raise various types
            raise ModelFileError(
                f"{str(path)!r} is not an index of Mercer, or it is truncated or altered: "
                f"{reason(error)}. Copy it again, or fit the index and save it again."
            ) from error
    return index


def check_unchanged(mapped: tuple[str, list[int]] | None) -> None:
    """Refuse to read arrays that stay in a file which somebody has written to since.

    A page of a file that became shorter cannot be read: the system ends the process. A file that
    was removed, or that another one has replaced, is whole for those who have opened it.
    """
    if mapped is None:
        return
    path, before = mapped
    try:
        now = stamp(path)
    except OSError:
        return
    if now[0] == before[0] and now != before:
        raise ModelFileError(
            f"{path!r} was written to since the index was loaded, which reads from it: load it "
            "again. Index.save replaces a file in one step, which leaves this index as it is."
        )


# --- writing -------------------------------------------------------------------------------------


def _write_array(archive: zipfile.ZipFile, file: IO[bytes], name: str, array: np.ndarray) -> None:
    """An array in numpy's format 1.0, its header padded so that the numbers are aligned."""
    head = np.lib.format.header_data_from_array_1_0(array)
    numbers = array.T if head["fortran_order"] else array
    numbers = np.ascontiguousarray(numbers).reshape(-1).view(np.uint8)
    text = repr(head).encode("latin1")
    with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
        magic = np.lib.format.magic(1, 0)
        length = len(magic) + 2 + len(text) + 1
        padding = -(file.tell() + length) % ALIGNED  # the member begins where the file is now
        text += b" " * padding + b"\n"
        member.write(magic + struct.pack("<H", len(text)) + text)
        for start in range(0, len(numbers), STEP):
            member.write(numbers[start : start + STEP].tobytes())


# --- reading -------------------------------------------------------------------------------------


def _class_in(archive: zipfile.ZipFile, path: Path) -> str:
    """The class that the header names."""
    hint = " Models are loaded by mercer.load; indexes are written by their method save."
    header = read_header(archive, HEADER, path, "an index of Mercer", FORMAT, hint)
    name = header.get("class")
    if not (isinstance(name, str) and name.isprintable()):  # messages repeat it
        raise ValueError(f"{HEADER} names no class")
    return name


def _class_of(name: str, wanted: type, path: Path) -> type:
    """The class of that name, among the one that is wanted and those that are made of it."""
    known, classes = [wanted], {}
    while known:
        found = known.pop()
        classes[_dotted(found)] = found
        known += found.__subclasses__()
    if name not in classes:
        raise ModelFileError(
            f"{str(path)!r} holds an index of the class {name}, but {_dotted(wanted)} was asked to "
            f"load it. Import {name} and call its method load."
        )
    return classes[name]


def _read_skeleton(content: bytes, path: Path, wanted: type, allowed: list[str]) -> dict:
    """The state of an index without its large arrays."""
    try:
        state = read_unchecked(content, path, allowed)
    except ModelFileError as error:
        message = str(error).replace("mercer.load(", f"{wanted.__name__}.load(")
        raise ModelFileError(message) from error
    if not (isinstance(state, dict) and {"distance_", "_training"} <= set(state)):
        raise ValueError(f"{SKELETON} does not hold the parts of an index")
    return state


def _map_arrays(archive: zipfile.ZipFile, file: IO[bytes], check: bool) -> list[np.ndarray]:
    """The large arrays of an archive, which stay in the file; they cannot be written to."""
    prefix, suffix = ARRAY.split("{}")
    members = [m for m in archive.infolist() if m.filename not in (HEADER, SKELETON)]
    if [m.filename for m in members] != [f"{prefix}{i}{suffix}" for i in range(len(members))]:
        raise ValueError("it has other members than arrays, numbered one after the other")
    if check:
        for member in members:
            with archive.open(member) as stream:  # reading to the end compares the checksum
                while stream.read(STEP):
                    pass
    return [_map_array(member, file) for member in members]


def _map_array(member: zipfile.ZipInfo, file: IO[bytes]) -> np.ndarray:
    """An array of the archive as a map of the file, after checks of where it lies."""
    file.seek(member.header_offset)
    local = struct.unpack("<4s22xHH", file.read(30))  # the lengths of the name and of what follows
    if local[0] != b"PK\3\4":
        raise ValueError(f"{member.filename} is not where the archive says")
    start = file.seek(local[1] + local[2], os.SEEK_CUR)
    if start + member.file_size > os.fstat(file.fileno()).st_size:
        raise ValueError(f"{member.filename} does not end in the file")
    shape, fortran, dtype = check_array(file, member.file_size)
    offset = file.tell()
    if offset % ALIGNED:
        raise ValueError(f"{member.filename} is not aligned")
    if offset == start + member.file_size:
        return np.empty(shape, dtype)
    order = "F" if fortran else "C"
    return np.asarray(np.memmap(file, dtype, "r", offset, shape, order))


def _dotted(found: type) -> str:
    return f"{found.__module__}.{found.__qualname__}"
