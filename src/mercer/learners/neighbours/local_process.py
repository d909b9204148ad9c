"""A Gaussian process on the nearest rows of each query, alone or on what another learner misses."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from mercer import _native
from mercer.distances import dense_rows
from mercer.estimator import Seed, estimator
from mercer.learners.base import (
    Regressor,
    check_count,
    check_seed,
    drawn_seed,
    finite_fit,
    finite_values,
    unit_of,
)
from mercer.learners.neighbours.neighbour_learner import NeighboursLearner
from mercer.persistence import fields
from mercer.samples import Samples, SamplesLike
from mercer.threads import ordered_map

KINDS = ("laplacian", "matern", "gaussian")
SCALES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # times the median distance of the k/2-th neighbour
NOISES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # parts of the variance of the process
STRIP = 1024  # queries that one thread answers at a time
JUDGED = 2000  # rows that the covariance is judged on
FOLDS = 5  # of which a learner has not seen each when its errors are measured
TINY = 1e-12  # least variance, of targets whose variance is 1


@fields()
class Covariance(NamedTuple):
    """What the likelihood chooses.

    Attributes
    ----------
    kind : str
        "laplacian", exp(-r / ℓ); "matern", (1 + t) exp(-t) with t = √3 r / ℓ; "gaussian",
        exp(-r² / 2ℓ²).
    length_scale : float
        ℓ.
    noise : float
        The variance of the noise, as a share of the variance of the process.
    variance : float
        The variance s² of the process.
    """

    kind: str
    length_scale: float
    noise: float
    variance: float

    @property
    def scale(self) -> float:
        """The factor of the distance in the profile."""
        return (1.0, 3**0.5, 0.5**0.5)[KINDS.index(self.kind)] / self.length_scale


@estimator
class NeighbourGaussianProcess(Regressor, NeighboursLearner):
    r"""Regression by a Gaussian process on the k nearest rows of each query.

    With covariances K between the neighbours, k(z) to the query and noise σ² the mean and the
    variance of a new target are

    .. math:: k(z)^\top (K + σ^2 I)^{-1} y, \qquad s^2 (1 + σ^2 - k(z)^\top (K + σ^2 I)^{-1} k(z)) .

    Nothing grows with the number of training rows but the search.

    Parameters
    ----------
    n_neighbors : int >= 1, default=32
        k; with fewer rows all of them.
    corrected : estimator, optional
        A learner with ``fit`` and ``predict``, to whose predictions the process adds what it
        expects of their errors. The errors are those of folds that the learner has not seen, so
        that deviations are right for every learner. None: the process alone, about the mean.
    metric : distance object or name, default="minkowski"
        A Euclidean distance of vectors, also with weights of the columns or after a linear map.
    random_state : int, RandomState or None
        Seed for choosing the rows that the covariance is judged on.

    Attributes
    ----------
    covariance_ : Covariance
        A record of ``kind``, ``length_scale``, ``noise`` and ``variance``, chosen by the
        likelihood of 2,000 rows (of all, if there are fewer), each left out, among three kinds,
        six length scales and seven noises.
    left_out_ : ndarray of shape (rows, 2)
        Mean and standard deviation for these rows, of the fit without each.
    corrected_ : estimator
        The learner that is corrected, fitted to all rows; only with ``corrected``.

    Notes
    -----
    A query costs O(k³ / 3 + k² d) operations in single precision, on all threads, beside its
    search; copies of the training rows count as rows. The variance of the process is
    s² = mean(e² / v) of the errors e of rows that were left out and their variances v for s = 1: so
    intervals of two deviations hold about 95% of new targets. Columns should be scaled alike, or
    better by a learnt metric: useless columns hide who is near.

    References
    ----------
    Vecchia, "Estimation and model identification for continuous spatial processes", J. R. Stat.
    Soc. B 50, 1988; Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006, ch. 5.4.

    Examples
    --------
    >>> from mercer import NeighbourGaussianProcess
    >>> x = np.random.default_rng(0).uniform(0, 6, size=(500, 1))
    >>> model = NeighbourGaussianProcess().fit(x, np.sin(x[:, 0]))
    >>> mean, std = model.predict([[1.0], [30.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.01), bool(std[1] > 10 * std[0])
    (True, True)
    """

    n_neighbors: int = 32
    _: KW_ONLY
    corrected: Any = None
    random_state: Seed = None

    @finite_fit
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit to rows X (n, d) and targets y of shape (n,)."""
        check_count("n_neighbors", self.n_neighbors, optional=False)
        check_seed(self.random_state)
        training = self.make_training(X, y)
        if training.y.ndim > 1 and training.y.shape[1] > 1:
            raise ValueError(
                f"y has {training.y.shape[1]} targets: fit one NeighbourGaussianProcess to each, "
                "for example by sklearn.multioutput.MultiOutputRegressor."
            )
        targets = column_or_1d(training.y, dtype=np.float64, warn=True)
        self._read_rows(training.X)
        errors = targets
        if self.corrected is not None:
            if not isinstance(self.corrected, BaseEstimator):
                raise TypeError(
                    f"corrected={self.corrected!r}: give a learner with fit and predict, or None."
                )
            if len(targets) < 2:
                raise ValueError(
                    "X has 1 sample: give at least 2, since corrected= needs errors of rows that "
                    "the learner has not seen."
                )
            learner: Any = clone(self.corrected)
            seed = drawn_seed(self.random_state)
            folds = KFold(min(FOLDS, len(targets)), shuffle=True, random_state=seed)
            errors = targets - cross_val_predict(learner, X, targets, cv=folds)
            self.corrected_ = learner.fit(X, targets)
        self._mean = float(errors.mean())
        size = unit_of(errors)
        unit = size * float(np.std(errors / size)) or 1.0
        self._targets = ((errors - self._mean) / unit).astype(np.float32)
        index, algorithm = self.make_index(training.X)
        self._choose(index, training.X, unit)
        self.keep_index(training, index, algorithm)
        return self

    @finite_values
    def predict(self, X: SamplesLike, return_std: bool = False) -> Any:
        """Means of new targets at the rows of X, (q,).

        With ``return_std`` also their standard deviations, of the noise too.
        """
        check_is_fitted(self)
        encoded, dtype = self.encode_new(X), np.dtype(self.X_fit_.dtype)
        found = np.empty((encoded.shape[0], 2), np.float32)
        for rows in self.strips(encoded.shape[0], self._k):
            found[rows] = self.given_neighbours(
                encoded[rows], self.nearest(encoded[rows], self._k)[1]
            )
        mean, std = found.T * np.float64(self._unit)
        mean = mean + self._mean
        if self.corrected is not None:
            mean = mean + self.corrected_.predict(X)
        mean = mean.astype(dtype, copy=False)
        return (mean, std.astype(dtype, copy=False)) if return_std else mean

    def given_neighbours(self, X: Any, near: np.ndarray) -> np.ndarray:
        """Mean and deviation at encoded rows X from these rows of ``X_fit_``, (q, 2), in the unit
        and from the mean of the targets."""
        return self._answers(self._coordinates(X), near, self.covariance_, self._targets)

    def _choose(self, index: Any, X: Samples, unit: float) -> None:
        """The likeliest covariance, by rows that are left out of their own neighbours."""
        n, random = X.shape[0], check_random_state(self.random_state)
        self._unit, self._k = unit, min(self.n_neighbors, n)
        rows = np.sort(random.permutation(n)[:JUDGED])
        distances, near = self.ask(index, X, X[rows], min(self._k + 1, n))
        others = near != rows[:, None]
        others[others.all(axis=1), -1] = False  # a copy has taken the place of the row itself
        shape = len(rows), near.shape[1] - 1
        if not shape[1]:  # one row has no neighbours
            self.covariance_ = Covariance("matern", 1.0, 1.0, 1.0)
            self.left_out_ = np.empty((0, 2))
            return
        distances, near = (part[others].reshape(shape) for part in (distances, near))
        middle = distances[:, shape[1] // 2]
        apart = middle[middle > 0]
        width = float(np.median(apart)) if len(apart) else 1.0
        Z, y = self._rows_fit[rows], self._targets[rows].astype(np.float64)
        best, chosen = -np.inf, None
        for kind in KINDS:
            for scale in SCALES:
                for noise in NOISES:
                    covariance = Covariance(kind, scale * width, noise, 1.0)
                    mean, std = self._answers(Z, near, covariance, self._targets).T.astype(float)
                    # log density of y with s² = mean(e² / v), at its best
                    squares = np.square(y - mean)
                    s = max(float(np.mean(squares / std**2)), TINY)
                    density = -np.log(s) / 2 - np.log(std).mean()
                    if density > best:
                        best, chosen = density, (covariance._replace(variance=s), mean, std)
        assert chosen is not None
        covariance, mean, std = chosen
        deviations = np.sqrt(covariance.variance) * std
        self.left_out_ = unit * np.column_stack([mean, deviations])
        self.left_out_[:, 0] += self._mean
        self.covariance_ = covariance

    def _answers(
        self, Z: np.ndarray, near: np.ndarray, covariance: Covariance, targets: np.ndarray
    ) -> Any:
        """Mean and deviation of the targets at rows Z, from their neighbours, (q, 2)."""
        near = np.ascontiguousarray(near, np.int64)
        found = np.empty((2, len(Z)), np.float32)
        kind = KINDS.index(covariance.kind)

        def answer(s: int) -> None:
            part = slice(s, s + STRIP)
            _native.neighbour_process(
                self._rows_fit, targets, Z[part], near[part], kind,
                covariance.scale * self._row_unit, covariance.noise, found[0, part], found[1, part],
            )  # fmt: skip

        for _ in ordered_map(answer, range(0, len(Z), STRIP), self.n_jobs):
            pass
        found[1] = np.sqrt(covariance.variance * found[1])
        return found.T

    def _read_rows(self, X: np.ndarray) -> None:
        """Keep the rows in float32, whose distances are those of the metric.

        They are measured from the means of the columns, in a unit that holds their squares.
        """
        norm = self.distance_.norm
        if not self.distance_.reads.coordinates or norm is None or norm.p != 2:
            raise ValueError(
                f"metric={self.metric!r}, p={self.p!r}: give a Euclidean distance of vectors, as "
                '"euclidean", Minkowski(2, weights=...) or Mahalanobis().'
            )
        self._centre = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        self._row_unit = 1.0
        largest = float(np.abs(self._coordinates(X, np.float64)).max(initial=0))
        if not 1e-15 < largest < 1e15:
            self._row_unit = 2.0 ** np.frexp(largest)[1]
        self._rows_fit = self._coordinates(X)

    def _coordinates(self, X: Any, dtype: DTypeLike = np.float32) -> np.ndarray:
        """Rows whose Euclidean distance is that of the fit, centred and scaled."""
        rows = np.asarray(dense_rows(X), np.float64) - self._centre
        norm = self.distance_.norm
        linear = None if norm is None else norm.linear_map
        if linear is not None:
            rows = rows * linear if linear.ndim == 1 else rows @ linear.T
        return np.ascontiguousarray(rows / self._row_unit, dtype)
