"""The loops over strings of mercer._native on hostile arrays: lengths about the heights of strips,
strings that start between vector boundaries, guards beside all that is written, and numbers that
would lead past the end of an array.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from mercer import _native

LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 63, 65, 129]
MARGIN = 64  # string_margin of subsequences.hpp
GUARD = -77
CODES = [np.uint8, np.int32]
NAMES = ["all_subsequences", "all_subsequences_scaled", "gap_weighted"]
WEIGHTS = [0.25, 0.0, 1.0]


def guarded(shape, dtype, shift=3):
    """An array of zeros within a larger allocation of guards."""
    size = int(np.prod(shape))
    buffer = np.full(size + 2 * shift, GUARD).astype(dtype)
    view = buffer[shift : shift + size].reshape(shape)
    view[...] = 0
    return view


def assert_guarded(A, shift=3):
    buffer = A if A.base is None else A.base
    if len(buffer) > A.size:
        assert (buffer[:shift] == buffer.dtype.type(np.int64(GUARD).astype(A.dtype))).all()
        assert (buffer[-shift:] == buffer.dtype.type(np.int64(GUARD).astype(A.dtype))).all()


def strings(rng, code, lengths, letters=3):
    """Strings that start at odd places of an allocation of exactly their size."""
    starts = np.concatenate(([1], 1 + np.cumsum(lengths))).astype(np.int64)
    return rng.integers(0, letters, starts[-1]).astype(code), starts


def call(name, x, x_starts, z, z_starts, pairs, budget=np.inf, columns=None):
    """The arguments of a call, and those of them that it writes to."""
    lengths = [np.diff(s).max(initial=0) for s in (x_starts, z_starts)]
    columns = min(lengths) + 2 * MARGIN if columns is None else columns
    codes, state, out = guarded(columns, x.dtype), guarded(2, np.int64), guarded(len(pairs), float)
    first = [x, x_starts, z, z_starts, np.array(pairs, np.int64, order="C").reshape(-1, 2)]
    if name == "gap_weighted":
        K = guarded((len(WEIGHTS) - 1, columns), float)
        return [*first, 0.5, np.array(WEIGHTS), codes, K, state, budget, out], [7, 8, 9, 11]
    K, E = guarded(columns, float), guarded(columns, np.int32)
    exponents = guarded(len(pairs), np.int64)
    return [*first, 0.81, codes, K, E, state, budget, out, exponents], [6, 7, 8, 9, 11, 12]


def found(name, arguments):
    if name == "all_subsequences_scaled":
        return np.ldexp(arguments[11], arguments[12].astype(np.int32))
    return arguments[11]


def expected(name, x, x_starts, z, z_starts, pairs):
    values = []
    for i, j in pairs:
        s = x[x_starts[i] : x_starts[i + 1]].tolist()
        t = z[z_starts[j] : z_starts[j + 1]].tolist()
        values.append(gapped(s, t) if name == "gap_weighted" else all_of(s, t))
    return values


def all_of(s, t):
    return oracles.count_subsequences(s, t, 0.81)


def gapped(s, t, gap=0.5):
    """Lodhi's recursion with the decay of matched symbols taken out, layer by layer."""
    below, total = np.ones((len(s) + 1, len(t) + 1)), 0.0
    for weight in WEIGHTS:
        layer = np.zeros_like(below)
        for i, a in enumerate(s):
            P = 0.0
            for j, b in enumerate(t):
                P = gap * P + (below[i, j] if a == b else 0)
                total += weight * below[i, j] if a == b else 0
                layer[i + 1, j + 1] = gap * layer[i, j + 1] + P
        below = layer
    return total


@pytest.mark.spread(6)
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", NAMES)
def test_strings_of_every_length(name, code):
    rng = np.random.default_rng(0)
    x, x_starts = strings(rng, code, LENGTHS)
    z, z_starts = strings(rng, code, LENGTHS[::-3])
    n, m = len(x_starts) - 1, len(z_starts) - 1
    pairs = np.indices((n, m)).reshape(2, -1).T
    arguments, written = call(name, x, x_starts, z, z_starts, pairs)
    getattr(_native, name)(*arguments)
    values = expected(name, x, x_starts, z, z_starts, pairs)
    assert_allclose(found(name, arguments), values, rtol=1e-12)
    for k in written:
        assert_guarded(arguments[k])


