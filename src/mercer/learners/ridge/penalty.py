"""The penalty λ of ridge learners: which ones are tried, which one the leave-one-out error chooses
(`least_left_out`), what fits share that differ in it, and the solution for one or for several."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.estimator import Seed
from mercer.gram import GramOperator, LowRankGram, Place, pivots_of_some
from mercer.learners.base import FitPath, Training
from mercer.samples import float_array, row_numbers
from mercer.solvers import (
    CholeskySolver,
    EigenFactor,
    EigenSolver,
    LowRankFactor,
    Result,
    RidgeSweep,
    worst,
)
from mercer.spoken import a_type

PENALTIES = np.logspace(-8, 1, 19)  # choices of alpha="auto", relative to the number of rows
MOST_OUTPUTS = 64  # most outputs on which a penalty is judged
FACTORISATIONS = 8  # for more penalties than that, one eigendecomposition is cheaper


class PenaltyPath(FitPath):
    """Fits that differ in λ share K, and one sweep over their penalties.

    Parameters
    ----------
    values : list
        Values of ``alpha``. Those that are not numbers >= 0 are solved alone, or refused.
    """

    def __init__(self, values: list):
        super().__init__()
        numbers = [v for v in values if isinstance(v, (int, float, np.number))]
        self.penalties = [float(v) for v in numbers if 0 <= v < np.inf]
        self.results: dict[float, Result] = {}

    def solve(self, K: GramOperator, y, w, penalty) -> Result:
        """The solution for one penalty; the first call solves for all of them."""
        if penalty not in self.penalties:
            return solve_densely(K, y, w, penalty)
        if not self.results:
            sweep = RidgeSweep(self.penalties)
            self.results = dict(zip(self.penalties, sweep.solve(K, y, w)))
        return self.results[penalty]


def solve_densely(K: GramOperator, y, w, penalty) -> Result:
    """The solution for one λ or one for each target, by the cheapest exact factorisation."""
    many = np.size(np.unique(penalty)) > FACTORISATIONS
    return (EigenSolver if many else CholeskySolver)(penalty).solve(K, y, w)


def solve_by_value(
    solver: Any, K: GramOperator, y: np.ndarray, weights: np.ndarray | None, penalty: Any
) -> Result:
    """The solution by a solver value of the user's, with one λ or one for each target instead of
    its ``penalty``.

    A solver with ``several = False`` gets one target after the other.
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


def _checked(solver: Any, result: Result, y: np.ndarray) -> Result:
    """The result, if it is one with coefficients for y."""
    coef = result.coef if isinstance(result, Result) else None
    if coef is None or coef.shape != y.shape:
        found = "" if coef is None else f" with coef of shape {coef.shape}"
        raise ValueError(
            f"solver={solver!r}: solve() returned {a_type(result)}{found}, but it must "
            f"return a mercer.solvers.Result with coef of shape {y.shape}."
        )
    return result


def check_penalty(alpha: Any, y: np.ndarray) -> float | np.ndarray:
    """alpha as a number, or as one for each column of y."""
    if isinstance(alpha, str):
        raise ValueError(f'alpha={alpha!r}: give a penalty >= 0, or "auto".')
    penalty = float_array("alpha", alpha)
    outputs = 1 if y.ndim == 1 else y.shape[1]
    if penalty.ndim > 1 or (penalty.ndim == 1 and len(penalty) not in (1, outputs)):
        raise ValueError(
            f"alpha has shape {penalty.shape}, but y has {outputs} targets: give a number, or "
            "one for each target."
        )
    if not ((penalty >= 0) & np.isfinite(penalty)).all():
        raise ValueError(f"alpha={alpha!r}: give a finite penalty >= 0.")
    return float(penalty.flat[0]) if penalty.size == 1 else penalty


