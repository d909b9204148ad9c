"""``mercer fit``: a table in; a tuned kernel machine, its honest score and its report out.

`fit_table` is the whole story. What is read is in problem.py, what is shown and written in
outcome.py, and the steps between the two are here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

from rich.console import Console

from mercer.cli.exit_codes import INTERRUPTED, OK
from mercer.cli.options import FitOptions
from mercer.cli.outcome import Outcome, show_files, show_outcome, summary, write_files
from mercer.cli.problem import Problem, Split, read_problem, split_rows
from mercer.cli.screen import SearchBar
from mercer.plots.report import ReportData, report_data
from mercer.samples import EncodedColumns
from mercer.selection.automatic import KernelClassifier, KernelRegressor
from mercer.selection.budget import seconds
from mercer.selection.holdout import HeldOut, score_held_out

__all__ = ["fit_table"]

SEARCH_SHARE = 0.72  # of --time, for the search on 80%; the rest is for the fit on all rows


def fit_table(options: FitOptions) -> int:
    """Run the command; returns its exit code."""
    started = time.monotonic()
    options.check()
    screen = Console(quiet=options.quiet or options.json, highlight=False)
    problem = read_problem(options, screen)
    split = split_rows(problem, options, screen)
    outcome = search_and_refit(problem, split, options, screen)
    show_outcome(outcome, problem, options, screen)
    written = write_files(outcome, options)
    spent = time.monotonic() - started
    if options.json:
        print(json.dumps(summary(outcome, problem, options, written, spent), default=str))
    show_files(written, options, spent, screen)
    return _exit_code(outcome, options)


def search_and_refit(
    problem: Problem, split: Split, options: FitOptions, screen: Console
) -> Outcome:
    """Search on the training rows, score on the others, fit to all rows, measure for the report.

    Ctrl-C in the search keeps the best model until then, and later ends the step that runs.
    """
    model = _estimator(problem, options)
    with SearchBar(screen, seconds(options.time), problem.metric) as bar:
        model.progress = None if screen.quiet else bar
        encoded = model.fit_and_encode(split.X_train, split.y_train)
        model.progress = None
        steps = Steps(bar)
        if model.interrupted_ is not None:
            steps.left_out.append(f"the {model.interrupted_} was cut short")
        score = _score(model, encoded, split, options, steps)
        del encoded  # the fit to all rows needs the memory
        final = _refit(model, problem, split, options, steps) or model
        final_rows = len(split.y_train) if final is model else len(problem.y)
        outcome = Outcome(model, score, final, final_rows, None, steps.left_out)
        report = _measure(outcome, problem, split, options, steps)
    return replace(outcome, report=report)


class Steps:
    """What follows the search, step by step: Ctrl-C ends the step that runs, and loses no model.

    Attributes
    ----------
    left_out : list of str
        What is lacking, a clause for each interruption.
    """

    def __init__(self, bar: SearchBar):
        self.bar = bar
        self.left_out: list[str] = []

    def take(self, name: str, without: str, step: Callable[[], Any]) -> Any:
        """The step's result; None, and ``without`` noted, where it was interrupted."""
        try:
            self.bar({"trial": name, "done": 1, "of": 1, "leaderboard": []})
            return step()
        except KeyboardInterrupt:
            self.left_out.append(without)
            return None


def _estimator(problem: Problem, options: FitOptions) -> Any:
    """The automatic estimator of the task, not yet fitted."""
    automatic: Any = KernelClassifier if problem.task == "classification" else KernelRegressor
    return automatic(
        time=seconds(options.time) * SEARCH_SHARE, memory=options.memory, trials=options.trials,
        metric=problem.metric, kind=options.kinds, drop=options.drop, random_state=options.seed,
    )  # fmt: skip


def _score(
    model: Any, encoded: EncodedColumns, split: Split, options: FitOptions, steps: Steps
) -> HeldOut | None:
    """The score on the rows that are held out; None without any, or where it was interrupted.

    ``encoded`` are the training rows.
    """
    if split.X_held is None:
        return None
    return steps.take(
        "score", "there is no score and no report",
        lambda: score_held_out(
            model, (encoded, split.y_train), (split.X_held, split.y_held), options.seed
        ),
    )  # fmt: skip


def _refit(model: Any, problem: Problem, split: Split, options: FitOptions, steps: Steps) -> Any:
    """The winner fitted to all rows; None where it was fitted to all, or this was interrupted."""
    if options.test is not None or split.X_held is None:
        return None
    if model.interrupted_ == "final fit":
        return None  # who cut that one short wants no longer one
    return steps.take(
        "final fit on all rows",
        f"the model is fitted on {len(split.y_train)} of the {len(problem.y)} rows",
        lambda: copy(model).refit(problem.X, problem.y),
    )


def _measure(
    outcome: Outcome, problem: Problem, split: Split, options: FitOptions, steps: Steps
) -> ReportData | None:
    """What the report shows; None without a score, or where it was interrupted."""
    if outcome.score is None:
        return None
    return steps.take(
        "report", "there is no report",
        lambda: report_data(
            outcome.model, split.X_train, split.y_train, holdout=(split.X_held, split.y_held),
            scored=outcome.score, final=outcome.final, final_rows=outcome.final_rows,
            target=options.target, dropped_rows=problem.dropped, command=options.command(),
            model_path=str(options.output), data_path=str(options.train), seed=options.seed,
        ),
    )  # fmt: skip


def _exit_code(outcome: Outcome, options: FitOptions) -> int:
    """That of an interruption, and what it cost on stderr, where there was one."""
    if not outcome.left_out:
        return OK
    Console(stderr=True, highlight=False).print(
        f"Interrupted: {'; '.join(outcome.left_out)}. The best model until then is in "
        f"{options.output}.",
        soft_wrap=True,
    )
    return INTERRUPTED
