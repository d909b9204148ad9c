"""Kernels on non-negative vectors: histograms, counts, 0/1 indicators."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.distances import Meaning, feature_sum
from mercer.kernels.bandwidths import bound_gamma, check_gamma, moments, reciprocal
from mercer.kernels.base import Kernel, Term
from mercer.kernels.formula import Formula
from mercer.kernels.separable import product_of_columns, sum_of_columns
from mercer.samples import Samples


class ChiSquared(Kernel):
    r"""Exponential chi-squared kernel

    .. math:: k(x, z) = \exp(-\gamma \sum_j (x_j - z_j)^2 / (x_j + z_j))

    for x, z >= 0, with 0/0 = 0.

    Parameters
    ----------
    gamma : float > 0, "scale" or "auto", default=1.0
        The factor γ. "scale" is mean(X) / (d · var(X)) of the training sample, which does not
        change the kernel if all of X is multiplied by a number; "auto" is 1 / d.

    References
    ----------
    Zhang et al., "Local features and kernels for classification of texture and object
    categories", IJCV 2007.

    Examples
    --------
    >>> ChiSquared()([[1.0, 0.0]], [[0.0, 0.0]]).round(4)
    array([[0.3679]])
    """

    meaning = Meaning("exp(−γ Σⱼ (xⱼ − zⱼ)² / (xⱼ + zⱼ))", "how alike two histograms are")

    free = ("gamma",)

    def __init__(self, gamma: float | str = 1.0):
        self.gamma = gamma

    def validate(self) -> None:
        check_gamma(self.gamma, ("scale", "auto"))

    def bind(self, X: Samples, y: object = None, sample_weight: Any = None) -> Self:
        self.validate()
        if self.gamma == "scale":
            return self.copied(gamma=histogram_gamma(X, sample_weight))
        return self if self.gamma != "auto" else self.copied(gamma=1.0 / X.shape[1])

    def check(self, X: Samples, like: Samples | None = None) -> None:
        _refuse_negative(X, "ChiSquared")

    @property
    def formula(self) -> Formula:  # type: ignore[override]
        rate = float(bound_gamma(self.gamma, self))
        return Formula("exponential", {"rate": rate, "power": 1.0}, "chi_squared")

    def separated(self, X: Samples, players: Mapping[Any, Hashable]) -> list[Term]:
        return product_of_columns(self, players)

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        D = feature_sum(_native.chi_squared, X, Z)
        _native.exp_scaled(D, bound_gamma(self.gamma, self))
        return D

    def diag(self, X: Samples) -> np.ndarray:
        return np.ones(X.shape[0], X.dtype)


class HistogramIntersection(Kernel):
    r"""Histogram intersection

    .. math:: k(x, z) = \sum_j \min(x_j, z_j)

    for x, z >= 0.

    On vectors of 0 and 1 it counts shared items, as `Intersection` does on sets.

    Notes
    -----
    It is positive semidefinite, because min(x, z) is the inner product of the indicators of [0, x]
    and [0, z]. O(n m d) operations; sparse rows are made dense, one block at a time.

    References
    ----------
    Swain & Ballard, "Color indexing", International Journal of Computer Vision 7, 1991; Barla,
    Odone & Verri, "Histogram intersection kernel for image classification", ICIP 2003.

    Examples
    --------
    >>> HistogramIntersection()([[1.0, 3.0]], [[2.0, 2.0]])
    array([[3.]])
    """

    meaning = Meaning("Σⱼ min(xⱼ, zⱼ)", "the overlap of two histograms")

    def check(self, X: Samples, like: Samples | None = None) -> None:
        _refuse_negative(X, "HistogramIntersection")

    @property
    def formula(self) -> Formula:  # type: ignore[override]
        return Formula("identity", coordinates="minima")

    def separated(self, X: Samples, players: Mapping[Any, Hashable]) -> list[Term]:
        return sum_of_columns(self, players)

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        return feature_sum(_native.intersection, X, Z)

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X.sum(axis=1), dtype=X.dtype).ravel()


def histogram_gamma(X: Samples, weights: np.ndarray | None = None) -> float:
    """mean(X) / (d · var(X)), or 1 if all values are equal; a row of weight w counts as w rows."""
    mean, variance = moments(X, weights)
    return reciprocal(X.shape[1] * variance / mean if mean > 0 else 0.0, "scale", X)


def _refuse_negative(X: Any, reader: str) -> None:
    smallest = (X.data.min() if X.nnz else 0) if sp.issparse(X) else X.min()
    if smallest < 0:
        raise ValueError(
            f"X holds {smallest:.3g}, but {reader} compares non-negative vectors (counts, "
            "histograms). Shift or clip the values, or use RBF."
        )
