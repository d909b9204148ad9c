"""Every kernel name fits in every learner as it is, and means what scikit-learn means by it."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import svm
from sklearn.kernel_ridge import KernelRidge as TheirRidge
from sklearn.metrics.pairwise import pairwise_kernels

from mercer import (
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeClassifier,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.kernels import ChiSquared
from mercer.kernels.from_function import NAMED

LEARNERS = [
    KernelRidge,
    KernelRidgeClassifier,
    KernelLogisticRegression,
    SVC,
    NuSVC,
    SVR,
    NuSVR,
    OneClassSVM,
]
SETS = ("intersection", "jaccard")
OURS = (*SETS, "histogram_intersection", "matern", "arccosine")  # scikit-learn has none of them
THEIRS = [n for n in NAMED if n not in (*OURS, "precomputed")]

rng = np.random.default_rng(0)
classes = np.arange(40) % 2
#: counts, of which the second class has more in the first columns
X = rng.poisson(3.0 + 4.0 * classes[:, None] * (np.arange(6) < 3), size=(40, 6)).astype(float)


def samples(name):
    if name == "precomputed":
        return X @ X.T
    return [set(np.flatnonzero(row > 3)) for row in X] if name in SETS else X


@pytest.mark.spread(57)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the sigmoid
@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("Learner", LEARNERS, ids=lambda c: c.__name__)
def test_every_name_fits_with_the_defaults_of_every_learner(Learner, name):
    S = samples(name)
    if Learner is NuSVC and name == "sigmoid":  # indefinite, here without a margin
        with pytest.raises(ValueError, match="there is no margin"):
            Learner(kernel=name).fit(S, classes)
        return
    model = Learner(kernel=name).fit(S, classes)
    assert np.isfinite(model.predict(S).astype(float)).all()
    weighed = Learner(kernel=name).fit(S, classes, 1.0 + classes)  # γ is then of weighted rows
    assert np.isfinite(weighed.predict(S).astype(float)).all()


@pytest.mark.parametrize("name", THEIRS)
def test_names_mean_what_they_mean_in_scikit_learn(name):
    ours = KernelRidge(kernel=name, alpha=0.1).fit(X, classes)
    # its chi2 has γ = 1 alone, but not in its ridge, which hands None on
    theirs = TheirRidge(kernel=name, alpha=0.1, gamma=1.0 if name == "chi2" else None)
    assert_allclose(ours.predict(X), theirs.fit(X, classes).predict(X), rtol=1e-6)
    if name == "sigmoid":  # indefinite: several local optima
        return
    variance = 1 / (6 * X.var())
    reads = {"gamma": X.mean() * variance if name == "chi2" else variance, "degree": 3, "coef0": 0}
    reads = {k: v for k, v in reads.items() if k in NAMED[name][1]}
    matrix = partial(pairwise_kernels, metric=name, **reads)
    for Ours, Theirs in ((SVC, svm.SVC), (SVR, svm.SVR), (NuSVC, svm.NuSVC)):
        ours = Ours(kernel=name, tol=1e-8).fit(X, classes)
        theirs = Theirs(kernel=matrix, tol=1e-12).fit(X, classes)
        # of ν, no free variable of a class may be left, and then the margin is not unique
        of = "decision_function" if Ours is SVC else "predict"
        assert_allclose(getattr(ours, of)(X), getattr(theirs, of)(X), atol=1e-4)


def test_the_scale_of_histograms_is_in_their_own_unit():
    gamma = ChiSquared("scale").bind(X).gamma
    assert_allclose(gamma, X.mean() / (6 * X.var()))
    assert_allclose(ChiSquared("scale")(X), ChiSquared("scale")(X / 100))
    assert ChiSquared("auto").bind(X).gamma == 1 / 6
    assert ChiSquared("scale").bind(np.zeros((3, 2))).gamma == 1.0
    twice = SVC(kernel="chi2").fit(
        np.repeat(X, 1 + classes, axis=0), np.repeat(classes, 1 + classes)
    )
    weighed = SVC(kernel="chi2").fit(X, classes, 1.0 + classes)
    assert_allclose(weighed.kernel_.gamma, twice.kernel_.gamma)
