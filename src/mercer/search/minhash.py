"""Min-wise hashing: short signatures of sets, from which Jaccard's index can be read."""

from __future__ import annotations

from hashlib import blake2b
from itertools import chain
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer import _native
from mercer.distances import Jaccard
from mercer.estimator import Seed, estimator
from mercer.persistence import fields, unread
from mercer.samples import SamplesLike, Sets, check_count, is_whole
from mercer.search.families import HashFamily

# Numbers of 32 bits that look random, one for each item of a set: what MinHash permutes.
#
# Equal items get equal numbers, in every process.


PRIME = 2**61 - 1  # the hash of a smaller integer is the integer, but for -1 (sys.hash_info)
NAN = 2**62  # no other number has this hash
# the steps of SplitMix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators",
# OOPSLA 2014)
FIRST, FACTORS = 0x9E3779B97F4A7C15, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def item_numbers(items: list) -> np.ndarray:
    """The number of each item, (n,), uint32: texts and numbers are hashed all at once.

    Items are texts, bytes, numbers, None, or tuples and frozen sets of them; others are a
    TypeError.

    Examples
    --------
    >>> a, b, c = item_numbers(["tea", 1, True])
    >>> bool(a == b), bool(b == c)
    (False, True)
    """
    try:
        return _native.hash_items(items)
    except TypeError:  # not all of them are texts, which is not asked before: most often they are
        pass
    if all(_is_number(kind) for kind in set(map(type, items))):
        return _of_numbers(items)
    kind_of = np.array([_kind(item) for item in items])
    out = np.empty(len(items), np.uint32)
    hashing = {"text": _native.hash_items, "number": _of_numbers, "other": _of_others}
    for kind, hashed in hashing.items():
        places = np.flatnonzero(kind_of == kind)
        out[places] = hashed([items[i] for i in places])
    return out


def _is_number(kind: type) -> bool:
    return issubclass(kind, (Number, np.bool_))


def _kind(item: object) -> str:
    return "text" if isinstance(item, str) else "number" if _is_number(type(item)) else "other"


def _of_numbers(numbers: list) -> np.ndarray:
    """A hash of each number; equal numbers of all types have the same one."""
    if set(map(type, numbers)) == {int} and abs(max(numbers, key=abs)) < PRIME:
        return _mixed(np.fromiter(numbers, np.int64, len(numbers)).view(np.uint64))
    # Python's own hash is the same for 1, 1.0 and True, but it is not random, that of NaN depends
    # on the object, and that of -1 is that of -2
    hashes = [NAN if x != x else -1 if x == -1 else hash(x) for x in numbers]
    return _mixed(np.array(hashes, np.int64).view(np.uint64))


def _mixed(x: np.ndarray) -> np.ndarray:
    x = x + np.uint64(FIRST)
    for shift, factor in zip((30, 27), FACTORS):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return (x >> np.uint64(32)).astype(np.uint32)


def _of_others(items: list) -> np.ndarray:
    contents = [blake2b(_content(item), digest_size=4).digest() for item in items]
    return np.frombuffer(b"".join(contents), "<u4").astype(np.uint32)


def _content(item: object) -> bytes:
    """The bytes that stand for an item."""
    if isinstance(item, bytes):
        return b"b" + item
    if item is None:
        return b"none"
    if isinstance(item, tuple):
        return b"t" + item_numbers(list(item)).astype("<u4").tobytes()
    if isinstance(item, frozenset):
        return b"f" + np.sort(item_numbers(list(item))).astype("<u4").tobytes()
    raise TypeError(
        f"MinHash cannot hash the item {item!r} of type {type(item).__name__}: give texts, bytes, "
        "numbers, or tuples of them."
    )


WORD = 2**32
ROWS = 512  # sets whose items are hashed at a time: their numbers stay in the cache


