"""The machines of the search: a kernel learner, and what makes predictions of its outputs.

A `Recipe` fits a machine to the targets of a task, and chooses what is left open: the penalty, and
the calibration of probabilities. Ridge does both from its leave-one-out outputs. A support vector
machine has none, so it is fitted to a part of the rows first, and judged on the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from mercer.kernels import Kernel
from mercer.learners.pairs import all_pairs, by_pair
from mercer.learners.ridge import KernelRidge
from mercer.learners.svc import SVC
from mercer.selection.tasks import Classification, Task

__all__ = ["Machine", "MarginMachine", "Recipe", "RidgeMachine", "compressed"]

COSTS = (1.0, 10.0, 100.0)  # values of C of a support vector machine
USUAL_COST, MANY_PAIRS = (10.0,), 100  # with more pairs of classes, each value takes seconds
#: what a value of a pair's machine says about the odds of its two classes, before the calibration
STEEPNESS = 3.0
JUDGED_ROWS = 4000  # most rows of the fits that choose C and calibrate
PENALTY_ROWS = 1400  # most rows of the fit that chooses λ for an exact one
FEW = 10  # rows of a class, all of which take part in those fits
SMALL, FOLDS = 1000, 3  # with at most so many rows, all are judged in folds, else a fifth


class Machine(ABC):
    """Abstract: a fitted machine, f(x) = finish(outputs(x)).

    Attributes
    ----------
    learner : KernelRidge or SVC
        Fitted.
    finish : callable
        Outputs (n, outputs) -> predictions or probabilities.
    penalty : float
        λ / Σw of ridge, or C.
    """

    learner: Any
    finish: Any
    penalty: float

    @abstractmethod
    def outputs(self, M: Any) -> np.ndarray:
        """Of the rows of an encoded table, (n, outputs)."""

    @property
    def parts(self) -> tuple[Machine, ...]:
        """The machine itself; of a mean of two both, the better one first."""
        return (self,)

    @property
    @abstractmethod
    def stored(self) -> np.ndarray:
        """Of the rows that new rows are compared with, the numbers among the rows of the fit."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """What the stored rows are: "training rows", "support vectors" or "centres"."""

    @abstractmethod
    def contributions(self, M: Any, outputs: np.ndarray) -> np.ndarray:
        """How much each stored row adds to one output of each row, (n, stored).

        Parameters
        ----------
        outputs : ndarray of shape (n,)
            The number of the output for each row. Of a support vector machine it is a class, and
            what a stored row adds is summed over the class' pairs.
        """

    @property
    @abstractmethod
    def description(self) -> str:
        """The solver, and what it chose, in words."""

    def __call__(self, M: Any) -> np.ndarray:
        """Predictions or probabilities for the rows of an encoded table."""
        return self.finish(self.outputs(M))


@dataclass
class RidgeMachine(Machine):
    """Kernel ridge regression of the targets without their means.

    Attributes
    ----------
    offset : ndarray of shape (outputs,)
        Means of the targets.
    """

    learner: KernelRidge
    finish: Any
    penalty: float
    offset: np.ndarray

    def outputs(self, M: Any) -> np.ndarray:
        """Of the rows of an encoded table, (n, outputs); sums are in float64."""
        coef = self.learner.dual_coef_.astype(np.float64)
        return self.learner.cross_gram(M) @ coef + self.offset

    @property
    def stored(self) -> np.ndarray:
        if self.learner.solver_ == "low_rank":
            return self.learner.centres_
        return np.arange(self.learner.X_fit_.shape[0])

    @property
    def kind(self) -> str:
        return "centres" if self.learner.solver_ == "low_rank" else "training rows"

    def contributions(self, M: Any, outputs: np.ndarray) -> np.ndarray:
        coef = self.learner.dual_coef_.astype(np.float64)
        return self.learner.cross_gram(M).dense() * coef[:, outputs].T

    @property
    def description(self) -> str:
        solver = self.learner.solver_
        if solver == "low_rank":
            solver = f"low rank, {self.learner.X_fit_.shape[0]} centres"
        return f"kernel ridge, {solver}, penalty {self.penalty:.3g} times the rows"


@dataclass
class MarginMachine(Machine):
    """A support vector machine for each pair of classes; an output is a class' log-likelihood.

    If v is the value of the machine of a pair, 1 / (1 + exp(-3 v)) stands for the probability of
    its first class, and the output of a class is the sum of the logarithms over its pairs.

    Attributes
    ----------
    classes : ndarray
        Those of the task; the learner may have met fewer.
    """

    learner: SVC
    finish: Any
    penalty: float
    classes: np.ndarray

    def outputs(self, M: Any) -> np.ndarray:
        """Of the rows of an encoded table, (n, classes)."""
        values, met = self.learner.decision_function(M), self.learner.classes_
        known = pair_likelihoods(values, len(met))
        found = np.full((len(known), len(self.classes)), known.min(initial=0.0) - 1)
        found[:, np.searchsorted(self.classes, met)] = known
        return found

    @property
    def stored(self) -> np.ndarray:
        return self.learner.support_

    @property
    def kind(self) -> str:
        return "support vectors"

    def contributions(self, M: Any, outputs: np.ndarray) -> np.ndarray:
        k = len(self.learner.classes_)
        codes = np.repeat(np.arange(k), self.learner.n_support_)
        if self.learner.X_fit_.shape[0] != len(codes):
            raise ValueError(
                "The support vector machine rests on a kernel of low rank, which does not say what "
                "one training row adds: fit it to fewer rows."
            )
        beta = by_pair(self.learner.dual_coef_.astype(np.float64), codes, k)
        signed = np.zeros((len(codes), len(self.classes)))
        met = np.searchsorted(self.classes, self.learner.classes_)
        for (a, b), coef in zip(all_pairs(k), -beta.T if k == 2 else beta.T):
            signed[:, met[a]] += coef
            signed[:, met[b]] -= coef
        return self.learner.cross_gram(M).dense() * signed[:, outputs].T

    @property
    def description(self) -> str:
        return (
            f"support vector machine, C = {self.penalty:g}, "
            f"{self.learner.X_fit_.shape[0]} support vectors"
        )


@dataclass(frozen=True)
class Recipe:
    """How a machine is fitted.

    Attributes
    ----------
    machine : {"ridge", "svc"}
    penalty : float, optional
        C of a support vector machine; None chooses it.
    rank : int, optional
        Centres of a ridge machine; None is exact for few rows, else the learner's default.
    exact : bool
        Whether a ridge machine is exact for many rows too, by one Cholesky factor. Its λ is chosen
        on 1,400 rows: as the noise of a Gaussian process it does not change with their number.
    memory : int, optional
    n_jobs : int, optional
    seed : int
        Of centres, and of the rows that C and the calibration are judged on.
    """

    machine: str = "ridge"
    penalty: float | None = None
    rank: int | None = None
    exact: bool = False
    memory: int | None = None
    n_jobs: int | None = None
    seed: int = 0

    def fit(
        self, task: Task, kernel: Kernel, X: Any, y: np.ndarray, weights: Any = None
    ) -> Machine:
        """Fit to the targets of a task.

        Parameters
        ----------
        X : encoded table, or samples as the kernel reads them
        y : ndarray of shape (n,)
        weights : ndarray of shape (n,), optional
            All positive.
        """
        # rows of one class have nothing to separate
        margin = self.machine == "svc" and len(np.unique(y)) > 1
        how = self._fit_margin if margin else self._fit_ridge
        return how(task, kernel, X, y, weights)

    # --- ridge --------------------------------------------------------------------------------

    def _fit_ridge(self, task, kernel, X, y, weights) -> RidgeMachine:
        if not self.exact or len(y) <= PENALTY_ROWS:
            solver = "auto" if self.rank is None else "low_rank"
            learner, offset, total = self._ridge(task, kernel, X, y, weights, "auto", solver)
            finish = task.calibrate(learner.left_out_ + offset, y, weights)
            return RidgeMachine(learner, finish, learner.alpha_ / total, offset)
        rows = np.sort(np.random.default_rng(self.seed).permutation(len(y))[:PENALTY_ROWS])
        w = None if weights is None else weights[rows]
        some, offset, total = self._ridge(task, kernel, X[rows], y[rows], w, "auto", "auto")
        penalty = some.alpha_
        # the outputs of fewer rows are a little less sure, and so are the probabilities
        finish = task.calibrate(some.left_out_ + offset, y[rows], w)
        learner, offset, total = self._ridge(task, kernel, X, y, weights, penalty, "cholesky")
        return RidgeMachine(learner, finish, penalty / total, offset)

    def _ridge(self, task, kernel, X, y, weights, penalty, solver):
        Y = task.targets(y)
        offset = np.average(Y, axis=0, weights=weights)
        total = len(y) if weights is None else float(np.sum(weights))
        learner = KernelRidge(
            penalty, kernel=kernel, solver=solver, rank=self.rank, memory=self.memory,
            n_jobs=self.n_jobs, random_state=self.seed,
        )  # fmt: skip
        return learner.fit(X, Y - offset, weights), offset, total

    # --- support vectors ----------------------------------------------------------------------

    def _fit_margin(self, task, kernel, X, y, weights) -> MarginMachine:
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


def costs_tried(pairs: int) -> tuple[float, ...]:
    """The values of C that a machine for so many pairs of classes chooses from."""
    return USUAL_COST if pairs > MANY_PAIRS else COSTS


def compressed(
    machine: Machine, kernel: Kernel, M: Any, rank: int, **settings: Any
) -> RidgeMachine:
    """A machine with few centres, whose outputs are as near as they can be to those of another.

    Parameters
    ----------
    machine : Machine
        Its calibration is kept.
    kernel : Kernel
        That of the machine.
    M : encoded rows, on which the outputs shall agree
    rank : int
        Centres.
    settings
        ``memory``, ``n_jobs`` and ``random_state`` of `KernelRidge`.
    """
    wanted = machine.outputs(M)
    offset = wanted.mean(axis=0)
    # the outputs have no noise: the least penalty that leave-one-out allows
    learner = KernelRidge("auto", kernel=kernel, solver="low_rank", rank=rank, **settings)
    learner.fit(M, wanted - offset)
    return RidgeMachine(learner, machine.finish, learner.alpha_ / len(wanted), offset)


def pair_likelihoods(values: np.ndarray, classes: int) -> np.ndarray:
    """The sum of each class' log-likelihoods in its pairs, (n, classes).

    ``values`` are those of the pairs (n, pairs), or f of two classes (n,), positive for the second.
    """
    values = -values[:, None] if values.ndim == 1 else values
    found = np.zeros((len(values), classes))
    for (a, b), v in zip(all_pairs(classes), STEEPNESS * values.T):
        found[:, a] -= np.logaddexp(0, -v)
        found[:, b] -= np.logaddexp(0, v)
    return found


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
