"""The target of a table: read from its column, and checked before anything is fitted."""

from __future__ import annotations

import csv
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from mercer.cli.tables import Tables
from mercer.cli.terminal import OptionError, TableError, counted, no_column
from mercer.spoken import first_of
from mercer.tables import (
    LARGEST,
    Column,
    Hints,
    form_of,
    known_order,
    level_text,
    levels_in_order,
    misfits,
    ranks_of,
    task_of,
    used_columns,
)

LARGEST_CLASSES = 20  # with a unit, such as "5 stars"; more of them are numbers
MOST = 0.5  # of the cells are numbers: the others are mistakes
NO_CLASS = {"null", "NULL", "NaN", "nan", "<NA>", "NaT"}  # as SQL, JSON and pandas write it


@dataclass(frozen=True)
class Answers:
    """The target of a table, and what is to be learnt of it."""

    others: pl.DataFrame  # the other columns of the rows that have a target
    y: np.ndarray
    rows: np.ndarray  # the numbers, from 0, of these rows in the file
    task: str
    why: str
    order: list | None  # the classes from the lowest to the highest, if they have an order
    said: list[str]  # how the target was read where there is more than one way
    dropped: int  # rows without a target
    target: str  # its name; of several, as the user gave them
    targets: list[str] = field(default_factory=list)  # the names of several


def read_answers(
    frame: pl.DataFrame, tables: Tables, target: str, given: str | None, orders: Sequence[str] = ()
) -> Answers:
    """The target of a table to learn from; ``given`` and ``orders`` are what a user says of it."""
    said: list[str] = []
    known = [*frame.columns, *(tables.unread or {})]
    targets = targets_named(target, tables.label, known)
    if targets[1:]:
        others, y, rows = read_several(
            frame, targets, tables.label, tables.unread, tables.hints, said
        )
        for name, column in zip(targets, y.T):
            check_task("regression", column, name)
        why = f"there are {len(targets)} targets"
        dropped = frame.height - len(rows)
        return Answers(others, y, rows, "regression", why, None, said, dropped, target, targets)
    target = targets[0]
    others, y, rows = read_target(
        frame, target, tables.label, unread=tables.unread, hints=tables.hints, said=said
    )
    order = class_order(y, frame[target], given, orders, target)
    task, why = task_of(y, given if order is None else "classification")
    if order is not None and given is None and not orders:
        why = "the column has ordered classes"
    check_task(task, y, target)
    return Answers(others, y, rows, task, why, order, said, frame.height - len(rows), target)


def targets_named(text: str, path: str, columns: Sequence[str]) -> list[str]:
    """The columns of ``--target``: one, or several with commas between; quotes keep a comma.

    Examples
    --------
    >>> targets_named('low,"high, or"', "t.csv", ["low", "high, or"])
    ['low', 'high, or']
    """
    names = [text]
    if text not in columns and "\n" not in text:
        names = next(csv.reader([text], skipinitialspace=True)) or names
    names = list(dict.fromkeys(names))
    for name in names:
        if name not in columns:
            raise no_column("--target", name, path, [*columns])
    return names


def read_several(
    frame: pl.DataFrame,
    targets: Sequence[str],
    path: str,
    unread: dict[str, str] | None = None,
    hints: Hints | None = None,
    said: list[str] | None = None,
    varied: bool = True,
) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """`read_target` of several targets of numbers (n, targets), in the rows that have all."""
    found = []
    for target in targets:
        others = frame.drop([name for name in targets if name != target], strict=False)
        _, y, rows = read_target(others, target, path, varied, unread, hints, said=said)
        if y.dtype.kind not in "fiub":
            raise TableError(
                f"--target {target} holds {y[0].item()!r}, which is not a number: several targets "
                "are learnt together if they are numbers. Fit a model of its own for this one."
            )
        found.append((y.astype(np.float64), rows))
    kept = reduce(np.intersect1d, [rows for _, rows in found])
    if not len(kept):
        raise TableError(f"{path}: no row has a value of every target: {', '.join(targets)}.")
    Y = np.stack([y[np.searchsorted(rows, kept)] for y, rows in found], axis=1)
    return frame.drop(targets)[kept], Y, kept


