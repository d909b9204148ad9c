"""Signature kernels beyond the contract: tensors of Chen, known limits, options, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import i0, j0

from mercer import SVC
from mercer.kernels import Signature, check_mercer

RNG = np.random.default_rng(0)
PATHS = [np.cumsum(RNG.normal(0, 0.3, (n, 2)), axis=0) for n in (5, 8, 3, 6, 12, 7)]


def chen(path, levels, most=np.inf):
    """The signature of the straight path through the points, level by level, as the product of
    exponentials, of which powers above ``most`` are left out."""
    found = [np.ones(1)] + [np.zeros(path.shape[1] ** q) for q in range(1, levels + 1)]
    for step in np.diff(path, axis=0):
        powers = [np.ones(1)]
        for q in range(1, levels + 1):
            if q > most:
                powers.append(np.zeros(len(step) ** q))
                continue
            powers.append(np.multiply.outer(powers[-1], step).ravel() / q)
        found = [
            sum(np.multiply.outer(found[p], powers[q - p]).ravel() for p in range(q + 1))
            for q in range(levels + 1)
        ]
    return np.concatenate(found)


def test_the_limit_is_that_of_chens_tensors():
    S = np.array([chen(path, 12) for path in PATHS])
    assert_allclose(Signature(None)(PATHS), S @ S.T, rtol=1e-5)


def test_values_are_inner_products():
    """Of products of exponentials up to the fifth power, a part of a step at a time."""
    paths = [path[:4] * scale for path, scale in zip(PATHS, (0.4, 0.2, 0.9, 1.5, 2.0, 1.0))]
    parts = []
    for path in paths:
        longest = np.linalg.norm(np.diff(path, axis=0), axis=1).max()
        pieces = 2 ** max(0, int(np.ceil(np.log2(longest / 0.5))))
        steps = np.repeat(np.diff(path, axis=0) / pieces, pieces, axis=0)
        parts.append(np.vstack([np.zeros(2), steps.cumsum(axis=0)]))
    assert len({len(part) for part in parts}) > 3  # of several halvings
    S = np.array([chen(part, 16, most=5) for part in parts])
    assert_allclose(Signature(None)(paths), S @ S.T, rtol=1e-11)


@pytest.mark.parametrize("product", [0.3, 1.0, 4.0, 16.0])
def test_two_straight_lines(product):
    a = product**0.5
    K = Signature(None)([[0.0, a]], [[0.0, a], [a, 0.0]])
    assert_allclose(K[0], [i0(2 * a), j0(2 * a)], rtol=1e-4, atol=1e-4 * i0(2 * a))


def test_the_first_level_is_the_product_of_whole_increments():
    ends = np.array([path[-1] - path[0] for path in PATHS])
    assert_allclose(Signature(1)(PATHS), 1 + ends @ ends.T, rtol=1e-12)


def test_time_goes_from_0_to_1_whatever_the_length():
    ends = np.array([path[-1] - path[0] for path in PATHS])
    assert_allclose(Signature(1, time=True)(PATHS), 2 + ends @ ends.T, rtol=1e-12)
    assert_allclose(Signature(1, time=True)([[3.0]], [[1.0, 2.0]]), [[1.0]])  # no step, no time


@pytest.mark.parametrize("gap", [0.1, 0.6, 1.0, 2.0, 50.0])
def test_steps_are_halved_until_they_are_short_where_they_are(gap):
    """In the space of the Gaussian kernel no step is longer than √2."""
    for scale in (None, 1.0, 3.0):
        kernel = Signature(None, scale)
        long = gap if scale is None else np.sqrt(2 - 2 * np.exp(-(gap**2) / 2 / scale**2))
        (halvings,) = kernel.prepare(kernel.encode([[0.0, 0.01, 0.01 + gap]])).parts[1]
        assert long / 2.0**halvings <= 0.5 + 1e-9
        assert halvings == 0 or long / 2.0 ** (halvings - 1) > 0.5


@pytest.mark.parametrize("levels", [3, None])
def test_repeated_points_change_nothing(levels):
    kernel = Signature(levels)
    slow = [np.repeat(path, 3, axis=0) for path in PATHS]
    assert_allclose(kernel(slow, PATHS), kernel(PATHS), rtol=1e-12)


def test_there_and_back_is_nothing():
    """All levels cancel in the limit; first-order sums do not."""
    back = [np.concatenate([path, path[-2::-1]]) for path in PATHS]
    assert_allclose(Signature(None)(back, PATHS), 1, atol=1e-5)


def test_options_add_what_the_kernel_does_not_see():
    path = PATHS[1]
    fast = path[[0, 1, 1, 2, 3, 4, 5, 6, 7]]
    kernel, timed = Signature(4), Signature(4, time=True)
    assert_allclose(kernel([path], [path, fast]), kernel([path])[0, 0], rtol=1e-12)
    assert abs(timed([path], [fast]) - timed([path]))[0, 0] > 1e-3
    shifted = path + 1.0
    placed = Signature(4, basepoint=True)
    assert_allclose(kernel([shifted]), kernel([path]), rtol=1e-10)
    assert abs(placed([shifted]) - placed([path]))[0, 0] > 1e-3


@pytest.mark.parametrize("kernel", [Signature(4), Signature(3, 1.0), Signature(None)], ids=str)
def test_positive_semidefinite_on_paths(kernel):
    assert check_mercer(kernel, PATHS).positive_definite


@pytest.mark.parametrize("levels", [2, None])
def test_other_pairs_change_no_value(levels):
    kernel = Signature(levels, time=True)
    whole = kernel(PATHS)
    alone = [[kernel([x], [z])[0, 0] for z in PATHS] for x in PATHS]
    assert_allclose(whole, alone, rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (Signature(0), ValueError, "levels=0: give an integer from 1 to 64"),
        (Signature(2.5), ValueError, "levels=2.5"),
        (Signature(65), ValueError, "levels=65"),
        (Signature(3, -1.0), ValueError, "length_scale=-1.0"),
        (Signature(3, "median"), TypeError, "length_scale='median'"),
        (Signature(3, time="yes"), TypeError, "time='yes': give True or False"),
        (Signature(None), ValueError, "divide the series by a typical step"),
    ],
)
def test_bad_input_is_named(kernel, error, message):
    with pytest.raises(error, match=message):
        kernel([np.arange(5) * 1e4, np.arange(4) * 1e4])


def test_squares_of_steps_that_overflow_are_named_too():
    with pytest.raises(ValueError, match=r"series 0 has a step of length inf.*halve inf times"):
        Signature(None)([np.arange(5) * 1e200])


def test_a_learner_takes_it():
    t = np.linspace(0, 1, 25)
    turns = [np.column_stack([np.cos(s * 6 * t), np.sin(s * 6 * t)]) for s in (1, -1) * 10]
    X = [
        turn + np.random.default_rng(i).normal(0, 0.05, turn.shape) for i, turn in enumerate(turns)
    ]
    y = [1, -1] * 10
    assert (
        SVC(kernel=Signature(3).normalised(), C=10).fit(X[:12], y[:12]).score(X[12:], y[12:]) == 1
    )
