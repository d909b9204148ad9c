"""The local alignment kernel of sequences, with BLOSUM62 or other scores of pairs of letters."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from mercer import _native
from mercer.distances import Meaning
from mercer.estimator import estimator
from mercer.kernels.base import Kernel
from mercer.samples import (
    Prepared,
    Ragged,
    Samples,
    Strings,
    check_not_negative,
    check_positive,
    is_number,
)

LETTERS = "ARNDCQEGHILKMFPSTWYVBZX*"
#: in half bits; Henikoff & Henikoff 1992, as NCBI's BLAST has it
BLOSUM62 = """
 4 -1 -2 -2  0 -1 -1  0 -2 -1 -1 -1 -1 -2 -1  1  0 -3 -2  0 -2 -1  0 -4
-1  5  0 -2 -3  1  0 -2  0 -3 -2  2 -1 -3 -2 -1 -1 -3 -2 -3 -1  0 -1 -4
-2  0  6  1 -3  0  0  0  1 -3 -3  0 -2 -3 -2  1  0 -4 -2 -3  3  0 -1 -4
-2 -2  1  6 -3  0  2 -1 -1 -3 -4 -1 -3 -3 -1  0 -1 -4 -3 -3  4  1 -1 -4
 0 -3 -3 -3  9 -3 -4 -3 -3 -1 -1 -3 -1 -2 -3 -1 -1 -2 -2 -1 -3 -3 -2 -4
-1  1  0  0 -3  5  2 -2  0 -3 -2  1  0 -3 -1  0 -1 -2 -1 -2  0  3 -1 -4
-1  0  0  2 -4  2  5 -2  0 -3 -3  1 -2 -3 -1  0 -1 -3 -2 -2  1  4 -1 -4
 0 -2  0 -1 -3 -2 -2  6 -2 -4 -4 -2 -3 -3 -2  0 -2 -2 -3 -3 -1 -2 -1 -4
-2  0  1 -1 -3  0  0 -2  8 -3 -3 -1 -2 -1 -2 -1 -2 -2  2 -3  0  0 -1 -4
-1 -3 -3 -3 -1 -3 -3 -4 -3  4  2 -3  1  0 -3 -2 -1 -3 -1  3 -3 -3 -1 -4
-1 -2 -3 -4 -1 -2 -3 -4 -3  2  4 -2  2  0 -3 -2 -1 -2 -1  1 -4 -3 -1 -4
-1  2  0 -1 -3  1  1 -2 -1 -3 -2  5 -1 -3 -1  0 -1 -3 -2 -2  0  1 -1 -4
-1 -1 -2 -3 -1  0 -2 -3 -2  1  2 -1  5  0 -2 -1 -1 -1 -1  1 -3 -1 -1 -4
-2 -3 -3 -3 -2 -3 -3 -3 -1  0  0 -3  0  6 -4 -2 -2  1  3 -1 -3 -3 -1 -4
-1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4  7 -1 -1 -4 -3 -2 -2 -1 -2 -4
 1 -1  1  0 -1  0  0  0 -1 -2 -2  0 -1 -2 -1  4  1 -3 -2 -2  0  0  0 -4
 0 -1  0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1  1  5 -2 -2  0 -1 -1  0 -4
-3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1  1 -4 -3 -2 11  2 -3 -4 -3 -2 -4
-2 -2 -2 -3 -2 -1 -2 -3  2 -1 -1 -2 -1  3 -3 -2 -2  2  7 -1 -3 -2 -1 -4
 0 -3 -3 -3 -1 -2 -2 -3 -3  3  1 -2  1 -1 -2 -2  0 -3 -1  4 -3 -2 -1 -4
-2 -1  3  4 -3  0  1 -1  0 -3 -4  0 -3 -3 -2  0 -1 -4 -3 -3  4  1 -1 -4
-1  0  0  1 -3  3  4 -2  0 -3 -3  1 -1 -3 -1  0 -1 -3 -2 -2  1  4 -1 -4
 0 -1 -1 -1 -2 -1 -1 -1 -1 -1 -1 -1 -1 -1 -2  0  0 -2 -1 -1 -1 -1 -1 -4
