"""Complex targets and weights: every estimator refuses them, and drops no imaginary part."""

import inspect

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor

import mercer

X = np.random.default_rng(0).normal(size=(30, 2))
CLASSES = np.arange(30) % 2
LEARNERS = [
    learner
    for name in mercer.__all__
    if inspect.isclass(learner := getattr(mercer, name))
    and hasattr(learner, "fit")
    and "y" in inspect.signature(learner.fit).parameters
]
MULTIPLE = [("rbf", mercer.kernels.RBF(), [0, 1])]


def made(learner):
    if learner is mercer.KernelSearchCV:
        return learner(mercer.SVC(), {"C": [1.0]})
    if learner is mercer.RecursiveElimination:
        return learner(mercer.SVC())
    try:
        return learner()
    except TypeError:  # needs kernels
        return learner(MULTIPLE)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("kind", [complex, object])
def test_complex_targets_are_refused(learner, kind):
    model = made(learner)
    if not (is_classifier(model) or is_regressor(model)):
        pytest.skip("it does not learn from targets")
    y = (CLASSES + 1j).astype(kind)
    with pytest.raises((ValueError, TypeError), match="omplex"):
        model.fit(X, y)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda c: c.__name__)
def test_complex_weights_are_refused(learner):
    if "sample_weight" not in inspect.signature(learner.fit).parameters:
        pytest.skip("it has no weights")
    with pytest.raises((ValueError, TypeError), match="omplex"):
        made(learner).fit(X, CLASSES, sample_weight=CLASSES + 1j)
