"""The final fit to all rows: what there is time and memory for, and what is left of a late one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelClassifier, KernelRegressor
from mercer.machines.candidates.candidate import Candidate
from mercer.selection.automatic import kernel_machine
from mercer.selection.automatic.trials import trials
from mercer.threads import clock as clocks, raise_if_stopped
from selection.automatic.small_searches import RING, TABLE, WAVE, fitted_once, same_model, search_of


@pytest.mark.spread(2)
@pytest.mark.parametrize(("left", "expected"), [(1e6, 2000), (50, 1000), (20, 500), (1e-3, 500)])
def test_less_time_means_smaller_leaves(clock, left, expected):
    model = fitted_once(KernelRegressor)
    search = search_of(model, WAVE, seconds=left, M=np.empty((400_000, 1)))
    candidate = Candidate("gaussian", machine="local")
    search.state.finals.entries[candidate.family, candidate.text, candidate.columns] = 1e-9
    final = search.state.finals.plan(candidate, 1e-3)
    assert final.leaf_rows == expected
    assert final.rank is None


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    ("rows", "outputs", "wanted"),
    [(20_000, 1, True), (5000, 1, False), (20_000, 26, True), (20_000, 500, False)],
)
def test_where_leaves_are_tried(rows, outputs, wanted):
    search = search_of(fitted_once(KernelRegressor), WAVE, memory=10**10)
    search.state.costs.outputs = outputs
    assert search.state.finals.local(rows) == wanted


@pytest.mark.spread(2)
@pytest.mark.parametrize(("plan", "expected"), [({"rank": 500}, 6), ({"leaf_rows": 9}, 6), ({}, 9)])
def test_how_long_a_fit_to_all_rows_will_take(plan, expected):
    model = KernelRegressor(trials=1).fit(TABLE, WAVE)
    model.final_seconds_ = 4.0
    model.schedule_ = [plan | {"mean": [{"family": "gaussian", "rank": 300}]}]
    assert model.refit_seconds(1.5) == expected


def test_few_rows_have_no_centres_however_little_time_is_left(clock):
    model = fitted_once(KernelRegressor)
    search = search_of(model, WAVE, seconds=1e-3, M=np.empty((1000, 1)))
    candidate = Candidate("gaussian")
    search.state.finals.entries[candidate.family, candidate.text, candidate.columns] = 1e-6
    assert search.state.finals.plan(candidate, 1e-3).rank is None


@pytest.mark.parametrize(
    ("left", "memory", "expected"),
    [
        (1e6, 10**9, 3535),
        (170, 10**9, 2000),  # whose factor is computed again whenever it is read
        (20, 10**9, 1000),  # whose factor is kept
        (1e-3, 10**9, 300),
        (170, 10**10, 4000),
        (100, 10**10, 3000),
    ],
)
def test_less_time_and_memory_mean_fewer_centres(clock, left, memory, expected):
    model = fitted_once(KernelRegressor)
    M = np.empty((100_000, 1))
    search = search_of(model, WAVE, seconds=left, memory=memory, M=M)
    candidate = Candidate("gaussian")
    search.state.finals.entries[candidate.family, candidate.text, candidate.columns] = 1e-9
    assert search.state.finals.plan(candidate, 1e-3).rank == expected


@pytest.mark.parametrize(("rows", "left", "exact"), [(5000, 100, True), (5000, 0.5, False)])
def test_ridge_is_exact_where_there_is_time(clock, rows, left, exact):
    model = fitted_once(KernelRegressor)
    M = np.empty((rows, 1))
    search = search_of(model, WAVE, seconds=left, memory=10**10, M=M)
    candidate = Candidate("gaussian")
    search.state.finals.entries[candidate.family, candidate.text, candidate.columns] = 1e-9
    final = search.state.finals.plan(candidate, 1e-3)
    assert final.exact == exact
    assert (final.rank is None) == exact


@pytest.mark.parametrize(
    ("machine", "few"), [("svc", (20, 30_000, 60_000)), ("window", (3, 8000, 18_000))]
)
def test_a_machine_of_all_rows_takes_those_that_there_is_time_for(machine, few, clock):
    model = fitted_once(KernelClassifier)
    candidate = Candidate("gaussian", machine=machine)
    most_of_all = None if machine == "svc" else 20_000
    for left, least, most in [(1e6, most_of_all, most_of_all), few, (1e-3, 2000, 2000)]:
        search = search_of(model, RING, seconds=left, M=np.empty((100_000, 1)))
        search.state.finals.entries[candidate.family, candidate.text, candidate.columns] = 1e-9
        final = search.state.finals.plan(candidate, 10.0)
        assert final.penalty == (10.0 if machine == "svc" else None)
        rows = final.rows
        assert rows is None if least is None else least <= rows <= most


@pytest.fixture
def told(monkeypatch, sizes):
    """What the final fits are told, and ``cut``: the exception that the first one raises."""

    class Told(list):
        cut: type[BaseException] | None = KeyboardInterrupt

    told, original = Told(), kernel_machine.Fitter.fit

    def cut(self, candidate, plan, *args):
        told.append(plan)
        if len(told) == 1 and told.cut is not None:
            raise told.cut
        return original(self, candidate, plan, *args)

    monkeypatch.setattr(kernel_machine.Fitter, "fit", cut)
    sizes(quick_rows=100)
    return told


@pytest.fixture
def late(told, clock, monkeypatch):
    """The first final fit is over its time; called, all later ones have theirs."""
    told.cut = None

    class Late(kernel_machine.Deadline):
        def __enter__(self):
            clock.now += 1000
            raise KeyboardInterrupt

    monkeypatch.setattr(kernel_machine, "Deadline", Late)
    return lambda: monkeypatch.setattr(kernel_machine, "Deadline", clocks.Deadline)


def test_an_interrupt_of_the_final_fit_gives_a_quick_one(rungs, told):
    model = KernelRegressor(trials=1)
    model.fit_and_encode(TABLE, WAVE)  # does not raise: the command asks for what there is
    assert [each.rank for each in told] == [80, KernelRegressor.sizes.smallest_rank]
    assert model.X_fit_.shape[0] == 100
    assert any(notice.startswith("Interrupted in the final fit") for notice in model.notices_)
    assert model.score(TABLE, WAVE) > 0.2
    assert model.interrupted_ == "final fit"
    again = KernelRegressor(replay=model.schedule_).fit(TABLE, WAVE)
    assert [each.rank for each in told[2:]] == [KernelRegressor.sizes.smallest_rank]
    assert again.schedule_ == model.schedule_
    same_model(model, again)


@pytest.mark.parametrize("machine", ["svc", "shapes"])
def test_a_late_machine_that_is_good_on_few_rows_has_fewer(
    rungs, late, clock, sizes, machine, monkeypatch
):
    """The machine of the start took its place, which may be much worse; and in that of an additive
    model, of 280,000 rows, a kernel ridge with 300 centres, which was the last but seven."""
    sizes(fewest_rows=90)
    monkeypatch.setattr(trials, "candidates", lambda *_: [Candidate("gaussian", machine=machine)])
    model = KernelClassifier(time=100, progress=clock).fit(TABLE, RING)
    assert model.winner_["machine"] == machine
    assert model.schedule_[-1]["rows"] == 90
    assert any("repeated with 90 of the rows" in notice for notice in model.notices_)
    assert model.score(TABLE, RING) > 0.7
    late()
    again = KernelClassifier(replay=model.schedule_).fit(TABLE, RING)
    assert_array_equal(again.predict(TABLE), model.predict(TABLE))


@pytest.mark.parametrize("machine", ["svc", "ridge"])
def test_what_nothing_quicker_could_replace_is_not_begun_twice(
    late, clock, sizes, machine, monkeypatch
):
    """Of 192 series, beside busy processes, the late final fit was repeated as it was, which took
    as long again."""
    sizes(quick_rows=5000)
    monkeypatch.setattr(trials, "candidates", lambda *_: [Candidate("gaussian", machine=machine)])
    model = KernelClassifier(time=100, progress=clock).fit(TABLE, RING)
    assert model.winner_["machine"] == machine
    assert not {"quick", "instead", "early"} & set(model.schedule_[-1])
    assert not any(notice.startswith("The time was over") for notice in model.notices_)
    assert model.score(TABLE, RING) > 0.8


@pytest.mark.full
def test_the_notice_of_a_quick_fit_tells_of_rows_that_there_are(late, clock, sizes):
    """It spoke of 300 centres and 5,000 rows of a table of 192."""
    sizes(quick_rows=5000, smallest_rank=200)
    model = KernelRegressor(time=12, progress=clock).fit(TABLE, WAVE)
    assert model.schedule_[-1]["quick"]
    said = "the model is a quicker one, kernel ridge with 200 centres on 240 rows."
    assert f"The time was over in the final fit: {said}" in model.notices_


@pytest.mark.full
def test_a_trial_that_takes_the_time_of_the_final_fit_is_left(clock, monkeypatch):
    """A busy machine made one of them ten times as long as it was expected to be."""
    original, asked = trials.FoldFits.judge, []

    def judge(self, candidate, *given):
        if not candidate.simple:
            asked.append(candidate)
            if len(asked) == 3:
                clock.now += 95.0
                raise_if_stopped()
        return original(self, candidate, *given)

    monkeypatch.setattr(trials.FoldFits, "judge", judge)
    model = KernelRegressor(time=100, progress=clock).fit(TABLE, WAVE)
    assert [entry["family"] for entry in model.schedule_[:-1]] == [c.family for c in asked[:2]]
    assert any("took too long to be tried" in notice for notice in model.notices_)
    assert any("had room for 2 of" in notice for notice in model.notices_)
    assert model.interrupted_ is None


@pytest.mark.full
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
    search = search_of(fitted_once(KernelRegressor), WAVE, seconds=1000.0)
    learnt, plain = Candidate("interactions", learn=True), Candidate("gaussian")
    assert search.forecast.final_learning(plain) == 0
    assert search.forecast.final_learning(learnt) > 0
    search.state.costs.observe("ridge, learning", 0.01, 0.1)
    before = search.forecast.final_learning(learnt)
    assert search.forecast.reserve(learnt, 1e-3) >= before
    ((winner, final),) = search.run(1)
    assert winner == learnt
    assert final.learning == 600  # of the 240 rows at most
    assert search.state.finals.whole(winner, 1e-3, None, before=0.0) is not None
    assert search.state.finals.whole(winner, 1e-3, None, before=1e6) is None


@pytest.fixture
def good_start(monkeypatch):
    """The machine of the start is better than the winner's kernel on few rows."""
    monkeypatch.setattr(
        kernel_machine.FinalFit, "_early_is_better", lambda self, winner: self.early is not None
    )


