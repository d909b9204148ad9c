"""The search: the same folds for all, budgets kept by a clock, schedules that replay."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelClassifier, KernelRegressor
from mercer.learners import ridge_penalty
from mercer.learners.limits import LIMITS, Limits
from mercer.selection import budget, finals, trials
from mercer.selection import clock as clocks
from mercer.selection import rungs as rungs_of_search
from mercer.selection.candidates import Candidate, candidates
from mercer.selection.column_rules import infer_columns
from mercer.selection.encoding import TableEncoder
from mercer.selection.leaderboard import Leaderboard
from mercer.selection.metrics import metric_named
from mercer.selection.recipes import Recipe
from mercer.selection.tasks import Classification, Regression
from mercer.selection.values import read_columns
from mercer.threads import Stopped

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(240, 3))
TABLE = pd.DataFrame(X, columns=list("abc")).assign(
    colour=np.array(list("rgb"))[RNG.integers(3, size=240)]
)
RING = np.where((X[:, 0] ** 2 + X[:, 1] ** 2 < 0.5) ^ (TABLE["colour"] == "r"), "in", "out")
WAVE = np.sin(4 * X[:, 0]) * X[:, 1] + 0.1 * RNG.normal(size=240)


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only when a trial is reported: ``clock.tick`` seconds each time."""

    class Clock:
        now, tick = 0.0, 1.0

        def __call__(self, event=None):
            self.now += self.tick

    clock = Clock()
    monkeypatch.setattr(budget, "monotonic", lambda: clock.now)
    return clock


@pytest.fixture
def rungs(monkeypatch):
    """Two rungs, for tables that are small."""
    monkeypatch.setattr(rungs_of_search, "ONE_RUNG_ROWS", 100)
    monkeypatch.setattr(rungs_of_search, "SMALL_ROWS", 90)
    monkeypatch.setattr(trials, "SMALL_ROWS", 90)
    monkeypatch.setattr(rungs_of_search, "RUNGS", ((120, 30), (200, 60)))
    monkeypatch.setattr(rungs_of_search, "ALL_ROWS", 100)
    monkeypatch.setattr(rungs_of_search, "LEARNING_ROWS", 50)
    monkeypatch.setattr(rungs_of_search, "SPARED_ROWS", 50)
    monkeypatch.setitem(LIMITS, "leave one out", Limits(100, 80))
    monkeypatch.setattr(finals, "SMALLEST_RANK", 20)
    monkeypatch.setattr(finals, "EXACT_ROWS", 100)


def search_of(model, y, metric=None, seconds=np.inf):
    """A new search of the rows that a model was fitted to."""
    Task = Classification if model.task == "classification" else Regression
    task, y = Task.read(y, len(y), "the test")
    return trials.Trials(
        task, model.encoder_.features_, model.encoder_.transform(TABLE), y,
        metric_named(metric, model.task), budget=budget.Budget(seconds), memory=10**9,
        seed=model._seed,
    )  # fmt: skip


def same_model(one, two):
    for part, same in zip(one.machine_.parts, two.machine_.parts, strict=True):
        assert_array_equal(part.learner.dual_coef_, same.learner.dual_coef_)
        assert_array_equal(part(part.learner.X_fit_), same(same.learner.X_fit_))
    assert repr(one.kernel_) == repr(two.kernel_)
    assert one.winner_ == two.winner_
    assert one.schedule_ == two.schedule_
    scores = [[row["score"] for row in model.leaderboard_] for model in (one, two)]
    assert_array_equal(*scores)


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
    rows, folds = search.rungs.folds(240)
    assert_array_equal(np.bincount(folds), [48] * 5)
    row = next(r for r in model.leaderboard_ if not r["baseline"])
    errors = []
    for f in range(5):
        train, own = rows[folds != f], rows[folds == f]
        kernel = Candidate("interactions").kernel(model.encoder_.features_)
        if learn:
            kernel = search._learn(Candidate("interactions", learn=True), train, 3, f)
        machine = Recipe().fit(search.task, kernel, search.M[train], WAVE[train])
        errors.append((machine.outputs(search.M[own])[:, 0] - WAVE[own]) ** 2)
    # the penalty is at its least, where float32 rounding of the kernel counts
    assert_allclose(row["score"], np.sqrt(np.mean(np.concatenate(errors))), rtol=1e-2)


