"""Display classes: their numbers by direct computation, their drawings by their numbers."""

import subprocess
import sys
from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.kernel_ridge import KernelRidge as ReferenceRidge
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import mercer
from mercer.kernels import RBF, Match, TableKernel
from mercer.plots import (
    CanonicalCorrelationDisplay,
    DecisionSurfaceDisplay,
    GramDisplay,
    InfluenceDisplay,
    MarginDisplay,
    NoiseFeatureDisplay,
    RelevanceDisplay,
    SpectrumDisplay,
)
from mercer.plots.fitted import kernel_machine, sample_gram

matplotlib.use("Agg")
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


# --- the machine inside -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelRidge(kernel="rbf", gamma=0.3),
        mercer.KernelRidge(kernel=RBF(0.3)),
        SVC(gamma=0.3),
        ReferenceRidge(kernel="rbf", gamma=0.3),
        GridSearchCV(mercer.KernelRidge(kernel="rbf", gamma=0.3), {"alpha": [1.0]}),
    ],
    ids=["ours, by name", "ours, an object", "SVC", "their ridge", "a search"],
)
def test_the_gram_matrix_is_found_in_a_model(model):
    X, y = IRIS
    K, rows = sample_gram(model.fit(X, y), X, max_samples=60, random_state=1)
    assert len(rows) == 60
    assert (np.diff(rows) > 0).all()
    assert_allclose(K, rbf_kernel(X[rows], gamma=0.3), rtol=1e-10)


def test_a_pipeline_transforms_before_the_kernel():
    X, y = IRIS
    model = make_pipeline(StandardScaler(), SVC(gamma="scale")).fit(X, y)
    K, _ = sample_gram(model, X)
    Z = StandardScaler().fit_transform(X)
    assert_allclose(K, rbf_kernel(Z, gamma=1 / (4 * Z.var())), rtol=1e-10)


def test_a_precomputed_gram_matrix_is_its_own():
    X, y = IRIS
    K = rbf_kernel(X)
    got, rows = sample_gram(SVC(kernel="precomputed").fit(K, y), K, max_samples=20)
    assert_array_equal(got, K[np.ix_(rows, rows)])
    with pytest.raises(ValueError, match="must be square in fit"):
        sample_gram(SVC(kernel="precomputed").fit(K, y), K[:40])


def test_a_model_without_a_kernel_is_refused():
    with pytest.raises(TypeError, match="StandardScaler is not a kernel learner"):
        kernel_machine(StandardScaler())


# --- the spectrum -----------------------------------------------------------------------------


def test_the_spectrum_is_that_of_the_gram_matrix():
    X, y = IRIS
    display = SpectrumDisplay.from_estimator(SVC(gamma=0.5).fit(X, y), X)
    expected = np.linalg.eigvalsh(rbf_kernel(X, gamma=0.5))[::-1] / len(X)
    assert_allclose(display.eigenvalues, expected, atol=1e-14)
    assert_array_equal(display.line_.get_ydata(), display.visible)
    assert display.visible[-1] > 0
    assert not display.indefinite


def test_ranks_count_what_makes_up_a_share():
    display = SpectrumDisplay([1.0, 4.0, 3.0, 2.0])
    assert [display.rank(s) for s in (0.4, 0.41, 0.7, 1.0)] == [1, 2, 2, 4]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_negative_eigenvalues_beyond_rounding_are_told(dtype):
    random = np.random.default_rng(0)
    F = random.normal(size=(50, 3))
    K = (F @ F.T).astype(dtype)
    assert not SpectrumDisplay.from_gram(K).indefinite
    assert SpectrumDisplay.from_gram(K - dtype(1e-2) * np.eye(50, dtype=dtype)).indefinite


# --- the heat map -----------------------------------------------------------------------------


