"""Quantiles and intervals of predicted numbers: what they hold, and that they keep their word."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, t as student

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.learners.base import ScoreQuantiles
from mercer.machines import score_held_out

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
N, NEW = 400, 1000


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    X["g"] = rng.choice(list("xyz"), n)
    return X, X["a"].to_numpy() + np.sin(2 * X["b"].to_numpy()), rng.normal(size=n)


def loud(n, seed):
    """Noise that grows along a."""
    X, f, noise = table(n, seed)
    return X, f + np.exp(X["a"]) * noise


def skewed(n, seed):
    X, f, noise = table(n, seed)
    return X, np.exp(2 + f + 0.5 * noise)


def by_level(n, seed):
    """Noise of a level of g."""
    X, f, noise = table(n, seed)
    return X, f + X["g"].map({"x": 0.1, "y": 1.0, "z": 5.0}).to_numpy() * noise


def texts(n, seed):
    rng = np.random.default_rng(seed)
    words = rng.choice(["red", "green", "blue", "old", "new", "small", "large"], (n, 4))
    X = pd.DataFrame({"text": [" ".join(row) for row in words]})
    return X, (words == "red").sum(axis=1) + 0.3 * rng.normal(size=n)


def vectors(n, seed):
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(n, 8))
    return pd.DataFrame({"e": list(E)}), E[:, 0] + np.exp(E[:, 1] / 2) * rng.normal(size=n)


def sequences(n, seed):
    rng = np.random.default_rng(seed)
    S = rng.choice(list("ACGT"), (n, 12))
    X = pd.DataFrame({"dna": ["".join(row) for row in S]})
    return X, (S[:, :4] == "A").sum(axis=1) + 0.3 * rng.normal(size=n)


CASES = (loud, skewed, by_level, texts, vectors, sequences)


@cache
def fitted(case):
    return KernelRegressor(trials=2).fit(*case(N, 0))


@pytest.mark.spread(1)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_as_many_targets_are_below_quantiles_as_should_be(case):
    X, y = case(NEW, 1)
    found = fitted(case).predict_quantiles(X, LEVELS)
    below = (np.asarray(y)[:, None] < found).sum(axis=0)
    # the quantiles are as good as N residuals tell, and are judged on NEW rows
    for level, count in zip(LEVELS, below):
        wide = binom(round(NEW * N / (NEW + N)), level)
        low, high = wide.ppf([0.0005, 0.9995]) * (NEW + N) / N
        assert low <= count <= high, (level, count / NEW)


@pytest.mark.spread(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_quantiles_ascend_and_intervals_are_two_of_them(case):
    model, (X, y) = fitted(case), case(NEW, 2)
    found = model.predict_quantiles(X[:50], np.linspace(0.01, 0.99, 9))
    assert (np.diff(found, axis=1) >= 0).all()
    ends = model.predict_interval(X[:50], 0.8)
    assert_allclose(ends, model.predict_quantiles(X[:50], (0.1, 0.9)), rtol=1e-9, atol=1e-12)
    backwards = model.predict_quantiles(X[:50], (0.9, 0.1))
    assert_allclose(ends[:, ::-1], backwards, rtol=1e-9, atol=1e-12)
    if min(y) >= 0:
        assert found.min() >= 0


@pytest.mark.spread(1)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_files_keep_them_and_a_row_alone_has_the_same(case, tmp_path):
    model, (X, _) = fitted(case), case(NEW, 3)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    found = model.predict_quantiles(X[:20], LEVELS)
    assert_allclose(again.predict_quantiles(X[:20], LEVELS), found, rtol=1e-9)
    assert_allclose(model.predict_quantiles(X[7:8], LEVELS), found[7:8], rtol=1e-5)
    assert_allclose(model.predict_quantiles(model.encode_table(X[:20]), LEVELS), found, rtol=1e-9)


def test_noisy_rows_have_wider_intervals():
    X, y = loud(NEW, 1)
    low, high = fitted(loud).predict_interval(X).T
    quiet, noisy = X["a"] < -0.7, X["a"] > 0.7
    assert np.mean((high - low)[noisy]) > 3 * np.mean((high - low)[quiet])
    X, y = by_level(NEW, 1)
    low, high = fitted(by_level).predict_interval(X).T
    widths = [np.median((high - low)[X["g"] == level]) for level in "xyz"]
    assert widths[0] < widths[1] < widths[2] / 2
    held = [((low <= y) & (y <= high))[X["g"] == level].mean() for level in "xyz"]
    assert min(held) > 0.78


@pytest.mark.full
def test_a_target_in_other_units_has_the_same_intervals():
    X, y = loud(200, 0)
    found = KernelRegressor(trials=1).fit(X, y).predict_interval(X)
    other = KernelRegressor(trials=1).fit(X, 5 - 3 * y).predict_interval(X)
    assert_allclose(5 - 3 * found[:, ::-1], other, rtol=1e-3, atol=1e-3)


def test_weights_mean_repetition():
    scores, weights = np.array([-1.0, 0.0, 2.0, 5.0]), np.array([3, 1, 2, 4])
    levels = np.linspace(0.01, 0.99, 25)
    repeated = ScoreQuantiles.of(np.repeat(scores, weights))(levels)
    assert_allclose(ScoreQuantiles.of(scores, weights)(levels), repeated)
    light = ScoreQuantiles.of(scores, weights / 8.0)  # places do not go down where a weight is < 1
    assert (np.diff(light.levels) >= 0).all()
    assert (np.diff(light(levels)) >= 0).all()
    alike = ScoreQuantiles.of(scores, np.ones(4))(levels)
    assert_allclose(ScoreQuantiles.of(scores)(levels), alike)


def test_few_scores_reach_beyond_the_largest():
    few = ScoreQuantiles.of(np.array([-1.0, 0.5, 1.0]))
    assert few([0.25, 0.5, 0.75]).tolist() == [-1.0, 0.5, 1.0]
    assert few(0.05) < -1 < 1 < few(0.95)
    # those of Student's t with 2 degrees of freedom, for one more score of the same mean square
    size = np.sqrt((1 + 0.25 + 1) / 3 * (1 + 1 / 3))
    assert_allclose(few([0.01, 0.99]), size * student(2).ppf([0.01, 0.99]))
    none = ScoreQuantiles.of(np.zeros(3))
    assert none([0.01, 0.99]).tolist() == [0, 0]


def test_a_refit_keeps_them_and_groups_and_times_are_no_matter():
    X, y = loud(200, 0)
    model = KernelRegressor(trials=1).fit(X, y, groups=np.arange(200) // 4)
    before = model.predict_interval(X)
    X2, y2 = loud(300, 1)
    model.refit(X2, y2)
    after = model.predict_interval(X)
    assert_allclose(np.median(np.ptp(after, axis=1)), np.median(np.ptp(before, axis=1)), rtol=0.2)


@pytest.mark.spread(1)
@pytest.mark.parametrize("cut", [{"quick": True}, {"early": True}], ids=["quick", "early"])
def test_a_fit_that_was_cut_short_has_intervals_of_the_machine_that_it_has(cut):
    X, y = loud(N, 0)
    schedule = KernelRegressor(trials=1).fit(X, y).schedule_
    short = [schedule[0], {"final": True, "rank": 20} | cut]
    model = KernelRegressor(replay=short).fit(X, y)
    X2, y2 = loud(NEW, 1)
    low, high = model.predict_interval(X2, 0.8).T
    assert 0.74 < np.mean((low < y2) & (y2 < high)) < 0.86


def test_constant_targets_and_few_rows_have_some():
    X, y = loud(12, 0)
    assert (
        KernelRegressor(trials=1).fit(X, np.ones(12)).predict_interval(X).tolist() == [[1, 1]] * 12
    )
    low, high = KernelRegressor(trials=1).fit(X, y).predict_interval(X).T
    assert (high > low).all()


def test_the_share_that_is_held_is_measured_and_said():
    (X, y), (X2, y2) = loud(N, 0), loud(N, 5)
    score = score_held_out(fitted(loud), (X, y), (X2, y2))
    low, high = fitted(loud).predict_interval(X2).T
    held = np.mean((low <= y2) & (y2 <= high))
    assert score.coverage.held[2] == held
    assert f"they hold {100 * held:.1f}% of the 400 held-out rows" in score.coverage.sentence()
    far = score_held_out(fitted(loud), (X, y), (X2, y2 + 3)).coverage
    assert "fewer than they should" in far.sentence()


def test_wrong_levels_and_models_without_a_spread_are_refused():
    model, (X, y) = fitted(loud), loud(20, 0)
    for wrong in (0, 1, 90, "0.9x", None, np.nan):
        with pytest.raises(ValueError, match=r"coverage=.*: give a number between 0 and 1"):
            model.predict_interval(X, wrong)
    for wrong in ((0.1, 1.1), (), "0.5,0.9", None, [np.nan]):
        with pytest.raises(ValueError, match=r"quantiles=.*: give numbers between 0 and 1"):
            model.predict_quantiles(X, wrong)
    cut = KernelRegressor(trials=1).fit(X, y)
    cut.spread_ = None
    with pytest.raises(ValueError, match="does not know how far its predictions are off"):
        cut.predict_interval(X)
    classes = KernelClassifier(trials=1).fit(X, y > 0)
    assert score_held_out(classes, (X, y > 0), (X, y > 0)).coverage is None


def test_what_intervals_hold_is_as_sure_as_the_groups_are_many():
    """Rows of one group lie outside together: 400 rows of 20 groups say less than 400 rows."""
    X2, y2 = loud(400, 5)
    group = np.arange(400) % 20
    shifted = y2 + np.where(group < 5, 10.0, 0.0)
    alone, grouped, each = (
        score_held_out(fitted(loud), (X2, y2), (X2, shifted), groups=groups).coverage
        for groups in (None, group, np.arange(400))
    )
    assert_allclose(grouped.held, alone.held)
    width, wider, same = (c.high[2] - c.low[2] for c in (alone, grouped, each))
    assert wider > 2 * width
    assert_allclose(same, width, rtol=0.01)
