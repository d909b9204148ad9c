"""Ridge solvers: exact ones against brute force, fast ones against exact ones, all by residual."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from lanes import examples
from mercer.gram import DenseGram, Place, TiledGram
from mercer.gram.low_rank import LowRankGram, pivoted_cholesky
from mercer.kernels import RBF
from mercer.solvers import (
    CholeskySolver,
    ConjugateGradientSolver,
    EigenSolver,
    LowRankSolver,
    NystroemPreconditioner,
    Reason,
    Result,
)
from mercer.solvers.ridge import low_rank


def problem(n=40, outputs=2, seed=0, dtype=np.float64):
    """K of a Gaussian kernel, targets, and integer weights of which some are 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2)).astype(dtype)
    y = rng.normal(size=(n, outputs)) if outputs else rng.normal(size=n)
    return DenseGram(K, symmetric=True), y, rng.integers(0, 4, n).astype(float)


def brute_force(K, y, penalty, w=None):
    """(K + λ W⁻¹)⁻¹ y over the rows of positive weight, in float64."""
    K = K.astype(np.float64)
    w = np.ones(len(K)) if w is None else w
    kept = w > 0
    coef = np.zeros(y.shape)
    A = K[np.ix_(kept, kept)] + penalty * np.diag(1 / w[kept])
    coef[kept] = np.linalg.solve(A, y[kept])
    return coef


def brute_force_left_out(K, y, penalty, w=None):
    """One refit for each row."""
    w = np.ones(len(K)) if w is None else w
    out = np.empty(y.shape)
    for i in range(len(K)):
        others = w * (np.arange(len(K)) != i)
        out[i] = K[i] @ brute_force(K, y, penalty, others)
    return out


weighted = pytest.mark.parametrize("use_weights", [False, True], ids=["equal", "weighted"])


@weighted
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_backward_error_of_exact_solvers_is_of_the_size_of_rounding(dtype, use_weights):
    K, y, w = problem(dtype=dtype)  # a float32 solution is refined in float64
    for solver in (CholeskySolver(0.1), EigenSolver(0.1)):
        assert solver.solve(K, y, w if use_weights else None).gap < 1e-13


@weighted
def test_objective_is_the_minimised_function(use_weights):
    K, y, w = problem()
    w = w if use_weights else np.ones(len(y))
    a = brute_force(K.K, y, 0.3, w)
    expected = np.sum(w[:, None] * (y - K.K @ a) ** 2) + 0.3 * np.sum(a * (K.K @ a))
    low = pivoted_cholesky(K, len(y), random_state=0)
    for result in (
        CholeskySolver(0.3).solve(K, y, w),
        EigenSolver(0.3).solve(K, y, w),
        ConjugateGradientSolver(0.3, tol=1e-10).solve(K, y, w),
        LowRankSolver(0.3).solve(low, y, w),
    ):
        assert result.objective == pytest.approx(expected, rel=1e-8)


@weighted
@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-9), (np.float32, 2e-3)])
def test_leave_one_out_equals_refits(dtype, atol, use_weights):
    K, y, w = problem(dtype=dtype)
    w = w if use_weights else None
    penalties = [0.1, 1.0, 7.0]
    expected = np.stack([brute_force_left_out(K.K, y, p, w) for p in penalties])
    assert_allclose(EigenSolver().factorise(K, w).leave_one_out(y, penalties), expected, atol=atol)
    for p, each in zip(penalties, expected):
        one = CholeskySolver(p).factorise(K, w).leave_one_out(y)
        assert_allclose(one, each, atol=atol)
    if dtype == np.float64:
        low = pivoted_cholesky(K, len(y), random_state=0)
        assert_allclose(
            LowRankSolver().factorise(low, w).leave_one_out(y, penalties), expected, atol=1e-7
        )


def test_leave_one_out_keeps_the_shape_of_one_target():
    K, y, _ = problem(outputs=0)
    assert EigenSolver().factorise(K).leave_one_out(y, [1.0, 2.0]).shape == (2, len(y))
    assert CholeskySolver().factorise(K).leave_one_out(y).shape == y.shape
    low = pivoted_cholesky(K, 10, random_state=0)
    assert LowRankSolver().factorise(low).leave_one_out(y, [1.0, 2.0]).shape == (2, len(y))


