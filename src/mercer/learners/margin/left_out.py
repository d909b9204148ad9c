"""Leave-one-out of `SVC` and `SVR`: what each training row gets from machines fitted without it."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from mercer.kernels import Precomputed
from mercer.learners.margin.support_vectors import CONTINUED, SupportVectorMachine
from mercer.learners.margin.warm_starts import WarmStarts
from mercer.samples import MatrixRows
from mercer.solvers import worst
from mercer.solvers.smo import DualProblem, leave_out
from mercer.threads import blas_limit

Machine = TypeVar("Machine", bound=SupportVectorMachine)


def values_left_out(
    solver: Any, K: Any, machines: Iterable[tuple[np.ndarray, DualProblem]], fit_path: WarmStarts,
    values: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Values of the machines for each training row (n, machines), fitted without this row.

    ``machines`` are the rows and the dual of each, and ``values`` those that they have by all rows,
    which they are fitted to on the path already. Rows change only the machines that they are
    support vectors of.
    """
    values, results = values.astype(np.float64), []
    with blas_limit(len(values)):
        for machine, (rows, problem) in enumerate(machines):
            part = K if len(rows) == len(values) else K.part(rows)
            alpha = fit_path.start(machine, problem.C)
            assert alpha is not None  # fitted on this path
            source = fit_path.source(part, solver, problem.C)
            found = leave_out(solver, part, problem, alpha, source)
            values[rows[found.rows], machine] = found.values
            results += found.results
    if results:
        worst(results).conclude(CONTINUED)
    return values


def looked_up(learner: Machine, values: np.ndarray) -> tuple[Machine, MatrixRows]:
    """The learner with given values (n, machines) for n samples, and these samples."""
    machine, every = copy.copy(learner), np.arange(values.shape[1])
    machine.kernel_ = Precomputed()
    machine.set_values(MatrixRows(None, every, every, len(every), values.dtype))
    return machine, MatrixRows(values, np.arange(len(values)), None, len(every), values.dtype)
