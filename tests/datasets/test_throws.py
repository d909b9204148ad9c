"""Throws at a basket: they follow the parabola that their description promises."""

import numpy as np
import pytest

from mercer.datasets import throws


def test_the_same_seed_draws_the_same_table():
    one, two, other = throws(50, seed=3), throws(50, seed=3), throws(50, seed=4)
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])
    assert (one["speed"] != other["speed"]).any()


def test_results_follow_the_parabola():
    table = throws(4000, seed=0)
    known = ~np.isnan(table["wind"])
    d, v, wind = (table[name][known] for name in ("distance", "speed", "wind"))
    angle = np.radians(table["angle"][known])
    steps = np.linspace(0, 4, 4001)  # seconds
    height = v[:, None] * np.sin(angle)[:, None] * steps - 9.81 / 2 * steps**2
    above = height >= 1.05
    last = steps[above.shape[1] - 1 - above[:, ::-1].argmax(axis=1)]  # where it comes down again
    carried = np.where(table["ball"][known] == "foam", 0.5, 0.1) * wind
    off = (v * np.cos(angle) + carried) * last - d
    off[~above.any(axis=1)] = -9
    expected = np.select([off < -0.6, off > 0.6], ["short", "long"], "in")
    assert (expected == table["result"][known]).mean() > 0.88  # digits are cut, and there is chance
    assert 0.01 < 1 - known.mean() < 0.05


def test_wrong_numbers_are_refused():
    with pytest.raises(ValueError, match="n=0: give the number of throws"):
        throws(0)
