"""Shapley values: against all coalitions, their axioms, and that they depend on nothing else."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression

from mercer import (
    SVC,
    SVR,
    AdditiveRegressor,
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KNeighborsRegressor,
    load,
    save,
)
from mercer.explain import separated_sum, shapley, shapley_interactions, shapley_values
from mercer.explain.game import standing
from mercer.explain.shapley import (
    MixedRows,
    asked_coalitions,
    pairs_of_game,
    permuted,
    values_of_game,
)
from mercer.kernels import RBF, Laplacian, Linear, Match, TableKernel
from mercer.selection.automatic import KernelMachine

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 5))
y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
CLASSES = np.digitize(y, [-0.4, 0.4])
NEW, BACK = rng.normal(size=(4, 5)), X[:9]


def by_asking(function, new, background, d, solve=values_of_game):
    """The values of a function of rows, from all coalitions."""
    mixed = MixedRows(new, background, [[j] for j in range(d)])
    games = (asked_coalitions(function, mixed, i, len(background)) for i in range(len(new)))
    return np.array([solve(game.mean(axis=0)) for game in games])


def pair_sum(found, answers):
    gap = answers - found.base_values - found.values.sum(axis=1)
    return np.abs(gap).max()


REGRESSORS = [
    SVR(C=10), KernelRidge(kernel="laplacian"), KernelRidge(kernel=RBF(0.3) + 0.5 * Linear()),
    KernelRidge(kernel=RBF(0.2) * Laplacian(0.1)),
    KernelRidge(kernel="linear"),
]  # fmt: skip


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_predictions_of_numbers_are_exact(model):
    model.fit(X, y)
    found = shapley_values(model, NEW, BACK)
    assert found.method == "exact"
    expected = by_asking(model.predict, NEW, BACK, 5)[..., 0]
    assert_allclose(found.values, expected, atol=1e-9)
    assert pair_sum(found, model.predict(NEW)) < 1e-9
    assert_allclose(found.base_values, np.full(4, model.predict(BACK).mean()))
    pairs = shapley_interactions(model, NEW, BACK)
    expected = by_asking(model.predict, NEW, BACK, 5, pairs_of_game)[..., 0]
    assert_allclose(pairs.values, expected, atol=1e-9)
    assert pairs.method == "exact"


@pytest.mark.parametrize("classes", [y > 0, CLASSES], ids=["two", "three"])
@pytest.mark.parametrize(
    "model", [SVC(), KernelLogisticRegression(), KernelRidgeClassifier()], ids=repr
)
def test_decision_values_are_exact(model, classes):
    model.fit(X, classes)
    found = shapley_values(model, NEW, BACK)
    assert found.method == "exact"
    function = model.kernel_sum()
    answers = function(NEW)
    expected = by_asking(function, NEW, BACK, 5)
    if found.output_names is None:
        answers, expected = answers[:, 0], expected[..., 0]
    else:
        assert found.output_names == [str(c) for c in model.classes_]
    assert_allclose(found.values, expected, atol=1e-9)
    assert pair_sum(found, answers) < 1e-9
    if not isinstance(model, SVC) or classes.dtype == bool:
        assert_allclose(model.decision_function(NEW), answers)


def test_the_values_of_pairs_are_those_of_the_classes():
    model = SVC(decision_function_shape="ovo").fit(X, CLASSES)
    pairs = model.decision_function(NEW)  # 0 against 1, 0 against 2, 1 against 2
    expected = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 2] - pairs[:, 0],
                         -pairs[:, 1] - pairs[:, 2]], axis=1) / 2  # fmt: skip
    assert_allclose(model.kernel_sum()(NEW), expected, atol=1e-12)


@pytest.mark.parametrize(
    "model", [KNeighborsRegressor(), KernelRidge(kernel="poly"), AdditiveRegressor()], ids=repr
)
def test_other_models_are_asked(model):
    model.fit(X, y)
    found = shapley_values(model, NEW, BACK)
    assert found.method == "all coalitions"
    assert_allclose(found.values, by_asking(model.predict, NEW, BACK, 5)[..., 0], atol=1e-10)
    assert pair_sum(found, model.predict(NEW)) < 1e-10
    pairs = shapley_interactions(model, NEW, BACK)
    assert_allclose(pairs.values, pairs.values.swapaxes(1, 2))


def test_permutations_are_exact_where_two_columns_act_together():
    d, back = 14, rng.normal(size=(6, 14))
    new = rng.normal(size=(2, d))

    def function(rows):
        return rows[:, 0] * rows[:, 1] + rows[:, 2] ** 2

    mixed = MixedRows(new, back, [[j] for j in range(d)])
    values, errors = permuted(function, mixed, 0, np.full(6, 1 / 6), np.random.RandomState(0))
    a, b = back[:, 0], back[:, 1]
    x = new[0]
    first = ((x[0] * b - a * b) + (x[0] * x[1] - a * x[1])).mean() / 2
    assert_allclose(values[0, 0], first)
    assert_allclose(values[2, 0], x[2] ** 2 - (back[:, 2] ** 2).mean())
    assert_allclose(values[3:], 0, atol=1e-14)
    assert_allclose(errors, 0, atol=1e-14)


def test_standard_errors_of_permutations_hold_what_is_exact():
    d = 12
    wide, new = rng.normal(size=(60, d)), rng.normal(size=(3, d))
    model = SVR(C=10, gamma=0.1).fit(wide, wide[:, 0] * wide[:, 1] * wide[:, 2])
    exact = shapley_values(model, new, wide[:8]).values
    mixed = MixedRows(new, wide[:8], [[j] for j in range(d)])
    found = [permuted(model.predict, mixed, i, np.full(8, 1 / 8), np.random.RandomState(i))
             for i in range(3)]  # fmt: skip
    off = np.array(
        [(values[:, 0] - exact[i]) / errors[:, 0] for i, (values, errors) in enumerate(found)]
    )
    assert 0.5 < np.sqrt((off**2).mean()) < 2.5


def test_models_of_others_and_their_probabilities():
    forest = RandomForestClassifier(5, random_state=0).fit(X, CLASSES)
    found = shapley_values(forest, NEW, BACK)
    assert found.values.shape == (4, 5, 3)
    assert pair_sum(found, forest.predict_proba(NEW)) < 1e-12
    line = LinearRegression().fit(X, y)
    found = shapley_values(line, NEW, BACK)
    assert_allclose(found.values, line.coef_ * (NEW - BACK.mean(axis=0)), atol=1e-12)


def test_what_does_not_depend_on_other_rows_threads_and_order():
    model = SVR(C=10).fit(X, y)
    many = rng.normal(size=(30, 5))
    found = shapley_values(model, many, BACK)
    assert_allclose(shapley_values(model, many[7:8], BACK).values, found.values[7:8], rtol=1e-12)
    assert_array_equal(shapley_values(model, many, BACK, n_jobs=1).values, found.values)
    assert_allclose(shapley_values(model, many, BACK[::-1]).values, found.values, atol=1e-12)
    order = [3, 0, 4, 2, 1]
    other = SVR(C=10).fit(X[:, order], y)
    again = shapley_values(other, many[:, order], BACK[:, order])
    assert_allclose(again.values, found.values[:, order], atol=1e-4)
    narrow = SVR(C=10).fit(X.astype(np.float32), y)
    single = shapley_values(narrow, many.astype(np.float32), BACK.astype(np.float32))
    assert_allclose(single.values, found.values, atol=2e-3)


def test_sizes_of_parts_change_nothing(monkeypatch):
    model, many = SVR(C=10).fit(X, y), rng.normal(size=(30, 5))
    found = shapley_values(model, many, BACK)
    pairs = shapley_interactions(model, many, BACK)
    monkeypatch.setattr(shapley, "STRIP", 7)
    monkeypatch.setattr(shapley, "BLOCK", 200)
    assert_allclose(shapley_values(model, many, BACK).values, found.values, atol=1e-13)
    assert_allclose(shapley_interactions(model, many, BACK).values, pairs.values, atol=1e-13)


def test_columns_that_do_not_matter_and_players_of_several():
    model = KernelRidge(kernel=TableKernel([(RBF(0.3), [0, 1]), (RBF(0.2), [2])])).fit(X, y)
    found = shapley_values(model, NEW, BACK)
    assert_allclose(found.values[:, 3:], 0, atol=1e-15)
    both = shapley_values(model, NEW, BACK, players={"both": [0, 1], "rest": [3, 4]})
    assert both.feature_names == ["both", "rest", "2"]
    assert both.data[0, 0] == (NEW[0, 0], NEW[0, 1])
    assert_allclose(both.values.sum(axis=1), found.values.sum(axis=1))
    mixed = MixedRows(NEW, BACK, [[0, 1], [3, 4], [2]])
    game = asked_coalitions(model.predict, mixed, 0, len(BACK)).mean(axis=0)
    assert_allclose(both.values[0], values_of_game(game)[:, 0], atol=1e-12)


TABLE = pd.DataFrame({
    "a": rng.normal(size=200), "b": rng.normal(size=200),
    "c": rng.choice(list("xyz"), 200), "d": rng.uniform(size=200),
})  # fmt: skip
HEIGHT = TABLE["a"] * TABLE["b"] + 2.0 * (TABLE["c"] == "x")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("combine", ["product", "sum", "interactions"])
def test_tables_of_numbers_and_categories(frame, combine):
    table = frame(TABLE.to_dict("list"))
    kernel = TableKernel([(RBF(0.5), ["a", "b"]), (Match(), ["c"])], combine)
    model = KernelRidge(kernel=kernel, alpha=0.1).fit(table, HEIGHT)
    found = shapley_values(model, table[:3], table[3:12])
    assert found.method == "exact"
    assert found.feature_names == list("abcd")
    assert found.data[:, 2].tolist() == TABLE["c"][:3].tolist()
    mixed = MixedRows(table[:3], table[3:12], [[c] for c in "abcd"])
    games = [asked_coalitions(model.predict, mixed, i, 9).mean(axis=0) for i in range(3)]
    assert_allclose(found.values, [values_of_game(g)[:, 0] for g in games], atol=1e-12)


def asked(model, function, rows, solve=values_of_game):
    """What all coalitions of a table's rows say of an automatic estimator."""
    names = [[str(c)] for c in rows.columns]
    back = model.background_
    encoded, features = model.encode(rows), model.encoder_.features_
    columns = [[j for j, f in enumerate(features) if f.source == c] for (c,) in names]
    mixed = MixedRows(encoded, back, columns)
    games = [asked_coalitions(function, mixed, i, len(back)) for i in range(len(rows))]
    return np.array([solve(np.tensordot(model.background_weights_, g, 1)) for g in games])


