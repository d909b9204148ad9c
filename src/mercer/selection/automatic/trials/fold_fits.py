"""Predictions for rows that are held out: a candidate is fitted to the other rows of each fold.

One pass over a low-rank factor of the kernel matrix gives those of all folds of a ridge machine;
other machines are fitted for each fold. Column weights are learnt on rows that are not used for
scores; a small table has no such rows, so its weights are learnt again for each fold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mercer.gram import gram
from mercer.kernels import Linear, Precomputed, TableKernel
from mercer.learners.ridge import PENALTIES, affordable, mixed_outputs
from mercer.machines import HELD_ROWS, TRIED_LEAF, Machine, Rung
from mercer.machines.candidates import Candidate, Recipe, explicit_features
from mercer.selection.automatic.trials.rungs import SPARED, gathered
from mercer.selection.automatic.trials.state import SearchState
from mercer.solvers import RidgeFolds
from mercer.threads import blas_limit, ordered_map, raise_if_stopped


class Judged(NamedTuple):
    """What was found of a candidate on the rows of a rung."""

    predicted: np.ndarray  # predictions or probabilities for each row; NaN for rows in no fold
    kernel: TableKernel  # that of the last fold
    penalty: float  # the median of the folds
    steps: list[int]  # those in which the kernel was learnt for this, once or for each fold


class FoldFits:
    """Fits candidates to the training rows of folds; kernels that were learnt are used again."""

    def __init__(self, state: SearchState):
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
        others = [(folds != SPARED) & (folds != f) for f in range(folds.max() + 1)]
        finishes: list = []

        def calibrate(outputs: np.ndarray, own: np.ndarray) -> None:
            v = None if w is None else w[own]
            finishes.append(given.task.calibrate(outputs[own], y[own], v))

        with blas_limit(rank):
            K: Any = gram(kernel, X, place=given.place, rank=rank, random_state=given.seed)
            cross = RidgeFolds(K, folds, w)
            tried = affordable(PENALTIES, judged, given.memory)
            sizes = np.array([share[folds != f].sum() for f in range(cross.count)])
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
            own, others = np.flatnonzero(folds == f), np.flatnonzero(folds != f)
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
        if candidate.family != "screened":  # which takes no time worth saving
            count = self.rungs.count_learning(candidate)
            rows = np.random.default_rng(self.settings.seed).permutation(rows)[:count]
        return self.learnt.learn(candidate, rows, steps, fold)
