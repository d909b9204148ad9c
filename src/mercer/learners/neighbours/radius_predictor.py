"""Predictions by all training rows within a radius: the sum of their votes or of their targets."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import Training, finite_fit, finite_values, row_copies
from mercer.learners.neighbours.neighbour_classifier import MeansOfTargets
from mercer.learners.neighbours.neighbour_learner import RadiusSearch, check_radius
from mercer.learners.neighbours.neighbour_targets import ClassColumns, Classes, Numbers, called
from mercer.learners.windows import WINDOWS, window
from mercer.samples import Samples, SamplesLike


@estimator
class RadiusPredictor(RadiusSearch):
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
    _: KW_ONLY
    weights: Any = "uniform"

    _targets: Any = field(init=False)

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
        index, algorithm = self.make_index(training.X)
        # copies are found once, as one row with the sum of their targets
        each = callable(self.weights) or self._pairwise
        groups, of_groups = None if each else _copies(training.X), index
        if groups is not None:
            of_groups, _ = self.make_index(training.X[groups[0]])
        self.keep_index(training, index, algorithm)
        self._groups, self._index_of_groups = groups, of_groups

    @finite_values
    def sums(self, X: SamplesLike) -> np.ndarray:
        """The weighted sums of the targets of the neighbours of each row of X, (q, sums)."""
        Z = self.queries(X)
        if Z is None:  # the training rows ask all at once
            return self._sums(None)
        asked = None if callable(self.weights) or self._pairwise else _copies(Z)
        if asked is not None:  # each of equal samples has the same answer
            return self._sums_in_parts(Z[asked[0]])[asked[1]]
        return self._sums_in_parts(Z)

    def _sums_in_parts(self, Z: Samples) -> np.ndarray:
        parts = self.strips(Z.shape[0], self.X_fit_.shape[0])  # all rows may be near
        return np.vstack([self._sums(Z[rows]) for rows in parts])

    @property
    def _pairwise(self) -> bool:
        return self.distance_.reads.pairwise

    def _sums(self, Z: Any) -> np.ndarray:
        """Weighted sums of the targets within the radius of each row."""
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


def _copies(X: Samples) -> tuple[np.ndarray, np.ndarray] | None:
    """The first of equal rows of numbers, and which of them each row is; None if few are equal."""
    if not (isinstance(X, (np.ndarray, sp.csr_array)) and X.dtype.kind == "f"):
        return None
    given: Any = X
    n = given.shape[0]
    rows, copies = row_copies(given, np.empty((n, 0)), 0)
    return (rows, copies) if len(rows) <= 0.9 * n else None


@estimator
class RadiusNeighborsClassifier(ClassColumns, RadiusPredictor):
    r"""Classification by the rows within a radius:

    .. math:: \arg\max_y \sum_{\rho(x, x_i) \le r} w_i [y_i = y] .

    Samples are of any kind, with any distance or kernel between them. Samples without
    neighbours are outliers, which get a label of their own.

    Parameters
    ----------
    outlier_label : label, "most_frequent", list of labels or None, default=None
        The answer for samples without neighbours; a list has one for each output. A label that is
        not a class of y has probability 0, with a warning. None means an error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them for several outputs
    outlier_label_ : list or None
        The label of outliers for each output.
    outputs_2d_ : bool
        Whether y had several columns.

    Raises
    ------
    ValueError
        A prediction has samples without neighbours, and there is no ``outlier_label``.

    Notes
    -----
    If classes have equal votes, the first one in the order of ``classes_`` wins. A row of weight 2
    counts as two neighbours.

    See Also
    --------
    KNeighborsClassifier : With ``n_neighbors=None`` and a window the nearest row decides for
        outliers, and the width can be chosen.

    References
    ----------
    Fix & Hodges, "Discriminatory analysis, nonparametric discrimination", 1951.

    Examples
    --------
    >>> from mercer import RadiusNeighborsClassifier
    >>> from mercer.distances import Edit
    >>> words = ["haus", "maus", "house", "mouse", "laus"]
    >>> model = RadiusNeighborsClassifier(1, metric=Edit(), outlier_label="?")
    >>> model.fit(words, ["de", "de", "en", "en", "de"]).predict(["raus", "moose", "tree"]).tolist()
    ['de', 'en', '?']
    """

    _: KW_ONLY
    outlier_label: Any = None

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        self.check_parameters()
        training = self.check_classes(self.make_training(X, y, sample_weight, numeric=False))
        targets = self.keep_classes(training.y)
        self.outlier_label_ = self._outlier_labels(targets, training.all_weights)
        self.learn(training, targets)
        return self

    def _outlier_labels(self, targets: Classes, weights: np.ndarray) -> list | None:
        """The label of outliers for each output."""
        given, levels = self.outlier_label, self.levels()
        if given is None:
            return None
        if isinstance(given, str) and given == "most_frequent":
            votes = targets.split(weights @ targets.columns())
            return [classes[v.argmax()] for classes, v in zip(levels, votes)]
        several = isinstance(given, (list, tuple, np.ndarray))
        labels = list(given) if several else [given] * len(levels)
        if len(labels) != len(levels):
            raise ValueError(
                f"outlier_label={given!r} has {len(labels)} labels, but y has {len(levels)} "
                "outputs: give one label for each, or a single one for all."
            )
        for classes, label in zip(levels, labels):
            kinds = {np.asarray(label).dtype.kind, classes.dtype.kind}
            text = len(kinds) > 1 and kinds & {"U", "S"} and "O" not in kinds
            if np.ndim(label) or text or np.append(classes, label).dtype.kind not in kinds:
                raise TypeError(
                    f"outlier_label={label!r}: give a label of the type of the classes "
                    f"{classes.tolist()[:5]}."
                )
        return labels

    def predict_proba(self, X: SamplesLike) -> Any:
        votes, outliers = self._votes(X)
        shares = []
        for j, share in enumerate(self._targets.split(votes)):
            if len(outliers):
                label = self._outlier_label(j)
                share[outliers] = self.levels()[j] == label
                if not share[outliers[0]].any():
                    warnings.warn(
                        f"Outlier label {label} is not in training classes. All class "
                        "probabilities of outliers will be assigned with 0.",
                        UserWarning,
                        stacklevel=2,
                    )
            total = share.sum(axis=1, keepdims=True)
            shares.append(share / np.where(total > 0, total, 1))
        return shares if self.outputs_2d_ else shares[0]

    def predict(self, X: SamplesLike) -> np.ndarray:
        votes, outliers = self._votes(X)
        columns = list(self.labels(self._targets.answers(votes)).reshape(len(votes), -1).T)
        for j in range(len(columns) if len(outliers) else 0):
            label = self._outlier_label(j)
            columns[j] = columns[j].astype(np.append(columns[j], label).dtype)  # of longer texts
            columns[j][outliers] = label
        return np.column_stack(columns) if self.outputs_2d_ else columns[0]

    def _votes(self, X: SamplesLike) -> tuple[np.ndarray, np.ndarray]:
        """The votes for each class of each output, and the samples without any."""
        check_is_fitted(self)
        votes = self.sums(X)
        outliers = np.flatnonzero(self._targets.empty(votes))
        if len(outliers) and self.outlier_label_ is None:
            raise ValueError(
                f"No neighbors found for test samples {outliers[:10].tolist()}"
                + (f" and {len(outliers) - 10} more" if len(outliers) > 10 else "")
                + f" within radius={self.radius!r}: give a larger radius, an outlier_label, or "
                "leave these samples out."
            )
        return votes, outliers

    def _outlier_label(self, output: int) -> Any:
        assert self.outlier_label_ is not None
        return self.outlier_label_[output]


@estimator
class RadiusNeighborsRegressor(MeansOfTargets, RadiusPredictor):
    r"""Regression by the rows within a radius:

    .. math:: \sum_{\rho(x, x_i) \le r} w_i y_i / \sum_{\rho(x, x_i) \le r} w_i .

    Samples are of any kind, with any distance or kernel between them.

    Attributes
    ----------
    X_fit_ : encoded samples
        The training rows of positive weight.

    Notes
    -----
    Where no row within the radius counts, the nearest row decides, and a warning says for how many
    samples. (scikit-learn answers NaN there.) A row of weight 2 is two neighbours.

    See Also
    --------
    NadarayaWatson : With a width that is chosen, and standard errors.

    References
    ----------
    Stone, "Consistent nonparametric regression", Annals of Statistics 5, 1977.

    Examples
    --------
    >>> from mercer import RadiusNeighborsRegressor
    >>> model = RadiusNeighborsRegressor(1.5).fit([[0.0], [1.0], [9.0]], [0.0, 10.0, 90.0])
    >>> model.predict([[0.5], [8.0]])
    array([ 5., 90.])
    """

    @finite_values
    def predict(self, X: SamplesLike) -> np.ndarray:
        check_is_fitted(self)
        sums = self.sums(X)
        empty = np.flatnonzero(self._targets.empty(sums))
        if len(empty):
            warnings.warn(
                f"{len(empty)} of {len(sums)} samples have no row within radius={self.radius!r} "
                "that counts: the nearest row decides.",
                UserWarning,
                stacklevel=3,
            )
            Z = None if X is None else self.encode_new(X)[empty]
            _, near = self.nearest(Z, 1)
            near = near if Z is not None else near[empty]
            sums[empty] = self._targets.filled(self._targets.sums(near, 1.0 * (near >= 0)))
        return self._targets.like_given(sums)
