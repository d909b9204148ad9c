"""What ``mercer fit`` has found: on the screen, in the files, and as one JSON object."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

import mercer
from mercer.cli.files import new_rows
from mercer.cli.fit_options import FitOptions
from mercer.cli.problem import Problem, Split
from mercer.cli.screen import (
    columns_facts,
    columns_table,
    leaderboard_note,
    leaderboard_table,
    score_text,
)
from mercer.cli.terminal import Terminal, counted, line
from mercer.machines import METRICS, HeldOut
from mercer.plots.report import ReportData
from mercer.tables import RARE_SHARE, EncodedTable, ranks_of


@dataclass(frozen=True)
class Outcome:
    """The models of a fit, and what was measured of them."""

    model: Any  # searched and fitted without the rows that are held out
    score: HeldOut | None  # score of that model
    final: Any  # the model to keep: fitted again to all rows, where that was possible
    final_rows: int  # how many rows it is fitted to
    split: Split  # the rows of ``model`` and those that are held out, as it has encoded them
    final_X: EncodedTable  # the rows of ``model`` as ``final`` has encoded them
    report: ReportData | None = None  # what the report shows that was written
    unreported: str = ""  # why there is no report, if it failed
    #: of several targets, what was measured of each, with models of it
    parts: dict[str, Outcome] = field(default_factory=dict)


def show_outcome(outcome: Outcome, problem: Problem, options: FitOptions, screen: Terminal) -> None:
    """The columns, what was tried, the winner, its score, and the words that matter."""
    model = outcome.model
    screen.print(columns_table(model.columns_))
    for notice in model.notices_:
        screen.print(f"• {notice}")
    screen.print()
    screen.print(leaderboard_table(model.leaderboard_, problem.metric, targets=problem.targets))
    screen.print(line((leaderboard_note(model.leaderboard_), "dim")))
    screen.print(line("\nWinner: ", (model.winner_name_, "bold"), f" ({model.solver_})."))
    parts = (outcome.parts or {"": outcome}).items()
    scored = [(target, part, part.score) for target, part in parts if part.score is not None]
    if not scored:
        _show_better_baseline(model, problem.metric, screen)
    for target, part, score in scored:
        if target:
            screen.print(line(("\n", ""), (target, "bold"), ":"))
        _show_score(score, part.final_rows, options, screen)
        _show_rare(score, model, screen)
        _show_order(score, model, screen)
        _show_doubts(part, score, problem.doubts_of(target), screen)
        report = part.report
        sections = ("texts", "sequences", "what_if")
        for sentence in [] if report is None else chain(*map(report.lines, sections)):
            screen.print(sentence)


def _show_score(score: HeldOut, final_rows: int, options: FitOptions, screen: Terminal) -> None:
    """Print the score on rows that were held out, beside those of simple models."""
    groups = "" if score.groups is None else f" of {counted(score.groups, 'group')}"
    where = (
        f"the {counted(score.rows, 'row')} of {options.test}"
        if options.test
        else f"{score.rows} rows{groups} held out"
    )
    text = partial(score_text, metric=score.metric)
    screen.print(
        line(
            "\n",
            (f"{score.metric} {text(score.score)}", "bold"),
            f"  (95% interval {text(score.low)} to {text(score.high)}), on {where}.",
        )
    )
    for name, value in score.baselines.items():
        screen.print(f"  baseline {name}: {text(value)}")
    screen.print(line((score.verdict(), "yellow" if score.as_good else "")))
    if score.coverage is not None and not score.coverage.too_narrow:  # else it is a doubt
        screen.print(score.coverage.sentence())
    if final_rows > score.trained_on:
        screen.print(
            f"The score is that of the fit on the other {score.trained_on} rows; the model below "
            f"is the same one fitted on all {final_rows}."
        )


def _show_rare(score: HeldOut, model: Any, screen: Terminal) -> None:
    """Both areas of two classes of which one is rare, whatever the metric is."""
    if model.task == "regression" or len(model.classes_) != 2:
        return
    shares = [float(np.mean(score.y == c)) for c in model.classes_]
    if not 0 < min(shares) < RARE_SHARE:
        return
    for name, chance in (("average_precision", min(shares)), ("roc_auc", 0.5)):
        value = METRICS[name](score.y, score.predicted, model.classes_)
        screen.print(f"  {name} {score_text(value, name)}  (by chance {chance:.4f})")


def _show_order(score: HeldOut, model: Any, screen: Terminal) -> None:
    """All scores of ordered classes, whatever the metric is."""
    if model.task == "regression" or model.order_ is None:
        return
    ranks = ranks_of(model.classes_, model.order_)
    for name in ("rank_error", "quadratic_kappa", "accuracy"):
        value = METRICS[name].on(ranks)(score.y, score.predicted, model.classes_)
        if name != score.metric:
            screen.print(f"  {name} {score_text(value, name)}")


def _show_doubts(outcome: Outcome, score: HeldOut, known: list[str], screen: Terminal) -> None:
    """Reasons to doubt the score: the lines with ! have long left the screen by now."""
    coverage = score.coverage
    narrow = [] if coverage is None or not coverage.too_narrow else [coverage.sentence()]
    doubts = [*narrow, *known, *outcome.split.doubts]
    if outcome.report is not None:
        doubts = [sentence for fine, sentence in outcome.report.trust if not fine]
    if doubts:
        these = "One reason" if len(doubts) == 1 else f"{len(doubts)} reasons"
        screen.print(line(("! ", "yellow"), f"{these} to doubt this score:"))
    for doubt in doubts:
        screen.print(f"  • {doubt}")


def _show_better_baseline(model: Any, metric: str, screen: Terminal) -> None:
    """What the search says of simpler models if there are no rows to score on."""
    rows = [row for row in model.leaderboard_ if not np.isnan(row["score"])]
    own = next((row for row in rows if row["name"] == model.winner_name_), None)
    simple = [row for row in rows if row["baseline"]]
    if own is None or not simple:
        return
    sign = METRICS[metric].sign()
    best = max(simple, key=lambda row: sign * row["score"])
    if sign * best["score"] >= sign * own["score"]:
        theirs, ours = (score_text(row["score"], metric) for row in (best, own))
        screen.print(
            f"In the search the baseline {best['name']!r} scored {theirs}, and the winner {ours}: "
            "a simpler model does as well."
        )


def show_files(outcome: Outcome, options: FitOptions, spent: float, screen: Terminal) -> None:
    """Where the model and the report are, and what to do next."""
    screen.print(f"\nModel:  {options.output}", soft_wrap=True)
    pages = options.pages([*outcome.parts])
    for target, part in outcome.parts.items():
        if part.report is not None:
            screen.print(f"Report of {target}: {pages[target]}", soft_wrap=True)
    if outcome.report is not None:
        screen.print(f"Report: {options.report}", soft_wrap=True)
    elif not outcome.parts and options.report.exists():
        screen.print(
            f"{options.report} is of an earlier model: no new one was written.", soft_wrap=True
        )
    model = shlex.quote(str(options.output))
    screen.print(
        f"Next:   mercer predict {model} {new_rows(options.train)} -o predictions.csv",
        soft_wrap=True,
    )
    if any(column.kind == "sequence" for column in outcome.final.columns_):
        screen.print(
            f"        mercer variants {model} {new_rows(options.train)} -o variants.csv --picture "
            "variants.png",
            soft_wrap=True,
        )
    screen.print(f"Time:   {spent:.0f} s")


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
        "notices": [
            *problem.notices,
            *problem.doubts_of(""),
            *outcome.split.doubts,
            *model.notices_,
        ],
        "leaderboard": model.leaderboard_,
        "winner": model.winner_name_,
        "solver": model.solver_,
        "schedule": model.schedule_,
        "score": None if score is None else _score_facts(score),
        "model": str(options.output),
        "report": None if outcome.report is None else str(options.report),
        "report_failed": outcome.unreported or None,
        "seconds": spent,
        "command": options.command(),
        "interrupted": interrupted,
    } | _facts_of_each(outcome, options)


def _facts_of_each(outcome: Outcome, options: FitOptions) -> dict[str, Any]:
    """The score and the report of each of several targets."""
    pages, found = options.pages([*outcome.parts]), {}
    for target, part in outcome.parts.items():
        found[target] = {
            "score": None if part.score is None else _score_facts(part.score),
            "report": None if part.report is None else str(pages[target]),
        }
    return {"targets": found} if found else {}


def _score_facts(score: HeldOut) -> dict[str, Any]:
    """The score as numbers and lists."""
    return {
        "metric": score.metric,
        "value": score.score,
        "interval": [score.low, score.high],
        "rows": score.rows,
        "groups": score.groups,
        "baselines": score.baselines,
        "simpler_model_as_good": score.as_good,
        "better_than": {name: asdict(c) for name, c in score.versus.items()},
        "verdict": score.verdict(),
        "coverage": None if score.coverage is None else asdict(score.coverage),
    }
