"""The display of the widths that a multilayer kernel machine has chosen."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from mercer.deep import MultilayerKernelMachine
from mercer.plots import LayerDisplay

X, y = load_iris(return_X_y=True)


def test_a_line_for_each_layer_and_ranking_and_a_mark_for_the_choice():
    model = MultilayerKernelMachine(2, random_state=0).fit(X, y)
    display = LayerDisplay.from_estimator(model)
    assert len(display.lines_) == 4
    assert len(display.chosen_) == 2
    lines = iter(display.lines_)
    for layer, mark in zip(model.layers_, display.chosen_):
        assert_allclose(mark.get_xydata(), [[layer.width, layer.validation_error]])
        for errors in layer.validation_errors.values():
            assert_allclose(next(lines).get_xydata(), np.array(list(errors.items())))
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend[0] == "layer 1, by information"
    ax = plt.subplots()[1]
    assert LayerDisplay.from_estimator(model, ax=ax).ax_ is ax


def test_what_cannot_be_drawn():
    with pytest.raises(NotFittedError):
        LayerDisplay.from_estimator(MultilayerKernelMachine())
    given = MultilayerKernelMachine(width=[3, None], n_components=4).fit(X, y)
    with pytest.raises(ValueError, match="chose no width"):
        LayerDisplay.from_estimator(given)
    with pytest.raises(ValueError, match="errors has 1 layers"):
        LayerDisplay([{"variance": {1: 0.5}}], [])
    partly = MultilayerKernelMachine(width=[3, "auto"], ranking="variance", random_state=0)
    display = LayerDisplay.from_estimator(partly.fit(X, y))
    assert [line.get_label() for line in display.lines_] == ["layer 2, by variance"]
