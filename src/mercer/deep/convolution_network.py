"""Layers of convolutions, a Gaussian process on top, and their training by batches.

This file is read where torch is installed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mercer.deep.convolution import (
    Convolution,
    Features,
    Window,
    divergence,
    first_patches,
)
from mercer.deep.learning_rate import one_cycle
from mercer.deep.torch_layers import torch_layer
from mercer.gram.on_torch import choose_device, on_device, torch_threads
from mercer.kernels import Layer
from mercer.threads import raise_if_stopped

__all__ = [
    "ConvolutionNetwork", "LinAlgError", "Training", "begin", "on_device", "outputs", "restored",
    "torch_threads",
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
class Training:
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
        if self.wishart_dof is None:
            return []
        noises = []
        for convolution in network.convolutions:
            A = convolution.gram_factor
            columns = math.ceil(self.wishart_dof * len(A))
            noises.append(torch.from_numpy(rng.normal(size=(len(A), columns))).to(A))
        return noises
