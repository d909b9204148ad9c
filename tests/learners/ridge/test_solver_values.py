"""Ridge learners with a solver value, which is an object and no name."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import mercer
from mercer import KernelRidge, KernelRidgeClassifier, KernelSearchCV
from mercer.selection.grid.sharing import key_of
from mercer.solvers import (
    CholeskySolver,
    ConjugateGradientSolver,
    EigenSolver,
    LocalSolver,
    LowRankSolver,
    RidgeSweep,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
VALUES = [CholeskySolver(), EigenSolver(), ConjugateGradientSolver(tol=1e-12)]


@dataclass(frozen=True)
class Solved:
    """Returns something."""

    given: object
    penalty: float = 1.0

    def solve(self, K, y, weights=None):
        return self.given


@pytest.mark.parametrize("solver", VALUES, ids=lambda solver: type(solver).__name__)
@pytest.mark.parametrize("alpha", [0.1, [0.1, 2.0]])
def test_each_of_ours_is_the_same_machine(solver, alpha):
    named = KernelRidge(alpha, kernel="rbf").fit(X, Y)
    model = KernelRidge(alpha, kernel="rbf", solver=solver).fit(X, Y)
    assert model.solver_ == type(solver).__name__
    assert_allclose(model.dual_coef_, named.dual_coef_, atol=1e-7)
    assert model.solver is solver


def test_alpha_takes_the_place_of_the_penalty():
    for penalty in (1e-9, 1e9):
        model = KernelRidge(0.5, kernel="rbf", solver=CholeskySolver(penalty)).fit(X, Y)
        assert_allclose(model.predict(X), KernelRidge(0.5, kernel="rbf").fit(X, Y).predict(X))


def test_tol_of_the_value_is_read_and_that_of_the_learner_is_not():
    fits = [
        KernelRidge(
            1e-3, kernel="rbf", tol=tol,
            solver=ConjugateGradientSolver(tol=own, preconditioner=None),
        ).fit(X, Y)
        for tol, own in ((1e-12, 1e-2), (1e-2, 1e-12))
    ]  # fmt: skip
    assert fits[0].residual_ > 1e-6 > 1e-10 > fits[1].residual_


@pytest.mark.parametrize("Learner", [KernelRidge, KernelRidgeClassifier])
@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (3, r"solver=3: give one of \['auto', .*or a solver: a dataclass with solve\(\) and the"),
        (None, "solver=None: give one of"),
        (CholeskySolver, r"solver=CholeskySolver, which is a class: give a value of it, such as"),
        (RidgeSweep((1.0,)), r"RidgeSweep.* and the field penalty"),
        (X, "give one of"),
    ],
)
def test_others_are_refused_before_the_samples_are_compared(Learner, solver, message):
    def kernel(A, B):
        raise AssertionError("the kernel was asked")

    from mercer.kernels import FromFunction

    model = Learner(kernel=FromFunction(kernel, at_once=True), solver=solver)
    with pytest.raises(ValueError, match=message):
        model.fit(X, X[:, 0] > 0)


def test_a_factor_on_centres_or_leaves_is_asked_for_by_name():
    for solver in (LowRankSolver(), LocalSolver()):
        with pytest.raises(TypeError, match=f"{type(solver).__name__} needs"):
            KernelRidge(kernel="rbf", solver=solver).fit(X, Y)


def test_a_solver_that_needs_the_whole_matrix_is_refused_where_it_does_not_fit():
    A = RNG.normal(size=(400, 3))
    model = KernelRidge(kernel="rbf", solver=CholeskySolver(), memory=400 * 400 * 8)
    with pytest.raises(TypeError, match="CholeskySolver needs 'factorise' of the Gram matrix"):
        model.fit(A, A[:, 0])
    model.set_params(solver=ConjugateGradientSolver()).fit(A, A[:, 0])


def test_a_penalty_is_not_chosen_for_a_value():
    with pytest.raises(ValueError, match=r'alpha="auto".*Cholesky.*KernelSearchCV'):
        KernelRidge("auto", solver=CholeskySolver()).fit(X, Y)


@pytest.mark.parametrize("given", [None, np.zeros(60), mercer.solvers.Result(np.zeros((60, 1)))])
def test_what_is_no_solution_is_refused(given):
    with pytest.raises(ValueError, match=r"solve\(\) returned an? .* must return a mercer.solvers"):
        KernelRidge(kernel="rbf", solver=Solved(given)).fit(X, Y[:, 0])


def test_values_are_cloned_and_kept_in_files(tmp_path):
    model = KernelRidgeClassifier(0.1, kernel="rbf", solver=ConjugateGradientSolver(tol=1e-9))
    model.fit(X, X[:, 0] > 0)
    mercer.save(model, tmp_path / "model.mercer")
    for copy in (mercer.load(tmp_path / "model.mercer"), pickle.loads(pickle.dumps(model))):
        assert copy.get_params()["solver"] == model.solver
        assert_allclose(copy.decision_function(X), model.decision_function(X))
    assert clone(model).solver == model.solver


def test_a_search_chooses_among_values_and_names():
    grid = {"solver": ["cholesky", *VALUES], "alpha": [0.1, 1.0]}
    search = KernelSearchCV(KernelRidge(kernel="rbf"), grid, cv=3).fit(X, Y)
    scores = search.cv_results_["mean_test_score"].reshape(-1, 4)
    assert_allclose(np.ptp(np.sort(scores.ravel())[:4]), 0, atol=1e-8)


def test_copies_of_a_value_are_one_to_a_search():
    """So that fits that differ in alpha alone stand together, and share K."""
    for solver in VALUES:
        assert key_of(solver) == key_of(pickle.loads(pickle.dumps(solver)))
    assert key_of(CholeskySolver(1.0)) != key_of(CholeskySolver(2.0))
    assert key_of(CholeskySolver(1.0)) != key_of(EigenSolver(1.0))
