"""``mercer check``: what is in a table and what is wrong with it, without fitting.

It says what ``mercer fit`` would read each column as, and what a careful person would check first:
the classes, ranges, levels that are written in several ways, columns that reveal the target,
repeated rows.
"""

from __future__ import annotations

import json as json_text
from bisect import bisect_left
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.cli.options import CheckOptions, kinds_given
from mercer.cli.problem import columns_of, judged_by
from mercer.cli.screen import (
    FEW_FINDINGS,
    FEW_NOTICES,
    OF_EACH,
    columns_facts,
    columns_table,
    few_of_each,
    say,
    values_of,
)
from mercer.cli.tables import Tables
from mercer.cli.target import (
    check_test_table,
    left_out,
    order_said,
    read_answers,
    read_target,
)
from mercer.cli.terminal import OptionError, Terminal, counted, line
from mercer.samples import EncodedColumns
from mercer.spoken import spoken
from mercer.tables import (
    Column,
    Finding,
    ReadTable,
    Surprises,
    column_notices,
    default_metric,
    find_leaks,
    find_repeated_rows,
    find_shared_rows,
    listed,
    read_columns,
    review_columns,
    review_target,
)

if TYPE_CHECKING:
    from mercer.kernels import MercerCheck

MOST_CLASSES = 10
#: lines of each part of the screen, which has at most 40 unless all are asked for
FEW_COLUMNS = 17
#: kernels of `mercer.kernels.as_kernel`, by name
KERNEL_NAMES = (
    "arccosine", "chi2", "cosine", "histogram_intersection", "intersection", "jaccard",
    "laplacian", "linear", "matern", "poly", "polynomial", "precomputed", "rbf", "sigmoid",
)  # fmt: skip
FEW_NAMES = 5  # columns that a notice names


def check_table(options: CheckOptions) -> int:
    """Run the command; returns its exit code."""
    given, target, kernel = options.tables, options.target, options.kernel
    task: str | None = options.task
    reading = options.read.reading()
    screen = Terminal(quiet=options.json)
    kinds = kinds_given(options.kind)
    if kernel is not None and kernel not in KERNEL_NAMES:
        raise OptionError(f"--kernel {kernel}: give one of {', '.join(KERNEL_NAMES)}.")
    tables = Tables(given, reading)
    frame = tables.frame()
    said_first: list[str] = []
    facts: dict = {"file": " ".join(map(str, given)), "rows": frame.height}
    sizes = f"{counted(frame.height, 'row')}, {counted(frame.width, 'column')}"
    name = given[0].name if len(given) == 1 else tables.label
    screen.print(line((name, "bold"), f": {sizes}."))
    y: Any = None
    target = target or tables.target or None
    if target is not None:
        read = read_answers(frame, tables, target, task)
        if read.targets:
            raise OptionError(
                f"--target {target}: check looks at one target at a time: give one of "
                f"{', '.join(read.targets)}."
            )
        target, frame, y, task, said_first = read.target, read.others, read.y, read.task, read.said
        facts |= {"task": task, "task_reason": read.why, "rows_without_target": read.dropped}
        screen.print(line("Task: ", (read.task, "bold"), f", since {read.why}."))
        judged = judged_by(default_metric(read.task, y, ordered=read.order is not None), None, y)
        order = order_said(y, read.order, read.task, target)
        lost = left_out(read.dropped, target) if read.dropped else ""
        for said in [_balance(y, read.task, target), order, *said_first, judged, lost]:
            if said:
                screen.print(said)
    values, targets = read_columns(frame), [] if target is None else [target]
    numbers: dict[Any, np.ndarray] = {}  # of texts, for all that asks for them
    columns = columns_of(values, kinds, options.drop, tables, targets, numbers=numbers)
    screen.print()
    most = len(columns) if options.whole else FEW_COLUMNS
    table = columns_table(columns, values=True, most=most)
    while not options.whole and len(screen.render_lines(table)) > FEW_COLUMNS and most > 1:
        most -= 1
        table = columns_table(columns, values=True, most=most)
    screen.print(table)
    notices = [*tables.notes, *column_notices(columns)]
    told = [*tables.notes, *column_notices(columns, len(columns) if options.whole else FEW_NAMES)]
    say(screen, told, "notice", None if options.whole else FEW_NOTICES)
    findings = _findings(columns, values, numbers, y, str(task), target)
    if options.test is not None:
        findings += _test_findings(
            options.test, columns, values, y, str(task), target, tables, screen
        )
    screen.print(line(("\nTo look at:", "bold")) if findings else "\nNothing else was found.")
    say(screen, few_of_each(findings, len(findings) if options.whole else OF_EACH), "finding",
        None if options.whole else FEW_FINDINGS, "yellow")  # fmt: skip
    fitting = advice(frame.height, columns, task if y is not None else None)
    if fitting:
        screen.print(line(("\nWhat fits:", "bold")))
    for said in fitting:
        screen.print(f"• {said}")
    listing = columns if options.json else []
    facts |= {
        "columns": [
            fact | {"distinct": c.distinct, "values": values_of(c)}
            for fact, c in zip(columns_facts(listing), listing)
        ],
        "notices": [*said_first, *notices],
        "findings": listed(findings),
    }
    facts["advice"] = fitting
    if y is not None:
        facts["target"] = _target_facts(y, str(task))
    if kernel is not None:
        verdict = check_kernel(kernel, columns, values, tables.label)
        facts["mercer"] = {"kernel": kernel, "positive_definite": verdict.positive_definite,
                           "smallest": float(verdict.eigenvalues[-1]),
                           "largest": float(verdict.eigenvalues[0])}  # fmt: skip
        screen.print(f"\nMercer's condition for {kernel} on the standardised numbers: {verdict}")
    if options.json:
        from mercer.plots.report import plain

        print(json_text.dumps(plain(facts), allow_nan=False))
    return 0


