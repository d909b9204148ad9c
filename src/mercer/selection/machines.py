"""A fitted kernel machine on encoded rows, and its fit: kernel ridge with the penalty chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.gram import Gram, TiledGram
from mercer.gram.low_rank import low_rank_gram
from mercer.gram.memory import memory_budget
from mercer.gram.schedule import blas_limit
from mercer.kernels import Kernel
from mercer.solvers.low_rank_ridge import LowRankRidge
from mercer.solvers.ridge_path import RidgePath

__all__ = ["EXACT_ROWS", "PENALTIES", "KernelMachine", "fit_machine"]

PENALTIES = np.logspace(-8, 1, 19)  # relative to the number of rows
EXACT_ROWS = 3000  # up to so many rows one eigendecomposition, else a low-rank factor
RANK = 2000


@dataclass
class KernelMachine:
    """f(x) = Σ_i k(x, x_i) a_i + b on encoded rows, with its leave-one-out outputs.

    Attributes
    ----------
    kernel : Kernel
        Bound.
    support : Table
        The rows x_i.
    coef : ndarray of shape (m, outputs)
    intercept : ndarray of shape (outputs,)
    penalty : float
        λ as chosen.
    left_out : ndarray of shape (n, outputs)
        For each training row, the output of the machine fitted without it.
    solver : str
    """

    kernel: Kernel
    support: Any
    coef: np.ndarray
    intercept: np.ndarray
    penalty: float
    left_out: np.ndarray = field(repr=False)
    solver: str = ""

    def outputs(self, M: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """f for the rows of an encoded matrix, (n, outputs)."""
        X = self.kernel.encode(M, like=self.support)
        K = TiledGram(self.kernel, X, self.support, n_jobs)
        return (K @ self.coef).astype(np.float64) + self.intercept


def fit_machine(
    kernel: Kernel,
    X: Any,
    Y: np.ndarray,
    *,
    rank: int | None = None,
    penalties: np.ndarray = PENALTIES,
    random_state: int = 0,
    memory: int | float | str | None = None,
    n_jobs: int | None = None,
) -> KernelMachine:
    """Kernel ridge of Y (n, outputs), the penalty of the least squared leave-one-out error.

    Parameters
    ----------
    kernel : Kernel
        Bound.
    X : encoded samples
    rank : int, optional
        Centres of a low-rank machine. None: an exact one up to 3,000 rows where K fits the memory,
        else 2,000 centres, or as many as fit.
    penalties : ndarray
        Relative to the number of rows.
    """
    n, budget = X.shape[0], memory_budget(memory)
    intercept = Y.mean(axis=0)
    Z = Y - intercept
    exact = rank is None and n <= EXACT_ROWS and 16 * n * n <= budget
    with blas_limit(n):
        if exact:
            system: Any = RidgePath(Gram(kernel, X, memory=memory, n_jobs=n_jobs))
            support, solver = X, "eigenpairs"
        else:
            # the normal equations hold a few rank x rank matrices in float64
            rank = max(1, min(rank or RANK, n, int(np.sqrt(budget / 64))))
            K = low_rank_gram(
                kernel, X, rank, memory=budget, random_state=random_state, n_jobs=n_jobs
            )
            system, support = LowRankRidge(K), X[K.centres]
            solver = f"low rank, {K.rank} centres"
        tried = _affordable(penalties, Z, budget) * n
        left_out = system.leave_one_out(Z, tried)
        errors = np.mean((left_out - Z) ** 2, axis=(1, 2))
        best = int(np.argmin(np.where(np.isnan(errors), np.inf, errors)))
        coef = system.solve(Z, tried[best]).coef
    return KernelMachine(
        kernel, support, coef, intercept, float(tried[best]), left_out[best] + intercept, solver
    )


def _affordable(penalties: np.ndarray, Z: np.ndarray, budget: int) -> np.ndarray:
    """As many of the penalties, spread over their range, as outputs for all rows can be held."""
    most = max(2, int(budget / 4 / (8 * Z.size)))
    if len(penalties) <= most:
        return penalties
    return penalties[np.unique(np.linspace(0, len(penalties) - 1, most).round().astype(int))]
