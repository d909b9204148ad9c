"""Bytes as a file of documents, or as a part of an index: read, or refused with a message.

`one_input` turns any bytes into a file of some format, often packed and damaged, and asserts that
its reader raises nothing but its own error, in one line that names the file; that with malformed
records left out it reads what the others hold; and that a file in shards holds the same records.
One input in four damages a segment of an index of documents, which must be refused or answered.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import polars as pl

from fuzz.driver import fuzz
from mercer.cli import document_files, documents
from mercer.cli.document_files import FileCorpus
from mercer.cli.files import ByteSource
from mercer.cli.terminal import TableError
from mercer.dedup import CorpusIndex
from mercer.persistence import ModelFileError

NAMES = ["d.jsonl", "d.csv", "d.txt", "d.parquet", "d.tsv", "d.fa", "d.fq"]
PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
with suppress(ImportError):
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    PACKERS[".zst"] = zstd.compress
#: what files are made of; an input says by one byte each which comes next
PIECES = [
    b'{"text": "a b c d"}\n', b'{"text": "a b c d"}\n', b'{"text": ""}\n', b'{"text": 1}\n',
    b'{"text": null}\n', b'{"id": 1}\n', b'["text"]\n', b'{"text": "\\ud800"}\n', b'{"text": "a\n',
    b"a,text\n", b"1,x y z\n", b'1,"x\ny"\n', b'"', b",", b"\n", b"\r\n", b"\r", b"\t", b";", b" ",
    b"\xff", b"\xef\xbb\xbf", b"\0", b"[" * 2000, "é\u2028".encode(), b"1e400", b"NaN", b"text",
    b'{"text": "x", "text": "y"}\n', b"a b c d e f\n", b'{"text": "q", "n": 1e999}\n',
    b">s one\nACGT\n", b">", b"ACGTNacgtn\n", b"; said\n", b"@r\nACGT\n+\n@III\n", b"@", b"+\n",
    b"@r\nACGT\n+\n;III\n", b"@r\n\n+\n\n",
]  # fmt: skip


def parquet() -> bytes:
    """A file to damage."""
    content = io.BytesIO()
    frame = pl.DataFrame({"text": ["a b c d", None, "", "a b c d e"] * 9, "n": range(36)})
    frame.write_parquet(content, row_group_size=7)
    return content.getvalue()


WHOLE = parquet()


def content_of(name: str, data: bytes) -> bytes:
    """The bytes of a file: pieces, or a Parquet file with some bytes changed."""
    if name != "d.parquet":
        return b"".join(PIECES[byte % len(PIECES)] for byte in data)
    return damaged(WHOLE, data)


def damaged(whole: bytes, data: bytes) -> bytes:
    """Some bytes changed, and now and then cut off."""
    cut = len(whole) - (data[-1] if data and data[0] > 200 else 0)
    changed = bytearray(whole[: max(cut, 1)])
    for at, high, value in zip(data[::3], data[1::3], data[2::3]):
        changed[(at + 256 * high) % len(changed)] = value
    return bytes(changed)


def records(path: Path, skip: bool, shard: int) -> list:
    """What a corpus of this file holds; or a TableError."""
    made = document_files.format_of(ByteSource(path).name, str(path))(
        ByteSource(path), "text", None, None
    )
    with patch.object(documents, "SHARD", shard), patch.object(documents, "ROWS", 5):
        corpus = FileCorpus([made], 0, skip, lambda *_: None)
        found = []
        for file in range(corpus.files):
            parts = list(corpus.parts(file, None))
            places = [part.after for part in parts]
            texts = [text for part in parts for text in part.texts]
            again = [
                [corpus.formats[file].document(rows[k])[0] for k in good]
                for rows, good in corpus.records(file, places)
            ]
            assert [text for part in again for text in part] == texts
            found += texts
    return found


def one_input(data: bytes) -> str:
    """Read a file of documents, or a segment; "read", "refused" or "index"."""
    kind = data[0] if data else 0
    with tempfile.TemporaryDirectory() as folder:
        if kind % 4 == 3:
            return index_input(Path(folder, "i"), data[1:])
        name = NAMES[(data[1] if len(data) > 1 else 0) % len(NAMES)]
        packer = list(PACKERS)[kind // 4 % len(PACKERS)] if name != "d.parquet" else ""
        path = Path(folder, name + packer)
        content = PACKERS[packer](content_of(name, data[3:]))
        if packer and len(data) > 2 and data[2] > 128:  # packed, then damaged
            content = damaged(content, data[3:9])
        path.write_bytes(content)
        ends = {}
        for skip, shard in ((False, 10**9), (True, 10**9), (True, 40), (False, 40)):
            try:
                ends[skip, shard] = records(path, skip, shard)
            except TableError as error:
                said = str(error)
                assert str(path) in said, said
                assert "\n" not in said, said
                ends[skip, shard] = said
        for skip in (False, True):
            assert ends[skip, 40] == ends[skip, 10**9], ends
        if isinstance(ends[False, 40], list):
            assert ends[False, 40] == ends[True, 40]
    return "read" if isinstance(ends[True, 40], list) else "refused"


def index_input(folder: Path, data: bytes) -> str:
    """An index whose only segment is damaged."""
    texts = ["a b c d e", "a b c d f", "x y z", ""]
    index = CorpusIndex.create(folder, bits=None if data[:1] < b"\x80" else 4)
    index.append(texts)
    path = folder / "000000.segment"
    path.write_bytes(damaged(path.read_bytes(), data[1:]))
    try:
        index.query(texts)
        index.check()
    except ModelFileError as error:
        said = str(error)
        assert str(path) in said, said
        assert "\n" not in said, said
    return "index"


def random_input(rng: random.Random) -> bytes:
    """Any bytes, or pieces that a format likes."""
    head = bytes([rng.randrange(256), rng.randrange(256), rng.randrange(256)])
    if rng.random() < 0.4:
        return head + rng.randbytes(rng.choice([0, 3, 10, 40, 120]))
    liked = {
        0: [0, 1, 2, 4, 28],
        1: [10, 11, 10],
        2: range(len(PIECES)),
        4: [29, 29],
        5: [31, 32, 33, 34, 14],
        6: [35, 35, 35, 14],
    }
    own = list(liked.get(head[1] % len(NAMES), [0]))
    body = [rng.choice(own) if rng.random() < 0.9 else rng.randrange(256) for _ in range(20)]
    return head + bytes([9] * (head[1] % len(NAMES) == 1) + body)


if __name__ == "__main__":
    fuzz(one_input, random_input)
