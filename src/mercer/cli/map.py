"""``mercer map``: the rows of a table as points of a page, where rows that are alike are near."""

from __future__ import annotations

import json as json_text
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl

from mercer.cli.neighbors import compared_columns
from mercer.cli.options import check_paths, kinds_given
from mercer.cli.predict import write_frames
from mercer.cli.problem import columns_of
from mercer.cli.search_options import MapOptions
from mercer.cli.tables import Tables
from mercer.cli.terminal import TableError, Terminal, column_faults, counted, line, refuse
from mercer.persistence import written_whole
from mercer.tables import ReadTable, read_columns

LEAST = 3  # rows of a map
#: rows that are drawn at most: where rows are points, and where all pairs of rows are compared
POINTS, PAIRS = 200_000, 20_000
SAID = 5  # clusters of which the screen tells what is typical


def write_map(options: MapOptions) -> int:
    """Run the command; returns its exit code."""
    options.check()
    screen = Terminal(quiet=options.quiet or options.json)
    tables = Tables(options.tables, options.read.reading())
    check_paths(options.written, tables.paths, force=True)
    values = read_columns(tables.frame())
    names = [str(name) for name in values]
    if options.color is not None:
        refuse(column_faults("--color", [options.color], tables.label, names))
    compared = compared_columns(values, tables, options.compare)
    whole = len(next(iter(values.values())))
    if whole < LEAST:
        raise TableError(
            f"{tables.label} has {counted(whole, 'row')}: a map needs {LEAST} or more."
        )
    inferred = columns_of(values, kinds_given(options.compare.kind), [], tables)
    points = all(column.of.ordered for column in compared)
    rows = _drawn(whole, options.rows or (POINTS if points else PAIRS), options.seed)
    if rows is not None:
        values = {name: cells[rows] for name, cells in values.items()}
    from mercer.cli.table_distance import TableDistance  # loads libraries

    rule = TableDistance(compared, values, options.compare.metric, options.compare.text)
    rule.refuse_idle()
    left = [name for name in names if name not in rule.columns]
    notes = [*tables.notes, f"Compared: {'; '.join(rule.sentences())}."]
    notes += [f"Left out: {', '.join(left)}."] if left else []
    if rows is not None:
        notes.append(f"{len(rows):,} of {whole:,} rows are drawn, chosen at random (--rows).")
    # where all rows are neighbours of all, a map says nothing
    nearest = min(options.neighbors, (len(next(iter(values.values()))) - 1) // 2)
    if nearest < options.neighbors:
        notes.append(
            f"These are few rows: the map keeps {counted(nearest, 'neighbour')} of each, in place "
            f"of {options.neighbors} (--neighbors)."
        )
    title = f"Map of {tables.paths[0].name if tables.paths else 'a table'}"
    with told(hidden=options.quiet) as tell:
        found = _mapped(rule, rule.rows(values, tables.label), nearest, options, tell)
        if found["parts"] > 1:
            notes.append(
                f"The nearest rows of all rows connect {found['parts']} parts, each within itself: "
                "how far apart these parts are in the map means nothing."
            )
        tell("Writing the page")
        from mercer.plots.displays import MapDisplay

        display = MapDisplay(
            found["points"], ReadTable(values), color=options.color, **found["clusters"],
            rows=None if rows is None else rows + 1, of=whole, title=title,
            columns=[rule.columns.get(str(column.name), column) for column in inferred],
            notes=notes,
        )  # fmt: skip
        display.write(options.output)
    if options.points is not None:
        suffix = options.points.suffix.lower()
        with written_whole(options.points) as file:
            write_frames(file, iter([_points_table(display)]), suffix, False)
    for note in notes:
        screen.print(f"• {note}", soft_wrap=True)
    if display.labels is not None:
        _say_clusters(screen, display)
    screen.print(line("Map: ", (str(options.output), "bold")), soft_wrap=True)
    if options.json:
        print(json_text.dumps(_facts(display, notes, list(rule.columns), left, options)))
    return 0


def _drawn(whole: int, most: int, seed: int) -> np.ndarray | None:
    """The rows that are drawn, or None where all are."""
    if whole <= most:
        return None
    return np.sort(np.random.default_rng(seed).permutation(whole)[:most])


def _mapped(
    rule: Any, rows: pl.DataFrame, nearest: int, options: MapOptions, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Places of the rows, the parts of their graph, and clusters as arguments of a display."""
    from mercer import HDBSCAN, NeighbourEmbedding
    from mercer.plots.displays import middle_rows
    from mercer.search import NeighbourGraph

    least = options.min_cluster_size or max(5, round(rows.height**0.5 / 2))
    least = min(least, rows.height)
    tell("Searching the neighbours of all rows")
    most = max(nearest, least - 1) if options.clusters else nearest
    graph: Any = NeighbourGraph(rule.distance, most).fit(rows)
    tell("Placing the rows")
    model = NeighbourEmbedding(nearest, metric="graph", random_state=options.seed).fit(graph)
    clusters: dict[str, Any] = {}
    if options.clusters:
        tell("Looking for clusters")
        found = HDBSCAN(least, metric="graph").fit(graph)
        clusters = {
            "labels": found.labels_, "probabilities": found.probabilities_,
            "outlier_scores": found.outlier_scores_, "middles": middle_rows(model, found.labels_),
        }  # fmt: skip
    return {"points": model.embedding_, "parts": model.n_parts_, "clusters": clusters}


@contextmanager
def told(*, hidden: bool) -> Iterator[Callable[[str], None]]:
    """What is at work, on standard error while it is."""
    console = Terminal(stderr=True)
    if hidden or not console.is_terminal:
        yield lambda _: None
        return
    with console.status("") as status:
        yield status.update


def _row_numbers(display: Any) -> np.ndarray:
    """The numbers of the rows in the table, from 1 on."""
    return np.arange(1, len(display.points) + 1) if display.rows is None else display.rows


def _points_table(display: Any) -> pl.DataFrame:
    """The places of the rows on the map, with their clusters."""
    table: dict[str, Any] = {
        "row": _row_numbers(display),
        "x": display.points[:, 0], "y": display.points[:, 1],
    }  # fmt: skip
    if display.labels is not None:
        cluster = pl.Series(display.labels.astype(np.int64) + 1)
        table |= {
            "cluster": cluster.set(cluster == 0, None), "probability": display.probabilities,
            "outlier": display.outlier_scores,
        }  # fmt: skip
    return pl.DataFrame(table)


def _say_clusters(screen: Terminal, display: Any) -> None:
    """Print the clusters, the largest first."""
    labels = display.labels
    sizes = np.bincount(labels[labels >= 0])
    if not len(sizes):
        screen.print(
            "No cluster was found: no group of rows is denser than what is around it. Smaller ones "
            "are found with a smaller --min-cluster-size.", soft_wrap=True,
        )  # fmt: skip
        return
    none = int((labels < 0).sum())
    belong = "belongs" if none == 1 else "belong"
    screen.print(f"{counted(len(sizes), 'cluster')}; {counted(none, 'row')} {belong} to none.")
    for number, (size, words) in enumerate(zip(sizes, display.words), start=1):
        if number > SAID:
            screen.print("  The page tells of the others.")
            break
        said = f": {'; '.join(words)}" if words else ""
        screen.print(f"  {number} ({counted(int(size), 'row')}){said}.", soft_wrap=True)


def _facts(
    display: Any, notes: list[str], compared: list[str], left: list[str], options: MapOptions
) -> dict[str, Any]:
    """What the map shows, as numbers and lists."""
    labels = display.labels
    sizes = [] if labels is None else np.bincount(labels[labels >= 0]).tolist()
    clusters = [
        {"rows": size, "middle": int(_row_numbers(display)[row]), "typical": words}
        for size, row, words in zip(sizes, display.middles if sizes else [], display.words)
    ]
    return {
        "rows": len(display.points), "of": display.of, "compared": compared, "left_out": left,
        "clusters": clusters, "notices": notes, "output": str(options.output),
    }  # fmt: skip
