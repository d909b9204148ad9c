"""Layers as functions of torch tensors: those that a convolutional deep kernel machine can have,
and what every layer checks of a tensor that it is given.

This file requires torch.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from mercer.kernels import Formula, Layer
from mercer.spoken import a_type

RISE = 0.1  # part of the steps in which the rate rises


def one_cycle(done: float) -> float:
    """The share of the highest rate: up in a straight line, and down along a cosine.

    Examples
    --------
    >>> [round(one_cycle(done), 3) for done in (0.05, 0.1, 0.5, 1.0)]
    [0.497, 0.976, 0.5, 0.0]
    """
    return min(1.0, done / RISE) * (1 + math.cos(math.pi * done)) / 2


LEAST = 1e-6  # squared norm below which it counts as this: roots have no slope at 0
STRAIGHT = 1 - 1e-6  # cosine beyond which the arccosine is too steep for float32


def checked(name: str, x: Any, width: int, like: Tensor, axes: int = 1) -> Tensor:
    """``x`` if a layer of this width, with parameters like ``like``, can read it."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} is {a_type(x)}: give a tensor, torch.as_tensor({name}).")
    mixed = x.dtype != like.dtype and not torch.is_autocast_enabled(x.device.type)
    if mixed or not x.is_floating_point() or x.device != like.device or x.layout != like.layout:
        raise TypeError(
            f"{name} is {_told(x)}, and the layer {_told(like)}: give {name}.to("
            f"{str(like.device)!r}, {like.dtype}), or bring the layer to where the tensors are."
        )
    if x.ndim < axes or x.shape[-1] != width:
        wanted = f"(..., {width})" if axes == 1 else f"(..., n, {width})"
        raise ValueError(f"{name} has the shape {tuple(x.shape)}: give {wanted}.")
    return x


def _told(x: Tensor) -> str:
    layout = "" if x.layout == torch.strided else f", {x.layout}"
    return f"{x.dtype} on {x.device}{layout}"


class TorchLayer(ABC):
    """Abstract: κ(c, a, b) for tensors of inner products and squared norms that broadcast."""

    def __init__(self, formula: Formula):
        self.formula = formula

    @abstractmethod
    def of_gram(self, c: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """κ(c, a, b)."""

    def of_diag(self, g: Tensor) -> Tensor:
        """κ(g, g, g)."""
        return g

    def of_square(self, G: Tensor) -> Tensor:
        """The kernel matrix of a Gram matrix G (p, p)."""
        g = G.diagonal()
        K = self.of_gram(G, g[:, None], g)
        return K - torch.diag(K.diagonal()) + torch.diag(self.of_diag(g))


class _Linear(TorchLayer):
    def of_gram(self, c, a, b):
        return c


class _Gaussian(TorchLayer):
    def of_gram(self, c, a, b):
        return torch.exp(-self.formula.parameters["rate"] * (a + b - 2 * c).clamp_min(0))

    def of_diag(self, g):
        return torch.ones_like(g)


class _OfAngles(TorchLayer):
    """Abstract: √(ab) times a function of the cosine, which is 1 at 1."""

    @abstractmethod
    def of_cosines(self, cosines: Tensor) -> Tensor:
        """The function."""

    def of_gram(self, c, a, b):
        roots = a.clamp_min(LEAST).sqrt() * b.clamp_min(LEAST).sqrt()
        return roots * self.of_cosines(c / roots)

    def of_diag(self, g):
        return g.clamp_min(LEAST)


class _NormalisedGaussian(_OfAngles):
    def of_cosines(self, cosines):
        return torch.exp(cosines.clamp(-1, 1) - 1)


class _ArcCosine(_OfAngles):
    """The arc-cosine kernel of degree 1."""

    def of_cosines(self, cosines):
        cosines = cosines.clamp(-STRAIGHT, STRAIGHT)
        angles = torch.acos(cosines)
        sines = torch.sqrt(1 - cosines * cosines)
        return (sines + (math.pi - angles) * cosines) / math.pi


#: profile of a formula, and its power or degree
LAYERS = {
    ("identity", None): _Linear,
    ("exponential", 1): _Gaussian,
    ("bell_of_angle", None): _NormalisedGaussian,
    ("arc_cosine", 1): _ArcCosine,
}


def torch_layer(layer: Layer) -> TorchLayer:
    """The layer on tensors; ValueError if there is none.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> G = torch.tensor([[1.0, 0.5], [0.5, 1.0]])
    >>> torch_layer(RBF(0.5)).of_square(G)
    tensor([[1.0000, 0.6065],
            [0.6065, 1.0000]])
    """
    layer.check_layer()
    formula = layer.formula
    if formula is not None:
        numbers = formula.parameters
        made = LAYERS.get((formula.profile, numbers.get("power", numbers.get("degree"))))
        if made is not None:
            return made(formula)
    raise ValueError(
        f"layer={layer!r}: a convolutional deep kernel machine has NormalisedGaussian(), "
        "ArcCosine(1), RBF with a number as gamma, or Linear()."
    )
