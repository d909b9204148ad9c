"""Distances between strings: the edit family, and Jaro & Winkler's for names.

RapidFuzz compares the strings, one block at a time; it releases the GIL meanwhile, so that blocks
are computed side by side. Symbols may be characters, bytes or tokens: each is one character of the
texts that it reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.base import Distance
from mercer.samples import Prepared, Strings

__all__ = ["Edit", "JaroWinkler"]

#: variant -> name of RapidFuzz's module
VARIANTS = {
    "levenshtein": "Levenshtein",
    "indel": "Indel",
    "osa": "OSA",
    "damerau": "DamerauLevenshtein",
    "lcs": "LCSseq",
    "hamming": "Hamming",
}


class Edit(Distance):
    r"""Edit distance of strings: the least number of edits that make one into the other.

    Parameters
    ----------
    variant : str, default="levenshtein"
        Which edits there are:

        - "levenshtein": insert, delete or replace a symbol;
        - "indel": insert or delete a symbol, so that a replacement costs 2; the length of both
          less twice that of the longest common subsequence;
        - "osa" (optimal string alignment): also exchange two neighbours, and edit neither again;
        - "damerau": also exchange two neighbours, without that condition;
        - "lcs": the length of the longer string less that of the longest common subsequence;
        - "hamming": replace a symbol, and add or drop symbols at the end.
    normalised : bool, default=False
        Divide by the largest value that strings of these lengths can have: the longer length, or
        the sum of both for "indel". Values in [0, 1]; two empty strings are at distance 0.

    See Also
    --------
    mercer.kernels.EditRBF : exp(-γ ρ) of it.
    JaroWinkler : For short names.

    Notes
    -----
    "osa" lacks the triangle inequality: ("ca", "ac", "abc") has 1 + 1 < 3. So do normalised
    distances except "lcs" (Bakkelund 2009) and "hamming". Strings of n and m symbols cost
    about n m / 64 operations, "damerau" n m, "hamming" min(n, m); `within`, which a search by
    `mercer.search.BruteForce` calls, gives pairs up that are too far apart.

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

    kind = "strings"

    def __init__(self, variant: str = "levenshtein", normalised: bool = False):
        self.variant = variant
        self.normalised = normalised

    @property
    def metric(self) -> bool:  # type: ignore[override]
        return self.variant != "osa" and (not self.normalised or self.variant in ("lcs", "hamming"))

    def validate(self) -> None:
        if self.variant not in VARIANTS:
            raise ValueError(f"variant={self.variant!r} is not known; give one of {[*VARIANTS]}.")
        if not isinstance(self.normalised, (bool, np.bool_)):
            raise TypeError(f"normalised={self.normalised!r}: give True or False.")

    def pair_cost(self, X: Strings) -> float:
        # of the cells (i, j); the unrestricted distance has no bits that stand for 64 of them
        each = 25.0 if self.variant == "damerau" else 0.25
        return each * float(X.lengths.mean()) ** 2 if len(X) else 0.0

    def prepare(self, X: Any, like: Any = None) -> Any:
        return _decoded(X)

    def block(self, X: Any, Z: Any) -> np.ndarray:
        return _compared(*self.sides(X, Z), self._scorer())

    def within(self, X: Any, Z: Any, limit: float) -> np.ndarray:
        X, Z = self.sides(X, Z)
        if not limit < 2**31:  # beyond any distance
            return self.block(X, Z)
        if self.normalised:  # the limit may be a value that was rounded to float32
            return _compared(X, Z, self._scorer(), score_cutoff=min(limit * (1 + 1e-6), 1.0))
        return _compared(X, Z, self._scorer(), score_cutoff=int(limit))

    def key(self, X: Strings) -> np.ndarray | None:
        return None if self.normalised else X.lengths  # each edit changes it by 1 at most

    def _scorer(self) -> Any:
        from rapidfuzz import distance

        metric = getattr(distance, VARIANTS[self.variant])
        return metric.normalized_distance if self.normalised else metric.distance


class JaroWinkler(Distance):
    r"""Jaro & Winkler's distance of strings, 1 less their similarity; made for names.

    The similarity of Jaro is :math:`(m / \#s + m / \#t + (m - h) / m) / 3`, where m symbols match
    within half the longer length and 2 h of them stand in another order. Where it is above 0.7,
    Winkler adds a share of what is left to 1 for each of up to 4 first symbols that agree.

    Parameters
    ----------
    prefix_weight : float in [0, 0.25], default=0.1
        That share; 0 is the distance of Jaro.

    Notes
    -----
    No metric. About (n + m) + n m / 64 operations for strings of n and m symbols. Two empty strings
    are at distance 0.

    References
    ----------
    Winkler, "String comparator metrics and enhanced decision rules in the Fellegi-Sunter model of
    record linkage", 1990.

    Examples
    --------
    >>> JaroWinkler()(["MARTHA"], ["MARHTA", "MARTHA"]).round(4)
    array([[0.0389, 0.    ]])
    """

    kind = "strings"
    metric = False

    def __init__(self, prefix_weight: float = 0.1):
        self.prefix_weight = prefix_weight

    def validate(self) -> None:
        if not 0 <= self.prefix_weight <= 0.25:
            raise ValueError(
                f"prefix_weight={self.prefix_weight!r}: must be in [0, 0.25], for up to 4 symbols."
            )

    def prepare(self, X: Any, like: Any = None) -> Any:
        return _decoded(X)

    def block(self, X: Any, Z: Any) -> np.ndarray:
        from rapidfuzz.distance import JaroWinkler as names

        weight = {"prefix_weight": float(self.prefix_weight)}
        D = _compared(*self.sides(X, Z), names.normalized_distance, scorer_kwargs=weight)
        return np.maximum(D, 0, out=D)


def _decoded(X: Any) -> Prepared:
    """Strings beside the texts that RapidFuzz reads."""
    if isinstance(X, Prepared):
        return X
    texts = np.empty(len(X), object)
    texts[:] = X.texts()
    return Prepared((X, texts))


def _compared(X: Prepared, Z: Prepared, scorer: Any, **options: Any) -> np.ndarray:
    """A score of every pair, (n, m), computed in this thread."""
    from rapidfuzz.process import cdist

    texts = X.parts[1].tolist()
    others = texts if Z is X else Z.parts[1].tolist()  # of one list half of the pairs are computed
    dtype = np.result_type(X.dtype, Z.dtype)
    return cdist(texts, others, scorer=scorer, dtype=dtype.type, workers=1, **options)
