"""Letters of sequences as pictures, and variants below them."""

import numpy as np
import pytest

from mercer import SVC
from mercer.explain import letters, variants
from mercer.kernels import Spectrum
from mercer.plots import SequenceDisplay

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