@weighted
def test_low_rank_leave_one_out_equals_refits_on_the_factor(use_weights):
    K, y, w = problem(n=30, outputs=0)
    w = w if use_weights else np.ones(len(y))
    low = pivoted_cholesky(K, 8, random_state=1)
    expected = brute_force_left_out(low.dense(), y, 0.2, w)
    assert_allclose(
        LowRankSolver().factorise(low, w).leave_one_out(y, [0.2])[0], expected, atol=1e-9
    )


@examples(25)
@given(
    n=st.integers(1, 12),
    seed=st.integers(0, 1000),
    penalty=st.floats(1e-3, 1e3),
    repeats=st.data(),
)
def test_weights_mean_repetition(n, seed, penalty, repeats):
    K, y, _ = problem(n=n, outputs=0, seed=seed)
    times = np.array(repeats.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    if not times.any():
        times[0] = 1
    index = np.repeat(np.arange(n), times)
    repeated = DenseGram(K.K[np.ix_(index, index)], symmetric=True)
    a = CholeskySolver(penalty).solve(repeated, y[index]).coef
    expected = K.K[:, index] @ a
    for result in (
        CholeskySolver(penalty).solve(K, y, times.astype(float)),
        EigenSolver().factorise(K, times).solve(y, penalty),
        ConjugateGradientSolver(penalty, tol=1e-12).solve(K, y, times.astype(float)),
    ):
        assert_allclose(K.K @ result.coef, expected, atol=1e-7)
        assert (result.coef[times == 0] == 0).all()


def test_effective_dimension_is_the_trace_of_the_smoother():
    K, _, w = problem()
    w += 1
    smoother = K.K @ np.linalg.inv(K.K + 0.5 * np.diag(1 / w))
    assert EigenSolver().factorise(K, w).effective_dimension([0.5])[0] == pytest.approx(
        np.trace(smoother)
    )
    low = pivoted_cholesky(K, len(w), random_state=0)
    assert LowRankSolver().factorise(low, w).effective_dimension([0.5])[0] == pytest.approx(
        np.trace(smoother)
    )


def test_path_equals_single_solves():
    K, y, w = problem()
    path = EigenSolver().factorise(K, w)
    for penalty in np.logspace(-4, 3, 8):
        assert_allclose(
            path.solve(y, penalty).coef, CholeskySolver(penalty).solve(K, y, w).coef, rtol=1e-6
        )


# --- singular and indefinite matrices -----------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_singular_matrix_gets_the_minimum_norm_solution_and_says_so(dtype):
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0]], dtype)  # rank 2, a duplicate
    K, y = X @ X.T, np.array([1.0, 2.0, 3.0, 4.0])
    result = CholeskySolver(0.0).solve(DenseGram(K, symmetric=True), y)
    assert_allclose(result.coef, np.linalg.pinv(K.astype(float), rcond=1e-6) @ y, atol=1e-5)
    assert result.reason is Reason.SINGULAR
    with pytest.warns(ConvergenceWarning, match=r"minimum norm: raise the\s+penalty"):
        result.conclude()


def test_zero_matrix():
    K = DenseGram(np.zeros((3, 3)), symmetric=True)
    assert_allclose(CholeskySolver(0.0).solve(K, np.ones(3)).coef, 0)
    assert_allclose(CholeskySolver(2.0).solve(K, np.ones(3)).coef, 0.5)
    low = pivoted_cholesky(K, 2, random_state=0)
    assert_allclose(LowRankSolver(1.0).solve(low, np.ones(3)).coef, 0)


def test_near_singular_float32_is_solved_in_float64():
    K, y, _ = problem(dtype=np.float32)
    result = CholeskySolver(1e-7).solve(K, y)
    assert result.converged
    assert result.gap < 1e-12


