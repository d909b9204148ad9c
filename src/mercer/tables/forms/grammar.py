"""What the texts of a column stand for: numbers, times of day or dates, decided once for a column.

`form_of` tries the families of `FAMILIES`. A column in which almost all cells fit
is read by that form, and the others are missing: marks of missing values in silence, others with a
doubt that names them. `WHOLE` is a table of the forms that all cells of a column may have, by which
polars reads it at once. The command types the columns of text files by it (cli/text_types.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from mercer.spoken import written
from mercer.tables.forms.clocks import are_clocks, clock_hours
from mercer.tables.forms.dates import SAID, is_one_zone, moment_in, order_of, zone_minutes
from mercer.tables.forms.numbers import (
    Cell,
    NumberColumn,
    numbers_of,
    numbers_of_shapes,
    units_in,
)
from mercer.tables.forms.spelled import (
    BLANKS,
    COMMA_DIGITS,
    MINUS,
    are_codes,
    is_missing_mark,
    shapes_of,
    signs_of,
    unmarked,
)

MOSTLY = 0.95  # of the cells spell a number or date: the others count as missing
REPEATED = 0.2  # of the cells at most are one text that repeats among numbers
FEW = 10  # different numbers that speak against levels
SAMPLED = 400  # different texts that tell what a column is not
HALF = 0.5
SAME_MONEY = ({"€", "EUR"}, {"$", "US$", "USD"}, {"£", "GBP"}, {"kr", "kr.", "Kr", "SEK"})
FEW_TRIED = 3  # of the most frequent texts, and of others, which show whether a form may fit
DIGIT = re.compile(r"\d")
CODE = re.compile(r"\s*(?:0\d+|\d{5}-\d{4})\s*")  # a number that begins with 0, or ZIP+4
GRADE = re.compile(rf"[0-9][{MINUS}]")  # 2- is a mark, where no number is larger


@dataclass(frozen=True)
class Hints:
    """What a file and its other columns tell of one that does not tell by itself."""

    decimal: str = ""
    order: str = ""  # of day and month in dates
    sure: bool = False  # the order was given by a user
    variants: bool = False  # classes that differ by case or blanks alone are different


class Doubt(NamedTuple):
    """What a reader should know of the way in which cells were read."""

    kind: str  # doubts of one kind are said together
    text: str


@dataclass(frozen=True)
class Read:
    """The texts of a column by one form."""

    kind: str
    values: dict[Any, Any]  # of each different cell; None where it does not fit
    written: dict[str, Any] = field(default_factory=dict)  # fields of a `Column`
    doubts: list[Doubt] = field(default_factory=list)


def form_of(
    counts: Counter, hints: Hints, mostly: float = MOSTLY, families: list[FormFamily] | None = None
) -> Read | None:
    """The form that almost all cells of a column fit; None if there is none.

    ``counts`` are the different values of a column that holds texts, with their numbers of rows.
    ``families`` are what `families_of` says of them, or of more of the same cells.
    """
    families = families_of(counts, hints) if families is None else families
    texts = [value for value in counts if isinstance(value, str)] if families else []
    if not texts or _are_words(counts, texts, mostly):
        return None
    if any(map(CODE.fullmatch, set(shapes_of(texts)))):
        return None
    for family in families:
        found = family.read(counts, hints)
        if _fits(counts, found.values, mostly):
            return found
    return None


def families_of(counts: Counter, hints: Hints) -> list[FormFamily]:
    """The families that a column may have, by some of the cells that have a digit, as all forms do:
    of many cells half fit, and of few any."""
    some = some_of(counts)
    digits = [text for text in some if isinstance(text, str) and DIGIT.search(text)]
    if len(counts) >= 2 * SAMPLED:
        some = Counter({text: some[text] for text in digits})
        return [each for each in FAMILIES if _fits(some, each.read(some, hints).values, HALF)]
    few = [*sorted(digits, key=counts.__getitem__)[-FEW_TRIED:],
           *digits[:: len(digits) // FEW_TRIED + 1]]  # fmt: skip
    return [each for each in FAMILIES if few and each.some(few, hints)]


def some_of(counts: Counter) -> Counter:
    """Some hundreds of the different cells, with the rows that they stand for: each of so many, and
    all that a large part of the rows have."""
    step = max(1, len(counts) // SAMPLED)
    if step == 1:
        return counts
    some = Counter({value: step * counts[value] for value in islice(counts, 0, None, step)})
    total = counts.total()
    if total - len(counts) >= total / SAMPLED - 1:
        often = {value: rows for value, rows in counts.items() if rows >= total / SAMPLED}
        some.update({value: rows - some[value] for value, rows in often.items()})
    return some


def _are_words(counts: Counter, texts: list[str], mostly: float) -> bool:
    """Whether so many of a few texts have no digit that no form fits."""
    if len(texts) >= 2 * SAMPLED:
        return False
    words = unmarked(text for text in texts if not DIGIT.search(text))
    wrong, known = sum(counts[text] for text in words), counts.total()
    return wrong > (1 - mostly) * known and (len(words) > 1 or wrong > REPEATED * known)


def misfits(values: dict[Any, Any]) -> list:
    """The different cells that do not fit, and are no marks of missing values."""
    return [v for v, value in values.items() if value is None and not is_missing_mark(v)]


def _fits(counts: Counter, values: dict[Any, Any], mostly: float) -> bool:
    """Whether enough cells of a column can be read."""
    gone = [v for v, value in values.items() if value is None]
    others = [v for v in gone if not is_missing_mark(v)]
    known = counts.total()
    wrong, lost = (sum(counts[v] for v in group) for group in (others, gone))
    if lost == known or wrong == 0:
        return lost < known
    if wrong <= (1 - mostly) * known:
        return True
    mark = len(others) == 1 and counts[others[0]] > 1 and not re.search(r"\d", str(others[0]))
    if not mark or wrong > REPEATED * known:
        return False
    return len({value for value in values.values() if value is not None}) > FEW


def _plain(value: Any) -> float | None:
    real = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return float(value) if real and np.isfinite(value) else None


def read_clocks(counts: Counter, hints: Hints) -> Read:
    """Times of day, in hours."""
    texts = [value for value in counts if isinstance(value, str)]
    values = {v: clock_hours(v) if isinstance(v, str) else None for v in counts}
    if not are_clocks(texts):
        values = dict.fromkeys(counts)
    return Read("time", values)


def read_numbers(counts: Counter, hints: Hints) -> Read:
    """Numbers, also with units, currencies and limits."""
    texts = [value for value in counts if isinstance(value, str)]
    form = numbers_of(texts, hints.decimal)
    simple = form.simple(texts)
    values: dict[Any, Any] = simple
    numbers, marked = list(simple), dict[str, Cell]()
    if len(simple) < len(counts):
        cells = {text: form.cell(text) for text in texts if text not in simple}
        marked = {text: cell for text, cell in cells.items() if cell is not None}
        read = simple | {text: cell.number for text, cell in marked.items()}
        values = {v: read.get(v) if isinstance(v, str) else _plain(v) for v in counts}
        numbers = [text for text in texts if text in read]
    behind = [text for text in marked if GRADE.fullmatch(text.strip())]
    ranges = [text for text, cell in marked.items() if cell.middle]
    grades = behind and max(len(text.strip()) for text in numbers) <= 2
    labels = [text for text, cell in marked.items() if cell.label]
    few = len(ranges) <= REPEATED * len(values) and 2 * len(labels) <= len(numbers)
    if not few or are_codes(numbers) or grades:
        return Read("number", dict.fromkeys(counts))
    signs = signs_of(marked)
    doubts = []

    def doubt(kind: str, some: list[str], said: str) -> None:
        if some:
            rows = sum(counts[text] for text in some)
            have = f"{rows} cell{' is' if rows == 1 else 's are'}"
            doubts.append(Doubt(kind, f"{have} {said.format(first=repr(some[0]))}"))

    limits = [text for text, cell in marked.items() if cell.limit]
    doubt("limit", limits, "a limit, such as {first}: read as the limit itself, beside a flag")
    doubt("limit", ranges, "a range, such as {first}: read as its middle")
    doubt("label", labels, "a number with words behind it, such as {first}: read as the number")
    strange = [text for text, cell in marked.items() if cell.other]
    sign = {",": "point", ".": "comma"}.get(form.decimal, "")
    doubt(
        "decimal", strange, f"written with a decimal {sign}, unlike the others, such as {{first}}"
    )
    if form.unit:
        without = [text for text in numbers if not units_in(text)]
        doubt(
            "unit",
            without,
            f"without a unit, such as {{first}}: read as {form.unit}, like the others",
        )
    elif "%" in signs:
        without = [text for text in numbers if "%" not in text]
        how = "shares, 0.12 as 12%" if form.shares else "of the same size, 12 as 12%"
        doubt("unit", without, f"without %, which others have, such as {{first}}: read as {how}")
    money = {sign for sign in signs.split() if sign not in ("%", "‰")}
    if len(money) > 1 and not any(money <= same for same in SAME_MONEY):
        several = f"its cells have several currencies, {signs}: their numbers are read as if of one"
        doubts.append(Doubt("currency", several))
    return Read("number", values, {"signs": signs, **_written(form, numbers, hints)}, doubts)


def _written(form: NumberColumn, texts: Iterable[str], hints: Hints) -> dict[str, Any]:
    """How the numbers of a column are written; ``texts`` are these, or their shapes."""
    other = "comma" if hints.decimal != "," else "point"
    both = not form.decimal and re.search(r"\d[.,]\d", "\n".join(texts))
    others = [[f"number:decimal-{other}", "its cells fit both decimal signs"]]
    return asdict(form) | ({"others": others} if both else {})


def simple_numbers(texts: list[str], hints: Hints) -> tuple[dict[str, Any], np.ndarray] | None:
    """How the cells of a column are written and their numbers, if all are digits and points alone.

    `form_of` says the same of such a column, and looks at each different cell.
    """
    form, shapes = NumberColumn(), Counter[str]()
    for some in (texts[:: len(texts) // SAMPLED + 1], texts):
        shapes = Counter(shapes_of(some))
        form = numbers_of_shapes(shapes, hints.decimal)
        if form is None or any(map(CODE.fullmatch, shapes)) or not all(map(form.fits, shapes)):
            return None
    return _written(form, shapes, hints), form.numbers_in(texts)


def read_dates(counts: Counter, hints: Hints) -> Read:
    """Dates, with and without times of day."""
    moments = {v: moment_in(v) if isinstance(v, str) else None for v in counts}
    known = {text: moment for text, moment in moments.items() if moment is not None}
    if not known or all(moment.season for moment in known.values()):
        return Read("date", dict.fromkeys(counts))
    order, sure = order_of(known, hints.order)
    zones = {moment.zone for moment in known.values() if moment.zone}
    local = is_one_zone(zones)
    values: dict[Any, Any] = dict.fromkeys(counts)
    for text, moment in known.items():
        stamp = moment.dates.get(order)
        if stamp is not None and not local:
            stamp = stamp - np.timedelta64(zone_minutes(moment.zone), "m")
        values[text] = stamp
    doubts, others = [], []
    if not sure:
        other = SAID["mdy" if order == "dmy" else "dmy"]
        others = [[f"date:{other}", "all cells fit both orders of day and month"]]
    # 10/03/84 is not told by dates such as 13.02.87
    telling = {_mark(text) for text, m in known.items() if m.open and [*m.dates] == [order]}
    some = [t for t, m in known.items() if m.open and len(m.dates) > 1 and _mark(t) not in telling]
    if some and not hints.sure and (not sure or telling):
        text, which = (
            some[0],
            f"{sum(counts[t] for t in some)} of its dates" if sure else "its dates",
        )
        first, other = ("day", "month") if order == "dmy" else ("month", "day")
        both = f"{which} fit both orders of day and month, and {text!r} is read with the {first}"
        both += (
            f" first, as {known[text].dates[order]!s:.10}; if the {other} is first, give --dates"
        )
        doubts.append(Doubt("order", f"{both} {other}-first"))
    how = {"order": order, "zone": "" if local else "UTC", "others": others}
    return Read("date", values, how, doubts)


def _mark(text: str) -> str:
    """What stands behind the first number of a date."""
    return text.strip().lstrip("0123456789")[:1]


class FormFamily(NamedTuple):
    """Forms that one function reads."""

    read: Callable[[Counter, Hints], Read]
    some: Callable[[list[str], Hints], bool]  # whether any of a few texts has one of the forms


def _any_number(few: list[str], hints: Hints) -> bool:
    form = numbers_of(few, hints.decimal)
    return any(form.cell(text) is not None for text in few)


FAMILIES = (
    FormFamily(read_clocks, lambda few, hints: any(clock_hours(text) is not None for text in few)),
    FormFamily(read_numbers, _any_number),
    FormFamily(read_dates, lambda few, hints: any(moment_in(text) is not None for text in few)),
)


def said_of_misfits(kind: str, some: list[tuple[Any, int]], count: int) -> Doubt:
    """That some cells of a column do not fit its form, with their rows from 1."""
    places = ", ".join(f"{written(value):.40} (row {row})" for value, row in some)
    word = {"date": "date", "time": "time of day"}.get(kind, "number")
    what = f"is no {word}" if count == 1 else f"are no {word}s"
    cells = "1 cell" if count == 1 else f"{count} cells"
    counted = "counts" if count == 1 else "count"
    return Doubt("misfit", f"{cells} {what} and {counted} as missing: {places}")


DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
ZONE = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"
MOMENT = f"^{DAY}" + r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
GROUPED = r"^[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+$"  # points may separate thousands


class WholeForm(NamedTuple):
    """A form of all cells of a column."""

    pattern: str  # as polars and Python read it; "" for cells of the form above, read otherwise
    read: Callable[[Any], Any]  # what becomes of texts, a series or an expression of polars
    cell: str  # an example
    value: str  # what it is read as
    all: bool = True  # whether all cells with this pattern can be read; no 30th of February can


def _points(cells: Any) -> Any:
    return cells.str.strip_prefix("+").cast(float)


def _commas(cells: Any) -> Any:
    bare = cells.str.replace_all(f"[.'’{BLANKS}]", "").str.replace(",", ".", literal=True)
    return _points(bare)


def _long(cells: Any) -> Any:
    from polars import Int128

    return cells.str.strip_prefix("+").cast(Int128)


def _moments(cells: Any, zone: str = "") -> Any:
    whole = cells.str.replace(" ", "T", literal=True)
    whole = whole.str.replace(r"(T\d\d:\d\d)(Z|[+-]|$)", "${1}:00${2}")
    whole = whole.str.replace("Z$", "+00:00") if zone else whole
    return whole.str.to_datetime(f"%Y-%m-%dT%H:%M:%S%.f{zone}", time_unit="us", strict=False)


WHOLE = {
    "boolean": WholeForm(
        "^(?:true|false|True|False|TRUE|FALSE)$",
        lambda cells: cells.str.to_lowercase() == "true",
        "TRUE",
        "True",
    ),
    "integer": WholeForm(
        "^[+-]?[0-9]+$", lambda cells: cells.str.strip_prefix("+").cast(int), "+12", "12"
    ),
    # numbers with a decimal point and nothing else
    "plain": WholeForm(
        r"^[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|NaN)$",
        _points,
        "+1.5e3",
        "1500.0",
    ),
    "long": WholeForm("", _long, "12345678901234567890", "12345678901234567890"),
    "comma number": WholeForm(COMMA_DIGITS, _commas, "1.234,5", "1234.5"),
    "date": WholeForm(
        f"^{DAY}$",
        lambda cells: cells.str.to_date("%Y-%m-%d", strict=False),
        "2024-02-29",
        "2024-02-29",
        all=False,
    ),
    "moment": WholeForm(
        f"{MOMENT}$", _moments, "2024-02-29 12:30", "2024-02-29 12:30:00", all=False
    ),
    "zoned": WholeForm(
        f"{MOMENT}{ZONE}$",
        lambda cells: _moments(cells, "%#z"),
        "2024-02-29T12:30:05+02:00",
        "2024-02-29 10:30:05+00:00",
        all=False,
    ),
    "local": WholeForm(
        "",
        lambda cells: _moments(cells.str.replace(f"{ZONE}$", "")),
        "2024-02-29T12:30:05+02:00",
        "2024-02-29 12:30:05",
    ),
}
