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
from importlib.metadata import version
from pathlib import Path
from typing import Any

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


def interleaved(runs: dict[str, Callable[[], object]], repeats: int = 5) -> dict[str, float]:
    """Median seconds of each, the runs taken in turn so that drift hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in times.items()}


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


def product_rate(threads: int | None = None) -> float:
    """Operations a second of numpy's product of two large float32 matrices; None: on all cores."""
    A = np.ones((2048, 2048), np.float32)
    with threadpool_limits(threads):
        times = [interleaved({"product": lambda: A @ A}, 1)["product"] for _ in range(5)]
    return 2 * 2048**3 / min(times)


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
        lines += ["", *[f"- {note}" for note in self.notes], f"- {machine()}", ""]
        return "\n".join(lines)

    def finish(self, write: bool) -> None:
        """Replace this benchmark's section of RESULTS.md, when asked to."""
        print(machine())
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