def test_indefinite_matrix_is_solved_exactly():
    K, y, _ = problem()
    K = DenseGram(K.K - 0.5 * np.eye(len(y)), symmetric=True)  # eigenvalues of both signs
    result = CholeskySolver(0.1).solve(K, y)
    assert_allclose(K.K @ result.coef + 0.1 * result.coef, y, atol=1e-9)
    assert result.converged


def test_one_row():
    K, y = DenseGram(np.array([[2.0]]), symmetric=True), np.array([3.0])
    for result in (
        CholeskySolver(1.0).solve(K, y),
        EigenSolver(1.0).solve(K, y),
        ConjugateGradientSolver(1.0).solve(K, y),
    ):
        assert_allclose(result.coef, [1.0])
    assert_allclose(EigenSolver().factorise(K).leave_one_out(y, [1.0]), [[0.0]], atol=1e-15)


def test_penalties_must_be_positive_for_leave_one_out():
    K, y, _ = problem()
    with pytest.raises(ValueError, match=r"penalties=.*positive"):
        EigenSolver().factorise(K).leave_one_out(y, [0.0, 1.0])


def test_solvers_refuse_operators_that_cannot_give_what_they_need():
    X = np.random.default_rng(0).normal(size=(10, 2))
    K = TiledGram(RBF().bind(X), X, place=Place(100))
    with pytest.raises(TypeError, match=r"CholeskySolver needs 'factorise'.*memory="):
        CholeskySolver().solve(K, np.ones(10))


# --- conjugate gradients ------------------------------------------------------------------------


@weighted
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_conjugate_gradients_equal_cholesky(dtype, use_weights):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).astype(dtype)
    kernel = RBF(0.3).bind(X)
    y, w = rng.normal(size=(400, 3)), rng.integers(0, 3, 400).astype(float)
    w = w if use_weights else None
    tiled = TiledGram(kernel, X)
    penalty = np.array([1.0, 0.1, 10.0])
    result = ConjugateGradientSolver(
        penalty, tol=1e-8, preconditioner=NystroemPreconditioner(random_state=0)
    ).solve(tiled, y, w)
    assert result.converged
    assert result.gap <= 1e-8
    assert result.iterations < 60
    K = DenseGram(tiled.dense(), symmetric=True)
    for j, p in enumerate(penalty):
        expected = CholeskySolver(p).solve(K, y[:, j], w).coef
        atol = (1e-6 if dtype == np.float64 else 1e-4) * np.abs(expected).max()
        assert_allclose(result.coef[:, j], expected, atol=atol)


def test_conjugate_gradients_certificate_is_the_true_residual():
    K, y, w = problem(n=100)
    w += 0.5
    result = ConjugateGradientSolver(0.5, tol=1e-5, preconditioner=NystroemPreconditioner(5)).solve(
        K, y, w
    )
    z, s = result.coef / np.sqrt(w)[:, None], np.sqrt(w)[:, None]
    r = s * y - s * (K.K @ result.coef) - 0.5 * z
    measured = (np.linalg.norm(r, axis=0) / np.linalg.norm(s * y, axis=0)).max()
    assert result.gap == pytest.approx(measured, rel=1e-6)
    assert result.gap <= 1e-5


def test_conjugate_gradients_stop_at_the_limit_with_the_best_so_far():
    K, y, _ = problem(n=100)
    result = ConjugateGradientSolver(
        1e-6, tol=1e-12, max_iter=3, preconditioner=NystroemPreconditioner(2)
    ).solve(K, y)
    assert result.reason is Reason.LIMIT
    assert result.iterations == 3
    assert result.gap <= 1  # never worse than no solution at all
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        result.conclude()


def test_conjugate_gradients_without_target():
    K, y, _ = problem()
    result = ConjugateGradientSolver().solve(K, np.zeros_like(y))
    assert result.converged
    assert_allclose(result.coef, 0)


class Interrupting(DenseGram):
    """Ctrl-C in the second product."""

    products = 0

    def __matmul__(self, V):
        self.products += 1
        if self.products == 2:
            raise KeyboardInterrupt
        return super().__matmul__(V)


