"""A Gram matrix that is known only by its products with vectors, without its entries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Products:
    """K = M[rows][:, columns] of a symmetric M, of which products are known.

    `Kernel.products` returns it, and the Gram operator is made of it.

    Parameters
    ----------
    multiply : callable
        M V in V's dtype for V of shape (size, c), where c is small; threads may call it at a time.
    size : int
        The rows of M.
    rows, columns : ndarray of shape (n,), (m,), int
        Where the samples are in M.
    cost : float
        About how many operations M v takes for one vector.
    """

    multiply: Callable[[np.ndarray], np.ndarray]
    size: int
    rows: np.ndarray
    columns: np.ndarray
    cost: float
