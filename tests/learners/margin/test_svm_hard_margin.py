"""C=inf: the hard margin, and tubes that hold every row; or an error that says why not."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from learners.margin.machines import beta_of
from mercer import SVC, SVR, NuSVR
from mercer.kernels import RBF
from mercer.learners.margin import support_vectors


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    """Every one of these problems ends in a few rounds, whether it has a solution or not.

    More of them would end in a ConvergenceWarning, which is an error here.
    """
    monkeypatch.setattr(support_vectors, "MOST_ROUNDS", 100)


def separable(n, gap=1.0, seed=0, columns=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, columns))
    y = np.arange(n) % 2
    X[:, 0] += y * (1 + gap)
    return X, y


def half_distance_of_hulls(K, y):
    """Half the distance between the convex hulls of two classes, by a general solver."""
    sign = 2.0 * y - 1
    Q = np.outer(sign, sign) * K
    found = minimize(
        lambda a: (a @ Q @ a, 2 * Q @ a),
        np.where(y == 1, 1 / y.sum(), 1 / (1 - y).sum()),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * len(y),
        constraints=[
            {"type": "eq", "fun": lambda a: a[y == 1].sum() - 1, "jac": lambda a: 1.0 * (y == 1)},
            {"type": "eq", "fun": lambda a: a[y == 0].sum() - 1, "jac": lambda a: 1.0 * (y == 0)},
        ],
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return np.sqrt(found.fun) / 2


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_the_margin_is_half_the_distance_of_the_hulls(kernel):
    X, y = separable(40, gap=0.3)
    model = SVC(C=np.inf, kernel=kernel, coef0=1.0, tol=1e-6).fit(X, y)
    wanted = half_distance_of_hulls(model.kernel_(X), y)
    assert_allclose(model.margin_, [wanted], rtol=1e-4)
    assert_allclose(np.min((2 * y - 1) * model.decision_function(X)), 1, atol=1e-5)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n", [60, 2500])
def test_it_equals_a_very_large_penalty(kernel, n):
    X, y = separable(n, gap=0.5)
    hard = SVC(C=np.inf, kernel=kernel, tol=1e-6).fit(X, y)
    soft = SVC(C=1e9, kernel=kernel, tol=1e-6).fit(X, y)
    assert hard.converged_
    assert_allclose(hard.decision_function(X), soft.decision_function(X), atol=1e-4)
    assert_allclose(hard.objective_, soft.objective_, rtol=1e-5)


@pytest.mark.parametrize("n", [60, 2500])
@pytest.mark.parametrize("away", [0.0, 1e2, 1e4])
def test_where_the_samples_lie_does_not_matter(n, away):
    """The hyperplane is free to move: distances count, not the lengths of the vectors."""
    X, y = separable(n)
    wanted = SVC(C=np.inf, kernel="linear").fit(X, y)
    model = SVC(C=np.inf, kernel="linear").fit(X + away, y)
    assert_allclose(model.margin_, wanted.margin_, rtol=1e-2)
    assert model.score(X + away, y) == 1.0


def test_several_classes_and_weights():
    X, y = separable(90)
    X[:30, 1] += 5
    y = np.where(np.arange(90) < 30, 2, y)
    hard = SVC(C=np.inf, kernel="linear", tol=1e-6).fit(X, y)
    assert hard.score(X, y) == 1.0
    w = np.random.default_rng(0).uniform(0, 2, 90)
    w[::7] = 0  # infinity times 0 is no bound of anything
    weighted = SVC(C=np.inf, kernel="linear", tol=1e-6, class_weight="balanced").fit(X, y, w)
    kept = w > 0
    wanted = SVC(C=np.inf, kernel="linear", tol=1e-6).fit(X[kept], y[kept])
    assert_allclose(weighted.coef_, wanted.coef_, atol=1e-4)
    ovr = SVC(C=np.inf, kernel="rbf", multi_class="ovr").fit(X, y)
    assert ovr.score(X, y) == 1.0


@pytest.mark.parametrize("n", [60, 2500])
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_classes_that_overlap_are_an_error(kernel, n):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    with pytest.raises(ValueError, match=r"C=inf requires a hard margin.*give a finite C"):
        SVC(C=np.inf, kernel=kernel, degree=2).fit(X, y)
    with pytest.raises(ValueError, match="hard margin"):
        SVC(C=np.inf, kernel=kernel, degree=2).fit(sp.csr_array(X), y)


@pytest.mark.parametrize("n", [60, 2500])
def test_equal_rows_of_both_classes_are_an_error(n):
    X, y = separable(n)
    with pytest.raises(ValueError, match="rows that are equal but differ in class"):
        SVC(C=np.inf).fit(np.vstack([X, X[:1]]), [*y, 1 - y[0]])
    with pytest.raises(ValueError, match="hard margin"):
        SVC(C=np.inf).fit(np.ones((10, 2)), [0, 1] * 5)


def test_a_pair_that_overlaps_among_several_is_an_error():
    X, y = separable(60)
    with pytest.raises(ValueError, match="hard margin"):
        SVC(C=np.inf).fit(np.vstack([X, X[y == 0]]), [*y, *[2] * 30])


@pytest.mark.parametrize("n", [80, 2300])
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_tubes_that_hold_every_row(n, epsilon):
    X = np.linspace(0, 3, n)[:, None]
    t = X[:, 0] ** 2 - 1  # a polynomial of the kernel's degree
    model = SVR(C=np.inf, epsilon=epsilon, kernel="poly", degree=2, coef0=1.0, tol=1e-5).fit(X, t)
    assert np.abs(model.predict(X) - t).max() <= epsilon + 1e-4
    soft = SVR(C=1e6, epsilon=epsilon, kernel="poly", degree=2, coef0=1.0, tol=1e-5).fit(X, t)
    assert_allclose(model.objective_, soft.objective_, rtol=1e-3, atol=1e-3)


def test_the_smoothest_function_in_the_tube():
    """By complementarity: rows within the tube have no coefficient, those at it the right sign."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(50, 1))
    t = np.sin(X[:, 0])
    model = SVR(C=np.inf, epsilon=0.1, gamma=1.0, tol=1e-7).fit(X, t)
    beta, rest = beta_of(model, 50), t - model.predict(X)
    assert np.abs(rest).max() <= 0.1 + 1e-6
    assert_allclose(rest[beta > 0], 0.1, atol=1e-6)
    assert_allclose(rest[beta < 0], -0.1, atol=1e-6)
    assert_allclose(beta.sum(), 0, atol=1e-8 * np.abs(beta).sum())


def test_targets_that_no_tube_holds_are_an_error():
    X = np.linspace(0, 1, 30)[:, None]
    t = np.sin(40 * X[:, 0])
    with pytest.raises(ValueError, match=r"C=inf requires a function within the tube"):
        SVR(C=np.inf, epsilon=0.01, kernel="linear").fit(X, t)
    with pytest.raises(ValueError, match="targets that differ by more"):
        SVR(C=np.inf, epsilon=0.01, kernel=RBF(1.0)).fit([[0.0], [0.0], [1.0]], [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match=r"C=inf: must be finite.*for C=inf use SVR"):
        NuSVR(C=np.inf).fit(X, t)
