"""The loops over k-mers on hostile arrays: strings of every length about the widths of lanes and
strips, symbols of both types, keys of any number of bits, slices between guards, and numbers that
would lead past the end of an array.
"""

import collections
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _native

GUARD = 77
SYMBOLS = [np.uint8, np.int32]
STRIPS = [0, 1, 2, 3, 511, 512, 513, 1030]  # keys are made 512 at a time
LANES = [0, 1, 2, 63, 64, 65, 130]
PLACES = [0, 1, 2, 127, 128, 129, 257]  # runs are counted 128 places at a time


def place(A, shift=3):
    """A copy of A inside a larger array, with guards."""
    buffer = np.full(A.size + 2 * shift, GUARD).astype(A.dtype)
    view = buffer[shift : shift + A.size].reshape(A.shape)
    view[...] = A
    return view


def assert_guarded(A, shift=3):
    buffer = A if A.base is None else A.base
    assert (buffer[:shift] == GUARD).all()
    assert (buffer[buffer.size - shift :] == GUARD).all()


def shifted(A):
    """The same values, a byte out of step."""
    view = np.zeros(A.nbytes + 1, np.uint8)[1:].view(A.dtype).reshape(A.shape)
    view[...] = A
    return view


def strided(A):
    return np.repeat(A, 2, axis=-1)[..., ::2]


# --- keys --------------------------------------------------------------------------------------


def slow_keys(strings, window, positions, base):
    keys = []
    for s in strings:
        for i in range(len(s) - window + 1):
            key = 0
            for p in positions:
                key = (key * base + int(s[i + p])) % 2**64
            keys.append(key)
    return np.array(keys, np.uint64)


@pytest.mark.parametrize("dtype", SYMBOLS)
@pytest.mark.parametrize(
    ("window", "positions", "base"),
    [(1, [0], 3), (3, [0, 1, 2], 3), (5, [0, 4, 2], 2**31), (5, [], 7), (700, [0, 699], 2**64 - 1)],
)
def test_keys_of_strings_of_every_length(dtype, window, positions, base):
    rng = np.random.default_rng(0)
    for lengths in ([], [0], [0, 0], *itertools.permutations(STRIPS, 3)):
        strings = [rng.integers(0, 3, length).astype(dtype) for length in lengths]
        values = place(np.concatenate([np.empty(0, dtype), *strings]))
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        expected = slow_keys(strings, window, positions, base) if sum(lengths) < 1200 else None
        windows = sum(max(length - window + 1, 0) for length in lengths)
        keys = place(np.full(windows, 5, np.uint64))
        _native.kmer_keys(values, starts, window, np.array(positions, np.int64), base, keys)
        assert_guarded(keys)
        if expected is not None:
            assert_array_equal(keys, expected)


def keys_call(dtype=np.uint8):
    starts, positions = np.array([0, 2, 6], np.int64), np.array([0, 1], np.int64)
    return [np.zeros(6, dtype), starts, 2, positions, 4, np.zeros(4, np.uint64)]


@pytest.mark.parametrize("dtype", SYMBOLS)
def test_windows_that_are_none(dtype):
    _native.kmer_keys(*keys_call(dtype))

    def refused(k, value, error, message):
        arguments = keys_call(dtype)
        arguments[k] = value
        with pytest.raises(error, match=message):
            _native.kmer_keys(*arguments)

    for starts in ([1, 2, 6], [0, 7, 6], [0, -1, 6], [0, 2, 7], [0, 2, 5], [0, 2**62, 6], [-1, 6]):
        refused(1, np.array(starts, np.int64), IndexError, "starts must ascend")
    refused(1, np.empty(0, np.int64), ValueError, "one entry more")
    refused(2, 0, ValueError, "window must be at least 1")
    for window in (1, 3, 7, 2**63, 2**64 - 1):
        refused(2, window, (ValueError, IndexError), "one key per window|positions")
    refused(2, -1, TypeError, "incompatible")
    for positions in ([0, 2], [-1], [2**62], [-(2**63)]):
        refused(3, np.array(positions, np.int64), IndexError, "positions must be below")
    for size in (0, 3, 5):
        refused(5, np.zeros(size, np.uint64), ValueError, "one key per window")
    for k in (0, 1, 3, 5):
        array = keys_call(dtype)[k]
        refused(k, array.astype(np.float64), TypeError, "incompatible")
        refused(k, strided(array), TypeError, "incompatible")
        refused(k, None, TypeError, "incompatible")
        if array.itemsize > 1:
            refused(k, shifted(array), ValueError, "aligned")
    read_only = np.zeros(4, np.uint64)
    read_only.flags.writeable = False
    refused(5, read_only, TypeError, "incompatible")


