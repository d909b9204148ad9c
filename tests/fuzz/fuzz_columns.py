"""Bytes as a column of a table: values in a form of the grammar, with marks, misfits and noise.

`one_input` makes a column whose values it knows, has Mercer read it, and compares each cell. A cell
of a form is read back equal. Or the column is refused: its cells stay texts, of which nobody makes
other numbers. Or its record names what was doubtful. Another value in silence is a failure. What
is read by the form of one half of the cells gives the same values, or none, for the other half.
The writers below are a second, plain statement of the grammar: they share nothing with the reader.
``PYTHONPATH=tests python -m fuzz.fuzz_columns --count 200000 --seed 0`` is the run that is stated
in the documentation.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fuzz.driver import Source, fuzz
from mercer.tables import infer_columns

EPOCH = datetime.datetime(1970, 1, 1)
MARKS = ["", "NA", "n/a", "-", "?", "NULL", "nan", "#N/A", "n.d.", "(null)", "\\N", "none", "k.A."]
MISFITS = [
    "broken",
    "see below",
    "low",
    "err",
    "x",
    "12 or so",
    "1-2-3",
    "a12",
    "12:",
    "4..5",
    "?7",
]
ENGLISH = "January February March April May June July August September October November December"
GERMAN = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
FRENCH = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"


class Form(NamedTuple):
    """One way to write values: how one is drawn, written, and what it is then."""

    kind: str  # "number", "date", "time", or "texts", of which no number may be made
    draw: Callable[[], Any]
    write: Callable[[Any], str]
    expect: Callable[[Any], Any] = lambda value: value
    #: the form is also the usual one of other values, which the reader may take if it is written
    #: in the record that others fit
    open: bool = False


def grouped(digits: str, mark: str) -> str:
    parts = []
    while len(digits) > 3:
        digits, part = digits[:-3], digits[-3:]
        parts.insert(0, part)
    return mark.join([digits, *parts])


def decimals(rng: random.Random) -> Form:
    """Numbers: signs, groups, decimal signs, currencies, per cent and exponents."""
    point = rng.choice(".,")
    mark = rng.choice(["", "", {".": ",", ",": "."}[point], " ", "\u202f", "'"])
    places, size = rng.choice([0, 1, 2, 2, 3]), rng.choice([9, 1e3, 1e5, 1e7])
    minus = rng.choice(["-{}", "-{}", "\u2212{}", "({})", "{}-"])
    around = rng.choice(["{}"] * 6 + ["{}%", "{} %", "${}", "{} €", "EUR {}", "{} kr", "£{}"])
    negative = rng.random() < 0.5

    def draw() -> float:
        value = round(rng.uniform(-size if negative else 0, size), places)
        return value + 0.0

    def write(value: float) -> str:
        whole, _, rest = f"{abs(value):.{places}f}".partition(".")
        text = around.format(grouped(whole, mark) + (point + rest if rest else ""))
        return minus.format(text) if value < 0 else text

    # 1,234 and 5,678 alone may have three places, or be whole: nothing tells
    return Form("number", draw, write, open=places in (0, 3))


def exponents(rng: random.Random) -> Form:
    how = rng.choice(["{:.3e}", "{:.2E}", "{:.4g}"])
    scale = rng.choice([1e-9, 1e12, 1.0])
    return Form("number", lambda: float(how.format(rng.gauss(0, scale))), how.format)


def indian(rng: random.Random) -> Form:
    def write(value: float) -> str:
        digits = str(int(value))
        head, tail = digits[:-3], digits[-3:]
        parts = []
        while head:
            head, part = head[:-2], head[-2:]
            parts.insert(0, part)
        return ",".join([*parts, tail])

    return Form("number", lambda: float(rng.randint(1, 10**8)), write)


UNITS = [{"g": 1.0, "kg": 1e3, "mg": 1e-3}, {"cm": 1.0, "mm": 0.1, "km": 1e5},
         {"s": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0}, {"MB": 1.0, "GB": 1e3, "kB": 1e-3},
         {"°C": 1.0}, {"years": 1.0}, {"mmol/l": 1.0}, {"pcs": 1.0}]  # fmt: skip
SIZE_OF = {unit: size for family in UNITS for unit, size in family.items()}


def quantities(rng: random.Random) -> Form:
    """Numbers with a unit, or with several of one dimension."""
    family = rng.choice(UNITS)
    units = [*family] if rng.random() < 0.4 else [rng.choice([*family])]
    blank = rng.choice(["", " "])
    return Form(
        "number",
        lambda: (round(rng.uniform(0.1, 90), 1), rng.choice(units)),
        lambda value: f"{value[0]}{blank if len(value[1]) > 1 else ' '}{value[1]}",
        lambda value: value[0] * family[value[1]],
    )


def amounts(rng: random.Random) -> Form:
    sizes = {"k": 1e3, "M": 1e6, "bn": 1e9}
    sign = rng.choice(["", "$", "€"])
    return Form(
        "number",
        lambda: (round(rng.uniform(1, 90), 1), rng.choice([*sizes])),
        lambda value: f"{sign}{value[0]}{value[1]}",
        lambda value: value[0] * sizes[value[1]],
    )


def dates(rng: random.Random) -> Form:
    """Dates with and without times; names of months in three languages."""
    names = rng.choice([ENGLISH, GERMAN, FRENCH]).split()
    cut = rng.choice([None, 3]) if names[0] == "January" else None
    spell = rng.choice([str, str.upper, str.lower])
    form = rng.choice([
        "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y",
        "%d.%m.%y", "%m/%d/%y", "%d NAME %Y", "%d. NAME %Y", "NAME %d, %Y", "%d-NAME-%Y",
        "%Y-NAME-%d",
    ])  # fmt: skip
    clock = rng.choice(
        ["", "", "T%H:%M:%S", " %H:%M", " %I:%M %p", "T%H:%M:%SZ", " %H:%M:%S+02:00"]
    )
    plain = rng.random() < 0.3  # without zeros in front

    def draw() -> datetime.datetime:
        return EPOCH + datetime.timedelta(minutes=rng.randrange(50 * 525_600))

    def write(day: datetime.datetime) -> str:
        name = spell(names[day.month - 1][:cut])
        text = form.replace("%d", f"{day.day}") if plain and "%Y-%m" not in form else form
        return day.strftime(text + clock).replace("NAME", name)

    def expect(day: datetime.datetime) -> np.datetime64:
        found = day.replace(second=0) if clock else datetime.datetime(day.year, day.month, day.day)
        return np.datetime64(found, "s")

    return Form("date", draw, write, expect, open="%Y-" not in form and "NAME" not in form)


def spans_of_a_year(rng: random.Random) -> Form:
    """Months, quarters and weeks."""
    form = rng.choice(
        ["{y}-{m:02d}", "{m:02d}/{y}", "{name} {y}", "{y}Q{q}", "Q{q} {y}", "{y}-W{w:02d}"]
    )

    def expect(value: tuple[int, int]) -> np.datetime64:
        year, month = value
        if "{w" in form:
            return np.datetime64(datetime.date.fromisocalendar(year, 4 * month, 1), "s")
        month = month if "{q}" not in form else 3 * ((month - 1) // 3) + 1
        return np.datetime64(datetime.date(year, month, 1), "s")

    return Form(
        "date",
        lambda: (rng.randint(1975, 2035), rng.randint(1, 12)),
        lambda v: form.format(y=v[0], m=v[1], q=(v[1] + 2) // 3, w=4 * v[1],
                              name=ENGLISH.split()[v[1] - 1]),
        expect,
    )  # fmt: skip


def clocks(rng: random.Random) -> Form:
    form = rng.choice(["%H:%M", "%I:%M %p", "%H:%M:%S", "%Hh%M", "%I %p"])
    whole = form == "%I %p"

    def draw() -> datetime.datetime:
        return EPOCH + datetime.timedelta(minutes=rng.randrange(1440) // (60 if whole else 1) * (
            60 if whole else 1))  # fmt: skip

    return Form("time", draw, lambda t: t.strftime(form), lambda t: t.hour + t.minute / 60)


def lengths(rng: random.Random) -> Form:
    """Lengths of time, in seconds."""

    def write(value: int) -> str:
        hours, rest = divmod(value, 3600)
        return form.format(h=hours, m=rest // 60, s=rest % 60, d=hours // 24, r=hours % 24)

    form = rng.choice(["{h}:{m:02d}:{s:02d}", "PT{h}H{m}M{s}S", "{d} days {r:02d}:{m:02d}:{s:02d}"])
    # up to a day, 22:17:14 is a time of day too
    return Form("number", lambda: rng.randrange(86_400, 400_000), write, float)


def texts(rng: random.Random) -> Form:
    """Cells of which no number and no date is to be made."""
    digit = lambda n: "".join(rng.choices("0123456789", k=n))  # noqa: E731
    make = rng.choice([
        lambda: f"0{digit(4)}", lambda: f"{rng.randint(90, 190)} {rng.randint(50, 99)}",
        lambda: f"{rng.randint(4, 6)}'{rng.randint(0, 11):02d}",
        lambda: f"+49 {digit(3)} {digit(7)}",
        lambda: f"{rng.randint(100, 999)} {digit(3)} {digit(4)}", lambda: f"{digit(5)}-{digit(4)}",
        lambda: f"{rng.randint(1, 9)}.{rng.randint(0, 9)}.{rng.randint(100, 300)}",
        lambda: f"10.0.{rng.randint(0, 255)}.{rng.randint(0, 255)}", lambda: f"A{digit(4)}",
        lambda: f"{rng.randint(10, 99)}{rng.choice('ACDEFX')}", lambda: rng.choice(["yes", "no"]),
        lambda: f"{rng.randint(1, 99)} High Street", lambda: rng.choice(["A-", "B", "B+", "C"]),
        lambda: "".join(rng.choices("acgt", k=20)),
        lambda: f"[{digit(1)}, {digit(1)}, {digit(1)}]",
        lambda: f"{rng.randint(18, 30)}-{rng.randint(31, 65)}", lambda: f"{digit(1)} of {digit(1)}",
        lambda: f"{digit(4)} {digit(4)} {digit(4)} {digit(4)}", lambda: f"v{digit(1)}.{digit(2)}",
    ])  # fmt: skip
    return Form("texts", make, str)


FORMS = (decimals, decimals, exponents, indian, quantities, amounts, dates, dates, spans_of_a_year,
         clocks, lengths, texts, texts)  # fmt: skip
#: doubts and other readings in a record that say what is strange in its cells
SAID = {"limit", "decimal", "unit", "currency", "order", "misfit", "mixed", "dates"}


def one_input(data: bytes) -> str:
    """Make a column, read it and compare; "equal", "said", "refused" or "texts"."""
    s, rng = Source(data), random.Random(data)
    form = s.one_of(FORMS)(rng)
    other = s.one_of(FORMS)(rng) if s.below(8) == 7 else form
    other = other if other.kind == form.kind else form
    cells, values = column(s, rng, form, other)
    if not any(isinstance(value, (float, np.datetime64, str)) for value in values):
        return "empty"
    found = {"x": np.array(cells, object), "size": np.array([rng.random() for _ in cells])}
    record = infer_columns(found)[0]
    doubts = {kind for kind, _ in record.doubts}
    assert doubts <= SAID, doubts
    if not (record.of.numeric or record.of.in_time):
        return "texts" if form.kind == "texts" else "refused"
    read = record.of.read(found["x"], record)
    wrong = [i for i, value in enumerate(values) if not same(read[i], value, record, cells[i])]
    others = {reading.partition(":")[0] for reading, _ in record.others}
    strange = bool(doubts - {"misfit", "mixed"}) or (form.open and record.kind in others)
    strange |= other is not form and (
        form.open or other.open
    )  # in this column, 518,667 has a group
    for i in wrong:
        said = "misfit" in doubts if missing(read[i]) else strange
        assert said, (form.kind, cells[i], values[i], read[i], record.kind, doubts, cells)
    if wrong:
        return "said"
    half = {name: part[: len(cells) // 2] for name, part in found.items()}
    kept = infer_columns(half)[0]
    told = not (kept.doubts or kept.others or form.open or other.open)
    if kept.kind == record.kind and told:
        again = kept.of.read(found["x"], kept)
        for i in range(len(cells) // 2, len(cells)):
            assert again[i] != again[i] or same(again[i], values[i], kept, cells[i]), (
                cells[i],
                again[i],
                kept,
            )
    return "equal"


def column(s: Source, rng: random.Random, form: Form, other: Form) -> tuple[list[str], list[Any]]:
    """The texts of a column, and the value of each: None if it is missing, or no such value.

    Some cells have another form of the same kind.
    """
    rows = 3 + s.below(s.one_of([9, 9, 9, 40]))
    marks = [MARKS[s.below(len(MARKS))] for _ in range(s.below(3))]
    share = s.one_of([0.0, 0.0, 0.03, 0.04, 0.2])
    padded, cased = s.rarely(), s.rarely()
    cells, values = [], []
    for _ in range(rows):
        chance = rng.random()
        if chance < share:
            cells.append(rng.choice(MISFITS))
            values.append(None)
        elif chance < share + 0.1 and marks:
            cells.append(rng.choice(marks))
            values.append(None)
        else:
            used = other if rng.random() < 0.1 else form
            value = used.draw()
            text = used.write(value)
            text = text.upper() if cased and form.kind == "date" else text
            cells.append(rng.choice(["{}", " {}", "{} ", " {}  "]).format(text) if padded else text)
            values.append(used.expect(value) if form.kind != "texts" else text)
    return cells, values


def missing(read: Any) -> bool:
    return bool(np.isnat(read) if isinstance(read, np.datetime64) else np.isnan(read))


def same(read: Any, value: Any, record: Any, cell: str) -> bool:
    """Whether a cell is read as its value; a missing one as missing, and no text as a value."""
    gone = missing(read)
    if value is None or isinstance(value, str) or gone:
        return gone and (value is None or isinstance(value, str))
    if isinstance(read, np.datetime64) != isinstance(value, np.datetime64):
        return False
    if isinstance(read, np.datetime64):
        utc = record.zone == "UTC" and cell.strip().endswith("+02:00")
        return read == value - np.timedelta64(2 * utc, "h")
    size = SIZE_OF.get(record.unit, 1.0)
    return abs(read * size - value) <= 1e-9 * max(1.0, abs(value))


if __name__ == "__main__":
    fuzz(one_input)
