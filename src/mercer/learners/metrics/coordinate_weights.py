r"""Weights of a distance by coordinate descent on the leave-one-out error of nearest neighbours.

The distance is a weighted sum of terms, :math:`\rho^e = \sum_j w_j t_j`. If one weight changes, all
distances follow from those before in closed form, :math:`D + (w' - w) t_j`, so that a candidate
costs one pass over them and no fit.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from mercer.distances import Distance, Minkowski, NeighbourAnswers, are_classes, nearest_left_out
from mercer.estimator import Seed, estimator
from mercer.gram import Place
from mercer.learners.base import check_count, check_seed, check_targets, remember_columns
from mercer.samples import SamplesLike, column_names, is_frame, kind_named
from mercer.threads import fitting, forget

FACTORS = (0.0, 0.25, 0.5, 2.0, 4.0)  # tried for a weight, or for the mean weight if it is 0


ROOM = 1e-8  # a mean difference of this share of the largest float leaves room for the others


class WeightedTerms(NamedTuple):
    """Encoded rows whose neighbours are judged, and the weights that they are judged with.

    Attributes
    ----------
    X : encoded samples (n)
    answers : NeighbourAnswers
    distance : Distance
        Bound.
    weights : ndarray
    """

    X: Any
    answers: NeighbourAnswers
    distance: Distance
    weights: np.ndarray

    def distances(self, weights: np.ndarray) -> np.ndarray:
        """ρ ** exponent of all pairs, (n, n), float32."""
        distance = self.distance.copied(weights=weights)
        D = distance.whole(self.X, self.X, None, distance.raw)
        return np.ascontiguousarray(D, np.float32)


def weighted_terms(
    X: Any,
    y: Any,
    classes: bool | None,
    distance: Any,
    k: int,
    most: int,
    seed: Seed,
    memory: int | float | str | None,
    reader: str,
) -> WeightedTerms:
    """Encode at most ``most`` rows, drawn at random, and the weights of a distance on them.

    If no weights are given, all terms count equally on average.
    """
    if not isinstance(distance, Distance):
        raise TypeError(f"distance={distance!r}: give a distance, such as Minkowski(2).")
    distance.validate()
    X = distance.encode(X)
    y = check_targets(X, y, reader, numeric=False)
    n, classes = X.shape[0], are_classes(y, classes)
    if n > most:
        rows = np.sort(check_random_state(seed).permutation(n)[:most])
        X, y, n = X[rows], y[rows], most
    if n <= k:
        raise ValueError(f"n_neighbors={k} needs {k + 1} samples or more, but n_samples={n}.")
    needed = 20 * n * n
    if not (place := Place(memory)).holds(needed):
        place.refuse(needed, f"the distances of {n:,} rows", ", or a smaller max_samples")
    distance = distance.bind(X, y)
    count = distance.terms(X)
    if not count:
        distance.term(X[:1], X[:1], 0)  # which says why
    weights = distance.get_params(deep=False)["weights"]
    if weights is None:
        some = X[:: max(1, n // 256)]
        with np.errstate(all="ignore"):
            means = [distance.term(some, some, j).mean(dtype=np.float64) for j in range(count)]
            largest = float(np.finfo(distance.term(some[:1], some[:1], 0).dtype).max) * ROOM
        least = np.finfo(np.float64).tiny  # the reciprocal of a smaller one may be infinite
        if max(means) < least and isinstance(X, np.ndarray) and X.dtype.kind == "f" and np.ptp(X):
            raise ValueError(
                f"X reaches only {np.abs(X).max():.3g}, and powers of such differences are 0 as "
                "floats: divide the columns by their largest values "
                "(sklearn.preprocessing.MaxAbsScaler)."
            )
        for j, mean in enumerate(means):
            if not (mean < least or 1 / largest < mean < largest):
                raise ValueError(
                    f"X differs by {mean:.3g} on average in term {j} of {distance!r}, which is "
                    "near the ends of what floats hold: divide the columns by their largest "
                    "values (sklearn.preprocessing.MaxAbsScaler)."
                )
        weights = [1 / mean if mean >= least else 0.0 for mean in means]
    return WeightedTerms(X, NeighbourAnswers(y, classes), distance, np.asarray(weights, np.float64))


@estimator
class CoordinateDescentWeights(BaseEstimator):
    r"""Weights of a distance with a small leave-one-out error of k nearest neighbours.

    .. math:: E(w) = \frac1n \sum_i [\hat y_{-i}(w) \ne y_i], \qquad
              w_j \leftarrow \operatorname{argmin}_{v} E(w_1, \ldots, v, \ldots, w_d)

    Row i is answered by its nearest neighbours among all others; of numbers E is the mean of
    squares. One weight after the other takes the best v of some values; 0 leaves a feature out.

    Parameters
    ----------
    distance : Distance, default=None
        Minkowski with p < inf, `Match` or `Mixed`. The descent starts with its weights; if it has
        none, with weights for which all features count equally on average. None: Minkowski(2).
    n_neighbors : int, default=5
    max_iter : int, default=10
        Most rounds over all weights.
    max_samples : int, default=2000
        If there are more rows, the weights are judged on this many, drawn at random. The distances
        of all their pairs are kept in memory.
    classes : bool, default=None
        Whether y has classes. None: if it is not of numbers, or of whole numbers that are at most
        2 + n / 10 different ones.
    random_state : int, RandomState or None
        Seed for drawing ``max_samples`` rows.

    Attributes
    ----------
    weights_ : ndarray of shape (d,)
        The weights, divided by their mean.
    distance_ : Distance
        The distance with these weights, for ``metric=`` of any learner.
    error_ : float
        The leave-one-out error: the share of wrong rows for classes (ties between classes count in
        part), the mean squared error for numbers.
    errors_ : list of float
        The error at the start and after each round.
    n_iter_ : int

    Notes
    -----
    A round costs O(n² d) operations for each of 5 candidates of a weight, and memory 20 n². An
    error changes in steps, so a candidate must be better to be taken; of equally good ones the
    smallest is. The error is that of the rows that chose the weights, and so too small: judge on
    other rows.

    References
    ----------
    Vorontsov, "Lectures on metric algorithms of classification", 2007, on the choice of weights by
    sliding control.

    Examples
    --------
    >>> from mercer.learners.metrics import CoordinateDescentWeights
    >>> X = np.random.default_rng(0).uniform(size=(200, 3))
    >>> model = CoordinateDescentWeights().fit(X, X[:, 1] > 0.5)
    >>> int(model.weights_.argmax()), model.error_ < 0.05
    (1, True)
    """

    distance: Any = None
    n_neighbors: int = 5
    _: KW_ONLY
    max_iter: int = 10
    max_samples: int = 2000
    classes: bool | None = None
    random_state: Seed = None
    memory: int | float | str | None = None
    n_jobs: int | None = None

    def __sklearn_is_fitted__(self) -> bool:
        return "distance_" in vars(self)

    @fitting
    def fit(self, X: SamplesLike, y: ArrayLike) -> Self:
        """Learn the weights from samples X (n) and classes or numbers y (n,)."""
        forget(self)
        for name in ("n_neighbors", "max_iter", "max_samples"):
            check_count(name, getattr(self, name), optional=False)
        check_seed(self.random_state)
        Place(self.memory, self.n_jobs)  # which checks them
        distance = Minkowski(2) if self.distance is None else self.distance
        problem = weighted_terms(
            X, y, self.classes, distance, self.n_neighbors, self.max_samples, self.random_state,
            self.memory, type(self).__name__,
        )  # fmt: skip
        remember_columns(self, X, problem.X, reset=True)
        weights = problem.weights.copy()
        D = problem.distances(weights)
        error = self._errors(problem, D, D, [0.0])[0]
        errors = [error]
        for _ in range(self.max_iter):
            for j in range(len(weights)):
                error, D = self._descend(problem, weights, j, error, D)
            errors.append(error)
            if not errors[-1] < errors[-2]:
                break
        self.n_iter_, self.errors_, self.error_ = len(errors) - 1, errors, error
        self.weights_ = weights / (weights.mean() or 1.0)
        self.distance_ = problem.distance.copied(weights=self.weights_)
        return self

    def _descend(
        self, problem: WeightedTerms, weights: np.ndarray, j: int, error: float, D: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Give weight j its best value; returns the error and the distances with it."""
        base = weights[j] or weights.mean()
        values = np.array([f * base for f in FACTORS if f * base != weights[j]])
        values = values[(values > 0) | (np.count_nonzero(weights) > (weights[j] > 0))]
        if not len(values):
            return error, D
        # times the weight it has no unit, as float32 needs
        term = problem.distance.term(problem.X, problem.X, j)
        term = np.asarray(base * term, np.float32)
        changes = (values - weights[j]) / base
        found = self._errors(problem, D, term, list(changes))
        best = int(np.argmin(found))  # the smallest weight, if several are as good
        # at the same error a feature is left out
        if found[best] < error or (found[best] == error and values[best] == 0):
            D += np.float32(changes[best]) * term
            np.maximum(D, 0, out=D)
            weights[j], error = values[best], found[best]
        return error, D

    def _errors(
        self, problem: WeightedTerms, D: np.ndarray, term: np.ndarray, changes: list[float]
    ) -> list[float]:
        """The error of D + change · term, for each change."""
        found = nearest_left_out(
            lambda rows: (D[rows] + np.float32(change) * term[rows] for change in changes),
            len(D), self.n_neighbors, self.n_jobs,
        )  # fmt: skip
        return [float(problem.answers.errors(nearest).mean()) for nearest in found]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kind = "vectors" if self.distance is None else self.distance.kind
        kind_named(kind).tag(tags.input_tags)
        tags.target_tags.required = True
        return tags


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
    X: SamplesLike,
    y: ArrayLike,
    distance: Distance | None = None,
    n_neighbors: int = 5,
    *,
    classes: bool | None = None,
    max_samples: int = 2000,
    memory: int | float | str | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> NoiseFeatures:
    r"""The leave-one-out error of k nearest neighbours with all features, and without each.

    .. math:: D_{-j} = D - w_j t_j, \qquad \Delta_j = E(D_{-j}) - E(D)

    D is the sum of the terms :math:`w_j t_j`, and E the error of `CoordinateDescentWeights`. A
    feature j without which the error does not grow is noise.

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
    It costs d passes over n² distances. If two features contain the same information, each of them
    looks like noise while the other is there: leave one out and call this function again.

    References
    ----------
    Kohavi & John, "Wrappers for feature subset selection", Artificial Intelligence 97, 1997.

    Examples
    --------
    >>> from mercer.learners.metrics import noise_features
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


def _names(X: SamplesLike, distance: Distance, count: int) -> list[str]:
    """Names of the terms: columns, or the columns of each part."""
    groups = [columns for _, columns in distance.column_groups()]
    if groups:
        return [", ".join(str(c) for c in columns) for columns in groups]
    return (
        [str(name) for name in column_names(X)] if is_frame(X) else [str(j) for j in range(count)]
    )
