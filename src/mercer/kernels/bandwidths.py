"""γ, the bandwidth of a kernel: a number, or a word such as "scale" for a number to be learnt.

`check_gamma` raises an error for other values, `bind_gamma` and `resolve_gamma` learn the number
from the training sample, and `bound_gamma` returns it when the kernel is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.distances import Distance
from mercer.kernels.base import Kernel

__all__ = ["bind_gamma", "bound_gamma", "check_gamma", "median_distance", "resolve_gamma"]


def check_gamma(gamma: Any) -> None:
    """Raise an error if ``gamma`` is neither a positive number nor a known word."""
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto", "median"):
            raise ValueError(f'gamma={gamma!r}: give a number > 0, "scale", "auto" or "median".')
    elif not isinstance(gamma, (int, float, np.number)):
        raise TypeError(f'gamma={gamma!r}: give a number > 0, "scale", "auto" or "median".')
    elif not 0 < gamma < np.inf:
        raise ValueError(f"gamma={gamma!r}: must be a finite number > 0.")


def resolve_gamma(gamma: float | str, X: Any) -> float | str:
    """γ for the training sample; a number is returned as it is.

    "scale" is 1 / (d · var(X)), or 1 if all values are equal; "auto" is 1 / d. Both are the same as
    in scikit-learn.
    """
    if gamma == "scale":
        if not (isinstance(X, np.ndarray) or sp.issparse(X)):
            raise TypeError(
                f'gamma="scale" is learnt from the variance of vectors, but X is {X!r}: give a '
                'number, or "median".'
            )
        if not isinstance(X, np.ndarray):
            variance = X.multiply(X).mean() - X.mean() ** 2
        else:
            variance = X.var(dtype=np.float64)
        return 1.0 / (X.shape[1] * float(variance)) if variance > 0 else 1.0
    if gamma == "auto":
        return 1.0 / X.shape[1]
    return gamma


def bound_gamma(gamma: Any, kernel: Kernel) -> float:
    """γ as a number. It is an error if it has not been learnt yet."""
    if isinstance(gamma, str):
        raise ValueError(
            f"gamma={gamma!r} is learnt from the training sample: call "
            f"{type(kernel).__name__}(...).bind(X) first (learners call it), or give a number."
        )
    return float(gamma)


def bind_gamma(kernel: Any, X: Any, power: int) -> Any:
    """A kernel exp(-γ ρ^power); if γ is a word, it is learnt from the training sample."""
    gamma = resolve_gamma(kernel.gamma, X)
    if gamma == "median":
        gamma = median_distance(kernel.distance, X) ** -power
    return kernel if gamma is kernel.gamma else kernel.copied(gamma=gamma)


def median_distance(distance: Distance, X: Any) -> float:
    """The median ρ of pairs of at most 1,000 evenly spaced rows; 1 if it is 0."""
    step = max(1, X.shape[0] // 1000)
    S = X[np.arange(0, X.shape[0], step)[:1000]]
    D = distance.raw(S, S)[np.triu_indices(S.shape[0], 1)]
    median = float(np.median(D)) if D.size else 0.0
    return median ** (1 / distance.exponent) if median > 0 else 1.0
