"""Perceptrons: Novikoff's bounds in any order, scikit-learn's weights, one machine in all forms."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import KernelPerceptron, Perceptron
from mercer.kernels import RBF, FromFunction, Jaccard, Spectrum, TableKernel
from mercer.learners.perceptrons.perceptron_learner import COMBINE

IRIS = load_iris(return_X_y=True)
DIGITS = load_digits(return_X_y=True)
#: as of scikit-learn's own Perceptron: a weight is a factor of a step, not a repetition
WEIGHTS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a weight multiplies the step of its row"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [
        Perceptron(max_iter=50),  # many epochs of rows that overlap show no more
        Perceptron(combine="average"),
        Perceptron(penalty="elasticnet"),
        Perceptron(combine="vote", max_iter=50),
        KernelPerceptron(max_iter=50),
        KernelPerceptron(combine="average"),
        KernelPerceptron(combine="vote", max_iter=50),
        KernelPerceptron(budget=80),
    ],
    expected_failed_checks=lambda estimator: WEIGHTS,
)
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


# --- scikit-learn's machine --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "params",
    [
        {"tol": 1e-3},
        {"penalty": "l2", "alpha": 0.01, "tol": None, "max_iter": 20},
        {"penalty": "l1", "alpha": 0.01, "tol": None, "max_iter": 20},
        {"penalty": "elasticnet", "alpha": 0.01, "l1_ratio": 0.4, "tol": None, "max_iter": 20},
        {"fit_intercept": False, "tol": 1e-3},
        {"class_weight": {0: 2.0, 1: 0.5}, "tol": 1e-3},
        {"eta0": 0.1, "tol": 1e-3},
        {"tol": None, "max_iter": 4},
    ],
    ids=str,
)
def test_the_weights_are_those_of_scikit_learn(params, sparse):
    X, y = IRIS
    weights = np.random.default_rng(0).uniform(0.1, 2, len(y))
    if sparse and params.get("fit_intercept", True):  # theirs makes steps of b smaller there
        params = {**params, "fit_intercept": False}
    A = sp.csr_matrix(X) if sparse else X
    for labels in (y, y > 0):
        ours = Perceptron(shuffle=False, **params).fit(A, labels, sample_weight=weights)
        theirs = TheirPerceptron(shuffle=False, **params).fit(A, labels, sample_weight=weights)
        assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)
        assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-9)
        assert_array_equal(ours.predict(A), theirs.predict(A))
        assert ours.n_iter_ <= theirs.n_iter_  # an epoch without mistakes is the last


def test_passes_over_parts_and_a_given_start_as_in_scikit_learn():
    X, y = IRIS
    ours, theirs = Perceptron(), TheirPerceptron(shuffle=False)
    for s in range(0, 150, 40):
        ours.partial_fit(X[s : s + 40], y[s : s + 40], classes=[0, 1, 2])
        theirs.partial_fit(X[s : s + 40], y[s : s + 40], classes=[0, 1, 2])
        assert_allclose(ours.coef_, theirs.coef_, rtol=1e-12, atol=1e-12)
    assert ours.t_ == theirs.t_
    start = {"coef_init": np.arange(12.0).reshape(3, 4), "intercept_init": [1.0, -2.0, 3.0]}
    one = {"max_iter": 1, "tol": None, "shuffle": False}
    assert_allclose(
        Perceptron(**one).fit(X, y, **start).coef_, TheirPerceptron(**one).fit(X, y, **start).coef_
    )


def test_a_second_fit_goes_on_from_the_first():
    X, y = IRIS
    long = Perceptron(max_iter=6, tol=None, shuffle=False).fit(X, y)
    short = Perceptron(max_iter=3, tol=None, shuffle=False, warm_start=True).fit(X, y).fit(X, y)
    assert_allclose(short.coef_, long.coef_)
    assert long.mistakes_[1][3:].tolist() == short.mistakes_[1].tolist()


# --- one machine in other forms ----------------------------------------------------------------


def by_hand(K, y, order, eta=1.0, bias=True, start=None):
    """The definition: α, b after each visit."""
    alpha, b, seen = np.zeros(len(y)) if start is None else start.copy(), 0.0, []
    for i in order:
        if y[i] * (alpha @ K[i] + b) <= 0:
            alpha[i] += eta * y[i]
            b += eta * y[i] * bias
        seen.append((alpha.copy(), b))
    return seen


@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("bias", [True, False])
def test_the_machines_are_those_of_the_definition(combine, bias):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 2))
    y, new = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0), rng.normal(size=(30, 2))
    K = RBF(0.5)(X)
    seen = by_hand(K, y, np.tile(np.arange(70), 3), 0.7, bias)
    f = np.array([RBF(0.5)(new, X) @ alpha + b for alpha, b in seen])
    wanted = {"last": f[-1], "average": f.mean(axis=0), "vote": np.sign(f).mean(axis=0)}[combine]
    options = {"combine": combine, "fit_intercept": bias, "eta0": 0.7}
    whole = {"max_iter": 3, "tol": None, "shuffle": False}
    model = KernelPerceptron(RBF(0.5), **whole, **options).fit(X, y)
    assert_allclose(model.decision_function(new), wanted, atol=1e-12)
    stream = KernelPerceptron(RBF(0.5), **options)
    for s in range(0, 210, 33):
        rows = np.arange(s, min(s + 33, 210)) % 70
        stream.partial_fit(X[rows], y[rows], classes=[-1, 1])
    assert_allclose(stream.decision_function(new), wanted, atol=1e-10)
    assert sum(stream.mistakes_[0]) == sum(model.mistakes_[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("combine", COMBINE)
def test_a_linear_kernel_is_the_linear_machine(combine, dtype):
    X, y = (DIGITS[0] / 16).astype(dtype), DIGITS[1]
    for A in (X, sp.csr_array(X)):
        both = [P(combine=combine, max_iter=3, tol=None) for P in (Perceptron, KernelPerceptron)]
        both[1].set_params(kernel="linear")
        f, g = (model.fit(A, y).decision_function(A) for model in both)
        assert_allclose(f, g, atol=1e-3 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("combine", COMBINE)
def test_a_polynomial_kernel_is_the_linear_machine_of_the_monomials(combine):
    rng = np.random.default_rng(0)
    a, b = X = rng.normal(size=(2, 80))
    y = a**2 + b**2 > 1.2
    monomials = np.column_stack([a**2, b**2, np.sqrt(2) * a * b])
    options = {"combine": combine, "max_iter": 5, "tol": None}
    linear = Perceptron(**options).fit(monomials, y)
    kernel = KernelPerceptron("poly", degree=2, gamma=1.0, coef0=0.0, **options).fit(X.T, y)
    assert linear.mistakes_[0].tolist() == kernel.mistakes_[0].tolist()
    f, g = linear.decision_function(monomials), kernel.decision_function(X.T)
    assert_allclose(f, g, atol=1e-9)


def test_a_class_of_one_row_is_learnt_and_contradictions_end():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) == 29
    assert (KernelPerceptron(RBF(2.0), max_iter=500, tol=None).fit(X, y).predict(X) == y).all()
    twice, labels = np.repeat(X, 2, axis=0), np.tile([0, 1], 30)
    model = KernelPerceptron(RBF(2.0), max_iter=20, tol=None).fit(twice, labels)
    assert (model.converged_, model.n_iter_) == (False, 20)
    assert not model.margin_report(twice, labels).separable.any()


def test_rows_of_k_in_parts_and_in_little_memory_give_the_same_machine():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.5) ^ (rng.random(3000) < 0.05)
    options = {"max_iter": 4, "tol": None, "gamma": 0.5}
    models = [KernelPerceptron(memory=m, **options).fit(X, y) for m in ("400MB", "60MB", "2MB")]
    given = KernelPerceptron("precomputed", max_iter=4, tol=None).fit(RBF(0.5)(X), y)
    for model in models[1:]:
        assert_array_equal(model.mistakes_, models[0].mistakes_)
        assert_allclose(model.dual_coef_, models[0].dual_coef_)
    made = np.sum(given.mistakes_)  # in float64, which few of many mistakes can tell
    assert abs(made - np.sum(models[0].mistakes_)) < 0.02 * made


def test_a_start_is_a_function_of_the_samples():
    rng = np.random.default_rng(0)
    X, alpha = rng.normal(size=(40, 2)), rng.normal(size=40)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    wanted = by_hand(RBF(1.0)(X), y, range(40), bias=False, start=alpha)[-1][0]
    options = {"max_iter": 1, "tol": None, "shuffle": False, "fit_intercept": False}
    model = KernelPerceptron(RBF(1.0), **options).fit(X, y, dual_coef_init=alpha)
    assert_allclose(model.dual_coef_[0], wanted[model.support_])


# --- the bound ---------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
def test_mistakes_never_exceed_the_bound(bias):
    """100 random separable samples, in random orders, from 0 and from elsewhere."""
    rng = np.random.default_rng(int(bias))
    for trial in range(50):
        n, d = int(rng.integers(2, 40)), int(rng.integers(1, 6))
        X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-2, 2)
        w = rng.normal(size=d)
        y = np.where(X @ w + bias * rng.normal() * 0.1 > 0, 1.0, -1.0)
        if len(np.unique(y)) < 2:
            continue
        options = {"fit_intercept": bias, "max_iter": 200_000, "tol": None, "random_state": trial}
        model = Perceptron(eta0=float(10 ** rng.uniform(-3, 3)), **options)
        start = rng.normal(size=d)
        start *= (0.0 if trial % 2 else 50.0) / np.linalg.norm(start)
        if not bias and trial % 4 == 0:
            lifted = KernelPerceptron("linear", **options)
            report = lifted.fit(X, y).margin_report(X, y)
        else:
            model.fit(X, y, coef_init=start)
            report = model.margin_report(X, y)
        if not report.separable[0]:
            continue
        assert report.mistakes[0] <= report.bound[0]
        assert report.online[0] <= (report.radius / report.margin[0]) ** 2
        assert (
            0.999 * report.best_margin[0] <= report.margin[0] <= report.best_margin[0] * (1 + 1e-12)
        )
        proof, k = report.proofs[0], np.arange(1, len(report.proofs[0].along) + 1)
        room = 1e-9 * report.radius**2 * k
        assert (proof.along >= k * proof.margin - room).all()
        assert (proof.squares <= k * proof.radius**2 + room).all()
        assert (proof.cosines <= 1 + 1e-9).all()


def test_a_bias_at_the_same_rate_counts_as_a_column_of_ones():
    """x = 0.01 and 0.02: 10,003 mistakes, where an ordinary margin would allow 16."""
    X, y = np.array([[0.01], [0.02]]), [0, 1]
    model = Perceptron(max_iter=20_000, tol=None).fit(X, y)
    assert model.converged_
    report = model.margin_report(X, y)
    assert report.mistakes[0] == 10_003 <= report.bound[0] < 41_000
    assert_allclose(report.radius**2, 1.0004)
    # the hull of (0.01, 1) and -(0.02, 1) nearest to the origin
    assert_allclose(report.margin[0], 0.01 / np.hypot(0.03, 2), rtol=1e-3)


def test_from_a_start_of_norm_50():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    X[:, 0] += 2 * y
    zero = Perceptron(fit_intercept=False, tol=None).fit(X, y)
    far = clone(zero).fit(X, y, coef_init=[-50.0, 0.0])
    reports = [model.margin_report(X, y) for model in (zero, far)]
    assert reports[1].mistakes[0] > reports[0].bound[0]  # the first bound alone would be wrong
    assert reports[1].mistakes[0] <= reports[1].bound[0]
    extra = 2 * 50 / reports[0].margin[0]
    assert_allclose(reports[1].bound[0], reports[0].bound[0] + extra)


def test_the_best_margin_is_that_of_brute_force():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) + [[3.0, 0.0]]
    y = np.where(rng.random(30) < 0.5, 1, -1)
    X *= y[:, None]
    X = X[(X * y[:, None])[:, 0] > 0.3]
    y = np.where(X[:, 0] > 0, 1, -1)
    angles = np.linspace(-np.pi / 2, np.pi / 2, 200_001)
    best = (y[:, None] * (X @ np.array([np.cos(angles), np.sin(angles)]))).min(axis=0).max()
    report = Perceptron(fit_intercept=False).fit(X, y).margin_report(X, y)
    assert_allclose(report.margin[0], best, rtol=1e-3)
    assert report.best_margin[0] >= best * (1 - 1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_a_gaussian_kernel_separates_distinct_points_at_any_scale(scale):
    grid = np.stack(np.meshgrid(*[np.arange(12.0)] * 2), axis=-1).reshape(-1, 2)
    y = np.random.default_rng(0).integers(0, 2, len(grid))
    # the least distance is 1 / √γ
    model = KernelPerceptron(RBF(1 / scale**2), tol=None, max_iter=10_000).fit(grid * scale, y)
    assert model.converged_
    assert model.score(grid * scale, y) == 1
    report = model.margin_report(grid * scale, y)
    assert report.separable[0]
    assert report.mistakes[0] <= report.bound[0]


def test_points_too_close_are_reported_with_the_rank_of_k():
    X = np.linspace(0, 1e-3, 40)[:, None]
    y = np.arange(40) % 2
    model = KernelPerceptron(RBF(1.0), max_iter=50, tol=None).fit(X, y)
    assert not model.converged_
    report = model.margin_report(X, y)
    assert not report.separable[0]
    assert report.bound[0] == np.inf
    assert report.rank < 10
    assert "numerical rank of K is" in str(report)
    assert "too similar" in str(report)


def test_what_is_not_separable_ends_and_says_so():
    X, y = IRIS
    model = Perceptron(tol=1e-3).fit(X, y)
    assert not model.converged_
    assert "no longer falls by tol" in model.reason_
    with pytest.warns(ConvergenceWarning, match="iteration limit.* margin_report tells whether"):
        model = Perceptron().fit(X, y)
    assert model.reason_.startswith("stopped at the iteration limit")
    twice = Perceptron(tol=1e-3).fit([[1.0], [1.0], [2.0]], [0, 1, 1])  # equal rows of two classes
    assert not twice.converged_
    said = str(twice.margin_report([[1.0], [1.0], [2.0]], [0, 1, 1]))
    assert "not separable" in said
    assert "gamma" not in said  # which a linear machine does not have
    assert "a kernel of a larger space" in said
    zeros = KernelPerceptron("linear", fit_intercept=False, tol=1e-3)
    assert not zeros.fit(np.zeros((4, 2)), [0, 1, 0, 1]).converged_
    assert not zeros.margin_report(np.zeros((4, 2)), [0, 1, 0, 1]).separable[0]
    with pytest.warns(ConvergenceWarning, match="iteration limit.*number of mistakes"):
        Perceptron(max_iter=2).fit(X, y)


def test_by_default_it_goes_on_until_there_are_no_mistakes():
    """A Gaussian kernel separates any labels of rows that differ."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(100, 3)), random.permutation(100) % 2
    model = KernelPerceptron(RBF(1.0)).fit(X, y)
    assert model.converged_
    assert model.reason_.startswith("converged")
    assert model.score(X, y) == 1
    early = KernelPerceptron(RBF(1.0), tol=1e-3).fit(X, y)
    assert not early.converged_
    assert "with tol=None it goes on" in early.reason_  # which is true, as it has just done


