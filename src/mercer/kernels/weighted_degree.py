"""The kernel that compares strings of the same length place by place."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if

from mercer import _native
from mercer.distances import Meaning, mirrored
from mercer.kernels.base import Kernel
from mercer.kernels.kmer_counts import KmerWindows, Pattern, columns, count
from mercer.kernels.kmers import check_length
from mercer.samples import Strings
from mercer.threads import raise_if_stopped


class WeightedDegree(Kernel):
    r"""Weighted degree kernel: how many substrings of up to D symbols two strings share at the same
    place,

    .. math:: k(s, t) = \sum_{d=1}^{D} w_d \sum_i [s_{i..i+d} = t_{i..i+d}],
              \qquad w_d = \frac{2 (D - d + 1)}{D (D + 1)}.

    With a shift S, equal substrings that are up to S places apart are counted too, with a weight
    that falls with their distance. The match in the formula is then replaced by
    :math:`\sum_{r=0}^{S} \delta_r ([s_{i+r..i+r+d} = t_{i..i+d}] + [s_{i..i+d} = t_{i+r..i+r+d}])`
    with :math:`\delta_r = 1 / (2 (r + 1))`.

    Parameters
    ----------
    degree : int >= 1, default=3
        The length D of the longest substrings.
    shift : int >= 0, default=0
        The largest shift S. All strings must have the same length, whatever the shift.
    vocabulary : samples, optional
        The strings whose substrings are the columns of ``features`` (which exist only with
        ``shift=0``). None means the strings that ``features`` is called with.

    Raises
    ------
    ValueError
        If two strings differ in length; the message names the first that differs.

    Notes
    -----
    A place where the last r symbols agree, r at most D, adds r (2D + 1 - r) / (D (D + 1)). So the
    kernel takes O(n m L (1 + 2S)) operations for strings of length L, whatever D is.
    It is positive semidefinite also with a shift: places i and j of equal substrings have the
    weight 1 if i = j, and 1 / (2 (abs(i - j) + 1)) if they are up to S apart. These weights are a
    Toeplitz matrix whose symbol 1 + Σ_r cos(rθ) / (r + 1) is at least 1/2 (Rogosinski & Szegő,
    1928).

    References
    ----------
    Rätsch & Sonnenburg, "Accurate splice site detection for Caenorhabditis elegans", in Kernel
    Methods in Computational Biology, 2004. Rätsch, Sonnenburg & Schölkopf, "RASE: recognition of
    alternatively spliced exons in C. elegans", Bioinformatics 21, 2005.

    Examples
    --------
    >>> WeightedDegree(2)(["GATT", "GACT"]).round(4)
    array([[3.6667, 2.3333],
           [2.3333, 3.6667]])
    """

    meaning = Meaning(
        "Σ_d w_d (places of equal substrings of d symbols), d from 1 to {degree}",
        "how many substrings of up to {degree} symbols two strings share at the same place",
    )

    kind = "strings"

    def __init__(self, degree: int = 3, shift: int = 0, vocabulary: Any = None):
        self.degree = degree
        self.shift = shift
        self.vocabulary = vocabulary

    def validate(self) -> None:
        check_length(self.degree, "degree", "WeightedDegree")
        if isinstance(self.shift, bool) or not isinstance(self.shift, Integral) or self.shift < 0:
            raise ValueError(f"shift={self.shift!r}: WeightedDegree needs an integer >= 0.")

    def check(self, X: Strings, like: Any = None) -> None:
        _common_length(X, X if like is None else like)

    def block(self, X: Strings, Z: Strings) -> np.ndarray:
        length, same = _common_length(X, Z), Z is X
        K = np.zeros((len(X), len(Z)))
        symbols = np.result_type(X.values, Z.values)
        A, B = (S.values.astype(symbols, copy=False).reshape(len(S), length) for S in (X, Z))
        A, B = np.ascontiguousarray(A), np.ascontiguousarray(B)
        D = int(self.degree)
        unit = 1 / (D * (D + 1))
        _native.match_runs(A, B, 0, 0, D, unit, same, K)
        for r in range(1, min(self.shift, length - 1) + 1):
            weight = unit / (2 * (r + 1))
            _native.match_runs(A, B, r, 0, D, weight, same, K)
            _native.match_runs(A, B, 0, r, D, weight, same, K)
        return (mirrored(K) if same else K).astype(np.result_type(X.dtype, Z.dtype), copy=False)

    def diag(self, X: Strings) -> np.ndarray:
        if self.shift:
            return super().diag(X)
        length, D = _common_length(X, X), int(self.degree)
        r = np.minimum(np.arange(1, length + 1), D).astype(np.float64)
        return np.full(len(X), (r * (2 * D + 1 - r)).sum() / (D * (D + 1)), X.dtype)

    def symbol_parts(self, X: Strings, Z: Strings, coef: np.ndarray) -> list[np.ndarray]:
        length, D = _common_length(X, Z), int(self.degree)
        A, B = (S.values.reshape(len(S), length) for S in (X, Z))
        steps = np.zeros((len(A), length + 1, coef.shape[1]))  # of the parts, place by place
        shifts = range(-min(self.shift, length - 1), min(self.shift, length - 1) + 1)
        for x, step in zip(A, steps):
            raise_if_stopped()
            for r in shifts if length else ():
                first, last = max(r, 0), length + min(r, 0)
                agree = B[:, first - r : last - r] == x[first:last]
                equal, near = agree, 1 / (2 * (abs(r) + 1)) if r else 1.0
                for d in range(1, min(D, last - first) + 1):
                    equal = equal[:, : last - first - d + 1] & agree[:, d - 1 :] if d > 1 else equal
                    if not equal.any():
                        break
                    part = equal.T @ coef * (near * 2 * (D - d + 1) / (D * (D + 1) * d))
                    step[first : last - d + 1] += part
                    step[first + d : last + 1] -= part
        return list(steps.cumsum(axis=1)[:, :-1])

    @available_if(lambda self: self.shift == 0)
    def features(self, X: Strings) -> sp.csr_array:
        """Indicators of substrings at places, times the square root of the weight; sparse, (n, p).

        There is one column for each pair of a substring and a place that is in the vocabulary.
        """
        vocabulary = X if self.vocabulary is None else self.encode(self.vocabulary, like=X)
        base = max(len(X.alphabet), len(vocabulary.alphabet))
        windows, known = _placed(X, base), _placed(vocabulary, base)
        parts, D = [], int(self.degree)
        for d in range(D, 0, -1):
            scale = float(np.sqrt(2 * (D - d + 1) / (D * (D + 1))))
            ours, theirs = count(Pattern(d, tuple(range(d))), windows, known)
            parts.append(columns(ours, theirs.keys, scale, X.dtype))
        return sp.csr_array(sp.hstack(parts, format="csr"))


def _common_length(X: Strings, Z: Strings) -> int:
    """The length of all strings of both samples."""
    for samples in (Z, X):
        length = int(Z.lengths[0]) if len(Z) else int(X.lengths[0]) if len(X) else 0
        other = np.flatnonzero(samples.lengths != length)
        if len(other):
            i = other[0]
            raise ValueError(
                f"X[{i}] has {samples.lengths[i]} symbols, but the first string has {length}. "
                "WeightedDegree compares strings of the same length. Cut or pad the strings, or "
                "use Spectrum, which compares substrings at any place."
            )
    return length


def _placed(X: Strings, base: int) -> KmerWindows:
    """Strings in which the same symbol has different codes at different places."""
    length = _common_length(X, X)
    if base * length >= 2**31:
        raise ValueError(
            f"{base} symbols at {length} places are too many for features(): use the kernel itself."
        )
    places = np.tile(np.arange(length, dtype=np.int32), len(X))
    return KmerWindows.of(X, base * length)._replace(
        values=X.values.astype(np.int32) + base * places
    )
