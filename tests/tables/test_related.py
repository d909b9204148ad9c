"""Groups and times: no part of the rows tells of another."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from mercer import KernelClassifier, KernelRegressor
from mercer.selection.automatic import KernelMachine
from mercer.tables.related import Related

RNG = np.random.default_rng(0)
GROUPS = RNG.integers(30, size=400)
TIMES = RNG.integers(100, size=400)


def test_whole_groups_are_held_out():
    train, held = Related.read(GROUPS, None, 400).hold_out(0.2, seed=0)
    assert_array_equal(np.sort(np.concatenate([train, held])), np.arange(400))
    assert not set(GROUPS[train]) & set(GROUPS[held])
    assert 0.12 < len(held) / 400 < 0.3


def test_the_latest_rows_are_held_out():
    train, held = Related.read(None, TIMES, 400).hold_out(0.2, seed=0)
    assert TIMES[train].max() < TIMES[held].min()
    assert 0.12 < len(held) / 400 < 0.25


@pytest.mark.parametrize(
    "values", [[1, 1, 1, 1, 1, 1, 1, 1, 2], [1, 2, 2, 2, 2, 2, 2, 2, 2], [1, 2]]
)
def test_times_that_hardly_differ(values):
    n = len(values)
    train, held = Related.read(None, values, n).hold_out(0.2, seed=0)
    assert len(held) > 0
    assert len(train) > 0
    assert len(train) + len(held) == n


def test_rows_of_one_time_among_others_are_divided_too():
    times = np.repeat([3, 7], [90, 10])
    related, early = Related.read(None, times, 100), np.arange(90)
    folds = related.folds(early, 5, seed=0)
    assert 10 < (folds == 0).sum() < 40
    assert set(folds) == {0, -1}
    assert_array_equal(folds, related.folds(early, 5, seed=0))
    assert not np.array_equal(folds, related.folds(early, 5, seed=1))


def test_periods_follow_each_other_and_rows_of_one_time_stay_together():
    folds = Related.read(None, TIMES, 400).folds(np.arange(400), 5, seed=0)
    spans = [(TIMES[folds == f].min(), TIMES[folds == f].max()) for f in (-1, 0, 1, 2)]
    for before, after in pairwise(spans):
        assert before[1] < after[0]
    shares = np.bincount(folds + 1) / 400
    np.testing.assert_allclose(shares, [0.4, 0.2, 0.2, 0.2], atol=0.03)
    two = Related.read(None, np.repeat([1, 2], [300, 100]), 400).folds(np.arange(400), 5, seed=0)
    assert_array_equal(two, np.repeat([-1, 0], [300, 100]))


def moving_table(n=300, freq="D"):
    t = np.arange(n)
    months = pd.date_range("2016-01-01", periods=n, freq=freq)
    level = RNG.normal(size=n)
    return pd.DataFrame({"day": months, "counter": 3 * t + 5, "level": level, "hour": t % 24}), t


def test_what_moves_with_time_is_found_and_machines_are_tried_without_it():
    """A counter and the days that have passed tell nothing of rows to come, but fit the past."""
    X, t = moving_table()
    y = np.sin(2 * X["level"]) + 0.5 * np.sin(t / 15)
    model = KernelRegressor(trials=2).fit(X[:225], y[:225], times=t[:225])
    said = next(notice for notice in model.notices_ if notice.startswith("Later rows"))
    assert "'day: elapsed days', 'day: month', 'counter'" in said
    assert "level" not in said
    assert model.winner_["without"]
    assert "without what moves with time" in model.winner_name_
    assert model.score(X[225:], y[225:]) > 0.5
    again = KernelRegressor(replay=json.loads(json.dumps(model.schedule_)))
    again.fit(X[:225], y[:225], times=t[:225])
    assert_array_equal(again.predict(X[225:]), model.predict(X[225:]))
    mixed = KernelRegressor(trials=2).fit(X, y)
    assert not any(notice.startswith("Later rows") for notice in mixed.notices_)


def test_a_trend_is_learnt_from_what_moves_with_time_unless_it_may_be_a_season():
    X, t = moving_table(freq="W")
    y = 0.05 * t + X["level"]
    model = KernelRegressor(trials=2).fit(X[:225], y[:225], times=t[:225])
    assert model.winner_name_ == "linear (spline)"
    assert set(model.trend_) == set(model.moving_) > {"counter"}
    assert model.score(X[225:], y[225:]) > 0.95
    X, _ = moving_table(freq="D")  # not a year
    model = KernelRegressor(trials=1).fit(X[:225], y[:225], times=t[:225])
    assert "counter" in model.moving_
    assert model.trend_ == ()


@pytest.mark.parametrize("learner", ["shapes", "neighbourhood"])
def test_a_machine_that_reads_columns_leaves_some_out_in_its_code_too(learner):
    X, _ = moving_table(120)
    y = np.sin(2 * X["level"])
    machine = KernelMachine(learner, without=["day: elapsed days", "counter"])
    model = KernelRegressor(machines=[machine]).fit(X, y)
    read = {f.label for f in model.machine_.source.features}
    assert "level" in read
    assert not read & {"day: elapsed days", "counter"}
    assert 'without=["day: elapsed days", "counter"]' in model.code()


@pytest.mark.parametrize("name", ["groups", "times"])
def test_one_group_or_time_among_the_rows_that_count_is_refused(name):
    X, given = RNG.normal(size=(40, 2)), {name: np.repeat([0, 1], 20)}
    weights = np.repeat([0.0, 1.0], 20)
    with pytest.raises(ValueError, match=f"{name} has one {name[:-1]} in all rows that count"):
        KernelRegressor(trials=1).fit(X, X[:, 0], weights, **given)


def test_folds_of_groups_are_of_like_size():
    related, rows = Related.read(GROUPS, None, 400), np.arange(0, 400, 2)
    folds = related.folds(rows, 5, seed=1)
    for f in range(5):
        assert not set(GROUPS[rows[folds == f]]) & set(GROUPS[rows[folds != f]])
    assert np.ptp(np.bincount(folds)) < 10
    one = related.folds(rows, 1, seed=1)
    assert set(one) == {0, -1}
    assert not set(GROUPS[rows[one == 0]]) & set(GROUPS[rows[one == -1]])


def test_rows_to_learn_weights_from_tell_nothing_of_the_judged():
    order = RNG.permutation(400)
    first = Related.read(GROUPS, None, 400).first(order, 100, seed=0)
    others = np.setdiff1d(np.arange(400), first)
    assert not set(GROUPS[first]) & set(GROUPS[others])
    assert 60 < len(first) < 150
    timed = Related.read(None, TIMES, 400)
    early = timed.first(order, 100, seed=0)
    judged = np.flatnonzero(timed.folds(np.arange(400), 5, seed=0) == 0)
    assert TIMES[early].max() < TIMES[judged].min()


@pytest.mark.parametrize(
    ("groups", "times", "message"),
    [
        (GROUPS, TIMES, "both given"),
        (GROUPS[:9], None, "one value for each of 400"),
        (None, np.where(TIMES == 3, np.nan, TIMES), "times has missing"),
        (np.array(["a", None] * 200, dtype=object), None, "groups has missing"),
        (np.zeros(400), None, "groups has one group"),
        (None, np.zeros(400), "times has one time"),
    ],
)
def test_what_cannot_be_used_is_refused(groups, times, message):
    with pytest.raises(ValueError, match=message):
        Related.read(groups, times, 400)


def test_no_relation_is_none():
    assert Related.read(None, None, 400) is None


def test_a_search_is_not_deceived_by_copies_within_groups():
    """Each group is one point and a random answer: only a leak can predict it."""
    points, answers = RNG.normal(size=(40, 3)), RNG.integers(2, size=40)
    group = np.repeat(np.arange(40), 6)
    X, y = points[group] + 1e-3 * RNG.normal(size=(240, 3)), answers[group]
    honest = KernelClassifier(trials=2).fit(X, y, groups=group)
    deceived = KernelClassifier(trials=2).fit(X, y)
    assert max(row["score"] for row in deceived.leaderboard_) > 0.95
    assert max(row["score"] for row in honest.leaderboard_) < 0.75


def test_a_search_judges_the_latest_rows():
    """What was true early is not true late, and the scores say so."""
    t = np.arange(300)
    X = np.random.default_rng(2).normal(size=(300, 2))
    y = np.where(t < 225, X[:, 0], -X[:, 0])
    table = pd.DataFrame(X)
    timed = KernelRegressor(trials=2).fit(table, y, times=t)
    mixed = KernelRegressor(trials=2).fit(table, y)
    best = [max(r["score"] for r in m.leaderboard_ if not r["baseline"]) for m in (timed, mixed)]
    assert best[0] < -0.2 < 0 < best[1]


def test_rows_of_weight_0_take_their_groups_along():
    weights = np.where(GROUPS == 3, 0.0, 1.0)
    X = RNG.normal(size=(400, 2))
    kept = GROUPS != 3
    y = X[:, 0] + 0.1 * RNG.normal(size=400)
    one = KernelRegressor(trials=1).fit(X, y, weights, groups=GROUPS)
    two = KernelRegressor(trials=1).fit(X[kept], y[kept], weights[kept], groups=GROUPS[kept])
    assert one.leaderboard_[0]["score"] == two.leaderboard_[0]["score"]
