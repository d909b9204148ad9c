"""The rows of a search: which are learnt from, which are judged, and in which folds.

All candidates are judged on the same folds, stratified by class. A large table has two rungs: a few
thousand rows for all candidates, then more rows for the best. Weights of columns are learnt on rows
that are not used for scores; a small table has none to spare, so they are learnt again for each
fold.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mercer.selection.automatic.candidates import (
    LEARNING_ROWS,
    SPARED_ROWS,
    Candidate,
    learning_rows,
)
from mercer.selection.automatic.machines import Task
from mercer.selection.automatic.schedule.finals import Finals
from mercer.tables import Related

__all__ = ["ONE_RUNG_ROWS", "SMALL_ROWS", "SPARED", "Rung", "Rungs", "gathered"]

SMALL_ROWS = 1500  # with at most so many rows, no rows are set aside to learn weights
ONE_RUNG_ROWS = 2000  # with at most so many rows, there is one rung
RUNGS = ((4000, 500), (20_000, 1000))  # rows, and centres of the low-rank factor
ALL_ROWS = 6000  # of a table: with at most so many, the first rung has all of them
SPARED = -2  # in place of the number of a fold
FEW_LEARNING_ROWS = 600  # in 0.5 s instead of 3; for each fold of a small table no more

#: how many rows, and the centres of ridge; None is an exact fit
Rung = tuple[int, int | None]


class Rungs:
    """How the rows of one search are divided.

    Parameters
    ----------
    task, y : the task, and the targets of all rows
    columns : int
        Of the table.
    finals : Finals
        Knows how exact a fit can be.
    related : Related, optional
        Groups or times of the rows, which the folds keep apart.
    seed : int

    Attributes
    ----------
    order : ndarray of shape (n,)
        All rows at random; a rung has the first of them.
    learning_rows : int
        Most rows that a kernel is learnt from.
    spared : ndarray or None
        The rows that weights are learnt from, and that columns are chosen by; None for a small
        table.
    """

    def __init__(
        self, task: Task, y: np.ndarray, columns: int, finals: Finals, related: Related | None,
        memory: int, seed: int,
    ):  # fmt: skip
        self.task, self.y, self.related = task, y, related
        self.finals, self.memory, self.seed = finals, memory, seed
        n = len(y)
        self.order = np.random.default_rng(seed).permutation(n)
        # each learning step makes a pass over all columns
        most = int(min(LEARNING_ROWS * min(1.0, np.sqrt(20 / columns)), learning_rows(memory)))
        self.learning_rows, self.spared = min(most, FEW_LEARNING_ROWS), None
        if n > SMALL_ROWS:
            self.learning_rows, count = most, min(SPARED_ROWS, n // 3)
            last = self.order[::-1]  # of which the first rung of a large table has none
            self.spared = last[:count] if related is None else related.first(last, count, seed)

    def plan(self) -> list[Rung]:
        """All rungs, the smallest first."""
        n = len(self.y)
        if n <= ONE_RUNG_ROWS:
            rungs: list[Rung] = [(n, min(n, self._affordable_rank(n, RUNGS[-1][1])))]
            return rungs + ([(n, None)] if n > RUNGS[-1][1] and self.finals.exact(n) else [])
        counts = n if n <= ALL_ROWS else RUNGS[0][0], min(n, RUNGS[1][0])
        first, last = [(r, self._affordable_rank(r, rank)) for r, (_, rank) in zip(counts, RUNGS)]
        return [first, (n, None) if self.finals.exact(n) else last]

    def large(self, count: int) -> bool:
        """Whether so many rows are more than a first rung has."""
        return count > max(ONE_RUNG_ROWS, self.plan()[0][0])

    def learns_each(self, candidate: Candidate) -> bool:
        """Whether the kernel of a candidate is learnt again for each fold."""
        return candidate.learn and self.spared is None

    def count_learning(self, candidate: Candidate) -> int:
        """Most rows that the kernel of a candidate is learnt from, and judged on."""
        if candidate.family == "metric" and self.spared is not None:
            return 2 * self.learning_rows  # half of them judge it
        few = candidate.family == "interactions" and not candidate.more
        return min(self.learning_rows, FEW_LEARNING_ROWS) if few else self.learning_rows

    def count_folds(self, count: int) -> int:
        """Folds of the first ``count`` rows."""
        if len(self.y) <= ONE_RUNG_ROWS:
            return 5
        return 1 if self.large(count) else 3

    def folds(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The first ``count`` rows in order, and the fold of each; stratified by class.

        A quarter of many rows is one fold, the others are in none (-1). Rows that weights were
        learnt from are `SPARED`: what is left out of a fit to them tells too little of its error.
        """
        rows = np.sort(self.order[:count])
        judged = rows if self.spared is None else np.setdiff1d(rows, self.spared)
        k = min(self.count_folds(count), len(judged))
        folds = np.full(len(rows), SPARED)
        if self.related is not None:
            folds[np.searchsorted(rows, judged)] = self.related.folds(judged, k, self.seed)
            return rows, folds
        random = np.random.default_rng(self.seed).permutation(len(judged))
        random = random[np.argsort(self.task.strata(self.y[judged[random]]), kind="stable")]
        numbers = np.arange(len(judged)) % (4 if k == 1 else k)
        folds[np.searchsorted(rows, judged[random])] = np.where(numbers < k, numbers, -1)
        return rows, folds

    def _affordable_rank(self, rows: int, rank: int) -> int:
        """Most centres with the factor in a quarter of the memory and 6 matrices in another."""
        most = min(self.memory / 16 / rows, np.sqrt(self.memory / 4 / 48))
        return int(max(1, min(rank, rows, most)))


def gathered(folds: np.ndarray, values: Iterable[np.ndarray]) -> np.ndarray:
    """The values of the rows of each fold, put at their rows; NaN for rows in no fold."""
    found = np.empty(0)
    for f, some in enumerate(values):
        if f == 0:
            found = np.full((len(folds), *some.shape[1:]), np.nan)
        found[folds == f] = some
    return found