def read_target(
    frame: pl.DataFrame,
    target: str,
    path: str,
    varied: bool = True,
    unread: dict[str, str] | None = None,
    hints: Hints | None = None,
    known: Iterable[str] | None = None,
    said: list[str] | None = None,
) -> tuple[pl.DataFrame, Any, np.ndarray]:
    """(other columns, targets, their row numbers); to learn from if ``varied``.

    Rows without a target are left out.
    ``unread`` names the columns of the file that are no columns of the frame, and what they hold;
    ``hints`` are what the file tells of its numbers. Classes that differ by case and blanks alone
    are one, as one of the ``known`` classes is written, or as most of its rows write it. How the
    target was read, where there is more than one way, is added to what is ``said``.
    """
    if target in (unread or {}):
        held = (unread or {})[target]
        raise TableError(f"--target {target} holds {held}: give a column of numbers or classes.")
    if target not in frame.columns:
        raise no_column("--target", target, path, frame.columns)
    dtype = frame[target].dtype
    if dtype.is_nested() or dtype == pl.Binary:
        raise TableError(f"--target {target} holds {dtype}: give a column of numbers or classes.")
    # in some names polars sees patterns
    answers, how = spelled_target(frame[target].alias(""), target, hints or Hints(), known)
    if said is not None:
        said += [f"{target}{sentence}" for sentence in how]
    rows = answers.is_not_null()
    if not rows.any():
        raise TableError(
            f"--target {target}: every value of that column is missing in {path}; give another one."
        )
    if frame.width == 1:
        raise TableError(
            f"{path} has no column besides the target {target}: give a table with columns to "
            "predict it from."
        )
    y = answers.drop_nulls().to_numpy()
    y = y.astype(str) if y.dtype.kind == "O" else y
    if y.dtype.kind in "mM":
        what = "dates" if y.dtype.kind == "M" else "durations"
        raise TableError(
            f"--target {target} holds {what}; turn them into a number to predict, such as days."
        )
    if varied and len(np.unique(y)) == 1:
        raise TableError(
            f"--target {target} has the one value {y[0].item()!r} in all {len(y)} rows: there is "
            "nothing to predict. Give another --target."
        )
    others = {c.name: c.filter(rows) for c in frame.iter_columns() if c.name != target}
    return pl.DataFrame(others), y, np.flatnonzero(rows.to_numpy())


def left_out(rows: int, target: str) -> str:
    """What becomes of rows without a target."""
    return f"{counted(rows, 'row')} without a {target} {'is' if rows == 1 else 'are'} left out."


def spelled_target(
    column: pl.Series, target: str, hints: Hints, known: Iterable[str] | None = None
) -> tuple[pl.Series, list[str]]:
    """A target as numbers or classes, null where it is missing, and what to say of it.

    Texts are numbers if most are, and more than twenty different ones.
    """
    if column.dtype.is_float() or column.dtype.is_decimal():
        return column.cast(pl.Float64).fill_nan(None), []
    if column.dtype.is_integer():  # numpy has none of 128 bits
        short = column.cast(pl.Int64, strict=False)
        exact = short.null_count() == column.null_count()
        return short if exact else column.cast(pl.String), []
    if column.dtype == pl.Time:
        column = column.cast(pl.String)
    if column.dtype != pl.String:
        return column, []
    cells = column.to_list()
    counts = Counter(cell for cell in cells if cell is not None)
    found = form_of(counts, hints, MOST)
    if found is None:
        return _classes(column, known, hints)
    if found.kind == "date":
        raise TableError(
            f"--target {target} holds dates; turn them into a number to predict, such as days."
        )
    others, unit = misfits(found.values), found.written.get("unit", "")
    numbers = {value for value in found.values.values() if value is not None}
    if len(numbers) <= LARGEST_CLASSES and (others or (len(counts) > 0 and unit not in ("", "s"))):
        return _classes(column, known, hints)
    if others:
        rows = [f"{text!r} (row {cells.index(text) + 1})" for text in others[:3]]
        options = " ".join(f"--missing {shlex.quote(text)}" for text in others[:3])
        count = sum(counts[text] for text in others)
        raise TableError(
            f"--target {target} holds numbers, but {counted(count, 'cell')} "
            f"{'is' if count == 1 else 'are'} none: {', '.join(rows)}. Mend them, or leave their "
            f"rows out with {options}. To predict classes, give a column of fewer values."
        )
    whole = all(number == round(number) and abs(number) < 2**53 for number in numbers)
    spelled = pl.Series(column.name, [found.values.get(v) for v in cells], dtype=pl.Float64)
    said = [f" is read in {unit}."] if unit else []
    # the flag of a limit is a column, and a target has none
    said += [f": {text.removesuffix(', beside a flag')}." for _, text in found.doubts]
    return spelled.cast(pl.Int64) if whole else spelled, said


