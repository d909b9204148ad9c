"""Pairs of classes: K in blocks gives what K whole gives, from few of its rows; and what is said of
the optimum."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from mercer import _native
from mercer.gram import DenseGram
from mercer.kernels import RBF
from mercer.solvers.rows import PairGram, PairRows
from mercer.solvers.smo.dual import DualProblem
from mercer.solvers.smo.smo import SmoSolver

DTYPES = [np.float32, np.float64]


def two_classes(first, second, dtype=np.float64, seed=0):
    """K of two classes that overlap, those of the first before the others, and their labels."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, -1.0], [first, second])
    K = RBF(0.5)(rng.normal(size=(first + second, 3)) + 0.7 * y[:, None]).astype(dtype)
    return (K + K.T) / 2, y


def in_blocks(K, size, room=None):
    blocks = K[:size, :size], K[:size, size:], K[size:, size:]
    return PairGram(*(block.copy() for block in blocks), room)


@pytest.mark.parametrize("isa", _native.available_isas())
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(1, 1), (1, 40), (40, 1), (16, 17), (70, 33)])
def test_steps_on_blocks_are_those_on_the_whole(sizes, dtype, isa):
    K, y = two_classes(*sizes, dtype)
    n, C = len(y), np.full(len(y), 3.0)
    before = _native.isa()
    try:
        assert _native.use_isa(isa)
        for split in (n, sizes[0]):
            alpha, f = np.zeros(n), -y
            steps = _native.smo_solve(K, y, C, alpha, f, split, 1e-6, 0.0, 10_000)
            pair, slots, a, h = in_blocks(K, sizes[0]), np.full(n, -1), np.zeros(n), -y
            blocks = pair.first, pair.across, pair.second, pair.room, slots
            again = _native.smo_solve_blocks(*blocks, y, C, a, h, split, 1e-6, 0.0, 10_000)
            assert again == steps
            assert_array_equal(a, alpha)
            assert_array_equal(h, f)
            held = np.flatnonzero(slots >= 0)
            assert_array_equal(np.sort(slots[held]), np.arange(len(held)))
            assert_array_equal(pair.room[slots[held]], K[held])
            _native.smo_join(*blocks, np.arange(n)[::-1].copy())
            assert_array_equal(pair.room[slots], K)
    finally:
        _native.use_isa(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("C", [0.1, 10.0, np.inf])
@pytest.mark.parametrize("nu", [None, 0.3])
def test_a_pair_in_blocks_is_solved_like_the_whole(C, nu, dtype):
    """Cold and warm, of any size: a pair is its own working set."""
    K, y = two_classes(90, 60, dtype)
    if nu is None:
        dual = DualProblem.classification(y, np.full(150, C))
    else:
        dual = DualProblem.nu_classification(y, np.full(150, min(C, 1.0)), nu)
    sharp = SmoSolver(tol=1e-6, max_rounds=50)
    wanted = sharp.solve(DenseGram(K, symmetric=True), dual)
    for solver in (sharp, replace(sharp, whole=0, working_set=8, polish=False)):
        found = solver.solve(in_blocks(K, 90), dual)
        assert found.converged
        assert found.iterations <= 4
        assert_allclose(found.objective, wanted.objective, rtol=1e-6)
        assert_allclose(found.intercept, wanted.intercept, atol=1e-4)
        again = solver.solve(in_blocks(K, 90), dual, found.alpha)
        assert again.iterations <= 2
        assert_allclose(again.objective, wanted.objective, rtol=1e-6)


def test_few_rows_are_put_together():
    """About those of the support vectors; the next pair may use the same memory."""
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], [200, 300])
    K = RBF(0.05)(rng.normal(size=(500, 3)) + 3 * y[:, None])
    room = np.full(600**2, 7.0)
    pair = in_blocks(K, 200, room)
    source = PairRows(pair, 1)
    dual = DualProblem.classification(y, np.ones(500))
    result = SmoSolver(polish=False).solve(pair, dual, source=source)
    support = np.flatnonzero(result.coef)
    held = np.flatnonzero(source.slots >= 0)
    assert np.isin(support, held).all()
    assert len(held) < 2 * len(support) < 100
    assert (room[len(held) * 500 :] == 7).all()
    other, labels = two_classes(250, 350)
    dual = DualProblem.classification(labels, np.ones(600))
    found = SmoSolver().solve(in_blocks(other, 250, room), dual)
    wanted = SmoSolver().solve(DenseGram(other, symmetric=True), dual)
    assert_allclose(found.coef, wanted.coef, atol=1e-9)


# --- how far from the optimum -------------------------------------------------------------------

numbers = st.floats(-100, 100, allow_subnormal=False)
variables = st.lists(
    st.tuples(
        numbers,  # f
        numbers,  # offset
        st.sampled_from([-1.0, 1.0]),
        st.sampled_from([0.0, 0.5, 2.0, np.inf]),  # C
        st.sampled_from([0.0, 0.25, 1.0]),  # the part of C, or 1 where it is infinite
    ),
    min_size=1,
    max_size=40,
)


@given(variables, st.booleans())
def test_how_far_from_the_optimum(given_variables, groups):
    f, offset, y, C, part = np.array(given_variables).T
    alpha = part * np.where(np.isfinite(C), C, 1.0)
    wanted = oracles.optimum(f, offset, y, C, alpha, groups)
    before = _native.isa()
    try:
        for isa in _native.available_isas():
            assert _native.use_isa(isa)
            found = _native.smo_optimum(f, offset, y, C, alpha, groups)
            assert_allclose(found, wanted, rtol=1e-10, atol=1e-9)
    finally:
        _native.use_isa(before)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [0, 7, 16])
def test_what_is_not_finite_is_said(bad, at):
    f, ones = np.zeros(17), np.ones(17)
    f[at] = bad
    assert np.isnan(_native.smo_optimum(f, ones, ones, ones, ones / 2, False)).all()
