"""A kernel as data: what another device needs to compute it, and products with a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.distances import Distance


@dataclass(frozen=True)
class GramProducts:
    """K = M[rows][:, columns] of a symmetric M, of which products are known.

    `Kernel.products` returns it, and the Gram operator is made of it.

    Parameters
    ----------
    multiply : callable
        M V in V's dtype for V of shape (size, c), where c is small; threads may call it at a time.
    size : int
        The rows of M.
    rows, columns : ndarray of shape (n,), (m,), int
        Where the samples are in M.
    cost : float
        About how many operations M v takes for one vector.
    """

    multiply: Callable[[np.ndarray], np.ndarray]
    size: int
    rows: np.ndarray
    columns: np.ndarray
    cost: float


@dataclass(frozen=True)
class Formula:
    r"""A kernel on vectors as data: a number for each pair of rows, and a profile of it.

    k(x, z) = factor · (‖x‖ ‖z‖)^lengths · profile(t), where the number t of two rows x and z is
    one of the ``coordinates`` below.

    Parameters
    ----------
    profile : str
        The function of t. Names in parentheses are its ``parameters``.
        "identity": t;
        "polynomial": (gamma · t + coef0)^degree;
        "tanh": tanh(gamma · t + coef0);
        "exponential": exp(-rate · t^power);
        "rational": (1 + rate · t^power)^-alpha;
        "matern": :math:`2^{1-\nu} / \Gamma(\nu) \, u^\nu K_\nu(u)` with u = rate · t^power, and 1
        for u = 0 (nu, rate, power);
        "arc_cosine": :math:`J_n(\theta) / \pi` of `ArcCosine` with t = cos θ (degree);
        "bell_of_angle": exp(t - 1).
    parameters : dict of str to float
        The numbers of the profile.
    coordinates : str
        What t is.
        "product": <x, z>;
        "cosine": <x, z> / (‖x‖ ‖z‖), and 0 if one of the rows is 0;
        "distance": :math:`\sum_j |x_j - z_j|^p`;
        "chi_squared": :math:`\sum_j (x_j - z_j)^2 / (x_j + z_j)` with 0/0 = 0;
        "minima": :math:`\sum_j \min(x_j, z_j)`.
    p : float, default=2.0
        The power of a "distance".
    scaling : ndarray of shape (d,) or (r, d), optional
        What the rows are multiplied by first: a factor for each column, or a matrix. None means
        that they stay as they are.
    lengths, factor : float
        The numbers in the formula above.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> formula = (2 * Laplacian(0.5)).formula
    >>> formula.profile, formula.parameters, formula.coordinates, formula.p, formula.factor
    ('exponential', {'rate': 0.5, 'power': 1.0}, 'distance', 1.0, 2.0)
    """

    profile: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    coordinates: str = "product"
    p: float = 2.0
    scaling: Any = None
    lengths: float = 0.0
    factor: float = 1.0

    def rows(self, X: np.ndarray) -> np.ndarray:
        """Dense rows after the scaling."""
        if self.scaling is None:
            return X
        return X * self.scaling if self.scaling.ndim == 1 else X @ self.scaling.T


def of_distance(profile: str, distance: Distance, **parameters: float) -> Formula | None:
    """The formula of a profile of a distance; None if that is not a norm of a difference."""
    norm = distance.norm
    if norm is None:
        return None
    return Formula(profile, parameters, "distance", norm.p, norm.linear_map)
