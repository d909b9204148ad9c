"""Convolutions of hostile arrays: lengths about the lanes, dilations beyond the ends, guards beside
what is written, equal bits under every instruction set, and numbers that lead past the end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from convolution_twin import competing_features, fixed_features, fixed_response
from mercer import _native
from mercer.kernels.convolution import CompetingConvolutions, FixedConvolutions

LENGTHS = [1, 2, 8, 9, 15, 16, 17, 33, 65]
NONE = np.empty(0, np.int64)


def lists(d, dtype=np.float64):
    rng = np.random.default_rng(d)
    starts = np.concatenate(([1], 1 + np.cumsum(LENGTHS))).astype(np.int64)
    return rng.normal(size=(starts[-1], d)).astype(dtype), starts


def plan(d, pools=1, dilations=(1, 3, 8, 2**40), dtype=np.float64):
    """A few biases for some of the kernels, and several channels for some of them."""
    rng = np.random.default_rng(pools)
    lists = 84 * len(dilations)
    sizes, counts = rng.integers(1, d + 1, lists), rng.integers(0, 2, lists)
    channels = np.concatenate([NONE, *(rng.permutation(d)[:size] for size in sizes)])
    starts, bias_starts = (np.concatenate(([0], np.cumsum(c))) for c in (sizes, counts))
    biases = rng.normal(size=bias_starts[-1]).astype(dtype)
    dilations = np.array(dilations, np.int64)
    return FixedConvolutions(dilations, starts, channels, bias_starts, biases, pools)


def guarded(shape, dtype=np.float64):
    """An array between two guards, of which no number may change."""
    buffer = np.full(int(np.prod(shape)) + 6, -77, dtype)
    return buffer, buffer[3:-3].reshape(shape)


def intact(buffer):
    return (buffer[:3] == -77).all() and (buffer[-3:] == -77).all()


def fixed(values, starts, p, out):
    _native.fixed_convolutions(values, starts, p.dilations, p.channel_starts, p.channels,
                               p.bias_starts, p.biases, p.pools, out)  # fmt: skip


@pytest.mark.parametrize("pools", [1, 4])
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fixed_kernels_equal_their_twin(d, pools, dtype):
    (values, starts), p = lists(d, dtype), plan(d, pools, dtype=dtype)
    buffer, out = guarded((len(LENGTHS), p.count), dtype)
    fixed(values, starts, p, out)
    assert intact(buffer)
    for i in range(len(LENGTHS)):
        wanted = fixed_features(values[starts[i] : starts[i + 1]].astype(float), p)
        assert_allclose(out[i], wanted, atol=2e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("d", [1, 3])
def test_groups_equal_their_twin(d):
    values, starts = lists(d)
    rng = np.random.default_rng(1)
    channels = np.tile(np.arange(d), 4)
    p = CompetingConvolutions(
        np.array([1, 16]), d * np.arange(5), channels, rng.normal(size=(4, 72))
    )
    buffer, out = guarded((len(LENGTHS), p.count))
    _native.competing_convolutions(values, starts, p.dilations, p.channel_starts, p.channels,
                                   p.weights, out)  # fmt: skip
    assert intact(buffer)
    for i, length in enumerate(LENGTHS):
        wanted = competing_features(values[starts[i] : starts[i + 1]], p)
        assert_allclose(out[i] / length, wanted, atol=1e-12)


def test_responses_equal_their_twin():
    values, starts = lists(3)
    p = plan(3)
    examples = np.arange(len(p.channel_starts) - 1) % len(LENGTHS)
    buffer, out = guarded(sum(LENGTHS[i] for i in examples))
    _native.fixed_responses(values, starts, p.dilations, p.channel_starts, p.channels, examples,
                            out)  # fmt: skip
    assert intact(buffer)
    place = 0
    for k, i in enumerate(examples):
        own = p.channels[p.channel_starts[k] : p.channel_starts[k + 1]]
        series = values[starts[i] : starts[i + 1]]
        wanted = fixed_response(series, k % 84, min(int(p.dilations[k // 84]), 99), own)
        assert_allclose(out[place : place + len(series)], wanted, atol=1e-12)
        place += len(series)


def test_all_instruction_sets_give_the_same_bits(isa):
    found = []
    for name in ("portable", isa):
        assert _native.use_isa(name)
        (values, starts), p = lists(1, np.float32), plan(1, dtype=np.float32)
        out = np.empty((len(LENGTHS), p.count), np.float32)
        fixed(np.float32(values.round(1)), starts, p, out)
        found.append(out)
    assert_array_equal(*found)


def test_numbers_that_are_not_finite_and_none_at_all():
    (values, starts), p = lists(1), plan(1, 4)
    hostile = [np.nan, np.inf, -np.inf, 1e308]
    values[::3] = np.resize(hostile, values[::3].shape)
    buffer, out = guarded((len(LENGTHS), p.count))
    with np.errstate(all="ignore"):
        fixed(values, starts, p, out)
    assert intact(buffer)
    fixed(values, starts[:1], p, np.empty((0, p.count)))
    nothing = plan(1, 1, ())
    fixed(values, starts, nothing, np.empty((len(LENGTHS), 0)))


def wrong(**changes):
    (values, starts), p = lists(1), plan(1)
    given = {"x": values, "starts": starts, "dilations": p.dilations,
             "channel_starts": p.channel_starts, "channels": p.channels,
             "bias_starts": p.bias_starts, "biases": p.biases, "pools": 1,
             "out": np.empty((len(LENGTHS), p.count))}  # fmt: skip
    return given | {name: change(given[name]) for name, change in changes.items()}


def put(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


@pytest.mark.parametrize("changes", [
    {"starts": put(-1, 10**6)}, {"starts": put(0, -1)}, {"starts": put(2, 1)},
    {"dilations": put(0, 0)}, {"dilations": put(0, -5)}, {"dilations": lambda d: d[:-1]},
    {"channels": put(3, 1)}, {"channels": put(3, -1)}, {"channels": lambda c: c[:-1]},
    {"channel_starts": put(4, 3)}, {"channel_starts": put(0, -1)},
    {"channel_starts": put(-1, 10**9)}, {"bias_starts": put(-1, 10**9)},
    {"bias_starts": put(5, 10**9)}, {"bias_starts": put(0, 1)}, {"bias_starts": lambda b: b[:-1]},
    {"pools": lambda _: 2}, {"pools": lambda _: 4}, {"biases": lambda b: b[:-1]},
    {"out": lambda o: o[:-1]}, {"out": lambda o: np.empty((len(LENGTHS), o.shape[1] - 1))},
    {"x": lambda x: x[:-1]},
])  # fmt: skip
def test_numbers_that_lead_past_the_end_are_refused(changes):
    with pytest.raises((ValueError, IndexError)):
        _native.fixed_convolutions(**wrong(**changes))


def test_examples_and_weights_that_do_not_fit_are_refused():
    (values, starts), p = lists(1), plan(1)
    same = (values, starts, p.dilations, p.channel_starts, p.channels)
    for examples in (np.zeros(3, int), np.full(len(p.channel_starts) - 1, 99)):
        with pytest.raises((ValueError, IndexError)):
            _native.fixed_responses(*same, examples, np.empty(5))
    zeros = np.zeros(len(p.channel_starts) - 1, int)
    with pytest.raises(ValueError, match="each point of the examples"):
        _native.fixed_responses(*same, zeros, np.empty(5))
    for shape in ((3, 72), (len(zeros), 71)):
        with pytest.raises(ValueError, match="weights must be"):
            _native.competing_convolutions(*same, np.zeros(shape), np.empty((len(LENGTHS), 48)))
    with pytest.raises(ValueError, match="out must be"):
        _native.competing_convolutions(*same, np.zeros((len(zeros), 72)), np.empty((9, 48)))
