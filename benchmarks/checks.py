"""``mercer check`` on wide and on long tables: processor seconds by columns and by rows."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

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


def main() -> None:
    args = options()
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
