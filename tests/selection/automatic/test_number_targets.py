"""Targets that are fitted on another scale: which, and what predictions are then."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import KernelRegressor
from mercer.machines.tasks import Regression, TargetScale
from mercer.selection.automatic.number_targets import LogitScale, LogScale, RankScale, RootScale

RNG = np.random.default_rng(0)
N = 400
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
F = (X["a"] + np.sin(2 * X["b"])).to_numpy()
NOISE = RNG.normal(size=N)
LOGNORMAL = np.exp(3 + 1.5 * F + 0.5 * NOISE)
SHARES = 1 / (1 + np.exp(-3 * F - 0.5 * NOISE))
TRAIN, TEST = slice(0, 250), slice(250, N)


def scales(y):
    yield TargetScale.of(y)
    yield LogScale.of(y)
    yield LogScale.of(np.where(y < np.median(y), 0, y), shift=float(y.min()))
    yield RootScale.of(y)
    yield LogitScale.of(y / y.max(), most=1.0, margin=0.01)
    yield RankScale.of(y, levels=np.unique(np.quantile(y, np.linspace(0, 1, 50))))


@pytest.mark.parametrize("i", range(6))
def test_back_is_the_inverse(i):
    y = np.sort(LOGNORMAL)
    y = {2: np.where(y < np.median(y), 0, y), 4: y / y.max()}.get(i, y)
    scale = list(scales(LOGNORMAL))[i]
    tolerance = 0.05 if i == 5 else 1e-9  # ranks between quantiles are interpolated
    inside = y[10:-10]
    assert_allclose(scale.back(scale.forward(inside)), inside, rtol=tolerance, atol=tolerance)
    assert (np.diff(scale.back(np.linspace(*np.clip(scale.limits, -5, 5), 50))) >= 0).all()


@pytest.mark.parametrize(("Scale", "share"), [(LogScale, 1.7), (RootScale, 0.6)])
def test_the_correction_multiplies_predictions(Scale, share):
    scale, z = Scale.of(LOGNORMAL), np.linspace(1, 3, 9)
    slope, bias = scale.corrected(share)
    assert_allclose(scale.back(slope * z + bias), share * scale.back(z), rtol=1e-12)


def test_corrected_predictions_have_the_mean_of_the_targets():
    task = Regression(LogScale.of(LOGNORMAL))
    outputs = (3 + 1.5 * F)[:, None]
    weights = RNG.uniform(0.5, 2, N)
    means = task.calibrate(outputs, LOGNORMAL, weights)(outputs)
    assert_allclose(np.average(means, weights=weights), np.average(LOGNORMAL, weights=weights))
    medians = Regression(LogScale.of(LOGNORMAL), corrected=False)
    assert_allclose(medians.calibrate(outputs, LOGNORMAL)(outputs), np.exp(outputs[:, 0]))


@pytest.mark.parametrize(
    ("y", "metric", "name"),
    [
        (LOGNORMAL, "mae", {"logarithm", "ranks"}),
        (LOGNORMAL, "r2", {"logarithm"}),
        (SHARES, "r2", {"logit"}),
        (100 * SHARES, "rmse", {"logit"}),
        (F + 0.1 * NOISE, "r2", {""}),
        (10 + F + 0.1 * NOISE, "r2", {""}),
    ],
    ids=["skewed, mae", "skewed", "shares", "percent", "plain", "plain and positive"],
)
def test_the_scale_that_suits_is_chosen(y, metric, name):
    model = KernelRegressor(trials=1, metric=metric).fit(X[TRAIN], y[TRAIN])
    assert model.target_scale_.name in name
    assert any("fitted by its" in notice for notice in model.notices_) == (name != {""})


def test_a_skewed_target_is_predicted_better_and_never_below_zero():
    model = KernelRegressor(trials=2, metric="mae").fit(X[TRAIN], LOGNORMAL[TRAIN])
    found = model.predict(X[TEST])
    plain = KernelRegressor(trials=2).fit(X[TRAIN], LOGNORMAL[TRAIN] - 1000).predict(X[TEST]) + 1000
    errors = [np.abs(each - LOGNORMAL[TEST]).mean() for each in (found, plain)]
    assert errors[0] < 0.9 * errors[1]
    assert found.min() >= 0


def test_what_is_never_negative_is_not_predicted_to_be():
    y = np.where(F > 0, F, 0) + 0.01 * np.abs(NOISE)
    model = KernelRegressor(trials=1).fit(X[TRAIN], y[TRAIN])
    assert model.machine_.outputs(model.encode(X)).min() < 0 or model.target_scale_.name
    assert model.predict(X).min() >= 0


@pytest.mark.full
def test_few_rows_few_values_and_negative_targets_keep_their_scale():
    few = KernelRegressor(trials=1).fit(X[:40], LOGNORMAL[:40])
    counts = KernelRegressor(trials=1).fit(X[TRAIN], np.round(np.clip(F, 0, 5))[TRAIN])
    signed = KernelRegressor(trials=1).fit(X[TRAIN], LOGNORMAL[TRAIN] - 100)
    assert [m.target_scale_.name for m in (few, counts, signed)] == ["", "", ""]


@pytest.mark.parametrize("name", ["own", "logarithm", "square root", "logit", "ranks"])
def test_a_target_of_zeros_has_every_scale(name):
    y = np.stack([np.zeros(60), SHARES[:60]], axis=1)
    model = KernelRegressor(trials=1, target_scale=[name, None]).fit(X[:60], y)
    assert_allclose(model.predict(X[TEST])[:, 0], 0, atol=1e-9)


@pytest.mark.full
def test_a_list_has_none_where_the_scale_is_to_be_chosen():
    y = np.stack([LOGNORMAL, LOGNORMAL], axis=1)[TRAIN]
    model = KernelRegressor(trials=1, target_scale=["own", None]).fit(X[TRAIN], y)
    assert [scale.name for scale in model.target_scale_.each] == ["", "logarithm"]
    assert [notice[:20] for notice in model.notices_ if "fitted by" in notice] == [
        "1 is fitted by its l"
    ]
    with pytest.raises(ValueError, match="target_scale=3: these targets"):
        KernelRegressor(target_scale=3).fit(X[TRAIN], LOGNORMAL[TRAIN])


def test_files_refits_and_replays_keep_the_scale(tmp_path):
    model = KernelRegressor(trials=2).fit(X[TRAIN], SHARES[TRAIN])
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert_allclose(again.predict(X[TEST]), model.predict(X[TEST]), rtol=1e-12)
    replayed = KernelRegressor(replay=model.schedule_).fit(X[TRAIN], SHARES[TRAIN])
    assert_allclose(replayed.predict(X[TEST]), model.predict(X[TEST]), rtol=1e-6)
    model.refit(X, SHARES)
    assert model.target_scale_.name == "logit"
    assert model.score(X[TEST], SHARES[TEST]) > 0.95
    assert model.predict(X).max() <= 1
