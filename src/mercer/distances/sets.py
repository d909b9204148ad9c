"""Distances between sets and between counts of items, and what they share, which kernels use too.

Counts are compared as sets: who has an item three times has the elements (item, 1), (item, 2) and
(item, 3), so that Σ min(x, z) is the number of elements that two samples share. Elements are
numbered by falling frequency. The first are packed as bits, which a native loop compares 64 at a
time; of the others, the loop counts one by one those that two samples share. How many are bits is
what takes the least time by the frequencies in the training sample.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.distances.base import Distance
from mercer.distances.comparison import Comparison, Meaning
from mercer.estimator import documented, estimator
from mercer.persistence import fields, number, optional, whole
from mercer.samples import (
    FINGERPRINTS,
    Counts,
    Prepared,
    Ragged,
    Samples,
    SamplesLike,
    Sets,
    as_samples,
    check_format,
    read,
    split_items,
)

#: what a native loop writes for a pair of sets: how many elements they share, Tversky's index, or 1
#: minus this
COUNT, INDEX, APART = range(3)
BIT = 0.2  # time that a word of 64 bits takes for a pair; an element that is listed takes 1
WORDS = 512  # most words of bits
COLUMN = 0.015  # time that a column of a dense matrix takes for a pair; one of a sparse matrix 1
COLUMNS = 1024  # most columns of a dense matrix
MANY = 2**16  # counts of a sample in all, from which on they are too many elements


class SharesItems(Comparison):
    """Abstract: a comparison of samples by the items that they share. Define ``elements``."""

    @abstractmethod
    def elements(self, X: Any, ranks: Ranks | None) -> tuple[Ragged, np.ndarray, dict]:
        """The elements of each sample as numbers, how many it has in all, and how they are numbered
        (fields of `Ranks`). With ``ranks`` elements are numbered so, and others are left out."""

    def prepare(self, X: Samples, like: Prepared | None = None) -> Prepared:
        """Bits and ranks of the elements. Those that ``like`` lacks count in the sizes alone, so
        two sides that are both prepared like a third one do not share them."""
        if isinstance(X, Prepared):
            return X
        ranks = None if like is None else like.common
        own, sizes, numbered = self.elements(X, ranks)
        ranks = ranks or Ranks.of(own, **numbered)
        return Prepared((X, *ranks.packed(own), sizes.astype(X.dtype)), ranks)

    def sizes(self, X: Samples) -> np.ndarray:
        """How many elements each sample has, (n,)."""
        return self.prepare(X).parts[-1].copy()

    def shared(self, X: Any, Z: Any, what: int = COUNT, share: float = 0.0) -> np.ndarray:
        """#(A ∩ B) for every pair of samples; or Tversky's index, c / (c + share (a + b - 2 c)) for
        c = #(A ∩ B), a = #A and b = #B, or 1 minus it: (n, m). Share 1 is Jaccard's index, 1/2 is
        Dice's."""
        X, Z = self.sides(X, Z)
        dtype = np.result_type(X.dtype, Z.dtype)
        (_, A, a, xx), (_, B, b, zz) = X.parts, Z.parts
        out = np.empty((len(A), len(B)), dtype)
        xx, zz = xx.astype(dtype, copy=False), zz.astype(dtype, copy=False)
        _native.shared_items(
            np.ascontiguousarray(A), a.starts, a.values, np.ascontiguousarray(B.T), b.starts,
            b.values, Z.common.listed, xx, zz, share, what, out,
        )  # fmt: skip
        return out

    def shared_of_pairs(
        self, X: Any, Z: Any, pairs: np.ndarray, what: int, share: float
    ) -> np.ndarray:
        """`shared` of listed pairs of rows, (k,), float64."""
        X, Z = self.sides(X, Z)
        dtype = np.result_type(X.dtype, Z.dtype)
        (_, A, a, xx), (_, B, b, zz) = X.parts, Z.parts
        out = np.empty(len(pairs), dtype)
        _native.shared_pairs(
            np.ascontiguousarray(A), a.starts, a.values, np.ascontiguousarray(B), b.starts,
            b.values, Z.common.listed, xx.astype(dtype, copy=False), zz.astype(dtype, copy=False),
            share, what, np.ascontiguousarray(pairs, np.int64), out,
        )  # fmt: skip
        return out.astype(np.float64, copy=False)


