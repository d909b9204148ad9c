"""Learnt neighbourhoods: what they find, what they tell, the same machine for the same rows."""

import pickle
from itertools import count
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    NeighbourhoodMachineClassifier as Classifier,
    NeighbourhoodMachineRegressor as Regressor,
)
from mercer.learners.neighbourhoods.trials import ladder
from mercer.solvers.neighbourhoods import network as draws
from neighbourhood_twin import Twin, smoothed

QUICK = {"steps": 60, "hidden": 32, "scaling": "standard", "random_state": 0}


@parametrize_with_checks([Regressor(**QUICK), Classifier(**QUICK)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def rules(n=600, d=4, seed=0):
    """Whether two of some whole numbers are equal, which no column tells by itself."""
    X = np.random.default_rng(seed).integers(0, 4, (n, d)).astype(float)
    return X, X[:, 0] == X[:, 1]


def stairs(n=500, d=3, seed=0):
    X = np.random.default_rng(seed).uniform(size=(n, d))
    return X, np.floor(4 * X[:, 0]) * (X[:, 1] > 0.5)


def test_a_rule_is_learnt():
    X, y = rules()
    model = Classifier(steps=150, random_state=0).fit(X[:450], y[:450])
    assert model.score(X[450:], y[450:]) > 0.97
    assert model.classes_.tolist() == [False, True]
    P = model.predict_proba(X[450:])
    assert_allclose(P.sum(axis=1), 1)


def test_steps_are_learnt_and_members_are_a_mean():
    X, y = stairs(700)
    model = Regressor(**QUICK | {"steps": 150, "n_members": 2}).fit(X[:500], y[:500])
    assert model.score(X[500:], y[500:]) > 0.9
    assert len(model.members_) == len(model.temperature_) == len(model.validation_curve_) == 2
    assert model.transform(X[:3]).shape == (3, 64)
    assert model.get_feature_names_out().shape == (64,)
    for curve in model.validation_curve_:
        assert curve[-1, 0] == 150
        assert curve[:, 1].min() < 0.02


def test_shares_and_rows_are_the_prediction():
    X, y = stairs()
    model = Regressor(**QUICK | {"n_members": 2}).fit(X, y)
    found = model.reasons(X[:5], most=len(X))
    assert_allclose(found.shares.sum(axis=1), 1, rtol=1e-5)
    assert_allclose((found.shares * y[found.rows]).sum(axis=1), model.predict(X[:5]), atol=1e-3)
    assert (found.against == -1).all()
    assert model.reasons(X[:2]).texts()["because_1"][0].startswith("row ")


@pytest.mark.parametrize("hidden", [0, 20])
@pytest.mark.parametrize("Machine", [Regressor, Classifier])
def test_predictions_are_the_formula_with_the_fitted_parameters(Machine, hidden):
    """Softmax over distances of z, with z written out in float64 from the cells of the table."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"a": rng.normal(size=160), "b": rng.uniform(-3, 4, size=160),
                          "level": rng.choice(list("uvw"), 160)})  # fmt: skip
    y = np.sin(table["a"] * 2) + (table["level"] == "u") + 0.1 * rng.normal(size=160)
    if Machine is Classifier:
        y = np.array(["low", "middle", "high"])[np.digitize(y, [-0.3, 0.6])]
    w = rng.integers(0, 4, 160) + 0.0
    settings = QUICK | {"hidden": hidden, "width": 20, "n_members": 2}
    model = Machine(**settings).fit(table, y, w)
    known, new = table.iloc[model.rows_], table.iloc[:40].assign(a=table["a"][:40] + 0.1)
    levels = np.unique(known["level"])
    cells = known[["a", "b"]].to_numpy()
    centre, spread = cells.mean(axis=0), cells.std(axis=0)

    def z(member, rows):
        numbers = (rows[["a", "b"]].to_numpy() - centre) / spread
        codes = 0.7 * (rows["level"].to_numpy()[:, None] == levels)
        wide, units = 32, -(-hidden // 8) * 8
        more = np.hstack([codes, np.zeros((len(rows), 8 - len(levels)))])
        twin = Twin(2, 8, wide, units)
        network = member.network
        running = network.running.astype(float).reshape(4, wide)
        return twin.embed(network.parameters.astype(float), numbers, more, running)[:, :20]

    targets = np.asarray(y)[model.rows_]
    Y = targets[:, None] == np.unique(y) if Machine is Classifier else targets[:, None]

    def answers(members, rows, voters):
        """The mean of the members' means."""
        found = [
            smoothed(
                z(m, rows),
                z(m, known.iloc[voters]),
                Y[voters],
                w[model.rows_][voters],
                m.temperature,
            )
            for m in members
        ]
        return np.mean(found, axis=0)

    everyone = np.arange(len(known))
    expected = answers(model.members_, new, everyone)
    if Machine is Classifier:
        assert_array_equal(model.classes_, np.unique(y))
        assert_allclose(model.predict_proba(new), expected, atol=1e-4)
        clear = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, -2] > 1e-3
        chosen = model.classes_[expected.argmax(axis=1)]
        assert_array_equal(model.predict(new)[clear], chosen[clear])
    else:
        assert_allclose(model.predict(new), expected[:, 0], atol=1e-4)
    # the rows that were held out have no vote in what is said of them, nor in the losses
    held = np.flatnonzero(np.isin(model.rows_, model.validation_rows_))
    order = np.argsort(model.rows_[held])[np.argsort(np.argsort(model.validation_rows_))]
    others = np.setdiff1d(everyone, held)
    of_held = answers(model.members_[:1], known.iloc[held[order]], others)
    found = model.validation_predictions_
    assert_allclose(found, of_held if Machine is Classifier else of_held[:, 0], atol=1e-4)
    right, votes = Y[held[order]], w[model.rows_][held[order]]
    if Machine is Classifier:
        losses = -np.log(of_held[right])
    else:
        losses = (of_held - right)[:, 0] ** 2 / np.var(np.repeat(np.asarray(y), w.astype(int)))
    least = model.validation_curve_[0][:, 1].min()
    assert least == pytest.approx(np.average(losses, weights=votes), rel=1e-3)


def test_reasons_of_a_class_are_rows_of_it():
    X, y = rules()
    model = Classifier(**QUICK).fit(X, y)
    found, predicted = model.reasons(X[:9]), model.predict(X[:9])
    assert (y[found.rows] == predicted[:, None]).all()
    against = found.against >= 0
    assert (y[found.against] != predicted[:, None])[against].all()


def test_neighbours_are_near_in_the_learnt_space():
    X, y = stairs()
    model = Regressor(**QUICK).fit(X, y)
    distances, rows = model.kneighbors(X[:4], 3)
    assert_array_equal(rows[:, 0], np.arange(4))
    Z = model.transform(X)
    assert_allclose(distances[:, 2], np.linalg.norm(Z[:4] - Z[rows[:, 2]], axis=1), rtol=1e-4)
    with pytest.raises(ValueError, match="n_neighbors=501"):
        model.kneighbors(X, 501)


def test_tables_with_categories_dates_and_missing_values():
    X, y = stairs(300)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({
        "part": np.array(["low", "high"])[(X[:, 1] > 0.5).astype(int)],
        "size": np.where(rng.random(300) < 0.1, np.nan, X[:, 0]),
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 300), "D"),
        "none": 1.0,
    })  # fmt: skip
    model = Regressor(**QUICK | {"steps": 150}).fit(frame[:200], y[:200])
    assert model.score(frame[200:], y[200:]) > 0.6
    assert set(model.kept_columns_) == {"part", "size", "day"}
    new = frame[200:203].copy()
    new["part"], new["size"] = ["low", None, "unknown"], np.nan
    assert np.isfinite(model.predict(new)).all()
    with pytest.raises(ValueError, match="'part'"):
        model.predict(frame[["size"]])


