"""Kernels on sets, counts and histograms: how many items, or subsets of items, two samples share.

Sets are given as lists or columns of sets, or of lists of items; as strings that are split into
items at a separator; or as an array of 0 and 1, dense or sparse, whose columns are the items.
Histograms are vectors of non-negative numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.distances import INDEX, Meaning, ReadsCounts, ReadsSets, feature_sum
from mercer.estimator import documented
from mercer.kernels.base import Formula, Kernel, Term, values
from mercer.kernels.radial import bound_gamma, check_gamma, moments, reciprocal
from mercer.kernels.separable import product_of_columns, sum_of_columns
from mercer.samples import Samples, Sets


class Intersection(ReadsSets, Kernel):
    r"""Intersection kernel

    .. math:: k(A, B) = \#(A \cap B) ,

    the number of items that two sets share.

    ``Intersection().normalised()`` is the cosine of sets, :math:`\#(A \cap B) / \sqrt{\#A \, \#B}`
    (Ochiai's coefficient), 0 where a set is empty.

    Parameters
    ----------
    separator : str, optional
        The separator between the items of a set that is given as one string: "," reads
        "milk, bread" as {"milk", "bread"}. Spaces around an item and empty items are left out. None
        means that sets are not given as strings. Kernels that read the same column must have the
        same separator.

    See Also
    --------
    HistogramIntersection : Σ min(x, z), for counts and other numbers >= 0.

    Notes
    -----
    It is positive semidefinite: the inner product of indicators of items (``features``). Items that
    many sets have are compared 64 at a time, as bits; of the others, each that two sets share costs
    one operation.

    Examples
    --------
    >>> Intersection()([{"tea", "milk"}], [{"tea", "rum"}, {"tea", "milk"}, set()])
    array([[1., 2., 0.]])
    >>> Intersection(separator=",")(["tea, milk"], ["milk,rum"])
    array([[1.]])
    >>> Intersection().normalised()(np.array([[1, 1, 0], [1, 0, 0]]))[0].round(4)
    array([1.    , 0.7071])
    """

    meaning = Meaning("#(A ∩ B)", "how many items two sets share")

    def block(self, X: Sets, Z: Sets) -> np.ndarray:
        return self.shared(X, Z)

    def diag(self, X: Sets) -> np.ndarray:
        return self.sizes(X)

    def features(self, X: Sets) -> sp.csr_array:
        """Indicators of the items in the training sample, sparse, (n, number of items).

        An item that is not in the training sample has no indicator.
        """
        return X.indicators(X.known)


@documented
class DerivedSubsets(ReadsSets, Kernel):
    r"""Derived-subsets kernel

    .. math:: k(A, B) = 2^{\#(A \cap B)} ,

    the number of subsets that two sets share.

    Notes
    -----
    It is positive semidefinite: its features are indicators of all subsets of the items. If two
    sets share more than 1,023 items (127 in float32), the value is infinite. ``scaled_block`` gives
    it as a mantissa and an exponent, and ``DerivedSubsets().normalised()``,
    :math:`2^{\#(A \cap B) - (\#A + \#B) / 2}`, is right for sets of any size. It costs as
    much as `Intersection`.

    References
    ----------
    Shawe-Taylor & Cristianini, "Kernel Methods for Pattern Analysis", 2004, section 9.4.

    Examples
    --------
    >>> DerivedSubsets()([{"tea", "milk"}], [{"tea", "rum"}, {"tea", "milk"}, set()])
    array([[2., 4., 1.]])
    >>> many = [set(range(3000)), set(range(3001))]
    >>> DerivedSubsets().normalised()(many).round(4)
    array([[1.    , 0.7071],
           [0.7071, 1.    ]])
    """

    meaning = Meaning("2^#(A ∩ B)", "how many subsets of items two sets share")

    def block(self, X: Sets, Z: Sets) -> np.ndarray:
        K = self.shared(X, Z)
        with np.errstate(over="ignore"):
            return np.exp2(K, out=K)

    def scaled_block(self, X: Sets, Z: Sets) -> tuple[np.ndarray, np.ndarray]:
        """k(A, B) as (m, e), k = m 2^e; (n, m) each."""
        shared = self.shared(X, Z).astype(np.int64)
        return np.ones(shared.shape), shared

    def diag(self, X: Sets) -> np.ndarray:
        return values(self.scaled_diag(X), X.dtype)

    def scaled_diag(self, X: Sets) -> tuple[np.ndarray, np.ndarray]:
        """k(A, A) as (m, e); (n,) each."""
        sizes = self.sizes(X).astype(np.int64)
        return np.ones(len(sizes)), sizes


@documented
class Jaccard(ReadsSets, Kernel):
    r"""Jaccard kernel of sets

    .. math:: k(A, B) = \#(A \cap B) / \#(A \cup B)

    (Tanimoto's coefficient); 1 for two empty sets.

    See Also
    --------
    mercer.distances.Jaccard : The distance, 1 minus the kernel.

    Notes
    -----
    It is positive semidefinite (Gower 1971). It costs as much as `Intersection`.

    References
    ----------
    Gower, "A general coefficient of similarity and some of its properties", Biometrics 27, 1971.

    Examples
    --------
    >>> Jaccard()([{"tea", "milk"}], [{"tea", "rum"}, {"tea", "milk"}, set()]).round(4)
    array([[0.3333, 1.    , 0.    ]])
    """

    meaning = Meaning("#(A ∩ B) / #(A ∪ B)", "the share of items that two sets have in common")

    def block(self, X: Sets, Z: Sets) -> np.ndarray:
        return self.shared(X, Z, INDEX, 1.0)

    def diag(self, X: Sets) -> np.ndarray:
        return np.ones(X.shape[0], X.dtype)


#: Tanimoto's coefficient in mathematics
FORMULAS = {
    "minmax": "Σⱼ min(xⱼ, zⱼ) / Σⱼ max(xⱼ, zⱼ)",
    "dot": "⟨x, z⟩ / (⟨x, x⟩ + ⟨z, z⟩ − ⟨x, z⟩)",
}


class Tanimoto(ReadsCounts, Kernel):
    r"""Tanimoto kernel of counts

    .. math:: k(x, z) = \sum_j \min(x_j, z_j) / \sum_j \max(x_j, z_j)

    for x, z >= 0; 1 for two samples without any items. It is also called MinMax, Ruzicka or
    generalised Jaccard.

    Parameters
    ----------
    formula : {"minmax", "dot"}, default="minmax"
        "dot" is :math:`\langle x, z \rangle / (\langle x, x \rangle + \langle z, z \rangle -
        \langle x, z \rangle)`, in which large counts have more weight. Both are the Jaccard kernel
        of sets, where no item comes twice. RDKit computes "minmax" of fingerprints with counts;
        gauche and scikit-fingerprints call "dot" the Tanimoto kernel of counts.

    See Also
    --------
    Jaccard : The same for sets, with a separator for texts.
    HistogramIntersection : Σ min(x, z) of any numbers >= 0.
    mercer.distances.Tanimoto : The distance, 1 minus the kernel.

    Raises
    ------
    ValueError
        A count is no whole number >= 0, or with "minmax" those of a sample sum to above 65,535.

    Notes
    -----
    Samples are rows of a matrix of counts, or of bits, dense or sparse (a list of lists of numbers
    is a matrix); or a list or column of dicts ``{item: how often}``, of sets, of lists of items
    that may repeat, or of fingerprints of RDKit. Items are texts, numbers, or tuples of them, and
    are compared by a hash of 64 bits. An item that no training sample has counts in the size.

    It is positive semidefinite. It is exact: nothing is folded into fewer columns. A count c of an
    item is read as the elements (item, 1) to (item, c), so that Σ min(x, z) is the number of
    elements that two samples share. Frequent elements are compared 64 at a time, as bits; of the
    others, each that two samples share costs one operation.

    References
    ----------
    Ralaivola, Swamidass, Saigo & Baldi, "Graph kernels for chemical informatics", Neural Networks
    18, 2005: both formulas, and that they are positive semidefinite.

    Examples
    --------
    >>> X = [{"C": 2, "O": 1}, {"C": 3}, {}]
    >>> Tanimoto()(X)
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0. ],
           [0. , 0. , 1. ]])
    >>> Tanimoto("dot")(X)[0].round(4)
    array([1. , 0.75, 0.  ])
    >>> Tanimoto()(np.array([[2, 1], [3, 0]]))[0]
    array([1. , 0.5])
    """

    kind = "counts"

    def __init__(self, formula: str = "minmax"):
        self.formula = formula

    @property
    def meaning(self) -> Meaning:  # type: ignore[override]
        return Meaning(FORMULAS[self.formula], "the share of counted items in common")

    def block(self, X: Any, Z: Any) -> np.ndarray:
        return self.compared(X, Z, INDEX)

    def diag(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0], X.dtype)


@documented
class Dice(ReadsSets, Kernel):
    r"""Dice kernel of sets

    .. math:: k(A, B) = 2 \#(A \cap B) / (\#A + \#B) ;

    1 for two empty sets.

    See Also
    --------
    mercer.distances.Dice : The distance, 1 minus the kernel.

    Notes
    -----
    It is positive semidefinite: :math:`1 / (a + b) = \int_0^\infty e^{-at} e^{-bt} dt` is a kernel
    on sizes, and a product of kernels is a kernel. It costs as much as `Intersection`.

    References
    ----------
    Dice, "Measures of the amount of ecologic association between species", Ecology 26, 1945.

    Examples
    --------
    >>> Dice()([{"tea", "milk"}], [{"tea", "rum"}, {"tea", "milk"}, set()])
    array([[0.5, 1. , 0. ]])
    """

    meaning = Meaning(
        "2 #(A ∩ B) / (#A + #B)", "the items in common, against the mean size of two sets"
    )

    def block(self, X: Sets, Z: Sets) -> np.ndarray:
        return self.shared(X, Z, INDEX, 0.5)

    def diag(self, X: Sets) -> np.ndarray:
        return np.ones(X.shape[0], X.dtype)


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
    """Refuse vectors with negative numbers."""
    smallest = (X.data.min() if X.nnz else 0) if sp.issparse(X) else X.min()
    if smallest < 0:
        raise ValueError(
            f"X holds {smallest:.3g}, but {reader} compares non-negative vectors (counts, "
            "histograms). Shift or clip the values, or use RBF."
        )