@fields(
    places=whole(least=-1), words=number(lambda _: COLUMNS), listed=number(lambda _: 2**31 - 1),
    keys=optional(whole()), firsts=optional(whole()),
)  # fmt: skip
@estimator
class Ranks:
    """The order of elements by frequency, and how they are packed.

    Parameters
    ----------
    places : ndarray of int32
        The rank of each element, by its number; -1 for those that no training sample has.
    words : int
        The first 64 ``words`` elements are bits; or of items that are columns of a matrix, the
        first ``words`` are dense.
    listed : int
        How many others there are.
    keys : ndarray of uint64, optional
        The items that training samples have, ascending, if they are counted.
    firsts : ndarray of int64, optional
        The number of the first element of each of these items, and of their end.
    """

    places: np.ndarray
    words: int
    listed: int
    keys: np.ndarray | None = None
    firsts: np.ndarray | None = None

    @classmethod
    def of(cls, elements: Ragged, **numbered: Any) -> Ranks:
        """The ranks in a training sample."""
        counts = np.bincount(elements.values)
        found = np.flatnonzero(counts)
        order = found[np.argsort(-counts[found], kind="stable")]
        places = np.full(len(counts), -1, np.int32)
        places[order] = np.arange(len(order))
        words = cheapest(counts[order] / max(len(elements), 1), BIT, WORDS, 64)
        return cls(places, words, max(len(order) - 64 * words, 0), **numbered)

    def packed(self, elements: Ragged) -> tuple[np.ndarray, Ragged]:
        """The bits of each sample, (n, words), and the ranks of its other elements, from 0 on."""
        ranks = np.append(self.places, np.int32(-1))[np.minimum(elements.values, len(self.places))]
        bits = np.empty((len(elements), self.words), np.uint64)
        _native.pack_sets(ranks, np.ascontiguousarray(elements.starts), bits)
        rare = ranks >= 64 * self.words
        starts = np.concatenate(([0], np.cumsum(rare)))[elements.starts]
        return bits, Ragged(ranks[rare] - np.int32(64 * self.words), starts)


def cheapest(shares: np.ndarray, cost: float, most: int, each: int = 1) -> int:
    """How many groups of ``each`` elements to compare as a whole, at a ``cost`` for a group, where
    each of the others costs 1 for a pair that shares it. ``shares`` are the parts of the samples
    that have each element, falling."""
    later = np.append(np.cumsum(np.square(shares)[::-1])[::-1], 0.0)
    groups = np.arange(most + 1)
    return int(np.argmin(cost * groups + later[np.minimum(groups * each, len(shares))]))


class ReadsSets(SharesItems):
    """Abstract: a comparison of sets. A set may be a string of items with a separator.

    Parameters
    ----------
    separator : str, optional
        The separator between the items of a set that is given as one string, as in
        `mercer.kernels.Intersection`.
    """

    kind = "sets"

    def elements(self, X: Sets, ranks: Ranks | None) -> tuple[Ragged, np.ndarray, dict]:
        return X, X.lengths, {}

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
        """Samples whose texts are split into items, where there is a separator."""
        reader = type(self).__name__
        one = isinstance(X, (Sets, str, bytes, Mapping, Set))
        if self.separator is not None and not (is_matrix(X) or one):
            _, rows = read(X, "strings", reader=reader)
            X = [split_items(r, self.separator) if isinstance(r, str) else r for r in rows]
        return X


