"""(K + λ W⁻¹) a = y by a solver value that the user gives to a learner."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.gram import GramOperator
from mercer.solvers import Result, worst


def solve_by_value(
    solver: Any, K: GramOperator, y: np.ndarray, weights: np.ndarray | None, penalty: Any
) -> Result:
    """The solution for one λ or one for each target, in the place of the solver's ``penalty``.

    A solver that says ``several = False`` is asked for one target after the other.
    """
    if y.ndim == 1 or getattr(solver, "several", True):
        return _checked(solver, replace(solver, penalty=penalty).solve(K, y, weights), y)
    results = [
        _checked(solver, replace(solver, penalty=float(λ)).solve(K, target, weights), target)
        for λ, target in zip(np.broadcast_to(penalty, y.shape[1]), y.T)
    ]
    return replace(
        worst(results),
        coef=np.column_stack([result.coef for result in results]),
        objective=sum(result.objective for result in results),
        iterations=max(result.iterations for result in results),
    )


def _checked(solver: Any, result: Any, y: np.ndarray) -> Result:
    """The result, if it is one with coefficients for y."""
    coef = result.coef if isinstance(result, Result) else None
    if coef is None or coef.shape != y.shape:
        found = "" if coef is None else f" with coef of shape {coef.shape}"
        raise ValueError(
            f"solver={solver!r}: solve() returned a {type(result).__name__}{found}, but it must "
            f"return a mercer.solvers.Result with coef of shape {y.shape}."
        )
    return result