def _findings(
    columns: list[Column], cells: dict, numbers: dict, y: Any, task: str, target: str | None
) -> list[Finding]:
    """What to look at in one table."""
    found = list[Finding]()
    values = dict(cells)
    for c in columns:  # the numbers of texts are read once, for all that asks for them
        if c.kind == "number" and cells[c.name].dtype == object and not c.shares:
            values[c.name] = numbers[c.name] if c.name in numbers else c.of.read(cells[c.name], c)
    if y is not None:
        found += review_target(y, task, target, accuracy=default_metric(task, y) == "accuracy")
        used = [column for column in columns if column.used]
        found += find_leaks(used, values, y, task)
    found += review_columns(columns, values)
    identifiers = {c.name: cells[c.name] for c in columns if c.of.identifies}
    compared = {name: each for name, each in cells.items() if name not in identifiers}
    return found + (find_repeated_rows(compared, y, identifiers) if compared else [])


def _test_findings(
    test: Path,
    columns: list[Column],
    values: dict,
    y: Any,
    task: str,
    target: str | None,
    tables: Tables,
    screen: Terminal,
) -> list[Finding]:
    """What to look at in a table to score on, beside the training table."""
    held = Tables([test], replace(tables.reading, usual=tables.decimal))
    frame, classes = held.frame(list(values)), []
    if target is not None:
        height = frame.height
        frame, y_held, _ = read_target(
            frame, target, held.label, varied=False, hints=held.hints,
            known=np.unique(y).tolist() if y.dtype.kind == "U" else None,
        )  # fmt: skip
        y_held = y_held.astype(str) if y.dtype.kind == "U" else y_held
        if height > len(y_held):
            screen.print(f"{test}: {left_out(height - len(y_held), target)}")
        said = check_test_table(frame, y_held, columns, y, task, test)
        classes = [Finding("classes", target, said)] if said else []
    new = read_columns(frame)
    compared = {c.name: values[c.name] for c in columns if c.used}
    found = classes + (find_shared_rows(compared, new) if compared else [])
    if any(column.used for column in columns):
        from mercer.tables import TableEncoder

        surprises = Surprises(TableEncoder(columns).fit(ReadTable(values)))
        surprises.see(new)
        found += [Finding("test", None, f"{test}: {s}") for s in surprises.sentences()]
    return found


