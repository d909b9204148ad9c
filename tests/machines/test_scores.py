"""Metrics agree with scikit-learn's, and their intervals hold what they promise."""

import numpy as np
import pytest
import sklearn.metrics as skm
from numpy.testing import assert_allclose

from mercer.machines.holdout import compared
from mercer.machines.scores import (
    METRICS,
    decision_weights,
    interval,
    metric_named,
)
from mercer.tables import default_metric

RNG = np.random.default_rng(0)
CLASSES = np.array(["a", "b", "c"])
CODES = RNG.integers(3, size=300)
P = RNG.dirichlet(np.ones(3), size=300) * 0.5 + 0.5 * np.eye(3)[RNG.permutation(CODES)]
P[::2] = 0.7 * np.eye(3)[CODES[::2]] + 0.1
Y, GUESS = CLASSES[CODES], CLASSES[P.argmax(axis=1)]

THEIRS = {
    "accuracy": skm.accuracy_score(Y, GUESS),
    "balanced_accuracy": skm.balanced_accuracy_score(Y, GUESS),
    "roc_auc": skm.roc_auc_score(Y, P, multi_class="ovr"),
    "log_loss": skm.log_loss(Y, P),
    "f1": skm.f1_score(Y, GUESS, average="macro"),
    "average_precision": skm.average_precision_score(np.eye(3)[CODES], P),
}


@pytest.mark.parametrize("name", THEIRS)
def test_classification(name):
    assert_allclose(metric_named(name, "classification")(Y, P, CLASSES), THEIRS[name])


def test_two_classes():
    y, classes = np.array([0, 0, 0, 1]), np.array([0, 1])
    p = np.array([0.1, 0.6, 0.2, 0.7])
    P = np.c_[1 - p, p]
    assert_allclose(METRICS["roc_auc"](y, P, classes), skm.roc_auc_score(y, p))
    assert_allclose(METRICS["f1"](y, P, classes), skm.f1_score(y, p > 0.5))  # of the rarer class
    assert np.isnan(METRICS["roc_auc"](y[:3], P[:3], classes))


@pytest.mark.parametrize("seed", range(8))
def test_equal_probabilities_and_weights(seed):
    """Those of scikit-learn, with many equal probabilities and rows of weight 0."""
    rng = np.random.default_rng(seed)
    y, p, w = rng.random(60) < 0.4, rng.integers(0, 9, 60) / 8, rng.integers(0, 3, 60) * 0.7
    y[:2], w[:2] = [True, False], 1.0
    P, classes = np.c_[1 - p, p], np.array([False, True])
    rare = int(np.average(y, weights=w) <= 0.5)
    theirs = {
        "roc_auc": skm.roc_auc_score(y, p, sample_weight=w),
        "average_precision": skm.average_precision_score(y == rare, P[:, rare], sample_weight=w),
        "f1": skm.f1_score(y, P.argmax(axis=1), pos_label=rare, sample_weight=w),
    }
    for name, expected in theirs.items():
        assert_allclose(METRICS[name](y, P, classes, w), expected, atol=1e-14)


def test_regression():
    y, p = RNG.normal(size=(2, 50))
    assert_allclose(METRICS["r2"](y, p), skm.r2_score(y, p))
    assert np.isnan(METRICS["r2"](y[:1], p[:1]))
    assert METRICS["r2"](np.ones(3), p[:3]) == skm.r2_score(np.ones(3), p[:3]) == 0
    assert_allclose(METRICS["rmse"](y, p) ** 2, skm.mean_squared_error(y, p))
    assert_allclose(METRICS["mae"](y, p), np.abs(y - p).mean())


def test_defaults_and_wrong_names():
    assert metric_named(None, "classification").name == "accuracy"
    assert metric_named(None, "regression").name == "r2"
    with pytest.raises(ValueError, match=r"metric='r2': for classification give one of accuracy"):
        metric_named("r2", "classification")


