"""What the command draws: the columns, the live bar of the search, and the leaderboard."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby

from rich.console import Group
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table

from mercer.cli.terminal import Terminal, counted, line
from mercer.spoken import first_of, spoken
from mercer.tables import Column, Finding

MOST_LINES, FEW = 60, 5  # lines for columns, and neighbours that still have a line each
LOGGED = 0.05  # share of the time between two lines of a log
SIZED = ("rmse", "mae")  # metrics in the units of the target

STYLES = {"number": "cyan", "category": "green", "date": "magenta", "text": "blue", "set": "green"}


def number(value: float | None) -> str:
    """Four significant digits, as people write them."""
    if value is None or value != value:
        return "–"
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.4f}" if abs(value) < 10 else f"{value:,.1f}"
    return spoken(value, 4)


def score_text(value: float | None, metric: str) -> str:
    """A score with four digits behind the point, so that scores stand below each other."""
    if value is None or value != value or metric in SIZED or abs(value) >= 10:
        return number(value)
    return f"{value:.4f}".replace("-0.0000", "0.0000")


def columns_table(columns: list[Column], values: bool = False, most: int = MOST_LINES) -> Table:
    """One line a column: name, kind, what is missing, why; its ``values`` too if wanted.

    In tables of more columns than ``most`` lines, neighbours of one kind share a line.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("column", "read as", "missing", *["values"] * values, "why"):
        table.add_column(title, justify="right" if title == "missing" else "left")
    lines = []
    for _, neighbours in groupby(columns, lambda column: column.kind):
        run = list(neighbours)
        together = len(columns) > most and len(run) > FEW
        lines += [run] if together else [[column] for column in run]
        if len(lines) > most:
            break
    for run in lines[:most]:
        first, last, missing = run[0], run[-1], sum(column.missing for column in run)
        style = STYLES.get(first.kind, "dim")
        name, reason, shown = str(first.name), first.reason, values_of(first)
        if len(run) > 1:
            name = f"{name} … {last.name}"
            reason, shown = f"{len(run)} columns; the first: {reason}", ""
        table.add_row(
            name, line((first.kind, style)), str(missing or ""), *[shown] * values,
            line((reason, "" if first.used else "dim")),
        )  # fmt: skip
    if len(lines) > most:
        table.add_row(f"… and {len(columns) - sum(map(len, lines[:most]))} more")
    return table


#: lines that notices and findings take, of which so many of one kind are told
FEW_NOTICES, FEW_FINDINGS, OF_EACH = 7, 7, 2


def say(
    screen: Terminal,
    sentences: list[str],
    noun: str,
    most: int | None,
    style: str = "",
    rest: str = "give --all",
) -> None:
    """Print sentences in so many lines at most, the first in any case; the others are counted."""
    lines = 0
    for i, said in enumerate(sentences):
        text = line(("• ", style), said)
        lines += len(screen.render_lines(text))
        if most is not None and i and lines >= most:
            screen.print(f"• And {counted(len(sentences) - i, noun)} more: {rest}.")
            return
        screen.print(text)


def few_of_each(findings: list[Finding], most: int) -> list[str]:
    """The sentences of findings, so many of each kind; the others are counted."""
    found = []
    for kind in dict.fromkeys(finding.kind for finding in findings):
        texts = [finding.text for finding in findings if finding.kind == kind]
        found += texts[:most]
        names = [str(f.column) for f in findings if f.kind == kind][most:]
        if names:
            found.append(f"The same is so for {first_of(names)} ({len(names)} more).")
    return found


def values_of(column: Column, most: int = 4) -> str:
    """The range of a column, or its most frequent levels."""
    if column.levels:
        levels = [level if len(level) <= 20 else level[:17] + "..." for level in column.levels]
        return first_of(levels, most)
    if column.low is None:
        return ""
    ends = (column.low, column.high)
    low, high = (spoken(v, 6) if isinstance(v, float) else str(v) for v in ends)
    return f"{column.of.range_in_words(low, high)} {column.unit}".rstrip()


