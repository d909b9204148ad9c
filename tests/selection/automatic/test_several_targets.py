"""Several targets of numbers: one kernel, one factor, and what each of them would have alone."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import r2_score
from sklearn.multioutput import MultiOutputClassifier

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.kernels import RBF, TableKernel
from mercer.machines import METRICS
from mercer.plots import PartialDependenceDisplay, save_report
from mercer.selection.automatic import KernelMachine

N = 120


def table(seed=0):
    """Columns, and three targets of different units: smooth, skewed and positive, and a product."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    noise = 0.1 * rng.normal(size=(N, 3))
    columns = np.sin(2 * X[:, 0]), 1000 * np.exp(X[:, 1]), X[:, 1] * X[:, 2]
    return X, np.stack(columns, axis=1) * np.exp(noise)


X, Y = table()
NEW = table(1)[0]
KERNEL = TableKernel([(RBF(0.3), [f"{j} (scaled)" for j in range(3)])])


@pytest.fixture(scope="module")
def fitted():
    return KernelRegressor(trials=4).fit(X, Y)


def test_the_prediction_has_a_column_for_each_target(fitted):
    predicted = fitted.predict(NEW)
    assert predicted.shape == Y.shape
    assert fitted.targets_ == [0, 1, 2]
    assert fitted.score(X, Y) == pytest.approx(
        np.mean([r2_score(y, p) for y, p in zip(Y.T, fitted.predict(X).T)])
    )


def test_the_leaderboard_has_the_score_of_each_target(fitted):
    for row in fitted.leaderboard_:
        assert row["score"] == pytest.approx(np.mean(row["scores"])), row["name"]
        assert len(row["scores"]) == 3
    assert "score of 2" in fitted._repr_html_()


@pytest.mark.parametrize("learner", ["ridge", "local", "window", "linear", "constant"])
def test_it_is_one_fit_for_each_target(learner):
    """Of machines without a penalty that all targets share, or with one that they are given."""
    simple = learner in ("linear", "constant")
    machine = KernelMachine(learner, None if simple else KERNEL)
    wanted = [Y[:, 1], 3 - 2 * Y[:, 1]]  # one target in two units chooses the same penalty
    together = KernelRegressor(machines=[machine], target_scale="own")
    together.fit(X, np.stack(wanted, axis=1))
    for place, y in enumerate(wanted):
        alone = KernelRegressor(machines=[machine], target_scale="own").fit(X, y)
        near = 1e-3 if learner == "local" else 1e-6  # whose leaves are solved in float32
        close = {"rtol": near, "atol": near * np.ptp(y)}
        np.testing.assert_allclose(together.predict(NEW)[:, place], alone.predict(NEW), **close)


def test_the_kernel_and_the_factor_are_those_of_all_targets():
    model = KernelRegressor(machines=[KernelMachine("ridge", KERNEL)]).fit(X, Y)
    machine = model.machine_
    K = machine.kernel(model.encode(X)) + N * machine.penalty * np.eye(N)
    targets = model.target_scale_.forward(Y)
    dual = np.linalg.solve(K, targets - machine.offset)
    np.testing.assert_allclose(
        machine.learner.dual_coef_, dual, rtol=1e-4, atol=1e-4 * np.abs(dual).max()
    )


def test_the_order_of_the_targets_does_not_matter(fitted):
    turned = KernelRegressor(trials=4).fit(X, Y[:, [2, 0, 1]])
    assert turned.winner_name_ == fitted.winner_name_
    expected = fitted.predict(NEW)[:, [2, 0, 1]]
    np.testing.assert_allclose(turned.predict(NEW), expected, rtol=1e-5)


@pytest.mark.spread(1)
@pytest.mark.parametrize("metric", ["r2", "rmse", "mae"])
def test_the_unit_of_a_target_does_not_matter(metric):
    units = np.array([1, 2.0**20, 2.0**-9])
    given = {"trials": 3, "metric": metric}
    one, other = (KernelRegressor(**given).fit(X, y) for y in (Y, Y * units))
    assert other.winner_name_ == one.winner_name_
    np.testing.assert_allclose(other.predict(NEW), one.predict(NEW) * units, rtol=1e-6)
    for ours, theirs in zip(one.leaderboard_, other.leaderboard_):
        assert ours["score"] == pytest.approx(theirs["score"])
        assert ours["loss"] == pytest.approx(theirs["loss"])


