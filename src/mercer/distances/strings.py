"""Distances between strings: edit distances, and Jaro & Winkler's distance for names.

`compared` says how a block of pairs is compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _native
from mercer.distances.base import Distance
from mercer.distances.comparison import Meaning
from mercer.estimator import estimator
from mercer.samples import Prepared, Samples, Strings, as_cells, check_positive, is_number

# How blocks of pairs of strings are compared: by RapidFuzz, or by a native loop.
#
# Where the processor has vectors of words, the native loop compares many strings at once: for edit
# distances it is the faster one at all lengths, for common symbols beyond the 64 bits of a word.
# Both release the GIL, so that several blocks can be computed at the same time. Symbols may be
# characters, bytes or tokens: each symbol is one character of the text that RapidFuzz reads.


#: variant -> name of RapidFuzz's module
VARIANTS = {
    "levenshtein": "Levenshtein",
    "indel": "Indel",
    "osa": "OSA",
    "damerau": "DamerauLevenshtein",
    "lcs": "LCSseq",
    "hamming": "Hamming",
}
#: variant -> which native loop; the last one counts common symbols
LOOPS = {"levenshtein": 0, "osa": 1, "indel": 2, "lcs": 2}
WORD = 64  # symbols
TABLE = 2**20  # words at most of the native loop's table: one for each symbol and 64 rows


def decoded(X: Strings) -> Prepared:
    """Strings together with the texts that RapidFuzz reads."""
    if isinstance(X, Prepared):
        return X
    return Prepared((X, as_cells(X.texts())))


def edits(
    X: Prepared, Z: Prepared, variant: str, normalised: bool, limit: float = np.inf
) -> np.ndarray:
    """Edit distances of every pair, (n, m), exact up to the limit and above it elsewhere."""
    rows = _for_the_native_loop(X.parts[0], Z.parts[0], variant)
    if not rows.any():
        return _by_rapidfuzz(X, Z, variant, normalised, limit)
    A, B, same = X.parts[0], Z.parts[0], Z is X
    dtype = np.result_type(A.dtype, B.dtype)
    if rows.all():
        D = _native_edits(A, None if same else B, variant, normalised, limit)
        return D.astype(dtype, copy=False)
    D = np.empty((len(A), len(B)), dtype)
    D[~rows] = _by_rapidfuzz(X[~rows], Z, variant, normalised, limit)
    if same:
        D[np.ix_(rows, ~rows)] = D[np.ix_(~rows, rows)].T
        D[np.ix_(rows, rows)] = _native_edits(A[rows], None, variant, normalised, limit)
    else:
        D[rows] = _native_edits(A[rows], B, variant, normalised, limit)
    return D


def compared(X: Prepared, Z: Prepared, scorer: Any, **options: Any) -> np.ndarray:
    """A score of every pair, (n, m), computed by RapidFuzz in this thread."""
    from rapidfuzz.process import cdist

    texts = X.parts[1].tolist()
    others = texts if Z is X else Z.parts[1].tolist()  # one list: only half of the pairs
    dtype = np.result_type(X.dtype, Z.dtype)
    return cdist(texts, others, scorer=scorer, dtype=dtype.type, workers=1, **options)


def edits_of_pairs(
    X: Prepared, Z: Prepared, pairs: np.ndarray, variant: str, normalised: bool, limits: np.ndarray
) -> np.ndarray:
    """`edits` of listed pairs, (k,), float64, exact up to their limits and above them elsewhere."""
    A, B = X.parts[0], Z.parts[0]
    i, j = pairs.T
    n, m = (side.starts[rows + 1] - side.starts[rows] for side, rows in ((A, i), (B, j)))
    symbols = max(1, len(A.alphabet), len(B.alphabet))
    if variant not in LOOPS or n.max(initial=0) > WORD * (TABLE // symbols):
        return compared_pairs(X, Z, pairs, _scorer(variant, normalised))
    longest = np.maximum(n + m if variant == "indel" else np.maximum(n, m), 1)
    most = limits * (1 + 1e-6) * longest if normalised else limits
    bounds = np.clip(most, 0, 2**31 - 1).astype(np.int64)
    D = np.empty(len(pairs))
    x, z = _arrays(A, B)
    _native.edit_pairs(
        *x, *z, symbols, LOOPS[variant], np.ascontiguousarray(pairs, np.int64), bounds, D
    )
    if variant == "indel":
        D = n + m - 2 * D
    elif variant == "lcs":
        D = np.maximum(n, m) - D
    if normalised:
        D /= longest
    return D.astype(np.result_type(A.dtype, B.dtype), copy=False).astype(np.float64, copy=False)


def compared_pairs(
    X: Prepared, Z: Prepared, pairs: np.ndarray, scorer: Any, **options: Any
) -> np.ndarray:
    """A score of listed pairs, (k,), float64, computed by RapidFuzz in this thread."""
    from rapidfuzz.process import cpdist

    texts, others = X.parts[1][pairs[:, 0]].tolist(), Z.parts[1][pairs[:, 1]].tolist()
    dtype = np.result_type(X.dtype, Z.dtype).type
    found = cpdist(texts, others, scorer=scorer, dtype=dtype, workers=1, **options)
    return found.astype(np.float64, copy=False)


def _scorer(variant: str, normalised: bool) -> Any:
    from rapidfuzz import distance

    metric = getattr(distance, VARIANTS[variant])
    return metric.normalized_distance if normalised else metric.distance


def _by_rapidfuzz(
    X: Prepared, Z: Prepared, variant: str, normalised: bool, limit: float
) -> np.ndarray:
    """Distances of all pairs by RapidFuzz."""
    scorer = _scorer(variant, normalised)
    if not limit < 2**31:  # above any distance
        return compared(X, Z, scorer)
    if normalised:  # the limit may be a value that was rounded to float32
        return compared(X, Z, scorer, score_cutoff=min(limit * (1 + 1e-6), 1.0))
    return compared(X, Z, scorer, score_cutoff=int(limit))


def _for_the_native_loop(X: Strings, Z: Strings, variant: str) -> np.ndarray:
    """Which rows of X the native loop compares with all rows of Z, (n,)."""
    lengths = X.lengths
    if variant not in LOOPS or _native.isa() == "portable" or not len(Z):
        return np.zeros(len(X), bool)
    # a table of many symbols and rows would take long to read from memory
    most = WORD * (TABLE // max(len(X.alphabet), len(Z.alphabet), 1))
    counted = LOOPS[variant] == LOOPS["indel"]  # common symbols of short strings
    return (lengths <= most) & ((lengths > WORD) | (not counted))


def weighted_edits(
    X: Strings, Z: Strings, gap: float, replace: float, pairs: list[tuple]
) -> np.ndarray:
    """The least sums of costs that turn the strings into each other, (n, m)."""
    named = {symbol: i for i, symbol in enumerate({s for a, b, _ in pairs for s in (a, b)}, 1)}
    costs = np.full((len(named) + 1, len(named) + 1), float(replace))  # class 0: all other symbols
    for a, b, cost in pairs:
        costs[named[a], named[b]] = costs[named[b], named[a]] = cost
    symbols = max(X.alphabet, Z.alphabet, key=len)  # codes of one are codes of the other
    classes = np.array([named.get(symbol, 0) for symbol in symbols], np.int32)
    x, z = _arrays(X, Z)
    D = np.empty((len(X), len(Z)))
    _native.weighted_edit_distances(*x, *z, float(gap), classes, costs, Z is X, D)
    with np.errstate(over="ignore"):  # what is beyond float32 is infinite there
        return D.astype(np.result_type(X.dtype, Z.dtype), copy=False)


def _arrays(X: Strings, Z: Strings) -> tuple[tuple, tuple]:
    """Codes of one type and starts of both lists; those of X itself if Z is X."""
    code = np.result_type(X.values, Z.values)
    x = X.values.astype(code, copy=False), X.starts
    return x, x if Z is X else (Z.values.astype(code, copy=False), Z.starts)


def _native_edits(
    X: Strings, Z: Strings | None, variant: str, normalised: bool, limit: float
) -> np.ndarray:
    """The same as `edits`; without Z, the distances between the rows of X."""
    n, m = X.lengths, X.lengths if Z is None else Z.lengths
    longest = np.add if variant == "indel" else np.maximum
    # if normalised, the limit of the longest pair, which none of the others exceeds
    most = limit
    if normalised:
        most = limit * (1 + 1e-6) * int(longest(n.max(initial=0), m.max(initial=0)))
    bound = int(most) if most < 2**31 else -1
    symbols = max(1, *(len(side.alphabet) for side in (X, Z or X)))
    x, z = _arrays(X, Z or X)
    D = np.empty((len(n), len(m)))
    _native.edit_distances(*x, *z, symbols, LOOPS[variant], bound, Z is None, D)
    if variant == "indel":  # n + m - 2 D
        D *= -2
        D += n[:, None]
        D += m
    elif variant == "lcs":
        np.subtract(np.maximum.outer(n, m), D, out=D)
    if normalised:
        D /= np.maximum(longest.outer(n, m), 1)
    return D


class Edit(Distance):
    r"""Edit distance of strings: the smallest number of edits that turn one into the other.

    With insertions, deletions and replacements it is the last number of the table

    .. math:: D_{ij} = \min \left( D_{i-1, j} + 1, \; D_{i, j-1} + 1, \;
              D_{i-1, j-1} + [s_i \ne t_j] \right), \qquad D_{i0} = i, \; D_{0j} = j .

    Parameters
    ----------
    variant : str, default="levenshtein"
        Which edits are counted:

        - "levenshtein": insert, delete or replace a symbol;
        - "indel": insert or delete a symbol, so that a replacement costs 2; it is the sum of both
          lengths minus twice the length of the longest common subsequence;
        - "osa" (optimal string alignment): as "levenshtein", or exchange two neighbours, which may
          not be edited again;
        - "damerau": as "osa", but exchanged neighbours may be edited again;
        - "lcs": the length of the longer string minus that of the longest common subsequence;
        - "hamming": replace a symbol, and add or delete symbols at the end.
    normalised : bool, default=False
        Whether to divide by the largest value that strings of these lengths can have: the longer
        length, or the sum of both for "indel". Then values are in [0, 1]. Two empty strings are at
        distance 0.

    See Also
    --------
    mercer.kernels.EditRBF : The kernel exp(-γ ρ).
    WeightedEdit : Edits that cost more or less than others.
    JaroWinkler : A distance for short names.

    Notes
    -----
    The triangle inequality does not hold for "osa": for "ca", "ac" and "abc", 1 + 1 < 3. Of the
    normalised distances, it holds only for "lcs" (Bakkelund 2009) and "hamming". Two strings of n
    and m symbols cost about n m / 64 operations, or n m for "damerau" and min(n, m) for "hamming";
    of strings longer than 64 symbols, 4 to 16 pairs are computed at once where the processor has
    AVX2 or AVX-512 (not for the last two). `mercer.search.BruteForce` calls `within`, which stops
    early for pairs that are too far apart.

    References
    ----------
    Levenshtein, "Binary codes capable of correcting deletions, insertions, and reversals", 1966;
    Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances", 2003.

    Examples
    --------
    >>> Edit()(["kitten"], ["sitting", "kitten", ""])
    array([[3., 0., 6.]])
    >>> Edit("indel")([["to", "be"]], [["to", "do"]])
    array([[2.]])
    >>> Edit(normalised=True)(["kitten"], ["sitting"]).round(4)
    array([[0.4286]])
    """

    meaning = Meaning("edit(s, t)", "the edits from one string to the other")

    kind = "strings"

    def __init__(self, variant: str = "levenshtein", normalised: bool = False):
        self.variant = variant
        self.normalised = normalised

    @property
    def metric(self) -> bool:  # type: ignore[override]
        return self.variant != "osa" and (not self.normalised or self.variant in ("lcs", "hamming"))

    @property
    def definite_up_to(self) -> float:  # type: ignore[override]
        return 1.0 if self.variant == "hamming" and not self.normalised else 0.0

    def validate(self) -> None:
        if not (isinstance(self.variant, str) and self.variant in VARIANTS):
            raise ValueError(f"variant={self.variant!r} is not known: give one of {[*VARIANTS]}.")
        if not isinstance(self.normalised, (bool, np.bool_)):
            raise TypeError(f"normalised={self.normalised!r}: give True or False.")

    def pair_cost(self, X: Strings) -> float:
        # per cell (i, j); all but "damerau" compute 64 cells at once, as the bits of a word
        each = 25.0 if self.variant == "damerau" else 0.25
        return each * float(X.lengths.mean()) ** 2 if len(X) else 0.0

    def prepare(self, X: Strings, like: Prepared | None = None) -> Any:
        return decoded(X)

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        return edits(*self.sides(X, Z), self.variant, self.normalised)

    def within(self, X: Prepared, Z: Prepared, limit: float) -> np.ndarray:
        return edits(*self.sides(X, Z), self.variant, self.normalised, limit)

    def of_pairs(self, X: Any, Z: Any, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        return edits_of_pairs(*self.sides(X, Z), pairs, self.variant, self.normalised, limits)

    def key(self, X: Strings) -> np.ndarray | None:
        return None if self.normalised else X.lengths  # each edit changes the length by at most 1


@estimator
class WeightedEdit(Distance):
    r"""Edit distance of strings with costs: the least sum of costs that turns one into the other.

    It is the last number of the table

    .. math:: D_{ij} = \min \left( D_{i-1, j} + g, \; D_{i, j-1} + g, \;
              D_{i-1, j-1} + c(s_i, t_j) \right), \qquad D_{i0} = i g, \; D_{0j} = j g ,

    with the cost g of a gap and the cost c of a replacement, c(a, a) = 0.

    Parameters
    ----------
    gap : float > 0, default=1.0
        The cost of a symbol that is inserted or deleted.
    replace : float > 0, default=1.0
        The cost of a symbol that is replaced; above two gaps it is never used.
    pairs : dict or list of (symbol, symbol, cost), optional
        Costs > 0 of replacing one symbol by the other, in both directions, in place of ``replace``:
        ``{"AG": 0.5, "CT": 0.5}``, or ``[("to", "too", 0.1)]`` for tokens.
    normalised : bool, default=False
        Whether to divide by the largest sum that strings of these lengths can have. Then values are
        in [0, 1]. Two empty strings are at distance 0.

    Notes
    -----
    Without ``pairs``, not normalised, it is a metric; with ``gap=1, replace=1`` it is `Edit`. Two
    strings of n and m symbols cost n m steps, of which 8 to 16 are done at once where the processor
    has AVX2 or AVX-512; `Edit` is several times faster.

    References
    ----------
    Wagner & Fischer, "The string-to-string correction problem", Journal of the ACM 21, 1974.

    Examples
    --------
    >>> WeightedEdit(gap=2.0)(["kitten"], ["sitting", "kitten", ""])
    array([[ 4.,  0., 12.]])
    >>> WeightedEdit(pairs={"AG": 0.5, "CT": 0.5})(["GATTACA"], ["GGTTACA", "GTTTACA"])
    array([[0.5, 1. ]])
    """

    meaning = Meaning(
        "edit(s, t)", "the edits from one string to the other, each with its own cost"
    )

    kind = "strings"
    pair_rows = 1

    gap: float = 1.0
    replace: float = 1.0
    pairs: dict | list | None = None
    normalised: bool = False

    @property
    def metric(self) -> bool:  # type: ignore[override]
        return not self.pairs and not self.normalised

    def validate(self) -> None:
        if not isinstance(self.normalised, (bool, np.bool_)):
            raise TypeError(f"normalised={self.normalised!r}: give True or False.")
        if not isinstance(self.pairs, (dict, list, type(None))):
            raise TypeError(
                f"pairs={self.pairs!r}: give a dict, such as {{'AG': 0.5}}, or a list of triples, "
                "two symbols and a cost."
            )
        costs = {"gap": self.gap, "replace": self.replace}
        for *pair, cost in self._triples():
            if len(pair) != 2 or pair[0] == pair[1]:
                raise ValueError(f"pairs has {pair!r}: give two different symbols, such as 'AG'.")
            costs[f"the cost of {pair!r} in pairs"] = cost
        for name, cost in costs.items():
            check_positive(name, cost)

    def _triples(self) -> list[tuple]:
        """(symbol, symbol, cost) of each pair."""
        if isinstance(self.pairs, dict):
            return [(*pair, cost) for pair, cost in self.pairs.items()]
        return [tuple(pair) for pair in self.pairs or ()]

    def pair_cost(self, X: Strings) -> float:
        return 3.0 * float(X.lengths.mean()) ** 2 if len(X) else 0.0

    def block(self, X: Strings, Z: Strings) -> np.ndarray:
        X, Z = self.sides(X, Z)
        D = weighted_edits(X, Z, self.gap, self.replace, self._triples())
        if not self.normalised:
            return D
        # all symbols of the shorter one are replaced, or deleted and inserted
        change = min(max([self.replace, *(cost for *_, cost in self._triples())]), 2 * self.gap)
        longer = np.maximum.outer(X.lengths, Z.lengths)
        shorter = np.minimum.outer(X.lengths, Z.lengths)
        most = (change - self.gap) * shorter + self.gap * longer
        np.divide(D, most, out=D, where=most > 0)
        return np.minimum(D, 1, out=D)

    def key(self, X: Strings) -> np.ndarray | None:
        # sums of many gaps may be rounded down
        return None if self.normalised else self.gap * (1 - 1e-12) * X.lengths


class JaroWinkler(Distance):
    r"""Jaro & Winkler's distance of strings, 1 minus their similarity; it was made for names.

    The similarity of Jaro is

    .. math:: (m / \#s + m / \#t + (m - h) / m) / 3 ,

    where m symbols are equal and at most half the longer length apart, and 2 h of them are in a
    different order. If it is above 0.7, then for each of the first 4 symbols, up to the first that
    differs, Winkler adds ``prefix_weight`` times the rest that is missing to 1.

    Parameters
    ----------
    prefix_weight : float in [0, 0.25], default=0.1
        The weight of each equal first symbol; 0 gives the distance of Jaro.

    Notes
    -----
    It is not a metric. Two strings of n and m symbols take about (n + m) + n m / 64 operations. Two
    empty strings are at distance 0.

    References
    ----------
    Winkler, "String comparator metrics and enhanced decision rules in the Fellegi-Sunter model of
    record linkage", 1990.

    Examples
    --------
    >>> JaroWinkler()(["MARTHA"], ["MARHTA", "MARTHA"]).round(4)
    array([[0.0389, 0.    ]])
    """

    meaning = Meaning(
        "(1 − Jaro–Winkler(s, t))", "how few symbols two strings have in common at near places"
    )

    kind = "strings"
    metric = False

    def __init__(self, prefix_weight: float = 0.1):
        self.prefix_weight = prefix_weight

    def validate(self) -> None:
        if not (is_number(self.prefix_weight) and 0 <= self.prefix_weight <= 0.25):
            raise ValueError(f"prefix_weight={self.prefix_weight!r}: must be in [0, 0.25].")

    def prepare(self, X: Strings, like: Prepared | None = None) -> Any:
        return decoded(X)

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        from rapidfuzz.distance import JaroWinkler as names

        weight = {"prefix_weight": float(self.prefix_weight)}
        D = compared(*self.sides(X, Z), names.normalized_distance, scorer_kwargs=weight)
        return np.maximum(D, 0, out=D)

    def of_pairs(self, X: Any, Z: Any, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        from rapidfuzz.distance import JaroWinkler as names

        weight = {"prefix_weight": float(self.prefix_weight)}
        X, Z = self.sides(X, Z)
        D = compared_pairs(X, Z, pairs, names.normalized_distance, scorer_kwargs=weight)
        return np.maximum(D, 0, out=D)