def test_interrupt_keeps_the_best_so_far():
    K, y, _ = problem(n=60)
    K = Interrupting(K.K, symmetric=True)
    result = ConjugateGradientSolver(
        1e-3, tol=1e-12, preconditioner=NystroemPreconditioner(3)
    ).solve(K, y)
    assert result.reason is Reason.INTERRUPTED
    assert np.isfinite(result.coef).all()


# --- low rank -----------------------------------------------------------------------------------


@weighted
@pytest.mark.parametrize("outputs", [0, 2])
def test_low_rank_is_exact_when_all_rows_are_centres(outputs, use_weights):
    K, y, w = problem(outputs=outputs)
    w = w if use_weights else None
    low = pivoted_cholesky(K, len(y), random_state=0)
    result = LowRankSolver(0.1).solve(low, y, w)
    expected = K.K @ brute_force(K.K, y, 0.1, w)
    assert_allclose(K.K[:, low.centres] @ result.coef, expected, atol=1e-8)
    assert result.converged
    assert result.coef.shape == (low.rank, *y.shape[1:])


def test_low_rank_solves_the_restricted_problem():
    K, y, _ = problem(outputs=0)
    low = pivoted_cholesky(K, 7, random_state=0)
    C, S = K.K[:, low.centres], K.K[np.ix_(low.centres, low.centres)]
    # min |y - C a|² + λ aᵀ S a  =>  (CᵀC + λ S) a = Cᵀ y
    expected = np.linalg.solve(C.T @ C + 0.1 * S, C.T @ y)
    assert_allclose(LowRankSolver(0.1).solve(low, y).coef, expected, rtol=1e-7)


def test_a_streamed_factor_gives_what_a_held_one_gives():
    K, y, w = problem(n=50)
    held = pivoted_cholesky(K, 12, random_state=0)
    streamed = LowRankGram(held.centres, held.L, K=K)
    a, b = LowRankSolver().factorise(held, w), LowRankSolver().factorise(streamed, w)
    assert_allclose(a.solve(y, 0.1).coef, b.solve(y, 0.1).coef, rtol=1e-6)
    assert_allclose(a.leave_one_out(y, [0.1]), b.leave_one_out(y, [0.1]), rtol=1e-7)


def test_float32_low_rank_is_near_float64():
    K, y, _ = problem(n=200)
    narrow = DenseGram(K.K.astype(np.float32), symmetric=True)
    fits = []
    for G in (K, narrow):
        low = pivoted_cholesky(G, 60, random_state=0)
        system = LowRankSolver().factorise(low)
        assert low.dtype == G.dtype
        fits.append(low.dense() @ np.linalg.solve(low.dense() + np.eye(200), y))
        assert system.solve(y, 1.0).converged
    assert_allclose(fits[0], fits[1], atol=5e-3)


def test_result_is_silent_when_converged():
    Result(np.zeros(1)).conclude()


@weighted
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_factor_that_is_not_held_is_that_in_memory(dtype, use_weights, monkeypatch):
    K, y, w = problem(n=300, dtype=dtype)
    w = w if use_weights else None
    held = pivoted_cholesky(K, 40, random_state=0)
    streamed = LowRankGram(held.centres, held.L, K=K)
    results = [LowRankSolver(0.1).factorise(low, w) for low in (held, streamed)]
    monkeypatch.setattr(low_rank, "STRIP", 23)
    monkeypatch.setattr(low_rank, "STRIPS", 2)
    results += [LowRankSolver(0.1).factorise(low, w) for low in (held, streamed)]
    tol = 1e-6 if dtype == np.float64 else 2e-2
    values = [K.K[:, held.centres] @ each.solve(y, 0.1).coef for each in results]
    for each, value in zip(results, values):
        assert each.solve(y, 0.1).converged
        assert_allclose(value, values[0], atol=tol)
        sums = each.residual_sums(y, each.solve(y, 0.1).coef)
        share = np.ones(300) if w is None else w
        assert_allclose(sums, share @ (y - value), atol=100 * tol)
