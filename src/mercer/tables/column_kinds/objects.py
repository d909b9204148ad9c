"""Columns with one sample in each cell: texts, sequences, sets, and every kind of sample that is
registered with a name for its columns (`mercer.samples.register_kind`)."""

from __future__ import annotations

import re
import shlex
import string
from collections import Counter
from collections.abc import Collection
from itertools import islice
from typing import Any

import numpy as np

from mercer.persistence import read_json
from mercer.samples import Kind, as_samples, kind_named, said_of_faults
from mercer.tables.cells import as_items, as_texts, items_of, words_of
from mercer.tables.column_kinds.interface import (
    ColumnKind,
    Distribution,
    Extent,
    WrittenColumn,
    level_text,
)
from mercer.tables.column_kinds.single_values import BINS, MOST_SHOWN
from mercer.tables.forms import Hints
from mercer.tables.values import histogram, missing_values

CURVE = 48  # points of the mean of series
WORDS = 2  # if texts have fewer words on average, their characters are enough
SYMBOLS = 25  # that nearly all places of the sequences hold
NEARLY = 0.99  # of the places
LETTERS = 0.9  # of the places hold letters
REPEATS = 1.5  # how often the sequences hold each symbol, on average: its length / perplexity
NUCLEOTIDES = set("ACGTUNRYSWKMBDHV-*.")  # bases, and the letters of IUPAC for several of them
BASES = set("ACGTU")
NO_NUCLEOTIDE = re.compile(f"[^{re.escape(''.join(sorted(NUCLEOTIDES)))}]")
MOST_BASES = 0.5  # of the letters at least, in nucleotides
#: the amino acids of proteins in UniProt, in per cent
AMINO_ACIDS = dict(zip("ALGVESIKRDTPNQFYMHCW", (
    8.25, 9.66, 7.07, 6.86, 6.72, 6.65, 5.91, 5.80, 5.53, 5.46, 5.36, 4.74, 4.06, 3.93, 3.86, 2.92,
    2.41, 2.27, 1.38, 1.10)))  # fmt: skip
MOSTLY_CAPITAL, NEARLY_AMINO = 0.95, 0.98  # of the texts, and of the letters of proteins
SHORT_PROTEIN, KINDS_OF_AMINO = 20, 18  # letters on average, and different ones, at least
UNLIKE = 0.25  # nats
FILLER = "-"  # what a shorter sequence ends with, where all others have one length


