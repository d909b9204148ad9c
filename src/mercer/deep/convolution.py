r"""A convolutional deep kernel machine on torch: what its layers make of a batch of images.

The Gram matrix of all positions of all images is never made. A layer hands on, for each position t,
its covariance with inducing points, whitened to a vector φ_t, so that :math:`K_{ts} \approx
\langle φ_t, φ_s \rangle`, and what its variance has beyond it, :math:`ρ_t = k_t - |φ_t|^2`. The
next layer sums over the M positions d of a patch. Its own inducing points are patches of such
vectors, the rows of B:

.. math:: Γ = B B^\top / M, \quad Γ_t = \sum_d φ_{t+d} B_d^\top / M, \quad
          γ_t = \sum_d (|φ_{t+d}|^2 + ρ_{t+d}) / M.

With Γ = L Lᵀ, T = Γ_t L⁻ᵀ and the learnt Gram matrix G = L A Aᵀ Lᵀ of the inducing points,

.. math:: G_t = T A A^\top L^\top, \quad g_t = |T A|^2 + γ_t - |T|^2

is the conditional mean of a deep Wishart process, as in `mercer.deep.propagation`. The kernel of
the layer makes K, K_t and k_t of these, whose whitening is the next φ_t. Kernels of layers are
positive, so that all φ_t share a large part, which hides how they differ. They are therefore
measured from a point m, which is learnt: this is the kernel k(t, s) - k(t, m) - k(m, s) + k(m, m),
times a constant.

This file is read where torch is installed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mercer.deep.inducing import CANDIDATES, pivots
from mercer.deep.torch_layers import TorchLayer
from mercer.kernels import Layer


class Features(NamedTuple):
    """Features of a batch of images: φ (n, p, rows, columns) and ρ (n, 1, rows, columns)."""

    phi: Tensor
    rest: Tensor


class Window(NamedTuple):
    """The patches that a layer reads: their odd side, and the step from one to the next."""

    size: int
    stride: int

    def means(self, images: Tensor, filters: Tensor) -> Tensor:
        """Σ_d images_{t+d} filters_d / √M at each position t; outside of an image is 0."""
        return F.conv2d(images, filters / self.size, stride=self.stride, padding=self.size // 2)

    def patches(self, images: Tensor) -> Tensor:
        """All patches of all images, (patches, channels, size, size)."""
        columns = F.unfold(images, self.size, padding=self.size // 2, stride=self.stride)
        return columns.transpose(1, 2).reshape(-1, images.shape[1], self.size, self.size)


class Convolution(NamedTuple):
    """One layer.

    Attributes
    ----------
    patches : Tensor of shape (p, channels, size, size)
        B, the inducing patches.
    gram_factor : Tensor of shape (p, p)
        A; only its lower triangle counts.
    centre : Tensor of shape (p,)
        m, a point among the features that the layer makes, from which they are measured.
    scale : float
        Factor of the kernel that is centred there.
    window : Window
    layer : TorchLayer
    """

    patches: Tensor
    gram_factor: Tensor
    centre: Tensor
    scale: float
    window: Window
    layer: TorchLayer

    def __call__(self, below: Features, jitter: float, noise: Tensor | None = None) -> Features:
        """The features of the next layer.

        With ``noise``, (p, m) standard normal numbers N, A Aᵀ is replaced by A N Nᵀ Aᵀ / m: so G is
        drawn from the Wishart distribution of m degrees of freedom around it.
        """
        grams = self.grams(below, jitter, noise)
        K = self.layer.of_square(grams.G)
        b = grams.G.diagonal()[None, :, None, None]
        cross = self.layer.of_gram(grams.cross, grams.norms, b)
        phi = _mixed(cross, _inverse(factor(K, jitter)))
        rest = (self.layer.of_diag(grams.norms) - _squares(phi)).clamp_min(0)
        centred = phi - self.centre[None, :, None, None]
        return Features(math.sqrt(self.scale) * centred, self.scale * rest)

    def grams(self, below: Features, jitter: float, noise: Tensor | None = None) -> Grams:
        """The Gram matrices that the kernel of this layer is applied to."""
        B = self.patches.flatten(1) / self.window.size
        L = factor(B @ B.T, jitter)
        white = torch.linalg.solve_triangular(L, self.patches.flatten(1), upper=False)
        T = self.window.means(below.phi, white.view_as(self.patches) / self.window.size)
        ones = torch.ones_like(self.patches[:1, :1]) / self.window.size
        gamma = self.window.means(_squares(below.phi) + below.rest, ones)
        A = self.gram_factor.tril()
        if noise is not None:
            A = A @ noise / math.sqrt(noise.shape[1])
        S, H = _mixed(T, A.T), L @ A
        norms = _squares(S) + (gamma - _squares(T)).clamp_min(0)
        return Grams(H @ H.T, _mixed(S, H), norms)


class Grams(NamedTuple):
    """G (p, p), G_t (n, p, rows, columns) and g_t (n, 1, rows, columns)."""

    G: Tensor
    cross: Tensor
    norms: Tensor


def factor(K: Tensor, jitter: float) -> Tensor:
    """The Cholesky factor of K, with a part ``jitter`` of its mean diagonal added."""
    size = K.diagonal().mean().clamp_min(torch.finfo(K.dtype).tiny / jitter)
    return torch.linalg.cholesky(K + jitter * size * torch.eye(len(K)).to(K))


def divergence(A: Tensor, *, taylor: bool) -> Tensor:
    r"""KL(N(0, G) ‖ N(0, Γ)) of G = L A Aᵀ Lᵀ from Γ = L Lᵀ, or what it is near G = Γ.

    The divergence is ½ Σ (1/s - 1 + log s) over the eigenvalues s of :math:`G^{-1} Γ`, which are
    those of :math:`(A A^\top)^{-1}`; to second order it is ¼ Σ (s - 1)². Only where G and Γ commute
    is this the Frobenius norm of :math:`G^{-1} Γ - I`.
    """
    A = A.tril()
    if taylor:
        inverse = _inverse(A)
        return torch.square(inverse @ inverse.T - torch.eye(len(A)).to(A)).sum() / 4
    return (A.square().sum() - len(A)) / 2 - A.diagonal().abs().log().sum()


def first_patches(
    below: Features, window: Window, layer: Layer, count: int, rng: np.random.RandomState
) -> Tensor:
    """Inducing patches for the start: some that the images have, as different as can be."""
    patches = window.patches(below.phi)
    drawn = rng.choice(len(patches), min(len(patches), CANDIDATES * count), replace=False)
    some = patches[torch.from_numpy(np.sort(drawn)).to(patches.device)]
    flat = some.flatten(1).double().cpu().numpy() / window.size
    return some[torch.from_numpy(pivots(flat @ flat.T, layer, count)).to(some.device)]


def _mixed(images: Tensor, matrix: Tensor) -> Tensor:
    """The matrix times the channels at each position."""
    return F.conv2d(images, matrix[:, :, None, None])


def _squares(images: Tensor) -> Tensor:
    return images.square().sum(1, keepdim=True)


def _inverse(L: Tensor) -> Tensor:
    return torch.linalg.solve_triangular(L, torch.eye(len(L)).to(L), upper=False)