def columns_facts(columns: list[Column]) -> list[dict]:
    """The same for --json."""
    return [
        {
            "name": c.name, "kind": c.kind, "reason": c.reason, "missing": c.missing,
            "form": c.form, "read": c.known, "used": c.used,
            "doubts": [text for _, text in c.doubts],
            "unfit": c.unfit, "misfits": [{"row": row, "cell": cell} for row, cell in c.misfits],
            "others": [{"form": form, "why": why} for form, why in c.others],
        }
        for c in columns
    ]  # fmt: skip


def leaderboard_table(
    rows: list[dict], metric: str, most: int = 8, targets: Sequence[str] = ()
) -> Table:
    """The best candidates, and the baselines wherever they stand; what lies between is counted.

    Of several targets, each has a column of its scores.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("", "model", metric, "±", "rows", "seconds", *targets):
        table.add_column(title, justify="left" if title == "model" else "right")
    for shown, run in groupby(rows, lambda row: row["rank"] <= most or row["baseline"]):
        if not shown:
            table.add_row("…", f"{len(list(run))} more", style="dim")
            continue
        for row in run:
            style = "yellow" if row["baseline"] else ("bold" if row["rank"] == 1 else "")
            name = f"baseline: {row['name']}" if row["baseline"] else row["name"]
            spread = "" if row["spread"] is None else score_text(row["spread"], metric)
            table.add_row(
                str(row["rank"]), name, score_text(row["score"], metric), spread, str(row["rows"]),
                f"{row['seconds']:.1f}",
                *(score_text(score, metric) for score in row.get("scores", [])), style=style,
            )  # fmt: skip
    return table


def leaderboard_note(rows: list[dict]) -> str:
    """How the rows of a leaderboard were scored, and the rule of their order."""
    note = "Scored in cross-validation on the training rows; ± is the spread over its folds."
    if len({row["rows"] for row in rows}) > 1:
        note += (
            " Those tried on more rows come first: only candidates that did well on few rows were "
            "tried on more, and the winner is one of these."
        )
    return note


class SearchBar:
    """A live bar: share of the time budget, what is tried, the best so far.

    If the output is not a terminal, such as a log file, it is a line now and then.
    """

    def __init__(self, console: Terminal, budget: float, metric: str):
        self.metric = metric
        self.budget = budget
        self.started = time.monotonic()
        self.console, self.logged = console, -budget
        self.live = Live(console=console, refresh_per_second=8, transient=True)
        self.event: dict = {"trial": "reading", "done": 0, "of": 1, "leaderboard": []}

    def __enter__(self) -> SearchBar:
        self.live.get_renderable = self._draw
        self.live.start()
        return self

    def __exit__(self, *_) -> None:
        self.live.stop()

    def __call__(self, event: dict) -> None:
        self.event = event
        if not self.console.is_terminal:
            self._log(time.monotonic() - self.started)

    def _log(self, spent: float) -> None:
        if spent - self.logged >= LOGGED * self.budget:
            self.logged = spent
            self.console.print(line(f"[{spent:4.0f} s]{self._tried()} {self.event['trial']}"))

    def _tried(self) -> str:
        """How many candidates are done; nothing before the search and after it."""
        done, of = self.event["done"], self.event["of"]
        return f" {done} of {of} tried, now:" if of > 1 else ""

    def _draw(self) -> Group:
        """What is done now, what is best so far, and a bar."""
        spent = time.monotonic() - self.started
        left = max(0.0, self.budget - spent)
        share = max(spent / self.budget, self.event["done"] / max(self.event["of"], 1) * 0.65)
        tried = self._tried().removesuffix(", now:")
        said = f"{tried or ' '}{', ' if tried else ''}at most {left:.0f} s left; now: "
        said += self.event["trial"]
        rows = self.event["leaderboard"]
        if rows:
            from mercer.machines import METRICS

            best = max(rows, key=lambda r: METRICS[self.metric].sign() * r["score"])
            said += f"\n best so far: {best['name']}, {self.metric} {number(best['score'])}"
        bar = ProgressBar(total=1.0, completed=min(share, 1.0), width=60)
        return Group(Padding(bar, 0), line(said))  # a bar does not end its line
