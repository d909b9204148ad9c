"""LinearSVC and LinearSVR against scikit-learn's, through its own checks, with weights as
repetition, and on hostile inputs."""

import signal
import threading
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import (
    check_class_weight_balanced_linear_classifier,
    check_estimator,
    parametrize_with_checks,
)

import mercer
from mercer import LinearSVC, LinearSVR

RNG = np.random.default_rng(0)
IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
WINE = load_wine(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True, scaled=False)

KINDS = [
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LinearSVC(penalty="l1"),
    LinearSVC(multi_class="crammer_singer"),
    LinearSVR(),
    LinearSVR(epsilon=0.1),
    LinearSVR(loss="squared_epsilon_insensitive"),
]


@parametrize_with_checks(KINDS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.full
@pytest.mark.parametrize("name", ["LinearSVC", "LinearSVR"])
def test_as_many_checks_run_as_for_scikit_learn(name):
    def executed(estimator):
        results = check_estimator(estimator, on_skip=None, on_fail=None)
        return [r for r in results if r["status"] != "skipped"]

    ours = executed(getattr(mercer, name)())
    theirs = executed(getattr(sklearn.svm, name)())
    # one check is for subclasses of a private mixin of scikit-learn: it runs below
    assert len(ours) >= len(theirs) - (name == "LinearSVC")
    assert {r["status"] for r in ours} == {"passed"}


def test_balanced_classes_as_scikit_learn_checks_its_linear_classifiers():
    check_class_weight_balanced_linear_classifier("LinearSVC", LinearSVC())


@pytest.mark.parametrize("name", ["LinearSVC", "LinearSVR"])
def test_parameters_are_those_of_scikit_learn(name):
    theirs = getattr(sklearn.svm, name)().get_params()
    assert getattr(mercer, name)().get_params() == {**theirs, "n_jobs": None}


# --- the objective -----------------------------------------------------------------------------


def scaled(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def sparse(X):
    """CSR with indices of 64 bits and many zeros."""
    A = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0))
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


def for_sklearn(X):
    if sp.issparse(X):
        X = X.copy()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def objective(model, X, y):
    """The minimised function at a fitted model's weights, whoever fitted it."""
    X = X.toarray() if sp.issparse(X) else X
    p = model.get_params()
    W, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    if p["fit_intercept"]:
        W = np.hstack([W, np.broadcast_to(b, len(W))[:, None] / p["intercept_scaling"]])
        X = np.hstack([X, np.full((len(X), 1), float(p["intercept_scaling"]))])
    F = X @ W.T
    if "epsilon" in p:
        r = np.maximum(np.abs(y - F[:, 0]) - p["epsilon"], 0)
        return np.sum(W**2) / 2 + p["C"] * np.sum(r**2 if "squared" in p["loss"] else r)
    classes, codes = np.unique(y, return_inverse=True)
    weight = np.ones(len(classes))
    if p["class_weight"] == "balanced":
        weight = len(y) / (len(classes) * np.bincount(codes))
    elif p["class_weight"]:
        weight = np.array([p["class_weight"].get(c, 1.0) for c in classes])
    if p["multi_class"] == "crammer_singer":
        if len(classes) == 2:  # of two opposite vectors, their difference is stored
            W, F = np.vstack([-W / 2, W / 2]), np.hstack([-F / 2, F / 2])
        wrong = np.arange(len(classes)) != codes[:, None]
        errors = np.max(F + wrong - F[np.arange(len(y)), codes][:, None], axis=1)
        return np.sum(W**2) / 2 + p["C"] * np.sum(weight[codes] * errors)
    total = np.sum(np.abs(W)) if p["penalty"] == "l1" else np.sum(W**2) / 2
    for m, f in enumerate(F.T):
        own = codes == (1 if len(classes) == 2 else m)
        slack = np.maximum(1 - np.where(own, 1, -1) * f, 0)
        rest = weight[codes] if len(classes) == 2 else np.ones(len(y))
        losses = slack**2 if p["loss"] == "squared_hinge" else slack
        total += p["C"] * np.sum(np.where(own, weight[codes], rest) * losses)
    return total


