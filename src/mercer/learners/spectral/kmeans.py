"""k-means in the feature space of any kernel, on any kind of sample."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.gram import CentredGram, GramOperator, ShiftedGram
from mercer.learners.base import (
    LIMITS,
    KernelLearner,
    Training,
    check_count,
    check_solver,
    drawn_seed,
    finite_fit,
    finite_values,
    is_value,
    solver_name,
)
from mercer.learners.spectral.spectral_clustering import eigengaps, normalised_eigenpairs
from mercer.persistence import fields, whole
from mercer.samples import SamplesLike, is_whole
from mercer.solvers.clusters import KMeansResult, KMeansSolver

SOLVERS = ("auto", "exact", "low_rank", "mini_batch")
ROUNDING = 16  # units of the last digit of k(x, x), below which a squared distance is 0
NUMBERS = ("eigengap", "silhouette")
FEW = 500  # up to this many rows all eigenvalues are computed
SHARP = 1e-7  # relative error of eigenvalues of more rows


@estimator
@fields(labels_=whole(), medoids_=whole(least=-1))
class KernelKMeans(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, KernelLearner):
    r"""k-means in the feature space of a kernel: minimise

    .. math:: \sum_i w_i |φ(x_i) - μ_{c(i)}|^2 .

    Clusters are not bounded by hyperplanes, and samples are of any kind. There are no centroids to
    look at, but there are ``medoids_``: the training sample of each cluster that is nearest to its
    centre.

    Parameters
    ----------
    n_clusters : int, "eigengap" or "silhouette", default=8
        A number, or how to choose one from 2 to ``max_clusters``: before the largest gap of the
        eigenvalues of D⁻¹K, where D has the sums of K's rows, or with the largest mean of
        1 - (distance to the own centre) / (distance to the nearest other one).
    n_init : int >= 1, default=3
        Number of starts; the one with the least inertia is kept.
    max_iter : int >= 1, default=300
        Most iterations of each start.
    max_clusters : int >= 2, default=10
        Most clusters, where their number is chosen.
    correction : {"lingoes"}, optional
        Make a K that is not positive semidefinite so, by δ / w_i more on its diagonal; for squared
        distances d², give -d² / 2 as a precomputed K.
    solver : {"auto", "exact", "low_rank", "mini_batch"} or solver value, default="auto"
        "low_rank" has centres in the space of ``rank`` columns that approximate K, and
        "mini_batch" changes them by some samples at a time; "auto" is exact up to 20,000 rows,
        and for any number of nodes of a large graph. A linear kernel is always solved in the space
        of its samples. A value, with ``solve(K, weights)`` and the field ``clusters``, has its own
        number of starts and steps.
    rank : int, optional
        Columns of the factor (None: 300, or fewer if ``memory`` is too small).
    batch_size : int, default=4096
        Samples of a step of "mini_batch", which has ``max_iter`` steps.
    random_state : int, RandomState or None
        Seed of the starts and of the centres of the factor.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The cluster of each training sample; 0 is the largest.
    medoids_ : ndarray of shape (n_clusters,)
        Row numbers of the medoids.
    inertia_ : float
        Weighted sum of the squared distances to the centres, for K without its correction.
    n_clusters_ : int
        Clusters that have samples.
    scores_ : dict
        If the number was chosen: the gap or the silhouette of each number.
    correction_ : float
        δ; 0 if K was positive semidefinite. It adds ``correction_effect_`` = δ (n - k) to the
        inertia of every partition into k clusters, so that the best one is the same.
    correction_effect_ : float
    n_iter_ : int
    converged_ : bool
    X_fit_, gram_, solver_ : encoded samples, str, str
        The samples that new ones are compared with, and descriptions of the Gram matrix and of the
        method.

    Notes
    -----
    The inertia never rises if K is positive semidefinite. With a correction, which draws each
    sample to its own centre, the iterations go on by exchanges of single samples (Hartigan 1975).
    The first iteration reads all of K, the later ones the rows of the samples that moved. With a
    factor of m columns an iteration costs n m k operations at most: bounds of the distances show
    which samples stay where they are, and these are not compared with the centres, which changes no
    label. Nodes of a large graph are compared by products with K, and k(x, x) is estimated, so that
    ``inertia_`` and ``medoids_`` are nearly right. Weights mean repetition.
    Without enough different samples there are fewer clusters, and a ConvergenceWarning.

    References
    ----------
    Dhillon, Guan & Kulis, "Kernel k-means, spectral clustering and normalized cuts", KDD 2004;
    Arthur & Vassilvitskii, "k-means++", SODA 2007; Lingoes, "Some boundary conditions for a
    monotone analysis of symmetric matrices", Psychometrika 36, 1971; Hamerly, "Making k-means even
    faster", SDM 2010, for the bounds.

    Examples
    --------
    >>> from mercer import KernelKMeans
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> model = KernelKMeans(2, gamma=1.0, random_state=0).fit(X)
    >>> bool(model.labels_[0] != model.labels_[3]), sorted(model.medoids_.tolist())
    (True, [1, 4])
    >>> bool(model.predict([[0.3]])[0] == model.labels_[0])
    True
    """

    n_clusters: int | str = 8
    _: KW_ONLY
    gamma: Any = "scale"
    coef0: float = 0.0
    n_init: int = 3
    max_iter: int = 300
    max_clusters: int = 10
    correction: Any = None
    solver: Any = "auto"
    rank: int | None = None
    batch_size: int = 4096

    @finite_fit
    def fit(self, X: SamplesLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to samples X; y is not used.

        Parameters
        ----------
        X : array-like, sparse matrix or samples of the kernel's kind
            (n, n) for ``kernel="precomputed"``.
        sample_weight : array-like of shape (n,), optional
        """
        self._check_parameters()
        training = self.make_training(X, None, sample_weight, targets=False)
        n, w = len(training.rows), training.all_weights
        if is_whole(self.n_clusters) and n < self.n_clusters:
            raise ValueError(
                f"n_samples={n} should be >= n_clusters={self.n_clusters}: give fewer clusters, or "
                "more samples of positive weight."
            )
        seed = drawn_seed(self.random_state)
        K, factored = self._operator(training)
        numbers = self._numbers(K, n)
        found: dict[int, KMeansResult] = {}
        solver: Any = KMeansSolver(
            1,
            self.max_iter,
            self.n_init,
            self._batch(),
            seed,
            self._cache_bytes(K),
            self.n_jobs,
            self.correction_ > 0,
        )
        if is_value(self.solver):
            solver = self.solver
        for k in numbers:
            solver = replace(solver, clusters=k)
            found[k] = solver.solve_factor(K, w) if factored else solver.solve(K, w)
        if len(found) > 1:
            self.scores_ = {k: _silhouette(result, w) for k, result in found.items()}
            result = found[max(found, key=lambda k: self.scores_[k])]
        else:
            (result,) = found.values()
        self._store(result, K, training, factored)
        if len(training.rows) < training.shape[0]:  # rows of weight 0 belong somewhere, too
            self.labels_ = self.predict(X)
        result.conclude()
        if self.n_clusters_ < len(result.sizes):
            warnings.warn(
                f"There are {self.n_clusters_} distinct clusters, fewer than n_clusters="
                f"{len(result.sizes)}, because too few samples differ: give fewer clusters.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return self

    # --- a fit ----------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        if (
            not (is_whole(self.n_clusters) and self.n_clusters >= 1)
            and self.n_clusters not in NUMBERS
        ):
            raise ValueError(
                f"n_clusters={self.n_clusters!r}: give a whole number >= 1, or one of "
                f"{list(NUMBERS)}."
            )
        for name in ("n_init", "max_iter", "max_clusters", "batch_size"):
            check_count(name, getattr(self, name), optional=False)
        check_count("rank", self.rank)
        check_solver(self.solver, SOLVERS, ["clusters"])
        if self.correction not in (None, "lingoes"):
            raise ValueError(f'correction={self.correction!r}: give "lingoes" or None.')
        if self.correction and self.solver in ("low_rank", "mini_batch"):
            raise ValueError(
                f'solver={self.solver!r} cannot correct K: give solver="exact", or correction=None.'
            )

    def _operator(self, training: Training) -> tuple[Any, bool]:
        """K, and whether it is solved by its factor."""
        n, limits = len(training.rows), LIMITS["k-means"]
        self.correction_ = self.correction_effect_ = 0.0
        exact = limits.exact("low_rank" if self.solver == "mini_batch" else self.solver, n)
        if not exact and self.solver == "auto":  # columns of a factor cost more than products
            exact = "rows" not in self.gram_between(training.X).cheap
        if self.kernel_.linear and not self.correction and not is_value(self.solver):
            K = self.gram_between(training.X)
            self.gram_, self.solver_ = K.describe(), "Lloyd in the primal"
            return K, True
        if not exact and not self.correction:
            self.solver_ = "Lloyd, low rank" if self._batch() is None else "mini-batches, low rank"
            return self.make_low_rank_gram(training.X, limits.rank), True
        K = self.make_gram(self.rounded(training.X))
        self.solver_ = solver_name(self.solver) if is_value(self.solver) else "Lloyd"
        if self.correction:
            self.correction_ = _lingoes(K, training.all_weights)
            if self.correction_ > 0:
                K = ShiftedGram(K, self.correction_ / training.all_weights)
        return K, False

    def _batch(self) -> int | None:
        return self.batch_size if self.solver == "mini_batch" else None

    def _cache_bytes(self, K: GramOperator) -> int:
        rows = 4 * K.shape[0] ** 2 * np.dtype(K.dtype).itemsize
        return max(K.place.budget(rows) // 2, 1)

    def _numbers(self, K: GramOperator, n: int) -> list[int]:
        """The numbers of clusters to try."""
        if is_whole(self.n_clusters):
            return [int(self.n_clusters)]
        most = min(self.max_clusters, n - 1)
        if most < 2:
            raise ValueError(
                f"n_clusters={self.n_clusters!r} chooses from 2 to max_clusters="
                f"{self.max_clusters} clusters, fewer than the {n} samples: give a number."
            )
        if self.n_clusters == "silhouette":
            return list(range(2, most + 1))
        self.scores_ = eigengaps(normalised_eigenpairs(K, most + 1, 0, self.memory)[0].values)
        return [max(self.scores_, key=lambda k: self.scores_[k])]

    def _store(self, result: KMeansResult, K: Any, training: Training, factored: bool) -> None:
        """Keep what was found in the attributes."""
        n, k = len(training.rows), len(result.sizes)
        self.labels_ = result.labels.astype(np.int32)
        self.n_clusters_ = int((result.sizes > 0).sum())
        if self.correction_:
            self.correction_effect_ = self.correction_ * (n - self.n_clusters_)
        self.inertia_ = result.objective - self.correction_effect_
        medoids = result.medoids
        self.medoids_ = np.where(medoids >= 0, training.rows[medoids], -1)
        self.n_iter_, self.converged_ = result.iterations, result.converged
        self._squares = result.squares
        if factored and K.centres is not None:
            assert result.centres is not None
            self._coef, kept = K.lift(result.centres.T), training.X[K.centres]
        else:  # μ_c = Σ w_i φ(x_i) / W_c
            self._coef, kept = np.zeros((n, k)), training.X
            share = training.all_weights / result.sizes[result.labels]
            self._coef[np.arange(n), result.labels] = share
        self.keep_support(kept)

    # --- new samples ----------------------------------------------------------------------------

    @finite_values
    def _distances(self, X: SamplesLike) -> np.ndarray:
        """|φ(x) - μ|² - k(x, x) of encoded rows for each cluster with samples, which may be
        infinite without."""
        K = self.gram_with_support(X)
        full = np.isfinite(self._squares)
        D = np.full((K.shape[0], len(full)), np.finfo(np.float64).max)
        D[:, full] = self._squares[full] - 2 * (K @ self._coef[:, full].astype(K.dtype))
        return D

    def predict(self, X: SamplesLike) -> np.ndarray:
        """The cluster with the nearest centre for each row of X, (n,)."""
        check_is_fitted(self)
        return self._distances(self.encode_new(X)).argmin(axis=1).astype(np.int32)

    def transform(self, X: Any) -> np.ndarray:
        """Distances in feature space from each row of X to the centres, (n, n_clusters)."""
        check_is_fitted(self)
        X = self.encode_new(X)
        if self.kernel_.reads.pairwise and X.columns is None:  # no rows of a whole matrix
            raise TypeError(
                "transform needs k(x, x) of new samples, which a precomputed matrix does not hold: "
                "give a kernel and samples, or use predict."
            )
        diag = np.asarray(self.kernel_.diag(X), np.float64)
        squares = self._distances(X) + diag[:, None]
        rounding = ROUNDING * float(np.finfo(self.X_fit_.dtype).eps) * np.abs(diag)[:, None]
        return np.sqrt(np.where(squares > rounding, squares, 0.0))

    @property
    def _n_features_out(self) -> int:
        return len(self._squares)

    def score(
        self, X: SamplesLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the inertia of X around the centres; y is not used."""
        nearest = self.transform(X).min(axis=1)
        w = np.ones(len(nearest)) if sample_weight is None else np.asarray(sample_weight)
        return -float(w @ nearest**2)


def _silhouette(result: KMeansResult, weights: np.ndarray) -> float:
    """The mean of 1 - a / b, with the distances a to the own centre and b to the nearest other.

    Hruschka, de Castro & Campello, "Evolutionary algorithms for clustering gene-expression data",
    ICDM 2004.
    """
    a, b = np.sqrt(result.own), np.sqrt(result.other)
    values = np.where(b > 0, 1 - a / np.where(b > 0, b, 1), 0.0)
    return float(np.average(np.where(np.isfinite(values), values, 0.0), weights=weights))


def _lingoes(K: GramOperator, weights: np.ndarray) -> float:
    """The least δ >= 0 for which K + δ W⁻¹ has no negative eigenvalue on differences of samples.

    Lingoes 1971: with W^½ H K Hᵀ W^½ for the projection H on vectors whose weighted mean is 0.
    """
    n, share, root = K.shape[0], weights / weights.sum(), np.sqrt(weights)
    plain = np.ptp(weights) == 0
    centred = CentredGram(K) if plain else None

    def product(v: np.ndarray) -> np.ndarray:
        u = root * v.ravel()
        if centred is not None:
            return root * np.asarray(centred @ u.astype(K.dtype), np.float64)
        u = u - share * u.sum()  # Hᵀ u with H = I - 1 shareᵀ
        u = np.asarray(K @ u.astype(K.dtype), np.float64)
        return root * (u - share @ u)

    largest = _largest_eigenvalues(product, n, 1)[0]
    # the smallest eigenvalue of A from the largest of largest I - A, because Lanczos' method does
    # not converge to one of many that are 0
    least = largest - _largest_eigenvalues(lambda v: largest * v.ravel() - product(v), n, 1)[0]
    rounding = n * float(np.finfo(K.dtype).eps) * abs(largest) + (
        SHARP * abs(largest) if n > FEW else 0
    )
    return max(0.0, -least) if least < -rounding else 0.0


def _largest_eigenvalues(product: Any, n: int, count: int) -> np.ndarray:
    """The largest eigenvalues of a symmetric operator, descending."""
    if n <= max(FEW, 2 * count):
        A = np.stack([product(e) for e in np.eye(n)])
        return np.linalg.eigvalsh((A + A.T) / 2)[::-1][:count]
    make: Any = LinearOperator  # whose arguments its stub does not know
    operator = make((n, n), matvec=product, dtype=np.float64)
    solve: Any = eigsh
    v0 = np.random.RandomState(0).normal(size=n)
    try:
        values = solve(operator, count, which="LA", v0=v0, tol=SHARP, return_eigenvectors=False)
    except ArpackNoConvergence as error:
        raise ValueError(
            "The eigenvalues of K were not found: give the number of clusters, and correction=None."
        ) from error
    return np.sort(values)[::-1]