def test_folds_are_stratified_and_spare_the_rows_that_weights_are_learnt_on(rungs):
    model = KernelClassifier(trials=1).fit(TABLE, RING)
    search = search_of(model, RING)
    rows, folds = search.rungs.folds(200)
    assert len(search.rungs.spared) == 50
    assert folds.max() == 0  # a quarter of the other rows, in one fold
    assert (folds == 0).sum() == 48  # 40 of the 50 are in no rung
    first, folds_of_first = search.rungs.folds(120)
    spared = first[folds_of_first == rungs_of_search.SPARED]
    assert set(spared) == set(search.rungs.spared) & set(first)
    for some, each, f in [(rows, folds, 0), *((first, folds_of_first, f) for f in range(3))]:
        assert not set(search.rungs.spared) & set(some[each == f])
        share = np.mean(RING[some[each == f]] == "in")
        assert abs(share - np.mean(RING[np.setdiff1d(some, search.rungs.spared)] == "in")) < 0.03


def test_some_kernels_are_learnt_from_more_rows_than_others(rungs, monkeypatch):
    monkeypatch.setattr(rungs_of_search, "FEW_LEARNING_ROWS", 20)
    search = search_of(KernelRegressor(trials=1).fit(TABLE, WAVE), WAVE)
    learnt = Candidate("interactions", learn=True)
    metric = Candidate("metric", learn=True, form="full")
    counts = [search.rungs.count_learning(c) for c in (learnt, replace(learnt, more=True), metric)]
    assert counts == [20, 50, 100]  # half of the last judge the metric
    names = [c.name for c in (learnt, replace(learnt, more=True))]
    assert names[1] == names[0] + " from more rows"


def test_all_rows_of_a_table_that_is_not_large_are_in_both_rungs(rungs, monkeypatch):
    monkeypatch.setattr(rungs_of_search, "ALL_ROWS", 240)
    monkeypatch.setattr(rungs_of_search, "RUNGS", ((120, 30), (300, 60)))
    search = search_of(KernelRegressor(trials=1).fit(TABLE, WAVE), WAVE)
    assert search.rungs.plan() == [(240, 30), (240, 60)]
    assert search.rungs.count_folds(240) == 3


def test_few_are_promoted_to_more_rows(rungs):
    model = KernelClassifier(trials=6).fit(TABLE, RING)
    *tried, final = model.schedule_
    second = len(tried) - 6  # a perfect one ends the search
    assert 1 <= second <= 6
    rungs = [(entry["rows"], entry["rank"]) for entry in tried]
    assert rungs == [(120, 30)] * 6 + [(200, 60)] * second
    assert final["rows"] is None
    alone = [row for row in model.leaderboard_ if not row["name"].startswith("mean of")]
    assert [row["rows"] for row in alone] == [200] * second + [120] * (8 - second)
    names = [row["name"] for row in alone]
    assert len(names) == len(set(names)) == 8
    # each kernel is learnt once, in the first rung, whatever the machine
    kernels = {(entry["family"], entry["form"]) for entry in tried if entry["learn"]}
    assert sum(len(entry["steps"]) for entry in tried) == len(kernels)
    assert sum(entry["learn"] for entry in tried) > len(kernels)


@pytest.mark.parametrize("table", [TABLE, X])
def test_counted_trials_give_the_same_model_whatever_the_threads(table):
    same_model(
        KernelClassifier(trials=3, n_jobs=1, random_state=3).fit(table, RING),
        KernelClassifier(trials=3, n_jobs=2, random_state=3).fit(table, RING),
    )


def test_threads_do_not_matter_to_large_tables_either(rungs):
    same_model(
        KernelRegressor(trials=2, n_jobs=1).fit(TABLE, WAVE),
        KernelRegressor(trials=2, n_jobs=2).fit(TABLE, WAVE),
    )


def test_the_best_of_each_family_are_promoted_first(rungs):
    model = KernelRegressor(trials=9).fit(TABLE, WAVE)
    *tried, _ = model.schedule_
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


def test_ridge_is_local_on_more_rows(rungs, monkeypatch):
    """The best ridge machine of the first rung is tried with low rank too, as it was there."""
    monkeypatch.setattr(finals, "LEAF_ROWS", 60)
    monkeypatch.setattr(finals, "LEAVES", (60, 30))
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


