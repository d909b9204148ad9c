"""The honest score: what is held out, how it is scored, and what it is compared with."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import r2_score

from mercer import KernelClassifier, KernelRegressor
from mercer.machines import linear
from mercer.machines.holdout import ModelComparison, hold_out, kept_words, score_held_out
from mercer.machines.scores import interval, metric_named
from mercer.machines.tasks import Classification, Regression
from mercer.tables import task_of
from mercer.tables.encoding import TableEncoder
from mercer.threads import Clock
from selection.automatic.simple_models import simple_model

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(300, 3))
CIRCLE = np.where((X[:, :2] ** 2).sum(axis=1) < 0.6, "in", "out")


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=8),
    st.sampled_from([0.1, 0.2, 0.5]),
    st.integers(0, 5),
)
def test_every_class_gives_its_share_and_keeps_a_row(sizes, share, seed):
    y = np.repeat(np.arange(len(sizes)), sizes)
    train, held_out = hold_out(len(y), y, "classification", share, seed)
    assert sorted([*train, *held_out]) == list(range(len(y)))
    for label, size in enumerate(sizes):
        mine = int((y[held_out] == label).sum())
        assert mine < size or size > 1
        assert abs(mine - share * size) <= 1
        assert (y[train] == label).any()


def test_a_fifth_is_held_out_and_the_seed_decides_which():
    y = np.arange(101.0)
    train, held_out = hold_out(101, y, "regression")
    assert (len(train), len(held_out)) == (81, 20)
    assert held_out.tolist() == hold_out(101, y, "regression")[1].tolist()
    assert held_out.tolist() != hold_out(101, y, "regression", seed=1)[1].tolist()


@pytest.mark.parametrize("share", [0.1, 0.25, 0.3, 0.75])
def test_the_share_is_rounded_to_the_nearest_number_of_rows(share):
    for n in range(2, 50):
        held_out = hold_out(n, np.arange(n), "regression", share)[1]
        assert abs(len(held_out) - n * share) <= 0.5 + 1e-9 or (n * share < 1 == len(held_out))


def test_a_share_is_between_0_and_1():
    with pytest.raises(ValueError, match="share=1"):
        hold_out(9, np.arange(9), "regression", share=1)


@pytest.fixture(scope="module")
def circle():
    train, held_out = hold_out(300, CIRCLE, "classification")
    model = KernelClassifier(trials=2).fit(X[train], CIRCLE[train])
    score = score_held_out(model, (X[train], CIRCLE[train]), (X[held_out], CIRCLE[held_out]))
    return model, train, held_out, score


def test_the_score_is_that_of_the_predictions(circle):
    model, _, held_out, score = circle
    assert score.metric == "accuracy"
    assert score.score == model.score(X[held_out], CIRCLE[held_out])
    assert (score.rows, score.trained_on) == (60, 240)
    P = model.predict_proba(X[held_out])
    metric = metric_named(None, "classification")
    assert (score.low, score.high) == interval(metric, CIRCLE[held_out], P, model.classes_)
    assert score.low < score.score < score.high


def test_encoded_rows_are_scored_as_tables_are(circle):
    _, train, held_out, score = circle
    model = KernelClassifier(trials=2)
    M = model.fit_and_encode(X[train], CIRCLE[train])
    assert len(M) == len(train)
    again = score_held_out(model, (M, CIRCLE[train]), (model.encode(X[held_out]), CIRCLE[held_out]))
    assert_array_equal(again.predicted, score.predicted)
    assert again.baselines == score.baselines


def test_baselines_are_fitted_to_the_same_rows(circle):
    model, train, held_out, score = circle
    frequent = max(set(CIRCLE[train].tolist()), key=CIRCLE[train].tolist().count)
    assert score.baselines["trivial"] == np.mean(CIRCLE[held_out] == frequent)
    features = model.encoder_.features_
    M = model.encoder_.transform(X)
    task = Classification(model.classes_)
    spline = simple_model("linear (spline)", features, M[train], CIRCLE[train], task)
    found = model.classes_[spline(M[held_out]).argmax(axis=1)]
    assert score.baselines["linear (spline)"] == np.mean(found == CIRCLE[held_out])


def test_a_baseline_within_the_interval_is_said_to_do_as_well():
    y = np.where(RNG.uniform(size=300) < 0.5, "a", "b")  # noise
    model = KernelClassifier(trials=1, only="kernels").fit(X[:200], y[:200])
    score = score_held_out(model, (X[:200], y[:200]), (X[200:], y[200:]))
    assert score.as_good == "trivial"
    assert "simpler model may do as well: the baseline 'trivial'" in score.verdict()
    worse = ModelComparison(-0.1, -0.15, -0.05, 0.01)
    better = replace(score, versus={"trivial": worse})
    assert "simpler model is better: the baseline 'trivial'" in better.verdict()
    assert better.verdict().endswith("better by 0.1 (95% interval 0.05 to 0.15).")


def test_baselines_without_time_are_not_a_constant_that_is_kept(circle, monkeypatch):
    model, train, held_out, _ = circle
    rows = (X[train], CIRCLE[train]), (X[held_out], CIRCLE[held_out])
    monkeypatch.setattr(Clock, "within", lambda self, step: None)  # nothing ends in time
    late = score_held_out(model, *rows, clock=Clock(0.0))
    assert not late.versus
    assert late.verdict() == "There was no time to compare the model with simple ones."
    noise = KernelClassifier(trials=1).fit(X[:40], RNG.permutation(CIRCLE[:40]))
    kept = replace(late, kept=kept_words(noise))
    assert noise.winner_name_ == "trivial"
    assert "so a constant is kept" in kept.verdict()


@pytest.mark.parametrize("metric", [None, "rmse"])
def test_a_kernel_machine_that_earns_its_place(metric):
    y = np.sin(4 * X[:, 0] * X[:, 1]) + 0.05 * RNG.normal(size=300)
    model = KernelRegressor(trials=2, metric=metric).fit(X[:240], y[:240])
    score = score_held_out(model, (X[:240], y[:240]), (X[240:], y[240:]))
    assert score.as_good is None
    assert "beats both baselines" in score.verdict()


@pytest.mark.parametrize("hit", ["in", "out"])
def test_a_class_that_training_lacks_counts_as_wrong(circle, hit):
    model, train, *_ = circle
    known = (X[train], CIRCLE[train])
    one, both = (score_held_out(model, known, (X[:rows], np.array([hit, "beyond"][:rows])))
                 for rows in (1, 2))  # fmt: skip
    assert both.score == one.score / 2


@pytest.mark.parametrize("name", ["trivial", "linear (spline)", "linear (sparse)"])
@pytest.mark.parametrize("y", [["a", "b", "a"], ["a"] * 40, ["a", "b"] * 20])
def test_baselines_of_few_rows_or_one_class(name, y):
    table = RNG.normal(size=(len(y), 2))
    encoder = TableEncoder().fit(table)
    task = Classification(np.unique(y))
    model = simple_model(name, encoder.features_, encoder.transform(table), np.array(y), task)
    assert model(encoder.transform(table)).shape == (len(y), len(set(y)))


@pytest.mark.full
def test_the_linear_baseline_of_a_thousand_levels_is_that_of_fewer(monkeypatch):
    codes = RNG.integers(1300, size=6000)
    y = np.sin(codes) + X[codes % 300, 0] + 0.1 * RNG.normal(size=6000)
    table = pl.DataFrame({"level": [f"level {c}" for c in codes], "x": X[codes % 300, 0]})
    encoder = TableEncoder().fit(table)
    M = encoder.transform(table)

    def fitted():
        return simple_model("linear (spline)", encoder.features_, M, y, Regression())

    searched, loss = [], linear._left_out_loss
    monkeypatch.setattr(linear, "_left_out_loss", lambda *given: searched.append(1) or loss(*given))
    wide = fitted()
    assert len(searched) == len(linear.ALPHAS)
    monkeypatch.setattr(linear, "MANY_FEATURES", 10_000)
    narrow = fitted()
    assert len(searched) == len(linear.ALPHAS)
    # the penalties, chosen by three folds and by leave-one-out, may differ by a step
    assert_allclose(wide(M), narrow(M), atol=0.25)
    assert abs(r2_score(y, wide(M)) - r2_score(y, narrow(M))) < 0.01


@pytest.mark.parametrize(
    ("target", "task", "reason"),
    [
        (["a", "b"] * 9, "classification", "2 different values that are not numbers"),
        ([True, False] * 9, "classification", "2 different values"),
        ([0.0, 1.0] * 9, "classification", "2 different values"),
        (list(range(5)) * 20, "classification", "--task regression reads them as numbers"),
        (list(range(5)) * 2, "regression", "--task classification reads them as classes"),
        (list(range(15)) * 20, "classification", "15 different values"),
        ([*range(15)] + [*range(12)] * 20, "regression", "integers, 15 different"),  # counts
        ([*range(9)] + [*range(7)] * 20, "classification", "9 different values"),
        (list(range(300)), "regression", "integers, 300 different"),
        ([0.5 * i for i in range(5)] * 20, "regression", "numbers, 5 different"),
        ([0.5, 1.5] * 9, "regression", "numbers, 2 different"),
    ],
)
def test_the_task_follows_from_the_target(target, task, reason):
    found, why = task_of(np.array(target))
    assert found == task
    assert reason in why
    assert task_of(np.array(target), "regression") == ("regression", "you said so")


def test_simple_models_are_fitted_on_the_scale_of_the_search():
    """Beside a model of logarithms a linear one of the target itself looked far worse."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    y = np.exp(1.5 * X.sum(axis=1) + 0.1 * rng.normal(size=160))
    model = KernelRegressor(trials=1, metric="mae", only="kernels").fit(X[:100], y[:100])
    assert model.target_scale_.name
    found = score_held_out(model, (X[:100], y[:100]), (X[100:], y[100:]))
    assert found.baselines["linear (spline)"] < 0.5 * found.baselines["trivial"]
