"""Canonical correlation analysis in feature space: what two views of the same things share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import Seed, estimator
from mercer.gram import DenseGram, Place
from mercer.kernels import Kernel
from mercer.learners.base import (
    LIMITS,
    check_count,
    check_not_negative,
    check_seed,
    finite_fit,
    finite_values,
    is_auto,
)
from mercer.learners.spectral.components import PrincipalFeatures, PrincipalLearner
from mercer.samples import Samples, SamplesLike, in_one_column, is_number
from mercer.solvers import TopEigenSolver
from mercer.threads import blas_limit, count_jobs, forget

PENALTIES = np.logspace(-6, 0, 7)  # choices of alpha="auto", relative to the trace
FOLDS = 5
ROUNDING = 1e-12  # a direction with less than this part of the largest variance has none


@contextmanager
def _said_of(name: str) -> Iterator[None]:
    """Context in which the messages of errors begin with what they are about."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error


class View(PrincipalLearner):
    """One of the two views: its samples, its kernel, and its canonical functions."""

    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Read the training samples, and bind the kernel to them."""
        self.samples = self.make_training(X, targets=False).X
        return self

    def features(self) -> PrincipalFeatures:
        """The training samples in feature space."""
        return self.principal_features(self.samples, LIMITS["two views"])

    def keep(self, features: PrincipalFeatures, beta: np.ndarray) -> None:
        """Keep the functions T beta of the samples, with variance 1 on them."""
        size = (features.T @ beta).std(axis=0)
        coef, self.offset_ = features.lift(beta / np.where(size > 0, size, 1))
        dtype = self.samples.dtype
        self.projection_ = coef.astype(dtype, copy=False)
        self.offset_ = self.offset_.astype(dtype, copy=False)
        self.keep_support(features.support)
        del self.samples

    @finite_values
    def scores(self, X: Samples) -> np.ndarray:
        """Canonical functions of new samples, (q, n_components)."""
        return np.asarray(self.cross_gram(X) @ self.projection_ + self.offset_)


class Canonical(NamedTuple):
    """Coefficients of two views' features, (r, count) each, and the means of the features."""

    first: np.ndarray
    second: np.ndarray
    means: tuple[np.ndarray, np.ndarray]


