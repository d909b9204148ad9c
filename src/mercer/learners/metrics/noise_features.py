"""Which features a distance is better without, by the leave-one-out error of neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.distances import Distance, Minkowski, nearest_left_out
from mercer.learners.base import check_count
from mercer.learners.metrics.coordinate_weights import weighted_terms
from mercer.samples import column_names, is_frame


@dataclass(frozen=True)
class NoiseFeatures:
    """The result of `noise_features`.

    Attributes
    ----------
    names : list of str
        Names of the features; for `Mixed`, of its parts.
    error : float
        Leave-one-out error with all features: the share of wrong rows for classes, the mean squared
        error for numbers.
    errors : ndarray of shape (d,)
        The error without each feature.
    deviations : ndarray of shape (d,)
        The standard error of ``errors - error``, over the rows.
    """

    names: list[str]
    error: float
    errors: np.ndarray
    deviations: np.ndarray

    @property
    def gains(self) -> np.ndarray:
        """How much the error falls without each feature: above 0 for noise."""
        return self.error - self.errors

    @property
    def noise(self) -> list[str]:
        """The features without which the error is lower, or as low within a standard error."""
        near = self.gains >= -self.deviations
        return [name for name, is_noise in zip(self.names, near, strict=True) if is_noise]

    def table(self) -> str:
        """A line for each feature: the most useful one first."""
        width = max(len("without"), *(len(name) for name in self.names))
        lines = [
            f"{'without':<{width}}  error    change   ±",
            f"{'none':<{width}}  {self.error:.4f}",
        ]
        for j in np.argsort(self.gains, kind="stable"):
            note = "  noise" if self.names[j] in self.noise else ""
            lines.append(
                f"{self.names[j]:<{width}}  {self.errors[j]:.4f}  {-self.gains[j]:+.4f}  "
                f"{self.deviations[j]:.4f}{note}"
            )
        return "\n".join(lines)


def noise_features(
    X: Any,
    y: Any,
    distance: Distance | None = None,
    n_neighbors: int = 5,
    *,
    classes: bool | None = None,
    max_samples: int = 2000,
    memory: int | float | str | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> NoiseFeatures:
    """The leave-one-out error of k nearest neighbours with all features, and without each.

    Parameters
    ----------
    X : samples of the distance's kind
    y : array-like of shape (n,)
        Classes or numbers.
    distance : Distance, optional
        Minkowski with p < inf, `Match` or `Mixed`. If it has no weights, all features count equally
        on average. None: Minkowski(2).
    n_neighbors : int, default=5
    classes : bool, optional
        Whether y has classes. None: if it is not of numbers, or of whole numbers that are at most
        2 + n / 10 different ones.
    max_samples : int, default=2000
        If there are more rows, this many are used, drawn at random: the distances of all their
        pairs are kept in memory.
    memory : int, str or None
    n_jobs : int or None
    random_state : int, RandomState or None

    Returns
    -------
    NoiseFeatures

    Notes
    -----
    The distances without feature j are D - w_j t_j, so that it costs d passes over n² distances.
    If two features contain the same information, each of them looks like noise while the other is
    there: leave one out and call this function again.

    Examples
    --------
    >>> from mercer import noise_features
    >>> X = np.random.default_rng(0).uniform(size=(300, 3))
    >>> noise_features(X, X[:, 0] + X[:, 1] > 1).noise
    ['2']
    """
    check_count("n_neighbors", n_neighbors, optional=False)
    check_count("max_samples", max_samples, optional=False)
    problem = weighted_terms(
        X, y, classes, Minkowski(2) if distance is None else distance, n_neighbors, max_samples,
        random_state, memory, "noise_features",
    )  # fmt: skip
    weights, answers = problem.weights, problem.answers
    D = problem.distances(weights)

    def rows_without(change: np.ndarray | None) -> np.ndarray:
        (nearest,) = nearest_left_out(
            lambda rows: [D[rows] if change is None else D[rows] - change[rows]],
            len(D), n_neighbors, n_jobs,
        )  # fmt: skip
        return answers.errors(nearest)

    whole = rows_without(None)
    errors, deviations = np.empty(len(weights)), np.empty(len(weights))
    for j, w in enumerate(weights):
        term = problem.distance.term(problem.X, problem.X, j)
        without = rows_without(np.asarray(w * term, np.float32))
        errors[j] = without.mean()
        deviations[j] = (without - whole).std() / np.sqrt(len(whole))
    return NoiseFeatures(
        _names(X, problem.distance, len(weights)), float(whole.mean()), errors, deviations
    )


def _names(X: Any, distance: Distance, count: int) -> list[str]:
    """Names of the terms: columns, or the columns of each part."""
    groups = [columns for _, columns in distance.column_groups()]
    if groups:
        return [", ".join(str(c) for c in columns) for columns in groups]
    return (
        [str(name) for name in column_names(X)] if is_frame(X) else [str(j) for j in range(count)]
    )
