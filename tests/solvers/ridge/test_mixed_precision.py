"""Cholesky's method with a factor in float32: it has the solution of the factor in float64."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge as TheirRidge

from mercer import KernelRidge
from mercer.gram import DenseGram
from mercer.kernels import RBF
from mercer.solvers import CholeskySolver, EigenSolver, Reason
from mercer.solvers.ridge import cholesky
from mercer.solvers.ridge.cholesky import backward_error, conjugate, refined
from mercer.solvers.ridge.ridge_system import RidgeSystem


@pytest.fixture(autouse=True)
def few_rows_suffice(monkeypatch):
    monkeypatch.setattr(cholesky, "SMALL", 10)
    monkeypatch.setattr(cholesky, "OUTPUTS", 4)


def sample(n=200, gamma=0.3, dtype=np.float64, outputs=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(dtype)
    y = rng.normal(size=n if outputs is None else (n, outputs))
    return DenseGram(RBF(gamma)(X), symmetric=True), y, rng.integers(0, 4, n).astype(float)


def precisions(K):
    """The precisions in which factors of K are asked for."""
    asked, honest = [], K.factorise

    def factorise(shift=0.0, dtype=None):
        asked.append(np.dtype(dtype).name)
        return honest(shift, dtype)

    K.factorise = factorise
    return asked


@pytest.mark.parametrize("outputs", [None, 1, 3])
@pytest.mark.parametrize("use_weights", [False, True])
@pytest.mark.parametrize("penalty", [1e-3, 0.1, 10.0, 1e6])
def test_a_factor_in_float32_gives_the_exact_solution(penalty, use_weights, outputs):
    K, y, w = sample(outputs=outputs)
    w = w if use_weights else None
    factor = CholeskySolver(penalty).factorise(K, w)
    result, other = factor.solve(y), EigenSolver(penalty).solve(K, y, w)
    assert factor._single is not None
    assert factor._double is None
    assert result.converged
    assert result.gap < 1e-12
    assert_allclose(result.coef, other.coef, rtol=1e-7, atol=1e-8 * np.abs(other.coef).max())
    assert result.objective == pytest.approx(other.objective, rel=1e-9)


def test_where_it_does_not_serve_the_other_factor_takes_over(monkeypatch):
    """Few rows show that before, or conjugate gradients do not come to an end."""
    monkeypatch.setattr(cholesky, "of_few_columns", lambda S, penalty: None)
    for gamma, penalty in ((1e-4, 1e-9), (1e-3, 1e-9)):
        K, y, _ = sample(gamma=gamma)
        asked = precisions(K)
        result = CholeskySolver(penalty).solve(K, y)
        assert asked == ["float64"]
        assert result.converged
        assert result.gap < 1e-12
    # eigenvalues between the two precisions, and none of them among the rows that are looked at
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.normal(size=(200, 200)))[0]
    A = (Q * np.logspace(-9, 2, 200)) @ Q.T
    K = DenseGram((A + A.T) / 2, symmetric=True)
    asked = precisions(K)
    factor = CholeskySolver(1e-10)
    K.block = lambda i, j: np.eye(len(i))
    result = factor.solve(K, rng.normal(size=200))
    assert asked == ["float32", "float64"]
    assert result.converged
    assert result.gap < 1e-12


def test_many_outputs_pay_a_factor_in_float64():
    K, y, _ = sample(outputs=60)
    asked = precisions(K)
    result = CholeskySolver(0.1).solve(K, y)
    assert asked == ["float64"]
    assert result.converged
    assert_allclose(result.coef, np.linalg.solve(K.K + 0.1 * np.eye(200), y), rtol=1e-8)


def test_leave_one_out_of_float64_has_its_precision():
    K, y, w = sample()
    for weights in (None, w):
        asked = precisions(K)
        factor = CholeskySolver(0.1).factorise(K, weights)
        found = factor.leave_one_out(y)
        assert factor.solve(y).converged
        assert asked in ([], ["float64"])  # a weighted matrix is another one
        assert_allclose(found, EigenSolver().factorise(K, weights).leave_one_out(y, [0.1])[0],
                        rtol=1e-8, atol=1e-8)  # fmt: skip


@pytest.mark.parametrize("use_weights", [False, True])
def test_a_float32_matrix_that_rounding_makes_indefinite_is_factorised(use_weights, monkeypatch):
    """With a penalty above rounding, which the reason names; eigenpairs would take far longer."""
    K, y, w = sample(400, gamma=1e-3, dtype=np.float32)
    monkeypatch.setattr(cholesky, "EigenFactor", None)
    result = CholeskySolver(1e-9).solve(K, y, w if use_weights else None)
    assert result.reason is Reason.RAISED
    assert not result.converged
    assert 0 < result.gap < 1e-6


def test_no_penalty_and_a_singular_matrix_have_the_solution_of_minimum_norm():
    for dtype in (np.float64, np.float32):
        K, y, _ = sample(50, dtype=dtype)
        twice = np.tile(np.arange(50), 2)
        K, y = DenseGram(K.K[np.ix_(twice, twice)], symmetric=True), y[twice]
        result = CholeskySolver(0.0).solve(K, y)
        assert result.reason is Reason.SINGULAR
        if dtype == np.float64:
            assert_allclose(result.coef[:50], result.coef[50:], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [1e-30, 1e30, 1e60])
def test_units_of_the_kernel_do_not_matter(size):
    K, y, _ = sample(60)
    wanted = np.linalg.solve(K.K + 0.1 * np.eye(60), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = CholeskySolver(0.1 * size).solve(DenseGram(K.K * size, symmetric=True), y)
    assert found.converged
    assert_allclose(found.coef * size, wanted, rtol=1e-7)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_is_told(bad):
    K, y, _ = sample(40)
    K.K[3, 4] = K.K[4, 3] = bad
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinity"):
        CholeskySolver(0.1).solve(K, y).conclude()


def test_both_iterations_stop_at_the_rounding_of_float64():
    K, y, _ = sample(outputs=2)
    system = RidgeSystem(K)
    b, norm = system.right_side(y), system.norm(0.1)
    rough = K.factorise(0.1, np.dtype(np.float32)).solve
    for solve in (refined, conjugate):
        found = solve(system, rough, b, 0.1, norm)
        assert found.exact(200)
        assert found.steps <= 6
        assert_allclose(found.residual, system.residual(found.z, b, 0.1), atol=1e-12)
        assert found.gap == backward_error(found.z, found.residual, b, norm)
    assert conjugate(system, np.zeros_like, b, 0.1, norm).gap > 0.01  # no direction: it stops
    nothing = conjugate(system, rough, np.zeros_like(b), 0.1, norm)
    assert nothing.gap == 0
    assert not nothing.z.any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_learner_agrees_with_scikit_learn(dtype):
    rng = np.random.default_rng(2)
    X, Z = rng.normal(size=(300, 4)).astype(dtype), rng.normal(size=(50, 4)).astype(dtype)
    y = np.sin(X).sum(axis=1)
    given = {"alpha": 0.1, "kernel": "rbf", "gamma": 0.2}
    w = rng.random(300)
    ours, other = KernelRidge(**given).fit(X, y, w), TheirRidge(**given).fit(X, y, w)
    tol = 1e-10 if dtype == np.float64 else 1e-4
    assert_allclose(ours.predict(Z), other.predict(Z), rtol=tol, atol=tol)


@pytest.mark.parametrize("use_weights", [False, True])
@pytest.mark.parametrize("outputs", [None, 3])
def test_a_nearly_singular_k_of_few_columns_needs_no_factor_of_all(outputs, use_weights):
    K, y, w = sample(400, gamma=0.003, outputs=outputs)
    penalty = 1e-6
    factor = CholeskySolver(penalty).factorise(K, w if use_weights else None)
    result, other = factor.solve(y), EigenSolver(penalty).solve(K, y, w if use_weights else None)
    assert factor._few is not None
    assert factor._double is factor._single is None
    assert result.converged
    assert result.gap < 1e-15
    assert_allclose(K @ result.coef, K @ other.coef, atol=1e-5)
    again = factor.solve(2 * y)
    assert_allclose(again.coef, 2 * result.coef, rtol=1e-6, atol=1e-9 * np.abs(result.coef).max())
    assert np.isfinite(factor.leave_one_out(y)).all()  # by the factor of all, from here on
    assert factor._few is None


@pytest.mark.parametrize(("gamma", "penalty"), [(1.0, 1e-9), (0.003, 1e-13), (0.003, 0.0)])
def test_many_columns_or_a_penalty_of_rounding_leave_few_columns_out(gamma, penalty):
    K, y, _ = sample(400, gamma=gamma)
    factor = CholeskySolver(penalty).factorise(K)
    factor.solve(y)
    assert factor._few is None


def test_what_few_columns_leave_is_seen_by_the_residual(monkeypatch):
    K, y, _ = sample(400, gamma=0.003)
    wanted = K @ EigenSolver(1e-6).solve(K, y).coef
    monkeypatch.setattr(cholesky, "of_few_columns", lambda S, penalty: np.zeros_like)
    result = CholeskySolver(1e-6).solve(K, y)
    assert result.converged
    assert_allclose(K @ result.coef, wanted, atol=1e-5)
