"""What ``mercer fit`` has found: on the screen, in the files, and as one JSON object."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any

import mercer
from mercer.cli.errors import counted
from mercer.cli.options import FitOptions
from mercer.cli.problem import Problem
from mercer.cli.screen import columns_facts, columns_table, leaderboard_table, number
from mercer.cli.terminal import Terminal, line
from mercer.plots.report import ReportData
from mercer.selection.holdout import HeldOut

__all__ = ["Outcome", "show_files", "show_outcome", "summary"]


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
        What the report shows that was written.
    unreported : str
        Why there is no report, if it failed.
    doubts : list of str
        What speaks against the score, beside what speaks against the table.
    """

    model: Any
    score: HeldOut | None
    final: Any
    final_rows: int
    report: ReportData | None = None
    unreported: str = ""
    doubts: list[str] = field(default_factory=list)


def show_outcome(outcome: Outcome, problem: Problem, options: FitOptions, screen: Terminal) -> None:
    """The columns, what was tried, the winner, its score, and the words that matter."""
    model = outcome.model
    screen.print(columns_table(model.columns_))
    for notice in model.notices_:
        screen.print(f"• {notice}")
    screen.print()
    screen.print(leaderboard_table(model.leaderboard_, problem.metric))
    screen.print(line("\nWinner: ", (model.winner_name_, "bold"), f" ({model.solver_})."))
    if outcome.score is not None:
        _show_score(outcome.score, outcome.final_rows, options, screen)
    for text in [] if outcome.report is None else outcome.report.texts:
        screen.print(f"\nWhich {text.noun} of {text.column} speak for what:")
        for sentence in text.sentences():
            screen.print(f"  {sentence}")


def _show_score(score: HeldOut, final_rows: int, options: FitOptions, screen: Terminal) -> None:
    where = (
        f"the {counted(score.rows, 'row')} of {options.test}"
        if options.test
        else f"{score.rows} rows held out"
    )
    screen.print(
        line(
            "\n",
            (f"{score.metric} {number(score.score)}", "bold"),
            f"  (95% interval {number(score.low)} to {number(score.high)}), on {where}.",
        )
    )
    for name, value in score.baselines.items():
        screen.print(f"  baseline {name}: {number(value)}")
    if score.as_good:
        screen.print(line((score.verdict(), "yellow")))
    if final_rows > score.trained_on:
        screen.print(
            f"The score is that of the fit on the other {score.trained_on} rows; the model below "
            f"is the same kernel machine fitted on all {final_rows}."
        )


def show_files(outcome: Outcome, options: FitOptions, spent: float, screen: Terminal) -> None:
    """Where the model and the report are, and what to do next."""
    screen.print(f"\nModel:  {options.output}", soft_wrap=True)
    if outcome.report is not None:
        screen.print(f"Report: {options.report}", soft_wrap=True)
    elif options.report.exists():
        screen.print(
            f"{options.report} is of an earlier model: no new one was written.", soft_wrap=True
        )
    model = shlex.quote(str(options.output))
    screen.print(
        f"Next:   mercer predict {model} NEW.csv -o predictions.csv   ({spent:.0f} s)",
        soft_wrap=True,
    )


def summary(
    outcome: Outcome, problem: Problem, options: FitOptions, spent: float, interrupted: list[str]
) -> dict:
    """What --json prints; ``interrupted`` says what is lacking, a clause for each interruption."""
    model, score = outcome.model, outcome.score
    return {
        "mercer": mercer.__version__,
        "task": problem.task,
        "task_reason": problem.why,
        "rows_without_target": problem.dropped,
        "columns": columns_facts(model.columns_),
        "notices": [*problem.notices, *problem.doubts, *outcome.doubts, *model.notices_],
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
        "model": str(options.output),
        "report": None if outcome.report is None else str(options.report),
        "report_failed": outcome.unreported or None,
        "seconds": spent,
        "command": options.command(),
        "interrupted": interrupted,
    }
