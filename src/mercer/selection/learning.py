"""Kernels whose weights are learnt: which rows they are learnt from, and by which method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.kernels import TableKernel
from mercer.learners.feature_metric import Form, learn_metric
from mercer.selection.candidates import Candidate
from mercer.selection.encoding import Feature
from mercer.selection.interactions import learn_interactions
from mercer.threads import count_jobs

__all__ = ["LEARNING_STEPS", "learn_kernel", "learning_jobs", "learning_rows"]

LEARNING_ROWS = 1200  # for tables of up to 20 columns
FEWEST_LEARNING_ROWS = 300
LEARNING_STEPS = 25  # of the weights of interactions
METRIC_STEPS = 3  # two are enough as a rule

#: the norm and the power of the kernels with a learnt metric
FORMS = {"absolute": Form(1, 1.0), "diagonal": Form(2, 1.0), "full": Form(2, 1.4, full=True)}


def learning_rows(memory: int) -> int:
    """Rows from which weights are learnt: twelve matrices fit, if they are not few.

    Their number does not depend on the threads, so that results do not either.
    """
    return int(np.clip(np.sqrt(memory / 8 / 12), FEWEST_LEARNING_ROWS, LEARNING_ROWS))


def learning_jobs(memory: int, rows: int, n_jobs: int | None) -> int:
    """Threads that learn the weights: beside six matrices of the rows, each holds three."""
    fitting = (memory // (8 * rows**2) - 6) // 3
    return int(np.clip(fitting, 1, count_jobs(n_jobs)))


def learn_kernel(
    candidate: Candidate,
    features: list[Feature],
    M: Any,
    Y: np.ndarray,
    weights: np.ndarray | None,
    memory: int,
    n_jobs: int | None,
    *,
    steps: int = LEARNING_STEPS,
    on_step: Callable[[int, float], bool | None] | None = None,
) -> tuple[TableKernel, int]:
    """The kernel of a candidate with weights learnt from encoded rows, in random order.

    Parameters
    ----------
    M, Y : the encoded rows, and the targets (n, outputs)
    steps : int
        Most steps of the weights of interactions.
    on_step : callable, optional
        Called with (step, error) after each step; if it returns True, the learning ends.

    Returns
    -------
    kernel, steps taken
    """
    if candidate.family == "metric":
        numbers = candidate.numbers(features)
        found = learn_metric(
            M.numbers[:, numbers], Y, weights, form=FORMS[candidate.form],
            steps=min(METRIC_STEPS, steps), on_step=on_step,
        )  # fmt: skip
        kernel = candidate.kernel(features, found.kernel)
        return kernel.bind(kernel.encode(M)), len(found.errors)
    kernel, X = candidate.bound(features, M)
    jobs = learning_jobs(memory, len(M), n_jobs)
    learnt = learn_interactions(kernel, X, Y, weights, steps=steps, n_jobs=jobs, on_step=on_step)
    return learnt.kernel, len(learnt.errors)
