"""Tables of time series in `.ts` files, the text form of aeon, sktime and the UEA archive.

Lines that begin with ``@`` say what the file holds, and each line after ``@data`` is one row:
the channels, separated by colons, each a list of numbers with commas, and last the label::

    @classLabel true walking running
    @data
    0.1,0.5,0.2:1.0,1.1,1.2:walking
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from mercer.cli.delimited import encoding_of
from mercer.cli.errors import TableError
from mercer.cli.files import Source
from mercer.cli.formats import Typed

LONGEST = 60  # characters of a cell that a message shows
YES = ("true", "yes", "1")
#: what the header may say, in small letters, beside what is read of it
UNREAD = ("problemname", "timestamps", "missing", "univariate", "dimension", "dimensions",
          "equallength", "serieslength")  # fmt: skip


class TimeSeriesFile(Typed):
    """One column for each channel, and the class or the target, if the file has one."""

    def __init__(self, source: Source, encoding: str):
        super().__init__(source)
        self.encoding = encoding
        self.label = ""  # the column of classes or targets; "" if there is none

    def blocks(self, rows: int | None = None) -> Iterator[pl.DataFrame]:
        with self.source.opened() as file:
            self.encoding = encoding_of(file.read(1024), self.encoding, self.source.label)
        with self.source.opened() as file:
            lines = self._lines(file)
            self._read_header(lines)
            data = ((i, line) for i, line in lines if line and not line.startswith("#"))
            while block := list(islice(data, rows)):
                yield self._frame(block)

    def _lines(self, file: Any) -> Iterator[tuple[int, str]]:
        try:
            for i, line in enumerate(io.TextIOWrapper(file, self.encoding), start=1):
                yield i, line.removeprefix("\ufeff").strip()
        except (UnicodeError, LookupError) as error:
            raise TableError(
                f"{self.source.label} is not {self.encoding}: {error}. Give its encoding, for "
                "example --encoding latin-1."
            ) from None

    def _read_header(self, lines: Iterator[tuple[int, str]]) -> None:
        """What the lines before the data say."""
        self.label, self.series = "", []
        for i, line in lines:
            if not line or line.startswith("#"):
                continue
            tag, *words = line.split()
            tag = tag.lower()
            if tag == "@data":
                return
            if not tag.startswith("@"):
                raise self._wrong(i, "it stands before the line @data: is this a .ts file?")
            said = words[0].lower() if words else ""
            if tag == "@timestamps" and said in YES:
                raise self._wrong(
                    i, "the points have times, which are not read: write series without times, in "
                    "even steps."
                )  # fmt: skip
            if tag in ("@classlabel", "@targetlabel"):
                names = {"@classlabel": "class", "@targetlabel": "target"}
                self.label = names[tag] if said in YES else self.label
            elif tag[1:] not in UNREAD:
                raise self._wrong(i, f"{tag[:LONGEST]!r} is no word of a .ts file.")
        raise TableError(
            f"{self.source.label} has no line @data, after which the series would stand: is this a "
            ".ts file?"
        )

    def _frame(self, lines: list[tuple[int, str]]) -> pl.DataFrame:
        rows = [self._row(i, line) for i, line in lines]
        columns = {
            name: pl.Series([series[c] for series, _ in rows], dtype=pl.List(pl.Float64))
            for c, name in enumerate(self.series)
        }
        if self.label == "class":
            columns["class"] = pl.Series([label for _, label in rows], dtype=pl.String)
        elif self.label:
            columns["target"] = pl.Series([float(label) for _, label in rows])
        return pl.DataFrame(columns)

    def _row(self, i: int, line: str) -> tuple[list[list[float]], str]:
        """The channels and the label of one line."""
        *parts, label = line.split(":") if self.label else [*line.split(":"), ""]
        label = label.strip()
        if not self.series:
            self.series = ["series"] if len(parts) == 1 else _numbered(len(parts))
        if len(parts) != len(self.series) or not parts:
            raise self._wrong(
                i, f"it has {len(parts)} channels, and the first row has {len(self.series)}; "
                f"channels{' and the ' * bool(self.label)}{self.label} are separated by colons."
            )  # fmt: skip
        if self.label == "target" and not _is_number(label):
            raise self._wrong(i, f"its target is {label[:LONGEST]!r}, which is not a number.")
        if self.label and not label:
            raise self._wrong(i, f"it ends without a {self.label}, which the header promises.")
        channels = [self._numbers(i, c, part) for c, part in enumerate(parts)]
        if len({len(channel) for channel in channels}) > 1:
            lengths = ", ".join(str(len(channel)) for channel in channels[:5])
            raise self._wrong(i, f"its channels have different lengths: {lengths}.")
        return channels, label

    def _numbers(self, i: int, c: int, part: str) -> list[float]:
        cells = part.split(",")
        try:
            values = [float(cell) for cell in cells]
        except ValueError:
            t = next(t for t, cell in enumerate(cells) if not _is_number(cell))
            gap = cells[t].strip() in ("", "?")
            what = "a value is missing" if gap else f"{cells[t].strip()[:LONGEST]!r} is no number"
            raise self._wrong(i, f"{what} at point {t} of {self.series[c]}.") from None
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            t = int(wrong[0])
            raise self._wrong(
                i, f"point {t} of {self.series[c]} is {values[t]}: fill the gap, or cut the "
                "series there."
            )  # fmt: skip
        return values

    def _wrong(self, i: int, what: str) -> TableError:
        return TableError(f"{self.source.label}, line {i}: {what}")


def _numbered(count: int) -> list[str]:
    digits = len(str(count - 1))
    return [f"channel_{c:0{digits}d}" for c in range(count)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
