"""Wrong parameters and hostile data for all five machines: a message that helps, or a sane fit."""

import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from learners.margin.machines import MACHINES, overlapping, target, values
from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import RBF, Sigmoid

X, Y = overlapping(60)


def machine(Machine, **given):
    return Machine(**({"nu": 0.6} if Machine is NuSVC else {}) | given)


def fit(Machine, A=X, y=Y, **given):
    return machine(Machine, **given).fit(A, target(Machine, y) if y is not None else None)


# Parameters

NUMBERS = {
    "C": (0, -1, np.nan, "1", None, True, [1.0]),
    "nu": (0, -0.5, 1.5, np.nan, np.inf, "half", None),
    "epsilon": (-0.1, np.nan, "a", None),
    "tol": (0, -1e-3, np.nan, np.inf, "a", None),
    "max_iter": (0, -2, 2.5, np.nan, "many", None),
    "rank": (0, -3, 2.5, "ten"),
}


@pytest.mark.parametrize("Machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in NUMBERS.items() for value in values]
)
def test_numbers_out_of_range_are_named(Machine, name, value):
    if name not in Machine().get_params():
        return
    with pytest.raises(ValueError, match=rf"^{name}="):
        Machine(**{name: value}).fit(X, target(Machine, Y))


@pytest.mark.parametrize("Machine", MACHINES)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kernel": "rfb"}, "Did you mean 'rbf'"),
        ({"gamma": 0}, r"gamma=0: must be a finite number > 0"),
        ({"gamma": np.inf}, "gamma=inf"),
        ({"gamma": "scal"}, r"gamma='scal'"),
        ({"kernel": "poly", "degree": 0}, "degree=0"),
        ({"kernel": "poly", "degree": "2"}, "degree='2'"),
        ({"kernel": "poly", "coef0": np.nan}, "coef0=nan"),
        ({"kernel": RBF(), "gamma": 2.0}, r"gamma=2\.0 is given together with the kernel"),
        ({"solver": "fast"}, r"solver='fast': give one of"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"memory": "much"}, "memory='much'"),
        ({"memory": 0}, "memory=0"),
    ],
    ids=str,
)
def test_other_parameters_are_named(Machine, given, message):
    with pytest.raises(ValueError, match=message):
        fit(Machine, **given)


@pytest.mark.parametrize("Classifier", [SVC, NuSVC])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"multi_class": "all"}, r"multi_class='all': give \"ovo\" or \"ovr\""),
        ({"decision_function_shape": "x"}, "decision_function_shape='x'"),
        ({"probability": "platt"}, "probability='platt'"),
        ({"class_weight": "even"}, "class_weight='even'"),
        ({"class_weight": {0: -1.0}}, "finite weights >= 0"),
        ({"class_weight": {0: np.nan}}, "finite weights >= 0"),
    ],
    ids=str,
)
def test_parameters_of_classifiers_are_named(Classifier, given, message):
    with pytest.raises(ValueError, match=message):
        fit(Classifier, **given)


@pytest.mark.parametrize("Machine", MACHINES)
def test_extreme_parameters_that_are_legal(Machine):
    for given in ({"tol": 1e6}, {"C": 1e-300}, {"C": 1e-8}, {"gamma": 1e-12}, {"gamma": 1e12}):
        if given.keys() <= machine(Machine).get_params().keys():
            if Machine is NuSVC and "gamma" in given and given["gamma"] < 1:
                continue  # all rows are alike: no margin, see below
            model = fit(Machine, **given)
            assert np.isfinite(values(model, X)).all()


# ν


def test_an_infeasible_nu_names_its_bound_and_the_classes():
    y = np.repeat([0, 1], [50, 10])
    with pytest.raises(ValueError, match=r"nu=0\.5 for the classes 0 and 1 must be <= 0\.333333"):
        NuSVC().fit(X, y)
    labels = np.repeat(["a", "b", "c"], [25, 25, 10])
    with pytest.raises(ValueError, match=r"classes 'a' and 'c' must be <= 0\.571429"):
        NuSVC(nu=0.6).fit(X, labels)
    with pytest.raises(ValueError, match=r"classes 'c' and the rest must be <= 0\.333333"):
        NuSVC(nu=0.4, multi_class="ovr").fit(
            X, np.where(labels == "c", "c", np.array(["a", "b"] * 30))
        )
    assert NuSVC(nu=1 / 3, gamma=1.0).fit(X, y).converged_  # the bound itself is feasible
    assert NuSVC(nu=1.0).fit(X, Y).converged_


