"""``mercer check``: what is in a table and what is wrong with it, without fitting."""

from __future__ import annotations

import json as json_text
from pathlib import Path

import numpy as np

from mercer.cli.errors import counted
from mercer.cli.options import kinds_given
from mercer.cli.screen import columns_facts, columns_table
from mercer.cli.tables import read_table
from mercer.cli.target import check_task, left_out, read_target
from mercer.cli.terminal import Terminal, line
from mercer.kernels import MercerCheck, as_kernel, check_mercer
from mercer.plots.contents import plain
from mercer.samples import EncodedColumns
from mercer.selection.column_rules import infer_columns
from mercer.selection.columns import Column, column_notices
from mercer.selection.encoding import TableEncoder
from mercer.selection.tasks import task_of
from mercer.selection.values import read_columns

__all__ = ["check_table"]


def check_table(
    table: Path,
    *,
    target: str | None,
    kind: list[str],
    drop: list[str],
    kernel: str | None,
    encoding: str,
    json: bool,
) -> int:
    """Run the command; returns its exit code."""
    screen = Terminal(quiet=json)
    frame = read_table(table, encoding)
    facts: dict = {"file": str(table), "rows": frame.height}
    sizes = f"{counted(frame.height, 'row')}, {counted(frame.width, 'column')}"
    screen.print(line((table.name, "bold"), f": {sizes}."))
    if target is not None:
        frame, y, dropped = read_target(frame, target, table)
        task, why = task_of(y)
        check_task(task, y, target)
        facts |= {"task": task, "task_reason": why, "rows_without_target": dropped}
        screen.print(line("Task: ", (task, "bold"), f", since {why}."))
        if dropped:
            screen.print(left_out(dropped, target))
    values = read_columns(frame)
    columns = infer_columns(values, kinds_given(kind), drop)
    screen.print()
    screen.print(columns_table(columns, most=200))
    notices = column_notices(columns)
    for notice in notices:
        screen.print(f"• {notice}")
    facts |= {"columns": columns_facts(columns), "notices": notices}
    if kernel is not None:
        verdict = check_kernel(kernel, columns, values, table)
        facts["mercer"] = {"kernel": kernel, "positive_definite": verdict.positive_definite,
                           "smallest": float(verdict.eigenvalues[-1]),
                           "largest": float(verdict.eigenvalues[0])}  # fmt: skip
        screen.print(f"\nMercer's condition for {kernel} on the standardised numbers: {verdict}")
    if json:
        print(json_text.dumps(plain(facts), allow_nan=False))
    return 0


def check_kernel(kernel: str, columns: list[Column], values: dict, table: Path) -> MercerCheck:
    """Mercer's condition for a kernel on the numbers of a table, standardised."""
    encoder = TableEncoder(columns).fit(values)
    M = encoder.transform(values)
    numbers = [j for j, f in enumerate(encoder.features_) if f.kind == "scaled"]
    if not numbers:
        raise ValueError(f"--kernel {kernel}: {table} has no columns of numbers to compare.")
    X = M.numbers if isinstance(M, EncodedColumns) else M
    return check_mercer(as_kernel(kernel), np.float64(X[:, numbers]))
