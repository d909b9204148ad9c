"""Variables that are left out and looked at again; rounds that stall, are cut or interrupted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _native
from mercer.gram import DenseGram, FeatureGram, TiledGram
from mercer.kernels import RBF, Linear, Sigmoid
from mercer.solvers.result import Reason
from mercer.solvers.rows import by_operator
from mercer.solvers.smo import SmoSolver, smo, smo_state
from mercer.solvers.smo.dual import DualProblem
from mercer.threads import Stop

N = 600
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
Y = np.where(X[:, 0] * X[:, 1] + 0.2 * RNG.normal(size=N) > 0, 1.0, -1.0)
K = RBF(0.5)(X)
PROBLEMS = {
    "classification": DualProblem.classification(Y, np.full(N, 10.0)),
    "regression": DualProblem.regression(np.sin(X[:, 0]), np.full(N, 2.0), 0.05),
    "nu classification": DualProblem.nu_classification(Y, np.ones(N), 0.3),
    "nu regression": DualProblem.nu_regression(np.sin(X[:, 0]), np.ones(N), 0.3),
    "one class": DualProblem.one_class(np.ones(N), 0.2),
}
SHARP = {"tol": 1e-4, "working_set": 32, "whole": 0}


@pytest.fixture(autouse=True)
def rows_one_by_one(monkeypatch):
    """Small problems go the way of large ones."""
    monkeypatch.setattr(by_operator, "SMALL", 0)


@pytest.fixture
def often(monkeypatch):
    """Variables are left out often and by few; what was said of g is checked when they return."""
    monkeypatch.setattr(smo, "SHRINK_ROUNDS", 2)
    monkeypatch.setattr(smo_state, "SHRINKABLE", 10)
    monkeypatch.setattr(smo_state, "SHRUNK", 0.999)
    seen = []
    shrink, widen = smo_state.State.shrink, smo_state.State.widen

    def shrinking(state):
        before = len(state.active_rows)
        shrink(state)
        if len(state.active_rows) < before:
            seen.append("shrunk")

    def widening(state):
        was = state.is_whole()
        widen(state)
        if not was:
            seen.append("widened")
            beta = np.bincount(state.problem.rows, state.problem.y * state.whole_alpha, N)
            assert_allclose(state.whole_g, K @ beta, atol=1e-8 * (1 + np.abs(beta).sum()))

    monkeypatch.setattr(smo_state.State, "shrink", shrinking)
    monkeypatch.setattr(smo_state.State, "widen", widening)
    return seen


@pytest.mark.parametrize("cache_rows", [40, 10_000])
@pytest.mark.parametrize("name", PROBLEMS)
def test_leaving_out_gives_the_same(name, cache_rows, often):
    problem, operator = PROBLEMS[name], TiledGram(RBF(0.5), X)
    solver = SmoSolver(**SHARP, cache_bytes=cache_rows * N * 8)
    found = solver.solve(operator, problem)
    assert often.count("shrunk") > often.count("widened") > 0  # some were left out in turns
    often.clear()
    wanted = SmoSolver(**SHARP, shrinking=False).solve(operator, problem)
    assert not often
    assert found.converged
    assert_allclose(found.objective, wanted.objective, rtol=1e-5)
    assert_allclose(K @ found.coef + found.intercept, K @ wanted.coef + wanted.intercept, atol=2e-3)
    assert found.gap <= 1e-3 * (1 + abs(found.objective))


@pytest.mark.parametrize("name", PROBLEMS)
def test_wrong_guesses_are_repaired(name, often, monkeypatch):
    """A third of the rows left out at random, whatever they are."""
    real = smo_state.State.shrink
    rng = np.random.default_rng(0)

    def shrink(state):
        masks = state.masks()
        with monkeypatch.context() as patch:
            some = rng.random(len(state.y)) < 0.3
            patch.setattr(state, "masks", lambda: tuple(mask & some for mask in masks))
            real(state)

    monkeypatch.setattr(smo_state.State, "shrink", shrink)
    found = SmoSolver(**SHARP).solve(TiledGram(RBF(0.5), X), PROBLEMS[name])
    assert often.count("widened") == smo_state.WIDENINGS  # then it gave up guessing
    monkeypatch.undo()
    wanted = SmoSolver(**SHARP, shrinking=False).solve(TiledGram(RBF(0.5), X), PROBLEMS[name])
    assert found.converged
    assert_allclose(found.objective, wanted.objective, rtol=1e-6)


def test_a_limit_while_rows_are_left_out(often):
    """The certificate is that of the whole problem."""
    problem = PROBLEMS["classification"]
    solver = SmoSolver(tol=1e-6, working_set=8, whole=0, max_rounds=60)
    result = solver.solve(TiledGram(RBF(0.5), X), problem)
    assert "shrunk" in often
    assert result.reason is Reason.LIMIT
    f = K @ result.coef + result.intercept
    primal = result.coef @ K @ result.coef / 2 + 10 * np.maximum(0, 1 - Y * f).sum()
    assert_allclose(result.gap, primal - result.objective, rtol=1e-6)


def test_rows_that_are_shared_or_held_are_not_left_out(often):
    problem = PROBLEMS["classification"]
    solver = SmoSolver(**SHARP)
    source = solver.rows_of(TiledGram(RBF(0.5), X), problem.C)
    solver.solve(TiledGram(RBF(0.5), X), problem, source=source)
    solver.solve(DenseGram(K, symmetric=True), problem)
    assert not often


@pytest.mark.parametrize("operator", ["tiled", "features"])
def test_a_source_serves_several_problems(operator):
    """What one problem left in it does not reach the next."""
    G = TiledGram(RBF(0.5), X) if operator == "tiled" else FeatureGram(X)
    solver = SmoSolver(tol=1e-6)
    source = solver.rows_of(G, np.ones(N))
    for labels in (Y, -Y, np.where(X[:, 2] > 0.3, 1.0, -1.0)):
        problem = DualProblem.classification(labels, np.ones(N))
        found = solver.solve(G, problem, source=source)
        wanted = solver.solve(G, problem)
        assert_allclose(found.objective, wanted.objective, rtol=1e-7)
        assert_allclose(
            G @ found.coef + found.intercept, G @ wanted.coef + wanted.intercept, atol=1e-3
        )
        again = solver.solve(G, problem, found.alpha, source)
        assert again.iterations <= 2
        assert_allclose(again.objective, wanted.objective, rtol=1e-7)


def test_the_working_set_grows_where_little_moves():
    """Wide kernels and large penalties: few at a time would get nowhere."""
    problem = DualProblem.classification(Y, np.full(N, 1e4))
    sizes = []
    solver = SmoSolver(tol=1e-3, working_set=16, whole=0)
    real = smo_state.State._choose

    class Watched(smo_state.State):
        def _choose(self, size):
            sizes.append(size)
            return real(self, size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smo, "State", Watched)
        result = solver.solve(TiledGram(RBF(0.01), X), problem)
    assert sizes[0] == 16
    assert sizes == sorted(sizes)
    assert 16 < sizes[-1] <= smo.LARGEST
    assert result.converged


@pytest.mark.parametrize("name", PROBLEMS)
def test_indefinite_kernels_end_with_a_reason(name):
    G = Sigmoid(gamma=2.0, coef0=-1.0)(X)
    for solver in (SmoSolver(max_rounds=300), SmoSolver(max_rounds=300, working_set=16, whole=0)):
        result = solver.solve(DenseGram(G, symmetric=True), PROBLEMS[name])
        assert result.reason in (Reason.CONVERGED, Reason.STALLED, Reason.LIMIT)
        assert np.isfinite(result.coef).all()
        assert ((result.alpha >= 0) & (result.alpha <= PROBLEMS[name].C)).all()


def test_a_tolerance_below_rounding_stalls():
    result = SmoSolver(tol=1e-300).solve(DenseGram(K, symmetric=True), PROBLEMS["classification"])
    assert result.reason is Reason.STALLED
    assert result.gap < 1e-6


def test_no_bound_and_no_solution():
    """α grows for ever where the hulls touch; it is seen in time, and not elsewhere."""
    endless = np.full(N, np.inf)
    for labels, kernel in ((Y, Linear()), (np.where(np.arange(N) % 2, 1.0, -1.0), Linear())):
        problem = DualProblem.classification(labels, endless)
        for solver in (SmoSolver(), SmoSolver(whole=0, working_set=32)):
            assert solver.solve(TiledGram(kernel, X), problem).reason is Reason.INFEASIBLE
    apart = X + 10 * (Y > 0)[:, None]
    problem = DualProblem.classification(Y, endless)
    for solver in (SmoSolver(), SmoSolver(whole=0, working_set=32)):
        assert solver.solve(TiledGram(Linear(), apart), problem).converged


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(bad):
    """Wherever it stands: a violation that is no number is not below the tolerance."""
    for i, j in ((0, 0), (0, 5), (7, 7), (5, 9)):
        G = K[:60, :60].copy()
        G[i, j] = G[j, i] = bad
        problem = DualProblem.classification(Y[:60], np.ones(60))
        with np.errstate(all="ignore"), pytest.raises(ValueError, match="not finite"):
            SmoSolver().solve(DenseGram(G, symmetric=True), problem)


# Interruption


@pytest.mark.parametrize("at", [1, 2, 3, 6])
@pytest.mark.parametrize("name", PROBLEMS)
def test_an_interruption_between_two_steps_of_a_round(name, at, monkeypatch):
    """While rows are being computed: what is kept fits together, and the gap is a bound."""
    calls = []
    real = _native.smo_add_rows

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr("mercer.solvers.rows.row_sources._native.smo_add_rows", interrupted)
    problem = PROBLEMS[name]
    try:
        result = SmoSolver(working_set=16, whole=0, n_jobs=1).solve(TiledGram(RBF(0.5), X), problem)
    except KeyboardInterrupt:
        assert at == 1  # while the start was being made: there is nothing to keep
        return
    assert result.reason is Reason.INTERRUPTED
    assert not result.converged
    a = result.alpha
    assert_array_equal(result.coef, np.bincount(problem.rows, problem.y * a, N))
    value = -(result.coef @ K @ result.coef / 2 + problem.p @ a)
    assert_allclose(result.objective, value, rtol=1e-9, atol=1e-9)
    best = SmoSolver(tol=1e-8).solve(DenseGram(K, symmetric=True), problem)
    assert best.objective - result.objective <= result.gap * (1 + 1e-9)


def test_it_may_be_stopped_from_outside():
    rounds, stop = [], Stop()

    def report(*figures):
        rounds.append(figures)
        if len(rounds) == 3:
            stop.set()

    solver = SmoSolver(working_set=8, whole=0, report=report)
    with stop:
        result = solver.solve(TiledGram(RBF(0.5), X), PROBLEMS["classification"])
    assert result.reason is Reason.INTERRUPTED
    assert [r[0] for r in rounds] == [1, 2, 3]
    violation, active, support = rounds[-1][1:]
    assert active == N
    assert 0 < support <= 24
    assert violation > 0


# The native step with two groups


@pytest.mark.parametrize("isa", _native.available_isas())
@pytest.mark.parametrize("n", [1, 2, 15, 17, 33, 64, 65])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_groups_exchange_within_themselves(isa, n, share, dtype):
    """Each sum stays, f is the gradient still, and no pair within a group is left to move."""
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, 4))
    G = (A @ A.T + np.eye(n)).astype(dtype)
    split = round(share * n)
    y, C = np.where(np.arange(n) < split, 1.0, -1.0), rng.uniform(0.5, 2, n)
    start, p = C * rng.choice([0.0, 0.5, 1.0], n), rng.normal(size=n)
    alpha, f = start.copy(), G.astype(float) @ (y * start) + y * p
    before = _native.isa()
    try:
        assert _native.use_isa(isa)
        _native.smo_solve(G, y, C, alpha, f, split, 1e-8, 0.0, 1_000_000)
    finally:
        _native.use_isa(before)
    assert ((alpha >= 0) & (alpha <= C)).all()
    assert_allclose(f, G.astype(float) @ (y * alpha) + y * p, atol=1e-8)
    for group in (slice(None, split), slice(split, None)):
        a, part, sign, bound = alpha[group], f[group], y[group], C[group]
        assert_allclose(a.sum(), start[group].sum(), atol=1e-10)
        up = np.where(sign > 0, a < bound, a > 0)
        low = np.where(sign > 0, a > 0, a < bound)
        if up.any() and low.any():
            assert part[low].max() - part[up].min() <= 1e-7
