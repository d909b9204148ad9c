"""What every solver returns, and why it stopped."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import Enum

import numpy as np
from sklearn.exceptions import ConvergenceWarning

__all__ = ["ConvergenceWarning", "Reason", "Result"]


class Reason(Enum):
    """Why a solver stopped; the text says what to try next."""

    CONVERGED = "converged: the certificate is below the tolerance"
    LIMIT = "stopped at the iteration limit: raise max_iter, or loosen tol"
    STALLED = (
        "stopped without further progress: the tolerance is below what the precision allows; "
        "loosen tol, or use float64"
    )
    INFEASIBLE = "found no solution: the constraints contradict each other"
    SINGULAR = (
        "met a singular matrix and gives the least-squares solution of minimum norm: raise the "
        "penalty, or remove duplicate samples"
    )
    INTERRUPTED = "interrupted: the best solution so far is kept"


@dataclass(frozen=True)
class Result:
    """The solution of a numerical problem, and its certificate.

    Attributes
    ----------
    coef : ndarray of shape (n,) or (n, outputs)
    intercept : float or ndarray of shape (outputs,)
    objective : float
        Value of the minimised function at the solution.
    gap : float
        Certificate: duality gap or relative residual, as the solver says.
    iterations : int
    converged : bool
    reason : Reason
    """

    coef: np.ndarray
    intercept: float | np.ndarray = 0.0
    objective: float = np.nan
    gap: float = 0.0
    iterations: int = 1
    converged: bool = True
    reason: Reason = Reason.CONVERGED

    def warn_unless_converged(self, solver: str, certificate: str, hint: str = "") -> None:
        """Issue a ConvergenceWarning with the measured figure and the remedy."""
        if not self.converged:
            warnings.warn(
                f"{solver} {self.reason.value}. Measured {certificate}: {self.gap:.3g} after "
                f"{self.iterations} iteration{'s' if self.iterations != 1 else ''}."
                + (f" {hint}." if hint else ""),
                ConvergenceWarning,
                stacklevel=3,
            )