def test_a_worse_machine_of_the_start_is_not_what_is_left(rungs, late, clock, sizes):
    """With the winner's kernel few rows are better than all with another one."""
    sizes(one_rung_rows=100)
    model = KernelRegressor(time=12, progress=clock).fit(TABLE, WAVE)
    assert "The time was over in the final fit: the model is a quicker one" in str(model.notices_)
    assert model.schedule_[-1]["quick"]
    assert model.winner_name_ in [row["name"] for row in model.leaderboard_]
    assert model.winner_name_ != kernel_machine.EARLY.name
    late()
    again = KernelRegressor(replay=model.schedule_).fit(TABLE, WAVE)
    assert_array_equal(again.predict(TABLE), model.predict(TABLE))


@pytest.mark.spread(1)
@pytest.mark.parametrize("early", [True, False])
def test_a_final_fit_that_is_not_done_in_time_leaves_a_quick_one(
    rungs, late, clock, sizes, early, good_start
):
    """The machine that was fitted at the start of a large table, else a quick one."""
    sizes(one_rung_rows=100 if early else 10**6)
    model = KernelRegressor(time=12, progress=clock).fit(TABLE, WAVE)
    assert model.interrupted_ is None
    assert any(notice.startswith("The time was over") for notice in model.notices_)
    assert model.schedule_[-1].get("early", False) == early
    assert (model.winner_name_ == kernel_machine.EARLY.name) == early
    assert model.score(TABLE, WAVE) > 0.1
    late()
    again = KernelRegressor(replay=model.schedule_).fit(TABLE, WAVE)
    assert again.winner_ == model.winner_
    assert again.schedule_ == model.schedule_


