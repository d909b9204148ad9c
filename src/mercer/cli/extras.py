"""The columns of --group, --time-column and --weight: what rows are, beside what predicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from mercer.cli.errors import TableError, check_columns
from mercer.cli.options import FitOptions
from mercer.tables import ReadTable, as_dates, as_numbers


@dataclass(frozen=True)
class Extras:
    """What is known of each row beside the columns to predict from; None where it is not given."""

    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    times: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> Extras:
        """The same for some of the rows."""
        parts = (self.weights, self.groups, self.times)
        return Extras(*(part if part is None else part[rows] for part in parts))


def check_extras(options: FitOptions, path: str, names: list[str]) -> None:
    """Refuse columns of --group, --time-column and --weight that are not among the names."""
    given = {"--group": options.group, "--time-column": options.time_column}
    given["--weight"] = options.weight
    for option, name in given.items():
        check_columns(option, [] if name is None else [name], path, names, options.target)


def read_extras(frame: pl.DataFrame, options: FitOptions, path: str) -> tuple[ReadTable, Extras]:
    """The columns to predict from, and those of --group, --time-column and --weight."""
    check_extras(options, path, frame.columns)
    weights = groups = times = None
    if options.group is not None:
        column = frame[options.group]
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
    if {options.group, options.weight}.issuperset(frame.columns):
        raise TableError("no column is left to predict from beside the group and the weight.")
    table = ReadTable.of(frame if options.group is None else frame.drop(options.group))
    if options.weight is not None:
        values = table.columns[options.weight]
        weights = as_numbers(values)
        bad = ~(np.isfinite(weights) & (weights >= 0))
        if bad.any() or not weights.any():
            where = f"row {int(np.argmax(bad)) + 1} has {values[[np.argmax(bad)]].tolist()[0]!r}"
            raise TableError(
                f"--weight {options.weight}: {where if bad.any() else 'all are 0'}; give numbers "
                ">= 0, some of them > 0."
            )
    if options.time_column is not None:
        times = _times(table.columns[options.time_column], options.time_column)
    return table.without([options.weight]), Extras(weights, groups, times)


def _times(values: np.ndarray, name: str) -> np.ndarray:
    """Numbers, or seconds since 1970, which sort by time."""
    numbers = values
    if values.dtype.kind != "f":
        dates = as_dates(values)
        numbers = np.where(np.isnat(dates), np.nan, dates.astype("datetime64[s]").astype(float))
    lacking = np.isnan(numbers)
    if lacking.any():
        raise TableError(
            f"--time-column {name}: row {int(np.argmax(lacking)) + 1} has "
            f"{values[np.argmax(lacking)]!r}, which is neither a date nor a number: mend or leave "
            "out such rows."
        )
    return numbers
