"""Neighbours, windows and prototypes: each rule by a loop over a full matrix of distances."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate

import mercer
from mercer.distances import Minkowski
from mercer.kernels import RBF
from mercer.search import MetricTree

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2))
NEW = RNG.normal(size=(8, 2))
LABELS = RNG.choice(3, 20)
NUMBERS = RNG.normal(size=20)

WINDOWS = {
    "rectangular": lambda u: (u <= 1) * 1.0,
    "triangular": lambda u: np.maximum(0, 1 - u),
    "epanechnikov": lambda u: np.maximum(0, 1 - u**2),
    "quartic": lambda u: np.maximum(0, 1 - u**2) ** 2,
    "tricube": lambda u: np.maximum(0, 1 - u**3) ** 3,
    "gaussian": lambda u: np.exp(-(u**2) / 2),
}


def distances(A, B):
    return np.linalg.norm(A[:, None] - B[None], axis=2)


def votes(w, labels):
    """Γ_y = Σ w_i [y_(i) = y] for each class, as parts of their sum."""
    counts = np.array([w[labels == c].sum() for c in range(3)])
    return counts / counts.sum()


# --- nearest neighbours -----------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 6])
@pytest.mark.parametrize(
    ("weights", "rule"),
    [
        ("uniform", lambda rho, k: np.ones(k)),
        ("rank", lambda rho, k: (k + 1 - np.arange(1, k + 1)) / k),
        ("distance", lambda rho, k: 1 / rho[:k]),
        *[(name, lambda rho, k, K=K: K(rho[:k] / rho[k])) for name, K in WINDOWS.items()],
    ],
    ids=["uniform", "rank", "distance", *WINDOWS],
)
def test_the_rule_of_k_neighbours(k, weights, rule):
    """argmax Σ w_i [y_(i) = y]; a window has the width of the distance to neighbour k + 1."""
    model = mercer.KNeighborsClassifier(k, weights=weights).fit(X, LABELS)
    means = mercer.KNeighborsRegressor(k, weights=weights).fit(X, NUMBERS)
    for z, proba, mean in zip(NEW, model.predict_proba(NEW), means.predict(NEW)):
        rho = np.linalg.norm(X - z, axis=1)
        order = np.argsort(rho)
        w = rule(rho[order], k)
        wanted = votes(w, LABELS[order[:k]])
        assert_allclose(proba, wanted, rtol=1e-9, atol=1e-12)
        assert model.predict(z[None])[0] == wanted.argmax()
        assert_allclose(mean, w @ NUMBERS[order[:k]] / w.sum(), rtol=1e-9)


@pytest.mark.parametrize("name", WINDOWS)
def test_parzen_windows(name):
    """All rows, with weights K(ρ / h); where the window is empty, the nearest row decides."""
    h = 0.6
    model = mercer.KNeighborsClassifier(None, weights=name, width=h).fit(X, LABELS)
    for z, proba in zip(NEW, model.predict_proba(NEW)):
        rho = np.linalg.norm(X - z, axis=1)
        w = WINDOWS[name](rho / h)
        wanted = votes(w, LABELS) if w.sum() else np.eye(3)[LABELS[rho.argmin()]]
        assert_allclose(proba, wanted, rtol=1e-8, atol=1e-12)


def test_equal_votes_are_of_the_first_class():
    model = mercer.KNeighborsClassifier(2).fit([[0.0], [1.0]], ["b", "a"])
    assert model.predict([[0.2]])[0] == "a"


def test_neighbours_in_feature_space():
    """ρ² = k(x, x) + k(z, z) - 2 k(x, z), which orders as the Gaussian kernel does."""
    found = mercer.NearestNeighbors(n_neighbors=4, metric=RBF(0.5)).fit(X).kneighbors(NEW)
    squares = 2 - 2 * np.exp(-0.5 * distances(NEW, X) ** 2)
    order = np.argsort(squares, axis=1)[:, :4]
    assert_array_equal(found[1], order)
    assert_allclose(found[0], np.sqrt(np.take_along_axis(squares, order, 1)), rtol=1e-9)


# --- Nadaraya-Watson and densities ------------------------------------------------------------


@pytest.mark.parametrize("k", [None, 5])
@pytest.mark.parametrize("name", WINDOWS)
def test_nadaraya_watson(name, k):
    """Σ K(ρ/h) y / Σ K(ρ/h), over all rows or the k nearest."""
    h = 0.7
    model = mercer.NadarayaWatson(h, n_neighbors=k, window=name).fit(X, NUMBERS)
    for z, found in zip(NEW, model.predict(NEW)):
        rho = np.linalg.norm(X - z, axis=1)
        rows = np.argsort(rho)[:k]
        w = WINDOWS[name](rho[rows] / h)
        wanted = w @ NUMBERS[rows] / w.sum() if w.sum() else NUMBERS[rho.argmin()]
        assert_allclose(found, wanted, rtol=1e-8)


def test_nadaraya_watson_with_the_width_of_the_next_neighbour():
    model = mercer.NadarayaWatson(None, n_neighbors=4, window="quartic").fit(X, NUMBERS)
    for z, found in zip(NEW, model.predict(NEW)):
        rho = np.linalg.norm(X - z, axis=1)
        order = np.argsort(rho)
        w = WINDOWS["quartic"](rho[order[:4]] / rho[order[4]])
        assert_allclose(found, w @ NUMBERS[order[:4]] / w.sum(), rtol=1e-9)


def test_nadaraya_watson_chooses_its_width_by_leaving_rows_out():
    model = mercer.NadarayaWatson().fit(X, NUMBERS)
    D = distances(X, X)
    for h, error in model.errors_.items():
        logs = -((D / h) ** 2) / 2
        np.fill_diagonal(logs, -np.inf)
        w = np.exp(logs - logs.max(axis=1, keepdims=True))
        left_out = w @ NUMBERS / w.sum(axis=1)
        assert error == pytest.approx(((NUMBERS - left_out) ** 2).mean(), rel=1e-8)
    assert model.width_ == min(model.errors_, key=model.errors_.__getitem__)


def test_a_local_line():
    """The value at z of the line with the least Σ K(ρ/h) (y - a - b (x - z))²."""
    model = mercer.NadarayaWatson(0.8, degree=1).fit(X, NUMBERS)
    for z, found in zip(NEW, model.predict(NEW)):
        root = np.sqrt(WINDOWS["gaussian"](np.linalg.norm(X - z, axis=1) / 0.8))
        A = np.c_[np.ones(20), X - z]
        wanted = np.linalg.lstsq(root[:, None] * A, root * NUMBERS, rcond=None)[0][0]
        assert_allclose(found, wanted, rtol=1e-6)


DENSITIES = {
    "gaussian": lambda u: np.exp(-(u**2) / 2),
    "exponential": lambda u: np.exp(-u),
    "tophat": lambda u: (u <= 1) * 1.0,
    "epanechnikov": lambda u: np.maximum(0, 1 - u**2),
    "linear": lambda u: np.maximum(0, 1 - u),
    "cosine": lambda u: (u <= 1) * np.cos(np.pi * np.minimum(u, 1) / 2),
}


@pytest.mark.parametrize("name", DENSITIES)
def test_a_density_is_a_mean_of_windows_whose_integral_is_1(name):
    """1 / (n V h^d) Σ K(ρ / h), with V = ∫ K, here in the plane by its radius."""
    h, K = 0.7, DENSITIES[name]
    V = (
        2
        * math.pi
        * integrate.quad(lambda r: r * K(r), 0, 60 if name in ("gaussian", "exponential") else 1)[0]
    )
    wanted = K(distances(NEW, X) / h).mean(axis=1) / (V * h**2)
    model = mercer.KernelDensity(bandwidth=h, kernel=name).fit(X)
    assert_allclose(np.exp(model.score_samples(NEW)), wanted, rtol=1e-8)


def test_the_local_outlier_factor():
    """Means of reachability distances, and their quotients."""
    D = distances(X, X) + np.diag(np.full(20, np.inf))
    near = np.argsort(D, axis=1)[:, :4]
    kth = np.take_along_axis(D, near, 1)[:, -1]
    reach = np.maximum(np.take_along_axis(D, near, 1), kth[near]).mean(axis=1)
    wanted = (reach[:, None] / reach[near]).mean(axis=1)
    model = mercer.LocalOutlierFactor(4).fit(X)
    assert_allclose(-model.negative_outlier_factor_, wanted, rtol=1e-8)


# --- prototypes -------------------------------------------------------------------------------


def margin(own, other):
    return (other - own) / max(own, other)


def stolp(A, y, k, threshold, most_errors):
    """Outliers by their margin, the best row of each class, and then the worst row, one by one."""
    D = distances(A, A)

    def kth(i, rows):
        return np.sort(D[i, rows])[min(k, len(rows)) - 1]

    margins = []
    for i in range(len(A)):
        own = [j for j in range(len(A)) if y[j] == y[i] and j != i]
        others = [[j for j in range(len(A)) if y[j] == c] for c in set(y) - {y[i]}]
        margins.append(margin(kth(i, own), min(kth(i, rows) for rows in others)))
    first = [
        max((i for i in range(len(A)) if y[i] == c), key=lambda i: margins[i])
        for c in sorted(set(y))
    ]
    kept = [i for i in range(len(A)) if margins[i] >= threshold or i in first]
    chosen = list(first)
    while True:
        wrong = {}
        for i in kept:
            own = min([D[i, j] for j in chosen if y[j] == y[i]], default=math.inf)
            other = min([D[i, j] for j in chosen if y[j] != y[i]], default=math.inf)
            if i not in chosen and other <= own:
                wrong[i] = margin(own, other)
        if len(wrong) / len(kept) <= most_errors:
            return chosen, margins
        chosen.append(min(wrong, key=wrong.__getitem__))


@pytest.mark.parametrize(
    ("k", "threshold", "errors"), [(1, -1.0, 0.0), (3, -0.2, 0.0), (2, -0.5, 0.1)]
)
@pytest.mark.parametrize("seed", range(3))
def test_stolp(k, threshold, errors, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(24, 2))
    y = (A[:, 0] + 0.4 * rng.normal(size=24) > 0) * 1 + (A[:, 1] > 0.8) * 1
    model = mercer.Stolp(k, outlier_margin=threshold, max_error=errors).fit(A, y)
    wanted, margins = stolp(A, y, k, threshold, errors)
    assert_allclose(model.margins_, margins, rtol=1e-9)
    assert_array_equal(model.indices_, wanted)


def test_leave_one_out_chooses_the_number_of_neighbours():
    model = mercer.KNeighborsRegressor("auto").fit(X, NUMBERS)
    order = np.argsort(distances(X, X) + np.diag(np.full(20, np.inf)), axis=1)
    for k, score in model.loo_scores_.items():
        left_out = np.array([NUMBERS[row[:k]].mean() for row in order])
        wanted = 1 - ((NUMBERS - left_out) ** 2).sum() / ((NUMBERS - NUMBERS.mean()) ** 2).sum()
        assert score == pytest.approx(wanted, abs=1e-10)
    assert model.n_neighbors_ == max(model.loo_scores_, key=model.loo_scores_.__getitem__)


def test_the_nearest_neighbour_errs_at_most_twice_as_often_as_the_best_rule():
    """Cover & Hart, on a distribution whose best rule is known, with many rows."""
    rng = np.random.default_rng(1)
    A = rng.uniform(size=(20_000, 1))
    y = rng.uniform(size=20_000) < 0.2 + 0.6 * (A[:, 0] > 0.5)
    wrong = 1 - mercer.KNeighborsClassifier(1).fit(A[:10_000], y[:10_000]).score(
        A[10_000:], y[10_000:]
    )
    assert 0.2 < wrong < 2 * 0.2 * (1 - 0.2) + 0.02


def test_an_infinite_weight_leaves_nothing_to_others():
    model = mercer.KNeighborsRegressor(3, weights=lambda rho: 1 / rho**2).fit(X, NUMBERS)
    with np.errstate(divide="ignore"):
        assert_allclose(model.predict(X), NUMBERS)


def test_a_metric_tree_is_exact_on_whole_numbers_in_float32():
    rows = np.random.default_rng(0).integers(0, 4, (300, 3)).astype(np.float32)
    D = distances(rows[:40], rows)
    order = np.argsort(D, axis=1, kind="stable")[:, :7]
    found = MetricTree(Minkowski(2)).fit(rows).query(rows[:40], 7)
    assert_array_equal(found[1], order)
    assert_allclose(found[0], np.take_along_axis(D, order, 1), rtol=1e-6, atol=1e-12)


def test_all_indexes_find_the_same_neighbours():
    order = np.argsort(distances(NEW, X), axis=1)[:, :5]
    for algorithm, p in itertools.product(["brute", "kd_tree", "metric_tree"], [2]):
        model = mercer.NearestNeighbors(n_neighbors=5, algorithm=algorithm, p=p).fit(X)
        assert_array_equal(model.kneighbors(NEW)[1], order)