def _classes(
    column: pl.Series, known: Iterable[str] | None, hints: Hints
) -> tuple[pl.Series, list[str]]:
    """Classes, with null for texts by which programs write that there is none.

    "None" is a class where the others are written with a capital, as in "None", "Mild", "Severe".
    """
    counts = Counter(cell for cell in column.to_list() if cell is not None)
    gone = {t for t in counts if not t.strip() or t.strip() in NO_CLASS}
    others = {t for t in counts if t not in gone and t.strip() != "None"}
    if not any(t[:1].isupper() for t in others):
        gone |= set(counts) - others
    gone = set() if len(gone) == len(counts) else gone
    kept, said = _alike({t: c for t, c in counts.items() if t not in gone}, known, hints)
    if not gone and not said:
        return column, []
    return pl.Series(column.name, [kept.get(t) for t in column.to_list()], dtype=pl.String), said


def _alike(
    counts: dict[str, int], known: Iterable[str] | None, hints: Hints
) -> tuple[dict[str, str], list[str]]:
    """Each class as it is written mostly, and what to say of those written in several ways."""
    groups: dict[str, list[str]] = defaultdict(list)
    for text in sorted(counts, key=lambda text: -counts[text]):
        groups[" ".join(text.casefold().split())].append(text)
    first = {} if known is None else {" ".join(str(k).casefold().split()): str(k) for k in known}
    several = {form: texts for form, texts in groups.items() if len(texts) > 1}
    if hints.variants or not (several or first):
        return {text: text for text in counts}, []
    kept = {text: first.get(form, texts[0].strip() or texts[0]) for form, texts in groups.items()
            for text in texts}  # fmt: skip
    if first and not several:
        return kept, [""] if any(text != each for text, each in kept.items()) else []
    some = "; ".join(f"{', '.join(map(repr, texts[:4]))} are read as one class, {kept[texts[0]]}"
                     for texts in [*several.values()][:3])  # fmt: skip
    return kept, [
        f": {some}, since they differ by case or blanks alone. --keep-variants keeps them apart."
    ]


def class_order(
    y: np.ndarray, column: pl.Series, task: str | None, given: Sequence[str], target: str
) -> list | None:
    """The classes of a target from the lowest to the highest; None if they have no order.

    They have one if ``--order`` gives it, if ``--task ordered`` asks for it, or by the type of the
    column.
    """
    if given and task not in (None, "ordered"):
        raise OptionError(f"--order and --task {task} are both given: leave --task out.")
    classes = {level_text(value): value for value in np.unique(y).tolist()}
    if given:
        try:
            ranks_of(np.array([*classes]), given)
        except ValueError as error:
            raise OptionError(f"--{error}") from error
        return [classes[text] for text in given if text in classes]
    found = levels_in_order(column) if task in (None, "ordered") else None
    if found is not None:
        return [value for value in found if value in classes]
    if task != "ordered":
        return None
    found = known_order([*classes.values()])
    if found is None:
        raise OptionError(
            f"--task ordered: the order of {', '.join(classes)} is not known: give the classes "
            "with --order, the lowest first and commas between them."
        )
    return found


