"""DecisionSurfaceDisplay: its arrays by the estimator's own API, its drawing by its arrays."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as ReferenceSVC, SVR as ReferenceSVR, OneClassSVM

import mercer
from mercer.kernels import RBF, Linear
from mercer.plots import DecisionSurfaceDisplay
from plots.displays.legibility import contrast, texts

matplotlib.use("Agg")
X, CODES = make_moons(120, noise=0.25, random_state=0)
Y = np.array(["south", "north"])[CODES]  # ascending order is the other way round
IRIS = load_iris()
PETALS, SPECIES = IRIS.data[:, 2:], IRIS.target_names[IRIS.target]


def grid_of(display):
    return np.column_stack([c.ravel() for c in np.meshgrid(display.x, display.y)])


def vertices(contours):
    """Level -> points on it."""
    return {
        float(level): np.concatenate(segments)
        for level, segments in zip(contours.levels, contours.allsegs)
    }


# --- the arrays -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        mercer.SVC(C=10, gamma=1),
        ReferenceSVC(C=10, gamma=1),
        make_pipeline(StandardScaler(), mercer.SVC(C=10)),
        GridSearchCV(ReferenceSVC(gamma=1), {"C": [10.0]}),
        LogisticRegression(),
    ],
    ids=["ours", "theirs", "pipeline", "search", "no kernel"],
)
def test_two_classes_show_the_decision_function(model):
    display = DecisionSurfaceDisplay.measured(model.fit(X, Y), X, Y, resolution=30)
    assert_array_equal(display.values.ravel(), model.decision_function(grid_of(display)))
    assert (display.boundary, display.margins) == (0.0, (-1.0, 1.0))
    assert display.classes == ["north", "south"]
    assert_array_equal(np.array(display.classes)[display.target], Y)


def test_the_grid_surrounds_the_rows_by_the_margin():
    model = ReferenceSVC().fit(X, Y)
    display = DecisionSurfaceDisplay.measured(model, X, Y, resolution=21, margin=0.25)
    room = 0.25 * np.ptp(X, axis=0)
    assert display.values.shape == (21, 21)
    assert_allclose(display.x[[0, -1]], [X[:, 0].min() - room[0], X[:, 0].max() + room[0]])
    assert_allclose(display.y[[0, -1]], [X[:, 1].min() - room[1], X[:, 1].max() + room[1]])


def test_without_a_decision_function_it_is_the_probability():
    model = RandomForestClassifier(20, random_state=0).fit(X, Y)
    display = DecisionSurfaceDisplay.from_estimator(model, X, Y, resolution=30)
    assert_array_equal(display.values.ravel(), model.predict_proba(grid_of(display))[:, 1])
    assert (display.boundary, display.margins) == (0.5, ())
    assert_allclose(display.levels[[0, -1]], [0, 1])
    assert display.surface_.extend == "neither"  # no probability is beyond the scale
    machine = DecisionSurfaceDisplay.from_estimator(mercer.SVC().fit(X, Y), X, Y, resolution=30)
    assert machine.surface_.extend == "both"
    assert display.label == "probability of south"
    assert display.margins_ is display.rings_ is None


def test_more_classes_are_regions_of_predict():
    model = mercer.SVC(C=10).fit(PETALS, SPECIES)
    display = DecisionSurfaceDisplay.from_estimator(model, PETALS, SPECIES, resolution=40)
    named = np.array(display.classes)[display.values.ravel()]
    assert_array_equal(named, model.predict(grid_of(display)))
    assert display.boundary is None
    assert_array_equal(display.surface_.get_array().ravel(), display.values.ravel())
    assert [len(p.get_offsets()) for p in display.points_] == [50, 50, 50]


def test_a_one_class_machine_shows_its_score_and_needs_no_y():
    model = OneClassSVM(nu=0.2, gamma=1).fit(X)
    display = DecisionSurfaceDisplay.from_estimator(model, X, resolution=80)
    assert_array_equal(display.values.ravel(), model.decision_function(grid_of(display)))
    assert display.classes == ["outside", "inside"]
    assert_array_equal(2 * display.target - 1, model.predict(X))
    assert display.margins_ is None
    (on_line,) = vertices(display.boundary_).values()
    assert np.abs(model.decision_function(on_line)).max() < 0.02 * np.ptp(display.values)
    assert_array_equal(display.rings_.get_offsets(), X[model.support_])


@pytest.mark.parametrize("learner", [mercer.SVR(C=10), ReferenceSVR(C=10), LinearRegression()])
def test_a_regressor_shows_its_prediction(learner):
    target = X[:, 0] - X[:, 1]
    model = learner.fit(X, target)
    display = DecisionSurfaceDisplay.from_estimator(model, X, target, resolution=30)
    assert_array_equal(display.values.ravel(), model.predict(grid_of(display)))
    assert_array_equal(display.points_[0].get_array(), target)
    assert display.boundary_ is None
    low, high = display.points_[0].get_clim()  # rows have the colours of the surface
    assert (low, high) == display.surface_.get_clim()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_names_the_axes_and_reaches_the_estimator_as_a_frame(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"length": X[:, 0], "width": X[:, 1]})
    # scikit-learn warns, here an error, when a model fitted to names is given none
    model = make_pipeline(StandardScaler(), ReferenceSVC()).fit(frame, Y)
    display = DecisionSurfaceDisplay.from_estimator(model, frame, Y, resolution=20)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "width")
    plain = make_pipeline(StandardScaler(), ReferenceSVC()).fit(X, Y)
    assert_allclose(display.values.ravel(), plain.decision_function(grid_of(display)))
    assert_array_equal(display.support, plain[-1].support_)


def test_a_table_kernel_reads_its_columns_of_the_grid():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"length": X[:, 0], "width": X[:, 1]})
    kernel = RBF(1.0).on("length") + RBF(2.0).on("width")
    model = mercer.SVC(kernel=kernel).fit(frame, Y)
    display = DecisionSurfaceDisplay.measured(model, frame, Y, resolution=15)
    grid = pandas.DataFrame(grid_of(display), columns=["length", "width"])
    assert_array_equal(display.values.ravel(), model.decision_function(grid))
    assert_array_equal(display.support, model.support_)


def test_names_can_be_given():
    model = ReferenceSVC().fit(X, Y)
    display = DecisionSurfaceDisplay.from_estimator(model, X, Y, feature_names=["a", "b"])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("a", "b")


def test_single_precision_stays():
    seen = []

    class Spy(ReferenceSVC):
        def decision_function(self, X):
            seen.append(X.dtype)
            return super().decision_function(X)

    A = X.astype(np.float32)
    DecisionSurfaceDisplay.measured(Spy().fit(A, Y), A, Y, resolution=5)
    assert seen == [np.float32]


def test_labels_that_are_equal_in_kind_only_are_refused():
    model = ReferenceSVC().fit(X, CODES)
    with pytest.raises(ValueError, match="y has the label 7, which is not one of the classes"):
        DecisionSurfaceDisplay.measured(model, X, np.where(CODES == 0, 7, 1))


# --- support vectors --------------------------------------------------------------------------


@pytest.mark.parametrize("pipeline", [False, True], ids=["bare", "pipeline"])
@pytest.mark.parametrize("svm", [mercer.SVC(C=10), ReferenceSVC(C=10)], ids=["ours", "theirs"])
def test_rings_are_the_support_vectors(svm, pipeline):
    model = make_pipeline(StandardScaler(), svm) if pipeline else svm
    display = DecisionSurfaceDisplay.from_estimator(model.fit(X, Y), X, Y, resolution=20)
    assert_array_equal(display.rings_.get_offsets(), X[svm.support_])
    assert "support vector" in [t.get_text() for t in display.ax_.get_legend().get_texts()]


@pytest.mark.parametrize("rows", [slice(0, 60), np.arange(120)[::-1]], ids=["part", "reversed"])
def test_other_rows_than_the_training_sample_are_not_ringed(rows):
    model = make_pipeline(StandardScaler(), ReferenceSVC()).fit(X, Y)
    display = DecisionSurfaceDisplay.from_estimator(model, X[rows], Y[rows], resolution=20)
    assert display.support is display.rings_ is None


# --- the lines --------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.5, 10])
def test_lines_are_where_the_decision_function_says(C):
    model = mercer.SVC(C=C, gamma=1).fit(X, Y)
    display = DecisionSurfaceDisplay.from_estimator(model, X, Y)
    lines = vertices(display.margins_) | vertices(display.boundary_)
    assert sorted(lines) == [-1.0, 0.0, 1.0]
    for level, points in lines.items():
        assert len(points) > 20
        assert_allclose(model.decision_function(points), level, atol=0.02)
    style = {(float(w), ls) for w, ls in zip(*_styles(display.margins_))}
    assert style == {(1.1, "dashed")}
    assert _styles(display.boundary_)[1] == ["solid"]


def _styles(contours):
    """Widths and line styles: matplotlib keeps dashes as (offset, pattern)."""
    dashes = [pattern for _, pattern in contours.get_linestyle()]
    return contours.get_linewidth(), ["solid" if d is None else "dashed" for d in dashes]


def test_margins_beyond_the_surface_are_not_drawn():
    model = ReferenceSVC(C=1e-3, gamma=1).fit(X, Y)
    display = DecisionSurfaceDisplay.from_estimator(model, X, Y)
    assert np.abs(display.values).max() < 1
    assert display.margins_ is None
    assert display.boundary_ is not None


def test_the_colour_bar_marks_the_lines_and_the_scale_is_symmetric():
    display = DecisionSurfaceDisplay.from_estimator(ReferenceSVC(C=10, gamma=1).fit(X, Y), X, Y)
    marked = [float(line.get_ydata()[0]) for line in display.colorbar_.ax.lines]
    assert sorted(marked) == [-1.0, 0.0, 1.0]
    assert {-1.0, 0.0, 1.0} <= set(display.colorbar_.get_ticks())
    assert 0.0 in display.levels
    assert_allclose(display.levels, -display.levels[::-1])


def test_a_constant_function_is_drawn_without_lines():
    zeros = np.zeros((5, 5))
    display = DecisionSurfaceDisplay(
        np.arange(5), np.arange(5), zeros, points=[[1, 1]], boundary=0.0, margins=(-1.0, 1.0)
    ).plot()
    assert display.boundary_ is display.margins_ is None


# --- drawing ----------------------------------------------------------------------------------


def test_it_draws_in_the_axes_that_it_is_given():
    figure, ax = plt.subplots()
    display = DecisionSurfaceDisplay.from_estimator(ReferenceSVC().fit(X, Y), X, Y, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    again = display.plot(s=5)
    assert again is display
    assert display.ax_ is not ax
    assert_array_equal(display.points_[0].get_sizes(), [5])


def test_classes_differ_in_colour_and_mark():
    display = DecisionSurfaceDisplay.from_estimator(ReferenceSVC().fit(PETALS, SPECIES), PETALS,
                                                    SPECIES)  # fmt: skip
    looks = [(tuple(p.get_facecolor()[0]), p.get_paths()[0].vertices.tobytes())
             for p in display.points_]  # fmt: skip
    assert len({c for c, _ in looks}) == len({m for _, m in looks}) == 3


MODELS = {
    "line": lambda: mercer.SVC(kernel=Linear()),
    "cubic": lambda: mercer.SVC(kernel="poly", degree=3, coef0=1),
    "bell": lambda: ReferenceSVC(gamma=0.5),
    "forest": lambda: RandomForestClassifier(10, random_state=0),
}


def test_panels_side_by_side_share_axes_limits_and_colours():
    models = [MODELS[name]().fit(X, Y) for name in ("line", "cubic", "bell")]
    displays = DecisionSurfaceDisplay.compare(models, X, Y, resolution=40)
    assert [d.title.split("\n")[0] for d in displays][::2] == ["Linear()", "RBF(gamma=0.5)"]
    for display, model in zip(displays, models):
        assert_array_equal(display.values.ravel(), model.decision_function(grid_of(display)))
        assert display.ax_.get_title().endswith(f"{len(model.support_)} support vectors")
        assert display.ax_.get_xlim() == displays[0].ax_.get_xlim()
        assert display.ax_.get_ylim() == displays[0].ax_.get_ylim()
        assert_array_equal(display.surface_.levels, displays[0].surface_.levels)
        assert display.figure_ is displays[0].figure_
        assert display.colorbar_ is displays[0].colorbar_
    assert len({id(d.ax_) for d in displays}) == 3
    assert [d.ax_.get_ylabel() for d in displays][1:] == ["", ""]
    displays[0].ax_.set_xlim(0, 1)  # one is moved, all are
    assert [d.ax_.get_xlim() for d in displays] == [(0, 1)] * 3


def test_names_title_the_panels_and_scales_of_two_kinds_stay_apart():
    models = {name: MODELS[name]().fit(X, Y) for name in ("forest", "bell")}
    forest, bell = DecisionSurfaceDisplay.compare(models, X, Y, resolution=40)
    assert forest.ax_.get_title() == "forest"
    assert bell.ax_.get_title() == f"bell\n{len(models['bell'].support_)} support vectors"
    assert forest.colorbar_ is not bell.colorbar_
    assert_allclose(forest.surface_.levels[[0, -1]], [0, 1])


@pytest.mark.parametrize(("count", "shape"), [(1, (1, 1)), (3, (1, 3)), (4, (2, 2)), (5, (2, 3))])
def test_panels_stand_in_rows_of_up_to_three(count, shape):
    model = ReferenceSVC().fit(PETALS, SPECIES)
    displays = DecisionSurfaceDisplay.compare([model] * count, PETALS, SPECIES, resolution=10)
    assert displays[0].ax_.get_gridspec().get_geometry() == shape
    assert len(displays[0].figure_.axes) == count


@pytest.mark.spread(1)
@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("names", [["line", "bell"], ["bell"]], ids=["panels", "single"])
def test_words_are_legible_on_light_and_dark_pages(style, names):
    models = {name: MODELS[name]().fit(X, Y) for name in names}
    with plt.style.context(style):
        if len(models) > 1:
            display = DecisionSurfaceDisplay.compare(models, X, Y, resolution=20)[0]
        else:
            display = DecisionSurfaceDisplay.from_estimator(models["bell"], X, Y, resolution=20)
        figure = display.figure_
        page = figure.get_facecolor()
        assert len(texts(figure)) > 8
        for text in texts(figure):
            assert contrast(text.get_color(), page) > 7, text.get_text()
        legend = (figure.legends or [display.ax_.get_legend()])[0]
        assert contrast(legend.legend_handles[-1].get_markeredgecolor(), page) > 7
    # lines and rings lie on the surface, which is pale on either page
    pale = np.array(display.surface_.get_facecolor())[:, :3]
    for artist in (display.boundary_, display.rings_):
        ink = to_rgb(artist.get_edgecolor()[0])
        assert min(contrast(ink, background) for background in pale) > 5


LONG = ["a rather long name of a feature (mm)", "another long name (mm)"]


@pytest.mark.spread(2)
@pytest.mark.parametrize("panels", [1, 3])
@pytest.mark.parametrize("C", [1e-3, 1, 30, 1e4])
@pytest.mark.parametrize("classes", [2, 3])
def test_nothing_written_overlaps(classes, C, panels):
    y = SPECIES if classes == 3 else SPECIES == "virginica"
    model = ReferenceSVC(C=C, kernel="poly").fit(PETALS, y)
    if panels == 1:
        display = DecisionSurfaceDisplay.from_estimator(model, PETALS, y, feature_names=LONG)
    else:
        models = [model] * panels
        display = DecisionSurfaceDisplay.compare(models, PETALS, y, feature_names=LONG)[0]
    words = texts(display.figure_)
    boxes = [t.get_window_extent() for t in words]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i]), words[i]


# --- errors -----------------------------------------------------------------------------------


def test_other_than_two_columns_are_refused_with_a_way_out():
    model = ReferenceSVC().fit(IRIS.data, SPECIES)
    for wrong in (IRIS.data, IRIS.data[:, :1], IRIS.data[:, 0]):
        with pytest.raises(ValueError, match=r"drawn over two columns\. Choose two columns, fit"):
            DecisionSurfaceDisplay.from_estimator(model, wrong, SPECIES)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y": None}, ValueError, "y is missing: give the class of each row"),
        ({"y": Y[:5]}, ValueError, r"y has shape \(5,\): give one value for each of the 120 rows"),
        ({"y": np.full(120, "east")}, ValueError, "label 'east', which is not one of the classes"),
        ({"resolution": 1}, ValueError, "resolution=1: give a whole number >= 2"),
        ({"margin": -0.1}, ValueError, "margin=-0.1: give a part of the range >= 0"),
        ({"feature_names": ["a"]}, ValueError, "give two names"),
        ({"X": np.where(X > 1, np.nan, X)}, ValueError, "NaN or infinity in .* rows, first in row"),
        ({"X": X[:0], "y": Y[:0]}, ValueError, "X has no rows"),
        ({"X": X.astype(str).astype(object)}, ValueError, r"columns without numbers, \[0, 1\]"),
    ],
)
def test_wrong_arguments_are_named(change, error, message):
    arguments = {"X": X, "y": Y, **change}
    with pytest.raises(error, match=message):
        DecisionSurfaceDisplay.from_estimator(ReferenceSVC().fit(X, Y), **arguments)


def test_a_regressor_needs_numbers_of_rows_and_one_output():
    with pytest.raises(ValueError, match="y is missing: give the number of each row"):
        DecisionSurfaceDisplay.from_estimator(ReferenceSVR().fit(X, CODES), X)
    model = LinearRegression().fit(X, X)
    with pytest.raises(ValueError, match="predicts 2 numbers for each row: fit it to one target"):
        DecisionSurfaceDisplay.from_estimator(model, X, CODES)


def test_an_unfitted_or_unsuited_estimator_is_refused():
    with pytest.raises(NotFittedError):
        DecisionSurfaceDisplay.from_estimator(mercer.SVC(), X, Y)
    with pytest.raises(
        TypeError, match="KMeans is not a classifier, regressor or one-class machine"
    ):
        DecisionSurfaceDisplay.from_estimator(KMeans(2, n_init=1).fit(X), X, Y)


def test_what_to_compare_is_a_dict_or_a_list():
    model = ReferenceSVC().fit(X, Y)
    with pytest.raises(TypeError, match="estimators is an SVC: give a dict of name -> fitted"):
        DecisionSurfaceDisplay.compare(model, X, Y)
    with pytest.raises(ValueError, match="estimators is empty"):
        DecisionSurfaceDisplay.compare({}, X, Y)