def test_it_separates_whatever_a_plane_separates():
    random = np.random.default_rng(0)
    for _ in range(50):
        n, d = random.integers(20, 200), random.integers(2, 8)
        X, w = random.normal(size=(n, d)), random.normal(size=d)
        far = X @ w / np.linalg.norm(w) + random.normal()
        X, y = X[abs(far) > 0.02], far[abs(far) > 0.02] > 0
        if 0 < y.mean() < 1:
            model = Perceptron().fit(X, y)
            assert model.converged_
            assert model.score(X, y) == 1


@pytest.mark.parametrize(
    "model",
    [
        Perceptron(penalty="l2"),
        Perceptron(early_stopping=True),
        KernelPerceptron(early_stopping=True),
        KernelPerceptron("linear", budget=10),
    ],
    ids=str,
)
def test_where_nothing_bounds_the_mistakes_the_loss_ends_it(model):
    X, y = IRIS
    model = clone(model).fit(X, y)
    assert model.n_iter_ < 200
    assert_array_equal(model.set_params(tol=1e-3).fit(X, y).mistakes_[0], model.mistakes_[0])


# --- streams -----------------------------------------------------------------------------------


def test_a_budget_holds_in_an_endless_stream():
    rng = np.random.default_rng(0)
    model = KernelPerceptron(RBF(1.0), budget=60)
    for _ in range(40):
        X = rng.normal(size=(100, 2))
        y = (np.hypot(*X.T) > 1.1).astype(int)
        model.partial_fit(X, y, classes=[0, 1])
        assert len(model.X_fit_) <= 60
        assert (model.dual_coef_ != 0).sum() <= 60
    X = rng.normal(size=(1000, 2))
    assert model.score(X, np.hypot(*X.T) > 1.1) > 0.9