def test_texts_alone_are_refused():
    texts = [f"{word} of some length {i}" for i in range(40) for word in ("a", "the")]
    with pytest.raises(ValueError, match="KernelRegressor"):
        Regressor(**QUICK).fit(pd.DataFrame({"text": texts}), np.arange(80.0))


def test_many_outputs():
    X, y = stairs()
    Y = np.column_stack([y, 100 - 50 * y])
    model = Regressor(**QUICK).fit(X[:400], Y[:400])
    found = model.predict(X[400:])
    assert found.shape == (100, 2)
    assert_allclose(found[:, 1], 100 - 50 * found[:, 0], atol=1e-3 * 50)
    flat = Regressor(**QUICK).fit(X[:400], Y[:400, :1])
    assert flat.predict(X[:2]).shape == (2, 1)


@pytest.mark.parametrize("Machine", [Regressor, Classifier])
def test_weights_mean_repetition_and_the_order_changes_nothing(Machine):
    X, y = stairs(200) if Machine is Regressor else rules(200)
    w = np.random.default_rng(0).integers(0, 3, 200)
    weighed = Machine(**QUICK).fit(X, y, w)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(200), w))
    repeated = Machine(**QUICK).fit(X[order], y[order])
    assert_allclose(weighed.transform(X), repeated.transform(X))
    assert_array_equal(weighed.predict(X), repeated.predict(X))


