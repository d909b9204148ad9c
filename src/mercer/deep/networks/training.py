"""Training of a network: Adam by batches, one cycle of the rate, and rows that are held back.

The loss of the outputs and a penalty add up to the regularised primal objective. The end of the
file is what the estimators use of torch: arrays go in and come out.

This file requires torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mercer.deep.networks.blocks import NeuralKernelNetwork
from mercer.deep.networks.process import (
    LinAlgError,
    Posterior,
    RadialProcess,
    Seen,
    check_process_kernel,
    learn_jointly,
)
from mercer.deep.torch_layers import one_cycle
from mercer.gram.on_torch import choose_device, torch_threads
from mercer.threads import raise_if_stopped

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


ROWS = 4096  # that go through a network at a time where no gradient is wanted


class WeightedInputs(NamedTuple):
    """Inputs (n, d), targets (n, q) and weights (n,), whose mean is 1."""

    x: Tensor
    y: Tensor
    weights: Tensor

    def part(self, rows: np.ndarray) -> WeightedInputs:
        return WeightedInputs(self.x[rows], self.y[rows], self.weights[rows])


class Epoch(NamedTuple):
    """What is known after an epoch.

    Attributes
    ----------
    objective : float
        Its mean over the batches of the epoch.
    held : float or None
        The mean loss of the held rows.
    best : bool
        Whether no earlier epoch was as good.
    """

    objective: float
    held: float | None
    best: bool


@dataclass(frozen=True)
class NetworkTraining:
    """Adam on the objective, with a rate that rises for a tenth of the steps and then falls.

    Parameters
    ----------
    epochs, batch_size : int
    learning_rate : float
        The highest.
    alpha : float
        The penalty.
    loss : function of outputs and targets
    patience : int
        Epochs without a better loss of the held rows, after which training ends.
    head_only : bool
        Whether the blocks stay as they are.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    alpha: float
    loss: Loss
    patience: int
    head_only: bool

    def run(
        self, network: NeuralKernelNetwork, rows: WeightedInputs, held: WeightedInputs | None,
        rng: np.random.RandomState,
    ) -> Iterator[Epoch]:  # fmt: skip
        """Change the network; yield after each epoch."""
        n, step, worse, least = len(rows.x), 0, 0, math.inf
        batches = math.ceil(n / self.batch_size)
        learnt = network.head if self.head_only else network
        parameters = [p for p in learnt.parameters() if p.requires_grad]
        adam = torch.optim.Adam(parameters, lr=self.learning_rate)
        for _ in range(self.epochs):
            total = 0.0
            order = torch.from_numpy(rng.permutation(n)).to(rows.x.device)
            for chosen in order.tensor_split(batches):
                raise_if_stopped()
                step += 1
                for group in adam.param_groups:
                    group["lr"] = self.learning_rate * one_cycle(step / (self.epochs * batches))
                adam.zero_grad(set_to_none=True)
                value = objective(network, self.loss, self.alpha, *rows.part(chosen))
                value.backward()
                adam.step()
                total += float(value.detach()) * len(chosen) / n
            found = None if held is None else self.mean_loss(network, held)
            value = total if found is None else found
            # without held rows the last epoch is the best: its rate is the lowest
            best = math.isfinite(value) and (found is None or value < least)
            least, worse = min(least, value), 0 if best else worse + 1
            yield Epoch(total, found, best)
            if worse >= self.patience:
                return

    def mean_loss(self, network: NeuralKernelNetwork, rows: WeightedInputs) -> float:
        losses = self.loss(outputs(network, rows.x), rows.y)
        return float((rows.weights * losses).sum() / rows.weights.sum())


@torch.no_grad()
def outputs(network: torch.nn.Module, x: Tensor) -> Tensor:
    """The outputs for all rows, computed in batches."""
    return torch.cat([network(part) for part in x.split(ROWS)])


