"""How long the steps of a search take: predictions, corrected by what was observed.

The constants say how long the steps take beside each other, in seconds of the machine `REFERENCE`;
the `Speed` of this machine makes them its own. A machine may become busy, so each prediction is
multiplied by observed / predicted time of the last steps together, of which long ones count most.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np

from mercer.learners.base import LIMITS, PENALTY_ROWS
from mercer.machines import FOLDS, JUDGED_ROWS, REFERENCE, SMALL, Speed, costs_tried, least_seconds

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
SPARSE = {"margins": 4e-8, "bayes": 3e-9, "logistic": 4e-7}
EACH_CELL, PAIR_CELL = 2e-8, 1e-9  # of a value, and of a pair of values, in an additive model
#: of the square of its columns, of which more than some have fewer functions each
SYSTEM, SYSTEM_COLUMNS = 0.006, 20
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

    def additive(self, rows: int, columns: int) -> float:
        """An additive model of one output: the system of its functions, and counts of cells."""
        solving = SYSTEM * min(columns, SYSTEM_COLUMNS) ** 2
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


def row_features(kernel: Any, X: Any) -> Row:
    """What the features of a row take, measured on encoded samples: few, where they take long."""
    rows, most = min(FEWEST_MEASURED, X.shape[0]), X.shape[0]
    while True:
        some = X[np.arange(rows)]
        values = kernel.features(some).size
        seconds = least_seconds(lambda some=some: kernel.features(some))
        if rows == most or seconds > ENOUGH:
            return Row(seconds / rows, values / rows)
        rows = min(4 * rows, most)


def entry_seconds(kernel: Any, X: Any) -> float:
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
