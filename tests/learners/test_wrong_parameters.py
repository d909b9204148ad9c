"""Every parameter of every learner, with values of wrong types and out of range.

The end is an error that names the parameter, or a fit that predicts finite numbers.
"""

import numpy as np
import pytest
from sklearn.base import clone

from learners.margin.machines import overlapping
from mercer import (
    SVC,
    SVR,
    AdditiveClassifier,
    AdditiveRegressor,
    FeatureMachineClassifier,
    FeatureMachineRegressor,
    GaussianProcessRegressor,
    KernelCCA,
    KernelDensity,
    KernelDiscriminant,
    KernelLogisticRegression,
    KernelPCA,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeClassifier,
    KNeighborsClassifier,
    KNeighborsRegressor,
    LargeMarginNeighbours,
    LinearSVC,
    LinearSVR,
    MultipleKernelClassifier,
    MultipleKernelRegressor,
    NadarayaWatson,
    NadarayaWatsonClassifier,
    NeighbourGaussianProcess,
    NeighbourhoodComponents,
    NeighbourhoodMachineClassifier,
    NeighbourhoodMachineRegressor,
    NuSVC,
    NuSVR,
    Nystroem,
    OneClassSVM,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    RandomFeatures,
)
from mercer.deep import (
    DeepKernelMachineClassifier,
    DeepKernelMachineRegressor,
    MultilayerKernelMachine,
)
from mercer.distances import KernelDistance
from mercer.kernels import RBF, MeanMap
from mercer.learners.metrics import CoordinateDescentWeights

LEARNERS = [
    KernelRidge,
    KernelRidgeClassifier,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    FeatureMachineClassifier,
    FeatureMachineRegressor,
    NeighbourhoodMachineClassifier,
    NeighbourhoodMachineRegressor,
    SVC,
    NuSVC,
    SVR,
    NuSVR,
    KernelQuantileRegression,
    OneClassSVM,
    LinearSVC,
    LinearSVR,
    KernelPCA,
    Nystroem,
    RandomFeatures,
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    KernelDiscriminant,
    KernelCCA,
    DeepKernelMachineRegressor,
    DeepKernelMachineClassifier,
    NadarayaWatson,
    NadarayaWatsonClassifier,
    NeighbourGaussianProcess,
    KernelDensity,
    NeighbourhoodComponents,
    LargeMarginNeighbours,
    CoordinateDescentWeights,
    MultilayerKernelMachine,
    MultipleKernelClassifier,
    MultipleKernelRegressor,
    AdditiveClassifier,
    AdditiveRegressor,
]
WRONG = ["a", None, ["a"], True, float("nan"), float("inf"), -1, 0, object(), 1j]
X, classes = overlapping(20)
PARAMETERS = [(L, name) for L in LEARNERS for name in L().get_params()]


@pytest.mark.spread(40)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("Learner", "name"),
    PARAMETERS,
    ids=lambda value: getattr(value, "__name__", value),
)
def test_wrong_values_are_named_or_harmless(Learner, name, capsys):
    for value in WRONG:
        for others in (
            {},
            {"kernel": "poly"},
            {"solver": "conjugate_gradient"},
            {"solver": "low_rank"},
        ):
            if not others.keys() <= Learner().get_params().keys() or name in others:
                continue
            if "kernel" in others and Learner is KernelDensity:  # which means windows by it
                continue
            if others.get("solver") == "low_rank" and Learner is AdditiveRegressor:  # has none
                continue
            if others.get("solver") == "conjugate_gradient" and Learner not in LEARNERS[:2]:
                continue
            model = Learner(**{**others, name: value})
            try:
                model.fit(X, classes)
                methods = ("predict", "transform", "score_samples")
                answers = [getattr(model, name)(X) for name in methods if hasattr(model, name)]
                predicted = answers[0] if answers else model.weights_
            except (TypeError, ValueError) as error:
                if name not in str(error):
                    raise AssertionError(f"{name}={value!r}, {others}: {error}") from error
            else:
                assert np.isfinite(predicted.astype(float)).all(), repr(model)


@pytest.mark.parametrize("kernel", [MeanMap("linear"), RBF(1.0, KernelDistance("linear"))], ids=str)
@pytest.mark.parametrize("learner", [SVC(), KernelPCA(), KNeighborsClassifier()], ids=str)
def test_a_kernel_inside_of_another_is_checked_before_samples_are_read(learner, kernel):
    if isinstance(learner, KNeighborsClassifier):
        learner = clone(learner).set_params(metric=KernelDistance(kernel))
    else:
        learner = clone(learner).set_params(kernel=kernel)
    with pytest.raises(TypeError, match="kernel='linear'"):
        learner.fit([[[0.0]], [[1.0]]], [0, 1])
