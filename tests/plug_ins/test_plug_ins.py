"""Kernels, distances, solvers, learners and indexes of a user's own work everywhere, as ours do.

They are in ``their_package``, one file each, and use only public names. docs/extending.rst quotes
them.
"""

import ast
import importlib
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC as SklearnSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from their_package import index as their_index
from their_package.distance import Circular
from their_package.index import Pivot
from their_package.kernel import ExponentialDot
from their_package.learner import PlainRidge
from their_package.solver import PlainConjugateGradient

import mercer
from mercer.distances import Edit, Minkowski
from mercer.explain import shapley_values
from mercer.gram import GramOperator, Place, gram, register
from mercer.kernels import RBF, FromDistance, Jaccard, Spectrum
from mercer.search import BruteForce
from mercer.solvers import CholeskySolver, Reason
from mercer.testing import (
    DistanceContract,
    KernelContract,
    check_index,
    check_ridge_solver,
    parametrize_with_object_checks,
)

HERE = Path(__file__).parent
FILES = sorted((HERE / "their_package").glob("[a-z]*.py"))
CONTRIBUTING = HERE.parent.parent / "CONTRIBUTING.md"
EXTENDING = HERE.parent.parent / "docs" / "extending.rst"

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = X[:, 0] - X[:, 1] ** 2
HOURS = rng.uniform(0, 24, size=(30, 2))
LATE = np.cos(HOURS[:, 0] / 24 * 2 * np.pi)

NAMES = {
    ExponentialDot: "their_package.kernel.ExponentialDot",
    Circular: "their_package.distance.Circular",
    PlainConjugateGradient: "their_package.solver.PlainConjugateGradient",
    PlainRidge: "their_package.learner.PlainRidge",
}


def saved_and_loaded(model, path, *types):
    """The model from a file, which is refused unless the types are trusted."""
    mercer.save(model, path)
    trusted = sorted(NAMES[each] for each in types)
    with pytest.raises(mercer.persistence.ModelFileError) as refusal:
        mercer.load(path)
    assert f"mercer.load({str(path)!r}, trusted={trusted})" in str(refusal.value)
    return mercer.load(path, trusted=trusted)


# --- the kernel -------------------------------------------------------------------------------


class TestKernel(KernelContract):
    @pytest.fixture
    def kernel(self):
        return ExponentialDot(0.5)

    @pytest.fixture
    def samples(self):
        return X[:20]

    def twin(self, kernel, samples):
        return np.array([[np.exp(kernel.gamma * sum(x * z)) for z in samples] for x in samples])


def test_a_kernel_that_says_how_its_columns_act_has_exact_explanations():
    model = mercer.SVR(kernel=ExponentialDot(0.3)).fit(X, Y)
    found = shapley_values(model, X[:3], background=X)
    assert found.method == "exact"
    assert_allclose(found.values.sum(axis=1), model.predict(X[:3]) - found.base_values)


def test_the_kernel_in_learners():
    kernel = ExponentialDot(0.3)
    labels = np.where(Y.mean() < Y, "above", "below")
    ours = mercer.SVC(kernel=kernel, C=2.0, tol=1e-8).fit(X, labels)
    theirs = SklearnSVC(kernel=kernel, C=2.0, tol=1e-8).fit(X, labels)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    for solver in ("cholesky", "conjugate_gradient", "low_rank"):
        model = mercer.KernelRidge(0.1, kernel=kernel, solver=solver, tol=1e-10, random_state=0)
        expected = kernel(X) @ np.linalg.solve(kernel(X) + 0.1 * np.eye(40), Y)
        assert_allclose(model.fit(X, Y).predict(X), expected, atol=1e-5)


@pytest.mark.parametrize("Search", [mercer.KernelSearchCV, GridSearchCV])
def test_the_kernel_in_searches(Search):
    grid = {"kernel__gamma": [0.01, 0.3, 1.0], "alpha": [0.1, 1.0]}
    search = Search(mercer.KernelRidge(kernel=ExponentialDot()), grid, cv=3).fit(X, Y)
    best = clone(search.estimator).set_params(**search.best_params_)
    assert_allclose(cross_val_score(best, X, Y, cv=3).mean(), search.best_score_, rtol=1e-6)
    assert_allclose(search.predict(X), best.fit(X, Y).predict(X), rtol=1e-6, atol=1e-8)


def test_the_kernel_in_the_algebra():
    kernel = ExponentialDot(0.6)
    assert_allclose(kernel.normalised()(X), RBF(0.3)(X))  # exp(γ<x,z>) / exp(γ(|x|² + |z|²)/2)
    mixed = 2 * kernel + RBF(0.5) * kernel
    assert_allclose(mixed(X), 2 * kernel(X) + RBF(0.5)(X) * kernel(X))
    assert "left__kernel__gamma" in mixed.get_params()