@pytest.mark.parametrize(("left", "expected"), [(1e6, 2000), (50, 1000), (20, 500), (1e-3, 500)])
def test_less_time_means_smaller_leaves(clock, left, expected):
    model = KernelRegressor(trials=1).fit(TABLE, WAVE)
    search = search_of(model, WAVE, seconds=left)
    candidate = Candidate("gaussian", machine="local")
    search.finals.M = np.empty((400_000, 1))
    search.finals.entries[candidate.family, candidate.text, candidate.columns] = 1e-9
    final = search.finals.plan(candidate, 1e-3)
    assert final["leaf_rows"] == expected
    assert final["rank"] is None


@pytest.mark.parametrize(
    ("rows", "outputs", "wanted"),
    [(20_000, 1, True), (5000, 1, False), (20_000, 26, True), (20_000, 500, False)],
)
def test_where_leaves_are_tried(rows, outputs, wanted):
    search = search_of(KernelRegressor(trials=1).fit(TABLE, WAVE), WAVE)
    search.finals.memory, search.finals.costs.outputs = 10**10, outputs
    assert search.finals.local(rows) == wanted


def test_ridge_is_tried_early_where_it_is_local_and_classes_are_few():
    features = TableEncoder().fit(RNG.normal(size=(30, 4))).features_

    def early(classes, local):
        order = candidates(features, "classification", classes, local)
        assert sorted(map(str, order)) == sorted(map(str, candidates(features, "classification")))
        return sum(candidate.machine == "ridge" for candidate in order[:6])

    assert early(2, True) == 5
    assert early(2, False) == early(26, True) == 2


@pytest.mark.parametrize(("plan", "expected"), [({"rank": 500}, 6), ({"leaf_rows": 9}, 6), ({}, 9)])
def test_how_long_a_fit_to_all_rows_will_take(plan, expected):
    model = KernelRegressor(trials=1).fit(TABLE, WAVE)
    model.final_seconds_ = 4.0
    model.schedule_ = [plan | {"mean": [{"rank": 300}]}]
    assert model.refit_seconds(1.5) == expected


def test_those_that_are_promoted_are_the_best_even_if_some_were_left_out(rungs, monkeypatch):
    left_out = clocks.Clock.expected

    def expected(self, candidate, rung):
        return 1e9 if candidate.family == "gaussian" else left_out(self, candidate, rung)

    monkeypatch.setattr(clocks.Clock, "expected", expected)
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
    usual = {"baseline": False, "rows": 100}
    board.enter(usual | {"name": "a", "score": 0.9, "loss": 0.5, "place": 0})
    board.enter(usual | {"name": "b", "score": 0.88, "loss": 0.4, "place": 1})
    said = board.close()
    assert said.startswith("The winner is 'b': its accuracy is within one standard error")
    assert [row["rank"] for row in board.rows] == [1, 2]
    board.enter(usual | {"name": "b", "score": 0.95, "loss": 0.4, "place": 1})
    assert board.close() is None


def test_another_seed_is_another_search():
    one, two = (KernelRegressor(trials=1, random_state=s).fit(TABLE, WAVE) for s in (0, 1))
    assert one.leaderboard_[0]["score"] != two.leaderboard_[0]["score"]


def test_the_time_budget_ends_the_search(clock):
    model = KernelRegressor(time=10, progress=clock).fit(TABLE, WAVE)
    # two baselines and one second for each report, and a little is kept for the final fit
    tried = len(model.schedule_) - 1
    assert 3 <= tried <= 9
    assert f"The time budget had room for {tried} of 18 candidates on 240 rows." in model.notices_
    assert model.seconds_ <= 11  # the clock ticks once more when the final fit is reported


def test_a_budget_too_small_for_anything_still_gives_a_model(clock):
    model = KernelRegressor(time=0.01, progress=clock).fit(TABLE, WAVE)
    assert len(model.schedule_) == 2
    assert model.schedule_[0]["steps"] == [1] * 5
    assert model.schedule_[-1]["rank"] == finals.SMALLEST_RANK
    assert np.isfinite(model.predict(TABLE)).all()


@pytest.mark.parametrize("time", [6, 9, 14, 30])
def test_a_timed_search_replays_without_a_clock(clock, rungs, time):
    model = KernelClassifier(time=time, progress=clock).fit(TABLE, RING)
    clock.tick = 1000
    again = KernelClassifier(replay=model.schedule_, progress=clock).fit(TABLE, RING)
    same_model(model, again)


