"""The target of a table: read from its column, and checked before anything is fitted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from mercer.cli.errors import OptionError, TableError, counted, no_column
from mercer.selection.automatic import LARGEST, known_order, levels_in_order, ranks_of
from mercer.tables import (
    Column,
    is_missing_mark,
    level_text,
    spelled_quantity,
    unit_of,
    used_columns,
)

LARGEST_CLASSES = 20  # with a unit, such as "5 stars"; more of them are numbers
NO_CLASS = {"null", "NULL", "NaN", "nan", "<NA>", "NaT"}  # as SQL, JSON and pandas write it


def read_target(
    frame: pl.DataFrame,
    target: str,
    path: str,
    varied: bool = True,
    unread: dict[str, str] | None = None,
) -> tuple[pl.DataFrame, Any, np.ndarray]:
    """(other columns, targets, their row numbers); to learn from if ``varied``.

    Rows without a target are left out.
    ``unread`` names the columns of the file that are no columns of the frame, and what they hold.
    """
    if target in (unread or {}):
        held = (unread or {})[target]
        raise TableError(f"--target {target} holds {held}: give a column of numbers or classes.")
    if target not in frame.columns:
        raise no_column("--target", target, path, frame.columns)
    dtype = frame[target].dtype
    if dtype.is_nested() or dtype == pl.Binary:
        raise TableError(f"--target {target} holds {dtype}: give a column of numbers or classes.")
    answers = _spelled_target(frame[target].alias(""))  # in some names polars sees patterns
    known = answers.is_not_null()
    if not known.any():
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
    others = {c.name: c.filter(known) for c in frame.iter_columns() if c.name != target}
    return pl.DataFrame(others), y, np.flatnonzero(known.to_numpy())


def unit_said(column: pl.Series, target: str) -> str:
    """The unit of a target of quantities, in a sentence; "" if it has none."""
    known = column.alias("").drop_nulls()  # in some names polars sees patterns
    texts = known.unique().to_list() if column.dtype == pl.String else []
    unit = unit_of(texts) if len(texts) > LARGEST_CLASSES else ""
    return f"{target} is read in {unit}." if unit else ""


def left_out(rows: int, target: str) -> str:
    """What becomes of rows without a target."""
    return f"{counted(rows, 'row')} without a {target} {'is' if rows == 1 else 'are'} left out."


def _spelled_target(column: pl.Series) -> pl.Series:
    """A target with NaN, and marks of missing values among texts that spell numbers, as null."""
    if column.dtype.is_float() or column.dtype.is_decimal():
        return column.cast(pl.Float64).fill_nan(None)
    if column.dtype.is_integer():  # numpy has none of 128 bits
        short = column.cast(pl.Int64, strict=False)
        return short if short.null_count() == column.null_count() else column.cast(pl.Float64)
    if column.dtype != pl.String:
        return column
    numbers: dict[str, float] = {}
    texts = column.drop_nulls().unique().to_list()
    unit = unit_of(texts) if len(texts) > LARGEST_CLASSES else ""
    for text in texts:
        number = spelled_quantity(text, unit)
        if re.fullmatch(r"0\d+", text):
            return column  # codes
        if number is not None:
            numbers[text] = number
        elif not is_missing_mark(text):
            return _classes(column)  # of which "none" may be one
    if not numbers:
        return column
    whole = all(number == round(number) and abs(number) < 2**53 for number in numbers.values())
    spelled = pl.Series(column.name, [numbers.get(v) for v in column.to_list()], dtype=pl.Float64)
    return spelled.cast(pl.Int64) if whole else spelled


def _classes(column: pl.Series) -> pl.Series:
    """Classes, with null for texts by which programs write that there is none.

    "None" is a class where the others are written with a capital, as in "None", "Mild", "Severe".
    """
    texts = set(column.drop_nulls().unique().to_list())
    gone = {t for t in texts if not t.strip() or t.strip() in NO_CLASS}
    others = {t for t in texts - gone if t.strip() != "None"}
    if not any(t[:1].isupper() for t in others):
        gone |= texts - others
    if not gone or gone == texts:
        return column
    kept = [None if text in gone else text for text in column.to_list()]
    return pl.Series(column.name, kept, dtype=pl.String)


def class_order(
    y: np.ndarray, column: pl.Series, task: str | None, given: list[str], target: str
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
    if y.dtype.kind in "iuf":
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
    some = ", ".join(map(repr, unknown[:5])) + ", ..." * (len(unknown) > 5)
    have = "1 row has" if rows == 1 else f"{rows} rows have"
    return unknown, f"{have} a class that training never had: {some}. " * bool(unknown) + (
        "No model can predict it, so that it counts as wrong." * bool(unknown)
    )
