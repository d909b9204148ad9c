"""The loops of hashing with hostile arrays: any number of functions about the width of strips,
empty sets and lists, ties, and arrays that the bindings must refuse."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _native
from mercer.samples.sets import split_items

COUNTS = [0, 1, 7, 15, 16, 17, 33, 63, 64, 65, 97, 127, 128, 130]
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
        (lambda out: _native.least_hashes(numbers[values], starts, a, b, out), hashed),
        (lambda out: _native.least_ranks(values, starts, ranks, out), ranks),
    ):  # fmt: skip
        guarded = np.full((7, count), 5, np.uint32)
        call(guarded[1:6])
        wanted = [table[values[s:e]].min(axis=0, initial=LARGEST)
                  for s, e in pairwise(starts)]  # fmt: skip
        assert_array_equal(guarded[1:6], np.reshape(wanted, (5, count)))
        assert (guarded[[0, 6]] == 5).all()


@pytest.mark.parametrize("count", COUNTS[1:])
def test_least_in_parts(count):
    """Parts with items have their least values; the others that of a part with items."""
    rng = np.random.default_rng(count)
    starts = np.array([0, 0, 3, 4, 4, 130])
    numbers = rng.integers(0, 2**32, 130, np.uint32)
    guarded = np.full((7, count), 5, np.uint32)
    _native.least_in_parts(numbers, starts, 2**31 + 9, 77, guarded[1:6])
    assert (guarded[[0, 6]] == 5).all()
    for out, (s, e) in zip(guarded[1:6], pairwise(starts)):
        values = (numbers[s:e] * np.uint32(2**31 + 9) + np.uint32(77)).astype(np.uint64)
        parts, least = values * np.uint64(count) >> np.uint64(32), {}
        for part, value in zip(parts.tolist(), values.tolist()):
            least[part] = min(value, least.get(part, LARGEST))
        assert all(out[part] == value for part, value in least.items())
        assert {*out.tolist()} == {*least.values()} if least else (out == LARGEST).all()
    for ends, out in ((np.array([0, 131]), guarded[:1]), (starts, guarded[:5, :0])):
        with pytest.raises(ValueError, match=r"starts"):
            _native.least_in_parts(numbers, ends, 1, 1, out)


SECRET = (0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3)
TEXTS = ["", "a", "ab", "seven77", "eightee8", "a" * 15, "b" * 16, "c" * 17, "d" * 32, "e" * 100,
         "é", "\ud800", "\U0010ffff" * 5, "\0", "\0\0"]  # fmt: skip


def hashed(text):
    """What `hash_bytes` does, on Python's integers."""

    def folded(a, b):
        return a * b % 2**64 ^ a * b >> 64

    content, seed = text.encode("utf-8", "surrogatepass"), SECRET[0]
    size, word = len(content), lambda part: int.from_bytes(part, "little")
    while len(content) > 16:
        seed = folded(word(content[:8]) ^ SECRET[1], word(content[8:16]) ^ seed)
        content = content[16:]
    a, b = word(content[:8]), word(content[8:])
    return folded(SECRET[1] ^ size, folded(a ^ SECRET[2], b ^ seed))


def test_numbers_of_texts():
    wanted = [hashed(text) >> 32 for text in TEXTS]
    assert_array_equal(_native.hash_items(TEXTS), wanted)
    assert _native.hash_items([]).shape == (0,)
    rows = [TEXTS[:4], [], tuple(TEXTS[4:]), iter(TEXTS[:2]), frozenset(TEXTS[:1])]
    numbers, starts = _native.hash_rows(rows, 1, 5)
    assert_array_equal(starts, [0, 0, 11, 13, 14])
    assert_array_equal(numbers, [*wanted[4:], *wanted[:2], wanted[0]])
    for wrong in ([1], ["a", b"b"], [None]):
        with pytest.raises(TypeError, match="not a text"):
            _native.hash_items(wrong)
        with pytest.raises(TypeError, match="not a text"):
            _native.hash_rows([wrong], 0, 1)
    for start, stop in ((0, 2), (1, 0)):
        with pytest.raises(ValueError, match="rows must be"):
            _native.hash_rows([["a"]], start, stop)
    with pytest.raises(ValueError, match="must not be empty"):
        _native.split_rows(["a"], "", 0, 1)


@pytest.mark.parametrize("separator", [",", " ", "::", "é", "\0"])
def test_texts_are_split_as_python_splits_them(separator):
    """Items of any length beside the ends of blocks of 64 bytes, and every kind of white space."""
    rng = np.random.default_rng(0)
    white = [chr(c) for c in range(0x3001) if chr(c).isspace()]
    parts = [separator, separator, "a", "bcd", "é\u2001x", "x" * 30, *white]
    texts = ["".join(rng.choice(parts, n)) for n in (0, 1, 2, 3, *range(4, 130, 3))]
    texts += ["a" * 64 + separator + "b" * 63, "a" * 128, separator * 64, *white]
    numbers, starts = _native.split_rows(texts, separator, 0, len(texts))
    for text, (s, e) in zip(texts, pairwise(starts)):
        assert_array_equal(numbers[s:e], _native.hash_items(split_items(text, separator)))


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
        (N.least_hashes, (u32(2), np.array([0, 3]), u32(1), u32(1), u32(1, 1))),
        (N.least_hashes, (u32(2), np.array([1, 0]), u32(1), u32(1), u32(1, 1))),
        (N.least_hashes, (u32(2), np.array([0, 2]), u32(2), u32(1), u32(1, 1))),
        (N.least_ranks, (i32(2), np.array([0, 2]), u32(0, 1), u32(1, 1))),
        (N.least_ranks, (i32(2), np.array([0, 2]), u32(1, 2), u32(1, 1))),
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