@pytest.mark.parametrize("name", ["r2", "rmse", "mae"])
def test_a_metric_is_the_mean_of_standardised_targets(name):
    predicted, weights = Y[::-1], np.arange(N) + 1.0
    mean = np.average(Y, axis=0, weights=weights)
    spread = np.sqrt(np.average((Y - mean) ** 2, axis=0, weights=weights))
    own = [
        METRICS[name](y, p, weights=weights) for y, p in zip((Y / spread).T, (predicted / spread).T)
    ]
    assert METRICS[name](Y, predicted, weights=weights) == pytest.approx(np.mean(own))


def test_each_target_has_a_scale_of_its_own():
    rng = np.random.default_rng(3)
    skewed = np.exp(2 * X[:, 0] + 0.5 * rng.normal(size=N))
    both = np.stack([skewed, Y[:, 0]], axis=1)
    model = KernelRegressor(trials=1).fit(X, both)
    alone = [KernelRegressor(trials=1).fit(X, y).target_scale_.name for y in both.T]
    assert [scale.name for scale in model.target_scale_.scales] == alone
    assert any("0 is fitted by its" in notice for notice in model.notices_) == bool(alone[0])
    given = KernelRegressor(trials=1, target_scale=["logarithm", "own"]).fit(X, both)
    assert [scale.name for scale in given.target_scale_.scales] == ["logarithm", ""]
    assert (given.predict(NEW)[:, 0] >= 0).all()
    with pytest.raises(ValueError, match="has 1 entries, but y has 2 columns"):
        KernelRegressor(target_scale=["own"]).fit(X, both)


def test_one_target_of_several_is_a_model_of_its_own(fitted):
    for place in range(3):
        one = fitted.of_target(place)
        np.testing.assert_allclose(one.predict(NEW), fitted.predict(NEW)[:, place], rtol=1e-9)
        np.testing.assert_allclose(
            one.predict_interval(NEW), fitted.predict_interval(NEW)[:, place], rtol=1e-9
        )
        assert one.reasons(NEW, 2).rows.shape == (N, 2)
        own = next(row for row in fitted.leaderboard_ if row["name"] == fitted.winner_name_)
        first = next(row for row in one.leaderboard_ if row["name"] == fitted.winner_name_)
        assert first["score"] == own["scores"][place]
        assert one.row_hashes_.count(one.encode_table(X), Y[:, place]) == N
    with pytest.raises(ValueError, match=r"target=5: give one of the targets \[0, 1, 2\]"):
        fitted.of_target(5)


def test_contributions_of_a_mean_add_up_to_each_target():
    machines = [KernelMachine("ridge", KERNEL), KernelMachine("window", KERNEL)]
    model = KernelRegressor(machines=machines, target_scale=["own", "logarithm", "own"])
    one = model.fit(X, Y).of_target(1)
    M, zeros = one.encode(NEW), np.zeros(len(NEW), int)
    parts = one.machine_.contributions(M, zeros).sum(axis=1)
    base = one.machine_.outputs(M)[:, 0] - parts  # offsets, the same for all rows
    np.testing.assert_allclose(base, base[0], rtol=1e-6)


@pytest.mark.parametrize("place", [None, 1])
def test_its_code_predicts_the_same(fitted, place):
    model = fitted if place is None else fitted.of_target(place)
    found = {"X": X, "y": Y}
    exec(model.code(), found)
    np.testing.assert_allclose(found["model"].predict(NEW), model.predict(NEW), rtol=1e-6)