@pytest.mark.parametrize("name", NAMES)
def test_a_small_budget_ends_a_call_and_the_next_goes_on(name):
    rng = np.random.default_rng(0)
    x, x_starts = strings(rng, np.uint8, [40, 0, 100, 33])
    pairs = np.indices((4, 4)).reshape(2, -1).T
    whole, _ = call(name, x, x_starts, x, x_starts, pairs)
    getattr(_native, name)(*whole)
    parts, _ = call(name, x, x_starts, x, x_starts, pairs, budget=1e-9)
    state, count = parts[9], 0
    while state[0] < len(pairs):
        getattr(_native, name)(*parts)
        count += 1
    assert count > len(pairs)
    assert_array_equal(found(name, parts), found(name, whole))
    state[:] = 0
    parts[10] = 0.0  # nothing may be done
    getattr(_native, name)(*parts)
    assert_array_equal(state, 0)
    for state[:] in ((len(pairs), 0), (len(pairs) + 5, 3), (1, 10**9)):
        getattr(_native, name)(*parts)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_that_would_lead_past_the_end(name):
    rng = np.random.default_rng(0)
    x, starts = strings(rng, np.uint8, [40, 35])

    def refused(error, message, change, columns=None):
        arguments, _ = call(name, x, starts.copy(), x, starts.copy(), [[0, 1]], columns=columns)
        change(arguments)
        with pytest.raises(error, match=message):
            getattr(_native, name)(*arguments)

    def put(k, value):
        def change(arguments):
            arguments[k] = value

        return change

    def poke(k, place, value):
        def change(arguments):
            arguments[k][place] = value

        return change

    for place, value in [(0, -1), (1, 77), (1, 0), (2, 77), (2, 2**62), (1, -(2**63))]:
        for k in (1, 3):
            refused(IndexError, "starts must ascend", poke(k, place, value))
    for value in (-1, 2, 2**62, -(2**63)):
        for place in ((0, 0), (0, 1)):
            refused(IndexError, "numbers of strings", poke(4, place, value))
    for k in (1, 3):
        refused(ValueError, r"n \+ 1 entries", put(k, np.empty(0, np.int64)))
    refused(ValueError, "shorter string and margins", lambda a: None, columns=34 + 2 * MARGIN)
    for value in (-1, -(2**63)):
        for place in (0, 1):
            refused(ValueError, "state must be", poke(9, place, value))
    refused(ValueError, "state must be", put(9, np.zeros(3, np.int64)))
    refused(ValueError, "one entry for each pair", put(11, np.zeros(2)))
    if name == "gap_weighted":
        columns = 35 + 2 * MARGIN
        refused(ValueError, "must have an entry", put(6, np.empty(0)))
        for shape in [(1, columns), (3, columns), (2, columns - 1)]:
            refused(ValueError, "p - 1 rows as long as codes", put(8, np.zeros(shape)))
    else:
        refused(ValueError, "as long as codes", put(7, np.zeros(34 + 2 * MARGIN)))
    if name == "all_subsequences_scaled":
        refused(ValueError, "as long as codes", put(8, np.zeros(34 + 2 * MARGIN, np.int32)))
        refused(ValueError, "one entry for each pair", put(12, np.zeros(0, np.int64)))


@pytest.mark.parametrize("how", ["strided", "other", "half", "list", "none"])
@pytest.mark.parametrize("name", NAMES)
def test_arrays_are_taken_as_they_are_or_refused(name, how):
    x, starts = strings(np.random.default_rng(0), np.uint8, [40, 35])
    change = {
        "strided": lambda A: np.repeat(A, 2, -1)[..., ::2],
        "other": lambda A: A.astype(np.complex128),
        "half": lambda A: A.astype(np.float16),
        "list": lambda A: A.tolist(),
        "none": lambda A: None,
    }[how]
    count = len(call(name, x, starts, x, starts, [[0, 1]])[0])
    for k in range(count):
        arguments, _ = call(name, x, starts, x, starts, [[0, 1]])
        if not isinstance(arguments[k], np.ndarray) or (
            how == "strided" and arguments[k].size == 1
        ):
            continue
        arguments[k] = change(arguments[k])
        with pytest.raises(TypeError, match="incompatible function arguments"):
            getattr(_native, name)(*arguments)


@pytest.mark.parametrize("name", NAMES)
def test_bytes_out_of_step_are_refused(name):
    x, starts = strings(np.random.default_rng(0), np.int32, [40, 35])
    for k in range(len(call(name, x, starts, x, starts, [[0, 1]])[0])):
        arguments, _ = call(name, x, starts, x, starts, [[0, 1]])
        if isinstance(arguments[k], np.ndarray):
            shifted = np.zeros(arguments[k].nbytes + 1, np.uint8)[1:].view(arguments[k].dtype)
            shifted = shifted.reshape(arguments[k].shape)
            shifted[...] = arguments[k]
            arguments[k] = shifted
            with pytest.raises(ValueError, match="aligned"):
                getattr(_native, name)(*arguments)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", NAMES)
def test_codes_that_stand_for_no_symbol_harm_nothing_else(name, code):
    """Wrong values perhaps, as the caller was told, but no crash and no NaN."""
    x, starts = strings(np.random.default_rng(0), code, [200, 150])
    x[::3] = np.iinfo(code).max
    x[1::3] = np.array(-2).astype(code)
    arguments, _ = call(name, x, starts, x, starts, [[0, 0], [0, 1], [1, 0]])
    getattr(_native, name)(*arguments)
    assert not np.isnan(found(name, arguments)).any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 1e300, 0.0])
@pytest.mark.parametrize("name", NAMES)
def test_strange_weights_end(name, value):
    x, starts = strings(np.random.default_rng(0), np.uint8, [300, 150])
    arguments, written = call(name, x, starts, x, starts, [[0, 0], [0, 1], [1, 0]])
    arguments[5] = value
    getattr(_native, name)(*arguments)
    assert arguments[9][0] == 3
    for k in written:
        assert_guarded(arguments[k])
