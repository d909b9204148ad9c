"""Radial kernels whose shape has a parameter: Matérn, exponential power, rational quadratic.

The Matérn kernel has closed forms for ν = 1/2, 3/2, 5/2 and ∞, and Bessel functions for others.
"""

from __future__ import annotations

import numpy as np

from mercer import _native
from mercer.distances import Distance, Meaning
from mercer.estimator import estimator
from mercer.kernels.base import Formula, of_distance
from mercer.kernels.radial import (
    Falling,
    OfMetric,
    exponential,
    exponential_derivative,
    narrowed,
    raised,
)
from mercer.samples import check_positive, is_number


@estimator
class Matern(OfMetric):
    r"""Matérn kernel of smoothness ν

    .. math:: k = \frac{2^{1-\nu}}{\Gamma(\nu)} t^\nu K_\nu(t)

    with :math:`t = \sqrt{2\nu}\, \rho(x, z) / \ell`.

    It has closed forms for ν = 1/2: exp(-t); 3/2: (1 + t) exp(-t); 5/2: (1 + t + t²/3) exp(-t);
    ∞: exp(-ρ² / 2ℓ²). ρ is the Euclidean distance.

    Parameters
    ----------
    nu : float > 0 or inf, default=1.5
        The smoothness ν. Functions drawn from a Gaussian process with this kernel can be
        differentiated ⌈ν⌉ - 1 times.
    length_scale : float > 0, default=1.0
        The length scale ℓ, in the units of the columns.
    metric : Distance, optional
        A distance to use in place of the Euclidean distance. None means the Euclidean distance.

    References
    ----------
    Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006, eq. 4.14 to 4.17.

    Examples
    --------
    >>> Matern(0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    meaning = Meaning(
        "Matérn, ν = {nu}, of {distance} / ℓ",
        "1 for equal rows, falling with their distance; the functions learnt are smooth to order ν",
    )

    free = ("length_scale",)
    unit = "length_scale"

    nu: float = 1.5
    length_scale: float = 1.0
    metric: Distance | None = None

    @property
    def definite_power(self) -> float:  # type: ignore[override]
        # t^ν K_ν(t) is completely monotone in t² for every ν, and in t itself for ν <= 1/2: minus
        # its derivative is t^(ν - 1/2) sqrt(t) K_(1 - ν)(t), and both factors are (Miller & Samko
        # 2001, "Completely monotonic functions")
        return 1.0 if self.nu <= 0.5 else 2.0

    def validate(self) -> None:
        if not (is_number(self.nu) and self.nu > 0):
            raise ValueError(f"nu={self.nu!r}: must be > 0, or inf.")
        check_positive("length_scale", self.length_scale)
        super().validate()

    @property
    def formula(self) -> Formula | None:  # type: ignore[override]
        nu, l, e = float(self.nu), float(self.length_scale), self.distance.exponent
        if nu == np.inf:
            return of_distance("exponential", self.distance, rate=0.5 / l / l, power=2 / e)
        rate = float(np.sqrt(2 * nu)) / l
        return of_distance("matern", self.distance, nu=nu, rate=rate, power=1 / e)

    def profile(self, D: np.ndarray) -> np.ndarray:
        nu, l = float(self.nu), float(self.length_scale)
        if nu == np.inf:
            return exponential(D, 2 / self.distance.exponent, 0.5 / l / l)
        t = raised(D, 1 / self.distance.exponent)
        scale = np.sqrt(2 * nu) / l
        if nu == 0.5:
            _native.exp_scaled(t, scale)
        elif nu in (1.5, 2.5):
            _native.matern(t, scale, int(2 * nu))
        else:
            return _matern_bessel(t * narrowed(scale, t.dtype), nu)
        return t

    def profile_derivative(self, D: np.ndarray) -> np.ndarray:
        nu, l, e = float(self.nu), float(self.length_scale), self.distance.exponent
        if nu == np.inf:
            return exponential_derivative(D, 2 / e, 0.5 / l / l)
        c = np.sqrt(2 * nu) / l
        t = c * D ** (1 / e)
        # d/dt [t^ν K_ν(t)] = -t^ν K_{ν-1}(t); Abramowitz & Stegun 9.6.28
        from scipy.special import gamma, kv

        slope = -(2 ** (1 - nu)) / gamma(nu) * t**nu * kv(nu - 1, t)
        return slope * c / e * D ** (1 / e - 1)


def _matern_bessel(t: np.ndarray, nu: float) -> np.ndarray:
    """The profile for any ν, by a Bessel function."""
    from scipy.special import gamma, kv

    # K_ν(0) is infinite, but the limit of the product is 1. If K_ν underflows to 0, it is 0
    s = np.where(t > 0, t, 1).astype(np.float64)
    K = np.where(t > 0, 2 ** (1 - nu) / gamma(nu) * s**nu * kv(nu, s), 1)
    return K.astype(t.dtype)


@estimator
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

    scale: float = 1.0
    power: float = 1.0
    metric: Distance | None = None

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


@estimator
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

    alpha: float = 1.0
    length_scale: float = 1.0
    metric: Distance | None = None

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