def order_said(y: np.ndarray, order: list | None, task: str, target: str) -> str:
    """The order of the classes, or that they might have one; "" where there is none."""
    if order is not None:
        return f"The classes have an order: {' < '.join(map(level_text, order))}."
    found = known_order(np.unique(y).tolist()) if task == "classification" else None
    if found is None:
        return ""
    said = " < ".join(map(level_text, found))
    return (
        f"If {said} is an order of {target}, --task ordered fits the classes so, and counts by how "
        "many steps predictions are off."
    )


def check_task(task: str, y: np.ndarray, target: str) -> None:
    """Refuse targets that the task cannot be learnt from."""
    if task == "regression" and y.dtype.kind not in "fiub":
        raise TableError(
            f"--task regression: the target {target} holds {y[0].item()!r}, which is not a number. "
            "Leave --task out, or give --task classification."
        )
    if y.dtype.kind in "iuf" and (task == "regression" or y.dtype.kind == "f"):
        largest, spread = float(np.abs(y).max()), float(np.ptp(y / LARGEST)) * LARGEST
        if largest > LARGEST or (task == "regression" and 0 < spread < 1 / LARGEST):
            raise TableError(
                f"--target {target}: its numbers reach {largest:.3g} and differ by {spread:.3g}, "
                f"too {'much' if largest > LARGEST else 'little'} for squared errors. Give it in "
                "other units."
            )
    if task == "classification":
        counts = np.unique(y, return_counts=True)[1]
        if y.dtype.kind == "f" and (y != np.round(y)).any():
            fraction = y[y != np.round(y)][0].item()
            raise TableError(
                f"--task classification: the target {target} holds {fraction}, which is a number "
                "rather than a class. Leave --task out, or give --task regression."
            )
        if counts.max() == 1:
            raise TableError(
                f"--target {target}: its {len(y)} values are all different, and classes need rows "
                "in common. Give another --target; if these are numbers, check how they are "
                "written."
            )


def check_test_table(
    held: pl.DataFrame,
    y_held: np.ndarray,
    columns: list[Column],
    y: np.ndarray,
    task: str,
    path: Path,
) -> str:
    """Refuse, before the search, a table that a model of the columns and y has no score on.

    Returns what to say of its classes that y has not.
    """
    absent = [c.name for c in used_columns(columns) if c.name not in held.columns]
    if absent:
        raise TableError(
            f"--test {path} lacks the column{'s' if len(absent) > 1 else ''} "
            f"{', '.join(map(repr, absent[:20]))} of the training table. Add what is missing, "
            "or leave it out of both with --drop."
        )
    if task == "regression":
        if y_held.dtype.kind not in "fiub":
            raise TableError(
                f"--test {path}: its target holds {y_held[0].item()!r}, but the training target "
                "holds numbers."
            )
        return ""
    unknown, said = unknown_classes(y_held, y)
    if unknown and (set(y_held.tolist()) <= set(unknown) or y.dtype.kind != y_held.dtype.kind):
        raise TableError(
            f"--test {path}: its target holds {unknown[0]!r}, which the training target never is. "
            "Leave those rows out, or train on a table that has some."
        )
    return said and f"--test {path}: {said}"


def unknown_classes(y: np.ndarray, known: np.ndarray) -> tuple[list, str]:
    """The classes that are not among the known ones, and what becomes of their rows."""
    unknown = sorted(set(y.tolist()) - set(known.tolist()), key=str)
    rows = sum(value in set(unknown) for value in y.tolist())
    have = "1 row has" if rows == 1 else f"{rows} rows have"
    said = (
        f"{have} a class that training never had: {first_of(unknown, shown=repr)}. No model can "
        "predict it, so that it counts as wrong."
    )
    return unknown, said * bool(unknown)
