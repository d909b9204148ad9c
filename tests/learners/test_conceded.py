"""Little memory: a fit that is approximated for lack of it warns, and says how much it needs."""

import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from lanes import few
from mercer import (
    SVC,
    FeatureMachineClassifier,
    KernelCCA,
    KernelDiscriminant,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    KernelRidgeClassifier,
)
from mercer.deep import DeepKernelMachineClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
MEMORY = "500kB"

APPROXIMATED = [
    KernelLogisticRegression(kernel="rbf", random_state=0),
    KernelRidge(kernel="rbf", alpha="auto", random_state=0),
    KernelDiscriminant(random_state=0),
    FeatureMachineClassifier(learning_rows=100, random_state=0),
    KernelCCA(1, random_state=0),
    SVC(solver="low_rank", random_state=0),
    DeepKernelMachineClassifier(1, max_iter=2, random_state=0),
]
SAME = [SVC(), KernelRidge(kernel="rbf"), KernelRidgeClassifier(kernel="rbf"), KernelPCA(2)]


def fitted(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        target = X[:, :1] ** 2 if isinstance(model, KernelCCA) else Y
        return clone(model).fit(X, target)


@pytest.mark.parametrize("model", few(3, APPROXIMATED), ids=str)
def test_it_warns_and_the_memory_that_it_names_is_enough(model):
    small = clone(model).set_params(memory=MEMORY)
    with pytest.warns(UserWarning, match=r"is approximated, so that answers differ") as caught:
        fitted(small)
    said = " ".join(str(each.message) for each in caught)
    needed = max(int(size) for size in re.findall(r'Give memory="(\d+)MB" or more', said))
    fitted(clone(model).set_params(memory=f"{2 * needed + 1}MB"))  # without a warning


@pytest.mark.parametrize("model", SAME, ids=str)
def test_what_has_the_same_answers_in_little_memory_does_not_warn(model):
    method = "decision_function" if hasattr(model, "decision_function") else "predict"
    method = method if hasattr(model, method) else "transform"
    little = fitted(model.set_params(memory="1MB"))
    much = fitted(model.set_params(memory=None))
    assert_allclose(
        abs(getattr(little, method)(X)), abs(getattr(much, method)(X)), rtol=1e-5, atol=1e-5
    )
