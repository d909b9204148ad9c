"""Kernels in the feature space of another one, and a Gaussian of angles that suits as a layer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer.distances import Meaning
from mercer.kernels.algebra import Node
from mercer.kernels.arc_cosine import check_layers, check_norms, cosines_of_gram, not_zero
from mercer.kernels.base import Formula, Kernel, Layer
from mercer.kernels.dot import Linear
from mercer.samples import Prepared, Samples


class NormalisedGaussian(Layer):
    r"""Gaussian of the directions times both lengths

    .. math:: k(x, z) = \|x\| \|z\| \exp(\cos θ - 1)

    for the angle θ between x and z.

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


class Layered(Node):
    r"""Layers of kernels: each one is applied to the Gram matrix of the one before.

    A kernel κ that depends on inner products alone can read those of the features of another
    kernel:

    .. math:: k_{l+1}(x, z) = \kappa(k_l(x, z), k_l(x, x), k_l(z, z)) .

    k_0 is any kernel, on vectors, strings, sets, tables ...

    Parameters
    ----------
    kernel : Layer or list of Layer
        The kernel κ: `ArcCosine`, `NeuralNetworkGP`, `NeuralTangent`, `Polynomial`, `Linear`, or
        `RBF` and other functions of the Euclidean distance. If a list is given, its layers are
        applied one after the other, the first one to k_0.
    depth : int >= 1, default=1
        How many times the layer, or the list of layers, is applied.
    base : Kernel, optional
        The kernel k_0. None means ``Linear()``.

    Notes
    -----
    It is positive semidefinite if all kernels are. k(x, x) and k(z, z) are computed once for each
    row; the cost is that of k_0 and of one κ for each pair and layer, in place.

    References
    ----------
    Cho & Saul, "Kernel methods for deep learning", NIPS 2009, section 2.2.

    Examples
    --------
    >>> from mercer.kernels import ArcCosine, Spectrum
    >>> words = ["banana", "ananas"]
    >>> Layered(ArcCosine(degree=0), depth=3, base=Spectrum(2))(words).round(4)
    array([[1.    , 0.8074],
           [0.8074, 1.    ]])
    >>> mixed = Layered([ArcCosine(degree=1), ArcCosine(degree=0)])
    >>> mixed([[1.0, 0.0]], [[0.0, 1.0]]).round(4)
    array([[0.6031]])
    """

    def __init__(self, kernel: Layer | list[Layer], depth: int = 1, base: Kernel | None = None):
        self.kernel = kernel
        self.depth = depth
        self.base = base

    def _base(self) -> Kernel:
        return Linear() if self.base is None else self.base

    def _layers(self) -> list[Layer]:
        layers = self.kernel if isinstance(self.kernel, list) else [self.kernel]
        return layers * int(self.depth)

    @property
    def meaning(self) -> Meaning:  # type: ignore[override]
        start = "⟨x, z⟩" if self.base is None else "{base}"
        return Meaning(
            f"layers of [{{kernel}}] on the features of {start}",
            "that of a kernel, after layers of other kernels on its features",
        )

    def children(self) -> list[Kernel]:
        """The kernel that reads samples; the layers read its Gram matrix."""
        return [self._base()]

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        verdicts = [kernel.positive_definite for kernel in (self._base(), *self._layers())]
        return True if all(verdicts) else None

    def validate(self) -> None:
        check_layers("depth", self.depth)
        layers = self._layers()
        if not (layers and all(isinstance(layer, Layer) for layer in layers)):
            raise TypeError(
                f"kernel={self.kernel!r}: give a kernel that is a function of inner products, such "
                "as ArcCosine(), or a list of such kernels."
            )
        for layer in dict.fromkeys(layers):
            layer.check_layer()
        base = self._base()
        if not (isinstance(base, Kernel) and base.symmetric):
            raise TypeError(
                f"base={self.base!r}: give a symmetric Mercer kernel, or None for inner products."
            )
        base.validate()

    def bind(self, X: Samples, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        self.validate()
        base = self._base()
        bound = base.bind(X, y, sample_weight)
        return self if bound is base else self.copied(base=bound)

    def check(self, X: Samples, like: Samples | None = None) -> None:
        self._base().check(X, like)

    def pair_cost(self, X: Samples) -> float:
        return self._base().pair_cost(X)

    def prepare(self, X: Samples, like: Prepared | None = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        base = self._base()
        x = base.prepare(X, None if like is None else like.parts[0])
        return Prepared((x, base.diag(x)))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        (x, g_x), (z, g_z) = X.parts, Z.parts
        K = self._base().block(x, z)
        for layer in self._layers():
            K = layer.of_gram(K, g_x, g_z)
            g_x, g_z = layer.of_diag(g_x), layer.of_diag(g_z)
        if X is Z:  # equal rows, where the rounding of inner products is enlarged most
            np.fill_diagonal(K, g_x)
        return K

    def diag(self, X: Samples) -> np.ndarray:
        g = self.prepare(X).parts[1]
        for layer in self._layers():
            g = layer.of_diag(g)
        return g