def _balance(y: np.ndarray, task: str, target: str) -> str:
    """The classes with their shares, or the range of a target of numbers."""
    if task != "classification":
        low, middle, high = (spoken(float(v), 5) for v in (y.min(), np.median(y), y.max()))
        return f"{target}: {low} to {high}, median {middle}."
    classes, counts = np.unique(y, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    shares = ", ".join(f"{classes[c]} {counts[c]} ({100 * counts[c] / len(y):.3g}%)" for c in order)
    more = f", and {len(classes) - len(order)} more" if len(classes) > len(order) else ""
    return f"{target}: {shares}{more}."


def _target_facts(y: np.ndarray, task: str) -> dict:
    """The same for --json."""
    if task != "classification":
        return {"low": float(y.min()), "high": float(y.max()), "median": float(np.median(y))}
    classes, counts = np.unique(y, return_counts=True)
    return {"classes": dict(zip(map(str, classes.tolist()), counts.tolist()))}


def check_kernel(kernel: str, columns: list[Column], values: dict, table: str) -> MercerCheck:
    """Mercer's condition for a kernel on the numbers of a table, standardised."""
    from mercer.kernels import as_kernel, check_mercer
    from mercer.tables import TableEncoder, read_as

    encoder = TableEncoder(columns).fit(ReadTable(values))
    M = encoder.transform(ReadTable(values))
    numbers = read_as(encoder.features_, "scaled")
    if not numbers:
        raise ValueError(f"--kernel {kernel}: {table} has no columns of numbers to compare.")
    X = M.numbers if isinstance(M, EncodedColumns) else M
    return check_mercer(as_kernel(kernel), np.float64(X[:, numbers]))


#: what docs/choose.rst calls a machine, and rows with the seconds of one fit and its MB on two
#: cores of a server; an empty cell of the page is None
MEASURED: dict[str, list[tuple[int, float, float | None]]] = {
    "``SVC``, 50 columns": [(10_000, 0.6, None), (50_000, 6, 2_400)],
    '``SVC``, 50 columns, ``memory="1.5GB"``': [(200_000, 35, 1_700)],
    "``KernelRidge``, exact": [(10_000, 2.2, 1_200)],
    '``KernelRidge``, ``solver="low_rank"``, 1,000 centres': [(15_000, 1.7, 110)],
}
SEARCH = "30 seconds, 340 to 920 MB"  # of mercer fit

#: pairs of samples in a second on one core, by the kernel's name in docs/choose.rst
PAIRS = {
    "``RBF``, 50 columns": 5e8,
    "``Spectrum(6, shortest=1)``, the same": 2e7,
    "``GlobalAlignment``, 275 points": 1.3e4,
}

#: a kernel for tables whose columns are all of one kind, and its row in PAIRS
KERNELS = {
    "number": ('RBF("scale") on scaled columns', "``RBF``, 50 columns"),
    "vector": ('RBF("scale")', "``RBF``, 50 columns"),
    "text": ("Spectrum(4, shortest=1).normalised()", "``Spectrum(6, shortest=1)``, the same"),
    "sequence": ("GappedKmer(6, 4).normalised()", None),
    "set": ("Jaccard()", None),
    "molecule": ("Morgan()", None),
    "series": ("GlobalAlignment()", "``GlobalAlignment``, 275 points"),
}
LARGE = 15_000  # rows from which KernelRidge takes centres


def advice(rows: int, columns: list[Column], task: str | None) -> list[str]:
    """Sentences for the screen, the command first."""
    kinds = {column.kind for column in columns if column.used}
    if not rows or not kinds:
        return []
    kernel, pairs = KERNELS.get(kinds.pop(), (None, None)) if len(kinds) == 1 else (None, None)
    kernel = kernel or "TableKernel()"
    if task is None:
        return [
            f"Groups: KernelKMeans with {kernel}. A map: KernelPCA. Near-duplicates: mercer dedup.",
            "To predict a column, name it with --target.",
        ]
    machine = "SVC" if task == "classification" else 'KernelRidge(alpha="auto")'
    said = [
        f"The least work: mercer fit chooses by itself: {SEARCH}.",
        f"In Python: {machine} with {kernel}.",
    ]
    if pairs == "``RBF``, 50 columns":
        said.append(f"One fit of {rows:,} rows: {fit_said(rows, task)}, on two cores.")
    elif pairs is not None:
        seconds = rows**2 / 2 / PAIRS[pairs]
        said.append(f"Its {rows:,} rows are compared in {time_said(seconds)} on one core.")
    return said


def fit_said(rows: int, task: str) -> str:
    """Seconds and memory of one fit with an RBF kernel."""
    if task == "classification":
        names = "``SVC``, 50 columns", '``SVC``, 50 columns, ``memory="1.5GB"``'
    elif rows < LARGE:
        names = ("``KernelRidge``, exact",)
    else:
        names = ('``KernelRidge``, ``solver="low_rank"``, 1,000 centres',)
    points = [point for name in names for point in MEASURED[name]]
    exact = rows < LARGE
    seconds = between(points, rows, 2 if exact or task == "classification" else 1)
    sizes = [(least, mb) for least, _, mb in points if mb]
    if task != "classification":
        least, megabytes = sizes[0]
        size = megabytes * (rows / least) ** (2 if exact else 1)
    elif exact:
        size = 8 * rows**2 / 1e6  # a Gram matrix of float64
    else:
        size = next((mb for least, mb in sizes if rows <= least), sizes[-1][1])
    shown = f"{size / 1000:.1f} GB" if size >= 1000 else f"{max(1, round(size))} MB"
    return f"{time_said(seconds)}, {shown}"


def between(points: list[tuple[int, float, float | None]], rows: int, growth: float) -> float:
    """Seconds for a number of rows: a power of it through the two points beside it."""
    place = bisect_left([least for least, _, _ in points], rows)
    if place in (0, len(points)):
        least, seconds, _ = points[min(place, len(points) - 1)]
        return seconds * (rows / least) ** growth
    (low, fast, _), (high, slow, _) = points[place - 1 : place + 1]
    power = log(slow / fast) / log(high / low)
    return fast * exp(power * log(rows / low))


def time_said(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 0.1:
        return "less than 0.1 seconds"
    if seconds < 120:
        return f"about {spoken(seconds, 1)} seconds"
    return f"about {spoken(seconds / 60, 1)} minutes"
