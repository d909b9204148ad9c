"""What the estimators use of torch: arrays go in and come out.

This file requires torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mercer.deep.networks.blocks import NeuralKernelNetwork
from mercer.deep.networks.process import (
    LinAlgError,
    Posterior,
    RadialProcess,
    Seen,
    check_process_kernel,
    learn_jointly,
)
from mercer.deep.networks.training import (
    LOSSES,
    ROWS,
    Rows,
    Training,
    arrays,
    made,
    outputs,
    ridge_head,
)
from mercer.gram.on_torch import choose_device, torch_threads

__all__ = [
    "LOSSES", "ROWS", "LinAlgError", "Posterior", "RadialProcess", "Training", "answers", "arrays",
    "check_process_kernel", "codes", "hidden", "learn_jointly", "made", "moments", "ridge_head",
    "rows", "seen", "torch_threads",
]  # fmt: skip


def rows(x: np.ndarray, Y: np.ndarray, w: np.ndarray, dtype: str, device: Any) -> Rows:
    """Training rows on a device, with weights whose mean is 1."""
    weights = w / w.mean() if len(w) else w
    return Rows(*(_tensor(part, dtype, device) for part in (x, Y, weights)))


def answers(network: NeuralKernelNetwork, x: np.ndarray, dtype: str, device: Any) -> np.ndarray:
    """Outputs for inputs x, in float64."""
    return outputs(network, _tensor(x, dtype, device)).double().cpu().numpy()


def hidden(network: NeuralKernelNetwork, x: np.ndarray, dtype: str, device: Any) -> list:
    """What each block makes of inputs x, a list of arrays."""
    with torch.no_grad():
        return [part.cpu().numpy() for part in network.hidden(_tensor(x, dtype, device))]


def codes(network: NeuralKernelNetwork, x: np.ndarray, dtype: str, device: Any) -> np.ndarray:
    """The codes of inputs x, in float64."""
    with torch.no_grad():
        parts = _tensor(x, dtype, device).split(ROWS)
        return torch.cat([network.code(part) for part in parts]).double().cpu().numpy()


def seen(
    x: np.ndarray, Y: np.ndarray, given: np.ndarray | None, w: np.ndarray, device: Any
) -> Seen:
    """Rows for a process, in float64."""
    noises = None if given is None else _tensor(given, "float64", device)
    return Seen(
        _tensor(x, "float64", device), _tensor(Y, "float64", device), noises,
        _tensor(w, "float64", device),
    )  # fmt: skip


def moments(posterior: Posterior, x: np.ndarray, device: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of a process at rows x."""
    mean, variance = posterior(_tensor(x, "float64", device))
    return mean.cpu().numpy(), variance.cpu().numpy()


def _tensor(values: np.ndarray, dtype: str, device: Any) -> torch.Tensor:
    return torch.tensor(values, dtype=getattr(torch, dtype), device=choose_device(device))
