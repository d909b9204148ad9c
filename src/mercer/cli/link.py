"""``mercer link``: which records of one or two tables are the same thing."""

from __future__ import annotations

import json as json_text
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from mercer.cli.errors import (
    DUPLICATES,
    OK,
    TableError,
    column_faults,
    counted,
    refuse,
)
from mercer.cli.link_options import LinkOptions
from mercer.cli.map import told
from mercer.cli.options import check_paths
from mercer.cli.predict import write_frames
from mercer.cli.tables import Tables
from mercer.cli.terminal import Terminal, line
from mercer.persistence import written_whole
from mercer.tables import ReadTable, level_texts, read_columns

if TYPE_CHECKING:
    from mercer.link import Pairs, RecordLinkage

BEST = 5  # pairs that are told where none is a match
YES = {"1", "1.0", "true", "yes", "match", "y"}
NO = {"0", "0.0", "false", "no", "non-match", "n", "distinct"}
BLOCK = 100_000  # pairs that are written at a time
WRITTEN = ("left_row", "right_row", "left_id", "right_id", "probability", "match_weight", "cluster")


def link_tables(options: LinkOptions) -> int:
    """Run the command; returns its exit code."""
    options.check()
    screen = Terminal(quiet=options.quiet or options.json)
    given = [path for path in (options.left, options.right) if path is not None]
    tables = [Tables([path], options.read.reading()) for path in given]
    check_paths(
        options.written,
        [path for table in tables for path in table.paths],
        force=options.force,
        folders=[("the work folder", options.folder)],
    )
    values = [read_columns(table.frame()) for table in tables]
    names = [[str(name) for name in columns] for columns in values]
    faults = _faults(options, tables, names)
    refuse(faults)
    read = [ReadTable(columns) for columns in values]
    from mercer.link import RecordLinkage, forget_stages  # loads libraries

    model = RecordLinkage(
        _named(options, names) or None, kind=_kinds(options, names), threshold=options.threshold,
        one_to_one=options.one_to_one, relatives=options.relatives, max_block=options.max_block,
        pairs_per_record=options.pairs_per_record,
    )  # fmt: skip
    pairs, labels = _labels(options, read) if options.labels is not None else (None, None)
    notes = list(dict.fromkeys(note for table in tables for note in table.notes))
    with told(hidden=options.quiet) as tell, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        tell("Comparing records")
        model.fit(*read, pairs=pairs, labels=labels, work=options.folder)
        tell("Writing")
        _write(options, model, read)
        notes += [str(warning.message) for warning in warned]
        if options.report is not None:
            from mercer.plots.report import write_link_report

            called = [table.paths[0].name if table.paths else table.label for table in tables]
            write_link_report(options.report, model, *read, names=called, notes=notes)
    forget_stages(options.folder)
    _say(screen, options, model, read, notes)
    if options.json:
        print(json_text.dumps(_facts(options, model, read, notes)))
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


def _kinds(options: LinkOptions, names: list[list[str]]) -> dict[str, str]:
    """The kinds of columns that are compared."""
    compared = _named(options, names) or dict.fromkeys(names[0])
    return {name: kind for name, kind in options.kinds().items() if name in compared}


def _named(options: LinkOptions, names: list[list[str]]) -> dict[str, str]:
    """The columns to compare, if any are given; NAME=OTHER alone comes to those in common."""
    given = options.named
    if not given or any("=" not in name for name in options.columns):
        return given
    common = [name for name in names[0] if name in names[-1] and name not in given.values()]
    return {name: name for name in common} | given


def _ids(options: LinkOptions, table: ReadTable) -> list[str]:
    named = {str(name): cells for name, cells in table.columns.items()}
    return level_texts(named[str(options.id)])


# --- labels ---------------------------------------------------------------------------------------


def _labels(options: LinkOptions, read: list[ReadTable]) -> tuple[np.ndarray, np.ndarray]:
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
    for side, records in zip(("left", "right"), (read[0], read[-1])):
        if by_id:
            sides.append(_rows_of(options, records, level_texts(columns[f"{side}_id"]), side))
        else:
            sides.append(_row_numbers(options, columns[f"{side}_row"], side))
    return np.column_stack(sides), np.array([text in YES for text in said])


def _row_numbers(options: LinkOptions, cells: np.ndarray, side: str) -> np.ndarray:
    numbers = np.asarray(cells)
    if numbers.dtype.kind != "f" or not (numbers == np.floor(numbers)).all():
        raise TableError(
            f"--labels {options.labels}: {side}_row holds {level_texts(cells)[0]!r}; give numbers "
            "of rows, from 1 on, without the header."
        )
    return numbers.astype(np.int64) - 1


def _rows_of(options: LinkOptions, table: ReadTable, wanted: list[str], side: str) -> np.ndarray:
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
    notes: list[str],
) -> None:
    for note in notes:
        screen.print(f"• {note}", soft_wrap=True)
    compared = [column.said() for column in model.columns_]
    screen.print(f"Compared: {'. '.join(compared)}.", soft_wrap=True)
    if model.left_out_:
        screen.print(
            f"Left out: {'; '.join(f'{c.name} ({c.reason})' for c in model.left_out_)}.",
            soft_wrap=True,
        )
    records, pairs = sum(map(len, read)), model.pairs_
    screen.print(
        f"{model.n_candidates_:,} pairs of {counted(records, 'record')} were compared; about "
        f"{model.expected_matches_:,.0f} matches are expected.", soft_wrap=True,
    )  # fmt: skip
    if len(pairs):
        screen.print(
            f"{len(pairs):,} {'match' if len(pairs) == 1 else 'matches'} "
            f"with a probability of {options.threshold:g} at least, {pairs.probability.mean():.1%} "
            "of them right as the model estimates.", soft_wrap=True,
        )  # fmt: skip
    else:
        screen.print(
            f"No pair is a match with a probability of {options.threshold:g}.", soft_wrap=True
        )
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
    options: LinkOptions, model: RecordLinkage, read: list[ReadTable], notes: list[str]
) -> dict[str, Any]:
    pairs = model.pairs_
    return {
        "pairs": len(pairs), "records": [len(table) for table in read],
        "candidates": model.n_candidates_, "expected": round(model.expected_matches_, 1),
        "expected_precision": round(float(pairs.probability.mean()), 4) if len(pairs) else None,
        "clusters": len(np.unique(model.labels_)), "missed": round(model.missed_, 5),
        "compared": {column.name: column.kind for column in model.columns_},
        "left_out": {column.name: column.reason for column in model.left_out_},
        "best": [] if len(pairs) else _best(model),
        "notices": notes, "output": str(options.output),
    }  # fmt: skip
