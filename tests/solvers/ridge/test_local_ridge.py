"""Local ridge regression against dense solutions with the same matrix, and refits without a row."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose

from lanes import examples
from mercer.gram import DenseGram, LocalGram, gram, grow_leaves, pivoted_cholesky
from mercer.kernels import RBF, Laplacian
from mercer.solvers import CholeskySolver, LocalSolver


def problem(n=90, rank=8, leaf_rows=15, dtype=np.float64, seed=0, outputs=2, kernel=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(dtype)
    low = pivoted_cholesky(gram(kernel or RBF(0.4), X), rank, random_state=seed)
    K = LocalGram(low, grow_leaves(low, leaf_rows, seed))
    y = rng.normal(size=(n, outputs)) if outputs else rng.normal(size=n)
    return K, y, rng.integers(1, 4, n).astype(float)


def dense(K):
    return DenseGram(K.dense().astype(np.float64), symmetric=True)


@examples(40)
@given(
    st.integers(1, 60), st.integers(1, 10), st.integers(2, 20), st.integers(0, 99),
    st.sampled_from([1e-4, 0.1, 30.0]), st.booleans(), st.sampled_from([0, 1, 3]),
)  # fmt: skip
def test_it_solves_the_system(n, rank, leaf_rows, seed, penalty, weighted, outputs):
    K, y, w = problem(n, rank, leaf_rows, seed=seed, outputs=outputs, kernel=Laplacian(0.3))
    w = w if weighted else None
    found, wanted = (
        LocalSolver(penalty).solve(K, y, w),
        CholeskySolver(penalty).solve(dense(K), y, w),
    )
    assert found.converged
    assert found.coef.shape == y.shape
    assert_allclose(found.coef, wanted.coef, rtol=1e-6, atol=1e-8 * np.abs(wanted.coef).max())
    assert found.objective == pytest.approx(wanted.objective, rel=1e-7)
    inverse = np.eye(n) / (1.0 if w is None else w)
    A = K.dense() + penalty * inverse
    assert np.linalg.norm(A @ found.coef - y) <= 1e-8 * np.linalg.norm(y) * np.abs(A).sum()


def test_weights_are_repetitions_and_rows_of_weight_0_are_absent():
    K, y, w = problem()
    w[:10] = 0
    found = LocalSolver(0.3).solve(K, y, w).coef
    kept = np.flatnonzero(w)
    A = K.dense()[np.ix_(kept, kept)] + 0.3 * np.diag(1 / w[kept])
    assert_allclose(found[kept], np.linalg.solve(A, y[kept]), rtol=1e-8)
    assert not found[:10].any()


@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_without_a_row_are_those_of_a_refit(weighted):
    K, y, w = problem(40, 6, 10)
    w = w if weighted else np.ones(40)
    _, left_out = LocalSolver(0.2).solve_and_leave_out(K, y, w if weighted else None)
    A = K.dense()
    for i in range(0, 40, 3):
        others = np.delete(np.arange(40), i)
        system = A[np.ix_(others, others)] + 0.2 * np.diag(1 / w[others])
        assert_allclose(left_out[i], A[i, others] @ np.linalg.solve(system, y[others]), rtol=1e-8)


def test_float32_is_solved_again_in_float64_where_it_is_not_enough():
    K, y, _ = problem(400, 60, 100, np.float32)
    plain = LocalSolver(1.0).solve(K, y)
    assert 1e-9 < plain.gap < 1e-2
    assert plain.converged
    A = K.dense().astype(np.float64) + np.eye(400)
    assert_allclose(plain.coef, np.linalg.solve(A, y), rtol=1e-3, atol=1e-3)
    hard = LocalSolver(1e-5).solve(K, y)
    assert hard.converged
    assert hard.gap < 1e-8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("penalty", [1e-7, 1e-3])
def test_a_smooth_kernel_is_solved_as_well_as_its_rounding_allows(dtype, penalty):
    """K - F Fᵀ is rounding alone then, which had eigenvalues below -λ."""
    X = np.random.default_rng(0).uniform(-1.7, 1.7, size=(600, 2)).astype(dtype)
    y = np.sin(2 * X[:, 0].astype(np.float64)) * X[:, 1]
    for rank in (60, 200):
        low = pivoted_cholesky(gram(RBF(0.5), X), rank, random_state=0)
        K = LocalGram(low, grow_leaves(low, 100, 0))
        found, left_out = LocalSolver(penalty).solve_and_leave_out(K, y)
        assert found.converged
        assert np.abs(K.dense() @ found.coef + penalty * found.coef - y).max() < 1e-2
        assert np.abs(left_out - y).max() < 0.1


def test_a_matrix_of_zeros_has_a_solution_of_any_size():
    low = pivoted_cholesky(DenseGram(np.zeros((6, 6)), symmetric=True), 2, random_state=0)
    found = LocalSolver(0.0).solve(LocalGram(low, grow_leaves(low, 3, 0)), np.ones(6))
    assert np.isfinite(found.coef).all()
    assert not found.converged


def test_the_certificate_bounds_the_residual():
    for seed in range(5):
        K, y, _ = problem(300, 40, 60, np.float32, seed)
        for penalty in (1.0, 0.1, 0.01):
            found = LocalSolver(penalty).solve(K, y)
            A = K.dense().astype(np.float64) + penalty * np.eye(300)
            measured = np.linalg.norm(A @ found.coef - y) / np.linalg.norm(y)
            # entries of K̂ are rounded too, here as there
            assert measured <= 10 * found.gap + 1e-4


def test_a_singular_system_has_a_solution_and_says_what_is_wrong():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 2)), 6, axis=0)
    low = pivoted_cholesky(gram(RBF(1.0), X), 4, random_state=0)
    K = LocalGram(low, grow_leaves(low, 20, 0))
    found = LocalSolver(0.0).solve(K, np.random.default_rng(1).normal(size=60))
    assert np.isfinite(found.coef).all()
    assert not found.converged


def test_a_penalty_for_each_target_and_any_number_of_threads():
    K, y, w = problem()
    found = LocalSolver(np.array([0.1, 2.0])).solve(K, y, w).coef
    for column, penalty in enumerate((0.1, 2.0)):
        alone = LocalSolver(penalty, n_jobs=1).solve(K, y[:, column], w).coef
        assert_allclose(found[:, column], alone, rtol=1e-12)
    one, two = (LocalSolver(0.1, n_jobs=jobs).solve(K, y).coef for jobs in (1, 3))
    assert_allclose(one, two, rtol=1e-12)


def test_numbers_that_are_not_finite_are_refused():
    K, y, _ = problem()
    values = K.exact.dense().copy()
    values[3, 3] = np.inf
    low = type(K.low)(K.low.centres, K.low.L, K.low.F, DenseGram(values, symmetric=True))
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinity"):
        LocalSolver(1.0).solve(LocalGram(low, K.leaves), y)