def least_left_out(
    factor: EigenFactor | LowRankFactor, y: np.ndarray, weights: np.ndarray | None, budget: int
) -> tuple[float, np.ndarray]:
    """The λ of the least squared leave-one-out error, and its leave-one-out predictions.

    As many of `PENALTIES`, times the sum of the weights, are tried as the budget in bytes allows.
    Many targets are judged by `mixed_outputs`.
    """
    n, judged = len(y), mixed_outputs(y)
    tried = affordable(PENALTIES, judged, budget) * (n if weights is None else weights.sum())
    tried = tried[tried > min(factor.noise, tried[-1] / 2)]  # below, rounding decides
    left_out = factor.leave_one_out(judged, tried)
    squares = np.square(left_out - judged).reshape(len(tried), n, -1).sum(axis=2)
    errors = squares.mean(axis=1) if weights is None else squares @ weights
    best = int(np.argmin(np.where(np.isnan(errors), np.inf, errors)))
    if judged is not y:
        return float(tried[best]), factor.leave_one_out(y, tried[best : best + 1])[0]
    return float(tried[best]), left_out[best]


def without_copies(
    training: Training, y: np.ndarray
) -> tuple[np.ndarray | slice, np.ndarray | slice, np.ndarray | None]:
    """The different rows, which of them each row is, and the weights of all their copies."""
    copies = row_numbers(training.X, np.asarray(y))
    rows = np.unique(copies, return_index=True)[1]
    if len(rows) == len(copies):
        return slice(None), slice(None), training.weights
    return rows, copies, np.bincount(copies, training.weights).astype(np.float64)


def mixed_outputs(Y: np.ndarray) -> np.ndarray:
    """Y, or for more than 64 targets 64 random sums Y R, which have about the same squared errors.

    With independent signs over √64 in R, E ‖E R‖² = ‖E‖² for any errors E, with a relative variance
    of at most 2 / 64; and all penalties are judged by the same R. A thousand classes would take
    minutes otherwise.
    """
    if Y.ndim < 2 or Y.shape[1] <= MOST_OUTPUTS:
        return Y
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (Y.shape[1], MOST_OUTPUTS))
    return Y @ (signs / np.sqrt(MOST_OUTPUTS))


def affordable(penalties: np.ndarray, y: np.ndarray, budget: int) -> np.ndarray:
    """Some of the penalties, spread over their range, whose outputs for all rows fit the budget."""
    most = max(2, int(budget / 4 / (8 * y.size)))
    if len(penalties) <= most:
        return penalties
    return penalties[np.unique(np.linspace(0, len(penalties) - 1, most).round().astype(int))]


CENTRES, ROWS = 1000, 10  # centres, and rows for each of them, from which a sketch is faster
OUTPUTS = 8  # up to which it is
PIVOTED = 5  # random rows for each centre, of which it is one
SQUARES = 40  # bytes for each pair of centres: L, the sketch, its products and their factor


def sketch_pays(rank: int, y: np.ndarray, penalty: Any) -> bool:
    """Whether a fit of one penalty to all rows is faster by a sketch than by normal equations."""
    n = len(y)
    one = np.size(np.unique(penalty)) == 1
    return one and rank >= CENTRES and n >= ROWS * rank and y.size <= OUTPUTS * n


def sketch_bytes(rank: int, n: int, size: int) -> int:
    """What K between all rows and the centres, and the sketch, take of the memory."""
    return 2 * n * rank * size + SQUARES * rank**2


def centres_of_some(
    K: GramOperator, rank: int, random_state: Seed, place: Place
) -> LowRankGram:  # fmt: skip
    """The pivots of some rows, with which K is approximated; refused if memory is short."""
    n = K.shape[0]
    needed = sketch_bytes(rank, n, np.dtype(K.dtype).itemsize)
    if not place.holds(needed):
        place.refuse(needed, f"a sketch of {rank:,} centres", ", or a smaller rank=")
    return pivots_of_some(K, rank, min(n, PIVOTED * rank), random_state)
