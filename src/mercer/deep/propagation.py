r"""How the Gram matrices of other samples follow from those of the inducing points, layer by layer.

Samples t with inner products C (p, m) with the inducing points, and squared norms g (p,), have

.. math:: B = f(C), \quad W = B K^{-1}, \quad r = k - \mathrm{diag}(W B^\top), \quad
          C' = W G, \quad g' = \mathrm{diag}(W C'^\top) + r

in the next layer, for k = f(g) + ε: the conditional mean of deep Wishart processes (Aitchison et
al., 2021). Of the last layer remain the covariance B with the inducing points and the variance k.
W and r of the first layer depend on no Gram matrix that is learnt, so that a fit keeps them.

`kernel_of` and `pull_back` take a Gram matrix and a gradient through one layer, and `pivots`
chooses the training samples that are the inducing points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from mercer.deep.targets import FactorSlope, inverse_of
from mercer.kernels import Layer


def kernel_of(layer: Layer, G: np.ndarray) -> np.ndarray:
    """The kernel matrix (n, n) of a Gram matrix G; LinAlgError if its diagonal is not finite.

    Examples
    --------
    >>> from mercer.kernels import ArcCosine
    >>> kernel_of(ArcCosine(1), np.eye(2)).round(3)  # 1 / π off the diagonal
    array([[1.   , 0.318],
           [0.318, 1.   ]])
    """
    g = _norms(G)
    K = layer.of_gram(G.copy(), g, g)
    np.fill_diagonal(K, layer.of_diag(g))
    return K


def pull_back(layer: Layer, D: np.ndarray, G: np.ndarray) -> np.ndarray:
    """dL/dG for a symmetric D = dL/dK at K = ``kernel_of(layer, G)``."""
    g = _norms(G)
    by_gram, by_norm, _ = layer.gram_derivatives(G, g, g)
    out, shared = D * by_gram, D * by_norm
    np.fill_diagonal(shared, 0.0)
    # κ is symmetric, and so is D: each diagonal entry is met on the left and on the right
    np.fill_diagonal(out, 2 * shared.sum(axis=1) + D.diagonal() * layer.diag_derivative(g))
    return out


def _norms(G: np.ndarray) -> np.ndarray:
    """Squared norms; one that rounding made negative is 0."""
    g = np.maximum(G.diagonal(), 0)
    if not np.isfinite(g).all():
        raise np.linalg.LinAlgError("a Gram matrix is not finite")
    return g


CANDIDATES = 5  # rows drawn at random for each inducing point that is chosen from them


def pivots(G: np.ndarray, layer: Layer, count: int) -> np.ndarray:
    """The rows of G that say most about the others, in ascending order; at most ``count``.

    Pivots of the Cholesky factorisation of the first layer's kernel matrix: each next one has the
    largest variance that those before it leave. No row is taken twice, nor one that equals another
    (Fine & Scheinberg, "Efficient SVM training using low-rank kernel representations", JMLR 2001).

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> x = np.array([[0.0], [0.0], [0.1], [5.0]])
    >>> pivots(x @ x.T, RBF(0.5), 2).tolist()
    [0, 3]
    """
    K = kernel_of(layer, G)
    # where variances are equal, first the row that is most like the others, in any order of them
    central = np.argsort(-np.square(K).sum(axis=1), kind="stable")
    K = K[np.ix_(central, central)]
    (pstrf,) = scipy.linalg.get_lapack_funcs(("pstrf",), (K,))
    _, order, rank, _ = pstrf(K, tol=1e-12 * float(K.diagonal().max()))
    return np.sort(central[order[: max(1, min(count, rank))] - 1])


class Conditional(NamedTuple):
    """W (p, m) and r (p,) of samples, from which the next layer makes C' and g'."""

    W: np.ndarray
    r: np.ndarray

    def through(self, G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """C' and g' for the Gram matrix G of the inducing points."""
        C = self.W @ G
        return C, np.maximum(np.einsum("ij,ij->i", self.W, C) + self.r, 0)


class LayerPropagation:
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
        self.grams, self.layers, self.jitter = [G0, *grams], layers, jitter
        self.top = len(grams)
        self.norms = [np.maximum(G.diagonal(), 0) for G in self.grams]
        factors = []
        for layer, G in zip(layers, self.grams):
            K = kernel_of(layer, G)
            K.flat[:: len(K) + 1] += jitter
            factors.append(np.linalg.cholesky(K))
        self.inverses = [inverse_of(L) for L in factors[:-1]]
        # products with L⁻¹ are several times as fast as solving with L
        self.half = scipy.linalg.solve_triangular(factors[-1], np.eye(len(G0)), lower=True)

    def outputs(self, C: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """T (p, m), with which the outputs have the covariance T Tᵀ, and their variances k (p,)."""
        return self.outputs_of(self.first(C, g))

    def first(self, C: np.ndarray, g: np.ndarray) -> Conditional:
        """W and r of the first layer, for inner products C and squared norms g of samples."""
        return self.conditional(0, *self.kernel(0, C, g))

    def outputs_of(self, samples: Conditional) -> tuple[np.ndarray, np.ndarray]:
        """T and k from W and r of the first layer."""
        for level in range(1, self.top):
            C, g = samples.through(self.grams[level])
            samples = self.conditional(level, *self.kernel(level, C, g))
        B, k = self.kernel(self.top, *samples.through(self.grams[-1]))
        return B @ self.half.T, k

    def kernel(self, level: int, C: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """B and k of a layer."""
        layer = self.layers[level]
        return layer.of_gram(C.copy(), g, self.norms[level]), layer.of_diag(g) + self.jitter

    def conditional(self, level: int, B: np.ndarray, k: np.ndarray) -> Conditional:
        """W and r of a layer below the last."""
        W = B @ self.inverses[level]
        return Conditional(W, k - np.einsum("ij,ij->i", W, B))


class Contribution(NamedTuple):
    """What some samples add to dL/dG and to dL/dK of each level, (m, m) or 0."""

    by_gram: list[np.ndarray]
    by_kernel: list[np.ndarray]


class PullBack:
    """The gradient in all G_l of a function of T and of the variances k of all samples.

    Parameters
    ----------
    flow : LayerPropagation
    slope : FactorSlope
        dL/dT and dL/dk.
    """

    def __init__(self, flow: LayerPropagation, slope: FactorSlope):
        self.flow, self.by_diagonal = flow, slope.by_diagonal
        # T = B L⁻ᵀ and dL/dT = R Aᵀ + T M   =>   dL/dB = R (L⁻ᵀ A)ᵀ + B (L⁻ᵀ M L⁻¹)
        half = flow.half
        self.outer, self.inner = half.T @ slope.A, half.T @ slope.M @ half
        m, levels = len(half), range(flow.top + 1)
        self.by_gram = [np.zeros((m, m)) for _ in levels]
        self.by_kernel = [np.zeros((m, m)) for _ in levels]
        # T Tᵀ = B K⁻¹ Bᵀ   =>   dL/dK = -½ L⁻ᵀ (Tᵀ dL/dT) L⁻¹
        self.by_kernel[-1] -= half.T @ slope.product @ half / 2

    def of(self, samples: Conditional, R: np.ndarray) -> Contribution:
        """What some samples with residuals R (p, N) contribute."""
        flow, below, states = self.flow, [samples], []
        for level in range(1, flow.top + 1):
            C, g = below[-1].through(flow.grams[level])
            B, k = flow.kernel(level, C, g)
            states.append((C, g, B))
            if level < flow.top:
                below.append(flow.conditional(level, B, k))
        found = Contribution([np.zeros(1)] * len(self.by_gram), [np.zeros(1)] * len(self.by_gram))
        dB, dk = R @ self.outer.T + states[-1][2] @ self.inner, np.full(len(R), self.by_diagonal)
        for level in reversed(range(1, flow.top + 1)):
            W, (C, g, B) = below[level - 1].W, states[level - 1]
            dC, dg, diagonal = self._through_layer(level, C, g, dB, dk)
            # g' = Σ W o C' + r with C' = W G, so that C' is met twice
            dC += dg[:, None] * W
            found.by_gram[level] = W.T @ dC
            found.by_gram[level].flat[:: len(diagonal) + 1] += diagonal
            if level > 1:
                # r = k - Σ W o B with W = B K⁻¹
                B = states[level - 2][2]
                dW = dC @ flow.grams[level] + dg[:, None] * (C - B)
                dB = dW @ flow.inverses[level - 1]
                found.by_kernel[level - 1] = -W.T @ dB
                dB -= dg[:, None] * W
                dk = dg
        return found

    def add(self, found: Contribution) -> None:
        """Add what `of` has found."""
        for total, part in zip(self.by_gram + self.by_kernel, found.by_gram + found.by_kernel):
            total += part

    def gradients(self) -> list[np.ndarray]:
        """dL/dG_l, of all samples that were added."""
        out = []
        for level in range(1, self.flow.top + 1):
            direct, by_kernel = self.by_gram[level], self.by_kernel[level]
            by_kernel = (by_kernel + by_kernel.T) / 2
            above = pull_back(self.flow.layers[level], by_kernel, self.flow.grams[level])
            out.append((direct + direct.T) / 2 + above)
        return out

    def _through_layer(
        self, level: int, C: np.ndarray, g: np.ndarray, dB: np.ndarray, dk: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """dL/dC and dL/dg of samples, and dL/d diag(G) of the inducing points."""
        layer = self.flow.layers[level]
        by_c, by_a, by_b = layer.gram_derivatives(C, g, self.flow.norms[level])
        dg = np.einsum("ij,ij->i", dB, by_a) + dk * layer.diag_derivative(g)
        return dB * by_c, dg, np.einsum("ij,ij->j", dB, by_b)
