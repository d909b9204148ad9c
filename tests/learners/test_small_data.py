"""What a fit and a prediction do around the numerical work, which is most of it for few rows."""

import numpy as np
import pytest
import sklearn.utils.validation
from sklearn.datasets import load_iris

from mercer import (
    SVC,
    SVR,
    FeatureMachineClassifier,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeClassifier,
    NuSVC,
    OneClassSVM,
    kernels,
)
from mercer.gram import place
from mercer.samples import vectors

X, Y = load_iris(return_X_y=True)
LEARNERS = [
    SVC(), SVR(), NuSVC(nu=0.2), OneClassSVM(), KernelRidge(kernel="rbf"), KernelRidgeClassifier(),
    KernelLogisticRegression(), FeatureMachineClassifier(), SVC(kernel=kernels.RBF("scale")),
    KernelRidge(kernel=kernels.Laplacian() + kernels.Linear()),
]  # fmt: skip


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_samples_are_checked_once(learner, monkeypatch):
    """Their values are scanned for NaN and infinity once in a fit, and once in a prediction."""
    scans = []
    real, is_plain = sklearn.utils.validation._assert_all_finite, vectors.is_plain

    def scan(values, *arguments, **named):
        if np.shape(values) == (150, 4):
            scans.append(1)
        return real(values, *arguments, **named)

    monkeypatch.setattr(sklearn.utils.validation, "_assert_all_finite", scan)
    monkeypatch.setattr(vectors, "is_plain", lambda rows: is_plain(rows) and not scans.append(1))
    learner.fit(X, Y)
    assert len(scans) == 1
    learner.predict(X)
    assert len(scans) == 2


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_nobody_asks_how_much_memory_is_free_for_few_rows(learner, monkeypatch):
    """To ask takes as long as the fit."""
    monkeypatch.setattr(place, "available_memory", lambda: pytest.fail("it was asked"))
    learner.fit(X, Y).predict(X)
