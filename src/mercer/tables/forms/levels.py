"""Levels whose text tells their order: versions, addresses of machines, ranges.

A column of such is one of categories, whose numbers a model reads beside its levels: 1.10.2 comes
after 1.9.7, and "18-24" before "65+".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice, pairwise
from typing import NamedTuple

from mercer.tables.forms.spelled import LEVELS, ends_of, is_missing_mark, spelled_number

#: words that people put in an order, the lowest first; some of one line make an order too
SCALES = (
    "none, minimal, trace, mild, slight, moderate, severe, critical",
    "never, rarely, seldom, sometimes, often, usually, always",
    "very low, low, medium, moderate, high, very high, extreme",
    "tiny, small, medium, large, huge",
    "xxs, xs, s, m, l, xl, xxl, xxxl",
    "terrible, very bad, bad, poor, fair, average, medium, ok, good, very good, great, excellent",
    "very poor, poor, fair, acceptable, good, very good, ideal",
    "fail, pass, merit, distinction",
    "strongly disagree, disagree, somewhat disagree, neutral, neither agree nor disagree, "
    "undecided, somewhat agree, agree, strongly agree",
    "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
    "very unlikely, unlikely, neutral, likely, very likely",
    "cold, cool, mild, warm, hot",
    "slow, medium, fast",
    "young, adult, old",
    "bronze, silver, gold, platinum",
    "beginner, intermediate, advanced, expert",
    "primary, secondary, tertiary",
)
_SCALES = [scale.split(", ") for scale in SCALES]
FEWEST = 3  # different levels
_VERSION = re.compile(r"[vV]?(\d{1,4}(?:\.\d{1,5}){1,3})(?:[-+._]?[A-Za-z]{1,5}[-.]?\d{0,4})?")
_PHONE = re.compile(r"\d{3}\.\d{3}\.\d{4}")
_ADDRESS = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})")
_OPEN = re.compile(
    r"(?:<=?|>=?|≤|≥|under |below |over |above |less than |more than |up to )\s*(\S*\d\S*)(?: .*)?"
    r"|(\S*\d\S*?) ?(?:\+|and (?:more|over|older|above)|or (?:more|less|older|over))(?: .*)?",
    re.IGNORECASE,
)


def version_number(text: str) -> float | None:
    """A number that orders versions as their parts do; None if the text is none.

    Examples
    --------
    >>> version_number("1.9.7") < version_number("v1.10.2") < version_number("2.0")
    True
    >>> version_number("555.123.4567"), version_number("1.5e3"), version_number("12-345")
    (None, None, None)
    """
    match = _VERSION.fullmatch(text.strip())
    if match is None or _PHONE.fullmatch(match[1]) or re.fullmatch(r"[\d.]+[eE]-?\d+", text):
        return None
    return sum(int(part) / 1e5**i for i, part in enumerate(match[1].split(".")))


def address_number(text: str) -> float | None:
    """The number of an address of a machine; None if the text is none.

    Examples
    --------
    >>> address_number("10.0.0.1"), address_number("10.0.0.256")
    (167772161.0, None)
    """
    match = _ADDRESS.fullmatch(text.strip())
    parts = [int(part) for part in match.groups()] if match else [256]
    return None if max(parts) > 255 else float(sum(p << 8 * (3 - i) for i, p in enumerate(parts)))


def scale_number(text: str) -> float | None:
    """Where a word stands in its scales, from 0 to 1, on average; None if it stands in none.

    Examples
    --------
    >>> scale_number("Low"), scale_number("Very-High") > scale_number("high"), scale_number("red")
    (0.16666666666666666, True, None)
    """
    places = [s.index(word) / (len(s) - 1) for s in _SCALES if (word := _word(text)) in s]
    return sum(places) / len(places) if places else None


def words_in_order(levels: Iterable) -> list | None:
    """Levels from the lowest to the highest, if they are words of one known scale.

    Examples
    --------
    >>> words_in_order(["High", "Low", "Medium"]), words_in_order(["low", "good", "red"])
    (['Low', 'Medium', 'High'], None)
    """
    words = {_word(str(level)): level for level in levels}
    for scale in _SCALES:
        found = [word for word in scale if word in words]
        if len(found) == len(words):
            return [words[word] for word in found]
    return None


def _word(text: str) -> str:
    return " ".join(re.split(r"[\s_-]+", text.strip().lower()))


def range_number(text: str) -> float | None:
    """The middle of a range, or the end of an open one; None if the text is none.

    Examples
    --------
    >>> range_number("18-24"), range_number("65+"), range_number("<18"), range_number("18")
    (21.0, 65.0, 18.0, None)
    """
    ends = ends_of(text)
    if ends is not None:
        return sum(ends) / 2
    match = _OPEN.fullmatch(text.strip()) if len(text) <= 40 else None
    return None if match is None else spelled_number(match[1] or match[2])


def _apart(texts: list[str]) -> bool:
    """Whether ranges do not overlap: numbers of parts and telephones do."""
    ends = sorted(filter(None, map(ends_of, texts)))
    return bool(ends) and all(one[1] <= other[0] for one, other in pairwise(ends))


class LevelForm(NamedTuple):
    """One way in which levels tell their order."""

    number: Callable[[str], float | None]
    cell: str  # an example
    said: str
    #: whether levels, all of which have a number, are of this form beyond doubt
    clear: Callable[[list[str]], bool] = bool


#: the name of a form, which a `Column` keeps -> the form
ORDERED = {
    "address": LevelForm(address_number, "10.0.165.101", "addresses, in the order of their parts"),
    "version": LevelForm(version_number, "1.10.2", "versions, in the order of their parts",
                    lambda texts: any(text.count(".") > 1 for text in texts)),
    "range": LevelForm(range_number, "18-24", "ranges, in the order of their middles", _apart),
    "scale": LevelForm(scale_number, "strongly agree", "words of a scale, in their order",
                  lambda texts: len(words_in_order(texts) or ()) >= FEWEST),
}  # fmt: skip


def order_in(levels: Iterable[str]) -> str:
    """The form in which all levels tell their order; "" if there is none.

    Ranges do not overlap. Versions have three parts, some of them, since two are a number.

    Examples
    --------
    >>> order_in(["1.2.3", "1.10.2", "1.4"]), order_in(["<18", "18-24", "25-64", "65+"])
    ('version', 'range')
    >>> order_in(["12-345", "13-260", "14-999"]), order_in(["1.2", "1.3", "1.4"])
    ('', '')
    """
    kept = (t for t in levels if not is_missing_mark(t) or t.strip().lower() in LEVELS)
    texts = list(islice(kept, FEWEST))  # of most columns they show that there is none
    some = {
        name: form for name, form in ORDERED.items()
        if all(form.number(text) is not None for text in texts)
    }  # fmt: skip
    texts += kept if some else ()
    for name, form in some.items() if len(set(texts)) >= FEWEST else ():
        if all(form.number(text) is not None for text in texts) and form.clear(texts):
            return name
    return ""
