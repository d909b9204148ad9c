"""``mercer fit``: a table in; a tuned kernel machine, its honest score and its report out."""

from __future__ import annotations

import json as json_text
import shlex
import time as clock
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

import mercer
from mercer.cli.app import INTERRUPTED
from mercer.cli.predict import refuse_existing
from mercer.cli.screen import SearchBar, columns_table, leaderboard_table, number
from mercer.cli.tables import TableError, counted, read_table
from mercer.cli.target import check_task, check_test_table, left_out, read_target
from mercer.persistence import save
from mercer.plots.report import report_data, write_report
from mercer.selection.automatic import KernelClassifier, KernelRegressor
from mercer.selection.budget import seconds
from mercer.selection.holdout import HeldOut, hold_out, score_held_out
from mercer.selection.metrics import metric_named
from mercer.selection.tasks import task_of

__all__ = ["fit_command", "fit_table", "kinds_given"]

SEARCH_SHARE = 0.72  # of --time, for the search on 80%; the rest is for the fit on all rows
FEWEST_ROWS = 20  # with fewer, nothing is held out


def fit_table(
    train: Path,
    *,
    target: str,
    test: Path | None,
    task: str | None,
    metric: str | None,
    time: str,
    trials: int | None,
    memory: str,
    kind: list[str],
    drop: list[str],
    seed: int,
    output: Path,
    encoding: str,
    force: bool,
    json: bool,
    quiet: bool,
) -> int:
    """Run the command; returns its exit code."""
    started = clock.monotonic()
    screen = Console(quiet=quiet or json, highlight=False)
    _check_options(output, seed)
    inputs = [train, test] if test else [train]
    refuse_existing([output], force, inputs)
    report = output.with_suffix(".html")
    refuse_existing([report], force, inputs)
    command = fit_command(
        train, target=target, test=test, task=task, metric=metric, time=time, trials=trials,
        memory=memory, kind=kind, drop=drop, seed=seed, output=output, encoding=encoding,
    )  # fmt: skip
    frame = read_table(train, encoding)
    frame, y, dropped = read_target(frame, target, train)
    task, why = task_of(y, task)
    check_task(task, y, target)
    chosen = metric_named(metric, task)
    X = frame.drop(target)
    sizes = f"{counted(frame.height, 'row')}, {counted(X.width, 'column')}"
    screen.print(f"[bold]{escape(train.name)}[/]: {sizes} besides {escape(target)}.")
    if dropped:
        screen.print(escape(left_out(dropped, target)))
    screen.print(f"Task: [bold]{task}[/], since {escape(why)}.\n")

    if test is not None:
        held, y_held, lost = read_target(read_table(test, encoding), target, test, varied=False)
        if y.dtype.kind == "U":
            y_held = y_held.astype(str)  # classes 1 and 2, where training has 3a too
        if lost:
            screen.print(escape(f"{test}: {left_out(lost, target)}\n"))
        X_train, y_train, X_held = X, y, held.drop(target)
        check_test_table(X_held, y_held, X, y, task, kinds_given(kind), drop, test)
    elif frame.height >= FEWEST_ROWS:
        rows, others = hold_out(frame.height, y, task, seed=seed)
        X_train, y_train, X_held, y_held = X[rows], y[rows], X[others], y[others]
    else:
        X_train, y_train, X_held, y_held = X, y, None, None
        screen.print(f"Fewer than {FEWEST_ROWS} rows: none are held out, and there is no score.\n")

    estimator: Any = KernelClassifier if task == "classification" else KernelRegressor
    model: Any = estimator(
        time=seconds(time) * SEARCH_SHARE, memory=memory, trials=trials, metric=chosen.name,
        kind=kinds_given(kind), drop=drop, random_state=seed,
    )  # fmt: skip
    with SearchBar(screen, seconds(time), chosen.name) as bar:
        model.progress = None if quiet or json else bar
        model.fit(X_train, y_train)
        model.progress = None
        steps = Steps(bar)
        if model.interrupted_ is not None:
            steps.left_out.append(f"the {model.interrupted_} was cut short")
        score, final, data = None, model, None
        if X_held is not None:
            score = steps.take(
                "score", "there is no score and no report",
                lambda: score_held_out(model, (X_train, y_train), (X_held, y_held), seed),
            )  # fmt: skip
        # who cut the final fit short wants no longer one
        if test is None and X_held is not None and model.interrupted_ != "final fit":
            refitted = steps.take(
                "final fit on all rows",
                f"the model is fitted on {len(y_train)} of the {len(y)} rows",
                lambda: copy(model).refit(X, y),
            )
            final = refitted or model
        final_rows = len(y_train) if final is model else len(y)
        if score is not None:
            data = steps.take(
                "report", "there is no report",
                lambda: report_data(
                    model, X_train, y_train, holdout=(X_held, y_held), scored=score, final=final,
                    final_rows=final_rows, target=target, dropped_rows=dropped, command=command,
                    model_path=str(output), data_path=str(train), seed=seed,
                ),
            )  # fmt: skip

    screen.print(columns_table(model.columns_))
    for notice in model.notices_:
        screen.print(f"• {notice}", markup=False)
    screen.print()
    screen.print(leaderboard_table(model.leaderboard_, chosen.name))
    screen.print(f"\nWinner: [bold]{model.winner_name_}[/] ({model.solver_}).")
    if score is not None:
        _print_score(screen, score, test, final_rows)
    for text in [] if data is None else data.texts:
        screen.print(f"\nWhich {text.noun} of {text.column} speak for what:", markup=False)
        for sentence in text.sentences():
            screen.print(f"  {sentence}", markup=False)
    save(final, output)
    written = {"model": str(output)}
    if data is not None:
        write_report(report, data)
        written["report"] = str(report)
    if json:
        facts = summary(model, score, written, task, why, dropped, clock.monotonic() - started)
        facts |= {"command": command, "interrupted": steps.left_out}
        print(json_text.dumps(facts, default=str))
    screen.print(f"\nModel:  {output}", soft_wrap=True)
    if "report" in written:
        screen.print(f"Report: {report}", soft_wrap=True)
    elif report.exists():
        screen.print(f"{report} is of an earlier model: no new one was written.", soft_wrap=True)
    screen.print(
        f"Next:   mercer predict {output} NEW.csv -o predictions.csv   "
        f"({clock.monotonic() - started:.0f} s)",
        soft_wrap=True,
    )
    if steps.left_out:
        Console(stderr=True, highlight=False).print(
            f"Interrupted: {'; '.join(steps.left_out)}. The best model until then is in {output}.",
            soft_wrap=True,
        )
        return INTERRUPTED
    return 0


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


