"""A distance of rows with columns of any kind, for ``mercer neighbors`` and ``mercer map``.

Each column says by a number from 0 to 1 how far two rows are apart, and the distance is the mean of
the columns (Gower 1971). `TableDistance` learns from the items what is needed for that, reads rows,
and says which columns make two rows differ.
"""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
import polars as pl
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from mercer.cli.terminal import OptionError, TableError
from mercer.distances import (
    Cosine,
    Edit,
    Jaccard,
    KernelDistance,
    MappedMinkowski,
    Match,
    Minkowski,
    Mixed,
)
from mercer.search import SetReading
from mercer.tables import Column, as_items, level_text, missing_values

LONG = 100  # characters on average, beyond which texts are compared by their words
MERS = 3  # characters of the parts of a text
MARK = "\x1f"  # separates the items of a set
TILE = 64  # pairs of samples that are compared at a time, each with each
MISSING = "\0missing"  # the name of the column that says where numbers are missing


class TableDistance:
    """The distance that the columns of a table of items make; it reads the frames of `rows`.

    ``values`` are the arrays of the items, from `mercer.tables.read_columns`. Numbers and dates
    differ by shares of the range of the items, or by the share of the items between them
    (``metric`` "range" or "rank"). Texts differ by edits, in shares of the longer one; or as sets
    of their substrings of 3 characters, or of their words, by Jaccard's distance ("edit", "kmers",
    "words"). "auto" counts edits, and in texts of more than 100 characters it compares words.
    Vectors differ by their angle, divided by π. Series, graphs and other samples differ by half the
    distance that the first kernel of their kind makes, for which k(x, x) = 1.
    """

    def __init__(self, columns: list[Column], values: dict, metric: str, text: str):
        self.metric, self.text = metric, text
        self.columns = {str(c.name): c for c in columns}
        self.numbers = [n for n, c in self.columns.items() if c.of.ordered]
        self.levels = [n for n, c in self.columns.items() if c.of.levelled]
        self.scales = {name: self._scale(self._number(name, values)) for name in self.numbers}
        self.texts: dict[str, str] = {}
        self.samples: dict[str, tuple[Any, Any, float]] = {}  # distance, items, the most it can be
        for name, column in self.columns.items():
            if column.of.items:
                self.texts[name] = "set"
            elif column.of.samples is not None and not column.of.samples.discrete:
                self.samples[name] = _of_samples(column, values[column.name])
            elif column.of.samples is not None:
                self.texts[name] = _way(column, values[column.name]) if text == "auto" else text
        parts: list[tuple[Any, list[str]]] = []
        if self.numbers:
            both = [part for name in self.numbers for part in (name, name + MISSING)]
            parts.append((Minkowski(1), both))
        if self.levels:
            parts.append((Match(), self.levels))
        for name, way in self.texts.items():
            parts.append((Edit(normalised=True) if way == "edit" else Jaccard(MARK), [name]))
        share = 1 / len(self.columns)
        weights = [share] * len(parts) + [share / most for _, _, most in self.samples.values()]
        parts += [(distance, [name]) for name, (distance, _, _) in self.samples.items()]
        self.distance: Any = Mixed(parts, weights=weights)
        if len(self.numbers) == len(self.columns):  # rows are points, which a tree of boxes holds
            self.distance = MappedMinkowski(np.full(2 * len(self.numbers), share), p=1)

    def refuse_idle(self) -> None:
        """Refuse options that cannot apply to any column that is compared."""
        idle = {
            f"--text {self.text}": self.text != "auto" and not {*self.texts.values()} - {"set"},
            f"--metric {self.metric}": self.metric != "range" and not self.numbers,
        }
        for option, unused in idle.items():
            if unused:
                what = "texts" if "text" in option else "numbers or dates"
                kind = "text" if what == "texts" else "number"
                typed = shlex.quote(f"{next(iter(self.columns))}={kind}")
                raise OptionError(
                    f"{option}: no column that is compared holds {what}. Compared: "
                    f"{'; '.join(self.sentences())}. Leave the option out, or say what a column "
                    f"is, as in --kind {typed}."
                )

    def rows(self, values: dict, table: str) -> pl.DataFrame:
        """Rows as the distance reads them; ``values`` as those of the items."""
        found: dict[str, Any] = {}
        for name, column in self.columns.items():
            if column.name not in values:
                raise TableError(
                    f"{table} has no column {name!r}, by which the items are compared. Add it, "
                    f"leave it out by --drop {shlex.quote(name)}, or name the columns to compare "
                    "by --columns."
                )
            cells = values[column.name]
            if name in self.scales:
                numbers = self._number(name, values)
                gone = np.isnan(numbers)
                if gone.all() and not missing_values(cells).all():
                    first = cells[~missing_values(cells)][0]
                    raise TableError(
                        f"{table}: column {name!r} holds {column.kind}s in the items, but none "
                        f"here; the first value is {first!r:.60}. Give {column.kind}s, or leave "
                        "the column out by --drop."
                    )
                # as far from any value as the ends of the range are: max(x, 1 - x)
                found[name] = np.where(gone, 0.5, self._scaled(name, numbers))
                found[name + MISSING] = np.where(gone, 0.5, 0.0)
            elif name in self.levels:
                texts = pl.Series(column.of.texts(column, cells), dtype=pl.String)
                found[name] = texts.set(pl.Series(missing_values(cells)), None)
            elif name in self.samples:
                found[name] = pl.Series(list(column.of.cells(column, cells)), dtype=pl.Object)
            else:
                found[name] = self._read_texts(column, self.texts[name], cells)
        return pl.DataFrame(found)

    def differences(self, mine: pl.DataFrame, theirs: pl.DataFrame) -> dict[str, np.ndarray]:
        """How much each column adds to the distance of row i of both frames."""
        found = {}
        for name in self.columns:
            a, b = mine[name], theirs[name]
            if name in self.samples:
                distance, known, most = self.samples[name]
                X, Z = (distance.encode(cells.to_list(), like=known) for cells in (a, b))
                steps = [slice(start, start + TILE) for start in range(0, len(a), TILE)]
                apart = [distance.whole(X[i], Z[i]).diagonal() / most for i in steps]
                apart = np.concatenate(apart) if apart else np.zeros(0)
            elif name in self.scales:
                gone = mine[name + MISSING] - theirs[name + MISSING]
                apart = (a - b).abs().to_numpy() + gone.abs().to_numpy()
            elif name in self.levels:
                apart = a.ne_missing(b).to_numpy().astype(float)
            elif self.texts[name] == "edit":
                apart = cpdist(
                    a.to_list(), b.to_list(),
                    scorer=Levenshtein.normalized_distance, dtype=np.float64,
                )  # fmt: skip
            else:
                apart = _unlike(a.to_list(), b.to_list())
            found[name] = apart / len(self.columns)
        return found

    def sentences(self) -> list[str]:
        """How the columns are compared, for the user."""
        ways = {
            "edit": "by edits",
            "kmers": f"by substrings of {MERS} characters",
            "words": "by words",
            "set": "by their items",
        }
        scale = {"range": "in shares of the range", "rank": "by rank"}[self.metric]
        said = [f"{', '.join(self.numbers)} ({scale})"] if self.numbers else []
        said += [f"{', '.join(self.levels)} (equal or not)"] if self.levels else []
        said += [f"{name} ({ways[way]})" for name, way in self.texts.items()]
        for name, (distance, _, _) in self.samples.items():
            how = "angle" if isinstance(distance, Cosine) else repr(distance.kernel)
            said.append(f"{name} (by {how})")
        return said

    def _number(self, name: str, values: dict) -> np.ndarray:
        column = self.columns[name]
        return column.of.numbers(values[column.name], column)

    def _scale(self, numbers: np.ndarray) -> np.ndarray:
        """The two ends of the range, or all values in order."""
        known = np.sort(numbers[~np.isnan(numbers)])
        if not len(known):
            known = np.zeros(1)
        return known if self.metric == "rank" else known[[0, -1]]

    def _scaled(self, name: str, numbers: np.ndarray) -> np.ndarray:
        """Numbers as ranks, or in units of their range."""
        scale = self.scales[name]
        if self.metric == "rank":
            below, upto = (np.searchsorted(scale, numbers, side) for side in ("left", "right"))
            return (below + upto) / (2 * len(scale))
        width = scale[1] - scale[0]
        return (numbers - scale[0]) / (width if width > 0 else 1.0)

    def _read_texts(self, column: Column, way: str, cells: np.ndarray) -> pl.Series:
        """Cells as the texts that are compared."""
        if way == "set":
            sets = as_items(cells, column.separator, column.name)
            read = [MARK.join(map(level_text, items)) for items in sets]
        else:
            read = column.of.texts(column, cells)
            read = read if way == "edit" else [_parts(text, way) for text in read]
        return pl.Series(read, dtype=pl.String)


