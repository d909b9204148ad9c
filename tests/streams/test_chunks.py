"""Streams: what they read, what all chunks have in common, and what is said of a bad one."""

import os
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from pyarrow import dataset, ipc, parquet

from mercer import Chunks
from mercer.streams import draw_rows, join_rows
from mercer.streams.chunks import Position

rng = np.random.default_rng(0)
X, y = rng.normal(size=(100, 3)), np.arange(100.0)
FRAME = pd.DataFrame(X, columns=list("abc")).assign(y=y, w=2.0)
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)


def gathered(chunks):
    """All rows of a stream as arrays."""
    found = list(chunks)
    starts = [chunk.start for chunk in found]
    sizes = [len(chunk.y) for chunk in found]
    assert starts == [0, *np.cumsum(sizes)[:-1]]
    weights = [chunk.weights for chunk in found if chunk.weights is not None]
    rows = np.concatenate([np.asarray(chunk.X, float) for chunk in found])
    return rows, np.concatenate([chunk.y for chunk in found]), weights


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    for name, rows in (("part-1", slice(0, 60)), ("part-2", slice(60, 100))):
        part = TABLE.slice(rows.start, rows.stop - rows.start)
        parquet.write_table(part, folder / f"{name}.parquet")
    with ipc.new_file(folder / "all.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=30)
    np.save(folder / "x.npy", X)
    return folder


def reader():
    return pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=30))


NAMED = [
    ("pandas", lambda folder: FRAME),
    ("polars", lambda folder: pl.from_pandas(FRAME)),
    ("table", lambda folder: TABLE),
    ("reader", lambda folder: reader()),
    ("data set", lambda folder: dataset.dataset(TABLE)),
    ("Parquet files", lambda folder: [folder / "part-1.parquet", folder / "part-2.parquet"]),
    ("a pattern", lambda folder: str(folder / "part-*.parquet")),
    ("an Arrow file", lambda folder: folder / "all.arrow"),
    ("frames", lambda folder: [FRAME[:50], FRAME[50:]]),
]


@pytest.mark.parametrize("make", [case[1] for case in NAMED], ids=[case[0] for case in NAMED])
@pytest.mark.parametrize("rows", [1000, 7])
def test_tables_with_named_targets(make, rows, files):
    found, targets, weights = gathered(Chunks(make(files), "y", weights="w", rows=rows))
    assert_array_equal(found, X)
    assert_array_equal(targets, y)
    assert_array_equal(np.concatenate(weights), np.full(100, 2.0))


def test_arrays_and_iterables(files):
    mapped = np.load(files / "x.npy", mmap_mode="r")
    halves = [(X[:40], y[:40]), (X[40:], y[40:])]
    for chunks in (
        Chunks(X, y, rows=7),
        Chunks(mapped, y),
        Chunks(str(files / "x.npy"), y),
        Chunks(halves),
        Chunks(iter(halves)),
        Chunks(lambda: iter(halves)),
    ):
        found, targets, weights = gathered(chunks)
        assert_array_equal(found, X)
        assert_array_equal(targets, y)
        assert not weights
    sparse = list(Chunks(sp.csr_array(X), y, rows=30))
    assert_array_equal(join_rows(*(chunk.X for chunk in sparse)).toarray(), X)
    words = list(Chunks(["ab", "c", "d"], [1, 2, 3], rows=2))
    assert [chunk.X for chunk in words] == [["ab", "c"], ["d"]]


@pytest.mark.parametrize("size", [1, 7, 40, 1000])
def test_blocks_do_not_depend_on_the_chunks(size):
    ways = [[100], [1] * 100, [39, 1, 0, 60], [10] * 10]
    answers = []
    for sizes in ways:
        ends = np.cumsum([0, *sizes])
        chunks = Chunks([(X[a:b], y[a:b]) for a, b in pairwise(ends)])
        answers.append(list(chunks.blocks(size)))
    for blocks in answers:
        assert [len(block.y) for block, _ in blocks] == [len(b.y) for b, _ in answers[0]]
        assert_array_equal(np.concatenate([block.X for block, _ in blocks]), X)
        assert [place for _, place in blocks] == [place for _, place in answers[0]]


