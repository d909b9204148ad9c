"""Bytes as zip archives: only those that are laid out as Mercer writes them pass.

`one_input` takes an archive of a few members, of arrays and of any bytes, and alters it: numbers in
its headers and in its list of contents, the order and the places of members, bytes before, between
and after them, compression, encryption, comments. What passes `check_members` is, to the last byte,
the archive that zipfile would write of its members; each member ends in the file, and they do not
overlap. What else is read of it, its header and its arrays, is refused by a ValueError or fits its
bytes.
"""

from __future__ import annotations

import functools
import io
import struct
import warnings
import zipfile
from contextlib import suppress

import numpy as np

from fuzz.driver import Source, fuzz
from mercer.persistence import ModelFileError, check_array, check_members, read_header
from mercer.persistence.archives import check_sparse

NAMES = ["mercer.json", "schema.json", "0.npy", "arrays/0.npy", "data.npy", "indices.npy", "../x",
         "é", "a" * 300]  # fmt: skip
CONTENTS = [
    b"",
    b'{"format": 1}',
    b'{"format": 10}',
    b'{"format": true}',
    b"[]",
    b"{" * 100,
    b"x" * 90,
]
#: where numbers stand, after the sign of a part, and of how many bytes
PARTS = {
    b"PK\3\4": [(4, 2), (6, 2), (8, 2), (10, 2), (12, 2), (14, 4), (18, 4), (22, 4), (26, 2),
                (28, 2)],
    b"PK\1\2": [(4, 2), (6, 2), (8, 2), (10, 2), (12, 2), (16, 4), (20, 4), (24, 4), (28, 2),
                (30, 2), (32, 2), (34, 2), (36, 2), (38, 4), (42, 4)],
    b"PK\5\6": [(4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)],
}  # fmt: skip
NUMBERS = [0, 1, 2, 8, 9, 20, 45, 255, 0xFFFF, 0xFFFFFFFF, 0x7FFFFFFF, 100, 1000]


@functools.cache
def arrays() -> list[bytes]:
    found = []
    for array in (
        np.arange(6.0),
        np.zeros((2, 3), "<i4"),
        np.zeros((0, 4)),
        np.asfortranarray(np.eye(3)),
    ):
        file = io.BytesIO()
        np.save(file, array)
        found.append(file.getvalue())
    return found


def packed(members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", compression) as archive:
        warnings.simplefilter("ignore", UserWarning)  # of names that stand twice
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return file.getvalue()


def archive_of(s: Source) -> bytes:
    """An archive that is altered in up to three places."""
    members = [
        (s.one_of(NAMES), s.one_of(CONTENTS) if s.below(2) else s.one_of(arrays()))
        for _ in range(1 + s.below(3))
    ]
    content = packed(members, zipfile.ZIP_DEFLATED if s.rarely() else zipfile.ZIP_STORED)
    for _ in range(s.below(4)):
        content = altered(s, content)
    return content


def altered(s: Source, content: bytes) -> bytes:
    way = s.below(7)
    if way < 4:  # one of the numbers of a header
        sign = s.one_of(list(PARTS))
        starts = [i for i in range(len(content) - 3) if content[i : i + 4] == sign]
        if not starts:
            return content
        offset, size = s.one_of(PARTS[sign])
        at = s.one_of(starts) + offset
        old = int.from_bytes(content[at : at + size], "little")
        new = s.one_of([*NUMBERS, old + 1, max(old - 1, 0), old ^ 1 << s.below(16)])
        new %= 1 << 8 * size
        return content[:at] + new.to_bytes(size, "little") + content[at + size :]
    at = s.below(2**15) % (len(content) + 1)
    if way == 4:
        return content[:at] + s.one_of([b"\0", b"PK\5\6", b"PK\3\4", b"x" * 9]) + content[at:]
    if way == 5:
        return content[:at] + content[at + s.below(40) :]
    return bytes(b ^ (1 << s.below(8) if i == at else 0) for i, b in enumerate(content))


def one_input(data: bytes) -> str:
    """Check one archive; "whole", "refused" or "none"."""
    s = Source(data)
    content = archive_of(s)
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (ValueError, zipfile.BadZipFile, NotImplementedError, struct.error, OverflowError):
        return "none"
    with archive:
        try:
            check_members(archive, len(content))
        except ValueError:
            return "refused"
        try:
            members = [(member, archive.read(member)) for member in archive.infolist()]
        except zipfile.BadZipFile:  # a checksum is another one
            return "refused"
        as_written(content, members)
        with suppress(ValueError, ModelFileError):
            read_header(archive, "mercer.json", "file", "a model", 1)
        for member, numbers in members:
            with archive.open(member) as file:
                try:
                    shape, _, dtype = check_array(file, member.file_size)
                except ValueError:
                    continue
                assert file.tell() + np.prod(shape, dtype=object) * dtype.itemsize == len(numbers)
    try:
        check_sparse(content)
    except (ValueError, KeyError, TypeError, AttributeError):
        return "whole"
    return "sparse"


def as_written(content: bytes, members: list) -> None:
    """An archive that passes is what zipfile writes of its members, and nothing else."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as again:
        for member, numbers in members:
            info = zipfile.ZipInfo(member.filename, member.date_time)
            info.create_system = member.create_system
            at = member.header_offset + 28
            longer = content[at : at + 2] != b"\0\0"
            with again.open(info, "w", force_zip64=longer) as part:
                part.write(numbers)
    assert file.getvalue() == content, "it is not as it would be written"


if __name__ == "__main__":
    fuzz(one_input)