class Whitened(NamedTuple):
    """Centred features with their variances: T - mean = U diag(√v) Qᵀ."""

    U: np.ndarray
    v: np.ndarray
    Q: np.ndarray
    mean: np.ndarray

    @classmethod
    def of(cls, T: np.ndarray) -> Whitened:
        mean = T.mean(axis=0)
        C = T - mean
        v, Q = np.linalg.eigh(C.T @ C)
        kept = v > ROUNDING * max(float(v.max(initial=0)), np.finfo(np.float64).tiny)
        v, Q = v[kept], Q[:, kept]
        return cls(C @ Q / np.sqrt(v), v, Q, mean)

    def shrunk(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """√(v / (v + κ)) and 1 / √(v + κ), for κ = alpha Σ v."""
        root = 1 / np.sqrt(self.v + alpha * self.v.sum())
        return np.sqrt(self.v) * root, root


@estimator
class KernelCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Canonical correlation in feature space: functions f and g of two views that maximise

    .. math:: \frac{\operatorname{cov}(f, g)}{\sqrt{(\operatorname{var} f + κ_1 \|f\|^2 / n)
              (\operatorname{var} g + κ_2 \|g\|^2 / n)}},
              \qquad κ_j = α \operatorname{tr} \tilde K_j.

    The views are two descriptions of the same n things, of any two kinds: a text and its table row,
    a signal and its label.

    Parameters
    ----------
    n_components : int, default=2
        Pairs of functions.
    alpha : float >= 0 or "auto", default="auto"
        α, relative to the trace of each view's centred Gram matrix. Without a penalty, two kernels
        of full rank have all correlations 1, which means nothing. "auto" takes, of seven values
        from 1e-6 to 1, the one with the largest correlations in five folds held out.
    kernel : kernel object, name, "precomputed" or callable, default="rbf"
        Kernel of the first view.
    kernel_y : the same, optional
        Kernel of the second view; None means ``kernel``.
    solver : {"auto", "exact", "low_rank"} or solver value, default="auto"
        "exact" decomposes both Gram matrices; "low_rank" approximates them by ``rank`` centres.
        "auto" is exact up to 1,000 rows where five n x n matrices fit half of ``memory``.
        A value, such as ``mercer.solvers.TopEigenSolver(50)``, finds the components to work with.
    rank : int, optional
        Centres of "low_rank"; None means 400, or fewer if ``memory`` is too small.
    random_state : int, RandomState or None
        Seed for drawing the folds and the centres.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        Correlations of the pairs of functions on the training rows.
    held_out_correlations_ : ndarray of shape (n_components,)
        The same on rows that the functions were not fitted to: the mean over five folds, or NaN
        with fewer than ten rows. If they are far below ``correlations_``, the penalty is too small.
    alpha_ : float
        The penalty that was used.
    view_x_, view_y_ : View
        Each with ``kernel_``, ``X_fit_``, ``projection_``, ``offset_``, ``solver_`` and ``gram_``.

    Notes
    -----
    Scores have mean 0 and variance 1 on the training rows. O(n³) operations, or O(n rank²) with
    "low_rank", and some O(rank³) for each fold and each penalty.

    References
    ----------
    Hardoon, Szedmak & Shawe-Taylor, "Canonical correlation analysis: an overview with application
    to learning methods", Neural Computation 16, 2004.
    Bach & Jordan, "Kernel independent component analysis", JMLR 3, 2002.

    Examples
    --------
    >>> from mercer import KernelCCA
    >>> t = np.random.default_rng(0).uniform(-2, 2, 200)
    >>> X, Y = np.column_stack([t, np.cos(t)]), (t**2)[:, None]
    >>> cca = KernelCCA(1, random_state=0).fit(X, Y)
    >>> bool(cca.held_out_correlations_[0] > 0.99)
    True
    >>> x, y = cca.transform(X, Y)
    >>> x.shape, y.shape
    ((200, 1), (200, 1))
    """

    n_components: int = 2
    _: KW_ONLY
    alpha: Any = "auto"
    kernel: Any = "rbf"
    kernel_y: Any = None
    gamma: Any = None
    degree: float = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    solver: Any = "auto"
    rank: int | None = None
    random_state: Seed = None
    device: str | None = None
    memory: int | float | str | None = None
    n_jobs: int | None = None

    def __sklearn_is_fitted__(self) -> bool:
        return "view_x_" in vars(self)

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike | None = None) -> Self:
        """Fit to the first view X (n) and the second view y (n), row by row of the same things."""
        self._check_parameters()
        forget(self)
        if y is None:
            raise ValueError(
                "KernelCCA requires y to be passed, but the target y is None: give the second view."
            )
        one = self._view(self.kernel).fit(X)
        two = self._view(self.kernel if self.kernel_y is None else self.kernel_y)
        with _said_of("kernel_y"):
            two.resolve_kernel().validate()
        with _said_of("y, the second view"):
            two.fit(self._columns(y, two))
        n = one.samples.shape[0]
        if two.samples.shape[0] != n:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n} rows, but "
                f"y has {two.samples.shape[0]}: give both views of the same things, in the same "
                "order."
            )
        if n < 2:
            raise ValueError(f"KernelCCA needs at least 2 rows, but n_samples={n}: add rows.")
        with blas_limit(n):
            F, G = one.features(), two.features()
            count = min(self.n_components, F.T.shape[1], G.T.shape[1])
            if not count:
                raise ValueError(
                    "All samples of a view have the same features, up to rounding: no function of "
                    "them varies. Look at the samples, and at the scale of the kernel."
                )
            alpha = self._held_out(F.T, G.T, count)
            found = _canonical(Whitened.of(F.T), Whitened.of(G.T), alpha, count)
        self.correlations_ = _correlations(F.T @ found.first, G.T @ found.second)
        one.keep(F, found.first)
        two.keep(G, found.second)
        for name in ("n_features_in_", "feature_names_in_"):
            if name in vars(one):
                setattr(self, name, vars(one)[name])
        self.alpha_ = alpha
        self.view_y_ = two
        self.view_x_ = one
        return self

    def fit_transform(self, X: SamplesLike, y: ArrayLike | None = None) -> np.ndarray:
        """Fit to both views, and return the scores of the first, (n, n_components)."""
        return self.fit(X, y).transform(X)

    def transform(self, X: Any, y: ArrayLike | None = None) -> Any:
        """Scores of the first view, (q, n_components); with ``y`` a pair, for both views."""
        check_is_fitted(self)
        scores = self.view_x_.scores(X)
        return scores if y is None else (scores, self.transform_y(y))

    def transform_y(self, y: ArrayLike) -> np.ndarray:
        """Scores of the second view, (q, n_components)."""
        check_is_fitted(self)
        with _said_of("y, the second view"):
            return self.view_y_.scores(self._columns(y, self.view_y_))

    def score(self, X: SamplesLike, y: ArrayLike) -> float:
        """The mean correlation of the pairs of functions on both views of other rows."""
        return float(np.mean(_correlations(*self.transform(X, y))))

    @property
    def _n_features_out(self) -> int:
        return len(self.correlations_)

    def _held_out(self, T: np.ndarray, S: np.ndarray, count: int) -> float:
        """The penalty; sets ``held_out_correlations_``, of the features T and S of both views."""
        n, choose = len(T), self.alpha == "auto"
        tried = PENALTIES if choose else np.array([float(self.alpha)])
        if n < 2 * FOLDS:
            self.held_out_correlations_ = np.full(count, np.nan)
            return 0.1 if choose else float(self.alpha)
        found = np.zeros((FOLDS, len(tried), count))
        seed = self.random_state if self.random_state is not None else 0
        for fold, (fit, held) in enumerate(KFold(FOLDS, shuffle=True, random_state=seed).split(T)):
            one, two = Whitened.of(T[fit]), Whitened.of(S[fit])
            for i, alpha in enumerate(tried):
                part = _canonical(one, two, alpha, count)
                x = (T[held] - part.means[0]) @ part.first
                y = (S[held] - part.means[1]) @ part.second
                correlations = _correlations(x, y)
                found[fold, i, : len(correlations)] = correlations
        means = found.mean(axis=0)
        best = int(means.sum(axis=1).argmax())
        self.held_out_correlations_ = means[best]
        return float(tried[best])

    # --- the views ----------------------------------------------------------------------------

    def _view(self, kernel: Kernel | str) -> View:
        """A learner for one view."""
        named = not isinstance(kernel, Kernel)
        half = Place(self.memory).budget() // 2
        return View(
            kernel=kernel,
            gamma=self.gamma if named else None,
            degree=self.degree if named else 3,
            coef0=self.coef0 if named else 1,
            kernel_params=self.kernel_params,
            solver=self.solver,
            rank=self.rank,
            memory=half,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )

    @staticmethod
    def _columns(y: ArrayLike, view: View) -> Any:
        """One number for each thing is a column of vectors."""
        cells = in_one_column(y) or in_one_column(np.asarray(y)) or [None]
        numbers = is_number(cells[0]) or isinstance(cells[0], (bool, np.bool_))
        column = numbers and view.resolve_kernel().reads.coordinates
        return np.reshape(cells, (-1, 1)) if column else y

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        check_count("n_components", self.n_components, optional=False)
        check_count("rank", self.rank)
        check_seed(self.random_state)
        count_jobs(self.n_jobs)
        if not is_auto(self.alpha):
            check_not_negative("alpha", self.alpha, ', or "auto"')

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = self._view(self.kernel).__sklearn_tags__().input_tags
        tags.target_tags.required = True
        return tags


def _canonical(one: Whitened, two: Whitened, alpha: float, count: int) -> Canonical:
    """The best pairs of functions: singular vectors of D₁ U₁ᵀ U₂ D₂ with D = √(v / (v + κ))."""
    (d, p), (e, q) = one.shrunk(alpha), two.shrunk(alpha)
    M = d[:, None] * (one.U.T @ two.U) * e
    count = min(count, *M.shape)
    if min(M.shape) > 4 * count + 100:
        right = TopEigenSolver(count, 1e-9, random_state=0).solve(DenseGram(M.T @ M, True)).coef
        left = M @ right  # times its singular value, which changes no correlation
    else:
        left, _, rights = np.linalg.svd(M, full_matrices=False)
        left, right = left[:, :count], rights[:count].T
    first, second = one.Q @ (p[:, None] * left), two.Q @ (q[:, None] * right)
    # eigenvectors in Q have any sign, which products with them lose
    largest = np.abs(first).argmax(axis=0)
    signs = np.where(first[largest, np.arange(count)] < 0, -1.0, 1.0)
    return Canonical(first * signs, second * signs, (one.mean, two.mean))


def _correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Correlation of each column of x with that of y; 0 where one of them is constant."""
    x, y = (a - a.mean(axis=0, dtype=np.float64) for a in (x, y))
    sizes = np.linalg.norm(x, axis=0) * np.linalg.norm(y, axis=0)
    return np.divide((x * y).sum(axis=0), sizes, out=np.zeros_like(sizes), where=sizes > 0)