# --- counts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [0, 1, 5, 11, 12, 13, 24, 25, 36, 37, 48, 61, 64])
def test_counts_of_keys_of_any_size(bits):
    rng = np.random.default_rng(0)
    for n in [0, 1, 2, 3, 100, 4097]:
        pool = rng.integers(0, 2**64, 40, np.uint64, endpoint=False) >> np.uint64(
            min(64 - bits, 63)
        )
        if bits == 0:
            pool[:] = 0
        keys, rows = (
            place(rng.choice(pool, n)),
            place(np.sort(rng.integers(0, 5, n)).astype(np.int32)),
        )
        pairs = collections.Counter(zip(keys.tolist(), rows.tolist()))
        counts = place(np.full(n, 5.0))
        size = _native.kmer_count(keys, rows, counts)
        found = zip(keys[:size].tolist(), rows[:size].tolist(), counts[:size].tolist())
        assert list(found) == [(*pair, count) for pair, count in sorted(pairs.items())]
        for A in (keys, rows, counts):
            assert_guarded(A)


@pytest.mark.parametrize("bits", [0, 7, 12, 13, 30, 64])
def test_sums_of_weights(bits):
    """Weights that are whole numbers, so that sums in any order are equal."""
    rng = np.random.default_rng(0)
    for n in [0, 1, 2, 100, 4097]:
        pool = rng.integers(0, 2**bits, 40, np.uint64) if bits else np.zeros(1, np.uint64)
        keys, rows = place(rng.choice(pool, n)), np.sort(rng.integers(0, 5, n)).astype(np.int32)
        rows, weights = place(rows), place(rng.integers(1, 9, n).astype(float))
        sums = collections.Counter()
        for key, row, weight in zip(keys.tolist(), rows.tolist(), weights.tolist()):
            sums[key, row] += weight
        size = _native.kmer_count(keys, rows, weights, True)
        found = zip(keys[:size].tolist(), rows[:size].tolist(), weights[:size].tolist())
        assert list(found) == [(*pair, total) for pair, total in sorted(sums.items())]
        for A in (keys, rows, weights):
            assert_guarded(A)


def test_counts_of_arrays_that_are_not_alike():
    keys, rows, counts = np.zeros(3, np.uint64), np.zeros(3, np.int32), np.zeros(3)
    for k, wrong in itertools.product(range(3), (np.repeat, np.delete)):
        arguments = [keys, rows, counts]
        arguments[k] = wrong(arguments[k], 2)
        with pytest.raises(ValueError, match="keys, rows and counts must"):
            _native.kmer_count(*arguments)
    for k in range(3):
        arguments = [keys, rows, counts]
        arguments[k] = arguments[k].astype(np.float32)
        with pytest.raises(TypeError, match="incompatible"):
            _native.kmer_count(*arguments)
        arguments[k] = shifted([keys, rows, counts][k])
        with pytest.raises(ValueError, match="aligned"):
            _native.kmer_count(*arguments)


# --- joins -------------------------------------------------------------------------------------


def triples(rng, n, size, pool=4):
    """Keys, rows and counts as `kmer_count` leaves them, at most `size` of them."""
    keys = rng.choice(np.array([0, 1, 2**63, 2**64 - 1], np.uint64)[:pool], size)
    rows = np.sort(rng.integers(0, max(n, 1), size)).astype(np.int32)
    counts = np.empty(size)
    size = _native.kmer_count(keys, rows, counts)
    return keys[:size], rows[:size], counts[:size]


def slow_join(X, Z, weight, n, m):
    K = np.zeros((n, m))
    for (key, i, c), (other, j, d) in itertools.product(zip(*X), zip(*Z)):
        if key == other:
            K[i, j] += weight * c * d
    return K


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 7), (7, 1), (6, 9), (40, 33)])
def test_joins_of_every_size(n, m):
    rng = np.random.default_rng(0)
    for size_x, size_z, pool in itertools.product((0, 1, 2, 60), (0, 1, 3, 60), (1, 4)):
        X, Z = triples(rng, n, size_x, pool), triples(rng, m, size_z, pool)
        out = place(np.ones((n, m)))
        _native.kmer_join(*map(place, X), *map(place, Z), 0.5, False, out)
        assert_allclose(out, 1 + slow_join(X, Z, 0.5, n, m))
        assert_guarded(out)
        out = place(np.ones((n, m)))
        _native.kmer_join(*X, *Z, 0.5, True, out)
        assert_allclose(np.triu(out), np.triu(1 + slow_join(X, Z, 0.5, n, m)))
        assert_guarded(out)


