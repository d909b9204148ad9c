"""The search: the same folds for all, budgets kept by a clock, schedules that replay."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lanes import few
from mercer import KernelClassifier, KernelRegressor
from mercer.gram import gram
from mercer.learners.ridge import penalty as ridge_penalty
from mercer.machines.candidates import Recipe, Tried
from mercer.machines.candidates.candidate import Candidate
from mercer.machines.scores import metric_named
from mercer.selection.automatic.trials import (
    rungs as rungs_of_search,
    state as forecasts,
    trials as trials_of_search,
)
from mercer.selection.automatic.trials.state import Leaderboard
from selection.automatic.small_searches import (
    NOISY_RING,
    RING,
    TABLE,
    WAVE,
    X,
    fitted_once,
    same_model,
    search_of,
)

RNG = np.random.default_rng(1)


def test_the_leaderboard_tells_everything():
    model = KernelClassifier(trials=3).fit(TABLE, RING)
    assert [row["rank"] for row in model.leaderboard_] == list(range(1, 7))
    assert {row["name"] for row in model.leaderboard_ if row["baseline"]} == {
        "trivial",
        "linear (spline)",
    }
    scores = [row["score"] for row in model.leaderboard_]
    assert scores == sorted(scores, reverse=True)
    for row in model.leaderboard_:
        assert set(row) == {
            "rank", "name", "baseline", "score", "loss", "spread", "rows", "seconds", "learner",
            "kernel", "penalty",
        }  # fmt: skip
        assert row["rows"] == 240
        assert (row["kernel"] is None) == row["baseline"]
    assert sum(row["name"] == model.winner_name_ for row in model.leaderboard_) == 1


def test_errors_rank_from_the_smallest():
    model = KernelRegressor(trials=3, metric="rmse").fit(TABLE, WAVE)
    scores = [row["score"] for row in model.leaderboard_]
    assert scores == sorted(scores)
    assert model.leaderboard_[0]["name"] == model.winner_name_


@pytest.mark.parametrize("learn", [True, False])
def test_a_score_is_that_of_fitting_each_fold_anew(learn):
    """The closed form over folds is no other than fits that did not see the rows."""
    schedule = [
        {
            "family": "interactions",
            "scale": 1.0,
            "learn": learn,
            "rows": 240,
            "rank": 240,
            "steps": [3] * 5,
        }
    ]
    model = KernelRegressor(replay=schedule, metric="rmse").fit(TABLE, WAVE)
    search = search_of(model, WAVE, "rmse")
    rows, folds = search.state.rungs.folds(240)
    assert_array_equal(np.bincount(folds), [48] * 5)
    row = next(r for r in model.leaderboard_ if not r["baseline"])
    errors = []
    for f in range(5):
        train, own = rows[folds != f], rows[folds == f]
        kernel = Candidate("interactions").kernel(model.encoder_.features_)
        if learn:
            kernel = search.fits.learn(Candidate("interactions", learn=True), train, 3, f)
        machine = Recipe().fit(search.settings.task, kernel, search.settings.M[train], WAVE[train])
        errors.append((machine.outputs(search.settings.M[own])[:, 0] - WAVE[own]) ** 2)
    # the penalty is at its least, where float32 rounding of the kernel counts
    assert_allclose(row["score"], np.sqrt(np.mean(np.concatenate(errors))), rtol=2e-2)


def test_folds_are_stratified_and_spare_the_rows_that_weights_are_learnt_on(rungs):
    model = KernelClassifier(trials=1).fit(TABLE, RING)
    search = search_of(model, RING)
    rows, folds = search.state.rungs.folds(200)
    assert len(search.state.rungs.spared) == 50
    assert folds.max() == 0  # a seventh of the other rows, in one fold
    assert (folds == 0).sum() == 28  # 40 of the 50 are in no rung
    first, folds_of_first = search.state.rungs.folds(120)
    spared = first[folds_of_first == rungs_of_search.SPARED]
    assert set(spared) == set(search.state.rungs.spared) & set(first)
    for some, each, f in [(rows, folds, 0), *((first, folds_of_first, f) for f in range(3))]:
        assert not set(search.state.rungs.spared) & set(some[each == f])
        share = np.mean(RING[some[each == f]] == "in")
        others = np.setdiff1d(some, search.state.rungs.spared)
        assert abs(share - np.mean(RING[others] == "in")) < 0.04


def test_ridge_of_low_rank_learns_from_the_rows_that_weights_are_learnt_on(
    rungs, sizes, monkeypatch
):
    sizes(all_rows=240, rungs=((120, 30), (300, 60)))
    monkeypatch.setattr(rungs_of_search, "affordable", lambda *_: np.array([1e-3]))
    search = search_of(fitted_once(KernelRegressor), WAVE)
    found = search.fits.judge(Candidate("gaussian"), (240, 240), None, None)
    _, folds = search.state.rungs.folds(240)
    assert (folds == rungs_of_search.SPARED).sum() == 50
    kernel, rows = Candidate("gaussian").bound(search.settings.features, search.settings.M)
    K, z = gram(kernel, rows).dense().astype(float), search.settings.Y[:, 0]
    for f in range(3):
        train, own = np.flatnonzero(folds != f), np.flatnonzero(folds == f)
        A = K[np.ix_(train, train)] + 1e-3 * len(train) * np.eye(len(train))
        b = z[train].mean()
        wanted = b + K[np.ix_(own, train)] @ np.linalg.solve(A, z[train] - b)
        assert_allclose(found.predicted[own], wanted, atol=1e-3)


def test_some_kernels_are_learnt_from_more_rows_than_others(rungs, sizes):
    sizes(few_learning_rows=20)
    search = search_of(fitted_once(KernelRegressor), WAVE)
    learnt = Candidate("interactions", learn=True)
    metric = Candidate("metric", learn=True, form="full")
    tried = learnt, replace(learnt, more=True), metric
    counts = [search.state.rungs.count_learning(c) for c in tried]
    assert counts == [20, 50, 100]  # half of the last judge the metric
    names = [c.name for c in (learnt, replace(learnt, more=True))]
    assert names[1] == names[0] + " from more rows"


def test_all_rows_of_a_table_that_is_not_large_are_in_both_rungs(rungs, sizes):
    sizes(all_rows=240, rungs=((120, 30), (300, 60)))
    search = search_of(fitted_once(KernelRegressor), WAVE)
    assert search.state.rungs.plan() == [(240, 30), (240, 60)]
    assert search.state.rungs.count_folds(240) == 3


def test_few_are_promoted_to_more_rows(rungs):
    model = KernelClassifier(trials=7).fit(TABLE, NOISY_RING)
    *tried, final = model.schedule_
    networks = [e for e in tried if e["machine"] == "neighbourhood"]  # fitted once, to all rows
    assert [network["rows"] for network in networks] == [200]
    tried = [entry for entry in tried if entry not in networks]
    second = len(tried) - 6
    assert 1 <= second <= 6
    rungs = [(entry["rows"], entry["rank"]) for entry in tried]
    assert rungs == [(120, 30)] * 6 + [(200, 60)] * second
    assert final["rows"] is None
    alone = [row for row in model.leaderboard_ if not row["name"].startswith("mean of")]
    assert [row["rows"] for row in alone] == [200] * (1 + second) + [120] * (8 - second)
    names = [row["name"] for row in alone]
    assert len(names) == len(set(names)) == 9
    # each kernel is learnt once, in the first rung, whatever the machine
    kernels = {(entry["family"], entry["form"]) for entry in tried if entry["learn"]}
    assert sum(len(entry["steps"]) for entry in tried) == len(kernels)
    assert sum(entry["learn"] for entry in tried) > len(kernels)


@pytest.mark.spread(1)
@pytest.mark.parametrize("table", [TABLE, X])
def test_counted_trials_give_the_same_model_whatever_the_threads(table):
    same_model(
        KernelClassifier(trials=3, n_jobs=1, random_state=3).fit(table, RING),
        KernelClassifier(trials=3, n_jobs=2, random_state=3).fit(table, RING),
    )


@pytest.mark.full
def test_threads_do_not_matter_to_large_tables_either(rungs):
    same_model(
        KernelRegressor(trials=2, n_jobs=1).fit(TABLE, WAVE),
        KernelRegressor(trials=2, n_jobs=2).fit(TABLE, WAVE),
    )


@pytest.mark.full
def test_the_best_of_each_family_are_promoted_first(rungs):
    model = KernelRegressor(trials=16).fit(TABLE, WAVE)
    tried = [e for e in model.schedule_[:-1] if e["machine"] != "neighbourhood"]
    scores = {row["name"]: row for row in KernelRegressor(
        replay=[entry for entry in tried if entry["rows"] == 120]
    ).fit(TABLE, WAVE).leaderboard_}  # fmt: skip
    first = [Candidate.of(entry) for entry in tried if entry["rows"] == 120]
    first.sort(key=lambda candidate: -scores[candidate.name]["score"])
    second = [Candidate.of(entry) for entry in tried if entry["rows"] == 200]
    best = {candidate.kin: candidate for candidate in reversed(first)}
    assert len(best) < len(first)
    order = sorted(first, key=lambda candidate: candidate is not best[candidate.kin])
    assert second == order[: len(second)]
    assert len(second) >= 3


@pytest.mark.full
def test_ridge_is_local_on_more_rows(rungs, sizes):
    """The best ridge machine of the first rung is tried with low rank too, as it was there."""
    sizes(leaves=(60, 30))
    model = KernelRegressor(trials=6).fit(TABLE, WAVE)
    *tried, final = model.schedule_
    first = [Candidate.of(entry) for entry in tried if entry["rows"] == 120]
    second = [Candidate.of(entry) for entry in tried if entry["rows"] == 200]
    assert "local" not in {candidate.machine for candidate in first}
    machines = [candidate.machine for candidate in second]
    assert machines.count("ridge") == 1
    local = [replace(c, machine="ridge") for c in second if c.machine == "local"]
    assert len(local) >= 2
    assert set(local) <= set(first)
    assert {c for c in second if c.machine == "ridge"} <= set(local)
    winner = Candidate.of(model.winner_)
    if winner.machine == "local":
        assert final["leaf_rows"] == 60
        assert "8 leaves of 30 rows" in model.solver_ or "4 leaves of 60 rows" in model.solver_
        assert len(model.stored_rows_) == 240
    again = KernelRegressor(replay=model.schedule_).fit(TABLE, WAVE)
    same_model(model, again)
    assert_array_equal(model.predict(TABLE), again.predict(TABLE))


@pytest.mark.full
def test_more_ridge_machines_are_exact_where_there_is_time(clock, sizes):
    sizes(one_rung_rows=300, rungs=((120, 30), (200, 60)), exact_rows=300)
    model = KernelRegressor(time=1000, progress=clock).fit(TABLE, WAVE)
    exact = [Candidate.of(e) for e in model.schedule_[:-1] if e["rank"] is None]
    assert len(exact) > 2 * trials_of_search.MORE_EXACT
    assert len(exact) == len(set(exact))
    assert {candidate.machine for candidate in exact} == {"ridge"}


@pytest.mark.full
def test_those_that_are_promoted_are_the_best_even_if_some_were_left_out(rungs, monkeypatch):
    left_out = forecasts.Forecast.expected

    def expected(self, candidate, rung):
        return 1e9 if candidate.family == "gaussian" else left_out(self, candidate, rung)

    monkeypatch.setattr(forecasts.Forecast, "expected", expected)
    model = KernelRegressor(time=1000).fit(TABLE, WAVE)
    *tried, _ = model.schedule_
    second = {Candidate.of(entry).name for entry in tried if entry["rows"] == 200}
    assert not any(entry["family"] == "gaussian" for entry in tried)
    assert len(second) >= 3
    again = KernelRegressor(replay=[e for e in tried if e["rows"] == 120]).fit(TABLE, WAVE)
    scores = {row["name"]: row["score"] for row in again.leaderboard_ if not row["baseline"]}
    assert max(scores, key=scores.get) in second or max(scores, key=scores.get).startswith("mean")


def test_a_winner_that_is_not_the_first_is_explained():
    board = Leaderboard(metric_named("accuracy", "classification"))
    board.enter(Tried(None, "a", 100, score=0.9, loss=0.5))
    board.enter(Tried(None, "b", 100, score=0.88, loss=0.4))
    said = board.close()
    assert said.startswith("The winner is 'b': its accuracy is within one standard error")
    assert [(row["rank"], row["name"]) for row in board.table()] == [(1, "a"), (2, "b")]
    board.enter(Tried(None, "b", 100, score=0.95, loss=0.4))
    assert board.close() is None


@pytest.mark.full
def test_another_seed_is_another_search():
    one, two = (KernelRegressor(trials=1, random_state=s).fit(TABLE, WAVE) for s in (0, 1))
    assert one.leaderboard_[0]["score"] != two.leaderboard_[0]["score"]


@pytest.mark.full
def test_the_time_budget_ends_the_search(clock):
    model = KernelRegressor(time=10, progress=clock).fit(TABLE, WAVE)
    # two baselines and one second for each report, and a little is kept for the final fit
    tried = len(model.schedule_) - 1
    assert 3 <= tried <= 9
    assert f"The time budget had room for {tried} of 21 candidates on 240 rows." in model.notices_
    assert model.seconds_ <= 11  # the clock ticks once more when the final fit is reported


def test_what_seemed_to_take_too_long_has_another_turn(monkeypatch):
    """Another process may have made the first steps slow, and have ended."""
    expected, asked = forecasts.Forecast.expected, []

    def at_first_too_long(self, candidate, rung):
        asked.append(candidate.name)
        once = candidate.family == "metric" and asked.count(candidate.name) == 1
        return 1e3 if once else expected(self, candidate, rung)

    monkeypatch.setattr(forecasts.Forecast, "expected", at_first_too_long)
    search = search_of(fitted_once(KernelRegressor), WAVE, seconds=100)
    order = [Candidate("gaussian"), Candidate("metric", learn=True, form="full")]
    monkeypatch.setattr(trials_of_search, "candidates", lambda *given: order)
    search.run()
    assert [tried.candidate.family for tried in search.state.schedule] == ["gaussian", "metric"]


def test_what_seemed_to_take_too_long_is_measured_again_at_the_end(monkeypatch):
    expected, measured = forecasts.Forecast.expected, []

    def too_long(self, candidate, rung):
        if candidate.family != "metric":
            return expected(self, candidate, rung)
        return 150 if measured else 1e3  # of 100 s, but there is hope

    monkeypatch.setattr(forecasts.Forecast, "expected", too_long)
    search = search_of(fitted_once(KernelRegressor), WAVE, seconds=100)
    monkeypatch.setattr(search.state.finals, "measure_again", lambda: measured.append(1))
    order = [Candidate("metric", learn=True, form="full"), Candidate("gaussian")]
    order += [Candidate("metric", learn=True, form="diagonal")]
    order = [Candidate("gaussian", 0.3), *order]
    monkeypatch.setattr(trials_of_search, "candidates", lambda *given: order)
    search.run()
    assert [tried.candidate.family for tried in search.state.schedule] == [
        "gaussian",
        "gaussian",
        "metric",
        "metric",
    ]
    assert measured == [1]


def test_a_budget_too_small_for_anything_still_gives_a_model(clock):
    model = KernelRegressor(time=0.01, progress=clock).fit(TABLE, WAVE)
    assert len(model.schedule_) == 2
    assert model.schedule_[0]["steps"] == [1] * 5
    assert model.schedule_[-1]["rank"] is None  # so few rows take no time
    assert np.isfinite(model.predict(TABLE)).all()


@pytest.mark.full
@pytest.mark.parametrize("time", few(1, [9, 6, 14]))
def test_a_timed_search_replays_without_a_clock(clock, rungs, time):
    model = KernelClassifier(time=time, progress=clock).fit(TABLE, RING)
    clock.tick = 1000
    again = KernelClassifier(replay=model.schedule_, progress=clock).fit(TABLE, RING)
    same_model(model, again)


def test_a_schedule_is_plain_data():
    import json

    model = KernelClassifier(trials=2).fit(TABLE, RING)
    assert json.loads(json.dumps(model.schedule_)) == model.schedule_


@pytest.mark.full
def test_an_interrupt_keeps_the_best_so_far():
    def interrupt(event):
        if event.get("done") == 4 and not event["trial"].startswith("final fit"):
            raise KeyboardInterrupt

    model = KernelRegressor(progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(TABLE, WAVE)
    assert len(model.schedule_) == 5
    assert "Interrupted after 4 trials; the best candidate so far was kept." in model.notices_
    assert model.interrupted_ == "search"
    whole = KernelRegressor(trials=4).fit(TABLE, WAVE)
    assert whole.interrupted_ is None
    same_model(model, whole)


def test_an_interrupt_before_anything_was_tried_is_passed_on():
    def interrupt(event):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        KernelRegressor(progress=interrupt).fit(TABLE, WAVE)


def test_nothing_more_is_tried_after_a_perfect_score():
    y = np.where(X[:, 0] > 0, "right", "left")
    gap = np.abs(X[:, 0]) > 0.3
    model = KernelClassifier().fit(X[gap], y[gap])
    assert model.leaderboard_[0]["score"] == 1
    assert len(model.schedule_) < 6
    assert any("makes no error" in notice for notice in model.notices_)


def test_progress_is_told_before_each_trial():
    events = []
    model = KernelClassifier(trials=2, progress=events.append).fit(TABLE, RING)
    assert [event["trial"] for event in events] == [
        "baseline: trivial", "baseline: linear (spline)",
        "SVC: laplacian of normal scores, scale 3", "SVC: gaussian, scale 2",
        *(f"final fit: {candidate.name}" for _, candidate, _ in model.parts_),
    ]  # fmt: skip
    told = [(event["done"], event["of"]) for event in events[2:]]
    assert told == [(0, 2), (1, 2)] + [(2, 2)] * len(model.parts_)
    assert len(events[3]["leaderboard"]) == 3


def test_coarse_scores_are_settled_by_the_loss():
    model = KernelClassifier(trials=1).fit(TABLE, RING)
    search = search_of(model, RING, "accuracy")
    scores = [(0.90, 0.5), (0.88, 0.4), (0.80, 0.1)]
    rows = [Tried(None, "", 100, score=score, loss=loss) for score, loss in scores]
    assert search.state.board.settled(rows) is rows[1]
    search.state.board.metric = metric_named("log_loss", "classification")
    rows = [Tried(None, "", 9, score=loss, loss=loss) for loss in (0.3, 0.2)]
    assert search.state.board.settled(rows) is rows[1]


def test_factors_of_the_search_fit_into_a_part_of_the_memory():
    """A quarter for the factor of float32, and another for six matrices of its rank."""
    model = KernelRegressor(trials=1).fit(TABLE, WAVE)
    for memory in (10**5, 10**6, 10**7, 10**9):
        search = search_of(model, WAVE, memory=memory)
        for rows in (100, 1000, 20_000):
            rank = search.state.rungs._affordable_rank(rows, 500)
            assert 1 <= rank <= min(500, rows)
            if rank > 1:
                assert max(4 * rows * rank, 48 * rank**2) <= memory / 4
            if rank < min(500, rows):  # as many as fit
                assert max(4 * rows * (rank + 1), 48 * (rank + 1) ** 2) > memory / 4


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_one_fold_is_predicted_with_a_penalty_that_the_other_rows_choose(rungs, learn, grouped):
    noisy = X[:, 0] + 2 * RNG.normal(size=240)
    entry = {"family": "gaussian", "scale": 0.3, "learn": False, "rows": 200, "rank": 60}
    if learn:
        entry |= {"family": "interactions", "scale": 1.0, "learn": True}
    schedule = [entry | {"steps": [3] if learn else []}]
    groups = np.arange(240) // 3 if grouped else None
    model = KernelRegressor(replay=schedule, metric="r2").fit(TABLE, noisy, groups=groups)
    row = next(row for row in model.leaderboard_ if not row["baseline"])
    assert row["rows"] == 200
    assert row["penalty"] > 1e-3  # 1e-8 would fit the noise
    assert row["score"] > -0.5
    model = KernelClassifier(replay=schedule).fit(TABLE, RING, groups=groups)
    row = next(row for row in model.leaderboard_ if not row["baseline"])
    assert row["loss"] < 0.69  # of a coin


@pytest.mark.full
def test_sums_of_many_classes_choose_as_good_a_penalty_as_all_of_them(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(350) % 70
    X = pd.DataFrame(rng.normal(size=(70, 4))[y] + 0.3 * rng.normal(size=(350, 4)))
    X.columns = list("abcd")
    schedule = [
        {"family": family, "machine": "ridge", "rows": 350, "rank": 350, "steps": []}
        for family in ("gaussian", "laplacian")
    ]
    model = KernelClassifier(replay=schedule).fit(X, y)
    monkeypatch.setattr(ridge_penalty, "MOST_OUTPUTS", 70)
    same = KernelClassifier(replay=schedule).fit(X, y)
    for one, other in zip(model.leaderboard_, same.leaderboard_, strict=True):
        assert one["name"] == other["name"]
        assert_allclose([one["score"], one["loss"]], [other["score"], other["loss"]], rtol=0.02)


def test_a_sum_that_was_too_late_on_few_rows_is_tried_on_many(monkeypatch, rungs):
    expected = forecasts.Forecast.expected
    first = []

    def slow_in_folds(self, candidate, rung):
        first.append(rung[0])
        slow = candidate.machine == "shapes" and rung[0] == min(first)
        return 1e3 if slow else expected(self, candidate, rung)

    monkeypatch.setattr(forecasts.Forecast, "expected", slow_in_folds)
    search = search_of(fitted_once(KernelRegressor), WAVE, seconds=100)
    order = [Candidate("gaussian"), Candidate("laplacian"), Candidate("shapes", machine="shapes")]
    monkeypatch.setattr(trials_of_search, "candidates", lambda *given: order)
    search.run()
    tried = [(e.rows, e.candidate.machine) for e in search.state.schedule]
    assert [rows for rows, machine in tried if machine == "shapes"] == [max(r for r, _ in tried)]
