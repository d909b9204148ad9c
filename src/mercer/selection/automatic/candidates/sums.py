"""Weights of a sum of many kernels: of each column, and of all columns with several widths.

No cross-validation could choose among so many kernels. The sum that is most alike to the targets
has a closed form, and most of its weights are 0.
"""

from __future__ import annotations

import numpy as np

from mercer.gram import Place, gram
from mercer.kernels import On, TableKernel
from mercer.samples import Table
from mercer.solvers import AlignmentWeights
from mercer.solvers.weights import equal_if_none


def learn_sum(
    kernel: TableKernel,
    X: Table,
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    memory: int | None = None,
    n_jobs: int | None = None,
) -> TableKernel:
    r"""The sum :math:`\sum_j \mu_j k_j` with the largest alignment with the targets, μ >= 0.

    The kernel is bound, with ``combine="sum"`` and parts with k(x, x) = 1. The result has the parts
    with a weight that is not 0, and these have the sum 1; all parts have the same weight if none
    tells anything of the targets. As `mercer.MultipleKernelRegressor` with ``method="alignf"``;
    O(n² T²) for T parts, of which no matrix is kept.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> table = np.random.default_rng(0).uniform(size=(200, 2))
    >>> kernel = TableKernel([(Laplacian(), [0]), (Laplacian(), [1])], "sum")
    >>> X = kernel.encode(table)
    >>> learn_sum(kernel, X, np.sin(6 * table[:, :1])).parts
    [(Laplacian(), [0])]
    """
    parts = kernel.parts
    grams = [gram(On(*part), X, place=Place(1, n_jobs)) for part in parts]
    solver = AlignmentWeights(memory=memory, n_jobs=n_jobs)
    mu, _ = equal_if_none(solver.solve(grams, Y, weights).coef)
    used = np.flatnonzero(mu)
    return TableKernel([parts[j] for j in used], "sum", mu[used].tolist())
