"""Ctrl-C at any moment of a fit: it is raised, and the estimator then predicts or is not fitted.

The moment is the k-th call of a function of Mercer, for k over the whole fit.
"""

import copy
import inspect
import sys
import warnings
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score

import mercer
from lanes import few
from mercer import (
    SVC,
    SVR,
    FeatureMachineClassifier,
    FeatureMachineRegressor,
    KernelCCA,
    KernelClassifier,
    KernelDensity,
    KernelDiscriminant,
    KernelKMeans,
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelQuantileRegression,
    KernelRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSearchCV,
    KNeighborsClassifier,
    KNeighborsRegressor,
    LargeMarginNeighbours,
    LinearSVC,
    LinearSVR,
    LocalOutlierFactor,
    MultipleKernelClassifier,
    MultipleKernelRegressor,
    NadarayaWatson,
    NadarayaWatsonClassifier,
    NeighbourhoodComponents,
    NeighbourhoodMachineClassifier,
    NeighbourhoodMachineRegressor,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    SpectralClustering,
)
from mercer.deep import (
    ConvolutionalDeepKernelMachine,
    DeepKernelMachineClassifier,
    DeepKernelMachineRegressor,
    MultilayerKernelMachine,
)
from mercer.learners.margin import many_classes
from mercer.solvers.smo.smo import SmoSolver

HERE = str(Path(mercer.__file__).parent)

LEARNERS = [
    SVC(),
    SVC(probability=True),
    SVC(multi_class="ovr"),
    SVC(solver="low_rank", rank=5),
    NuSVC(nu=0.95),
    SVR(),
    NuSVR(),
    KernelQuantileRegression(quantile=[0.2, 0.8]),
    OneClassSVM(),
    LinearSVC(),
    LinearSVR(),
    KernelRidge(kernel="rbf"),
    KernelRidge(kernel="rbf", alpha="auto"),
    KernelRidgeClassifier(kernel="rbf"),
    KernelLogisticRegression(kernel="rbf"),
    Perceptron(),
    Perceptron(combine="vote"),
    KernelPerceptron(),
    KernelPerceptron(combine="vote"),
    KernelPerceptron(budget=5),
    KernelKMeans(3, n_init=1),
    KernelKMeans(3, n_init=1, solver="low_rank", rank=5),
    KNeighborsClassifier(),
    KNeighborsClassifier("auto", weights="gaussian", width="auto"),
    KNeighborsRegressor(None, weights="gaussian", width="auto"),
    RadiusNeighborsClassifier(2.0, outlier_label="most_frequent"),
    RadiusNeighborsRegressor(9.0),
    LocalOutlierFactor(5, novelty=True),
    SpectralClustering(3, n_init=1),
    KernelPCA(2, kernel="rbf"),
    KernelPCA(2, kernel="rbf", eigen_solver="krylov", fit_inverse_transform=True),
    KernelPCA(2, kernel="rbf", eigen_solver="low_rank"),
    KernelDiscriminant(),
    KernelDiscriminant(solver="low_rank"),
    KernelCCA(1),
    DeepKernelMachineRegressor(1),
    DeepKernelMachineClassifier(1, n_inducing=10),
    KernelDensity(bandwidth="auto"),
    NadarayaWatson(),
    NadarayaWatson("learnt", degree=1),
    NadarayaWatson(n_neighbors=5),
    NadarayaWatsonClassifier("learnt", window="exponential"),
    NeighbourhoodComponents(2, max_iter=5),
    LargeMarginNeighbours(2, max_iter=5),
    FeatureMachineClassifier(),
    FeatureMachineRegressor(),
    NeighbourhoodMachineClassifier(steps=30, hidden=8),
    NeighbourhoodMachineRegressor(steps=30, hidden=8, prune=True, n_members=2),
    MultilayerKernelMachine(n_components=8),
    MultilayerKernelMachine(1, ranking="nearest_information", learner="neighbours"),
    MultipleKernelClassifier(),
    MultipleKernelClassifier(method="easy"),
    MultipleKernelClassifier(method="simple"),
    MultipleKernelRegressor(method="unsupervised"),
    KernelSearchCV(SVC(), {"C": [1, 10]}, cv=2),
    KernelClassifier(trials=2),
    KernelRegressor(trials=2),
]
SEARCHES = KernelClassifier, KernelRegressor
if find_spec("torch"):
    small = {"patch_size": 3, "stride": 1, "epochs": 2, "random_state": 0}
    LEARNERS.append(ConvolutionalDeepKernelMachine((3, 4), **small))


class Interrupts:
    """Raises KeyboardInterrupt at the k-th call of a function of Mercer; counts the calls."""

    def __init__(self, at=None):
        self.at, self.calls, self.where = at, 0, None

    def __call__(self, frame, event, arg):
        code = frame.f_code
        generator = (
            code.co_flags & inspect.CO_GENERATOR
        )  # Python ignores errors where it closes one
        if event == "call" and not generator and code.co_filename.startswith(HERE):
            self.calls += 1
            if self.calls == self.at:
                sys.setprofile(None)
                self.where = f"{code.co_filename}:{frame.f_lineno}"
                raise KeyboardInterrupt

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)


def data(d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(40, d))
    return X, np.arange(40) % 3


def fit(learner, d):
    X, y = data(d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return learner.fit(X, y if is_classifier(learner) else y.astype(float))


# the quick lane: few moments of each, of a new one or one fitted before in turn
IN_TURN = [(learner, i % 2 == 1, 4) for i, learner in enumerate(LEARNERS)]
EACH = [(learner, known, 12) for learner in LEARNERS for known in (False, True)]


@pytest.mark.spread(15)
@pytest.mark.parametrize(
    ("learner", "known", "moments"), few(len(LEARNERS), IN_TURN + EACH), ids=str
)
def test_it_is_raised_and_the_estimator_is_whole_or_not_fitted(learner, known, moments):
    learner = clone(learner).set_params(n_jobs=1)
    fit(clone(learner), 5)  # fills caches
    with Interrupts() as whole:
        fit(clone(learner), 5)
    if isinstance(learner, SEARCHES):
        moments = max(3, moments // 2)  # of a fit that takes a second
    before = fit(clone(learner), 3) if known else learner
    for at in sorted({int(k) for k in np.linspace(1, whole.calls, moments)}):
        model = copy.deepcopy(before)
        interrupt = Interrupts(at)
        with suppress(KeyboardInterrupt), interrupt:
            fit(model, 5)
            assert interrupt.where is None, f"swallowed at {interrupt.where}"
        for method in ("predict", "predict_proba", "decision_function", "transform"):
            if not hasattr(model, method):
                continue
            for d in (5, 3):  # the earlier fit was to 3 columns: it may still be whole
                try:
                    found = getattr(model, method)(data(d)[0])
                except NotFittedError:
                    continue
                except ValueError as error:
                    if "features" not in str(error):
                        raise
                else:
                    assert np.isfinite(np.asarray(found, float)).all()


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_fold_that_was_cut_is_not_scored(after, monkeypatch):
    """Whenever it comes, also after the last machine of a fold was solved."""
    solve, calls = SmoSolver.solve, []

    def interrupted(self, *arguments, **options):
        result = solve(self, *arguments, **options)
        calls.append(1)
        if len(calls) == 3 * after + 3:
            raise KeyboardInterrupt  # as if a signal came while the native loop ran
        return result

    monkeypatch.setattr(SmoSolver, "solve", interrupted)
    monkeypatch.setattr(many_classes, "TINY", 0)  # else one native call solves all pairs
    X, y = data(4)
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(SVC(n_jobs=1), X, y, cv=3)
