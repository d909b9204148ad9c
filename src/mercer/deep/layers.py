"""Layers of deep kernel machines: kernels that are functions of a Gram matrix alone.

A layer is one function of three numbers, k = f(c, a, b) for c = <x, z>, a = <x, x> and b = <z, z>,
with its derivatives. All else follows from it: the matrix of a layer, that of new samples, and the
pull-back of a gradient from the kernel matrix to the Gram matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from mercer.learners.parameters import check_positive
from mercer.samples import is_number

__all__ = [
    "AffineLayer",
    "ArcCosineLayer",
    "GramLayer",
    "LinearLayer",
    "NormalisedGaussianLayer",
    "SquaredExponentialLayer",
]

TINY = np.finfo(np.float64).tiny


class GramLayer(BaseEstimator, ABC):
    """Abstract: a kernel k(x, z) = f(<x, z>, <x, x>, <z, z>).

    Subclasses write ``values``, ``derivatives``, ``diagonal`` and ``diagonal_derivative``.
    """

    #: the layer adds nothing to its Gram matrix and changes nothing: f(c, a, b) = c
    identity = False

    @abstractmethod
    def values(self, C: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """f at the inner products C (p, q) of rows with squared norms a (p,) and b (q,)."""

    @abstractmethod
    def derivatives(
        self, C: np.ndarray, a: np.ndarray, b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The derivatives of f by c, by a and by b, each of shape (p, q)."""

    @abstractmethod
    def diagonal(self, a: np.ndarray) -> np.ndarray:
        """f(a, a, a), k(x, x) of rows with squared norms a."""

    @abstractmethod
    def diagonal_derivative(self, a: np.ndarray) -> np.ndarray:
        """The derivative of f(a, a, a) by a."""

    def validate(self) -> None:
        """Raise an error if a parameter is out of its range."""

    def kernel(self, G: np.ndarray) -> np.ndarray:
        """The kernel matrix (n, n) of a Gram matrix G.

        Examples
        --------
        >>> from mercer.deep import ArcCosineLayer
        >>> ArcCosineLayer().kernel(np.eye(2)).round(3)  # 1 / pi off the diagonal
        array([[1.   , 0.318],
               [0.318, 1.   ]])
        """
        g = G.diagonal()
        K = self.values(G, g, g)
        np.fill_diagonal(K, self.diagonal(g))
        return K

    def pull_back(self, D: np.ndarray, G: np.ndarray) -> np.ndarray:
        """dL/dG for a symmetric D = dL/dK at K = ``kernel(G)``."""
        g = G.diagonal()
        by_c, by_a, _ = self.derivatives(G, g, g)
        out = D * by_c
        by_a *= D
        np.fill_diagonal(by_a, 0.0)
        # f is symmetric in a and b, and so is D: each diagonal entry is met as a and as b
        np.fill_diagonal(out, 2 * by_a.sum(axis=1) + D.diagonal() * self.diagonal_derivative(g))
        return out


class LinearLayer(GramLayer):
    """The identity, f(c, a, b) = c: a layer of a deep linear network.

    Examples
    --------
    >>> from mercer.deep import LinearLayer
    >>> LinearLayer().kernel(np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """

    identity = True

    def values(self, C, a, b):
        return C.copy()

    def derivatives(self, C, a, b):
        return np.ones_like(C), np.zeros_like(C), np.zeros_like(C)

    def diagonal(self, a):
        return a.copy()

    def diagonal_derivative(self, a):
        return np.ones_like(a)