COMBINATIONS = [
    {"penalty": "l2", "loss": "hinge", "dual": True},
    {"penalty": "l2", "loss": "squared_hinge", "dual": True},
    {"penalty": "l2", "loss": "squared_hinge", "dual": False},
    {"penalty": "l2", "loss": "squared_hinge", "dual": "auto"},
    {"penalty": "l2", "loss": "hinge", "dual": "auto"},
    {"penalty": "l1", "loss": "squared_hinge", "dual": False},
    {"multi_class": "crammer_singer", "dual": "auto"},
]


def compare(ours, theirs, X, y):
    """Ours is converged, truly certified, and not above theirs by more than 1e-6.

    Coordinate descent alone may need more epochs than it gets where the intercept is scaled up;
    the certificate then holds all the same.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(for_sklearn(X), y)
        ours.fit(X, y)
    value, peer = objective(ours, X, y), objective(theirs, X, y)
    assert_allclose(ours.objective_, value, rtol=1e-9)
    if ours.dual is not True or ours.intercept_scaling == 1:
        assert ours.converged_
        assert ours.dual_gap_ <= 1e-6 * value
        assert value <= peer * (1 + 1e-6)
    assert peer >= value - ours.dual_gap_ - 1e-9 * value  # the bound holds for theirs too
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.intercept_.shape in (np.shape(theirs.intercept_), (len(np.atleast_2d(ours.coef_)),))
    assert isinstance(ours.n_iter_, int)


@pytest.mark.parametrize("combination", COMBINATIONS, ids=lambda c: "-".join(map(str, c.values())))
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["iris", "cancer"])
@pytest.mark.parametrize(
    "other",
    [
        {"C": 0.1},
        {"C": 3.0, "intercept_scaling": 10.0},
        {"fit_intercept": False},
        {"class_weight": "balanced"},
        {"class_weight": {0: 5.0, 1: 0.5}},
    ],
    ids=str,
)
def test_classes_are_separated_as_in_scikit_learn(other, data, kind, combination):
    X, y = scaled(data[0]), data[1]
    X = sparse(X) if kind == "sparse" else X
    parameters = {**combination, **other}
    ours = LinearSVC(**parameters, random_state=0, max_iter=20_000)
    known = combination["dual"] if combination["dual"] != "auto" else True
    if combination.get("loss") == "squared_hinge" and combination["dual"] == "auto":
        known = False
    theirs = sklearn.svm.LinearSVC(
        **{**parameters, "dual": known}, tol=1e-6, max_iter=20_000, random_state=0
    )
    compare(ours, theirs, X, y)


@pytest.mark.parametrize(
    ("loss", "dual"),
    [
        ("epsilon_insensitive", True),
        ("epsilon_insensitive", "auto"),
        ("epsilon_insensitive", False),
        ("squared_epsilon_insensitive", True),
        ("squared_epsilon_insensitive", False),
        ("squared_epsilon_insensitive", "auto"),
    ],
)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(
    "other",
    [{}, {"epsilon": 10.0, "C": 0.1}, {"fit_intercept": False}, {"intercept_scaling": 100.0}],
    ids=str,
)
def test_targets_are_met_as_in_scikit_learn(other, kind, loss, dual):
    X, y = scaled(DIABETES[0]), DIABETES[1]
    X = sparse(X) if kind == "sparse" else X
    ours = LinearSVR(loss=loss, dual=dual, random_state=0, max_iter=50_000, **other)
    known = loss == "epsilon_insensitive" if dual != True else True  # noqa: E712
    theirs = sklearn.svm.LinearSVR(loss=loss, dual=known, tol=1e-6, max_iter=20_000, **other)
    compare(ours, theirs, X, y)


@pytest.mark.parametrize("C", [1.0, 1e4])
@pytest.mark.parametrize("data", [IRIS, CANCER, WINE], ids=["iris", "cancer", "wine"])
@pytest.mark.parametrize(
    "parameters",
    [{"loss": "hinge"}, {}, {"penalty": "l1"}, {"multi_class": "crammer_singer"}],
    ids=str,
)
def test_unscaled_columns_converge(parameters, data, C):
    """With the default max_iter, where LIBLINEAR warns."""
    # outputs of such columns, rounded, times C leave subgradients of 1 only five digits
    rounded = C > 1 and "penalty" in parameters
    ours = LinearSVC(C=C, tol=1e-2 if rounded else 1e-4, **parameters).fit(*data)
    assert ours.converged_
    assert_allclose(ours.objective_, objective(ours, *data), rtol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = sklearn.svm.LinearSVC(C=C, **parameters).fit(*data)
    assert ours.objective_ <= objective(theirs, *data) * (1 + 1e-6)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_unscaled_targets_converge(loss):
    X, y = DIABETES
    model = LinearSVR(C=100.0, loss=loss).fit(X, 1e3 * y)
    assert model.converged_
    assert_allclose(model.objective_, objective(model, X, 1e3 * y))


def test_the_certificate_bounds_the_distance():
    X, y = scaled(CANCER[0]), CANCER[1]
    exact = LinearSVC(loss="hinge", tol=1e-12).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"raise max_iter.*duality gap: \d"):
        rough = LinearSVC(loss="hinge", dual=True, max_iter=10, random_state=0).fit(X, y)
    distance = np.sum((rough.coef_ - exact.coef_) ** 2)
    distance += np.sum((rough.intercept_ - exact.intercept_) ** 2)
    assert 0 < distance / 2 <= rough.dual_gap_
    assert exact.objective_ <= rough.objective_ <= exact.objective_ + rough.dual_gap_


# --- weights -----------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", KINDS, ids=str)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_weights_mean_repetition(kind, estimator):
    X = RNG.normal(size=(60, 3))
    if isinstance(estimator, LinearSVC):
        y = np.array(["a", "b", "c"])[np.argmax(X + 0.5 * RNG.normal(size=X.shape), axis=1)]
    else:
        y = X @ [1, 2, 3] + RNG.normal(size=60)
    make = sp.csr_array if kind == "sparse" else np.asarray
    w = RNG.integers(0, 4, 60)
    weighted = clone(estimator).fit(make(X), y, sample_weight=w)
    repeated = clone(estimator).fit(make(np.repeat(X, w, axis=0)), np.repeat(y, w))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-6)
    assert_allclose(weighted.objective_, repeated.objective_)


def test_balanced_class_weights_count_weights_as_rows():
    X, y = scaled(CANCER[0]), CANCER[1]
    w = RNG.integers(0, 3, len(y))
    weighted = LinearSVC(class_weight="balanced").fit(X, y, sample_weight=w)
    repeated = LinearSVC(class_weight="balanced").fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)


def test_rows_of_weight_0_are_absent():
    X, y = IRIS
    model = LinearSVC().fit(X, y, sample_weight=y < 2)
    assert model.classes_.tolist() == [0, 1]
    assert_allclose(model.coef_, LinearSVC().fit(X[y < 2], y[y < 2]).coef_)
    with pytest.raises(ValueError, match="one class"):
        LinearSVC().fit(X, y, sample_weight=y == 1)


@pytest.mark.parametrize("estimator", KINDS[:4], ids=str)
@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["iris", "cancer"])
def test_a_class_of_no_weight(data, estimator):
    X, y = data
    model = clone(estimator).set_params(class_weight={0: 0.0}).fit(X, y)
    assert model.classes_.tolist() == np.unique(y).tolist()
    assert np.isfinite(model.decision_function(X)).all()


# --- methods and attributes --------------------------------------------------------------------


@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["iris", "cancer"])
def test_methods_of_the_classifier(data):
    X, y = scaled(data[0]), np.array(["p", "q", "r"])[data[1]]
    ours, theirs = LinearSVC(tol=1e-6).fit(X, y), sklearn.svm.LinearSVC(tol=1e-8).fit(X, y)
    assert_array_equal(ours.classes_, theirs.classes_)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, y) == theirs.score(X, y)
    assert ours.n_features_in_ == X.shape[1]
    margins = 1 / np.linalg.norm(ours.coef_, axis=1)
    assert_allclose(ours.margin_, margins if len(margins) > 1 else margins[0])
    before = ours.decision_function(X)
    assert sp.issparse(ours.sparsify().coef_)
    assert_allclose(ours.decision_function(X), before)
    assert_allclose(ours.decision_function(sp.csr_array(X)), before)
    assert isinstance(ours.densify().coef_, np.ndarray)


def test_the_margin_is_where_support_vectors_lie():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    model = LinearSVC(loss="hinge", C=1e6, intercept_scaling=1e3).fit(X, y)
    assert model.margin_ == pytest.approx(1.5, rel=1e-3)


@pytest.mark.spread(6)
@pytest.mark.parametrize("estimator", KINDS, ids=str)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_float32_stays_float32(kind, estimator):
    X, y = scaled(IRIS[0]), IRIS[1]
    make = sp.csr_array if kind == "sparse" else np.asarray
    single = clone(estimator).fit(make(X.astype(np.float32)), y)
    double = clone(estimator).fit(make(X), y)
    assert single.coef_.dtype == single.intercept_.dtype == np.float32
    assert double.coef_.dtype == double.intercept_.dtype == np.float64
    assert single.converged_
    assert_allclose(single.objective_, double.objective_, rtol=1e-5)
    assert_allclose(single.coef_, double.coef_, atol=1e-3)
    values = "predict" if isinstance(estimator, LinearSVR) else "decision_function"
    assert getattr(single, values)(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("estimator", KINDS, ids=str)
def test_threads_change_nothing(estimator):
    X, y = scaled(WINE[0]), WINE[1]
    one = clone(estimator).set_params(n_jobs=1, random_state=3).fit(X, y)
    many = clone(estimator).set_params(n_jobs=4, random_state=3).fit(X, y)
    assert_array_equal(one.coef_, many.coef_)
    assert one.n_iter_ == many.n_iter_


def test_names_of_columns_are_remembered():
    frame = pd.DataFrame(IRIS[0], columns=list("abcd"))
    model = LinearSVC().fit(frame, IRIS[1])
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("abdc")])


def test_progress_is_printed(capsys):
    LinearSVC(loss="hinge", verbose=1).fit(*CANCER)
    assert "gap" in capsys.readouterr().out
    LinearSVC(loss="hinge").fit(*CANCER)
    assert capsys.readouterr().out == ""


def test_without_an_intercept():
    X, y = scaled(CANCER[0]), CANCER[1]
    assert_array_equal(LinearSVC(fit_intercept=False).fit(X, y).intercept_, [0.0])
    assert_array_equal(LinearSVR(fit_intercept=False).fit(X, y).intercept_, [0.0])


# --- parameters that are wrong -----------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf, "1", None])
@pytest.mark.parametrize("name", ["C", "tol", "intercept_scaling"])
@pytest.mark.parametrize("machine", [LinearSVC, LinearSVR])
def test_numbers_out_of_range_are_named(machine, name, bad):
    with pytest.raises(ValueError, match=rf"{name}={bad!r}: must be a finite number > 0"):
        machine(**{name: bad}).fit(*CANCER)


@pytest.mark.parametrize(
    ("machine", "change", "message"),
    [
        (LinearSVC, {"penalty": "l3"}, r"penalty='l3': give one of 'l2', 'l1'"),
        (LinearSVC, {"loss": "huber"}, r"loss='huber': give one of 'squared_hinge', 'hinge'"),
        (LinearSVC, {"dual": "no"}, r"dual='no': give one of 'auto', True, False"),
        (LinearSVC, {"multi_class": "ovo"}, r"multi_class='ovo'"),
        (LinearSVC, {"max_iter": -1}, r"max_iter=-1: give a whole number >= 0"),
        (LinearSVC, {"max_iter": 1.5}, r"max_iter=1.5"),
        (LinearSVC, {"penalty": "l1", "loss": "hinge"}, r'give loss="squared_hinge"'),
        (LinearSVC, {"penalty": "l1", "dual": True}, r'give dual="auto" or False'),
        (LinearSVC, {"class_weight": {7: 1.0}}, r"class 7, but y does not have it"),
        (LinearSVC, {"class_weight": {0: -1.0}}, r"give finite weights >= 0"),
        (LinearSVC, {"class_weight": "even"}, r"class_weight='even'"),
        (LinearSVC, {"n_jobs": 0}, r"n_jobs=0"),
        (LinearSVR, {"epsilon": -0.1}, r"epsilon=-0.1: must be a finite number >= 0"),
        (LinearSVR, {"epsilon": np.nan}, r"epsilon=nan"),
        (LinearSVR, {"loss": "hinge"}, r"loss='hinge': give one of 'epsilon_insensitive'"),
    ],
)
def test_wrong_parameters_are_named(machine, change, message):
    with pytest.raises(ValueError, match=message):
        machine(**change).fit(*CANCER)


# --- hostile inputs ----------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", KINDS, ids=str)
def test_wrong_data_are_named(estimator):
    X, y = IRIS
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            clone(estimator).fit(np.where(X > 7, bad, X), y)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            clone(estimator).fit(X, np.where(np.arange(150) == 4, bad, y))
    with pytest.raises(ValueError, match="negative value -1 in row 0"):
        clone(estimator).fit(X, y, sample_weight=np.full(150, -1.0))
    with pytest.raises(ValueError, match="zero for every row"):
        clone(estimator).fit(X, y, sample_weight=np.zeros(150))
    with pytest.raises(ValueError, match="y has 149 rows"):
        clone(estimator).fit(X, y[1:])
    if isinstance(estimator, LinearSVC):
        with pytest.raises(ValueError, match="one class"):
            clone(estimator).fit(X, np.zeros(150))
    else:
        with pytest.raises(ValueError, match="not numbers"):
            clone(estimator).fit(X, np.array(["a", "b"])[y % 2])


def hostile():
    X, y = RNG.normal(size=(40, 3)), np.arange(40) % 2
    yield "constant column", np.hstack([X, np.ones((40, 1))]), y
    yield "column of zeros", np.hstack([X, np.zeros((40, 1))]), y
    yield "zeros alone", np.zeros((40, 3)), y
    yield "the same row everywhere", np.ones((40, 3)), y
    yield "twins of other classes", np.repeat(X[:20], 2, axis=0), y
    yield "column twice", np.hstack([X, X]), y
    yield "two rows", X[:2], y[:2]
    yield "one row of a class", X, (np.arange(40) == 3).astype(int)
    yield "huge values", X * 1e9, y
    yield "tiny values", X * 1e-9, y
    yield "more columns than rows", RNG.normal(size=(10, 60)), y[:10]
    empty = X.copy()
    empty[::3] = 0
    yield "empty rows", empty, y


@pytest.mark.parametrize("estimator", KINDS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("name", [name for name, _, _ in hostile()])
def test_hostile_samples_end(name, C, fit_intercept, estimator):
    """With a certificate that holds; converged but where C and the values pass all measure."""
    X, y = next((X, y) for other, X, y in hostile() if other == name)
    for data in (X, sp.csr_array(X)):
        model = clone(estimator).set_params(C=C, fit_intercept=fit_intercept, random_state=0)
        if name == "huge values":  # few of these converge, however long they run
            model.set_params(max_iter=100)
        with warnings.catch_warnings():
            if C > 1 or name == "huge values":
                warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(data, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.objective_)
        assert model.dual_gap_ >= 0
        assert_allclose(model.objective_, objective(model, X, y), rtol=1e-5, atol=1e-12)
        assert np.isfinite(model.predict(data)).all()


def test_duplicate_entries_of_a_row_are_summed_and_left_as_they_are():
    X, y = np.array([[3.0, 0.0], [0.0, 3.0], [1.0, 1.0], [2.0, -1.0]]), [0, 1, 0, 1]
    A = sp.coo_array(
        (np.ones(10), ([0] * 3 + [1] * 3 + [2] * 2 + [3] * 2, [0] * 3 + [1] * 3 + [0, 1, 0, 1]))
    )
    rows = sp.csr_array((A.data, A.coords[1].astype(np.int32), np.array([0, 3, 6, 8, 10])), (4, 2))
    same = LinearSVC().fit(rows.toarray(), y)
    model = LinearSVC().fit(rows, y)
    assert_allclose(model.coef_, same.coef_)
    assert rows.nnz == 10
    assert X.shape == rows.shape


def test_layouts_that_are_not_plain():
    X, y = scaled(CANCER[0]), CANCER[1]
    expected = LinearSVC().fit(X, y).coef_
    shifted = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape)
    read_only = X.copy()
    read_only.flags.writeable = False
    unsorted = sp.csr_array(X)[:, ::-1][:, ::-1]
    for A in (np.asfortranarray(X), shifted, read_only, X[:, ::-1][:, ::-1], X.tolist()):
        assert_allclose(LinearSVC().fit(A, y).coef_, expected)
    for A in (sp.csc_array(X), sp.coo_array(X), sp.csr_matrix(X), unsorted):
        assert_allclose(LinearSVC().fit(A, y).coef_, expected, atol=1e-10)


# --- Ctrl-C ------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["one machine", "three machines"])
@pytest.mark.parametrize(
    "parameters", [{"dual": True}, {"dual": False}, {"penalty": "l1"}], ids=str
)
def test_an_interrupt_keeps_the_best_so_far(parameters, data, monkeypatch):
    """The signal comes while the solvers run, which would not end by themselves."""
    X, y = data[0], data[1]
    begun = threading.Event()

    def slow(
        self, name, count, value, gap, look=mercer.solvers.linear.linear_svm.LinearSolver.look
    ):
        begun.set()
        threading.Event().wait(0.01)
        look(self, name, count, value, gap)

    monkeypatch.setattr(mercer.solvers.linear.linear_svm.LinearSolver, "look", slow)
    main = threading.get_ident()

    def interrupt():
        begun.wait()
        threading.Event().wait(0.03)
        signal.pthread_kill(main, signal.SIGINT)

    model = LinearSVC(tol=1e-300, max_iter=10**9, n_jobs=2, **parameters)
    thread = threading.Thread(target=interrupt)
    # a job that a shell started in the background ignores the signal, and would never end
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert not model.converged_
    assert np.isfinite(model.coef_).all()
    assert model.dual_gap_ > 0
    assert model.predict(X).shape == y.shape


def test_all_combinations_of_scikit_learn_are_supported():
    """What LIBLINEAR takes, this takes; and the hinge loss without the dual."""
    X, y = scaled(CANCER[0]), CANCER[1]
    for penalty, loss, dual in product(("l1", "l2"), ("hinge", "squared_hinge"), (True, False)):
        model = LinearSVC(penalty=penalty, loss=loss, dual=dual, max_iter=20_000, random_state=0)
        if penalty == "l1" and (loss == "hinge" or dual):
            with pytest.raises(ValueError, match="not supported"):
                model.fit(X, y)
        else:
            assert model.fit(X, y).converged_
