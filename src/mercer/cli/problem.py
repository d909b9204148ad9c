"""What ``mercer fit`` is asked to learn: a table, its target, the task, and which rows score it.

`read_problem` reads the table, `split_rows` sets the rows aside that no fit may see. Both say on
the screen what they found.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from mercer.cli.errors import counted
from mercer.cli.options import FitOptions
from mercer.cli.tables import read_table
from mercer.cli.target import check_task, check_test_table, left_out, read_target
from mercer.cli.terminal import Terminal, line
from mercer.selection.holdout import hold_out
from mercer.selection.metrics import metric_named
from mercer.selection.tasks import task_of

__all__ = ["Problem", "Split", "read_problem", "split_rows"]

FEWEST_ROWS = 20  # with fewer, nothing is held out


@dataclass(frozen=True)
class Problem:
    """The rows that have a target, and what is to be learnt of them.

    Attributes
    ----------
    X, y : the columns besides the target, and the target
    task, why : str
        "classification" or "regression", and the reason.
    metric : str
    dropped : int
        Rows of the file that have no target.
    """

    X: pl.DataFrame
    y: np.ndarray
    task: str
    why: str
    metric: str
    dropped: int


@dataclass(frozen=True)
class Split:
    """The rows to fit to, and those that are held out, if any.

    ``numbers`` are those of both among the rows of the problem; None for rows of other tables.
    """

    X_train: pl.DataFrame
    y_train: np.ndarray
    X_held: pl.DataFrame | None = None
    y_held: Any = None
    numbers: tuple[np.ndarray, np.ndarray] | None = None


def read_problem(options: FitOptions, screen: Terminal) -> Problem:
    """Read the training table; say how large it is, what the task is, and why."""
    frame = read_table(options.train, options.encoding)
    X, y, dropped = read_target(frame, options.target, options.train)
    task, why = task_of(y, options.task)
    check_task(task, y, options.target)
    metric = metric_named(options.metric, task).name
    sizes = f"{counted(X.height, 'row')}, {counted(X.width, 'column')}"
    screen.print(line((options.train.name, "bold"), f": {sizes} besides {options.target}."))
    if dropped:
        screen.print(left_out(dropped, options.target))
    screen.print(line("Task: ", (task, "bold"), f", since {why}.\n"))
    return Problem(X, y, task, why, metric, dropped)


def split_rows(problem: Problem, options: FitOptions, screen: Terminal) -> Split:
    """The rows to score on: those of --test, else a share of the table that is large enough."""
    X, y = problem.X, problem.y
    if options.test is not None:
        return Split(X, y, *_read_test(problem, options.test, options, screen))
    if X.height < FEWEST_ROWS:
        screen.print(f"Fewer than {FEWEST_ROWS} rows: none are held out, and there is no score.\n")
        return Split(X, y)
    rows, others = hold_out(X.height, y, problem.task, seed=options.seed)
    return Split(X[rows], y[rows], X[others], y[others], (rows, others))


def _read_test(
    problem: Problem, test: Path, options: FitOptions, screen: Terminal
) -> tuple[pl.DataFrame, Any]:
    """The table of --test, and its targets, which the model can be scored on."""
    frame = read_table(test, options.encoding)
    X, y, dropped = read_target(frame, options.target, test, varied=False)
    if problem.y.dtype.kind == "U":
        y = y.astype(str)  # classes 1 and 2, where training has 3a too
    if dropped:
        screen.print(f"{test}: {left_out(dropped, options.target)}\n")
    check_test_table(X, y, problem.X, problem.y, problem.task, options.kinds, options.drop, test)
    return X, y
