"""Axes and pictures: the parts that the report is drawn with."""

import collections
import struct
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from mercer.plots.displays.partial_dependence import Dependence
from mercer.plots.displays.spectral import EmbeddingDisplay
from mercer.plots.marks import BOTTOM, LEFT, LOWER, RIGHT, TOP, Axis, brief, padded
from mercer.plots.report.advice import LearningCurve
from mercer.plots.report.kernel import PALETTE, EmbeddingSection, indexed_png, levels
from mercer.plots.report.subject import Score
from mercer.plots.report.why import dependence_drawing

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False)


def read_png(content):
    """The pixels of an indexed PNG file, checked chunk by chunk."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(content):
        size, name = struct.unpack(">I4s", content[at : at + 8])
        body = content[at + 8 : at + 8 + size]
        (crc,) = struct.unpack(">I", content[at + 8 + size : at + 12 + size])
        assert crc == zlib.crc32(name + body)
        chunks[name] = body
        at += 12 + size
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour, len(chunks[b"PLTE"])) == (8, 3, 768)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()
    return rows[:, 1:]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**31))
def test_pictures_hold_their_pixels(height, width, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width)).astype(np.uint8)
    assert_array_equal(read_png(indexed_png(pixels)), pixels)


def test_levels_run_from_low_to_high_and_are_cut_there():
    values = np.array([[-1.0, 0.0, 0.5, 1.0, 9.0]])
    assert levels(values, 0.0, 1.0).tolist() == [[0, 0, 128, 255, 255]]
    assert levels(values, 2.0, 2.0).tolist() == [[0, 0, 0, 0, 0]]


def test_the_palette_grows_lighter():
    light = PALETTE.astype(float) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light) > -1).all()
    assert light[-1] - light[0] > 150


@given(NUMBERS, NUMBERS)
def test_ticks_are_few_round_and_within(a, b):
    low, high = padded(min(a, b), max(a, b))
    ticks = list(Axis(low, high, 50, 348).ticks())
    slack = 1e-6 * (high - low)
    assert 1 <= len(ticks) <= 8
    assert all(low - slack <= value <= high + slack for value, _ in ticks)
    assert all(len(label) <= 14 for _, label in ticks)


@pytest.mark.parametrize(("low", "high"), [(1e-16, 1.0), (0.1, 1), (1, 10), (1e-3, 1e5)])
def test_logarithmic_ticks_are_powers_of_ten(low, high):
    axis = Axis(low, high, 0, 300, log=True)
    ticks = list(axis.ticks())
    assert 1 < len(ticks) <= 7
    assert (axis.at(low), axis.at(high)) == (0, 300)


@pytest.mark.parametrize(
    ("low", "high", "value", "at"),
    [
        (7.0, 7.0, 7.0, 150),  # a column of one value
        (0.0, 0.0, 0.0, 150),
        (1e16, 1e16 + 4, 1e16 + 2, 150),
        (-1.7e308, 1.7e308, 0.0, 150),
        (-1.7e308, 1.7e308, 0.85e308, 225),
        (0.0, 5e-324, 5e-324, 300),
        (-3.0, 1.0, 0.0, 225),
    ],
)
def test_values_of_any_size_have_a_place(low, high, value, at):
    assert Axis(np.float64(low), np.float64(high), 0, 300).at(np.float64(value)) == at


def test_counts_are_marked_at_whole_numbers():
    assert [v for v, _ in Axis(0, 1.05, 0, 100, whole=True).ticks()] == [0, 1]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234.5, "1234"), (-0.00178, "−0.00178"), (12345, "12,300"), (2e6, "2 million"),
     (1.5, "1.5"), (100.0, "100"), (1e-9, "1 × 10⁻⁹")],
)  # fmt: skip
def test_brief_numbers(value, text):
    assert brief(value) == text


def within(points, bottom=BOTTOM):
    """Whether all points lie between the axes of a drawing."""
    x, y = np.array(points).T
    return (x >= LEFT).all() and (x <= RIGHT).all() and (y >= TOP).all() and (y <= bottom).all()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e9])
@pytest.mark.parametrize("answer", ["", "yes"])
def test_curves_and_their_bands_lie_between_the_axes(scale, answer):
    mean = np.array([0.2, 0.5, 0.4, 0.9]) * (1.0 if answer else scale)
    each = Dependence(
        "size", answer, "number", [-3.0, 0.0, 1.0, 8.0], mean, 0.5 * mean, 1.1 * mean, "rises"
    )
    drawn = dependence_drawing(each)
    assert within([*drawn["line"], *drawn["band"]], LOWER)
    heights = np.array(drawn["line"])[:, 1]
    assert np.argmin(heights) == 3  # the highest
    assert drawn["line"][0][0] == LEFT
    assert drawn["line"][-1][0] == RIGHT


@pytest.mark.parametrize("kind", ["number", "category"])
def test_a_mean_above_the_range_of_most_rows_is_drawn_inside(kind):
    mean = np.array([0.019, 0.022])  # of a rare class: a tenth of the rows has most of it
    values = [0.0, 1.0] if kind == "number" else ["FR", "DE"]
    each = Dependence("a", "yes", kind, values, mean, mean / 4, mean / 2, "rises")
    drawn = dependence_drawing(each)
    if kind == "number":
        assert within(drawn["line"], LOWER)
    else:
        assert drawn["low"] <= mean.min()
        assert mean.max() <= drawn["high"]
        assert all(0 <= row["at"] <= 100 for row in drawn["rows"])


def test_the_last_fit_of_a_learning_curve_is_in_its_figure():
    curve = LearningCurve(np.array([20, 40, 80, 160]), np.array([0.3, 0.6, 0.55, 0.8]), 0.1)
    drawn = curve.drawn(SimpleNamespace(score=Score("r2", 0.8, 0.7, 0.95, 40)))
    assert within(drawn["points"])
    places = [x for x, _ in drawn["points"]]
    assert places == sorted(places)
    assert places[-1] > LEFT + 0.9 * (RIGHT - LEFT)
    assert TOP <= drawn["high"] < drawn["points"][-1][1] < drawn["low"] <= BOTTOM


def test_rows_have_the_colours_of_their_classes():
    rng = np.random.default_rng(0)
    scores, right = rng.normal(size=(900, 2)), np.zeros(900, bool)
    y = np.resize(np.repeat(np.arange(12), np.arange(10, 130, 10)), 900)
    for kept in (12, 8, 1):
        labels = np.minimum(y, kept - 1)
        display = EmbeddingDisplay(scores, labels, classes=np.arange(kept))
        drawn = EmbeddingSection(display, right).drawn(None)
        assert len(drawn["points"]) == 900
        counts = collections.Counter(look for _, _, look in drawn["points"])
        assert set(counts) == {f"c{i}" for i in range(min(kept, 8))}
        assert len(drawn["names"]) == min(kept, 8)
        if kept == 12:
            assert drawn["names"][-1] == "5 others"
            often = np.argsort(-np.bincount(labels), kind="stable")
            assert drawn["names"][:7] == [str(c) for c in often[:7]]
    for x, at, _ in drawn["points"]:
        assert LEFT <= x <= RIGHT
        assert TOP <= at <= BOTTOM


def test_rows_have_the_shades_of_their_targets():
    rng = np.random.default_rng(0)
    y = np.append(rng.normal(size=500), 1e9)
    points = EmbeddingDisplay(rng.normal(size=(501, 2)), y)
    drawn = EmbeddingSection(points, np.zeros(501, bool)).drawn(None)
    looks = {target: look for target, (_, _, look) in zip(y, drawn["points"])}
    assert set(looks.values()) == {f"v{i}" for i in range(8)}
    assert looks[y.min()] == "v0"
    assert looks[1e9] == "v7"
    assert drawn["high"] < 10
    assert drawn["names"] == []
    points = EmbeddingDisplay(rng.normal(size=(5, 2)), np.ones(5))
    same = EmbeddingSection(points, np.arange(5) == 3).drawn(None)
    assert [look for *_, look in same["points"]] == ["v0", "v0", "v0", "v0 wrong", "v0"]
