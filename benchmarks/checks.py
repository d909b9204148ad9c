"""``mercer check`` on wide tables: processor seconds by columns, from 500 to 20,000."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from harness import Section, options

ROWS = 40
WORDS = np.array(["red", "green", "blue", "amber"])


def mixed(columns: int) -> pl.DataFrame:
    """Numbers, integers, levels, dates, texts, sums of money and booleans in turn."""
    rng = np.random.default_rng(0)
    makers = (
        lambda: rng.normal(size=ROWS).round(4),
        lambda: rng.integers(0, 1000, ROWS),
        lambda: rng.choice(WORDS, ROWS),
        lambda: [f"2020-{m:02d}-{d:02d}" for m, d in rng.integers(1, 13, (ROWS, 2))],
        lambda: [" ".join(f"w{i}" for i in row) for row in rng.integers(0, 500, (ROWS, 6))],
        lambda: [f"{v:,.2f}" for v in rng.uniform(0, 1e5, ROWS)],
        lambda: rng.choice(["yes", "no"], ROWS),
    )
    return pl.DataFrame({f"c{j}": makers[j % len(makers)]() for j in range(columns)})


def processor_seconds(file: Path) -> float:
    command = str(Path(sys.executable).parent / "mercer")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([command, "check", str(file)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    args = options()
    section = Section(
        "checks",
        f"Processor seconds of `mercer check` on tables of {ROWS} rows and columns of seven kinds.",
        ["columns", "processor seconds", "milliseconds a column beyond the start"],
    )
    widths, spent = ([500, 2000] if args.quick else [500, 2000, 20_000]), []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.csv"
        mixed(7).write_csv(file)
        start = processor_seconds(file)
        for width in widths:
            mixed(width).write_csv(file)
            seconds = processor_seconds(file)
            spent.append(seconds - start)
            section.row(width, f"{seconds:.1f}", f"{1000 * spent[-1] / width:.2f}")
    exponent = np.log(spent[-1] / spent[0]) / np.log(widths[-1] / widths[0])
    section.note(
        f"start {start:.1f} s; exponent of the rest by the number of columns {exponent:.2f}"
    )
    section.finish(args.write)


if __name__ == "__main__":
    main()
