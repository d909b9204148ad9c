"""Letters of sequences as pictures, and variants below them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator

from mercer import SVC, KernelRidge
from mercer.explain import letters, variants
from mercer.kernels import GlobalAlignment, Spectrum
from mercer.plots import SequenceDisplay, StretchDisplay

X = ["GATTACA" * 3, "CCGATTAG" * 2, "CCGCGCC" * 3, "GGCCAGGN" * 25]
MODEL = SVC(kernel=Spectrum(3)).fit(X, [1, 1, 0, 0])


def test_letters_are_as_high_as_their_values_and_variants_a_map():
    drawn = SequenceDisplay.from_estimator(MODEL, X[:2], names=["first", "second"])
    assert len(drawn.axes_) == 4
    assert drawn.axes_[0].get_title().startswith("first: what letters add")
    values = letters(MODEL, X[:1]).values[0]
    path = drawn.axes_[0].collections[0].get_paths()[int(np.flatnonzero(values)[0])]
    box = path.get_extents()
    first = np.flatnonzero(values)[0]
    np.testing.assert_allclose(box.y1 - box.y0, abs(values[first]), rtol=1e-6)
    assert first + 0.5 < box.x0 < box.x1 < first + 1.5
    image = drawn.axes_[1].images[0].get_array()
    assert image.shape == (4, 21)
    assert np.isnan(np.ma.filled(image, np.nan)[:, 0]).sum() == 1  # its own letter


def test_variants_of_a_file_are_bars():
    changes = variants(MODEL, X[:1], [(0, 2, "TT", ""), (0, 5, "", "ACGTACGTACGTAC")])
    drawn = SequenceDisplay.of(letters(MODEL, X[:1]), changes).plot()
    assert len(drawn.axes_[1].patches) == 2
    assert [t.get_text() for t in drawn.axes_[1].texts] == ["TT→–", "–→ACGTACGTA…"]
    none = SequenceDisplay.of(letters(MODEL, X[:1]), variants(MODEL, X[:1], [])).plot()
    assert not none.axes_[1].patches


def test_the_strongest_stretch_of_a_long_sequence():
    values = np.zeros(200)
    values[150] = -1
    drawn = SequenceDisplay([X[3]], [values]).plot()
    first, last = drawn.stretch(0)
    assert last - first == 120
    assert first <= 150 < last
    assert f"letters {first + 1} to {last}" in drawn.axes_[0].get_title()
    SequenceDisplay([""], [[]]).plot()
    SequenceDisplay(["aß"], [[1, 2]]).plot().figure_.canvas.draw()  # ß as a capital is SS
    SequenceDisplay(["é 😀\0"], [[1, 2, 3, 4]]).plot().figure_.canvas.draw()


def test_several_classes_are_drawn_one_by_one():
    model = SVC(kernel=Spectrum(3)).fit(X, [0, 1, 2, 2])
    drawn = SequenceDisplay.from_estimator(model, X[:1], number=2)
    assert drawn.output == "2"
    of = SequenceDisplay.from_estimator(model, X[:1], of=2)
    np.testing.assert_allclose(of.values[0], drawn.values[0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sequences": ["AC"], "values": [[1.0]]}, "one number for each letter of each sequence"),
        (
            {"sequences": ["", "AC"], "values": [[], [1, np.nan]]},
            r"values\[1\] holds nan: give fin",
        ),
        ({"sequences": ["A"], "values": [[np.inf]]}, r"values\[0\] holds inf: give finite numbers"),
        ({"sequences": [], "values": []}, "one number for each letter"),
        ({"sequences": ["A"], "values": [[1.0]], "names": ["a", "b"]}, "names has 2 entries for 1"),
    ],
)
def test_wrong_arrays_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        SequenceDisplay(**given)


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
