r"""A convolutional deep kernel machine on torch: its layers, the process on top, and its training.

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

This file requires torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mercer.deep.propagation import CANDIDATES, pivots
from mercer.deep.torch_layers import TorchLayer, one_cycle, torch_layer
from mercer.gram.on_torch import choose_device, on_device, torch_threads
from mercer.kernels import Layer
from mercer.threads import raise_if_stopped


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


__all__ = [
    "ConvolutionNetwork", "ConvolutionTraining", "LinAlgError", "begin", "on_device", "outputs",
    "restored", "torch_threads",
]  # fmt: skip


LinAlgError: Any = torch.linalg.LinAlgError  # pyright: ignore[reportPrivateImportUsage]

SPREAD = 1.0  # variance of the outputs before anything is learnt
FIRST = 0.1  # standard deviation of the outputs' distribution, where training starts, before: 1
LEAST = 1e-6  # least mean square that is divided by
BETAS = (0.9, 0.99)  # decay rates of Adam: a batch says little about second moments of long ago


@dataclass
class ConvolutionNetwork:
    """All that predictions need.

    The top is the mean of φ over all positions: its kernel is that of the inducing points alone.

    Attributes
    ----------
    convolutions : list of Convolution
    coef, covariance_factor : Tensor of shape (p, C), (p, p)
        The outputs at the inducing points of the top are L u, where each class has its own
        u ~ N(coef, R Rᵀ), for the lower triangle R of covariance_factor.
    intercept : Tensor of shape (C,)
    scale : float
        Factor of the kernel of the top.
    jitter : float
    """

    convolutions: list[Convolution]
    coef: Tensor
    covariance_factor: Tensor
    intercept: Tensor
    scale: float
    jitter: float

    @property
    def learnt(self) -> list[Tensor]:
        """Tensors that training changes."""
        layers = [t for c in self.convolutions for t in (c.patches, c.gram_factor, c.centre)]
        return [*layers, self.coef, self.covariance_factor, self.intercept]

    def outputs(self, images: Tensor, noises: Sequence[Tensor] = ()) -> tuple[Tensor, Tensor]:
        """Means (n, C) and variances (n,) of the outputs for n images."""
        features = Features(images, torch.zeros_like(images[:, :1]))
        for level, convolution in enumerate(self.convolutions):
            noise = noises[level] if noises else None
            features = convolution(features, self.jitter, noise)
        phi = features.phi.mean((2, 3))
        explained = (phi @ self.covariance_factor.tril()).square().sum(1)
        means = math.sqrt(self.scale) * phi @ self.coef + self.intercept
        return means, self.scale * explained

    def arrays(self) -> dict[str, Any]:
        """Copies of what was learnt, by the names of the fitted attributes."""
        *layers, coef, R, intercept = [t.detach().cpu().numpy().copy() for t in self.learnt]
        return {
            "patches_": layers[::3],
            "gram_factors_": [np.tril(A) for A in layers[1::3]],
            "centres_": layers[2::3],
            "scales_": np.array([*(c.scale for c in self.convolutions), self.scale]),
            "coef_": coef,
            "covariance_factor_": np.tril(R),
            "intercept_": intercept,
        }

    def price(self, dof: Sequence[float], *, taylor: bool) -> Tensor:
        """The divergences of all layers from their kernels, each times ν, and that of the top."""
        R, classes = self.covariance_factor, self.coef.shape[1]
        price = classes * divergence(R, taylor=False) + self.coef.square().sum() / 2
        for nu, convolution in zip(dof, self.convolutions):
            price = price + nu * divergence(convolution.gram_factor, taylor=taylor)
        return price


def begin(
    images: Tensor, classes: int, counts: Sequence[int], windows: Sequence[tuple[int, int]],
    layers: Sequence[Layer], jitter: float, rng: np.random.RandomState,
) -> ConvolutionNetwork:  # fmt: skip
    """A network of infinite width, whose inducing patches are patches of some images."""
    features = Features(images, torch.zeros_like(images[:, :1]))
    convolutions = []
    for count, window, layer in zip(counts, starmap(Window, windows), layers):
        patches = first_patches(features, window, layer, count, rng)
        p = len(patches)
        convolution = Convolution(
            patches, torch.eye(p).to(patches), patches.new_zeros(p), 1.0, window, torch_layer(layer)
        )
        phi, rest = convolution(features, jitter)
        centre = phi.mean((0, 2, 3))
        size = (phi - centre[None, :, None, None]).square().sum(1).mean() + rest.mean()
        convolutions.append(convolution._replace(centre=centre, scale=1 / max(float(size), LEAST)))
        features = convolutions[-1](features, jitter)
    phi = features.phi.mean((2, 3))
    scale = SPREAD / max(float(phi.square().sum(1).mean()), LEAST)
    first = FIRST * torch.eye(phi.shape[1]).to(phi)
    return ConvolutionNetwork(
        convolutions,
        phi.new_zeros(phi.shape[1], classes),
        first,
        phi.new_zeros(classes),
        scale,
        jitter,
    )


def restored(
    found: dict[str, Any], windows: Sequence[tuple[int, int]], layers: Sequence[Layer],
    jitter: float, device: Any,
) -> ConvolutionNetwork:  # fmt: skip
    """A network from its ``arrays``."""
    on = choose_device(device)

    def tensor(values: np.ndarray) -> Tensor:
        return torch.tensor(values, device=on)

    parts = zip(
        map(tensor, found["patches_"]), map(tensor, found["gram_factors_"]),
        map(tensor, found["centres_"]), map(float, found["scales_"]), starmap(Window, windows),
        map(torch_layer, layers),
    )  # fmt: skip
    return ConvolutionNetwork(
        list(starmap(Convolution, parts)), tensor(found["coef_"]),
        tensor(found["covariance_factor_"]), tensor(found["intercept_"]),
        float(found["scales_"][-1]), jitter,
    )  # fmt: skip


def outputs(
    network: ConvolutionNetwork, images: np.ndarray, batch_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Means (n, C) and variances (n,) of the outputs, in float64, by batches."""
    means, variances = [], []
    with torch.inference_mode():
        for start in range(0, len(images), batch_size):
            raise_if_stopped()
            batch = torch.from_numpy(images[start : start + batch_size]).to(network.coef)
            for found, part in zip((means, variances), network.outputs(batch)):
                found.append(part.double().cpu().numpy())
    return np.concatenate(means), np.concatenate(variances)


