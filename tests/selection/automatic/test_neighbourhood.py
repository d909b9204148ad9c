"""The learnt neighbourhood as a candidate of the search, and as a machine that is given."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.machines.candidates import Candidate, candidates, machine_kind
from mercer.selection.automatic import KernelMachine
from mercer.selection.automatic.trials import costs
from mercer.tables import ORIGINS, TableEncoder

RNG = np.random.default_rng(0)
N = 400
TABLE = pd.DataFrame({
    "a": RNG.uniform(size=N), "b": RNG.uniform(size=N), "kind": RNG.choice(list("xyz"), N),
    "count": RNG.integers(0, 5, N),
})  # fmt: skip
TABLE.loc[::17, "b"] = np.nan
STEPS = np.floor(4 * TABLE["a"]) + 2 * (TABLE["kind"] == "x") + TABLE["count"]
LEVELS = np.where(STEPS > 4, "high", np.where(STEPS > 2, "mid", "low"))
TRAIN, TEST = slice(0, 300), slice(300, None)
BOTH = [(KernelRegressor, STEPS.to_numpy()), (KernelClassifier, LEVELS)]
IDS = ["numbers", "classes"]


def fitted(estimator, y, **settings):
    machine = KernelMachine("neighbourhood", **settings)
    return estimator(machines=[machine]).fit(TABLE[TRAIN], y[TRAIN])


@pytest.mark.parametrize(("estimator", "y"), BOTH, ids=IDS)
def test_it_predicts_as_the_learner_itself(estimator, y):
    model = fitted(estimator, y)
    learner = model.machine_.learner
    rows = model.machine_.source.encode(model.encode(TABLE[TEST]))
    if model.task == "regression":
        assert_allclose(model.predict(TABLE[TEST]), learner.predict(rows)[:, 0], atol=1e-5)
    else:
        P = learner.predict_proba(rows)
        assert_array_equal(model.predict(TABLE[TEST]), model.classes_[P.argmax(axis=1)])
        assert_allclose(model.predict_proba(TABLE[TEST]), P, atol=3e-3)
    assert model.score(TABLE[TEST], y[TEST]) > 0.8


@pytest.mark.parametrize(("estimator", "y"), BOTH, ids=IDS)
def test_its_kernel_is_that_of_its_shares(estimator, y):
    """exp(-τ ‖z - z'‖), of which the shares are a row divided by its sum; positive definite."""
    model = fitted(estimator, y, members=2)
    M = model.encode(TABLE)
    K = model.kernel_(M)
    assert_allclose(K.diagonal(), 1, rtol=1e-5)
    assert np.linalg.eigvalsh(K.astype(float))[0] > -1e-4
    one = fitted(estimator, y)
    near = one.kernel_(one.encode(TABLE[TEST]), one.encode(TABLE[TRAIN]))
    machine = one.machine_
    shares = machine.learner.shares(machine.source.encode(one.encode(TABLE[TEST])))
    near = near[:, machine.learner.rows_]
    assert_allclose(shares, near / near.sum(axis=1, keepdims=True), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(("estimator", "y"), BOTH, ids=IDS)
def test_contributions_of_rows_add_up_to_the_output(estimator, y):
    model = fitted(estimator, y)
    machine, M = model.machine_, model.encode(TABLE[TEST])
    outputs = machine.outputs(M)
    for output in range(outputs.shape[1]):
        parts = machine.contributions(M, np.full(len(M), output)).sum(axis=1)
        whole = outputs[:, output]
        if model.task == "classification":
            parts = np.log((1 + parts) / 2 + 1e-3)
        assert_allclose(parts, whole, atol=2e-3)
    reasons = model.reasons(TABLE[TEST][:3])
    assert reasons.rows.shape == (3, 3)
    assert set(machine.stored.tolist()) <= set(range(300))


@pytest.mark.spread(1)
@pytest.mark.parametrize(("estimator", "y"), BOTH, ids=IDS)
def test_a_file_and_its_code_predict_the_same(estimator, y, tmp_path):
    model = fitted(estimator, y, members=2)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert_array_equal(again.predict(TABLE[TEST]), model.predict(TABLE[TEST]))
    names = {"X": TABLE[TRAIN], "y": y[TRAIN]}
    exec(model.code(), names)
    assert_array_equal(names["model"].predict(TABLE[TEST]), model.predict(TABLE[TEST]))
    refitted = model.refit(TABLE[TRAIN], y[TRAIN])
    assert_array_equal(refitted.predict(TABLE[TEST]), again.predict(TABLE[TEST]))


def test_it_is_compressed_to_few_rows():
    model = fitted(KernelRegressor, BOTH[0][1])
    before = model.predict(TABLE[TEST])
    model.compress(TABLE[TRAIN], 150)
    assert len(model.stored_rows_) <= 150
    assert np.corrcoef(before, model.predict(TABLE[TEST]))[0, 1] > 0.95


def test_a_table_of_categories_alone():
    table = TABLE[["kind"]].assign(other=RNG.choice(list("uvw"), N))
    y = np.where((table["kind"] == "x") ^ (table["other"] == "u"), "p", "q")
    model = KernelClassifier(machines=[KernelMachine("neighbourhood")]).fit(table, y)
    assert model.score(table, y) == 1
    assert_allclose(model.kernel_(model.encode(table[:5])).diagonal(), 1, rtol=1e-5)


def test_a_class_that_a_fold_lacks_is_most_unlikely():
    table, y = TABLE[:150], LEVELS[:150].copy()
    y[:2] = "rare"
    schedule = [
        {"family": "neighbourhood", "machine": "neighbourhood", "columns": "normal", "rows": 150,
         "rank": None, "steps": []}
    ]  # fmt: skip
    model = KernelClassifier(replay=schedule).fit(table, y)
    assert "learnt neighbourhood of normal scores" in model.winner_name_
    assert np.isfinite(model.predict_proba(table)).all()


def test_wide_tables_try_few_columns_too():
    wide = TableEncoder().fit(RNG.normal(size=(40, 13))).features_
    forms = [c.form for c in candidates(wide) if c.machine == "neighbourhood"]
    assert forms == ["", "pruned", ""]
    narrow = TableEncoder().fit(RNG.normal(size=(40, 12))).features_
    assert [c.columns for c in candidates(narrow) if c.machine == "neighbourhood"] == [
        "normal",
        "scaled",
    ]
    assert (
        Candidate("neighbourhood", machine="neighbourhood").kin
        != Candidate("neighbourhood", machine="neighbourhood", form="pruned").kin
    )


@pytest.mark.full
def test_columns_without_meaning_are_left_out():
    X = RNG.uniform(-1, 1, (250, 14))
    y = np.sign(X[:, 0]) * (1 + X[:, 1])
    pruned = Candidate("neighbourhood", machine="neighbourhood", columns="normal", form="pruned")
    schedule = [
        {"family": "neighbourhood", "machine": "neighbourhood", "columns": "normal",
         "form": "pruned", "rows": 250, "rank": None, "steps": []}
    ]  # fmt: skip
    model = KernelRegressor(replay=schedule).fit(X, y)
    assert model.leaderboard_[0]["name"] == pruned.name
    assert {0, 1} <= set(model.machine_.learner.kept_columns_)
    assert len(model.machine_.learner.kept_columns_) < 14


def test_wrong_settings_of_a_given_machine():
    known = r"\['normal', 'scaled', 'effects'\]"
    with pytest.raises(ValueError, match=f"reads='ranks': give one of {known}"):
        fitted(KernelRegressor, BOTH[0][1], reads="ranks")


LARGE = pd.DataFrame({
    "a": RNG.uniform(size=240), "b": RNG.uniform(size=240), "kind": RNG.choice(list("xyz"), 240),
})  # fmt: skip
HEIGHT = np.floor(4 * LARGE["a"].to_numpy()) + 2.0 * (LARGE["kind"] == "x")
SIDE = np.where(HEIGHT > 2, "high", "low")
LARGE_TASKS = pytest.mark.parametrize(
    ("estimator", "y"), [(KernelRegressor, HEIGHT), (KernelClassifier, SIDE)], ids=IDS
)


@pytest.mark.spread(1)
@LARGE_TASKS
def test_its_trial_on_a_large_table_is_its_final_fit(rungs, estimator, y, tmp_path):
    model = estimator(trials=2).fit(LARGE, y)
    second, final = model.schedule_[1], model.schedule_[-1]
    assert (second["machine"], second["rows"]) == ("neighbourhood", 200)
    assert final["once"]
    assert final["steps"] == second["steps"]
    learner = model.machine_.learner
    assert learner.n_steps_ == final["steps"]
    assert len(learner.rows_) == 240  # all rows vote
    assert len(model.stored_rows_) == 240
    row = next(r for r in model.leaderboard_ if r["name"] == model.winner_name_)
    assert (row["rank"], row["rows"]) == (1, 200)
    again = estimator(replay=model.schedule_).fit(LARGE, y)
    assert_array_equal(again.predict(LARGE), model.predict(LARGE))
    mercer.save(model, tmp_path / "model.mercer")
    told = []
    resumed = estimator(trials=2, progress=lambda event: told.append(event["trial"])).fit(
        LARGE, y, resume=mercer.load(tmp_path / "model.mercer")
    )
    assert not [name for name in told if name.startswith("learnt")]  # but for the model itself
    assert_array_equal(resumed.predict(LARGE), model.predict(LARGE))
    exec(model.code(), names := {"X": LARGE, "y": y})
    assert names["model"].score(LARGE, y) > 0.9
    assert model.refit(LARGE[:200], y[:200]).score(LARGE, y) > 0.9


@LARGE_TASKS
def test_its_score_is_that_of_rows_which_it_left_out(rungs, estimator, y):
    """What its trial predicts for the judged rows is the mean over all others in its space."""
    model = estimator(trials=2).fit(LARGE, y)
    learner, task = model.machine_.learner, model.task
    held = learner.validation_rows_
    assert 20 < len(held) < 60
    rows = model.machine_.source.encode(model.encode(LARGE))
    shares = learner.shares(rows)[held]
    shares[:, np.isin(learner.rows_, held)] = 0
    shares /= shares.sum(axis=1, keepdims=True)
    if task == "regression":
        expected = shares @ y[learner.rows_]
        assert_allclose(learner.validation_predictions_[:, 0], expected, rtol=1e-3, atol=1e-3)
        score = 1 - np.mean((y[held] - expected) ** 2) / np.var(y[held])
    else:
        expected = shares @ (y[learner.rows_][:, None] == model.classes_)
        assert_allclose(learner.validation_predictions_, expected, atol=1e-3)
        score = np.mean(model.classes_[expected.argmax(axis=1)] == y[held])
    row = next(r for r in model.leaderboard_ if r["name"].startswith("learnt"))
    assert_allclose(row["score"], score, rtol=1e-3)


def test_it_learns_nothing_from_the_groups_that_judge_it(rungs):
    groups = np.arange(240) // 12
    model = KernelRegressor(trials=2).fit(LARGE, HEIGHT, groups=groups)
    entry = model.schedule_[1]
    assert entry["machine"] == "neighbourhood"
    held = model.machine_.parts[0].learner.validation_rows_
    assert not set(groups[held]) & set(groups[np.setdiff1d(np.arange(240), held)])


def test_of_rows_in_time_each_period_has_a_network_of_what_was_before(rungs, monkeypatch):
    fitted, original = [], machine_kind("neighbourhood").fit

    def fit(self, recipe, task, kernel, X, y, weights):
        fitted.append(y)
        return original(recipe, task, kernel, X, y, weights)

    monkeypatch.setattr(type(machine_kind("neighbourhood")), "fit", fit)
    model = KernelRegressor(trials=2).fit(LARGE, HEIGHT, times=np.arange(240)[::-1])
    entry = model.schedule_[1]
    assert entry["machine"] == "neighbourhood"
    for part, y in zip(ORIGINS, fitted):
        assert set(y) <= set(HEIGHT[240 - int(240 * part) - 1 :])


@pytest.mark.full
def test_a_network_has_as_many_steps_as_its_part_of_the_time_holds(rungs, clock, monkeypatch):
    monkeypatch.setattr(costs, "LEAST_STEPS", 30)
    monkeypatch.setattr(costs.Finals, "_measured_step", lambda *_: (0.1, 0.2))
    few, many = (KernelRegressor(time=T).fit(LARGE, HEIGHT) for T in (20, 200))
    first, *_ = (e["steps"][0] for e in few.schedule_[:-1] if e["machine"] == "neighbourhood")
    all_, *_ = (e["steps"][0] for e in many.schedule_[:-1] if e["machine"] == "neighbourhood")
    assert 30 <= first <= 130 < all_ == 204
    again = KernelRegressor(replay=few.schedule_).fit(LARGE, HEIGHT)
    assert_array_equal(again.predict(LARGE), few.predict(LARGE))
    monkeypatch.setattr(costs.Finals, "_measured_step", lambda *_: (5.0, 0.2))
    none = KernelRegressor(time=20).fit(LARGE, HEIGHT)  # there is no time for so many steps
    assert all(e.get("machine") != "neighbourhood" for e in none.schedule_)


def test_a_network_whose_time_a_busy_process_took_has_one_step(rungs, clock, monkeypatch):
    """There was time when it was chosen, and none when it began: the search goes on."""
    found = iter([(60, 1.0)])
    monkeypatch.setattr(costs.Finals, "steps", lambda *_: next(found, (0, 0.0)))
    model = KernelRegressor(time=20).fit(LARGE, HEIGHT)
    network = next(e for e in model.schedule_ if e.get("machine") == "neighbourhood")
    assert network["steps"] == [1]
    assert model.score(LARGE, HEIGHT) > 0.5
