"""How long the steps of a search take: predictions, corrected by what was observed.

The constants say how long the steps take beside each other, in seconds of the machine `REFERENCE`;
the `Speed` of this machine makes them its own. A machine may become busy, so each prediction is
multiplied by observed / predicted time of the last steps together, of which long ones count most.
`Finals` plans the final fit to all rows: how exact it can be, in the time and the memory left.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone

from mercer.gram import affordable_leaf
from mercer.kernels import Kernel
from mercer.learners.base import LIMITS, PENALTY_ROWS, SQUARES
from mercer.learners.neighbourhoods import NeighbourhoodMachineRegressor
from mercer.machines import (
    FOLDS,
    JUDGED_ROWS,
    RANKS,
    REFERENCE,
    SMALL,
    Candidate,
    Recipe,
    SearchSettings,
    Speed,
    costs_tried,
    least_seconds,
)
from mercer.samples import Samples

AT_FIRST = 1.5  # factor before anything was observed
FACTORS = (0.3, 10.0)  # between which it is believed
LAST = 5  # steps whose observed time counts
CARE = 1.3  # a step begins only if so many times its predicted time is left
MACHINE = 8e-9  # seconds of a support vector machine of two classes, for each pair of its rows
EASE = 0.25  # it is divided by this power of the pairs of classes, which are easier to separate
EACH_MACHINE = 0.01  # its seconds, however few the rows are
EACH_PAIR = 0.0005  # the same for each pair of classes
EACH_WINDOW = 0.1  # seconds of a machine of windows, however few the rows are
PAIR, PAIR_OUTPUT = 6e-9, 1.5e-9  # of each pair of its rows, and of each target of a pair
EACH_STEP = 0.003  # a step of learning, however few the rows are
PRODUCT = 1e-10  # an entry of a matrix times that of another one, for the weights of a sum
SIMPLE = 1e-6  # seconds for each value of a column and each target of a linear model
EACH_SIMPLE = 0.01  # its seconds, however few the rows are
EACH_SPARSE = 0.03  # seconds of a machine on sparse features, however few the rows are
#: seconds for each value of the features and each target of a machine on them
SPARSE = {"margins": 4e-8, "bayes": 3e-9, "centroids": 1e-8, "logistic": 4e-7}
EACH_CELL, PAIR_CELL = 2e-8, 1e-9  # of a value, and of a pair of values, in an additive model
#: of the square of its columns, of which more than some have fewer functions each
SYSTEM, SYSTEM_COLUMNS = 0.006, 20
#: of the root of the rows, if a category has many levels: its pairs have more functions
WIDE, WIDE_LEVELS = 0.009, 10
SCREENING = 1e-6  # seconds for each value of a column and its features
JUDGING = 7  # leaves that are solved to choose a penalty: two for each of some values
EACH_CENTRE = 2.3e-8  # seconds for each row and centre of a low-rank fit
FACTOR = 2e-11  # the same for each row and squared centre
AGAIN = 4.0  # times as long where the factor is computed whenever it is read, for lack of memory
#: samples on which a kernel is measured, more of them until it takes enough seconds
FEWEST_MEASURED, MOST_MEASURED, ENOUGH = 16, 256, 0.1
EIGEN = 1.6e-10  # seconds for each cubed centre of a low-rank fit, or row of an exact one


class Row(NamedTuple):
    """The features of one row: the time to compute them, and how many are not 0."""

    seconds: float
    values: float


class Costs:
    """Predicted seconds of the steps, and how wrong such predictions were so far.

    ``pairs`` are those of classes, each of which a support vector machine separates, 0 without
    classes; ``outputs`` are the targets: one, or one for each class.
    """

    def __init__(self, pairs: int, outputs: int, speed: Speed = REFERENCE):
        self.pairs, self.outputs = pairs, outputs
        self.algebra = REFERENCE.operations / speed.operations  # how much slower matrices are
        self.loops = speed.value / REFERENCE.value  # and all else
        self.steps: dict[str, deque] = {}  # their observed and predicted times

    def factor(self, kind: str) -> float:
        """Observed / predicted time of the last steps of a kind, or of all where it has none."""
        known = self.steps.get(kind) or [step for each in self.steps.values() for step in each]
        if not known:
            return AT_FIRST
        took, predicted = np.sum(known, axis=0)
        return float(np.clip(took / predicted, *FACTORS))

    def expected(self, kind: str, predicted: float) -> float:
        """Seconds that a step will take, with care."""
        return CARE * self.factor(kind) * predicted

    def observe(self, kind: str, predicted: float, took: float) -> None:
        """Remember what a step took."""
        if predicted > 0:
            self.steps.setdefault(kind, deque(maxlen=LAST)).append((took, predicted))

    # --- predictions --------------------------------------------------------------------------

    def low_rank(self, n: int, rank: int, entry: float, kept: bool = True) -> float:
        """A fit with a factor, which is ``kept`` or computed again.

        ``entry`` is the time of one value of the kernel.
        """
        factor = n * rank * (entry + self.loops * EACH_CENTRE)
        factor += self.algebra * FACTOR * n * rank**2
        return (1 if kept else AGAIN) * factor + self._eigen(rank)

    def exact(self, n: int, entry: float) -> float:
        """A fit by one Cholesky factor, whose penalty was chosen on 1,400 rows."""
        return n * n * entry + self._operations(n**3 / 3) + self._eigen(min(n, PENALTY_ROWS))

    def local(self, n: int, leaf_rows: int, entry: float) -> float:
        """A local fit with its leave-one-out outputs."""
        p, m = min(leaf_rows, n), LIMITS["local ridge"].rank
        products = 2 * p**2 / 3 + 2 * p * m + 2 * m**2
        n += JUDGING * p
        values = n * (p + m) * entry
        return values + self._operations(n * products) + self._eigen(min(n, PENALTY_ROWS))

    def eigenpairs(self, n: int, entry: float) -> float:
        """A fit by all eigenpairs, which chooses the penalty."""
        return n * n * entry + self._eigen(n)

    def margin(self, n: int, entry: float, known: bool = False) -> float:
        """A support vector machine with its calibration, of which C may be ``known``."""
        fits = (1 if known else len(costs_tried(self.pairs))) * (FOLDS if n <= SMALL else 1)
        judged = self._one_margin(0.8 * min(n, JUDGED_ROWS), entry)
        return fits * judged + self._one_margin(n, entry)

    def _one_margin(self, n: float, entry: float) -> float:
        least = EACH_MACHINE + EACH_PAIR * self.pairs
        each = MACHINE / max(self.pairs, 1) ** EASE
        return n * n * entry / 2 + self.loops * (least + n * n * each)

    def window(self, n: int, entry: float) -> float:
        """A machine of windows with its calibration, of which the width is chosen."""
        own = EACH_WINDOW + n * n * (PAIR + PAIR_OUTPUT * self.outputs)
        return n * n * entry + self.loops * own

    def additive(self, rows: int, columns: int, levels: int) -> float:
        """An additive model of one output: the system of its functions, and counts of cells.

        ``levels`` are those of the category that has most of them.
        """
        solving = SYSTEM * min(columns, SYSTEM_COLUMNS) ** 2
        solving += (levels > WIDE_LEVELS) * WIDE * np.sqrt(rows)
        return self.algebra * solving + self.loops * rows * columns * (
            EACH_CELL + PAIR_CELL * columns
        )

    def sparse(self, machine: str, n: int, row: Row, folds: int = 1) -> float:
        """Machines on sparse features, of which each is calibrated; features are computed once."""
        each = EACH_SPARSE + SPARSE[machine] * n * row.values * self.outputs
        fits = folds * (1 + (FOLDS if n <= SMALL else 1))
        return n * row.seconds + self.loops * fits * each

    def simple(self, n: int, columns: float) -> float:
        """A simple model."""
        return self.loops * (EACH_SIMPLE + SIMPLE * n * columns * self.outputs)

    def interactions(self, n: int, entry: float, steps: int) -> float:
        """Learning the weights of interactions: an inverse, products and two kernels a step."""
        own = self.loops * EACH_STEP + self._operations(4 * n**3)
        return steps * (2 * n * n * entry + own)

    def alignment(self, n: int, entry: float, parts: int) -> float:
        """Learning the weights of a sum: ``entry`` is the time of one value of all its parts."""
        return n * n * (entry + self.algebra * PRODUCT * parts**2)

    def screening(self, n: int, columns: int) -> float:
        """Which columns depend on the target."""
        return self.loops * SCREENING * n * columns

    def metric(self, n: int, columns: int) -> float:
        """Learning a metric from n rows: some systems and products for each of its steps."""
        products = n * n * (1e-7 + 4e-9 * columns)
        return 4 * (self._operations(10 * n**3 / 3) + self.loops * products)

    def _operations(self, count: float) -> float:
        """Seconds of so many operations on matrices."""
        return self.algebra * count / REFERENCE.operations

    def _eigen(self, n: int) -> float:
        """All eigenpairs of a matrix of n rows."""
        return self.algebra * EIGEN * n**3


def row_features(kernel: Kernel, X: Samples) -> Row:
    """What the features of a row take, measured on encoded samples: few, where they take long."""
    rows, most = min(FEWEST_MEASURED, X.shape[0]), X.shape[0]
    while True:
        some = X[np.arange(rows)]
        values = kernel.features(some).size
        seconds = least_seconds(lambda some=some: kernel.features(some))
        if rows == most or seconds > ENOUGH:
            return Row(seconds / rows, values / rows)
        rows = min(4 * rows, most)


def entry_seconds(kernel: Kernel, X: Samples) -> float:
    """Time of one value of a kernel, in one thread, measured on some of its encoded samples.

    They are few where a value takes long, as of series: else the measurement would take as long as
    the matrix of a small table. The time of more samples follows from how it grew: with their
    pairs, or with their number where most of it is features of each sample.
    """
    rows, most = min(FEWEST_MEASURED, X.shape[0]), min(MOST_MEASURED, X.shape[0])
    power, last, before = 2.0, 0, 0.0
    while True:
        some = X[np.arange(rows)]
        # what is computed once for all is in the first time only, which is not the least one
        seconds = least_seconds(lambda some=some: kernel.block(some, some))
        if before > 0:
            power = np.clip(np.log(seconds / before) / np.log(rows / last), 1.0, 2.0)
        if rows == most or seconds > ENOUGH:
            return seconds * (most / rows) ** float(power) / most**2
        last, before, rows = rows, seconds, min(4 * rows, most)


MOST_OUTPUTS = 100  # targets of a local machine, each of which takes time in each leaf
MEASURED_STEPS, MEASURED_STEPS_ROWS = (20, 60), 1500  # on which the time of its steps is measured
LEAST_STEPS = 200  # of a network that tells anything
LEAST_PART = 0.2  # of the time of a fit that its steps take
HOPE = 0.5  # of the seconds that a fit is given with care, in which it may be done
MEASURED = 300  # rows on which the time of a kernel is measured


class Finals:
    """Plans final fits."""

    def __init__(self, settings: SearchSettings, costs: Costs):
        self.settings, self.costs = settings, costs
        self.entries: dict[tuple, float] = {}
        self.rows: dict[tuple, Row] = {}
        #: seconds of a step of a learnt neighbourhood, and of all else in a fit
        self.step: tuple[float, float] | None = None

    def plan(self, candidate: Candidate, penalty: float, before: float = 0.0) -> Recipe:
        """The best final fit of a candidate that the memory and the time allow.

        It begins ``before`` seconds from now.
        """
        final = candidate.kind.final(self, candidate, penalty)
        left = self.settings.clock.left() - before
        in_time = self.seconds(candidate, final) <= left
        if in_time and (final.rank is None or np.isinf(left)):
            return final
        return candidate.kind.shortened(self, candidate, final, left)

    def whole(
        self, candidate: Candidate, penalty: float, rank: int | None, before: float = 0.0
    ) -> Recipe | None:
        """A final fit with at least ``rank`` centres, of all rows; None if there is no time."""
        plan = candidate.kind.final(self, candidate, penalty)
        if candidate.kind.reads_columns:
            plan = self.plan(candidate, penalty)  # few networks are enough
        if plan.rank is None:
            # a stop ends it if it is late, so it may begin with less care than others
            hoped = HOPE * self.seconds(candidate, plan)
            return plan if hoped <= self.settings.clock.left() - before else None
        plan = self.plan(candidate, penalty, before)
        return plan if (plan.rank or 0) >= (rank or self.affordable(RANKS[0])) else None

    def exact(self, n: int) -> bool:
        """Whether ridge on n rows can be exact, by one Cholesky factor."""
        given = self.settings
        few = n <= given.sizes.exact_rows and 16 * n * n <= given.memory / 2
        return few and not given.objects

    def local(self, n: int) -> bool:
        """Whether ridge on n rows should be tried with leaves, inside which it is exact."""
        given = self.settings
        suits = n > given.sizes.leaves[0] and self.costs.outputs <= MOST_OUTPUTS
        return suits and not given.objects and not self.exact(n)

    def wanted(self, candidate: Candidate, penalty: float) -> float:
        """Seconds of the best final fit that the memory allows, with care."""
        return self.seconds(candidate, candidate.kind.final(self, candidate, penalty))

    def affordable(self, rank: int) -> int:
        """Centres of a final fit: ``rank``, or as many as the memory allows."""
        return int(min(rank, np.sqrt(self.settings.memory / SQUARES)))

    def leaf(self, rows: int) -> int:
        """Most rows of a leaf: ``rows``, or as many as the memory allows."""
        return min(rows, affordable_leaf(self.settings.place, 8))

    def entry(self, candidate: Candidate) -> float:
        """Seconds of one value of a candidate's kernel."""
        key = candidate.family, candidate.text, candidate.columns
        if key not in self.entries:
            self.entries[key] = entry_seconds(*self._on_some(candidate))
        return self.entries[key]

    def row(self, candidate: Candidate) -> Row:
        """What the features of a row take that a candidate's machine reads."""
        key = candidate.family, candidate.text
        if key not in self.rows:
            self.rows[key] = row_features(*self._on_some(candidate))
        return self.rows[key]

    def network_seconds(self, candidate: Candidate, rows: int, members: int = 1) -> float:
        """Seconds of a learnt neighbourhood, of which a step is measured."""
        source = candidate.kernel(self.settings.features)
        learner, (each, before) = self._network(candidate)
        learner.set_params(n_members=members)
        steps = learner.planned_steps(rows, len({f.source for f in source.features}))
        return steps * each + members * before * rows / MEASURED_STEPS_ROWS

    def steps(self, candidate: Candidate, seconds: float) -> tuple[int, float]:
        """Steps of each network in a fit to all rows that takes at most so many seconds, and the
        seconds that they take; 0 steps if there is no time for a network that tells anything."""
        n, source = len(self.settings.M), candidate.kernel(self.settings.features)
        learner, (each, before) = self._network(candidate)
        columns = len({f.source for f in source.features})
        full, planned = learner.planned_steps(n, 1), learner.planned_steps(n, columns)
        least = planned / full * each * LEAST_STEPS
        other = before * n / MEASURED_STEPS_ROWS
        if not least + other <= seconds:
            return 0, 0.0
        part = min(1.0, (seconds - other) / (planned * each))
        return int(part * full), part * planned * each + other

    def _network(self, candidate: Candidate) -> tuple[Any, tuple[float, float]]:
        """A neighbourhood of one network, and the seconds of its steps and of all else."""
        source = candidate.kernel(self.settings.features)
        learner = NeighbourhoodMachineRegressor(
            n_jobs=self.settings.n_jobs, random_state=0, **source.settings
        )
        if self.step is None:
            self.step = self._measured_step(learner, source)
            self.costs.observe(candidate.machine, 1.0, 1.0)  # no other steps tell of its time
        return learner, self.step

    def measure_again(self) -> None:
        """Forget how long a step of a network takes: a busy process may have slowed it down."""
        self.step = None

    def _measured_step(self, learner: BaseEstimator, source: Any) -> tuple[float, float]:
        """Seconds of a step of a network on some rows, and of all else in a fit to them."""
        some, took = slice(0, MEASURED_STEPS_ROWS), []
        data = source.encode(self.settings.M[some]), self.settings.Y[some]
        for steps in MEASURED_STEPS:
            few: Any = clone(learner)
            few.set_params(steps=steps, n_members=1, prune=False)
            took.append(least_seconds(lambda few=few: few.fit(*data)))
        few, more = MEASURED_STEPS
        each = max((took[1] - took[0]) / (more - few), LEAST_PART * took[1] / more)
        return each, max(0.0, took[0] - few * each)

    def _on_some(self, candidate: Candidate) -> tuple:
        M = self.settings.M
        some = M[np.arange(0, len(M), max(1, len(M) // MEASURED))]
        return candidate.bound(self.settings.features, some)

    def seconds(self, candidate: Candidate, plan: Recipe) -> float:
        """Seconds that a final fit will take, with care."""
        predicted = candidate.kind.final_seconds(self, candidate, plan)
        return self.costs.expected(candidate.machine, predicted)
