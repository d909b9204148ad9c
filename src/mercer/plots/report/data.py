"""The data of a report: how each column was read, its values, a typical sample, and the target."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.plots.fitted import is_precomputed, kernel_machine
from mercer.plots.marks import BOTTOM, COLOURS, LEFT, RIGHT, TOP, Axis, brief, node_codes
from mercer.plots.report.contents import ReportData
from mercer.plots.report.section import Section, Several, plain
from mercer.plots.report.subject import Subject, is_table
from mercer.samples import Drawing, Samples, recognised
from mercer.tables import Column, histogram, infer_columns, read_columns

LISTED_COLUMNS = 1000  # columns that a page describes, the first ones
#: figures of graphs and trees are 360 units wide, as all drawings
WIDTH, HEIGHT, MARGIN = 360.0, 260.0, 14.0
LONGEST = 46.0  # an edge of a small graph
LETTER = 6.4  # the width of a letter in a font of
FONT = 11.0
RADIUS = 6.5  # of a node; smaller where nodes are many


@dataclass(frozen=True)
class Target(Section):
    """Rows of each class, or a histogram of numbers: ``counts`` between ``edges``."""

    name, place = "target_summary", "data"

    counts: np.ndarray
    classes: list[str] = field(default_factory=list)
    edges: np.ndarray | None = None

    @classmethod
    def measured(cls, subject: Subject) -> Target:
        y, classes = subject.y, subject.met
        if subject.known:
            y = np.concatenate([y, subject.y_test])
        if classes is not None:
            counts = np.array([np.sum(y == c) for c in classes])
            return cls(counts, classes=[str(c) for c in classes])
        counts, edges = histogram(y, 24)
        return cls(counts, edges=edges)

    def drawn(self, report: ReportData) -> Any:
        """(class, rows, percent of the largest class), the most frequent class first; or the
        number of rows in each interval of numbers."""
        if self.edges is None:
            order = np.argsort(-self.counts, kind="stable")
            most = max(int(self.counts.max()), 1)
            return [
                (self.classes[i], int(self.counts[i]), round(100 * int(self.counts[i]) / most, 2))
                for i in order
            ]
        edges = self.edges.tolist()
        x = Axis(edges[0], edges[-1], LEFT, RIGHT)
        y = Axis(0, max(1.05 * float(self.counts.max()), 1.0), BOTTOM, TOP, count=4, whole=True)
        bars = [
            {"x": x.at(a), "width": round(max(x.at(b) - x.at(a) - 1, 0.5), 2), "y": y.at(n),
             "height": round(BOTTOM - y.at(n), 2), "low": a, "high": b, "rows": n}
            for a, b, n in zip(edges, edges[1:], self.counts.tolist())
        ]  # fmt: skip
        return {"x": x, "y": y, "bars": bars}

    def without_values(self, report: object) -> Target:
        return self if self.edges is None else replace(self, edges=_widened(self.edges))


@dataclass(frozen=True)
class ColumnSummary:
    """A column: its inferred kind and the reason, and the distribution of its values.

    ``counts`` has the rows in twelve equal intervals from ``low`` to ``high`` for numbers and for
    sizes of texts and other samples; for other kinds the rows of the most frequent ``levels`` or
    items. ``shown`` says it in words. ``curve`` is the mean of time series, each stretched to the
    same number of points, and ``drawing`` a sample of median size, such as a graph.
    """

    name: str
    kind: str
    reason: str
    used: bool
    missing: int
    distinct: int
    counts: list[int] = field(default_factory=list)
    low: float | None = None
    high: float | None = None
    levels: list[str] = field(default_factory=list)
    shown: str = ""
    curve: list[float] = field(default_factory=list)
    drawing: Drawing | None = None

    @property
    def curve_points(self) -> list[tuple[float, float]]:
        """The mean curve (x, y) of series in a box of 96 x 24."""
        low, high = min(self.curve), max(self.curve)
        step, unit = 96 / (len(self.curve) - 1), 20 / (high - low) if high > low else 0.0
        return [
            (round(step * i, 2), round(22 - unit * (value - low), 2) if unit else 12.0)
            for i, value in enumerate(self.curve)
        ]

    @property
    def sparkline(self) -> list[tuple[float, float, float]]:
        """Bars (x, y, height) of the distribution in a box of 96 x 24."""
        if not self.counts:
            return []
        most = max(self.counts)
        heights = [round(22 * n / most, 2) if most else 0.0 for n in self.counts]
        return [(8.0 * i, round(24 - max(h, 0.5), 2), max(h, 0.5)) for i, h in enumerate(heights)]


def _widened(edges: np.ndarray) -> np.ndarray:
    """Equal intervals between round numbers outside the ends, which are no targets any more."""
    unit = 10.0 ** (np.floor(np.log10(max(float(np.ptp(edges)), 1e-300))) - 1)
    low, high = np.floor(edges[0] / unit) * unit, np.ceil(edges[-1] / unit) * unit
    return np.linspace(low, high, len(edges)) if high > low else edges


class ColumnSection(Several):
    """The columns of a table, or a list of objects; those that a page lists, with distributions."""

    name, place = "columns", "data"

    @classmethod
    def measured(cls, subject: Subject) -> ColumnSection:
        return cls(column_summaries(subject.model, subject.X))

    def drawn(self, report: ReportData) -> list[tuple[ColumnSummary, dict | None]]:
        """Columns with a typical sample, and this."""
        return [
            (c, node_drawing(c.drawing) if len(c.drawing.places) else None)
            for c in self if c.drawing is not None
        ]  # fmt: skip

    def without_values(self, report: object) -> ColumnSection:
        return ColumnSection([
            replace(
                c, levels=[], low=None, high=None, counts=[] if c.levels else c.counts,
                shown=f"{c.distinct:,} different", drawing=None,
            )
            for c in self
        ])  # fmt: skip

    def numbers(self) -> dict[str, Any]:
        return {self.name: plain(self.each[:LISTED_COLUMNS]), "n_columns": len(self)}


def column_summaries(model: Any, X: Samples) -> list[ColumnSummary]:
    """The columns of a table, or a list of objects; those that a page lists, with distributions."""
    machine = kernel_machine(model)[1]
    alone = recognised(X) is not None
    if not (alone or is_table(X)) or is_precomputed(machine):
        return []
    table = read_columns(X)
    inferred = getattr(model, "columns_", None)
    automatic = inferred is not None
    if inferred is None:
        inferred = infer_columns(table)
    if alone and not automatic and hasattr(machine, "kernel_"):  # which may read texts as trees
        inferred = [c for c in inferred if c.of.samples is machine.kernel_.reads]
    shown = [_column(c, table[c.name], automatic) for c in inferred[:LISTED_COLUMNS]]
    return shown + [_column(c, None, automatic) for c in inferred[LISTED_COLUMNS:]]


def _column(column: Column, values: np.ndarray | None, automatic: bool) -> ColumnSummary:
    """A column with the distribution of its values, where they are given."""
    counts, low, high, levels, curve, drawing = (
        ([], None, None, [], [], None) if values is None else column.of.distribution(column, values)
    )
    if not counts:
        shown = f"{column.distinct:,} different"
    elif low is None or high is None:
        shown = column.of.levels_in_words(levels, column.distinct)
    else:
        shown = column.of.range_in_words(brief(low), brief(high))
    return ColumnSummary(
        str(column.name), column.kind, column.reason, column.used or not automatic,
        column.missing, column.distinct, counts, low, high, levels, shown, curve,
        drawing,
    )  # fmt: skip


def node_drawing(drawing: Drawing) -> dict[str, Any]:
    """The nodes (x, y, colour, label), the edges (x, y, x, y), and what the colours say."""
    names, codes = node_codes(drawing)
    P = drawing.places * [1, -1]
    # words are centred at their nodes, and go beyond them
    beyond = np.zeros(len(P))
    if drawing.written:
        beyond += [len(word) / 2 + 1 for word in drawing.labels]
    left, right = float((P[:, 0] - beyond).min()), float((P[:, 0] + beyond).max())
    top, high = float(P[:, 1].min()), float(np.ptp(P[:, 1]))
    room = WIDTH - 2 * MARGIN
    unit = min(LETTER if drawing.written else LONGEST, room / max(right - left, 1e-9))
    if not drawing.written:
        unit = min(unit, (HEIGHT - 2 * MARGIN) / max(high, 1e-9))
    at = np.array([(WIDTH - unit * (left + right)) / 2, MARGIN - unit * top]) + unit * P
    radius = RADIUS if len(P) <= 40 else RADIUS * (40 / len(P)) ** 0.5
    edges = [
        _to_the_rim(at[u], at[v], radius + 2 if drawing.directed else 0.0)
        for u, v in drawing.edges.tolist()
        if u != v
    ]
    nodes = [
        (*place, codes[i], drawing.labels[i] if drawing.labels else "")
        for i, place in enumerate(at.round(1).tolist())
    ]
    return {
        "nodes": nodes, "edges": edges,
        "loops": [nodes[u] for u, v in drawing.edges.tolist() if u == v],
        "names": [] if drawing.written else list(zip(names, COLOURS)),
        "radius": round(radius, 1), "height": round(unit * high + 2 * MARGIN, 1),
        "font": round(FONT * unit / LETTER, 1),
    }  # fmt: skip


def _to_the_rim(start: np.ndarray, end: np.ndarray, short: float) -> list[float]:
    """A line that ends so much before its end, where an arrow meets the circle of a node."""
    gap = end - start
    share = max(1 - short / max(float(np.hypot(*gap)), 1e-9), 0.0)
    return [*start.round(1).tolist(), *(start + share * gap).round(1).tolist()]
