"""Machines of the search that learn kernels of their own from columns.

A sum of functions of columns and of pairs of columns, and a learnt neighbourhood: the mean of the
targets in a learnt space.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from mercer.distances import Minkowski
from mercer.kernels import Convex, Kernel, Laplacian, Mapped, Match, TableKernel
from mercer.learners.additive import (
    AdditiveClassifier,
    AdditiveRegressor,
    ColumnReasons,
    Shape,
    Surface,
    joined_levels,
)
from mercer.learners.neighbourhoods import (
    NeighbourhoodMachineClassifier,
    NeighbourhoodMachineRegressor,
    NetworkMember,
)
from mercer.machines.candidates import CODES, ReadColumns, Recipe
from mercer.machines.machines import LEAST, Machine
from mercer.machines.tasks import Task
from mercer.samples import Categories, EncodedColumns
from mercer.spoken import spoken
from mercer.tables import TableEncoder

SPREAD_ROWS = 500  # of which distances are measured


def _logarithms(P: np.ndarray, classes: np.ndarray, count: int) -> np.ndarray:
    """log(p + 0.001) of all ``count`` classes, of which a learner has met some."""
    found = np.zeros((len(P), count))
    found[:, classes] = P
    return np.log(found + LEAST)


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
        source: Any,
        M: Any,
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
        return _logarithms(self.learner.predict_proba(X), self.classes, self.outputs_count)

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


@dataclass(frozen=True)
class Embedding:
    """The map z = f(x) of one network, of rows whose categories are their codes."""

    member: NetworkMember
    coded: list[int]  # the columns of codes
    columns: ReadColumns

    def __call__(self, X: np.ndarray) -> np.ndarray:
        X = self.columns.replaced(X)
        objects = {j: Categories(X[:, j : j + 1].astype(np.int32), [[]]) for j in self.coded}
        return self.member.embed(EncodedColumns(X, objects), 1)


@dataclass
class LearntNeighbourhood(Machine):
    """A learnt neighbourhood: for classes an output is log(p + 0.001)."""

    learner: Any  # a fitted NeighbourhoodMachineClassifier or NeighbourhoodMachineRegressor
    finish: Any
    penalty: float  # the mean of the temperatures
    columns: ReadColumns
    #: those of the rows that vote, (n, outputs): numbers, or +1 for the class of a row and -1 for
    #: the other classes
    targets: np.ndarray
    classes: np.ndarray | None  # the numbers of those in the rows of the fit

    @classmethod
    def fitted(
        cls,
        task: Task,
        source: Any,
        M: Any,
        y: np.ndarray,
        weights: Any,
        validation: np.ndarray | None = None,
        **settings: Any,
    ) -> LearntNeighbourhood:
        """Fit it to rows of an encoded table; ``settings`` are those of the learner."""
        targets = task.targets(y)
        source, rows = source.learnt(M, targets, weights)
        settings |= source.settings
        learner: Any
        if task.classes is None:
            learner = NeighbourhoodMachineRegressor(**settings)
            learner.fit(rows, targets, weights, validation=validation)
            held = learner.validation_rows_
            w = None if weights is None else weights[held]
            finish: Any = task.plain()
            if len(held):
                finish = task.calibrate(learner.validation_predictions_, y[held], w)
            met = None
        else:
            codes = task.strata(y)
            learner = NeighbourhoodMachineClassifier(**settings)
            learner.fit(rows, codes, weights, validation=validation)
            finish, met = task.plain(), learner.classes_
        temperature = float(learner.temperature_.mean())
        return cls(learner, finish, temperature, source, targets[learner.rows_], met)

    @property
    def kernel(self) -> Kernel:
        """exp(-τ ‖f(x) - f(z)‖) of the columns; of several networks the mean."""
        return self._in_space([member.temperature for member in self.learner.members_])

    @property
    def smooth_kernel(self) -> Kernel:
        """The same with 1 / τ the median distance of two rows: only the shares of rows depend on
        nothing but what is nearest."""
        spread = [np.median(pdist(m.Z[:SPREAD_ROWS])) for m in self.learner.members_]
        return self._in_space([1 / float(s) if s > 0 else 1.0 for s in spread])

    def left_out(self) -> np.ndarray:
        """Predictions or probabilities for the rows that judged the fit, by the other rows."""
        found = np.asarray(self.learner.validation_predictions_)
        return self.finish(self._outputs_of(found.reshape(len(found), -1)))

    def _in_space(self, temperatures: list[float]) -> Kernel:
        """The kernel of the distances in the spaces that the networks learnt."""
        codes = [i for i, f in enumerate(self.columns.features) if f.kind in CODES]
        found: list[Kernel] = [
            Mapped(Laplacian(tau, Minkowski(2)), Embedding(m, codes, self.columns))
            for m, tau in zip(self.learner.members_, temperatures)
        ]
        kernel = found[0] if len(found) == 1 else Convex(found)
        return TableKernel([(kernel, self.columns.columns)])

    @property
    def source(self) -> ReadColumns:
        return self.columns

    def again(self, share: float = 1.0) -> Recipe:
        return Recipe("neighbourhood")

    def outputs(self, M: EncodedColumns) -> np.ndarray:
        rows = self.columns.encode(M)
        if self.classes is None:
            return self._outputs_of(self.learner.predict(rows))
        return self._outputs_of(self.learner.predict_proba(rows))

    def _outputs_of(self, answers: np.ndarray) -> np.ndarray:
        """The outputs of the machine from the answers of its learner."""
        if self.classes is None:
            return answers
        return _logarithms(answers, self.classes, self.targets.shape[1])

    @property
    def stored(self) -> np.ndarray:
        return np.sort(self.learner.rows_)

    def contributions(self, M: EncodedColumns, outputs: np.ndarray) -> np.ndarray:
        """What each row adds to the mean of the targets, (n, stored)."""
        shares = self.learner.shares(self.columns.encode(M)) * self.targets[:, outputs].T
        return shares[:, np.argsort(self.learner.rows_)]

    @property
    def description(self) -> str:
        networks = len(self.learner.members_)
        many = "" if networks == 1 else f" of {networks} networks"
        steps = spoken(float(np.mean(self.learner.n_steps_)))
        return (
            f"mean over a neighbourhood{many} of {len(self.targets):,} rows, learnt in {steps} "
            f"steps{self.columns.words}"
        )
