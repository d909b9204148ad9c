"""What the weights of kernels are where none of the kernels tells anything of the targets."""

from __future__ import annotations

import numpy as np


def equal_if_none(weights: np.ndarray) -> tuple[np.ndarray, bool]:
    """The weights that a solver found, and whether any kernel tells anything.

    If all weights are 0, none does: then all are equal, with the sum 1.

    Examples
    --------
    >>> equal_if_none(np.array([0.0, 1.0])), equal_if_none(np.zeros(2))
    ((array([0., 1.]), True), (array([0.5, 0.5]), False))
    """
    if weights.any():
        return weights, True
    return np.full(len(weights), 1 / len(weights)), False
