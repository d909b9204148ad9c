"""Names of parameters in searches: those of kernels in lists, and those that no kernel has."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV

from mercer import SVC, SVR, KernelRidge, KernelSearchCV
from mercer.kernels import RBF, Convex, Laplacian, Linear, Match, TableKernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=60)
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": list("xyz") * 20})
PARTS = TableKernel([(RBF(1.0), ["a", "b"]), (Match(), ["c"])])
GAMMAS = [0.1, 1.0, 10.0]


@pytest.mark.parametrize("learner", [SVC(tol=1e-8), KernelRidge()], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(
    ("kernel", "grid", "samples"),
    [
        (PARTS, {"kernel__parts__0__gamma": GAMMAS}, TABLE),
        (PARTS, {"kernel__parts__0": [RBF(0.1), Laplacian(5.0)]}, TABLE),
        (2 * PARTS, {"kernel__kernel__parts__0__gamma": GAMMAS}, TABLE),
        (Convex([Linear(), RBF(1.0)]), {"kernel__kernels__1__gamma": GAMMAS}, X),
        (
            Convex([Linear(), Convex([RBF(1.0), RBF(1.0)])]),
            {"kernel__kernels__1__kernels__0__gamma": GAMMAS},
            X,
        ),
    ],
    ids=["a parameter", "a part", "deeper", "convex", "lists in lists"],
)
def test_searches_reach_kernels_in_lists(learner, kernel, grid, samples):
    """With the scores of GridSearchCV, which differ along the name."""
    y = Y > 0 if isinstance(learner, SVC) else Y
    penalty = "C" if isinstance(learner, SVC) else "alpha"
    learner.set_params(kernel=kernel)
    before = repr(kernel)
    ours, theirs = (
        Search(learner, {**grid, penalty: [0.1, 10.0]}, cv=3).fit(samples, y)
        for Search in (KernelSearchCV, GridSearchCV)
    )
    scores = ours.cv_results_["mean_test_score"]
    np.testing.assert_allclose(scores, theirs.cv_results_["mean_test_score"], atol=1e-9)
    assert (np.ptp(scores.reshape(2, -1), axis=1) > 0).any()  # penalties are the outer loop
    assert str(ours.best_params_) == str(theirs.best_params_)
    assert_array_equal(ours.predict(samples), theirs.predict(samples))
    assert repr(kernel) == before


@pytest.mark.parametrize("Learner", [SVC, SVR, KernelRidge])
@pytest.mark.parametrize("names", [["rbf"], ["rbf", "poly"], ["poly", RBF()]], ids=str)
def test_a_parameter_of_a_kernel_that_is_a_name_is_told_where_it_stands(Learner, names):
    grid = {"kernel": names, "kernel__gamma": GAMMAS}
    message = (
        rf"^kernel__gamma= .* but kernel='{names[0]}' is not a kernel object: set gamma= of "
        rf"{Learner.__name__} itself, or give a kernel object such as kernel=RBF\(\)\."
    )
    with pytest.raises(ValueError, match=message):
        KernelSearchCV(Learner(), grid, cv=3).fit(X, Y > 0)
    with pytest.raises(ValueError, match=message):
        Learner(kernel=names[0]).set_params(kernel__gamma=1.0)


def test_the_message_of_a_grid_of_one_name_is_that_of_the_default():
    with pytest.raises(ValueError, match=r"^kernel__gamma=.* kernel='rbf' .* gamma= of SVC"):
        KernelSearchCV(SVC(), {"kernel__gamma": GAMMAS}).fit(X, Y > 0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kernel__parts__2__gamma", "parts__2 .* TableKernel.* 2 items"),
        ("kernel__parts__1__gamma", "'gamma' for estimator Match"),
        ("kernel__part__0__gamma", "'part' for estimator TableKernel"),
    ],
)
def test_names_that_no_kernel_has(name, message):
    with pytest.raises(ValueError, match=message):
        KernelSearchCV(SVC(kernel=PARTS), {name: GAMMAS}, cv=3).fit(TABLE, Y > 0)
