"""Outliers by the density around each row, compared with that around its neighbours."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.distances import in_float64
from mercer.estimator import estimator
from mercer.learners.base import check_count, check_flag, finite_fit, finite_values, is_auto
from mercer.learners.neighbours.neighbour_learner import CountSearch
from mercer.samples import Samples, SamplesLike, is_number

RESOLVED = 1e-10  # mean distances below this part of the largest one are not told from 0
USUAL = -1.5  # the offset of contamination="auto", where rows inside a cluster have about -1


def _for_new(model: LocalOutlierFactor) -> bool:
    """Whether new rows are judged; an error if they are not."""
    if not model.novelty:
        raise AttributeError(
            "it is not available with novelty=False: fit_predict and negative_outlier_factor_ "
            "judge the training rows; give novelty=True to judge new ones."
        )
    return True


def _for_training(model: LocalOutlierFactor) -> bool:
    """Whether training rows are judged; an error if they are not."""
    if model.novelty:
        raise AttributeError(
            "fit_predict is not available when novelty=True: give novelty=False to judge the "
            "training rows."
        )
    return True


@estimator
class LocalOutlierFactor(OutlierMixin, CountSearch):
    r"""Local outlier factor: the density around the neighbours of a row, over that around the row.

    .. math:: \mathrm{LOF}(x) = \frac{1}{k} \sum_{i \le k} \frac{d(x_{(i)})}{d(x)}, \qquad
        \frac{1}{d(x)} = \frac{1}{k} \sum_{i \le k} \max(\rho(x, x_{(i)}), \rho_k(x_{(i)}))

    where :math:`\rho_k(z)` is the distance of z to its k-th neighbour. It is about 1 inside a
    cluster, and large for outliers. Samples are of any kind, with any distance or kernel.

    Parameters
    ----------
    n_neighbors : int >= 1, default=20
        k. If there are fewer rows, all others are neighbours, with a warning.
    contamination : "auto" or float in (0, 0.5], default="auto"
        The share of the training rows that are outliers. "auto" means those with a factor above
        1.5.
    novelty : bool, default=False
        Whether new samples are judged (``predict``, ``score_samples`` and ``decision_function``),
        instead of the training rows (``fit_predict``).

    Attributes
    ----------
    negative_outlier_factor_ : ndarray of shape (n,)
        The value -LOF of each training row.
    n_neighbors_ : int
    offset_ : float
        Rows whose ``negative_outlier_factor_`` is smaller are outliers.

    Notes
    -----
    Factors are those of scikit-learn, but for rows with k duplicates or more, whose mean distance
    is 0: scikit-learn adds 1e-10 to it, so that rows near them have factors of 1e7, and units
    matter. Here such a row has the smallest mean distance of all training rows that is not 0 (nor
    below :math:`10^{-10}` of the largest). If all are 0, all factors are 1. One search, and
    O(n k) operations.

    Warns
    -----
    UserWarning
        A factor is above 1e7, because rows are nearly equal.

    References
    ----------
    Breunig, Kriegel, Ng & Sander, "LOF: identifying density-based local outliers", SIGMOD 2000.

    Examples
    --------
    >>> from mercer import LocalOutlierFactor
    >>> from mercer.distances import Edit
    >>> names = ["anna", "anne", "hanna", "hanne", "johanna", "xylophone"]
    >>> LocalOutlierFactor(2, metric=Edit()).fit_predict(names).tolist()
    [1, 1, 1, 1, -1, -1]
    """

    n_neighbors: int = 20
    _: KW_ONLY
    contamination: Any = "auto"
    novelty: bool = False

    fitted_by = "offset_"

    @finite_fit
    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Measure the densities of samples X; y is not used."""
        self._check_parameters()
        training = self.make_training(X, targets=False)
        # distances that are rounded to float32 have another order where they are nearly equal
        given, training = training.X, training._replace(X=in_float64(training.X))
        n = training.X.shape[0]
        if self.n_neighbors > n:
            warnings.warn(
                f"n_neighbors ({self.n_neighbors}) is greater than the total number of samples "
                f"({n}). n_neighbors will be set to (n_samples - 1) for estimation.",
                UserWarning,
                stacklevel=4,
            )
        if n < 2:
            raise ValueError("n_samples=1: a row has no neighbours; give two rows or more.")
        self.n_neighbors_ = min(int(self.n_neighbors), n - 1)
        index, algorithm, *near = self.own_neighbours(X, training.X, self.n_neighbors_)
        self.keep_index(training, index, algorithm)
        distances, indices = self._all_found(*near)
        self._farthest = distances[:, -1]
        means = self._mean_reach(distances, indices)
        if not np.isfinite(means).all():
            raise FloatingPointError("a sum of distances is not finite")
        self._resolved = RESOLVED * float(means.max())
        some = means[means > self._resolved]
        self._least_reach = float(some.min()) if len(some) else 1.0
        self._density = self._densities(distances, indices)
        factors = -self._ratios(self._density, indices)
        self.negative_outlier_factor_ = factors.astype(
            factors.dtype if training.X is given else given.dtype, copy=False
        )
        if not np.isfinite(self.negative_outlier_factor_).all():
            raise FloatingPointError("a sum of distances is not finite")
        offset = USUAL
        if not is_auto(self.contamination):
            share = 100.0 * self.contamination
            offset = float(np.percentile(self.negative_outlier_factor_, share))
        if self.negative_outlier_factor_.min() < -1e7:
            warnings.warn(
                "Duplicate values are leading to incorrect results. Increase the number of "
                "neighbors for more accurate results.",
                UserWarning,
                stacklevel=4,
            )
        self.offset_ = offset
        return self

    def _neighbours(self, Z: Samples | None) -> tuple[np.ndarray, np.ndarray]:
        return self._all_found(*self.nearest(Z, self.n_neighbors_))

    def _all_found(
        self, distances: np.ndarray, indices: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The neighbours, after a check that none is lacking."""
        if (indices < 0).any():
            raise ValueError(
                f"algorithm={self.algorithm!r} found fewer than n_neighbors={self.n_neighbors_} "
                "rows: give an exact one, or fewer neighbours."
            )
        return distances, indices

    def _check_parameters(self) -> None:
        check_count("n_neighbors", self.n_neighbors, optional=False)
        check_flag("novelty", self.novelty)
        share = self.contamination
        if not (is_auto(share) or (is_number(share) and 0 < share <= 0.5)):
            raise ValueError(f'contamination={share!r}: give "auto" or a number in (0, 0.5].')

    def _densities(self, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """1 / d, the reciprocal of the mean reachability distance."""
        means = self._mean_reach(distances, indices)
        return 1 / np.where(means > self._resolved, means, self._least_reach)

    def _mean_reach(self, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        return np.maximum(distances, self._farthest[indices]).mean(axis=1)

    def _ratios(self, density: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """The factors of rows of these densities and neighbours."""
        return (self._density[indices] / density[:, None]).mean(axis=1)

    @available_if(_for_training)
    def fit_predict(self, X: SamplesLike, y: object = None) -> np.ndarray:
        """Fit to X, and judge its rows, (n,): 1 is usual, -1 an outlier."""
        factors = self.fit(X).negative_outlier_factor_
        return np.where(factors < self.offset_, -1, 1)

    @available_if(_for_new)
    def predict(self, X: SamplesLike) -> np.ndarray:
        """1 for new samples that are usual, -1 for outliers, (q,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    @available_if(_for_new)
    def decision_function(self, X: SamplesLike) -> np.ndarray:
        """``score_samples`` less ``offset_``, (q,): negative for outliers."""
        return self.score_samples(X) - self.offset_

    @available_if(_for_new)
    @finite_values
    def score_samples(self, X: SamplesLike) -> np.ndarray:
        """-LOF of new samples, whose neighbours are training rows; (q,)."""
        check_is_fitted(self)
        Z = self.encode_new(X)
        parts = []
        for rows in self.strips(Z.shape[0], self.n_neighbors_):
            distances, indices = self._neighbours(Z[rows])
            parts.append(-self._ratios(self._densities(distances, indices), indices))
        precision = np.result_type(Z.dtype, self.negative_outlier_factor_.dtype)
        return np.concatenate(parts).astype(precision, copy=False)