def test_blocks_go_on_from_a_position():
    chunks = Chunks(X, y, rows=9)
    blocks = list(chunks.blocks(20, begin=Position()))
    rest = list(chunks.blocks(20, begin=blocks[1][1]))
    assert [block.start for block, _ in rest] == [40, 60, 80]
    assert_array_equal(rest[0][0].X, X[40:60])
    with pytest.raises(ValueError, match="other targets than those of the checkpoint"):
        list(Chunks(X, y + 1, rows=9).blocks(20, begin=blocks[1][1]))
    with pytest.raises(ValueError, match="has 30 rows, and the checkpoint is from row 40"):
        list(Chunks(X[:30], y[:30]).blocks(20, begin=blocks[1][1]))


def test_rows_of_weight_0_are_absent():
    w = np.tile([0.0, 1, 2, 0], 25)
    blocks = [block for block, _ in Chunks(X, y, weights=w, rows=9).blocks(8)]
    assert_array_equal(np.concatenate([block.y for block in blocks]), y[w > 0])
    drawn = draw_rows(Chunks(X, y, weights=w), 1000, np.random.RandomState(0))
    assert_array_equal(drawn.rows, np.flatnonzero(w))
    assert drawn.total == 50
    with pytest.raises(ValueError, match="0 for every row"):
        draw_rows(Chunks(X, y, weights=0 * w), 5, np.random.RandomState(0))
    with pytest.raises(ValueError, match="0 for every row"):
        list(Chunks(X, y, weights=0 * w).blocks(8))


def test_drawn_rows_do_not_depend_on_the_chunks():
    found = [
        draw_rows(Chunks(X, y, rows=rows), 13, np.random.RandomState(3)) for rows in (1, 7, 100)
    ]
    for drawn in found:
        assert_array_equal(drawn.rows, found[0].rows)
        assert_array_equal(drawn.X, X[drawn.rows])
        assert_array_equal(drawn.y, y[drawn.rows])
        assert len(drawn.rows) == 13


def test_each_row_is_as_likely_to_be_drawn():
    numbers = np.arange(200.0)[:, None]
    hits = np.zeros(200)
    for seed in range(300):
        hits[draw_rows(Chunks(numbers, rows=11), 20, np.random.RandomState(seed)).rows] += 1
    # each is drawn 30 times on average, with a standard deviation of 5.2
    assert hits.min() > 8
    assert hits.max() < 55
    assert abs(hits[:100].sum() - 3000) < 150


# --- bad streams -------------------------------------------------------------------------------


def spoiled(column=1, row=3, value=np.nan):
    Z = X.copy()
    Z[row, column] = value
    return Z


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([], "has no rows"),
        ([(X[:0], y[:0])], "has no rows"),
        ([(X, y), (X[:, :2], y)], r"chunk 1 .*columns of X are \[2\], and of chunk 0 \[3\]"),
        ([(X, y), (X.astype(np.float32), y)], "chunk 1 .*float32, and of chunk 0 float64"),
        ([(X, y), (X, np.c_[y, y])], "chunk 1 .*targets of a row"),
        ([(X, ["a", "b"] * 50), (X, y)], "chunk 1 .*targets are numbers, and of chunk 0 texts"),
        ([(X, y > 0), (X, y)], "chunk 1 .*targets are numbers, and of chunk 0 True and False"),
        ([(X, y), (X, y, y)], "chunk 1 .*weights are given, and of chunk 0 none"),
        ([(X, y), (X[:5], y)], "chunk 1 .*y has 100 rows, and X has 5"),
        ([(X, y), (spoiled(), y)], r"chunk 1 .*nan in row 3 \(row 103 of the stream\), column 1"),
        ([(X, y), (spoiled(value=np.inf), y)], "chunk 1 .*inf in row 3"),
        ([(X, spoiled()[:, 1])], "chunk 0 .*y has nan in row 3"),
        ([(X, y, -y)], "weights have -99 in row 99"),
        ([(X, y), (list("abc"), [1, 2, 3])], "chunk 1 .*kind of X is a list"),
        ([(X, y), (FRAME[["a", "b", "c"]], y)], "chunk 1 .*a data frame"),
        ([(FRAME[["a"]], y), (FRAME[["b"]], y)], r"chunk 1 .*\['b'\], and of chunk 0 \['a'\]"),
    ],
)  # fmt: skip
def test_a_bad_chunk_is_named(chunks, message):
    with pytest.raises(ValueError, match=message):
        list(Chunks(chunks).read(missing=False))


