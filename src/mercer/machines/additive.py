"""A sum of functions of columns and of pairs of columns as a machine of the search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer.kernels import Kernel, Laplacian, Mapped, Match, TableKernel
from mercer.learners.additive import (
    AdditiveClassifier,
    AdditiveRegressor,
    ColumnReasons,
    Shape,
    Surface,
    joined_levels,
)
from mercer.machines.candidates import CODES, ReadColumns, Recipe
from mercer.machines.machines import LEAST, Machine
from mercer.machines.tasks import Task
from mercer.samples import EncodedColumns
from mercer.tables import TableEncoder


@dataclass
class AdditiveMachine(Machine):
    """A sum of functions of columns and pairs: for classes an output is log(p + 0.001)."""

    learner: Any  # a fitted AdditiveClassifier or AdditiveRegressor
    finish: Any
    penalty: float  # the median of those of the functions
    columns: ReadColumns
    outputs_count: int
    classes: np.ndarray | None  # the numbers of those in the rows of the fit

    @classmethod
    def fitted(
        cls,
        task: Task,
        source: ReadColumns,
        M: EncodedColumns,
        y: np.ndarray,
        weights: Any,
        **settings: Any,
    ) -> AdditiveMachine:
        """Fit it to rows of an encoded table; ``settings`` are those of the learner."""
        count = task.targets(y[:1]).shape[1]
        source, rows = source.learnt(M, task.targets(y), weights)
        X = rows.matrix.numbers
        settings |= {"categories": [i for i, f in enumerate(source.features) if f.kind in CODES]}
        learner: Any
        finish, met = task.plain(), None
        if task.classes is None:
            learner = AdditiveRegressor(**settings).fit(X, task.targets(y)[:, 0], weights)
            finish = task.calibrate(learner.predict(X)[:, None], y, weights)
        else:
            learner = AdditiveClassifier(**settings).fit(X, task.strata(y), weights)
            met = learner.classes_
        return cls(learner, finish, float(np.median(learner.penalties_)), source, count, met)

    @property
    def kernel(self) -> Kernel:
        """The sum of a kernel of each column, exp(-γ |x - z|) of numbers."""
        effects, parts = self.columns.effects or {}, []
        for i, (j, feature) in enumerate(zip(self.columns.columns, self.columns.features)):
            own: Kernel = Match() if feature.kind in CODES else Laplacian(self.learner.gamma_)
            parts.append((Mapped(own, effects[i]) if i in effects else own, [j]))
        return TableKernel(parts, "sum", [1 / len(parts)] * len(parts))

    @property
    def source(self) -> ReadColumns:
        return self.columns

    def again(self, share: float = 1.0) -> Recipe:
        return Recipe("shapes")

    def outputs(self, M: EncodedColumns) -> np.ndarray:
        X = self.columns.encode(M).matrix.numbers
        if self.classes is None:
            return self.learner.predict(X)[:, None]
        found = np.zeros((len(M), self.outputs_count))
        found[:, self.classes] = self.learner.predict_proba(X)
        return np.log(found + LEAST)

    @property
    def stored(self) -> np.ndarray:
        """None: it holds functions, and no rows."""
        return np.empty(0, int)

    @property
    def kind(self) -> str:
        return "columns"

    def contributions(self, M: EncodedColumns, outputs: np.ndarray) -> np.ndarray:
        return np.zeros((len(M), 0))

    def column_reasons(self, M: EncodedColumns, most: int) -> ColumnReasons:
        """The columns and pairs that move the prediction of each row most."""
        found = self.learner.reasons(self.columns.encode(M).matrix.numbers, most)
        labels = [feature.label for feature in self.columns.features]
        names = [*labels, *(f"{labels[j]} × {labels[k]}" for j, k in self.learner.pairs_)]
        return replace(found, names=names)

    def shapes(self, encoder: TableEncoder) -> tuple[list[Shape], list[Surface]]:
        """The functions of columns and of pairs, in the units of the table."""
        shapes = []
        for i, (feature, shape) in enumerate(zip(self.columns.features, self.learner.shapes_)):
            in_units = partial(self.columns.in_units, encoder, i)
            levels, edges = in_units(shape.levels), np.array(in_units(shape.edges))
            shapes.append(replace(shape, column=feature.label, levels=levels, edges=edges))
        surfaces = []
        for surface in self.learner.surfaces_:
            sides = [shapes[j] for j in surface.columns]
            levels = [joined_levels(side, group) for side, group in zip(sides, surface.groups)]
            names = tuple(side.column for side in sides)
            surfaces.append(replace(surface, columns=names, levels=tuple(levels)))
        return shapes, surfaces

    @property
    def description(self) -> str:
        columns, pairs = len(self.learner.shapes_), len(self.learner.pairs_)
        of_pairs = "" if not pairs else f" and of {pairs} pair{'s' * (pairs > 1)} of them"
        return f"sum of functions of {columns} columns{of_pairs}{self.columns.words}"
