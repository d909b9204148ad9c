"""Dates in texts: a table of their forms, which one row extends, and the order of day and month.

A form is written with the parts of `PARTS`, such as ``{d} {month} {year}``. Every cell of a column
may have a form of its own; what one cell cannot tell, whether 01/02/2024 is a day in January or in
February, the others of its column do: `order_of` finds the order that they fit.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mercer.tables.forms.clocks import seconds_of

#: the months in English, German, French, Spanish, Italian, Portuguese and Dutch, and what they are
#: cut to; each may end in a point
MONTHS = (
    "january januar janvier enero gennaio janeiro januari jan jän jänner janv ene gen",
    "february februar février fevrier febrero febbraio fevereiro februari feb févr fév fevr fev"
    " febr",
    "march märz maerz mars marzo março marco maart mar mär mrz mrt",
    "april avril abril aprile apr avr abr",
    "may mai mayo maggio maio mei mag",
    "june juni juin junio giugno junho jun giu",
    "july juli juillet julio luglio julho jul juil lug",
    "august août aout agosto augustus aug ago",
    "september septembre septiembre settembre setembro sep sept set",
    "october oktober octobre octubre ottobre outubro oct okt ott out",
    "november novembre noviembre novembro nov",
    "december dezember décembre decembre diciembre dicembre dezembro dec dez déc dic",
)
MONTH_OF = {word: i for i, words in enumerate(MONTHS, start=1) for word in words.split()}
WEEKDAYS = (
    "mon(?:day)? tue(?:s(?:day)?)? wed(?:nesday)? thu(?:r(?:s(?:day)?)?)? fri(?:day)? sat(?:urday)?"
    " sun(?:day)? mo(?:ntag)? di(?:enstag)? mi(?:ttwoch)? do(?:nnerstag)? fr(?:eitag)?"
    " sa(?:mstag)? so(?:nntag)? lun(?:di|es|ed[iì])? mar(?:di|tes|ted[iì])? mer(?:credi|coled[iì])?"
    " mié(?:rcoles)? jeu(?:di)? jue(?:ves)? gio(?:ved[iì])? ven(?:dredi|erd[iì])? vie(?:rnes)?"
    " sam(?:edi)? sáb(?:ado)? sab(?:ato)? dim(?:anche)? dom(?:ingo|enica)?"
).replace(" ", "|")
ZONES = "UTC|GMT|CET|CEST|MEZ|MESZ|EST|EDT|CST|CDT|MST|MDT|PST|PDT|BST|WET|EET|EEST|MSK|JST|IST"
PARTS = {
    "y": r"(?P<y>\d{4})",
    "yy": r"'?(?P<yy>\d{2})",
    "year": r"(?:(?P<y>\d{4})|'?(?P<yy>\d{2}))",
    "a": r"(?P<a>\d{1,2})",  # the day or the month, as the order says
    "b": r"(?P<b>\d{1,2})",
    "m": r"(?P<m>\d{1,2})",
    "mm": r"(?P<m>\d{2})",
    "d": r"(?P<d>\d{1,2})",
    "dd": r"(?P<d>\d{2})",
    "month": r"(?P<name>[^\W\d_]{3,10})\.?",
    "weekday": rf"(?:(?:{WEEKDAYS})\.?,? +)?",
    "q": r"(?P<q>[1-4])",
    "h": r"(?P<h>[12])",
    "w": r"(?P<w>\d{2})",
    "s": r"(?P<s>[-/.])",  # a mark that stands twice
    "S": r"(?P=s)",
    "time": r"(?:(?:T| +|, +|[- ]+at +)(?P<H>\d{1,2})(?::?(?P<M>\d{2})(?::?(?P<S>\d{2})"
            r"(?:[.,]\d+)?)?)?"
            r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?{zone})?",
    "clock": r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,]\d+)?)?"
             r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?",
    "zone": rf"(?: *(?P<zone>Z|[+-]\d{{2}}(?::?\d{{2}})?|(?:{ZONES})(?:[+-]\d{{1,2}})?))?"
            r"(?: ?\([A-Za-z ]+\)| ?\[[\w/]+\])?",
}  # fmt: skip


class DateForm(NamedTuple):
    """One way to write a date."""

    form: str
    cell: str  # an example
    date: str  # what it is read as, with the day first where the order is open
    asked: bool = False  # read only where a user says that the column holds dates


FORMS = (
    DateForm("{y}{s}{m}{S}{d}{time}", "2024-02-29T12:30:05,250+02", "2024-02-29T12:30:05"),
    DateForm("{y}{mm}{dd}T{H}{zone}", "20240229T123005Z", "2024-02-29T12:30:05"),
    DateForm("{weekday}{a}{s}{b}{S}{y}{time}", "29/02/2024 1:05 PM", "2024-02-29T13:05:00"),
    DateForm("{a}{s}{b}{S}{yy}{time}", "29.02.24", "2024-02-29T00:00:00"),
    DateForm("{clock},? {a}{s}{b}{S}{y}", "13:05 29/02/2024", "2024-02-29T13:05:00"),
    DateForm("{weekday}{d}(?:[.]|st|nd|rd|th|er|º|ª)?(?:[-/ .]| +de +| +of +){month}"
         "(?:[-/ .,]+|,? +de[l]? +){year}{time}", "29-Feb-2024", "2024-02-29T00:00:00"),
    DateForm("{weekday}{month}[- ]{d}(?:st|nd|rd|th)?,?[- ]+{y}{time}", "February 29, 2024",
         "2024-02-29T00:00:00"),
    DateForm("{y}[-/ .]{month}[-/ .]{d}{time}", "2024-Feb-29", "2024-02-29T00:00:00"),
    DateForm(r"\[?{d}/{month}/{y}:{clock}{zone}\]?", "[29/Feb/2024:12:30:05 +0000]",
         "2024-02-29T12:30:05"),
    DateForm("{weekday}{month} +{d} {clock}(?: (?:{zones}))? {y}", "Thu Feb 29 12:30:05 2024",
         "2024-02-29T12:30:05"),
    DateForm("{y}[-/]{mm}", "2024-02", "2024-02-01T00:00:00"),
    DateForm("{m}[/.]{y}", "02/2024", "2024-02-01T00:00:00"),
    DateForm("{month}(?:[-/.']|,? +){y}", "February 2024", "2024-02-01T00:00:00"),
    DateForm("{month}(?:[-/.]| ?'){yy}", "Feb-24", "2024-02-01T00:00:00"),
    DateForm("{y}[-/ ]{month}", "2024-Feb", "2024-02-01T00:00:00"),
    DateForm("{y}[-/ ]?Q{q}", "2024Q1", "2024-01-01T00:00:00"),
    DateForm("Q{q}[-/ ]?{y}", "Q1 2024", "2024-01-01T00:00:00"),
    DateForm("{q}[.]? ?(?:Q|Quartal)[-/ ]?{y}", "1Q2024", "2024-01-01T00:00:00"),
    DateForm("{y}[-/ ]?H{h}", "2024H2", "2024-07-01T00:00:00"),
    DateForm("H{h}[-/ ]?{y}", "H2 2024", "2024-07-01T00:00:00"),
    DateForm("{h}[.]? ?H[-/ ]?{y}", "2H 2024", "2024-07-01T00:00:00"),
    DateForm("{y}[- ]?W{w}(?:-?(?P<wd>[1-7]))?", "2024-W09", "2024-02-26T00:00:00"),
    DateForm("(?:KW|CW|W|Week) ?{w}[-/ ]{y}", "KW 09/2024", "2024-02-26T00:00:00"),
    DateForm("{y}{mm}{dd}(?:{H})?", "20240229", "2024-02-29T00:00:00", asked=True),
    DateForm("{y}-(?P<yd>\\d{3})", "2024-060", "2024-02-29T00:00:00", asked=True),
    DateForm("{y}", "2024", "2024-01-01T00:00:00", asked=True),
)  # fmt: skip
#: six digits of the time of day
_COMPACT = r"(?P<H>\d{2})(?P<M>\d{2})(?P<S>\d{2})?(?:[.,]\d+)?"
ORDERS = ("ymd", "dmy", "mdy")
SAID = {"dmy": "day-first", "mdy": "month-first", "ymd": "year-first"}
PIVOT = 69  # 68 is 2068, 69 is 1969
HOUR = 60  # minutes
FEWEST_STEPS = 8  # different dates that tell their order by their steps
DAY_FIRST = re.compile(r"\d{1,2}\.\d{1,2}\.\d{2,4}\b.*")  # nobody writes 02.29.2024


#: parts that a text must show, or no form that has them is tried
SHOWN = {"{y}": re.compile(r"\d{4}"), "{month}": re.compile(r"[^\W\d_]{3}")}


@cache
def _patterns() -> list[tuple[re.Pattern, bool, set[str]]]:
    """The pattern of each form, whether it must be asked for, and the parts of `SHOWN` in it."""
    parts = {**PARTS, "H": _COMPACT, "zones": ZONES}
    found = []
    for form in FORMS:
        pattern = form.form
        for name in ("time", *(n for n in parts if n != "time")):
            pattern = pattern.replace("{" + name + "}", parts[name])
        shown = {part for part in SHOWN if part in form.form}
        found.append((re.compile(pattern, re.IGNORECASE), form.asked, shown))
    return found


class Moment(NamedTuple):
    """What a text says of a date: two readings, where the order of day and month is open."""

    dates: dict[str, np.datetime64]  # by the orders that it fits
    zone: str | None = None
    season: bool = False  # such as 2011-12, which may be two years
    open: bool = False  # the order of its numbers cannot be seen


def moment_in(text: str, asked: bool = False) -> Moment | None:
    """What a text says of a date; None if it is none.

    ``asked`` also takes what mostly is no date, such as 20240229 and 2024.
    """
    text = text.strip()
    if len(text) > 60 or not any(c.isdigit() for c in text):
        return None
    lacking = {part for part, pattern in SHOWN.items() if not pattern.search(text)}
    for pattern, only_asked, shown in _patterns():
        if (only_asked and not asked) or shown & lacking:
            continue
        match = pattern.fullmatch(text)
        found = None if match is None else _moment(match.groupdict())
        if found is not None:
            return found
    return None


def _moment(parts: dict[str, str | None]) -> Moment | None:
    """The date and time in parts of a text, in each order of day and month that is possible."""
    seconds = seconds_of(parts)
    if seconds is None:
        return None
    clock = np.timedelta64(int(seconds), "s")
    zone = parts.get("zone")
    zone = "Z" if zone and zone.upper() in ("UTC", "GMT") else zone
    if parts.get("a"):
        a, b = int(parts["a"] or 0), int(parts["b"] or 0)
        year = _year(parts)
        tried = {"dmy": (year, b, a), "mdy": (year, a, b)}
        dates = {order: day for order, given in tried.items() if (day := _day(*given))}
        return (
            Moment({o: day + clock for o, day in dates.items()}, zone, open=True) if dates else None
        )
    day = _one_day(parts)
    if day is None:
        return None
    year, month = _year(parts), parts.get("m")
    season = bool(month and not parts.get("d") and (year + 1) % 100 == int(month))
    return Moment(dict.fromkeys(ORDERS, day + clock), zone, season)


def _one_day(parts: dict[str, str | None]) -> np.datetime64 | None:
    """The day of a text that says which number is the month; the first one of longer spans."""
    year = _year(parts)
    if parts.get("q"):
        return _day(year, 3 * int(parts["q"] or 0) - 2, 1)
    if parts.get("h"):
        return _day(year, 6 * int(parts["h"] or 0) - 5, 1)
    if parts.get("w"):
        try:
            day = datetime.date.fromisocalendar(
                year, int(parts["w"] or 0), int(parts.get("wd") or 1)
            )
        except ValueError:
            return None
        return np.datetime64(day, "s")
    if parts.get("yd"):
        days = int(parts["yd"] or 0)
        first = _day(year, 1, 1)
        return first + np.timedelta64(days - 1, "D") if first and 1 <= days <= 366 else None
    name = parts.get("name")
    month = MONTH_OF.get(name.lower(), 0) if name else int(parts.get("m") or 1)
    return _day(year, month, int(parts.get("d") or 1))


def _year(parts: dict[str, str | None]) -> int:
    if parts.get("y"):
        return int(parts["y"] or 0)
    short = int(parts.get("yy") or 0)
    return short + (2000 if short < PIVOT else 1900)


def _day(year: int, month: int, day: int) -> np.datetime64 | None:
    try:
        return np.datetime64(datetime.date(year, month, day), "s")
    except ValueError:
        return None


def spelled_date(
    text: str, order: str = "ymd", local: bool = False, asked: bool = False
) -> np.datetime64 | None:
    """The date or time in a text; None if there is none.

    ``order`` says how day, month and year follow where the text does not: "dmy" or "mdy"; with
    "ymd", such texts are none. A time with a time zone is converted to UTC, or is as it stands if
    it is wanted ``local``.

    Examples
    --------
    >>> spelled_date("2024-02-29 12:30"), spelled_date("29.2.2024"), spelled_date("2023-02-29")
    (np.datetime64('2024-02-29T12:30:00'), None, None)
    >>> spelled_date("2/29/2024 1:05 PM", "mdy"), spelled_date("29. Feb. 2024")
    (np.datetime64('2024-02-29T13:05:00'), np.datetime64('2024-02-29T00:00:00'))
    >>> spelled_date("29.2.2024", "dmy"), spelled_date("2024-02-29T01:00+02:00")
    (np.datetime64('2024-02-29T00:00:00'), np.datetime64('2024-02-28T23:00:00'))
    """
    moment = moment_in(text, asked)
    stamp = None if moment is None else moment.dates.get(order)
    if stamp is None or moment is None:
        return None
    return stamp if local else stamp - np.timedelta64(zone_minutes(moment.zone), "m")


def zone_minutes(zone: str | None) -> int:
    """How far a zone is before UTC: 120 for "+02:00", 0 for "Z", names and None.

    Examples
    --------
    >>> zone_minutes("-0330"), zone_minutes("+02"), zone_minutes("Z")
    (-210, 120, 0)
    """
    if zone is None or not re.fullmatch(r"[+-]\d{2}(?::?\d{2})?", zone):
        return 0
    minutes = int(zone[1:3]) * 60 + (int(zone[-2:]) if len(zone) > 3 else 0)
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
    found = (moment_in(text) for text in texts)
    return {moment.zone for moment in found if moment and moment.zone}


def order_of(texts: Iterable[str], usual: str = "") -> tuple[str, bool]:
    """The order of day, month and year that dates use, and whether they tell it.

    It is the order that most texts can be read by. Where several are equal, it is the ``usual``
    one, else the day is first.

    Examples
    --------
    >>> order_of(["01/02/2024", "29/02/2024"]), order_of(["01/02/2024", "02/29/2024"])
    (('dmy', True), ('mdy', True))
    >>> order_of(["01/02/2024"]), order_of(["01/02/2024"], "mdy"), order_of(["01.02.2024"])
    (('dmy', False), ('mdy', False), ('dmy', True))
    """
    reads: dict[str, int] = dict.fromkeys(ORDERS, 0)
    some = [(text, moment) for text in texts if (moment := moment_in(text, asked=True))]
    for _, moment in some:
        for order in moment.dates:
            reads[order] += 1
    most = max(reads.values())
    best = [order for order in ORDERS if reads[order] == most]
    if "ymd" in best and not any(moment.open for _, moment in some):
        return "ymd", True
    both = [order for order in best if order != "ymd"]
    if len(both) < 2:
        return (both or best)[0], True
    dots = all(DAY_FIRST.fullmatch(text.strip()) for text, moment in some if moment.open)
    if dots:
        return "dmy", True
    return usual if usual in both else "dmy", False


def order_of_steps(texts: Iterable[str]) -> str:
    """The one order of day and month by which dates rise or fall from row to row, or have even
    steps; "" if both do, or none.

    Examples
    --------
    >>> order_of_steps([f"0{m}/01/2021" for m in range(1, 10)])
    ''
    >>> order_of_steps([f"0{m}/0{d}/2021" for m in (1, 2, 3) for d in (1, 5, 9)])
    'mdy'
    """
    moments = [moment for text in dict.fromkeys(texts) if (moment := moment_in(text))]
    if len(moments) < FEWEST_STEPS:
        return ""
    both = ORDERS[1:]
    dates = {o: np.array([m.dates[o] for m in moments if o in m.dates]) for o in both}
    for fits in (_rise, _are_even):
        found = [order for order in both if fits(dates[order])]
        if len(found) == 1:
            return found[0]
    return ""


def _rise(dates: np.ndarray) -> bool:
    steps = np.diff(dates.astype(np.int64))
    return bool((steps > 0).all() or (steps < 0).all())


def _are_even(dates: np.ndarray) -> bool:
    """Whether sorted dates have one step, of seconds or of months."""
    dates = np.unique(dates)
    months = dates.astype("datetime64[M]")
    within = len(np.unique(dates - months)) == 1
    steps = np.diff(months.astype(np.int64)) if within else np.diff(dates.astype(np.int64))
    return len(np.unique(steps)) == 1


def utc(value: object) -> Any:
    """A date of Python, converted to UTC and without its time zone."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    return value
