"""A sum over columns and pairs as a candidate of the search, and as a machine that is given."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import AdditiveClassifier, AdditiveRegressor, KernelClassifier, KernelRegressor
from mercer.machines.candidates import candidates
from mercer.selection.automatic import KernelMachine
from mercer.tables import TableEncoder

RNG = np.random.default_rng(0)
N = 500
TABLE = pd.DataFrame({
    "age": RNG.uniform(20, 80, N).round(), "income": RNG.lognormal(8, 1, N),
    "city": RNG.choice(["Rome", "Oslo", "Bern"], N), "rooms": RNG.integers(1, 7, N),
})  # fmt: skip
TABLE.loc[::17, "income"] = np.nan
SUM = (
    3 * np.sin(TABLE["age"] / 12) + 2 * (TABLE["city"] == "Rome")
    - 3 * (TABLE["rooms"] > 3) * (TABLE["age"] > 50) + 0.1 * RNG.normal(size=N)
).to_numpy()  # fmt: skip
CLASSES = np.where(SUM > 0, "yes", "no")
TRAIN, TEST = slice(0, 400), slice(400, None)
BOTH = [(KernelRegressor, SUM), (KernelClassifier, CLASSES)]
IDS = ["numbers", "classes"]


def fitted(estimator, y):
    machines = [KernelMachine("shapes")]
    return estimator(machines=machines).fit(TABLE[TRAIN], y[TRAIN])


@pytest.mark.parametrize(("estimator", "y"), BOTH, ids=IDS)
def test_it_predicts_as_the_learner_on_the_table_itself(estimator, y):
    """The encoder fills in missing numbers, and the learner has a level for them."""
    model = fitted(estimator, y)
    learner = AdditiveRegressor if model.task == "regression" else AdditiveClassifier
    direct = learner().fit(TABLE[TRAIN], y[TRAIN])
    assert model.score(TABLE[TEST], y[TEST]) > 0.93
    assert abs(model.score(TABLE[TEST], y[TEST]) - direct.score(TABLE[TEST], y[TEST])) < 0.03


@pytest.mark.parametrize(("estimator", "y"), BOTH, ids=IDS)
def test_its_reasons_are_columns_and_pairs(estimator, y):
    model = fitted(estimator, y)
    texts = model.reasons(TABLE[TEST][:5], most=2).texts()
    assert list(texts) == ["because_1", "because_2"]
    names = {text.rsplit(" (", 1)[0] for column in texts.values() for text in column}
    assert names <= {"age", "income", "city", "rooms", "age × rooms", "income is missing"}
    assert "age" in names
    assert not len(model.stored_rows_)


def test_its_functions_are_in_the_units_of_the_table():
    model = fitted(KernelRegressor, SUM)
    shapes, surfaces = model.machine_.shapes(model.encoder_)
    age = next(shape for shape in shapes if shape.column == "age")
    known = age.counts[: len(age.levels)] > 0
    levels = np.array(age.levels)[known]
    assert levels[0] > 19.99
    assert levels[-1] < 80.01
    assert (np.diff(levels) > 0).all()
    city = next(shape for shape in shapes if shape.column == "city")
    assert set(city.levels) >= {"Rome", "Oslo", "Bern"}
    values = dict(zip(city.levels, city.values[:, 0]))
    assert values["Rome"] - values["Oslo"] == pytest.approx(2, abs=0.1)
    assert ("age", "rooms") in [surface.columns for surface in surfaces]


@pytest.mark.spread(1)
@pytest.mark.parametrize(("estimator", "y"), BOTH, ids=IDS)
def test_a_file_and_its_code_predict_the_same(estimator, y, tmp_path):
    model = fitted(estimator, y)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert_array_equal(again.predict(TABLE[TEST]), model.predict(TABLE[TEST]))
    names = {"X": TABLE[TRAIN], "y": y[TRAIN]}
    exec(model.code(), names)
    assert_array_equal(names["model"].predict(TABLE[TEST]), model.predict(TABLE[TEST]))
    refitted = model.refit(TABLE[TRAIN], y[TRAIN])
    assert_allclose(refitted.predict_proba(TABLE[TEST]) if estimator is KernelClassifier
                    else refitted.predict(TABLE[TEST]),
                    again.predict_proba(TABLE[TEST]) if estimator is KernelClassifier
                    else again.predict(TABLE[TEST]))  # fmt: skip


@pytest.mark.full
def test_a_search_keeps_it_where_it_is_best():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (600, 6))
    y = np.sign(X[:, 0]) + np.sin(4 * X[:, 1]) + X[:, 2] ** 2 + 0.3 * rng.normal(size=600)
    schedule = [
        {"family": family, "machine": machine, "rows": 600, "rank": 300, "steps": []}
        for family, machine in (("gaussian", "ridge"), ("shapes", "shapes"))
    ]
    model = KernelRegressor(replay=schedule).fit(X, y)
    assert "sum over columns and pairs" in model.winner_name_
    assert model.leaderboard_[0]["score"] > 0.8


def test_only_two_classes_have_such_a_candidate():
    features = TableEncoder().fit(TABLE).features_
    assert any(c.machine == "shapes" for c in candidates(features, "classification", 2))
    assert all(c.machine != "shapes" for c in candidates(features, "classification", 3))


@pytest.mark.full
def test_the_report_shows_its_functions(tmp_path):
    model = fitted(KernelClassifier, CLASSES)
    model.report(tmp_path / "report.html", TABLE[TEST], CLASSES[TEST])
    page = (tmp_path / "report.html").read_text()
    assert "The functions that the model adds up" in page
    assert "each adds to the log-odds of yes" in page
    other = KernelRegressor(trials=1).fit(TABLE[TRAIN], SUM[TRAIN])
    other.report(tmp_path / "other.html", TABLE[TEST], SUM[TEST])
    assert "The functions that the model adds up" not in (tmp_path / "other.html").read_text()


@pytest.mark.spread(1)
@pytest.mark.parametrize("learner", ["shapes", "neighbourhood"])
@pytest.mark.parametrize("task", ["numbers", "classes"])
def test_levels_are_read_by_their_effects(learner, task, tmp_path):
    rng = np.random.default_rng(0)
    level = rng.integers(0, 150, 1200)
    table = pd.DataFrame({"x": rng.normal(size=1200), "shop": [f"s{k}" for k in level]})
    y = np.sin(2 * table["x"]) + 2 * rng.normal(size=150)[level] + 0.2 * rng.normal(size=1200)
    y = y.to_numpy() if task == "numbers" else np.where(y > 0, "up", "down")
    estimator = KernelRegressor if task == "numbers" else KernelClassifier
    train, test = slice(0, 900), slice(900, None)

    def fit(reads):
        machine = KernelMachine(learner, reads=reads, steps=300)
        return estimator(machines=[machine], kind={"shop": "category"}).fit(table[train], y[train])

    model, plain = fit("effects"), fit("scaled")
    gain = 0.03 if learner == "shapes" else 0.01
    assert model.score(table[test], y[test]) > plain.score(table[test], y[test]) + gain
    assert "levels of shop count by their effects on the target" in model.solver_
    assert 'reads="effects"' in model.code()
    assert model.machine_.kernel.encode(model.encode(table[test]))
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    assert_array_equal(again.predict(table[test]), model.predict(table[test]))
    new = again.predict(table[test].assign(shop="another"))
    assert np.isfinite(new).all() if task == "numbers" else set(new) == {"up", "down"}


def test_machines_of_effects_come_first_where_a_column_has_many_levels():
    shops = [f"s{k % 40}" for k in range(800)]
    table = pd.DataFrame({"x": np.arange(800.0), "shop": shops})
    found = candidates(TableEncoder().fit(table).features_, "regression")
    assert [c.columns for c in found[:2]] == ["effects"] * 2
    few = TableEncoder().fit(table.assign(shop=list("abcd") * 200))
    assert "effects" not in {c.columns for c in candidates(few.features_, "regression")}
