"""Kernels of fully connected ReLU networks of infinite width: before training, and in training."""

from __future__ import annotations

import numpy as np

from mercer.distances import Meaning
from mercer.kernels.arc_cosine import apply_layers, check_layers, check_norms
from mercer.kernels.base import Layer
from mercer.samples import is_number


class _Network(Layer):
    """Abstract: the three numbers that describe a network, and the recursion on its outputs."""

    def __init__(self, layers: int = 1, weight_variance: float = 2.0, bias_variance: float = 0.0):
        self.layers = layers
        self.weight_variance = weight_variance
        self.bias_variance = bias_variance

    def validate(self) -> None:
        check_layers("layers", self.layers)
        w, b = self.weight_variance, self.bias_variance
        if not (is_number(w) and 0 < w < np.inf):
            raise ValueError(f"weight_variance={w!r}: give a finite number > 0.")
        if not (is_number(b) and 0 <= b < np.inf):
            raise ValueError(f"bias_variance={b!r}: give a finite number >= 0.")

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
