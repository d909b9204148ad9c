"""What classification and regression by the rows within a radius share."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.estimator import estimator
from mercer.learners.base import Training, finite_values, row_copies
from mercer.learners.neighbours.neighbour_learner import RadiusSearch, check_radius
from mercer.learners.neighbours.neighbour_targets import Classes, Numbers
from mercer.learners.neighbours.neighbour_weights import called
from mercer.learners.neighbours.predictor import Predictor
from mercer.learners.windows import WINDOWS, window


@estimator
class RadiusPredictor(Predictor, RadiusSearch):
    """Abstract: a predictor that also has the parameter ``radius``.

    Parameters
    ----------
    radius : float >= 0
        r, in units of the distance. Rows at exactly this distance are included.
    weights : {"uniform", "distance"}, a window's name or callable
        "distance" is 1 / ρ; if there are rows at distance 0 (or whose square is 0 as a float), they
        get all the weight. A window
        K(ρ / r) is "rectangular", "triangular", "epanechnikov", "quartic", "gaussian",
        "exponential" or "tricube". A function takes the distances of all neighbours of some
        samples, as one array, and returns a weight >= 0 for each.
    """

    radius: float = 1.0

    def check_parameters(self) -> None:
        check_radius(self.radius)
        names = ["uniform", "distance", *WINDOWS]
        known = self.weights is None or callable(self.weights)
        if not (known or (isinstance(self.weights, str) and self.weights in names)):
            raise ValueError(
                f"weights={self.weights!r}: give one of {', '.join(map(repr, names))}, or a "
                "function of distances."
            )

    def learn(self, training: Training, targets: Classes | Numbers) -> None:
        self._targets, self._weights = targets, training.weights
        index, algorithm = self.make_index(training)
        # copies are found once, as one row with the sum of their targets
        each = callable(self.weights) or self._pairwise
        groups, of_groups = None if each else _copies(training.X), index
        if groups is not None:
            of_groups, _ = self.make_index(training._replace(X=training.X[groups[0]]))
        self.keep_index(training, index, algorithm)
        self._groups, self._index_of_groups = groups, of_groups

    @finite_values
    def sums(self, X: Any) -> np.ndarray:
        Z = self.queries(X)
        if Z is None:  # the training rows ask all at once
            return self._sums(None)
        asked = None if callable(self.weights) or self._pairwise else _copies(Z)
        if asked is not None:  # each of equal samples has the same answer
            return self._sums_in_parts(Z[asked[0]])[asked[1]]
        return self._sums_in_parts(Z)

    def _sums_in_parts(self, Z: Any) -> np.ndarray:
        parts = self.strips(Z.shape[0], self.X_fit_.shape[0])  # all rows may be near
        return np.vstack([self._sums(Z[rows]) for rows in parts])

    @property
    def _pairwise(self) -> bool:
        return self.distance_.reads.pairwise

    def _sums(self, Z: Any) -> np.ndarray:
        index = self.index_ if Z is None else self._index_of_groups
        distances, indices, starts = index.query_radius(Z, self.radius)
        W = self._weigh(distances.astype(np.float64), starts)
        T = self._targets.columns()
        if self._weights is not None:
            T *= self._weights[:, None]
        if Z is not None and self._groups is not None:
            T = sp.csr_array((np.ones(len(T)), (self._groups[1], np.arange(len(T))))) @ T
        return sp.csr_array((W, indices, starts), shape=(len(starts) - 1, len(T))) @ T

    def _weigh(self, D: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """The weight of each neighbour, where those of query i are starts[i] : starts[i + 1]."""
        if self.weights is None or self.weights == "uniform":
            return np.ones(len(D))
        counts = np.diff(starts)
        if callable(self.weights):
            W = called(self.weights, D)
            infinite, queries = np.isinf(W), np.repeat(np.arange(len(counts)), counts)
            some = np.bincount(queries, infinite, minlength=len(counts)) > 0
            return np.where(some[queries], infinite, W)
        if self.weights != "distance":
            return window(self.weights, D, float(self.radius))
        # 1 / d, in units of the nearest; rows at distance 0 get all the weight
        least = np.minimum.reduceat(D, starts[:-1][counts > 0]) if len(D) else D
        least = np.repeat(least, counts[counts > 0])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(least > 0, least / D, D == 0)


def _copies(X: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """The first of equal rows of numbers, and which of them each row is; None if few are equal."""
    if not (isinstance(X, (np.ndarray, sp.csr_array)) and X.dtype.kind == "f"):
        return None
    given: Any = X
    n = given.shape[0]
    rows, copies = row_copies(given, np.empty((n, 0)), 0)
    return (rows, copies) if len(rows) <= 0.9 * n else None
