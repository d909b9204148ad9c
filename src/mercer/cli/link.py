"""``mercer link``: which records of one or two tables are the same thing."""

from __future__ import annotations

import json as json_text
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from mercer.cli.executors import mapped_by
from mercer.cli.exit_codes import DUPLICATES, OK
from mercer.cli.link_options import LinkOptions
from mercer.cli.map import told
from mercer.cli.options import check_paths
from mercer.cli.predict import write_frames
from mercer.cli.tables import Tables
from mercer.cli.terminal import (
    TableError,
    Terminal,
    column_faults,
    counted,
    hush,
    line,
    of_option,
    refuse,
)
from mercer.persistence import written_whole
from mercer.tables import ReadTable, level_texts, read_columns

if TYPE_CHECKING:
    from mercer.link import Pairs, RecordLinkage

BEST = 5  # pairs that are told where none is a match
YES = {"1", "1.0", "true", "yes", "match", "y"}
NO = {"0", "0.0", "false", "no", "non-match", "n", "distinct"}
BLOCK = 100_000  # pairs that are written at a time


def link_tables(options: LinkOptions) -> int:
    """Run the command; returns its exit code."""
    options.check()
    screen = Terminal(quiet=options.quiet or options.json)
    hush(options.quiet)
    given = [path for path in (options.left, options.right) if path is not None]
    tables = [Tables([path], options.read.reading()) for path in given]
    check_paths(
        options.written,
        [path for table in tables for path in table.paths],
        force=options.replaces,
        folders=options.folders,
    )
    values = [read_columns(table.frame()) for table in tables]
    names = [[str(name) for name in columns] for columns in values]
    refuse(_faults(options, tables, names))
    read = [ReadTable(columns) for columns in values]
    compared = _compared(options, read)
    from mercer.link import RecordLinkage, forget_stages  # loads libraries

    model = RecordLinkage(
        compared, kind=_kinds(options, compared),
        threshold=options.threshold, one_to_one=options.one_to_one, relatives=options.relatives,
        max_block=options.max_block, pairs_per_record=options.pairs_per_record,
    )  # fmt: skip
    pairs, labels = _labels(options, tables, read) if options.labels else (None, None)
    notes = list(dict.fromkeys(note for table in tables for note in table.notes))
    with told(hidden=options.quiet) as tell, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        tell("Comparing records")
        with mapped_by(options.executor) as mapped, of_option():
            model.fit(
                *read, pairs=pairs, labels=labels, work=options.folder, executor=mapped,
                task=options.tasks(),
            )  # fmt: skip
        if options.tasks()[0]:
            screen.print(f"Task {options.task} is done; the first task writes the output.")
            return OK
        tell("Writing")
        _write(options, model, read)
        notes += [str(warning.message) for warning in warned]
        if options.report is not None:
            from mercer.plots.report import write_link_report

            called = [table.paths[0].name if table.paths else table.label for table in tables]
            write_link_report(options.report, model, *read, names=called, notes=notes)
    if options.work is None:
        forget_stages(options.folder)
    left_out = {column.name: column.reason for column in model.left_out_}
    _say(screen, options, model, read, left_out, notes)
    if options.json:
        print(json_text.dumps(_facts(options, model, read, left_out, notes)))
    return DUPLICATES if options.fail and len(model.pairs_) else OK


def _faults(options: LinkOptions, tables: list[Tables], names: list[list[str]]) -> list[TableError]:
    """Names in options that a table lacks."""
    first, second = names[0], names[-1]
    faults = column_faults("--columns", options.named, tables[0].label, first)
    faults += column_faults("--columns", options.named.values(), tables[-1].label, second)
    either = [*first, *(name for name in second if name not in first)]
    faults += column_faults("--drop", options.drop, tables[0].label, either)
    given = [pair.rpartition("=")[0] for pair in options.kind]
    faults += column_faults("--kind", given, tables[0].label, first)
    if options.id is not None:
        for table, own in zip(tables, names):
            faults += column_faults("--id", [options.id], table.label, own)
    return faults


def _compared(options: LinkOptions, read: list[ReadTable]) -> dict[str, str] | None:
    """The columns to compare, and what the second table calls them; None for all in common."""
    given = options.named
    if not given or any("=" not in name for name in options.columns):
        return given or None
    from mercer.link import joined_columns

    rest = [
        ReadTable({str(name): cells for name, cells in table.columns.items() if name not in known})
        for table, known in zip(read, (given, given.values()))
    ]
    return joined_columns(*rest) | given


def _kinds(options: LinkOptions, compared: dict[str, str] | None) -> dict[str, str]:
    """What columns are; "drop" for those that are left out, if they would be compared."""
    dropped = {*options.drop, options.id} - {None}
    kinds = options.kinds() | dict.fromkeys(sorted(map(str, dropped)), "drop")
    known = None if compared is None else {*compared, *compared.values()}
    return {n: kind for n, kind in kinds.items() if known is None or kind != "drop" or n in known}