def test_the_kernel_says_what_is_wrong():
    with pytest.raises(ValueError, match=r"gamma=-1: give a finite number > 0"):
        mercer.SVC(kernel=ExponentialDot(-1)).fit(X, Y > 0)


@pytest.mark.parametrize(
    "kernel", [ExponentialDot(0.3), (ExponentialDot(0.3) + RBF(0.5)).normalised()]
)
def test_the_kernel_in_files(kernel, tmp_path):
    model = mercer.SVC(kernel=kernel).fit(X, Y > 0)
    for copy in (
        pickle.loads(pickle.dumps(model)),
        saved_and_loaded(model, tmp_path / "model.mercer", ExponentialDot),
    ):
        assert repr(copy.kernel) == repr(kernel)
        assert_allclose(copy.decision_function(X), model.decision_function(X), rtol=1e-9)


# --- the distance -----------------------------------------------------------------------------


class TestDistance(DistanceContract):
    @pytest.fixture
    def distance(self):
        return Circular(24)

    @pytest.fixture
    def samples(self):
        return HOURS

    def twin(self, distance, samples):
        def between(x, z):
            return sum(min((a - b) % 24, (b - a) % 24) for a, b in zip(x, z))

        return np.array([[between(x, z) for z in samples] for x in samples])


class TestKernelOfTheDistance(KernelContract):
    @pytest.fixture
    def kernel(self):
        return FromDistance(Circular(24), gamma=0.2)

    @pytest.fixture
    def samples(self):
        return HOURS[:20]


def test_the_distance_in_an_index():
    index = BruteForce(Circular(24)).fit(HOURS)
    distances, indices = index.query([[23.9, 0.1]], k=4)
    D = Circular(24)([[23.9, 0.1]], HOURS)[0]
    assert_array_equal(indices[0], np.argsort(D, kind="stable")[:4])
    assert_allclose(distances[0], np.sort(D)[:4])
    _, near, _ = index.query_radius([[23.9, 0.1]], radius=4)
    assert_array_equal(near, np.flatnonzero(D <= 4))


def test_the_distance_in_learners_and_files(tmp_path):
    model = mercer.KernelRidge(0.1, kernel=FromDistance(Circular()))
    grid = {"kernel__gamma": [0.05, 0.2], "kernel__rho__period": [24.0, 1000.0]}
    search = mercer.KernelSearchCV(model, grid, cv=3).fit(HOURS, LATE)
    assert search.best_params_["kernel__rho__period"] == 24
    loaded = saved_and_loaded(search, tmp_path / "model.mercer", Circular)
    assert_allclose(loaded.predict(HOURS), search.predict(HOURS))


def test_the_distance_says_what_is_wrong():
    with pytest.raises(ValueError, match=r"outside \[0, 24.0\): give X % 24"):
        mercer.KernelRidge(kernel=FromDistance(Circular())).fit([[25.0], [1.0]], [0, 1])


# --- the solver -------------------------------------------------------------------------------


def operators(dtype):
    kernel, samples = ExponentialDot(0.3), X.astype(dtype)
    return {
        "tiled": gram(kernel, samples),
        "dense": gram(kernel, samples).held(),
        "primal": gram(mercer.kernels.Linear(), samples),
        "low rank": gram(kernel, samples, rank=10, random_state=0),
        "part": gram(kernel, samples).held().part(np.arange(5, 30)),
    }


@pytest.mark.parametrize("name", operators(float))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_solver_on_any_gram_matrix(name, dtype):
    K = operators(dtype)[name]
    y = Y[: K.shape[0]]
    solver = PlainConjugateGradient(0.5, tol=1e-10 if dtype is np.float64 else 1e-5)
    result = solver.solve(K, y)
    expected = np.linalg.solve(K.dense().astype(float) + 0.5 * np.eye(len(y)), y)
    atol = 1e-8 if dtype is np.float64 else 1e-3
    assert_allclose(result.coef, expected, atol=atol)
    assert result.converged
    assert result.gap < 10 * solver.tol
    result.conclude()  # without a warning


@pytest.mark.parametrize("penalty", [0.1, 5.0])
def test_the_solver_keeps_the_contract(penalty):
    check_ridge_solver(PlainConjugateGradient(penalty), several=False)


def test_weights_mean_repetition_to_the_solver():
    K, solver = gram(ExponentialDot(0.3), X).held(), PlainConjugateGradient(0.5, tol=1e-12)
    weights = np.arange(40) % 3
    repeated = np.repeat(np.arange(40), weights)
    a = solver.solve(K, Y, weights).coef
    again = solver.solve(K.part(repeated), Y[repeated]).coef
    assert_allclose(a, np.bincount(repeated, again, minlength=40), atol=1e-9)