@pytest.mark.parametrize(
    ("left", "expected"),
    [(1e6, 3535), (170, 3000), (100, 2000), (1e-3, 300)],
)
def test_less_time_means_fewer_centres(clock, left, expected):
    model = KernelRegressor(trials=1).fit(TABLE, WAVE)
    search = search_of(model, WAVE, seconds=left)
    candidate = Candidate("gaussian")
    search.finals.M = np.empty((100_000, 1))
    search.finals.entries[candidate.family, candidate.text, candidate.columns] = 1e-9
    assert search.finals.plan(candidate, 1e-3)["rank"] == expected


@pytest.mark.parametrize(("rows", "left", "exact"), [(5000, 100, True), (5000, 0.5, False)])
def test_ridge_is_exact_where_there_is_time(clock, rows, left, exact):
    model = KernelRegressor(trials=1).fit(TABLE, WAVE)
    search = search_of(model, WAVE, seconds=left)
    search.finals.memory = 10**10
    search.finals.M = np.empty((rows, 1))
    candidate = Candidate("gaussian")
    search.finals.entries[candidate.family, candidate.text, candidate.columns] = 1e-9
    final = search.finals.plan(candidate, 1e-3)
    assert final["exact"] == exact
    assert (final["rank"] is None) == exact


@pytest.mark.parametrize(
    ("machine", "few"), [("svc", (20, 30_000, 60_000)), ("window", (3, 8000, 18_000))]
)
def test_a_machine_of_all_rows_takes_those_that_there_is_time_for(machine, few, clock):
    model = KernelClassifier(trials=1).fit(TABLE, RING)
    candidate = Candidate("gaussian", machine=machine)
    most_of_all = None if machine == "svc" else 20_000
    for left, least, most in [(1e6, most_of_all, most_of_all), few, (1e-3, 2000, 2000)]:
        search = search_of(model, RING, seconds=left)
        search.finals.M = np.empty((100_000, 1))
        search.finals.entries[candidate.family, candidate.text, candidate.columns] = 1e-9
        final = search.finals.plan(candidate, 10.0)
        assert final["penalty"] == (10.0 if machine == "svc" else None)
        rows = final["rows"]
        assert rows is None if least is None else least <= rows <= most


def test_a_schedule_is_plain_data():
    import json

    model = KernelClassifier(trials=2).fit(TABLE, RING)
    assert json.loads(json.dumps(model.schedule_)) == model.schedule_