@pytest.mark.full
def test_a_table_with_texts_has_no_machine_of_the_start(rungs, late, clock):
    """It does not read them; few centres of the winner's kernel do."""
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(["red", "blue", "green", "old", "new"], 6)) for _ in TABLE["a"]]
    table = TABLE.assign(note=words)
    y = np.array([note.count("red") for note in words], float)
    model = KernelRegressor(time=12, progress=clock, kind={"note": "text"}).fit(table, y)
    assert not model.schedule_[-1].get("early", False)
    assert model.schedule_[-1]["quick"]
    assert model.score(table, y) > 0.5


@pytest.mark.full
def test_the_machine_of_the_start_keeps_to_little_memory_again(rungs, late, clock, good_start):
    """Its first fit did, but a repeated one and that to all rows asked for 300 centres."""
    model = KernelRegressor(time=100, memory="1MB", progress=clock).fit(TABLE, WAVE)
    assert model.schedule_[-1]["early"]
    late()
    replayed = KernelRegressor(replay=model.schedule_, memory="1MB").fit(TABLE, WAVE)
    assert_array_equal(replayed.predict(TABLE), model.predict(TABLE))
    model.refit(TABLE, WAVE)


@pytest.mark.full
def test_the_metric_of_the_final_fit_is_learnt_in_as_many_steps_as_those_of_the_folds():
    """It chose its own number by a fifth of the rows: none, where each fold gained by some."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 6))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=200)
    entry = {"family": "metric", "form": "full", "learn": True}
    model = KernelRegressor(replay=[entry | {"rows": 200, "rank": None, "steps": []}]).fit(X, y)
    assert model.schedule_[-1]["metric_steps"] >= 1

    def shares(steps):
        """Of the columns in the metric."""
        final = model.schedule_[-1] | {"metric_steps": steps}
        again = KernelRegressor(replay=[*model.schedule_[:-1], final]).fit(X, y)
        lengths = np.linalg.norm(again.kernel_.parts[0][0].metric.linear_map, axis=0)
        return lengths / lengths.sum()

    assert_allclose(shares(0), 1 / 6, rtol=0.2)
    one, two = shares(1), shares(2)
    assert one[0] > 0.3
    assert two[0] > one[0]
    same_model(model, KernelRegressor(replay=model.schedule_).fit(X, y))


def test_a_kernel_without_weights_knows_all_rows_of_the_final_fit(monkeypatch):
    """What is rare was told by as many rows as weights are learnt from."""
    texts = [f"{'good' if i % 2 else 'poor'} film number {i}" for i in range(60)]

    def fitted():
        return KernelClassifier(trials=1, only="kernels").fit(texts, np.arange(60) % 2)

    wanted = repr(fitted().kernel_)
    monkeypatch.setattr(kernel_machine, "learning_rows", lambda memory: 10)
    assert "substrings" in wanted
    assert repr(fitted().kernel_) == wanted
