"""Exact leave-one-out of a support vector machine: the value of each row by the machine without it.

Only support vectors change the function, and the two rows at whose values its intercept ends may
change that, where no α is between its bounds: without another row the machine stays the same.
Without one of these the dual has a bound of 0 for its variables, and the solution of all rows is
near: other rows of the same sign take over the α, the most similar ones first (alpha seeding:
DeCoste & Wagstaff, KDD 2000). The row's value is then in Kβ, which the solver keeps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mercer.gram import GramOperator
from mercer.solvers.result import Reason
from mercer.solvers.rows import RowSource
from mercer.solvers.smo.dual import DualProblem
from mercer.solvers.smo.smo import SmoResult, SmoSolver
from mercer.threads import ordered_map, raise_if_stopped


class LeftOut(NamedTuple):
    """What `leave_out` has found.

    Attributes
    ----------
    rows : ndarray of int
        The support vectors, and two rows that may tell the intercept.
    values : ndarray
        f at each of them, by the machine that is fitted to all other rows.
    results : list of SmoResult
        These machines.
    """

    rows: np.ndarray
    values: np.ndarray
    results: list[SmoResult]


def leave_out(
    solver: SmoSolver,
    K: GramOperator,
    problem: DualProblem,
    alpha: np.ndarray,
    source: RowSource | None = None,
) -> LeftOut:
    """The values of all rows that change the machine, without themselves.

    Parameters
    ----------
    solver : SmoSolver
    K : GramOperator of shape (n, n)
    problem : DualProblem
        A problem with C: its ``sums`` must be None.
    alpha : ndarray of shape (v,)
        The solution for all rows.
    source : RowSource, optional
        Rows of K, from ``solver.rows_of``.

    Notes
    -----
    One solution for each of these rows, which takes few steps and reads few rows of K, O(n)
    operations each; and one product of K with β.

    Raises
    ------
    ValueError
        The sums of α are given: they would change with the rows.

    Examples
    --------
    Without the middle one of three rows, the boundary is half-way between the others:

    >>> from mercer.gram import gram
    >>> from mercer.kernels import Linear
    >>> K = gram(Linear(), np.array([[-1.0], [0.5], [1.0]]))
    >>> problem = DualProblem.classification(np.array([-1.0, 1.0, 1.0]), C=np.full(3, 9.0))
    >>> solver = SmoSolver(tol=1e-6)
    >>> found = leave_out(solver, K, problem, solver.solve(K, problem).alpha)
    >>> found.rows.tolist(), found.values.round(6).tolist()
    ([0, 1], [1.0, 0.5])
    """
    if problem.sums is not None:
        raise ValueError(
            "sums of α are given, as for machines with ν: each row that is left out changes them."
        )
    source = solver.rows_of(K, problem.C) if source is None else source
    whole = _uninterrupted(solver.solve(K, problem, alpha, source))
    known = whole.alpha
    assert known is not None
    assert whole.products is not None
    ends = _ends(problem, known, whole.products)
    rows = np.union1d(np.flatnonzero(whole.coef), ends)

    def without(row: int) -> tuple[float, SmoResult]:
        raise_if_stopped()
        less = replace(problem, C=np.where(problem.rows == row, 0.0, problem.C))
        start = handed_on(K, problem, known, row)
        result = _uninterrupted(solver.solve(K, less, start, source, whole))
        assert result.products is not None
        return float(result.products[row] + result.intercept), result

    jobs = solver.n_jobs if source.stateless else 1
    found = list(ordered_map(without, rows.tolist(), jobs))
    return LeftOut(rows, np.array([value for value, _ in found]), [each for _, each in found])


def _ends(problem: DualProblem, alpha: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Rows at whose values the interval of the optimal intercepts ends."""
    positive, above, below = problem.y > 0, alpha > 0, alpha < problem.C
    f = products[problem.rows] + problem.y * problem.p
    rising, falling = np.where(positive, below, above), np.where(positive, above, below)
    first = np.where(rising, f, np.inf).argmin()
    last = np.where(falling, f, -np.inf).argmax()
    return problem.rows[[first, last]]


def handed_on(K: GramOperator, problem: DualProblem, alpha: np.ndarray, row: int) -> np.ndarray:
    """α without a row: other rows of the same sign have taken over its α, as far as their bounds
    allow, the most similar ones first."""
    alpha = alpha.copy()
    similar = K.block(np.array([row]), slice(None))[0][problem.rows]
    for v in np.flatnonzero((problem.rows == row) & (alpha > 0)):
        owed, alpha[v] = alpha[v], 0.0
        others = np.flatnonzero((problem.y == problem.y[v]) & (problem.rows != row))
        order = others[np.argsort(-similar[others], kind="stable")]
        room = problem.C[order] - alpha[order]
        before = np.concatenate([[0.0], np.cumsum(room)[:-1]])[: len(room)]
        alpha[order] += np.clip(owed - before, 0.0, room)
    return alpha


def _uninterrupted(result: SmoResult) -> SmoResult:
    """The result; after Ctrl-C KeyboardInterrupt, because it is a part of other work."""
    if result.reason is Reason.INTERRUPTED:
        raise KeyboardInterrupt
    return result
