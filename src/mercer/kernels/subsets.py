"""Kernels whose features are products over subsets of the coordinates."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels.base import Kernel

__all__ = ["ANOVA", "AllSubsets"]


class AllSubsets(Kernel):
    r"""All-subsets kernel :math:`k(x, z) = \prod_j (1 + x_j z_j)`.

    Its 2^d features are the products :math:`\prod_{j \in D} x_j` over all subsets D of the
    coordinates (Shawe-Taylor & Cristianini 2004, section 9.1).

    Notes
    -----
    The product is formed as a sign and a sum of logarithms, so that it overflows only when the
    value itself leaves the range of the dtype.

    Examples
    --------
    >>> AllSubsets()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[36.]])
    """

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = _dense(X), _dense(Z)
        logs = np.zeros((len(X), len(Z)))
        negative = np.zeros((len(X), len(Z)), bool)
        for x, z in zip(X.T, Z.T):
            factor = 1 + np.multiply.outer(x, z, dtype=np.float64)
            negative ^= factor < 0
            with np.errstate(divide="ignore"):  # log 0 = -inf makes the product 0, as it should
                logs += np.log(np.abs(factor))
        with np.errstate(over="ignore"):
            K = np.exp(logs)
            return np.where(negative, -K, K).astype(X.dtype)

    def features(self, X: Any) -> np.ndarray:
        """Products over all subsets, (n, 2^d); for small d."""
        return _subset_products(_dense(X), range(X.shape[1] + 1))


class ANOVA(Kernel):
    r"""ANOVA kernel of degree p, the sum over subsets D of p coordinates of
    :math:`\prod_{j \in D} x_j z_j`.

    Parameters
    ----------
    degree : int >= 1, default=2
        p, at most the number of coordinates (else the kernel is 0).

    Notes
    -----
    By the recursion of elementary symmetric polynomials, O(d p) for each pair
    (Shawe-Taylor & Cristianini 2004, section 9.2). The sum over all p is `AllSubsets`.

    Examples
    --------
    >>> ANOVA(2)([[1.0, 2.0, 3.0]], [[1.0, 1.0, 1.0]])
    array([[11.]])
    """

    def __init__(self, degree: int = 2):
        self.degree = degree

    def validate(self) -> None:
        if not (self.degree >= 1 and int(self.degree) == self.degree):
            raise ValueError(f"degree={self.degree!r}: ANOVA needs an integer >= 1.")

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = _dense(X), _dense(Z)
        p = int(self.degree)
        e = np.zeros((p + 1, len(X), len(Z)), X.dtype)
        e[0] = 1
        for x, z in zip(X.T, Z.T):
            product = np.multiply.outer(x, z)
            for q in range(p, 0, -1):  # e_q(1..j) = e_q(1..j-1) + x_j z_j e_{q-1}(1..j-1)
                e[q] += product * e[q - 1]
        return e[p]

    def features(self, X: Any) -> np.ndarray:
        """Products over all subsets of p coordinates, (n, C(d, p)); for small d."""
        return _subset_products(_dense(X), [int(self.degree)])


def _subset_products(X: np.ndarray, sizes: Any) -> np.ndarray:
    subsets = chain.from_iterable(combinations(range(X.shape[1]), p) for p in sizes)
    return np.stack([X[:, list(D)].prod(axis=1) for D in subsets], axis=1)


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else X