def test_rows_are_ordered_by_class_and_means_taken_without_the_diagonal():
    X, y = IRIS
    names = np.array(["c", "a", "b"])[y]
    model = SVC(gamma=0.5).fit(X, names)
    display = GramDisplay.from_estimator(model, X, names)
    order = np.argsort(names, kind="stable")
    K = rbf_kernel(X[order], gamma=0.5)
    assert_allclose(display.K, K, rtol=1e-10)
    assert display.classes.tolist() == ["a", "b", "c"]
    assert display.sizes.tolist() == [50, 50, 50]
    pairs = [(i, j) for i in range(150) for j in range(150) if i != j]
    same = np.mean([K[i, j] for i, j in pairs if i // 50 == j // 50])
    other = np.mean([K[i, j] for i, j in pairs if i // 50 != j // 50])
    assert_allclose([display.within, display.between], [same, other])
    off = [K[i, j] for i, j in pairs]
    assert_allclose(display.limits, [min(off), max(off)], rtol=1e-10)
    assert_allclose(display.image_.get_array(), display.K)


def test_rows_are_ordered_by_a_target_of_numbers():
    X, y = DIABETES
    model = mercer.KernelRidge(kernel="rbf").fit(X, y)
    display = GramDisplay.from_estimator(model, X, y, max_samples=50)
    K, rows = sample_gram(model, X, max_samples=50)
    order = np.argsort(y[rows], kind="stable")
    assert_array_equal(display.K, K[np.ix_(order, order)])
    assert display.within is None


# --- relevance --------------------------------------------------------------------------------


def test_relevance_is_the_r2_lost_without_the_column():
    X, y = DIABETES
    X, y, Z, t = X[:300], y[:300], X[300:], y[300:]
    model = ReferenceRidge(kernel="rbf", gamma=2.0, alpha=0.1).fit(X, y)
    display = RelevanceDisplay.from_estimator(model, X, y, Z, t)
    full = r2_score(t, model.predict(Z))
    assert_allclose(display.full, full)
    for j, loss in zip(display.columns, display.loss):
        keep = [c for c in range(10) if c != j]
        without = clone(model).fit(X[:, keep], y).predict(Z[:, keep])
        assert_allclose(loss, full - r2_score(t, without), atol=1e-9)
    assert (np.diff(display.loss) <= 0).all()
    assert_array_equal([bar.get_width() for bar in display.bars_], display.loss)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_constant_column_is_an_absent_one_to_a_table_kernel(library):
    frames = pytest.importorskip(library)
    random = np.random.default_rng(0)
    number, letter = random.normal(size=200), random.choice(list("ab"), 200)
    y = np.where(letter == "a", 1.0, -1.0) + 0.1 * random.normal(size=200)
    table = frames.DataFrame({"number": number, "letter": letter})
    train, test = np.arange(100), np.arange(100, 200)
    X, Z = (table.iloc[r] if library == "pandas" else table[r] for r in (train, test))
    kernel = TableKernel([(RBF(1.0), ["number"]), (Match(), ["letter"])])
    model = mercer.KernelRidge(0.1, kernel=kernel).fit(X, y[train])
    display = RelevanceDisplay.measured(model, X, y[train], Z, y[test])
    alone = mercer.KernelRidge(0.1, kernel=RBF(1.0)).fit(number[train, None], y[train])
    lost = r2_score(y[test], model.predict(Z)) - r2_score(
        y[test], alone.predict(number[test, None])
    )
    assert display.columns[0] == "letter"
    assert_allclose(display.loss[0], lost, atol=1e-9)
    assert display.low[0] < display.loss[0] < display.high[0]
    assert display.low[1] < 0.05


def test_a_classifier_without_probabilities_is_scored_by_its_answers():
    X, y = IRIS
    display = RelevanceDisplay.measured(SVC().fit(X[::2], y[::2]), X[::2], y[::2], X[1::2], y[1::2])
    assert display.measure == "accuracy"
    assert_allclose(display.full, SVC().fit(X[::2], y[::2]).score(X[1::2], y[1::2]))


def test_of_many_columns_the_foremost_are_measured():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 12))
    y = X[:, 7] + X[:, 3]
    model = ReferenceRidge(kernel="rbf", gamma=0.05, alpha=0.01).fit(X[:80], y[:80])
    display = RelevanceDisplay.measured(model, X[:80], y[:80], X[80:], y[80:], max_columns=2)
    assert sorted(display.columns) == [3, 7]
    assert display.n_columns == 12


def test_every_class_keeps_its_share_of_a_sample():
    X, y = IRIS
    rare = np.r_[0:50, 50:100, 100:102]
    model = SVC().fit(X[rare], y[rare])
    display = RelevanceDisplay.measured(model, X[rare], y[rare], X, y, max_samples=30)
    assert 30 <= display.n_train <= 33
    assert display.n_test == 30


@pytest.mark.full
def test_a_report_imports_only_the_displays_that_it_shows():
    """Displays and sections are imported when a report has them."""
    code = """
import sys, numpy as np, mercer
from mercer.plots.report import Subject, report_data
print(*sys.modules)
X = np.arange(20.0)[:, None]
model = mercer.KernelRidge().fit(X, X[:, 0])
report_data(Subject(model, X, X[:, 0], holdout=(X, X[:, 0])))
print(*sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    room = "mercer.plots.displays."
    before, after = (
        {name.removeprefix(room) for name in line.split() if name.startswith(room)}
        for line in said.stdout.splitlines()
    )
    shown = {"influence", "matrices", "partial_dependence", "reliance", "spectral"}
    assert before == set()
    assert after == {"display", *shown}
    assert "mercer.plots.report.errors" in said.stdout
    assert "mercer.plots.report.class_errors" not in said.stdout


def test_legends_are_inside_the_figure_and_bars_have_room_for_their_names():
    """Legends below new axes were cut off, and forty names of columns covered each other."""
    some = CanonicalCorrelationDisplay([0.9, 0.8], [0.8, 0.1]).plot()
    some.figure_.canvas.draw()
    assert some.ax_.get_legend().get_window_extent().y0 >= 0
    names = [f"column {j}" for j in range(40)]
    many = NoiseFeatureDisplay(names, np.arange(40.0)).plot()
    many.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in many.ax_.get_yticklabels()]
    assert all(upper.y0 >= lower.y1 for upper, lower in pairwise(boxes))


def test_suspected_rows_have_a_legend_and_numbers_that_do_not_cover_each_other():
    rows, surprise = np.arange(100), np.zeros(100)
    surprise[40:60] = 1.0
    labels = surprise.astype(int)
    drawn = InfluenceDisplay(rows, surprise, labels, 1 - labels, surprise > 0).plot()
    drawn.figure_.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in drawn.ax_.texts), key=lambda b: b.x0)
    assert 1 < len(boxes) < 10
    assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))
    assert [text.get_text() for text in drawn.ax_.get_legend().get_texts()] == ["suspected"]


def test_arrays_that_do_not_match_are_refused_by_name():
    with pytest.raises(ValueError, match=r"codes has the shape \(1,\): give one for each of the 2"):
        MarginDisplay([1.0, 2.0], [0], ["a", "b"])
    with pytest.raises(ValueError, match=r"target has the shape \(1,\).* of the 2 points"):
        DecisionSurfaceDisplay([0, 1], [0, 1], np.eye(2), points=np.eye(2), target=[1])
