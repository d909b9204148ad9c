"""A kernel from any distance."""

from __future__ import annotations

import numpy as np

from mercer import _native
from mercer.distances import Distance, Meaning
from mercer.kernels.base import Radial
from mercer.kernels.formula import Formula, of_distance
from mercer.samples import is_number


class FromDistance(Radial):
    r"""Kernel from a distance, :math:`k(x, z) = \exp(-\gamma \rho(x, z)^p)`.

    It is positive semidefinite for every γ exactly if :math:`\rho^p` is conditionally negative
    definite (Schoenberg 1938). ``rho.definite_up_to`` is the largest p for which this is known; for
    other powers `check_mercer` tests the kernel on a sample.

    Parameters
    ----------
    rho : Distance
        The distance ρ.
    gamma : float > 0, default=1.0
        The factor γ.
    power : float > 0, default=1.0
        The power p.

    Notes
    -----
    It costs as much as the distance, and one exponential for each pair.

    References
    ----------
    Schoenberg, "Metric spaces and positive definite functions", Trans. AMS 44, 1938.

    Examples
    --------
    >>> from mercer.distances import Match
    >>> FromDistance(Match())([["red", "s"]], [["red", "m"]]).round(4)
    array([[0.3679]])
    """

    meaning = Meaning(
        "exp(−γ ρ(x, z)^{power})",
        "1 for equal samples, falling exponentially with their distance: {rho}",
    )

    def __init__(self, rho: Distance, gamma: float = 1.0, power: float = 1.0):
        self.rho = rho
        self.gamma = gamma
        self.power = power

    @property
    def distance(self) -> Distance:
        return self.rho

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        return True if self.power <= self.rho.definite_up_to else None

    def validate(self) -> None:
        if not isinstance(self.rho, Distance):
            raise TypeError(f"rho={self.rho!r}: FromDistance needs a Mercer distance.")
        for name in ("gamma", "power"):
            if not (is_number(getattr(self, name)) and 0 < getattr(self, name) < np.inf):
                raise ValueError(f"{name}={getattr(self, name)!r}: must be a finite number > 0.")
        self.rho.validate()

    @property
    def formula(self) -> Formula | None:  # type: ignore[override]
        power = self.power / self.rho.exponent
        return of_distance("exponential", self.rho, rate=float(self.gamma), power=power)

    def profile(self, D: np.ndarray) -> np.ndarray:
        power = self.power / self.rho.exponent
        if power != 1:
            D **= power
        _native.exp_scaled(D, float(self.gamma))
        return D

    def profile_derivative(self, D: np.ndarray) -> np.ndarray:
        q = self.power / self.rho.exponent
        return -self.gamma * q * D ** (q - 1) * np.exp(-self.gamma * D**q)