def test_the_solver_is_a_value_and_always_stops():
    assert PlainConjugateGradient(2.0) == PlainConjugateGradient(penalty=2.0)
    hurried = PlainConjugateGradient(1e-3, max_iter=3)
    result = hurried.solve(gram(ExponentialDot(0.3), X), Y)
    assert (result.reason, result.iterations, result.converged) == (Reason.LIMIT, 3, False)
    with pytest.warns(ConvergenceWarning, match=r"PlainConjugateGradient .*raise max_iter.*resid"):
        PlainRidge(ExponentialDot(0.3), hurried).fit(X, Y)


TARGETS = np.column_stack([Y, -Y, np.sin(X[:, 1])])
CLASSES = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
WEIGHTS = np.arange(40) % 4.0  # some of them 0
SOLVER = PlainConjugateGradient(tol=1e-12)


@pytest.mark.parametrize(("alpha", "y"), [(0.1, Y), (0.1, TARGETS), ([0.1, 1.0, 5.0], TARGETS)])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_solver_in_ridge_regression(alpha, y, weights):
    settings = {"alpha": alpha, "kernel": ExponentialDot(0.3)}
    ours = mercer.KernelRidge(**settings).fit(X, y, weights)
    theirs = mercer.KernelRidge(**settings, solver=SOLVER).fit(X, y, weights)
    assert theirs.solver_ == "PlainConjugateGradient"
    assert theirs.dual_coef_.shape == ours.dual_coef_.shape
    assert_allclose(theirs.predict(X), ours.predict(X), atol=1e-7)
    assert theirs.residual_ <= 1e-12
    assert theirs.n_iter_ > 1


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("labels", [CLASSES, CLASSES > 0])
def test_the_solver_in_classification(labels, fit_intercept):
    settings = {"alpha": 0.1, "kernel": "rbf", "fit_intercept": fit_intercept}
    ours = mercer.KernelRidgeClassifier(**settings).fit(X, labels, WEIGHTS)
    theirs = mercer.KernelRidgeClassifier(**settings, solver=SOLVER).fit(X, labels, WEIGHTS)
    assert theirs.solver_ == "PlainConjugateGradient"
    assert_allclose(theirs.decision_function(X), ours.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("Search", [mercer.KernelSearchCV, GridSearchCV])
def test_the_solver_in_searches(Search):
    grid = {"alpha": [0.01, 0.1, 1.0, 10.0], "kernel__gamma": [0.1, 0.3]}
    scores = []
    for solver in ("auto", SOLVER):
        model = mercer.KernelRidge(kernel=ExponentialDot(), solver=solver)
        search = Search(model, grid, cv=3).fit(X, Y)
        scores.append(search.cv_results_["mean_test_score"])
    assert search.best_estimator_.solver == SOLVER
    assert_allclose(scores[1], scores[0], rtol=1e-6)


def test_a_learner_with_the_solver_in_files(tmp_path):
    model = mercer.KernelRidge(0.1, kernel="rbf", solver=SOLVER).fit(X, Y)
    loaded = saved_and_loaded(model, tmp_path / "model.mercer", PlainConjugateGradient)
    for copy in (loaded, pickle.loads(pickle.dumps(model)), clone(model).fit(X, Y)):
        assert copy.solver == SOLVER
        assert_allclose(copy.predict(X), model.predict(X))


def test_what_the_solver_says_reaches_the_user():
    hurried = mercer.KernelRidge(1e-6, kernel="rbf", solver=PlainConjugateGradient(max_iter=2))
    with pytest.warns(ConvergenceWarning, match=r"PlainConjugateGradient .*raise max_iter"):
        hurried.fit(X, Y)


# --- the learner ------------------------------------------------------------------------------


@parametrize_with_checks([PlainRidge(), PlainRidge(solver=PlainConjugateGradient(0.1))])
def test_the_learner_by_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@parametrize_with_object_checks(
    [
        (PlainRidge(Spectrum(2, shortest=1).normalised()), "strings"),
        (PlainRidge(Jaccard()), "sets"),
    ],
)
def test_the_learner_on_objects(check):
    check()


@pytest.mark.parametrize("solver", [None, PlainConjugateGradient(0.1), CholeskySolver(0.1)])
def test_the_learner_takes_any_solver(solver):
    penalty = 1.0 if solver is None else 0.1
    ours = mercer.KernelRidge(penalty, kernel=ExponentialDot(0.3)).fit(X, Y)
    assert_allclose(
        PlainRidge(ExponentialDot(0.3), solver).fit(X, Y).predict(X), ours.predict(X), atol=1e-5
    )


def test_the_learner_in_a_search():
    solvers = [PlainConjugateGradient(penalty) for penalty in (0.1, 1.0)]
    grid = {"kernel__gamma": [0.1, 0.3], "solver": solvers}
    search = mercer.KernelSearchCV(PlainRidge(ExponentialDot()), grid, cv=3).fit(X, Y)
    assert search.best_params_["solver"] in solvers


def test_the_learner_in_files(tmp_path):
    model = PlainRidge(ExponentialDot(0.3), PlainConjugateGradient(0.1)).fit(X, Y)
    types = ExponentialDot, PlainConjugateGradient, PlainRidge
    loaded = saved_and_loaded(model, tmp_path / "model.mercer", *types)
    assert loaded.solver == model.solver
    assert_allclose(loaded.predict(X), model.predict(X))


def test_a_file_in_a_program_that_has_not_imported_the_package(tmp_path):
    path = tmp_path / "model.mercer"
    mercer.save(PlainRidge(ExponentialDot(0.3)).fit(X, Y), path)
    program = (
        "import sys, mercer\n"
        "try: mercer.load(sys.argv[1])\n"
        "except ValueError: print('their_package' in sys.modules)\n"
        "names = ['their_package.kernel.ExponentialDot', 'their_package.learner.PlainRidge']\n"
        "print(mercer.load(sys.argv[1], trusted=names))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(HERE)!r})\n{program}", path],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "False\nPlainRidge(kernel=ExponentialDot(gamma=0.3))\n"


# --- the index --------------------------------------------------------------------------------

WORDS = ["".join(rng.choice(list("abc"), size)) for size in rng.integers(1, 9, 60)]


@pytest.mark.parametrize(
    ("distance", "samples"),
    [(Minkowski(), rng.normal(size=(90, 3))), (Circular(), HOURS), (Edit(), WORDS)],
)
def test_the_index_finds_what_brute_force_finds(distance, samples, monkeypatch):
    monkeypatch.setattr(their_index, "TILE", 8)
    check_index(Pivot, distance, samples, trusted=(Circular,))


def test_the_index_leaves_rows_out(monkeypatch):
    compared, candidates = [], Pivot.candidates

    def counted(self, Z, limits):
        for rows, tile in candidates(self, Z, limits):
            compared.append(tile.stop - tile.start)
            yield rows, tile

    monkeypatch.setattr(Pivot, "candidates", counted)
    points = rng.normal(size=(5000, 2))
    Pivot(Minkowski(), n_jobs=1).fit(points).query(points[:1], k=3)
    assert 0 < sum(compared) < 2500


# --- what they are made of, and what CONTRIBUTING.md says -----------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_they_use_public_names_only(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert not {name for name in used - own if name.startswith("_")}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("mercer"):
            assert {alias.name for alias in node.names} <= public(str(node.module))


def public(module):
    return set(importlib.import_module(module).__all__)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_page_and_contributing_show_the_file(path):
    place = f"literalinclude:: ../tests/plug_ins/their_package/{path.name}\n"
    assert place in EXTENDING.read_text(encoding="utf-8")
    assert f"| `{path.name}` |" in CONTRIBUTING.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [CONTRIBUTING, EXTENDING], ids=lambda path: path.name)
