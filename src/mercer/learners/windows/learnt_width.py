r"""The width of a window, and the weights of a distance, by the gradient of the leave-one-out loss.

A window without end, :math:`K = \exp(-c (ρ / h)^q)`, gives the mean of the targets over the other
rows in closed form, as a softmax of :math:`-c (ρ / h)^q`, and its loss has a gradient in the
weights :math:`w_j` of :math:`ρ^e = \sum_j w_j t_j`. A distance without weights is one term, whose
weight says the width. L-BFGS moves the logarithms of the weights within bounds. (Goldberger et al.,
"Neighbourhood Components Analysis", NIPS 2004; Weinberger & Tesauro, "Metric learning for kernel
regression", AISTATS 2007, for a diagonal metric, any power and any loss.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer.distances import Distance
from mercer.gram import Place
from mercer.learners.windows.totals import WindowShape, candidate_widths, window_totals
from mercer.samples import Samples
from mercer.threads import ordered_map, raise_if_stopped

LEAST_PROBABILITY = 1e-7  # a right class without any vote costs its logarithm


class SquaredErrors:
    """The mean over the outputs of (a - y)²."""

    @staticmethod
    def values(a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The loss of each row, from a (..., n, t) and y (n, t): (..., n)."""
        return ((a - y) ** 2).mean(axis=-1)

    @staticmethod
    def slopes(a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """∂ loss / ∂a, (n, t)."""
        return 2 * (a - y) / y.shape[1]

    @staticmethod
    def scale(y: np.ndarray, w: np.ndarray) -> float:
        """The mean loss of the mean over all rows."""
        return float(np.average(SquaredErrors.values(np.average(y, 0, w), y), weights=w))


class LogLoss:
    """-log p of the right class, where a are the shares of the classes and y their indicators."""

    @staticmethod
    def values(a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The loss of each row, from a (..., n, t) and y (n, t): (..., n)."""
        return -np.log(np.maximum((a * y).sum(axis=-1), LEAST_PROBABILITY))

    @staticmethod
    def slopes(a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """∂ loss / ∂a, (n, t); 0 where p is at its floor."""
        p = (a * y).sum(axis=-1, keepdims=True)
        return np.where(p > LEAST_PROBABILITY, -y / np.maximum(p, LEAST_PROBABILITY), 0.0)

    @staticmethod
    def scale(y: np.ndarray, w: np.ndarray) -> float:
        """1: the loss has a unit of its own."""
        return 1.0


Loss = type[SquaredErrors] | type[LogLoss]


ROWS = 2000  # most rows for learning: an evaluation reads all their pairs
STRIP = 256  # rows at a time
MATRICES, LEAST = 7, 8  # of numbers between a strip and all rows; rows of a strip
BOUND = float(np.log(1e4))  # most that a weight changes, up; down it may change twice as much
STEPS = 60


def learn_width(
    X: Samples,
    Y: np.ndarray,
    w: np.ndarray,
    distance: Distance,
    shape: WindowShape,
    loss: Loss,
    place: Place,
) -> tuple[Distance, float]:
    r"""A distance and a width of the least leave-one-out loss.

    Parameters
    ----------
    X : encoded samples
        If there are more than 2,000 rows, 2,000 at equal steps are learnt from.
    Y : ndarray of shape (n, t)
    w : ndarray of shape (n,)
        Weights of the rows.
    distance : Distance
        If its `raw` is a weighted sum of terms, the weights are learnt, and those that are 0 stay
        0; otherwise the width alone is.
    shape : WindowShape
        A window without end.
    loss : SquaredErrors or LogLoss
    place : Place
        Memory and threads.

    Returns
    -------
    distance : Distance
        The distance with the learnt weights.
    width : float
        h; 1 beside learnt weights.

    Notes
    -----
    At most 60 evaluations, each O(n² d) operations for d terms. Where a pair takes long, as one of
    strings, the terms are computed once, if ``place`` holds 8 n² d bytes. Otherwise memory is O(n)
    and a strip of 256 rows.
    """
    step = max(1, -(-X.shape[0] // ROWS))
    problem = LeftOutLoss(
        X[::step], Y[::step].astype(np.float64), w[::step], distance, shape, loss, place
    )
    weights = problem.learnt()
    if problem.terms.weighted:
        return distance.copied(weights=weights), 1.0
    return distance, float(weights[0] ** (-1 / distance.exponent))


class Terms(ABC):
    """ρ ** e between rows as a weighted sum of terms, of which it is the only one if it is not.

    Parameters
    ----------
    X : encoded samples (n)
    distance : Distance
    """

    def __init__(self, X: Samples, distance: Distance):
        self.X, self.distance = X, distance
        self.count = distance.terms(X) or 1
        self.weighted = distance.terms(X) > 0

    @property
    def given(self) -> np.ndarray:
        """The weights of the distance, (count,)."""
        known = self.distance.get_params(deep=False)["weights"] if self.weighted else None
        return np.ones(self.count) if known is None else np.asarray(known, np.float64)

    def weighed(self, weights: np.ndarray) -> Distance:
        """The distance with these weights; without terms, itself."""
        return self.distance.copied(weights=weights) if self.weighted else self.distance

    def between(self, x: Any, z: Any, j: int) -> np.ndarray:
        """t_j between encoded rows."""
        if self.weighted:
            return self.distance.term(x, z, j)
        return self.distance.raw(*self.distance.sides(x, z))

    @abstractmethod
    def begin(self, weights: np.ndarray) -> None:
        """Use these weights from now on."""

    @abstractmethod
    def sums(self, rows: slice) -> np.ndarray:
        """Σ_j w_j t_j of some rows and all, (r, n), float64; a new array."""

    @abstractmethod
    def slopes(self, rows: slice, coef: np.ndarray) -> np.ndarray:
        """Σ coef · t_j over these pairs, (count,)."""


class ComputedTerms(Terms):
    """Terms that are computed whenever they are used."""

    def begin(self, weights: np.ndarray) -> None:
        self.weights, self.now = weights, self.weighed(weights)
        self.prepared = self.now.prepare(self.X)

    def sums(self, rows: slice) -> np.ndarray:
        raw = np.asarray(self.now.raw(self.prepared[rows], self.prepared), np.float64)
        return raw if self.weighted else self.weights[0] * raw

    def slopes(self, rows: slice, coef: np.ndarray) -> np.ndarray:
        if self.weighted:
            return self.now.weight_slopes(self.X[rows], self.X, coef)
        return np.array([np.vdot(coef, self.sums(rows)) / self.weights[0]])


class KeptTerms(Terms):
    """Terms that are computed once, and kept: (count, n, n)."""

    def __init__(self, X: Samples, distance: Distance, place: Place):
        super().__init__(X, distance)
        n = X.shape[0]
        self.kept = np.empty((self.count, n, n))

        def strip(start: int) -> None:
            raise_if_stopped()
            rows = slice(start, start + STRIP)
            for j in range(self.count):
                self.kept[j, rows] = self.between(X[rows], X, j)

        for _ in ordered_map(strip, range(0, n, STRIP), place.n_jobs):
            pass

    def begin(self, weights: np.ndarray) -> None:
        self.weights = weights

    def sums(self, rows: slice) -> np.ndarray:
        return np.tensordot(self.weights, self.kept[:, rows], 1)

    def slopes(self, rows: slice, coef: np.ndarray) -> np.ndarray:
        return np.tensordot(self.kept[:, rows], coef, 2)


def terms_of(X: Samples, distance: Distance, place: Place) -> Terms:
    """The terms between all rows, kept where that is possible and saves time."""
    n, count = X.shape[0], distance.terms(X) or 1
    costly = distance.pair_cost(X) > 0 or distance.terms(X) == 0
    if costly and place.holds(8 * n * n * count):
        return KeptTerms(X, distance, place)
    return ComputedTerms(X, distance)


class LeftOutLoss:
    """The rows that learn, and the mean loss of each under the window of the others."""

    def __init__(
        self,
        X: Samples,
        Y: np.ndarray,
        w: np.ndarray,
        distance: Distance,
        shape: WindowShape,
        loss: Loss,
        place: Place,
    ):
        self.X, self.Y, self.w, self.shape, self.loss, self.place = X, Y, w, shape, loss, place
        self.terms = terms_of(X, distance, place)
        self.ratio = shape.power / distance.exponent  # ρ ** power = raw ** ratio
        self.exponent = distance.exponent
        self.share = w / max(w.sum() * loss.scale(Y, w), 1e-300)

    def learnt(self) -> np.ndarray:
        """The weights of the least loss, near those of `start`."""
        start = self.start()
        positive = start > 0
        bounds = [(t - 2 * BOUND, t + BOUND) for t in np.log(start[positive])]
        weights = np.zeros_like(start)

        def error(logs: np.ndarray) -> tuple[float, np.ndarray]:
            weights[positive] = np.exp(logs)
            value, slopes = self.error(weights)
            return value, (slopes * weights)[positive]

        found = minimize(
            error, np.log(start[positive]), jac=True, method="L-BFGS-B", bounds=bounds,
            options={"maxiter": STEPS, "ftol": 1e-9},
        )  # fmt: skip
        weights[positive] = np.exp(found.x)
        return weights

    def start(self) -> np.ndarray:
        """Weights for which all terms count equally on average, times those of the distance, at
        the width that is best for them."""
        X, terms = self.X, self.terms
        step = max(1, X.shape[0] // STRIP)
        some, w = X[::step], self.w[::step] / self.w[::step].sum()
        means = np.array([w @ terms.between(some, some, j) @ w for j in range(terms.count)])
        weights = np.where(means > 0, terms.given / np.where(means > 0, means, 1), 0.0)
        if not weights.any():
            raise ValueError(
                "all rows of X are equal, or all weights are 0: no width can be learnt; give a "
                "number for width."
            )
        # the mean of the terms is at most their number
        scale = 2 * (weights > 0).sum() ** (1 / self.exponent)
        widths = candidate_widths(scale, self.shape.power)
        # a distance without weights has its own unit
        unit = 1.0 if terms.weighted else weights[0] ** (-1 / self.exponent)
        V = np.column_stack([self.w, self.w[:, None] * self.Y])
        share = np.minimum(self.w, 1) / self.w
        means = window_totals(
            terms.weighed(weights), X, X, V, self.shape, unit * widths, _mean,
            left_out=share, place=self.place,
        )  # fmt: skip
        errors = self.loss.values(means, self.Y) @ self.share
        return weights / widths[int(np.argmin(errors))] ** self.exponent

    def error(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """The leave-one-out loss, in units of that of the mean, and its slopes by the weights."""
        self.terms.begin(weights)
        rest = np.maximum(self.w - 1, 0)  # of a row with weight 2, one copy is left
        row = 8 * MATRICES * len(self.w) * self.place.jobs
        size = int(np.clip(self.place.budget(row * STRIP) // row, LEAST, STRIP))

        def strip(start: int) -> tuple[float, np.ndarray]:
            raise_if_stopped()
            rows = slice(start, start + size)
            y = self.Y[rows]
            here = np.arange(len(y)), np.arange(start, start + len(y))
            raw = np.maximum(self.terms.sums(rows), 0)
            R = raw**self.ratio
            R[here] = np.where(rest[rows] > 0, 0, np.inf)
            R -= R.min(axis=1, keepdims=True)
            K = np.exp(-self.shape.rate * R) * self.w
            K[here] *= rest[rows] / self.w[rows]
            P = K / K.sum(axis=1, keepdims=True)
            a = P @ self.Y
            g = self.loss.slopes(a, y)
            # with s = -rate ρ ** power and ℓ(a): ∂ℓ/∂s_ij = P_ij g_i·(y_j - a_i)
            G = g @ self.Y.T
            G -= np.einsum("it,it->i", g, a)[:, None]
            G *= -self.shape.rate * self.share[rows, None] * P
            if self.ratio != 1:
                with np.errstate(divide="ignore", invalid="ignore"):
                    G *= np.where(raw > 0, self.ratio * raw ** (self.ratio - 1), 0)
            value = float(self.share[rows] @ self.loss.values(a, y))
            return value, self.terms.slopes(rows, G)

        parts = list(ordered_map(strip, range(0, len(self.w), size), self.place.n_jobs))
        return sum(value for value, _ in parts), np.sum([slopes for _, slopes in parts], axis=0)


def _mean(
    values: np.ndarray, squares: np.ndarray, log_scale: np.ndarray, rows: slice
) -> np.ndarray:
    return values[:, 1:] / values[:, :1]
