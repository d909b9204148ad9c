"""A kernel from any distance."""

from __future__ import annotations

import numpy as np

from mercer.distances import Distance, Meaning
from mercer.kernels.radial import Falling
from mercer.samples import is_number


class FromDistance(Falling):
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
    def rate(self) -> float:
        return float(self.gamma)

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
