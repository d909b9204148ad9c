"""The mean of machines: what it computes, when it is taken, and that everything knows all."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.machines import means
from mercer.machines.candidates.candidate import Candidate, Tried
from mercer.machines.means import (
    MOST,
    HeldPredictions,
    greedy_weights,
    mean_name,
)
from mercer.machines.settings import Sizes
from mercer.machines.tasks import Classification, Regression
from mercer.selection.automatic import KernelMachine, kernel_machine
from mercer.selection.automatic.trials.rungs import Rungs
from mercer.selection.automatic.trials.state import Leaderboard
from mercer.tables import Related
from mercer.threads.clock import Deadline

RNG = np.random.default_rng(5)
TABLE = pd.DataFrame({name: RNG.normal(size=240) for name in "abc"}).assign(
    d=RNG.choice(["red", "blue"], 240)
)
SMOOTH = np.sin(2 * TABLE["a"].to_numpy())
WAVE = SMOOTH + 1.0 * (TABLE["b"] > 0) * (TABLE["d"] == "red") + 0.1 * RNG.normal(size=240)
RING = np.where(WAVE + 0.3 * RNG.normal(size=240) > 0.3, "in", "out")
NEW = pd.DataFrame({name: RNG.normal(size=60) for name in "abc"}).assign(
    d=RNG.choice(["red", "blue"], 60)
)

SHARES = (0.5, 0.3, 0.2)
SETTINGS: Any = SimpleNamespace(task=Regression(), memory=64_000, sizes=Sizes(), only=None)


@pytest.fixture
def eager(monkeypatch, sizes):
    """Any mean will do that is not worse, so that there is one."""
    sizes(gain=-np.inf)

    def weights(task, votes, y, w=None):
        return np.array([*SHARES[: len(votes)], *[0.0] * (len(votes) - 3)])

    monkeypatch.setattr(means, "greedy_weights", weights)
    original = Leaderboard.settled

    def settled(self, rows):
        means = [row for row in rows if row.name.startswith("mean of")]
        return means[-1] if means else original(self, rows)

    monkeypatch.setattr(Leaderboard, "settled", settled)


def fitted(kind, **settings):
    model = kind(trials=3, only="kernels", **settings).fit(
        TABLE, WAVE if kind is KernelRegressor else RING
    )
    assert len(model.schedule_[-1]["mean"]) == 2
    assert len(model.machine_.parts) == 3
    return model


KINDS = pytest.mark.parametrize("kind", [KernelRegressor, KernelClassifier])


def answers(model, X=NEW):
    return model.predict(X) if isinstance(model, KernelRegressor) else model.predict_proba(X)


@KINDS
def test_it_is_the_mean_of_predictions_or_of_log_odds(kind, eager):
    model = fitted(kind)
    M = model.encode(NEW)
    one, other, third = (part(M) for part in model.machine_.parts)
    if kind is KernelRegressor:
        return assert_allclose(answers(model), 0.5 * one + 0.3 * other + 0.2 * third, rtol=1e-12)
    odds = np.prod([(P[:, 1] / P[:, 0]) ** share
                    for P, share in zip((one, other, third), SHARES)], axis=0)  # fmt: skip
    P = answers(model)
    assert_allclose(P[:, 1] / P[:, 0], odds, rtol=1e-9)
    return assert_allclose(P.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.spread(1)
@KINDS
def test_what_the_stored_rows_add_makes_the_outputs(kind, eager):
    model = fitted(kind)
    machine, M = model.machine_, model.encode(NEW)
    which = np.zeros(len(M), int)
    added = machine.contributions(M, which)
    assert added.shape == (len(M), len(machine.stored))
    parts = [
        part.finish.slope * share * part.contributions(M, which).sum(axis=1)
        for part, share in zip(machine.parts, SHARES)
    ]
    assert_allclose(added.sum(axis=1), sum(parts), rtol=1e-6, atol=1e-9)
    assert_array_equal(model.stored_rows_, np.unique(np.concatenate(machine.numbers)))
    reasons = model.reasons(NEW[:5])
    assert reasons.stored == len(model.stored_rows_)
    assert set(reasons.rows.ravel()) <= {-1, *model.stored_rows_}


@pytest.mark.spread(1)
@KINDS
def test_files_replays_code_and_further_fits_know_both(kind, eager, tmp_path):
    model = fitted(kind)
    wanted = answers(model)
    mercer.save(model, tmp_path / "model.mercer")
    assert_array_equal(answers(mercer.load(tmp_path / "model.mercer")), wanted)
    y = WAVE if kind is KernelRegressor else RING
    again = kind(replay=model.schedule_).fit(TABLE, y)
    assert again.winner_name_ == model.winner_name_
    assert_array_equal(answers(again), wanted)
    room = {"X": TABLE, "y": y}
    exec(model.code(), room)
    assert_allclose(answers(room["model"]), wanted, rtol=1e-6, atol=1e-9)
    assert_allclose(answers(model.refit(TABLE, y)), wanted, rtol=1e-6, atol=1e-9)
    few = answers(model.compress(TABLE, 200))
    assert len(model.machine_.parts) == 1
    assert np.abs(few - wanted).mean() < 0.1


def test_the_report_tells_the_kernel_of_each_machine(eager, tmp_path):
    model = fitted(KernelRegressor)
    path = tmp_path / "r.html"
    told = mercer.plots.save_report(path, model, TABLE[:60], WAVE[:60], time=2)["machines"]
    kernels = [part.kernel for part in model.machine_.parts]
    assert [words.kernel.code for words in told] == [repr(kernel) for kernel in kernels]
    assert len({words.learner for words in told}) == 3
    page = path.read_text("utf-8")
    assert "Machine 3 of 3" in page
    assert page.count('class="formula"') == 3


@pytest.mark.full
def test_relevance_is_that_of_the_part_that_has_learnt_weights(eager):
    model = fitted(KernelRegressor)
    learnt = [candidate.learn for _, candidate, _ in model.parts_]
    assert any(learnt)
    assert set(model.relevance()) <= {"a", "b", "c", "d"}
    assert len(model.relevance()) >= 2


@pytest.mark.full
def test_there_is_none_without_a_gain(sizes):
    sizes(gain=0.99)
    model = KernelRegressor(trials=3, only="kernels").fit(TABLE, WAVE)
    assert "mean" not in model.schedule_[-1]
    assert not any(row["name"].startswith("mean of") for row in model.leaderboard_)


def tried(name, loss, *candidate, rows=4):
    return Tried(Candidate(*candidate or ("gaussian",)), name, rows, loss=loss)


def test_the_weights_are_those_of_the_least_loss():
    rng = np.random.default_rng(0)
    y, noise = rng.normal(size=3000), rng.normal(size=(5, 3000))
    votes = y + np.array([0.5, 0.5, 1.0, 8.0, 0.7])[:, None] * noise
    found = greedy_weights(Regression(), votes, y)
    inverse = 1 / np.array([0.25, 0.25, 1.0, 64, 0.49])
    assert found[3] == 0  # below 0.03
    assert found.sum() == pytest.approx(1, abs=2e-4)
    assert_allclose(found, inverse / inverse.sum(), atol=0.05)
    many = greedy_weights(Regression(), y + rng.normal(size=(9, 3000)), y)
    assert np.count_nonzero(many) == MOST
    assert many[0] > 0


def test_weights_of_classes_are_those_of_log_odds():
    rng = np.random.default_rng(0)
    task = Classification(np.array([0, 1]))
    odds = 3 * rng.normal(size=2000)
    y = (rng.uniform(size=2000) < 1 / (1 + np.exp(-odds))).astype(int)
    noisy = odds + np.array([[1.0], [2.0]]) * rng.normal(size=(2, 2000))
    votes = np.stack([np.zeros_like(noisy), noisy], axis=2)
    found = greedy_weights(task, votes, y)
    tried = np.linspace(0, 1, 41)
    losses = [
        task.loss(y, task.of_votes(share * votes[0] + (1 - share) * votes[1])) for share in tried
    ]
    assert found[0] == pytest.approx(tried[np.argmin(losses)], abs=0.05)


def test_the_winner_comes_first_and_the_best_of_each_family_may_join():
    y, parts = np.array([0.0, 1.0, 2.0, 9.0]), np.array([0, 1, 2, -1])
    held = HeldPredictions(SETTINGS)
    held.keep(tried("a", 1.0, "gaussian"), y + 1)
    held.keep(tried("b", 1.21, "laplacian"), y - 1.1)
    held.keep(tried("worse", 9.0, "laplacian", 3.0), y - 1.0)  # of a family that is known
    held.keep(tried("large", 0.1, "metric"), np.zeros(1000))
    held.keep(tried("few rows", 0.1, "additive", rows=3), np.zeros(3))
    found = held.weigh(tried("a", 1.0), y, parts, None)
    assert found.name == "mean of a + b"
    assert [row.candidate for row in found.rows] == [Candidate("gaussian"), Candidate("laplacian")]
    assert_allclose(found.weights, [0.525, 0.475])
    assert_allclose(found.predicted[:3], y[:3] + 0.525 - 1.1 * 0.475)
    assert np.isnan(found.predicted[3])
    assert held.weigh(tried("unknown", 1.0), y, parts, None) is None
    held.keep(tried("a", 0.0, "gaussian"), y)
    assert held.weigh(tried("a", 0.0), y, parts, None) is None  # nothing helps


def test_rows_are_not_scored_with_the_weights_that_they_chose():
    """Each part is predicted with the weights of the others; one part alone has no mean."""
    y, parts = np.zeros(4), np.array([0, 0, 1, 1])
    held = HeldPredictions(SETTINGS)
    held.keep(tried("a", 1.0, "gaussian"), np.array([1.0, 1.0, 1.0, 1.0]))
    held.keep(tried("b", 1.0, "laplacian"), np.array([-1.0, -1.0, 2.0, 2.0]))
    found = held.weigh(tried("a", 1.0), y, parts, None)
    assert_allclose(found.predicted, [1.0, 1.0, 1.5, 1.5])  # the second part has chosen a alone
    assert 0 < found.weights[1] < 0.5  # that of all rows
    assert held.weigh(tried("a", 1.0), y, np.zeros(4, int), None) is None


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(8), 5)])
def test_the_rows_of_one_fold_choose_for_each_other_by_whole_groups(groups):
    y, folds = np.tile([0.0, 1.0], 20), np.where(np.arange(40) < 35, 0, -1)
    related = None if groups is None else Related(groups=groups)
    given = SimpleNamespace(related=related, task=Classification(np.unique(y)), y=y, seed=0)
    parts = Rungs.divided(SimpleNamespace(settings=given), np.arange(40), folds)
    assert set(parts[:35]) == {0, 1, 2}
    assert (parts[35:] == -1).all()
    if groups is None:
        assert max(abs(y[parts == part].mean() - 0.5) for part in range(3)) < 0.1
    else:
        assert all(len(set(parts[groups == group])) == 1 for group in range(7))


@pytest.mark.spread(1)
@pytest.mark.parametrize("metric", ["f1", "accuracy"])
def test_decision_weights_are_chosen_on_the_rows_that_were_left_out(metric, eager):
    model = fitted(KernelClassifier, metric=metric)
    assert (np.ptp(model.decision_weights_) > 0) == (metric == "f1")


def test_ordered_classes_have_weighed_means_too(eager):
    y = np.array(["low", "medium", "high"])[np.digitize(WAVE, [-0.2, 0.5])]
    model = KernelClassifier(trials=3, only="kernels", order=["low", "medium", "high"])
    model.fit(TABLE, y)
    assert_allclose(model.machine_.shares, SHARES)
    off = {"low": 0, "medium": 1, "high": 2}
    steps = np.abs([off[a] - off[b] for a, b in zip(model.predict(TABLE), y)])
    assert steps.mean() < 0.3


@pytest.mark.full
def test_quantiles_are_those_around_the_weighed_mean(eager):
    model = fitted(KernelRegressor)
    low, high = model.predict_interval(NEW).T
    assert ((low < model.predict(NEW)) & (model.predict(NEW) < high)).all()


@pytest.mark.parametrize("weight", [0, -1.0, np.nan])
def test_a_weight_is_above_zero(weight):
    with pytest.raises(ValueError, match="give a number above 0"):
        KernelRegressor(machines=[KernelMachine("linear", weight=weight)]).fit(TABLE, WAVE)


def test_its_name_tells_machines_apart_whose_names_have_commas():
    assert mean_name(["a, 1", "b, 2", "c"]) == "mean of a, 1 + b, 2 + c"
    assert mean_name(["a, 1"]) == "a, 1"


def test_weights_of_rows_count_in_the_choice():
    y, votes = np.zeros(2), np.array([[1.0, 1.0], [-1.0, 3.0], [3.0, -1.0]])
    for weights, best in ([50.0, 1.0], 1), ([1.0, 50.0], 2):
        found = greedy_weights(Regression(), votes, y, np.array(weights))
        assert found[1:].argmax() == best - 1


def test_the_mean_of_probabilities_is_that_of_log_odds():
    task = Classification(np.array([0, 1]))
    mean = task.mean([np.array([[0.5, 0.5]]), np.array([[0.2, 0.8]])])
    assert_allclose(mean, [[1 / 3, 2 / 3]])
    P = [[0.5, 0.5], [0.2, 0.8], [0.8, 0.2]]
    assert_allclose(task.mean([np.array([row]) for row in P]), [[0.5, 0.5]])
    assert_allclose(task.plain()(np.log(mean)), mean)


@pytest.mark.spread(1)
@pytest.mark.parametrize("whole", [1, 2])
def test_without_time_for_all_the_mean_is_that_of_fewer(whole, eager, monkeypatch):
    class Late(Deadline):
        """The time is over when a machine after the first ``whole`` is to be fitted."""

        fits = 0

        def __enter__(self):
            type(self).fits += 1
            if type(self).fits > whole:
                raise KeyboardInterrupt
            return super().__enter__()

        def is_over(self):
            return type(self).fits > whole

    monkeypatch.setattr(kernel_machine, "Deadline", Late)
    model = KernelRegressor(trials=3, only="kernels").fit(TABLE, WAVE)
    assert len(model.schedule_[-1].get("mean", [])) == whole - 1
    assert model.interrupted_ is None
    assert len(model.machine_.parts) == whole
    assert any("no time to fit 3 machines" in notice for notice in model.notices_)
    assert model.winner_name_ in [row["name"] for row in model.leaderboard_]
    alone = Candidate.of(model.winner_).name
    assert (model.winner_name_ == alone) == (whole == 1)
    Late.fits = -9  # time enough
    again = KernelRegressor(replay=model.schedule_).fit(TABLE, WAVE)
    assert_array_equal(answers(again), answers(model))


@pytest.mark.full
def test_ctrl_c_in_the_second_fit_keeps_the_winner(eager):
    seen = []

    def interrupt(event):
        seen.append(event["trial"])
        if sum(name.startswith("final fit") for name in seen) == 2:
            raise KeyboardInterrupt

    model = KernelRegressor(trials=3, progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(TABLE, WAVE)
    assert model.interrupted_ == "final fit"
    assert model.predict(NEW).shape == (60,)
