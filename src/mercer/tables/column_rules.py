"""How columns of a table are judged: numbers, categories, dates, texts, vectors ..., and why.

`infer_columns` says what each column is, with a reason that a stranger understands; the rules are
in the order of `_infer`. values.py reads the columns, encoding.py turns them into a matrix.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import replace
from operator import mul
from typing import Any

import numpy as np

from mercer.samples import are_molecules, are_series, as_samples, describe_entry
from mercer.spoken import meant
from mercer.tables.cells import (
    SETS,
    clear_separator,
    column_bytes,
    items_of,
    list_separator,
    separator_of,
)
from mercer.tables.column_kinds import (
    are_sequences,
    are_vectors,
    as_vector,
    column_kind,
    column_kinds,
    object_column,
    of_json,
)
from mercer.tables.columns import (
    DATE_NAME,
    IDENTIFIER_NAME,
    MANY_LEVELS,
    RARE,
    SAID,
    TIME_NAME,
    YEAR_NAME,
    Column,
    index_names,
    is_index,
    read_otherwise,
)
from mercer.tables.forms import (
    ORDERED,
    Hints,
    Read,
    families_of,
    form_of,
    is_missing_mark,
    misfits,
    order_in,
    order_of_steps,
    said_of_misfits,
    simple_numbers,
)
from mercer.tables.values import as_dates, epoch_of, missing_values, short

TEXT_LENGTH = 20  # characters on average: beyond, and half of the values different, it is text
SEQUENCE_LENGTH = 8  # symbols on average of sequences, which are many and of few symbols
MOSTLY = 0.95  # of the values are different: an identifier
MANY = 0.9  # of the values are numbers or dates: it is said, where the others are codes too
FEW_DAYS = 5  # different numbers such as 20240229 that may be dates
MOST_COUNTED = 1000  # different numbers or dates whose rows are counted
NESTED = 20  # most levels of lists in a cell
SHOWN = 3  # cells that do not fit, which are named
LONGEST = 40  # characters of one of them
FEW_TIMES = 10  # different numbers such as 1430, with three different minutes, that may be times
LONG = 800  # cells of a column of texts that are read at once, if they are plain numbers
FEW_ROWS = 20  # below, no column is taken for an identifier, but for one that is named so
FEWEST_NAMED = 3  # rows that such a column counts
TIES = 10
LOOKED_AT = 8  # cells of columns, of which only those are compared whole that have these alike
MOST_NAMED = 20  # columns, where one is not there
COUNTED = 0.7  # of the integers up to the last: a counter of rows, some of which were left out


def infer_columns(
    columns: dict[Any, np.ndarray],
    kind: dict | None = None,
    drop: Iterable | None = None,
    hints: Hints | str = "",
    unnamed: Iterable = (),
    numbers: dict[Any, np.ndarray] | None = None,
) -> list[Column]:
    """What each column is, and why.

    Parameters
    ----------
    columns : dict
        The columns as `read_columns` returns them.
    kind : dict, optional
        Name -> "number", "category", "date", "time", "text", "sequence", "set", "vector",
        "identifier", "drop", or the column of a registered kind of sample, in place of what would
        be inferred. Or a `Column`, which was inferred from more rows of the same table, and is what
        this column is.
    drop : sequence, optional
        Names of columns to leave out.
    hints : Hints or {"", ".", ","}
        What the file tells of columns that do not: the decimal sign of texts such as "1,200", and
        the order of day and month in dates. A text is the decimal sign.
    unnamed : sequence, optional
        Names that were made up for columns that had none in their file: the first may be an index.
    numbers : dict, optional
        Takes the numbers of columns of texts that were read on the way, by name.

    Raises
    ------
    ValueError
        ``kind`` or ``drop`` names a column that is not there, ``kind`` an unknown kind, or one
        that the values cannot be read as. All faults are in one message, a line each.

    Examples
    --------
    >>> from mercer.tables.values import read_columns
    >>> columns = read_columns(np.array([["a", 1.5], ["b", 2.5], ["a", 3.5]], dtype=object))
    >>> [(c.name, c.kind) for c in infer_columns(columns)]
    [(0, 'category'), (1, 'number')]
    """
    kind, drop, faults = _check_given(columns, kind, drop)
    hints = Hints(hints) if isinstance(hints, str) else hints
    found: list[Column] = []
    indexes = index_names(columns, unnamed)
    for name, values in columns.items():
        given = kind.get(name)
        if isinstance(given, Column):
            found.append(given)
            continue
        try:
            column = _infer(name, values, given, name in drop, hints, numbers)
        except ValueError as error:
            faults.append(str(error))
            continue
        index = is_index(name, values) if name in indexes and given is None else ""
        if index and not column.left_out:
            column = replace(column, kind="identifier", reason=index, levels=[])
        found.append(column)
    if faults:
        raise ValueError("\n".join(faults))
    found = _without_duplicates(found, columns, kind)
    for i, column in enumerate(found):
        order = _order_hinted(column, found, hints, columns[column.name])
        if order is not None and not isinstance(kind.get(column.name), Column):
            name = column.name
            found[i] = _infer(name, columns[name], kind.get(name), False, order)
    # what is used, and has more than levels that hardly return
    if not any(column.used and not _hardly_returns(column) for column in found):
        found = [_spared(column, columns) for column in found]
    for i, column in enumerate(found):
        given = isinstance(kind.get(column.name), Column)
        others = [] if given else _other_readings(column, columns[column.name])
        found[i] = replace(column, others=others) if others else column
    return found


def _without_duplicates(found: list[Column], columns: dict, kind: dict) -> list[Column]:
    """The columns, where those are duplicates that are equal to an earlier one in every row."""
    rows = len(next(iter(columns.values()), ()))
    some = np.unique(np.linspace(0, max(rows - 1, 0), LOOKED_AT).astype(int))
    alike: dict[Any, list[Any]] = {}
    for column in found:
        if column.used and not isinstance(kind.get(column.name), Column):
            rough = (column.distinct, *_fingerprint(columns[column.name][some]))
            alike.setdefault(rough, []).append(column.name)
    equal: dict[Any, Any] = {}
    for names in (names for names in alike.values() if len(names) > 1):
        seen: dict[Any, Any] = {}
        for name in names:
            first = seen.setdefault(_fingerprint(columns[name]), name)
            equal |= {name: first} if first != name and name not in kind else {}
    return [
        replace(c, kind="duplicate", reason=f"equal to column {equal[c.name]!r} in every row",
                low=None, high=None, levels=[]) if c.name in equal else c for c in found
    ]  # fmt: skip


def _order_hinted(
    column: Column, found: list[Column], hints: Hints, values: np.ndarray
) -> Hints | None:
    """What tells the order of day and month in a column whose cells fit both: other columns, else
    its steps from row to row, else what the file is; None if nothing does, or if it is given."""
    if not any(kind == "order" for kind, _ in column.doubts):
        return None
    sure = {c.order for c in found if c.of.in_time and not any(k == "order" for k, _ in c.doubts)}
    sure &= {"dmy", "mdy"}
    if len(sure) == 1:
        return replace(hints, order=sure.pop(), sure=True)
    steps = order_of_steps(v for v in values.tolist() if isinstance(v, str))
    if steps:
        return replace(hints, order=steps, sure=True)
    comma = hints.decimal == "," or any(c.decimal == "," for c in found)
    dollars = any("$" in c.signs.split() for c in found)
    return replace(hints, order="mdy") if dollars and not comma else None


def _hardly_returns(column: Column) -> bool:
    kind = column.of
    return (kind.levelled or kind.identifies) and column.known < 2 * column.distinct


def _spared(column: Column, columns: dict) -> Column:
    """If no other column can be used, use one that counts the rows, and read names as texts."""
    values = columns[column.name]
    kind = column.of
    if column.reason == SAID or not (kind.levelled or kind.identifies):
        return column
    if values.dtype.kind == "O" and _hardly_returns(column) and column.known >= FEW_ROWS:
        reason = (
            f"short texts: {column.distinct} different values in {column.known} rows, and no other "
            "column can be used"
        )
        return read_otherwise(column, "text", reason, values)
    if not kind.identifies or values.dtype.kind != "f":
        return column
    reason = f"integers, all {column.distinct} different, but no other column can be used"
    return read_otherwise(column, "number", reason, values)


def _check_given(columns: dict, kind: Any, drop: Any) -> tuple[dict, list, list[str]]:
    """The kinds and names that can be used, and what is wrong with the others."""
    if isinstance(drop, str):
        raise TypeError(f"drop={drop!r}: give a list of names, [{drop!r}].")
    if kind is not None and not isinstance(kind, dict):
        raise TypeError(f'kind={kind!r}: give a dict such as {{"zip": "category"}}.')
    kind, drop, faults = dict(kind or {}), list(drop or ()), []
    for argument, names in (("kind", kind), ("drop", drop)):
        for name in names:
            if name not in columns:
                rest = len(columns) - MOST_NAMED
                some = f"{[*columns][:MOST_NAMED]}{f' and {rest} more' * (rest > 0)}"
                faults.append(
                    f"{argument}: there is no column {name!r}; columns are {some}."
                    f"{meant(name, columns)}"
                )
    known = [each.name for each in column_kinds() if each.given]
    wrong = [name for name, v in kind.items()
             if not isinstance(v, Column) and str(v).partition(":")[0] not in known]  # fmt: skip
    faults += [f"kind: {name}={kind[name]!r}; kinds are {', '.join(known)}." for name in wrong]
    return {name: kind[name] for name in kind if name not in wrong}, drop, faults


def _infer(
    name: int | str,
    values: np.ndarray,
    given: str | None,
    dropped: bool,
    hints: Hints,
    numbers: dict[Any, np.ndarray] | None = None,
) -> Column:
    """The rules, in order; the first that applies."""
    given, _, form = (given or "").partition(":")
    written = column_kind(given).formed(form) if form else {}
    listed = values.tolist() if values.dtype == object else []
    types = {*map(type, listed)}
    full = types and type(None) not in types  # else each cell is looked at, which is slower
    there = slice(None) if full or not (gone := missing_values(values)).any() else ~gone
    present, types = values[there], types - {type(None)}
    listed = listed if full else present.tolist() if types else []
    n, known = len(values), len(present)
    objects = None if given else object_column(listed)
    cells = any(issubclass(each, SETS) or not issubclass(each, Hashable) for each in types)
    long = types == {str} and known > LONG and not (objects or given or dropped)
    if long and not (DATE_NAME.fullmatch(str(name)) or TIME_NAME.fullmatch(str(name))):
        how, found = simple_numbers(listed, hints) or ({}, np.zeros(0))
        if len(np.unique(found[:MOST_COUNTED])) > 2:
            if numbers is not None:
                numbers[name] = np.full(n, np.nan)
                numbers[name][there] = found
            return Column(
                name, "number", "numbers stored as text", n - known, len({*listed}),
                float(found.min()), float(found.max()), rows=n, **how,
            )  # fmt: skip
    key = repr if objects is not None else _hashable
    if values.dtype.kind in "fM":
        different, rows = np.unique(present, return_counts=True)
        counts = Counter(dict(zip(different[:MOST_COUNTED].tolist(), rows.tolist())))
        distinct = len(rows)
    else:
        counts = _counts([*map(key, listed)] if cells or objects else listed)
        distinct = len(counts)
    texts = list(counts) if types == {str} else [v for v in counts if isinstance(v, str)]

    def column(kind: str, reason: str, lost: int = 0, separator: str | None = None) -> Column:
        of = column_kind(kind)
        how = of.written(texts, hints) if texts else of.counted(present)
        told = {"separator": separator, "rows": n, **how, **written}
        found = Column(name, kind, reason, n - known + lost, distinct, **told)
        low, high, levels = found.of.extent(found, values, counts)
        return replace(found, low=low, high=high, levels=levels)

    def read_as(found: Read) -> Column:
        gone = [v for v, value in found.values.items() if value is None]
        lost = sum(counts[v] for v in gone)
        if found.kind == "date":
            stamps = np.array([date for date in found.values.values() if date is not None])
            reason = f"dates stored as text, {_parts(stamps)}"
        elif found.kind == "time":
            reason = "times of day, read as hours"
        else:
            unit = found.written["unit"]
            reason = f"numbers in {unit}, stored as text" if unit else "numbers stored as text"
        reason += (
            f"; {lost} that are not, such as {short(gone[0])}, count as missing" if lost else ""
        )
        column = Column(name, found.kind, reason, n - known + lost, distinct, rows=n)
        column = replace(column, **found.written, doubts=[list(doubt) for doubt in found.doubts])
        fit = [v for v in found.values.values() if v is not None]
        low, high = min(fit), max(fit)
        ends = (str(low)[:10], str(high)[:10]) if found.kind == "date" else (low, high)
        others = misfits(found.values)
        rows = [int(np.flatnonzero(values == v)[0]) for v in others[:SHOWN]]
        column = _unlike(column, values, rows, sum(counts[v] for v in others))
        return replace(column, low=ends[0], high=ends[1])

    if dropped or given == "drop":
        return column("dropped", "left out on request")
    if given and column_kind(given).items:
        separator = None if cells else separator_of(counts)
        return column("set", f"{SAID}; {_set_words(counts, separator, cells)}", 0, separator)
    if given:
        column_kind(given).check(name, present)
        found = column(given, SAID)
        lost = np.zeros(n, bool)
        if found.of.ordered and known:
            lost = missing_values(found.of.read(values, found)) & ~missing_values(values)
        if lost.all() and known:
            raise ValueError(f"kind: {name}={given!r}, but no value has the form {form!r}.")
        where = np.flatnonzero(lost & ~np.array([is_missing_mark(v) for v in values.tolist()]))
        found = replace(found, missing=found.missing + int(lost.sum()))
        return _unlike(found, values, where[:SHOWN].tolist(), len(where))
    if known == 0:
        return column("empty", "every value is missing")
    if known < 3 and n >= 100:
        return column("empty", f"only {known} of {n} rows have a value")
    if objects is not None:
        return column(objects.name, f"{distinct} different {objects.name}s")
    vectors = cells or any(text[:1] == "[" or as_vector(text) is not None for text in texts[:3])
    if vectors and are_vectors(present.tolist()):
        return column("vector", f"lists of numbers, {distinct} different")
    if vectors and are_series(list(map(of_json, present.tolist()))):
        return column("series", f"{distinct} different series of numbers")
    if cells:
        return column("set", _set_words(counts, None, cells))
    if distinct == 1:
        only = f"every value is {short(present[0])}"
        if known == n:
            return column("constant", only)
        rows = "one row" if n - known == 1 else f"{n - known} rows"
        return column("category", f"{only}, or missing in {rows}")
    if values.dtype.kind == "M":
        return column("date", f"dates, {_parts(present)}")
    if values.dtype.kind == "f":
        days = distinct > FEW_DAYS and epoch_of(present) == "ymd"
        days = days and not np.isnat(as_dates(present)).any()
        if days and DATE_NAME.fullmatch(str(name)):
            parts = _parts(as_dates(present))
            return column("date", f"integers such as {present[0]:.0f} as dates, {parts}")
        if TIME_NAME.fullmatch(str(name)) and _are_times(present):
            return column("time", f"integers such as {present[0]:.0f} as times of day")
        found = column(*_number_kind(name, values, present, distinct))
        if days and found.kind == "number":
            typed = shlex.quote(f"{name}=date")
            said = f"numbers such as {present[0]:.0f} may be dates: then give --kind {typed}"
            found = replace(found, doubts=[["dates", said]])
        return found
    named = texts and len(texts) == distinct and TIME_NAME.fullmatch(str(name))
    digits = named and all(re.fullmatch(r"\d{1,4}", text) for text in texts)
    if digits and _are_times(np.array(texts, dtype=np.float64)):
        return column("time", f"texts such as {short(texts[0])} as times of day")
    families = families_of(counts, hints) if texts else []
    found = form_of(counts, hints, families=families)
    if found is not None and found.kind == "number" and DATE_NAME.fullmatch(str(name)):
        days = np.array([v for v in found.values.values() if v is not None], dtype=np.float64)
        if len(days) > FEW_DAYS and epoch_of(days) == "ymd":
            dated = _infer(name, values, "date", False, hints)
            return replace(dated, reason=f"texts such as {short(texts[0])} as dates")
    if found is not None:
        different = len({value for value in found.values.values() if value is not None})
        if found.kind == "date" or different > 2:
            return read_as(found)
    molecules = are_molecules(texts) if len(texts) == distinct else False
    if molecules:
        return _of_molecules(column("molecule", ""), values)
    separator = list_separator(counts)
    if separator is not None:
        return column(
            "set", f"lists in brackets, {_set_words(counts, separator, cells)}", 0, separator
        )
    separator = clear_separator(counts) if distinct > MANY_LEVELS else None
    if separator is not None:
        return column("set", _set_words(counts, separator, cells), 0, separator)
    kind, reason = _word_kind(name, counts, n)
    order = order_in(texts) if len(texts) == distinct and kind in ("category", "identifier") else ""
    if not order or (kind == "identifier" and order != "version"):
        doubts = [] if kind == "sequence" else _mixed(name, counts, hints, known, families)
        if molecules is None:
            said = 'its cells look like molecules, which pip install "mercer[chem]" reads'
            doubts = [*doubts, ["molecules", said]]
        return replace(column(kind, reason), doubts=doubts)
    return replace(column("category", f"{reason}: {ORDERED[order].said}"), order=order)


def _of_molecules(column: Column, values: np.ndarray) -> Column:
    """The column with what is said of its molecules."""
    known = values[~missing_values(values)].tolist()
    read = as_samples(known, "molecules", reader="this table")
    salts = sum(molecule.parts > 1 for molecule in read.found)
    different = len({*read.smiles()})
    parts = f"; the largest part counts of {salts} with several" if salts else ""
    return replace(column, reason=f"molecules, {different} different without stereo{parts}")


def _counts(cells: list) -> Counter:
    """How many rows have each cell; of cells that are all different in less time."""
    some = cells[:MOST_COUNTED]
    once = dict.fromkeys(cells, 1) if len({*some}) == len(some) else ()
    return Counter(once if len(once) == len(cells) else cells)


def _mixed(
    name: int | str, counts: Counter, hints: Hints, known: int, families: list
) -> list[list[str]]:
    """What is said of a column in which most cells are numbers or dates, and the others words."""
    if len(counts) <= MANY_LEVELS or not families:
        return []
    digit = re.compile(r"\d").search
    digits = Counter({v: c for v, c in counts.items() if digit(v if type(v) is str else str(v))})
    if len(digits) <= MANY_LEVELS or 2 * sum(digits.values()) < known:
        return []
    found = form_of(counts, hints, MANY, families)
    if found is None and len(digits) < len(counts):  # else houses, tickets and other codes
        found = form_of(digits, hints, families=families)
        found = None if found is None or None in found.values.values() else found
    if found is None:
        return []
    words = [v for v in counts if found.values.get(v) is None]
    rows = known - sum(counts[v] for v in words)
    what = "dates" if found.kind == "date" else "numbers"
    typed = shlex.quote(f"{name}={found.kind}")
    said = f"{rows} of its {known} cells are {what}, and the others are not, such as "
    said += f"{short(words[0])}: to read these as missing values, give --kind {typed}"
    return [["mixed", said]]


def _are_times(numbers: np.ndarray) -> bool:
    """Whether numbers are hours and minutes, such as 1430."""
    different = np.unique(numbers)
    minutes = different % 100
    whole = (different == np.round(different)).all() and different.min() >= 0
    return bool(
        len(different) >= FEW_TIMES and whole and 100 <= different.max() <= 2400
        and minutes.max() < 60 and len(np.unique(minutes)) >= 3
    )  # fmt: skip


def _unlike(column: Column, values: np.ndarray, rows: list[int], count: int) -> Column:
    """The column with the cells that do not fit its form; ``rows`` are the first of them."""
    if not count:
        return column
    said = said_of_misfits(column.kind, [(values[i], i + 1) for i in rows], count)
    shown = [[i + 1, str(values[i])[:LONGEST]] for i in rows]
    return replace(column, doubts=[*column.doubts, list(said)], misfits=shown, unfit=count)


def _other_readings(column: Column, values: np.ndarray) -> list[list[str]]:
    """Other readings that fit a column of `infer_columns`."""
    counted = values.dtype.kind == "f"
    if column.others or column.reason == SAID or not (column.used or column.of.identifies):
        return column.others
    if column.of.identifies:
        return [["number" if counted else "text", "all values are different"]]
    if column.of.levelled and counted:
        return [["number", "its levels are numbers"]]
    few = counted and column.kind == "number" and column.distinct <= MANY_LEVELS
    if few and (np.nan_to_num(values) == np.round(np.nan_to_num(values))).all():
        return [["category", f"only {column.distinct} different numbers"]]
    return []


def _set_words(counts: Counter, separator: str | None, cells: bool) -> str:
    """What the sets of a column are made of."""
    items = {item for value in counts for item in items_of(value, separator)}
    how = "" if cells else f", separated by {'blanks' if separator is None else repr(separator)}"
    return f"sets of {len(items)} different items{how}"


def _hashable(value: object, left: int = NESTED) -> Any:
    """A cell as a key: lists and sets as frozen sets of their items, lists of lists as tuples."""
    if not isinstance(value, SETS):
        if not isinstance(value, Hashable):
            raise TypeError(
                f"X holds {describe_entry(value)} in a cell of a table: give numbers, texts, or "
                "samples of a kind that mercer.samples.register_kind knows."
            )
        return value
    if not left:
        raise ValueError(f"a cell of X holds lists in lists of more than {NESTED} levels.")
    try:
        return frozenset(value)
    except TypeError:
        return tuple(_hashable(each, left - 1) for each in value)


def _parts(dates: np.ndarray) -> str:
    """What is read from dates, and from the times of day that they may have."""
    seconds = dates.astype("datetime64[s]").astype(np.int64) % 86400
    hours = ", hour" if seconds.any() else ""
    minutes = ", minute" if (seconds % 3600).any() else ""
    return f"read as year, month, day, day of week{hours}{minutes} and elapsed days"


def _number_kind(
    name: int | str, values: np.ndarray, present: np.ndarray, distinct: int
) -> tuple[str, str]:
    """The kind of a column of numbers, and why."""
    n = len(values)
    whole = bool((present == np.round(present)).all())
    if distinct == 2:
        return (
            "category",
            f"two different numbers, {short(present.min())} and {short(present.max())}",
        )
    if not (whole and distinct == len(present) == n):
        return "number", f"{'integers' if whole else 'numbers'}, {distinct} different"
    named_otherwise = DATE_NAME.fullmatch(str(name)) or TIME_NAME.fullmatch(str(name))
    named = IDENTIFIER_NAME.fullmatch(str(name))
    years = YEAR_NAME.fullmatch(str(name)) and present.min() >= 1500 and present.max() <= 2200
    least = FEWEST_NAMED if named else FEW_ROWS
    if n >= least and not years and not named_otherwise:
        if present.max() / 2 - present.min() / 2 == (n - 1) / 2:  # halves never overflow
            return "identifier", f"counts the rows: {n} consecutive integers"
        if present[0] in (0, 1) and (np.diff(present) > 0).all() and n >= COUNTED * present[-1]:
            return "identifier", f"counts the rows: integers from {present[0]:.0f} that rise"
        if _rise_as_rows(present) and n >= FEW_ROWS:
            return "identifier", f"rises from row to row: {n} integers, as numbers of rows are"
        if named and n >= FEW_ROWS:
            return "identifier", f"named as an identifier, and all {n} integers are different"
    return "number", f"integers, {distinct} different"


def _rise_as_rows(numbers: np.ndarray) -> bool:
    """Whether integers rise steadily in the order of the rows, and are too dense for a measure.

    Of measures that lie as close together, `TIES` pairs would be equal on average. Even steps
    beyond 1 are a scale.
    """
    numbers, n = numbers / 4, len(numbers)  # no difference overflows
    steps = np.diff(numbers)
    if not (steps > 0).all() or (steps == steps[0]).all():
        return False
    span = numbers[-1] - numbers[0]
    off = np.abs(numbers - np.linspace(numbers[0], numbers[-1], n)).max()
    return bool(n * (n - 1) / 8 / TIES >= span and off <= 2 * span / np.sqrt(n))


def _word_kind(name: int | str, counts: Counter, n: int) -> tuple[str, str]:
    """Category, text or identifier."""
    distinct, known = len(counts), sum(counts.values())
    words = list(map(str, counts))
    length = sum(map(mul, map(len, words), counts.values())) / known
    if distinct > MANY_LEVELS and length >= SEQUENCE_LENGTH and are_sequences(counts):
        sizes = sorted({len(w) for w in words})
        long = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        symbols = len(set("".join(words)))
        return "sequence", f"sequences of {long} symbols, of which {symbols} are different"
    unique = known >= FEW_ROWS and distinct >= MOSTLY * known
    if unique and all(re.fullmatch(r"[0-9a-fA-F-]{16,}", w) for w in words):
        return "identifier", f"{distinct} different values in {known} rows, of digits and letters"
    if distinct > 0.5 * known and length > TEXT_LENGTH:
        return "text", f"free text: {distinct} different values, {length:.0f} characters on average"
    if unique:
        different = f"all {n}" if distinct == n else f"{distinct} of {known}"
        return "identifier", f"{different} values are different"
    rare = [c for c in counts.values() if c < RARE] if distinct > MANY_LEVELS else []
    if 100 <= known > 0.95 * n and sum(rare) > 0.9 * known:
        return (
            "identifier",
            f"{distinct} different values in {known} rows, hardly any in {RARE} of them",
        )
    types = sorted({type(v).__name__ for v in counts})
    mixed = f"values of mixed types ({', '.join(types)}), " if len(types) > 1 else ""
    if types == ["bool"]:
        return "category", "true or false"
    pooled = f"; the {len(rare)} that fewer than {RARE} rows have count as one" if rare else ""
    return "category", f"{mixed}{distinct} different values{pooled}"


def _fingerprint(values: np.ndarray) -> tuple[str, int]:
    """Equal for columns that are equal in every row."""
    cells = values.tolist() if values.dtype == object else []
    texts = bool(cells) and all(type(cell) is str or cell is None for cell in cells)
    return values.dtype.kind, hash(tuple(cells) if texts else column_bytes(values))
