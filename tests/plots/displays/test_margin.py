"""MarginDisplay: margins by their definition, counts by ``predict``, bars by the margins."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as ReferenceSVC, OneClassSVM

import mercer
from mercer.plots import MarginDisplay
from plots.displays.legibility import contrast, texts

matplotlib.use("Agg")
X, CODES = make_moons(150, noise=0.25, random_state=0)
Y = np.array(["south", "north"])[CODES]
SIGNS = np.where(CODES == 0, 1, -1)  # "south" is the second class
IRIS = load_iris()
SPECIES = IRIS.target_names[IRIS.target]


# --- two classes ------------------------------------------------------------------------------

MODELS = {
    "ours": mercer.SVC(gamma=1),
    "theirs": ReferenceSVC(gamma=1),
    "pipeline": make_pipeline(StandardScaler(), mercer.SVC()),
    "search": GridSearchCV(ReferenceSVC(gamma=1), {"C": [0.1, 1]}),
    "no kernel": LogisticRegression(),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_margins_are_y_times_f_and_errors_those_of_predict(model):
    display = MarginDisplay.from_estimator(model.fit(X, Y), X, Y)
    assert_allclose(display.margins, SIGNS * model.decision_function(X))
    assert display.errors == (model.predict(X) != Y).sum() > 0
    assert display.errors + display.inside + display.beyond == 150
    assert display.ax_.get_title(loc="left").startswith(f"{display.errors} errors, ")


@pytest.mark.parametrize("svm", [mercer.SVC(C=5, gamma=1), ReferenceSVC(C=5, gamma=1)])
def test_rows_before_the_margin_are_bounded_support_vectors(svm):
    display = MarginDisplay.from_estimator(svm.fit(X, Y), X, Y)
    alpha = np.abs(svm.dual_coef_[0])
    assert display.errors + display.inside == (alpha >= 5 * (1 - 1e-9)).sum()
    assert (alpha < 5 * (1 - 1e-9)).any()  # and those on it are counted as on it


def test_bars_count_the_rows_of_each_class():
    display = MarginDisplay.from_estimator(ReferenceSVC(gamma=1).fit(X, Y), X, Y)
    assert display.classes == ["north", "south"]
    assert_array_equal(display.counts.sum(axis=1), [75, 75])
    for bars, counts in zip(display.bars_, display.counts):
        assert_array_equal([bar.get_height() for bar in bars], counts)
        assert_allclose([bar.get_x() for bar in bars], display.edges[:-1])
    tops = [bar.get_y() for bar in display.bars_[1]]
    assert_array_equal(tops, display.counts[0])


def test_bars_agree_with_the_words():
    display = MarginDisplay.from_estimator(ReferenceSVC(gamma=1).fit(X, Y), X, Y)
    heights, left = display.counts.sum(axis=0), display.edges[:-1]
    assert {0.0, 1.0} <= set(display.edges)
    assert heights[left < 0].sum() == display.errors
    assert heights[(left >= 0) & (left < 1)].sum() == display.inside
    assert heights[left >= 1].sum() == display.beyond


def test_lines_stand_at_0_and_1():
    display = MarginDisplay.from_estimator(ReferenceSVC(gamma=1).fit(X, Y), X, Y)
    decision, margin = display.ax_.lines
    assert_array_equal(decision.get_xdata(), [0, 0])
    assert_array_equal(margin.get_xdata(), [1, 1])
    assert (decision.get_linestyle(), margin.get_linestyle()) == ("-", "--")


@pytest.mark.parametrize(
    ("margins", "expected"),
    [
        ([-1e-9, 0.0, 0.5, 0.998, 0.9995, 1.0, 1.0005, 7.0], (1, 3, 4)),
        ([1.0, 1.0], (0, 0, 2)),
        ([0.0], (0, 1, 0)),
        ([-3.0, -2.0], (2, 0, 0)),
    ],
)
def test_counts_at_the_borders(margins, expected):
    display = MarginDisplay(margins, np.zeros(len(margins), int), ["a", "b"])
    assert (display.errors, display.inside, display.beyond) == expected
    heights, left = display.counts.sum(axis=0), display.edges[:-1]
    bars = heights[left < 0], heights[(left >= 0) & (left < 1)], heights[left >= 1]
    assert tuple(part.sum() for part in bars) == expected


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1.0, 30.0, 1e5])
@pytest.mark.parametrize("n", [1, 10, 1000])
def test_there_are_as_many_bars_as_one_can_read(scale, n):
    margins = np.random.default_rng(0).normal(scale, scale, size=n)
    margins[0] = 1e6 * scale  # a far row spoils no scale
    display = MarginDisplay(margins, np.zeros(n, int), ["a", "b"])
    assert 2 <= display.counts.shape[1] <= 42
    assert display.counts.sum() == n
    assert 0.0 in display.edges
    if display.errors:
        assert display.counts.sum(axis=0)[display.edges[:-1] < 0].sum() == display.errors


# --- more classes -----------------------------------------------------------------------------


@pytest.mark.spread(4)
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("learner", [mercer.SVC, ReferenceSVC])
@pytest.mark.parametrize("pipeline", [False, True], ids=["bare", "pipeline"])
def test_one_against_one_machines_give_the_least_of_their_margins(learner, shape, pipeline):
    svm = learner(C=2, decision_function_shape=shape)
    model = make_pipeline(StandardScaler(), svm) if pipeline else svm
    display = MarginDisplay.from_estimator(model.fit(IRIS.data, SPECIES), IRIS.data, SPECIES)
    assert svm.decision_function_shape == shape  # the user's model is as it was
    svm.decision_function_shape = "ovo"
    pairs = model.decision_function(IRIS.data)
    places = {(0, 1): 0, (0, 2): 1, (1, 2): 2}
    for row, true in enumerate(IRIS.target.tolist()):
        against = [
            pairs[row, places[true, other]] if true < other else -pairs[row, places[other, true]]
            for other in range(3)
            if other != true
        ]
        assert_allclose(display.margins[row], min(against))
    assert "behind another class" in display.words


def test_other_classifiers_give_the_difference_of_the_best_two():
    model = LogisticRegression(max_iter=1000).fit(IRIS.data, SPECIES)
    display = MarginDisplay.from_estimator(model, IRIS.data, SPECIES)
    values = model.decision_function(IRIS.data)
    for row, true in enumerate(IRIS.target.tolist()):
        assert display.margins[row] == values[row, true] - np.delete(values[row], true).max()
    assert display.errors == (model.predict(IRIS.data) != SPECIES).sum()


# --- values, width, drawing -------------------------------------------------------------------


def test_held_out_values_can_be_shown():
    model = ReferenceSVC(gamma=100)
    values = cross_val_predict(model, X, Y, cv=5, method="decision_function")
    display = MarginDisplay.from_values(values, Y)
    assert_array_equal(display.margins, SIGNS * values)
    assert not hasattr(display, "ax_")
    own = MarginDisplay.from_estimator(model.fit(X, Y), X, Y)
    assert display.errors > own.errors


def test_a_class_may_be_absent():
    display = MarginDisplay.from_values([1.0, -2.0], ["b", "b"], classes=["a", "b"])
    assert_array_equal(display.margins, [1, -2])
    assert_array_equal(display.counts.sum(axis=1), [0, 2])


@pytest.mark.parametrize(
    ("width", "line"),
    [(0.25, "geometric margin 1/‖w‖ = 0.25"), ([0.5, 0.125], "margins 1/‖w‖ from 0.125 to 0.5")],
)
def test_the_geometric_margin_is_told_when_the_machine_knows_it(width, line):
    model = make_pipeline(StandardScaler(), ReferenceSVC()).fit(X, Y)
    before = MarginDisplay.from_estimator(model, X, Y)
    assert "geometric" not in before.ax_.get_title(loc="left")
    model[-1].margin_ = width
    display = MarginDisplay.from_estimator(model, X, Y)
    assert line in display.ax_.get_title(loc="left")


def test_it_draws_in_the_axes_that_it_is_given():
    figure, ax = plt.subplots()
    display = MarginDisplay.from_estimator(ReferenceSVC().fit(X, Y), X, Y, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.plot(alpha=0.5) is display
    assert display.bars_[0][0].get_alpha() == 0.5


@pytest.mark.spread(1)
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_words_and_lines_are_legible_on_light_and_dark_pages(style):
    with plt.style.context(style):
        display = MarginDisplay.from_estimator(ReferenceSVC().fit(X, Y), X, Y)
        words, page = texts(display.figure_), display.figure_.get_facecolor()
    assert len(words) > 8
    for text in words:
        assert contrast(text.get_color(), page) > 7, text.get_text()
    for line in display.ax_.lines:
        assert contrast(line.get_color(), page) > 7
    first, second = (bars[0].get_facecolor() for bars in display.bars_)
    assert contrast(first, second) > 1.5  # told apart in grey, too
    boxes = [t.get_window_extent() for t in words]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])


# --- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5).fit(X, Y),
        OneClassSVM().fit(X),
        mercer.KernelRidge().fit(X, CODES),
    ],
    ids=["no function", "one class", "numbers"],
)
def test_what_has_no_margins_is_refused(model):
    with pytest.raises(TypeError, match="has no margins: give a classifier with decision_function"):
        MarginDisplay.from_estimator(model, X, Y)


def test_wrong_arguments_are_named():
    with pytest.raises(NotFittedError):
        MarginDisplay.from_estimator(mercer.SVC(), X, Y)
    model = ReferenceSVC().fit(X, Y)
    with pytest.raises(ValueError, match="y is missing: give the true class of each row"):
        MarginDisplay.from_estimator(model, X, None)
    with pytest.raises(ValueError, match="label 'east', which is not one of the classes"):
        MarginDisplay.from_estimator(model, X, np.full(150, "east"))
    with pytest.raises(ValueError, match=r"values has shape \(150,\): for 5 rows of 2 classes"):
        MarginDisplay.from_estimator(model, X, Y[:5])
    with pytest.raises(ValueError, match=r"for 3 rows of 3 classes give \(3, 3\)"):
        MarginDisplay.from_values([1.0, 2.0, 3.0], ["a", "b", "c"])
