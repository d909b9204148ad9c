"""Many small support vector machines at once, such as those of all pairs of many classes.

With 190 classes there are 17,955 pairs, of a few rows each, and a call of `SmoSolver` costs far
more than its few steps. Here the steps of all machines are one native call. The few that need more
are left to `SmoSolver`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer import _native
from mercer.solvers.result import Reason
from mercer.solvers.smo.dual import DualProblem
from mercer.solvers.smo.smo import SmoResult
from mercer.solvers.smo.smo_state import NOISE, OVERFLOW

# Machines with ν are divided by their margin, and violate more then. To solve some again costs more
# than a few steps for all.
SHARPER = 1e-3
STEPS = 50  # most SMO steps for each variable, before Newton steps
ROUNDS = 40  # most rounds of SMO and Newton steps: few machines take more than three


def solve_many(
    K: np.ndarray,
    problems: Sequence[DualProblem],
    rows: Sequence[np.ndarray],
    starts: Sequence[np.ndarray | None],
    tol: float,
) -> list[SmoResult]:
    """Solve problems of one kind, each on some rows of K.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    problems : list of DualProblem
        With finite bounds, one variable for each row, and those of y = +1 first where the sums
        are given.
    rows : list of ndarray of int
        The rows of K of each problem.
    starts : list of ndarray or None
        Warm starts.
    tol : float > 0
        Largest violation, as in `SmoSolver`; most machines stop far below it.

    Returns
    -------
    list of SmoResult
        ``converged`` is false, and the reason `Reason.LIMIT`, where a machine needs another solver;
        start that one at its ``alpha``. The reason is `Reason.STALLED` where what is left is
        rounding.
    """
    lengths = np.array([len(each) for each in rows])
    ends = np.cumsum(lengths)
    y, p, C = (np.concatenate([getattr(each, name) for each in problems]) for name in "ypC")
    whole = DualProblem(np.concatenate(rows), y, p, C, problems[0].sums)
    alpha = np.concatenate([each.feasible(start) for each, start in zip(problems, starts)])
    groups, f, out = whole.sums is not None, np.empty_like(alpha), np.empty((len(problems), 7))
    _native.smo_solve_many(
        K,
        whole.rows,
        ends,
        whole.y,
        whole.C,
        whole.p,
        alpha,
        f,
        groups,
        SHARPER * tol,
        STEPS,
        ROUNDS,
        out,
    )
    if not np.isfinite(out[:, [0, 1, 4]]).all():
        raise ValueError(OVERFLOW)
    sums = _sums(K, whole, alpha, lengths)
    out[:, 4] = np.maximum(out[:, 4], 0.0) + _rounding(whole, alpha, f, out, sums, lengths)
    noise = NOISE * np.maximum.reduceat(sums + np.abs(f), ends - lengths)
    parts, coefs = np.split(alpha, ends[:-1]), np.split(whole.y * alpha, ends[:-1])
    return [
        _result(found, part, coef, groups, tol, least)
        for found, part, coef, least in zip(out.tolist(), parts, coefs, noise.tolist())
    ]


def _sums(K: np.ndarray, whole: DualProblem, alpha: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """√K_ii Σ_j √K_jj α_j of each variable, which bounds Σ_j |K_ij| α_j."""
    size = np.sqrt(np.abs(K.diagonal().astype(float)))[whole.rows]
    return size * np.repeat(np.add.reduceat(size * alpha, np.cumsum(lengths) - lengths), lengths)


def _rounding(whole: DualProblem, alpha, f, out, sums, lengths) -> np.ndarray:
    """How much larger the gap of each machine can be because of rounding errors."""
    begins = np.cumsum(lengths) - lengths
    above, below = (np.repeat(levels, lengths) for levels in (out[:, 2], out[:, 3]))
    levels = np.where((whole.y > 0) | (whole.sums is None), above, below)
    return np.add.reduceat(whole.rounding(alpha, f, levels, sums), begins)


def _result(
    found: list, alpha: np.ndarray, coef: np.ndarray, groups: bool, tol: float, noise: float
) -> SmoResult:
    steps, violation, above, below, gap, square, linear = found
    levels = (above, below) if groups else (above,)
    converged = violation <= tol
    reason = Reason.STALLED if violation <= noise else Reason.LIMIT
    return SmoResult(
        coef, -sum(levels) / len(levels), -(square / 2 + linear), gap, int(steps), converged,
        Reason.CONVERGED if converged else reason, "SMO", "duality gap",
        alpha=alpha, square=max(0.0, square), levels=levels, violation=violation,
    )  # fmt: skip
