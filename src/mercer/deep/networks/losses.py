"""Losses of a network's outputs, and their sum with a penalty: the regularised primal objective.

This file is read where torch is installed.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

#: losses (n,) of outputs (n, q) for targets (n, q)
Loss = Callable[[Tensor, Tensor], Tensor]


def squared(outputs: Tensor, targets: Tensor) -> Tensor:
    """Half the squared error, summed over the outputs."""
    return (outputs - targets).square().sum(dim=1) / 2


def hinge(outputs: Tensor, targets: Tensor) -> Tensor:
    """max(0, 1 - y f) for targets of 1 and -1, summed over the outputs."""
    return (1 - targets * outputs).clamp_min(0).sum(dim=1)


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """-log P(y): by a sigmoid of one output, or by the softmax of several; targets are 1 and -1."""
    if outputs.shape[1] == 1:
        return F.softplus(-targets * outputs)[:, 0]
    return F.cross_entropy(outputs, targets.argmax(dim=1), reduction="none")


LOSSES: dict[str, Loss] = {"squared": squared, "hinge": hinge, "cross_entropy": cross_entropy}


def objective(
    network: torch.nn.Module, loss: Loss, alpha: float, x: Tensor, y: Tensor, weights: Tensor
) -> Tensor:
    """alpha / 2 Σ W² over all weights, and the mean loss with weights whose mean is 1."""
    mean = (weights * loss(network(x), y)).mean()
    return mean + alpha / 2 * network.squared_weights() if alpha else mean
