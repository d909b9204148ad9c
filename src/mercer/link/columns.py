"""Columns of records as codes of cleaned values: case, accents, blanks and ways of writing do not
count.

The values of a column have the order of their hashes, so that nothing that follows depends on the
order of the records. Kinds of columns stand in kinds.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mercer import _native
from mercer.tables import MISSING_TEXTS, level_text, missing_values

NONE, LETTER, DIGIT, ALONE = range(4)  # classes of symbols; a symbol may be a word by itself
#: texts that mean a missing value, but those that are also names of people
MISSING = MISSING_TEXTS - {"ka", "nc", "nd", "lod", "nil", "void", "bdl", "bql"}
MARKS = 9  # combining classes above it are accents, which do not count
LETTERS = str.maketrans({
    "ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ħ": "h",
    "’": "'", "ʼ": "'", "‘": "'", "–": "-", "—": "-", "‐": "-", "‑": "-",
})  # fmt: skip
SAMPLE = 4000  # records whose values tell the kind of a column
FREQUENT = 500  # of these, values that the most records have


# --- cleaned texts -------------------------------------------------------------------------------


def cleaned(texts: list[str]) -> list[str]:
    """Texts in small letters without accents and repeated blanks; missing ones are empty.

    Digits of any script are those from 0 to 9.

    Examples
    --------
    >>> cleaned(["  Zoë  MÜLLER", "N/A", "Łódź", "٣٤"])
    ['zoe muller', '', 'lodz', '34']
    """
    if not texts:
        return []
    whole = "\n".join(texts)
    if whole.count("\n") != len(texts) - 1:
        whole = "\n".join(text.replace("\n", " ") for text in texts)
    if not whole.isascii():
        whole = unicodedata.normalize("NFKD", whole.casefold())
        whole = whole.translate({ord(c): _plain(c) for c in set(whole) if not c.isascii()})
        if whole.count("\n") != len(texts) - 1:  # one symbol stood for lines
            return [part for text in texts for part in cleaned([text.replace("\n", " ")])]
    whole = re.sub(r"[^\S\n]+", " ", whole.casefold())
    found = whole.replace("\n ", "\n").replace(" \n", "\n").strip(" ").split("\n")
    return ["" if text in MISSING else text for text in found]


def _plain(symbol: str) -> str | None:
    if unicodedata.combining(symbol) > MARKS or unicodedata.category(symbol) == "Cf":
        return None
    if symbol.isdecimal():
        return str(unicodedata.decimal(symbol))
    return symbol.translate(LETTERS)


def class_of(symbol: str) -> int:
    """Whether a symbol is a digit, a letter, a word by itself (as Chinese characters), or none.

    Examples
    --------
    >>> [class_of(symbol) for symbol in "a7 京ก"]
    [1, 2, 0, 3, 1]
    """
    if symbol.isdigit():
        return DIGIT
    if "\u3400" <= symbol <= "\u9fff" or "\uf900" <= symbol <= "\ufaff" or symbol >= "\U00020000":
        return ALONE if symbol.isalnum() else NONE
    return LETTER if symbol.isalnum() or unicodedata.category(symbol)[0] == "M" else NONE


LATIN = np.array([class_of(chr(code)) for code in range(256)], np.uint8)


class Symbols(NamedTuple):
    """Texts one after another, as native code reads them.

    Attributes
    ----------
    symbols : ndarray of uint8 or uint32
    starts : ndarray of shape (n + 1,)
    classes : ndarray of uint8
        The class of each symbol, by its number.
    """

    symbols: np.ndarray
    starts: np.ndarray
    classes: np.ndarray

    @classmethod
    def of(cls, texts: list[str]) -> Symbols:
        starts = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=starts[1:])
        whole = "".join(texts)
        try:
            return cls(np.frombuffer(whole.encode("latin-1"), np.uint8), starts, LATIN)
        except UnicodeEncodeError:
            symbols = np.frombuffer(whole.encode("utf-32-le", "surrogatepass"), np.uint32)
        classes = np.zeros(int(symbols.max()) + 1, np.uint8)
        for code in np.unique(symbols).tolist():
            classes[code] = class_of(chr(code))
        return cls(symbols, starts, classes)

    @property
    def texts(self) -> tuple[np.ndarray, np.ndarray]:
        return self.symbols, self.starts

    @staticmethod
    def spelled(symbols: np.ndarray, starts: np.ndarray) -> list[str]:
        """The texts of which these are the symbols.

        Examples
        --------
        >>> Symbols.spelled(*Symbols.of(["zoe", "", "京都"]).texts)
        ['zoe', '', '京都']
        """
        wide = symbols.dtype == np.uint32
        whole = symbols.tobytes().decode(
            *(("utf-32-le", "surrogatepass") if wide else ("latin-1",))
        )
        return [whole[a:b] for a, b in pairwise(starts.tolist())]

    def bits(self) -> np.ndarray:
        """One bit for each symbol of a text, modulo 64."""
        out = np.empty(len(self.starts) - 1, np.uint64)
        _native.link_bits(*self.texts, out)
        return out

    def hashes(self) -> np.ndarray:
        """64 bits for each text, the same on every machine."""
        out = np.empty(len(self.starts) - 1, np.uint64)
        _native.link_hashes(*self.texts, out)
        return out


# --- columns --------------------------------------------------------------------------------------


class Cells(NamedTuple):
    """The cells of a column of one table: its different texts, and which one each record has."""

    texts: list[str]
    codes: np.ndarray  # (n,), -1 where the value is missing
    written: list[str]  # the same texts before they were cleaned

    @property
    def counts(self) -> np.ndarray:
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))


def cells_of(values: np.ndarray) -> Cells:
    """The cleaned texts of an array as `mercer.tables.read_columns` returns it."""
    gone = missing_values(values)
    if values.dtype.kind == "O":
        known = values[~gone].tolist()
        try:
            different = list(dict.fromkeys(known))
        except TypeError:  # lists and sets
            known = [_joined(value) for value in known]
            different = list(dict.fromkeys(known))
        place = dict(zip(different, range(len(different))))
        found = np.fromiter(map(place.__getitem__, known), np.int32, len(known))
        written = [text if isinstance(text, str) else _joined(text) for text in different]
    else:
        unique, found = np.unique(values[~gone], return_inverse=True)
        if values.dtype.kind == "M":
            unique = unique.astype("datetime64[D]")
        written = list(map(level_text, unique.tolist()))
    texts = cleaned(written)
    new: dict[str, int] = {}
    again = np.fromiter((new.setdefault(text, len(new)) for text in texts), np.int32, len(texts))
    first = dict(zip(reversed(texts), reversed(written)))
    codes = np.full(len(values), -1, np.int32)
    codes[~gone] = again[found] if len(texts) else found
    if "" in new:  # texts that mean a missing value
        empty = new.pop("")
        codes = np.where(codes == empty, -1, codes - (codes > empty)).astype(np.int32)
    return Cells(list(new), codes, [first[text] for text in new])


def _joined(value: object) -> str:
    """A set or a list of items as a text of words."""
    if isinstance(value, (set, frozenset)):
        return " ".join(sorted(map(level_text, value)))
    if isinstance(value, (list, tuple, np.ndarray)):
        return " ".join(map(level_text, value))
    return level_text(value)


def sampled(sides: Iterable[Cells]) -> tuple[list[str], np.ndarray]:
    """Values by which the kind of a column is judged, and how many records each stands for.

    Records count, and not values: most damaged values are different ones. All values that many
    records have are among them, and others by their hashes, whatever the order of the records.
    """
    count: dict[str, int] = {}
    for cells in sides:
        for text, times in zip(cells.texts, cells.counts.tolist()):
            count[text] = count.get(text, 0) + times
    texts, counts = list(count), np.fromiter(count.values(), np.int64, len(count))
    if len(texts) <= SAMPLE:
        return texts, counts.astype(float)
    order = np.lexsort((Symbols.of(texts).hashes(), -counts))
    often, rest = order[:FREQUENT], order[FREQUENT:]
    drawn = rest[np.argsort(Symbols.of([texts[i] for i in rest]).hashes())[: SAMPLE - FREQUENT]]
    share = counts[rest].sum() / counts[drawn].sum()
    chosen = np.append(often, drawn)
    return [texts[i] for i in chosen], np.append(counts[often], counts[drawn] * share)


def sizes_of(sides: list[Cells]) -> tuple[int, int]:
    """Different values, and records that have one."""
    different = len(set().union(*(cells.texts for cells in sides)))
    return different, sum(int((cells.codes >= 0).sum()) for cells in sides)


class ColumnWords(NamedTuple):
    """The words of all values of a column.

    Attributes
    ----------
    hashes : ndarray of uint64, ascending
    symbols : Symbols
        How they are spelled.
    numbers : ndarray of uint8
        Whether a word is made of digits.
    words, starts : ndarray
        The words of each value, ascending and each once.
    """

    hashes: np.ndarray
    symbols: Symbols
    numbers: np.ndarray
    words: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, values: Symbols) -> ColumnWords:
        found, begins, lengths, firsts = _native.link_words(
            values.symbols, values.starts, values.classes
        )
        hashes, first, place = np.unique(found, return_index=True, return_inverse=True)
        sizes = lengths[first].astype(np.int64)
        starts = np.append(np.int64(0), np.cumsum(sizes))
        inside = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
        symbols = values.symbols[np.repeat(begins[first], sizes) + inside]
        numbers = (values.classes[symbols[starts[:-1]]] == DIGIT).astype(np.uint8)
        value = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts))
        both = np.unique(value.astype(np.uint64) << np.uint64(32) | place.astype(np.uint64))
        owner = (both >> np.uint64(32)).astype(np.int64)
        each = np.searchsorted(owner, np.arange(len(firsts)))
        words = both.astype(np.uint32).astype(np.int32)
        return cls(hashes, Symbols(symbols, starts, values.classes), numbers, words, each)

    def counts(self, records: np.ndarray) -> np.ndarray:
        """How many records have each word."""
        value = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return np.bincount(self.words, records[value], len(self.hashes))


@dataclass(eq=False)
class Coded:
    """A column of all records of one or two tables.

    Attributes
    ----------
    name : str
    kind : LinkKind
        How its values are compared.
    values : list of str
        The different values, as they are compared, in the order of their hashes.
    codes : ndarray of shape (n,)
        The number of each record's value, -1 where it is missing.
    first : int
        So many records are of the first table; 0 if there is one table.
    """

    name: str
    kind: Any
    values: list[str]
    codes: np.ndarray
    first: int
    samples: Any = None  # the values of a column that a distance compares

    @cached_property
    def symbols(self) -> Symbols:
        return Symbols.of(self.values)

    @cached_property
    def hashes(self) -> np.ndarray:
        return self.symbols.hashes()

    @cached_property
    def bits(self) -> np.ndarray:
        return self.symbols.bits()

    @cached_property
    def words(self) -> ColumnWords:
        return ColumnWords.of(self.symbols)

    @cached_property
    def counts(self) -> np.ndarray:
        """How many records have each value."""
        return self.counts_of(slice(None))

    def counts_of(self, rows: slice) -> np.ndarray:
        codes = self.codes[rows]
        return np.bincount(codes[codes >= 0], minlength=len(self.values))

    def equal_by_chance(self) -> float:
        """How often two random records have equal values."""
        if self.first:
            a, b = (self.counts_of(rows) for rows in (slice(self.first), slice(self.first, None)))
            equal = (a / max(a.sum(), 1)) @ (b / max(b.sum(), 1))
        else:
            a = self.counts.astype(float)
            equal = (a * (a - 1)).sum() / max(a.sum() * (a.sum() - 1), 1)
        return min(max(float(equal), 1e-9), 1 - 1e-9)

    def places_in(self, other: Coded) -> np.ndarray:
        """The code that each value has in another column; -1 if that has no such value."""
        if not len(other.hashes):
            return np.full(len(self.values), -1, np.int32)
        place = np.searchsorted(other.hashes, self.hashes)
        place = np.minimum(place, len(other.hashes) - 1)
        return np.where(other.hashes[place] == self.hashes, place, -1).astype(np.int32)


def coded(name: str, kind: Any, sides: list[Cells], hints: list[str]) -> Coded:
    """One column of all records, of the cells of each table and how their dates are written."""
    texts: dict[str, int] = {}
    parts = []
    for cells, hint in zip(sides, hints, strict=True):
        read = kind.read(cells.texts, hint)
        place = [texts.setdefault(text, len(texts)) for text in read]
        moved = np.append(np.array(place, np.int32), np.int32(-1))
        parts.append(moved[cells.codes])
    known = list(texts)
    order = np.lexsort((np.arange(len(known)), Symbols.of(known).hashes()))
    rank = np.empty(len(known) + 1, np.int32)
    rank[order] = np.arange(len(known), dtype=np.int32)
    rank[-1] = -1
    first = len(parts[0]) if len(parts) > 1 else 0
    return Coded(name, kind, [known[i] for i in order], rank[np.concatenate(parts)], first)


# --- values that stand for each other -------------------------------------------------------------

ALIASES = 4  # sure matches of different records that have two values
BY_CHANCE = 5.0  # times as often as two values would meet in matches that differ here


def alias_keys(column: Coded, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A number of each pair of values, whatever their order: of their hashes."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    return column.hashes[low] * np.uint64(0x9E3779B97F4A7C15) + column.hashes[high]


def learn_aliases(
    column: Coded, low: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Values that stand for each other in sure matches, as Bill and William do: their keys.

    ``low`` are numbers of pairs that match by all other columns, and have different values in this
    one. Several records on both sides have to show it, and more often than by chance.
    """
    l, r = left[low], right[low]
    a, b = column.codes[l].astype(np.int64), column.codes[r].astype(np.int64)
    l, r = np.where(a <= b, l, r), np.where(a <= b, r, l)
    key, which = np.unique(
        np.minimum(a, b) * len(column.values) + np.maximum(a, b), return_inverse=True
    )
    count = np.full(len(key), len(low))
    for side in (l, r):  # an odd record with several copies proves nothing
        each = np.unique(which.astype(np.int64) << 32 | side) >> 32
        count = np.minimum(count, np.bincount(each, minlength=len(key)))
    share = column.counts / max(column.counts.sum(), 1)
    first, second = key // len(column.values), key % len(column.values)
    by_chance = 2 * share[first] * share[second] * len(low)
    good = (count >= ALIASES) & (count > BY_CHANCE * by_chance)
    return np.sort(alias_keys(column, first[good], second[good]))