def test_columns_of_frames_are_named():
    table = FRAME.drop(columns=["y", "w"])
    table.loc[7, "b"] = np.nan
    for make in (lambda f: f, pl.from_pandas, lambda f: pa.Table.from_pandas(f)):
        with pytest.raises(ValueError, match=r"chunk 1 .*row 2 \(row 7 .*column 'b'"):
            list(Chunks(make(table), rows=5).read(missing=False))
    assert len(list(Chunks(table, rows=50))) == 2  # missing values are allowed here
    with pytest.raises(ValueError, match="row 3"):
        list(Chunks(sp.csr_array(spoiled()), y).read(missing=False))


def test_a_tuple_of_one_or_four_is_no_chunk():
    with pytest.raises(TypeError, match="tuple of 4"):
        list(Chunks([(X, y, y, y)]))
    for source in (3, {"a": 1}, None):
        with pytest.raises(TypeError, match="give an array, a data frame"):
            Chunks(source)
    with pytest.raises(ValueError, match="rows=0"):
        Chunks(X, y, rows=0)
    with pytest.raises(ValueError, match="target has 3 rows, but source has 100"):
        Chunks(X, y[:3])
    with pytest.raises(ValueError, match="name of a column"):
        Chunks(X, "y")
    with pytest.raises(ValueError, match=r"target='z' is no column.*'a'"):
        list(Chunks(FRAME, "z"))


def test_an_iterator_is_read_once():
    chunks = Chunks(iter([(X, y)]))
    assert not chunks.repeatable
    list(chunks)
    with pytest.raises(ValueError, match="can be read once, and it has been read: give a function"):
        list(chunks)
    with pytest.raises(ValueError, match="reads twice, and an iterator can be read once"):
        chunks.refuse_once("It reads twice")


def test_a_function_must_return_the_same_again():
    counts = iter([3, 2])
    chunks = Chunks(lambda: [(X, y)] * next(counts))
    list(chunks)
    with pytest.raises(ValueError, match="had 300 rows when it was first read, and now it has 200"):
        list(chunks)


def test_files_that_change_or_are_no_tables(tmp_path):
    path = tmp_path / "rows.parquet"
    parquet.write_table(TABLE, path)
    chunks = Chunks(path, "y", weights="w")
    assert gathered(chunks)[0].shape == (100, 3)
    parquet.write_table(TABLE.slice(0, 90), path)
    with pytest.raises(ValueError, match="has changed since the stream was made"):
        list(chunks)
    path.write_bytes(b"no table")
    with pytest.raises(ValueError, match=r"rows\.parquet' is not a Parquet file"):
        list(Chunks(path, "y"))
    mapped = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", shape=(10, 2))
    mapped[:] = 1
    mapped.flush()
    held = Chunks(np.load(tmp_path / "x.npy", mmap_mode="r"), np.ones(10))
    list(held)
    os.utime(tmp_path / "x.npy", ns=(0, 1))
    with pytest.raises(ValueError, match="has changed"):
        list(held)
    for name in (tmp_path / "none.parquet", tmp_path / "none-*.parquet", tmp_path / "none.npy"):
        with pytest.raises(FileNotFoundError, match="There is no file"):
            Chunks(name, "y" if name.suffix != ".npy" else y)
    with pytest.raises(ValueError, match="give a Parquet file"):
        Chunks("table.csv", "y")
