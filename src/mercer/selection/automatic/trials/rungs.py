"""The rows of a search: which are learnt from, which are judged, and in which folds.

All candidates are judged on the same folds, stratified by class; of rows in time, a fold is a
period, and a fit learns from what came before. A large table has two rungs: a few thousand rows for
all candidates, then more rows for the best. Weights of columns are learnt on rows that are not used
for scores; a small table has none to spare, so they are learnt again for each fold. One pass over a
low-rank factor of the kernel matrix gives the predictions of all folds of a ridge machine; other
machines are fitted for each fold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mercer.gram import gram
from mercer.kernels import Linear, Precomputed, TableKernel
from mercer.learners.ridge import PENALTIES, affordable, mixed_outputs
from mercer.machines import HELD_ROWS, TRIED_LEAF, Machine, Rung, SearchSettings
from mercer.machines.candidates import Candidate, Recipe, explicit_features, learning_rows
from mercer.selection.automatic.trials.costs import Finals
from mercer.solvers import RidgeFolds
from mercer.tables import ORIGINS, read_as
from mercer.threads import blas_limit, ordered_map, raise_if_stopped

PARTS = 3  # of the rows of one fold, which choose weights of machines for each other
SPARED = -2  # in place of the number of a fold
JUDGED_PART, MOST_JUDGED = 7, 2000  # one of so many rows of a large rung, and at most these


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
        if candidate.kernels.learning.maps and self.spared is not None:
            return 2 * self.learning_rows  # half of them judge it
        few = candidate.kernels.learning.few and not candidate.more
        most = self.settings.sizes.few_learning_rows
        return min(self.learning_rows, most) if few else self.learning_rows

    def count_folds(self, count: int) -> int:
        """Folds of the first ``count`` rows."""
        if self.timed:
            return len(ORIGINS)
        if len(self.settings.y) <= self.settings.sizes.one_rung_rows:
            return 5
        return 1 if self.large(count) else 3

    @property
    def timed(self) -> bool:
        """Whether the rows have times."""
        return self.settings.related is not None and self.settings.related.times is not None

    def learns(self, folds: np.ndarray, f: int) -> np.ndarray:
        """Mask of the rows that the fit of a fold learns from: of rows in time, those before it."""
        return folds < f if self.timed else folds != f

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
        given, related = self.settings, self.settings.related
        if related is not None and not related.copies:
            of = rows if self.timed else judged  # what is spared comes before all periods
            folds[np.searchsorted(rows, of)] = related.folds(of, k, given.seed)
            folds[~np.isin(rows, judged)] = SPARED
            return rows, folds
        first = of = np.arange(len(judged))
        if related is not None and related.groups is not None:  # copies are with the first of them
            _, first, of = np.unique(related.groups[judged], return_index=True, return_inverse=True)
        random = np.random.default_rng(given.seed).permutation(len(first))
        strata = given.task.strata(given.y[judged[first[random]]])
        part = max(JUDGED_PART, -(-len(first) // MOST_JUDGED)) if k == 1 else k
        numbers = np.empty(len(first), int)
        numbers[random[np.argsort(strata, kind="stable")]] = np.arange(len(first)) % part
        folds[np.searchsorted(rows, judged)] = np.where(numbers < k, numbers, -1)[of]
        return rows, folds

    def divided(self, rows: np.ndarray, folds: np.ndarray) -> np.ndarray:
        """Three parts of the judged rows, of whole groups, with the shares of the classes; else -1.

        Of rows in time that have too few times for more folds, each part has a third of the time.
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
        end. In a large table these are the rows of the last rung's fold. Of rows in time there are
        several folds.
        """
        large = self.large(self.plan()[-1][0])
        return candidate.kind.holds_rows_out and large and not self.timed

    def last(self) -> tuple[np.ndarray, np.ndarray]:
        """`folds` of the last rung."""
        return self.folds(self.plan()[-1][0])

    def judges(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows that the last rung judges, and all that a fit must leave out for this.

        Those are also the other rows of their groups.
        """
        rows, folds = self.last()
        judged, related = rows[folds == 0], self.settings.related
        if related is None or related.groups is None:
            return judged, judged
        return judged, np.flatnonzero(np.isin(related.groups, related.groups[judged]))

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


