"""Numbers of any scale: finite coefficients and predictions, or an error that names the scale."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from mercer import (
    SVC,
    SVR,
    FeatureMachineClassifier,
    FeatureMachineRegressor,
    KernelKMeans,
    KernelLogisticRegression,
    KernelPerceptron,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeClassifier,
    KNeighborsClassifier,
    KNeighborsRegressor,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
)
from mercer.kernels import RBF, FromFunction
from mercer.threads import ordered_map

LEARNERS = [
    KernelRidge,
    KernelRidgeClassifier,
    KernelLogisticRegression,
    SVC,
    NuSVC,
    SVR,
    NuSVR,
    KernelQuantileRegression,
    OneClassSVM,
    LinearSVC,
    LinearSVR,
    Perceptron,
    KernelPerceptron,
    KernelKMeans,
]
NEIGHBOURS = [KNeighborsClassifier, KNeighborsRegressor]
rng = np.random.default_rng(0)
X, classes = rng.normal(size=(30, 3)), np.arange(30) % 2
X += classes[:, None]


def scaled_column(size, dtype=np.float64):
    out = X.astype(dtype)
    out[:, 1] *= size
    return out


@pytest.mark.parametrize("Learner", [*LEARNERS, *NEIGHBOURS], ids=lambda c: c.__name__)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_column_of_huge_numbers_is_named(Learner, kernel):
    if "kernel" in Learner().get_params():
        model = Learner(kernel=kernel)
    elif kernel == "rbf":
        return
    else:
        model = Learner()
    with pytest.raises(ValueError, match=r"column 1 of X reaches .*MaxAbsScaler") as raised:
        model.fit(scaled_column(1e300), classes)
    assert type(raised.value) is ValueError


def test_the_column_has_its_name_in_the_frame():
    frame = pd.DataFrame(scaled_column(1e300), columns=["age", "debt", "size"])
    with pytest.raises(ValueError, match="column 'debt' of X reaches"):
        KernelRidge().fit(frame, classes)
    with pytest.raises(ValueError, match="column 1 of X reaches"):
        KernelRidge().fit(sp.csr_array(scaled_column(1e300)), classes)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "Learner",
    [
        FeatureMachineClassifier,
        FeatureMachineRegressor,
        *NEIGHBOURS,
        *(c for c in LEARNERS if c is not NuSVC),
    ],
    ids=lambda c: c.__name__,
)
@pytest.mark.parametrize("size", [1e-310, 1e-160, 1e-30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_tiny_numbers_count_as_constants(Learner, size, dtype):
    S = (X * size).astype(dtype)
    # with the linear kernel as their default, which says that products of such numbers are lost
    if Learner in (KernelRidge, KernelRidgeClassifier) and S.any() and size < 1e-100:
        with pytest.raises(ValueError, match="have no digits as floats: divide X by its largest"):
            Learner().fit(S, classes)
        return
    model = Learner().fit(S, classes)
    assert np.isfinite(model.predict(S).astype(float)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("Learner", LEARNERS, ids=lambda c: c.__name__)
def test_a_new_row_that_is_too_large_is_refused(Learner):
    model = Learner()
    if "kernel" in model.get_params():
        model.set_params(kernel="poly", gamma=1.0)
    model.fit(X, classes)
    new = np.array([[1.0, 2.0, 3.0], [-1.7e308, 1.7e308, -1.7e308]])
    if "kernel" not in model.get_params():
        model.coef_ = model.coef_ * 100
    with pytest.raises(
        ValueError, match=r"the prediction is not finite. column \d of X reaches 1.7"
    ):
        model.predict(new)


def test_huge_targets_have_their_solution():
    y = X[:, 0] + 0.1 * X[:, 1]
    want = KernelRidge(kernel="rbf").fit(X, y)
    for size in (2.0**1000, 2.0**-1000):
        model = KernelRidge(kernel="rbf").fit(X, y * size)
        assert_allclose(model.predict(X), want.predict(X) * size, rtol=1e-12)
        chosen = KernelRidge(alpha="auto", kernel="rbf").fit(X, y * size)
        usual = KernelRidge(alpha="auto", kernel="rbf").fit(X, y)
        assert_allclose(chosen.left_out_ / size, usual.left_out_, rtol=1e-8)
        assert chosen.alpha_ == usual.alpha_


@pytest.mark.parametrize("Learner", [KernelRidge, SVR, NuSVR, KernelQuantileRegression])
def test_targets_beyond_the_precision_of_the_samples_are_named(Learner):
    """They were predicted as infinity, by a machine that said that it had converged."""
    y = np.where(classes == 1, 1e39, 2e39)
    with pytest.raises(ValueError, match=r"y reaches 2e.39.* divide y"):
        Learner().fit(X.astype(np.float32), y)


def test_a_singular_system_without_a_penalty_has_the_solution_of_least_norm():
    rank_one = X[:, :1] * np.array([[1.0, 2.0, 3.0]])
    with pytest.warns(ConvergenceWarning, match="singular matrix .* minimum norm"):
        model = KernelRidge(alpha=0).fit(rank_one, classes)
    w = model.X_fit_.T @ model.dual_coef_
    assert_allclose(w, np.linalg.pinv(rank_one) @ classes, rtol=1e-8)
    with pytest.warns(ConvergenceWarning, match="singular matrix"):
        model = KernelRidgeClassifier(alpha=0).fit(rank_one, classes)
    assert np.isfinite(model.decision_function(X)).all()


def test_a_parameter_out_of_scale_is_named():
    with pytest.raises(ValueError, match=r"sample_weight reaches 1e.308.*divide sample_weight"):
        KernelRidge(kernel="rbf").fit(X, classes, np.full(30, 1e308))
    with pytest.raises(ValueError, match=r"coef0 .*reaches 1e.200.*nearer to 1"):
        KernelRidge(kernel="poly", degree=2, coef0=1e200).fit(X, classes)


def test_a_count_is_not_to_blame():
    with pytest.raises(ValueError, match="column 1 of X reaches"):
        KernelRidge(kernel="linear", max_iter=10**250).fit(scaled_column(1e200), classes)
    with pytest.raises(ValueError, match=r"degree .*reaches 1e.05"):
        KernelRidge(kernel="poly", degree=10**5, coef0=2.0).fit(X, classes)


def test_conjugate_gradients_end_on_products_that_are_not_finite():
    with pytest.raises(ValueError, match="column 1 of X reaches"):
        KernelRidge(kernel="linear", solver="conjugate_gradient").fit(scaled_column(1e300), classes)


def test_a_warning_is_shown_where_the_user_called():
    with pytest.warns(ConvergenceWarning) as record:
        KernelRidge(alpha=0).fit(X[:, :1], classes)
    assert record[0].filename == __file__


def test_tasks_on_threads_keep_the_callers_way_with_overflow():
    with np.errstate(over="ignore"):
        assert list(ordered_map(lambda x: np.float64(x) ** 2, [1e200] * 8, 2)) == [np.inf] * 8


def test_ordinary_numbers_pay_no_extra_pass(monkeypatch):
    """Only what is stored and returned is looked at, never K."""
    seen = []
    isfinite = np.isfinite
    monkeypatch.setattr(np, "isfinite", lambda a, *r, **k: seen.append(np.size(a)) or isfinite(a))
    model = KernelRidge(kernel=RBF(0.5)).fit(X, classes)
    model.predict(X)
    assert max(seen) < 30 * 30


# --- a user's own code ---------------------------------------------------------------------------


def divides(x, z):
    return float(x @ z) / 0


def overflows(x, z):
    return math.exp(1e4)


def factorises(x, z):
    return np.linalg.cholesky(-np.eye(2))[0, 0]


class Failing(RBF):
    """A kernel of a user's, with an error of its own."""

    def block(self, X, Z):
        return super().block(X, Z) * int(1 / 0)


