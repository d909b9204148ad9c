"""The kernel of attention, which is not symmetric and compares two kinds of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances import Meaning
from mercer.kernels.base import Kernel


class QueryKey(Kernel):
    r"""Query-key kernel :math:`k(t, s) = \exp((W_q t)^\top (W_k s) / \sqrt{d})`.

    It compares vectors t of dimension d_t with vectors s of dimension d_s. It is not symmetric and
    not positive semidefinite, so learners that need one of these raise an error.

    Parameters
    ----------
    queries : array-like of shape (d, d_t)
        The matrix :math:`W_q`.
    keys : array-like of shape (d, d_s)
        The matrix :math:`W_k`.

    Notes
    -----
    A value is infinite if its exponent is too large for the dtype (above about 88 in float32, 709
    in float64).

    References
    ----------
    Wright & Gonzalez, "Transformers are deep infinite-dimensional non-Mercer binary kernel
    machines", 2021, eq. 6.

    Examples
    --------
    >>> QueryKey([[1.0]], [[2.0]])([[1.0]], [[0.5]]).round(4)
    array([[2.7183]])
    """

    meaning = Meaning("exp((W_q x)ᵀ (W_k z) / √d)", "how much attention a query pays to a key")

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
        return super().encode(X)  # the two sides may differ in dimension

    def block(self, X: Any, Z: Any) -> np.ndarray:
        W_q = np.asarray(self.queries, X.dtype)
        W_k = np.asarray(self.keys, X.dtype)
        if (X.shape[1], Z.shape[1]) != (W_q.shape[1], W_k.shape[1]):
            raise ValueError(
                f"X has {X.shape[1]} columns and Z {Z.shape[1]}, but queries reads "
                f"{W_q.shape[1]} and keys {W_k.shape[1]}. Give X and Z with these columns."
            )
        return np.exp((X @ W_q.T) @ (Z @ W_k.T).T / X.dtype.type(np.sqrt(len(W_q))))
