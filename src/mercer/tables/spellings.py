"""Numbers and dates as texts spell them, and how a whole column spells them.

"1,234" is 1234 to some writers and 1.234 to others, "01/02/2024" a day in January or in February. A
single text does not say which, but the others of its column often do: `decimal_of` and `order_of`
find the decimal sign and the order of day, month and year that a column uses, and `spelled_number`
and `spelled_date` read a text by them.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

#: texts that mean a missing number or date, in lower case
MISSING_TEXTS = {"", "?", "-", "--", ".", "na", "n/a", "nan", "nat", "null", "none", "missing"}

CURRENCY = r"(?:[$€£¥₹]|EUR|USD|GBP|CHF)"
BLANKS = " \u00a0\u2009\u202f"  # also those that do not break, which stand in French numbers
_BLANK = f"[{BLANKS}]?"


def _number(thousands: str, decimal: str) -> str:
    """The pattern of a number with these signs, as Python and polars read it.

    Accountants write a negative number in brackets, and some programs its sign at the end.
    """
    whole = rf"(?:[0-9]{{1,3}}(?:[{thousands}'’{BLANKS}][0-9]{{3}})+|[0-9]+)"
    digits = rf"(?:{whole}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    before, after = rf"(?:{CURRENCY}{_BLANK})?", rf"{_BLANK}(?:%|{CURRENCY})?"
    signed = rf"[+-]?{before}[+-]?{digits}{after}"
    return rf"^(?:{signed}|{before}{digits}{after}-|{before}\({before}{digits}{after}\){after})$"


#: patterns of a number with a decimal point and with a decimal comma
POINT_NUMBER = _number(",", r"\.")
COMMA_NUMBER = _number(r"\.", ",")

_POINT, _COMMA = re.compile(POINT_NUMBER), re.compile(COMMA_NUMBER)
_LOOSE = re.compile(
    rf"[+-]?(?:{CURRENCY}{_BLANK})?[+-]?(\d[\d,.'’{BLANKS}]*|[.,]\d+)(e[+-]?\d+)?{_BLANK}"
    rf"(?:%|{CURRENCY})?",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    rf"({CURRENCY}?{_BLANK})\(([^()+-]+)\)({_BLANK}(?:%|{CURRENCY})?)|([^()+-]+)-"
)
_NOT_DIGITS = re.compile(rf"{CURRENCY}|[%'’{BLANKS}]", re.IGNORECASE)
_SIGNS = re.compile(rf"%|{CURRENCY}")
_TIME = r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?: ?([AaPp])\.?[Mm]\.?)?)?"
_TIME += r" ?(Z|[+-]\d{2}:?\d{2})?"
_ZONE = re.compile(r":\d{2}(?:\.\d+)? ?(Z|[+-]\d{2}:?\d{2})$")
HOUR = 60  # minutes
_DATES = {
    "ymd": re.compile(rf"(\d{{4}})[-/.](\d{{1,2}})[-/.](\d{{1,2}}){_TIME}"),
    "dmy": re.compile(rf"(\d{{1,2}})[-/.](\d{{1,2}})[-/.](\d{{4}}){_TIME}"),
    "mdy": re.compile(rf"(\d{{1,2}})[-/.](\d{{1,2}})[-/.](\d{{4}}){_TIME}"),
}
ORDERS = tuple(_DATES)


def is_missing_mark(value: Any) -> bool:
    """Whether a value is a text that means a missing number or date, such as "n/a"."""
    return isinstance(value, str) and value.strip().lower() in MISSING_TEXTS


def spelled_number(text: str, decimal: str = "") -> float | None:
    """The number in a text, or None if the text is not a number, or one that no float holds.

    Thousands can be separated by commas, points, spaces or apostrophes, and "%" and currency signs
    are allowed: "7%" is 7. A negative number may stand in brackets, or have its sign at the end. If
    the text can be a number with the decimal sign ``decimal``, it is that number. Otherwise the
    last comma or point is the decimal sign. Exception: commas that separate groups of three digits,
    without a point and without a 0 at the start, separate thousands.

    Examples
    --------
    >>> [spelled_number(t) for t in ("12.5", "1,200", "1.200,5", "0,5", "-3e2", "7%", "7a", "inf")]
    [12.5, 1200.0, 1200.5, 0.5, -300.0, 7.0, None, None]
    >>> spelled_number("1,200", decimal=","), spelled_number("1.200", decimal=",")
    (1.2, 1200.0)
    >>> spelled_number("($12.30)"), spelled_number("1,234-")
    (-12.3, -1234.0)
    """
    text = text.strip()
    negative = _NEGATIVE.fullmatch(text)
    if negative is not None:
        text = "-" + "".join(part or "" for part in negative.groups()).strip()
    if not _LOOSE.fullmatch(text):
        return None
    fits = bool(decimal) and (_COMMA if decimal == "," else _POINT).match(text) is not None
    text = _NOT_DIGITS.sub("", text)
    if fits:
        comma = decimal == ","
    else:
        comma = text.rfind(",") > text.rfind(".")
        comma = comma and not re.fullmatch(r"[+-]?[1-9]\d{0,2}(,\d{3})+", text)
    text = text.replace(".", "").replace(",", ".") if comma else text.replace(",", "")
    try:
        number = float(text) + 0.0  # (0.00) is 0, and not -0
    except ValueError:  # for example two decimal points
        return None
    return number if math.isfinite(number) else None


def decimal_of(texts: Iterable[str]) -> str:
    """The decimal sign that texts of numbers use: "," or "."; "" if they do not tell.

    Only texts count that are numbers with one of the signs and not with the other.

    Examples
    --------
    >>> decimal_of(["1.200", "0,5"]), decimal_of(["1,200", "0.5"]), decimal_of(["1,200", "7"])
    (',', '.', '')
    """
    commas = points = 0
    for text in texts:
        if "," in text or "." in text:
            text = text.strip()
            comma, point = _COMMA.match(text) is not None, _POINT.match(text) is not None
            commas += comma and not point
            points += point and not comma
    return "," if commas > points else "." if points else ""


def signs_of(texts: Iterable[str]) -> str:
    """The percent and currency signs of texts of numbers, sorted, with blanks between them.

    Examples
    --------
    >>> signs_of(["12%", "7 %", "3"]), signs_of(["EUR 5", "5 €"]), signs_of(["5"])
    ('%', 'EUR €', '')
    """
    return " ".join(sorted({sign for text in texts for sign in _SIGNS.findall(text)}))


def spelled_date(text: str, order: str = "ymd", local: bool = False) -> np.datetime64 | None:
    """The date or time in a text; None if there is none.

    ``order`` says how day, month and year follow: "ymd" (ISO 8601), "dmy" or "mdy". A time with a
    time zone is converted to UTC, or is as it stands if it is wanted ``local``.

    Examples
    --------
    >>> spelled_date("2024-02-29 12:30"), spelled_date("29.2.2024"), spelled_date("2023-02-29")
    (np.datetime64('2024-02-29T12:30:00'), None, None)
    >>> spelled_date("2/29/2024 1:05 PM", "mdy")
    np.datetime64('2024-02-29T13:05:00')
    >>> spelled_date("29.2.2024", "dmy"), spelled_date("2024-02-29T01:00+02:00")
    (np.datetime64('2024-02-29T00:00:00'), np.datetime64('2024-02-28T23:00:00'))
    """
    match = _DATES[order].fullmatch(text.strip())
    if match is None:
        return None
    parts = dict(zip(order, match.group(1, 2, 3)))
    hour, minute, second, half, zone = match.group(4, 5, 6, 7, 8)
    if half:  # 12 AM is midnight, 12 PM is noon
        if not 1 <= int(hour) <= 12:
            return None
        hour = str(int(hour) % 12 + 12 * (half in "Pp"))
    clock = f"{int(hour):02d}:{minute}:{second or '00'}" if hour else "00:00:00"
    day = f"{parts['y']}-{int(parts['m']):02d}-{int(parts['d']):02d}"
    try:
        stamp = np.datetime64(f"{day}T{clock}", "s")
    except ValueError:
        return None
    return stamp if local else stamp - np.timedelta64(zone_minutes(zone), "m")


def zone_minutes(zone: str | None) -> int:
    """How far a zone is before UTC: 120 for "+02:00", 0 for "Z" and None.

    Examples
    --------
    >>> zone_minutes("-0330"), zone_minutes("Z")
    (-210, 0)
    """
    if zone is None or zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return minutes if zone[0] == "+" else -minutes


def is_one_zone(zones: Iterable[str]) -> bool:
    """Whether all zones are of one place, whose clocks may be an hour ahead in summer.

    Examples
    --------
    >>> is_one_zone(["+01:00", "+02:00"]), is_one_zone(["+01:00", "-05:00"])
    (True, False)
    """
    minutes = {zone_minutes(zone) for zone in zones}
    return not minutes or max(minutes) - min(minutes) <= HOUR


def zones_of(texts: Iterable[str]) -> set[str]:
    """The time zones of times that are written as texts."""
    found = (_ZONE.search(text.strip()) for text in texts)
    return {match.group(1) for match in found if match}


def order_of(texts: Iterable[str]) -> str:
    """The order of day, month and year that dates use: "ymd", "dmy" or "mdy".

    It is the order that most texts can be read by; where several are equal, the first of these.

    Examples
    --------
    >>> order_of(["01/02/2024", "29/02/2024"]), order_of(["01/02/2024", "02/29/2024"])
    ('dmy', 'mdy')
    """
    texts = list(texts)
    reads: dict[str, int] = {}
    for order in _DATES:
        reads[order] = sum(spelled_date(text, order) is not None for text in texts)
        if reads[order] == len(texts):
            return order
    return max(reads, key=lambda order: reads[order])


def utc(value: Any) -> Any:
    """A date of Python, converted to UTC and without its time zone."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    return value
