r"""The objective of a deep kernel machine and its gradient in all Gram matrices.

Between the Gram matrix :math:`G_0` of the samples and the targets stand :math:`G_1 ... G_L`, and

.. math:: L(G) = \log P(Y | G_L) - \sum_l ν_l\, KL(N(0, G_l) \| N(0, K_l)), \quad
          K_l = f_l(G_{l-1}) + ε I.

All Gram matrices are those of the inducing points, which are all samples in an exact machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mercer.deep.propagation import (
    Conditional,
    Contribution,
    LayerPropagation,
    PullBack,
    kernel_of,
    pull_back,
)
from mercer.deep.targets import Factor, Targets, inverse_of, log_det
from mercer.kernels import Layer
from mercer.threads import ordered_map


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
    """Abstract: L(G) for layers f_1 ... f_{L+1}, where the last one gives the outputs' covariance.

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
    def factor(self, grams: list[np.ndarray]) -> Factor:
        """T (n, m), with which the outputs have the covariance T Tᵀ."""

    def best_noise(self, grams: list[np.ndarray], noise: float) -> float:
        """The noise of the largest log P(Y | G), or ``noise`` where none is learnt."""
        if not self.targets.learnt:
            return noise
        return self.targets.best_noise(self.factor(grams), noise)

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
        T = np.linalg.cholesky(self.kernel(self.layers[-1], grams[-1]))
        return Factor(T, T.T @ T, 0.0)

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
    n_jobs : int or None
        Threads that share the samples; None means all cores.
    scale : float
        What their inner products and norms are multiplied by.
    """

    def __init__(self, G0, layers, dof, targets, jitter, C0, g0, rows, n_jobs=None, scale=1.0):
        super().__init__(G0, layers, dof, targets, jitter)
        self.C0, self.g0, self.rows, self.scale, self.n_jobs = C0, g0, rows, scale, n_jobs

    def likelihood(self, grams, noise):
        flow = self._flow(grams)
        at = self.targets.factored(self._factor(flow), noise)
        back = PullBack(flow, at.slope)

        def of(part: slice) -> Contribution:
            return back.of(self._first(part), at.residuals[part])

        for found in ordered_map(of, self._parts(), self.n_jobs):
            back.add(found)
        return at.value, at.by_noise, back.gradients()

    def best_likelihood(self, grams, noise):
        factor = self.factor(grams)
        return self.targets.factored(factor, self.targets.best_noise(factor, noise)).value

    def factor(self, grams):
        return self._factor(self._flow(grams))

    def outputs(self, grams, noise):
        T, P, _ = self.factor(grams)
        s = self.targets.shift(noise)
        _, R = self.targets.residuals(T, P, noise)
        covariance = s * inverse_of(np.linalg.cholesky(P + s * np.eye(len(P))))
        return Outputs(T.T @ R, covariance, self.targets.amplitude(R))

    def scaled(self, scale):
        return InducingObjective(
            scale * self.G0, self.layers, self.dof, self.targets, self.jitter,
            self.C0, self.g0, self.rows, self.n_jobs, self.scale * scale,
        )  # fmt: skip

    def _flow(self, grams: list[np.ndarray]) -> LayerPropagation:
        return LayerPropagation(self.G0, grams, self.layers, self.jitter)

    def _factor(self, flow: LayerPropagation) -> Factor:
        """The outputs of all rows by a flow, with their squares and what they leave."""
        m = len(self.G0)
        T, P, gap = np.empty((len(self.C0), m)), np.zeros((m, m)), 0.0

        def fill(part: slice) -> tuple[np.ndarray, float]:
            T[part], k = flow.outputs_of(self._first(part))
            square = T[part].T @ T[part]
            return square, float(k.sum() - np.trace(square))

        for square, rest in ordered_map(fill, self._parts(), self.n_jobs):
            P += square
            gap += rest
        return Factor(T, P, gap)

    def _parts(self) -> list[slice]:
        return [slice(start, start + self.rows) for start in range(0, len(self.C0), self.rows)]

    def _first(self, part: slice) -> Conditional:
        """W and r of the first layer for some samples."""
        W, r = self._of_all
        return Conditional(W[part], r[part])

    @cached_property
    def _of_all(self) -> Conditional:
        """W and r of the first layer, which all Gram matrices that are tried have in common."""
        flow = self._flow([self.G0])
        W, r = np.empty(self.C0.shape), np.empty(len(self.C0))

        def fill(part: slice) -> None:
            W[part], r[part] = flow.first(self.scale * self.C0[part], self.scale * self.g0[part])

        for _ in ordered_map(fill, self._parts(), self.n_jobs):
            pass
        return Conditional(W, r)