@fields(factors_=unread, shifts_=unread, ranks_=unread)
@estimator
class MinHash(ClassNamePrefixFeaturesOutMixin, TransformerMixin, HashFamily):
    r"""Signatures of sets whose entries are equal as often as Jaccard's index says.

    Each entry is the least value

    .. math:: f_\pi(A) = \min \{\pi(u) : u \in A\}

    of a random order π of all items, and :math:`P[f_\pi(A) = f_\pi(B)] = \#(A \cap B) / \#(A \cup
    B)`.

    Parameters
    ----------
    n_hashes : int >= 1, default=128
        The length h of a signature. The standard error of an estimate of J is
        :math:`\sqrt{J (1 - J) / h}`.
    separator : str, optional
        The separator between the items of a set that is given as one string, as in
        `mercer.distances.Jaccard`.
    permutations : array-like of shape (n_hashes, n_items), optional
        The orders π: row h has the ranks π_h(0), π_h(1) ... of the items, whole numbers from 0 to
        2³² - 2. Items are then numbers from 0 to n_items - 1, or the columns of a 0/1 matrix. None
        means random orders of all that an item may be.
    one_permutation : bool, default=False
        Whether all entries come from a single order, each from a part of it of its own. An item
        then takes one operation in place of h, and the error is the same for sets of many items,
        4 h and more. Reading the texts then takes most of the time. It has no meaning beside
        ``permutations``.
    random_state : int, RandomState or None, default=0
        Seed for the random orders. Signatures of one seed can be compared, whatever fit has read.

    Attributes
    ----------
    factors_, shifts_ : ndarray of shape (n_hashes,), uint32
        Only without ``permutations``: the order of function h is that of
        ``factors_[h] * x + shifts_[h]`` modulo 2³², for x a number of 32 bits made of the item.
    ranks_ : ndarray of shape (n_items, n_hashes), uint32
        Rank of each item in each random order; only with ``permutations``.

    See Also
    --------
    mercer.LSHIndex : Neighbours by such signatures.
    mercer.distances.Jaccard : The exact distance.

    Notes
    -----
    O(h) operations for each item of a set. Texts with a separator, and lists of texts, are hashed
    as they are read, without an object for each item. Items are texts, bytes, numbers, None, or
    tuples and frozen sets of them; equal items get equal numbers in every process. All empty sets
    have one signature, and share no entry with other sets.

    References
    ----------
    Broder, "On the resemblance and containment of documents", SEQUENCES 1997.

    Shrivastava, "Optimal Densification for Fast and Accurate Minwise Hashing", ICML 2017, for
    ``one_permutation``.

    Examples
    --------
    >>> sets = [set("abcdefgh"), set("abcdefxy"), set("xyz")]
    >>> minhash = MinHash(256)
    >>> S = minhash.fit_transform(sets)
    >>> S.shape, S.dtype
    ((3, 256), dtype('uint32'))
    >>> minhash.similarity(S).round(1)  # exactly 6 / 10, 0 and 2 / 9
    array([[1. , 0.6, 0. ],
           [0.6, 1. , 0.2],
           [0. , 0.2, 1. ]])
    >>> MinHash(2, permutations=[[0, 1, 2], [2, 1, 0]]).fit_transform([{0, 2}, {1, 2}])
    array([[0, 0],
           [1, 0]], dtype=uint32)
    """

    n_hashes: int = 128
    separator: str | None = None
    permutations: Any = None
    one_permutation: bool = False
    random_state: Seed = 0

    # --- signatures ------------------------------------------------------------------------------

    def fit(self, X: SamplesLike | None = None, y: object = None) -> MinHash:
        """Draw the functions. X is read by its form alone."""
        check_count("n_hashes", self.n_hashes, optional=False)
        self._reader().validate()
        for name in ("ranks_", "factors_", "shifts_"):
            vars(self).pop(name, None)
        if self.permutations is not None:
            self.ranks_ = _ranks(self.permutations, self.n_hashes)
            return self
        rng = check_random_state(self.random_state)
        # an odd factor permutes the numbers of 32 bits
        draws = rng.randint(0, WORD, (2, self.n_hashes), np.uint64)
        self.factors_ = (draws[0] | 1).astype(np.uint32)
        self.shifts_ = draws[1].astype(np.uint32)
        return self

    @property
    def _n_features_out(self) -> int:
        return self.n_hashes

    def transform(self, X: SamplesLike) -> np.ndarray:
        """Signatures of sets, (n, n_hashes), uint32.

        Parameters
        ----------
        X : samples
            Sets in any form that `mercer.distances.Jaccard` reads.
        """
        check_is_fitted(self, ["factors_", "ranks_"], all_or_any=any)
        reader = self._reader()
        texts = reader.texts(X) if self.permutations is None else None
        rows = reader.items(X) if self.permutations is None and texts is None else texts
        if rows is None:
            return self._signatures(reader.encode(X))
        out = np.empty((len(rows), self.n_hashes), np.uint32)
        for start in range(0, len(rows), ROWS):
            stop = min(start + ROWS, len(rows))
            # items need no codes here, and one that comes twice changes nothing
            if texts is None:
                numbers, starts = _numbers(rows, start, stop)
            else:
                numbers, starts = _native.split_rows(texts, self.separator, start, stop)
            self._least(numbers, starts, out[start:stop])
        return out

    def similarity(self, S: Any, T: Any = None) -> np.ndarray:
        """Estimates of Jaccard's index: the share of equal entries of signatures, (n, m).

        Parameters
        ----------
        S, T : array-like of shapes (n, h) and (m, h), uint32
            Signatures; T is S by default.
        """
        A = _signatures_of("S", S)
        B = A if T is None else _signatures_of("T", T)
        if A.shape[1] != B.shape[1]:
            raise ValueError(
                f"S has signatures of {A.shape[1]} entries and T of {B.shape[1]}: compare those of "
                "one MinHash."
            )
        out = np.empty((len(A), len(B)))
        shares = np.full(A.shape[1], 1 / A.shape[1])
        _native.matches(A, np.ascontiguousarray(B.T), shares, out)
        return np.minimum(out, 1, out=out)

    # --- as a family of hash functions -----------------------------------------------------------

    def collision(self, distance: ArrayLike) -> np.ndarray:
        """1 - d at the Jaccard distance d, of the same shape: the probability of one function."""
        return np.clip(1 - np.asarray(distance, np.float64), 0, 1)

    def draw(self, X: Sets, count: int, rng: np.random.Generator) -> MinHash:
        seed = int(rng.integers(2**31))
        return MinHash(count, self.separator, self.permutations, self.one_permutation, seed).fit()

    def hashes(self, X: Sets) -> np.ndarray:
        check_is_fitted(self, ["factors_", "ranks_"], all_or_any=any)
        return self._signatures(X).view(np.int32)

    # --- inside ----------------------------------------------------------------------------------

    def _reader(self) -> Jaccard:
        return Jaccard(self.separator)

    def _signatures(self, X: Sets) -> np.ndarray:
        """The signature of each set."""
        out = np.empty((len(X), self.n_hashes), np.uint32)
        if self.permutations is None:
            self._least(item_numbers(X.universe)[X.values], X.starts, out)
            return out
        rows = _places(X.universe, len(self.ranks_))
        _native.least_ranks(rows[X.values], X.starts, self.ranks_, out)
        return out

    def _least(self, numbers: np.ndarray, starts: np.ndarray, out: np.ndarray) -> None:
        """Signatures of the sets of items numbers[starts[i] : starts[i + 1]]."""
        if self.one_permutation:
            a, b = int(self.factors_[0]), int(self.shifts_[0])
            _native.least_in_parts(numbers, starts, a, b, out)
        else:
            _native.least_hashes(numbers, starts, self.factors_, self.shifts_, out)