@pytest.mark.parametrize("nu", [1e-12, 1e-6, 1e-3, 1.0])
def test_all_or_almost_nothing(nu):
    for model in (OneClassSVM(nu=nu).fit(X), NuSVR(nu=nu).fit(X, X[:, 0])):
        assert model.converged_
        assert np.isfinite(values(model, X)).all()
        assert len(model.support_) == (60 if nu == 1 else len(model.support_))
    assert len(OneClassSVM(nu=1e-12, tol=1e-15).fit(X).support_) >= 1


def test_no_margin_between_the_classes():
    for A, given in ((np.ones((60, 3)), {}), (X, {"kernel": "linear"}), (X, {"gamma": 1e-12})):
        with pytest.raises(ValueError, match=r"nu=0\.1 there is no margin.*give a larger nu"):
            NuSVC(nu=0.1, **given).fit(A, Y)


@pytest.mark.parametrize("scale", [1e-5, 1e-3, 1.0, 1e3])
def test_a_margin_is_small_or_large_as_the_samples_are(scale):
    A = X + 2.0 * Y[:, None]
    wanted = NuSVC(kernel="linear", nu=0.3, tol=1e-6).fit(A, Y).decision_function(A)
    model = NuSVC(kernel="linear", nu=0.3, tol=1e-6).fit(scale * A, Y)
    assert_allclose(model.decision_function(scale * A), wanted, atol=1e-2 * np.abs(wanted).max())


def test_a_limit_is_no_proof_that_there_is_no_margin():
    A, y = overlapping(2300)
    for working_rounds in (1, 2, 3):
        with pytest.warns(ConvergenceWarning, match="raise max_iter"):
            NuSVC(nu=0.9, gamma=5.0, max_iter=working_rounds).fit(A, y)


# Data