def test_an_interrupt_keeps_the_best_so_far():
    def interrupt(event):
        if event["trial"] == "sum of many kernels, learnt weights":
            raise KeyboardInterrupt

    model = KernelRegressor(progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(TABLE, WAVE)
    assert len(model.schedule_) == 8  # weights from more rows are for larger tables
    assert "Interrupted after 7 trials; the best candidate so far was kept." in model.notices_
    assert model.interrupted_ == "search"
    whole = KernelRegressor(trials=7).fit(TABLE, WAVE)
    assert whole.interrupted_ is None
    same_model(model, whole)


@pytest.fixture
def told(monkeypatch):
    """What the final fits are told, and ``cut``: the exception that the first one raises."""
    from mercer.selection import final_fit

    class Told(list):
        cut: type[BaseException] | None = KeyboardInterrupt

    told, original = Told(), final_fit.Recipe

    class Cut(original):
        def fit(self, *args):
            told.append(self)
            if len(told) == 1 and told.cut is not None:
                raise told.cut
            return original.fit(self, *args)

    monkeypatch.setattr(final_fit, "Recipe", Cut)
    monkeypatch.setattr(final_fit, "QUICK_ROWS", 100)
    return told


@pytest.fixture
def late(told, clock, monkeypatch):
    """The first final fit is over its time; called, all later ones have theirs."""
    from mercer.selection import final_fit

    told.cut = None

    class Late(final_fit.Deadline):
        def __enter__(self):
            clock.now += 1000
            raise Stopped

    monkeypatch.setattr(final_fit, "Deadline", Late)
    return lambda: monkeypatch.setattr(final_fit, "Deadline", budget.Deadline)


def test_an_interrupt_of_the_final_fit_gives_a_quick_one(rungs, told):
    model = KernelRegressor(trials=1)
    model.fit_and_encode(TABLE, WAVE)  # does not raise: the command asks for what there is
    from mercer.selection.final_fit import SMALLEST_RANK

    assert [each.rank for each in told] == [80, SMALLEST_RANK]
    assert model.X_fit_.shape[0] == 100
    assert any(notice.startswith("Interrupted in the final fit") for notice in model.notices_)
    assert model.score(TABLE, WAVE) > 0.2
    assert model.interrupted_ == "final fit"
    again = KernelRegressor(replay=model.schedule_).fit(TABLE, WAVE)
    assert [each.rank for each in told[2:]] == [SMALLEST_RANK]
    assert again.schedule_ == model.schedule_
    same_model(model, again)


def test_a_late_support_vector_machine_has_fewer_rows(rungs, late, clock, monkeypatch):
    """The machine of the start took its place, which may be much worse."""
    from mercer.selection import automatic, final_fit

    monkeypatch.setattr(automatic, "ONE_RUNG_ROWS", 100)
    monkeypatch.setattr(final_fit, "FEWEST_ROWS", 90)
    monkeypatch.setattr(trials, "candidates", lambda *_: [Candidate("gaussian", machine="svc")])
    model = KernelClassifier(time=100, progress=clock).fit(TABLE, RING)
    assert model.winner_["machine"] == "svc"
    assert model.schedule_[-1]["rows"] == 90
    assert any("repeated with 90 of the rows" in notice for notice in model.notices_)
    assert model.score(TABLE, RING) > 0.7
    late()
    again = KernelClassifier(replay=model.schedule_).fit(TABLE, RING)
    assert_array_equal(again.predict(TABLE), model.predict(TABLE))


def test_a_quick_fit_of_a_small_table_has_the_kernel_of_a_fold(told):
    """It learnt one in a single step, which was much worse."""
    model = KernelRegressor(trials=1)
    model.fit_and_encode(TABLE, WAVE)
    assert model.winner_["family"] == "interactions"
    again = KernelRegressor(trials=1).fit(TABLE, WAVE)
    weights = np.array(model.kernel_.weights)
    assert weights.std() > 0.1  # after one step they are nearly equal
    assert not np.array_equal(weights, again.kernel_.weights)
    assert len(told) == 3


def test_time_is_kept_to_learn_the_kernel_of_the_final_fit():
    """A small table has no rows to spare, so that it is learnt again, from as many as in a fold."""
    search = search_of(KernelRegressor(trials=1).fit(TABLE, WAVE), WAVE, seconds=1000.0)
    learnt, plain = Candidate("interactions", learn=True), Candidate("gaussian")
    assert search.clock.final_learning(plain) == 0
    assert search.clock.final_learning(learnt) > 0
    search.finals.costs.observe("ridge, learning", 0.01, 0.1)
    before = search.clock.final_learning(learnt)
    assert search.clock.reserve(learnt, 1e-3) >= before
    winner, final = search.run(1)
    assert winner == learnt
    assert final["learning"] == 600  # of the 240 rows at most
    assert search.finals.whole(winner, 1e-3, None, before=0.0) is not None
    assert search.finals.whole(winner, 1e-3, None, before=1e6) is None


@pytest.mark.parametrize("early", [True, False])
def test_a_final_fit_that_is_not_done_in_time_leaves_a_quick_one(
    rungs, late, clock, monkeypatch, early
):
    """The machine that was fitted at the start of a large table, else a quick one."""
    from mercer.selection import automatic, final_fit

    monkeypatch.setattr(automatic, "ONE_RUNG_ROWS", 100 if early else 10**6)
    model = KernelRegressor(time=100, progress=clock).fit(TABLE, WAVE)
    assert model.interrupted_ is None
    assert any(notice.startswith("The time was over") for notice in model.notices_)
    assert model.schedule_[-1].get("early", False) == early
    assert (model.winner_name_ == final_fit.EARLY.name) == early
    assert model.score(TABLE, WAVE) > 0.1
    late()
    again = KernelRegressor(replay=model.schedule_).fit(TABLE, WAVE)
    assert again.winner_ == model.winner_
    assert again.schedule_ == model.schedule_


def test_the_machine_of_the_start_keeps_to_little_memory_again(rungs, late, clock, monkeypatch):
    """Its first fit did, but a repeated one and that to all rows asked for 300 centres."""
    from mercer.selection import automatic

    monkeypatch.setattr(automatic, "ONE_RUNG_ROWS", 100)
    model = KernelRegressor(time=100, memory="1MB", progress=clock).fit(TABLE, WAVE)
    assert model.schedule_[-1]["early"]
    late()
    replayed = KernelRegressor(replay=model.schedule_, memory="1MB").fit(TABLE, WAVE)
    assert_array_equal(replayed.predict(TABLE), model.predict(TABLE))
    model.refit(TABLE, WAVE)


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
        *(f"final fit: {candidate.name}" for candidate in model._candidates()),
    ]  # fmt: skip
    told = [(event["done"], event["of"]) for event in events[2:]]
    assert told == [(0, 2), (1, 2)] + [(2, 2)] * len(model._candidates())
    assert len(events[3]["leaderboard"]) == 3