def _ids(options: LinkOptions, table: ReadTable) -> list[str]:
    named = {str(name): cells for name, cells in table.columns.items()}
    return level_texts(named[str(options.id)])


# --- labels ---------------------------------------------------------------------------------------


def _labels(
    options: LinkOptions, tables: list[Tables], read: list[ReadTable]
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of labelled pairs, from 0 on, and whether they match."""
    assert options.labels is not None
    table = Tables([options.labels])
    columns = {str(name): cells for name, cells in read_columns(table.frame()).items()}
    truth = next((columns[name] for name in ("match", "label") if name in columns), None)
    by_id = options.id is not None and "left_id" in columns and "right_id" in columns
    by_row = "left_row" in columns and "right_row" in columns
    if truth is None or not (by_id or by_row):
        raise TableError(
            f"--labels {options.labels}: it has the columns {list(columns)[:20]}; give left_row "
            "and right_row (or left_id and right_id, with --id), and match, which is 1 or 0."
        )
    said = [text.strip().lower() for text in level_texts(truth)]
    wrong = [k for k, text in enumerate(said) if text not in YES | NO]
    if wrong:
        raise TableError(
            f"--labels {options.labels}: match is {said[wrong[0]]!r} in row {wrong[0] + 1}; give 1 "
            "or 0."
        )
    sides = []
    for side, own, records in zip(("left", "right"), (tables[0], tables[-1]), (read[0], read[-1])):
        if by_id:
            sides.append(_rows_of(options, records, level_texts(columns[f"{side}_id"]), side))
        else:
            cells = columns[f"{side}_row"]
            sides.append(_row_numbers(options, cells, f"{side}_row", own.label, len(records)))
    rows, same = np.column_stack(sides), np.array([text in YES for text in said])

    def called(side: int, k: int) -> str:
        if by_id:
            return repr(level_texts(columns[("left_id", "right_id")[side]][[k]])[0])
        return f"row {rows[k, side] + 1} of {tables[-side].label}"

    shift = len(read[0]) if len(read) > 1 else 0
    _check_labels(options, rows + [0, shift], same, called)
    return rows, same


def _check_labels(
    options: LinkOptions, pairs: np.ndarray, same: np.ndarray, called: Callable[[int, int], str]
) -> None:
    """Refuse a record beside itself, and labels that contradict others."""
    from mercer.link import contradictions  # loads libraries

    wrong = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(wrong):
        k = int(wrong[0])
        raise TableError(
            f"--labels {options.labels}: row {k + 1} pairs {called(0, k)} with itself; give two "
            "different records."
        )
    wrong = contradictions(pairs[:, 0], pairs[:, 1], same)
    if len(wrong):
        k = int(wrong[0])
        raise TableError(
            f"--labels {options.labels}: row {k + 1} says that {called(0, k)} and {called(1, k)} "
            "are no match, but other rows say that they are the same. Rows that contradict others: "
            f"{len(wrong)}. Take out the wrong ones."
        )


def _row_numbers(
    options: LinkOptions, cells: np.ndarray, column: str, table: str, n: int
) -> np.ndarray:
    """Numbers of rows that a file of labels names, checked."""
    numbers = cells
    if cells.dtype.kind != "f":
        texts = pl.Series(level_texts(cells), dtype=pl.String)
        numbers = texts.cast(pl.Float64, strict=False).to_numpy()
    right = (numbers >= 1) & (numbers <= n) & (numbers == np.floor(numbers))
    if not right.all():
        k = int(np.flatnonzero(~right)[0])
        cell = level_texts(cells[[k]])[0]
        raise TableError(
            f"--labels {options.labels}: {column} is {cell!r} in row {k + 1}; give a row of "
            f"{table}, from 1 to {n}, without the header."
        )
    return numbers.astype(np.int64) - 1


def _rows_of(options: LinkOptions, table: ReadTable, wanted: list[str], side: str) -> np.ndarray:
    """The rows whose ids a file of labels names."""
    place: dict[str, int] = {}
    repeated = set()
    for row, name in enumerate(_ids(options, table)):
        if place.setdefault(name, row) != row:
            repeated.add(name)
    for name in wanted:
        if name not in place:
            raise TableError(f"--labels {options.labels}: no record has the {side}_id {name!r}.")
        if name in repeated:
            raise TableError(
                f"--labels {options.labels}: several records have the {side}_id {name!r}. Give "
                "left_row and right_row instead."
            )
    return np.array([place[name] for name in wanted], np.int64)


# --- files ----------------------------------------------------------------------------------------


def _write(options: LinkOptions, model: RecordLinkage, read: list[ReadTable]) -> None:
    """Write the links, and the clusters where they are asked for."""
    suffix = options.output.suffix.lower()
    with written_whole(options.output) as file:
        write_frames(file, _frames(options, model, read), suffix, False)
    if options.clusters is not None:
        with written_whole(options.clusters) as file:
            write_frames(
                file, iter([_clusters(model, read)]), options.clusters.suffix.lower(), False
            )


def _frames(
    options: LinkOptions, model: RecordLinkage, read: list[ReadTable]
) -> Iterator[pl.DataFrame]:
    """The pairs, some at a time."""
    pairs = model.pairs_
    ids = [np.array(_ids(options, table), object) for table in read] if options.id else []
    for start in range(0, max(len(pairs), 1), BLOCK):
        some = pairs[np.arange(start, min(start + BLOCK, len(pairs)))]
        found: dict[str, Any] = {"left_row": some.left + 1, "right_row": some.right + 1}
        if ids:
            found["left_id"] = pl.Series(ids[0][some.left].tolist(), dtype=pl.String)
            found["right_id"] = pl.Series(ids[-1][some.right].tolist(), dtype=pl.String)
        found |= {
            "probability": some.probability.round(6), "match_weight": some.weight.round(4),
            "cluster": model.labels_[some.left] + 1,
        }  # fmt: skip
        for k, column in enumerate(model.columns_):
            found[f"weight_{column.name}"] = some.weights[:, k].round(4)
            found[f"level_{column.name}"] = some.levels[:, k]
        yield pl.DataFrame(found)


def _clusters(model: RecordLinkage, read: list[ReadTable]) -> pl.DataFrame:
    """The cluster of each record."""
    found: dict[str, Any] = {}
    if len(read) > 1:
        found["table"] = np.repeat(["left", "right"], list(map(len, read))).tolist()
    rows = np.concatenate([np.arange(len(table)) + 1 for table in read])
    return pl.DataFrame(found | {"row": rows, "cluster": model.labels_ + 1})


# --- the screen -----------------------------------------------------------------------------------


def _say(
    screen: Terminal,
    options: LinkOptions,
    model: RecordLinkage,
    read: list[ReadTable],
    left_out: dict[str, str],
    notes: list[str],
) -> None:
    """Print what was compared and found."""
    for note in notes:
        screen.print(f"• {note}", soft_wrap=True)
    compared = [column.said() for column in model.columns_]
    screen.print(f"Compared: {'. '.join(compared)}.", soft_wrap=True)
    if left_out:
        reasons = "; ".join(f"{name} ({reason})" for name, reason in left_out.items())
        screen.print(f"Left out: {reasons}.", soft_wrap=True)
    records, pairs = sum(map(len, read)), model.pairs_
    screen.print(
        f"{model.n_candidates_:,} pairs of {counted(records, 'record')} were compared; the model "
        f"expects about {counted(round(model.expected_matches_), 'match', 'matches')}.",
        soft_wrap=True,
    )  # fmt: skip
    if len(pairs):
        share = f"{pairs.probability.mean():.1%}"
        found, right = (
            ("1 match", f"it is right with a probability of {share}") if len(pairs) == 1
            else (f"{len(pairs):,} matches", f"{share} of them are right")
        )  # fmt: skip
        screen.print(
            f"{found} with a probability of at least {options.threshold:g}; the model estimates "
            f"that {right}.", soft_wrap=True,
        )  # fmt: skip
    else:
        screen.print(f"No pair has a probability of {options.threshold:g} or more.", soft_wrap=True)
        for said in _best(model):
            screen.print(f"  {said}", soft_wrap=True)
    for _, path in options.written:
        screen.print(line((f"{path}", "bold")), soft_wrap=True)


def _best(model: RecordLinkage) -> list[str]:
    """The most probable pairs, where none is a match."""
    near: Pairs = model.near_
    order = np.argsort(-near.weight, kind="stable")[:BEST]
    return [
        f"rows {near.left[k] + 1} and {near.right[k] + 1}: probability {near.probability[k]:.3f}"
        for k in order
    ]


def _facts(
    options: LinkOptions,
    model: RecordLinkage,
    read: list[ReadTable],
    left_out: dict[str, str],
    notes: list[str],
) -> dict[str, Any]:
    """What was compared and found, as numbers and lists."""
    pairs = model.pairs_
    return {
        "pairs": len(pairs), "records": [len(table) for table in read],
        "candidates": model.n_candidates_, "expected": round(model.expected_matches_, 1),
        "expected_precision": round(float(pairs.probability.mean()), 4) if len(pairs) else None,
        "clusters": len(np.unique(model.labels_)), "missed": round(model.missed_, 5),
        "compared": {column.name: column.kind for column in model.columns_},
        "left_out": left_out,
        "best": [] if len(pairs) else _best(model),
        "notices": notes, "output": str(options.output),
    }  # fmt: skip
