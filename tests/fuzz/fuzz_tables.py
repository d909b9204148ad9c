"""Bytes as a table: whatever a file of any format holds, it is read or refused with a message.

`one_input` turns any bytes into a file, mostly one that looks like a table, and asserts that the
reader of the command raises nothing but its own error, with a message of one line, and that what it
has read of a text has the fields that the csv module of Python finds in it. As a script it runs
until ``--seconds`` are over: on inputs that atheris (libFuzzer) grows by what they reach, or on
random ones where it is not installed.
"""

from __future__ import annotations

import csv
import io
import random
import tempfile
from pathlib import Path

import polars as pl

from fuzz.driver import fuzz
from mercer.cli.delimited import encoding_of
from mercer.cli.tables import Tables, TextReading
from mercer.cli.terminal import TableError

ENCODINGS = ["utf-8", "latin-1", "utf-16", "utf-16-le", "utf-8-sig", "cp1252", "utf-7", "ascii"]
NAMES = ["t.csv", "t.tsv", "t.txt", "t.parquet", "t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.zip",
         "t.arrow", "t.jsonl", "t.svm", "t.ts", "t.xlsx", "t.graphml", "gin.txt",
         "edges.jsonl"]  # fmt: skip
#: what is told where rows are fewer than those of the csv module
NO_ROWS = ["left out", "line below the header", "headings stand in two rows"]
#: what tables are made of; an input says by one byte each which comes next
PIECES = [
    b",", b"\n", b",", b"\n", b'"', b'""', b'"', b"\r", b"\r\n", b"\t", b";", b"a", b"b", b"1",
    b"0", b"-1.5", b"1e400", b"007", b"9" * 45, b"2024-02-29", b"2024-02-29T12:00:00Z", b"true",
    b"NA", b"inf", b"nan", b" ", b"'", b"*", b"^a$", b"\\", b"#", b"\0", b"\xff", b"\xef\xbb\xbf",
    b"\xff\xfe", "ü\u2028".encode(), b"_duplicated_0", b"\x1b[31m", b"x" * 5000,
]  # fmt: skip


def parquet() -> bytes:
    """A file to damage."""
    content = io.BytesIO()
    FRAME.write_parquet(content)
    return content.getvalue()


def arrow() -> bytes:
    """Another."""
    content = io.BytesIO()
    FRAME.write_ipc(content)
    return content.getvalue()


FRAME = pl.DataFrame({"a": [1, None, 3], "b": ["x", "y", None], "c": [[1], [], None]})
GRAPHML = b"""<graphml><key id="l" for="node" attr.name="label" attr.type="int"/><graph>
<node id="a"><data key="l">1</data></node><node id="b"><data key="l">2</data></node>
<edge source="a" target="b"/></graph></graphml>"""
WHOLE = {"t.parquet": parquet(), "t.arrow": arrow(), "t.jsonl": FRAME.write_ndjson().encode(),
         "t.svm": b"1 1:0.5 3:2 # a\n-1 2:1e3\n",
         "t.graphml": GRAPHML, "gin.txt": b"2\n2 1\n0 1 1\n3 1 0\n1 0\n-7 0\n",
         "edges.jsonl": b'{"edges": [[0, 1]], "labels": ["a", "b"]}\n{"edges": [[2, 0]]}\n',
         "t.ts": b"# a\n@classLabel true a b\n@data\n1,2.5:3,-1:a\n0.5,1e3:2,7:b\n"}  # fmt: skip


def content_of(name: str, data: bytes) -> bytes:
    """The bytes of the file: of text, pieces; of others, a file with some bytes changed."""
    if name in WHOLE and data:
        whole = WHOLE[name]
        changed = bytearray(whole[: len(whole) - (data[0] > 200) * data[-1]] or whole)
        for at, value in zip(data[::3], data[1::3]):
            changed[(at * 7 + value) % len(changed)] = value
        return bytes(changed)
    if name in ("t.csv", "t.tsv", "t.txt"):
        return b"".join(PIECES[byte % len(PIECES)] for byte in data)
    return data


def one_input(data: bytes) -> str:
    """Read a table, and compare it; "read" or "refused"."""
    name = NAMES[data[0] % len(NAMES) if data[:1] > b"\x80" else 0] if data else "t.csv"
    encoding = ENCODINGS[data[1] % len(ENCODINGS)] if len(data) > 1 and data[1] > 200 else "utf-8"
    content = content_of(name, data[2:])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        try:
            compared = name == "t.csv" and encoding == "utf-8" and b"\\" not in content
            # csv knows no titles above a header, no tables without one, and no backslashes
            plain = {"separator": ",", "skip": 0, "header": True} if compared else {}
            tables = Tables([path], TextReading(encoding, **plain))
            frame, notes = tables.frame(), tables.notes
        except TableError as error:
            said, frame, notes = str(error), None, []
    if frame is None:
        assert str(path) in said, said
        assert "\n" not in said, said
        return "refused"
    assert frame.height > 0
    assert frame.width > 0
    if compared and encoding_of(content, "utf-8", name).startswith("utf-8"):
        text = content.decode().lstrip("\ufeff")  # several marks are none, too
        if any("carriage returns" in note for note in notes):  # where csv ends rows
            return "read"
        if any(said in note for note in notes for said in NO_ROWS):
            assert frame.height < len(list(csv.reader(io.StringIO(text, newline="")))) - 1
        else:
            compare(frame, text)
    return "read"


def compare(frame: pl.DataFrame, text: str) -> None:
    """Names, rows, and cells of columns of texts are those that the csv module finds."""
    names, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    if len(names) > 1:
        while rows and not rows[-1]:
            rows.pop()
    for j, (given, name) in enumerate(zip(names, frame.columns, strict=True)):
        repeated = name.startswith(f"{given} (") and given in frame.columns[:j]
        assert name == given or repeated or not given.strip(), (names, frame.columns)
    assert frame.height == len(rows), (frame, rows)
    for j, dtype in enumerate(frame.dtypes):
        cells = [row[j] if row else "" for row in rows]
        found = frame.to_series(j).to_list()
        if dtype == pl.String:
            assert [value or "" for value in found] == cells
        else:
            assert [value is None for value in found] == [not cell for cell in cells]


def random_input(rng: random.Random) -> bytes:
    """Any bytes, or those of a text with as many fields in each row."""
    if rng.random() < 0.3:
        return rng.randbytes(rng.choice([3, 10, 20, 40, 120]))
    comma, end, quote, letter = (PIECES.index(piece) for piece in (b",", b"\n", b'"', b"a"))
    ends = [end, PIECES.index(b"\r"), PIECES.index(b"\r\n")]
    ends = [rng.choice(ends)] if rng.random() < 0.8 else ends
    width, found = rng.randint(1, 4), [0, 0]
    for row in range(rng.randint(2, 6)):
        for j in range(width):
            cell = [rng.randrange(letter, len(PIECES)) for _ in range(rng.choice([0, 1, 1, 2]))]
            if rng.random() < 0.2:  # what quotes may hold, and now and then what they may not
                inside = rng.choices(range(letter + (rng.random() < 0.1)), k=2)
                cell = [quote, *cell, *inside, quote]
            found += [comma] * (j > 0) + [letter] * (row == 0) * (j + 1) + cell
        found.append(rng.choice(ends))
    return bytes(found)


if __name__ == "__main__":
    fuzz(one_input, random_input)
