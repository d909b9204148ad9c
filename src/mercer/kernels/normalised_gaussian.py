"""The Gaussian of the angle between two vectors, with their lengths as factors."""

from __future__ import annotations

import numpy as np

from mercer.distances import Meaning
from mercer.kernels.arc_cosine import check_norms, cosines_of_gram, not_zero
from mercer.kernels.base import Layer
from mercer.kernels.formula import Formula


class NormalisedGaussian(Layer):
    r"""Gaussian of the directions times both lengths,
    :math:`k(x, z) = \|x\| \|z\| \exp(\cos θ - 1)` for the angle θ between x and z.

    :math:`\exp(\cos θ - 1)` is the Gaussian kernel with γ = 1/2 of x / \|x\| and z / \|z\|, so that
    k(x, x) = \|x\|².

    Notes
    -----
    A zero row has k = 0 with all rows. O(n m d) operations by a matrix product, and one exponential
    for each pair.

    References
    ----------
    Milsom, Anson & Aitchison, "Stochastic kernel regularisation improves generalisation in deep
    kernel machines", NeurIPS 2024.

    Examples
    --------
    >>> NormalisedGaussian()([[1.0, 0.0]], [[0.0, 1.0], [2.0, 0.0]]).round(4)
    array([[0.3679, 2.    ]])
    """

    meaning = Meaning(
        "‖x‖ ‖z‖ exp(cos θ − 1)", "a bell curve of the angle between two rows, times their lengths"
    )

    differentiable = True

    @property
    def formula(self) -> Formula:  # type: ignore[override]
        return Formula("bell_of_angle", coordinates="cosine", lengths=1.0)

    def of_gram(self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray) -> np.ndarray:
        roots, cosines = cosines_of_gram(G, g_x, g_z)
        return roots * np.exp(cosines - 1)

    def of_diag(self, g: np.ndarray) -> np.ndarray:
        check_norms(g, self)
        return g.copy()

    def gram_derivatives(
        self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        roots, cosines = cosines_of_gram(G, g_x, g_z)
        by_g = np.exp(cosines - 1)
        rest = roots * by_g * (1 - cosines) / 2
        return by_g, rest / not_zero(g_x)[:, None], rest / not_zero(g_z)

    def diag_derivative(self, g: np.ndarray) -> np.ndarray:
        return np.ones_like(g)
