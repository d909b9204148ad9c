"""All five support vector machines against scikit-learn's, and through its own checks."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from cases import KERNELS, name as case_name
from learners.margin.machines import (
    CANCER,
    DIABETES,
    IRIS,
    MACHINES,
    WINE,
    overlapping,
    target,
    values,
)
from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import RBF, Match, TableKernel

WEIGHTS = "check_sample_weight_equivalence_on_{}_data"
LARGE_NU = "the check weighs the classes so that nu=0.5 has no solution, and an error says so"
WEIGHED = ["check_class_weight_classifiers", *map(WEIGHTS.format, ("dense", "sparse"))]
EXPECTED = {"NuSVC": dict.fromkeys(WEIGHED, LARGE_NU)}  # scikit-learn's own fails these too
CHECKED = [
    SVC(),
    SVC(kernel="linear"),
    SVC(multi_class="ovr"),
    SVC(solver="low_rank", tol=1e-5),
    NuSVC(),
    SVR(),
    SVR(kernel="linear"),
    NuSVR(),
    NuSVR(kernel="linear"),
    OneClassSVM(),
    OneClassSVM(kernel="linear"),
]


def expected(estimator):
    return EXPECTED.get(type(estimator).__name__, {})


@parametrize_with_checks(CHECKED, expected_failed_checks=expected)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.full
@pytest.mark.parametrize("Machine", MACHINES)
def test_as_many_checks_run_as_for_scikit_learn(Machine):
    def executed(estimator):
        failing = expected(estimator)
        results = check_estimator(
            estimator, on_skip=None, on_fail=None, expected_failed_checks=failing
        )
        return [r for r in results if r["status"] != "skipped"]

    ours = executed(Machine())
    theirs = executed(getattr(sklearn.svm, Machine.__name__)())
    assert len(ours) >= len(theirs)
    unsuccessful = {r["check_name"] for r in ours if r["status"] != "passed"}
    assert unsuccessful <= set(EXPECTED.get(Machine.__name__, ()))


# Agreement


def agree(ours, theirs, X, *fitted):
    ours.set_params(tol=1e-7).fit(X, *fitted)
    theirs.set_params(tol=1e-7).fit(X, *fitted)
    wanted = values(theirs, X)
    scale = np.abs(wanted).max()
    assert ours.converged_
    assert_allclose(values(ours, X), wanted, atol=1e-4 * scale)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4 * scale)
    if ours.kernel == "rbf":  # strictly convex: one solution
        different = np.setxor1d(ours.support_, theirs.support_)
        small = np.zeros(len(X))
        for model in (ours, theirs):
            small[model.support_] = np.maximum(
                small[model.support_], np.abs(model.dual_coef_).max(axis=0)
            )
        assert (small[different] < 1e-3 * small.max()).all()


@pytest.mark.parametrize(
    ("data", "kernel"),
    [(IRIS, "rbf"), *[(data, k) for data in (WINE, CANCER) for k in ("rbf", "linear", "poly")]],
    ids=lambda v: v if isinstance(v, str) else f"{len(v[0])} rows",
)
@pytest.mark.parametrize("nu", [0.1, 0.2, 0.5])
def test_nu_svc(data, kernel, nu):
    """(Where a class of a pair has no free variable, the margin is not unique: so not all.)"""
    X, y = data
    parameters = {"kernel": kernel, "nu": nu, "coef0": 1.0, "decision_function_shape": "ovo"}
    agree(NuSVC(**parameters), sklearn.svm.NuSVC(**parameters), X, y)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize(("C", "nu"), [(0.1, 0.5), (1.0, 0.1), (1.0, 0.9), (10.0, 0.5)])
def test_nu_svr(kernel, C, nu):
    X, y = DIABETES
    parameters = {"kernel": kernel, "C": C, "nu": nu, "coef0": 1.0, "degree": 2}
    agree(NuSVR(**parameters), sklearn.svm.NuSVR(**parameters), X[:300], y[:300])


@pytest.mark.parametrize("data", [IRIS, WINE, CANCER], ids=["iris", "wine", "cancer"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5, 0.95])
def test_one_class(data, kernel, nu):
    X = data[0] + (2 if kernel == "linear" else 0)  # a plane that parts them from the origin
    parameters = {"kernel": kernel, "nu": nu, "coef0": 1.0}
    ours, theirs = OneClassSVM(**parameters), sklearn.svm.OneClassSVM(**parameters)
    agree(ours, theirs, X)
    assert_allclose(ours.offset_, theirs.offset_, rtol=1e-4)
    assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("Machine", MACHINES)
def test_single_precision_gives_the_same_within_its_own(Machine):
    X, y = CANCER
    y = target(Machine, y)
    parameters = {"nu": 0.2} if Machine is NuSVC else {}
    double = Machine(**parameters).fit(X, y)
    single = Machine(**parameters).fit(X.astype(np.float32), y)
    wanted = values(double, X)
    assert single.support_vectors_.dtype == np.float32
    assert values(single, X.astype(np.float32)).dtype == np.float32
    assert_allclose(values(single, X.astype(np.float32)), wanted, atol=3e-3 * np.abs(wanted).max())
    assert_allclose(single.objective_, double.objective_, rtol=1e-3)


@pytest.mark.parametrize("Machine", MACHINES)
def test_samples_of_other_kinds(Machine):
    X, y = overlapping(120)
    y, K = target(Machine, y), RBF(0.5)(X)
    parameters = {"tol": 1e-6} | ({"nu": 0.3} if Machine is NuSVC else {})
    wanted = values(Machine(gamma=0.5, **parameters).fit(X, y), X)
    for kernel, A in [
        (RBF(0.5), X),
        ("precomputed", K),
        (lambda A, B: RBF(0.5)(A, B), X),
        (RBF(0.5), sp.csr_array(X)),
        (RBF(0.5).on("a", "b", "c"), pd.DataFrame(X, columns=list("abc"))),
        (TableKernel([(RBF(0.5), ["a", "b", "c"])]), pd.DataFrame(X, columns=list("abc"))),
    ]:
        assert_allclose(
            values(Machine(kernel=kernel, **parameters).fit(A, y), A), wanted, atol=1e-4
        )


@pytest.mark.parametrize("Machine", MACHINES)
def test_categories(Machine):
    rng = np.random.default_rng(0)
    A = rng.choice(["red", "green", "blue"], size=(90, 4)).astype(object)
    y = (A[:, 0] == "red").astype(int)
    model = Machine(kernel=Match(), **({"nu": 0.2} if Machine is NuSVC else {}))
    model.fit(A, target(Machine, y))
    same = (A[:, None, :] == A[model.support_][None]).mean(axis=2)
    f = (same @ model.dual_coef_.T + model.intercept_)[:, 0]
    assert_allclose(values(model, A), f, atol=1e-8)
    if Machine in (SVC, NuSVC):
        assert model.score(A, y) == 1.0


@pytest.mark.spread(71)
@pytest.mark.parametrize("case", [case for case in KERNELS if case[0].symmetric], ids=case_name)
@pytest.mark.parametrize("Machine", [SVC, OneClassSVM, SVR])
def test_every_kernel(case, Machine):
    """It fits, ends at its certificate, and the values are those of K."""
    kernel, X = case
    y = np.arange(len(X)) % 2
    model = Machine(kernel=kernel).fit(X, target(Machine, y))
    assert model.converged_
    assert model.fit_status_ == 0
    if kernel.positive_definite is not False:
        assert 0 <= model.dual_gap_ <= 1e-2 * (1 + abs(model.objective_))
    A = model.kernel_.encode(X)
    K = model.kernel_.block(A, A[model.support_])
    f = K @ model.dual_coef_[0] + model.intercept_[0]
    assert_allclose(values(model, X), f, atol=1e-7 * (1 + np.abs(f).max()))


@pytest.mark.parametrize("Machine", MACHINES)
def test_kernels_that_are_not_symmetric_are_refused(Machine):
    kernel, X = next(case for case in KERNELS if not case[0].symmetric)
    with pytest.raises(TypeError, match=rf"not symmetric, but {Machine.__name__} needs"):
        Machine(kernel=kernel).fit(X, np.arange(len(X)) % 2)


def test_attributes_of_regressors_and_the_one_class_machine_as_in_scikit_learn():
    X, y = DIABETES
    for Machine in (SVR, NuSVR, OneClassSVM):
        ours = Machine(tol=1e-7).fit(X[:200], y[:200])
        theirs = getattr(sklearn.svm, Machine.__name__)(tol=1e-7).fit(X[:200], y[:200])
        assert_array_equal(ours.support_, theirs.support_)
        assert_array_equal(ours.n_support_, theirs.n_support_)
        assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3)
        for name in ("support_", "n_support_", "dual_coef_", "support_vectors_", "intercept_"):
            assert getattr(ours, name).dtype == getattr(theirs, name).dtype
            assert getattr(ours, name).shape == getattr(theirs, name).shape
        assert type(ours.n_iter_) is type(theirs.n_iter_)
        assert ours.shape_fit_ == theirs.shape_fit_