def test_coarse_scores_are_settled_by_the_loss():
    model = KernelClassifier(trials=1).fit(TABLE, RING)
    search = search_of(model, RING, "accuracy")
    rows = [
        {"score": 0.90, "loss": 0.5, "rows": 100},
        {"score": 0.88, "loss": 0.4, "rows": 100},
        {"score": 0.80, "loss": 0.1, "rows": 100},
    ]
    assert search.board.settled(rows) is rows[1]
    search.board.metric = metric_named("log_loss", "classification")
    assert (
        search.board.settled(
            [{"score": 0.3, "loss": 0.3, "rows": 9}, {"score": 0.2, "loss": 0.2, "rows": 9}]
        )["score"]
        == 0.2
    )


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_candidates_suit_the_columns(task):
    one = candidates(TableEncoder().fit(X[:, :1]).features_, task)
    assert {c.family for c in one} == {"gaussian", "laplacian"}
    wide = candidates(TableEncoder().fit(RNG.normal(size=(30, 101))).features_, task)
    assert {c.family for c in wide} == {"gaussian", "laplacian", "screened"}
    assert all(c.family == "screened" for c in wide[:6])
    less_wide = candidates(TableEncoder().fit(RNG.normal(size=(30, 40))).features_, task)
    families = [c.family for c in less_wide]
    assert {"interactions", "metric"} < set(families[:6])
    assert families[6:12] == ["screened"] * 6
    of_table = candidates(TableEncoder().fit(TABLE).features_, task)
    assert len({c.name for c in of_table}) == len(of_table)
    machines = {c.machine for c in of_table}
    assert machines - {"svc"} == {"ridge", "window"}
    assert ("svc" in machines) == (task == "classification")


def test_many_classes_have_no_support_vector_machines():
    """A thousand classes have half a million pairs."""
    features = TableEncoder().fit(TABLE).features_
    assert any(c.machine == "svc" for c in candidates(features, "classification", 100))
    many = candidates(features, "classification", 101)
    assert many
    assert {c.machine for c in many} == {"ridge", "window"}


def test_integers_of_few_values_are_read_as_categories_too():
    table = TABLE.assign(count=RNG.integers(5, size=240))
    features = TableEncoder().fit(table).features_
    read = {c.columns for c in candidates(features, "classification")}
    assert read == {"scaled", "normal", "levels", "codes"}
    assert "levels" not in {
        c.columns for c in candidates(TableEncoder().fit(TABLE).features_, "classification")
    }


COUNTED = TABLE.assign(count=RNG.integers(5, size=240))


@pytest.mark.parametrize(
    "candidate",
    candidates(TableEncoder().fit(COUNTED).features_, "classification"),
    ids=lambda c: c.name,
)
def test_every_candidate_is_a_kernel(candidate):
    encoder = TableEncoder().fit(COUNTED)
    kernel = candidate.kernel(encoder.features_)
    Z = kernel.encode(encoder.transform(COUNTED[:40]))
    K = kernel.bind(Z).block(Z, Z).astype(float)
    assert_allclose(K.diagonal(), 1, rtol=1e-5)
    assert np.linalg.eigvalsh(K)[0] > -1e-4
    if candidate.scale <= 1:
        assert np.median(K) > 0.01  # no identity matrix in disguise