def test_joins_of_rows_that_are_none_or_in_disorder():
    X = [np.zeros(3, np.uint64), np.array([0, 1, 1], np.int32), np.ones(3)]
    for side, row in itertools.product((0, 3), (-1, 2, 2**31 - 1, -(2**31))):
        arguments = [A.copy() for A in (*X, *X)]
        arguments[side + 1][2] = row
        with pytest.raises(IndexError, match="rows must be numbers"):
            _native.kmer_join(*arguments, 1.0, False, np.zeros((2, 2)))
    for k in range(6):
        arguments = [A.copy() for A in (*X, *X)]
        arguments[k] = arguments[k][:2]
        with pytest.raises(ValueError, match="keys, rows and counts must"):
            _native.kmer_join(*arguments, 1.0, False, np.zeros((2, 2)))
        arguments[k] = shifted(X[k % 3])
        with pytest.raises(ValueError, match="aligned"):
            _native.kmer_join(*arguments, 1.0, False, np.zeros((2, 2)))
        arguments[k] = strided(X[k % 3])
        with pytest.raises(TypeError, match="incompatible"):
            _native.kmer_join(*arguments, 1.0, False, np.zeros((2, 2)))
    for out in (np.zeros(4), np.zeros((2, 2), np.float32), np.zeros((2, 2)).T[::-1]):
        with pytest.raises(TypeError, match="incompatible"):
            _native.kmer_join(*X, *X, 1.0, False, out)
    rng = np.random.default_rng(0)  # not sorted: any sum, but none beside out
    for upper in (False, True):
        out = place(np.zeros((5, 5)))
        for _ in range(50):
            rows = [rng.integers(0, 5, 30).astype(np.int32) for _ in range(2)]
            keys = [rng.integers(0, 3, 30).astype(np.uint64) for _ in range(2)]
            _native.kmer_join(
                keys[0], rows[0], np.ones(30), keys[1], rows[1], np.ones(30), 1.0, upper, out
            )
        assert_guarded(out)


# --- runs --------------------------------------------------------------------------------------


def slow_runs(X, Z, offset_x, offset_z, degree, weight):
    out = np.zeros((len(X), len(Z)))
    length = X.shape[1] - max(offset_x, offset_z)
    run = np.zeros_like(out)
    for p in range(length):
        same = X[:, p + offset_x][:, None] == Z[:, p + offset_z]
        run = np.where(same, run + 1, 0)
        r = np.minimum(run, degree)
        out += weight * r * (2 * degree + 1 - r)
    return out


@pytest.mark.spread(2)
@pytest.mark.parametrize("degree", [1, 3, 4096, 4097, 10**12])
@pytest.mark.parametrize("dtype", SYMBOLS)
def test_runs_of_every_size(dtype, degree):
    rng = np.random.default_rng(0)
    for n, m, length in itertools.product((0, 1, 3, 66), LANES, PLACES):
        if n * m * length > 40_000 and degree != 3:
            continue
        X = place((rng.random((n, length)) < 0.1).astype(dtype))
        Z = place((rng.random((m, length)) < 0.1).astype(dtype))
        for offset_x, offset_z in ((0, 0), (min(1, length), 0), (0, length), (min(2, length),) * 2):
            out = place(np.ones((n, m)))
            _native.match_runs(X, Z, offset_x, offset_z, degree, 0.5, False, out)
            expected = 1 + slow_runs(X, Z, offset_x, offset_z, degree, 0.5)
            assert_allclose(out, expected, rtol=1e-14)
            assert_guarded(out)


def test_runs_of_the_upper_triangle():
    rng = np.random.default_rng(0)
    for n in LANES:
        X = place(rng.integers(0, 2, (n, 9)).astype(np.uint8))
        out = place(np.zeros((n, n)))
        _native.match_runs(X, X, 0, 0, 3, 1.0, True, out)
        assert_allclose(np.triu(out), np.triu(slow_runs(X, X, 0, 0, 3, 1.0)))
        assert_guarded(out)


def test_symbols_of_every_value():
    """Bytes from 0 to 255, and the ends of int32, are all different."""
    ends = np.array([-(2**31), -1, 0, 1, 255, 256, 2**31 - 1], np.int32)
    for values in (np.arange(256, dtype=np.uint8), ends):
        X, out = values[:, None].copy(), np.zeros((len(values), len(values)))
        _native.match_runs(X, X, 0, 0, 1, 0.5, False, out)
        assert_array_equal(out, np.eye(len(values)))


def test_runs_that_are_none():
    X, Z, out = np.zeros((2, 5), np.uint8), np.zeros((3, 5), np.uint8), np.zeros((2, 3))

    def refused(error, message, **changes):
        arguments = {
            "X": X, "Z": Z, "offset_x": 0, "offset_z": 0, "degree": 1, "weight": 1.0,
            "upper": False, "out": out, **changes,
        }  # fmt: skip
        with pytest.raises(error, match=message):
            _native.match_runs(**arguments)

    refused(ValueError, "shapes must be", Z=np.zeros((3, 4), np.uint8))
    refused(ValueError, "shapes must be", out=np.zeros((3, 2)))
    refused(ValueError, "shapes must be", out=np.zeros((2, 4)))
    for name in ("offset_x", "offset_z"):
        for offset in (6, 2**63, 2**64 - 1):
            refused(ValueError, "offsets must be", **{name: offset})
        refused(TypeError, "incompatible", **{name: -1})
    refused(ValueError, "degree must be", degree=0)
    refused(TypeError, "incompatible", degree=-1)
    refused(TypeError, "incompatible", X=X.astype(np.int32))
    refused(TypeError, "incompatible", X=np.asfortranarray(X))
    refused(TypeError, "incompatible", out=np.asfortranarray(out))
    refused(TypeError, "incompatible", out=out.astype(np.float32))
    refused(ValueError, "aligned", out=shifted(out))
    _native.match_runs(X, Z, 5, 5, 1, 1.0, False, out)
    assert (out == 0).all()
