"""What every benchmark shares: interleaved timing, peak memory, data, its section of RESULTS.md.

A benchmark is a script that prints this library beside its peers in one run; `Section` collects
its rows and, with ``--write``, replaces its section of RESULTS.md. Larger data sets are found
through ``MERCER_DATA``; what was left out without it is said.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import mercer
from mercer import _native
from mercer.threads import count_jobs

RESULTS = Path(__file__).parent / "RESULTS.md"
LIBRARIES = ("OMP", "NUMBA", "OPENBLAS", "MKL")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in LIBRARIES}


def options(*more: tuple[str, dict]) -> argparse.Namespace:
    """--quick: smaller and fewer runs; --write: replace the section of RESULTS.md, not with both.

    ``more`` are the names and the arguments of further options.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--write", action="store_true", help="replace the section of RESULTS.md")
    for name, settings in more:
        parser.add_argument(name, **settings)
    chosen = parser.parse_args()
    if chosen.quick and chosen.write:
        parser.error("--quick measures too little for RESULTS.md: leave out --quick or --write")
    return chosen


def interleaved(
    runs: dict[str, Callable[[], object]],
    repeats: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median seconds of each, the runs taken in turn so that drift hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            began = clock()
            run()
            times[name].append(clock() - began)
    return {name: statistics.median(values) for name, values in times.items()}


def least_seconds(
    run: Callable[[], object], repeats: int, clock: Callable[[], float] = time.process_time
) -> float:
    """The least of some runs, of processor time where no other clock is given."""
    times = []
    for _ in range(repeats):
        began = clock()
        run()
        times.append(clock() - began)
    return min(times)


def peak_memory(code: str) -> float:
    """Peak resident MB of a Python program of its own, less that of its imports alone.

    ``code`` is split at a line ``# measured``: what stands before is the baseline.
    """
    return said_and_peak(code)[1]


def said_and_peak(code: str) -> tuple[list[str], float]:
    """The words that a program of its own prints, and its `peak_memory`."""
    before, _, _ = code.partition("# measured")
    # VmHWM starts anew with the process; ru_maxrss would inherit that of the parent
    tail = "\nimport re; print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"

    def run(text: str) -> tuple[list[str], float]:
        done = subprocess.run(
            [sys.executable, "-c", text + tail], capture_output=True, text=True, check=True
        )
        *said, peak = done.stdout.split()
        return said, int(peak) / 1024

    said, peak = run(code)
    return said, peak - run(before)[1]


def run_beside(python: str, code: str, *arguments: str) -> Any:
    """What a program prints as JSON in its last line, on one thread of another Python: that of
    libraries which need versions of their own."""
    done = subprocess.run(
        [python, "-c", code, *arguments], env=os.environ | ONE_THREAD, capture_output=True,
        text=True,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


@cache
def product_rate(threads: int | None = None, dtype: type = np.float32) -> float:
    """Operations a second of numpy's product of two large matrices; None: on all cores.

    It stands for the peak of fused multiply-adds, each of which counts as two operations. Of one
    thread it is by processor time, which other processes disturb less.
    """
    A = np.ones((2048, 2048), dtype)
    clock = time.process_time if threads == 1 else time.perf_counter
    with threadpool_limits(threads):
        return 2 * 2048**3 / least_seconds(lambda: A @ A, 5, clock)


@cache
def copy_rate() -> float:
    """Bytes a second that one thread reads and writes while it copies 128 MB."""
    A = np.ones(2**24)
    B = np.zeros_like(A)
    return 2 * A.nbytes / least_seconds(lambda: np.copyto(B, A), 7)


class Reached(NamedTuple):
    """Operations and bytes a second of a loop on one thread, and their part of the machine's peak:
    that of products, or less where so many operations need more bytes than it copies."""

    operations: float
    bytes: float
    share: float

    @classmethod
    def of(cls, seconds: float, operations: float, moved: float, dtype: type) -> Reached:
        least = max(operations / product_rate(1, dtype), moved / copy_rate())
        return cls(operations / seconds, moved / seconds, least / seconds)


def known(name: str) -> list[dict[str, str]]:
    """The rows of a section of RESULTS.md, each as its cells by column; none if it is not there."""
    found = re.search(rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", RESULTS.read_text(), re.S | re.M)
    lines = [line for line in found[1].splitlines() if line[:2] == "| "] if found else []
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(cells[0], row)) for row in cells[2:]]


def data_folder() -> Path | None:
    """The folder of larger data sets, if MERCER_DATA names one."""
    folder = os.environ.get("MERCER_DATA")
    return Path(folder) if folder else None


LOAD_BEFORE = os.getloadavg()[0]


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=RESULTS.parent, capture_output=True, text=True)
    return done.stdout.strip()


def changed_sources() -> str:
    """The files that differ from the commit, but for the results."""
    return git("status", "--porcelain", "--", ":/", f":!{RESULTS.name}")


def circumstances() -> str:
    """The date, the commit, and how many processes wanted a core before and after, as one line."""
    changes = " with changes" if changed_sources() else ""
    return (
        f"{date.today()}, commit {git('rev-parse', '--short', 'HEAD') or 'unknown'}{changes}, load "
        f"{LOAD_BEFORE:.1f} before and {os.getloadavg()[0]:.1f} after"
    )


def machine() -> str:
    """Processor, cores, instruction set and versions, as one line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = re.search(r"model name\s*:\s*(.+)", info.read_text())
        model = found[1] if found else model
    packages = ", ".join(f"{p} {version(p)}" for p in ("numpy", "scipy", "scikit-learn"))
    return (
        f"{model}, {count_jobs(None)} cores, {_native.isa()}; Python {platform.python_version()}, "
        f"mercer {mercer.__version__}, {packages}"
    )


class Section:
    """A table of results with a title, notes, and the machine that it was measured on."""

    def __init__(self, name: str, title: str, columns: list[str]):
        self.name, self.title, self.columns = name, title, columns
        self.rows: list[list[str]] = []
        self.notes: list[str] = []

    def row(self, *cells: object) -> None:
        self.rows.append([str(c) for c in cells])
        print("  ".join(str(c) for c in cells), flush=True)

    def note(self, text: str) -> None:
        self.notes.append(text)
        print(text, flush=True)

    def markdown(self) -> str:
        lines = [f"## {self.name}", "", self.title, "", "| " + " | ".join(self.columns) + " |"]
        lines.append("|" + " --- |" * len(self.columns))
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        lines += ["", *[f"- {note}" for note in self.notes]]
        lines += [f"- {circumstances()}", f"- {machine()}", ""]
        return "\n".join(lines)

    def finish(self, write: bool) -> None:
        """Replace this benchmark's section of RESULTS.md, when asked to."""
        print(circumstances(), machine(), sep="\n")
        if not write:
            return
        text = RESULTS.read_text() if RESULTS.exists() else "# Measured results\n\n"
        section = self.markdown()
        pattern = re.compile(rf"^## {re.escape(self.name)}\n.*?(?=^## |\Z)", re.S | re.M)
        if pattern.search(text):
            text = pattern.sub(lambda _: section + "\n", text)
        else:
            text = text.rstrip() + "\n\n" + section
        RESULTS.write_text(text.rstrip() + "\n")