def test_wilson_is_that_of_the_textbook():
    classes = np.array([0, 1])
    y, P = np.ones(10, int), np.eye(2)[[1] * 8 + [0] * 2]
    low, high = interval(METRICS["accuracy"], y, P, classes)
    assert_allclose((low, high), (0.490, 0.943), atol=5e-4)  # Agresti & Coull 1998
    assert interval(METRICS["accuracy"], y, np.eye(2)[[1] * 10], classes)[1] == pytest.approx(1)


@pytest.mark.spread(1)
@pytest.mark.parametrize("name", ["rmse", "mae", "r2"])
def test_the_bootstrap_covers_the_truth_about_as_often_as_it_says(name):
    rng, metric = np.random.default_rng(1), METRICS[name]
    truth = {"rmse": 1.0, "mae": np.sqrt(2 / np.pi), "r2": 0.5}[name]
    covered = 0
    for seed in range(40):
        p = rng.normal(size=150)
        low, high = interval(metric, p + rng.normal(size=150), p, seed=seed)
        assert low < high
        covered += low <= truth <= high
    assert covered >= 33


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_the_best_score_is_that_of_no_error(metric):
    if metric.task == "regression":
        assert metric(np.arange(3.0), np.arange(3.0)) == metric.best
    else:
        metric = metric.on(np.arange(3))
        score = metric(CLASSES, np.eye(3), CLASSES)
        assert_allclose(score, metric.best, atol=1e-12)
    assert metric.sign() == (1 if metric.best else -1)


@pytest.mark.parametrize("name", ["mae", "rmse"])
def test_the_bootstrap_is_as_wide_as_95_percent_are(name):
    """Not wider either: of a mean of n errors, 1.96 standard errors on each side."""
    e = np.random.default_rng(0).normal(size=4000)
    low, high = interval(METRICS[name], e, np.zeros(4000))
    # sd of |e| is √(1 - 2/π); that of the root of the mean of e² is √2 / 2, by its slope
    spread = {"mae": np.sqrt(1 - 2 / np.pi), "rmse": np.sqrt(0.5)}[name]
    assert_allclose(high - low, 2 * 1.96 * spread / np.sqrt(4000), rtol=0.12)
    assert_allclose((low + high) / 2, METRICS[name](e, np.zeros(4000)), rtol=0.01)


def test_the_seed_of_an_interval_moves_its_ends_a_little_and_nothing_else():
    e = RNG.normal(size=300)
    ends = [interval(METRICS["rmse"], e, np.zeros(300), seed=s) for s in (0, 0, 1)]
    assert ends[0] == ends[1] != ends[2]
    assert_allclose(ends[0], ends[2], rtol=0.05)


def test_two_classes_of_which_one_is_rare_are_judged_by_precision():
    for share, expected in [(0.05, "average_precision"), (0.1, "accuracy"), (0.5, "accuracy")]:
        y = np.arange(1000) < 1000 * share
        assert default_metric("classification", y) == expected
    assert default_metric("classification", np.repeat([0, 1, 2], [1, 99, 900])) == "accuracy"
    assert default_metric("regression", np.arange(9.0)) == "r2"


def test_average_precision_is_that_of_the_rarer_class():
    rng = np.random.default_rng(0)
    y, p = np.repeat(["a", "b"], [30, 70]), rng.uniform(size=100)
    metric, classes = metric_named("average_precision", "classification"), np.array(["a", "b"])
    P = np.stack([p, 1 - p], axis=1)
    assert_allclose(metric(y, P, classes), skm.average_precision_score(y == "a", p))
    other = metric(np.repeat(["b", "a"], [30, 70]), P[:, ::-1], classes)
    assert other == metric(y, P, classes)


