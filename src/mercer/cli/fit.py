"""``mercer fit``: a table in; a tuned kernel machine, its honest score and its report out."""

from __future__ import annotations

import json as json_text
import shlex
import time as clock
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

import mercer
from mercer.cli.predict import refuse_existing
from mercer.cli.screen import SearchBar, columns_table, leaderboard_table, number
from mercer.cli.tables import TableError, read_table
from mercer.persistence import save
from mercer.plots.report import report_data, write_report
from mercer.selection.automatic import KernelClassifier, KernelRegressor
from mercer.selection.budget import seconds
from mercer.selection.holdout import HeldOut, hold_out, score_held_out
from mercer.selection.metrics import metric_named
from mercer.selection.tasks import task_of

__all__ = ["fit_table", "kinds_given", "read_target"]

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
    report = output.with_suffix(".html")
    refuse_existing([output, report], force)
    frame = read_table(train, encoding)
    frame, y, dropped = read_target(frame, target, train)
    task, why = task_of(y, task)
    chosen = metric_named(metric, task)
    X = frame.drop(target)
    screen.print(f"[bold]{train.name}[/]: {frame.height} rows, {X.width} columns besides {target}.")
    if dropped:
        screen.print(f"{dropped} rows without a {target} are left out.")
    screen.print(f"Task: [bold]{task}[/], since {why}.\n")

    if test is not None:
        held, y_held, _ = read_target(read_table(test, encoding), target, test)
        X_train, y_train, X_held = X, y, held.drop(target)
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
    interrupted = False
    with SearchBar(screen, seconds(time), chosen.name) as bar:
        model.progress = None if quiet or json else bar
        model.fit(X_train, y_train)
        model.progress = None
        interrupted = any(notice.startswith("Interrupted") for notice in model.notices_)
        score, final, data = None, model, None
        if X_held is not None:
            score = score_held_out(model, (X_train, y_train), (X_held, y_held), seed)
        if test is None and X_held is not None:
            bar({"trial": "final fit on all rows", "done": 1, "of": 1, "leaderboard": []})
            final = copy(model).refit(X, y)
        if score is not None:
            bar({"trial": "report", "done": 1, "of": 1, "leaderboard": []})
            data = report_data(
                model, X_train, y_train, holdout=(X_held, y_held), final=final,
                final_rows=len(y) if test is None else len(y_train), target=target,
                dropped_rows=dropped, command=_command(train, target, test, output, seed),
                model_path=str(output), data_path=str(train), seed=seed,
            )  # fmt: skip

    screen.print(columns_table(model.columns_))
    for notice in model.notices_:
        screen.print(f"• {notice}", markup=False)
    screen.print()
    screen.print(leaderboard_table(model.leaderboard_, chosen.name))
    screen.print(f"\nWinner: [bold]{model.winner_name_}[/] ({model.solver_}).")
    if score is not None:
        _print_score(screen, score, test, frame.height)
    save(final, output)
    written = {"model": str(output)}
    if data is not None:
        write_report(report, data)
        written["report"] = str(report)
    if json:
        facts = summary(model, score, written, task, why, dropped, clock.monotonic() - started)
        print(json_text.dumps(facts, default=str))
    screen.print(f"\nModel:  {output}", soft_wrap=True)
    if "report" in written:
        screen.print(f"Report: {report}", soft_wrap=True)
    screen.print(
        f"Next:   mercer predict {output} NEW.csv -o predictions.csv   "
        f"({clock.monotonic() - started:.0f} s)",
        soft_wrap=True,
    )
    return 130 if interrupted else 0


def read_target(frame: pl.DataFrame, target: str, path: Path) -> tuple[pl.DataFrame, Any, int]:
    """(rows with a target, their targets, how many rows had none)."""
    if target not in frame.columns:
        import difflib

        close = difflib.get_close_matches(target, frame.columns, 1)
        raise TableError(
            f"--target {target}: {path} has no such column; it has {frame.columns}."
            + (f" Did you mean {close[0]!r}?" if close else "")
        )
    known = frame.filter(pl.col(target).is_not_null())
    if known.height == 0:
        raise TableError(f"--target {target}: every value of that column is missing in {path}.")
    if frame.width == 1:
        raise TableError(f"{path} has no column besides the target {target}.")
    y = known[target].to_numpy()
    y = y.astype(str) if y.dtype.kind == "O" else y
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise TableError(f"--target {target} holds infinities or NaN; mend or drop those rows.")
    if y.dtype.kind == "M":
        raise TableError(f"--target {target} holds dates; turn them into a number to predict.")
    if len(np.unique(y)) == 1:
        raise TableError(
            f"--target {target} has the one value {y[0].item()!r} in all {len(y)} rows: there is "
            "nothing to predict."
        )
    return known, y, frame.height - known.height


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


def _command(train: Path, target: str, test: Path | None, output: Path, seed: int) -> str:
    """The command line that repeats this fit."""
    parts = ["mercer", "fit", str(train), "--target", target]
    parts += ["--test", str(test)] if test else []
    return shlex.join([*parts, "--seed", str(seed), "-o", str(output)])


def _print_score(screen: Console, score: HeldOut, test: Path | None, rows: int) -> None:
    where = f"the {score.rows} rows of {test}" if test else f"{score.rows} rows held out"
    screen.print(
        f"\n[bold]{score.metric} {number(score.score)}[/]"
        f"  (95% interval {number(score.low)} to {number(score.high)}), on {where}."
    )
    for name, value in score.baselines.items():
        screen.print(f"  baseline {name}: {number(value)}")
    if score.as_good:
        screen.print(f"[yellow]{score.verdict()}[/]")
    if test is None:
        screen.print(
            f"The score is that of the fit on the other {score.trained_on} rows; the model below "
            f"is the same kernel machine fitted on all {rows}."
        )
