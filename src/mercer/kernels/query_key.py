"""Kernels of attention, which are not symmetric and compare two kinds of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from mercer.distances import Meaning, dense_rows
from mercer.estimator import estimator
from mercer.kernels.base import Kernel
from mercer.samples import Samples, SamplesLike, is_number


class Form(NamedTuple):
    """κ(q, k) for the rows of two arrays and the scale c, and in mathematics."""

    block: Callable[[np.ndarray, np.ndarray, float], np.ndarray]
    formula: str


def _intersection(Q: np.ndarray, K: np.ndarray, c: float) -> np.ndarray:
    # min(q, k) = (q + k - |q - k|) / 2
    return np.exp(c / 2 * (Q.sum(1)[:, None] + K.sum(1) - cdist(Q, K, "cityblock")))


FORMS = {
    "dot_product": Form(lambda Q, K, c: np.exp(c * (Q @ K.T)), "exp(c⟨q, k⟩)"),
    "rbf": Form(lambda Q, K, c: np.exp(-c * cdist(Q, K, "sqeuclidean")), "exp(−c|q − k|²)"),
    "distance": Form(lambda Q, K, c: c * cdist(Q, K), "c|q − k|"),
    "quadratic": Form(lambda Q, K, c: c * (Q @ K.T) ** 2, "c⟨q, k⟩²"),
    "intersection": Form(_intersection, "exp(c Σⱼ min(qⱼ, kⱼ))"),
}


@estimator
class QueryKey(Kernel):
    r"""Query-key kernel

    .. math:: k(t, s) = κ(W_q t, W_k s) ,

    as attention has it.

    It compares vectors t of dimension d_t with vectors s of dimension d_s. It is not symmetric and
    not positive semidefinite, so learners that need one of these raise an error.

    Parameters
    ----------
    queries : array-like of shape (d, d_t)
        The matrix :math:`W_q`.
    keys : array-like of shape (d, d_s)
        The matrix :math:`W_k`.
    form : str, default="dot_product"
        The function κ of a query q and a key k, with c = ``scale``:

        - "dot_product": :math:`\exp(c \langle q, k \rangle)`
        - "rbf": :math:`\exp(-c |q - k|^2)`
        - "distance": :math:`c |q - k|`, which is larger for vectors that are far apart
        - "quadratic": :math:`c \langle q, k \rangle^2`
        - "intersection": :math:`\exp(c \sum_j \min(q_j, k_j))`
    scale : float > 0, optional
        The factor c; None means 1 / √d.

    Notes
    -----
    A value of an exponential is infinite if its exponent is too large for the dtype (above about 88
    in float32, 709 in float64). `mercer.deep.KernelAttention` returns its heads as such kernels.
    With the Gram operator K of queries and keys, attention to values V is K V over the row sums of
    K.

    References
    ----------
    Wright & Gonzalez, "Transformers are deep infinite-dimensional non-Mercer binary kernel
    machines", 2021, eq. 6.

    Examples
    --------
    >>> QueryKey([[1.0]], [[2.0]])([[1.0]], [[0.5]]).round(4)
    array([[2.7183]])
    >>> QueryKey([[1.0]], [[2.0]], form="rbf")([[1.0]], [[0.5]])
    array([[1.]])
    """

    symmetric = False
    positive_definite = False

    queries: Any
    keys: Any
    form: str = "dot_product"
    scale: float | None = None

    @property
    def meaning(self) -> Meaning:  # type: ignore[override]
        self.validate()
        factor = "1/√d" if self.scale is None else f"{self.scale:g}"
        formula = f"{FORMS[self.form].formula}, q = W_q x, k = W_k z, c = {factor}"
        return Meaning(formula, "how much attention a query pays to a key")

    def validate(self) -> None:
        shapes = np.shape(self.queries), np.shape(self.keys)
        if len(shapes[0]) != 2 or len(shapes[1]) != 2 or shapes[0][0] != shapes[1][0]:
            raise ValueError(
                f"queries has shape {shapes[0]} and keys {shapes[1]}: give (d, d_t) and (d, d_s)."
            )
        if not (isinstance(self.form, str) and self.form in FORMS):
            raise ValueError(f"form={self.form!r}: give one of {', '.join(map(repr, FORMS))}.")
        if self.scale is not None and not (is_number(self.scale) and 0 < self.scale < np.inf):
            raise ValueError(f"scale={self.scale!r}: give a finite number > 0, or None for 1 / √d.")

    def encode(self, X: SamplesLike, like: SamplesLike | None = None) -> Any:
        return super().encode(X)  # the two sides may differ in dimension

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        W_q = np.asarray(self.queries, X.dtype)
        W_k = np.asarray(self.keys, X.dtype)
        if (X.shape[1], Z.shape[1]) != (W_q.shape[1], W_k.shape[1]):
            raise ValueError(
                f"X has {X.shape[1]} columns and Z {Z.shape[1]}, but queries reads "
                f"{W_q.shape[1]} and keys {W_k.shape[1]}. Give X and Z with these columns."
            )
        Q, K = dense_rows(X @ W_q.T), dense_rows(Z @ W_k.T)
        c = len(W_q) ** -0.5 if self.scale is None else float(self.scale)
        return FORMS[self.form].block(Q, K, c).astype(X.dtype, copy=False)
