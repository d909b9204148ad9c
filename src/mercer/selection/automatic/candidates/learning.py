"""Kernels whose weights are learnt: from how many rows, and by which method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer.kernels import TableKernel
from mercer.learners.metrics import Form, learn_metric
from mercer.selection.automatic.candidates.candidate import Candidate
from mercer.selection.automatic.candidates.interactions import learn_interactions
from mercer.selection.automatic.candidates.screening import foremost
from mercer.selection.automatic.candidates.sums import learn_sum
from mercer.selection.automatic.settings import SearchSettings
from mercer.tables import read_as
from mercer.threads import count_jobs

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


def least_memory(rows: int) -> int:
    """Bytes that a search needs: one matrix of the rows from which weights are learnt."""
    return 8 * min(rows, FEWEST_LEARNING_ROWS) ** 2


def learning_jobs(memory: int, rows: int, n_jobs: int | None) -> int:
    """Threads that learn the weights: beside six matrices of the rows, each holds three."""
    fitting = (memory // (8 * rows**2) - 6) // 3
    return int(np.clip(fitting, 1, count_jobs(n_jobs)))


class Learnt(NamedTuple):
    """A kernel that was learnt (None before), the steps that were taken, and those it has kept."""

    kernel: Any
    taken: int
    kept: int


def learn_kernel(
    candidate: Candidate,
    settings: SearchSettings,
    rows: np.ndarray,
    *,
    steps: int | None = None,
    on_step: Callable[[int, float], bool | None] | None = None,
) -> Learnt:
    """The kernel of a candidate with weights learnt from some rows, in random order.

    ``steps`` are those of a metric, all of which are taken; None chooses their number. ``on_step``
    is called with (step, error) after each step; if it returns True, the learning ends.
    """
    features, M, Y = settings.features, settings.M[rows], settings.Y[rows]
    weights, memory, n_jobs = settings.weights_of(rows), settings.memory, settings.n_jobs
    if candidate.family == "metric":
        numbers, n = candidate.numbers(features), len(M)
        found = learn_metric(
            M.select(numbers), Y, weights, form=FORMS[candidate.form],
            steps=METRIC_STEPS if steps is None else steps, chosen=steps is None,
            held=n // (2 if n > LEARNING_ROWS else 5), on_step=on_step,
        )  # fmt: skip
        kernel = candidate.kernel(features, _brief_map(found.kernel))
        return Learnt(kernel.bind(kernel.encode(M)), len(found.errors), found.step)
    if candidate.family == "screened":
        columns = read_as(features, "scaled", "code")
        kernel = candidate.kernel(features, only=foremost(M, columns, Y, weights, candidate.kept))
        return Learnt(kernel.bind(kernel.encode(M)), 1, 1)
    kernel, X = candidate.bound(features, M)
    if candidate.family == "many":
        found = learn_sum(kernel, X, Y, weights, memory=memory, n_jobs=n_jobs)
        return Learnt(_brief_sum(found), 1, 1)
    jobs = learning_jobs(memory, len(M), n_jobs)
    learnt = learn_interactions(
        kernel, X, Y, weights, steps=LEARNING_STEPS, n_jobs=jobs, on_step=on_step
    )
    return Learnt(_brief_weights(learnt.kernel), len(learnt.errors), len(learnt.errors))


def _brief_weights(kernel: TableKernel) -> TableKernel:
    """The kernel with weights of four digits, so that reports and code show what it computes."""
    return TableKernel(kernel.parts, kernel.combine, [float(f"{w:.4g}") for w in kernel.weights])


def _brief_sum(kernel: TableKernel) -> TableKernel:
    """The kernel with weights of four decimals whose sum is 1, without those that are 0."""
    weights = [round(w, 4) for w in kernel.weights]
    first = int(np.argmax(weights))
    weights[first] = round(weights[first] + 1 - sum(weights), 4)
    kept = [j for j, w in enumerate(weights) if w > 0]
    return TableKernel([kernel.parts[j] for j in kept], "sum", [weights[j] for j in kept])


def _brief_map(kernel: Any) -> Any:
    """The kernel with a learnt map of four digits each."""
    A = kernel.metric.linear_map
    brief = np.reshape([float(f"{a:.4g}") for a in A.ravel().tolist()], A.shape)
    return kernel.copied(metric__linear_map=brief)