def _check_options(output: Path, seed: int) -> None:
    if output.suffix.lower() == ".html":
        raise TableError(
            f"--output {output}: the report takes that name; give the model another, such as "
            f"{output.with_suffix('.mercer')}."
        )
    if seed < 0:
        raise TableError(f"--seed {seed}: give a whole number, at least 0.")


def kinds_given(pairs: list[str]) -> dict[str, str]:
    """{"zip": "category"} for ["zip=category"]."""
    kinds = {}
    for pair in pairs:
        name, equals, value = pair.rpartition("=")
        if not equals or not name:
            raise TableError(f"--kind {pair}: write column=kind, such as --kind zip=category.")
        kinds[name] = value
    return kinds


def summary(model, score, written, task, why, dropped, spent) -> dict:
    """What --json prints."""
    return {
        "mercer": mercer.__version__,
        "task": task,
        "task_reason": why,
        "rows_without_target": dropped,
        "columns": [
            {"name": c.name, "kind": c.kind, "reason": c.reason, "missing": c.missing}
            for c in model.columns_
        ],
        "notices": model.notices_,
        "leaderboard": model.leaderboard_,
        "winner": model.winner_name_,
        "solver": model.solver_,
        "schedule": model.schedule_,
        "score": None
        if score is None
        else {
            "metric": score.metric,
            "value": score.score,
            "interval": [score.low, score.high],
            "rows": score.rows,
            "baselines": score.baselines,
            "simpler_model_as_good": score.as_good,
        },
        **written,
        "seconds": spent,
    }


def fit_command(train: Path, **options: Any) -> str:
    """The command line that repeats a fit: every option that matters to the model."""
    if options["trials"] is not None:
        del options["time"]  # trials are counted in its place
    if options["encoding"] == "utf-8":
        del options["encoding"]
    parts = ["mercer", "fit", str(train)]
    for name, value in options.items():
        for given in value if isinstance(value, list) else [value]:
            if given is not None:
                # in one word where the value might be taken for an option
                dash = str(given).startswith("-")
                parts += [f"--{name}={given}"] if dash else [f"--{name}", str(given)]
    return shlex.join(parts)


def _print_score(screen: Console, score: HeldOut, test: Path | None, rows: int) -> None:
    where = f"the {counted(score.rows, 'row')} of {test}" if test else f"{score.rows} rows held out"
    screen.print(
        f"\n[bold]{score.metric} {number(score.score)}[/]"
        f"  (95% interval {number(score.low)} to {number(score.high)}), on {where}."
    )
    for name, value in score.baselines.items():
        screen.print(f"  baseline {name}: {number(value)}")
    if score.as_good:
        screen.print(f"[yellow]{score.verdict()}[/]")
    if rows > score.trained_on:
        screen.print(
            f"The score is that of the fit on the other {score.trained_on} rows; the model below "
            f"is the same kernel machine fitted on all {rows}."
        )
