"""The command on wide and on long tables: processor seconds of ``mercer check`` by columns and by
rows, and how well ``mercer fit --time`` keeps its time, alone and beside two busy processes.

``--clock`` measures the second alone.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from commands import beside, command
from harness import Section, options

FEW_ROWS, FEW_COLUMNS = 40, 20
WORDS = np.array(["red", "green", "blue", "amber"])


def mixed(rows: int, columns: int) -> pl.DataFrame:
    """Numbers, integers, levels, dates, texts, sums of money and booleans in turn."""
    rng = np.random.default_rng(0)
    makers = (
        lambda: rng.normal(size=rows).round(4),
        lambda: rng.integers(0, 1000, rows),
        lambda: rng.choice(WORDS, rows),
        lambda: [f"2020-{m:02d}-{d:02d}" for m, d in rng.integers(1, 13, (rows, 2))],
        lambda: [" ".join(f"w{i}" for i in row) for row in rng.integers(0, 500, (rows, 6))],
        lambda: [f"{v:,.2f}" for v in rng.uniform(0, 1e5, rows)],
        lambda: rng.choice(["yes", "no"], rows),
    )
    return pl.DataFrame({f"c{j}": makers[j % len(makers)]() for j in range(columns)})


def processor_seconds(file: Path) -> float:
    command = str(Path(sys.executable).parent / "mercer")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([command, "check", str(file)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def made(rows: int, columns: int) -> pl.DataFrame:
    """Numbers, of which the first three say most of the target."""
    X = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)
    target = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 0]
    noise = np.random.default_rng(1).normal(size=rows)
    return pl.DataFrame(X, [f"x{j}" for j in range(columns)]).with_columns(target=target + noise)


def with_levels(rows: int, levels: int) -> pl.DataFrame:
    """Nineteen numbers, and a column of levels whose effects explain half of the target."""
    rng = np.random.default_rng(2)
    level, effects = rng.integers(0, levels, rows), rng.normal(size=levels)
    shop = pl.Series("shop", [f"shop{i}" for i in level])
    return made(rows, 19).with_columns(shop, target=pl.col("target") + 2 * effects[level])


def with_texts(rows: int, letters: int) -> pl.DataFrame:
    """Long texts of two classes, which differ in some words."""
    rng = np.random.default_rng(3)
    classes, words = rng.integers(0, 2, rows), np.array([f"word{i}" for i in range(3000)])
    chosen = rng.integers(0, 2000, (rows, letters // 9)) + 1000 * classes[:, None]
    return pl.DataFrame({"text": [" ".join(words[row]) for row in chosen],
                         "target": np.where(classes, "new", "old")})  # fmt: skip


#: the tables of the clock, and for how many seconds each is fitted
CLOCK: dict[str, tuple[Callable[[], pl.DataFrame], tuple[int, ...]]] = {
    "500 x 10": (lambda: made(500, 10), (5, 10)),
    "60 x 2,000": (lambda: made(60, 2000), (5, 10)),
    "40 x 7,000": (lambda: made(40, 7000), (10, 30)),
    "40 x 20,000": (lambda: made(40, 20_000), (30,)),
    "30,000 x 20, 5,000 levels": (lambda: with_levels(30_000, 5000), (5, 10, 30)),
    "1,000 texts of 10,000 letters": (lambda: with_texts(1000, 10_000), (10, 30)),
    "262,000 x 25": (lambda: made(262_000, 25), (10, 30)),
    "1,000,000 x 10": (lambda: made(1_000_000, 10), (30,)),
}


def clock(args: argparse.Namespace) -> None:
    """Seconds on the wall of `mercer fit --time`, by table and time."""
    section = Section(
        "clock",
        "Seconds of `mercer fit --time` from its start to its end, alone and beside two processes "
        "that are always busy; in brackets the processor seconds.",
        ["table", "--time", "alone", "beside two"],
    )
    late = {0: 0.0, 2: 0.0}
    for name, (make, times) in CLOCK.items():
        table = make()
        numbers = table["target"].dtype.is_numeric()
        task, metric = ("regression", "r2") if numbers else ("classification", "log_loss")
        for seconds in times[:1] if args.quick else times:
            cells = []
            for others in late:
                with beside(others):
                    run = command(table, table.head(5), task, seconds, metric)
                cells.append(f"{run.seconds:.1f} ({run.processors:.0f})")
                late[others] = max(late[others], run.seconds / seconds)
            section.row(name, f"{seconds} s", *cells)
    section.note(
        f"the latest end: {late[0]:.2f} times the time alone, {late[2]:.2f} beside two processes"
    )
    section.finish(args.write)


def main() -> None:
    args = options(("--clock", {"action": "store_true", "help": "measure the clock alone"}))
    if not args.clock:
        checks(args)
    clock(args)


def checks(args: argparse.Namespace) -> None:
    """Processor seconds of `mercer check`, by columns and by rows."""
    section = Section(
        "checks",
        "Processor seconds of `mercer check` on tables with columns of seven kinds.",
        ["rows", "columns", "processor seconds", "milliseconds a column beyond the start"],
    )
    widths, spent = ([500, 2000] if args.quick else [500, 2000, 20_000]), []
    lengths = [20_000] if args.quick else [200_000, 1_000_000]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.csv"
        mixed(FEW_ROWS, 7).write_csv(file)
        start = min(processor_seconds(file) for _ in range(3))
        shapes = [(FEW_ROWS, width) for width in widths] + [(n, FEW_COLUMNS) for n in lengths]
        for rows, columns in shapes:
            mixed(rows, columns).write_csv(file)
            seconds = min(processor_seconds(file) for _ in range(3 if columns <= 2000 else 1))
            spent.append(seconds - start)
            section.row(f"{rows:,}", f"{columns:,}", f"{seconds:.1f}",
                        f"{1000 * spent[-1] / columns:.2f}")  # fmt: skip
    last = len(widths) - 1
    exponent = np.log(spent[last] / spent[0]) / np.log(widths[last] / widths[0])
    section.note(
        f"start {start:.1f} s; exponent of the rest by the number of columns {exponent:.2f}"
    )
    section.finish(args.write)


if __name__ == "__main__":
    main()
