"""The linear system of ridge regression, (K + λ W⁻¹) a = y, that several solvers solve.

Weights mean repetition: a row of weight 2 counts as two equal rows, a row of weight 0 as none.
With s = √w and the rows of weight 0 left out, z = a / s solves the symmetric system

    (S + λ I) z = s y,   S = s K sᵀ,

which exists for every weight and is as well conditioned as K + λ I is. This module holds that
change of variables and the certificate of a solution; the factorisations are in the solvers. What
all of these do with their penalties is at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mercer.gram import DenseGram, GramOperator
from mercer.solvers.result import Result, worst


class RidgeSystem:
    """S and the map between (y, a) and the variables of (S + λ I) z = s y.

    Parameters
    ----------
    K : GramOperator of shape (n, n)
        Symmetric, and "factorise" is cheap.
    weights : array of shape (n,) or None
        Weights of the rows: at least 0, and not all 0.
    """

    def __init__(self, K: GramOperator, weights: np.ndarray | None = None):
        self.n = K.shape[0]
        self.kept: np.ndarray | None = None
        self.scale: np.ndarray | None = None
        self.dropped = DenseGram(np.empty((0, 0)))
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
            if not weights.all():  # rows of weight 0 are predicted from the others
                self.kept = np.flatnonzero(weights)
                rest = np.setdiff1d(np.arange(self.n), self.kept)
                self.dropped = DenseGram(K.block(rest, self.kept))
                K, weights = K.part(self.kept), weights[self.kept]
            if (weights != 1).any():
                self.scale = np.sqrt(weights)
        self.K = K.held()
        self.S = self.K if self.scale is None else self.K.scaled(self.scale)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.K.dtype)

    def right_side(self, y: np.ndarray) -> np.ndarray:
        """s y of the rows kept, float64 of shape (rows, outputs)."""
        b = np.array(y, dtype=np.float64).reshape(self.n, -1)
        b = b if self.kept is None else b[self.kept]
        return b if self.scale is None else b * self.scale[:, None]

    def coef(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """a = s z, 0 where the weight is 0, in the shape of y."""
        a = z if self.scale is None else z * self.scale[:, None]
        if self.kept is not None:
            full = np.zeros((self.n, a.shape[1]))
            full[self.kept] = a
            a = full
        return a.reshape(np.shape(y))

    def residual(self, z: np.ndarray, b: np.ndarray, penalty: float) -> np.ndarray:
        """b - (S + λ I) z in float64, whatever the precision of K."""
        s = 1.0 if self.scale is None else self.scale[:, None]
        return b - s * self.K.wide_product(s * z) - penalty * z

    def norm(self, penalty: float) -> float:
        """An upper bound of ‖S + λ I‖₂: the Frobenius norm of S, plus λ."""
        return self.S.norm() + penalty

    def objective(self, z: np.ndarray, b: np.ndarray, r: np.ndarray, penalty: float) -> float:
        """Σ w (y - K a)² + λ aᵀ K a, of the solution z with residual r."""
        error = r + penalty * z  # s (y - K a)
        return float(np.sum(error**2) + penalty * np.sum(z * (b - error)))

    def leave_one_out(self, z: np.ndarray, diagonal: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Predictions for each row by the fit without it, in the shape of y.

        y_i - z_i / (s_i [(S + λ I)⁻¹]_ii): Rasmussen & Williams 2006, eq. 5.12, for a weighted
        row with all its copies left out.
        """
        Y = np.asarray(y, dtype=np.float64).reshape(self.n, -1)
        s = 1.0 if self.scale is None else self.scale[:, None]
        if self.kept is None:
            return (Y - z / (s * diagonal[:, None])).reshape(np.shape(y))
        out = np.empty_like(Y)
        out[self.kept] = Y[self.kept] - z / (s * diagonal[:, None])
        out[np.setdiff1d(np.arange(self.n), self.kept)] = self.dropped.wide_product(s * z)
        return out.reshape(np.shape(y))


def solve_by_penalty(
    solve: Callable[[np.ndarray, float], Result], y: np.ndarray, penalty: float | np.ndarray
) -> Result:
    """solve(y, λ) for one λ, or with one for each output, once for all outputs that share λ.

    The result of several is the one that converged least, with the coefficients of all outputs and
    the sum of their objectives.
    """
    if np.size(penalty) == 1:
        return solve(y, float(np.ravel(penalty)[0]))
    penalty = np.asarray(penalty)
    if np.shape(y)[1:] != penalty.shape:
        raise ValueError(
            f"penalty has shape {penalty.shape}, but y has shape {np.shape(y)}: give a number, or "
            "one for each column of y."
        )
    parts = [(penalty == λ, solve(y[:, penalty == λ], float(λ))) for λ in np.unique(penalty)]
    coef = np.empty((len(parts[0][1].coef), y.shape[1]))
    for columns, part in parts:
        coef[:, columns] = part.coef
    last = worst([part for _, part in parts])
    return replace(last, coef=coef, objective=sum(part.objective for _, part in parts))


def check_penalties(penalties: Sequence[float] | np.ndarray) -> np.ndarray:
    """The penalties as a float64 array of positive numbers."""
    penalties = np.asarray(penalties, dtype=np.float64)
    if penalties.ndim != 1 or not (penalties > 0).all():
        raise ValueError(
            f"penalties={penalties}: give a sequence of positive numbers; without a penalty a "
            "leave-one-out prediction need not exist."
        )
    return penalties