class ReadsCounts(SharesItems):
    """Abstract: Tanimoto's coefficient of counts, by minima and maxima or by products."""

    formula: str

    def validate(self) -> None:
        if self.formula not in ("minmax", "dot"):
            raise ValueError(f'formula={self.formula!r}: give "minmax" or "dot".')

    def check(self, X: Counts, like: Any = None) -> None:
        if self.formula == "minmax" and self.kind == "counts":
            sizes = _totals(np.minimum(X.values[:, 1], MANY).astype(np.int64), X.starts)
            if (sizes >= MANY).any():
                i = int(np.argmax(sizes >= MANY))
                own = X.values[X.starts[i] : X.starts[i + 1], 1]
                raise ValueError(
                    f"X[{i}] has counts of {sum(own.tolist())} in all, but {self!r} reads a count "
                    f'as so many elements, at most {MANY - 1} in a sample: give formula="dot", or '
                    "for a matrix kernels.HistogramIntersection()."
                )

    def counts(self, X: Counts) -> Counts:
        """The counts of encoded samples."""
        return X

    def elements(self, X: Any, ranks: Ranks | None) -> tuple[Ragged, np.ndarray, dict]:
        found = self.counts(X)
        keys = found.values[:, 0]
        times = np.minimum(found.values[:, 1], MANY - 1).astype(np.int64)  # more are in no file
        known, at = placed(keys, ranks)
        firsts: Any = None if ranks is None else ranks.firsts
        if firsts is None:
            most = np.zeros(len(known), np.int64)
            np.maximum.at(most, at, times)
            firsts = np.concatenate(([0], np.cumsum(most)))
        held = np.minimum(times, np.diff(firsts, append=0)[at]) * (at >= 0)
        ends = np.concatenate(([0], np.cumsum(held)))
        first = firsts[at] - ends[:-1]
        values = np.arange(ends[-1]) + np.repeat(first, held)
        sizes = _totals(times, found.starts)
        return Ragged(values, ends[found.starts]), sizes, {"keys": known, "firsts": firsts}

    def prepare(self, X: Any, like: Prepared | None = None) -> Prepared:
        if isinstance(X, Prepared) or self.formula == "minmax":
            return super().prepare(X, like)
        found = self.counts(X)
        # in float64, in which sums of squares are exact: single ones would be no x of their own
        keys, times = found.values[:, 0], found.values[:, 1].astype(np.float64)
        ranks = None if like is None else like.common
        numbers, at = placed(keys, ranks)
        if ranks is None:
            shares = np.bincount(at, minlength=len(numbers)) / max(len(found), 1)
            order = np.argsort(-shares, kind="stable")
            dense = cheapest(shares[order], COLUMN, min(COLUMNS, len(order)))
            ranks = Ranks(np.argsort(order), dense, len(order) - dense, numbers)
        squares = np.bincount(
            np.repeat(np.arange(len(found)), found.lengths), np.square(times), len(found)
        )
        known = at >= 0
        starts = np.concatenate(([0], np.cumsum(known)))[found.starts]
        columns = ranks.places[at[known]]
        F = sp.csr_array((times[known], columns, starts), (len(found), len(numbers)))
        check_format(F)  # for ranks may be those of a file
        dense, others = F[:, : ranks.words].toarray(), F[:, ranks.words :]
        return Prepared((X, dense, others, squares), ranks)

    def compared(self, X: Any, Z: Any, what: int) -> np.ndarray:
        """Tanimoto's coefficient of every pair, or 1 minus it: (n, m)."""
        if self.formula == "minmax":
            return self.shared(X, Z, what, 1.0)
        X, Z = self.sides(X, Z)
        (_, A, a, xx), (_, B, b, zz) = X.parts, Z.parts
        G = np.ascontiguousarray(A @ B.T + (a @ b.T).toarray())
        _native.tversky(G, xx, zz, 1.0, what == APART)
        return G.astype(np.result_type(X.dtype, Z.dtype), copy=False)