@pytest.mark.parametrize("machine", ["ridge", "svc"])
def test_automatic_estimators(machine, tmp_path):
    given = [KernelMachine(machine, TableKernel([(RBF(0.5), ["a (scaled)", "b (scaled)"]),
                                                 (Match(), ["c (code)"])]))]  # fmt: skip
    for target in (HEIGHT > 0.5, np.digitize(HEIGHT, [0, 1.5])):
        model = KernelClassifier(machines=given).fit(TABLE, target)
        rows, k = TABLE[:3], len(model.classes_)
        found = model.shapley_values(rows, output="probability")
        exact = machine == "ridge" or k == 2
        assert found.method == ("exact" if exact else "all coalitions")
        assert_allclose(found.values, asked(model, model.machine_, rows), atol=2e-6)
        assert pair_sum(found, model.predict_proba(rows)) < 5e-6
        odds = model.shapley_values(rows)
        assert odds.method == found.method
        P = np.log(model.predict_proba(rows))
        wanted = P[:, 1] - P[:, 0] if k == 2 else P - P.mean(axis=1, keepdims=True)
        assert pair_sum(odds, wanted) < 1e-4
        save(model, tmp_path / "m.mercer")
        again = load(tmp_path / "m.mercer").shapley_values(rows, output="probability")
        assert_array_equal(again.values, found.values)


