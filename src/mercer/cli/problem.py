"""What ``mercer fit`` is asked to learn: a table, its target, the task, and which rows score it.

`read_problem` reads the table, `split_rows` sets the rows aside that no fit may see. Both say on
the screen what they found.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from mercer.cli.extras import Extras, check_extras, of_molecules, read_extras
from mercer.cli.files import STDIN
from mercer.cli.fit_options import FitOptions
from mercer.cli.screen import FEW_FINDINGS, FEW_NOTICES, OF_EACH, few_of_each, say
from mercer.cli.tables import Tables
from mercer.cli.target import (
    check_test_table,
    left_out,
    order_said,
    read_answers,
    read_several,
    read_target,
    targets_named,
)
from mercer.cli.terminal import (
    OptionError,
    TableError,
    Terminal,
    column_faults,
    counted,
    line,
    of_option,
    refuse,
)
from mercer.spoken import first_of
from mercer.tables import (
    FEW_GROUPS,
    Column,
    ReadTable,
    default_metric,
    doubt_notices,
    find_leaks,
    infer_columns,
    read_columns,
    review_columns,
    review_target,
    shared_rows,
)

CHECK = "mercer check --all tells them"


#: part of the rows that are held out, and about the most of them: a score on so many errs by less
#: than one hundredth, and all that is measured on them takes time
HELD, MOST_HELD = 0.2, 20_000
MANY = 0.1  # different values, by rows, of a column that tells rows apart
SHARED = 0.02  # share of rows to score on that are in the other table too, to be mentioned
SAME_SIDE = "equal molecules are on one side of the split"
FEWEST_ROWS = 10  # with fewer rows, nothing is held out
FEW_HELD = 10  # rows, from which on a score says something


@dataclass(frozen=True)
class Problem:
    """The rows that have a target, and what is to be learnt of them."""

    X: ReadTable
    y: np.ndarray
    #: "classification" or "regression", and the reason
    task: str
    why: str
    metric: str
    rows: np.ndarray  # the numbers, from 0, of these rows in the file
    dropped: int  # rows of the file that have no target
    extras: Extras
    order: list | None = None  # the classes from the lowest to the highest, if they have an order
    #: what each column is, by all rows: ``mercer check`` says the same
    columns: list[Column] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)  # what was found in reading
    #: what a review of the table found that speaks against the score of each target
    doubts: dict[str, list[str]] = field(default_factory=dict)
    target: str = ""  # its name; of several, as the user gave them
    targets: list[str] = field(default_factory=list)  # the names of several

    def named(self, y: np.ndarray) -> Any:
        """Targets with their names, if there are several."""
        return pl.DataFrame(y, schema=self.targets) if self.targets else y

    def doubts_of(self, target: str) -> list[str]:
        """What speaks against the score of a target; of all of them, if it is none."""
        found = [text for name, own in self.doubts.items() if target in ("", name) for text in own]
        return list(dict.fromkeys(found))

    @property
    def kinds(self) -> dict[str, Column]:
        """What an estimator takes as ``kind``, so that a part of the rows changes no kind."""
        return {column.name: column for column in self.columns}


@dataclass(frozen=True)
class Split:
    """The rows to fit to, and those that are held out, if any.

    ``numbers`` are those of both in their files, from 0; ``doubts`` say what speaks against a score
    on the one after a fit to the other.
    """

    X_train: ReadTable
    y_train: np.ndarray
    extras: Extras
    numbers: tuple[np.ndarray, np.ndarray]
    X_held: ReadTable | None = None
    y_held: Any = None
    groups_held: np.ndarray | None = None  # those of the rows that are held out, if they have some
    doubts: list[str] = field(default_factory=list)

    def scored_on(self, rows: np.ndarray) -> Split:
        """The same with some of the rows that are held out."""
        assert self.X_held is not None
        groups, (train, held) = self.groups_held, self.numbers
        return replace(
            self, X_held=self.X_held[rows], y_held=self.y_held[rows],
            groups_held=None if groups is None else groups[rows], numbers=(train, held[rows]),
        )  # fmt: skip

    def of_target(self, place: int) -> Split:
        """The same of one of several targets."""
        held = None if self.y_held is None else self.y_held[:, place]
        return replace(self, y_train=self.y_train[:, place], y_held=held)


def named_target(options: FitOptions, tables: Tables, names: list[str]) -> str:
    """The column of ``--target``, or the one that the file tells."""
    target = tables.target if options.target is None else options.target
    if options.target is None and not target:
        raise OptionError(
            f"--target: which column is to be predicted? {tables.label} has the columns "
            f"{first_of(names, 20)}."
        )
    return target


def check_names(options: FitOptions) -> None:
    """Refuse wrong options, files and names of columns, before learners are loaded.

    Only of texts the first rows tell the names of all columns.
    """
    options.check()
    if STDIN in options.tables:  # is read once
        return
    tables = Tables(options.tables, options.read.reading())
    part = tables.parts[0]
    first = next(part.blocks(FEWEST_ROWS), None) if part.texts else None
    if first is None:
        return
    names = first.columns
    targets = targets_named(named_target(options, tables, names), tables.label, names)
    options.check_several(targets)
    names = [name for name in names if name not in targets]
    check_extras(options, tables.label, names, targets)
    given = (("--kind", options.kinds), ("--drop", options.drop))
    if any(column_faults(*each, tables.label, names, targets) for each in given):
        values = read_columns(tables.frame().drop(targets))  # what else is wrong
        columns_of(values, options.kinds, options.drop, tables, targets)


def read_problem(options: FitOptions, screen: Terminal) -> Problem:
    """Read the training table; say how large it is, what the task is, and why."""
    from mercer.machines import metric_named

    tables = Tables(options.tables, options.read.reading())
    frame = tables.frame()
    given = named_target(options, tables, frame.columns)
    read = read_answers(frame, tables, given, options.task, options.orders)
    options.check_several(read.targets)
    others, y, numbers, task, order = read.others, read.y, read.rows, read.task, read.order
    why, dropped, said_first, target = read.why, read.dropped, read.said, read.target
    targets = read.targets or [target]
    del frame, read  # a copy of all cells
    with of_option():
        name = options.metric or default_metric(task, y, ordered=order is not None)
        metric_named(name, task).on(None if order is None else np.arange(len(order)))
    metric = name
    name = options.train.name if not options.more else tables.label
    sizes = f"{counted(others.height, 'row')}, {counted(others.width, 'column')}"
    screen.print(line((name, "bold"), f": {sizes} besides {target}."))
    if dropped:
        screen.print(left_out(dropped, " or a ".join(targets)))
    for said in said_first:
        screen.print(said)
    screen.print(line("Task: ", (task, "bold"), f", since {why}."))
    if said := order_said(y, order, task, target):
        screen.print(said)
    if judged := judged_by(metric, options.metric, y):
        screen.print(judged)
    screen.print()
    X, extras = read_extras(others, options, tables.label, targets)
    del others
    if extras.weights is not None and not extras.weights.all():
        rows = np.flatnonzero(extras.weights)
        screen.print(f"{len(X) - len(rows)} rows of weight 0 are left out.")
        X, y, extras, numbers = X[rows], y[rows], extras.take(rows), numbers[rows]
    columns = columns_of(X.columns, options.kinds, options.drop, tables, targets)
    extras, said_of_copies = of_molecules(extras, options, columns, X.columns)
    used = [column for column in columns if column.used]
    review = review_columns(columns, X.columns)
    by_user = extras.related is not None and not extras.related.copies
    at_random = not by_user and options.test is None  # rows will be held out
    of_all = [found for found in review if at_random and found.kind in ("time", "groups")]
    findings, doubts = [], {}
    for name, own in zip(targets, y.reshape(len(y), -1).T):
        said_of = name if targets[1:] else "the target"
        against = review_target(own, task, name, accuracy=metric == "accuracy")
        against += find_leaks(used, X.columns, own, task, said_of)
        doubts[name] = [finding.text for finding in [*against, *of_all]]
        findings += against
    findings += of_all
    review = [found for found in review if found.kind not in ("time", "groups")]
    told = [*tables.notes, *said_of_copies, *doubt_notices(columns)]
    notices = [*told, *(found.text for found in review)]
    say(screen, told, "notice", FEW_NOTICES, rest=CHECK)
    say(screen, few_of_each(review, OF_EACH), "finding", FEW_FINDINGS, rest=CHECK)
    for doubt in few_of_each(findings, OF_EACH):
        screen.print(line(("! ", "yellow"), doubt))
    if notices or findings:
        screen.print()
    return Problem(
        X, y, task, why, metric, numbers, dropped, extras, order, columns, notices, doubts, target,
        targets[1:] and targets,
    )  # fmt: skip


def judged_by(metric: str, asked: str | None, y: np.ndarray) -> str:
    """The metric and why, where it is not the usual one and nobody asked for it; else ""."""
    if asked is not None or metric != "average_precision":
        return ""
    classes, counts = np.unique(y, return_counts=True)
    share = 100 * counts.min() / len(y)
    return (
        f"Judged by average_precision, since only {share:.3g}% of the rows are "
        f"{classes[counts.argmin()]}: a model that never predicts it is nearly always right. "
        "--metric overrides that."
    )


def columns_of(
    values: dict,
    kind: dict,
    drop: Sequence[str],
    tables: Tables,
    targets: Collection[str] | None = None,  # the name of one, or several names
    faults: Iterable[TableError] = (),
    numbers: dict[Any, np.ndarray] | None = None,
) -> list[Column]:
    """What `infer_columns` says; numbers that had decimal commas in the file remember it.

    All that is wrong with ``--kind`` and ``--drop`` is one TableError, with the other ``faults``.
    """
    names, faults = [str(name) for name in values], [*faults]
    targets = [targets] if isinstance(targets, str) else targets or ()
    told = {name: kind for name, kind in tables.kinds.items() if name in values}
    for option, given in (("--kind", kind), ("--drop", drop)):
        faults += column_faults(option, given, tables.label, names, targets)
    kind = told | {name: each for name, each in kind.items() if name in values}
    drop = [name for name in drop if name in values]
    columns: list[Column] = []
    try:
        columns = infer_columns(values, kind, drop, tables.hints, tables.unnamed, numbers)
    except ValueError as error:
        for fault in re.split(r"\n(?! )", str(error)):
            option = "--" if fault.startswith(("kind", "drop")) else ""
            faults.append(TableError(f"{option}{fault}"))
    refuse(faults)
    return [replace(c, decimal=",") if c.name in tables.commas else c for c in columns]


def split_rows(problem: Problem, options: FitOptions, screen: Terminal) -> Split:
    """The rows to score on: those of --test, else a share of the table that is large enough."""
    split = _split(problem, options, screen)
    doubts = (
        split.doubts
        + _few_rows(split)
        + _shared_rows(problem.columns, split, options.test is not None)
    )
    for doubt in doubts:
        screen.print(line(("! ", "yellow"), f"{doubt}\n"))
    return replace(split, doubts=doubts)


def _few_rows(split: Split) -> list[str]:
    """What to say where the score hangs on some rows, or on some groups."""
    if split.groups_held is not None and (count := len(np.unique(split.groups_held))) < FEW_GROUPS:
        return [
            f"Only {counted(count, 'group')} of rows are there to score on, and rows of a group "
            "err alike, so the score says little: collect more groups."
        ]
    if split.X_held is None or len(split.X_held) >= FEW_HELD:
        return []
    return [
        f"Only {len(split.X_held)} rows are there to score on, so the score says little: trust "
        "the models' scores in cross-validation more, or collect more rows."
    ]


def _shared_rows(columns: list[Column], split: Split, given: bool) -> list[str]:
    """What to say of rows that are on both sides, if that is not by chance.

    ``given`` says whether the rows to score on are a table of the user's.

    Where no column has many values, as in a table of a few categories, rows are equal by chance.
    """
    train, held = split.X_train, split.X_held
    if held is None or not any(c.used and c.distinct > MANY * len(train) for c in columns):
        return []
    used = {column.name: train.columns[column.name] for column in columns if column.used}
    count = int(shared_rows(used, held.columns).sum())
    if count < SHARED * len(held):
        return []
    remedy = " of one table" if given else ", or keep copies together with --group"
    return [
        f"{count} of the {len(held)} rows to score on {'is' if count == 1 else 'are'} equal to "
        "rows that the model learns from. If these are copies, the score is too good: leave them "
        f"out{remedy}."
    ]


def _split(problem: Problem, options: FitOptions, screen: Terminal) -> Split:
    """The rows that train the model, and those that score it."""
    X, y, extras = problem.X, problem.y, problem.extras
    if options.test is not None:
        return _read_test(problem, options.test, options, screen)
    if len(X) < FEWEST_ROWS:
        screen.print(f"Fewer than {FEWEST_ROWS} rows: none are held out, and there is no score.\n")
        return Split(X, y, extras, (problem.rows, problem.rows[:0]))
    from mercer.machines import hold_out

    related = extras.related
    share = min(HELD, MOST_HELD / len(X)) if related is None or related.copies else HELD
    rows, others = hold_out(len(X), y, problem.task, share, options.seed, related)
    if related is not None:
        _check_parts(y, rows, others, problem.task, options)
    numbers = problem.rows[rows], problem.rows[others]
    groups = None if extras.groups is None else extras.groups[others]
    return Split(X[rows], y[rows], extras.take(rows), numbers, X[others], y[others], groups)


def _check_parts(
    y: np.ndarray, rows: np.ndarray, others: np.ndarray, task: str, options: FitOptions
) -> None:
    """Refuse a split in which a class is only among the rows that are held out."""
    option = "--time-column" if options.time_column is not None else SAME_SIDE
    option = option if options.group is None else "--group"
    if task == "classification":
        new = sorted(set(y[others].tolist()) - set(y[rows].tolist()), key=str)
        if new or len(set(y[rows].tolist())) < 2:
            raise TableError(
                f"{option}: the rows to learn from have no {new[0] if new else 'second class'!r}, "
                "which the others have: give another --seed, or leave such rows out."
            )


def _read_test(problem: Problem, test: Path, options: FitOptions, screen: Terminal) -> Split:
    """All training rows, and the table of --test, which the model can be scored on."""
    tables = Tables([test], options.read.reading().after(problem.columns))
    frame = tables.frame([*problem.X.columns])
    if problem.targets:
        others, y, rows = read_several(
            frame, problem.targets, str(test), hints=tables.hints, varied=False
        )
    else:
        others, y, rows = read_target(
            frame, problem.target, str(test), varied=False, hints=tables.hints,
            known=np.unique(problem.y).tolist() if problem.y.dtype.kind == "U" else None,
        )  # fmt: skip
    if problem.y.dtype.kind == "U":
        y = y.astype(str)  # classes 1 and 2, where training has 3a too
    if frame.height > len(rows):
        lacking = " or a ".join(problem.targets) or problem.target
        screen.print(f"{test}: {left_out(frame.height - len(rows), lacking)}\n")
    said = check_test_table(others, y, problem.columns, problem.y, problem.task, test)
    both = problem.rows, rows
    held = ReadTable.of(others)
    doubts = [said] if said else []
    return Split(problem.X, problem.y, problem.extras, both, held, y, doubts=doubts)
