"""The columns and the target of a table, as a report shows them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plots.axes import brief
from mercer.plots.fitted import is_precomputed, kernel_machine
from mercer.plots.report.contents import LISTED_COLUMNS, ColumnSummary, TargetSummary
from mercer.samples import recognised
from mercer.tables import Column, histogram, infer_columns, read_columns


def column_summaries(model: Any, X: Any) -> list[ColumnSummary]:
    """The columns of a table, or a list of objects; those that a page lists, with distributions."""
    machine = kernel_machine(model)[1]
    alone = recognised(X) is not None
    if not (alone or len(getattr(X, "shape", ())) == 2) or is_precomputed(machine):
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


def target_summary(y: np.ndarray, classes: Any) -> TargetSummary:
    """Rows of each class, or a histogram of numbers."""
    if classes is not None:
        return TargetSummary(
            np.array([np.sum(y == c) for c in classes]), classes=[str(c) for c in classes]
        )
    counts, edges = histogram(y, 24)
    return TargetSummary(counts, edges=edges)
