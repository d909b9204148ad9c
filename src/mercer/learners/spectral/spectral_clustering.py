"""Spectral clustering with any kernel, on any kind of sample."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.gram import FeatureGram, GramOperator, ScaledGram
from mercer.learners.base import (
    LIMITS,
    KernelLearner,
    check_count,
    check_solver,
    drawn_seed,
    finite_fit,
    finite_values,
    is_value,
    solver_name,
)
from mercer.persistence import fields, length_of, whole
from mercer.samples import SamplesLike, is_whole
from mercer.solvers import TopEigenSolver
from mercer.solvers.clusters import KMeansSolver
from mercer.solvers.eigen import Eigenpairs

SHARP = 1e-6  # residual of the eigenpairs, relative to the largest eigenvalue, which is 1
SOLVERS = ("auto", "exact", "low_rank")
ITERATIONS = 300  # most iterations of k-means


@estimator
@fields(labels_=whole(), _kept=length_of(lambda model: len(model._centres)))
class SpectralClustering(
    ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, KernelLearner
):
    r"""Clusters that cut little similarity, from the first eigenvectors of D⁻¹ K.

    .. math:: D^{-1} K u = μ u, \qquad D_{ii} = \sum_j K_{ij} .

    It minimises approximately the normalised cut, the similarity that a cluster has with the other
    samples as a part of all that it has. Clusters may have any shape.

    Parameters
    ----------
    n_clusters : int or "eigengap", default=8
        "eigengap" chooses from 2 to ``max_clusters`` the number before the largest gap between
        two eigenvalues.
    kernel : kernel object, name, "precomputed" or callable, default="rbf"
        The similarities must not be negative.
    n_components : int, optional
        Eigenvectors that the clusters are found from; None means as many as clusters.
    n_init : int >= 1, default=10
        Number of starts of k-means; the best one is kept.
    max_clusters : int >= 2, default=10
        Most clusters, where their number is chosen.
    solver : {"auto", "exact", "low_rank"} or solver value, default="auto"
        "low_rank" approximates K by ``rank`` centres; "auto" is exact up to 100,000 rows.
        A value, such as ``mercer.solvers.TopEigenSolver(1)``, finds the eigenvectors.
    random_state : int, RandomState or None
        Seed of the eigensolver and of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The cluster of each sample; 0 is the largest.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of D⁻¹ K, from 1 downwards. As many are near 1 as there are clusters that are
        far apart.
    embedding_ : ndarray of shape (n, n_components)
        The eigenvectors e of D⁻¹ K, scaled to Σ_i d_i e_i² = 1.
    scores_ : dict
        If the number was chosen: the gap behind each number of clusters.
    X_fit_, gram_, solver_ : encoded samples, str, str
        The samples, and descriptions of the Gram matrix and of the method.

    Notes
    -----
    k-means in the space of the eigenvectors weighs a sample by its degree d_i = Σ_j k(x_i, x_j):
    the normalised cut is a weighted k-means, of which this is the relaxation (Dhillon, Guan &
    Kulis). A new sample gets Σ_j k(x, x_j) e_j / (λ d(x)), a weighted mean of its neighbours. About
    ten products with K; memory n (10 n_components + 60) numbers in addition to K.

    References
    ----------
    Shi & Malik, "Normalized cuts and image segmentation", IEEE PAMI 22, 2000; Dhillon, Guan &
    Kulis, "Kernel k-means, spectral clustering and normalized cuts", KDD 2004; von Luxburg, "A
    tutorial on spectral clustering", Statistics and Computing 17, 2007.

    Examples
    --------
    >>> from mercer import SpectralClustering
    >>> X = [[0.0], [0.5], [1.0], [5.0], [5.5], [6.0], [6.5]]
    >>> model = SpectralClustering("eigengap", random_state=0).fit(X)
    >>> model.labels_.tolist(), model.predict([[4.5]]).tolist()
    ([1, 1, 1, 0, 0, 0, 0], [0])
    """

    n_clusters: int | str = 8
    _: KW_ONLY
    gamma: Any = 1.0
    coef0: float = 1.0
    n_components: Any = None
    n_init: int = 10
    max_clusters: int = 10
    solver: Any = "auto"
    rank: int | None = None

    @finite_fit
    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Fit to samples X, (n, n) for ``kernel="precomputed"``; y is not used."""
        self._check_parameters()
        training = self.make_training(X, None, None, targets=False)
        n, limits = training.shape[0], LIMITS["components"]
        if is_whole(self.n_clusters) and n < self.n_clusters:
            raise ValueError(
                f"n_samples={n} should be >= n_clusters={self.n_clusters}: give fewer clusters, or "
                "more samples."
            )
        seed = drawn_seed(self.random_state)
        exact = limits.exact(self.solver, n)
        K = (
            self.make_gram(training.X)
            if exact
            else self.make_low_rank_gram(training.X, limits.rank)
        )
        k, count = self._clusters(n)
        # D^-½ K D^-½ u = λ u, so that D⁻¹ K e = λ e for e = D^-½ u
        chosen = replace(self.solver, count=count) if is_value(self.solver) else None
        pairs, degrees = normalised_eigenpairs(K, count, seed, self.memory, chosen)
        if k is None:
            self.scores_ = eigengaps(pairs.values)
            k = max(self.scores_, key=lambda number: self.scores_[number])
        told = max(1, np.count_nonzero(pairs.values > SHARP))  # the others are rounding
        m = min(k if self.n_components is None else self.n_components, told)
        E = pairs.coef[:, :m] * _inverse_root(degrees)[:, None]
        E *= np.where((E**3).sum(axis=0) < 0, -1.0, 1.0)  # else the signs would be those of chance
        unit = SHARP * np.abs(E).max(axis=0)  # less is rounding, which must not separate samples
        cache = max(self.place.budget(8 * E.size) // 2, 1)
        rows = np.flatnonzero(degrees > 0)  # a sample that is not even like itself is in no cut
        means = KMeansSolver(
            k, ITERATIONS, self.n_init, None, seed, cache, self.n_jobs
        ).solve_factor(FeatureGram((np.rint(E / unit) * unit)[rows]), degrees[rows])
        self.solver_ = f"{pairs.solver}, {'exact' if exact else 'low rank'}"
        if is_value(self.solver):
            self.solver_ = solver_name(self.solver)
        self.eigenvalues_, self.embedding_ = pairs.values[:m], E
        self._centres, self._kept = np.asarray(means.centres), means.sizes > 0
        self.labels_ = self._nearest(E)
        self.labels_[rows] = means.labels
        self.keep_support(training.X)
        pairs.conclude()
        if not self._kept.all():
            warnings.warn(
                f"There are {self._kept.sum()} distinct clusters, fewer than n_clusters={k}, "
                "because too few samples differ: give fewer clusters, or a narrower kernel.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        if not (is_whole(self.n_clusters) and self.n_clusters >= 1) and not (
            isinstance(self.n_clusters, str) and self.n_clusters == "eigengap"
        ):
            raise ValueError(
                f'n_clusters={self.n_clusters!r}: give a whole number >= 1, or "eigengap".'
            )
        for name in ("n_init", "max_clusters"):
            check_count(name, getattr(self, name), optional=False)
        for name in ("n_components", "rank"):
            check_count(name, getattr(self, name))
        check_solver(self.solver, SOLVERS, ["count"])

    def _clusters(self, n: int) -> tuple[int | None, int]:
        """The number of clusters, or None where it is chosen, and of eigenpairs."""
        wanted = self.n_components or 1
        if is_whole(self.n_clusters):
            k = int(self.n_clusters)
            return k, min(n, wanted if self.n_components else k)
        most = min(self.max_clusters, n - 1)
        if most < 2:
            raise ValueError(
                f'n_clusters="eigengap" chooses from 2 to max_clusters={self.max_clusters} '
                f"clusters, fewer than the {n} samples: give a number."
            )
        return None, min(n, max(wanted, most + 1))

    @finite_values
    def _embed(self, X: SamplesLike) -> np.ndarray:
        """The coordinates of new samples: means of those of similar training samples."""
        K = self.cross_gram(X)
        E = self.embedding_ / np.maximum(self.eigenvalues_, np.finfo(np.float64).tiny)
        found = np.asarray(K @ np.column_stack([E, np.ones(len(E))]).astype(K.dtype), np.float64)
        degrees = found[:, -1:]
        # a sample that is like none of the others is in the middle
        return np.where(degrees > 0, found[:, :-1] / np.where(degrees > 0, degrees, 1), 0.0)

    def transform(self, X: SamplesLike) -> np.ndarray:
        """The coordinates of the rows of X on the eigenvectors, (n, n_components)."""
        check_is_fitted(self)
        return self._embed(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def predict(self, X: SamplesLike) -> np.ndarray:
        """The cluster of each row of X, the one with the nearest centre, (n,)."""
        check_is_fitted(self)
        return self._nearest(self._embed(X))

    def _nearest(self, E: np.ndarray) -> np.ndarray:
        """The cluster with the nearest centre, for points in the space of the eigenvectors."""
        C = self._centres
        D = (C**2).sum(axis=1) - 2 * E @ C.T
        D[:, ~self._kept] = np.inf
        return D.argmin(axis=1).astype(np.int32)


def normalised_eigenpairs(
    K: GramOperator,
    count: int,
    seed: int,
    memory: int | float | str | None = None,
    solver: Any = None,
) -> tuple[Eigenpairs, np.ndarray]:
    """The largest eigenpairs of D^-½ K D^-½, and the degrees D, the sums of K's rows.

    ``solver`` finds them, or `TopEigenSolver` if it is None.

    Raises
    ------
    ValueError
        A degree is negative, or all of them are 0.
    """
    n = K.shape[0]
    degrees = np.asarray(K @ np.ones(n, K.dtype), np.float64)
    if (degrees < 0).any() or not degrees.any():
        raise ValueError(
            "The samples need similarities with positive sums, but K has rows with sums <= 0: give "
            "a kernel that is not negative, such as RBF on vectors or "
            "FromDistance(distance) on other samples."
        )
    solver = solver or TopEigenSolver(count, SHARP, memory=memory, random_state=seed)
    return solver.solve(ScaledGram(K, _inverse_root(degrees))), degrees


def _inverse_root(degrees: np.ndarray) -> np.ndarray:
    """d^-½, and 0 for d = 0."""
    return np.sqrt(np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0))


def eigengaps(values: np.ndarray) -> dict[int, float]:
    """The gap behind each number of clusters from 2, from eigenvalues in descending order.

    As many eigenvalues are near 1 as there are clusters without similarities between them (von
    Luxburg 2007, section 8.3).
    """
    gaps = values[1:-1] - values[2:]
    return dict(zip(range(2, len(values)), gaps.tolist()))