-4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4  1
"""
LARGEST = 200.0  # of β times a score: sums of e^200 do not overflow before they are scaled
SYMBOLS = 255  # one more stands for what follows a sequence


@estimator
class LocalAlignment(Kernel):
    r"""Local alignment kernel in its logarithm,

    .. math::
        k(s, t) = \frac{1}{\beta} \log \sum_\pi e^{\beta \, \mathrm{score}(s, t, \pi)},

    over all local alignments π of two sequences, the empty one too. The score of π is the sum of
    the scores of its aligned pairs of letters, less the costs of its gaps. For a large β, k is the
    score of Smith and Waterman's best alignment; a small one takes near alignments in.

    Parameters
    ----------
    substitution : "BLOSUM62" or (float, float) or dict, default="BLOSUM62"
        The scores of pairs of letters: a name; or two numbers, for equal and for different symbols
        of any alphabet, such as (5, -4) for DNA; or a dict of all pairs, ``{"AA": 5, "AC": -4}``,
        in which the order of the two does not matter. BLOSUM62 reads proteins: case is ignored, and
        letters that are no amino acid count as X.
    open : float >= 0, default=11.0
        The cost of the first letter of a gap.
    extend : float >= 0, default=1.0
        The cost of each further letter.
    beta : float > 0, default=0.5
        β, in the inverse unit of the scores.

    Raises
    ------
    ValueError
        A symbol has no score, or β times a score is above 200; the message names it.

    See Also
    --------
    GappedKmer, Mismatch : Kernels that count common pieces, in time proportional to the length.
    mercer.distances.WeightedEdit : Whole sequences, with costs of pairs of letters.

    Notes
    -----
    Use ``LocalAlignment().normalised()``: k(s, s) grows with the length. The sum itself is a kernel
    (Saigo et al. 2004), but its Gram matrix is nearly diagonal. Its logarithm is **not** positive
    semidefinite in general: ``positive_definite`` is False, `check_mercer` finds the eigenvalues of
    a sample, and `repair` removes negative ones.

    A pair of sequences of n and m letters takes n m steps, about 1 ns each: several pairs are done
    at once where the processor has AVX2 or AVX-512. Memory is that of one row.

    References
    ----------
    Saigo, Vert, Ueda & Akutsu, "Protein homology detection using string alignment kernels",
    Bioinformatics 20, 2004. Henikoff & Henikoff, "Amino acid substitution matrices from protein
    blocks", PNAS 89, 1992.

    Examples
    --------
    >>> LocalAlignment().normalised()(["HEAGAWGHEE", "PAWHEAE"]).round(3)
    array([[1. , 0.4],
           [0.4, 1. ]])
    >>> LocalAlignment((5, -4), open=10, beta=10)(["GATTACA"], ["TTATTAG"]).round(1)
    array([[20.]])
    """

    meaning = Meaning(
        "(1/β) log Σ exp(β score of a local alignment)",
        "how well the most similar parts of two sequences can be aligned",
    )

    kind = "strings"
    positive_definite = False

    substitution: Any = "BLOSUM62"
    open: float = 11.0
    extend: float = 1.0
    beta: float = 0.5

    def validate(self) -> None:
        check_not_negative("open", self.open)
        check_not_negative("extend", self.extend)
        check_positive("beta", self.beta)
        scores = self._scores()
        if not np.isfinite(scores).all():
            raise ValueError(f"substitution={self.substitution!r}: give finite scores.")
        if float(self.beta) * scores.max() > LARGEST:
            raise ValueError(
                f"beta={self.beta!r}: times the largest score, {scores.max():g}, it must be at "
                f"most {LARGEST:g}: give a smaller beta."
            )

    def pair_cost(self, X: Strings) -> float:
        return 4.0 * float(X.lengths.mean()) ** 2 if len(X) else 0.0

    def check(self, X: Strings, like: Samples | None = None) -> None:
        self._codes(X)

    def prepare(self, X: Strings, like: Samples | None = None) -> Prepared:
        return X if isinstance(X, Prepared) else Prepared((X, Ragged(self._codes(X), X.starts)))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        (strings, x), (others, z) = X.parts, Z.parts
        known = self._table()
        if known is None:
            equal, different = self.substitution
            size = max(len(strings.alphabet), len(others.alphabet))
            scores = np.where(np.eye(size, dtype=bool), float(equal), float(different))
        else:
            scores = known[1]
        beta = float(self.beta)
        factors = np.zeros((len(scores) + 1, len(scores) + 1))  # symbol 0 follows a sequence
        factors[1:, 1:] = np.exp(beta * scores)
        K = np.empty((len(x), len(z)))
        gaps = (float(np.exp(-beta * float(cost))) for cost in (self.open, self.extend))
        _native.local_alignments(x.values, x.starts, z.values, z.starts, factors, *gaps, X is Z, K)
        K /= beta
        return K.astype(np.result_type(X.dtype, Z.dtype), copy=False)

    def _scores(self) -> np.ndarray:
        known = self._table()
        return np.array(self.substitution, float) if known is None else known[1]

    def _table(self) -> tuple[str | tuple, np.ndarray] | None:
        """The symbols that have scores, and these (a, a); None for two numbers."""
        given = self.substitution
        if isinstance(given, str) and given == "BLOSUM62":
            return LETTERS, _blosum62()
        if isinstance(given, dict) and given:
            return _of_pairs(given)
        numbers = (
            isinstance(given, (tuple, list)) and len(given) == 2 and all(map(is_number, given))
        )
        if not numbers:
            raise ValueError(
                f"substitution={str(given)[:60]!r}: give 'BLOSUM62', two numbers for equal and "
                "different symbols, such as (5, -4), or a dict of the scores of all pairs."
            )
        return None

    def _codes(self, X: Strings) -> np.ndarray:
        """The number of each symbol among those that have scores, from 1."""
        known = self._table()
        if known is None:
            if len(X.alphabet) > SYMBOLS:
                raise ValueError(
                    f"LocalAlignment reads up to {SYMBOLS} different symbols, but there are "
                    f"{len(X.alphabet)}."
                )
            return X.values.astype(np.uint8) + np.uint8(1)
        symbols = [chr(s) if X.form == "bytes" else s for s in X.alphabet]
        place = {symbol: i + 1 for i, symbol in enumerate(known[0])}
        if self.substitution == "BLOSUM62":
            place |= {s.lower(): i for s, i in place.items()}
            others = [s for s in symbols if isinstance(s, str) and len(s) == 1 and s.isalpha()]
            place = dict.fromkeys(others, LETTERS.index("X") + 1) | place
        codes = np.array([place.get(s, 0) for s in symbols], np.uint8)[X.values]
        wrong = np.flatnonzero(codes == 0)
        if len(wrong):
            row = int(np.searchsorted(X.starts, wrong[0], "right")) - 1
            raise ValueError(
                f"X[{row}] holds {symbols[X.values[wrong[0]]]!r}, but LocalAlignment has no score "
                "for it: remove gaps and other signs, or give substitution= scores of all symbols."
            )
        return codes


@cache
def _blosum62() -> np.ndarray:
    return np.array(BLOSUM62.split(), float).reshape(len(LETTERS), len(LETTERS))


def _of_pairs(given: dict) -> tuple[tuple, np.ndarray]:
    """The symbols of pairs, and their scores."""
    if not all(isinstance(p, (str, tuple)) and len(p) == 2 and is_number(s)
               for p, s in given.items()):  # fmt: skip
        raise ValueError("substitution: give a dict of pairs of symbols and scores: {'AC': -4.0}.")
    symbols = tuple(dict.fromkeys(symbol for pair in given for symbol in pair))
    if len(symbols) > SYMBOLS:
        raise ValueError(f"substitution has {len(symbols)} symbols: give at most {SYMBOLS}.")
    scores = np.full((len(symbols), len(symbols)), np.nan)
    for (a, b), score in given.items():
        i, j = symbols.index(a), symbols.index(b)
        if not np.isnan(scores[i, j]) and scores[i, j] != score:
            raise ValueError(f"substitution has two scores for {a!r} and {b!r}.")
        scores[i, j] = scores[j, i] = score
    if np.isnan(scores).any():
        i, j = np.argwhere(np.isnan(scores))[0]
        raise ValueError(f"substitution has no score for {symbols[i]!r} and {symbols[j]!r}.")
    return symbols, scores