@pytest.mark.parametrize("Machine", MACHINES)
@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.where(X > 1, np.nan, X), "NaN"),
        (np.where(X > 1, np.inf, X), "infinity"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((60, 0)), "0 feature"),
        (X[:, 0], "a single column, but RBF compares vectors"),
        (np.zeros((60, 3), complex), "[Cc]omplex"),
        (["text"] * 60, r"X is 60 strings, .*RBF compares vectors"),
        (pd.DataFrame({"a": ["x", "y"] * 30}), "RBF compares vectors"),
        (np.array([["a", 1.0, 2.0]] * 60, object), "RBF compares vectors"),
    ],
    ids=["nan", "inf", "no rows", "no columns", "1-D", "complex", "text", "table", "objects"],
)
def test_wrong_samples_are_named(Machine, A, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fit(Machine, A)


@pytest.mark.parametrize("Machine", [SVC, NuSVC, SVR, NuSVR])
def test_wrong_targets_are_named(Machine):
    for y, message in [
        (Y[:-1], "59.*60|inconsistent"),
        (None, "requires y"),
        (np.where(Y == 1, np.nan, 0.0), "NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            Machine().fit(X, y)
    if Machine in (SVC, NuSVC):
        with pytest.raises(ValueError, match="has only one class"):
            Machine().fit(X, np.zeros(60))
        with pytest.raises(ValueError, match=r"Unknown label type|continuous"):
            Machine().fit(X, X[:, 0])
    else:
        with pytest.raises(ValueError, match=r"not numbers.*use a classifier"):
            Machine().fit(X, ["a", "b"] * 30)


@pytest.mark.parametrize("Machine", MACHINES)
def test_wrong_weights_are_named(Machine):
    t = target(Machine, Y)
    for w, message in [
        (np.full(60, np.nan), "NaN or infinity"),
        (np.full(60, np.inf), "NaN or infinity"),
        (np.full(60, -1.0), "negative value -1"),
        (np.zeros(60), "zero for every row"),
        (np.ones(59), r"\(59,\), wanted \(60,\)"),
        (np.ones((60, 2)), r"\(60, 2\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            machine(Machine).fit(X, t, sample_weight=w)


@pytest.mark.parametrize("Machine", MACHINES)
def test_wrong_precomputed_matrices_are_named(Machine):
    K = RBF(0.5)(X)
    crooked, missing = K.copy(), K.copy()
    crooked[3, 5] += 0.1
    missing[3, 5] = missing[5, 3] = np.nan
    for G, message in [
        (K[:, :-1], "must be square"),
        (crooked, r"not symmetric: K\[3, 5\] = .*\(K \+ K\.T\) / 2"),
        (missing, "NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            fit(Machine, G, kernel="precomputed")


@pytest.mark.parametrize("Machine", MACHINES)
def test_huge_values(Machine):
    with np.errstate(all="ignore"):
        for kernel, size in (("linear", 1e200), ("poly", 1e150)):
            with pytest.raises(ValueError, match=r"not finite. column \d of X reaches"):
                fit(Machine, size * X, kernel=kernel, gamma=1.0)
        model = fit(Machine, 1e150 * X)  # gamma="scale" knows
    assert np.isfinite(values(model, 1e150 * X)).all()


@pytest.mark.parametrize("Machine", [SVC, SVR, OneClassSVM, NuSVR])
def test_constant_and_duplicate_rows(Machine):
    for A in (np.ones((60, 3)), np.zeros((60, 3)), np.repeat(X[:6], 10, axis=0), 7e5 + 0 * X):
        model = fit(Machine, A)
        assert model.converged_
        assert np.isfinite(values(model, A)).all()
    assert fit(Machine, np.ones((60, 3))).kernel_.gamma == 1.0  # "scale" of no variance
    A = np.column_stack([X, np.full(60, 3.0)])  # a constant feature beside others
    assert_allclose(
        values(fit(Machine, A, gamma=0.5), A), values(fit(Machine, gamma=0.5), X), atol=5e-3
    )


@pytest.mark.parametrize("C", [1.0, 1e3, 1e9])
def test_equal_rows_with_opposite_labels(C):
    """All at their bounds, or the rest decides: f is what the copies agree on, none."""
    A, y = np.vstack([X, X]), np.concatenate([Y, 1 - Y])
    model = SVC(C=C).fit(A, y)
    assert model.converged_
    assert_allclose(model.decision_function(A), 0, atol=2e-3)
    one = SVC(C=C, gamma=1.0).fit(np.vstack([X, X[:1]]), [*Y, 1 - Y[0]])
    assert one.converged_
    assert one.dual_gap_ <= 1e-2 * (1 + one.objective_)


@pytest.mark.parametrize("Machine", MACHINES)
def test_indefinite_kernels_always_end(Machine):
    """And what they end with is finite; the certificate is not one there."""
    rng = np.random.default_rng(0)
    S = rng.normal(size=(60, 60))
    for kernel, A in (
        (Sigmoid(2.0, -1.0), X),
        ("sigmoid", 10 * X),
        ("precomputed", S + S.T),
        ("precomputed", -np.eye(60)),
        ("precomputed", -RBF(0.5)(X)),
        ("precomputed", np.zeros((60, 60))),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            if Machine is NuSVC:  # which finds no margin in some
                with suppress(ValueError):
                    fit(Machine, A, kernel=kernel, max_iter=500)
                continue
            model = fit(Machine, A, kernel=kernel, max_iter=500)
        assert np.isfinite(values(model, A)).all()
        assert model.dual_gap_ >= 0


@pytest.mark.parametrize("Machine", MACHINES)
def test_few_rows(Machine):
    for n in (2, 3):
        model = fit(Machine, X[:n], np.arange(n) % 2, **({"nu": 0.4} if Machine is NuSVC else {}))
        assert np.isfinite(values(model, X[:n])).all()
    if Machine not in (SVC, NuSVC):
        assert np.isfinite(values(fit(Machine, X[:1], Y[:1]), X[:1])).all()


@pytest.mark.parametrize("Machine", MACHINES)
def test_new_samples_that_do_not_fit(Machine):
    model = fit(Machine)
    for A, message in [
        (X[:, :2], "2 features.*3"),
        (np.where(X > 1, np.nan, X), "NaN"),
        (["a"] * 5, "strings"),
        (X[0], "a single column"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            model.predict(A)


def test_a_fit_that_fails_leaves_no_half_fitted_machine():
    model = SVC(C=np.inf, kernel="linear")
    with pytest.raises(ValueError, match="hard margin"):
        model.fit(X, Y)
    assert model.set_params(C=1.0).fit(X, Y).converged_


def test_the_certificate_of_an_indefinite_kernel_says_so():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = SVC(kernel=Sigmoid(gamma=2.0, coef0=-1.0)).fit(X, X[:, 0] > 0)
    assert "not convex" in model.solver_
    assert "not convex" not in SVC().fit(X, X[:, 0] > 0).solver_
