"""StretchDisplay: the losses are those of answers for straightened series."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator

from mercer import SVC, KernelRidge
from mercer.kernels import GlobalAlignment
from mercer.plots import StretchDisplay

pytest.importorskip("matplotlib").use("agg")

T = np.arange(40)


class Peak(BaseEstimator):
    """A made-up classifier, whose value is the largest point of a series between 20 and 29."""

    classes_ = np.array(["high", "low"])

    def predict(self, X):
        return np.where(self.decision_function(X) > 0, "low", "high")

    def decision_function(self, X):
        return -np.array([np.asarray(x)[20:30].max() for x in X])


class Sure(Peak):
    """The same with probabilities."""

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(self.decision_function(X)))
        return np.column_stack([p, 1 - p])


class Pairs(Peak):
    classes_ = np.array(["high", "low", "no"])

    def decision_function(self, X):
        return np.ones((len(X), 6))

    def predict(self, X):
        return np.full(len(X), "no")


def test_only_windows_with_the_peak_lose_something():
    x = np.where(T == 24, 2.0, 0.0)
    loss, full, answer = StretchDisplay.losses(Peak(), x)
    assert full == 2.0
    assert answer == "value of 'high'"
    assert_allclose(loss[24], 2.0)  # all windows with the point
    assert_allclose(loss[[*range(20), *range(29, 40)]], 0)
    against = StretchDisplay.losses(Peak(), x, of="low")
    assert_allclose(against[0], -loss)
    p, _, said = StretchDisplay.losses(Sure(), x)
    assert said == "P(high)"
    assert_allclose(p[24], 1 / (1 + np.exp(-2.0)) - 0.5)


def test_a_straight_series_loses_nothing_but_at_its_ends():
    x = np.stack([0.5 * T, 1 - T], axis=1)
    model = KernelRidge(kernel=GlobalAlignment(5.0)).fit([x, -x, x + 1], [1.0, 2.0, 3.0])
    loss, full, answer = StretchDisplay.losses(model, x, width=0.2)
    assert answer == "prediction"
    assert_allclose(full, model.predict([x])[0])
    assert_allclose(loss[8:-8], 0, atol=1e-9)
    assert np.abs(loss[0]) > 0


@pytest.mark.parametrize("length", [1, 2, 9])
def test_short_series_have_a_loss_at_each_point(length):
    model = SVC(kernel=GlobalAlignment(1.0)).fit([[0.0], [1.0, 2.0], [3.0]], [0, 1, 1])
    loss, *_ = StretchDisplay.losses(model, np.arange(float(length)))
    assert loss.shape == (length,)
    assert np.isfinite(loss).all()


def test_it_draws_the_series_in_the_colours_of_losses():
    x = np.where(T == 24, 2.0, 0.0)
    display = StretchDisplay.from_estimator(Sure(), x, width=0.05)
    assert_allclose(display.image_.get_array(), display.loss)
    assert_allclose(display.image_.get_offsets()[:, 1], x)
    assert display.ax_.get_title() == "P(high) = 0.881"


def test_what_cannot_be_answered_is_told():
    x = np.zeros(10)
    with pytest.raises(ValueError, match="width=2"):
        StretchDisplay.losses(Peak(), x, width=2)
    with pytest.raises(ValueError, match=r"of='red': give one of the classes \['high', 'low'\]"):
        StretchDisplay.losses(Peak(), x, of="red")
    model = KernelRidge(kernel=GlobalAlignment(1.0)).fit([x, x + 1], [0.0, 1.0])
    with pytest.raises(ValueError, match="KernelRidge has no classes"):
        StretchDisplay.losses(model, x, of="red")
    with pytest.raises(ValueError, match="a value for each pair of classes"):
        StretchDisplay.losses(Pairs(), x)