def _of_samples(column: Column, cells: np.ndarray) -> tuple[Any, Any, float]:
    """A distance of samples, which has read the items; the items; and the most that it can be."""
    kind = column.of.samples
    assert kind is not None
    by_angle = kind.coordinates
    distance: Any = Cosine() if by_angle else KernelDistance(kind.make_kernels()[0])
    known = distance.encode(list(column.of.cells(column, cells)))
    return distance.bind(known), known, np.pi if by_angle else 2.0


def _way(column: Column, cells: np.ndarray) -> str:
    """How texts of these lengths are compared."""
    known = cells[~missing_values(cells)]
    length = sum(map(len, column.of.texts(column, known))) / max(len(known), 1)
    return "words" if length > LONG else "edit"


def _parts(text: str, way: str) -> str:
    """The words of a text, or its substrings, as the items of a set."""
    text = text.lower().replace(MARK, " ")
    if way == "words":
        return MARK.join(text.split())
    text = " ".join(text.split())
    return MARK.join(
        f"_{text[i : i + MERS]}_" for i in range(max(len(text) - MERS + 1, bool(text)))
    )


def _unlike(mine: list[str], theirs: list[str]) -> np.ndarray:
    reader, each = Jaccard(MARK), np.arange(len(mine) + 1)
    X = reader.encode(mine)
    Z = reader.encode(theirs, like=X)
    return SetReading().listed(X, Z, each[:-1].astype(np.int32), each, np.float64)
