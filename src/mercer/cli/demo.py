"""``mercer demo``: throws at a basket, from a table to a model, its report and predictions."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import polars as pl

from mercer.cli.terminal import Terminal, line
from mercer.datasets import throws
from mercer.persistence import write_whole

ROWS, NEW_ROWS = 600, 100
SECONDS = "20s"
WHAT_IF = ["--what-if", "--force"]  # a report that predicts by itself


def run_demo(folder: Path, run: Callable[[list[str]], None]) -> int:
    """Write a table of throws into a folder, and run three commands on it.

    ``run`` is `mercer.cli.app.run`; it ends with SystemExit.
    """
    screen = Terminal()
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(0, "--folder names a file; give a folder", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    table, new = folder / "throws.csv", folder / "new_throws.csv"
    model, predictions = folder / "throws.mercer", folder / "throws_predictions.csv"
    first = _as_csv(ROWS, seed=0)
    if not (table.is_file() and table.read_bytes() == first):  # else it was written by a demo
        for path in (table, new, model, model.with_suffix(".html"), predictions):
            if path.exists():
                said = "the file exists, and is none of this demo; give another --folder"
                raise FileExistsError(0, said, str(path))
    write_whole(table, first)
    write_whole(new, _as_csv(NEW_ROWS, seed=1))
    screen.print(
        f"{ROWS} throws of a ball at a basket: each fell short, went in, or flew too long. No "
        "column tells the result by itself: it takes speed, angle, distance and wind together, "
        "which is what kernels are for.\n"
        "Data: drawn by mercer.datasets.throws (a parabola, and chance).\n"
    )
    for arguments in (
        ["check", str(table), "--target", "result"],
        ["fit", str(table), "--target", "result", "--time", SECONDS, "-o", str(model), *WHAT_IF],
        ["predict", str(model), str(new), "-o", str(predictions), "--keep", "result", "--force"],
    ):
        screen.print(line((f"$ mercer {shlex.join(arguments)}", "bold")), soft_wrap=True)
        try:
            run(arguments)
        except SystemExit as done:
            if done.code:
                return int(done.code)
        screen.print()
    screen.print(
        f"Open {model.with_suffix('.html')} in a browser to read the report, and move its sliders "
        "to predict other throws.",
        soft_wrap=True,
    )
    return 0


def _as_csv(rows: int, seed: int) -> bytes:
    return pl.DataFrame(throws(rows, seed), nan_to_null=True).write_csv().encode()
