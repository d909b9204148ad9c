"""Tables in texts with a header, whose lines begin with ``@``; each line after ``@data`` is a row.

In `.ts` files, the form of aeon, sktime and the UEA archive, a row has the channels of time series,
separated by colons, each a list of numbers with commas, and last the label. In ARFF, the form of
Weka and OpenML, the header says the type of each column, and a row is ``sunny,6.7`` or ``{1 6.7}``,
which names the columns that are not 0::

    @classLabel true walking running     @attribute sky {sunny, rainy}
    @data                                @attribute 'warm th' numeric
    0.1,0.5,0.2:1.0,1.1,1.2:walking      @data
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from mercer.cli.files import ByteSource
from mercer.cli.formats import Lines
from mercer.cli.terminal import TableError
from mercer.tables import spelled_number

LONGEST = 60  # characters of a cell that a message shows
YES = ("true", "yes", "1")
#: what the header may say, in small letters, beside what is read of it
UNREAD = ("problemname", "timestamps", "missing", "univariate", "dimension", "dimensions",
          "equallength", "serieslength")  # fmt: skip


class Headed(Lines):
    """Abstract: a text with a header."""

    ending: str  # of the names of such files
    comment: str  # what lines begin with that say nothing

    @abstractmethod
    def _tell(self, i: int, tag: str, rest: str) -> None:
        """Take in a line of the header: its word in small letters, and what follows."""

    def _data(self, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Read the header; the lines that follow it."""
        told = ((i, line) for i, line in lines if line and not line.startswith(self.comment))
        for i, line in told:
            tag, _, rest = re.sub(r"\s", " ", line, count=1).partition(" ")
            if tag.lower() == "@data":
                return told
            if not tag.startswith("@"):
                raise self._wrong(
                    i, f"it stands before the line @data: is this a {self.ending} file?"
                )
            self._tell(i, tag.lower(), rest.strip())
        raise TableError(
            f"{self.source.label} has no line @data, after which the rows must follow: is this a "
            f"{self.ending} file?"
        )

    def _wrong(self, i: int, what: str) -> TableError:
        return TableError(f"{self.source.label}, line {i}: {what}")


class TimeSeriesFile(Headed):
    """One column for each channel, and the class or the target, if the file has one."""

    ending, comment = ".ts", "#"

    @property
    def series(self) -> list[str]:
        """The columns of series."""
        return list(self.kinds)

    def _tell(self, i: int, tag: str, rest: str) -> None:
        """Take in one line of the header."""
        said = rest.lower().split(" ")[0]
        if tag == "@timestamps" and said in YES:
            raise self._wrong(
                i, "the points have times, which are not read: write series without times, in "
                "even steps."
            )  # fmt: skip
        if tag in ("@classlabel", "@targetlabel"):
            names = {"@classlabel": "class", "@targetlabel": "target"}
            self.target = names[tag] if said in YES else self.target
        elif tag[1:] not in UNREAD:
            raise self._wrong(i, f"{tag[:LONGEST]!r} is no word of a .ts file.")

    def _frame(self, lines: list[tuple[int, str]]) -> pl.DataFrame:
        """The rows as a table."""
        rows = [self._row(i, line) for i, line in lines]
        columns = {
            name: pl.Series([series[c] for series, _ in rows], dtype=pl.List(pl.Float64))
            for c, name in enumerate(self.series)
        }
        if self.target == "class":
            columns["class"] = pl.Series([label for _, label in rows], dtype=pl.String)
        elif self.target:
            columns["target"] = pl.Series([float(label) for _, label in rows])
        return pl.DataFrame(columns)

    def _row(self, i: int, line: str) -> tuple[list[list[float]], str]:
        """The channels and the label of one line."""
        *parts, label = line.split(":") if self.target else [*line.split(":"), ""]
        label = label.strip()
        if not self.series:
            names = ["series"] if len(parts) == 1 else _numbered(len(parts))
            self.kinds = dict.fromkeys(names, "series")
        if len(parts) != len(self.series) or not parts:
            raise self._wrong(
                i, f"it has {len(parts)} channels, and the first row has {len(self.series)}; "
                f"channels{' and the ' * bool(self.target)}{self.target} are separated by colons."
            )  # fmt: skip
        if self.target == "target" and not _is_number(label):
            raise self._wrong(i, f"its target is {label[:LONGEST]!r}, which is not a number.")
        if self.target and not label:
            raise self._wrong(i, f"it ends without a {self.target}, which the header promises.")
        channels = [self._numbers(i, c, part) for c, part in enumerate(parts)]
        if len({len(channel) for channel in channels}) > 1:
            lengths = ", ".join(str(len(channel)) for channel in channels[:5])
            raise self._wrong(i, f"its channels have different lengths: {lengths}.")
        return channels, label

    def _numbers(self, i: int, c: int, part: str) -> list[float]:
        """The points of channel c in row i."""
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


#: a name or a value, in quotes or not
_WORD = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_NAMED = re.compile(rf"\s*({_WORD}|[^\s{{]+)\s*(.*)")
_VALUE = re.compile(rf"\s*({_WORD}|[^,]*?)\s*(,|$)")
#: letters of Java's dates -> what polars calls them
JAVA = {"yyyy": "%Y", "yy": "%y", "MMM": "%b", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M",
        "ss": "%S"}  # fmt: skip


