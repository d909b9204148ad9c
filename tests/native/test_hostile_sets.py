"""The loops on sets and on nearest neighbours with hostile arrays: sizes about the widths of
vectors, words and strips, strange items, and arrays that the bindings must refuse."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _native

WIDTHS = [0, 1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 300]
WORDS = [0, 1, 2, 3, 4, 29, 30, 31, 33, 60, 61, 95]
DTYPES = [np.float32, np.float64]
LAST = np.iinfo(np.int64).max


def some_bits(rng, shape, full):
    bits = rng.integers(0, 2**64, shape, np.uint64)
    return np.full(shape, 2**64 - 1, np.uint64) if full else bits


def some_lists(rng, n, items, longest):
    """Rows of different items, ascending, one after another, and where each starts."""
    lists = [
        np.sort(rng.choice(items, rng.integers(0, longest + 1), replace=False)) for _ in range(n)
    ]
    starts = np.concatenate(([0], np.cumsum([len(row) for row in lists]))).astype(np.int64)
    return starts, np.concatenate([np.empty(0, np.int32), *lists]).astype(np.int32)


def compared(A, a, Bt, b, items, out, what=0, share=1.0, sizes=None):
    xx, zz = sizes or (np.zeros(len(A), out.dtype), np.zeros(Bt.shape[1], out.dtype))
    _native.shared_items(A, *a, Bt, *b, items, xx, zz, share, what, out)


def twin(A, a, Bt, b):
    out = np.zeros((len(A), Bt.shape[1]), int)
    for bits, others in zip(A.T, Bt):
        out += np.bitwise_count(bits[:, None] & others).astype(int)
    rows, columns = (
        [set(items[s:e].tolist()) for s, e in pairwise(starts)] for starts, items in (a, b)
    )
    return out + np.array([len(x & z) for x in rows for z in columns], int).reshape(out.shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("full", [False, True], ids=["random", "all bits"])
def test_shared_items_of_every_size(dtype, full):
    rng = np.random.default_rng(0)
    for words in WORDS:
        for m in [*WIDTHS, 1023, 1024, 1025] if words == 3 else WIDTHS:
            A, Bt = some_bits(rng, (3, words), full), some_bits(rng, (words, m), full)
            a, b = some_lists(rng, 3, 40, 9), some_lists(rng, m, 40, words % 4 * 3)
            guarded = np.full((5, m), -7, dtype)
            compared(A, a, Bt, b, 40, guarded[1:4])
            assert_array_equal(guarded[1:4], twin(A, a, Bt, b))
            assert (guarded[[0, 4]] == -7).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_an_index_is_that_of_the_shared_items(dtype, share):
    rng = np.random.default_rng(1)
    A, Bt = some_bits(rng, (3, 2), False), some_bits(rng, (2, 2050), False)
    a, b = some_lists(rng, 3, 9, 5), some_lists(rng, 2050, 9, 5)
    A[0], Bt[:, 7] = 0, 0
    a[0][1:] -= a[0][1]  # the first set is empty, and one of the others
    a = a[0], a[1][len(a[1]) - a[0][-1] :]
    sizes = [
        np.bitwise_count(A).sum(1) + np.diff(a[0]),
        np.bitwise_count(Bt).sum(0) + np.diff(b[0]),
    ]
    sizes = tuple(size.astype(dtype) for size in sizes)
    for what in (1, 2):
        out, wanted = np.empty((3, 2050), dtype), twin(A, a, Bt, b).astype(dtype)
        compared(A, a, Bt, b, 9, out, what, share, sizes)
        _native.tversky(wanted, *sizes, share, what == 2)
        assert_array_equal(out, wanted)


def test_counts_beyond_many_bytes():
    """More than 2^16 shared items, which no field of a word may hold, and as many listed."""
    A = np.full((1, 5000), 2**64 - 1, np.uint64)
    out = np.empty((1, 1))
    listed = np.array([0, 70_000]), np.arange(70_000, dtype=np.int32)
    compared(A, listed, A.T.copy(), listed, 70_000, out)
    assert out[0, 0] == 390_000


@pytest.mark.parametrize(
    ("starts", "items", "said"),
    [
        ([0, 4, 4], [0, 1, 2], "starts must ascend"), ([0, 2, 1], [0, 1, 2], "starts must ascend"),
        ([-1, 2, 3], [0, 1, 2], "starts must ascend"), ([0, LAST, 3], [0, 1, 2], "starts must"),
        ([0, 1, 3], [0, 5, 2], "from 0 to items"), ([0, 1, 3], [0, -1, 2], "from 0 to items"),
    ],
)  # fmt: skip
def test_lists_that_are_none(starts, items, said):
    good = np.array([0, 1, 3]), np.array([0, 1, 2], np.int32)
    bad = np.array(starts), np.array(items, np.int32)
    for a, b in ((good, bad), (bad, good)):
        with pytest.raises(ValueError, match=said):
            compared(words(2, 1), a, words(1, 2), b, 5, np.empty((2, 2)))
    with pytest.raises(ValueError, match="what must be"):
        compared(words(2, 1), good, words(1, 2), good, 5, np.empty((2, 2)), what=3)
    with pytest.raises(ValueError, match="items must be below"):
        compared(words(2, 1), good, words(1, 2), good, 2**31, np.empty((2, 2)))


@pytest.mark.parametrize("words", [0, 1, 2, 5])
def test_packed_items(words):
    items = np.array([0, 63, 64, 65, 127, 128, 319, -1, 2**31 - 1, -(2**31), 1, 1], np.int32)
    starts = np.array([0, 3, 3, 9, 12])
    out = np.full((4, words), 5, np.uint64)
    _native.pack_sets(items, starts, out)
    for row, s, e in zip(out, starts[:-1], starts[1:]):
        bits = {64 * k + b for k in range(words) for b in range(64) if int(row[k]) >> b & 1}
        assert bits == {v for v in items[s:e].tolist() if 0 <= v < 64 * words}


@pytest.mark.parametrize("starts", [[0, 4], [-1, 2], [2, 1], [0, -5], [3, 3, 2], [0, LAST]])
def test_starts_that_are_none(starts):
    out = np.empty((len(starts) - 1, 1), np.uint64)
    with pytest.raises(ValueError, match="starts must ascend"):
        _native.pack_sets(np.zeros(3, np.int32), np.array(starts), out)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_tversky_of_every_size(dtype, share):
    rng = np.random.default_rng(0)
    for m in WIDTHS:
        a, b = rng.integers(0, 5, 4).astype(dtype), rng.integers(0, 5, m).astype(dtype)
        c = np.minimum(a[:, None], b) * rng.integers(0, 2, (4, m)).astype(dtype)
        with np.errstate(invalid="ignore"):
            alike = np.where(a[:, None] + b > 0, c / (c + share * (a[:, None] + b - 2 * c)), 1)
        for apart, wanted in ((False, alike), (True, 1 - alike)):
            G = c.copy()
            _native.tversky(G, a, b, share, apart)
            assert_allclose(G, wanted, rtol=1e-6, atol=1e-6 if dtype is np.float32 else 1e-15)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 2, 7, 200])
def test_the_nearest_of_every_size(dtype, k):
    """In two tiles whose columns are in any order, with ties, and with oneself among them."""
    rng = np.random.default_rng(0)
    for m in WIDTHS:
        D = rng.integers(0, 6, (3, 2 * m)).astype(dtype)
        columns, own = rng.permutation(2 * m), np.array([-1, m, 0])
        best, nearest = np.full((3, k), np.inf, dtype), np.full((3, k), LAST)
        for half in (slice(0, m), slice(m, None)):
            tile = np.ascontiguousarray(D[:, half])
            _native.keep_nearest(tile, columns[half].copy(), own, best, nearest)
        for i in range(3):
            wanted = sorted((d, j) for d, j in zip(D[i], columns) if j != own[i])[:k]
            assert list(zip(best[i], nearest[i]))[: len(wanted)] == wanted
            assert (nearest[i, len(wanted) :] == LAST).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_no_number_is_far(dtype):
    D = np.array([[np.nan, 3, np.inf, -np.nan, 1, -np.inf]], dtype)
    best, nearest = np.full((1, 5), np.inf, dtype), np.full((1, 5), LAST)
    _native.keep_nearest(D, np.arange(6), np.array([-1]), best, nearest)
    assert best.tolist() == [[-np.inf, 1, 3, np.inf, np.inf]]
    assert nearest.tolist() == [[5, 4, 1, 0, 2]]


def words(n, m):
    return np.zeros((n, m), np.uint64)


@pytest.mark.parametrize("dtype", DTYPES)
def test_wrong_shapes_are_refused(dtype):
    out = np.empty((2, 3), dtype)
    none = [(np.zeros(n, np.int64), np.empty(0, np.int32)) for n in range(5)]
    for A, Bt, a, b in [
        ((2, 4), (5, 3), 3, 4), ((1, 4), (4, 3), 3, 4), ((2, 4), (4, 2), 3, 4),
        ((2, 4), (4, 3), 2, 4), ((2, 4), (4, 3), 3, 3),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="shapes must be"):
            compared(words(*A), none[a], words(*Bt), none[b], 1, out)
    for sizes in ((3, 3), (2, 2)):
        both = tuple(np.zeros(n, dtype) for n in sizes)
        with pytest.raises(ValueError, match="shapes must be"):
            compared(words(2, 4), none[3], words(4, 3), none[4], 1, out, sizes=both)
    for a, b in ((2, 2), (3, 3), (0, 3)):
        with pytest.raises(ValueError, match="shapes must be"):
            _native.tversky(out, np.ones(a, dtype), np.ones(b, dtype), 1.0, True)
    with pytest.raises(ValueError, match="shapes must be"):
        _native.pack_sets(np.zeros(1, np.int32), np.zeros(2, np.int64), words(2, 1))
    good = [out, np.arange(3), np.arange(2), np.empty((2, 4), dtype), np.zeros((2, 4), np.int64)]
    bad = [(1, np.arange(2)), (2, np.arange(3)), (3, np.empty((1, 4), dtype)),
           (3, np.empty((2, 0), dtype)), (4, np.zeros((2, 3), np.int64))]  # fmt: skip
    for place, other in bad:
        with pytest.raises(ValueError, match="shapes must be"):
            _native.keep_nearest(*good[:place], other, *good[place + 1 :])
    nobody = [good[0], good[1], good[2], np.empty((2, 0), dtype), np.zeros((2, 0), np.int64)]
    with pytest.raises(ValueError, match="k >= 1"):
        _native.keep_nearest(*nobody)


def test_matrices_are_taken_as_they_are_or_refused():
    out, none = np.empty((2, 2)), (np.zeros(3, np.int64), np.empty(0, np.int32))
    refused = [
        lambda: compared(words(2, 2).astype(np.int64), none, words(2, 2), none, 1, out),
        lambda: compared(words(2, 4)[:, ::2], none, words(2, 2), none, 1, out),
        lambda: compared(words(2, 2), none, np.asfortranarray(words(2, 2)), none, 1, out),
        lambda: compared(words(2, 2), none, words(2, 2), none, 1, np.empty((2, 2), int)),
        lambda: compared(words(2, 2), (none[0], none[1].astype(float)), words(2, 2), none, 1, out),
        lambda: _native.pack_sets(np.zeros(1, np.int32), np.zeros(3, np.int64), out),
        lambda: _native.tversky(out[:, ::-1], np.ones(2), np.ones(2), 1.0, False),
        lambda: _native.keep_nearest(
            out, np.arange(2), np.arange(2), out.astype(np.float32), np.zeros((2, 2), np.int64)
        ),
        lambda: _native.keep_nearest(
            out, np.arange(2), np.arange(2), out.copy(), np.zeros((2, 2), np.int32)
        ),
    ]
    for call in refused:
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call()


def listed_pairs(**changes):
    starts, items = np.array([0, 1, 3]), np.array([0, 1, 2], np.int32)
    given = {
        "A": words(2, 2), "A_starts": starts, "A_items": items, "B": words(2, 2),
        "B_starts": starts, "B_items": items, "items": 5, "xx": np.ones(2), "zz": np.ones(2),
        "share": 1.0, "what": 0, "pairs": np.array([[0, 0], [1, 1]]), "out": np.zeros(2),
    }  # fmt: skip
    given |= changes
    _native.shared_pairs(**given)
    return given["out"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("full", [False, True], ids=["random", "all bits"])
def test_listed_pairs_of_sets(dtype, full):
    rng = np.random.default_rng(1)
    for count in WORDS:
        A, B = some_bits(rng, (5, count), full), some_bits(rng, (9, count), full)
        a, b = some_lists(rng, 5, 130, 9), some_lists(rng, 9, 130, 20)
        pairs = rng.integers(0, [5, 9], (60, 2))
        xx, zz = rng.integers(0, 50, 5).astype(dtype), rng.integers(0, 50, 9).astype(dtype)
        for listed in (pairs, pairs[np.argsort(pairs[:, 0])], pairs[:1], pairs[:0]):
            for what in range(3):
                whole = np.empty((5, 9), dtype)
                Bt = np.ascontiguousarray(B.T)
                compared(A, a, Bt, b, 130, whole, what, 0.5, (xx, zz))
                guarded = np.full(len(listed) + 2, -7, dtype)
                listed_pairs(
                    A=A, A_starts=a[0], A_items=a[1], B=B, B_starts=b[0], B_items=b[1], items=130,
                    xx=xx, zz=zz, share=0.5, what=what, pairs=listed, out=guarded[1:-1],
                )  # fmt: skip
                assert_array_equal(guarded[1:-1], whole[listed[:, 0], listed[:, 1]])
                assert (guarded[[0, -1]] == -7).all()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"B": words(2, 1)}, ValueError, "shapes must be"),
        ({"A_starts": np.zeros(2, np.int64)}, ValueError, "shapes must be"),
        ({"B_starts": np.zeros(4, np.int64)}, ValueError, "shapes must be"),
        ({"xx": np.ones(3)}, ValueError, "shapes must be"),
        ({"zz": np.ones(1)}, ValueError, "shapes must be"),
        ({"pairs": np.zeros((2, 1), np.int64)}, ValueError, "shapes must be"),
        ({"out": np.zeros(3)}, ValueError, "shapes must be"),
        ({"what": 3}, ValueError, "what must be"),
        ({"items": 2**31}, ValueError, "items must be below"),
        ({"items": 2}, ValueError, "from 0 to items"),
        ({"A_items": np.array([0, 1, -1], np.int32)}, ValueError, "from 0 to items"),
        ({"A_starts": np.array([0, 2, 1])}, ValueError, "starts must ascend"),
        ({"B_starts": np.array([0, 1, LAST])}, ValueError, "starts must ascend"),
        ({"B_starts": np.array([-1, 1, 3])}, ValueError, "starts must ascend"),
        ({"pairs": np.array([[0, 0], [2, 0]])}, ValueError, "numbers of rows"),
        ({"pairs": np.array([[0, 0], [0, -1]])}, ValueError, "numbers of rows"),
        ({"pairs": np.zeros((2, 2), np.int32)}, TypeError, "incompatible"),
        ({"out": np.zeros(4)[::2]}, TypeError, "incompatible"),
    ],
)  # fmt: skip
def test_listed_pairs_of_sets_that_are_refused(changes, error, message):
    assert_array_equal(listed_pairs(), [1, 2])
    with pytest.raises(error, match=message):
        listed_pairs(**changes)
