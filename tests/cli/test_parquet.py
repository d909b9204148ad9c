"""Parquet files whose headers claim what cannot be, which polars would believe."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest

from mercer.cli.errors import TableError
from mercer.cli.files import Source
from mercer.cli.parquet import ParquetFile, check_headers

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
    check_headers(io.BytesIO(written(**WRITERS[writer])))


@pytest.mark.parametrize("rows", [0, 1])
def test_short_tables_pass(rows):
    check_headers(io.BytesIO(written(FRAME.head(rows))))


def test_a_table_without_columns_passes():
    check_headers(io.BytesIO(written(pl.DataFrame())))


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
        check_headers(io.BytesIO(forged(100, new)))


@pytest.mark.parametrize("rows", [None, 10])
def test_a_negative_number_of_values_is_an_error_of_the_file(tmp_path, rows):
    """polars asks for 2^61 bytes where it reads this one, and ends the process."""
    path = tmp_path / "t.parquet"
    path.write_bytes(forged(100, -100))
    with pytest.raises(TableError, match=r"t\.parquet is not a readable Parquet file: a count"):
        list(ParquetFile(Source(path)).blocks(rows))


@pytest.mark.parametrize("cut", [1, 8, 9, 60])
def test_a_file_that_is_cut_off_is_refused(cut):
    for content in (NUMBERS[:-cut], NUMBERS[:cut]):
        with pytest.raises(ValueError, match=r"damaged or missing|too early"):
            check_headers(io.BytesIO(content))


def test_any_byte_may_change():
    """Each damaged file is refused with an error of Python, or has headers that fit together."""
    rng, refused = np.random.default_rng(0), 0
    content = written(**WRITERS["small groups"])
    for _ in range(400):
        changed = bytearray(content)
        for at in rng.integers(0, len(content), 3):
            changed[at] = rng.integers(256)
        try:
            check_headers(io.BytesIO(bytes(changed)))
        except ValueError:
            refused += 1
    assert 0 < refused < 400
