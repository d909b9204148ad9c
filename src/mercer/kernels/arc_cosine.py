"""The arc-cosine kernels of Cho and Saul: one or more layers of infinitely many units."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _native
from mercer.distances import Meaning
from mercer.kernels.base import Layer
from mercer.kernels.formula import Formula
from mercer.samples import is_number


class ArcCosine(Layer):
    r"""Arc-cosine kernel :math:`k(x, z) = \frac{1}{\pi} \|x\|^n \|z\|^n J_n(\theta)`, where θ is
    the angle between x and z, and

    .. math::
        J_0 = \pi - \theta, \quad
        J_1 = \sin\theta + (\pi - \theta) \cos\theta, \quad
        J_2 = 3 \sin\theta \cos\theta + (\pi - \theta)(1 + 2 \cos^2\theta).

    It is what a layer of infinitely many random units makes of the inner product:
    :math:`k(x, z) = 2\, \mathrm{E}_w[H(w^\top x) H(w^\top z) (w^\top x)^n (w^\top z)^n]` with
    w ~ N(0, I) and the step function H. With more layers, each one is applied to the Gram matrix of
    the one before: G becomes :math:`\frac{1}{\pi} (g_x g_z)^{n/2} J_n(\theta)`, and θ is the angle
    whose cosine is :math:`G / \sqrt{g_x g_z}`.

    Parameters
    ----------
    degree : {0, 1, 2}, default=1
        The degree n: units that are steps (0), ramps (1, the ReLU) or half parabolas (2).
    layers : int >= 1, default=1
        The number of layers. Degrees can be mixed by `Layered`.

    Notes
    -----
    It has no width to choose. k(x, x) is 1 for degree 0, \|x\|² for degree 1 and, after L layers,
    :math:`3^{2^L-1} \|x\|^{2^{L+1}}` for degree 2. This grows twice exponentially: an error says so
    if it leaves the range of floats. Then divide the rows by their lengths before, by
    ``Layered(ArcCosine(2), depth, base=Cosine())``.

    A zero row has k = 0 with all rows for degrees 1 and 2. For degree 0 its angle to other rows is
    taken as π/2, and to zero rows as 0. A row is such a row as well if its squared length is below
    the smallest normal float (1e-38 in float32).

    Inner products tell an angle only if its squared sine is above about 32 units in the last place
    (8e-8 radians in float64, 2e-3 in float32). Smaller angles are taken as 0, so that equal rows
    are equal in every layer.

    O(n m d) operations by a matrix product, and about 30 more for each pair and layer; sparse rows
    stay sparse.

    References
    ----------
    Cho & Saul, "Kernel methods for deep learning", NIPS 2009, eq. 1 to 7 and 16.

    Examples
    --------
    >>> ArcCosine(degree=1)([[1.0, 0.0]], [[0.0, 1.0], [2.0, 0.0]]).round(4)
    array([[0.3183, 2.    ]])
    >>> ArcCosine(degree=0, layers=2)([[1.0, 0.0]], [[0.0, 1.0]]).round(4)
    array([[0.6667]])
    """

    meaning = Meaning(
        "arc-cosine of degree {degree}, layers: {layers}",
        "what layers of infinitely many random units have in common for two rows",
    )

    def __init__(self, degree: int = 1, layers: int = 1):
        self.degree = degree
        self.layers = layers

    def validate(self) -> None:
        if not (is_number(self.degree) and self.degree in (0, 1, 2)):
            raise ValueError(f"degree={self.degree!r}: an arc-cosine kernel needs 0, 1 or 2.")
        check_layers("layers", self.layers)

    @property
    def formula(self) -> Formula | None:  # type: ignore[override]
        if self.layers != 1 or self.degree == 0:  # two zero rows of degree 0 are at no angle
            return None
        n = int(self.degree)
        return Formula("arc_cosine", {"degree": n}, "cosine", lengths=float(n))

    def of_gram(self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray) -> np.ndarray:
        outer = np.sqrt(self.of_diag(g_x)), np.sqrt(self.of_diag(g_z))
        return apply_layers(G, (g_x, g_z), outer, self.degree, self.layers)

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        # degree 0 is infinitely steep at equal rows
        return self.degree in (1, 2) and self.layers == 1

    def gram_derivatives(
        self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not self.differentiable:
            return super().gram_derivatives(G, g_x, g_z)
        roots, cosines = cosines_of_gram(G, g_x, g_z)
        rest = 1 - np.arccos(cosines) / np.pi
        area = np.sqrt(np.maximum(roots**2 - G**2, 0)) / np.pi  # area of a parallelogram, by π
        x, z = not_zero(g_x)[:, None], not_zero(g_z)
        if self.degree == 1:
            return rest, area / (2 * x), area / (2 * z)
        by_x, by_z = G * area / x + rest * g_z, G * area / z + rest * g_x[:, None]
        return 4 * (area + rest * G), by_x, by_z

    def diag_derivative(self, g: np.ndarray) -> np.ndarray:
        if not self.differentiable:
            return super().diag_derivative(g)
        return np.ones_like(g) if self.degree == 1 else 6 * g

    def of_diag(self, g: np.ndarray) -> np.ndarray:
        check_norms(g, self)
        if self.degree == 0:
            return np.ones_like(g)
        d = g.astype(np.float64)
        with np.errstate(over="ignore", under="ignore"):
            for _ in range(int(self.layers) if self.degree == 2 else 0):
                d = 3 * d**2
            d = d.astype(g.dtype)
        lost = ~np.isfinite(d) | ((d == 0) & (g > 0))
        if lost.any():
            raise ValueError(
                f"{self!r}: a row of length {np.sqrt(g[lost][0]):.3g} has k(x, x) = 3^(2^L - 1) "
                f"times the 2^(L + 1)-th power of its length, which {g.dtype} does not hold. Use "
                "fewer layers, or rows of length 1: Layered(ArcCosine(2), depth, base=Cosine())."
            )
        return d


def not_zero(g: np.ndarray) -> np.ndarray:
    """Squared norms, of which none is too small to divide by."""
    return np.maximum(g, np.finfo(g.dtype).tiny)


def cosines_of_gram(
    G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """√(g_x g_z) and the cosine G / √(g_x g_z) within [-1, 1], 0 for zero rows."""
    roots = np.sqrt(g_x)[:, None] * np.sqrt(g_z)
    return roots, np.clip(G / not_zero(roots), -1, 1)


def apply_layers(
    G: np.ndarray,
    norms: tuple[np.ndarray, np.ndarray],
    outer: tuple[np.ndarray, np.ndarray],
    degree: int,
    layers: int = 1,
) -> np.ndarray:
    """``outer[0][i] · outer[1][j] · J_n(θ) / J_n(0)`` in the place of G[i, j]; θ is the angle of
    inner products G and squared norms, and becomes the angle of the next layer and so on."""
    smallest = np.finfo(G.dtype).tiny  # the reciprocal of a smaller one may be infinite
    zero_x, zero_z = (g < smallest for g in norms)
    if zero_x.any() and zero_z.any():
        G[np.ix_(zero_x, zero_z)] = 1  # two zero rows agree; another row is at a right angle
    x, z = (1 / np.sqrt(np.where(g < smallest, g.dtype.type(1), g)) for g in norms)
    _native.arc_cosine(G, x, z, *outer, int(degree), int(layers))
    return G


def check_layers(name: str, layers: Any) -> None:
    """Raise a ValueError if a number of layers is not a positive integer."""
    if not (is_number(layers) and 1 <= layers < np.inf and layers % 1 == 0):
        raise ValueError(f"{name}={layers!r}: give the number of layers, an integer >= 1.")


def check_norms(g: np.ndarray, reader: Any) -> None:
    """Raise a ValueError if squared norms are not finite numbers >= 0."""
    good = (g >= 0) & (g < np.inf)
    if not good.all():
        value = g[~good][0]
        raise ValueError(
            f"{reader!r} needs inner products of features, but a row has <x, x> = {value:.3g}. "
            + (
                "Give a base kernel that is positive semidefinite."
                if value < 0
                else "Divide the columns by their largest values."
            )
        )
