"""The rows of a search: which are learnt from, which are judged, and in which folds.

All candidates are judged on the same folds, stratified by class. A large table has two rungs: a few
thousand rows for all candidates, then more rows for the best. Weights of columns are learnt on rows
that are not used for scores; a small table has none to spare, so they are learnt again for each
fold.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mercer.machines import Rung, SearchSettings
from mercer.machines.candidates import Candidate, learning_rows
from mercer.selection.automatic.trials.finals import Finals
from mercer.tables import read_as

PARTS = 3  # of the rows of one fold, which choose weights of machines for each other
SPARED = -2  # in place of the number of a fold
JUDGED_PART, MOST_JUDGED = (
    7,
    2000,
)  # one of so many rows of a large rung is judged, and at most these


class Rungs:
    """How the rows of one search are divided; ``finals`` knows how exact a fit can be."""

    def __init__(self, settings: SearchSettings, finals: Finals):
        self.settings, self.finals = settings, finals
        seed, sizes = settings.seed, settings.sizes
        n, features = len(settings.y), settings.features
        columns = len(features) - len(read_as(features, "scaled", "normal", "level"))
        self.order = np.random.default_rng(seed).permutation(n)  # a rung has the first of them
        self.most = n  # rows of the first rung, of which a short search has fewer than planned
        # each learning step makes a pass over all columns
        some = sizes.learning_rows * min(1.0, np.sqrt(20 / columns))
        most = int(min(some, learning_rows(settings.memory)))
        #: most rows that a kernel is learnt from; and the rows that weights are learnt from and
        #: columns chosen by, None for a small table
        self.learning_rows, self.spared = min(most, sizes.few_learning_rows), None
        if n > sizes.small_rows:
            self.learning_rows, count = most, min(sizes.spared_rows, n // 3)
            last = self.order[::-1]  # of which the first rung of a large table has none
            related = settings.related
            self.spared = last[:count] if related is None else related.first(last, count, seed)

    def plan(self) -> list[Rung]:
        """All rungs, the smallest first."""
        n, sizes = len(self.settings.y), self.settings.sizes
        if n <= sizes.one_rung_rows:
            few = min(n, self.most)
            rungs: list[Rung] = [(few, self._affordable_rank(few, sizes.rungs[-1][1]))]
            return rungs + ([(n, None)] if n > sizes.rungs[-1][1] and self.finals.exact(n) else [])
        most = n if n <= sizes.all_rows else sizes.rungs[0][0]
        counts = min(most, self.most), min(n, sizes.rungs[1][0])
        ranks = [rank for _, rank in sizes.rungs]
        first, last = [(rows, self._affordable_rank(rows, k)) for rows, k in zip(counts, ranks)]
        return [first, (n, None) if self.finals.exact(n) else last]

    def large(self, count: int) -> bool:
        """Whether so many rows are more than a first rung has."""
        return count > max(self.settings.sizes.one_rung_rows, self.plan()[0][0])

    def learns_each(self, candidate: Candidate) -> bool:
        """Whether the kernel of a candidate is learnt again for each fold."""
        return candidate.learn and self.spared is None

    def count_learning(self, candidate: Candidate) -> int:
        """Most rows that the kernel of a candidate is learnt from, and judged on."""
        if candidate.family == "metric" and self.spared is not None:
            return 2 * self.learning_rows  # half of them judge it
        few = candidate.family == "interactions" and not candidate.more
        most = self.settings.sizes.few_learning_rows
        return min(self.learning_rows, most) if few else self.learning_rows

    def count_folds(self, count: int) -> int:
        """Folds of the first ``count`` rows."""
        if len(self.settings.y) <= self.settings.sizes.one_rung_rows:
            return 5
        return 1 if self.large(count) else 3

    def folds(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The first ``count`` rows in order, and the fold of each; stratified by class.

        A seventh of many rows, at most 2,000, is one fold, the others are in none (-1). Rows that
        weights were learnt from are `SPARED`: what is left out of a fit to them tells too little of
        its error.
        """
        rows = np.sort(self.order[:count])
        judged = rows if self.spared is None else np.setdiff1d(rows, self.spared)
        k = min(self.count_folds(count), len(judged))
        folds = np.full(len(rows), SPARED)
        given = self.settings
        if given.related is not None:
            folds[np.searchsorted(rows, judged)] = given.related.folds(judged, k, given.seed)
            return rows, folds
        random = np.random.default_rng(given.seed).permutation(len(judged))
        random = random[np.argsort(given.task.strata(given.y[judged[random]]), kind="stable")]
        part = max(JUDGED_PART, -(-len(judged) // MOST_JUDGED)) if k == 1 else k
        numbers = np.arange(len(judged)) % part
        folds[np.searchsorted(rows, judged[random])] = np.where(numbers < k, numbers, -1)
        return rows, folds

    def divided(self, rows: np.ndarray, folds: np.ndarray) -> np.ndarray:
        """Three parts of the judged rows, of whole groups, with the shares of the classes; else -1.

        Of rows in time, each part has a third of the time.
        """
        judged, given = rows[folds == 0], self.settings
        related = given.related
        if related is not None and related.groups is not None:
            numbers = related.folds(judged, PARTS, given.seed)
        else:
            times = None if related is None else related.times
            keys = given.task.strata(given.y[judged]) if times is None else times[judged]
            numbers = np.empty(len(judged), int)
            order = np.argsort(keys, kind="stable")
            places = np.arange(len(judged))
            late = places * PARTS // max(len(judged), 1)
            numbers[order] = places % PARTS if related is None else late
        parts = np.full(len(rows), -1)
        parts[folds == 0] = numbers
        return parts

    def fits_once(self, candidate: Candidate) -> bool:
        """Whether the trial of a candidate is its final fit: to all rows but those that judge it.

        A learnt neighbourhood chooses by rows that are held out anyway, and all rows vote in the
        end. In a large table these are the rows of the last rung's fold.
        """
        return candidate.kind.holds_rows_out and self.large(self.plan()[-1][0])

    def last(self) -> tuple[np.ndarray, np.ndarray]:
        """`folds` of the last rung."""
        return self.folds(self.plan()[-1][0])

    def judges(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows that the last rung judges, and all that a fit must leave out for this.

        Those are also the other rows of their groups, and all that are not before them in time.
        """
        rows, folds = self.last()
        judged, related = rows[folds == 0], self.settings.related
        if related is None:
            return judged, judged
        if related.groups is not None:
            left_out = np.isin(related.groups, related.groups[judged])
        else:
            assert related.times is not None
            left_out = related.times >= related.times[judged].min()
        return judged, np.flatnonzero(left_out)

    def _affordable_rank(self, rows: int, rank: int) -> int:
        """Most centres with the factor in a quarter of the memory and 6 matrices in another."""
        memory = self.settings.memory
        most = min(memory / 16 / rows, np.sqrt(memory / 4 / 48))
        return int(max(1, min(rank, rows, most)))


def gathered(folds: np.ndarray, values: Iterable[np.ndarray]) -> np.ndarray:
    """The values of the rows of each fold, put at their rows; NaN for rows in no fold."""
    found = np.empty(0)
    for f, some in enumerate(values):
        if f == 0:
            found = np.full((len(folds), *some.shape[1:]), np.nan)
        found[folds == f] = some
    return found
