"""The display of what tokens attend to; that of a fitted classifier is tested with it."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.plots import AttentionDisplay

WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_queries_are_rows_and_keys_are_columns():
    display = AttentionDisplay(WEIGHTS, ["a", "b"], ["x", "y", 3], name="rbf").plot()
    assert_allclose(display.image_.get_array(), WEIGHTS)
    assert labels(display.ax_.yaxis) == ["a", "b"]
    assert labels(display.ax_.xaxis) == ["x", "y", "3"]
    assert display.ax_.get_title() == "rbf"
    assert display.image_.get_clim() == (0, 1)
    ax = plt.subplots()[1]
    assert AttentionDisplay(WEIGHTS).plot(ax, cmap="gray").ax_ is ax


def test_many_tokens_are_not_named():
    tokens = [str(i) for i in range(60)]
    display = AttentionDisplay(np.eye(60), tokens).plot()
    assert labels(display.ax_.xaxis) == labels(display.ax_.yaxis) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((2, 3, 3)),), r"weights has shape \(2, 3, 3\): give those of one head"),
        ((WEIGHTS, ["a"]), "queries has 1 tokens"),
        ((WEIGHTS, ["a", "b"], ["a", "b"]), "keys has 2 tokens"),
    ],
)
def test_tokens_of_another_number_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        AttentionDisplay(*arguments)