class SquaredExponentialLayer(GramLayer):
    r"""Squared exponential, :math:`f = \exp(-(a + b - 2c) / (2 ℓ^2))`.

    Parameters
    ----------
    length_scale : float > 0, default=1.0
        ℓ, in units of the root of the Gram matrix, whose diagonal is near 1.

    Examples
    --------
    >>> from mercer.deep import SquaredExponentialLayer
    >>> SquaredExponentialLayer().kernel(np.eye(2)).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    def __init__(self, length_scale=1.0):
        self.length_scale = length_scale

    def validate(self):
        check_positive("length_scale", self.length_scale)

    def values(self, C, a, b):
        squares = np.maximum(a[:, None] + b - 2 * C, 0)
        return np.exp(squares / (-2 * self.length_scale**2))

    def derivatives(self, C, a, b):
        by_c = self.values(C, a, b) / self.length_scale**2
        return by_c, -by_c / 2, -by_c / 2

    def diagonal(self, a):
        return np.ones_like(a)

    def diagonal_derivative(self, a):
        return np.zeros_like(a)


class ArcCosineLayer(GramLayer):
    r"""Arc-cosine kernel of degree 1, the covariance of an infinite layer of rectified units:

    .. math:: f = \frac{1}{π} \left( \sqrt{ab - c^2} + (π - θ) c \right), \quad
              θ = \arccos \frac{c}{\sqrt{ab}}.

    References
    ----------
    Cho & Saul, "Kernel methods for deep learning", NIPS 2009.

    Examples
    --------
    >>> from mercer.deep import ArcCosineLayer
    >>> ArcCosineLayer().kernel(np.ones((2, 2)))
    array([[1., 1.],
           [1., 1.]])
    """

    def values(self, C, a, b):
        _, cosines, sines = _angles(C, a, b)
        return (sines + (np.pi - np.arccos(cosines)) * C) / np.pi

    def derivatives(self, C, a, b):
        _, cosines, sines = _angles(C, a, b)
        by_a = sines / (2 * np.pi * np.maximum(a, TINY)[:, None])
        by_b = sines / (2 * np.pi * np.maximum(b, TINY))
        return 1 - np.arccos(cosines) / np.pi, by_a, by_b

    def diagonal(self, a):
        return a.copy()

    def diagonal_derivative(self, a):
        return np.ones_like(a)


class NormalisedGaussianLayer(GramLayer):
    r"""Gaussian of the angle that keeps the norms, :math:`f = r \exp(c / r - 1)` for
    :math:`r = \sqrt{ab}`.

    References
    ----------
    Milsom, Anson & Aitchison, "Stochastic kernel regularisation improves generalisation in deep
    kernel machines", NeurIPS 2024.

    Examples
    --------
    >>> from mercer.deep import NormalisedGaussianLayer
    >>> NormalisedGaussianLayer().kernel(np.eye(2)).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    def values(self, C, a, b):
        roots, cosines, _ = _angles(C, a, b)
        return roots * np.exp(cosines - 1)

    def derivatives(self, C, a, b):
        roots, cosines, _ = _angles(C, a, b)
        by_c = np.exp(cosines - 1)
        rest = roots * by_c * (1 - cosines) / 2
        return by_c, rest / np.maximum(a, TINY)[:, None], rest / np.maximum(b, TINY)

    def diagonal(self, a):
        return a.copy()

    def diagonal_derivative(self, a):
        return np.ones_like(a)


class AffineLayer(GramLayer):
    r"""Weight and bias around another layer, w f + β.

    Parameters
    ----------
    layer : GramLayer
    weight : float > 0, default=1.0
        w.
    bias : float >= 0, default=0.0
        β, the variance of a bias that all samples share.

    Examples
    --------
    >>> from mercer.deep import AffineLayer, LinearLayer
    >>> AffineLayer(LinearLayer(), weight=2.0, bias=1.0).kernel(np.eye(2))
    array([[3., 1.],
           [1., 3.]])
    """

    def __init__(self, layer, weight=1.0, bias=0.0):
        self.layer = layer
        self.weight = weight
        self.bias = bias

    def validate(self):
        if not isinstance(self.layer, GramLayer):
            raise TypeError(f"layer={self.layer!r}: give a layer of mercer.deep, as LinearLayer().")
        self.layer.validate()
        check_positive("weight", self.weight)
        if not (is_number(self.bias) and 0 <= self.bias < np.inf):
            raise ValueError(f"bias={self.bias!r}: give a finite number >= 0.")

    def values(self, C, a, b):
        return self.weight * self.layer.values(C, a, b) + self.bias

    def derivatives(self, C, a, b):
        by_c, by_a, by_b = self.layer.derivatives(C, a, b)
        return self.weight * by_c, self.weight * by_a, self.weight * by_b

    def diagonal(self, a):
        return self.weight * self.layer.diagonal(a) + self.bias

    def diagonal_derivative(self, a):
        return self.weight * self.layer.diagonal_derivative(a)


def _angles(
    C: np.ndarray, a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """√(ab), the cosine c / √(ab) within [-1, 1], and √(ab - c²), 0 where it is not real."""
    products = np.maximum(a, 0)[:, None] * np.maximum(b, 0)
    roots = np.sqrt(products)
    cosines = np.clip(C / np.maximum(roots, TINY), -1, 1)
    return roots, cosines, np.sqrt(np.maximum(products - C * C, 0))
