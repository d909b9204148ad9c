"""Kinds of columns of records: how values are read, what of a value survives an error in it, and
the level at which two values agree.

Levels go from 0, they differ, to 5, they are equal; 6 says that the value stands in another column,
and 7 that one of them is missing. `judged` says of which kind a column is.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer import _native
from mercer.link.columns import ALONE, NONE, Coded, ColumnWords, Symbols
from mercer.persistence import fields, floats, whole
from mercer.tables import as_dates, order_of, spelled_number

DIFFER, EQUAL, ELSEWHERE, GONE = 0, 5, 6, 7
LEVELS = (
    "differs", "slightly alike", "alike", "close", "nearly equal", "equal", "in another column",
    "missing",
)  # fmt: skip
RARE = 3  # parts of a value that are asked for
RUN, RUNS = 5, 4  # symbols of a run of a text without blanks, and how many of the runs
FEW, OFTEN = 12, 20  # levels of a category, and records of each of them
SHARE = 0.8  # of the records that have to be of a kind
MOST_WEIGHT = 40.0  # bits of a word
SAMPLE, LEADING = 1000, re.compile(r"\D*")  # values that tell how they are written
LONG, LAST = 8, 5  # signs of a long code, and so many of its last ones

#: what two codes of a column agree in, for lists of pairs
Compare = Callable[[np.ndarray, np.ndarray], np.ndarray]


class BlockingView(NamedTuple):
    """What pairs of records are found by.

    Attributes
    ----------
    label : str
        "=" the value, "~" rare parts of it, "run" rare runs of its letters, "words" two rare words.
    parts : ndarray of shape (values, k), int32
        Numbers of the parts of each value, -1 where there are fewer.
    """

    label: str
    parts: np.ndarray


@fields(hashes=whole(length=lambda known: len(known.shares)), shares=floats(1))
@dataclass(eq=False)
class Shares:
    """How often values, or words, are those of a record: by their hashes, so that no value is kept.

    Attributes
    ----------
    hashes : ndarray of uint64, ascending
        Those that more than one record has.
    shares : ndarray
        Their shares of the records, without one record of each: where two are compared, one is the
        other one's.
    other : float
        The share of any other value: one record.
    """

    hashes: np.ndarray
    shares: np.ndarray
    other: float

    @classmethod
    def of(cls, hashes: np.ndarray, counts: np.ndarray, total: float) -> Shares:
        hashes, place = np.unique(hashes, return_inverse=True)
        counts = np.bincount(place, counts, len(hashes))
        kept = counts > 1
        return cls(hashes[kept], (counts[kept] - 1) / max(total, 1), 1 / max(total, 1))

    def at(self, hashes: np.ndarray) -> np.ndarray:
        """The share of each."""
        if not len(self.hashes):
            return np.full(len(hashes), self.other)
        place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[place] == hashes, self.shares[place], self.other)


# --- kinds ----------------------------------------------------------------------------------------


class LinkKind(ABC):
    """Abstract: a kind of column: how values are read, found and compared.

    ``swaps``: values may stand in another column by mistake; ``stands``: one value may stand for
    another one; ``counts``: a value that few records have weighs more than others that are equal.
    """

    name = ""
    said = ""
    swaps = False
    stands = False
    counts = True
    levels: tuple[int, ...] = (1, 2, 3, 4)  # beside 0 and 5

    def hint(self, texts: list[str]) -> str:
        """How the values of one table are written."""
        return ""

    def read(self, texts: list[str], hint: str) -> list[str]:
        """Cleaned texts as values that are compared; two ways of writing become one."""
        return texts

    def parts(self, column: Coded) -> list[BlockingView]:
        """Views beside that of the whole value."""
        return []

    def views(self, column: Coded) -> list[BlockingView]:
        """What of a value other records may share, although it was damaged."""
        parts = (view for view in self.parts(column) if (view.parts >= 0).any())
        return [whole_view(column), *parts]

    def words_of(self, column: Coded) -> ColumnWords | None:
        """The words by which values are compared, if they are."""
        return None

    @abstractmethod
    def comparison(
        self, column: Coded, shares: Shares | None, words: ColumnWords | None
    ) -> Compare:
        """A function of two lists of codes, which returns levels."""


def whole_view(column: Coded) -> BlockingView:
    """The view of whole values."""
    return BlockingView("=", np.arange(len(column.values), dtype=np.int32)[:, None])


def _by_texts(loop: Callable[..., None], column: Coded) -> Compare:
    """A comparison of the texts of a column by a native loop."""
    symbols, starts = column.symbols.texts
    bits = column.bits

    def compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        out = np.empty(len(a), np.uint8)
        loop(symbols, starts, bits, a, b, out)
        return out

    return compare


def _by_words(loop: Callable[..., None], words: ColumnWords, weights: np.ndarray) -> Compare:
    """A comparison of the words of a column by a native loop."""
    spelled = words.symbols

    def compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        out = np.empty(len(a), np.uint8)
        loop(words.words, words.starts, weights, *spelled.texts, words.numbers, a, b, out)
        return out

    return compare


def _rare(column: Coded, hashes: np.ndarray, starts: np.ndarray, keep: int) -> np.ndarray:
    out = np.empty((len(column.values), keep), np.int32)
    _native.link_rare_parts(hashes, starts, column.counts, out)
    return out


def _rare_runs(column: Coded, length: int, keep: int) -> np.ndarray:
    symbols, starts, classes = column.symbols
    hashes, firsts = _native.link_runs(symbols, starts, classes, length)
    return _rare(column, hashes, firsts, keep)


def _numbered(parts: list[list[str]]) -> np.ndarray:
    """Named parts of each value as numbers."""
    known: dict[str, int] = {}
    out = np.full((len(parts), max(map(len, parts), default=1) or 1), -1, np.int32)
    for i, some in enumerate(parts):
        for k, part in enumerate(some):
            out[i, k] = known.setdefault(part, len(known))
    return out


class _Category(LinkKind):
    name, said, stands, levels = "category", "equal or not", True, ()

    def comparison(
        self, column: Coded, shares: Shares | None, words: ColumnWords | None
    ) -> Compare:
        def compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            found = np.where(a == b, EQUAL, DIFFER)
            return np.where((a < 0) | (b < 0), GONE, found).astype(np.uint8)

        return compare


class _Name(LinkKind):
    name, said, swaps, stands = "name", "by Jaro and Winkler's similarity", True, True

    def parts(self, column: Coded) -> list[BlockingView]:
        return [BlockingView("~", _rare_runs(column, 4, RARE))]

    def comparison(
        self, column: Coded, shares: Shares | None, words: ColumnWords | None
    ) -> Compare:
        return _by_texts(_native.link_names, column)


class _Text(LinkKind):
    name, said, swaps, stands = "text", "by its words, rare ones first", True, True

    def parts(self, column: Coded) -> list[BlockingView]:
        words = column.words
        rare = _rare(column, words.hashes[words.words], words.starts, RARE)
        pairs = []
        for i, j in ((0, 1), (0, 2), (1, 2)):
            low = np.minimum(rare[:, i], rare[:, j]).astype(np.int64)
            high = np.maximum(rare[:, i], rare[:, j])
            pairs.append(np.where(low < 0, -1, (low * 1000003 + high) & 0x7FFFFFFF))
        return [
            BlockingView("~", rare),
            BlockingView("run", _rare_runs(column, RUN, RUNS)),
            BlockingView("words", np.stack(pairs, axis=1).astype(np.int32)),
        ]

    def words_of(self, column: Coded) -> ColumnWords | None:
        return column.words

    def comparison(
        self, column: Coded, shares: Shares | None, words: ColumnWords | None
    ) -> Compare:
        assert words is not None
        assert shares is not None
        weights = np.minimum(-np.log2(shares.at(words.hashes)), MOST_WEIGHT) + 0.1
        return _by_words(_native.link_texts, words, weights.astype(np.float32))


class _Digits(LinkKind):
    name, said, levels = "digits", "by edits of one or two signs", (1, 3, 4)

    def hint(self, texts: list[str]) -> str:
        """The letters before the digits, as of a country, where most values have the same."""
        bare = Counter(re.sub(r"[\W_]+", "", text) for text in texts[:SAMPLE])
        before = Counter(LEADING.match(text)[0] for text in bare)  # type: ignore[index]
        letters, times = max(before.items(), key=lambda item: item[1], default=("", 0))
        return letters if times > SHARE * len(bare) else ""

    def read(self, texts: list[str], hint: str) -> list[str]:
        bare = (re.sub(r"[\W_]+", "", text) for text in texts)
        return [text.removeprefix(hint) or given for text, given in zip(bare, texts)]

    def parts(self, column: Coded) -> list[BlockingView]:
        # of long ones the last signs, whatever stands before them
        halves = [
            ["a" + text[: (len(text) + 1) // 2],
             "b" + (text[-LAST:] if len(text) >= LONG else text[len(text) // 2 :])]
            * (len(text) >= 4)
            for text in column.values
        ]  # fmt: skip
        return [BlockingView("~", _numbered(halves))]

    def comparison(
        self, column: Coded, shares: Shares | None, words: ColumnWords | None
    ) -> Compare:
        return _by_texts(_native.link_digits, column)


class _Date(LinkKind):
    name, said = "date", "by year, month and day, and edits of digits"

    def hint(self, texts: list[str]) -> str:
        """How day, month and year follow each other."""
        return order_of(texts[:1000])[0]

    def read(self, texts: list[str], hint: str) -> list[str]:
        found = [as_date(text, hint) for text in texts]
        return [text if date is None else date for text, date in zip(texts, found)]

    def parts(self, column: Coded) -> list[BlockingView]:
        parts = [
            ["d" + text[:6], "m" + text[:4] + text[6:], "y" + text[4:]] * _is_date(text)
            for text in column.values
        ]
        return [BlockingView("~", _numbered(parts))]

    def comparison(
        self, column: Coded, shares: Shares | None, words: ColumnWords | None
    ) -> Compare:
        return _by_texts(_native.link_dates, column)


class _Number(LinkKind):
    name, said, counts = "number", "by the difference, in shares of the larger one", False

    def read(self, texts: list[str], hint: str) -> list[str]:
        return [text if number is None else f"{number:.12g}"
                for text, number in zip(texts, map(number_in, texts))]  # fmt: skip

    def comparison(
        self, column: Coded, shares: Shares | None, words: ColumnWords | None
    ) -> Compare:
        known = [number_in(text) for text in column.values]
        numbers = np.array([np.nan if x is None else x for x in known] + [np.nan], float)
        by_signs = _by_texts(_native.link_digits, column)

        def compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            levels = by_signs(a, b)
            x, y = numbers[a], numbers[b]
            with np.errstate(invalid="ignore"):
                apart = abs(x - y) / np.maximum(np.maximum(abs(x), abs(y)), 1e-12)
                near = np.select([apart <= e for e in (0.001, 0.03, 0.1, 0.3)], [4, 3, 2, 1], 0)
            levels = np.where((levels < EQUAL) & (levels != 4), near, levels)
            return levels.astype(np.uint8)

        return compare


class _Numbers(LinkKind):
    """The runs of digits in a text: sizes, models, house numbers."""

    name, said, counts, levels = "numbers in a text", "all, some or none in common", True, (2, 4)

    def views(self, column: Coded) -> list[BlockingView]:
        return []  # those of the text hold them

    def words_of(self, column: Coded) -> ColumnWords | None:
        return column.words

    def comparison(
        self, column: Coded, shares: Shares | None, words: ColumnWords | None
    ) -> Compare:
        assert words is not None
        return _by_words(_native.link_sets, words, np.ones(len(words.hashes), np.float32))


CATEGORY, NAME, TEXT, DIGITS, DATE, NUMBER = (
    _Category(), _Name(), _Text(), _Digits(), _Date(), _Number(),
)  # fmt: skip
NUMBERS = _Numbers()
GIVEN = {kind.name: kind for kind in (CATEGORY, NAME, TEXT, DIGITS, DATE, NUMBER)}
KINDS = GIVEN | {NUMBERS.name: NUMBERS}


# --- which kind it is -----------------------------------------------------------------------------

YEAR_FIRST = re.compile(r"(\d{4})([-/. ]?)(\d{1,2})\2(\d{1,2})(?:[t ]\d.*)?")
YEAR_LAST = re.compile(r"(\d{1,2})[-/. ]+(\d{1,2})[-/. ]+(\d{4})")
DIGITS_ONLY = re.compile(r"[\d\s().+/-]*\d[\d\s().+/-]*")
CODE = re.compile(r"(?=.*\d)[^\W_]+(?:[-/.][^\W_]+)*")
DECIMAL = re.compile(r"[$€£]?\s?[+-]?\d*[.,]\d+|[$€£]\s?\d+|\d*[.,]\d+\s?[$€£]")
CURRENCY = re.compile(r"[$€£]|(?:usd|eur|gbp|chf)\b|\b(?:usd|eur|gbp|chf)")


def as_date(text: str, order: str) -> str | None:
    """A date as yyyymmdd, also a damaged one, such as the month 19; None if it is none.

    Examples
    --------
    >>> as_date("1.2.1984", "dmy"), as_date("1984-19-02", ""), as_date("2 feb 1984", "dmy")
    ('19840201', '19841902', '19840202')
    """
    if found := YEAR_FIRST.fullmatch(text):
        year, mark, month, day = found.groups()
        if not mark and len(month + day) < 4:
            return None
    elif found := YEAR_LAST.fullmatch(text):
        day, month, year = found.groups()
        if order == "mdy":
            day, month = month, day
    elif not any(c.isdigit() for c in text) or text.isdigit():
        return None
    else:
        parsed = as_dates(np.array([text], object), order or "dmy")[0]
        return None if np.isnat(parsed) else str(parsed.astype("datetime64[D]")).replace("-", "")
    if not (1700 <= int(year) <= 2100 and int(month) <= 39 and int(day) <= 39):
        return None
    return f"{year}{int(month):02d}{int(day):02d}"


def _is_date(text: str) -> bool:
    return len(text) == 8 and text.isdecimal()


def number_in(text: str) -> float | None:
    """The number in a text, with or without a currency."""
    found = spelled_number(text)
    return spelled_number(CURRENCY.sub("", text).strip()) if found is None else found


def numbers_in(text: str) -> str:
    """The different runs of digits in a text, in order.

    Examples
    --------
    >>> numbers_in("12 main st, flat 07"), numbers_in("main st")
    ('12 7', '')
    """
    return " ".join(sorted({run.lstrip("0") or "0" for run in re.findall(r"\d+", text)}))


def is_code(text: str) -> bool:
    """Whether a text is one word with digits, or has twice as many digits as letters.

    Examples
    --------
    >>> [is_code(text) for text in ("ab-123", "gb 616 5481 23", "12 main st")]
    [True, True, False]
    """
    digits = sum(map(str.isdigit, text))
    return bool(CODE.fullmatch(text)) or (digits > 0 and digits >= 2 * sum(map(str.isalpha, text)))


def judged(texts: list[str], weights: np.ndarray, different: int, known: int) -> LinkKind:
    """The kind of a column of ``different`` values in ``known`` records, by a sample of them."""
    total = weights.sum()

    def share(of: Callable[[str], Any]) -> float:
        return float(weights[[bool(of(text)) for text in texts]].sum() / total)

    if share(lambda text: as_date(text, "dmy") or as_date(text, "mdy")) > SHARE:
        return DATE
    if share(DIGITS_ONLY.fullmatch) > SHARE or share(number_in) > SHARE:
        if share(DECIMAL.fullmatch) > 0.05 or share(CURRENCY.search) > SHARE / 2:
            return NUMBER
        sizes = np.array([len(text) for text in texts])
        whole = share(str.isdigit) > 1 - 1e-9
        if whole and np.ptp(sizes) >= 2 and (sizes * weights).sum() / total < 6:
            return NUMBER  # amounts: integers of different lengths
        return DIGITS
    if different < FEW and known > OFTEN * different:
        return CATEGORY
    if share(is_code) > SHARE:
        return DIGITS
    words = np.diff(_native.link_words(*Symbols.of(texts))[3])
    return TEXT if (words * weights).sum() / total >= 1.8 else NAME


def is_blank(values: Symbols) -> bool:
    """Whether no value has a letter or a digit."""
    used = values.classes[values.symbols]
    return not ((used > NONE) & (used <= ALONE)).any()


def word_shares(column: Coded) -> Shares | None:
    """How frequent the words of a column are."""
    words = column.kind.words_of(column)
    if words is None:
        return None
    counts = column.counts
    return Shares.of(words.hashes, words.counts(counts), counts.sum())
