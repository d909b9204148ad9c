"""Levels whose text tells their order: versions, addresses of machines, ranges.

A column of such is one of categories, whose numbers a model reads beside its levels: 1.10.2 comes
after 1.9.7, and "18-24" before "65+".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

from mercer.tables.forms.marks import is_missing_mark
from mercer.tables.forms.numbers import ends_of, spelled_number

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


class Form(NamedTuple):
    """One way in which levels tell their order."""

    number: Callable[[str], float | None]
    cell: str  # an example
    said: str
    #: whether levels, all of which have a number, are of this form beyond doubt
    clear: Callable[[list[str]], bool] = bool


#: the name of a form, which a `Column` keeps -> the form
ORDERED = {
    "address": Form(address_number, "10.0.165.101", "addresses, in the order of their parts"),
    "version": Form(version_number, "1.10.2", "versions, in the order of their parts",
                    lambda texts: any(text.count(".") > 1 for text in texts)),
    "range": Form(range_number, "18-24", "ranges, in the order of their middles", _apart),
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
    texts = [text for text in levels if not is_missing_mark(text)]
    if len(set(texts)) < FEWEST:
        return ""
    for name, form in ORDERED.items():
        if all(form.number(text) is not None for text in texts) and form.clear(texts):
            return name
    return ""
