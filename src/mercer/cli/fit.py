"""``mercer fit``: a table in; a tuned kernel machine, its honest score and its report out.

`fit_table` is the whole story. What is read is in problem.py, what is shown and written in
outcome.py, and the steps between the two are here.
"""

from __future__ import annotations

import json
import shlex
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.cli.exit_codes import INTERRUPTED, NO_REPORT, OK
from mercer.cli.files import new_rows, note_origin
from mercer.cli.fit_options import FitOptions
from mercer.cli.libraries import is_short
from mercer.cli.outcome import Outcome, show_files, show_outcome, summary
from mercer.cli.problem import Problem, Split, read_problem, split_rows
from mercer.cli.screen import SearchBar
from mercer.cli.terminal import Terminal, line
from mercer.machines import HeldOut, hold_out, score_alone, score_held_out
from mercer.persistence import ModelFileError, load, save, skops_io
from mercer.plots.report import (
    Final,
    Provenance,
    ReportData,
    Subject,
    TableFacts,
    plain,
    report_data,
    write_report,
)
from mercer.selection.automatic import KernelClassifier, KernelRegressor
from mercer.spoken import a_type
from mercer.threads import Clock, Deadline, affordable_rows, paying_threads

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

SEARCH_SHARE = 0.6  # share of --time for the search on 80%; the rest is for the fit on all rows
START = 1.0  # seconds of loading the libraries that a short search is not robbed of
REPORT_SHARE, LEAST_REPORT = 0.1, 1.0  # share of --time, and seconds, for what the report measures
LATE_REPORT = 0.2  # seconds for it where the time is over
#: of --time, and least seconds, that the fit to all rows leaves to the report and its pictures; on
#: a slow machine these take as long as loading the libraries, and of a wide table a part of the
#: time of reading, if that is more
KEPT_SHARE, LEAST_KEPT, AS_READING = 0.1, 1.5, 0.5
#: least part of --time for the score, and the part of what is left for one prediction of its rows
LEAST_SCORED, PREDICTED_SHARE = 0.05, 0.4
CARE = 1.1  # the fit on all rows begins only if so many times its predicted time is left


def fit_table(options: FitOptions, started: float | None = None, *, warned: bool = False) -> int:
    """Run the command; returns its exit code.

    ``started`` is when it began, by `time.monotonic`: loading the libraries is a part of its time.
    ``warned`` is whether the user was warned before that loading takes most of it.
    """
    options.check()
    budget = Clock(options.limit(), started)
    loading = budget.spent()
    if not warned:
        is_short(budget.limit, loading, "took")
    screen = Terminal(quiet=options.quiet or options.json)
    problem = read_problem(options, screen)
    options = replace(options, target=problem.target)
    split = split_rows(problem, options, screen)
    options.check_memory(len(split.y_train))
    reading = budget.spent() - loading
    skops_io()  # what saving needs, a second on a slow machine: before the search plans its time
    with SearchBar(screen, budget.limit, problem.metric) as bar:
        kept = budget.part(KEPT_SHARE, max(LEAST_KEPT, loading, AS_READING * reading))
        steps = Steps(bar, timed=options.trials is None, kept=kept)
        outcome = search_and_refit(problem, split, options, screen, steps, budget)
        save(outcome.final, options.output)  # before anything that may fail
        outcome = with_report(outcome, problem, options, steps, budget)
    spent = budget.spent()
    steps.take(
        "results", "the results are not shown",
        lambda: show_all(outcome, problem, options, spent, steps.left_out, screen),
    )  # fmt: skip
    return _exit_code(outcome, steps, options)


def search_and_refit(
    problem: Problem,
    split: Split,
    options: FitOptions,
    screen: Terminal,
    steps: Steps,
    budget: Clock,
) -> Outcome:
    """Search on the training rows, score on the others, fit to all rows if there is time.

    Ctrl-C in the search keeps the best model until then, and later ends the step that runs.
    """
    model = _estimator(problem, options, budget)
    model.progress = None if screen.quiet else steps.bar
    extras = split.extras
    train = model.fit_and_encode(
        split.X_train, problem.named(split.y_train), extras.weights,
        groups=extras.groups, times=extras.times,
        resume=None if options.resume is None else _earlier(options.resume, model),
    )  # fmt: skip
    model.progress = None
    if model.interrupted_ is not None:
        steps.left_out.append(f"the {model.interrupted_} was cut short")
    split = replace(split, X_train=train)
    before = None
    if options.compress is not None:
        split, before = _compress(model, split, options.compress)
    split, scores = _score(model, problem, split, options, steps, budget)
    if options.compress is not None:
        model.notices_.append(_loss(before, scores, options.compress))
    final, table = _refit(model, problem, split, options, steps, budget)
    rows = split.numbers[0] if final is model else problem.rows
    note_origin(final, problem.target, rows)
    if final is not model:
        table = table[np.searchsorted(rows, split.numbers[0])]
    outcome = Outcome(model, None, final, len(rows), split, table)
    if not problem.targets:
        return replace(outcome, score=scores[0] if scores else None)
    parts = {
        target: Outcome(
            model.of_target(target), scores[place] if scores else None, final.of_target(target),
            len(rows), split.of_target(place), table,
        )
        for place, target in enumerate(problem.targets)
    }  # fmt: skip
    return replace(outcome, parts=parts)