@pytest.mark.parametrize("classes", [["a", "b"], [9, 10]])
def test_of_two_equal_classes_the_second_is_found(classes):
    rng = np.random.default_rng(0)
    classes = np.array(classes)
    y, p = np.repeat(classes, 20), np.repeat([0.3, 0.5], 20) + rng.uniform(0, 0.5, 40)
    P, second = np.stack([1 - p, p], axis=1), y == classes[1]
    precise = METRICS["average_precision"](y, P, classes)
    assert_allclose(precise, skm.average_precision_score(second, p))
    assert abs(precise - skm.average_precision_score(~second, 1 - p)) > 1e-3
    f1 = METRICS["f1"]
    assert_allclose(f1(y, P, classes), skm.f1_score(second, p > 0.5))
    assert abs(f1(y, P, classes) - skm.f1_score(~second, p <= 0.5)) > 1e-3
    # and no other threshold finds it better
    found = f1(y, P * decision_weights(f1, y, P, classes), classes)
    assert_allclose(found, max(skm.f1_score(second, p >= step) for step in p))


@pytest.mark.parametrize("weights", [None, np.random.default_rng(1).uniform(0.5, 2, 400)])
@pytest.mark.parametrize("name", ["f1", "balanced_accuracy"])
def test_decisions_suit_the_metric(name, weights):
    """No other threshold scores better, and the most probable class scores worse."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400) ** 3
    y = np.where(rng.uniform(size=400) < 0.6 * p, "rare", "usual")
    metric, classes = metric_named(name, "classification"), np.array(["rare", "usual"])
    P = np.stack([0.6 * p, 1 - 0.6 * p], axis=1)
    found = metric(y, P * decision_weights(metric, y, P, classes, weights), classes, weights)
    others = [metric(y, P * [1 / t - 1, 1.0], classes, weights) for t in np.linspace(0.01, 0.99)]
    assert found > metric(y, P, classes, weights)
    assert found >= max(others) - (0.0 if name == "f1" else 0.05)


def test_decisions_of_other_metrics_are_the_most_probable_classes():
    P = np.full((4, 2), 0.5)
    for name in ("accuracy", "roc_auc", "log_loss"):
        metric = metric_named(name, "classification")
        y = np.array(["a", "b", "b", "b"])
        assert decision_weights(metric, y, P, np.array(["a", "b"])).tolist() == [1, 1]


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", ["mae", "r2", "accuracy", "log_loss"])
def test_copies_of_rows_in_groups_make_no_interval_narrower(name):
    """Seven copies of each row, each row a group: the same as the rows once."""
    rng = np.random.default_rng(3)
    y, classes = rng.normal(size=40), None
    predicted = y + rng.normal(size=40)
    task = "regression"
    if name in ("accuracy", "log_loss"):
        task, classes = "classification", np.array([0, 1])
        y, odds = (y > 0).astype(int), 1 / (1 + np.exp(-predicted))
        predicted = np.column_stack([1 - odds, odds])
    metric, groups = metric_named(name, task), np.repeat(np.arange(40), 7)
    copies = np.repeat(y, 7), np.repeat(predicted, 7, axis=0)
    once = interval(metric, y, predicted, classes, groups=np.arange(40))
    many = interval(metric, *copies, classes, groups=groups)
    assert_allclose(many, once)
    by_rows = interval(metric, *copies, classes)
    assert by_rows[1] - by_rows[0] < 0.6 * (many[1] - many[0])


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", ["mae", "r2", "accuracy", "f1"])
def test_copies_of_rows_in_groups_make_no_difference_surer(name):
    rng = np.random.default_rng(5)
    y, classes = rng.normal(size=30), None
    first, second = y + rng.normal(size=30), y + 1.2 * rng.normal(size=30)
    task = "regression"
    if name in ("accuracy", "f1"):
        task, classes = "classification", np.array([0, 1])
        first, second = (np.column_stack([-v, v]) for v in (first, second))
        y = (y > 0).astype(int)
    metric, groups = metric_named(name, task), np.repeat(np.arange(30), 9)
    copies = [np.repeat(each, 9, axis=0) for each in (y, first, second)]
    once = compared(metric, y, first, second, classes, groups=np.arange(30))
    many = compared(metric, *copies, classes, groups=groups)
    assert_allclose(many.difference, once.difference)
    assert abs(many.p - once.p) < 0.15  # other numbers of draws
    assert many.outcome == "as good"
    assert compared(metric, *copies, classes).p < many.p
