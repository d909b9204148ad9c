"""Tables in the other formats of the command, mangled as in tables.py.

JSON lines with gaps and nested values, svmlight with wild numbers, and workbooks of Excel. What the
command promises of them is what it promises of a text: `check_command`.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from cli.test_formats import workbook
from soak.tables import MANGLED, check_command, columns, flipped, lacking, rows

__all__ = ["TRIALS"]

Random = np.random.Generator


def value(cell: str, r: Random) -> Any:
    """A cell as a program writes it that knows types; rarely as something else."""
    strange = [None, [], {}, [1, "a"], {"a": {"b": None}}, True, 10**30, "\ud800", 1e-320]
    if r.random() < 0.002:
        return strange[r.integers(len(strange))]
    try:
        number = float(cell)
    except ValueError:
        return cell
    return number if np.isfinite(number) and r.random() < 0.98 else cell


def damaged(content: bytes, r: Random, share: float = 0.3) -> bytes:
    """The same bytes, or with one of the faults that a file gets on its way."""
    if r.random() < 1 - share:
        return content
    names = [name for name in MANGLED if name != "latin-1"]
    return MANGLED[names[r.integers(len(names))]](content, r)


def json_lines(r: Random, folder: Path) -> None:
    table = columns(r, rows(r))
    typed = {name: r.random() < 0.8 for name in table}
    lines = []
    for cells in zip(*table.values()):
        line = {n: value(c, r) if typed[n] else c for n, c in zip(table, cells)}
        line = {n: v for n, v in line.items() if v != "" or r.random() < 0.5}
        lines.append(json.dumps(line, ensure_ascii=bool(r.random() < 0.5)))
    content = damaged("\n".join(lines).encode("utf-8", "replace") + b"\n", r)
    name = str(r.choice(["t.jsonl", "t.ndjson", "t.jsonl.gz"]))
    content = gzip.compress(content, mtime=0) if name.endswith("gz") else content
    (folder / name).write_bytes(content)
    check_command(r, folder, name, table)


def svmlight(r: Random, folder: Path) -> None:
    n, width = rows(r), int(r.choice([1, 3, 20]))
    wild = ["nan", "inf", "1e400", "1e-400", "-0", "0x1", "", "a", "1:2", "#", "qid:1"]
    few, lines = bool(r.random() < 0.5), []
    for _ in range(n):
        y = str(r.integers(0, 3)) if few else f"{r.normal():.4g}"
        used = np.flatnonzero(r.random(width) < 0.6) + 1
        cells = [f"{j}:{r.normal() * 10.0 ** r.choice([0, 0, 0, 20, -20]):.4g}" for j in used]
        if r.random() < 0.01:
            cells.insert(int(r.integers(len(cells) + 1)), f"{width}:{wild[r.integers(len(wild))]}")
        lines.append(" ".join([y, *cells]) + (" # a comment" if r.random() < 0.02 else ""))
    content = damaged("\n".join(lines).encode() + b"\n", r)
    name = str(r.choice(["t.svm", "t.libsvm", "t.svmlight"]))
    (folder / name).write_bytes(content)
    names = [f"x{j}" for j in range(1, width + 1)]
    check_command(r, folder, name, {name: [] for name in [*names, "target"]})


def excel(r: Random, folder: Path) -> None:
    table = columns(r, rows(r))
    control = re.compile(r"[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

    def cell(text: str) -> Any:
        known = value(text, r)
        if isinstance(known, float):
            return known
        return escape(control.sub("", text)) if isinstance(known, str) and known else None

    lines = [[escape(control.sub("", name)) for name in table]]
    lines += [[cell(text) for text in cells] for cells in zip(*table.values())]
    content = workbook(lines, sheets=("One", "Two")[: r.integers(1, 3)])
    harm = {0: flipped, 1: lacking, 2: MANGLED["cut"]}.get(int(r.integers(12)), lambda c, r: c)
    (folder / "t.xlsx").write_bytes(harm(content, r))
    check_command(r, folder, "t.xlsx", table)


TRIALS: dict[str, Callable[[Random, Path], None]] = {
    "JSON lines": json_lines,
    "svmlight": svmlight,
    "Excel": excel,
}
