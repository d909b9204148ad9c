"""``solver=`` of every learner takes a value: ours, and a user's own."""

import inspect
import pickle
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import mercer
from mercer.learners.base import KernelLearner, check_solver
from mercer.solvers import (
    CholeskySolver,
    ConjugateGradientSolver,
    Eigenpairs,
    KMeansSolver,
    NewtonLogistic,
    SmoSolver,
    TopEigenSolver,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3)) + 4 * np.eye(3)[np.arange(90) % 3]
CODES = np.arange(90) % 3
Y = np.sin(X[:, 0]) + X[:, 1]
WEIGHTS = 1.0 + np.arange(90) % 2


@dataclass(frozen=True)
class WholeEigen:
    """All of K, decomposed."""

    count: int = 1

    def solve(self, K):
        values, vectors = eigh(K.dense())
        chosen = slice(-1, -1 - self.count, -1)
        return Eigenpairs(vectors[:, chosen], values=values[chosen])


@dataclass(frozen=True)
class Wrapped:
    """Calls another solver with what the contract promises, and nothing else."""

    made: object
    tol: float = 1e-6

    def solve(self, K, problem, alpha=None):
        return replace(self.made, tol=self.tol).solve(K, problem, alpha)


SMO = [SmoSolver(tol=1e-6), Wrapped(SmoSolver())]
EIGEN = [TopEigenSolver(1, 1e-9, random_state=0), WholeEigen()]
RIDGE = [CholeskySolver(), ConjugateGradientSolver(tol=1e-12)]
LOGISTIC = [NewtonLogistic(tol=1e-12)]

# learner with a name, parameter, values, targets, method whose answers agree
CASES = [
    (mercer.SVC(kernel="rbf", tol=1e-6), "solver", SMO, CODES, "decision_function"),
    (
        mercer.SVC(kernel="rbf", tol=1e-6, multi_class="ovr"),
        "solver", SMO, CODES, "decision_function",
    ),
    (mercer.NuSVC(kernel="rbf", tol=1e-6, nu=0.2), "solver", SMO, CODES, "decision_function"),
    (mercer.SVR(kernel="rbf", tol=1e-6), "solver", SMO, Y, "predict"),
    (mercer.NuSVR(kernel="rbf", tol=1e-6), "solver", SMO, Y, "predict"),
    (mercer.KernelQuantileRegression(kernel="rbf", tol=1e-6), "solver", SMO, Y, "predict"),
    (mercer.OneClassSVM(kernel="rbf", tol=1e-6), "solver", SMO, None, "decision_function"),
    (mercer.KernelRidge(0.1, kernel="rbf"), "solver", RIDGE, Y, "predict"),
    (mercer.KernelRidgeClassifier(0.1, kernel="rbf"), "solver", RIDGE, CODES, "decision_function"),
    (mercer.KernelLogisticRegression(tol=1e-12), "solver", LOGISTIC, CODES, "decision_function"),
    (mercer.FeatureMachineRegressor(random_state=0), "solver", RIDGE, Y, "predict"),
    (mercer.FeatureMachineClassifier(random_state=0), "solver", RIDGE, CODES, "_outputs"),
    (mercer.KernelPCA(4, kernel="rbf"), "eigen_solver", EIGEN, None, "transform"),
    (mercer.SpectralClustering(3, random_state=0), "solver", EIGEN, None, "predict"),
    (mercer.KernelDiscriminant(alpha=0.1), "solver", [WholeEigen(90)], CODES, "decision_function"),
    (mercer.KernelCCA(2, alpha=0.1), "solver", [WholeEigen(90)], X[:, ::-1] ** 2, "transform"),
    (
        mercer.KernelKMeans(3, random_state=0),
        "solver", [KMeansSolver(1, restarts=3)], None, "predict",
    ),
]  # fmt: skip
PAIRS = [(*case[:2], value, *case[3:]) for case in CASES for value in case[2]]


def name_of(given):
    return type(given).__name__ if hasattr(given, "fit") or hasattr(given, "solve") else ""


@pytest.mark.spread(14)
@pytest.mark.parametrize(("learner", "name", "value", "y", "method"), PAIRS, ids=name_of)
def test_a_value_solves_as_a_name_does(learner, name, value, y, method, tmp_path):
    model = clone(learner).set_params(**{name: value}).fit(X, y)
    wanted, found = (getattr(m, method)(X) for m in (learner.fit(X, y), model))
    if method == "predict" and y is None:  # clusters
        assert adjusted_rand_score(wanted, found) == 1
    elif not isinstance(learner, mercer.KernelCCA):  # with signs and turns that may differ
        assert_allclose(found, wanted, atol=2e-4 * np.abs(wanted).max())
    said = model.view_x_ if isinstance(model, mercer.KernelCCA) else model
    assert said.solver_ == type(value).__name__
    assert model.get_params()[name] is value
    pickled = pickle.loads(pickle.dumps(model))
    assert pickled.get_params()[name] == value
    assert_allclose(getattr(pickled, method)(X), found)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer", trusted=[WholeEigen, Wrapped])
    assert loaded.get_params()[name] == value
    assert_allclose(getattr(loaded, method)(X), found)


