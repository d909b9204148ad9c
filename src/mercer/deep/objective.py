r"""The objective of a deep kernel machine and its gradient by all Gram matrices.

Between the Gram matrix :math:`G_0` of the samples and the targets stand :math:`G_1 ... G_L`, and

.. math:: L(G) = \log P(Y | G_L) - \sum_l ν_l\, KL(N(0, G_l) \| N(0, K_l)), \quad
          K_l = f_l(G_{l-1}) + ε I.

All Gram matrices are those of the inducing points, which are all samples in an exact machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mercer.deep.propagation import Propagation
from mercer.deep.targets import Targets, inverse_of, log_det
from mercer.deep.through_layers import kernel_of, pull_back
from mercer.kernels import Layer

__all__ = ["DeepObjective", "Evaluation", "ExactObjective", "InducingObjective", "Outputs"]


class Outputs(NamedTuple):
    """The outputs given Y are T b, where b has this mean (m, N) and a times this covariance."""

    mean: np.ndarray
    covariance: np.ndarray
    amplitude: float


class Evaluation(NamedTuple):
    """The objective, its derivatives by each G_l (m, m) and by the noise, and each K_l⁻¹."""

    value: float
    gradients: list[np.ndarray]
    by_noise: float
    inverses: list[np.ndarray]


class DeepObjective(ABC):
    """Abstract: L(G) for layers f_1 ... f_{L+1}, of which the last gives the outputs' covariance.

    Parameters
    ----------
    G0 : ndarray of shape (m, m)
    layers : sequence of L + 1 Layer
    dof : ndarray of shape (L,)
        ν.
    targets : Targets
    jitter : float >= 0
        ε.
    """

    def __init__(
        self,
        G0: np.ndarray,
        layers: Sequence[Layer],
        dof: np.ndarray,
        targets: Targets,
        jitter: float,
    ):
        self.G0, self.layers, self.dof = G0, layers, dof
        self.targets, self.jitter = targets, jitter

    def kernel(self, layer: Layer, G: np.ndarray) -> np.ndarray:
        """f(G) + ε I."""
        K = kernel_of(layer, G)
        K.flat[:: len(K) + 1] += self.jitter
        return K

    def start(self) -> list[np.ndarray]:
        """The Gram matrices G_l = K_l of ν → ∞: the infinitely wide network."""
        grams, G = [], self.G0
        for layer in self.layers[:-1]:
            G = self.kernel(layer, G)
            grams.append(G)
        return grams

    def evaluate(self, grams: list[np.ndarray], noise: float) -> Evaluation:
        """L and its gradient; LinAlgError where a matrix is not positive definite."""
        value, by_noise, gradients = self.likelihood(grams, noise)
        inverses, m, below = [], len(self.G0), self.G0
        for i, (layer, nu, G) in enumerate(zip(self.layers, self.dof, grams)):
            L, H = np.linalg.cholesky(self.kernel(layer, below)), np.linalg.cholesky(G)
            inverse = inverse_of(L)
            product = inverse @ G
            divergence = (float(np.trace(product)) - log_det(H) + log_det(L) - m) / 2
            value -= nu * divergence
            gradients[i] += nu / 2 * (inverse_of(H) - inverse)
            if i > 0:
                by_kernel = nu / 2 * (product @ inverse - inverse)
                gradients[i - 1] += pull_back(layer, (by_kernel + by_kernel.T) / 2, below)
            inverses.append(inverse)
            below = G
        return Evaluation(value, gradients, by_noise, inverses)

    @abstractmethod
    def likelihood(
        self, grams: list[np.ndarray], noise: float
    ) -> tuple[float, float, list[np.ndarray]]:
        """log P(Y | G), and its derivatives by the noise and by each G_l."""

    @abstractmethod
    def best_likelihood(self, grams: list[np.ndarray], noise: float) -> float:
        """log P(Y | G) at ``best_noise``, without derivatives."""

    @abstractmethod
    def factor(self, grams: list[np.ndarray]) -> tuple[np.ndarray, float]:
        """T (n, m), with which the outputs have the covariance T Tᵀ, and the trace of the rest."""

    def best_noise(self, grams: list[np.ndarray], noise: float) -> float:
        """The noise of the largest log P(Y | G), or ``noise`` where none is learnt."""
        if not self.targets.learnt:
            return noise
        return self.targets.best_noise(*self.factor(grams), noise)

    @abstractmethod
    def outputs(self, grams: list[np.ndarray], noise: float) -> Outputs:
        """The outputs given Y, for b ~ N(0, a I) before."""

    @abstractmethod
    def scaled(self, scale: float) -> DeepObjective:
        """The objective for G_0 times a number."""


class ExactObjective(DeepObjective):
    """All samples are inducing points, so that Y depends on G_L alone."""

    def likelihood(self, grams, noise):
        gradients = [np.zeros_like(G) for G in grams]
        layer, top = self.layers[-1], grams[-1]
        value, by_kernel, by_noise = self.targets.dense(self.kernel(layer, top), noise)
        gradients[-1] += pull_back(layer, by_kernel, top)
        return value, by_noise, gradients

    def best_likelihood(self, grams, noise):
        K = self.kernel(self.layers[-1], grams[-1])
        return self.targets.dense(K, self.best_noise(grams, noise)).value

    def factor(self, grams):
        return np.linalg.cholesky(self.kernel(self.layers[-1], grams[-1])), 0.0

    def outputs(self, grams, noise):
        K = self.kernel(self.layers[-1], grams[-1])
        T, m = np.linalg.cholesky(K), len(K)
        # exact where there is no noise, too
        inverse = inverse_of(np.linalg.cholesky(K + self.targets.shift(noise) * np.eye(m)))
        _, R = self.targets.dense_residuals(K, inverse, noise)
        return Outputs(T.T @ R, np.eye(m) - T.T @ inverse @ T, self.targets.amplitude(R))

    def scaled(self, scale):
        return ExactObjective(scale * self.G0, self.layers, self.dof, self.targets, self.jitter)


class InducingObjective(DeepObjective):
    """m inducing points, from which the Gram matrices of all n samples follow.

    Parameters
    ----------
    C0 : ndarray of shape (n, m)
        Inner products of the samples and the inducing points.
    g0 : ndarray of shape (n,)
        Squared norms of the samples.
    rows : int
        Samples that are propagated at a time.
    scale : float
        What their inner products and norms are multiplied by.
    """

    def __init__(self, G0, layers, dof, targets, jitter, C0, g0, rows, scale=1.0):
        super().__init__(G0, layers, dof, targets, jitter)
        self.C0, self.g0, self.rows, self.scale = C0, g0, rows, scale

    def likelihood(self, grams, noise):
        flow = Propagation(self.G0, grams, self.layers, self.jitter)
        T, gap = self._factor(flow)
        value, by_factor, by_diagonal, by_noise = self.targets.factored(T, gap, noise)
        # the gap is k - |T|²: the second part is in ``by_factor``
        for part in self._parts():
            flow.pull_back(*self._samples(part), by_factor[part], by_diagonal)
        return value, by_noise, flow.gradients()

    def best_likelihood(self, grams, noise):
        T, gap = self.factor(grams)
        return self.targets.factored(T, gap, self.targets.best_noise(T, gap, noise)).value

    def factor(self, grams):
        return self._factor(Propagation(self.G0, grams, self.layers, self.jitter))

    def outputs(self, grams, noise):
        T, _ = self.factor(grams)
        s, m = self.targets.shift(noise), T.shape[1]
        _, R = self.targets.residuals(T, noise)
        covariance = s * inverse_of(np.linalg.cholesky(T.T @ T + s * np.eye(m)))
        return Outputs(T.T @ R, covariance, self.targets.amplitude(R))

    def scaled(self, scale):
        return InducingObjective(
            scale * self.G0, self.layers, self.dof, self.targets, self.jitter,
            self.C0, self.g0, self.rows, self.scale * scale,
        )  # fmt: skip

    def _factor(self, flow: Propagation) -> tuple[np.ndarray, float]:
        T, gap = np.empty(self.C0.shape), 0.0
        for part in self._parts():
            T[part], k = flow.outputs(*self._samples(part))
            gap += float(k.sum() - np.square(T[part]).sum())
        return T, gap

    def _parts(self) -> list[slice]:
        return [slice(start, start + self.rows) for start in range(0, len(self.C0), self.rows)]

    def _samples(self, part: slice) -> tuple[np.ndarray, np.ndarray]:
        return self.scale * self.C0[part], self.scale * self.g0[part]
