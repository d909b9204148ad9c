"""``mercer neighbors``: the rows of a table that are nearest to each row of another one, or of the
same one."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from rich.progress import Progress

from mercer.cli.options import check_paths, kinds_given
from mercer.cli.predict import kept_columns, write_frames
from mercer.cli.problem import columns_of
from mercer.cli.search_options import CompareOptions, NeighborOptions
from mercer.cli.tables import Tables
from mercer.cli.terminal import TableError, Terminal, column_faults, counted, line
from mercer.persistence import written_whole
from mercer.tables import Column, read_columns, spare_worded_texts

if TYPE_CHECKING:
    from mercer.cli.table_distance import TableDistance

BLOCK = 2000  # rows that ask at a time
SAID = 3  # columns that an explanation names


def write_neighbors(options: NeighborOptions) -> int:
    """Run the command; returns its exit code."""
    options.check()
    screen = Terminal(quiet=options.quiet or options.json)
    tables = Tables([options.items], options.read.reading())
    check_paths(options.written, tables.paths, force=True)
    frame = tables.frame()
    suffix = options.output.suffix.lower()
    kept_items = kept_columns(frame, options.keep, tables.label, suffix)
    kept = kept_items, kept_items
    values = read_columns(frame)
    columns = compared_columns(values, tables, options.compare)
    asked = None
    if options.query is not None:
        asked = Tables([options.query], options.read.reading().after(columns))
        check_paths(options.written, asked.paths, force=True)
        frame = asked.frame()
        shared = [name for name in options.keep if name in frame.columns]
        kept = kept_columns(frame, shared, asked.label, suffix), kept_items
    from mercer.cli.table_distance import TableDistance  # loads libraries

    rule = TableDistance(columns, values, options.compare.metric, options.compare.text)
    rule.refuse_idle()
    items = queries = rule.rows(values, tables.label)
    if asked is not None:
        queries = rule.rows(read_columns(frame), asked.label)
    neighbours = _Neighbours(rule, items, queries, asked is None, options, kept)
    bars = Terminal(stderr=True)
    hidden = options.quiet or not bars.is_terminal
    with (
        Progress(console=bars, transient=True, disable=hidden) as progress,
        written_whole(options.output) as file,
    ):
        bar = progress.add_task("Searching", total=queries.height)
        frames = neighbours.frames(lambda done: progress.update(bar, completed=done))
        rows = write_frames(file, frames, suffix, False)
    notes = list(dict.fromkeys([*tables.notes, *([] if asked is None else asked.notes)]))
    for note in notes:
        screen.print(f"• {note}", soft_wrap=True)
    screen.print("Compared: " + "; ".join(rule.sentences()) + ".", soft_wrap=True)
    left = [str(name) for name in values if str(name) not in rule.columns]
    if left:
        screen.print(f"Left out: {', '.join(left)}.", soft_wrap=True)
    are = "is" if rows == 1 else "are"
    screen.print(
        line(
            f"{counted(rows, 'neighbour')} of {counted(queries.height, 'row')} {are} in ",
            (str(options.output), "bold"),
            ". Rows are counted from 1 without the header.",
        ),
        soft_wrap=True,
    )
    if options.json:
        facts = {
            "neighbours": rows, "rows": queries.height, "compared": list(rule.columns),
            "left_out": left, "notices": notes, "output": str(options.output),
        }  # fmt: skip
        print(json_text.dumps(facts))
    return 0


def compared_columns(values: dict, tables: Tables, options: CompareOptions) -> list[Column]:
    """The columns by which the rows of a table are compared."""
    kinds, names = kinds_given(options.kind), [str(name) for name in values]
    given = {"--columns": options.columns, "--drop": options.drop, "--kind": list(kinds)}
    faults = [
        fault
        for option, some in given.items()
        for fault in column_faults(option, some, tables.label, names)
    ]
    wanted = {
        name: values[name] for name in values if not options.columns or name in options.columns
    }
    drop = [name for name in options.drop if name in wanted]
    kinds = {name: kind for name, kind in kinds.items() if name in wanted}
    columns = spare_worded_texts(columns_of(wanted, kinds, drop, tables, faults=faults), wanted)
    if options.columns:  # a column that is named is meant, also where it numbers the rows
        again = {c.name: "number" if wanted[c.name].dtype.kind == "f" else "text"
                 for c in columns if c.of.identifies}  # fmt: skip
        if options.text != "auto":  # few names are levels, unless their texts are to be compared
            again |= {c.name: "text" for c in columns
                      if c.of.levelled and wanted[c.name].dtype.kind == "O"}  # fmt: skip
        columns = columns_of(wanted, again | kinds, drop, tables) if again else columns
    used = [column for column in columns if column.used]
    if not used:
        said = "; ".join(f"{c.name}: {c.kind}, {c.reason}" for c in columns[:5])
        raise TableError(
            f"{tables.label} has no column to compare rows by ({said}). Name one by --columns, or "
            "say what it is by --kind name=text."
        )
    return used


class _Neighbours:
    """The neighbours of all rows, in blocks of rows.

    With ``themselves`` the items ask, and a row is no neighbour of itself. ``kept`` are columns to
    copy of those that ask and of the items.
    """

    def __init__(
        self,
        rule: TableDistance,
        items: pl.DataFrame,
        queries: pl.DataFrame,
        themselves: bool,
        options: NeighborOptions,
        kept: tuple[dict, dict],
    ):
        self.rule, self.items, self.queries, self.options = rule, items, queries, options
        self.themselves, self.kept = themselves, kept
        most = items.height - themselves
        if not most:
            raise TableError(
                f"{options.items} has one row, which has no neighbour in its own table: give a "
                "second table of rows that ask."
            )
        self.k = min(options.k or (10 if options.radius is None else most), most)
        from mercer.search import fit_index

        self.index = fit_index(items, rule.distance, memory=options.memory)[0]

    def frames(self, tell: Any) -> Iterator[pl.DataFrame]:
        """What is written, one frame for each block; ``tell`` gets the number of rows done."""
        empty = True
        for start in range(0, self.queries.height, BLOCK):
            block = self.queries[start : start + BLOCK]
            i, j, distances = self._found(block, start)
            tell(start + block.height)
            if len(i) or (empty and start + BLOCK >= self.queries.height):
                empty = False
                yield self._frame(i, j, distances, start)

    def _found(self, block: pl.DataFrame, start: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of the block, their neighbours by distance, and the distances."""
        radius, more = self.options.radius, int(self.themselves)
        if radius is not None and self.options.k is None:
            distances, j, starts = self.index.query_radius(block, radius)
            i = np.repeat(np.arange(block.height), np.diff(starts))
        else:
            k = min(self.k + more, self.items.height)
            near, indices = self.index.query(block, k)
            i, j, distances = np.repeat(np.arange(block.height), k), indices.ravel(), near.ravel()
        keep = np.ones(len(i), bool) if radius is None else distances <= radius
        if self.themselves:
            keep &= j != i + start
        i, j, distances = i[keep], j[keep], distances[keep]
        order = np.lexsort((j, distances, i))
        i, j, distances = i[order], j[order], distances[order]
        few = _ranks(i) <= self.k
        return i[few], j[few], distances[few]

    def _frame(self, i: np.ndarray, j: np.ndarray, distances: np.ndarray, start: int) -> Any:
        """Pairs of rows and neighbours as a table."""
        found: dict[str, Any] = {
            "row": start + i + 1,
            "neighbour": j + 1,
            "distance": distances,
            "rank": _ranks(i),
        }
        if self.options.explain:
            apart = self.rule.differences(self.queries[start + i], self.items[j])
            found["differs"] = _explained(apart, len(i))
        asks, items = self.kept
        found |= {name: column.gather(start + i) for name, column in asks.items()}
        found |= {f"neighbour: {name}": column.gather(j) for name, column in items.items()}
        return pl.DataFrame(found)


def _ranks(i: np.ndarray) -> np.ndarray:
    """1, 2, 3 ... for each run of equal numbers."""
    first = np.flatnonzero(np.diff(i, prepend=-1))
    lengths = np.diff(np.append(first, len(i)))
    return np.arange(len(i)) - np.repeat(first, lengths) + 1


def _explained(apart: dict[str, np.ndarray], count: int) -> list[str]:
    """The columns that add most to each distance, and how much: "price 0.35, colour 0.25"."""
    names = list(apart)
    shares = np.reshape([apart[name] for name in names], (len(names), count))
    largest = np.argsort(-shares, axis=0, kind="stable")[:SAID]
    return [
        ", ".join(f"{names[c]} {shares[c, r]:.3g}" for c in largest[:, r] if shares[c, r] > 0)
        for r in range(count)
    ]