class Judged(NamedTuple):
    """What was found of a candidate on the rows of a rung."""

    predicted: np.ndarray  # predictions or probabilities for each row; NaN for rows in no fold
    kernel: TableKernel  # that of the last fold
    penalty: float  # the median of the folds
    steps: list[int]  # those in which the kernel was learnt for this, once or for each fold


class FoldFits:
    """Fits candidates to the training rows of folds; kernels that were learnt are used again."""

    def __init__(self, state: Any):  # a `SearchState`
        self.settings, self.rungs, self.learnt = state.settings, state.rungs, state.learnt
        self.fitted = state.fitted
        self._known_features: tuple[Any, Any] = None, None
        self.leaf_rows = state.finals.leaf(TRIED_LEAF)

    def judge(
        self, candidate: Candidate, rung: Rung, steps: list[int] | None, penalty: float | None
    ) -> Judged:
        """Predict the rows of a rung, each by a fit that has not seen it.

        ``steps`` are those in which an earlier search has learnt the kernel; None learns until the
        time is over. ``penalty`` is what is known of it; None chooses it in each fold.
        """
        rows, folds = self.rungs.folds(rung[0])
        rank = rung[1] if candidate.kind.low_rank else None
        if rank is None or self.rungs.learns_each(candidate):
            return self._fold_by_fold(candidate, rows, folds, steps, penalty)
        kernel, taken = self.shared_kernel(candidate, steps)
        return Judged(*self._all_folds(kernel, rows, folds, rank), taken)

    def shared_kernel(
        self, candidate: Candidate, steps: list[int] | None = None
    ) -> tuple[TableKernel, list[int]]:
        """The candidate's kernel for all folds, and the steps in which it was learnt just now.

        Its weights are learnt once, from the rows that are set aside for this.
        """
        if candidate.simple:  # it learns from the rows of each fit alone
            return candidate.kernel(self.settings.features), []
        if not candidate.learn:
            return candidate.bound(self.settings.features, self.settings.M)[0], []
        known = self.learnt.known(candidate)
        taken_before = steps[0] if steps else self.learnt.steps.get(candidate.alike)
        spared: Any = self.rungs.spared
        kernel = self.learn(candidate, spared, taken_before)
        return kernel, [] if known else [self.learnt.of(candidate).taken]

    def _all_folds(self, kernel, rows, folds, rank: int) -> tuple[np.ndarray, Any, float]:
        """Held-out predictions of all folds from one factor, the kernel and the median penalty.

        The penalty and the calibration of a fold come from the leave-one-out outputs of its
        training rows, so that its own targets reach neither.
        """
        given = self.settings
        X, w = kernel.encode(given.M[rows]), given.weights_of(rows)
        Y, y = given.Y[rows], given.y[rows]
        share = np.ones(len(rows)) if w is None else w
        judged, chosen = mixed_outputs(Y), []
        learns = [self.rungs.learns(folds, f) for f in range(folds.max() + 1)]
        others = [(folds != SPARED) & each for each in learns]
        finishes: list = []

        def calibrate(outputs: np.ndarray, own: np.ndarray) -> None:
            v = None if w is None else w[own]
            finishes.append(given.task.calibrate(outputs[own], y[own], v))

        with blas_limit(rank):
            K: Any = gram(kernel, X, place=given.place, rank=rank, random_state=given.seed)
            cross = RidgeFolds(K, np.maximum(folds, -1), w, self.rungs.timed)
            tried = affordable(PENALTIES, judged, given.memory)
            sizes = np.array([share[each].sum() for each in learns])
            for own, outputs in zip(others, cross.leave_one_out(judged, sizes[:, None] * tried)):
                squares = np.square(outputs[:, own] - judged[own]).sum(axis=2)
                best = int(np.argmin(squares @ share[own]))
                chosen.append(tried[best])
                if judged is Y:
                    calibrate(outputs[best], own)
            if judged is not Y:
                for own, outputs in zip(others, cross.leave_one_out(Y, (sizes * chosen)[:, None])):
                    calibrate(outputs[0], own)
            outputs = cross.predict(Y, sizes * chosen)
        each = (finish(outputs[folds == f]) for f, finish in enumerate(finishes))
        return gathered(folds, each), kernel, float(np.median(chosen))

    def _fold_by_fold(self, candidate, rows, folds, steps, penalty) -> Judged:
        """Held-out predictions of a machine that is fitted to each fold's training rows.

        Where each fold has the same kernel, its matrix is computed once. Where it is learnt, it is
        learnt from the training rows of each fold.
        """
        given, each = self.settings, self.rungs.learns_each(candidate)
        exact = len(rows) <= given.sizes.exact_rows and not each
        recipe = Recipe(candidate.machine, penalty, exact=exact, leaf_rows=self.leaf_rows)
        kernel: Any = None
        taken: list[int] = []
        if not each:
            kernel, taken = self.shared_kernel(candidate, steps)
        held, reader = None, Precomputed()
        if candidate.kind.reads_features:
            held, reader = self._features(candidate.text, kernel, rows), Linear()
        elif not (each or candidate.simple or candidate.kind.reads_columns):
            held = self._held(kernel, rows)
        M: Any = given.M[rows] if held is None else held

        def fitted(f: int) -> tuple[np.ndarray, Machine, Any]:
            raise_if_stopped()
            own, others = np.flatnonzero(folds == f), np.flatnonzero(self.rungs.learns(folds, f))
            train, learnt = rows[others], kernel
            if each:
                learnt = self.learn(candidate, train, steps[f] if steps else None, f)
            machine = recipe.run(given, learnt if held is None else reader, train, M[others])
            return machine(M[own]), machine, learnt

        # learning has threads of its own, and so have factors of many rows; simple models are quick
        alone = each or candidate.simple or candidate.kind.reads_columns or len(rows) > HELD_ROWS
        jobs = 1 if alone else given.n_jobs
        values, machines, kernels = zip(*ordered_map(fitted, range(folds.max() + 1), jobs))
        if each:
            taken = [self.learnt.of(candidate, f).taken for f in range(len(machines))]
        chosen = candidate.kind.typical([machine.penalty for machine in machines])
        return Judged(gathered(folds, values), kernels[-1], chosen, taken)

    def once(self, candidate: Candidate, network: Recipe) -> Judged:
        """Predictions of a machine that is fitted to all rows of the table but those that judge it.

        All rows vote afterwards, and the machine is kept for the model.
        """
        given, kernel = self.settings, candidate.kernel(self.settings.features)
        _, folds = self.rungs.last()
        judged, left_out = self.rungs.judges()
        recipe = replace(network, validation=left_out)
        machine: Any = recipe.run(given, kernel, np.arange(len(given.M)))
        self.fitted[candidate.name] = machine, machine.stored
        values = machine.left_out()[np.searchsorted(left_out, judged)]
        taken = machine.learner.n_steps_[:1]
        return Judged(gathered(folds, [values]), machine.kernel, machine.penalty, taken)

    def _features(self, text: str, kernel: TableKernel, rows: np.ndarray) -> Any:
        """The features of some rows, kept for the next machine that reads the same."""
        if self._known_features[0] != (text, len(rows)):
            F = explicit_features(kernel, kernel.encode(self.settings.M[rows]))
            self._known_features = (text, len(rows)), F
        return self._known_features[1]

    def _held(self, kernel: TableKernel, rows: np.ndarray) -> Any:
        """The kernel matrix of some rows, for fits that are given it; None if it is too large."""
        if len(rows) > HELD_ROWS or 16 * len(rows) ** 2 > self.settings.memory / 2:
            return None
        X = kernel.encode(self.settings.M[rows])
        K = gram(kernel, X, place=self.settings.place).dense()
        return Precomputed().encode(K)

    def learn(
        self, candidate: Candidate, rows: np.ndarray, steps: int | None, fold: int | None = None
    ) -> TableKernel:
        """The candidate's kernel, learnt from as many of the rows as there is time for."""
        if not candidate.kernels.learning.quick:
            count = self.rungs.count_learning(candidate)
            rows = np.random.default_rng(self.settings.seed).permutation(rows)[:count]
        return self.learnt.learn(candidate, rows, steps, fold)
