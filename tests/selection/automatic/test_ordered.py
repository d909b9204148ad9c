"""Ordered classes: where the order comes from, what is learnt of it, and how it is scored."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.machines import METRICS, Classification, score_held_out
from mercer.machines.candidates import Candidate
from mercer.tables import known_order

LEVELS = ["low", "medium", "high", "very high"]
N, TRAIN = 360, 200
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=list("abc"))
F = np.sin(2 * X["a"]) + X["b"] + 0.6 * RNG.normal(size=N)
STEPS = np.searchsorted([-1, 0.3, 1], F)
Y = np.array(LEVELS)[STEPS]
KNOWN, NEW = X[:TRAIN], X[TRAIN:].reset_index(drop=True)


def steps_off(predicted):
    places = [LEVELS.index(label) for label in predicted]
    return float(np.mean(np.abs(places - STEPS[TRAIN:])))


@pytest.mark.parametrize(
    "y",
    [
        pd.Categorical(Y[:TRAIN], LEVELS, ordered=True),
        pd.Series(pd.Categorical(Y[:TRAIN], LEVELS, ordered=True)),
        pl.Series(Y[:TRAIN], dtype=pl.Enum(LEVELS)),
    ],
    ids=["categorical", "pandas", "polars"],
)
def test_the_order_of_a_series_is_that_of_its_type(y):
    model = KernelClassifier(trials=1).fit(KNOWN, y)
    told = KernelClassifier(trials=1, order=LEVELS).fit(KNOWN, Y[:TRAIN])
    assert model.order_ == told.order_ == LEVELS
    assert model.classes_.tolist() == sorted(LEVELS)
    assert model.metric_ == "rank_error"
    np.testing.assert_array_equal(model.predict(NEW), told.predict(NEW))


@pytest.mark.full
def test_other_classes_have_none():
    for y in (Y[:TRAIN], pd.Series(pd.Categorical(Y[:TRAIN], LEVELS))):
        model = KernelClassifier(trials=1).fit(KNOWN, y)
        assert model.order_ is None
        assert model.metric_ == "accuracy"


def test_rows_of_weight_zero_take_no_part_in_the_order():
    y = pd.Series(pd.Categorical(Y[:TRAIN], LEVELS, ordered=True))
    model = KernelClassifier(trials=1).fit(KNOWN, y, (y != "very high").astype(float))
    assert model.order_ == LEVELS[:3]


def test_predictions_are_fewer_steps_off():
    ridge = [asdict(Candidate("gaussian")) | {"rows": TRAIN, "rank": None, "steps": []}]
    plain = KernelClassifier(replay=ridge, only="kernels").fit(KNOWN, Y[:TRAIN])
    ordered = KernelClassifier(replay=ridge, only="kernels", order=LEVELS).fit(KNOWN, Y[:TRAIN])
    guess = steps_off(np.full(N - TRAIN, "medium"))
    assert steps_off(ordered.predict(NEW)) < steps_off(plain.predict(NEW)) < 0.7 * guess


def test_targets_fall_with_the_steps():
    task, y = Classification.read(np.array(LEVELS), 4, "any", LEVELS)
    found = task.targets(y)
    places = [sorted(LEVELS).index(level) for level in LEVELS]
    wanted = 1 - 2 * np.abs(np.subtract.outer(np.arange(4), np.arange(4))) / 3
    np.testing.assert_allclose(found[:, places], wanted)


def test_scores_count_steps_of_the_median_and_of_the_mean():
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.ones(4), 50)
    y = rng.integers(0, 4, 50)
    ranks = np.array([2, 0, 3, 1])
    classes = np.array(list("abcd"))
    order = np.argsort(ranks)
    error, kappa = (METRICS[name].on(ranks) for name in ("rank_error", "quadratic_kappa"))
    medians = (np.cumsum(P[:, order], axis=1) < 0.5).sum(axis=1)
    np.testing.assert_array_equal(ranks[error.choice(P)], medians)
    assert error(classes[y], P, classes) == np.mean(np.abs(ranks[y] - medians))
    chosen = ranks[kappa.choice(P)]
    np.testing.assert_array_equal(chosen, np.round(P @ ranks))
    wanted = cohen_kappa_score(ranks[y], chosen, weights="quadratic")
    np.testing.assert_allclose(kappa(classes[y], P, classes), wanted)
    twice = kappa(np.repeat(classes[y], 2), np.repeat(P, 2, axis=0), classes)
    np.testing.assert_allclose(kappa(classes[y], P, classes, np.full(50, 2.0)), twice)


def test_a_class_that_training_never_had_is_as_wrong_as_can_be():
    metric = METRICS["rank_error"].on(np.arange(3))
    P = np.eye(3)[[0, 1, 2, 2]]
    classes = np.array(list("abc"))
    assert metric(np.array(["z", "z", "z", "c"]), P, classes) == (2 + 2 + 2 + 0) / 4 - 1 / 4
    assert metric(np.array(["a", "b", "c", "c"]), P, classes) == 0


@pytest.mark.parametrize("metric", ["quadratic_kappa", "rank_error", "accuracy"])
def test_files_and_scores_on_held_out_rows(metric, tmp_path):
    model = KernelClassifier(trials=1, order=LEVELS, metric=metric).fit(KNOWN, Y[:TRAIN])
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    found = model.predict(NEW)
    np.testing.assert_array_equal(again.predict(NEW), found)
    score = score_held_out(model, (KNOWN, Y[:TRAIN]), (NEW, Y[TRAIN:]))
    if metric == "rank_error":
        np.testing.assert_allclose(score.score, steps_off(found))
    assert score.baselines["trivial"] != score.score


def test_code_knows_the_order():
    model = KernelClassifier(trials=1, order=LEVELS).fit(KNOWN, Y[:TRAIN])
    again: dict = {"X": KNOWN, "y": Y[:TRAIN]}
    exec(model.code(), again)
    np.testing.assert_allclose(
        again["model"].predict_proba(NEW), model.predict_proba(NEW), atol=1e-6
    )
    np.testing.assert_array_equal(again["model"].predict(NEW), model.predict(NEW))


def test_wrong_orders_are_refused():
    for order, said in (
        (["low", "high"], "lacks the class 'medium'"),
        ([*LEVELS, "low"], "has a class twice"),
    ):
        with pytest.raises(ValueError, match=said):
            KernelClassifier(trials=1, order=order).fit(KNOWN, Y[:TRAIN])
    with pytest.raises(ValueError, match="these have no order"):
        KernelClassifier(trials=1, metric="rank_error").fit(KNOWN, Y[:TRAIN])
    with pytest.raises(ValueError, match="for regression give one of"):
        KernelRegressor(metric="rank_error").fit(KNOWN, STEPS[:TRAIN])


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["High", "low", "Medium"], ["low", "Medium", "High"]),
        ([3, 1, 2], [1, 2, 3]),
        (["L", "M", "S", "XL"], ["S", "M", "L", "XL"]),
        (["Strongly_agree", "neutral", "disagree"], ["disagree", "neutral", "Strongly_agree"]),
        (["yes", "no"], None),
        (["low", "high"], None),
        (["red", "green", "low"], None),
    ],
)
def test_known_scales(values, order):
    assert known_order(values) == order
