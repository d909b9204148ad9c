"""What columns add in a report: against the library's values, pairs that are known, single rows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.explain import shapley_values
from mercer.kernels import RBF, TableKernel
from mercer.plots.report.additions import OTHERS, acting_pairs
from mercer.plots.report.contents import render
from mercer.selection.automatic import KernelClassifier, KernelMachine, KernelRegressor
from plots.report.reports import HOSTILE, report_data

RNG = np.random.default_rng(0)
X, NEW = (
    pd.DataFrame(RNG.normal(size=(n, 3)), columns=["height", "width", "noise"]) for n in (200, 60)
)
KERNEL = TableKernel([(RBF(0.3), [f"{name} (scaled)" for name in X])])


def product(table):
    return (table["height"] * table["width"]).to_numpy()


def of(machine, target=product):
    model = KernelRegressor(machines=[machine]).fit(X, target(X))
    return model, report_data(model, X, target(X), holdout=(NEW, target(NEW)))


def test_what_columns_add_is_the_mean_size_of_exact_values():
    model, data = of(KernelMachine("ridge", KERNEL))
    found = data["additions"]
    values = np.abs(model.shapley_values(NEW).values).mean(axis=0)
    order = np.argsort(-values, kind="stable")
    assert found.columns == [X.columns[j] for j in order]
    assert_allclose(found.sizes, values[order])
    assert (found.low <= found.sizes).all()
    assert (found.sizes <= found.high).all()
    assert (found.n_rows, found.adds, found.exact) == (60, "the prediction", True)
    assert {pair.columns for pair in found.pairs[:1]} <= {("height", "width"), ("width", "height")}
    assert len(found.pairs) == 1
    (line,) = data.lines("additions")
    assert " and ".join(found.pairs[0].columns) in line
    bars, most = found.drawn(data), max(found.high[0], found.pairs[0].size)
    assert_allclose(
        [bar["width"] for bar in bars["rows"] + bars["pairs"]],
        100 * np.array([*found.sizes, found.pairs[0].size]) / most,
        atol=0.01,
    )


@pytest.mark.full
def test_a_model_whose_columns_are_mixed_is_asked():
    _, data = of(KernelMachine("ridge", metric="full"))
    found = data["additions"]
    assert not found.exact
    assert found.n_rows == 20
    assert {*found.pairs[0].columns} == {"height", "width"}
    assert "is asked what it predicts" in render(data)
    # without kept rows, and of any estimator
    ridge = mercer.KernelRidge(kernel="rbf", gamma=0.3).fit(X, product(X))
    found = report_data(ridge, X, product(X), holdout=(NEW, product(NEW)))
    assert found["additions"].exact
    assert {*found["additions"].pairs[0].columns} == {"height", "width"}
    assert found["reasons"][0].rows == []
    assert report_data(ridge, holdout=(NEW, product(NEW))).get("additions") is None


def test_columns_beyond_the_main_ones_are_one_player():
    wide = pd.DataFrame(RNG.normal(size=(120, 9)), columns=list("abcdefghi"))
    y = (wide["a"] * wide["b"] + wide["c"]).to_numpy()
    model = KernelRegressor(machines=[KernelMachine("ridge", metric="full")]).fit(wide[:90], y[:90])
    found = report_data(model, wide[:90], y[:90], holdout=(wide[90:], y[90:]))["additions"]
    assert len(found.columns) == 6
    assert OTHERS in found.columns
    assert not any(OTHERS in pair.columns for pair in found.pairs)


def test_pairs_of_an_additive_model_and_sizes_of_pairs():
    _, data = of(KernelMachine("ridge", KERNEL), lambda table: table["height"] + 2 * table["width"])
    assert data["additions"].pairs == []
    names, values = ["a", "b", OTHERS, "c"], np.array([2.0, 1.0, 9.0, 0.2])
    pairs = np.zeros((4, 4))
    pairs[0, 1], pairs[0, 2], pairs[0, 3] = 0.6, 5.0, 0.15
    found = acting_pairs(names, values, pairs)  # a and c: too little beside the largest
    assert [(pair.columns, pair.size) for pair in found] == [(("a", "b"), 0.6)]
    assert acting_pairs(names, values, pairs * 0.8) == []  # b: less than a quarter of it


@pytest.mark.spread(1)
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_single_rows_are_explained_by_columns_and_by_rows(classes):
    y, new = product(X), product(NEW)
    model = KernelRegressor(machines=[KernelMachine("ridge", KERNEL)])
    if classes:
        edges = np.linspace(-0.3, 0.3, classes - 1) if classes > 2 else [0.0]
        names = np.array(["no", "yes", HOSTILE])
        y, new = (names[np.digitize(each, edges)] for each in (y, new))
        model = KernelClassifier(machines=[KernelMachine("ridge", KERNEL)])
    model.fit(X, y)
    data = report_data(model, X, y, holdout=(NEW, new))
    found, worst = data["reasons"], data["worst"]
    assert [reason.row for reason in found] == [row.row for row in worst[:3]]
    rows = NEW.iloc[[reason.row for reason in found]]
    exact, spoken = model.shapley_values(rows), model.reasons(rows)
    for i, reason in enumerate(found):
        values, base = exact.values[i], exact.base_values[i]
        if classes:
            chosen = list(model.classes_).index(reason.predicted)
            if classes == 2:
                values, base = (values, base) if chosen else (-values, -base)
            else:
                values, base = values[:, chosen], base[chosen]
        assert_allclose([dict(reason.columns)[name] for name in X], values)
        assert_allclose(reason.base, base)
        sizes = [abs(value) for _, value in reason.columns]
        assert sizes == sorted(sizes, reverse=True)
        assert [row.row for row in reason.rows[:3]] == spoken.rows[i].tolist()
        if classes:
            assert [row.target for row in reason.rows[:3]] == list(y[spoken.rows[i]])
        assert reason.rows[3].row == spoken.against[i, 0]
        assert reason.rows[3].share < 0 < reason.rows[2].share
        if not classes:  # they add up to the prediction
            total = reason.base + sum(value for _, value in reason.columns)
            assert_allclose(total, model.predict(rows)[i], atol=1e-4)
    text = render(data)
    assert "Why these predictions" in text
    assert HOSTILE not in text
    hidden = report_data(model, X, y, holdout=(NEW, new), values=False)
    assert hidden.get("reasons") is None


@pytest.mark.full
def test_a_machine_without_rows_has_reasons_by_columns_alone():
    _, data = of(KernelMachine("shapes"))
    assert all(reason.rows == [] for reason in data["reasons"])
    assert "Training row</th>" not in render(data)


def test_without_time_nothing_is_explained():
    y = product(X)
    model = KernelRegressor(machines=[KernelMachine("ridge", metric="full")]).fit(X, y)
    data = report_data(model, X, y, holdout=(NEW, product(NEW)), time=0.0)
    assert data.get("additions") is None


@pytest.mark.full
def test_values_of_any_model_are_beside_training_rows():
    ridge = mercer.KernelRidge(kernel="rbf", gamma=0.3).fit(X[:40], product(X[:40]))
    data = report_data(ridge, X[:40], product(X[:40]), holdout=(NEW, product(NEW)))
    wanted = shapley_values(ridge, NEW, X[:40]).values
    sizes = dict(zip(data["additions"].columns, data["additions"].sizes))
    assert_allclose([sizes[name] for name in X], np.abs(wanted).mean(axis=0))
