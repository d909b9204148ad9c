"""What the estimators use of torch: arrays go in and come out.

This file is read where torch is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mercer.deep.networks.blocks import NeuralKernelNetwork
from mercer.deep.networks.losses import LOSSES
from mercer.deep.networks.training import (
    ROWS,
    Rows,
    Training,
    arrays,
    made,
    outputs,
    ridge_head,
)
from mercer.deep.torch_device import choose_device, torch_threads

__all__ = [
    "LOSSES", "ROWS", "Training", "answers", "arrays", "hidden", "made", "ridge_head", "rows",
    "torch_threads",
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


def _tensor(values: np.ndarray, dtype: str, device: Any) -> torch.Tensor:
    return torch.tensor(values, dtype=getattr(torch, dtype), device=choose_device(device))
