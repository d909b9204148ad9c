"""Classes that spread along the graph of neighbours: the equation, unknown classes, new rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.semi_supervised import LabelSpreading as Theirs
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import LabelSpreading, NearestNeighbors
from mercer.distances import Edit, Minkowski
from mercer.kernels import RBF

RNG = np.random.default_rng(0)
LABELS = np.arange(300) % 5  # of five clouds, whose distances are all different
CLOUDS = 2 * RNG.normal(size=(5, 6))[LABELS] + RNG.normal(size=(300, 6))
SOME, OTHERS = CLOUDS[:200], CLOUDS[200:]
FEW = np.where(np.arange(200) < 20, LABELS[:200], -1)
NAMES = ["anna", "hanna", "hannah", "johanna", "otto", "lotto", "motto", "ottos"]


@parametrize_with_checks([LabelSpreading(3)])
def test_scikit_learn(estimator, check):
    check(estimator)


def fitted(X=SOME, y=FEW, **parameters):
    return LabelSpreading(**parameters).fit(X, y)


def direct(W, known, codes, alpha):
    """F by the definition, from a graph of any weights."""
    root = np.sqrt(W.sum(axis=1))
    Y = np.zeros((len(W), codes.max() + 1))
    Y[known, codes] = 1 / np.bincount(codes)[codes]
    return np.linalg.solve(np.eye(len(W)) - alpha * W / root / root[:, None], Y)


@pytest.mark.parametrize("alpha", [0.2, 0.9, 0.99, 0.9999])
def test_it_solves_the_equation(alpha):
    near = NearestNeighbors(n_neighbors=7).fit(SOME).kneighbors_graph().toarray()
    known = np.flatnonzero(FEW >= 0)
    F = direct(near + near.T, known, FEW[known], alpha)
    model = fitted(alpha=alpha, tol=1e-9)
    shares = F / F.sum(axis=1, keepdims=True)
    assert_allclose(model.label_distributions_, shares, atol=1e-7)
    assert_array_equal(model.transduction_, F.argmax(axis=1))
    usual = fitted(alpha=alpha)
    assert_allclose(usual.label_distributions_, shares, atol=1e-3)


def test_it_is_that_of_scikit_learn_where_the_graph_is_symmetric():
    ring = np.arange(60)
    D = np.minimum(abs(ring[:, None] - ring), 60 - abs(ring[:, None] - ring)).astype(float)
    y = np.full(60, -1)
    y[[0, 10, 25, 31]] = [2, 0, 0, 2]  # of each class as many
    around = np.column_stack([np.cos(ring * np.pi / 30), np.sin(ring * np.pi / 30)])
    theirs = Theirs("knn", n_neighbors=3, alpha=0.9, max_iter=2000, tol=1e-12).fit(around, y)
    model = LabelSpreading(2, alpha=0.9, tol=1e-9, metric="precomputed").fit(D, y)
    assert_allclose(model.label_distributions_, theirs.label_distributions_, atol=1e-6)


def test_each_class_is_divided_by_its_known_rows():
    X, y = make_moons(400, noise=0.05, random_state=0)
    known = np.full(400, -1)
    known[np.flatnonzero(y == 0)[:40]] = 0
    known[np.flatnonzero(y == 1)[:2]] = 1
    assert (fitted(X, known).transduction_ == y).mean() > 0.99


@pytest.mark.full
def test_it_is_better_than_scikit_learn_on_digits():
    X, y = load_digits(return_X_y=True)
    scores = np.zeros((5, 2))
    for seed in range(5):
        known = np.random.default_rng(seed).permutation(len(X))[:30]
        labels = np.full(len(X), -1)
        labels[known] = y[known]
        rest = labels < 0
        theirs = Theirs("knn", alpha=0.9, max_iter=1000).fit(X, labels)
        found = fitted(X, labels).transduction_, theirs.transduction_
        scores[seed] = [(each[rest] == y[rest]).mean() for each in found]
    ours, theirs = scores.mean(axis=0)
    assert ours > theirs + 0.02


UNKNOWN = [
    [0, 0, -1, -1, 1, 1, -1, -1],
    [0.0, 0.0, np.nan, -1.0, 1.0, 1.0, np.nan, np.nan],
    pd.array([0, 0, None, None, 1, 1, None, -1], dtype="Int64"),
    [np.int64(0), np.int64(0), None, None, np.int64(1), np.int64(1), None, None],
    pl.Series([0, 0, None, -1, 1, 1, None, None]),
    ["f", "f", None, None, "m", "m", None, None],
    np.array(["f", "f", -1, np.nan, "m", "m", pd.NA, None], dtype=object),
    pd.Series(["f", "f", None, None, "m", "m", None, None], dtype="category"),
    pl.Series(["f", "f", None, None, "m", "m", None, None]),
    np.array(["2020-01-01"] * 2 + ["NaT"] * 2 + ["2021-01-01"] * 2 + ["NaT"] * 2, "M8[D]"),
]


@pytest.mark.parametrize("y", UNKNOWN, ids=range(len(UNKNOWN)))
def test_unknown_classes(y):
    model = LabelSpreading(2, metric=Edit()).fit(NAMES, y)
    first, second = model.classes_
    assert_array_equal(model.transduction_, np.repeat([first, second], 4))
    assert_array_equal(model.predict(["hanno", "ott"]), model.classes_)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([-1] * 8, "no known class in 8 rows"),
        ([None] * 8, "no known class"),
        ([1, 1] + [-1] * 6, "only one class"),
        (np.array(["f", "m", -1, -1, -1, -1, -1, -1]), "give None for unknown"),
        ([0.5, 1.5] + [np.nan] * 6, "Unknown label type"),
        (np.zeros((8, 2), int), "y should be a 1d array"),
    ],
)
def test_wrong_classes_are_named(y, words):
    with pytest.raises(ValueError, match=words):
        LabelSpreading(2, metric=Edit()).fit(NAMES, y)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"n_neighbors": 200}, "n_neighbors = 200"),
        ({"alpha": 1}, "alpha=1: give a number between 0 and 1"),
        ({"alpha": 0}, "alpha=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": 0}, "tol=0"),
    ],
)
def test_wrong_parameters_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        fitted(**parameters)


def test_new_rows_are_predicted_alone():
    model = fitted()
    shares = model.predict_proba(OTHERS)
    assert_array_equal(shares[3:5], model.predict_proba(OTHERS[3:5]))
    assert_array_equal(shares[::-1], model.predict_proba(OTHERS[::-1]))
    near = NearestNeighbors(n_neighbors=7).fit(SOME).kneighbors(OTHERS)[1]
    assert_allclose(shares, model.label_distributions_[near].mean(axis=1))
    assert_allclose(shares.sum(axis=1), 1)
    assert model.score(OTHERS, LABELS[200:]) > 0.85


def test_the_order_of_rows_threads_and_precision():
    model = fitted(n_jobs=1, tol=1e-9)
    order = RNG.permutation(200)
    other = fitted(SOME[order], FEW[order], tol=1e-9)
    assert_allclose(other.label_distributions_, model.label_distributions_[order], atol=1e-7)
    threads = fitted(n_jobs=3, tol=1e-9)
    assert_array_equal(threads.label_distributions_, model.label_distributions_)
    rows = SOME.astype(np.float32)
    single, double = fitted(rows), fitted(rows.astype(np.float64))
    assert_array_equal(single.label_distributions_, double.label_distributions_)


def test_kernels_graphs_and_files(tmp_path):
    model, wide = fitted(), fitted(metric=RBF(1e-3))
    assert_array_equal(wide.label_distributions_, model.label_distributions_)
    D = Minkowski()(SOME)
    graph = NearestNeighbors(n_neighbors=9).fit(SOME).kneighbors_graph(mode="distance")
    for known in (D, graph):
        found = fitted(known, metric="precomputed")
        assert_array_equal(found.label_distributions_, model.label_distributions_)
    mercer.save(model, tmp_path / "labels.mercer")
    again = mercer.load(tmp_path / "labels.mercer")
    assert_array_equal(again.predict_proba(OTHERS), model.predict_proba(OTHERS))


def test_rows_that_nothing_is_known_of():
    X = np.concatenate([SOME[:50], SOME[:50] + 1000])
    y = np.concatenate([FEW[:50] % 2, np.full(50, -1)])
    y[FEW[:50].argmin() :] = -1
    with pytest.warns(UserWarning, match="50 of 100 rows are joined to no row of a known class"):
        model = LabelSpreading().fit(X, y)
    shares = np.bincount(y[y >= 0]) / (y >= 0).sum()
    assert_allclose(model.label_distributions_[50:], np.tile(shares, (50, 1)))
    assert_allclose(model.predict_proba(X[[60]]), shares[None])


@pytest.mark.filterwarnings("ignore:.* rows are joined to no row")
def test_too_few_steps_and_too_little_memory():
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = fitted(max_iter=2)
    assert model.n_iter_ == 2
    with pytest.raises(MemoryError, match="5 classes and 200 rows"):
        fitted(memory=50_000, n_neighbors=1)
