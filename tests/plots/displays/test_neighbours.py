"""LevelSetDisplay and LeaveOneOutDisplay: what they draw is what was computed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KNeighborsClassifier, KNeighborsRegressor
from mercer.distances import Edit, Mahalanobis, MappedMinkowski, Minkowski
from mercer.plots import LeaveOneOutDisplay, LevelSetDisplay, half_axes

pytest.importorskip("matplotlib").use("agg")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2)) @ [[2.0, 1.0], [0.0, 0.5]]
Y = np.where(X[:, 0] + RNG.normal(size=40) > 0, "right", "left")


@pytest.mark.parametrize(
    "distance",
    [
        Minkowski(2, weights=[0.25, 9.0]),
        MappedMinkowski([0.5, 3.0]),
        MappedMinkowski([[1.0, 0.5], [0.0, 2.0]]),
        Mahalanobis([[3.0, 1.0], [1.0, 2.0]]),
        Mahalanobis(precision=[[3.0, 1.0], [1.0, 2.0]]),
    ],
    ids=repr,
)
def test_half_axes_end_on_the_curve_at_distance_one(distance):
    axes = half_axes(distance)
    assert_allclose(distance(axes, np.zeros((1, 2)))[:, 0], 1)
    angles = np.linspace(0, np.pi, 721)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    radii = 1 / distance(circle, np.zeros((1, 2)))[:, 0]
    assert_allclose(np.linalg.norm(axes, axis=1), [radii.max(), radii.min()], rtol=1e-4)


def test_lengths_of_half_axes():
    lengths = np.linalg.norm(half_axes(Minkowski(2, weights=[0.25, 9.0])), axis=1)
    assert_allclose(lengths, [1 / np.sqrt(0.25), 1 / np.sqrt(9)])
    S = np.cov(X.T)
    lengths = np.linalg.norm(half_axes(Mahalanobis(S)), axis=1)
    assert_allclose(lengths, np.sqrt(np.linalg.eigvalsh(S))[::-1])


@pytest.mark.parametrize(
    "distance",
    [Minkowski(1), Mahalanobis(), Edit(), Mahalanobis(precision=[[1.0, 0.0], [0.0, 0.0]])],
    ids=repr,
)
def test_other_level_sets_have_no_half_axes(distance):
    assert half_axes(distance) is None


def test_curves_have_the_distance_of_their_level():
    model = KNeighborsClassifier(3, metric=Mahalanobis()).fit(X, Y)
    display = LevelSetDisplay.from_estimator(model, X, resolution=150)
    centre = np.array([display.centre])
    assert_allclose(centre[0], X.mean(axis=0))
    for level, paths in zip(display.levels, display.curves_.allsegs):
        assert_allclose(model.distance_(np.vstack(paths), centre)[:, 0], level, rtol=0.02)
    assert len(display.arrows_) == 2
    again = display.plot(display.ax_)
    assert again.ax_ is display.figure_.axes[0]


def test_a_picture_that_is_there_keeps_its_title_and_limits():
    from matplotlib.figure import Figure

    model = KNeighborsClassifier(3).fit(X, Y)
    new = LevelSetDisplay.from_estimator(model, X, resolution=20)
    assert new.title
    assert new.ax_.get_title() == new.title
    ax = Figure().add_subplot(title="there already", xlim=(-9, 8), ylim=(-7, 6))
    LevelSetDisplay.from_estimator(model, X, resolution=20, ax=ax)
    assert (ax.get_title(), ax.get_xlim(), ax.get_ylim()) == ("there already", (-9, 8), (-7, 6))


def test_samples_without_two_columns_are_refused():
    with pytest.raises(ValueError, match="over two columns of numbers"):
        LevelSetDisplay.measured(Edit())
    with pytest.raises(ValueError, match="over two columns of numbers"):
        LevelSetDisplay.measured(Minkowski(), np.eye(3))


def test_the_curve_of_scores():
    model = KNeighborsClassifier("auto").fit(X, Y)
    display = LeaveOneOutDisplay.from_estimator(model)
    assert_allclose(display.line_.get_xydata(), list(model.loo_scores_.items()))
    assert display.chosen_.get_xdata() == [model.n_neighbors_]
    assert display.ax_.get_ylabel() == "leave-one-out accuracy"
    widths = KNeighborsRegressor(5, weights="gaussian", width="auto").fit(X, X[:, 0])
    display = LeaveOneOutDisplay.from_estimator(widths)
    assert display.chosen_.get_xdata() == [widths.width_]
    assert display.ax_.get_xlabel() == "width h of the window"


def test_the_map_of_scores():
    model = KNeighborsRegressor("auto", weights="quartic", width="auto").fit(X, X[:, 1])
    display = LeaveOneOutDisplay.from_estimator(model)
    drawn = np.asarray(display.image_.get_array())
    assert drawn.size == len(model.loo_scores_)
    column, row = display.chosen_.get_xydata()[0].astype(int)
    assert_allclose(drawn.reshape(12, -1)[row, column], max(model.loo_scores_.values()))


def test_a_learner_that_chose_nothing_is_refused():
    with pytest.raises(ValueError, match='n_neighbors="auto"'):
        LeaveOneOutDisplay.from_estimator(KNeighborsClassifier().fit(X, Y))