def with_report(
    outcome: Outcome,
    problem: Problem,
    options: FitOptions,
    steps: Steps,
    budget: Clock,
    target: str | None = None,
) -> Outcome:
    """The same with what the report shows, after it is written; whatever fails costs no more.

    ``target`` is one of several, each of which has a report.
    """
    if outcome.parts:
        parts = {
            target: with_report(part, problem, options, steps, budget, target)
            for target, part in outcome.parts.items()
        }
        failed = next((part.unreported for part in parts.values() if part.unreported), "")
        return replace(outcome, parts=parts, unreported=failed)
    if outcome.score is None:
        return outcome
    step = partial(_report, outcome, problem, options, budget, target)
    without = "there is no report" if target is None else f"there is no report of {target}"
    try:
        return replace(outcome, report=steps.take("report", without, step))
    except Exception as error:
        return replace(outcome, unreported=_described(error))


def show_all(
    outcome: Outcome,
    problem: Problem,
    options: FitOptions,
    spent: float,
    interrupted: list[str],
    screen: Terminal,
) -> None:
    """The results on the screen, or as JSON."""
    if options.json:
        facts = summary(outcome, problem, options, spent, interrupted)
        print(json.dumps(plain(facts), allow_nan=False))
    show_outcome(outcome, problem, options, screen)
    show_files(outcome, options, spent, screen)


class Steps:
    """What follows the search, step by step: Ctrl-C ends the step that runs, and loses no model.

    ``kept`` are the seconds that are kept for the report.
    """

    def __init__(self, bar: SearchBar, timed: bool, kept: float):
        self.bar, self.timed, self.kept = bar, timed, kept
        self.left_out: list[str] = []  # what is lacking, a clause for each interruption

    def take(self, name: str, without: str, step: Callable[[], Any]) -> Any:
        """The step's result; None, and ``without`` noted, where it was interrupted."""
        try:
            self.bar({"trial": name, "done": 1, "of": 1, "leaderboard": []})
            # as in the search, where the clock decides, it may decide about threads too
            with paying_threads() if self.timed else nullcontext():
                return step()
        except KeyboardInterrupt:
            self.left_out.append(without)
            return None


def _estimator(problem: Problem, options: FitOptions, budget: Clock) -> Any:
    """The automatic estimator of the task, not yet fitted."""
    automatic: Any = KernelRegressor
    if problem.task == "classification":
        automatic = partial(KernelClassifier, order=problem.order)
    spent = max(budget.spent() - START, 0.0)
    limit = max(SEARCH_SHARE * budget.limit - spent, 0.1 * budget.limit)
    return automatic(
        time=limit, memory=options.memory, trials=options.trials,
        metric=problem.metric, kind=problem.kinds, drop=list(options.drop), only=options.only,
        random_state=options.seed,
    )  # fmt: skip


def _earlier(file: Path, model: BaseEstimator) -> Any:
    """The model that the search goes on after."""
    earlier = load(file)
    if type(earlier) is not type(model):
        raise ModelFileError(
            f"--resume: {str(file)!r} holds {a_type(earlier)}, but the target asks for a "
            f"{type(model).__name__}. Give a model of the same table, or leave --resume out."
        )
    return earlier


def _score(
    model: Any, problem: Problem, split: Split, options: FitOptions, steps: Steps, budget: Clock
) -> tuple[Split, list[HeldOut]]:
    """The split with encoded rows, and the score of each target on those that are held out.

    There is none without such rows, or where it was interrupted. Rows that there is no time to
    predict are held out no longer.
    """
    if split.X_held is None:
        return split, []
    left = max(budget.left() - steps.kept, budget.part(LEAST_SCORED, 0.0))
    clock, targets = Clock(left if steps.timed else None), problem.targets or [""]

    def scored() -> tuple[Split, list[HeldOut]]:
        new = model.encode_table(split.X_held)
        both, order = replace(split, X_held=new), np.random.default_rng(0).permutation(len(new))
        rows = affordable_rows(
            lambda count: model.machine_(new.matrix[order[:count]]), len(order),
            clock.share(PREDICTED_SHARE / len(targets)), power=1,
        )  # fmt: skip
        if rows < len(order):  # of each class its share
            both = both.scored_on(hold_out(len(new), both.y_held, model.task, rows / len(new))[1])
            model.notices_.append(
                f"There was no time to predict all {len(order):,} rows that were held out: the "
                f"score is that of {len(both.y_held):,} of them. Give more --time."
            )
        scores = []
        for place, target in enumerate(targets):
            of, own = (model.of_target(target), both.of_target(place)) if target else (model, both)
            score = score_held_out(
                of, (own.X_train, own.y_train), (own.X_held, own.y_held), options.seed,
                own.groups_held, clock.share(1 / (len(targets) - place)),
            )  # fmt: skip
            scores.append(score)
            where = f" for {target}" if target else ""
            model.notices_ += [
                f"{row['name']!r} was not compared on the rows held out{where}: its fit to all "
                "rows took too long."
                for row in model.leaderboard_
                if row["baseline"] and row["name"] not in score.baselines
            ]
        return both, scores

    return steps.take("score", "there is no score and no report", scored) or (split, [])


