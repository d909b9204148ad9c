"""The loops of hashing with hostile arrays: any number of functions about the width of strips,
empty sets and lists, ties, and arrays that the bindings must refuse."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _native

COUNTS = [0, 1, 7, 15, 16, 17, 63, 64, 65, 127, 128, 130]
WIDTHS = [0, 1, 2, 7, 8, 9, 15, 16, 17, 33, 100]
DTYPES = [np.float32, np.float64]
LARGEST = 2**32 - 1


@pytest.mark.parametrize("count", COUNTS)
def test_least_hashes(count):
    rng = np.random.default_rng(count)
    starts = np.array([0, 0, 3, 4, 4, 30])
    values = rng.integers(0, 50, 30).astype(np.int32)
    numbers = rng.integers(0, 2**32, 50, np.uint32)
    a, b = rng.integers(0, 2**32, (2, count), np.uint32)
    ranks = rng.integers(0, 2**32, (50, count), np.uint32)
    hashed = numbers[:, None] * a + b
    for call, table in (
        (lambda out: _native.least_hashes(values, starts, numbers, a, b, out), hashed),
        (lambda out: _native.least_ranks(values, starts, ranks, out), ranks),
    ):  # fmt: skip
        guarded = np.full((7, count), 5, np.uint32)
        call(guarded[1:6])
        wanted = [table[values[s:e]].min(axis=0, initial=LARGEST)
                  for s, e in pairwise(starts)]  # fmt: skip
        assert_array_equal(guarded[1:6], np.reshape(wanted, (5, count)))
        assert (guarded[[0, 6]] == 5).all()


def test_texts():
    """Against the same steps on Python's integers."""

    def wanted(text):
        h, whole = 0x9E3779B97F4A7C15, 2**64
        for symbol in text:
            h = (h ^ symbol) * 0xBF58476D1CE4E5B9 % whole
            h ^= h >> 32
        h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD % whole
        h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 % whole
        return h >> 32

    symbols = np.array([0, 97, 2**32 - 1, 0x10FFFF, 98, 0, 0], np.uint32)
    starts = np.array([1, 1, 2, 5, 5, 7])
    guarded = np.full(7, 5, np.uint32)
    _native.hash_texts(symbols, starts, guarded[1:6])
    texts = [symbols[s:e].tolist() for s, e in pairwise(starts)]
    assert_array_equal(guarded, [5, *map(wanted, texts), 5])
    _native.hash_texts(symbols[:0], starts[:1] * 0, guarded[:0])


