"""Pictures of Shapley values: what is drawn where, and what is refused."""

import numpy as np
import pytest

from mercer import SVC, SVR
from mercer.explain import shapley_values
from mercer.plots import ShapleyDisplay

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
MODEL = SVR(C=10).fit(X, 3 * X[:, 2] + X[:, 0])


def test_bars_of_a_row_are_its_values_the_largest_on_top():
    found = shapley_values(MODEL, X[:5], X)
    drawn = ShapleyDisplay.of(found, row=1).plot()
    order = np.argsort(-np.abs(found.values[1]))
    assert [bar.get_width() for bar in drawn.bars_] == found.values[1][order].tolist()
    names = [label.get_text() for label in drawn.ax_.get_yticklabels()]
    assert names == [f"{j} = {X[1, j]:.4g}" for j in order]
    colours = {bar.get_width() > 0: bar.get_facecolor() for bar in drawn.bars_}
    assert len(set(colours.values())) == len(colours)


def test_points_of_all_rows_lie_at_their_values_and_have_the_colours_of_their_cells():
    drawn = ShapleyDisplay.from_estimator(MODEL, X, X)
    assert drawn.order[0] == 2
    first = drawn.points_[0]
    np.testing.assert_array_equal(first.get_offsets()[:, 0], drawn.values[:, 2])
    assert np.abs(first.get_offsets()[:, 1] - 2).max() < 0.5
    np.testing.assert_array_equal(np.argsort(first.get_array()), np.argsort(X[:, 2]))
    few = ShapleyDisplay(drawn.values, "abc", data=drawn.data, most=1).plot()
    assert few.ax_.get_title() == "2 other columns matter less"


@pytest.mark.parametrize("levels", [False, True])
def test_a_column_is_drawn_over_what_rows_hold(levels):
    values, data = RNG.normal(size=(20, 2)), RNG.normal(size=(20, 2)).astype(object)
    if levels:
        data[:, 1] = RNG.choice(["x", "y"], 20)
    drawn = ShapleyDisplay(values, ["a", "b"], data=data, column="b").plot()
    places = drawn.points_[0].get_offsets()
    np.testing.assert_array_equal(places[:, 1], values[:, 1])
    if levels:
        np.testing.assert_array_equal(np.round(places[:, 0]), data[:, 1] == "y")
    else:
        np.testing.assert_array_equal(places[:, 0], data[:, 1].astype(float))


def test_one_of_several_outputs():
    model = SVC().fit(X, np.digitize(X[:, 2], [-0.5, 0.5]))
    found = shapley_values(model, X[:4], X)
    drawn = ShapleyDisplay.from_estimator(model, X[:4], X, output=2)
    np.testing.assert_array_equal(drawn.values, found.values[:, :, 2])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"names": ["a"]}, "names has 1 entries"), ({"data": [[1, 2]]}, "data has the shape"),
        ({"row": 9}, "row=9"), ({"column": "c"}, "column='c'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(settings, said):
    given = {"values": np.ones((3, 2)), "names": ["a", "b"]} | settings
    with pytest.raises(ValueError, match=said):
        ShapleyDisplay(**given)
    with pytest.raises(ValueError, match="give data="):
        ShapleyDisplay([[1.0, 2.0]], ["a", "b"], column="a").plot()
