r"""How the Gram matrices of other samples follow from those of the inducing points, layer by layer.

Samples t with inner products C (p, m) with the inducing points, and squared norms g (p,), have

.. math:: B = f(C), \quad W = B K^{-1}, \quad C' = W G, \quad
          g' = \mathrm{diag}(W G W^\top) + k - \mathrm{diag}(W B^\top)

in the next layer, for k = f(g) + ε: the conditional mean of deep Wishart processes (Aitchison et
al., 2021). Of the last layer remain the covariance B with the inducing points and the variance k.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from mercer.deep.targets import inverse_of
from mercer.deep.through_layers import kernel_of, pull_back
from mercer.kernels import Layer

__all__ = ["Propagation"]


class Propagation:
    """The maps of all layers for Gram matrices G_0, G_1 ... G_L of the inducing points.

    Parameters
    ----------
    G0 : ndarray of shape (m, m)
    grams : list of L ndarray of shape (m, m)
    layers : sequence of L + 1 Layer
    jitter : float
    """

    def __init__(
        self, G0: np.ndarray, grams: list[np.ndarray], layers: Sequence[Layer], jitter: float
    ):
        self.grams, self.layers, self.jitter = grams, layers, jitter
        self.all = [G0, *grams]
        factors = []
        for layer, G in zip(layers, self.all):
            K = kernel_of(layer, G)
            K.flat[:: len(K) + 1] += jitter
            factors.append(np.linalg.cholesky(K))
        self.inverses = [inverse_of(L) for L in factors[:-1]]
        self.top = factors[-1]
        self._by_kernel = [np.zeros_like(G0) for _ in layers]  # dL/dK of the inducing points
        self._by_gram = [np.zeros_like(G0) for _ in self.all]

    def outputs(self, C: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """T (p, m), with which the outputs have the covariance T Tᵀ, and their variances k (p,)."""
        for level in range(len(self.grams)):
            _, _, C, g = self._step(level, C, g)
        B, k = self._kernel(len(self.grams), C, g)
        return scipy.linalg.solve_triangular(self.top, B.T, lower=True).T, k

    def _kernel(self, level: int, C: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        layer = self.layers[level]
        below = np.maximum(self.all[level].diagonal(), 0)
        return layer.of_gram(C.copy(), g, below), layer.of_diag(g) + self.jitter

    def _step(
        self, level: int, C: np.ndarray, g: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """B and W of a layer, and the next C and g."""
        B, k = self._kernel(level, C, g)
        W = B @ self.inverses[level]
        above = W @ self.grams[level]
        squares = np.einsum("ij,ij->i", W, above) + k - np.einsum("ij,ij->i", W, B)
        return B, W, above, np.maximum(squares, 0)

    def pull_back(
        self, C: np.ndarray, g: np.ndarray, by_factor: np.ndarray, by_diagonal: float
    ) -> None:
        """Add what some samples contribute to the gradient, for dL/dT (p, m) and dL/dk."""
        states, steps = [(C, g)], []
        for level in range(len(self.grams)):
            B, W, C, g = self._step(level, C, g)
            steps.append((B, W))
            states.append((C, g))
        L, top = self.top, len(self.grams)
        B, _ = self._kernel(top, C, g)
        T = scipy.linalg.solve_triangular(L, B.T, lower=True).T
        dB = scipy.linalg.solve_triangular(L, by_factor.T, lower=True, trans=1).T
        # T Tᵀ = B K⁻¹ Bᵀ   =>   dL/dK = -½ L⁻ᵀ (Tᵀ dL/dT) L⁻¹
        half = scipy.linalg.solve_triangular(L, T.T @ by_factor, lower=True, trans=1)
        self._by_kernel[top] -= scipy.linalg.solve_triangular(L, half.T, lower=True, trans=1) / 2
        dk = np.full(len(g), by_diagonal)
        dC, dg = self._through_layer(top, *states[top], dB, dk)
        for level in reversed(range(top)):
            (B, W), G, inverse = steps[level], self.grams[level], self.inverses[level]
            above, weighed = states[level + 1][0], dg[:, None] * W
            # g' = k + Σ W o (C' - B), so that C' = W G is met twice
            dC += weighed
            self._by_gram[level + 1] += W.T @ dC
            dW = dC @ G
            dW += dg[:, None] * (above - B)
            dB = dW @ inverse
            self._by_kernel[level] -= W.T @ dB
            dB -= weighed
            dC, dg = self._through_layer(level, *states[level], dB, dg)

    def _through_layer(
        self, level: int, C: np.ndarray, g: np.ndarray, dB: np.ndarray, dk: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """dL/dC and dL/dg of samples; what the inducing points' diagonal gets is added to it."""
        layer, G = self.layers[level], self.all[level]
        by_c, by_a, by_b = layer.gram_derivatives(C, g, np.maximum(G.diagonal(), 0))
        self._by_gram[level].flat[:: len(G) + 1] += np.einsum("ij,ij->j", dB, by_b)
        dg = np.einsum("ij,ij->i", dB, by_a) + dk * layer.diag_derivative(g)
        return dB * by_c, dg

    def gradients(self) -> list[np.ndarray]:
        """dL/dG_l, of all samples that were pulled back."""
        out = []
        for level, G in enumerate(self.all[1:], 1):
            direct, by_kernel = self._by_gram[level], self._by_kernel[level]
            by_kernel = (by_kernel + by_kernel.T) / 2
            out.append((direct + direct.T) / 2 + pull_back(self.layers[level], by_kernel, G))
        return out
