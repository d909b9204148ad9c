"""Kernels on strings that count the subsequences that two strings share, gaps allowed.

The hot loops (src/native/subsequences.cpp) work through a list of pairs. They return after about a
quarter of a second, and the next call continues where they stopped, so that Ctrl-C works.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from mercer import _native
from mercer.distances import Meaning
from mercer.kernels.base import Kernel, from_logs, values
from mercer.kernels.kmers import check_length
from mercer.samples import Strings, is_number
from mercer.threads import raise_if_stopped

MARGIN = 64  # string_margin of src/native/subsequences.hpp
BUDGET = 5e8  # operations of one native call
LONGEST = 2**27  # symbols of the longest strings for which the scaled loop stays in range
#: Most operations that one value may take, an hour or more; above it there is an error.
MOST_OPERATIONS = 2e13
RANGE = 1020.0  # bits of a float64
STRIP = 32  # a shorter string takes as much time as one of so many symbols

Pairs = np.ndarray  # (k, 2): numbers of rows of X and of Z


class Subsequences(Kernel):
    """Abstract: a kernel on strings whose values are computed for one pair after the other, as
    mantissas and exponents. Define ``_evaluate``."""

    kind = "strings"

    @abstractmethod
    def _evaluate(self, X: Strings, Z: Strings, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
        """The kernel values of the pairs as (m, e), value = m 2^e; (number of pairs,) each."""

    def _layers(self, X: Strings) -> int:
        """Operations for one cell (i, j) of a pair, relative to `AllSubsequences`."""
        return min(int(getattr(self, "p", 1)), longest(X) + 1)

    def pair_cost(self, X: Strings) -> float:
        return self._layers(X) * float(X.lengths.mean() + STRIP) ** 2 if len(X) else 0.0

    def block(self, X: Strings, Z: Strings) -> np.ndarray:
        return values(self.scaled_block(X, Z), np.result_type(X.dtype, Z.dtype))

    def diag(self, X: Strings) -> np.ndarray:
        return values(self.scaled_diag(X), X.dtype)

    def scaled_block(self, X: Strings, Z: Strings) -> tuple[np.ndarray, np.ndarray]:
        """k(x, z) as (m, e), k = m 2^e; (n, m) each."""
        n, m = len(X), len(Z)
        self._refuse_endless(X, Z)
        places = np.triu_indices(n) if Z is X else np.indices((n, m)).reshape(2, -1)
        pairs = np.array(np.transpose(places), np.int64, order="C")
        found = self._evaluate(X, Z, pairs)
        if Z is not X:
            return found[0].reshape(n, m), found[1].reshape(n, m)
        i, j = pairs.T
        scaled = np.empty((n, n)), np.empty((n, n), np.int64)
        for whole, part in zip(scaled, found):
            whole[i, j] = whole[j, i] = part
        return scaled

    def scaled_diag(self, X: Strings) -> tuple[np.ndarray, np.ndarray]:
        """k(x, x) as (m, e); (n,) each."""
        self._refuse_endless(X, X)
        return self._evaluate(X, X, np.repeat(np.arange(len(X), dtype=np.int64), 2).reshape(-1, 2))

    def _refuse_endless(self, X: Strings, Z: Strings) -> None:
        """Refuse strings so long that one value would take hours."""
        n, m = longest(X), longest(Z)
        operations = float(n) * m * self._layers(X if n < m else Z)
        if max(n, m) > LONGEST or operations > MOST_OPERATIONS:
            raise ValueError(
                f"{type(self).__name__} would compare strings of {n:,} and {m:,} symbols, which "
                f"takes {operations:.1g} operations, about {operations / 1.8e13:.2g} hours for one "
                f"value. At most {MOST_OPERATIONS:.0g} operations and {LONGEST:,} symbols are "
                "allowed. Cut the strings, leave out the longest, or use Spectrum, which is faster."
            )


class AllSubsequences(Subsequences):
    r"""All-subsequences kernel: the number of subsequences that two strings share, each counted
    as often as it occurs,

    .. math::
        k(s, t) = \sum_u \lambda^{2|u|} \,
        \#\{\mathbf i : s(\mathbf i) = u\} \, \#\{\mathbf j : t(\mathbf j) = u\}

    over all strings u, the empty one included, and all ascending index tuples.

    Parameters
    ----------
    decay : float in (0, 1], default=1.0
        :math:`\lambda`: a subsequence of p symbols has the weight :math:`\lambda^p` in the
        features. With 1, the values of long strings depend mostly on long subsequences, which a
        string shares only with itself, so the normalised Gram matrix is close to the identity. A
        smaller decay gives more weight to short subsequences.

    See Also
    --------
    FixedLengthSubsequences : Subsequences of p symbols.
    GapWeighted : Subsequences of p symbols, where few gaps give more weight.

    Notes
    -----
    O(\|s\| \|t\|) operations and O(min(\|s\|, \|t\|)) memory for each pair, by the recursion
    K(i, j) = K(i - 1, j) + P(i, j), P(i, j) = P(i, j - 1) + λ² [s_i = t_j] K(i - 1, j - 1)
    (Shawe-Taylor & Cristianini 2004, section 11.3).

    Values can reach binomial(\|s\| + \|t\|, \|s\|), which is too large for float64 from about 500
    symbols on (about 880 for random DNA). Then ``block`` gives infinities. ``scaled_block`` and
    ``log`` have no such limit, with relative errors of k below 1e-12 for strings of 100,000
    symbols, and ``AllSubsequences().normalised()`` is computed from the scaled values. A pair of
    strings that would take more than 2e13 operations (4.5 million symbols each) is a ValueError.

    Examples
    --------
    The strings share the empty subsequence, a (twice), t (twice) and at (three times):

    >>> AllSubsequences()(["cat"], ["atat"])
    array([[8.]])
    >>> AllSubsequences().log(["ab" * 5000])
    array([[10981.089...]])
    """

    meaning = Meaning(
        "Σᵤ λ^(2|u|) #ᵤ(x) #ᵤ(z)", "how many subsequences two strings share, gaps allowed"
    )

    def __init__(self, decay: float = 1.0):
        self.decay = decay

    def validate(self) -> None:
        check_decay(self.decay, "AllSubsequences")

    def _evaluate(self, X: Strings, Z: Strings, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
        """The kernel of pairs of strings, as numbers and powers of two."""
        weight = float(self.decay) ** 2
        out, exponents = np.empty(len(pairs)), np.zeros(len(pairs), np.int64)
        # k <= (1 + λ)^(|s| + |t|), since sum_u λ^2|u| a_u b_u <= sum_u λ^|u| a_u sum_u λ^|u| b_u
        small = (longest(X) + longest(Z)) * np.log2(1 + self.decay) < RANGE
        run = _native.all_subsequences if small else _native.all_subsequences_scaled
        strings, columns = encoded_alike(X, Z)
        codes = np.empty(columns, strings[0].dtype)
        K, E = np.empty(columns), np.empty(0 if small else columns, np.int32)
        arguments = *strings, pairs, weight, codes, K, E
        work_through(lambda state: run(*arguments, state, BUDGET, out, exponents), len(pairs))
        m, shift = np.frexp(out)
        return m, exponents + shift


class GapWeighted(Subsequences):
    r"""Gap-weighted subsequence kernel (string subsequence kernel, SSK) of Lodhi et al.:

    .. math::
        k(s, t) = \sum_{|u| = p} \;
        \sum_{\mathbf i : s(\mathbf i) = u} \lambda^{l(\mathbf i)}
        \sum_{\mathbf j : t(\mathbf j) = u} \lambda^{l(\mathbf j)},

    where :math:`l(\mathbf i) = i_p - i_1 + 1` is the span of an ascending index tuple.

    Parameters
    ----------
    p : int >= 1, default=3
        Length of the subsequences u; if a string is shorter, k = 0.
    decay : float in (0, 1], default=0.5
        :math:`\lambda`: the factor for each symbol in the span, whether it is in u or in a gap.
    up_to : bool, default=False
        Whether to sum over the lengths 1 .. p. Other tools differ: Lodhi's kernel has only the
        length p; strkernels' SubsequenceStringKernel with ``maxlen`` is the normalised sum,
        ``GapWeighted(maxlen, decay, up_to=True).normalised()``. (kernlab's ``stringdot`` counts
        contiguous substrings, so it is not a gap-weighted kernel.)

    See Also
    --------
    FixedLengthSubsequences : The same without a factor for gaps.

    Notes
    -----
    O(p \|s\| \|t\|) operations, O(p min(\|s\|, \|t\|)) memory for each pair. The factor
    :math:`\lambda^{2p}` of all terms is kept as an exponent, so that normalised values are right
    even if it is too small for a float. A value that is too large for a float is an OverflowError;
    this can happen for a large p with a decay near 1.

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini & Watkins, "Text Classification using String
    Kernels", JMLR 2, 2002.

    Examples
    --------
    The only subsequence of two symbols that "cat" and "car" share is "ca". Its span is 2 in both:

    >>> GapWeighted(2, 0.5)(["cat"], ["car"])
    array([[0.0625]])
    """

    def __init__(self, p: int = 3, decay: float = 0.5, up_to: bool = False):
        self.p = p
        self.decay = decay
        self.up_to = up_to

    @property
    def meaning(self) -> Meaning:  # type: ignore[override]
        symbols = "up to {p} symbols" if self.up_to else "{p} symbols"
        return Meaning(
            f"Σᵤ Σ λ^(span in x + span in z), u of {symbols}",
            f"how many subsequences of {symbols} two strings share; those with gaps count less",
        )

    def validate(self) -> None:
        check_length(self.p, "p", "GapWeighted")
        check_decay(self.decay, "GapWeighted")

    def _evaluate(self, X: Strings, Z: Strings, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
        """The kernel of pairs of strings, as numbers and powers of two."""
        # any p beyond the strings gives 0, a factor beyond the exponents gives nothing
        p, decay = min(int(self.p), min(longest(X), longest(Z)) + 1), float(self.decay)
        q = lengths_up_to(p, X, Z)
        weights = decay ** (2.0 * (q - 1)) if self.up_to else q == p
        found = gap_weighted(X, Z, pairs, decay, weights, repr(self))
        m, e = from_logs((2 if self.up_to else 2 * p) * np.log(decay))
        return found * m, np.full(len(pairs), e)


class FixedLengthSubsequences(Subsequences):
    r"""Fixed-length subsequences kernel: the number of subsequences of p symbols that two strings
    share, each counted as often as it occurs,

    .. math::
        k(s, t) = \sum_{|u| = p}
        \#\{\mathbf i : s(\mathbf i) = u\} \, \#\{\mathbf j : t(\mathbf j) = u\}

    Parameters
    ----------
    p : int >= 1, default=3
        Length of the subsequences; if a string is shorter, k = 0.

    See Also
    --------
    AllSubsequences : Subsequences of every length.
    GapWeighted : Few gaps give more weight.

    Notes
    -----
    This is `GapWeighted` with a decay of 1: O(p \|s\| \|t\|) operations for each pair; values are
    exact below 2^53. A value that is too large for a float is an OverflowError; values are at most
    binomial(\|s\|, p) binomial(\|t\|, p), about 10^308 for p = 100 and 1,000 symbols.

    References
    ----------
    Shawe-Taylor & Cristianini, "Kernel Methods for Pattern Analysis", 2004, chapter 11.

    Examples
    --------
    >>> FixedLengthSubsequences(2)(["cat"], ["atat"])
    array([[3.]])
    """

    meaning = Meaning(
        "Σᵤ #ᵤ(x) #ᵤ(z), u of {p} symbols",
        "how many subsequences of {p} symbols two strings share, gaps allowed",
    )

    def __init__(self, p: int = 3):
        self.p = p

    def validate(self) -> None:
        check_length(self.p, "p", "FixedLengthSubsequences")

    def _evaluate(self, X: Strings, Z: Strings, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
        weights = lengths_up_to(self.p, X, Z) == self.p
        found = gap_weighted(X, Z, pairs, 1.0, weights, repr(self))
        return found, np.zeros(len(pairs), np.int64)


def check_decay(decay: float, reader: str) -> None:
    """Raise an error if ``decay`` is not in (0, 1]."""
    if not is_number(decay) or not 0 < decay <= 1:
        raise ValueError(f"decay={decay!r}: {reader} needs a number in (0, 1].")


def longest(X: Strings) -> int:
    """The number of symbols of the longest string."""
    return int(X.lengths.max()) if len(X) else 0


def encoded_alike(X: Strings, Z: Strings) -> tuple[list[np.ndarray], int]:
    """Codes and starts of X and Z for the native loops, and the number of columns that they need.

    Codes are bytes if all are below 254 (two codes must be left for "no symbol"), otherwise 32-bit
    numbers.
    """
    small = all(
        A.values.dtype == np.uint8 and (not len(A.values) or A.values.max() < 254) for A in (X, Z)
    )
    dtype = np.uint8 if small else np.int32
    strings = []
    for A in (X, Z):
        strings += [
            np.require(A.values, dtype, ["C", "A"]),
            np.require(A.starts, np.int64, ["C", "A"]),
        ]
    return strings, min(longest(X), longest(Z)) + 2 * MARGIN


def lengths_up_to(p: int, X: Strings, Z: Strings) -> np.ndarray:
    """The lengths 1 .. p that common subsequences can have."""
    return np.arange(1, min(int(p), longest(X), longest(Z)) + 1)


def gap_weighted(
    X: Strings, Z: Strings, pairs: Pairs, gap: float, weights: np.ndarray, reader: str
) -> np.ndarray:
    """Σ_q weights[q] · Σ gap ** (number of symbols in gaps), for each pair; the inner sum is over
    the common subsequences of q + 1 symbols."""
    out = np.zeros(len(pairs))
    strings, columns = encoded_alike(X, Z)
    weights = weights.astype(np.float64)
    if not weights.any():
        return out
    codes, K = np.empty(columns, strings[0].dtype), np.empty((len(weights) - 1, columns))
    arguments = *strings, pairs, gap, weights, codes, K
    work_through(lambda state: _native.gap_weighted(*arguments, state, BUDGET, out), len(pairs))
    if not np.isfinite(out).all():
        i, j = pairs[np.argmin(np.isfinite(out))]
        raise OverflowError(
            f"{reader} of strings of {X.lengths[i]:,} and {Z.lengths[j]:,} symbols is too large "
            "for a float: give a smaller p or a smaller decay, or use "
            "AllSubsequences().normalised(), which has no such limit."
        )
    return out


def work_through(call: Callable[[np.ndarray], None], count: int) -> None:
    """Call until all pairs are done; state: number of pairs done, and of rows of the next pair."""
    state = np.zeros(2, np.int64)
    while state[0] < count:
        raise_if_stopped()
        call(state)