class ObjectColumns(ColumnKind):
    """Samples of a kind, one in each cell; or lists and objects that are written as JSON."""

    def __init__(self, samples: Kind):
        self.samples: Kind = samples
        self.name = samples.column
        self.gap = f"A missing {self.name} counts as the empty one"

    def check(self, name: Any, present: np.ndarray) -> None:
        try:
            as_samples(list(map(of_json, present.tolist())), self.samples.name, reader="this table")
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"kind: {name}={self.name!r}, but the column holds other values: {error}"
            ) from error

    def extent(self, column: WrittenColumn, values: np.ndarray, counts: Counter) -> Extent:
        sizes = self._sizes(self._shown(column, values))
        return (min(sizes), max(sizes), []) if sizes else (None, None, [])

    def cells(self, column: WrittenColumn, values: np.ndarray) -> list:
        empty = self.samples.empty
        missing = missing_values(values)
        if empty is None and missing.any():
            raise ValueError(
                f"column {column.name!r}: the {self.name} in row {int(missing.argmax())} is "
                "missing. Fill it in, or leave out the row."
            )
        return [empty if gone else of_json(v) for v, gone in zip(values.tolist(), missing)]

    def views(self, column: WrittenColumn, cells: list) -> dict[str, str]:
        return {str(column.name): self.samples.name}

    def distribution(self, column: WrittenColumn, values: np.ndarray) -> Distribution:
        cells = self._shown(column, values)
        sizes = self._sizes(cells)
        if not sizes:
            return Distribution([])
        counts = histogram(np.array(sizes), BINS)[0].tolist()
        typical = cells[int(np.argsort(sizes, kind="stable")[len(sizes) // 2])]
        return Distribution(counts, min(sizes), max(sizes), drawing=self.samples.drawing(typical))

    def range_in_words(self, low: str, high: str) -> str:
        return f"{low} to {high} {self.samples.size_of}"

    def _shown(self, column: WrittenColumn, values: np.ndarray) -> list:
        return list(map(of_json, values[~missing_values(values)].tolist()))

    def _sizes(self, cells: list) -> list[float]:
        return [float(self.samples.size(cell)) for cell in cells] if self.samples.size_of else []


class TextColumns(ObjectColumns):
    """Texts: their characters, and their words where they have several."""

    def __init__(self):
        super().__init__(kind_named("strings"))

    def check(self, name: Any, present: np.ndarray) -> None:
        """Every value can be written as a text."""

    def extent(self, column: WrittenColumn, values: np.ndarray, counts: Counter) -> Extent:
        texts = counts if {*map(type, counts)} == {str} else map(level_text, counts)
        lengths = {*map(len, texts)}
        return (float(min(lengths)), float(max(lengths)), []) if lengths else (None, None, [])

    def texts(self, column: WrittenColumn, values: np.ndarray) -> list[str]:
        return as_texts(values, column.name)

    def cells(self, column: WrittenColumn, values: np.ndarray) -> list:
        return self.texts(column, values)

    def views(self, column: WrittenColumn, cells: list) -> dict[str, str]:
        views = {str(column.name): "characters"}
        if sum(map(len, map(words_of, cells))) >= WORDS * len(cells):
            views[f"{column.name}: words"] = "words"
        return views

    def _shown(self, column: WrittenColumn, values: np.ndarray) -> list:
        return [text for text in as_texts(values, column.name) if text]


def of_json(cell: Any) -> Any:
    """A list or an object that is written as JSON; all else as it is."""
    if not (isinstance(cell, str) and cell.strip()[:1] in ("[", "{")):
        return cell
    try:
        return read_json(cell)
    except ValueError:
        return cell


class SeriesColumns(ObjectColumns):
    """Time series."""

    def __init__(self):
        super().__init__(kind_named("series"))

    def distribution(self, column: WrittenColumn, values: np.ndarray) -> Distribution:
        found = super().distribution(column, values)
        cells = self._shown(column, values)
        return found._replace(curve=self._mean_curve(cells)) if cells else found

    def _mean_curve(self, cells: list) -> list[float]:
        """The mean of the first channels of series, each stretched to the same number of points."""
        places, total = np.linspace(0, 1, CURVE), np.zeros(CURVE)
        for cell in cells:
            points: Any = self.samples.curves(cell)
            times = np.linspace(0, 1, len(points))
            total += np.interp(places, times, points[:, 0]) / len(cells)
        return total.tolist()


class MoleculeColumns(ObjectColumns):
    """Molecules, as SMILES, InChI or objects of RDKit."""

    def __init__(self):
        super().__init__(kind_named("molecules"))
        self.gap = "A missing molecule counts as one without atoms"

    def holds(self, cells: list) -> bool:
        return all(map(self.samples.holds, cells))

    def check(self, name: Any, present: np.ndarray) -> None:
        """Faults of cells are said where they are read, all together."""

    def extent(self, column: WrittenColumn, values: np.ndarray, counts: Counter) -> Extent:
        self.cells(column, values)
        return super().extent(column, values, counts)

    def cells(self, column: WrittenColumn, values: np.ndarray) -> list:
        faults: list[str] = []
        texts: dict[str, None] = {}
        cells = super().cells(column, values)
        for i, cell in enumerate(cells):
            reason = self.samples.fault(cell)
            if reason is not None:
                faults.append(f"row {i + 1}, {self.samples.text(cell)!r}: {reason}")
                texts |= {cell: None} if isinstance(cell, str) else {}
        if faults:
            said = said_of_faults(faults, len(cells) - len(faults))
            if texts:
                marks = " ".join(f"--missing {shlex.quote(text)}" for text in [*texts][:MOST_SHOWN])
                said += f" To read them as missing: {marks}{' ...' * (len(texts) > MOST_SHOWN)}"
            raise ValueError(f"column {column.name!r}: {said}")
        return cells

    def groups(self, column: WrittenColumn, values: np.ndarray, by: str = "") -> list[str] | None:
        if by not in ("", "scaffold"):
            return None
        X = as_samples(self.cells(column, values), self.samples.name, reader="this table")
        keys = X.scaffolds() if by else X.smiles()
        missing = missing_values(values)  # of which none is a copy of another
        return [f"row {i}" if missing[i] else key for i, key in enumerate(keys)]


class SetColumns(ObjectColumns):
    """Sets of items, which may be written as texts."""

    items = True

    def __init__(self):
        super().__init__(kind_named("sets"))

    def check(self, name: Any, present: np.ndarray) -> None:
        """Every text can be split into items."""

    def extent(self, column: WrittenColumn, values: np.ndarray, counts: Counter) -> Extent:
        items: Counter = Counter()
        for value, c in counts.items():  # sorted: a set has another order in each process
            for item in sorted({*map(level_text, items_of(value, column.separator))}):
                items[item] += c
        return None, None, [item for item, _ in items.most_common(10)]

    def cells(self, column: WrittenColumn, values: np.ndarray) -> list:
        return as_items(values, column.separator, column.name)

    def views(self, column: WrittenColumn, cells: list) -> dict[str, str]:
        return {str(column.name): "items"}

    def distribution(self, column: WrittenColumn, values: np.ndarray) -> Distribution:
        cells = self.cells(column, values)
        found = Counter(item for cell in cells for item in sorted({*map(level_text, cell)}))
        common = found.most_common(MOST_SHOWN)
        return Distribution([c for _, c in common], levels=[item for item, _ in common])

    def levels_in_words(self, levels: list[str], distinct: int) -> str:
        return f"most often {', '.join(levels[:3])}"


class SequenceColumns(TextColumns):
    """Sequences of symbols. ``low`` and ``high`` are the shortest and the longest length; if all
    have one length, their places are compared too."""

    lettered = True

    def __init__(self):
        super().__init__()
        self.name = "sequence"
        self.gap = "A missing sequence counts as the empty one"

    def written(self, texts: Collection[str], hints: Hints) -> dict[str, Any]:
        """Nucleotides have no case: they are read in that of the first cells."""
        letters = Counter(c for text in texts for c in text)
        if not _are_nucleotides(letters):
            return {}
        lower = sum(n for c, n in letters.items() if c.islower())
        upper = sum(n for c, n in letters.items() if c.isupper())
        return {"order": "upper" if upper else "lower" if lower else ""}

    def extent(self, column: WrittenColumn, values: np.ndarray, counts: Counter) -> Extent:
        lengths = [len(level_text(value)) for value in counts]
        return (min(lengths), max(lengths), []) if lengths else (None, None, [])

    def foreign(self, column: WrittenColumn, values: np.ndarray) -> np.ndarray | None:
        if not column.order:
            return None
        return np.array([
            isinstance(v, str) and bool(NO_NUCLEOTIDE.search(v.upper())) for v in values.tolist()
        ], bool)  # fmt: skip

    def texts(self, column: WrittenColumn, values: np.ndarray) -> list[str]:
        texts = as_texts(values, column.name)
        if not column.order:
            return texts
        # soft-masked parts are no other bases, and what is no nucleotide in new rows may be any
        texts = [NO_NUCLEOTIDE.sub("N", text.upper()) for text in texts]
        return texts if column.order == "upper" else [text.lower() for text in texts]

    def cells(self, column: WrittenColumn, values: np.ndarray) -> list:
        texts = self.texts(column, values)
        if column.low != column.high:
            return texts
        length = int(column.high)
        return [text[:length].ljust(length, FILLER) for text in texts]

    def views(self, column: WrittenColumn, cells: list) -> dict[str, str]:
        views = {str(column.name): "sequences"}
        if column.low == column.high:
            views[f"{column.name}: places"] = "places"
        if column.order:  # nucleotides
            views[f"{column.name}: strands"] = "strands"
        return views


def are_sequences(counts: Counter) -> bool:
    """Whether the texts of a column, with their numbers of rows, are sequences of few symbols.

    They have no blanks, letters of one case (those of nucleotides may have both), few symbols, and
    are long for the number of these: DNA repeats its symbols about 14 times, a name of a person a
    quarter of a time. Proteins may be shorter, if they have amino acids about as often as others.

    Examples
    --------
    >>> are_sequences(Counter(["GATTACAGATTA", "CCATGGATACCA"])), are_sequences(Counter(["Anna"]))
    (True, False)
    """
    if any(isinstance(v, str) and re.search(r"\s", v) for v in islice(counts, SYMBOLS)):
        return False  # most texts show it at once
    texts = [value for value in counts if isinstance(value, str)]
    whole = "".join(texts)
    if len(texts) < len(counts) or not whole or re.search(r"\s", whole):
        return False
    if len(whole) - sum(map(whole.count, string.digits)) < LETTERS * len(whole):
        return False
    symbols = Counter(whole)
    frequent = symbols.most_common(SYMBOLS)
    letters = sum(c for symbol, c in symbols.items() if symbol.isalpha())
    cased = {symbol.islower() for symbol, _ in frequent if symbol.isalpha()}
    if sum(c for _, c in frequent) < NEARLY * len(whole) or letters < LETTERS * len(whole):
        return False
    shares = np.array([c for _, c in frequent]) / len(whole)
    perplexity = float(np.exp(-(shares * np.log(shares)).sum()))
    long = len(whole) / len(texts) >= REPEATS * perplexity
    return ((len(cased) == 1 or _are_nucleotides(symbols)) and long) or _are_proteins(
        texts, symbols
    )


def _are_proteins(texts: list[str], symbols: Counter) -> bool:
    """Whether capital letters are amino acids in about the shares that they have in proteins.

    Words and random letters have others: what is measured is how many nats a letter the shares in
    UniProt lose beside their own.
    """
    found = np.array([symbols[letter] for letter in AMINO_ACIDS], float)
    total, whole = found.sum(), sum(symbols.values())
    capital = sum(text.isupper() for text in texts) >= MOSTLY_CAPITAL * len(texts)
    if not capital or total < NEARLY_AMINO * whole or whole < SHORT_PROTEIN * len(texts):
        return False
    usual, found = np.array(list(AMINO_ACIDS.values())), found / total
    some = found > 0
    lost = (found[some] * np.log(found[some] / (usual / usual.sum())[some])).sum()
    return len(symbols) >= KINDS_OF_AMINO and lost < UNLIKE


def _are_nucleotides(letters: Counter) -> bool:
    """Whether all letters, in any case, mean bases, and most a single one."""
    bases = sum(n for c, n in letters.items() if c.upper() in BASES)
    whole = sum(n for c, n in letters.items() if c.isalpha())
    return bases > MOST_BASES * whole and all(c.upper() in NUCLEOTIDES for c in letters)
