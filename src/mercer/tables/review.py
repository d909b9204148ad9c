"""A review of a table before anything is fitted: what could make a model worse than its score.

Each function looks for one kind of trouble and returns a `Finding` for each that it sees. They
guess: a column that reveals the target may be a good measurement, and the user is to judge.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from mercer.spoken import first_of, spoken
from mercer.tables.column_kinds import level_text, level_texts
from mercer.tables.columns import CODE_NAME, LATITUDE_NAME, Column
from mercer.tables.forms import LEVELS, MISSING_TEXTS
from mercer.tables.values import as_numbers, missing_values

FEWEST_ROWS = 30  # with fewer, chance makes a column reveal the target
TELLS = 0.9995  # of the answers, that a leak candidate tells
SAMPLED, MAY_TELL = 1000, 0.9  # rows, and what a leak tells of them at least
CELLS = 2**18  # numbers that are compared with the target at a time
LEVEL_ROWS = 3  # on average that a level must have, to tell anything
MANY_CLASSES = 100
FEW_OF_A_CLASS = 5
RARE_CLASS = 0.05  # of the rows: accuracy says little where the others are one class
MISSING_WORDS = MISSING_TEXTS - LEVELS
NUMBERED = re.compile(r"^-?\d+[ .:=)-]+(?=\w)")  # a code before its label
RISING = 0.99  # of the steps from row to row, in a table that is ordered in time
FEWEST_GROUPS, GROUP_ROWS = 10, 3  # groups, and rows of each on average, that are a panel
MOST_GROUPINGS, MOST_NUMBERS = 8, 100  # columns that may be groups, and be the same in them
EARLY = 100  # rows that may show that a column is not the same in groups
#: times the range of the other values, beyond which a mark of a missing value lies, or a mistake
FAR_MARK, FAR = 2.0, 5.0
MARK = re.compile(r"-[1-9]|-?(?:9{2,}|8{2,}|7{2,}|9+[6-8]|32767|65535|2147483647)")
MOST_MARKS = 4  # of one column: refused, does not know, has no answer, was not asked


@dataclass(frozen=True)
class Finding:
    """One thing that a user should look at."""

    #: "leak", "time", "groups", "classes", "codes", "places", "variants", "missing", "range",
    #: "duplicates" or "shared"
    kind: str
    column: Any
    text: str  # what was found, and what to do


Rule = Callable[[Column, np.ndarray], Iterator[str]]


def _of_each_column(
    kind: str,
) -> Callable[[Rule], Callable[[list[Column], dict[Any, np.ndarray]], list[Finding]]]:
    """Make a rule for a table of one that yields sentences on a column and its cells."""

    def made(rule: Rule) -> Callable[[list[Column], dict[Any, np.ndarray]], list[Finding]]:
        @wraps(rule)
        def found(columns: list[Column], values: dict[Any, np.ndarray]) -> list[Finding]:
            return [
                Finding(kind, c.name, text) for c in columns for text in rule(c, values[c.name])
            ]

        return found

    return made


def review_target(
    y: np.ndarray, task: str, name: object = "the target", accuracy: bool = True
) -> list[Finding]:
    """How many classes there are, and how the rows are shared among them.

    ``accuracy`` says whether a model would be judged by it.

    Examples
    --------
    >>> y = np.array(["no"] * 999 + ["yes"])
    >>> [finding.text[:61] for finding in review_target(y, "classification")]
    ["99.9% of the rows are of the class 'no': a model that always ",
     "1 class has fewer than 5 rows ('yes'): nothing can be learnt "]
    """
    if task != "classification":
        return []
    classes, counts = np.unique(y, return_counts=True)
    found = []
    if len(classes) > MANY_CLASSES:
        found.append(
            f"{len(classes)} classes, with {len(y) / len(classes):.0f} rows each on average: a fit "
            "takes long, and most will be confused. Merge classes, or, if these are numbers, give "
            "--task regression."
        )
    share = counts.max() / len(y)
    if accuracy and share > 1 - RARE_CLASS:
        usual = classes[counts.argmax()].item()
        found.append(
            f"{100 * share:.4g}% of the rows are of the class {usual!r}: a model that always says "
            f"so has an accuracy of {share:.4g}. Give --metric balanced_accuracy or log_loss."
        )
    few = [c.item() for c, rows in zip(classes, counts) if rows < FEW_OF_A_CLASS]
    if few and len(few) < len(classes):
        some = first_of(few, shown=repr)
        have = "class has" if len(few) == 1 else "classes have"
        found.append(
            f"{len(few)} {have} fewer than {FEW_OF_A_CLASS} rows ({some}): nothing can be learnt "
            "of so few, and no score be trusted. Find more rows, or merge classes."
        )
    return [Finding("classes", name, text) for text in found]


def find_leaks(
    columns: list[Column], values: dict[Any, np.ndarray], y: np.ndarray, task: str,
    target: str = "the target",
) -> list[Finding]:  # fmt: skip
    """Columns that reveal the target, of several its name, almost without error, alone.

    A number leaks classes if its values fall into one interval for each class, and numbers if their
    ranks are the same or reversed. A category leaks a target that is the same in all rows of a
    level. So do missing values that go with a class. All this may miss a few rows in 10,000.

    Complexity: :math:`O(n \\log n)` for each column.
    """
    if len(y) < FEWEST_ROWS:
        return []
    classes = task == "classification"
    answers = np.unique(y, return_inverse=True)[1] if classes else y.astype(float)
    judged = [c for c in columns if c.of.samples is None and not c.left_out]
    told: dict[Any, str] = {}
    numbers: dict[Any, np.ndarray] = {}
    for c in judged:
        cells = values[c.name]
        if c.of.ordered:
            numbers[c.name] = as_numbers(c.of.read(cells, c))
        elif cells.dtype.kind == "f" and not c.of.levelled:
            numbers[c.name] = cells
        elif cells.dtype.kind in "Of" and LEVEL_ROWS * c.distinct <= len(y):
            told[c.name] = _levels_tell(cells, answers, classes)
    told |= _numbers_tell(numbers, answers, classes)
    for c in [c for c in judged if c.missing] if classes else ():
        missing = missing_values(values[c.name])
        some = not told.get(c.name) and missing.any() and not missing.all()
        if some and _shares(missing.astype(int), answers) >= TELLS:
            told[c.name] = "it is missing in one class, and in no other"
    return [
        Finding(
            "leak",
            c.name,
            f"{c.name} reveals {target} almost without error: {told[c.name]}. If it is known only "
            f"after the answer, leave it out: --drop {shlex.quote(str(c.name))}.",
        )
        for c in judged
        if told.get(c.name)
    ]


def _numbers_tell(numbers: dict[Any, np.ndarray], y: np.ndarray, classes: bool) -> dict[Any, str]:
    """How each of some columns of numbers reveals the target; "" if it does not."""
    told: dict[Any, str] = {}
    complete = []
    for name, cells in numbers.items():
        known = ~np.isnan(cells)
        if known.all():
            complete.append(name)
        elif known.sum() >= max(FEWEST_ROWS, 0.5 * len(y)):
            told[name] = _rows_tell(cells[None, known], y[known], classes)[0]
    step = max(1, CELLS // len(y))
    for start in range(0, len(complete), step):  # in wide tables many at once
        names = complete[start : start + step]
        told |= zip(names, _rows_tell(np.array([numbers[n] for n in names]), y, classes))
    return told


def _rows_tell(numbers: np.ndarray, y: np.ndarray, classes: bool) -> list[str]:
    """How each row of numbers reveals the target."""
    told, left, some = [""] * len(numbers), np.arange(len(numbers)), len(y) // SAMPLED
    degree, lost = _shares_apart if classes else _correlations, (1 - TELLS) * len(y)
    counts = np.trim_zeros(np.sort(np.bincount(y))) if classes else np.zeros(2)
    if not 2 <= len(counts) <= MANY_CLASSES:
        return told
    if some > 1:  # some of the rows show of most columns that they tell nothing
        left = np.flatnonzero(~(np.abs(degree(numbers[:, ::some], y[::some])) < MAY_TELL))
    if not len(left) or (not classes and len(np.unique(y)) < LEVEL_ROWS):
        return told
    for i, share in zip(left.tolist(), degree(numbers[left], y).tolist()):
        wrong = round((1 - share) * len(y)) if classes else 0
        if not classes and abs(share) >= TELLS:
            told[i] = f"the correlation of their ranks is {share:.5f}"
        elif classes and max(wrong + 1, LEVEL_ROWS) <= counts.min() and wrong <= lost:
            told[i] = "each class has an interval of its values"
    return told


def _correlations(numbers: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The correlation of the ranks of each row of numbers with those of y; NaN if all are equal."""
    a, b = _ranks(numbers), _ranks(y[None])
    a -= a.mean(axis=1, keepdims=True)
    b -= b.mean()
    with np.errstate(invalid="ignore"):
        return (a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum())


