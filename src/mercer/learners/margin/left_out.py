"""Leave-one-out of `SVC`: what each training row gets from machines that are fitted without it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from mercer.kernels import Precomputed
from mercer.learners.margin.many_classes import ManyClasses
from mercer.learners.margin.support_vectors import CONTINUED
from mercer.learners.margin.warm_starts import WarmStarts
from mercer.samples import MatrixRows
from mercer.solvers import worst
from mercer.solvers.smo import leave_out
from mercer.threads import blas_limit


def values_left_out(
    learner: ManyClasses, solver: Any, K: Any, codes: np.ndarray, bounds: np.ndarray,
    fit_path: WarmStarts, values: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Values of the machines for each training row (n, machines), fitted without this row.

    ``values`` are those of the machines of all rows, which are fitted on the path already. Rows
    change only the machines that they are support vectors of.
    """
    values, results = values.astype(np.float64), []
    with blas_limit(len(codes)):
        for machine, (rows, problem) in enumerate(learner.machines(codes, bounds)):
            part = K if len(rows) == len(codes) else K.part(rows)
            alpha = fit_path.start(machine, problem.C)
            assert alpha is not None  # fitted on this path
            found = leave_out(
                solver, part, problem, alpha, fit_path.source(part, solver, problem.C)
            )
            values[rows[found.rows], machine] = found.values
            results += found.results
    if results:
        worst(results).conclude(CONTINUED)
    return values


def looked_up(learner: ManyClasses, values: np.ndarray) -> tuple[ManyClasses, MatrixRows]:
    """The learner with given values (n, machines) for n samples, and these samples."""
    machine, every = copy.copy(learner), np.arange(values.shape[1])
    machine.kernel_ = Precomputed()
    machine.set_values(MatrixRows(None, every, every, len(every), values.dtype))
    return machine, MatrixRows(values, np.arange(len(values)), None, len(every), values.dtype)