class ArffFile(Headed):
    """A column for each attribute: numbers, levels, texts or dates; ``?`` is a missing value."""

    ending, comment = ".arff", "%"

    def __init__(self, source: ByteSource, encoding: str):
        super().__init__(source, encoding)
        #: name -> "numeric", "string", "date" and its form, or the levels
        self.types: dict[str, str | list[str]] = {}

    def blocks(self, rows: int | None = None) -> Iterator[pl.DataFrame]:
        self.types = {}
        yield from super().blocks(rows)

    def _tell(self, i: int, tag: str, rest: str) -> None:
        """Take in one line of the header."""
        if tag != "@attribute":
            return
        match = _NAMED.fullmatch(rest)
        name, kind = ("", "") if match is None else (_bare(match[1]) or "", match[2].strip())
        if not kind or name in self.types:
            wrong = f"{name!r} is there twice" if kind else "an attribute has a name and a type"
            raise self._wrong(i, f"{wrong}: mend the header.")
        word = kind.split()[0].lower()
        if kind.startswith("{"):
            levels = [_bare(value) or "" for value in _split(kind.strip("{}"))]
            self.types[name] = levels
            if len(levels) > 2 and any(spelled_number(level) is not None for level in levels):
                self.kinds[name] = "category"  # digits that the file calls levels
        elif word in ("numeric", "real", "integer"):
            self.types[name] = "numeric"
        elif word in ("string", "date"):
            form = _bare(kind[len(word) :].strip()) or "yyyy-MM-dd'T'HH:mm:ss"
            self.types[name] = word if word == "string" else f"date {form}"
        else:
            raise self._wrong(i, f"{name!r} is of the type {word!r:.40}, which no table can hold.")

    def _frame(self, lines: list[tuple[int, str]]) -> pl.DataFrame:
        """The rows as a table."""
        rows = [self._row(i, line) for i, line in lines]
        found = {}
        for (name, kind), cells in zip(self.types.items(), zip(*rows)):
            numeric = kind == "numeric"
            column = pl.Series(cells, dtype=pl.Float64 if numeric else pl.String)
            if isinstance(kind, str) and kind.startswith("date "):
                column = _dates(column, kind.removeprefix("date "))
            whole = numeric and bool((column.drop_nulls() == column.drop_nulls().round()).all())
            small = whole and bool((column.drop_nulls().abs() < 2**53).all())
            found[name] = column.cast(pl.Int64) if small else column
        return pl.DataFrame(found)

    def _row(self, i: int, line: str) -> list[Any]:
        """The values of one line."""
        names = list(self.types)
        if line.startswith("{"):
            values = [None if kind in ("string", "date") else kind[0] if isinstance(kind, list)
                      else 0.0 for kind in self.types.values()]  # fmt: skip
            for pair in filter(None, _split(line.strip("{}"))):
                place, _, value = pair.partition(" ")
                if not place.isdigit() or int(place) >= len(names):
                    raise self._wrong(i, f"{place[:LONGEST]!r} is the place of no attribute.")
                values[int(place)] = self._value(i, names[int(place)], value.strip())
            return values
        cells = _split(line)
        if len(cells) == 1 < len(names):
            cells = line.split()
        if len(cells) != len(names):
            raise self._wrong(
                i, f"it has {len(cells)} values, and there are {len(names)} attributes."
            )
        return [self._value(i, name, cell) for name, cell in zip(names, cells)]

    def _value(self, i: int, name: str, cell: str) -> Any:
        """A cell as its attribute says, None where it is missing."""
        kind, text = self.types[name], _bare(cell)
        if text is None:
            return None
        if kind == "numeric":
            if not _is_number(text):
                raise self._wrong(i, f"{text[:LONGEST]!r} is no number, as {name} has.")
            return float(text)
        if isinstance(kind, list) and text not in kind:
            raise self._wrong(
                i,
                f"{text[:LONGEST]!r} is none of the levels of {name}: {', '.join(kind[:8])}. "
                "Add it to them above @data, or write ? for a missing value.",
            )
        return text


def _split(text: str) -> list[str]:
    """The values between commas, in their quotes."""
    found, start = [], 0
    while match := _VALUE.match(text, start):
        found.append(match[1])
        start = match.end()
        if not match[2]:
            return found
    return [*found, text[start:]]


def _bare(cell: str) -> str | None:
    """A name or value without its quotes; None for a missing one."""
    if cell[:1] in ("'", '"') and len(cell) > 1:
        return re.sub(r"\\(.)", r"\1", cell[1:-1])
    return None if cell in ("?", "") else cell


def _dates(column: pl.Series, form: str) -> pl.Series:
    """The times in texts of a form of Java, where polars can read them."""
    known = re.sub("y+|M+|d+|H+|m+|s+", lambda part: JAVA.get(part[0], "?"), form)
    known = known.replace("'", "")
    if "?" in known:
        return column
    found = column.str.to_datetime(known, strict=False) if "%H" in known else column.str.to_date(
        known, strict=False).cast(pl.Datetime("us"))  # fmt: skip
    return found if found.null_count() == column.null_count() else column


def _numbered(count: int) -> list[str]:
    digits = len(str(count - 1))
    return [f"channel_{c:0{digits}d}" for c in range(count)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