@pytest.mark.full
def test_it_is_saved_refitted_replayed_and_compressed(fitted, tmp_path):
    mercer.save(fitted, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(NEW), fitted.predict(NEW))
    np.testing.assert_array_equal(again.predict_interval(NEW), fitted.predict_interval(NEW))
    assert again.targets_ == fitted.targets_
    replayed = KernelRegressor(replay=fitted.schedule_).fit(X, Y)
    np.testing.assert_allclose(replayed.predict(NEW), fitted.predict(NEW), rtol=1e-9)
    resumed = KernelRegressor(trials=1).fit(X, Y, resume=fitted)
    assert resumed.winner_name_ == fitted.winner_name_
    before = again.predict(NEW)
    again.refit(X[: N // 2], Y[: N // 2])
    assert again.predict(NEW).shape == before.shape
    again.compress(X[: N // 2], 20)
    assert again.predict(NEW).shape == before.shape
    before = again.predict(NEW)
    with pytest.raises(ValueError, match="has 2 columns"):
        again.refit(X, Y[:, :2])
    np.testing.assert_array_equal(again.predict(NEW), before)
    assert again.targets_ == fitted.targets_


@pytest.mark.parametrize(
    "read",
    [
        pd.DataFrame, pl.DataFrame, pa.table,
        lambda columns: np.array(
            list(zip(*columns.values())), [(name, float) for name in columns]
        ),
    ],
)  # fmt: skip
def test_names_of_columns_are_kept(read):
    names = {"low": Y[:, 0], "high": Y[:, 1]}
    model = KernelRegressor(trials=1).fit(X, read(names))
    assert model.targets_ == ["low", "high"]
    np.testing.assert_array_equal(
        model.of_target("high").predict(NEW), model.of_target(1).predict(NEW)
    )


def test_weights_are_repetitions_of_rows():
    weights = np.arange(N) % 3
    machine = KernelMachine("ridge", KERNEL)
    given = {"machines": [machine], "target_scale": "own"}
    weighted = KernelRegressor(**given).fit(X, Y, weights)
    repeated = KernelRegressor(**given).fit(np.repeat(X, weights, 0), np.repeat(Y, weights, 0))
    np.testing.assert_allclose(
        weighted.target_scale_.sizes, repeated.target_scale_.sizes, rtol=1e-9
    )
    assert weighted.stored_rows_.min() == 1  # rows of weight 0 are left out


def test_what_serves_one_target_alone_says_so(fitted, tmp_path):
    with pytest.raises(ValueError, match=r"'shapes' learns one target, but y has 3 columns"):
        KernelRegressor(machines=[KernelMachine("shapes")]).fit(X, Y)
    with pytest.raises(ValueError, match=r"call of_target\(0\)\.reasons\(X\)"):
        fitted.reasons(NEW)
    with pytest.raises(ValueError, match=r"call of_target\(0\)\.report\(path, X, y\)"):
        fitted.report(tmp_path / "report.html", NEW, Y)
    with pytest.raises(ValueError, match="KernelRegressor has one target"):
        KernelRegressor(trials=1).fit(X, Y[:, 0]).of_target(0)
    with pytest.raises(ValueError, match="y has no columns"):
        KernelRegressor(trials=1).fit(X, Y[:, :0])


def test_a_report_is_one_of_each_target(fitted, tmp_path):
    path = tmp_path / "report.html"
    with pytest.raises(ValueError, match=r"a report is of one target: .* model\.of_target\(name\)"):
        save_report(path, fitted, NEW, Y)
    with pytest.raises(ValueError, match=r"has the targets \[0, 1, 2\], but a dependence is of"):
        PartialDependenceDisplay.from_estimator(fitted, X, [0])
    fitted.of_target(0).report(path, NEW[:40], Y[:40, 0], time=2)
    assert "R²" in path.read_text(encoding="utf-8")


def test_classes_of_several_columns_have_one_classifier_each():
    classes = np.stack([Y[:, 0] > 0, Y[:, 2] > 0], axis=1).astype(int)
    with pytest.raises(ValueError, match=r"MultiOutputClassifier\(KernelClassifier\(\)\)"):
        KernelClassifier(trials=1).fit(X, classes)
    model = MultiOutputClassifier(KernelClassifier(trials=1)).fit(X, classes)
    assert model.predict(NEW).shape == classes.shape
    assert [P.shape for P in model.predict_proba(NEW)] == [(N, 2), (N, 2)]


def test_targets_of_one_name_are_refused():
    y = pd.DataFrame(Y[:, :2], columns=["low", "low"])
    with pytest.raises(ValueError, match="y has 2 columns with the name 'low': give each column"):
        KernelRegressor(trials=1).fit(X, y)