@torch.no_grad()
def ridge_head(network: NeuralKernelNetwork, rows: WeightedInputs, alpha: float) -> None:
    """The head of least alpha / 2 W² + mean of w (y - W φ - b)² / 2: ridge regression on φ."""
    total, n = rows.weights.double().sum(), len(rows.x)
    size, q = network.head.in_features, network.head.out_features
    sums = rows.x.new_zeros(size + q, dtype=torch.float64)
    products = rows.x.new_zeros(size, size + q, dtype=torch.float64)
    for chosen in torch.arange(n, device=rows.x.device).split(ROWS):
        raise_if_stopped()
        x, y, w = (part.double() for part in rows.part(chosen))
        phi = network.features(x.to(rows.x)).double()
        both = torch.cat([phi, y], dim=1)
        sums += w @ both
        products += (phi * w[:, None]).T @ both
    mean = sums / total
    products = products / total - mean[:size, None] * mean
    G, c = products[:, :size], products[:, size:]
    # (Φᵀ W Φ / n + α I) A = Φᵀ W Y / n for centred Φ and Y; least squares where α is 0
    G = (G + G.T) / 2
    values, U = torch.linalg.eigh(G)
    values = values.clamp_min(0) + alpha
    inverse = torch.where(values > 1e-14 * values[-1], 1 / values, 0.0)
    A = U @ (inverse[:, None] * (U.T @ c))
    network.head.weight.copy_(A.T)
    network.head.bias.copy_(mean[size:] - mean[:size] @ A)


def arrays(network: torch.nn.Module) -> dict[str, np.ndarray]:
    """Copies of all that a network holds, by name."""
    return {name: t.detach().cpu().numpy().copy() for name, t in network.state_dict().items()}


def made(
    shape: dict[str, Any],
    dtype: str,
    device: str | None,
    rng: np.random.RandomState,
    weights: dict[str, Any] | None = None,
) -> NeuralKernelNetwork:
    """A network of a shape, the arguments of `NeuralKernelNetwork`; new, or with these weights."""
    network = NeuralKernelNetwork(**shape, random_state=rng)
    network.to(getattr(torch, dtype))
    if weights is not None:
        network.load_state_dict({name: torch.tensor(a) for name, a in weights.items()})
    return network.to(choose_device(device))


__all__ = [
    "LOSSES", "ROWS", "LinAlgError", "NetworkTraining", "Posterior", "RadialProcess", "answers",
    "arrays", "check_process_kernel", "codes", "hidden", "learn_jointly", "made", "moments",
    "ridge_head", "rows", "seen", "torch_threads",
]  # fmt: skip


def rows(
    x: np.ndarray, Y: np.ndarray, w: np.ndarray, dtype: str, device: str | None
) -> WeightedInputs:
    """Training rows on a device, with weights whose mean is 1."""
    weights = w / w.mean() if len(w) else w
    return WeightedInputs(*(_tensor(part, dtype, device) for part in (x, Y, weights)))


def answers(
    network: NeuralKernelNetwork, x: np.ndarray, dtype: str, device: str | None
) -> np.ndarray:
    """Outputs for inputs x, in float64."""
    return outputs(network, _tensor(x, dtype, device)).double().cpu().numpy()


def hidden(network: NeuralKernelNetwork, x: np.ndarray, dtype: str, device: str | None) -> list:
    """What each block makes of inputs x, a list of arrays."""
    with torch.no_grad():
        return [part.cpu().numpy() for part in network.hidden(_tensor(x, dtype, device))]


def codes(
    network: NeuralKernelNetwork, x: np.ndarray, dtype: str, device: str | None
) -> np.ndarray:
    """The codes of inputs x, in float64."""
    with torch.no_grad():
        parts = _tensor(x, dtype, device).split(ROWS)
        return torch.cat([network.code(part) for part in parts]).double().cpu().numpy()


def seen(
    x: np.ndarray, Y: np.ndarray, given: np.ndarray | None, w: np.ndarray, device: str | None
) -> Seen:
    """Rows for a process, in float64."""
    noises = None if given is None else _tensor(given, "float64", device)
    return Seen(
        _tensor(x, "float64", device), _tensor(Y, "float64", device), noises,
        _tensor(w, "float64", device),
    )  # fmt: skip


def moments(
    posterior: Posterior, x: np.ndarray, device: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of a process at rows x."""
    mean, variance = posterior(_tensor(x, "float64", device))
    return mean.cpu().numpy(), variance.cpu().numpy()


def _tensor(values: np.ndarray, dtype: str, device: str | None) -> torch.Tensor:
    return torch.tensor(values, dtype=getattr(torch, dtype), device=choose_device(device))
