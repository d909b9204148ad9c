"""Distances between sets, and the counts of shared items, which the kernels use too.

If there are few different items, sets are compared as packed bits by a native loop. If there are
many, they are compared as sparse rows of 0 and 1 by one sparse product.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.distances.base import Distance
from mercer.distances.comparison import Comparison
from mercer.distances.meaning import Meaning
from mercer.samples import SamplesLike, Sets, as_samples, read, split_items


class ReadsSets(Comparison):
    """Abstract: a comparison of sets. A set may be a string of items with a separator."""

    kind = "sets"

    def __init__(self, separator: str | None = None):
        self.separator = separator

    def validate(self) -> None:
        if self.separator is not None and not (isinstance(self.separator, str) and self.separator):
            raise ValueError(
                f'separator={self.separator!r}: give the text between two items, such as ",", or '
                "None if the samples are sets already."
            )

    def encoding(self) -> Hashable:
        return self.kind, self.separator

    def encode(self, X: SamplesLike, like: SamplesLike | None = None) -> Sets:
        """Encode raw data as sets; with a separator, strings are split into their items."""
        return as_samples(self._split(X), "sets", like=like, reader=type(self).__name__)

    def items(self, X: SamplesLike) -> list | None:
        """Raw data as one collection of items for each set, which may come twice; None where X is
        encoded already, or a 0/1 matrix."""
        if isinstance(X, Sets):
            return None
        _, rows = read(self._split(X), "sets", reader=type(self).__name__)
        return rows if isinstance(rows, list) else None

    def texts(self, X: SamplesLike) -> list[str] | None:
        """Raw data as texts that the separator is yet to split; None where not all are texts."""
        one = isinstance(X, (Sets, str, bytes, Mapping, Set))
        if self.separator is None or one or is_matrix(X):
            return None
        _, rows = read(X, "strings", reader=type(self).__name__)
        return rows if all(isinstance(row, str) for row in rows) else None

    def _split(self, X: SamplesLike) -> Any:
        reader = type(self).__name__
        one = isinstance(X, (Sets, str, bytes, Mapping, Set))
        if self.separator is not None and not (is_matrix(X) or one):
            _, rows = read(X, "strings", reader=reader)
            X = [split_items(r, self.separator) if isinstance(r, str) else r for r in rows]
        return X


class Jaccard(ReadsSets, Distance):
    r"""Jaccard distance of sets, :math:`\rho(A, B) = 1 - \#(A \cap B) / \#(A \cup B)`.

    Two empty sets are at distance 0.

    Parameters
    ----------
    separator : str, optional
        The separator between the items of a set that is given as one string: "," reads
        "milk, bread" as {"milk", "bread"}. Spaces around an item and empty items are left out. None
        means that strings are an error.

    Raises
    ------
    ValueError
        If X is a matrix with other numbers than 0 and 1.
    TypeError
        If X holds something that is not a set, or strings without a separator.

    See Also
    --------
    mercer.kernels.Jaccard : The similarity, 1 minus the distance.

    Notes
    -----
    It is a metric. Samples are lists or columns of sets, or of lists of items, or an array of 0 and
    1, dense or sparse (a list of lists is read as items, not as 0 and 1). An item that is not in
    the training sample counts in the union. With d different items, a pair of sets costs d / 64
    operations (for d <= 32,768); if sets share few of many items, it costs some operations for each
    item that they share.

    References
    ----------
    Jaccard, "The distribution of the flora in the alpine zone", New Phytologist 11, 1912.

    Examples
    --------
    >>> Jaccard()([{"tea", "milk"}], [{"tea", "rum"}, {"tea", "milk"}]).round(4)
    array([[0.6667, 0. ]])
    >>> Jaccard(separator=",")(["tea, milk"], ["milk,tea"])
    array([[0.]])
    >>> Jaccard()(np.array([[1, 1, 0]]), np.array([[1, 0, 1]])).round(4)
    array([[0.6667]])
    """

    meaning = Meaning(
        "(1 − #(A ∩ B) / #(A ∪ B))", "the share of items that only one of two sets has"
    )

    definite_up_to = 1.0  # 1 - k for a positive semidefinite k, which is 1 for twins

    def block(self, X: Sets, Z: Sets) -> np.ndarray:
        return overlaps(X, Z, 1.0, apart=True)


class Dice(ReadsSets, Distance):
    r"""Dice distance of sets, :math:`\rho(A, B) = 1 - 2 \#(A \cap B) / (\# A + \# B)`.

    Two empty sets are at distance 0. It is not a metric: {a} and {b} are at distance 1, but both
    are at distance 1/3 from {a, b}.

    Parameters
    ----------
    separator : str, optional
        The separator between the items of a set that is given as one string, as in `Jaccard`.

    See Also
    --------
    mercer.kernels.Dice : The similarity, 1 minus the distance.

    Notes
    -----
    Samples and costs are the same as for `Jaccard`.

    References
    ----------
    Dice, "Measures of the amount of ecologic association between species", Ecology 26, 1945.

    Examples
    --------
    >>> Dice()([{"tea", "milk"}], [{"tea", "rum"}, {"tea", "milk"}])
    array([[0.5, 0. ]])
    """

    meaning = Meaning(
        "(1 − 2 #(A ∩ B) / (#A + #B))",
        "the items that only one of two sets has, against their mean size",
    )

    metric = False
    definite_up_to = 1.0  # as for Jaccard

    def block(self, X: Sets, Z: Sets) -> np.ndarray:
        return overlaps(X, Z, 0.5, apart=True)


def is_matrix(X: SamplesLike) -> bool:
    """Whether raw data are numbers, the indicators of items."""
    return sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind not in "OUS")


def overlaps(X: Sets, Z: Sets, share: float, *, apart: bool) -> np.ndarray:
    """Tversky's index c / (c + share (a + b - 2 c)) of every pair, or 1 minus it; (n, m).

    c = #(A ∩ B), a = #A, b = #B. Share 1 is Jaccard's index, 1/2 is Dice's. ``apart`` says whether
    to return 1 minus the index.
    """
    G = shared_items(X, Z)
    _native.tversky(G, X.lengths.astype(G.dtype), Z.lengths.astype(G.dtype), share, apart)
    return G


def shared_items(X: Sets, Z: Sets) -> np.ndarray:
    """#(A ∩ B) for every pair of sets; a new array (n, m) in the precision of the samples."""
    dtype = np.result_type(X.dtype, Z.dtype)
    # items above the last item of the other side are shared by no pair
    width = int(min(A.values.max(initial=-1) for A in (X, Z))) + 1
    words = -(-width // 64)
    if words <= _words_in_the_time_of_a_product(X, Z, width):
        A = _packed(X, words)
        B = A if Z is X else _packed(Z, words)
        out = np.empty((len(X), len(Z)), dtype)
        _native.shared_bits(A, np.ascontiguousarray(B.T), out)
        return out
    width = max(len(A.universe) for A in (X, Z))
    A = X.astype(dtype).indicators(width)
    product = A @ (A if Z is X else Z.astype(dtype).indicators(width)).T
    return np.ascontiguousarray(product.toarray())


def _words_in_the_time_of_a_product(X: Sets, Z: Sets, width: int) -> float:
    """How many words of 64 bits can be compared in the time that a sparse product takes for a pair.

    Measured: each item that two sets share takes the time of 8 words, and each value of the product
    that is not 0 takes the time of 120. More than 512 words are never used.
    """
    if width > 2**15 or not (len(X) and len(Z)):
        return 0 if width else 1
    counts = [np.bincount(A.values, minlength=width)[:width].astype(float) for A in (X, Z)]
    shared = float(counts[0] @ counts[1]) / (len(X) * len(Z))
    return 8 * shared + 120 * min(shared, 1)


def _packed(X: Sets, words: int) -> np.ndarray:
    """The first 64 · ``words`` items as bits; (n, words)."""
    out = np.empty((len(X), words), np.uint64)
    _native.pack_sets(X.values, X.starts, out)
    return out