def test_threads_change_nothing_and_seeds_do():
    X, y = stairs(700)
    settings = QUICK | {"candidates": 600, "steps": 12}
    one, two = (Regressor(**settings, n_jobs=jobs).fit(X, y).predict(X) for jobs in (1, 2))
    assert_array_equal(one, two)
    other = Regressor(**settings | {"random_state": 1}).fit(X, y).predict(X)
    assert not np.array_equal(one, other)


@pytest.mark.full
def test_columns_that_say_nothing_are_dropped():
    X, y = stairs(800, 30)
    settings = QUICK | {"steps": 300, "hidden": 64}
    model = Regressor(**settings).fit(X[:600], y[:600])
    assert {0, 1} <= set(model.kept_columns_)
    assert len(model.kept_columns_) < 12
    assert set(sorted(model.importances_, key=model.importances_.get)[-2:]) == {0, 1}
    whole = Regressor(**settings, prune=False).fit(X[:600], y[:600])
    assert len(whole.kept_columns_) == 30
    assert model.score(X[600:], y[600:]) > whole.score(X[600:], y[600:])


@pytest.mark.spread(1)
@pytest.mark.parametrize("limit", [0.6, 8.0])
def test_without_time_to_judge_columns_all_are_kept(monkeypatch, limit):
    """A clock that each step reads: 60 of them are not enough for two networks of 100 steps."""
    ticks = count()

    def clock():
        return 0.01 * next(ticks)

    for module in (
        "learners.neighbourhoods.neighbourhood_machine",
        "solvers.neighbourhoods.training",
    ):
        monkeypatch.setattr(f"mercer.{module}.perf_counter", clock)
    X, y = stairs(800, 30)
    settings = QUICK | {"steps": 300, "hidden": 64, "time": limit, "n_jobs": 1}
    told = []
    model = Regressor(**settings, progress=told.append).fit(X[:600], y[:600])
    assert len(model.kept_columns_) == 30
    assert len({(each["run"], each["step"]) for each in told}) == len(told)  # none is judged twice
    best = min(each["loss"] for each in told)  # also that of a network that came before
    assert model.validation_curve_[0][:, 1].min() == pytest.approx(best)
    assert hasattr(model, "importances_") == (limit > 1)


def test_the_ladder_has_powers_of_two_and_what_seems_to_matter():
    rise = {f"x{j}": 1 / (1 + j) ** 3 for j in range(20)}
    sizes = [len(names) for names in ladder(rise)]
    assert sizes == [4, 6, 8, 16]
    assert ladder(rise)[0] == ["x0", "x1", "x2", "x3"]
    assert [len(names) for names in ladder({"a": 1.0, "b": -1.0})] == [1]


