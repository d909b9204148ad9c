"""The loops on sets and on nearest neighbours with hostile arrays: sizes about the widths of
vectors, words and strips, strange items, and arrays that the bindings must refuse."""

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


def popcounts(A, Bt):
    out = np.zeros((len(A), Bt.shape[1]), int)
    for a, b in zip(A.T, Bt):
        out += np.bitwise_count(a[:, None] & b).astype(int)
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("full", [False, True], ids=["random", "all bits"])
def test_shared_bits_of_every_size(dtype, full):
    rng = np.random.default_rng(0)
    for words in WORDS:
        for m in WIDTHS:
            A, Bt = some_bits(rng, (3, words), full), some_bits(rng, (words, m), full)
            guarded = np.full((5, m), -7, dtype)
            _native.shared_bits(A, Bt, guarded[1:4])
            assert_array_equal(guarded[1:4], popcounts(A, Bt))
            assert (guarded[[0, 4]] == -7).all()


def test_counts_beyond_many_bytes():
    """More than 2^16 shared items, which no field of a word may hold."""
    A = np.full((1, 5000), 2**64 - 1, np.uint64)
    out = np.empty((1, 1))
    _native.shared_bits(A, A.T.copy(), out)
    assert out[0, 0] == 320_000


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
    for A, Bt in [((2, 4), (5, 3)), ((1, 4), (4, 3)), ((2, 4), (4, 2))]:
        with pytest.raises(ValueError, match="shapes must be"):
            _native.shared_bits(words(*A), words(*Bt), out)
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
    out = np.empty((2, 2))
    refused = [
        lambda: _native.shared_bits(words(2, 2).astype(np.int64), words(2, 2), out),
        lambda: _native.shared_bits(words(2, 4)[:, ::2], words(2, 2), out),
        lambda: _native.shared_bits(words(2, 2), np.asfortranarray(words(2, 2)), out),
        lambda: _native.shared_bits(words(2, 2), words(2, 2), np.empty((2, 2), int)),
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
