"""Fisher's linear discriminant in feature space, as a classifier and as a transformer."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.special import log_softmax
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import (
    LIMITS,
    Classifier,
    check_count,
    check_not_negative,
    encode_classes,
    finite_fit,
    finite_values,
    fit_softmax,
    is_auto,
)
from mercer.learners.ridge import PENALTIES
from mercer.learners.spectral.components import PrincipalFeatures, PrincipalLearner
from mercer.samples import Samples, SamplesLike, float_array
from mercer.threads import blas_limit

NOTHING = 1e-12  # a direction that explains less than this part of the classes is none


@estimator
class KernelDiscriminant(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, Classifier, PrincipalLearner
):
    r"""Fisher's discriminant in feature space: directions w that maximise

    .. math:: \frac{w^\top S_B w}{w^\top (S_W + α I) w},

    where :math:`S_B` and :math:`S_W` are the scatter of the features between and within classes.
    The kernel counterpart of scikit-learn's LinearDiscriminantAnalysis.

    Parameters
    ----------
    alpha : float >= 0 or "auto", default="auto"
        The shrinkage α, in units of k(x, x), added to a scatter of n rows. "auto" takes, of 19
        values from 1e-8 to 10 times the trace of the centred K, the one with the least squared
        leave-one-out error of the class indicators, which has a closed form.
    n_components : int, optional
        Directions that `transform` returns; None means all, at most the classes less one. Classes
        are always predicted from all.
    priors : array-like of shape (n_classes,), optional
        Probabilities of the classes before x is seen; None means their shares in y.
    solver : {"auto", "exact", "low_rank"} or solver value, default="auto"
        "exact" decomposes K; "low_rank" approximates it by ``rank`` centres. "auto" is exact up to
        3,000 rows where four n x n matrices fit ``memory``.
        A value, such as ``mercer.solvers.TopEigenSolver(50)``, finds the components to work with.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    priors_, means_ : ndarray of shape (n_classes,), (n_classes, n_directions)
        Probabilities and mean scores of the classes.
    explained_variance_ratio_ : ndarray of shape (n_directions,)
        Each direction's part of the variance between classes, in units of that within.
    alpha_ : float
        The shrinkage that was used.
    slope_ : float > 0
        What multiplies the log-probabilities: 1 if alpha is given, and with "auto" the most likely
        slope on leave-one-out scores.
    projection_, offset_ : ndarray of shape (m, n_directions), (n_directions,)
        Scores are :math:`k(x, X_{fit})` projection + offset.
    X_fit_ : encoded samples
        The training samples, or with "low_rank" the centres.
    solver_, gram_ : str
        The same as in `KernelRidge`.

    Notes
    -----
    Penalised discriminant analysis is a ridge regression of the class indicators, followed by an
    eigenproblem of the size of the classes (Hastie, Buja & Tibshirani). Scores are scaled so that
    :math:`(S_W + α I) / n` is the identity on the directions; a sample belongs to the class of the
    nearest mean, corrected by the logarithm of its prior. So probabilities are those of Gaussian
    classes with one covariance.

    With a narrow kernel the training samples lie nearer to the means of their classes than new
    ones do, and such probabilities are too near to 0 and 1. With ``alpha="auto"`` the leave-one-out
    scores, which are known by then, give the log-probabilities the slope that is most likely on
    them; the classes that are predicted stay the same.

    O(n³) operations, or O(n rank²) with "low_rank". Classes of one row are allowed: they have no
    scatter of their own.

    References
    ----------
    Hastie, Buja & Tibshirani, "Penalized discriminant analysis", Annals of Statistics 23, 1995.
    Mika et al., "Fisher discriminant analysis with kernels", NNSP 1999.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelDiscriminant(kernel="rbf", gamma=0.1).fit(X, y)
    >>> model.transform(X).shape, bool(model.score(X, y) > 0.97)
    ((150, 2), True)
    """

    alpha: Any = "auto"
    _: KW_ONLY
    n_components: Any = None
    priors: Any = None

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike) -> Self:
        """Fit to samples X (n) and classes y (n)."""
        self._check_parameters()
        training = self.make_training(X, y, numeric=False)
        self.classes_, codes = encode_classes(column_or_1d(training.y, warn=True))
        n = len(codes)
        Y = (codes[:, None] == np.arange(len(self.classes_))).astype(np.float64)
        counts = Y.sum(axis=0)
        self._shares = counts / n
        self.priors_ = self._checked_priors(self._shares)
        with blas_limit(n):
            features = self.principal_features(training.X, LIMITS["discriminant"])
            T, values = features.T, features.values
            alpha = _least_left_out(T, values, Y) if self.alpha == "auto" else self.alpha
            # regress: B = (TᵀT + α I)⁻¹ Tᵀ Y, where TᵀT is diagonal
            sums = T.T @ Y
            B = np.divide(sums, (values + alpha)[:, None])
            unexplained = self._unexplained(features, Y, sums, alpha)
            theta, left = _scored(unexplained, counts)
        # θᵀBᵀ(S_W + α I) B θ = τ (1 - τ) for θᵀDθ = 1: Hastie et al., section 4
        if (left <= np.finfo(np.float64).tiny).any():
            raise ValueError(
                f"alpha={self.alpha!r} leaves no scatter within the classes, which the kernel "
                'separates exactly: give alpha > 0, or "auto".'
            )
        directions = theta / np.sqrt(left * (1 - left) / n)
        order = np.arange(len(counts)) - (len(counts) - 1) / 2  # signs: later classes are higher
        directions *= np.where(order @ ((sums / counts).T @ B @ directions) < 0, -1.0, 1.0)
        beta, between = B @ directions, (1 - left) / left
        self.alpha_ = float(alpha)
        self.explained_variance_ratio_ = between / max(between.sum(), np.finfo(np.float64).tiny)
        self.means_ = (sums / counts).T @ beta
        self.slope_ = 1.0
        if self.alpha == "auto":
            held_out = self._logs(_left_out(T, values, Y, alpha) @ directions)
            self.slope_ = fit_softmax(held_out, codes, with_bias=False).slope
        coef, offset = features.lift(beta)
        self.projection_ = coef.astype(training.X.dtype, copy=False)
        self.offset_ = offset.astype(training.X.dtype, copy=False)
        self.keep_support(features.support)
        return self

    @staticmethod
    def _unexplained(
        features: PrincipalFeatures, Y: np.ndarray, sums: np.ndarray, alpha: float
    ) -> np.ndarray:
        """Yᵀ(Y - T B) of centred Y, (classes, classes), without the cancellation in it.

        The part of Y outside of the features, and α YᵀT (TᵀT)⁻¹ (TᵀT + α)⁻¹ TᵀY.
        """
        values = features.values
        outside = Y - Y.mean(axis=0) - features.T @ (sums / values[:, None])
        inside = sums * np.sqrt(alpha / (values * (values + alpha)))[:, None]
        return outside.T @ outside + inside.T @ inside

    @finite_values
    def _scores(self, X: Samples) -> np.ndarray:
        return np.asarray(self.cross_gram(X) @ self.projection_ + self.offset_)

    def transform(self, X: Any) -> np.ndarray:
        """Scores on the directions, the most separating first, (q, n_components)."""
        check_is_fitted(self)
        return self._scores(X)[:, : self._n_features_out]

    def decision_function(self, X: SamplesLike) -> np.ndarray:
        """Log-probabilities up to a constant, (q, n_classes); for two classes their difference."""
        logs = self._log_densities(X)
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def predict_log_proba(self, X: SamplesLike) -> np.ndarray:
        """Log-probabilities of the classes, (q, n_classes)."""
        return log_softmax(self._log_densities(X), axis=1)

    def predict_proba(self, X: SamplesLike) -> np.ndarray:
        """Probabilities of the classes in the order of ``classes_``, (q, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: SamplesLike) -> np.ndarray:
        """The most probable class of each row, (q,)."""
        check_is_fitted(self)
        return self.classes_[self._log_densities(X).argmax(axis=1)]

    def _log_densities(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        with np.errstate(divide="ignore"):  # a prior of 0
            asked = np.log(self.priors_) - np.log(self._shares)
        return self.slope_ * self._logs(self._scores(X).astype(np.float64)) + asked

    def _logs(self, z: np.ndarray) -> np.ndarray:
        """-‖z - m_c‖² / 2 + log n_c/n of scores z, without ‖z‖², which all classes share."""
        return z @ self.means_.T - np.square(self.means_).sum(axis=1) / 2 + np.log(self._shares)

    @property
    def _n_features_out(self) -> int:
        most = self.projection_.shape[1]
        return most if self.n_components is None else min(self.n_components, most)

    def _check_parameters(self) -> None:
        if not is_auto(self.alpha):
            check_not_negative("alpha", self.alpha, ', or "auto"')
        check_count("n_components", self.n_components)
        check_count("rank", self.rank)

    def _checked_priors(self, shares: np.ndarray) -> np.ndarray:
        """The priors, which are the shares of the classes where none are given."""
        if self.priors is None:
            return shares
        priors = float_array("priors", self.priors)
        if priors.shape != shares.shape or not ((priors >= 0) & np.isfinite(priors)).all():
            raise ValueError(
                f"priors={self.priors!r}: give a number >= 0 for each of the {len(shares)} classes."
            )
        if not priors.sum() > 0:
            raise ValueError(f"priors={self.priors!r}: give numbers that are not all 0.")
        return priors / priors.sum()


def _left_out(T: np.ndarray, values: np.ndarray, Y: np.ndarray, alpha: float) -> np.ndarray:
    """The indicators of each row, less their means, by the regression without that row."""
    centred, inverse = Y - Y.mean(axis=0), 1 / (values + alpha)
    residual = centred - T @ ((T.T @ Y) * inverse[:, None])
    leverage = np.minimum(1 / len(Y) + np.square(T) @ inverse, 1 - 1e-9)
    return centred - residual / (1 - leverage)[:, None]


def _least_left_out(T: np.ndarray, values: np.ndarray, Y: np.ndarray) -> float:
    """The α of the least squared leave-one-out error of the indicators, in closed form."""
    centred = Y - Y.mean(axis=0)
    tried = PENALTIES * (float(values.sum()) or 1.0)
    errors = [np.square(centred - _left_out(T, values, Y, alpha)).sum() for alpha in tried]
    return float(tried[int(np.argmin(errors))])


def _scored(unexplained: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores θ of the classes, θᵀDθ = I and θᵀD1 = 0, and the part τ that is left unexplained.

    R θ = τ D θ, by ascending τ, without directions that explain nothing.
    """
    roots = np.sqrt(counts)
    others = scipy.linalg.null_space(roots[None] / np.linalg.norm(roots))
    left, U = np.linalg.eigh(others.T @ (unexplained / np.outer(roots, roots)) @ others)
    kept = 1 - left > NOTHING
    return (others @ U)[:, kept] / roots[:, None], np.maximum(left[kept], 0.0)
