"""The kernel of attention: asymmetric, on two domains."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels.base import Kernel

__all__ = ["QueryKey"]


class QueryKey(Kernel):
    r"""Query-key kernel :math:`k(t, s) = \exp((W_q t)^\top (W_k s) / \sqrt{d})`.

    A binary kernel on two domains: neither symmetric nor positive semidefinite, so learners that
    need either refuse it.

    Parameters
    ----------
    queries : array-like of shape (d, d_t)
        :math:`W_q`.
    keys : array-like of shape (d, d_s)
        :math:`W_k`.

    Notes
    -----
    Nothing is subtracted before the exponential: the value overflows where the scaled product
    exceeds the range of the dtype (about 88 in float32, 709 in float64).

    References
    ----------
    Wright & Gonzalez, "Transformers are deep infinite-dimensional non-Mercer binary kernel
    machines", 2021, eq. 6.

    Examples
    --------
    >>> QueryKey([[1.0]], [[2.0]])([[1.0]], [[0.5]]).round(4)
    array([[2.7183]])
    """

    symmetric = False
    positive_definite = False

    def __init__(self, queries: Any, keys: Any):
        self.queries = queries
        self.keys = keys

    def validate(self) -> None:
        shapes = np.shape(self.queries), np.shape(self.keys)
        if len(shapes[0]) != 2 or len(shapes[1]) != 2 or shapes[0][0] != shapes[1][0]:
            raise ValueError(
                f"queries has shape {shapes[0]} and keys {shapes[1]}: give (d, d_t) and (d, d_s)."
            )

    def encode(self, X: Any, like: Any = None) -> Any:
        return super().encode(X)  # the two domains may differ in dimension

    def block(self, X: Any, Z: Any) -> np.ndarray:
        W_q = np.asarray(self.queries, X.dtype)
        W_k = np.asarray(self.keys, X.dtype)
        if (X.shape[1], Z.shape[1]) != (W_q.shape[1], W_k.shape[1]):
            raise ValueError(
                f"X has {X.shape[1]} columns and Z {Z.shape[1]}, but queries reads "
                f"{W_q.shape[1]} and keys {W_k.shape[1]}."
            )
        return np.exp((X @ W_q.T) @ (Z @ W_k.T).T / X.dtype.type(np.sqrt(len(W_q))))
