"""Kernels of infinitely wide networks: arc-cosine kernels, and ReLU networks of any depth."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _native
from mercer.distances import Meaning
from mercer.kernels.base import Formula, Layer
from mercer.samples import check_not_negative, check_positive, is_number


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


def check_layers(name: str, layers: int) -> None:
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


class _Network(Layer):
    """Abstract: the three numbers that describe a network, and the recursion on its outputs."""

    def __init__(self, layers: int = 1, weight_variance: float = 2.0, bias_variance: float = 0.0):
        self.layers = layers
        self.weight_variance = weight_variance
        self.bias_variance = bias_variance

    def validate(self) -> None:
        check_layers("layers", self.layers)
        w, b = self.weight_variance, self.bias_variance
        check_positive("weight_variance", w)
        check_not_negative("bias_variance", b)

    def _variances(self, g: np.ndarray) -> list[np.ndarray]:
        """Σ(x, x) of the inputs and of each hidden layer, for squared norms g."""
        check_norms(g, self)
        w, b = float(self.weight_variance), float(self.bias_variance)
        with np.errstate(over="ignore"):
            q = [w * g + b]
            for _ in range(int(self.layers)):
                q.append(w / 2 * q[-1] + b)
        if not np.isfinite(q[-1]).all():
            raise ValueError(
                f"{self!r}: k(x, x) leaves the range of {g.dtype}. Give a weight_variance of at "
                "most 2, with which it does not grow from layer to layer, or divide the columns by "
                "their largest values."
            )
        return q

    def _forward(self, G: np.ndarray, q_x: np.ndarray, q_z: np.ndarray) -> np.ndarray:
        """Σ of the next layer, in the place of the Σ of this layer with variances q."""
        w = float(self.weight_variance)
        apply_layers(G, (q_x, q_z), (np.sqrt(w / 2 * q_x), np.sqrt(w / 2 * q_z)), degree=1)
        G += float(self.bias_variance)
        return G


class NeuralNetworkGP(_Network):
    r"""The Gaussian process of a ReLU network of infinite width with random weights: the covariance
    of its outputs at x and z.

    .. math::
        \Sigma_0 = \sigma_w^2 \langle x, z \rangle + \sigma_b^2, \quad
        \Sigma_{l+1} = \sigma_w^2\, \mathrm{E}[\varphi(u) \varphi(v)] + \sigma_b^2
        = \frac{\sigma_w^2}{2 \pi} \sqrt{q_x q_z} (\sin\theta + (\pi - \theta) \cos\theta)
        + \sigma_b^2,

    with (u, v) ~ N(0, Σ_l), φ(u) = max(0, u), q the diagonal of Σ_l, and
    cos θ = Σ_l / √(q_x q_z). The kernel is Σ_L.

    Parameters
    ----------
    layers : int >= 1, default=1
        The number L of hidden layers.
    weight_variance : float > 0, default=2.0
        :math:`\sigma_w^2`: weights are drawn with this variance, divided by the width of their
        layer. 2 keeps k(x, x) the same from layer to layer (He initialisation).
    bias_variance : float >= 0, default=0.0
        :math:`\sigma_b^2`, the variance of the biases.

    Notes
    -----
    The inner product is not divided by the number d of inputs, because a layer knows only Gram
    matrices: if you want this, divide the columns by √d. Without biases and with
    :math:`\sigma_w^2 = 2` it is 2 · ``ArcCosine(1, layers)``. The cost is that of `ArcCosine`.

    References
    ----------
    Lee et al., "Deep neural networks as Gaussian processes", ICLR 2018, eq. 5 and 11.

    Examples
    --------
    >>> NeuralNetworkGP(layers=2, bias_variance=0.5)([[1.0, 0.0]], [[0.0, 1.0]]).round(4)
    array([[2.3684]])
    """

    meaning = Meaning(
        "ReLU network of infinite width, hidden layers: {layers}",
        "the covariance of the outputs of random networks",
    )

    def of_gram(self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray) -> np.ndarray:
        G *= float(self.weight_variance)
        G += float(self.bias_variance)
        for q_x, q_z in zip(self._variances(g_x)[:-1], self._variances(g_z)[:-1], strict=True):
            G = self._forward(G, q_x, q_z)
        return G

    def of_diag(self, g: np.ndarray) -> np.ndarray:
        return self._variances(g)[-1]


class NeuralTangent(_Network):
    r"""The neural tangent kernel of a ReLU network of infinite width: the inner product of the
    gradients of its outputs at x and z with respect to all weights and biases.

    .. math::
        \Theta_0 = \Sigma_0, \quad
        \Theta_{l+1} = \Sigma_{l+1} + \Theta_l\, \sigma_w^2\, \mathrm{E}[\varphi'(u) \varphi'(v)]
        = \Sigma_{l+1} + \Theta_l\, \sigma_w^2 \frac{\pi - \theta}{2 \pi}

    with Σ and θ as for `NeuralNetworkGP`. The kernel is Θ_L. Kernel ridge regression with it, and a
    penalty that goes to 0, is such a network that is trained by gradient descent.

    Parameters
    ----------
    layers : int >= 1, default=1
        The number L of hidden layers.
    weight_variance : float > 0, default=2.0
        :math:`\sigma_w^2`: the output of a layer is its weights, drawn from N(0, 1), times
        :math:`\sigma_w` and its input, divided by the root of the number of inputs.
    bias_variance : float >= 0, default=0.0
        :math:`\sigma_b^2`: a bias is drawn from N(0, 1) and multiplied by :math:`\sigma_b`.

    Notes
    -----
    The inner product of the inputs is not divided by their number, as for `NeuralNetworkGP`.
    It costs about twice as much as `ArcCosine`, and two tiles of memory in place of one.

    References
    ----------
    Jacot, Gabriel & Hongler, "Neural tangent kernel: convergence and generalization in neural
    networks", NeurIPS 2018, theorem 1.

    Examples
    --------
    >>> NeuralTangent(layers=1)([[1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]).round(4)
    array([[0.6366, 4.    ]])
    """

    meaning = Meaning(
        "neural tangent kernel, hidden layers: {layers}",
        "how much a step of training on one row changes the output of the other",
    )

    def of_gram(self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray) -> np.ndarray:
        G *= float(self.weight_variance)
        G += float(self.bias_variance)
        T, root = G.copy(), np.sqrt(float(self.weight_variance) / 2)
        for q_x, q_z in zip(self._variances(g_x)[:-1], self._variances(g_z)[:-1], strict=True):
            slopes = np.full_like(q_x, root), np.full_like(q_z, root)
            T *= apply_layers(G.copy(), (q_x, q_z), slopes, degree=0)
            T += self._forward(G, q_x, q_z)
        return T

    def of_diag(self, g: np.ndarray) -> np.ndarray:
        first, *others = self._variances(g)
        t = first
        for q in others:
            t = q + float(self.weight_variance) / 2 * t
        return t