@pytest.mark.parametrize("n", [0, 1, 2, 3, 100, 1000])
@pytest.mark.parametrize("different", [1, 5, 10**6])
def test_tables_hold_all_rows_by_their_keys(n, different):
    rng = np.random.default_rng(n)
    hashes = rng.integers(0, different, (n, 6)).astype(np.int32)
    keys = np.empty((3, n), np.uint32)
    _native.hash_keys(hashes, keys)
    pairs = hashes.reshape(n, 3, 2).transpose(1, 0, 2)
    for key, pair in zip(keys, pairs):
        assert len(np.unique(key)) == len(np.unique(pair, axis=0))
    for bits in (1, 4, 12):
        starts = np.full((3, 2**bits + 1), 9, np.uint32)
        ids, kept = np.empty((3, n), np.int32), np.empty((3, n), np.uint32)
        _native.hash_tables(keys, starts, ids, kept)
        for t in range(3):
            order = np.argsort(keys[t] >> (32 - bits), kind="stable")
            assert_array_equal(ids[t], order)
            assert_array_equal(kept[t], keys[t][order])
            counts = np.bincount(keys[t] >> (32 - bits), minlength=2**bits)
            assert_array_equal(starts[t], np.concatenate([[0], np.cumsum(counts)]))
        most = np.empty(n, np.int64)
        _native.count_candidates(keys, starts, ids, kept, most)
        shared = (keys[:, :, None] == keys[:, None]).any(axis=0)
        for own in (np.full(n, -1), np.arange(n), np.full(n, 10**9)):
            others = shared & (np.arange(n) != own[:, None])
            assert (others.sum(axis=1) <= most).all()
            out, ends = np.empty(most.sum(), np.int32), np.empty(n + 1, np.int64)
            seen = np.zeros(n, np.uint32)
            total = _native.list_candidates(keys, starts, ids, kept, own, seen, out, ends)
            assert total == others.sum() == ends[-1]
            for i in range(n):
                assert_array_equal(np.sort(out[ends[i] : ends[i + 1]]), np.flatnonzero(others[i]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_listed_distances(dtype):
    rng = np.random.default_rng(0)
    for d in WIDTHS:
        Z, X = (rng.integers(-3, 4, (n, d)).astype(dtype) for n in (4, 9))
        w = rng.random(d).astype(dtype)
        ids, starts = rng.integers(0, 9, 20).astype(np.int32), np.array([0, 0, 5, 19, 20])
        A, B = Z[np.repeat(np.arange(4), np.diff(starts))], X[ids]
        for name, wanted in (
            ("squares", ((A - B) ** 2).sum(axis=1)),
            ("manhattan", abs(A - B).sum(axis=1)),
            ("differences", ((A != B) * w).sum(axis=1)),
        ):
            out = np.full(22, -7, dtype)
            getattr(_native, f"listed_{name}")(Z, X, w, ids, starts, out[1:21])
            assert_allclose(out[1:21], wanted, rtol=1e-5)
            assert out[0] == out[21] == -7


@pytest.mark.parametrize("dtype", DTYPES)
def test_listed_sets(dtype):
    sets = [[], [0, 1, 2], [1, 2, 3, 4], [7], [], [0, 1, 2]]
    values = np.array([v for s in sets for v in s], np.int32)
    bounds = np.cumsum([0, *map(len, sets)])
    n = len(sets)
    ids, starts = np.tile(np.arange(n, dtype=np.int32), n), np.arange(n + 1) * n
    out = np.empty(n * n, dtype)
    _native.listed_jaccard(values, bounds, values, bounds, ids, starts, out)
    wanted = [
        [1 - len({*a} & {*b}) / len({*a} | {*b}) if a or b else 0 for b in sets] for a in sets
    ]
    assert_allclose(out.reshape(n, n), wanted, rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 2, 5, 30])
def test_the_nearest_of_each_list(dtype, k):
    rng = np.random.default_rng(k)
    starts = np.array([0, 0, 3, 20, 21])
    values = rng.integers(0, 4, 21).astype(dtype)
    ids = rng.permutation(50)[:21].astype(np.int32)
    best, nearest = np.full((4, k), 5, dtype), np.full((4, k), 5)
    _native.nearest_listed(values, ids, starts, best, nearest)
    for i, (s, e) in enumerate(pairwise(starts)):
        wanted = sorted(zip(values[s:e].tolist(), ids[s:e].tolist()))[:k]
        wanted += [(np.inf, -1)] * (k - len(wanted))
        assert list(zip(best[i].tolist(), nearest[i].tolist())) == wanted


def u32(*shape):
    return np.zeros(shape, np.uint32)


def i32(*shape):
    return np.zeros(shape, np.int32)


TABLES = (np.array([[0, 1, 2]], np.uint32), i32(1, 2), u32(1, 2))
LIST = (np.array([0, 1], np.int32), np.array([0, 2]))


NOBODY, ENDS = np.array([-1]), np.zeros(2, np.int64)
ONE, TWO, NONE = np.ones((1, 2)), np.ones((2, 2)), np.ones(0)
OUT = np.ones(2)
N = _native


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (N.least_hashes, (i32(2), np.array([0, 3]), u32(1), u32(1), u32(1), u32(1, 1))),
        (N.least_hashes, (i32(2), np.array([0, 2]), u32(0), u32(1), u32(1), u32(1, 1))),
        (N.least_hashes, (i32(2), np.array([0, 2]), u32(1), u32(2), u32(1), u32(1, 1))),
        (N.least_hashes, (i32(2) - 1, np.array([0, 2]), u32(1), u32(1), u32(1), u32(1, 1))),
        (N.least_ranks, (i32(2), np.array([0, 2]), u32(0, 1), u32(1, 1))),
        (N.least_ranks, (i32(2), np.array([0, 2]), u32(1, 2), u32(1, 1))),
        (N.hash_texts, (u32(2), np.array([0, 3]), u32(1))),
        (N.hash_texts, (u32(2), np.array([1, 0]), u32(1))),
        (N.hash_texts, (u32(2), np.array([0, 2]), u32(2))),
        (N.hash_keys, (i32(2, 3), u32(2, 2))),
        (N.hash_keys, (i32(2, 3), u32(0, 2))),
        (N.hash_tables, (u32(1, 2), u32(1, 4), i32(1, 2), u32(1, 2))),
        (N.hash_tables, (u32(1, 2), u32(1, 2), i32(1, 2), u32(1, 2))),
        (N.hash_tables, (u32(1, 2), u32(2, 3), i32(1, 2), u32(1, 2))),
        (N.hash_tables, (u32(1, 2), u32(1, 3), i32(1, 3), u32(1, 2))),
        (N.count_candidates, (u32(2, 1), *TABLES, ENDS[:1])),
        (N.count_candidates, (u32(1, 1), TABLES[0] + 9, *TABLES[1:], ENDS[:1])),
        (N.list_candidates, (u32(1, 1), *TABLES, NOBODY, u32(2), i32(0), ENDS)),
        (N.list_candidates, (u32(1, 1), *TABLES, NOBODY, u32(1), i32(2), ENDS)),
        (
            N.list_candidates,
            (u32(1, 1), TABLES[0], i32(1, 2) - 5, TABLES[2], NOBODY, u32(2), i32(2), ENDS),
        ),
        (N.listed_squares, (ONE, ONE, NONE, *LIST, OUT)),
        (N.listed_squares, (ONE, np.ones((2, 3)), NONE, *LIST, OUT)),
        (N.listed_differences, (ONE, TWO, np.ones(1), *LIST, OUT)),
        (N.listed_manhattan, (ONE, TWO, NONE, LIST[0], np.array([0, 3]), OUT)),
        (
            N.listed_jaccard,
            (i32(1), np.array([0, 2]), i32(1), np.array([0, 1, 1]), *LIST, OUT),
        ),
        (N.listed_jaccard, (i32(1), np.array([0, 1]), i32(1), np.array([0, 1]), *LIST, OUT)),
        (N.nearest_listed, (OUT, i32(2), np.array([0, 3]), np.ones((1, 1)), ENDS[None, :1])),
        (N.nearest_listed, (OUT, i32(2), np.array([0, 2]), np.ones((1, 0)), ENDS[None, :0])),
    ],
)
def test_what_would_read_past_an_array_is_refused(call, given):
    with pytest.raises(ValueError, match=r"must|out of range|damaged|too short"):
        call(*[part.copy() for part in given])  # some are written to
