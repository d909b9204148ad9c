"""The command ``mercer fit`` as users run it, for benchmarks: timed, and kept split by split."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl

#: a program that runs another one, and prints its seconds, its peak kB, and those of processors
MEASURED = """
import os, sys, time
began = time.perf_counter()
number = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(number, 0)
spent = time.perf_counter() - began
print(spent, usage.ru_maxrss, usage.ru_utime + usage.ru_stime)
sys.exit(status != 0)
"""
BUSY = [sys.executable, "-S", "-c", "while True: pass"]


class Run(NamedTuple):
    """What a run of the command has predicted, and taken."""

    predicted: pl.Series
    shares: pl.DataFrame  # the probabilities of the classes, by their names
    seconds: float
    megabytes: float  # at its peak
    processors: float  # seconds of processors: few, where others were busy too


def output(words: Sequence[str], folder: Path) -> str:
    """What a program prints; the benchmark ends with its errors if it fails."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def command(
    train: pl.DataFrame, new: pl.DataFrame, task: str, seconds: float, metric: str,
    more: Sequence[str] = (),
) -> Run:  # fmt: skip
    """Predictions of ``mercer fit`` and ``mercer predict``, and what the fit has taken.

    ``more`` are further words of the command line of the fit.

    The target is the column "target" of the first table. Tables are written as CSV, or as Parquet
    if a column holds lists.
    """
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        nested = any(kind.is_nested() for kind in train.dtypes)
        names = [f"{name}.{'parquet' if nested else 'csv'}" for name in ("train", "new")]
        for table, name in zip((train, new), names):
            (table.write_parquet if nested else table.write_csv)(folder / name)
        mercer = str(Path(sys.executable).parent / "mercer")
        fit = [mercer, "fit", names[0], "--target", "target", "--task", task]
        fit += ["--time", f"{seconds:g}s", "--metric", metric, *more]
        # a process starts with the peak memory of its parent, which is a small one here
        told = output([sys.executable, "-S", "-c", MEASURED, *fit, "--quiet"], folder)
        spent, memory, processors = map(float, told.split())
        output([mercer, "predict", "model.mercer", names[1], "-o", "out.csv"], folder)
        out = pl.read_csv(folder / "out.csv", infer_schema_length=None)
    shares = out.select(pl.col("^proba_.*$").name.map(lambda name: name.removeprefix("proba_")))
    return Run(out["prediction"], shares, spent, memory / 1024, processors)


def command_on_rows(
    X: pd.DataFrame, y: np.ndarray, X_test: pd.DataFrame, task: str, seconds: float
) -> Run:
    """The same for rows in memory, judged by accuracy or R²."""
    train, new = pl.from_pandas(X.assign(target=y)), pl.from_pandas(X_test)
    return command(train, new, task, seconds, "r2" if task == "regression" else "accuracy")


@contextmanager
def beside(count: int) -> Iterator[None]:
    """Let so many other processes work meanwhile."""
    others = [subprocess.Popen(BUSY) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()


class Splits:
    """The results of each split, kept in a file: what stands there is not measured again.

    A line has the key, which is four cells, and the results.
    """

    def __init__(self, path: str):
        self.path, self.known = path, {}
        if path and Path(path).exists():
            for line in Path(path).read_text().splitlines():
                cells = line.split(",")
                self.known[",".join(cells[:4])] = [float(cell) for cell in cells[4:]]

    def of(self, key: str, measure: Callable[[], list[float]]) -> list[float]:
        """The results of a split, which are measured if they are not known."""
        if key not in self.known:
            self.known[key] = measure()
            if self.path:
                with open(self.path, "a") as file:
                    print(key, *self.known[key], sep=",", file=file)
        return self.known[key]
