"""The commands on tables and documents: fit, predict, report, check, neighbors and dedup.

Each is a thin function that imports its own module on use, so that ``mercer --help`` is fast; the
work is in files of the same names beside this one.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Annotated, Literal

from cyclopts import Parameter

from mercer.cli.errors import OptionError, of_option
from mercer.cli.libraries import foreseen, is_short
from mercer.cli.options import (
    Drops,
    FitOptions,
    Flag,
    Json,
    Kinds,
    More,
    Names,
    Output,
    ReadingOptions,
    levels_given,
    reading_given,
)
from mercer.cli.search_options import DedupOptions, NeighborOptions
from mercer.durations import seconds


def fit(train: Path, /, *more: More, options: FitOptions) -> int:
    """Fit, score and explain a model of a table.

    Parameters
    ----------
    train
        The table: CSV, TSV, Parquet, Arrow, JSON lines, svmlight, Excel or .ts, also compressed; a
        pattern such as "part-*.csv"; a folder of graphs (.graphml); or - for standard input.
    """
    started = monotonic()
    warned = False
    if options.time is not None and options.trials is None:
        with of_option(OptionError):
            limit = seconds(options.time)
        warned = is_short(limit, foreseen(), "will take about")
    from mercer.cli.problem import check_names

    options = replace(options, train=train, more=more)
    check_names(options)
    from mercer.cli.fit import fit_table

    return fit_table(options, started, warned=warned)


def predict(
    model: Path,
    table: Path,
    /,
    *more: More,
    output: Output,
    keep: Names = (),
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008 - it cannot change
    safe_cells: Flag = False,
    interval: float | None = None,
    quantiles: str | None = None,
    explain: Flag = False,
    force: Flag = False,
    json: Json = False,
) -> int:
    """Predict for the rows of a table, in their order.

    Writes the column prediction and, for each class, proba_ and its name.

    Parameters
    ----------
    model
        A model file from mercer fit.
    table
        New rows: the training columns in any order; others are ignored.
    output
        A CSV, TSV or Parquet file; or - for standard output, as CSV.
    keep
        A column of the table to copy beside the predictions. May be repeated.
    safe_cells
        Put a ' before texts that spreadsheets would run as formulas, such as =1+1.
    interval
        Add prediction_low and prediction_high, between which the true number is with this
        probability, such as 0.9.
    quantiles
        Add quantiles of the true number, such as 0.1,0.5,0.9, as quantile_0.1 and so on.
    explain
        Add the training rows that each prediction rests on most: because_1 to because_3, and
        not_like_1, which speaks most against it.
    force
        Replace an existing output file.
    """
    from mercer.cli.predict import predict_table

    return predict_table(
        model, [table, *more], output=output, keep=keep,
        reading=reading_given(reading), safe_cells=safe_cells,
        levels=levels_given(interval, quantiles), explain=explain, force=force, json=json,
    )  # fmt: skip


def report(
    model: Path,
    table: Path,
    /,
    *more: More,
    target: str | None = None,
    output: Output = Path("report.html"),
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008 - it cannot change
    no_rows: Flag = False,
    force: Flag = False,
    json: Json = False,
) -> int:
    """Score a model on new rows whose target is known, and write a report.

    Parameters
    ----------
    model
        A model file from mercer fit.
    table
        New rows: the training columns and the target.
    target
        The column that the model predicts. Default: as in training.
    output
        The report, a file that ends in .html.
    no_rows
        Keep the values of single rows out of the report.
    force
        Replace an existing report.
    """
    from mercer.cli.report import report_table

    return report_table(
        model, [table, *more], target=target, output=output,
        reading=reading_given(reading), no_rows=no_rows, force=force,
        json=json,
    )  # fmt: skip


def check(
    table: Path,
    /,
    *more: More,
    target: str | None = None,
    test: Path | None = None,
    task: Literal["classification", "regression"] | None = None,
    kind: Kinds = (),
    drop: Drops = (),
    kernel: str | None = None,
    whole: Annotated[Flag, Parameter(name="--all")] = False,
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008 - it cannot change
    json: Json = False,
) -> int:
    """Say what is in a table and what is wrong with it, without fitting.

    Parameters
    ----------
    table
        The table, in any format of mercer fit.
    target
        The column to predict, checked as a target.
    test
        The table that a model is to be scored on: does it share rows with the other?
    task
        Overrides what the target suggests.
    whole
        Print every column, notice and finding, also where there are many.
    kernel
        Also check Mercer's condition for this kernel on the table's numbers: rbf, sigmoid ...
    """
    from mercer.cli.check import check_table

    return check_table(
        [table, *more], target=target, test=test, task=task, kind=kind, drop=drop,
        kernel=kernel, reading=reading_given(reading), json=json, whole=whole,
    )  # fmt: skip


def neighbors(
    items: Path,
    query: Path | None = None,
    /,
    *,
    options: NeighborOptions = NeighborOptions(),  # noqa: B008 - it cannot change
) -> int:
    """Find the nearest rows of a table, by columns of any kind.

    The distance is the mean over the columns, each of which counts from 0 to 1. Writes the columns
    row, neighbour, distance and rank.

    Parameters
    ----------
    items
        The table in which neighbours are searched, in any format of mercer fit.
    query
        Rows that ask, with the same columns. Without it each row of the items asks for others.
    """
    from mercer.cli.neighbors import write_neighbors

    return write_neighbors(replace(options, items=items, query=query))


def dedup(
    file: Path,
    /,
    *more: Annotated[Path, Parameter(help="More files of the same format.")],
    options: DedupOptions = DedupOptions(),  # noqa: B008 - it cannot change
) -> int:
    """Remove near-duplicates from files of documents.

    Each removal is verified against a document that stays. A run that was killed goes on where it
    was when the same command is given again.

    Parameters
    ----------
    file
        JSON lines, CSV, TSV, plain text (a document in each line) or Parquet; text also compressed
        (.gz, .zst, .bz2, .xz); or a pattern such as "part-*.jsonl".
    """
    from mercer.cli.dedup import deduplicate_files

    return deduplicate_files(replace(options, files=(file, *more)))