def _totals(times: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The sum of the counts of each sample, (n,)."""
    return np.diff(np.concatenate(([0], np.cumsum(times)))[starts])


def placed(keys: np.ndarray, ranks: Ranks | None) -> tuple[np.ndarray, np.ndarray]:
    """Different keys, ascending, and the place of each key among them; with ``ranks`` those that
    are known then, and -1 for others."""
    if ranks is None or ranks.keys is None:
        return np.unique(keys, return_inverse=True)
    known = ranks.keys
    at = np.searchsorted(known, keys)
    at[at == len(known)] = -1
    if len(known):
        at[known[at] != keys] = -1
    return known, at


class Jaccard(ReadsSets, Distance):
    r"""Jaccard distance of sets

    .. math:: \rho(A, B) = 1 - \#(A \cap B) / \#(A \cup B) .

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
        return self.shared(X, Z, APART, 1.0)

    def of_pairs(self, X: Any, Z: Any, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        return self.shared_of_pairs(X, Z, pairs, APART, 1.0)


class Tanimoto(ReadsCounts, Distance):
    r"""Tanimoto distance of counts

    .. math:: \rho(x, z) = 1 - T(x, z) .

    T is :math:`\sum_j \min(x_j, z_j) / \sum_j \max(x_j, z_j)`, or by ``formula="dot"``
    :math:`\langle x, z \rangle / (\langle x, x \rangle + \langle z, z \rangle - \langle x, z
    \rangle)`. Two samples without any items are at distance 0.

    Parameters
    ----------
    formula : {"minmax", "dot"}, default="minmax"
        Both are the Jaccard distance of sets, where no item comes twice.
    fingerprint : {"morgan", "morgan 3", "functional", "pairs", "torsions", "paths"}, optional
        Compare molecules by the fragments of a fingerprint, as the kernels `Morgan`, `AtomPairs`
        and `Torsions` do; "functional" are the neighbourhoods of "morgan" by the roles of atoms,
        and "paths" those of RDKit of up to 6 bonds. None means that samples are counts.

    See Also
    --------
    mercer.kernels.Tanimoto : The similarity, which says what samples look like and what they cost.

    Notes
    -----
    With minima and maxima it is a metric. With products it is none: the distances between 1, 2 and
    4 times the same item are 1/3, 1/3 and 9/13.

    References
    ----------
    Kosub, "A note on the triangle inequality for the Jaccard distance", Pattern Recognition
    Letters 120, 2019.

    Examples
    --------
    >>> Tanimoto()([{"C": 2, "O": 1}, {"C": 3}]).round(4)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """

    meaning = Meaning("(1 − T(x, z))", "the share of counted items that only one of two has")

    definite_up_to = 1.0  # 1 - k for a positive semidefinite k, which is 1 for twins

    def __init__(self, formula: str = "minmax", fingerprint: str | None = None):
        self.formula = formula
        self.fingerprint = fingerprint

    @property
    def kind(self) -> str:  # type: ignore[override]
        return "counts" if self.fingerprint is None else "molecules"

    def validate(self) -> None:
        super().validate()
        if self.fingerprint is not None and self.fingerprint not in FINGERPRINTS:
            raise ValueError(
                f"fingerprint={self.fingerprint!r}: give one of {', '.join(FINGERPRINTS)}, or None "
                "for counts."
            )

    def counts(self, X: Any) -> Counts:
        return X if self.fingerprint is None else X.counts(FINGERPRINTS[self.fingerprint])

    @property
    def metric(self) -> bool:  # type: ignore[override]
        return self.formula == "minmax"

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        return self.compared(X, Z, APART)

    def of_pairs(self, X: Any, Z: Any, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        if self.formula == "dot":
            return super().of_pairs(X, Z, pairs, limits)
        return self.shared_of_pairs(X, Z, pairs, APART, 1.0)


def molecule_distance() -> Tanimoto:
    """The distance that suits molecules first."""
    return Tanimoto(fingerprint="morgan")


@documented
class Dice(ReadsSets, Distance):
    r"""Dice distance of sets

    .. math:: \rho(A, B) = 1 - 2 \#(A \cap B) / (\# A + \# B) .

    Two empty sets are at distance 0. It is not a metric: {a} and {b} are at distance 1, but both
    are at distance 1/3 from {a, b}.

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
        return self.shared(X, Z, APART, 0.5)

    def of_pairs(self, X: Any, Z: Any, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        return self.shared_of_pairs(X, Z, pairs, APART, 0.5)


def is_matrix(X: SamplesLike) -> bool:
    """Whether raw data are numbers, the indicators of items."""
    return sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind not in "OUS")