def _numbers(rows: list, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of all items of some sets, and where each set starts."""
    try:
        return _native.hash_rows(rows, start, stop)
    except TypeError:  # not all items are texts
        some = rows[start:stop]
        numbers = item_numbers(list(chain.from_iterable(some)))
        return numbers, np.cumsum([0, *map(len, some)], dtype=np.int64)


def _ranks(permutations: Any, count: int) -> np.ndarray:
    """The ranks of given permutations, after a check."""
    ranks = np.asarray(permutations)
    shaped = ranks.ndim == 2 and len(ranks) == count and ranks.shape[1] > 0
    if not shaped or ranks.dtype.kind not in "iu":
        raise ValueError(
            f"permutations has shape {ranks.shape} and dtype {ranks.dtype}: give whole numbers of "
            f"shape (n_hashes, n_items), here ({count}, n_items)."
        )
    if ranks.min() < 0 or ranks.max() >= WORD - 1:
        raise ValueError("permutations must have ranks from 0 to 2**32 - 2.")
    return np.ascontiguousarray(ranks.T, np.uint32)


def _places(universe: list, n_items: int) -> np.ndarray:
    """The item of each code, as a number of ``permutations``' columns; (codes,), int32."""
    for item in universe:
        if not (is_whole(item) and 0 <= item < n_items):
            raise ValueError(
                f"X has the item {item!r}, but permutations has {n_items} items: items must be "
                f"integers from 0 to {n_items - 1}."
            )
    return np.array(universe, np.int32).reshape(-1)


def _signatures_of(name: str, S: Any) -> np.ndarray:
    """Signatures, after a check of their form."""
    S = np.asarray(S)
    if S.ndim != 2 or S.dtype != np.uint32 or S.shape[1] == 0:
        raise ValueError(
            f"{name} has shape {S.shape} and dtype {S.dtype}: give signatures, (n, n_hashes) of "
            "uint32, as transform returns them."
        )
    return np.ascontiguousarray(S).view(np.int32)