THEIRS = [
    (divides, ZeroDivisionError, "division by zero"),
    (overflows, OverflowError, "math range error"),
    (factorises, np.linalg.LinAlgError, "not positive definite"),
]


@pytest.mark.parametrize("Learner", [L for L in LEARNERS if "kernel" in L().get_params()])
@pytest.mark.parametrize(("function", "error", "words"), THEIRS)
def test_an_error_of_a_users_function_is_not_replaced(function, error, words, Learner):
    with pytest.raises(error, match=words) as raised:
        Learner(kernel=FromFunction(function)).fit(X, classes)
    assert type(raised.value) is error


@pytest.mark.parametrize(
    "kernel", [Failing(1.0), FromFunction(divides)], ids=["object", "function"]
)
def test_nor_is_that_of_a_users_kernel(kernel):
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        SVC(kernel=kernel).fit(X, classes)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        KNeighborsRegressor(metric=divides).fit(X, classes).predict(X)


def test_nor_one_in_a_prediction():
    model = KernelRidge(kernel=Failing(1.0))
    fails, Failing.block = Failing.block, RBF.block
    try:
        model.fit(X, classes)
    finally:
        Failing.block = fails
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        model.predict(X)


# --- what is not finite --------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("Learner", [SVC, KernelRidge, KNeighborsClassifier])
def test_a_number_that_is_not_finite_is_named_by_its_row_and_column(Learner, value):
    A = X.copy()
    A[4, 1] = A[7, 0] = value
    said = f"Row 4 has {value} in column"
    with pytest.raises(ValueError, match=f"{said} 1: give a number, leave the row out, or fill it"):
        Learner().fit(A, classes)
    with pytest.raises(ValueError, match=f"{said} 'b'"):
        Learner().fit(pd.DataFrame(A, columns=["a", "b", "c"]), classes)
    with pytest.raises(ValueError, match=f"{said} 1"):
        Learner().fit(sp.csr_array(A), classes)
