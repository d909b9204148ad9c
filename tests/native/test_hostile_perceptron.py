"""The native steps of perceptrons: their definition at hostile sizes, and what they refuse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import _native


def notes(n):
    return np.empty(n, np.int64), np.empty(n), np.empty(n)


def definition(K, order, y, step, bias, offset=0):
    """α, b, the lags and the mistakes of one pass, by numpy."""
    r = len(K)
    alpha, lag, b, b_lag, made = np.zeros(r), np.zeros(r), 0.0, 0.0, []
    for t, j in enumerate(order):
        value = y[j] * (alpha @ K[:, j].astype(float) + b)
        if value <= 0 and step[j]:
            alpha[offset + j] += step[j] * y[j]
            lag[offset + j] += t * step[j] * y[j]
            b, b_lag = b + bias * step[j] * y[j], b_lag + bias * t * step[j] * y[j]
            made.append((offset + j, value, t))
    return alpha, lag, b, b_lag, made


@pytest.mark.parametrize("isa", _native.available_isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 31, 65])
def test_a_visit_is_that_of_the_definition(isa, dtype, n):
    rng, before = np.random.default_rng(n), _native.isa()
    X = rng.normal(size=(n, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)).astype(dtype)
    y, step = rng.choice([-1.0, 1.0], n), rng.choice([0.0, 0.5, 1.0], n)
    order = rng.permutation(n)
    alpha, lag, b, b_lag, made = definition(K, order, y, step, True)
    _native.use_isa(isa)
    try:
        f, a, lags, state, kept = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(4), notes(n)
        count = _native.perceptron_visit(
            K, 0, order, y, step, f, a, lags, True, state, 0, np.ones(n), *kept
        )
        assert count == len(made)
        for array, wanted in zip(kept, zip(*made)):
            assert_allclose(array[:count], wanted, atol=1e-5)
        assert_allclose(a, alpha)
        assert_allclose(lags, lag)
        assert_allclose(state[:3], [b, b_lag, n])
        assert_allclose(f, a @ K, atol=1e-5)
        # the same by rows of a table, in which some lines are missing at first
        a, lags, f, state, kept = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(4), notes(n)
        slots, total, reached = np.full(n, -1), 0, 0
        while reached < n:
            found, reached = _native.perceptron_visit_rows(
                K, slots, order, reached, y[order], step[order], f, a, lags, True, state, *kept
            )
            total += found
            if reached < n:
                slots[reached] = order[reached]
        assert total == count
        assert_allclose(a, alpha[order])
        assert_allclose(lags, lag[order])
        assert_allclose(state[:3], [b, b_lag, n])
    finally:
        _native.use_isa(before)


def test_votes_are_signs_of_all_machines():
    rng = np.random.default_rng(0)
    G, place, change = rng.normal(size=(9, 4)), rng.integers(0, 4, 6), rng.normal(size=6)
    counts, start, out = rng.integers(0, 5, 7).astype(float), rng.normal(size=9), np.zeros(9)
    _native.perceptron_votes(G, place, change, counts, 1.0, start, out)
    f = start + np.vstack([np.zeros(9), np.cumsum(change[:, None] * (G[:, place].T + 1), axis=0)])
    assert_allclose(out, counts @ np.sign(f))


def test_wrong_shapes_and_numbers_are_refused():
    n, v = 4, np.ones(4)
    K, order, state = np.eye(4), np.arange(4), np.zeros(4)

    def visit(K=K, offset=0, order=order, y=v, state=state, kept=None):
        _native.perceptron_visit(
            K, offset, order, y, v, v.copy(), v.copy(), v.copy(), True, state, 0, v,
            *(kept or notes(n)),
        )  # fmt: skip

    visit()
    for wrong in ({"offset": 1}, {"y": np.ones(3)}, {"state": np.zeros(3)}, {"kept": notes(3)}):
        with pytest.raises(ValueError, match=r"must"):
            visit(**wrong)
    for bad in (4, -1):
        with pytest.raises(IndexError):
            visit(order=np.array([bad]))
    rows = [K, order, order, 0, v, v, v.copy(), v.copy(), v.copy(), True, state]
    for at, wrong in ((3, 5), (1, np.arange(3)), (10, np.zeros(3))):
        with pytest.raises(ValueError, match="must"):
            _native.perceptron_visit_rows(*[*rows[:at], wrong, *rows[at + 1 :]], *notes(n))
    for at in (1, 2):
        with pytest.raises(IndexError):
            _native.perceptron_visit_rows(*[*rows[:at], order + 1, *rows[at + 1 :]], *notes(n))
    epoch = [np.ones(8), None, None, order, v, v, np.zeros(3), None, np.zeros(3), 1.0, 0.0, True]
    last = [np.zeros(5), *notes(n)]
    assert _native.perceptron_epoch(*epoch, *last) > 0
    for at, wrong in ((0, np.ones(7)), (5, np.ones(3)), (7, np.zeros(2)), (8, np.zeros(2))):
        with pytest.raises(ValueError, match="must"):
            _native.perceptron_epoch(*[*epoch[:at], wrong, *epoch[at + 1 :]], *last)
    with pytest.raises(IndexError):
        _native.perceptron_epoch(*[*epoch[:3], order + 1, *epoch[4:]], *last)
    with pytest.raises(ValueError, match="counts"):
        _native.perceptron_votes(K, order, v, v, 0.0, v, v.copy())
    with pytest.raises(IndexError):
        _native.perceptron_votes(K, order + 1, v, np.ones(5), 0.0, v, v.copy())
