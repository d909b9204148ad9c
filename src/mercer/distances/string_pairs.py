"""How blocks of pairs of strings are compared: by RapidFuzz, or by a native loop.

RapidFuzz compares many strings at once if they have 64 symbols at most, the bits of a word. For
longer ones the native loop is several times faster, where the processor has vectors of words. Both
release the GIL, so that several blocks can be computed at the same time. Symbols may be characters,
bytes or tokens: each symbol is one character of the text that RapidFuzz reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _native
from mercer.samples import Prepared, Strings

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


def decoded(X: Any) -> Prepared:
    """Strings together with the texts that RapidFuzz reads."""
    if isinstance(X, Prepared):
        return X
    texts = np.empty(len(X), object)
    texts[:] = X.texts()
    return Prepared((X, texts))


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


def _by_rapidfuzz(
    X: Prepared, Z: Prepared, variant: str, normalised: bool, limit: float
) -> np.ndarray:
    from rapidfuzz import distance

    metric = getattr(distance, VARIANTS[variant])
    scorer = metric.normalized_distance if normalised else metric.distance
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
    return (lengths > WORD) & (lengths <= most)


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
    symbols = max(len(side.alphabet) for side in (X, Z or X))
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
