"""What a deep kernel machine is fitted to: log P(Y | K) of numbers or of classes, for a Gaussian
process with covariance a K of its outputs, and the derivatives of it.

Both kinds of targets come to the same formulas. With residuals R = dlogP/df at the best outputs f,
N outputs, a shift s (the variance of the noise in units of a; for classes their number) and an
amplitude a (that of the largest likelihood where it is learnt, so that its own derivative is 0),

    dlogP/dK = ½ R Rᵀ / a - ½ N (K + s I)⁻¹.

A machine with inducing points has K ~ T Tᵀ for a factor T (n, m), and what K has beyond it, the
gap Σ (k_t - |T_t|²), costs N gap / (2 s): this is Titsias' bound, or the same for classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from mercer.gram import FeatureGram
from mercer.learners.base import finite_values
from mercer.samples import Samples, SamplesLike
from mercer.solvers import NewtonLogistic, Reason


class GaussianOutputs(ABC):
    """Abstract: an output for each class, of some mean and of one variance for all classes.

    Define ``_outputs``, and ``classes_`` in ``fit``.
    """

    classes_: np.ndarray

    @abstractmethod
    def _outputs(self, X: Samples) -> tuple[np.ndarray, np.ndarray]:
        """Means (q, C) and variances (q,) of the outputs for new samples."""

    @finite_values
    def _means(self, X: Samples) -> np.ndarray:
        """Outputs, made smaller where they are uncertain, (q, C)."""
        check_is_fitted(self)
        means, variances = self._outputs(X)
        # MacKay, "The evidence framework applied to classification networks", 1992
        return means / np.sqrt(1 + np.pi / 4 * variances)[:, None]

    def decision_function(self, X: Any) -> np.ndarray:
        """Log-probabilities up to a constant, (q, C); for two classes their difference, (q,)."""
        f = self._means(X)
        return f[:, 1] - f[:, 0] if f.shape[1] == 2 else f

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes in the order of ``classes_``, (q, C)."""
        return np.exp(log_softmax(self._means(X), axis=1))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each sample, (q,)."""
        f = self._means(X)
        return self.classes_[f.argmax(axis=1)]


class GaussianNumbers(ABC):
    """Abstract: numbers whose distribution is Gaussian, in units of the targets of a fit.

    Define ``_moments``, and the attributes below in ``fit``.
    """

    y_mean_: np.ndarray
    y_scale_: np.ndarray
    noise_: float
    one_target_: bool
    X_fit_: Any

    @abstractmethod
    def _moments(self, X: Samples) -> tuple[np.ndarray, np.ndarray]:
        """Means (q, n_targets) and variances, (q, n_targets) or (q, 1), for new samples."""

    def predict(self, X: SamplesLike, return_std: bool = False) -> Any:
        """Means of y at the rows of X, (q,) or (q, n_targets).

        Also standard deviations of the same shape, with ``return_std``: of a new observation, its
        noise among them.
        """
        mean, std = self._predicted(X)
        return (mean, std) if return_std else mean

    @finite_values
    def _predicted(self, X: Any) -> Any:
        """The means and standard deviations of the targets, in their own units."""
        check_is_fitted(self)
        means, variances = self._moments(X)
        mean = self.y_mean_ + self.y_scale_ * means
        std = self.y_scale_ * np.sqrt(variances + self.noise_)
        both = np.stack([mean[:, 0], std[:, 0]] if self.one_target_ else [mean, std])
        return both.astype(np.float32 if self.X_fit_.dtype == np.float32 else np.float64)


LEAST_NOISE, MOST_NOISE = 1e-6, 1e2  # bounds of the learnt noise, in units of the amplitude
LEAST_AMPLITUDE = 1e-10  # where all targets are 0


class Dense(NamedTuple):
    """log P(Y | K), its derivative by K (n, n) and by the noise."""

    value: float
    by_kernel: np.ndarray
    by_noise: float


class Factor(NamedTuple):
    """T (n, m) of K ~ T Tᵀ, its products P = TᵀT (m, m), and the trace that K has beyond it."""

    T: np.ndarray
    P: np.ndarray
    gap: float


class FactorSlope(NamedTuple):
    """dlogP/dT = R Aᵀ + T M for residuals R, and the derivative with respect to each k_t.

    ``product`` is Tᵀ dlogP/dT (m, m).
    """

    A: np.ndarray
    M: np.ndarray
    product: np.ndarray
    by_diagonal: float


class Factored(NamedTuple):
    """The bound of log P(Y | T Tᵀ), its derivatives by T and by the noise, and R (n, N)."""

    value: float
    slope: FactorSlope
    by_noise: float
    residuals: np.ndarray


class Targets(ABC):
    """Abstract: targets Y of shape (n, N) and their likelihood.

    Attributes
    ----------
    Y : ndarray of shape (n, N)
    learnt : bool
        Whether there are a noise and an amplitude that are learnt.
    """

    Y: np.ndarray
    learnt: bool

    @abstractmethod
    def shift(self, noise: float) -> float:
        """s, with which K + s I is the covariance of the outputs that are observed."""

    @abstractmethod
    def residuals(self, T: np.ndarray, P: np.ndarray, noise: float) -> tuple[float, np.ndarray]:
        """log P without the terms of the determinant, and R (n, N), for K = T Tᵀ and P = TᵀT."""

    @abstractmethod
    def determinant(self, logs: float, n: int, noise: float) -> float:
        """The rest of log P, for logs = log det (K + s I)."""

    @abstractmethod
    def best_noise(self, factor: Factor, noise: float) -> float:
        """The noise of the largest log P for K ~ T Tᵀ, or ``noise`` where none is learnt."""

    def amplitude(self, R: np.ndarray) -> float:
        """a of the largest log P for residuals R, or 1 where none is learnt."""
        return 1.0

    def dense(self, K: np.ndarray, noise: float) -> Dense:
        """log P and its derivatives for the covariance matrix K."""
        n, N = self.Y.shape
        s = self.shift(noise)
        L = np.linalg.cholesky(K + s * np.eye(n))
        inverse = inverse_of(L)
        value, R = self.dense_residuals(K, inverse, noise)
        by_kernel = (R @ R.T / self.amplitude(R) - N * inverse) / 2
        value += self.determinant(log_det(L), n, noise)
        return Dense(value, by_kernel, float(np.trace(by_kernel)))

    @abstractmethod
    def dense_residuals(
        self, K: np.ndarray, inverse: np.ndarray, noise: float
    ) -> tuple[float, np.ndarray]:
        """The same as ``residuals``, with the inverse of K + s I."""

    def factored(self, factor: Factor, noise: float) -> Factored:
        """log P and its derivatives for K ~ T Tᵀ, which lacks ``factor.gap`` of the trace."""
        T, P, gap = factor
        (n, m), N, s = T.shape, self.Y.shape[1], self.shift(noise)
        L = np.linalg.cholesky(P + s * np.eye(m))
        inverse = inverse_of(L)
        value, R = self.residuals(T, P, noise)
        logs = (n - m) * np.log(s) + log_det(L)
        value += self.determinant(logs, n, noise) - N * gap / (2 * s)
        a = self.amplitude(R)
        TR, M = T.T @ R, N * (np.eye(m) / s - inverse)
        # the gap is Σ k_t - |T_t|²: its second part is in M
        slope = FactorSlope(TR / a, M, TR @ TR.T / a + P @ M, -N / (2 * s))
        trace = (n - float(np.sum(inverse * P))) / s  # of (T Tᵀ + s I)⁻¹
        by_noise = (float(np.square(R).sum()) / a - N * trace + N * gap / s**2) / 2
        return Factored(value, slope, by_noise, R)


class NumberTargets(Targets):
    """Numbers with Gaussian noise: log P = log N(Y; 0, a (K + s I)) for each column.

    If ``learnt``, a is tr(Yᵀ (K + s I)⁻¹ Y) / (n N), which is the most likely one, and else 1.
    """

    def __init__(self, Y: np.ndarray, learnt: bool):
        self.Y, self.learnt = Y, learnt

    def shift(self, noise):
        return noise

    def determinant(self, logs, n, noise):
        return -self.Y.shape[1] / 2 * (logs + n * np.log(2 * np.pi))

    def residuals(self, T, P, noise):
        shifted = P + noise * np.eye(len(P))
        R = (self.Y - T @ scipy.linalg.solve(shifted, T.T @ self.Y)) / noise
        return self._value(R), R

    def dense_residuals(self, K, inverse, noise):
        R = inverse @ self.Y
        return self._value(R), R

    def amplitude(self, R):
        if not self.learnt:
            return 1.0
        return max(float(np.sum(self.Y * R)) / self.Y.size, LEAST_AMPLITUDE)

    def _value(self, R: np.ndarray) -> float:
        a = self.amplitude(R)
        return -(float(np.sum(self.Y * R)) / a + self.Y.size * float(np.log(a))) / 2

    def best_noise(self, factor, noise):
        if not self.learnt:
            return noise
        (n, N), (T, P, gap) = self.Y.shape, factor
        values, V = np.linalg.eigh(P)
        values = np.maximum(values, 0)
        kept = values > 1e-12 * max(float(values[-1]), np.finfo(np.float64).tiny)
        values = values[kept]
        along = (V[:, kept] / np.sqrt(values)).T @ (T.T @ self.Y)
        squares = np.square(along).sum(axis=1)
        rest = max(float(np.square(self.Y).sum() - squares.sum()), 0.0)

        def cost(log_s: float) -> float:
            s = np.exp(log_s)
            logs = np.log(values + s).sum() + (n - len(values)) * log_s
            a = max((float(np.sum(squares / (values + s))) + rest / s) / (n * N), LEAST_AMPLITUDE)
            return N * (logs + n * np.log(a) + gap / s)

        bounds = (np.log(LEAST_NOISE), np.log(MOST_NOISE))
        found = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-4})
        return float(np.exp(found.x)) if found.fun < cost(np.log(noise)) else noise


class ClassTargets(Targets):
    r"""Classes, as indicators Y (n, C), with p = softmax(f).

    Gaussian outputs of means μ and one covariance A for all classes have

    .. math:: E \log p_y(f) \ge \log softmax(μ)_y - \tfrac12 A_{tt}

    by Jensen's inequality. The best A of this bound is (K⁻¹ + I / C)⁻¹, as if each output was
    observed with noise of variance C, and the best μ is penalised multinomial regression:

    .. math:: \log P \ge \max_μ \sum \log softmax(μ)_y - \tfrac12 tr(μ^\top K^{-1} μ)
                          - \tfrac{C}{2} \log\det(I + K / C).
    """

    learnt = False

    def __init__(self, Y: np.ndarray):
        self.Y = Y

    def shift(self, noise):
        return float(self.Y.shape[1])

    def determinant(self, logs, n, noise):
        C = self.Y.shape[1]
        return -C / 2 * (logs - n * np.log(C))

    def residuals(self, T, P, noise):
        newton = NewtonLogistic(1.0, tol=1e-13, fit_intercept=False)
        result = newton.solve(FeatureGram(T), self.Y)
        if result.reason is Reason.INTERRUPTED:
            raise KeyboardInterrupt
        return -result.objective, self.Y - softmax(T @ result.coef, axis=1)

    def dense_residuals(self, K, inverse, noise):
        values, V = np.linalg.eigh(K)
        values = np.maximum(values, 0)
        return self.residuals(V * np.sqrt(values), np.diag(values), noise)

    def best_noise(self, factor, noise):
        return noise


def inverse_of(L: np.ndarray) -> np.ndarray:
    """(L Lᵀ)⁻¹ of a lower triangular L."""
    (potri,) = scipy.linalg.get_lapack_funcs(("potri",), (L,))
    inverse, info = potri(L, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("a covariance matrix is singular")
    inverse = np.tril(inverse)
    return inverse + np.tril(inverse, -1).T


def log_det(L: np.ndarray) -> float:
    """log det L Lᵀ."""
    return 2 * float(np.log(L.diagonal()).sum())
