"""Kernels on sets: how many items, or subsets of items, two sets share.

Samples are lists or columns of sets, or of lists of items; strings that are split into items at a
separator; or an array of 0 and 1, dense or sparse, whose columns are the items.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mercer.distances import Meaning, ReadsSets, overlaps, shared_items
from mercer.kernels.base import Kernel
from mercer.kernels.mantissas import values
from mercer.samples import Sets


class Intersection(ReadsSets, Kernel):
    r"""Intersection kernel :math:`k(A, B) = \#(A \cap B)`, the number of items that two sets share.

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
    It is positive semidefinite: the inner product of indicators of items (``features``). With d
    different items, a pair of sets costs d / 64 operations (for d <= 32,768); if sets share few of
    many items, it costs some operations for each item that they share.

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
        return shared_items(X, Z)

    def diag(self, X: Sets) -> np.ndarray:
        return X.lengths.astype(X.dtype)

    def features(self, X: Sets) -> sp.csr_array:
        """Indicators of the items in the training sample, sparse, (n, number of items).

        An item that is not in the training sample has no indicator.
        """
        return X.indicators(X.known)


class DerivedSubsets(ReadsSets, Kernel):
    r"""Derived-subsets kernel :math:`k(A, B) = 2^{\#(A \cap B)}`, the number of subsets that two
    sets share.

    Parameters
    ----------
    separator : str, optional
        The separator between the items of a set that is given as one string, as in
        `Intersection`.

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
        K = shared_items(X, Z)
        with np.errstate(over="ignore"):
            return np.exp2(K, out=K)

    def scaled_block(self, X: Sets, Z: Sets) -> tuple[np.ndarray, np.ndarray]:
        """k(A, B) as (m, e), k = m 2^e; (n, m) each."""
        shared = shared_items(X, Z).astype(np.int64)
        return np.ones(shared.shape), shared

    def diag(self, X: Sets) -> np.ndarray:
        return values(self.scaled_diag(X), X.dtype)

    def scaled_diag(self, X: Sets) -> tuple[np.ndarray, np.ndarray]:
        """k(A, A) as (m, e); (n,) each."""
        return np.ones(len(X)), X.lengths


class Jaccard(ReadsSets, Kernel):
    r"""Jaccard kernel of sets, :math:`k(A, B) = \#(A \cap B) / \#(A \cup B)` (Tanimoto's
    coefficient); 1 for two empty sets.

    Parameters
    ----------
    separator : str, optional
        The separator between the items of a set that is given as one string, as in
        `Intersection`.

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
        return overlaps(X, Z, 1.0, apart=False)

    def diag(self, X: Sets) -> np.ndarray:
        return np.ones(len(X), X.dtype)


class Dice(ReadsSets, Kernel):
    r"""Dice kernel of sets, :math:`k(A, B) = 2 \#(A \cap B) / (\#A + \#B)`; 1 for two empty sets.

    Parameters
    ----------
    separator : str, optional
        The separator between the items of a set that is given as one string, as in
        `Intersection`.

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
        return overlaps(X, Z, 0.5, apart=False)

    def diag(self, X: Sets) -> np.ndarray:
        return np.ones(len(X), X.dtype)