def test_numbers_on_their_own_scale_and_on_another():
    model = KernelRegressor(trials=4).fit(TABLE, HEIGHT)
    found = model.shapley_values(TABLE[:4])
    assert pair_sum(found, model.predict(TABLE[:4])) < 1e-6
    assert next(iter(found.global_importance())) in "abc"
    far = KernelRegressor(trials=4, target_scale="logarithm").fit(TABLE, np.exp(HEIGHT))
    found = far.shapley_values(TABLE[:3])
    assert pair_sum(found, far.predict(TABLE[:3])) < 1e-6
    two = KernelRegressor(trials=3).fit(TABLE, np.column_stack([HEIGHT, TABLE["d"]]))
    found = two.shapley_values(TABLE[:2])
    assert found.values.shape == (2, 4, 2)
    assert pair_sum(found, two.predict(TABLE[:2])) < 1e-6


def test_new_rows_may_hold_what_no_training_row_does():
    sets = [{"a", "b"}, {"b"}, {"a"}, {"b", "c"}] * 20
    table = pd.DataFrame({"size": rng.normal(size=80), "parts": sets})
    target = table["size"] + [1.0, 0.0, 2.0, 1.0] * 20
    model = KernelRegressor(machines=[KernelMachine("linear")]).fit(table, target)
    new = pd.DataFrame({"size": [0.5, 1.0], "parts": [{"never", "seen", "a"}, {"z"}]})
    found = model.shapley_values(new)
    assert pair_sum(found, model.predict(new)) < 1e-6
    assert not np.allclose(found.values[:, 1], 0)