def test_what_they_name_is_there(page):
    text = page.read_text(encoding="utf-8")
    for module, name in set(re.findall(r"`(mercer(?:\.[a-z]\w*)*)\.([A-Za-z]\w*)`", text)):
        found = importlib.import_module(module)
        assert name in found.__all__, f"{module}.{name}"


class _Stored(GramOperator):
    """Only what an operator must have."""

    symmetric = True

    def __init__(self, K):
        self.K, self.shape, self.dtype = K, K.shape, K.dtype

    def block(self, i, j):
        return self.K[i][:, j].copy()

    def diag(self):
        return np.diag(self.K).copy()


@pytest.mark.parametrize(
    "make",
    [
        mercer.KernelRidge,
        lambda: mercer.KernelRidge("auto"),
        mercer.KernelRidgeClassifier,
        mercer.KernelLogisticRegression,
        mercer.SVC,
    ],
)
def test_an_operator_that_says_nothing_about_costs(make):
    def stored(kernel, X, Z, place):
        return _Stored(kernel.whole(X, X)) if Z is X else None

    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    usual = make().fit(X, y).predict(X)
    with register(stored):
        assert_allclose(make().fit(X, y).predict(X), usual, rtol=1e-6)
        K = gram(RBF(1.0), X)
        assert K.cheap == {"rows", "dense", "factorise"}
        assert gram(RBF(1.0), X, place=Place(memory=60 * 60 * 8)).cheap == {"rows"}
