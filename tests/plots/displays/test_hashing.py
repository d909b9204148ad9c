"""The displays of approximate search: numbers by the formula, drawings by their numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import LSHIndex
from mercer.distances import Minkowski
from mercer.plots import HashingDisplay, RecallTimeDisplay
from mercer.search import BruteForce

X = np.random.default_rng(0).normal(size=(300, 5))


def test_the_curve_is_that_of_the_index():
    index = LSHIndex(Minkowski(), near=0.7, recall=0.8).fit(X)
    display = HashingDisplay.from_index(index, X[:50]).plot()
    p = index.family_.collision(display.distances)
    assert_allclose(display.collision, 1 - (1 - p**index.n_hashes_) ** index.n_tables_, atol=1e-12)
    assert_allclose(display.curve_.get_ydata(), display.collision)
    assert_allclose(display.single_.get_ydata(), p)
    assert len(display.pairs) == 50 * 49 // 2
    assert display.distances[-1] == display.pairs.max()
    assert_allclose(np.interp(display.near, display.distances, display.collision), 0.8, atol=0.02)
    assert display.ax_.get_xlabel() == "Distance"
    assert HashingDisplay.from_index(index, most=9.0).distances[-1] == 9


def test_recall_is_the_share_of_the_nearest():
    brute = BruteForce(Minkowski()).fit(X)
    hashed = [LSHIndex(Minkowski(), recall=r).fit(X) for r in (0.9, 0.5)]
    display = RecallTimeDisplay.measured({"exact": brute, "hashing": hashed}, X[:80], k=3).plot()
    assert [r for r, _ in display.curves["exact"]] == [1.0]
    wanted, found = (i.query(X[:80], 3)[1] for i in (brute, hashed[1]))
    recall = np.mean([np.isin(w, f) for w, f in zip(wanted, found)])
    assert min(display.curves["hashing"])[0] == pytest.approx(recall)
    assert len(display.lines_) == 2
    x, y = display.lines_[1].get_data()
    assert_allclose(np.transpose([x, 1 / np.asarray(y)]), display.curves["hashing"])
    with pytest.raises(ValueError, match="exact=None: give an exact index"):
        RecallTimeDisplay.measured({"hashing": hashed}, X[:5])
