"""Kernels that are a decreasing function of a distance; the Matérn family is in matern.py.

Each has a parameter ``metric``, a distance to use in place of its own: with weights for each
feature, a Mahalanobis distance, or a distance between categories. Not every kernel is positive
semidefinite with every distance: the attribute ``positive_definite`` says so where it is known.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np

from mercer import _native
from mercer.distances import Distance, Meaning, Minkowski, dense_rows
from mercer.kernels.bandwidths import bind_gamma, bound_gamma, check_gamma, narrowed
from mercer.kernels.base import Layer, Radial, Term
from mercer.kernels.formula import Formula, of_distance
from mercer.kernels.separable import by_term
from mercer.samples import Samples, check_positive, is_number

EUCLID = Minkowski(2)
MANHATTAN = Minkowski(1)


class OfMetric(Radial, Layer):
    """Abstract: a radial kernel with a parameter ``metric``; None means its ``usual`` distance.

    With the Euclidean distance, ρ² = <x, x> + <z, z> - 2<x, z>, it is a layer as well.

    It is positive semidefinite if the distance to its ``definite_power`` is conditionally negative
    definite. For other distances that depends on the samples, so that it says None.
    """

    metric: Distance | None
    usual: Distance = EUCLID
    #: the parameter that scales ρ
    unit: str
    #: q, if the profile is a mixture of functions exp(-s ρ ** q) with s >= 0
    definite_power: float = 2.0

    @property
    def distance(self) -> Distance:
        return self.usual if self.metric is None else self.metric

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        return True if self.definite_power <= self.distance.definite_up_to else None

    def validate(self) -> None:
        if self.metric is None:
            return
        if not isinstance(self.metric, Distance):
            raise TypeError(
                f"metric={self.metric!r}: give a distance of mercer.distances, such as "
                "Minkowski(1)."
            )
        self.metric.validate()

    def free_parameters(self) -> list[str]:
        found = super().free_parameters()
        # weights of the columns say the scale of ρ already
        return [name for name in found if name != self.unit or "metric__weights" not in found]

    def check_layer(self) -> None:
        super().check_layer()
        rho = self.distance
        if not (isinstance(rho, Minkowski) and rho.p == 2 and rho.weights is None):
            raise ValueError(
                f"metric={self.metric!r}: as a layer, {self!r} needs the Euclidean distance, which "
                "inner products determine: give metric=Minkowski(2)."
            )

    def of_gram(self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray) -> np.ndarray:
        _native.squares(G, g_x, g_z)
        return self.profile(G)

    def of_diag(self, g: np.ndarray) -> np.ndarray:
        return self.profile(np.zeros_like(g))

    def gram_derivatives(
        self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not self.differentiable:
            return super().gram_derivatives(G, g_x, g_z)
        D = G.copy()
        _native.squares(D, g_x, g_z)
        by_square = self.profile_derivative(D)
        return -2 * by_square, by_square, by_square

    def diag_derivative(self, g: np.ndarray) -> np.ndarray:
        return np.zeros_like(g) if self.differentiable else super().diag_derivative(g)


class Falling(Radial):
    """Abstract: exp(-rate · ρ ** power). Define ``rate``, a property, and ``power``."""

    power: float

    @property
    @abstractmethod
    def rate(self) -> float:
        """The factor of ρ ** power."""

    @property
    def power_of_raw(self) -> float:
        """The power of what ``distance.raw`` returns."""
        return self.power / self.distance.exponent

    @property
    def formula(self) -> Formula | None:  # type: ignore[override]
        return of_distance("exponential", self.distance, rate=self.rate, power=self.power_of_raw)

    def separated(self, X: Samples, players: Mapping[Any, Hashable]) -> list[Term]:
        if self.power_of_raw == 1 and len(set(players.values())) > 1:
            term = by_term(self.distance, X, players, self.rate)
            if term is not None:
                return [term]
        return super().separated(X, players)

    def profile(self, D: np.ndarray) -> np.ndarray:
        return exponential(D, self.power_of_raw, self.rate)

    def profile_derivative(self, D: np.ndarray) -> np.ndarray:
        return exponential_derivative(D, self.power_of_raw, self.rate)


class Bandwidth(Falling, OfMetric):
    """Abstract: exp(-γ ρ ** power), where γ may be learnt. Define ``power``."""

    free = ("gamma",)
    unit = "gamma"

    def __init__(self, gamma: float | str = 1.0, metric: Distance | None = None):
        self.gamma = gamma
        self.metric = metric

    @property
    def definite_power(self) -> float:  # type: ignore[override]
        return self.power

    @property
    def rate(self) -> float:
        return bound_gamma(self.gamma, self)

    def validate(self) -> None:
        check_gamma(self.gamma)
        super().validate()

    def bind(self, X: Samples, y: np.ndarray | None = None, sample_weight: Any = None) -> Self:
        return bind_gamma(super().bind(X, y, sample_weight), X, self.power, sample_weight)


class RBF(Bandwidth):
    r"""Gaussian kernel

    .. math:: k(x, z) = \exp(-\gamma \rho(x, z)^2) ,

    where ρ is Euclidean.

    It is strictly positive definite: if all points are different, any classes can be separated.

    Parameters
    ----------
    gamma : float > 0, "scale", "auto" or "median", default=1.0
        The factor γ, in units of 1 / distance². "scale" is 1 / (d · var(X)) of the training sample
        and "auto" is 1 / d, as in scikit-learn; "median" is 1 / the square of the median distance.
    metric : Distance, optional
        A distance to use in place of the Euclidean distance: ``Minkowski(2, weights=w)`` for one
        length scale per feature, ``Mahalanobis()`` for
        :math:`\exp(-\gamma (x-z)^\top S^{-1} (x-z))`.

    Notes
    -----
    O(n m d) operations by a matrix product, and one exponential for each pair.

    References
    ----------
    Shawe-Taylor & Cristianini, "Kernel Methods for Pattern Analysis", 2004, section 9.1; Boser,
    Guyon & Vapnik, "A training algorithm for optimal margin classifiers", COLT 1992.

    Examples
    --------
    >>> RBF(0.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    meaning = Meaning(
        "exp(−γ {distance}²)", "1 for equal rows, falling as a bell curve with their distance"
    )

    power = 2.0
    differentiable = True


class Laplacian(Bandwidth):
    r"""Laplacian kernel

    .. math:: k(x, z) = \exp(-\gamma \rho(x, z)) ,

    where ρ is Manhattan.

    Parameters
    ----------
    gamma : float > 0, "scale", "auto" or "median", default=1.0
        The factor γ, in units of 1 / distance. "scale" and "auto" are the same as for `RBF`;
        "median" is 1 / the median distance.
    metric : Distance, optional
        A distance to use in place of the Manhattan distance. None means the Manhattan distance.

    References
    ----------
    Rahimi & Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007.

    Examples
    --------
    >>> Laplacian(1.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.1353]])
    """

    meaning = Meaning(
        "exp(−γ {distance})", "1 for equal rows, falling exponentially with {distance}"
    )

    power = 1.0
    usual = MANHATTAN

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        if self.metric is not None or X.shape[1] != 1:
            return super().block(X, Z)
        # single numbers need no power for each pair
        x, z = (dense_rows(side)[:, 0] for side in (X, Z))
        K = np.empty((len(x), len(z)), np.result_type(x, z))
        x, z = (np.require(side, K.dtype, ["C", "ALIGNED"]) for side in (x, z))
        _native.exp_gaps(x, z, self.rate, K)
        return K


class ExponentialPower(Falling, OfMetric):
    r"""Exponential power kernel

    .. math:: k(x, z) = \exp(-\rho(x, z)^\gamma / \sigma) ,

    where ρ is Euclidean.

    Parameters
    ----------
    scale : float > 0, default=1.0
        The scale σ, in units of distance^γ.
    power : float in (0, 2], default=1.0
        The power γ. 2 is the Gaussian kernel, 1 the Laplacian of the Euclidean distance. Above 2
        the kernel would not be positive semidefinite.
    metric : Distance, optional
        A distance to use in place of the Euclidean distance. None means the Euclidean distance.
        The kernel is positive semidefinite for powers up to ``metric.definite_up_to``: up to q for
        ``Minkowski(q)`` with q <= 2.

    Notes
    -----
    Values are in (0, 1]. O(n m d) operations by a matrix product, and a power and an exponential
    for each pair. ``ExponentialPower(L**p, p, Minkowski(q))`` is the generalised Laplacian
    :math:`\exp(-\|x - z\|_q^p / L^p)` of xRFM, often good on tables.

    References
    ----------
    Beaglehole et al., "xRFM: Accurate, scalable, and interpretable feature learning models for
    tabular data", 2025.
    Schoenberg, "Metric spaces and positive definite functions", Trans. AMS 44, 1938: positive
    semidefinite for powers up to 2.

    Examples
    --------
    >>> ExponentialPower(scale=5.0, power=1.0)([[0.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.3679]])
    """

    meaning = Meaning(
        "exp(−{distance}^{power} / σ)",
        "1 for equal rows, falling exponentially with a power of their distance",
    )

    free = ("scale",)
    unit = "scale"

    def __init__(self, scale: float = 1.0, power: float = 1.0, metric: Distance | None = None):
        self.scale = scale
        self.power = power
        self.metric = metric

    @property
    def definite_power(self) -> float:  # type: ignore[override]
        return self.power

    @property
    def rate(self) -> float:
        return 1 / float(self.scale)

    def validate(self) -> None:
        check_positive("scale", self.scale)
        if not (is_number(self.power) and 0 < self.power <= 2):
            raise ValueError(
                f"power={self.power!r}: must be in (0, 2]; above 2 the kernel is not positive "
                "semidefinite (Schoenberg 1938)."
            )
        super().validate()


class RationalQuadratic(OfMetric):
    r"""Rational quadratic kernel

    .. math:: k(x, z) = (1 + \rho(x, z)^2 / (2 \alpha \ell^2))^{-\alpha} ,

    where ρ is Euclidean.

    It is a mixture of Gaussian kernels of all length scales. For α → ∞ it is the Gaussian kernel of
    length scale ℓ.

    Parameters
    ----------
    alpha : float > 0, default=1.0
        The shape α. A smaller α mixes more length scales.
    length_scale : float > 0, default=1.0
        The length scale ℓ, in the units of the columns.
    metric : Distance, optional
        A distance to use in place of the Euclidean distance. None means the Euclidean distance.

    References
    ----------
    Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006, eq. 4.19.

    Examples
    --------
    >>> RationalQuadratic()([[0.0]], [[1.0]]).round(4)
    array([[0.6667]])
    """

    meaning = Meaning(
        "(1 + {distance}² / (2αℓ²))^−α", "a mixture of bell curves of all widths around ℓ"
    )

    differentiable = True
    free = ("alpha", "length_scale")
    unit = "length_scale"

    def __init__(
        self, alpha: float = 1.0, length_scale: float = 1.0, metric: Distance | None = None
    ):
        self.alpha = alpha
        self.length_scale = length_scale
        self.metric = metric

    def validate(self) -> None:
        check_positive("alpha", self.alpha)
        check_positive("length_scale", self.length_scale)
        super().validate()

    @property
    def formula(self) -> Formula | None:  # type: ignore[override]
        power, alpha = 2 / self.distance.exponent, float(self.alpha)
        return of_distance("rational", self.distance, rate=self._rate(), power=power, alpha=alpha)

    def profile(self, D: np.ndarray) -> np.ndarray:
        D = raised(D, 2 / self.distance.exponent)
        D *= narrowed(self._rate(), D.dtype)
        D += 1
        D **= narrowed(-self.alpha, D.dtype)
        return D

    def profile_derivative(self, D: np.ndarray) -> np.ndarray:
        q, s = 2 / self.distance.exponent, self._rate()
        return -self.alpha * (1 + s * D**q) ** (-self.alpha - 1) * s * q * D ** (q - 1)

    def _rate(self) -> float:
        # divisions, because the square of ℓ may leave the range of floats
        return 0.5 / self.alpha / self.length_scale / self.length_scale


def raised(D: np.ndarray, power: float) -> np.ndarray:
    """D ** power, in place."""
    if power == 0.5:
        return np.sqrt(D, out=D)
    if power != 1:
        D **= power
    return D


def exponential(D: np.ndarray, power: float, rate: float) -> np.ndarray:
    """exp(-rate · D ** power), in place."""
    D = raised(D, power)
    _native.exp_scaled(D, rate)
    return D


def exponential_derivative(D: np.ndarray, power: float, rate: float) -> np.ndarray:
    """Derivative of `exponential` with respect to D, for D > 0; returns a new array."""
    slope = exponential(D.copy(), power, rate)
    slope *= -rate * power
    if power != 1:
        slope *= D ** (power - 1)
    return slope
