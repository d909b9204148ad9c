"""A kernel learner fitted to the targets of a task, with what makes predictions of its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels import Kernel
from mercer.learners.ridge import KernelRidge
from mercer.selection.tasks import Task

__all__ = ["Tuned", "ridge", "tune"]


@dataclass
class Tuned:
    """f(x) = finish(learner(x) + offset).

    Attributes
    ----------
    learner : KernelRidge
        Fitted, its penalty chosen by leave-one-out.
    offset : ndarray of shape (outputs,)
        Means of the targets, which the learner is fitted without.
    finish : callable
        Outputs (n, outputs) -> predictions or probabilities.
    """

    learner: KernelRidge
    offset: np.ndarray
    finish: Any

    def outputs(self, M: Any) -> np.ndarray:
        """Of the rows of an encoded table, (n, outputs); sums are in float64."""
        coef = self.learner.dual_coef_.astype(np.float64)
        return self.learner.cross_gram(M) @ coef + self.offset

    def left_out(self) -> np.ndarray:
        """For each training row, the outputs of the fit without it."""
        return self.learner.left_out_ + self.offset

    def __call__(self, M: Any) -> np.ndarray:
        """Predictions or probabilities for the rows of an encoded table."""
        return self.finish(self.outputs(M))


def ridge(kernel: Kernel, rank: int | None = None, **settings: Any) -> KernelRidge:
    """The learner of the search: exact for few rows, else on ``rank`` centres.

    ``settings`` are ``memory``, ``n_jobs`` and ``random_state`` of `KernelRidge`.
    """
    solver = "auto" if rank is None else "low_rank"
    return KernelRidge("auto", kernel=kernel, solver=solver, rank=rank, **settings)


def tune(task: Task, learner: KernelRidge, X: Any, y: np.ndarray, weights: Any = None) -> Tuned:
    """Fit a learner to the targets of a task.

    Parameters
    ----------
    X : encoded table, or samples as the learner's kernel reads them
    y : ndarray of shape (n,)
    weights : ndarray of shape (n,), optional
        All positive.
    """
    Y = task.targets(y)
    offset = np.average(Y, axis=0, weights=weights)
    learner.fit(X, Y - offset, weights)
    finish = task.calibrate(learner.left_out_ + offset, y, weights)
    return Tuned(learner, offset, finish)
