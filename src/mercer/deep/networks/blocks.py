"""Blocks of a fully connected layer and a layer of kernel features, and networks of them.

This file requires torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mercer.deep.networks.feature_layers import KernelFeatures, feature_layer, seeded
from mercer.deep.torch_layers import checked
from mercer.estimator import Seed
from mercer.kernels import Kernel
from mercer.spoken import a_type

POOLING = (None, "average", "maxout", "convolution")


class PooledScales(nn.Module):
    r"""The same features at several length scales, made one: their mean, their maximum, or a sum
    whose weights are learnt (a convolution of width 1 over the scales).

    .. math:: \frac{1}{S} \sum_s \varphi(x / \sigma_s), \qquad \max_s \varphi(x / \sigma_s), \qquad
              \sum_s c_s\, \varphi(x / \sigma_s)

    These are "average", "maxout" and "convolution"; the sum of the last may also have a constant.

    Parameters
    ----------
    features : KernelFeatures
    scales : sequence of float > 0
        Factors of the length scale.
    pooling : {"average", "maxout", "convolution"}

    References
    ----------
    Goodfellow, Warde-Farley, Mirza, Courville & Bengio, "Maxout networks", ICML 2013.

    Examples
    --------
    >>> import torch
    >>> from mercer.deep import FourierFeatures, PooledScales
    >>> layer = PooledScales(FourierFeatures(3), (1.0, 2.0), "maxout")
    >>> layer(torch.zeros(4, 3)).shape
    torch.Size([4, 256])
    """

    def __init__(self, features: KernelFeatures, scales: Sequence[float], pooling: str):
        super().__init__()
        if pooling not in POOLING[1:]:
            raise ValueError(f'pooling={pooling!r}: give "average", "maxout" or "convolution".')
        self.features, self.scales, self.pooling = features, tuple(scales), pooling
        self.out_features = features.out_features
        if pooling == "convolution":
            self.mixing = nn.Conv1d(len(self.scales), 1, 1)
            with torch.no_grad():  # the mean, at first
                self.mixing.weight.fill_(1 / len(self.scales))
                self.mixing.bias.zero_()  # pyright: ignore[reportOptionalMemberAccess]

    def forward(self, x: Tensor) -> Tensor:
        if not isinstance(x, Tensor):
            raise TypeError(f"x is {a_type(x)}: give a tensor, torch.as_tensor(x).")
        branches = torch.stack([self.features(x / scale) for scale in self.scales], dim=1)
        if self.pooling == "average":
            return branches.mean(dim=1)
        if self.pooling == "maxout":
            return branches.amax(dim=1)
        return self.mixing(branches)[:, 0]


class NeuralKernelBlock(nn.Module):
    r"""A fully connected layer, and random features of a kernel.

    .. math:: x \mapsto [\varphi(h / \sigma); h / s], \qquad h = W x + b

    φ are random features of a kernel. The second part is there with ``skip``; s is √width times
    the standard deviation of h at the start.

    Parameters
    ----------
    in_features : int
        The numbers of a row x.
    width : int, default=128
        The numbers of h.
    layer : Kernel, optional
        A radial kernel, whose random Fourier features φ are, or `ArcCosine`. None: ``RBF(0.5)``.
    n_features : int, default=128
        Frequencies, of which each makes two features, or arc-cosine features.
    scales : sequence of float > 0, optional
        Factors of σ, whose features are made one by ``pooling``.
    pooling : {"average", "maxout", "convolution"}, optional
        How; None has one scale.
    skip : bool, default=True
        Whether h goes on beside the features, divided by √width and by its standard deviation at
        the start.
    random_state : int, RandomState or None
        Seed of the weights and of the features; None draws one from torch's generator.

    References
    ----------
    Mehrkanoon & Suykens, "Deep hybrid neural-kernel networks using random Fourier features",
    Neurocomputing 298, 2018.

    Examples
    --------
    >>> import torch
    >>> from mercer.deep import NeuralKernelBlock
    >>> block = NeuralKernelBlock(5, width=16, n_features=32, random_state=0)
    >>> block.begin(torch.randn(100, 5)).shape, block.out_features
    (torch.Size([100, 80]), 80)
    """

    def __init__(
        self, in_features: int, width: int = 128, layer: Kernel | None = None,
        n_features: int = 128, *, scales: Sequence[float] | None = None,
        pooling: str | None = None, skip: bool = True, random_state: Seed = None,
    ):  # fmt: skip
        super().__init__()
        rng = seeded(random_state)
        self.linear = linear(in_features, width, rng)
        features: Any = feature_layer(layer, width, n_features, rng)
        self.kernel_features: KernelFeatures = features
        self.features = (
            features if pooling is None else PooledScales(features, scales or (1, 2, 4), pooling)
        )
        self.skip = skip
        self.register_buffer("unit", torch.tensor(1 / math.sqrt(width)))
        self.out_features = self.features.out_features + (width if skip else 0)

    unit: Tensor

    @torch.no_grad()
    def begin(self, x: Tensor) -> Tensor:
        """Take σ and the unit of h from rows x (n, d), before training; what the block makes of
        them."""
        h = self.linear(checked("x", x, self.linear.in_features, self.linear.weight, 2))
        self.kernel_features.set_scale(h)
        spread = float(h.std()) if h.numel() > 1 else 0.0
        self.unit.fill_(1 / (math.sqrt(h.shape[1]) * (spread if spread > 0 else 1.0)))
        return self(x)

    def forward(self, x: Tensor) -> Tensor:
        h = self.linear(checked("x", x, self.linear.in_features, self.linear.weight))
        phi = self.features(h)
        return torch.cat([phi, h * self.unit], dim=-1) if self.skip else phi


class NeuralKernelNetwork(nn.Module):
    r"""Blocks on top of each other, and a linear layer on top of these.

    .. math:: f(x) = V\, B_L(\ldots B_1(x)) + c

    :math:`B_l` is the `NeuralKernelBlock` of layer l (Mehrkanoon & Suykens 2018); f, of shape
    (rows, outputs), is that without ``bottleneck``.

    Parameters
    ----------
    in_features, outputs : int
        The numbers of a row, and of an output.
    depth : int, default=2
        How many blocks there are.
    bottleneck : int, optional
        Numbers of a code z: the top is then f = V max(0, z) + c of a linear layer z of the highest
        block. None: f is linear in what the highest block makes.
    width, layer, n_features, scales, pooling, skip
        Parameters of each block: see `NeuralKernelBlock`.
    random_state : int, RandomState or None
        Seed of the weights and of the features; None draws one from torch's generator.

    Examples
    --------
    >>> import torch
    >>> from mercer.deep import NeuralKernelNetwork
    >>> network = NeuralKernelNetwork(5, 2, random_state=0)
    >>> x = torch.randn(100, 5)
    >>> network.begin(x)
    >>> network(x).shape
    torch.Size([100, 2])
    """

    def __init__(
        self, in_features: int, outputs: int, *, depth: int = 2, bottleneck: int | None = None,
        random_state: Seed = None, **block: Any,
    ):  # fmt: skip
        super().__init__()
        rng = seeded(random_state)
        self.blocks = nn.ModuleList()
        for _ in range(depth):
            self.blocks.append(NeuralKernelBlock(in_features, random_state=rng, **block))
            in_features = self.blocks[-1].out_features
        self.bottleneck = None if bottleneck is None else linear(in_features, bottleneck, rng)
        self.head = linear(bottleneck or in_features, outputs, rng)

    @torch.no_grad()
    def begin(self, x: Tensor) -> None:
        """Let each block take its length scale from what those below make of rows x (n, d)."""
        for block in self.blocks:
            x = block.begin(x)

    def hidden(self, x: Tensor) -> list[Tensor]:
        """What each block makes of x, from the lowest to the highest."""
        found = []
        for block in self.blocks:
            x = block(x)
            found.append(x)
        return found

    def code(self, x: Tensor) -> Tensor:
        """The code of x, or what the highest block makes of it."""
        for block in self.blocks:
            x = block(x)
        return x if self.bottleneck is None else self.bottleneck(x)

    def features(self, x: Tensor) -> Tensor:
        """What the last layer reads."""
        code = self.code(x)
        return code if self.bottleneck is None else code.clamp_min(0)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))

    def squared_weights(self) -> Tensor:
        """The sum of the squares of all matrices of weights, which the objective penalises."""
        total = self.head.weight.square().sum()
        if self.bottleneck is not None:
            total = total + self.bottleneck.weight.square().sum()
        for block in self.blocks:
            total = total + block.linear.weight.square().sum()
        return total


def linear(in_features: int, out_features: int, rng: np.random.RandomState) -> nn.Linear:
    """A fully connected layer with torch's usual weights, which numpy draws."""
    layer = nn.Linear(in_features, out_features)
    most = 1 / math.sqrt(max(in_features, 1))
    with torch.no_grad():
        for parameter in (layer.weight, layer.bias):
            drawn = rng.uniform(-most, most, tuple(parameter.shape))
            parameter.copy_(torch.from_numpy(drawn))
    return layer
