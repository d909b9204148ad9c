"""Many small machines in one native call: hostile sizes, bounds and matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import _native

DTYPES = [np.float32, np.float64]
SIZES = [[1], [2, 1, 3], [16, 17], [15, 1, 33], [64]]


def machines(sizes, dtype, groups, seed=0):
    """The arguments of a call, up to ``alpha``; machines share rows of K."""
    rng = np.random.default_rng(seed)
    n = max(sizes) + 3
    A = rng.normal(size=(n, 4))
    K = (A @ A.T + np.eye(n)).astype(dtype)
    rows = np.concatenate([rng.choice(n, size, replace=False) for size in sizes])
    y = np.concatenate([np.where(np.arange(size) < size // 2, 1.0, -1.0) for size in sizes])
    C = rng.choice([0.5, 2.0], len(rows))
    p, alpha = (np.zeros(len(rows)), 0.3 * C) if groups else (-np.ones(len(rows)), 0.0 * C)
    f, sums = np.empty((2, len(rows)))
    return [K, rows, np.cumsum(sizes), y, C, p, alpha, f, sums]


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_each_machine_is_that_of_a_single_call(sizes, dtype, groups):
    K, rows, ends, y, C, p, alpha, f, sums = given = machines(sizes, dtype, groups)
    before, out = alpha.copy(), np.empty((len(sizes), 7))
    _native.smo_solve_many(*given, groups, 1e-10, 1e-10, 10_000, 1, out)
    for m, (begin, end) in enumerate(zip([0, *ends], ends)):
        part, at = slice(begin, end), rows[begin:end]
        block = np.ascontiguousarray(K[np.ix_(at, at)])
        a, offset = before[part].copy(), y[part] * p[part]
        g = offset + block.astype(float) @ (y[part] * a)
        split = int((y[part] > 0).sum()) if groups else end - begin
        steps = _native.smo_solve(
            block, y[part], C[part], a, g, split, 1e-10, 0.0, 10_000 * (end - begin)
        )
        assert_allclose(alpha[part], a, atol=1e-7)
        exact = offset + block.astype(float) @ (y[part] * alpha[part])
        assert_allclose(f[part], exact, rtol=1e-12, atol=1e-12)
        assert_allclose(sums[part], np.abs(block.astype(float)) @ alpha[part], rtol=1e-12)
        optimum = _native.smo_optimum(exact, offset, y[part], C[part], alpha[part], groups)
        assert_allclose(out[m, 1:], optimum, rtol=1e-9, atol=1e-11)
        assert (out[m, 0] > 0) == (steps > 0)
        assert out[m, 1] <= 1e-6


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_newton_steps_find_what_many_steps_find(dtype, groups):
    few, many = (machines([2, 3, 9, 17], dtype, groups) for _ in range(2))
    found, expected = np.empty((4, 7)), np.empty((4, 7))
    _native.smo_solve_many(*few, groups, 1e-9, 1e-9, 1, 100, found)
    _native.smo_solve_many(*many, groups, 1e-9, 1e-9, 100_000, 1, expected)
    assert (found[:, 1] <= 1e-9 if dtype == np.float64 else found[:, 1] < 1e-4).all()
    assert_allclose(found[:, 4:], expected[:, 4:], atol=1e-6)
    for positive in (True, False) if groups else (None,):
        signs = few[3] if positive is None else few[3] * ((few[3] > 0) == positive)
        sums = [np.add.reduceat(signs * each[6], [0, 2, 5, 14]) for each in (few, many)]
        assert_allclose(*sums, atol=1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, 5e-324, 0.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_strange_matrices_end(dtype, value):
    given = machines([5, 7], dtype, False)
    with np.errstate(over="ignore"):
        given[0][:, ::2] = value
    out = np.empty((2, 7))
    _native.smo_solve_many(*given, False, 1e-6, 1e-6, 50, 9, out)
    assert (out[:, 0] <= 9 * 50 * np.array([5, 7])).all()
    assert ((given[6] >= 0) & (given[6] <= given[4])).all()


def test_wrong_sizes_and_rows_are_refused():
    given, out = machines([3, 4], np.float64, False), np.empty((2, 7))
    n = len(given[0])
    for k, wrong, message in [
        (0, given[0][:-1].copy(), "must be"),
        (1, np.full(7, n), "rows of K"),
        (1, np.full(7, -1), "rows of K"),
        (2, np.array([4, 3]), "ascend"),
        (2, np.array([-1, 7]), "ascend"),
        (2, np.array([3, 8]), "ascend"),
        *[(k, np.ones(6), "as long as rows") for k in (3, 4, 5, 6, 7, 8)],
    ]:
        arguments = given.copy()
        arguments[k] = wrong
        with pytest.raises((ValueError, IndexError), match=message):
            _native.smo_solve_many(*arguments, False, 1e-6, 1e-6, 50, 9, out)
    for shape in [(2, 6), (3, 7), (1, 7)]:
        with pytest.raises(ValueError, match="machines, 7"):
            _native.smo_solve_many(*given, False, 1e-6, 1e-6, 50, 9, np.empty(shape))