def test_a_time_limit_means_fewer_steps():
    X, y = stairs(300)
    began = perf_counter()
    model = Regressor(**QUICK | {"steps": 10**6, "time": 0.3}).fit(X, y)
    assert perf_counter() - began < 3
    assert 1 <= model.n_steps_[0] < 10**6
    short = Regressor(**QUICK | {"time": 1e-6}).fit(X, y)  # one step there is
    assert short.n_steps_[0] >= 1
    assert np.isfinite(short.predict(X)).all()


def test_progress_is_told(capsys):
    X, y = stairs(300)
    told = []
    Regressor(**QUICK, progress=told.append, verbose=True).fit(X, y)
    assert [entry["step"] for entry in told] == [30, 40, 50, 60]  # after the warm-up
    assert "held-out loss" in capsys.readouterr().out


def test_after_an_interrupt_the_best_so_far_is_kept():
    X, y = stairs(300)
    model = Regressor(**QUICK | {"steps": 120, "n_members": 3})

    def stop(entry):
        if entry["step"] == 60:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(progress=stop).fit(X, y)
    assert len(model.members_) == 1
    assert model.score(X, y) > 0.5


def test_files(tmp_path):
    frame = pd.DataFrame(load_iris().data, columns=list("abcd"))
    model = Classifier(**QUICK).fit(frame, load_iris().target_names[load_iris().target])
    mercer.save(model, tmp_path / "model.mercer")
    for copy in (mercer.load(tmp_path / "model.mercer"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(copy.predict_proba(frame), model.predict_proba(frame))
        assert_array_equal(copy.reasons(frame[:2]).rows, model.reasons(frame[:2]).rows)


HOSTILE = {
    "equal rows with different targets": (np.repeat([[0.0], [1.0]], 30, axis=0), np.arange(60) % 4),
    "a row for each class": (np.arange(8.0)[:, None] ** 2, np.arange(8)),
    "two rows": (np.array([[0.0], [1.0]]), np.array([0, 1])),
    "an outlier": (np.arange(40.0)[:, None], np.append(np.arange(39) % 3, 2)),
    "a rare class": (np.random.default_rng(0).normal(size=(90, 2)), np.arange(90) // 89),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_rows(name):
    X, y = HOSTILE[name]
    for Machine in (Regressor, Classifier):
        model = Machine(**QUICK | {"steps": 20}).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
    assert Regressor(**QUICK | {"steps": 20}).fit(X, 1e300 * y).predict(X).shape == y.shape


def test_a_target_with_an_outlier():
    X, y = stairs(200)
    y[7] = 1e12
    model = Regressor(**QUICK).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_wide_tables_and_many_levels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 200))
    assert np.isfinite(Regressor(**QUICK | {"steps": 5}).fit(X, X[:, 0]).predict(X)).all()
    frame = pd.DataFrame(
        {"a": [f"v{i}" for i in rng.integers(0, 90, 900)], "b": rng.normal(size=900)}
    )
    model = Regressor(**QUICK | {"steps": 5}).fit(frame, frame["b"])
    assert len(model.members_[0].design.levels[0]) <= 64
    assert np.isfinite(model.predict(frame)).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"width": 0}, "width=0"),
        ({"hidden": -1}, "hidden=-1"),
        ({"steps": "many"}, "steps='many'"),
        ({"batch": 20, "candidates": 10}, "candidates=10"),
        ({"dropout": 1.0}, "dropout=1.0"),
        ({"validation_fraction": 1}, "validation_fraction=1"),
        ({"scaling": "none"}, "scaling='none'"),
        ({"time": -1}, "time=-1"),
        ({"learning_rate": 0}, "learning_rate=0"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        Regressor(**wrong).fit(np.eye(5), np.arange(5))


@pytest.mark.parametrize("settings", [{"hidden": 0}, {"width": 2}, {"width": 5, "hidden": 3}])
def test_any_width(settings):
    X, y = stairs(300)
    model = Regressor(**QUICK | settings | {"steps": 150}).fit(X, y)
    assert model.transform(X).shape == (300, settings.get("width", 32))
    assert model.score(X, y) > 0.5


def test_both_scalings_are_members_if_their_mean_is_better():
    X, y = stairs(500)
    settings = QUICK | {"scaling": "auto", "steps": 100}
    model = Regressor(**settings | {"n_members": 2}).fit(X, y)
    one = Regressor(**settings).fit(X, y)
    assert len(model.members_) == 2
    assert one.scaling_ == model.scaling_
    Z = model.transform(X[:5])
    assert_array_equal(Z[:, :32], one.transform(X[:5]))


def test_a_step_that_does_not_fit_the_memory_is_refused():
    X, y = stairs(500)
    with pytest.raises(MemoryError, match="a step of training"):
        Regressor(**QUICK | {"memory": 10_000}).fit(X, y)


@pytest.mark.full
def test_of_many_rows_some_are_in_cells(monkeypatch):
    """Each is in one cell, others are drawn for other cells, and a fit learns as well."""
    monkeypatch.setattr(draws, "CELL_ROWS", 300)
    numbers = np.random.default_rng(0)
    made = draws.Draws(1000, 64, 256, numbers)
    chosen = made.rows_of_cells()
    assert len(np.unique(chosen)) == 300
    made.renew_cells(numbers.normal(size=(300, 2)).astype(np.float32), chosen)
    rows, queries = made.rows()
    assert set(rows[:queries]) <= set(chosen.tolist())
    assert set(rows[queries:]) - set(chosen.tolist())
    assert not np.array_equal(made.rows_of_cells(), chosen)
    X = numbers.uniform(-2, 2, (2000, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1]
    assert Regressor(steps=300, random_state=0).fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("members", [1, 2])
def test_rows_that_are_given_judge_and_are_not_trained_on(members):
    X, y = stairs(400)
    X[7], y[7] = X[3], y[3]  # a copy of a row that is trained on
    judges = np.arange(5, 400, 6)[::-1]  # 7 is none of them, 11 is
    X[11], y[11] = X[3], y[3]
    settings = QUICK | {"n_members": members}
    model = Regressor(**settings).fit(X, y, validation=judges)
    assert_array_equal(model.validation_rows_, np.sort(judges))
    others = np.setdiff1d(np.arange(400), judges)
    trained = np.isin(model.rows_, others)
    shares = model.shares(X[model.validation_rows_])
    shares[:, ~trained] = 0
    if members == 1:
        expected = shares / shares.sum(axis=1, keepdims=True) @ y[model.rows_]
        assert_allclose(model.validation_predictions_, expected, atol=1e-3)
    assert len(model.rows_) == 398  # all vote, copies once


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 400], "row numbers from 0 to 400"),
        ([-1], "row numbers from -1"),
        (np.arange(40), "leave rows to train on"),
        ([], "some rows of X"),
        ([[1]], "shape"),
        ([0.5], "float64"),
    ],
)
def test_rows_that_cannot_judge_are_refused(rows, message):
    X, y = stairs(40)
    with pytest.raises(ValueError, match=message):
        Regressor(**QUICK).fit(X, y, validation=rows)


def test_a_warm_start_keeps_its_own_judges():
    X, y = stairs(60)
    model = Regressor(**QUICK, warm_start=True)
    with pytest.raises(ValueError, match="warm_start=False"):
        model.fit(X, y, validation=[0, 1])
    model = Regressor(**QUICK).fit(X, y, validation=np.arange(9)).set_params(warm_start=True)
    with pytest.raises(ValueError, match="was given validation="):
        model.fit(X, y)


@pytest.mark.full
def test_places_on_a_board_are_compared():
    rng = np.random.default_rng(0)
    X = rng.integers(1, 9, (1200, 4)).astype(float)
    y = (np.abs(X[:, 0] - X[:, 1]) == np.abs(X[:, 2] - X[:, 3])).astype(int)
    model = Classifier(steps=300, random_state=0).fit(X[:900], y[:900])
    assert model.score(X[900:], y[900:]) > 0.95
    assert len(model.members_[0].design.pairs) == 6
    two = Classifier(**QUICK).fit(X[:300, :2], y[:300])
    assert two.members_[0].design.pairs == []  # two columns may have one range by chance
