r"""Weights of a distance, and so a width for each feature, by the leave-one-out error of a window.

The Gaussian window :math:`K = \exp(-ρ^2 / 2)` gives the leave-one-out mean of the targets of each
row in closed form, and its error a gradient by the weights. L-BFGS moves their logarithms within
bounds. (Weinberger & Tesauro, "Metric learning for kernel regression", AISTATS 2007, for a diagonal
metric and any power.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer.distances import Distance
from mercer.gram import Place
from mercer.learners.windows.totals import SHAPES, candidate_widths, window_totals
from mercer.threads import ordered_map, raise_if_stopped

ROWS = 2000  # most rows for learning: an evaluation computes all their pairs
STRIP = 256  # rows at a time
BOUND = float(np.log(1e4))  # most that a weight changes, up; down it may change twice as much
STEPS = 60


def learn_feature_widths(
    X: Any, Y: np.ndarray, w: np.ndarray, distance: Distance, place: Place
) -> Distance:
    r"""A copy of the distance with the weights of the least squared leave-one-out error.

    Parameters
    ----------
    X : encoded samples
        If there are more than 2,000 rows, the weights are learnt from 2,000 at equal steps.
    Y : ndarray of shape (n, t)
    w : ndarray of shape (n,)
        Weights of the rows.
    distance : Distance
        With ``weights``: `raw` is a weighted sum of terms. Weights that are 0 stay 0.
    place : Place
        Memory and threads.

    Notes
    -----
    O(n² d) operations for each of at most 60 evaluations; memory O(n), and a strip of 256 rows.

    Raises
    ------
    TypeError
        The distance is not a weighted sum of terms.
    """
    if not distance.terms(X):
        distance.term(X[:1], X[:1], 0)  # which says why
    step = max(1, -(-X.shape[0] // ROWS))
    X, Y, w = X[::step], Y[::step].astype(np.float64), w[::step]
    problem = _Problem(X, Y, w, distance, place)
    start = problem.start()
    positive = start > 0
    bounds = [(t - 2 * BOUND, t + BOUND) for t in np.log(start[positive])]

    def error(logs: np.ndarray) -> tuple[float, np.ndarray]:
        weights = np.zeros_like(start)
        weights[positive] = np.exp(logs)
        value, slopes = problem.error(weights)
        return value, (slopes * weights)[positive]

    found = minimize(
        error, np.log(start[positive]), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": STEPS, "ftol": 1e-6},
    )  # fmt: skip
    weights = np.zeros_like(start)
    weights[positive] = np.exp(found.x)
    return distance.copied(weights=weights)


class _Problem:
    """The rows that learn, and the leave-one-out error of their window."""

    def __init__(self, X: Any, Y: np.ndarray, w: np.ndarray, distance: Distance, place: Place):
        self.X, self.Y, self.w, self.distance, self.place = X, Y, w, distance, place
        self.ratio = 2 / distance.exponent  # ρ² = raw ** ratio
        spread = Y - np.average(Y, axis=0, weights=w)
        self.share = w / max(float(w @ (spread**2).sum(axis=1)), 1e-300)

    def start(self) -> np.ndarray:
        """Weights for which all terms count equally on average, times those of the distance, at
        the width that is best for them."""
        X, distance, d = self.X, self.distance, self.distance.terms(self.X)
        step = max(1, X.shape[0] // STRIP)
        some, w = X[::step], self.w[::step] / self.w[::step].sum()
        means = np.array([w @ distance.term(some, some, j) @ w for j in range(d)], np.float64)
        given = distance.get_params(deep=False)["weights"]
        weights = np.ones(d) if given is None else np.asarray(given, np.float64)
        weights = np.where(means > 0, weights / np.where(means > 0, means, 1), 0.0)
        if not weights.any():
            raise ValueError(
                "all rows of X are equal, or all weights are 0: no width of a feature can be "
                "learnt; give a number for width."
            )
        alike = distance.copied(weights=weights)
        V = np.column_stack([self.w, self.w[:, None] * self.Y])
        # the mean of the terms is at most the number of columns
        widths = candidate_widths(2 * (weights > 0).sum() ** (1 / distance.exponent), 2.0)
        share = np.minimum(self.w, 1) / self.w
        means = window_totals(
            alike, X, X, V, SHAPES["gaussian"], widths, _mean, left_out=share, place=self.place
        )
        errors = ((means - self.Y) ** 2).sum(axis=2) @ self.share
        return weights / widths[int(np.argmin(errors))] ** distance.exponent

    def error(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """The leave-one-out error, in units of the variance, and its slopes by the weights."""
        distance = self.distance.copied(weights=weights)
        prepared = distance.prepare(self.X)
        rest = np.maximum(self.w - 1, 0)  # of a row with weight 2, one copy is left

        def strip(start: int) -> tuple[float, np.ndarray]:
            raise_if_stopped()
            rows = slice(start, start + STRIP)
            x, y, own = self.X[rows], self.Y[rows], np.arange(start, start + len(self.Y[rows]))
            raw = np.asarray(distance.raw(prepared[rows], prepared), np.float64)
            here = np.arange(len(own)), own
            R = np.maximum(raw, 0) ** self.ratio
            R[here] = np.where(rest[rows] > 0, 0, np.inf)
            R -= R.min(axis=1, keepdims=True)
            K = np.exp(-0.5 * R) * self.w
            K[here] *= rest[rows] / self.w[rows]
            L = K / K.sum(axis=1, keepdims=True)
            a = L @ self.Y
            e = a - y
            # with E = Σ share |a - y|²: ∂E/∂ρ²_ij = -share_i L_ij e_i·(y_j - a_i)
            G = e @ self.Y.T
            G -= np.einsum("it,it->i", e, a)[:, None]
            G *= -self.share[rows, None] * L
            if self.ratio != 1:
                with np.errstate(divide="ignore", invalid="ignore"):
                    G *= np.where(raw > 0, self.ratio * raw ** (self.ratio - 1), 0)
            return float(self.share[rows] @ (e**2).sum(axis=1)), distance.weight_slopes(
                x, self.X, G
            )

        parts = list(ordered_map(strip, range(0, len(self.w), STRIP), self.place.n_jobs))
        return sum(value for value, _ in parts), np.sum([slopes for _, slopes in parts], axis=0)


def _mean(values: np.ndarray, squares: Any, log_scale: Any, rows: slice) -> np.ndarray:
    return values[:, 1:] / values[:, :1]
