"""Weights, groups and times of rows are read from columns that the user names, or groups from the
molecules in the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from mercer.cli.fit_options import FitOptions
from mercer.cli.terminal import OptionError, TableError, column_faults, refuse
from mercer.tables import Column, ReadTable, Related, as_dates, as_numbers

SCAFFOLD = "scaffold"  # --group, where there is no such column


@dataclass(frozen=True)
class Extras:
    """What is known of each row beside the columns to predict from; None where it is not given."""

    weights: np.ndarray | None = None
    related: Related | None = None

    def take(self, rows: np.ndarray) -> Extras:
        """The same for some of the rows, among which a fit finds copies by itself."""
        related = None if self.related is None or self.related.copies else self.related.take(rows)
        return Extras(None if self.weights is None else self.weights[rows], related)

    @property
    def groups(self) -> np.ndarray | None:
        """The groups that are held out as a whole, unless they are of copies."""
        return None if self.related is None or self.related.copies else self.related.groups

    @property
    def times(self) -> np.ndarray | None:
        return None if self.related is None else self.related.times


def check_extras(options: FitOptions, path: str, names: list[str], targets: Sequence[str]) -> None:
    """Refuse columns of --group, --time-column and --weight that are not among the names."""
    group = None if options.group == SCAFFOLD and SCAFFOLD not in names else options.group
    given = {"--group": group, "--time-column": options.time_column, "--weight": options.weight}
    for option, name in given.items():
        refuse(column_faults(option, [] if name is None else [name], path, names, targets))


def read_extras(
    frame: pl.DataFrame, options: FitOptions, path: str, targets: Sequence[str]
) -> tuple[ReadTable, Extras]:
    """The columns to predict from, and those of --group, --time-column and --weight."""
    check_extras(options, path, frame.columns, targets)
    weights = groups = times = None
    of_column = options.group if options.group in frame.columns else None
    if of_column is not None:
        column = frame[of_column]
        if column.null_count():
            raise TableError(
                f"--group {options.group}: {column.null_count()} rows have no group: give each a "
                "group of its own, or leave them out."
            )
        groups = np.array([str(value) for value in column.to_list()], dtype=object)
        if len(set(groups)) < 2:
            raise TableError(
                f"--group {options.group}: all rows are of one group; give two or more."
            )
    if {of_column, options.weight}.issuperset(frame.columns):
        raise TableError("without the group and the weight, no column is left to predict from.")
    table = ReadTable.of(frame if of_column is None else frame.drop(of_column))
    if options.weight is not None:
        values = table.columns[options.weight]
        weights = as_numbers(values)
        bad = ~(np.isfinite(weights) & (weights >= 0))
        if bad.any() or not weights.any():
            first = int(np.argmax(bad))
            where = f"row {first + 1} {_cell(values[[first]].tolist()[0])}"
            raise TableError(
                f"--weight {options.weight}: {where if bad.any() else 'all are 0'}; give numbers "
                ">= 0, some of them > 0."
            )
    if options.time_column is not None:
        times = _times(table.columns[options.time_column], options.time_column)
    related = Related.read(groups, times, len(table))
    return table.without([options.weight]), Extras(weights, related)


def of_molecules(
    extras: Extras, options: FitOptions, columns: list[Column], values: dict[Any, np.ndarray]
) -> tuple[Extras, list[str]]:
    """The same where columns tell which rows are related, if the user does not; and what is said
    of it."""
    if extras.related is not None:
        return extras, []
    by = SCAFFOLD if options.group == SCAFFOLD else ""
    try:
        related = Related.of_columns(columns, values, by)
    except ValueError:
        raise OptionError(
            f"--group {by}: there is no column of that name, nor one of molecules of several "
            "scaffolds."
        ) from None
    if related is None:
        alone = "Each row has a scaffold of its own, so rows are held out at random."
        return extras, [alone] * bool(by)
    assert related.groups is not None
    count, what = int(related.groups.max()) + 1, "scaffolds" if by else "different molecules"
    said = (
        f"The {len(related.groups):,} rows are of {count:,} {what}; each is on one side of a split."
    )
    return replace(extras, related=related), [said]


def _times(values: np.ndarray, name: str) -> np.ndarray:
    """Numbers, or seconds since 1970, which sort by time."""
    numbers = values
    if values.dtype.kind != "f":
        dates = as_dates(values)
        numbers = np.where(np.isnat(dates), np.nan, dates.astype("datetime64[s]").astype(float))
    lacking = np.isnan(numbers)
    if lacking.any():
        raise TableError(
            f"--time-column {name}: row {int(np.argmax(lacking)) + 1} "
            f"{_cell(values[[np.argmax(lacking)]].tolist()[0])}, which is neither a date nor a "
            "number: mend or leave out such rows."
        )
    return numbers


def _cell(value: object) -> str:
    """What a row has in a column, in words."""
    return "has an empty cell" if value is None or value != value else f"has {value!r}"