def test_canonical_correlations_by_a_value():
    named, model = (
        mercer.KernelCCA(2, alpha=0.1, solver=solver).fit(X, X[:, ::-1] ** 2)
        for solver in ("exact", WholeEigen(90))
    )
    assert_allclose(model.correlations_, named.correlations_, atol=1e-6)


def test_every_learner_with_a_solver_is_tried():
    tried = {type(case[0]) for case in CASES}
    for name in mercer.__all__:
        found = getattr(mercer, name)
        if isinstance(found, type) and issubclass(found, KernelLearner):
            parameters = inspect.signature(found).parameters
            assert found in tried or not {"solver", "eigen_solver"} & set(parameters), name


@pytest.mark.parametrize(("learner", "name"), [case[:2] for case in CASES], ids=name_of)
def test_what_is_no_solver_is_refused(learner, name):
    y = CODES if not isinstance(learner, mercer.KernelCCA) else X
    for given in (3, None, SimpleNamespace(solve=3), SmoSolver, object()):
        model = clone(learner).set_params(**{name: given})
        with pytest.raises(ValueError, match=rf"^{name}=.*give (one of \['auto'|a value of it)"):
            model.fit(X, y)


def test_the_message_says_what_a_solver_has():
    @dataclass
    class Other:
        count: int = 1

        def solve(self, K):
            raise AssertionError

    check_solver(Other(), ["auto"], ["count"])
    check_solver("auto", ["auto"], ["count"])
    with pytest.raises(ValueError, match=r"a dataclass with solve\(\) and the field penalty"):
        check_solver(Other(), ["auto"], ["penalty"])
    with pytest.raises(ValueError, match=r"how=Other, which is a class: give .* such as Other\(\)"):
        check_solver(Other, ["auto"], argument="how")


def test_the_tolerance_of_a_dual_is_that_of_the_value():
    gaps = [
        mercer.SVC(tol=tol, solver=SmoSolver(tol=own)).fit(X, CODES).dual_gap_
        for tol, own in ((1e-8, 1e-1), (1e-1, 1e-8))
    ]
    assert gaps[0] > 100 * gaps[1]


def test_a_value_that_stops_early_is_said():
    for model in (
        mercer.KernelPCA(4, kernel="rbf", eigen_solver=TopEigenSolver(1, 1e-12, max_iter=1)),
        mercer.KernelLogisticRegression(C=100, solver=NewtonLogistic(tol=1e-14, max_iter=1)),
        mercer.SVR(C=1e5, gamma=1e-2, solver=SmoSolver(max_rounds=1, whole=0, working_set=2)),
    ):
        with pytest.warns(ConvergenceWarning):
            model.fit(X, CODES)


def test_weights_reach_a_value():
    for learner, solver in (
        (mercer.SVC(kernel="rbf", tol=1e-8), SmoSolver(tol=1e-8)),
        (mercer.KernelLogisticRegression(), NewtonLogistic()),
        (mercer.FeatureMachineClassifier(random_state=0), CholeskySolver()),
    ):
        named = clone(learner).fit(X, CODES, WEIGHTS)
        model = clone(learner).set_params(solver=solver).fit(X, CODES, WEIGHTS)
        assert_allclose(model.predict(X), named.predict(X))


def test_probabilities_of_a_feature_machine_are_near_those_of_left_out_rows():
    named, model = (
        mercer.FeatureMachineClassifier(random_state=0, solver=solver).fit(X, CODES)
        for solver in ("cholesky", CholeskySolver())
    )
    assert_allclose(model.predict_proba(X), named.predict_proba(X), atol=0.1)


def test_layers_find_their_components_by_a_value():
    named, model = (
        mercer.deep.MultilayerKernelMachine(
            n_layers=1, n_components=5, width=None, solver=solver, random_state=0
        ).fit(X, CODES)
        for solver in ("exact", WholeEigen())
    )
    assert_allclose(model.layers_[0].eigenvalues, named.layers_[0].eigenvalues, rtol=1e-6)


def test_a_search_over_c_with_a_value():
    grid = {"C": [0.1, 1.0, 10.0]}
    scores = [
        mercer.KernelSearchCV(mercer.SVC(tol=1e-6, solver=solver), grid, cv=3)
        .fit(X, CODES)
        .cv_results_["mean_test_score"]
        for solver in ("auto", *SMO)
    ]
    assert_allclose(scores[1], scores[0], atol=0.02)
    assert_allclose(scores[2], scores[0], atol=0.02)
