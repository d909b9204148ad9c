"""Every solver of ridge regression keeps the published contract; preconditioners, and faults."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import DenseGram
from mercer.kernels import RBF
from mercer.solvers import (
    CholeskySolver,
    ConjugateGradientSolver,
    EigenSolver,
    LowRankSolver,
    NystroemPreconditioner,
)
from mercer.testing import check_ridge_solver

PENALTIES = [0.1, np.array([0.5]), np.array([0.1, 3.0, 0.1])]
NYSTROEM = NystroemPreconditioner(5, random_state=0)


class Diagonal:
    """A user's own preconditioner: the inverse of the diagonal of √W K √W + λ I."""

    def prepare(self, K, weights=None):
        diagonal = K.diag() if weights is None else weights * K.diag()
        return lambda R, penalties: R / (diagonal[:, None] + penalties)


class Inverse:
    """The best there is."""

    def prepare(self, K, weights=None):
        s = np.ones(K.shape[0]) if weights is None else np.sqrt(weights)
        S = s[:, None] * K.dense() * s
        identity = np.eye(len(S))

        def apply(R, penalties):
            columns = [np.linalg.solve(S + p * identity, r) for p, r in zip(penalties, R.T)]
            return np.stack(columns, axis=1)

        return apply


@pytest.mark.parametrize("penalty", PENALTIES, ids=["one", "one in an array", "per output"])
@pytest.mark.parametrize("solver", [CholeskySolver, EigenSolver])
def test_exact_solvers_keep_the_contract(solver, penalty):
    # a float32 K is factorised in float32, but the residual is refined in float64
    check_ridge_solver(solver(penalty), tol=1e-9, tol32=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES, ids=["one", "one in an array", "per output"])
@pytest.mark.parametrize("preconditioner", [NYSTROEM, None, Diagonal()])
def test_conjugate_gradients_keep_the_contract(preconditioner, penalty):
    solver = ConjugateGradientSolver(penalty, tol=1e-6, preconditioner=preconditioner)
    check_ridge_solver(solver, tol=1e-4, tol32=1e-3)


# --- preconditioners ----------------------------------------------------------------------------


def problem(n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    w = 10.0 ** rng.integers(-2, 3, n)
    return DenseGram(RBF(0.5)(X), symmetric=True), np.stack([X[:, 0], X[:, 1] ** 2], axis=1), w


def test_a_preconditioner_of_your_own_changes_the_products_and_not_the_solution():
    K, y, w = problem()
    steps = {}
    for name, own in (("none", None), ("diagonal", Diagonal()), ("inverse", Inverse())):
        solver = ConjugateGradientSolver(np.array([1.0, 20.0]), 1e-9, preconditioner=own)
        result = solver.solve(K, y, w)
        assert result.converged
        assert_allclose(
            K.K @ result.coef, K.K @ CholeskySolver(solver.penalty).solve(K, y, w).coef, atol=1e-6
        )
        steps[name] = result.iterations
    assert steps["inverse"] <= 2
    assert steps["inverse"] < steps["none"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_full_nystroem_factor_is_the_inverse(dtype, weighted):
    K, y, w = problem(60)
    given = w if weighted else None
    narrow = DenseGram(K.K.astype(dtype), symmetric=True)
    found = NystroemPreconditioner(60, random_state=0).prepare(narrow, given)
    penalties = np.array([2.0, 30.0])
    wanted = Inverse().prepare(K, given)(y, penalties)
    tol = 1e-8 if dtype == np.float64 else 1e-2
    assert found(y, penalties).dtype == np.float64
    assert_allclose(found(y, penalties), wanted, atol=tol * np.abs(wanted).max())


def test_a_preconditioner_keeps_its_budget_or_is_refused():
    K = DenseGram(np.eye(2000), symmetric=True)
    for memory, rank in ((10**9, 447), (2_000_000, 104), (1000, 1)):
        made = NystroemPreconditioner(random_state=0, memory=memory).prepare(K)
        assert made.U.shape[1] <= rank
        assert made.U.shape[1] > rank // 2
    with pytest.raises(MemoryError, match='rank=100: give memory="2MB" or more'):
        NystroemPreconditioner(100, memory=1_000_000).prepare(K)


def test_a_preconditioner_without_centres_is_refused():
    K, y, _ = problem(10)
    with pytest.raises(ValueError, match="rank=0: give a positive number"):
        ConjugateGradientSolver(preconditioner=NystroemPreconditioner(0)).solve(K, y)


# --- what is refused ----------------------------------------------------------------------------


def test_a_low_rank_solver_needs_a_factor():
    K, y, _ = problem(10)
    with pytest.raises(TypeError, match=r"needs a factor of K.*DenseGram 10 x 10.*pivoted_chol"):
        LowRankSolver().solve(K, y)


def test_penalties_of_another_number_than_outputs_are_refused():
    K, y, _ = problem(10)
    for solver in (CholeskySolver, EigenSolver):
        with pytest.raises(ValueError, match=r"penalty has shape \(3,\), but y has shape \(10, 2"):
            solver(np.ones(3)).solve(K, y)
    with pytest.raises(ValueError, match="one factor belongs to one number"):
        CholeskySolver(np.ones(2)).factorise(K)


# --- the contract finds faults ------------------------------------------------------------------


@dataclass(frozen=True)
class Faulty:
    """Cholesky's method with a planted fault."""

    fault: str
    penalty: float = 0.1

    def solve(self, K, y, weights=None):
        if self.fault == "weights":
            weights = None
        if self.fault == "in place":
            y -= 0
        result = CholeskySolver(self.penalty).solve(K, y, weights)
        if self.fault == "penalty":
            result = CholeskySolver(1.001 * self.penalty).solve(K, y, weights)
        if self.fault == "refusal" and "dense" in K.cheap:
            raise TypeError("needs rows")
        if self.fault == "shape":
            return replace(result, coef=result.coef.reshape(len(y), -1))
        if self.fault == "precision":
            return replace(result, coef=result.coef.astype(np.float32))
        if self.fault == "objective":
            return replace(result, objective=2 * result.objective)
        if self.fault == "limit":
            return replace(result, converged=False)
        return result


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("weights", "Not equal"),
        ("penalty", "Not equal"),
        ("refusal", "needs rows"),
        ("shape", "coef has shape"),
        ("precision", "coef is float32"),
        ("objective", "the objective"),
        ("limit", "not converged"),
    ],
)
def test_the_contract_finds(fault, message):
    with pytest.raises(AssertionError, match=message):
        check_ridge_solver(Faulty(fault))


def test_the_contract_finds_data_that_are_overwritten():
    with pytest.raises(ValueError, match="read-only"):
        check_ridge_solver(Faulty("in place"))


def test_a_solver_of_one_target_has_one_penalty():
    check_ridge_solver(OneTarget(), several=False)
    with pytest.raises(ValueError, match="takes one target"):
        check_ridge_solver(OneTarget())
    with pytest.raises(ValueError, match=r"one for each target.*give a number as the penalty"):
        check_ridge_solver(CholeskySolver(np.array([0.5])), several=False)


class OneTarget(CholeskySolver):
    def solve(self, K, y, weights=None):
        if y.ndim > 1:
            raise ValueError("takes one target")
        return super().solve(K, y, weights)


def test_the_contract_needs_a_positive_penalty():
    with pytest.raises(ValueError, match=r"solver.penalty=0.0: give a solver with penalties > 0"):
        check_ridge_solver(CholeskySolver(0.0))
