"""Columns of sequences: long strings of few symbols, such as DNA, proteins and codes of events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from mercer.tables.cells import as_texts
from mercer.tables.column_kinds.interface import Extent, level_text
from mercer.tables.column_kinds.objects import TextColumns
from mercer.tables.forms import Told

SYMBOLS = 25  # that nearly all places of the sequences hold
NEARLY = 0.99  # of the places
LETTERS = 0.9  # of the places hold letters
REPEATS = 1.5  # how often the sequences hold each symbol, on average: its length / perplexity
NUCLEOTIDES = set("ACGTUNRYSWKMBDHV-*.")  # bases, and the letters of IUPAC for several of them
BASES = set("ACGTU")
MOST_BASES = 0.5  # of the letters at least, in nucleotides
FILLER = "-"  # what a shorter sequence ends with, where all others have one length


class SequenceColumns(TextColumns):
    """Sequences of symbols. ``low`` and ``high`` are the shortest and the longest length; if all
    have one length, their places are compared too."""

    def __init__(self):
        super().__init__()
        self.name = "sequence"
        self.gap = "A missing sequence counts as the empty one"

    def written(self, texts: Collection[str], told: Told) -> dict[str, Any]:
        """Nucleotides have no case: they are read in that of the first cells."""
        letters = Counter(c for text in texts for c in text)
        if not _are_nucleotides(letters):
            return {}
        lower = sum(n for c, n in letters.items() if c.islower())
        upper = sum(n for c, n in letters.items() if c.isupper())
        return {"order": "upper" if upper else "lower" if lower else ""}

    def extent(self, column: Any, values: np.ndarray, counts: Counter) -> Extent:
        lengths = [len(level_text(value)) for value in counts]
        return (min(lengths), max(lengths), []) if lengths else (None, None, [])

    def texts(self, column: Any, values: np.ndarray) -> list[str]:
        texts = as_texts(values, column.name)
        if not column.order:
            return texts
        # soft-masked parts are no other bases
        return [text.upper() if column.order == "upper" else text.lower() for text in texts]

    def cells(self, column: Any, values: np.ndarray) -> list:
        texts = self.texts(column, values)
        if column.low != column.high:
            return texts
        length = int(column.high)
        return [text[:length].ljust(length, FILLER) for text in texts]

    def views(self, column: Any, cells: list) -> dict[str, str]:
        views = {str(column.name): "sequences"}
        if column.low == column.high:
            views[f"{column.name}: places"] = "places"
        return views


def are_sequences(counts: Counter) -> bool:
    """Whether the texts of a column, with their numbers of rows, are sequences of few symbols.

    They have no blanks, letters of one case (those of nucleotides may have both), few symbols, and
    are long for the number of these: DNA repeats its symbols about 14 times, a name of a person a
    quarter of a time.

    Examples
    --------
    >>> are_sequences(Counter(["GATTACAGATTA", "CCATGGATACCA"])), are_sequences(Counter(["Anna"]))
    (True, False)
    """
    texts = [value for value in counts if isinstance(value, str)]
    whole = "".join(texts)
    if len(texts) < len(counts) or not whole or any(c.isspace() for c in set(whole)):
        return False
    symbols = Counter(whole)
    frequent = symbols.most_common(SYMBOLS)
    letters = sum(c for symbol, c in symbols.items() if symbol.isalpha())
    cased = {symbol.islower() for symbol, _ in frequent if symbol.isalpha()}
    if sum(c for _, c in frequent) < NEARLY * len(whole) or letters < LETTERS * len(whole):
        return False
    shares = np.array([c for _, c in frequent]) / len(whole)
    perplexity = float(np.exp(-(shares * np.log(shares)).sum()))
    return (len(cased) == 1 or _are_nucleotides(symbols)) and len(whole) / len(
        texts
    ) >= REPEATS * perplexity


def _are_nucleotides(letters: Counter) -> bool:
    """Whether all letters, in any case, mean bases, and most a single one."""
    bases = sum(n for c, n in letters.items() if c.upper() in BASES)
    whole = sum(n for c, n in letters.items() if c.isalpha())
    return bases > MOST_BASES * whole and all(c.upper() in NUCLEOTIDES for c in letters)
