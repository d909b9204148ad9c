"""Segments: the files of an index on disk, each of which holds some documents as flat arrays.

A segment begins with eight bytes that mark its type, the length of its header, and the header as
JSON: the format, how many documents, and the name, type, shape, place and checksum of each array.
The arrays follow, each at a multiple of 64 bytes. They are mapped into memory: several processes
may read a segment at once, and the system reads only the pages that they use. A segment is written
whole or not at all and is never changed. Reading one runs no code.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from pathlib import Path

import numpy as np

import mercer
from mercer.persistence import ModelFileError, open_regular, read_json, reason, written_whole

FORMAT = 2
MAGIC = b"MERCERDS"
ALIGNED = 64  # bytes
HEADER_SIZE = 2**16  # bytes of a header at most
STEP = 2**24  # bytes whose checksum is computed at a time
DTYPES = {"keys": "<u8", "values": "<u8", "starts": "<i8", "signatures": "|u1"}


def write_segment(path: Path, facts: dict, arrays: dict[str, np.ndarray]) -> None:
    """Write a segment; FileExistsError if another process has written this one by then."""
    described, offset = [], 0
    for name, array in arrays.items():
        described.append({
            "name": name, "dtype": DTYPES[name], "shape": list(array.shape), "offset": offset,
            "checksum": checksum(array),
        })  # fmt: skip
        offset += array.nbytes + -array.nbytes % ALIGNED
    header = facts | {"format": FORMAT, "mercer": mercer.__version__, "arrays": described}
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 16) % ALIGNED)
    with written_whole(path, replace=False) as file:
        file.write(MAGIC + len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
            file.write(b"\0" * (-array.nbytes % ALIGNED))


def checksum(array: np.ndarray) -> int:
    """That of the bytes of an array."""
    content, total = np.ascontiguousarray(array).reshape(-1).view(np.uint8), 0
    for start in range(0, len(content), STEP):
        total = zlib.crc32(content[start : start + STEP].data, total)
    return total


class Segment:
    """A segment that is read."""

    def __init__(self, path: Path):
        self.path = path
        with open_regular(path) as file:
            try:
                self.begin, self.facts = read_header(file.read(HEADER_SIZE + 16), path)
                self.size = os.fstat(file.fileno()).st_size
                self.arrays = {entry["name"]: self._entry(entry) for entry in self.facts["arrays"]}
            except ModelFileError:
                raise
            except Exception as error:  # a file may hold anything in place of numbers
                raise damaged(path, reason(error)) from error

    def mapped(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """An array of this shape, which stays in the file; -1 stands for any length."""
        if name not in self.arrays:
            raise damaged(self.path, f"it has no {name}")
        found, offset, _ = self.arrays[name]
        if len(found) != len(shape) or any(a not in (-1, b) for a, b in zip(shape, found)):
            raise damaged(self.path, f"{name} has shape {found}")
        if 0 in found:
            return np.empty(found, DTYPES[name])
        try:
            return np.asarray(np.memmap(self.path, DTYPES[name], "r", self.begin + offset, found))
        except ValueError as error:  # it became shorter since its header was read
            raise damaged(self.path, reason(error)) from error

    def check(self) -> None:
        """Read all arrays, and compare their checksums."""
        for name, (shape, _, wanted) in self.arrays.items():
            if checksum(self.mapped(name, shape)) != wanted:
                raise damaged(self.path, f"the checksum of {name} is another one")

    def _entry(self, entry: dict) -> tuple[tuple[int, ...], int, int]:
        shape, offset, wanted = tuple(entry["shape"]), entry["offset"], entry["checksum"]
        numbers = (*shape, offset, wanted)
        if entry["dtype"] != DTYPES[entry["name"]] or not all(
            type(number) is int and number >= 0 for number in numbers
        ):
            raise ValueError(f"its array {entry['name']} is not described by whole numbers")
        end = self.begin + offset + math.prod(shape) * np.dtype(entry["dtype"]).itemsize
        if offset % ALIGNED or end > self.size:
            raise ValueError(f"{entry['name']} does not end in the file")
        return shape, offset, wanted


def read_header(content: bytes, path: Path) -> tuple[int, dict]:
    """Where the arrays begin, and what the header says."""
    if content[:8] != MAGIC:
        raise damaged(path, "it does not begin as a segment does")
    length = int.from_bytes(content[8:16], "little")
    if length > HEADER_SIZE or len(content) < 16 + length:
        raise damaged(path, "its header is cut off")
    header = read_json(content[16 : 16 + length])
    refuse_newer(header, path)
    return 16 + length, header


def refuse_newer(header: dict, path: Path) -> None:
    """Refuse a format that this version does not know."""
    found = header.get("format") if isinstance(header, dict) else None
    if type(found) is not int or found < 1:
        raise damaged(path, "its header gives no format")
    if found != FORMAT:
        version = str(header.get("mercer"))[:20]
        raise ModelFileError(
            f"{str(path)!r} was written by mercer {version if version.isprintable() else '?'} in "
            f"format {found}; this is mercer {mercer.__version__}, which reads format {FORMAT}. "
            "Upgrade: pip install --upgrade mercer; or make the index anew."
        )


def damaged(path: Path, why: str) -> ModelFileError:
    """The error for a file that is not as it was written."""
    return ModelFileError(
        f"{str(path)!r} is no part of an index of documents, or it is truncated or altered: {why}. "
        "Copy it again, or make the index anew."
    )
