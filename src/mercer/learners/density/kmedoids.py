"""Clusters around rows that stand for them, under any distance."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer import _native
from mercer.distances import in_float64
from mercer.estimator import Seed, estimator
from mercer.learners.base import (
    DistanceLearner,
    check_count,
    check_seed,
    finite_fit,
    finite_values,
)
from mercer.persistence import fields, length_of, whole
from mercer.samples import Samples, SamplesLike
from mercer.threads import ordered_map, raise_if_stopped

MOST = 20_000  # rows of which all distances are compared
SAMPLES, SAMPLED = 5, 2_000  # and of the samples of more rows: how many, and rows of each
EDGE = 512  # rows of a tile of distances


@estimator
@fields(labels_=whole(), medoid_indices_=length_of(lambda model: model.X_fit_.shape[0]))
class KMedoids(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, DistanceLearner):
    r"""k-medoids: clusters around k of the rows, the medoids.

    .. math:: \min_{m_1, \ldots, m_k} \sum_i \min_c \rho(x_i, x_{m_c})

    A medoid is one of the samples, so that these may be of any kind, with any distance or kernel,
    and one can look at what stands for a cluster.

    Parameters
    ----------
    n_clusters : int >= 1, default=8
    p : float, default=2
        The power of ``metric="minkowski"``.
    max_iter : int >= 1, default=100
        Most passes over the rows.
    random_state : int, RandomState or None, default=0
        Seed of the first medoids, and of samples of many rows.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (n_clusters,)
        Row numbers of the medoids.
    cluster_centers_ : ndarray of shape (n_clusters, d)
        The medoids, where samples are vectors.
    labels_ : ndarray of shape (n,)
        The cluster of each row; 0 is the largest.
    inertia_ : float
        The sum of the distances to the nearest medoid.
    n_iter_ : int
        Passes over the rows.
    X_fit_ : encoded samples
        The medoids.

    See Also
    --------
    KernelKMeans : Squared distances, to centres that are no samples.

    Notes
    -----
    Each row in turn takes the place of the medoid that it is best exchanged for, as soon as the
    sum falls (FasterPAM): at the end no exchange of one medoid for another row lowers it. All
    distances are held, 8 n² bytes. Above 20,000 rows, or where ``memory`` does not hold these, the
    best of five samples of 2,000 rows is taken (CLARA).

    References
    ----------
    Schubert & Rousseeuw, "Fast and eager k-medoids clustering", Information Systems 101, 2021;
    Kaufman & Rousseeuw, "Finding Groups in Data", 1990.

    Examples
    --------
    >>> from mercer import KMedoids
    >>> from mercer.distances import Edit
    >>> names = ["anna", "hanna", "hannah", "peter", "petra", "pete"]
    >>> model = KMedoids(2, metric=Edit()).fit(names)
    >>> [names[m] for m in model.medoid_indices_], model.labels_.tolist()
    (['hanna', 'pete'], [0, 0, 0, 1, 1, 1])
    >>> model.predict(["hanne"]).tolist()
    [0]
    """

    n_clusters: int = 8
    _: KW_ONLY
    p: float = 2
    max_iter: int = 100
    random_state: Seed = 0

    @finite_fit
    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Find medoids of samples X; y is not used."""
        for name in ("n_clusters", "max_iter"):
            check_count(name, getattr(self, name), optional=False)
        check_seed(self.random_state)
        rng = check_random_state(self.random_state)
        training = self.make_training(X, targets=False)
        rows, k = in_float64(training.X), self.n_clusters
        n = rows.shape[0]
        if n < k:
            raise ValueError(
                f"n_samples={n} should be >= n_clusters={k}: give fewer clusters, or more samples."
            )
        if self.distance_.known(rows, rows) is not None:
            raise ValueError(
                "X is a sparse matrix of some distances, but KMedoids compares all rows: give a "
                "dense matrix, or samples."
            )
        if n <= MOST and self.place.holds(8 * n * n):
            medoids = self._search(rows, rng.permutation(n)[:k])
            distances = self._finite_distances(rows, rows[medoids])
        else:
            medoids, distances = self._sampled(rows, rng)
        sizes = np.bincount(distances.argmin(axis=1), minlength=k)
        order = np.lexsort((medoids, -sizes))
        self.medoid_indices_, distances = medoids[order], distances[:, order]
        self.labels_ = distances.argmin(axis=1).astype(np.int32)
        self.inertia_ = float(distances.min(axis=1).sum())
        if isinstance(rows, np.ndarray):
            self.cluster_centers_ = np.asarray(training.X[self.medoid_indices_])
        self.keep_samples(rows[self.medoid_indices_])
        if not sizes.all():
            warnings.warn(
                f"There are {np.count_nonzero(sizes)} distinct clusters, fewer than n_clusters={k},"
                " because too few samples differ: give fewer clusters.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return self

    def _search(self, X: Samples, medoids: np.ndarray) -> np.ndarray:
        """Medoids of some rows, from first ones."""
        n, D = X.shape[0], self._all_distances(X)
        self.n_iter_ = 1
        if len(medoids) == 1:
            return np.array([D.sum(axis=0).argmin()])
        medoids = medoids.astype(np.int64)
        looked = _native.faster_pam(D, medoids, int(self.max_iter))
        self.n_iter_ = -(-looked // n)
        if looked >= self.max_iter * n > n:
            warnings.warn(
                f"max_iter={self.max_iter} passes were too few: give more.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return medoids

    def _sampled(self, X: Samples, rng: Any) -> tuple[np.ndarray, np.ndarray]:
        """The best of the medoids of some samples, and the distances from them."""
        n, k = X.shape[0], self.n_clusters
        size = min(n, max(SAMPLED, 5 * k))
        best, found, nearest = np.inf, np.empty(0, np.int64), np.empty((0, 0))
        for _ in range(SAMPLES):
            # the best ones so far are in the sample, and its search begins with them
            others = rng.permutation(np.setdiff1d(np.arange(n), found))
            some = np.concatenate([found, others])[:size]
            medoids = some[self._search(X[some], np.arange(k))]
            D = self._finite_distances(X, X[medoids])
            total = D.min(axis=1).sum()
            if total < best:
                best, found, nearest = total, medoids, D
        return found, nearest

    def _all_distances(self, X: Samples) -> np.ndarray:
        """The matrix of distances, of which one half is computed."""
        n = X.shape[0]
        D, held = np.empty((n, n)), self.distance_.prepare(X)
        starts = range(0, n, EDGE)

        def fill(tile: tuple[int, int]) -> None:
            i, j = (slice(s, s + EDGE) for s in tile)
            raise_if_stopped()
            D[i, j] = self.distance_.block(held[i], held[j])
            D[j, i] = D[i, j].T

        for _ in ordered_map(fill, [(i, j) for i in starts for j in starts if i <= j], self.n_jobs):
            pass
        return self._finite(D)

    def _finite_distances(self, Z: Samples, medoids: Samples) -> np.ndarray:
        return self._finite(self.distances_to(Z, medoids))

    def _finite(self, D: np.ndarray) -> np.ndarray:
        if not np.isfinite(D).all():
            raise FloatingPointError("a distance is not finite")
        return D

    @finite_values
    def transform(self, X: SamplesLike) -> np.ndarray:
        """Distances from each row of X to the medoids, (q, n_clusters)."""
        check_is_fitted(self)
        return self._finite_distances(self.encode_new(X), self.X_fit_)

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def predict(self, X: SamplesLike) -> np.ndarray:
        """The cluster with the nearest medoid for each row of X, (q,)."""
        return self.transform(X).argmin(axis=1).astype(np.int32)