def _refit(
    model: Any, problem: Problem, split: Split, options: FitOptions, steps: Steps, budget: Clock
) -> tuple[Any, Any]:
    """The winner fitted to all rows, and these rows.

    The model as it is, and its own rows, where these are all, or there is no time.
    """
    alone = model, split.X_train
    if options.test is not None or split.X_held is None:
        return alone
    if model.interrupted_ == "final fit":
        return alone  # who cut that one short wants no longer one
    n, fitted = len(problem.y), len(split.y_train)
    timed = options.trials is None
    wanted = CARE * model.refit_seconds(n / fitted)
    no_time = (
        f"There was no time left to fit the winner again: the model knows {fitted} of the {n} "
        "rows, without those that it was scored on. Give more --time."
    )
    if timed and wanted > budget.left() - steps.kept:
        model.notices_.append(no_time)
        return alone
    deadline = Deadline(budget if timed else Clock(), -steps.kept)

    def refitted() -> tuple[Any, Any]:
        final, rows = copy(model), None
        try:
            with deadline:
                y = problem.named(problem.y)
                rows = final.refit_and_encode(problem.X, y, problem.extras.weights)
                if options.compress is not None:
                    final.compress(rows, options.compress)
        except KeyboardInterrupt:
            if not deadline.is_over():  # else it was the clock that stopped a solver
                raise
        if deadline.is_over():  # a solver may have returned what it had
            model.notices_.append(no_time)
            return alone
        return final, rows

    without = f"the model is fitted on {fitted} of the {n} rows"
    return steps.take("final fit on all rows", without, refitted) or alone


def _compress(model: Any, split: Split, rank: int) -> tuple[Split, float | None]:
    """Compress a model; returns the encoded rows, and the score that it had on those held out."""
    before = None
    if split.X_held is not None:
        split = replace(split, X_held=model.encode_table(split.X_held))
        before = score_alone(model, (split.X_held, split.y_held))
    model.compress(split.X_train, rank)
    return split, before


def _loss(before: float | None, after: list[HeldOut], rank: int) -> str:
    """What the compression has cost, in a sentence."""
    said = f"The machine was compressed to {rank} centres."
    for score in after:
        said += f" On the rows held out its {score.metric} is {score.score:.4f}; before it was "
        said += f"{before:.4f}."
    return said


def _report(
    outcome: Outcome, problem: Problem, options: FitOptions, budget: Clock, target: str | None
) -> ReportData:
    """Measure what the report shows, and write it."""
    split, targets = outcome.split, problem.targets
    wanted = max(REPORT_SHARE * budget.limit, LEAST_REPORT) / max(len(targets), 1)
    data = report_data(Subject(
        outcome.model, split.X_train, split.y_train, holdout=(split.X_held, split.y_held),
        scored=outcome.score, final=Final(outcome.final, outcome.final_X, outcome.final_rows),
        facts=TableFacts(
            target or problem.target, problem.notices,
            [*problem.doubts_of(target or ""), *split.doubts], problem.dropped, split.numbers,
        ),
        provenance=Provenance(
            seed=options.seed, command=options.command(), model_path=str(options.output),
            data_path=" ".join(map(str, options.tables)), new_path=new_rows(options.train),
        ),
        values=not options.no_rows, what_if=options.what_if,
        time=max(min(wanted, budget.left()), LATE_REPORT),
    ))  # fmt: skip
    write_report(options.pages(targets)[target] if target else options.report, data)
    return data


def _described(error: Exception) -> str:
    """An error and where it was raised: enough to report it."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}, line {frame.lineno}"
    return f"{type(error).__name__}: {error} ({where})"


def _exit_code(outcome: Outcome, steps: Steps, options: FitOptions) -> int:
    """The exit code; prints on stderr what is missing and why."""
    errors = Terminal(stderr=True)
    if outcome.unreported:
        errors.print(
            line(
                ("mercer: ", "yellow"),
                f"the model is in {options.output}, but its report could not be written: "
                f"{outcome.unreported}. If this is not for lack of room or of rights, it is an "
                "error of Mercer's own: please report it.",
            ),
            soft_wrap=True,
        )
    if steps.left_out:
        cut = outcome.model.interrupted_ == "search"
        more = f" To go on, add --resume {shlex.quote(str(options.output))}." if cut else ""
        errors.print(
            f"Interrupted: {'; '.join(steps.left_out)}. The best model until then is in "
            f"{options.output}.{more}",
            soft_wrap=True,
        )
        return INTERRUPTED
    return NO_REPORT if outcome.unreported else OK