def test_factors_of_the_search_fit_into_a_part_of_the_memory():
    """A quarter for the factor of float32, and another for six matrices of its rank."""
    search = search_of(KernelRegressor(trials=1).fit(TABLE, WAVE), WAVE)
    for memory in (10**5, 10**6, 10**7, 10**9):
        search.rungs.memory = memory
        for rows in (100, 1000, 20_000):
            rank = search.rungs._affordable_rank(rows, 500)
            assert 1 <= rank <= min(500, rows)
            if rank > 1:
                assert max(4 * rows * rank, 48 * rank**2) <= memory / 4
            if rank < min(500, rows):  # as many as fit
                assert max(4 * rows * (rank + 1), 48 * (rank + 1) ** 2) > memory / 4


def test_the_candidates_of_a_table_in_their_order():
    """What is tried first matters when time is short; scales are parts of the names."""
    assert [c.name for c in candidates(TableEncoder().fit(TABLE).features_)] == [
        "interactions, learnt weights", "learnt metric, full", "learnt metric, absolute",
        "learnt metric, diagonal", "gaussian, scale 1", "window: interactions, learnt weights",
        "window: learnt metric, full", "sum of many kernels, learnt weights",
        "interactions, learnt weights, scale 3", "laplacian, scale 1", "additive",
        "interactions, learnt weights from more rows",
        "gaussian, scale 0.3", "laplacian, scale 0.3", "gaussian, scale 3",
        "interactions, equal weights", "laplacian, scale 3", "gaussian, scale 10",
        "gaussian, scale 0.1",
    ]  # fmt: skip


def test_texts_of_single_words_are_read_by_substrings_of_up_to_5_characters():
    names = np.array(["".join(RNG.choice(list("abcdef"), 9)) for _ in range(40)])[:, None]
    encoder = TableEncoder(infer_columns(read_columns(names), {0: "text"}, None)).fit(names)
    for text, longest in (("characters", 5), ("short substrings", 3), ("words", 5)):
        ((kernel, columns),) = Candidate("objects", text=text).kernel(encoder.features_).parts
        lengths = [part.kernel.k for part in kernel.kernel.kernels]
        assert (lengths, list(columns)) == ([*range(1, longest + 1)], [0])


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


def test_pieces_on_a_board_are_told_apart_by_their_distance():
    rng = np.random.default_rng(0)
    board = pd.DataFrame(rng.integers(0, 8, (300, 4)), columns=["a", "b", "c", "d"])
    near = (np.abs(board["a"] - board["b"]) < np.abs(board["c"] - board["d"])).to_numpy()
    schedule = [
        {"family": "laplacian", "columns": columns, "machine": "svc", "rows": 300, "rank": 300,
         "steps": []}
        for columns in ("scaled", "differences", "pairs")
    ]  # fmt: skip
    model = KernelClassifier(replay=schedule).fit(board, near)
    assert model.winner_name_ == "SVC: laplacian of differences, scale 1"
    scores = {row["name"]: row["score"] for row in model.leaderboard_}
    plain = scores["SVC: laplacian, scale 1"]
    assert scores[model.winner_name_] > plain + 0.03
    assert scores["SVC: laplacian of levels and differences, scale 1"] > plain
    features = model.encoder_.features_
    kernel = Candidate("laplacian", columns="pairs").kernel(features)
    read = {features[j].kind for _, columns in kernel.parts for j in columns}
    assert read == {"scaled", "level"}
    assert "pairs" in [c.columns for c in candidates(features, "classification")]
    with_text = board.assign(e=RNG.normal(size=300))
    assert "differences" in repr(
        [c.columns for c in candidates(model.encoder_.features_, "regression")]
    )
    plain = TableEncoder().fit(with_text[["a", "e"]]).features_
    assert all(c.columns != "differences" for c in candidates(plain, "classification"))


def test_sums_of_many_classes_choose_as_good_a_penalty_as_all_of_them(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(700) % 70
    X = pd.DataFrame(rng.normal(size=(70, 4))[y] + 0.3 * rng.normal(size=(700, 4)))
    X.columns = list("abcd")
    model = KernelClassifier(trials=4).fit(X, y)
    monkeypatch.setattr(ridge_penalty, "MOST_OUTPUTS", 70)
    same = KernelClassifier(trials=4).fit(X, y)
    for one, other in zip(model.leaderboard_, same.leaderboard_, strict=True):
        assert one["name"] == other["name"]
        assert_allclose([one["score"], one["loss"]], [other["score"], other["loss"]], rtol=0.02)