def _shares_apart(numbers: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The share of classes y that borders between them tell, in each row of numbers.

    The borders are the best ones, in the order of the medians of the classes.
    """
    counts, codes = np.unique(y, return_inverse=True, return_counts=True)[1:][::-1]
    order = np.argsort(numbers, axis=1, kind="stable")
    codes, ascending = codes[order], np.take_along_axis(numbers, order, axis=1)
    medians = np.empty((len(numbers), len(counts)))
    for c, count in enumerate(counts.tolist()):
        own = ascending[codes == c].reshape(-1, count)
        medians[:, c] = own[:, (count - 1) // 2] / 2 + own[:, count // 2] / 2
    places = np.argsort(np.argsort(medians, axis=1, kind="stable"), axis=1, kind="stable")
    places = np.take_along_axis(places, codes, axis=1)
    equal = np.diff(ascending, axis=1) == 0  # no border is between equal numbers
    wrong = np.zeros(len(numbers), int)
    for border in range(1, len(counts)):
        above = places >= border
        mistakes = np.zeros((len(numbers), len(y) + 1), int)
        np.cumsum(above, axis=1, out=mistakes[:, 1:])
        mistakes[:, :-1] += np.cumsum(~above[:, ::-1], axis=1)[:, ::-1]
        mistakes[:, 1:-1][equal] = len(y)
        wrong += mistakes.min(axis=1)
    return 1 - wrong / len(y)


def _levels_tell(values: np.ndarray, y: np.ndarray, classes: bool) -> str:
    """How the levels of a column give the target away, or an empty text."""
    codes = _codes(values)
    levels = codes.max() + 1
    if levels < 2 or len(y) < LEVEL_ROWS * levels:
        return ""
    if classes:
        return "each of its levels goes with one class" if _shares(codes, y) >= TELLS else ""
    total = float(np.var(y))
    means = np.bincount(codes, y) / np.bincount(codes)
    left = float(np.mean((y - means[codes]) ** 2))
    return "the target is the same in all rows of a level" if left <= (1 - TELLS) * total else ""


def _codes(values: np.ndarray) -> np.ndarray:
    """The number of the level in each cell, in the order of their first rows."""
    texts = level_texts(values)
    code = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return np.fromiter(map(code.__getitem__, texts), np.intp, len(texts))


def _shares(codes: np.ndarray, labels: np.ndarray) -> float:
    """The balanced accuracy of the most frequent class of each code."""
    classes = labels.max() + 1
    table = np.bincount(codes * classes + labels, minlength=(codes.max() + 1) * classes)
    table = table.reshape(-1, classes)
    right = np.bincount(table.argmax(axis=1), table.max(axis=1), classes)
    return float((right / table.sum(axis=0)).mean())


def _ranks(numbers: np.ndarray) -> np.ndarray:
    """The ranks in each row, where equal numbers have their mean rank."""
    order = np.argsort(numbers, axis=1)
    ascending, places = np.take_along_axis(numbers, order, axis=1), np.arange(numbers.shape[1])
    new = np.ones((len(numbers), numbers.shape[1] + 1), bool)  # and the end of each row
    new[:, 1:-1] = np.diff(ascending, axis=1) > 0
    first = np.maximum.accumulate(np.where(new[:, :-1], places, 0), axis=1)
    last = np.where(new[:, 1:], places, len(places))[:, ::-1]
    last = np.minimum.accumulate(last, axis=1)[:, ::-1]
    ranks = np.empty(numbers.shape)
    np.put_along_axis(ranks, order, (first + last) / 2, axis=1)
    return ranks


@_of_each_column("time")
def find_order_in_time(column: Column, cells: np.ndarray) -> Iterator[str]:
    """Dates that rise from row to row: rows held out at random lie between those learnt from."""
    if not column.of.in_time:
        return
    dates = column.of.read(cells, column)
    steps = np.diff(dates[~np.isnat(dates)]).astype("timedelta64[s]").astype(np.int64)
    if len(steps) < FEWEST_ROWS or column.distinct < 0.1 * len(dates):
        return
    if max((steps >= 0).mean(), (steps <= 0).mean()) >= RISING:
        yield (
            f"The rows are in the order of {column.name}. Rows that are held out at random lie "
            "between rows that the model has learnt from, so that their score is too good if "
            f"later rows are to be predicted: then fit with --time-column "
            f"{shlex.quote(str(column.name))}, which holds out the latest rows."
        )


def find_groups(columns: list[Column], values: dict[Any, np.ndarray]) -> list[Finding]:
    """The column whose values repeat while numbers are constant within each, as in a panel.

    Rows of one county, patient or shop are then alike in more than the columns tell. Each of a
    few columns is compared with a few others, so that wide tables cost no more.
    """
    rows = len(next(iter(values.values()), ()))
    numbers = [c for c in columns if c.of.numeric and c.used and not c.missing]
    numbers = [c for c in numbers if c.distinct >= FEWEST_GROUPS][:MOST_NUMBERS]
    best: tuple[Column, list[str]] | None = None
    for column in _repeated(columns, values, rows)[:MOST_GROUPINGS]:
        texts = [level_text(v) for v in values[column.name][:EARLY].tolist()]
        places = [texts.index(text) for text in texts]
        early = [(c, c.of.read(values[c.name][:EARLY], c)) for c in numbers if c is not column]
        alike = [c for c, cells in early if np.array_equal(cells[places], cells)]
        if not alike:
            continue
        codes = _codes(values[column.name])
        first = np.empty(codes.max() + 1, np.intp)
        first[codes[::-1]] = np.arange(rows)[::-1]  # of equal codes the last one is written last
        same = {
            str(c.name): cells[first] for c in alike if 2 * c.distinct >= len(first)
            for cells in [c.of.read(values[c.name], c)]
            if np.array_equal(cells[first][codes], cells)
        }  # fmt: skip
        if column.of.numeric and not CODE_NAME.fullmatch(str(column.name)):
            order = np.argsort(column.of.read(values[column.name], column)[first])
            steps = [np.diff(cells[order]) for cells in same.values()]
            if any((each > 0).all() or (each < 0).all() for each in steps):
                continue  # a measure, beside its square or logarithm
        if len(same) > (0 if best is None else len(best[1])):
            best = column, [*same]
    if best is None:
        return []
    column, same = best
    name, alike = str(column.name), same[:3] + ["others"] * (len(same) > 3)
    some = " and ".join([*filter(None, [", ".join(alike[:-1])]), alike[-1]])
    return [
        Finding(
            "groups",
            column.name,
            f"{name} has {column.distinct} values, in {rows / column.distinct:.3g} rows each on "
            f"average, and {some} {'is' if len(same) == 1 else 'are'} the same in all rows of a "
            "value. If new rows will have other values of it, a score on rows that are held out "
            "at random is too good: then fit with --group "
            f"{shlex.quote(name)}, which holds out whole groups.",
        )
    ]


def _repeated(columns: list[Column], values: dict[Any, np.ndarray], rows: int) -> list[Column]:
    """Categories, identifiers and whole numbers of which each value may be a group of rows."""
    found = []
    for column in columns:
        enough = column.distinct >= FEWEST_GROUPS and column.distinct * GROUP_ROWS <= rows
        if not enough or column.missing or column.left_out:
            continue
        whole = False
        if column.of.numeric:
            numbers = column.of.read(values[column.name], column)
            whole = bool((numbers == np.round(numbers)).all())
        if column.of.levelled or column.of.identifies or whole:
            found.append(column)
    return sorted(found, key=lambda c: (c.of.numeric, -c.distinct))


@_of_each_column("codes")
def find_codes(column: Column, cells: np.ndarray) -> Iterator[str]:
    """Columns of integers whose names speak of codes, which have no order and no distances."""
    name = str(column.name)
    if not column.of.numeric or column.distinct < 3 or not CODE_NAME.fullmatch(name):
        return
    numbers = column.of.read(cells, column)
    if np.array_equal(numbers, np.round(numbers), equal_nan=True):
        yield (
            f"{name}: its {column.distinct} integers are read as numbers, and the name speaks of "
            "codes. If their order means nothing, read them as a category: --kind "
            f"{shlex.quote(f'{name}=category')}."
        )


def find_places(columns: list[Column], values: dict[Any, np.ndarray]) -> list[Finding]:
    """Pairs of numbers that are named and ranged like latitude and longitude.

    Examples
    --------
    >>> columns = [Column(name, "number", "", 0, 2) for name in ("lat", "lon")]
    >>> places = {"lat": np.array([47.4, -33.9]), "lon": np.array([8.5, 151.2])}
    >>> find_places(columns, places)[0].text[:56]
    'lat and lon are places on a sphere, where differences of'
    """
    numbers = {str(c.name).casefold(): c for c in columns if c.of.numeric}
    found = []
    for name, latitude in numbers.items():
        if (parts := LATITUDE_NAME.fullmatch(name)) is None:
            continue
        names = (f"{parts[1]}{word}{parts[3]}" for word in ("longitude", "lon", "lng", "long"))
        longitude = next((numbers[other] for other in names if other in numbers), None)
        if longitude is None:
            continue
        pair = [latitude, longitude]
        most = [float(np.nanmax(np.abs(c.of.read(values[c.name], c)))) for c in pair]
        if most[0] > 90 or most[1] > 360:
            continue
        units = "degrees" if most[0] > np.pi / 2 or most[1] > 2 * np.pi else "radians"
        found.append(
            Finding(
                "places",
                latitude.name,
                f"{latitude.name} and {longitude.name} are places on a sphere, where differences "
                f"of {units} are no distances. In Python the kernel "
                f"FromDistance(Haversine({units!r})).on({latitude.name!r}, {longitude.name!r}) "
                "compares them by the way along the sphere. For mercer fit, replace the two "
                "columns by sin lat, cos lat cos lon and cos lat sin lon.",
            )
        )
    return found


@_of_each_column("variants")
def find_variants(column: Column, cells: np.ndarray) -> Iterator[str]:
    """Levels that differ by case and blanks alone, as "Yes", "yes " and "YES" do.

    Examples
    --------
    >>> column = Column("ok", "category", "", 0, 3)
    >>> cells = {"ok": np.array(["Yes", "yes ", "no"], dtype=object)}
    >>> find_variants([column], cells)[0].text
    "ok: 'Yes', 'yes ' differ by case or blanks alone, and are different levels. Write them alike."
    """
    if not column.of.levelled or cells.dtype != object:
        return
    alike = defaultdict(set)
    for value in set(cells.tolist()):
        if isinstance(value, str):
            alike[" ".join(value.casefold().split())].add(value)
    groups = [sorted(group) for group in alike.values() if len(group) > 1]
    if groups:
        first = ", ".join(map(repr, sorted(groups)[0][:4]))
        more = f" (and {len(groups) - 1} more)" if len(groups) > 1 else ""
        yield (
            f"{column.name}: {first}{more} differ by case or blanks alone, and are different "
            "levels. Write them alike."
        )


def find_strange_values(columns: list[Column], values: dict[Any, np.ndarray]) -> list[Finding]:
    """Levels that mean "missing", and numbers that may: the same one often, far from the others.

    Examples
    --------
    >>> column = Column("age", "number", "", 0, 42)
    >>> ages = {"age": np.r_[np.arange(18.0, 60), [-999] * 5]}
    >>> find_strange_values([column], ages)[0].text[:57]
    'age: -999 stands in 5 rows, far from the others, which go'
    """
    rules = _find_marks, _find_far_numbers
    return [found for c in columns for rule in rules for found in rule([c], values)]


@_of_each_column("missing")
def _find_marks(column: Column, cells: np.ndarray) -> Iterator[str]:
    """Say which levels may mean a missing value."""
    if not column.of.levelled or cells.dtype != object:
        return
    levels = {v for v in set(cells.tolist()) if isinstance(v, str)}
    found = {v for v in levels if NUMBERED.sub("", v.strip().lower()) in MISSING_WORDS}
    counts = Counter(filter(found.__contains__, cells.tolist() if found else ()))
    marks = [f"{v!r} ({c})" for v, c in sorted(counts.items())]
    if marks:
        yield (
            f"{column.name}: {', '.join(marks[:5])} may mean a missing value. It is a level of its "
            "own, apart from empty fields."
        )


@_of_each_column("range")
def _find_far_numbers(column: Column, cells: np.ndarray) -> Iterator[str]:
    """Say which numbers at the ends may be marks of missing values."""
    if not column.of.numeric:
        return
    numbers = column.of.read(cells, column)
    numbers = numbers[~np.isnan(numbers)] / 4  # no difference overflows
    low, high = (numbers.min(), numbers.max()) if len(numbers) else (0.0, 0.0)
    near = (high - low) / FAR  # less than a far value is from the others
    bulk = max((numbers >= high - near).mean(), (numbers <= low + near).mean()) if near else 1.0
    if bulk < 1 - 2 * RARE_CLASS and not any(MARK.fullmatch(f"{4 * v:.12g}") for v in (low, high)):
        return  # without sorting, which takes most of the time
    numbers.sort()
    for step in (1, -1):
        ends = step * numbers[::step]  # they rise, and those that may be marks come first
        first = int(np.searchsorted(ends, ends[0], "right")) if len(ends) else 0
        marks = _marks(ends, step)
        if not marks and first <= max(1, RARE_CLASS * len(ends)) and _gap(ends, first) > FAR:
            marks = [first]
        if not marks:
            continue
        rows, (low, high) = marks[-1], sorted((step * ends[marks[-1]], step * ends[-1]))
        values = sorted((4 * step * ends[at - 1] for at in marks), key=abs)
        some, stand = ", ".join(spoken(v, 6) for v in values), "stand" + "s" * (len(values) == 1)
        far = _gap(ends, rows) > FAR_MARK
        yield (
            f"{column.name}: {some} {stand} in {'one row' if rows == 1 else f'{rows} rows'}, "
            f"{'far from' if far else 'below 0, unlike'} the others, which go from "
            f"{spoken(4 * low, 6)} to {spoken(4 * high, 6)}. If it means a missing value, leave "
            "the field empty; if it is a mistake, mend it."
        )


def _gap(ends: np.ndarray, rows: int) -> float:
    """How far the first values are from the others, in ranges of these; 0 where these are few."""
    others = ends[rows:]
    width = abs(others[-1] - others[0]) if len(others) >= FEWEST_ROWS else 0.0
    return abs(others[0] - ends[rows - 1]) / width if width else 0.0


def _marks(ends: np.ndarray, step: int) -> list[int]:
    """Where values that mark missing ones end, at the beginning of sorted numbers; [] if none do.

    They are such as -99, 999, or -1 and -2 in a scale from 1 to 5: far from the others, or the only
    negative numbers.
    """
    found, best, at = list[int](), list[int](), 0
    while at < len(ends) and len(found) < MOST_MARKS:
        value = 4 * step * ends[at]
        if not MARK.fullmatch(f"{value:.12g}"):
            break
        short, at = -9 <= value < 0, int(np.searchsorted(ends, ends[at], "right"))
        found.append(at)
        rest = ends[at:]
        alone = step > 0 and len(rest) >= FEWEST_ROWS and ends[at - 1] < 0 <= rest[0]
        if alone and short:  # such as -1, where a scale has no 0, or it would be a measure
            alone = rest[0] > 0 and at > 1
        if alone or ((step < 0 or not short) and _gap(ends, at) > FAR_MARK):
            best = [*found]
    return best


#: what is looked for in the columns of a table, in the order in which it is said
RULES = (
    find_order_in_time, find_groups, find_codes, find_places, find_variants, find_strange_values,
)  # fmt: skip


def review_columns(columns: list[Column], values: dict[Any, np.ndarray]) -> list[Finding]:
    """What the rules find in columns that are used; others may tell groups of rows."""
    used = [column for column in columns if column.used]
    return [
        found for rule in RULES
        for found in rule(columns if rule is find_groups else used, values)
    ]  # fmt: skip


def listed(findings: Iterable[Finding]) -> list[dict]:
    """Findings for ``--json``."""
    return [{"kind": f.kind, "column": f.column, "text": f.text} for f in findings]
