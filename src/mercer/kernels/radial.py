"""Kernels that are decreasing functions of a distance.

Each takes ``metric=``, a distance in place of its own, so that weights for each feature, a full
Mahalanobis metric, or a distance of categories are the same kernel.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer import _native
from mercer.distances import Distance, Minkowski
from mercer.kernels.base import Radial
from mercer.kernels.dot import bound_gamma, check_gamma, resolve_gamma

__all__ = ["RBF", "ExponentialPower", "Laplacian", "LpqLaplace", "Matern", "RationalQuadratic"]

EUCLID = Minkowski(2)
MANHATTAN = Minkowski(1)


class RBF(Radial):
    r"""Gaussian kernel :math:`k(x, z) = \exp(-\gamma \rho(x, z)^2)`, ρ Euclid's distance.

    Strictly positive definite: on distinct points every labelling is separable.

    Parameters
    ----------
    gamma : float > 0, "scale", "auto" or "median", default=1.0
        γ, in units of 1 / distance². "scale" is 1 / (d · var(X)) of the training sample and
        "auto" 1 / d, as in scikit-learn; "median" is 1 / the median squared distance.
    metric : Distance, optional
        In place of Euclid's distance: ``Minkowski(2, weights=w)`` for one length scale per
        feature, ``Mahalanobis()`` for :math:`\exp(-\gamma (x-z)^\top S^{-1} (x-z))`.

    Notes
    -----
    O(n m d) operations by a matrix product, and one exponential a pair.

    Examples
    --------
    >>> RBF(0.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    def __init__(self, gamma: float | str = 1.0, metric: Distance | None = None):
        self.gamma = gamma
        self.metric = metric

    @property
    def distance(self) -> Distance:
        return EUCLID if self.metric is None else self.metric

    def validate(self) -> None:
        check_gamma(self.gamma)
        _check_metric(self.metric)

    def bind(self, X: Any, y: Any = None) -> Self:
        return bind_gamma(super().bind(X, y), X, 2)

    def profile(self, D: np.ndarray) -> np.ndarray:
        D = _raise(D, 2 / self.distance.exponent)
        _native.exp_scaled(D, bound_gamma(self.gamma, self))
        return D

    def profile_derivative(self, D: np.ndarray) -> np.ndarray:
        power = 2 / self.distance.exponent
        gamma = bound_gamma(self.gamma, self)
        return -gamma * power * D ** (power - 1) * np.exp(-gamma * D**power)


class Laplacian(Radial):
    r"""Laplacian kernel :math:`k(x, z) = \exp(-\gamma \rho(x, z))`, ρ Manhattan's distance.

    Parameters
    ----------
    gamma : float > 0, "auto" or "scale", default=1.0
        γ, in units of 1 / distance.
    metric : Distance, optional
        In place of Manhattan's distance.

    References
    ----------
    Rahimi & Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007.

    Examples
    --------
    >>> Laplacian(1.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.1353]])
    """

    def __init__(self, gamma: float | str = 1.0, metric: Distance | None = None):
        self.gamma = gamma
        self.metric = metric

    @property
    def distance(self) -> Distance:
        return MANHATTAN if self.metric is None else self.metric

    def validate(self) -> None:
        check_gamma(self.gamma)
        _check_metric(self.metric)

    def bind(self, X: Any, y: Any = None) -> Self:
        return bind_gamma(super().bind(X, y), X, 1)

    def profile(self, D: np.ndarray) -> np.ndarray:
        D = _raise(D, 1 / self.distance.exponent)
        _native.exp_scaled(D, bound_gamma(self.gamma, self))
        return D

    def profile_derivative(self, D: np.ndarray) -> np.ndarray:
        power = 1 / self.distance.exponent
        gamma = bound_gamma(self.gamma, self)
        return -gamma * power * D ** (power - 1) * np.exp(-gamma * D**power)


class ExponentialPower(Radial):
    r"""Exponential power kernel :math:`k(x, z) = \exp(-\rho(x, z)^\gamma / \sigma)`, ρ Euclid's.

    Parameters
    ----------
    scale : float > 0, default=1.0
        σ, in units of distance^γ.
    power : float in (0, 2], default=1.0
        γ: 2 is the Gaussian, 1 the Laplacian of Euclid's distance; below 1 the kernel is
        non-smooth. Above 2 it would not be positive semidefinite.
    metric : Distance, optional
        In place of Euclid's distance.

    Notes
    -----
    Values in (0, 1]. O(n m d) operations by a matrix product, a power and an exponential a pair.

    References
    ----------
    Schoenberg, "Metric spaces and positive definite functions", Trans. AMS 44, 1938: positive
    semidefinite for powers up to 2.

    Examples
    --------
    >>> ExponentialPower(scale=5.0, power=1.0)([[0.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.3679]])
    """

    def __init__(self, scale: float = 1.0, power: float = 1.0, metric: Distance | None = None):
        self.scale = scale
        self.power = power
        self.metric = metric

    @property
    def distance(self) -> Distance:
        return EUCLID if self.metric is None else self.metric

    def validate(self) -> None:
        _positive("scale", self.scale)
        if not (isinstance(self.power, (int, float, np.number)) and 0 < self.power <= 2):
            raise ValueError(
                f"power={self.power!r}: must be in (0, 2]; above 2 the kernel is not positive "
                "semidefinite (Schoenberg 1938)."
            )
        _check_metric(self.metric)

    def profile(self, D: np.ndarray) -> np.ndarray:
        D = _raise(D, self.power / self.distance.exponent)
        _native.exp_scaled(D, 1 / float(self.scale))
        return D

    def profile_derivative(self, D: np.ndarray) -> np.ndarray:
        q = self.power / self.distance.exponent
        return -q * D ** (q - 1) / self.scale * np.exp(-(D**q) / self.scale)


class LpqLaplace(Radial):
    r"""Generalised Laplacian :math:`k(x, z) = \exp(-\|x - z\|_q^p / L^p)`.

    q = 1, p = 1 is the product Laplacian, good on tables; q = p = 2 the Gaussian.

    Parameters
    ----------
    p, q : float, 0 < p <= q <= 2, default=1.0
        Positive semidefinite in this range.
    length_scale : float > 0, default=1.0
        L, in the units of the columns.
    weights : array-like of shape (d,), optional
        Of the features within :math:`\|\cdot\|_q`.

    References
    ----------
    Beaglehole et al., "xRFM: Accurate, scalable, and interpretable feature learning models for
    tabular data", 2025.

    Examples
    --------
    >>> LpqLaplace(p=1, q=1, length_scale=7.0)([[0.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.3679]])
    """

    def __init__(
        self, p: float = 1.0, q: float = 1.0, length_scale: float = 1.0, weights: Any = None
    ):
        self.p = p
        self.q = q
        self.length_scale = length_scale
        self.weights = weights

    @property
    def distance(self) -> Distance:
        return Minkowski(self.q, self.weights)

    def validate(self) -> None:
        if not 0 < self.p <= self.q <= 2:
            raise ValueError(
                f"p={self.p!r}, q={self.q!r}: the kernel is positive semidefinite for "
                "0 < p <= q <= 2."
            )
        _positive("length_scale", self.length_scale)
        self.distance.validate()

    def profile(self, D: np.ndarray) -> np.ndarray:
        D = _raise(D, self.p / self.q)
        _native.exp_scaled(D, float(self.length_scale) ** -self.p)
        return D

    def profile_derivative(self, D: np.ndarray) -> np.ndarray:
        r, scale = self.p / self.q, float(self.length_scale) ** -self.p
        return -scale * r * D ** (r - 1) * np.exp(-scale * D**r)


class Matern(Radial):
    r"""Matérn kernel of smoothness ν,
    :math:`k = \frac{2^{1-\nu}}{\Gamma(\nu)} t^\nu K_\nu(t)` with
    :math:`t = \sqrt{2\nu}\, \rho(x, z) / \ell`.

    Closed forms: ν = 1/2: exp(-t); 3/2: (1 + t) exp(-t); 5/2: (1 + t + t²/3) exp(-t);
    ∞: exp(-ρ² / 2ℓ²). ρ is Euclid's distance.

    Parameters
    ----------
    nu : float > 0 or inf, default=1.5
        ν; samples of the process are ⌈ν⌉ - 1 times differentiable.
    length_scale : float > 0, default=1.0
        ℓ, in the units of the columns.
    metric : Distance, optional
        In place of Euclid's distance.

    References
    ----------
    Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006, eq. 4.14 to 4.17.

    Examples
    --------
    >>> Matern(0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    def __init__(self, nu: float = 1.5, length_scale: float = 1.0, metric: Distance | None = None):
        self.nu = nu
        self.length_scale = length_scale
        self.metric = metric

    @property
    def distance(self) -> Distance:
        return EUCLID if self.metric is None else self.metric

    def validate(self) -> None:
        if not (isinstance(self.nu, (int, float, np.number)) and self.nu > 0):
            raise ValueError(f"nu={self.nu!r}: must be > 0, or inf.")
        _positive("length_scale", self.length_scale)
        _check_metric(self.metric)

    def profile(self, D: np.ndarray) -> np.ndarray:
        nu, l = float(self.nu), float(self.length_scale)
        if nu == np.inf:
            D = _raise(D, 2 / self.distance.exponent)
            _native.exp_scaled(D, 0.5 / l**2)
            return D
        t = _raise(D, 1 / self.distance.exponent)
        scale = np.sqrt(2 * nu) / l
        if nu == 0.5:
            _native.exp_scaled(t, scale)
        elif nu in (1.5, 2.5):
            _native.matern(t, scale, int(2 * nu))
        else:
            return _matern_bessel(t * t.dtype.type(scale), nu)
        return t

    def profile_derivative(self, D: np.ndarray) -> np.ndarray:
        nu, l, e = float(self.nu), float(self.length_scale), self.distance.exponent
        if nu == np.inf:
            s, q = 0.5 / l**2, 2 / e
            return -s * q * D ** (q - 1) * np.exp(-s * D**q)
        c = np.sqrt(2 * nu) / l
        t = c * D ** (1 / e)
        # d/dt [t^ν K_ν(t)] = -t^ν K_{ν-1}(t); Abramowitz & Stegun 9.6.28
        from scipy.special import gamma, kv

        slope = -(2 ** (1 - nu)) / gamma(nu) * t**nu * kv(nu - 1, t)
        return slope * c / e * D ** (1 / e - 1)


class RationalQuadratic(Radial):
    r"""Rational quadratic kernel
    :math:`k(x, z) = (1 + \rho(x, z)^2 / (2 \alpha \ell^2))^{-\alpha}`, ρ Euclid's distance.

    A mixture of Gaussians of all length scales; α → ∞ is the Gaussian of length scale ℓ.

    Parameters
    ----------
    alpha : float > 0, default=1.0
        α.
    length_scale : float > 0, default=1.0
        ℓ, in the units of the columns.
    metric : Distance, optional
        In place of Euclid's distance.

    References
    ----------
    Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006, eq. 4.19.

    Examples
    --------
    >>> RationalQuadratic()([[0.0]], [[1.0]]).round(4)
    array([[0.6667]])
    """

    def __init__(
        self, alpha: float = 1.0, length_scale: float = 1.0, metric: Distance | None = None
    ):
        self.alpha = alpha
        self.length_scale = length_scale
        self.metric = metric

    @property
    def distance(self) -> Distance:
        return EUCLID if self.metric is None else self.metric

    def validate(self) -> None:
        _positive("alpha", self.alpha)
        _positive("length_scale", self.length_scale)
        _check_metric(self.metric)

    def profile(self, D: np.ndarray) -> np.ndarray:
        D = _raise(D, 2 / self.distance.exponent)
        D /= 2 * self.alpha * self.length_scale**2
        D += 1
        D **= -self.alpha
        return D

    def profile_derivative(self, D: np.ndarray) -> np.ndarray:
        q, s = 2 / self.distance.exponent, 1 / (2 * self.alpha * self.length_scale**2)
        return -self.alpha * (1 + s * D**q) ** (-self.alpha - 1) * s * q * D ** (q - 1)


def _raise(D: np.ndarray, power: float) -> np.ndarray:
    """D ** power in place."""
    if power == 0.5:
        return np.sqrt(D, out=D)
    if power != 1:
        D **= power
    return D


def _check_metric(metric: Any) -> None:
    if metric is not None and not isinstance(metric, Distance):
        raise TypeError(
            f"metric={metric!r}: give a distance of mercer.distances, such as Minkowski(1)."
        )
    if metric is not None:
        metric.validate()


def _positive(name: str, value: Any) -> None:
    if not (isinstance(value, (int, float, np.number)) and 0 < value < np.inf):
        raise ValueError(f"{name}={value!r}: must be a finite number > 0.")


def _matern_bessel(t: np.ndarray, nu: float) -> np.ndarray:
    from scipy.special import gamma, kv

    # K_ν(0) is infinite, and the limit of the product is 1; where K_ν underflows, so does it
    s = np.where(t > 0, t, 1).astype(np.float64)
    K = np.where(t > 0, 2 ** (1 - nu) / gamma(nu) * s**nu * kv(nu, s), 1)
    return K.astype(t.dtype)


def bind_gamma(kernel: Any, X: Any, power: int) -> Any:
    """A kernel exp(-γ ρ^power) with γ learnt from the training sample, where it is a word."""
    gamma = resolve_gamma(kernel.gamma, X)
    if gamma == "median":
        gamma = median_distance(kernel.distance, X) ** -power
    return kernel if gamma is kernel.gamma else kernel.copied(gamma=gamma)


def median_distance(distance: Distance, X: Any) -> float:
    """Median ρ over pairs of a sample of at most 1,000 rows, spread evenly; 1 if it is 0."""
    step = max(1, X.shape[0] // 1000)
    S = X[np.arange(0, X.shape[0], step)[:1000]]
    D = distance.raw(S, S)[np.triu_indices(S.shape[0], 1)]
    median = float(np.median(D)) if D.size else 0.0
    return median ** (1 / distance.exponent) if median > 0 else 1.0
