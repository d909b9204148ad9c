"""The Matérn kernels: closed forms for ν = 1/2, 3/2, 5/2 and ∞, Bessel functions for others."""

from __future__ import annotations

import numpy as np

from mercer import _native
from mercer.distances import Distance, Meaning
from mercer.kernels.bandwidths import narrowed
from mercer.kernels.formula import Formula, of_distance
from mercer.kernels.radial import (
    OfMetric,
    exponential,
    exponential_derivative,
    raised,
)
from mercer.samples import check_positive, is_number


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

    def __init__(self, nu: float = 1.5, length_scale: float = 1.0, metric: Distance | None = None):
        self.nu = nu
        self.length_scale = length_scale
        self.metric = metric

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
    from scipy.special import gamma, kv

    # K_ν(0) is infinite, but the limit of the product is 1. If K_ν underflows to 0, it is 0
    s = np.where(t > 0, t, 1).astype(np.float64)
    K = np.where(t > 0, 2 ** (1 - nu) / gamma(nu) * s**nu * kv(nu, s), 1)
    return K.astype(t.dtype)
