"""The functions of columns that an additive machine in a model adds up, for the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.machines import Z95
from mercer.plots.displays import Dependence, direction
from mercer.tables import column_kind

MOST, MOST_LEVELS = 6, 12  # functions that are shown, and levels of one of them
LEAST = 0.03  # of the largest one, below which a function is not shown


@dataclass(frozen=True)
class AddedShapes:
    """What is shown of an additive machine.

    Attributes
    ----------
    functions : list of Dependence
        The largest functions of single columns, with 95% intervals.
    pairs : list of str
        The pairs of columns with the largest functions.
    adds : str
        What they add to.
    alone : bool
        Whether the model is this machine alone.
    """

    functions: list[Dependence]
    pairs: list[str]
    adds: str
    alone: bool


def added_shapes(model: Any) -> AddedShapes | None:
    """The functions of the additive machine in an automatic estimator; None if it has none."""
    parts = model.machine_.parts if hasattr(model, "machine_") else ()
    additive = [part for part in parts if part.kind == "columns"]
    if not additive:
        return None
    shapes, surfaces = additive[0].shapes(model.encoder_)
    largest = max(shape.strength for shape in shapes)
    shapes = [s for s in _strongest(shapes) if s.strength > LEAST * largest]
    pairs = [surface.name for surface in _strongest(surfaces)]
    return AddedShapes([_drawn(shape) for shape in shapes], pairs, _adds(model), len(parts) == 1)


def _strongest(parts: list) -> list:
    return sorted(parts, key=lambda part: -part.strength)[:MOST]


def _drawn(shape: Any) -> Dependence:
    known = np.flatnonzero(shape.counts[: len(shape.levels)] > 0)
    if not shape.ordered:  # the most frequent levels
        known = np.sort(known[np.argsort(-shape.counts[known], kind="stable")[:MOST_LEVELS]])
    values, errors = shape.values[known, 0], Z95 * shape.errors[known, 0]
    levels = [shape.levels[i] for i in known]
    kind = "number" if shape.ordered else "category"
    said = direction(column_kind(kind), levels, values)
    return Dependence(
        shape.column, "", kind, levels, values, values - errors, values + errors, said
    )


def _adds(model: Any) -> str:
    classes, scale = getattr(model, "classes_", None), getattr(model, "target_scale_", None)
    if classes is not None:
        return f"to the log-odds of {classes[-1]}"
    if scale is not None and scale.name:
        return f"to the prediction on the scale {scale.name}"
    return "to the prediction"