@dataclass(frozen=True)
class ConvolutionTraining:
    """Adam on the bound of log P(y), by batches, with a rate that rises and then falls to 0.

    Parameters
    ----------
    epochs, batch_size : int
    learning_rate : float
        The highest rate.
    dof : sequence of float
        ν of each layer.
    taylor : bool
        Whether divergences are replaced by their expansion to second order.
    wishart_dof : float or None
        Degrees of freedom with which Gram matrices are drawn, for each inducing patch.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    dof: Sequence[float]
    taylor: bool
    wishart_dof: float | None

    def run(
        self, network: ConvolutionNetwork, images: Tensor, codes: Tensor, rng: np.random.RandomState
    ) -> Iterator[float]:
        """Change the network; after each epoch, the mean of the bound over it, for each image."""
        n, step = len(images), 0
        steps = self.epochs * math.ceil(n / self.batch_size)
        for tensor in network.learnt:
            tensor.requires_grad_()
        adam = torch.optim.Adam(network.learnt, lr=self.learning_rate, betas=BETAS)
        for _ in range(self.epochs):
            total = 0.0
            order = torch.from_numpy(rng.permutation(n)).to(images.device)
            for rows in order.split(self.batch_size):
                raise_if_stopped()
                step += 1
                for group in adam.param_groups:
                    group["lr"] = self.learning_rate * one_cycle(step / steps)
                adam.zero_grad(set_to_none=True)
                bound = self._bound(network, images[rows], codes[rows], n, rng)
                (-bound).backward()
                adam.step()
                total += float(bound.detach()) * len(rows)
            yield total / n

    def _bound(
        self, network: ConvolutionNetwork, images: Tensor, codes: Tensor, n: int,
        rng: np.random.RandomState,
    ) -> Tensor:  # fmt: skip
        """The bound of log P(y) for each of n images, from a batch of them."""
        means, variances = network.outputs(images, self._noises(network, rng))
        # E log softmax(f)_y >= log softmax(μ)_y - v / 2 for outputs f of variance v (Jensen)
        likelihood = -F.cross_entropy(means, codes) - variances.mean() / 2
        return likelihood - network.price(self.dof, taylor=self.taylor) / n

    def _noises(self, network: ConvolutionNetwork, rng: np.random.RandomState) -> list[Tensor]:
        """Normal numbers from which each layer draws a Wishart matrix."""
        if self.wishart_dof is None:
            return []
        noises = []
        for convolution in network.convolutions:
            A = convolution.gram_factor
            columns = math.ceil(self.wishart_dof * len(A))
            noises.append(torch.from_numpy(rng.normal(size=(len(A), columns))).to(A))
        return noises
