"""Parquet and Arrow files whose headers claim what cannot be, which polars would believe."""

from __future__ import annotations

import io
import struct
from contextlib import suppress

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from mercer.cli.columnar import ArrowFile, ParquetFile, check_arrow, check_parquet
from mercer.cli.files import ByteSource
from mercer.cli.terminal import TableError

FRAME = pl.DataFrame({
    "text": ["a b", None, ""] * 20, "n": range(60),
    "kind": pl.Series(["u", "v"] * 30, dtype=pl.Categorical),
    "day": pl.Series(range(60)).cast(pl.Date), "flag": [True, False, None] * 20,
    "list": [[1, 2], [], None] * 20, "record": [{"p": 1, "q": "u" * 700}] * 60,
})  # fmt: skip
WRITERS = {
    "polars": {}, "small groups": {"row_group_size": 7}, "plain": {"compression": "uncompressed"},
    "no statistics": {"statistics": False}, "many pages": {"data_page_size": 40},
    "pyarrow": {"use_pyarrow": True},
    "version 2": {"use_pyarrow": True, "pyarrow_options": {"data_page_version": "2.0"}},
    "no dictionary": {"use_pyarrow": True, "pyarrow_options": {"use_dictionary": False}},
}  # fmt: skip


def written(frame: pl.DataFrame = FRAME, **options) -> bytes:
    content = io.BytesIO()
    frame.write_parquet(content, **options)
    return content.getvalue()


@pytest.mark.parametrize("writer", WRITERS)
def test_whole_files_pass(writer):
    check_parquet(io.BytesIO(written(**WRITERS[writer])))


@pytest.mark.parametrize("rows", [0, 1])
def test_short_tables_pass(rows):
    check_parquet(io.BytesIO(written(FRAME.head(rows))))


def test_a_table_without_columns_passes():
    check_parquet(io.BytesIO(written(pl.DataFrame())))


def zigzag(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


#: a column of bytes of one page, whose header has these counts: unpacked, packed, values
NUMBERS = written(
    pl.DataFrame({"n": np.arange(100, dtype=np.int8)}), compression="uncompressed",
    statistics=False, use_pyarrow=True, pyarrow_options={"use_dictionary": False},
)  # fmt: skip


def forged(old: int, new: int) -> bytes:
    """The file with the first count of this value in a header changed to one as long."""
    was, now = zigzag(old), zigzag(new)
    assert len(was) == len(now)
    assert was in NUMBERS
    return NUMBERS.replace(was, now, 1)


@pytest.mark.parametrize("new", [-100, 101, 8000])
def test_a_page_with_other_counts_of_values_is_refused(new):
    with pytest.raises(ValueError, match=r"count or place|more values|end in the file"):
        check_parquet(io.BytesIO(forged(100, new)))


@pytest.mark.parametrize("rows", [None, 10])
def test_a_negative_number_of_values_is_an_error_of_the_file(tmp_path, rows):
    """polars asks for 2^61 bytes where it reads this one, and ends the process."""
    path = tmp_path / "t.parquet"
    path.write_bytes(forged(100, -100))
    with pytest.raises(TableError, match=r"t\.parquet is not a readable Parquet file: a count"):
        list(ParquetFile(ByteSource(path)).blocks(rows))


@pytest.mark.parametrize("cut", [1, 8, 9, 60])
def test_a_file_that_is_cut_off_is_refused(cut):
    for content in (NUMBERS[:-cut], NUMBERS[:cut]):
        with pytest.raises(ValueError, match=r"damaged or missing|too early"):
            check_parquet(io.BytesIO(content))


def arrow(
    frame: pl.DataFrame = FRAME, *, stream: bool = False, codec: str | None = None, **options
) -> bytes:
    content = io.BytesIO()
    if options.pop("pyarrow", False):
        table = frame.to_arrow()
        made = pa.ipc.new_stream if stream else pa.ipc.new_file
        with made(
            content, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec, **options)
        ) as sink:
            sink.write_table(table, 25)
    else:
        write = frame.write_ipc_stream if stream else frame.write_ipc
        write(content, compression=codec or "uncompressed", **options)
    return content.getvalue()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("pyarrow", [False, True])
def test_whole_files_of_arrow_pass(stream, codec, pyarrow):
    for rows in (0, 1, 60):
        check_arrow(
            io.BytesIO(arrow(FRAME.head(rows), stream=stream, codec=codec, pyarrow=pyarrow))
        )
    check_arrow(io.BytesIO(arrow(pl.DataFrame(), stream=stream)))


def test_files_of_arrow_without_marks_before_their_messages_pass():
    check_arrow(io.BytesIO(arrow(pyarrow=True, use_legacy_format=True, codec=None, stream=True)))


TEN_THOUSAND = pl.DataFrame({"n": np.zeros(10_000, dtype=np.int64)})
ZEROS = {stream: arrow(TEN_THOUSAND, codec="zstd", stream=stream) for stream in (False, True)}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (80_000, 2**60, "claims to unpack to 1152921504606846976"),
        (80_000, -2, "claims to unpack to -2"),
        (10_000, -10_000, "negative number of rows|more missing values"),
    ],
)
def test_a_batch_with_a_count_that_cannot_be_is_an_error_of_the_file(
    tmp_path, stream, old, new, said
):
    """polars ends the process where it reads the first of these."""
    path = tmp_path / "t.arrow"
    whole, was = ZEROS[stream], struct.pack("<q", old)
    assert was in whole
    for count in (1, -1):
        path.write_bytes(whole.replace(was, struct.pack("<q", new), count))
        for rows in (None, 10):
            with pytest.raises(
                TableError, match=rf"t\.arrow is not a readable Arrow file: .*({said})"
            ):
                list(ArrowFile(ByteSource(path)).blocks(rows))


FILES = {
    "Parquet": (check_parquet, written(**WRITERS["small groups"])),
    "Arrow": (check_arrow, arrow(codec="lz4")),
    "a stream of Arrow": (check_arrow, arrow(stream=True)),
}


@pytest.mark.spread(1)
@pytest.mark.parametrize("kind", FILES)
def test_any_byte_may_change(kind):
    """Each damaged file is refused with an error of Python, or has headers that fit together."""
    (check, content), rng, refused = FILES[kind], np.random.default_rng(0), 0
    for _ in range(400):
        changed = bytearray(content)
        for at in rng.integers(0, len(content), 3):
            changed[at] = rng.integers(256)
        try:
            check(io.BytesIO(bytes(changed)))
        except ValueError:
            refused += 1
    assert 0 < refused < 400


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_is_cut_off_is_no_other_error(kind):
    check, content = FILES[kind]
    for cut in range(1, len(content), 7):
        with suppress(ValueError):  # a stream may end after any batch
            check(io.BytesIO(content[:cut]))
