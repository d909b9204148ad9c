"""Kernels whose features are products over subsets of the coordinates."""

from __future__ import annotations

from functools import partial
from itertools import chain, combinations
from typing import Any

import numpy as np

from mercer import _native
from mercer.distances import Meaning, dense_rows, over_pairs
from mercer.kernels.base import Kernel
from mercer.kernels.dot import check_degree
from mercer.kernels.mantissas import multiplied, values


class AllSubsets(Kernel):
    r"""All-subsets kernel :math:`k(x, z) = \prod_j (1 + x_j z_j)`.

    Its 2^d features are the products :math:`\prod_{j \in D} x_j` over all subsets D of the
    coordinates (Shawe-Taylor & Cristianini 2004, section 9.1).

    Notes
    -----
    O(n m d) operations. If a product is too large for the dtype on the way, it is computed again
    with a mantissa and an exponent (``scaled_block``). If the value itself is too large, it is
    infinite; ``AllSubsets().normalised()`` stays finite.

    Examples
    --------
    >>> AllSubsets()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[36.]])
    """

    meaning = Meaning("∏ⱼ (1 + xⱼ zⱼ)", "the sum of the products of every subset of the columns")

    def block(self, X: Any, Z: Any) -> np.ndarray:
        K = over_pairs(_native.all_subsets, X, Z)
        limits = np.finfo(K.dtype)
        if not (np.isfinite(K) & (np.abs(K) >= limits.tiny)).all():
            K = values(self.scaled_block(X, Z), K.dtype)
        return K

    def scaled_block(self, X: Any, Z: Any) -> tuple[np.ndarray, np.ndarray]:
        """k(x, z) as (m, e), k = m 2^e; (n, m) each."""
        X, Z = dense_rows(X), dense_rows(Z)
        product = np.ones((len(X), len(Z))), np.zeros((len(X), len(Z)), np.int64)
        for x, z in zip(X.T, Z.T):
            product = multiplied(product, 1 + np.multiply.outer(x, z, dtype=np.float64))
        return product

    def diag(self, X: Any) -> np.ndarray:
        return values(self.scaled_diag(X), X.dtype)

    def scaled_diag(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """k(x, x) as (m, e); (n,) each."""
        product = np.ones(X.shape[0]), np.zeros(X.shape[0], np.int64)
        for x in dense_rows(X).astype(np.float64).T:
            product = multiplied(product, 1 + x**2)
        return product

    def features(self, X: Any) -> np.ndarray:
        """Products over all subsets, (n, 2^d); use it only if d is small."""
        return _subset_products(dense_rows(X), range(X.shape[1] + 1))


class ANOVA(Kernel):
    r"""ANOVA kernel of degree p: the sum of :math:`\prod_{j \in D} x_j z_j` over all subsets D of p
    coordinates.

    Parameters
    ----------
    degree : int >= 1, default=2
        The degree p. If it is above the number of coordinates, the kernel is 0.

    Notes
    -----
    The recursion of elementary symmetric polynomials takes O(d p) operations for each pair
    (Shawe-Taylor & Cristianini 2004, section 9.2). The sum over all p is `AllSubsets`.

    Examples
    --------
    >>> ANOVA(2)([[1.0, 2.0, 3.0]], [[1.0, 1.0, 1.0]])
    array([[11.]])
    """

    meaning = Meaning(
        "Σ over {degree} columns of ∏ xⱼ zⱼ",
        "the sum of the products of {degree} different columns",
    )

    def __init__(self, degree: int = 2):
        self.degree = degree

    def validate(self) -> None:
        check_degree(self.degree, "ANOVA")

    def block(self, X: Any, Z: Any) -> np.ndarray:
        return over_pairs(partial(_native.anova, degree=int(self.degree)), X, Z)

    def features(self, X: Any) -> np.ndarray:
        """Products over all subsets of p coordinates, (n, C(d, p)); use it only if d is small."""
        return _subset_products(dense_rows(X), [int(self.degree)])


def _subset_products(X: np.ndarray, sizes: Any) -> np.ndarray:
    subsets = chain.from_iterable(combinations(range(X.shape[1]), p) for p in sizes)
    columns = [X[:, list(D)].prod(axis=1) for D in subsets]
    return np.stack(columns, axis=1) if columns else np.zeros((len(X), 1), X.dtype)