def test_the_least_support_vector_is_dropped():
    X = np.array([[1.0, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 2.0]])
    model = KernelPerceptron("linear", budget=2, fit_intercept=False)
    model.partial_fit(X, [1, 1, 1], classes=[0, 1])
    assert_allclose(model.X_fit_, X[[0, 2]])


def test_of_equal_support_vectors_the_oldest_is_dropped():
    model = KernelPerceptron("linear", budget=2, fit_intercept=False)
    for row in np.eye(4):
        model.partial_fit(row[None], [1], classes=[0, 1])
    assert_allclose(model.X_fit_, np.eye(4)[2:])


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (Spectrum(2, shortest=1), ["abab", "cdcd", "abba", "ddcc", "xyab", "xycd", "zzab", "qqcd"]),
        (Jaccard(), [{"a", "b"}, {"c"}, {"a"}, {"c", "d"}, {"a", "x"}, {"c"}, {"b"}, {"d"}]),
        (
            TableKernel(),
            pd.DataFrame({"n": [1.0, -1.0, 2.0, -2.0] * 2, "c": list("abacadae")}),
        ),
        (FromFunction(lambda x, z: float(x[0] == z[0])), list(zip("abababab", range(8)))),
    ],
    ids=["strings", "sets", "table", "objects"],
)  # fmt: skip
def test_samples_of_every_kind_come_in_streams(kernel, X):
    y = np.array([0, 1] * 4)
    one = {"max_iter": 1, "tol": None, "shuffle": False}
    whole = KernelPerceptron(kernel, **one).fit(X, y)
    stream = KernelPerceptron(whole.kernel_)
    for s in range(0, 8, 3):
        part = X.iloc[s : s + 3] if isinstance(X, pd.DataFrame) else X[s : s + 3]
        stream.partial_fit(part, y[s : s + 3], classes=[0, 1])
    assert_allclose(stream.decision_function(X), whole.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("model", [Perceptron(), KernelPerceptron()], ids=str)
def test_streams_say_what_they_need(model):
    X, y = IRIS
    with pytest.raises(ValueError, match="first call to partial_fit"):
        clone(model).partial_fit(X, y)
    model = clone(model).partial_fit(X[:60], y[:60], classes=[0, 1])
    with pytest.raises(ValueError, match="class 2, which is not one of"):
        model.partial_fit(X[100:], y[100:])
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X[:60], y[:60], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="needs all rows"):
        clone(model).set_params(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
    matrix = KernelPerceptron("precomputed", tol=1e-3).fit(X @ X.T, y)
    with pytest.raises(TypeError, match="precomputed"):
        matrix.partial_fit(X @ X.T, y)
    with pytest.raises(ValueError, match="needs all earlier machines"):
        KernelPerceptron(budget=3, combine="vote").fit(X, y)


# --- the rest ----------------------------------------------------------------------------------


def test_interpolation_is_exact_where_k_has_full_rank():
    """Σ_j α_j K(x_i, x_j) = y_i has a solution, so that some machine makes no mistake."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.choice([-1.0, 1.0], 50)
    K = RBF(1.0)(X)
    alpha = np.linalg.solve(K, y)
    assert_allclose(K @ alpha, y, atol=1e-9)
    model = KernelPerceptron(RBF(1.0), fit_intercept=False).fit(X, y, dual_coef_init=alpha)
    assert model.mistakes_[0].tolist() == [0]
    assert_allclose(model.decision_function(X), y, atol=1e-9)


@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("learner", [Perceptron, KernelPerceptron])
def test_model_files(learner, combine, tmp_path):
    X, y = IRIS
    model = learner(combine=combine, tol=1e-3).fit(X, y)
    mercer.save(model, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert_array_equal(
        loaded.partial_fit(X, y).decision_function(X), model.partial_fit(X, y).decision_function(X)
    )


def test_early_stopping_judges_rows_held_out():
    X, y = DIGITS
    for learner in (Perceptron(), KernelPerceptron("poly")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = learner.set_params(early_stopping=True, n_iter_no_change=2).fit(X, y)
        assert model.n_iter_ < 30
        assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="cannot hold out"):
        Perceptron(early_stopping=True).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"eta0": 0}, "eta0=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1}, "tol=-1"),
        ({"combine": "mean"}, "combine='mean'"),
        ({"penalty": "l3"}, "penalty='l3'"),
        ({"alpha": -1.0}, "alpha=-1.0"),
        ({"penalty": "l2", "combine": "vote"}, "changes w at each row"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        Perceptron(**params).fit([[0.0], [1.0]], [0, 1])


def test_one_class_and_numbers_that_are_none():
    for learner in (Perceptron(), KernelPerceptron()):
        with pytest.raises(ValueError, match="only one class"):
            learner.fit([[0.0], [1.0]], [1, 1])
        with pytest.raises(ValueError, match="NaN"):
            learner.fit([[np.nan], [1.0]], [0, 1])
    nothing = FromFunction(lambda x, z: np.nan)
    with pytest.raises(ValueError, match="finite"):
        KernelPerceptron(nothing).fit([(1,), (2,)], [0, 1])
