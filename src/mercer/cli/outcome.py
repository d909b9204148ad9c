"""What ``mercer fit`` has found: on the screen, in the files, and as one JSON object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.console import Console

import mercer
from mercer.cli.options import FitOptions
from mercer.cli.problem import Problem
from mercer.cli.screen import columns_facts, columns_table, leaderboard_table, number
from mercer.cli.tables import counted
from mercer.persistence import save
from mercer.plots.report import ReportData, write_report
from mercer.selection.holdout import HeldOut

__all__ = ["Outcome", "show_files", "show_outcome", "summary", "write_files"]


@dataclass(frozen=True)
class Outcome:
    """The models of a fit, and what was measured of them.

    Attributes
    ----------
    model : KernelClassifier or KernelRegressor
        Searched and fitted without the rows that are held out.
    score : HeldOut or None
        Of that model.
    final : the same type
        The model to keep: fitted again to all rows, where that was possible.
    final_rows : int
        How many rows it is fitted to.
    report : ReportData or None
    left_out : list of str
        What is lacking, a clause for each interruption.
    """

    model: Any
    score: HeldOut | None
    final: Any
    final_rows: int
    report: ReportData | None
    left_out: list[str]


def show_outcome(outcome: Outcome, problem: Problem, options: FitOptions, screen: Console) -> None:
    """The columns, what was tried, the winner, its score, and the words that matter."""
    model = outcome.model
    screen.print(columns_table(model.columns_))
    for notice in model.notices_:
        screen.print(f"• {notice}", markup=False)
    screen.print()
    screen.print(leaderboard_table(model.leaderboard_, problem.metric))
    screen.print(f"\nWinner: [bold]{model.winner_name_}[/] ({model.solver_}).")
    if outcome.score is not None:
        _show_score(outcome.score, outcome.final_rows, options, screen)
    for text in [] if outcome.report is None else outcome.report.texts:
        screen.print(f"\nWhich {text.noun} of {text.column} speak for what:", markup=False)
        for sentence in text.sentences():
            screen.print(f"  {sentence}", markup=False)


def _show_score(score: HeldOut, final_rows: int, options: FitOptions, screen: Console) -> None:
    where = (
        f"the {counted(score.rows, 'row')} of {options.test}"
        if options.test
        else f"{score.rows} rows held out"
    )
    screen.print(
        f"\n[bold]{score.metric} {number(score.score)}[/]"
        f"  (95% interval {number(score.low)} to {number(score.high)}), on {where}."
    )
    for name, value in score.baselines.items():
        screen.print(f"  baseline {name}: {number(value)}")
    if score.as_good:
        screen.print(f"[yellow]{score.verdict()}[/]")
    if final_rows > score.trained_on:
        screen.print(
            f"The score is that of the fit on the other {score.trained_on} rows; the model below "
            f"is the same kernel machine fitted on all {final_rows}."
        )


def write_files(outcome: Outcome, options: FitOptions) -> dict[str, str]:
    """Save the model, and the report if there is one; what was written -> its path."""
    save(outcome.final, options.output)
    written = {"model": str(options.output)}
    if outcome.report is not None:
        write_report(options.report, outcome.report)
        written["report"] = str(options.report)
    return written


def show_files(written: dict[str, str], options: FitOptions, spent: float, screen: Console) -> None:
    """Where the model and the report are, and what to do next."""
    screen.print(f"\nModel:  {options.output}", soft_wrap=True)
    if "report" in written:
        screen.print(f"Report: {options.report}", soft_wrap=True)
    elif options.report.exists():
        screen.print(
            f"{options.report} is of an earlier model: no new one was written.", soft_wrap=True
        )
    screen.print(
        f"Next:   mercer predict {options.output} NEW.csv -o predictions.csv   ({spent:.0f} s)",
        soft_wrap=True,
    )


def summary(
    outcome: Outcome, problem: Problem, options: FitOptions, written: dict[str, str], spent: float
) -> dict:
    """What --json prints."""
    model, score = outcome.model, outcome.score
    return {
        "mercer": mercer.__version__,
        "task": problem.task,
        "task_reason": problem.why,
        "rows_without_target": problem.dropped,
        "columns": columns_facts(model.columns_),
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
        "command": options.command(),
        "interrupted": outcome.left_out,
    }