@pytest.mark.parametrize("gamma", [0.05, 0.3])
def test_few_rows_stand_for_many(gamma):
    """A hundred chosen rows err far less than a hundred that are drawn, and say by how much."""
    random = np.random.default_rng(1)
    many = random.normal(size=(1500, 4))
    model = SVR(C=10, gamma=gamma).fit(many[:300], many[:300, 0] * many[:300, 1] + many[:300, 2])
    new = random.normal(size=(10, 4))
    whole = np.mean([shapley_values(model, new, many[i : i + 100]).values
                     for i in range(0, 1500, 100)], axis=0)  # fmt: skip
    chosen = shapley_values(model, new, many)
    drawn = shapley_values(model, new, many[:100])
    size, off = np.abs(whole).mean(), np.sqrt(np.mean((chosen.values - whole) ** 2))
    assert off < 0.02 * size
    assert off < np.abs(drawn.values - whole).mean() / 4
    assert off / 2 < np.sqrt(np.mean(chosen.errors**2)) < 4 * off
    lost = np.sqrt(np.mean((drawn.values - whole) ** 2))
    assert lost / 2 < np.sqrt(np.mean(drawn.errors**2)) < 2 * lost
    order = random.permutation(1500)  # another order of the rows changes little
    again = shapley_values(model, new, many[order])
    assert_allclose(again.values, chosen.values, atol=0.05 * size)


def test_weights_are_shares_and_nearer_than_equal_ones():
    random = np.random.default_rng(2)
    many = random.normal(size=(800, 3))
    model = SVR(gamma=0.1).fit(many[:200], many[:200, 0] * many[:200, 1])
    f, encode = separated_sum(model, many)
    found = standing(f, many, encode(many), random)
    assert len(found.weights) == len(found.rows) <= 100
    assert (found.weights > 0).all()
    assert_allclose(found.weights.sum(), 1)
    assert 0 < found.nearer < 0.5  # rows that are drawn: 1 / 2
    assert_allclose(found.weights @ found.rows, many.mean(axis=0), atol=0.03)
    few = standing(f, many[:60], encode(many[:60]), random)
    assert_allclose(few.weights, 1 / 60)
    assert few.nearer == 0.5
    same = np.repeat(many[:1], 300, axis=0)  # one row stands for all
    alone = standing(f, same, encode(same), random)
    assert_allclose(alone.rows, many[:1].repeat(len(alone.rows), axis=0))
    assert np.isfinite(alone.nearer)


def test_weights_are_kept_with_the_model(tmp_path):
    table = pd.DataFrame(rng.normal(size=(400, 3)), columns=list("abc"))
    given = [KernelMachine("ridge", TableKernel([(RBF(0.3), [f"{c} (scaled)" for c in "abc"])]))]
    model = KernelRegressor(machines=given).fit(table, table["a"] * table["b"])
    assert np.ptp(model.background_weights_) > 0
    assert model.background_nearer_ < 0.4
    found = model.shapley_values(table[:3])
    base = model.background_weights_ @ model.machine_(model.background_)
    assert_allclose(found.base_values, base)
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer").shapley_values(table[:3])
    assert_array_equal(again.values, found.values)
    assert_array_equal(again.errors, found.errors)
    whole = model.shapley_values(table[:3], table)  # which chooses the same way
    assert_allclose(whole.values, found.values, atol=0.02 * np.abs(found.values).max())


def test_what_is_wrong_is_named():
    model = SVR().fit(X, y)
    with pytest.raises(ValueError, match=r"give background="):
        shapley_values(model, NEW)
    with pytest.raises(ValueError, match=r"output='odds'"):
        shapley_values(model, NEW, BACK, output="odds")
    with pytest.raises(ValueError, match="explains classes"):
        shapley_values(model, NEW, BACK, output="probability")
    with pytest.raises(ValueError, match="names 9"):
        shapley_values(model, NEW, BACK, players={"a": [9]})
    with pytest.raises(ValueError, match="2 times"):
        shapley_values(model, NEW, BACK, players={"a": [0], "b": [0]})
    wide = rng.normal(size=(40, 12))
    poly = KernelRidge(kernel="poly").fit(wide, wide[:, 0])
    with pytest.raises(ValueError, match="at most 10"):
        shapley_interactions(poly, wide[:2], wide[:5])
    with pytest.raises(ValueError, match="columns"):
        shapley_values(model, NEW[:, :3], BACK)


def test_an_explanation_of_shap():
    shap = pytest.importorskip("shap")
    found = shapley_values(SVR().fit(X, y), NEW, BACK).to_shap()
    assert isinstance(found, shap.Explanation)
