"""Bytes as samples and parameters: every kernel and distance on strings and sets, on inputs that
nobody thought of.

`one_input` turns any bytes into a comparison with parameters, some of them out of range, and into
samples, some of them hostile, and asserts what holds for all: a refusal is a ValueError, TypeError
or OverflowError; values are finite unless documented otherwise, symmetric, in agreement with the
diagonal, with the features, with samples encoded apart, with every instruction set and with
float32; kernels are positive semidefinite and metrics obey the triangle inequality where they
promise it. ``make fuzz`` runs it as a script.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp

import mercer.distances as d
import mercer.kernels as k
from fuzz.driver import Source, fuzz
from mercer import _native
from mercer.kernels import Kernel

REFUSALS = (ValueError, TypeError, OverflowError)
LENGTHS = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 130, 300]
ODD = ["\0", "\ud800", "\udfff", "é", "ß", "\U0001f600", "\U0010ffff", "\u0301", " ", ",", "\n"]
NAN = float("nan")  # one object: NaN equals no other
TOKENS = ["a", "b", "", "to", "be", 0, 1, -1, 2**70, 1.5, NAN, None, True, (), ("a", 1), b"a", "\0"]
WRONG = [None, NAN, 3, 2.5, {"a": 1}, {1, 2}, "abc", b"abc", ["a", ["b"]], object(), [{}], ()]
BAD = [0, -1, 1.5, NAN, np.inf, -np.inf, True, None, "x", 1e300, 2, 3, 1e-300, np.float32(0.5)]
EDITS = ["levenshtein", "indel", "osa", "damerau", "lcs", "hamming", "none"]
SEPARATORS = [None, ",", "a", "", 3, "\0", "ab"]


def number(s: Source, *good):
    """A good parameter, rarely a bad one."""
    return s.one_of(BAD) if s.rarely() else s.one_of(good)


def string_comparisons(s: Source):
    """Makers of all comparisons of strings."""
    length = (1, 2, 3, 4, 5, 6, 8, 9)
    decays = (1.0, 0.5, 0.9, 0.1, 1e-3, 1, np.float32(0.3))
    return [
        lambda: k.Spectrum(number(s, *length, 12, 16, 33, 65)),
        lambda: k.Spectrum(number(s, *length, 20, 70), shortest=1, decay=number(s, *decays)),
        lambda: k.Mismatch(number(s, 2, 3, 4, 1), number(s, 0, 1, 2)),
        lambda: k.GappedKmer(number(s, *length), number(s, 1, 2, 3, 4), s.below(4) == 3),
        lambda: k.GappedKmer(
            number(s, 2, 4, 6),
            number(s, 1, 2),
            s.below(2) == 1,
            None,
            number(s, 0, 1, 2),
            s.one_of((None, "full", "truncated", "both")),
            s.one_of((None, "centre", 3)),
            number(s, 50, 0.5, 1e9),
            number(s, 50, 1, 3),
        ),
        lambda: k.WeightedDegree(number(s, *length, 300), number(s, 0, 1, 2, 7, 1000)),
        lambda: k.AllSubsequences(number(s, *decays)),
        lambda: k.FixedLengthSubsequences(number(s, *length, 60, 300)),
        lambda: k.GapWeighted(number(s, *length, 60), number(s, *decays), s.below(2) == 1),
        lambda: k.LocalAlignment(
            s.one_of(("BLOSUM62", (5, -4), (1, -1.5), {"aa": 2.0}, "PAM")),
            number(s, 11, 0, 0.5),
            number(s, 1, 0, 3.5),
            number(s, 0.5, 1e-3, 3),
        ),
        lambda: k.EditRBF(number(s, 0.1, 1.0, 10, 1e-9, 1e9), s.one_of(EDITS)),
        lambda: d.Edit(s.one_of(EDITS), s.below(2) == 1),
        lambda: d.WeightedEdit(number(s, 0.5, 1, 2, 1e-9, 1e9), number(s, 0.5, 1, 3, 1e9)),
        lambda: d.JaroWinkler(number(s, 0.1, 0, 0.25, 0.2)),
    ]


def set_comparisons(s: Source):
    """Makers of all comparisons of sets."""
    makers = [k.Intersection, k.DerivedSubsets, k.Jaccard, k.Dice, d.Jaccard, d.Dice]
    return [lambda make=make: make(s.one_of(SEPARATORS) if s.rarely() else None) for make in makers]


def sample(s: Source, kind: str, hostile: bool):
    """Raw samples: most of one type, rarely with a row of another."""
    rows = strings(s) if kind == "strings" else sets(s)
    if not hostile or not isinstance(rows, list):
        return rows
    for _ in range(s.below(3)):
        rows[s.below(len(rows))] = s.one_of(WRONG)
    return s.one_of([lambda: rows, lambda: tuple(rows), lambda: rows[0], lambda: [],
                     lambda: dict(enumerate(rows)), lambda: object_array(rows)])()  # fmt: skip


def strings(s: Source) -> list:
    form, n, equal = s.below(6), 1 + s.below(9), s.below(3)
    common = s.one_of(LENGTHS)
    rows: list = []
    for _ in range(n):
        length = common if equal == 2 else s.one_of(LENGTHS[:12] if s.below(8) else LENGTHS)
        if rows and s.below(8) == 7:
            rows.append(rows[0])
            continue
        codes = symbols(s, length)
        if form == 0:
            rows.append("".join("ACGT"[c % 4] for c in codes))
        elif form == 1:
            rows.append("".join("ab"[c % 2] for c in codes))
        elif form == 2:
            rows.append("".join(ODD[c % len(ODD)] for c in codes))
        elif form == 3:
            rows.append("".join(chr((c * 4357) % 0x110000) for c in codes))
        elif form == 4:
            rows.append(bytes(c % 256 for c in codes))
        else:
            rows.append([TOKENS[c % len(TOKENS)] for c in codes])
    return rows


def symbols(s: Source, length: int) -> list[int]:
    """As many as wanted; long strings repeat a short one, so that few bytes make them."""
    period = min(length, 1 + s.below(24))
    piece = [s.below(256) for _ in range(period)]
    return [piece[i % period] for i in range(length)]


def sets(s: Source):
    form, n = s.below(5), 1 + s.below(9)
    if form == 4:
        width = s.one_of([0, 1, 2, 63, 64, 65, 130])
        X = np.array([symbols(s, width) for _ in range(n)], float).reshape(n, width)
        X = (X % 2).astype(s.one_of([float, np.float32, bool, np.int8]))
        return sp.csr_array(X) if s.below(2) else X
    rows = []
    for _ in range(n):
        codes = symbols(s, s.one_of(LENGTHS[:16]))
        codes = [c * (i + 1) for i, c in enumerate(codes)]
        if form == 0:
            rows.append({c % 9 for c in codes})
        elif form == 1:
            rows.append(frozenset(c % 2000 for c in codes))
        elif form == 2:
            rows.append([TOKENS[c % len(TOKENS)] for c in codes])
        else:
            rows.append({chr((c * 31) % 0x110000) for c in codes})
    return rows


def object_array(rows: list) -> np.ndarray:
    array = np.empty(len(rows), object)
    array[:] = rows
    return array


def one_input(data: bytes) -> str:
    """Check one input; what became of it ("refused" or the comparison that was checked)."""
    s = Source(data)
    kind = s.one_of(["strings", "strings", "sets"])
    makers = string_comparisons(s) if kind == "strings" else set_comparisons(s)
    comparison = s.one_of(makers)()
    normalised = isinstance(comparison, Kernel) and s.below(3) == 2
    if normalised:
        comparison = comparison.normalised()
    _native.use_isa(s.one_of(_native.available_isas()))
    hostile = s.rarely()
    X, Z = sample(s, kind, hostile), sample(s, kind, hostile and s.below(2) == 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "X is .* lists of one")  # texts, or tokens?
        try:
            comparison.validate()
            A = comparison.encode(X)
            K = comparison.block(A, A)
        except REFUSALS as error:
            return refused(comparison, error)
        check(comparison, A, K)
        try:
            B = comparison.encode(Z, like=A)
            C = comparison.block(B, A)
        except REFUSALS as error:
            refused(comparison, error)
        else:
            check_pairs(comparison, A, B, K, C, X)
    return repr(comparison)


def refused(comparison, error: Exception) -> str:
    assert str(error), f"{comparison!r}: a refusal without a word"
    return "refused"


def check(comparison, A, K: np.ndarray) -> None:
    """What holds for the values of all pairs of one sample."""
    n = len(A)
    assert K.shape == (n, n), K.shape
    assert K.dtype == np.float64
    assert not np.isnan(K).any(), "NaN"
    endless = hasattr(comparison, "scaled_block")
    assert endless or np.isfinite(K).all(), "infinite"
    agree(K, K.T, "symmetric")
    short = A.astype(np.float32)
    if not endless:
        K32 = comparison.block(short, short)
        assert K32.dtype == np.float32
        if np.abs(K).max(initial=0) < 1e37:
            agree(K32, K, "float32", 1e-4, np.finfo(np.float32).tiny)
    before = _native.isa()
    for isa in _native.available_isas():
        _native.use_isa(isa)
        agree(comparison.block(A, A), K, isa)
    _native.use_isa(before)
    rows = np.arange(n)[::-2]
    agree(comparison.block(A[rows], A), K[rows], "some rows")
    agree(comparison.block(A[1:], A[:1]), K[1:, :1], "a slice of rows")
    if isinstance(comparison, Kernel):
        check_kernel(comparison, A, K, endless)
    else:
        check_distance(comparison, A, K)


def check_kernel(kernel, A, K: np.ndarray, endless: bool) -> None:
    diag = kernel.diag(A)
    agree(diag, K.diagonal(), "diagonal")
    if endless:
        m, e = kernel.scaled_block(A, A)
        assert np.isfinite(m).all(), "infinite mantissas"
        with np.errstate(over="ignore", under="ignore"):
            agree(np.ldexp(m, np.clip(e, -(2**20), 2**20).astype(np.int32)), K, "mantissas")
    if not np.isfinite(K).all():
        return
    if kernel.positive_definite is True:
        scale = np.abs(K).max(initial=0)
        if scale:
            least = np.linalg.eigvalsh(K / scale)[0]
            assert least > -1e-9 * len(K), f"not positive semidefinite: {least}"
    if hasattr(kernel, "features"):
        F = kernel.features(A)
        F = F.toarray() if sp.issparse(F) else F
        agree(F @ F.T, K, "features", 1e-8)


def check_distance(distance, A, D: np.ndarray) -> None:
    assert (D >= 0).all(), "negative"
    if distance.reflexive:
        assert (D.diagonal() == 0).all(), "a sample is not at distance 0 of itself"
    if distance.metric:
        through = (D[:, :, None] + D[None, :, :]).min(axis=1)
        assert (through >= D * (1 - 1e-12) - 1e-12).all(), "triangle inequality"
    key = distance.key(A)
    if key is not None:
        assert (np.abs(key[:, None] - key) <= D).all(), "keys"
    limit = float(np.median(D))
    W = distance.within(A, A, limit)
    near = limit >= D
    assert (W[near] == D[near]).all(), "within"
    assert (W[~near] > limit).all(), "within"


def check_pairs(comparison, A, B, K: np.ndarray, C: np.ndarray, X) -> None:
    """What holds for the values of two samples, C of B and A, and K of A encoded anew as X."""
    assert C.shape == (len(B), len(A)), C.shape
    agree(comparison.block(A, B), C.T, "(A, B) and (B, A)")
    half = len(A) // 2  # rows that lack symbols of the others
    agree(comparison.block(comparison.encode(X[half:], like=A), A), K[half:], "encoded apart")
    assert comparison.encode(A) is A


def agree(
    A: np.ndarray, B: np.ndarray, what: str, rtol: float = 1e-9, atol: float = 1e-300
) -> None:
    finite = np.isfinite(B)
    scale = np.abs(B[finite]).max(initial=0)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(A - B) <= rtol * np.maximum(np.abs(B), 1e-3 * scale) + atol
    assert A.shape == B.shape, what
    assert (near | (A == B)).all(), f"{what}:\n{A}\n{B}"


if __name__ == "__main__":
    fuzz(one_input)
