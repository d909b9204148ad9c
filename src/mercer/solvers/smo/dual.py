"""The dual problems of all support vector machines in one form, for `SmoSolver`.

The problem, in LIBSVM's form (Chang & Lin, ACM TIST 2011, sections 2 and 4), has v variables; each
belongs to a row of K:

    min ½ αᵀQα + pᵀα,   0 <= α_i <= C_i,   Q_ij = y_i y_j K[row_i, row_j],   y_i = ±1

Machines with C have the constraint yᵀα = 0. Machines with ν have two constraints instead: Σ α over
y = +1 and Σ α over y = -1 are given. The one-class machine has only y = +1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LAST_DIGITS = 4 * float(np.finfo(float).eps)  # relative error of a sum, as measured on all kernels


@dataclass(frozen=True)
class DualProblem:
    r"""The dual problem of a support vector machine, without K:

    .. math:: \min_\alpha \, \tfrac12 \alpha^\top Q \alpha + p^\top \alpha, \qquad
              0 \le \alpha_i \le C_i, \qquad
              y^\top \alpha = 0, \qquad Q_{ij} = y_i y_j K_{r_i r_j}

    :math:`r_i` is the row of K that variable i reads.

    Attributes
    ----------
    rows : ndarray of shape (v,), int
        The row of K that each variable reads.
    y : ndarray of shape (v,)
        +1 or -1.
    p : ndarray of shape (v,)
        The linear term.
    C : ndarray of shape (v,)
        Upper bounds; infinite for a hard margin.
    sums : (float, float), optional
        Σ α over y = +1 and over y = -1 if they are given; None for the constraint yᵀα = 0.

    References
    ----------
    Chang & Lin, "LIBSVM: a library for support vector machines", ACM TIST 2, 2011, sections 2 and
    4.

    Examples
    --------
    >>> problem = DualProblem.regression(np.array([3.0, 5.0]), C=np.ones(2), epsilon=0.5)
    >>> problem.rows.tolist(), problem.y.tolist(), problem.p.tolist()
    ([0, 1, 0, 1], [1.0, 1.0, -1.0, -1.0], [-2.5, -4.5, 3.5, 5.5])
    """

    rows: np.ndarray
    y: np.ndarray
    p: np.ndarray
    C: np.ndarray
    sums: tuple[float, float] | None = None

    @classmethod
    def classification(cls, y: np.ndarray, C: np.ndarray) -> DualProblem:
        """The soft-margin machine for labels ±1: max Σα - ½ αᵀQα."""
        n = len(y)
        return cls(np.arange(n), y.astype(float), -np.ones(n), C.astype(float))

    @classmethod
    def regression(cls, target: np.ndarray, C: np.ndarray, epsilon: float) -> DualProblem:
        """ε-insensitive regression: first the variables α above the tube, then α* below it."""
        rows, y, p, C = _above_and_below(target, C)
        return cls(rows, y, p + epsilon, C)

    @classmethod
    def quantile(cls, target: np.ndarray, C: np.ndarray, level: float) -> DualProblem:
        """Regression with the pinball loss of a quantile: an error above costs ``level`` times C,
        and one below 1 - ``level`` times C (Takeuchi et al., JMLR 2006, section 3.3)."""
        rows, y, p, _ = _above_and_below(target, C)
        return cls(rows, y, p, np.concatenate([level * C, (1 - level) * C]).astype(float))

    @classmethod
    def nu_classification(cls, y: np.ndarray, w: np.ndarray, nu: float) -> DualProblem:
        """ν-classification before the division by ρ: Σ α = ν Σ w / 2 in each class."""
        half = nu * float(w.sum()) / 2
        return cls(np.arange(len(y)), y.astype(float), np.zeros(len(y)), w.astype(float),
                   (half, half))  # fmt: skip

    @classmethod
    def nu_regression(cls, target: np.ndarray, C: np.ndarray, nu: float) -> DualProblem:
        """ν-regression, where ε is a multiplier: Σ α = Σ α* = ν Σ C / 2."""
        rows, y, p, bounds = _above_and_below(target, C)
        half = nu * float(C.sum()) / 2
        return cls(rows, y, p, bounds, (half, half))

    @classmethod
    def one_class(cls, w: np.ndarray, nu: float) -> DualProblem:
        """The hyperplane that separates the rows from the origin, with Σ α = ν Σ w."""
        n = len(w)
        return cls(np.arange(n), np.ones(n), np.zeros(n), w.astype(float), (nu * float(w.sum()), 0))

    def rounding(
        self, alpha: np.ndarray, f: np.ndarray, levels: np.ndarray, sums: np.ndarray
    ) -> np.ndarray:
        """How much rounding errors of f can change each variable's term of the duality gap, (v,).

        The error of f_i = Σ_j K_ij β_j is a few units of the last digit of ``Σ_j |K_ij β_j|``. The
        term of a variable is α_i times its slope y_i (f_i - ρ), or (α_i - C_i) times it where it is
        negative.

        Parameters
        ----------
        alpha, f, levels : ndarray of shape (v,)
            ``levels`` has ρ for each variable.
        sums : ndarray of shape (v,)
            ``Σ_j |K_ij β_j|``, or what is known to be larger: ``√K_ii Σ_j √K_jj |β_j|``.
        """
        slope = self.y * (f - levels)
        error = LAST_DIGITS * (sums + np.abs(f) + np.abs(levels) + np.abs(self.p))
        below = np.where(np.isfinite(self.C), self.C - alpha, 0.0)  # a hard margin has no errors
        room = np.where(slope > -error, alpha, 0.0)
        return error * np.maximum(room, np.where(slope < error, below, 0.0))

    def feasible(self, alpha: np.ndarray | None = None) -> np.ndarray:
        """A feasible α (n,), in the box with the right sums, near a given α, or near 0 for None.

        If the sums are not given, α of the sign with the larger sum is scaled down.
        """
        if alpha is None and self.sums is None:
            return np.zeros(len(self.y))
        alpha = np.zeros(len(self.y)) if alpha is None else np.clip(alpha, 0, self.C)
        signs = [self.y > 0, self.y < 0]
        sums = self.sums or [min(alpha[sign].sum() for sign in signs)] * 2
        for sign, wanted in zip(signs, sums):
            alpha[sign] = _with_sum(alpha[sign], self.C[sign], wanted)
        return alpha


def _above_and_below(target: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, ...]:
    """The variables of a regression: one for errors above and one for errors below."""
    n = len(target)
    rows = np.concatenate([np.arange(n)] * 2)
    return (
        rows,
        np.repeat([1.0, -1.0], n),
        np.concatenate([-target, target]).astype(float),
        np.concatenate([C, C]).astype(float),
    )


def _with_sum(alpha: np.ndarray, C: np.ndarray, wanted: float) -> np.ndarray:
    """α with the sum ``wanted``: scaled down, or raised to the bounds one after the other."""
    total = alpha.sum()
    if abs(total - wanted) <= LAST_DIGITS * total:  # a factor would move those at their bounds
        return alpha
    if total >= wanted:
        return alpha * (wanted / total) if total > 0 else alpha
    room = np.cumsum(C - alpha)
    short = wanted - total
    last = min(int(np.searchsorted(room, short)), len(alpha) - 1)
    filled = np.concatenate([C[:last], alpha[last:]])
    filled[last] = min(C[last], alpha[last] + short - (room[last - 1] if last else 0.0))
    return filled


def rounding_room(tol: float, C: np.ndarray) -> float:
    """The largest relative error of K's entries that optimality within ``tol`` allows.

    (f is a sum of entries with weights up to C.)
    """
    return tol / (10 * max(1.0, float(C.max(initial=0))))


def known_levels(levels: Sequence[float], groups: bool) -> tuple[float, ...]:
    """The level of each group that has variables: a machine of one class has none in the other."""
    return tuple(level for level in levels[: 1 + groups] if np.isfinite(level))
