"""Distances between strings: edit distances, and Jaro & Winkler's distance for names.

How a block of pairs is compared is in string_pairs.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.base import Distance
from mercer.distances.meaning import Meaning
from mercer.distances.string_pairs import VARIANTS, compared, decoded, edits, weighted_edits
from mercer.samples import Strings, is_number


class Edit(Distance):
    r"""Edit distance of strings: the smallest number of edits that turn one into the other.

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

    def prepare(self, X: Any, like: Any = None) -> Any:
        return decoded(X)

    def block(self, X: Any, Z: Any) -> np.ndarray:
        return edits(*self.sides(X, Z), self.variant, self.normalised)

    def within(self, X: Any, Z: Any, limit: float) -> np.ndarray:
        return edits(*self.sides(X, Z), self.variant, self.normalised, limit)

    def key(self, X: Strings) -> np.ndarray | None:
        return None if self.normalised else X.lengths  # each edit changes the length by at most 1


class WeightedEdit(Distance):
    r"""Edit distance of strings with costs: the least sum of costs that turns one into the other.

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

    def __init__(
        self,
        gap: float = 1.0,
        replace: float = 1.0,
        pairs: dict | list | None = None,
        normalised: bool = False,
    ):
        self.gap = gap
        self.replace = replace
        self.pairs = pairs
        self.normalised = normalised

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
            if not (is_number(cost) and 0 < cost < np.inf):
                raise ValueError(f"{name}={cost!r}: must be a finite number > 0.")

    def _triples(self) -> list[tuple]:
        """(symbol, symbol, cost) of each pair."""
        if isinstance(self.pairs, dict):
            return [(*pair, cost) for pair, cost in self.pairs.items()]
        return [tuple(pair) for pair in self.pairs or ()]

    def pair_cost(self, X: Strings) -> float:
        return 3.0 * float(X.lengths.mean()) ** 2 if len(X) else 0.0

    def block(self, X: Any, Z: Any) -> np.ndarray:
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

    The similarity of Jaro is :math:`(m / \#s + m / \#t + (m - h) / m) / 3`, where m symbols are
    equal and at most half the longer length apart, and 2 h of them are in a different order. If it
    is above 0.7, then for each of the first 4 symbols, up to the first that differs, Winkler adds
    ``prefix_weight`` times the rest that is missing to 1.

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

    def prepare(self, X: Any, like: Any = None) -> Any:
        return decoded(X)

    def block(self, X: Any, Z: Any) -> np.ndarray:
        from rapidfuzz.distance import JaroWinkler as names

        weight = {"prefix_weight": float(self.prefix_weight)}
        D = compared(*self.sides(X, Z), names.normalized_distance, scorer_kwargs=weight)
        return np.maximum(D, 0, out=D)
