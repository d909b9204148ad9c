"""How the machines of the search are fitted to rows, and what is chosen for them.

A `Recipe` fits a machine to the targets of a task, and chooses what is left open: the penalty or
the width, and the calibration of probabilities. Ridge and windows do both from their leave-one-out
outputs. A support vector machine has none, so it is fitted to a part of the rows first, and judged
on the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from mercer.kernels import Kernel
from mercer.learners.base import PENALTY_ROWS
from mercer.learners.margin import SVC
from mercer.learners.ridge import KernelRidge
from mercer.learners.windows import NadarayaWatson
from mercer.selection.automatic.candidates import explicit_features
from mercer.selection.automatic.machines.additive import AdditiveMachine
from mercer.selection.automatic.machines.linear import (
    IN_WORDS,
    SPARSE_CLASSES,
    LinearMachine,
    LinearModel,
    fit_linear,
    of_all_classes,
)
from mercer.selection.automatic.machines.machines import (
    KernelRidgeMachine,
    Machine,
    MarginMachine,
    WindowMachine,
)
from mercer.selection.automatic.machines.neighbourhood import LearntNeighbourhood
from mercer.selection.automatic.tasks import Classification, Task
from mercer.threads import blas_threads

COSTS = (1.0, 10.0, 100.0)  # values of C of a support vector machine
USUAL_COST, MANY_PAIRS = (10.0,), 100  # with more pairs of classes, each value takes seconds
JUDGED_ROWS = 4000  # most rows of the fits that choose C and calibrate
FEW = 10  # rows of a class, all of which take part in those fits
SMALL, FOLDS = 1000, 3  # with at most so many rows, all are judged in folds, else a fifth


@dataclass(frozen=True)
class Recipe:
    """How a machine is fitted."""

    #: "ridge", "local", "svc", "window", "neighbourhood" or "shapes"; on features "margins",
    #: "bayes" or "logistic"; or a simple model: "constant", "linear" or "sparse"
    machine: str = "ridge"
    penalty: float | None = None  # C of support vectors, or what Bayes adds; None chooses it
    #: centres of a ridge machine; None is exact for few rows, else the learner's default
    rank: int | None = None
    #: Whether a ridge machine is exact for many rows too, by one Cholesky factor. Its λ is chosen
    #: on 1,400 rows: as the noise of a Gaussian process it does not change with their number.
    exact: bool = False
    #: most rows of a leaf of a local machine; None is the learner's default
    leaf_rows: int | None = None
    members: int = 1  # networks of a learnt neighbourhood
    steps: int | None = None  # of each of them; None is the learner's default
    #: numbers of the rows that judge them and are not trained on; None draws them
    validation: np.ndarray | None = field(default=None, compare=False)
    seconds: float | None = None  # in which their steps end, even if there are fewer of them
    memory: int | None = None
    n_jobs: int | None = None
    seed: int = 0  # draws centres, and the rows that C and the calibration are judged on

    def fit(self, task: Task, kernel: Any, X: Any, y: np.ndarray, weights: Any = None) -> Machine:
        """Fit to the targets of a task. X is an encoded table, or as the kernel reads it.

        A machine that reads columns is given them in place of a kernel.
        """
        return FITS[self.machine](self, task, kernel, X, y, weights)

    # --- ridge --------------------------------------------------------------------------------

    def _fit_local(self, task, kernel, X, y, weights) -> KernelRidgeMachine:
        return self._judged_ridge(task, kernel, X, y, weights, "local")

    def _fit_ridge(self, task, kernel, X, y, weights) -> KernelRidgeMachine:
        if not self.exact or len(y) <= PENALTY_ROWS:
            solver = "auto" if self.rank is None else "low_rank"
            return self._judged_ridge(task, kernel, X, y, weights, solver)
        rows = np.sort(np.random.default_rng(self.seed).permutation(len(y))[:PENALTY_ROWS])
        w = None if weights is None else weights[rows]
        some, offset, total = self._ridge(task, kernel, X[rows], y[rows], w, "auto", "auto")
        penalty = some.alpha_
        # the outputs of fewer rows are a little less sure, and so are the probabilities
        finish = task.calibrate(some.left_out_ + offset, y[rows], w)
        learner, offset, total = self._ridge(task, kernel, X, y, weights, penalty, "cholesky")
        return KernelRidgeMachine(learner, finish, penalty / total, offset)

    def _judged_ridge(self, task, kernel, X, y, weights, solver) -> KernelRidgeMachine:
        learner, offset, total = self._ridge(task, kernel, X, y, weights, "auto", solver)
        finish = task.calibrate(learner.left_out_ + offset, y, weights)
        return KernelRidgeMachine(learner, finish, learner.alpha_ / total, offset)

    def _ridge(self, task, kernel, X, y, weights, penalty, solver):
        Y = task.targets(y)
        offset = np.average(Y, axis=0, weights=weights)
        total = len(y) if weights is None else float(np.sum(weights))
        learner = KernelRidge(
            penalty, kernel=kernel, solver=solver, rank=self.rank, leaf_rows=self.leaf_rows,
            memory=self.memory, n_jobs=self.n_jobs, random_state=self.seed,
        )  # fmt: skip
        return learner.fit(X, Y - offset, weights), offset, total

    # --- windows ------------------------------------------------------------------------------

    def _fit_window(self, task, kernel, X, y, weights) -> Machine:
        if len(y) < 2:  # the width is chosen by leaving rows out
            return self._fit_ridge(task, kernel, X, y, weights)
        Y, classes = task.targets(y), task.classes is not None and task.ranks is None
        learner = NadarayaWatson(metric=kernel, memory=self.memory, n_jobs=self.n_jobs)
        learner.fit(X, Y, weights)
        width: Any = learner.width_
        machine = WindowMachine(learner, task.plain(), width, Y, weights, classes)
        machine.finish = task.calibrate(machine.read(learner.left_out_), y, weights)
        return machine

    # --- columns ------------------------------------------------------------------------------

    def _fit_neighbourhood(self, task, source, M, y, weights) -> LearntNeighbourhood:
        steps = "auto" if self.steps is None else self.steps
        return LearntNeighbourhood.fitted(
            task, source, M, y, weights, self.validation, n_members=self.members, steps=steps,
            time=self.seconds, memory=self.memory, n_jobs=self.n_jobs, random_state=self.seed,
        )  # fmt: skip

    def _fit_shapes(self, task, source, M, y, weights) -> AdditiveMachine:
        return AdditiveMachine.fitted(
            task, source, M, y, weights, memory=self.memory, n_jobs=self.n_jobs
        )

    # --- simple models and sparse features ----------------------------------------------------

    def _fit_simple(self, task, kernel, X, y, weights) -> LinearMachine:
        return fit_linear(self.machine, task, kernel, X, y, weights)

    def _fit_sparse(self, task, kernel, M, y, weights) -> LinearMachine:
        if len(np.unique(y)) == 1:
            return fit_linear("constant", task, kernel, M, y, weights)
        fit, settings = SPARSE_CLASSES[self.machine]
        settings = settings if self.penalty is None else (self.penalty,)
        X = kernel.encode(M)
        kernel = kernel.bind(X, None, weights)
        F, codes = explicit_features(kernel, X), task.strata(y)
        w = np.ones(len(y)) if weights is None else np.asarray(weights, np.float64)
        outputs = np.full((len(settings), len(y), len(task.classes)), np.nan)
        with blas_threads(1):
            for train, judged in splits(codes, self.seed):
                for each, setting in zip(outputs, settings):
                    found = fit(F[train], codes[train], w[train], setting)
                    coef, intercept, _ = of_all_classes(found, task, y[train])
                    each[judged] = F[judged] @ coef + intercept
            finish, best = _calibrated(task, outputs, y, weights)
            found = fit(F, codes, w, settings[best])
        coef, intercept, dual = of_all_classes(found, task, y)
        learner = LinearModel(kernel, X, coef, intercept, dual, found.scale)
        words = f"{IN_WORDS[self.machine].format(settings[best])} on {F.shape[1]:,} features"
        rows = np.arange(len(y))
        return LinearMachine(learner, finish, settings[best], self.machine, rows, words)

    # --- support vectors ----------------------------------------------------------------------

    def _fit_margin(self, task, kernel, X, y, weights) -> Machine:
        if len(np.unique(y)) < 2:  # rows of one class have nothing to separate
            return self._fit_ridge(task, kernel, X, y, weights)
        costs = costs_tried(task.pairs) if self.penalty is None else (self.penalty,)

        def machine(C: float) -> SVC:
            return SVC(
                C=C, kernel=kernel, decision_function_shape="ovo", memory=self.memory,
                n_jobs=self.n_jobs, random_state=self.seed,
            )  # fmt: skip

        # outputs for rows that were held out, (settings, n, classes); NaN for the other rows
        outputs = np.full((len(costs), X.shape[0], len(task.classes)), np.nan)
        for train, judged in splits(task.strata(y), self.seed):
            known, new, w = X[train], X[judged], None if weights is None else weights[train]
            path = machine(costs[0]).new_path(list(costs))
            for each, C in zip(outputs, costs):
                learner = machine(C).fit(known, y[train], w, fit_path=path)
                each[judged] = MarginMachine(learner, None, C, task.classes).outputs(new)
        finish, best = _calibrated(task, outputs, y, weights)
        learner = machine(costs[best]).fit(X, y, weights)
        return MarginMachine(learner, finish, costs[best], task.classes)


#: machine -> how it is fitted
FITS = {
    "ridge": Recipe._fit_ridge,
    "local": Recipe._fit_local,
    "svc": Recipe._fit_margin,
    "window": Recipe._fit_window,
    "neighbourhood": Recipe._fit_neighbourhood,
    "shapes": Recipe._fit_shapes,
    **dict.fromkeys(SPARSE_CLASSES, Recipe._fit_sparse),
    **dict.fromkeys(("constant", "linear", "sparse"), Recipe._fit_simple),
}


def costs_tried(pairs: int) -> tuple[float, ...]:
    """The values of C that a machine for so many pairs of classes chooses from."""
    return USUAL_COST if pairs > MANY_PAIRS else COSTS


def compressed(
    machine: Machine, kernel: Kernel, M: Any, rank: int, **settings: Any
) -> KernelRidgeMachine:
    """A machine with few centres, whose outputs are as near as they can be to those of another.

    They shall agree on the rows M; ``rank`` is the number of centres. The calibration is kept.
    ``settings`` are ``memory``, ``n_jobs`` and ``random_state`` of `KernelRidge`.
    """
    wanted = machine.outputs(M)
    offset = wanted.mean(axis=0)
    # the outputs have no noise: the least penalty that leave-one-out allows
    learner = KernelRidge("auto", kernel=kernel, solver="low_rank", rank=rank, **settings)
    learner.fit(M, wanted - offset)
    return KernelRidgeMachine(learner, machine.finish, learner.alpha_ / len(wanted), offset)


def splits(codes: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to fit to and rows to judge on, with the shares of the classes in both.

    Three folds of few rows, else one split of at most 4,000 rows, with a fifth to judge on. Classes
    of one row are in all fits and never judged.
    """
    n, counts = len(codes), np.bincount(codes)
    rows = np.arange(n)
    if n > JUDGED_ROWS:
        chosen = np.random.default_rng(seed).permutation(n)[:JUDGED_ROWS]
        rows = np.union1d(chosen, np.flatnonzero(counts[codes] <= FEW))  # all of rare classes
    counts = np.bincount(codes[rows], minlength=len(counts))
    single = counts[codes[rows]] < 2
    often, always = rows[~single], rows[single]
    folds = int(min(FOLDS if n <= SMALL else 5, counts[counts > 1].min(initial=5)))
    if not len(often) or len(np.unique(codes[often])) < 2:
        return [(rows, rows)]
    cut = StratifiedKFold(max(2, folds), shuffle=True, random_state=seed)
    found = [
        (np.sort(np.concatenate([often[train], always])), often[judged])
        for train, judged in cut.split(codes[often], codes[often])
    ]
    return found if n <= SMALL else found[:1]


def _calibrated(task: Classification, outputs: np.ndarray, y: np.ndarray, weights: Any):
    """The calibration of the setting with the smallest loss on the judged rows, and its number."""
    judged = ~np.isnan(outputs[0, :, 0])
    w = None if weights is None else weights[judged]
    finishes = [task.calibrate(each[judged], y[judged], w) for each in outputs]
    losses = [
        task.loss(y[judged], finish(each[judged]), w) for finish, each in zip(finishes, outputs)
    ]
    best = int(np.argmin(losses))
    return finishes[best], best
