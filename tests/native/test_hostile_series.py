"""The loops over pairs of series on hostile arrays: all lengths about the lanes and blocks, series
that start at odd places, guards beside what is written, and numbers that lead past the end."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from mercer import _native
from mercer.distances import ERP, MSM, TWED

LENGTHS = [1, 2, 3, 15, 16, 17, 31, 32, 33, 65]
RHO = [None, ERP(0.5), MSM(0.3), TWED(0.2, 0.1)]


def lists(d=1, lengths=LENGTHS):
    rng = np.random.default_rng(sum(lengths))
    starts = np.concatenate(([1], 1 + np.cumsum(lengths))).astype(np.int64)
    return rng.normal(size=(starts[-1], d)), starts


def rows(values, starts):
    return [values[a:b] for a, b in pairwise(starts)]


def guarded(n):
    buffer = np.full(n + 6, -77.0)
    return buffer, buffer[3:-3]


def warp(values, starts, pairs, kind=0, window=-1, share=0.0, limits=(), first=0.0, second=0.0):
    buffer, out = guarded(len(pairs))
    limits = np.array(limits, float)
    both = (values, starts) * 2
    _native.warp_series(*both, pairs, kind, first, second, window, share, limits, out)
    assert (buffer[:3] == -77).all()
    assert (buffer[-3:] == -77).all()
    return out


PAIRS = np.array([(i, j) for i in range(len(LENGTHS)) for j in (0, 3, 7, len(LENGTHS) - 1, i)])
#: those that the twins compute in a moment, and one that goes over several blocks
FEW = [q for q, (i, j) in enumerate(PAIRS) if LENGTHS[i] * LENGTHS[j] < 300][::3] + [48]


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("d", [1, 3])
def test_least_sums_equal_their_twins(kind, d):
    if kind == 2 and d > 1:
        return  # of one channel; the distance sums them
    values, starts = lists(d)
    X = rows(values, starts)
    rho = RHO[kind]
    terms = [0.0, 0.0] if rho is None else [*rho.get_params().values(), 0.0][:2]
    if kind == 3:
        terms = [rho.stiffness, rho.penalty]
    found = warp(values, starts, PAIRS, kind, first=terms[0], second=terms[1])
    for q in FEW:
        x, z = (X[i] for i in PAIRS[q])
        twin = oracles.dtw_sum(x, z) if rho is None else oracles.distance(rho, x, z, X)
        assert_allclose(found[q], twin, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("window", [0, 1, 5, 40])
def test_windows_equal_their_twins(window):
    values, starts = lists()
    X = rows(values, starts)
    found = warp(values, starts, PAIRS, window=window)
    twins = [oracles.dtw_sum(X[i], X[j], window) for i, j in PAIRS[FEW]]
    assert_allclose(found[FEW], twins, rtol=1e-12)


@pytest.mark.parametrize(
    ("scale", "local", "reach"),
    [(0.5, 1, 0), (0.5, 1, 9), (300.0, 0, 0), (0.5, 2, 0), (0.5, 2, 9), (300.0, 2, 9)],
)
def test_sums_over_all_ways_equal_their_twins(scale, local, reach):
    values, starts = lists(2)
    X = rows(values, starts)
    buffer, out = guarded(len(PAIRS))
    both = (values, starts) * 2
    _native.path_sums(*both, PAIRS, scale, local, reach, out)
    assert (buffer[:3] == -77).all()
    assert (buffer[-3:] == -77).all()

    class Kernel:
        triangle = reach or None
        window = reach - 1 if reach else None

    for q in FEW:
        x, z = (X[i] for i in PAIRS[q])
        if local:
            log = (oracles.alignment_log, oracles.kdtw_log)[local - 1]
            twin = log(Kernel, x, z, (0.5 / scale) ** 0.5)
        else:
            twin = oracles.path_log(
                x, z, lambda i, j, x=x, z=z: -scale * oracles.gap_of(x[i], z[j]) ** 2
            )
        assert_allclose(out[q], twin, rtol=1e-11, atol=1e-11)


def test_limits_of_each_pair(isa):
    values, starts = lists()
    exact = warp(values, starts, PAIRS)
    limits = np.where(np.arange(len(PAIRS)) % 2, exact, exact / 2)
    found = warp(values, starts, PAIRS, limits=limits)
    near = exact <= limits
    assert_array_equal(found[near], exact[near])
    assert (found[~near] > limits[~near]).all()


def test_numbers_that_lead_outside_are_refused():
    values, starts = lists()
    ends = {
        "pairs": np.array([[0, len(LENGTHS)]]),
        "negative": np.array([[-1, 0]]),
    }
    for pairs in ends.values():
        with pytest.raises(IndexError, match="pairs"):
            warp(values, starts, pairs)
    empty, beyond, falling = starts.copy(), starts.copy(), starts.copy()
    empty[1], beyond[-1], falling[2] = empty[0], starts[-1] + 1, starts[-1] + 5
    for wrong in (empty, beyond, falling):
        with pytest.raises(IndexError, match="starts"):
            warp(values, wrong, PAIRS)
    with pytest.raises(ValueError, match="kind"):
        warp(values, starts, PAIRS, kind=4)
    with pytest.raises(ValueError, match="limits"):
        warp(values, starts, PAIRS, limits=[1.0])
    with pytest.raises(ValueError, match="share"):
        warp(values, starts, PAIRS, window=0, share=np.nan)
    with pytest.raises(ValueError, match="channel"):
        warp(*lists(2), PAIRS, kind=2)
    out = np.empty(len(PAIRS))
    for local, reach, name in ((3, 0, "local"), (-1, 0, "local"), (1, -1, "reach")):
        with pytest.raises(ValueError, match=name):
            _native.path_sums(*(values, starts) * 2, PAIRS, 1.0, local, reach, out)


def test_bounds_are_written_between_their_guards():
    values, starts = lists(2)
    n = len(LENGTHS)
    buffer, out = guarded(n * n)
    _native.warp_bounds(*(values, starts) * 2, 2, 0.1, out.reshape(n, n))
    assert (buffer[:3] == -77).all()
    assert (buffer[-3:] == -77).all()
    exact = warp(values, starts, np.argwhere(np.ones((n, n))).copy(order="C"), window=2, share=0.1)
    assert (out * (1 - 1e-12) <= exact).all()


def outside(x, z, reach):
    """The squared distance of x from the least and the largest values of z near each place."""
    total = 0.0
    for i, point in enumerate(x):
        near = z[max(0, i - reach) : i + reach + 1]
        low, high = near.min(axis=0), near.max(axis=0)
        total += np.square(np.maximum(np.maximum(low - point, point - high), 0)).sum()
    return total


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("n", LENGTHS)
def test_bounds_of_one_length_equal_their_twins(n, d):
    values, starts = lists(d, [n] * 3)
    X = rows(values, starts)
    for window in (-1, 0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 40, 2**40):
        out = np.empty((3, 3))
        _native.warp_bounds(*(values, starts) * 2, window, 0.0, out)
        reach = n if window < 0 else min(window, n)
        twin = [[max(outside(x, z, reach), outside(z, x, reach)) for z in X] for x in X]
        assert_allclose(out, twin, rtol=1e-12)


@pytest.mark.parametrize("gamma", [-1.0, 0.4])
@pytest.mark.parametrize(
    ("levels", "halvings"), [(1, (0, 0)), (3, (0, 0)), (0, (0, 0)), (0, (2, 1))]
)
@pytest.mark.parametrize("d", [1, 3])
def test_signatures_equal_their_twins(levels, halvings, gamma, d):
    values, starts = lists(d)
    values = values / 4
    X = rows(values, starts)
    buffer, out = guarded(len(PAIRS))
    _native.signature_sums(*(values, starts) * 2, PAIRS, gamma, levels, *halvings, out)
    assert (buffer[:3] == -77).all()
    assert (buffer[-3:] == -77).all()
    for q in FEW:
        x, z = (X[i] for i in PAIRS[q])
        G = x @ z.T if gamma < 0 else np.exp(-gamma * np.square(x[:, None] - z).sum(axis=2))
        D = G[1:, 1:] - G[1:, :-1] - G[:-1, 1:] + G[:-1, :-1]
        assert_allclose(out[q], signature_twin(D, levels, halvings), rtol=1e-10)


def signature_twin(D, levels, halvings):
    if D.size == 0:
        return 1.0
    if not levels:
        return oracles.goursat(D, halvings)
    A = np.ones_like(D)
    for _ in range(levels - 1):
        P = np.pad((D * A).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
        A = 1 + P[:-1, :-1]
    return 1 + (D * A).sum()


def test_signatures_refuse_what_leads_past_the_end():
    values, starts = lists()
    out = np.empty(len(PAIRS))
    for arguments in ((-1.0, 65, 0, 0), (-1.0, 0, 13, 0), (-1.0, 0, 0, 13)):
        with pytest.raises(ValueError, match="at most 64 levels"):
            _native.signature_sums(*(values, starts) * 2, PAIRS, *arguments, out)
    with pytest.raises(ValueError, match="out must have"):
        _native.signature_sums(*(values, starts) * 2, PAIRS, -1.0, 2, 0, 0, out[1:])
    with pytest.raises(IndexError, match="pairs"):
        _native.signature_sums(*(values, starts) * 2, PAIRS + 99, -1.0, 2, 0, 0, out)
    with pytest.raises(IndexError, match="starts"):
        _native.signature_sums(values, starts + 1, values, starts, PAIRS, -1.0, 2, 0, 0, out)
