"""The commands that make and use models of tables, with their options: fit, predict, report, check.

Each is a thin function that imports its own module on use, so that ``mercer --help`` is fast; the
work is in fit.py, predict.py, report.py and check.py beside this file.
"""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import Annotated, Literal

from cyclopts import Parameter

from mercer.cli.errors import OptionError, of_option
from mercer.cli.libraries import foreseen, is_short
from mercer.cli.shared_options import (
    MEMORY,
    Drops,
    Flag,
    Json,
    Kinds,
    More,
    Quiet,
    ReadingOptions,
    Whole,
)
from mercer.durations import seconds


def fit(
    train: Path,
    /,
    *more: More,
    target: str,
    test: Path | None = None,
    task: Literal["classification", "regression", "ordered"] | None = None,
    order: str | None = None,
    metric: str | None = None,
    time: str | None = None,
    trials: Whole | None = None,
    memory: str = MEMORY,
    kind: Kinds = None,
    drop: Drops = None,
    only: Literal["kernels"] | None = None,
    group: str | None = None,
    time_column: str | None = None,
    weight: str | None = None,
    compress: Whole | None = None,
    seed: Whole = 0,
    output: Annotated[Path, Parameter(alias="-o")] = Path("model.mercer"),
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008 - it cannot change
    no_rows: Flag = False,
    resume: Path | None = None,
    force: Flag = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Fit, score and explain a model of a table.

    Parameters
    ----------
    train
        The table: CSV, TSV, Parquet, Arrow, JSON lines, svmlight, Excel or .ts, also compressed; a
        pattern such as "part-*.csv"; a folder of graphs (.graphml); or - for standard input.
    target
        The column to predict.
    test
        A table to score on; without it 20% of the rows are split off before anything is fitted.
    task
        Overrides what the target suggests; ordered means classes with an order, such as low,
        medium and high, or 1 to 5.
    order
        The classes of an ordered target, the lowest first: low,medium,high. Words of known scales
        and numbers need none.
    metric
        What to optimise and report: accuracy, balanced_accuracy, roc_auc, average_precision,
        log_loss, f1; r2, rmse, mae; of ordered classes rank_error, quadratic_kappa. Default: r2, or
        accuracy, or rank_error, or average_precision for two classes of which one has less than a
        tenth of the rows.
    time
        Time for all of it, search, final fit and report: 90, "120s", "5min", "1h". Default: 120s.
    trials
        A number of trials in place of --time: the same model on any machine.
    memory
        Memory budget: "4GB", "500MB".
    only
        "kernels" keeps a kernel machine even where the constant or a linear model, which are tried
        too, predicts rows that were left out better.
    group
        A column of groups, such as patients: rows of one group are never on both sides of a split.
        It is not used to predict from.
    time_column
        A column of times: the latest rows are held out, as later rows are to be predicted.
    weight
        A column with the weights of the rows, >= 0. It is not used to predict from.
    compress
        So many centres in place of all rows or support vectors: a smaller file and predictions that
        are many times as fast. The score is that of the compressed model; what it lost is said.
    seed
        Seed of the split and the search.
    output
        Where the model is written; the report goes beside it as .html.
    no_rows
        Keep the values of single rows out of the report: cells, targets, words, levels and ranges.
    resume
        A model of the same table with the same options, such as one that Ctrl-C has left: its
        trials are not repeated, and the search goes on after them.
    force
        Replace an existing model and report.
    """
    started = monotonic()
    warned = False
    if time is not None and trials is None:
        with of_option(OptionError):
            limit = seconds(time)
        warned = is_short(limit, foreseen(), "will take about")
    from mercer.cli.options import FitOptions
    from mercer.cli.problem import check_names

    options = FitOptions(
        train=train, target=target, test=test, task=task, metric=metric, time=time, trials=trials,
        memory=memory, kind=kind or [], drop=drop or [], group=group, time_column=time_column,
        weight=weight, compress=compress, seed=seed, output=output, read=reading,
        more=more, resume=resume, force=force, json=json,
        quiet=quiet, no_rows=no_rows, only=only, order=order,
    )  # fmt: skip
    check_names(options)
    from mercer.cli.fit import fit_table

    return fit_table(options, started, warned=warned)


def predict(
    model: Path,
    table: Path,
    /,
    *more: More,
    output: Annotated[Path, Parameter(alias="-o")],
    keep: Annotated[list[str] | None, Parameter(negative="")] = None,
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
    from mercer.cli.options import levels_given, reading_given
    from mercer.cli.predict import predict_table

    return predict_table(
        model, [table, *more], output=output, keep=keep or [],
        reading=reading_given(reading), safe_cells=safe_cells,
        levels=levels_given(interval, quantiles), explain=explain, force=force, json=json,
    )  # fmt: skip


def report(
    model: Path,
    table: Path,
    /,
    *more: More,
    target: str | None = None,
    output: Annotated[Path, Parameter(alias="-o")] = Path("report.html"),
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
    from mercer.cli.options import reading_given
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
    kind: Kinds = None,
    drop: Drops = None,
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
    from mercer.cli.options import reading_given

    return check_table(
        [table, *more], target=target, test=test, task=task, kind=kind or [], drop=drop or [],
        kernel=kernel, reading=reading_given(reading), json=json, whole=whole,
    )  # fmt: skip
