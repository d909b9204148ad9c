"""The best model on left-out rows is kept, a simple one too; and how models are compared."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.machines.candidates import Candidate, Tried
from mercer.machines.holdout import (
    ModelComparison,
    as_good,
    compared,
    score_held_out,
    verdict,
)
from mercer.machines.scores import METRICS
from mercer.selection.automatic.trials.state import Leaderboard

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 12))
TABLE = pd.DataFrame(X, columns=list("abcdefghijkl")).assign(
    colour=np.array(list("rgb"))[RNG.integers(3, size=160)]
)
SLOPE = X[:, 0] - 2 * X[:, 1] + 1.5 * X[:, 2] + X[:, 3] + (TABLE["colour"] == "r")
NUMBERS = np.asarray(SLOPE + 0.5 * RNG.normal(size=160))
CLASSES = np.where(NUMBERS > 0, "high", "low")
#: kernels that are worse than a linear model of many columns
NARROW = [{"family": "gaussian", "scale": 10.0, "learn": False, "rows": 160, "rank": 160,
           "steps": []}]  # fmt: skip
KINDS = pytest.mark.parametrize(
    ("kind", "y"), [(KernelRegressor, NUMBERS), (KernelClassifier, CLASSES)]
)


def answers(model, X=TABLE):
    return model.predict(X) if model.task == "regression" else model.predict_proba(X)


@pytest.mark.spread(1)
@KINDS
def test_a_linear_model_that_is_better_is_kept_saved_repeated_and_explained(kind, y, tmp_path):
    weights = RNG.uniform(0.5, 2, size=160)
    model = kind(replay=NARROW).fit(TABLE, y, weights)
    assert model.winner_name_ == "linear (spline)"
    assert any("'linear (spline)', a simple one" in notice for notice in model.notices_)
    assert "regression" in model.solver_
    assert model.machine_.description == model.solver_
    assert "Splines(), [" in repr(model.kernel_)  # a report shows no knots: some are single rows
    path = tmp_path / "model.mercer"
    mercer.save(model, path)
    assert_array_equal(answers(mercer.load(path)), answers(model))
    assert_array_equal(answers(kind(replay=model.schedule_).fit(TABLE, y, weights)), answers(model))
    names = {"X": TABLE, "y": y}
    plain = kind(replay=NARROW).fit(TABLE, y)
    exec(plain.code(), names)
    assert_array_equal(answers(names["model"]), answers(plain))
    assert_allclose(answers(model.refit(TABLE, y, weights)), answers(kind(replay=model.schedule_)
                    .fit(TABLE, y, weights)))  # fmt: skip
    reasons = model.reasons(TABLE.iloc[:3])
    assert reasons.rows.shape == (3, 3)
    assert (reasons.rows >= 0).all()


@KINDS
def test_a_kernel_machine_is_kept_where_it_is_asked_for(kind, y):
    model = kind(replay=NARROW, only="kernels").fit(TABLE, y)
    assert model.winner_["family"] == "gaussian"
    assert len(model.machine_.parts) == 1
    with pytest.raises(ValueError, match="only='kernel': give \"kernels\""):
        kind(only="kernel").fit(TABLE, y)


def test_a_kernel_machine_that_is_better_is_kept():
    y = np.sin(3 * X[:, 0]) * X[:, 1]
    model = KernelRegressor(trials=2).fit(X[:, :2], y)
    assert not any("a simple one" in notice for notice in model.notices_)
    assert model.winner_["family"] != "splines"


def test_a_linear_model_on_another_scale_is_kept():
    y = np.exp(NUMBERS / 2)
    model = KernelRegressor(replay=NARROW).fit(TABLE, y)
    assert (model.winner_name_, model.target_scale_.name) == ("linear (spline)", "logarithm")
    assert (model.predict(TABLE) > 0).all()
    trivial = score_held_out(model, (TABLE, y), (TABLE, y)).baseline_predictions["trivial"]
    assert_allclose(trivial, y.mean())


def test_noise_keeps_the_constant():
    y = np.random.default_rng(0).normal(size=160)
    model = KernelRegressor(replay=NARROW).fit(TABLE, y)
    assert model.winner_name_ == "trivial"
    assert_allclose(model.predict(TABLE), y.mean())
    assert (model.reasons(TABLE.iloc[:2]).rows == -1).all()
    score = score_held_out(model, (TABLE, y), (TABLE, y))
    assert score.as_good is None
    assert "so a constant is kept" in score.verdict()


@KINDS
def test_groups_and_times_are_kept_apart(kind, y):
    for related in ({"groups": np.arange(160) // 4}, {"times": np.arange(160)}):
        model = kind(replay=NARROW).fit(TABLE, y, **related)
        assert Candidate.of(model.winner_).name == "linear (spline)"


@KINDS
def test_what_the_rows_add_makes_the_outputs(kind, y):
    """A linear model is a sum over its training rows too."""
    machine = kind(replay=NARROW).fit(TABLE, y).machine_
    M = kind(replay=NARROW).fit_and_encode(TABLE, y).matrix
    for output in range(machine.outputs(M).shape[1]):
        summed = machine.contributions(M, np.full(len(M), output)).sum(axis=1)
        rest = machine.outputs(M)[:, output] - summed
        assert np.ptp(rest) < 0.01 * np.ptp(summed)  # the intercept, and steps that stop early


def test_the_linear_model_is_scored_as_what_is_kept():
    model = KernelClassifier(replay=NARROW).fit(TABLE[:120], CLASSES[:120])
    train, held_out = (TABLE[:120], CLASSES[:120]), (TABLE[120:], CLASSES[120:])
    score = score_held_out(model, train, held_out)
    assert score.baselines["linear (spline)"] == score.score
    assert set(score.versus) == {"trivial"}
    assert "The model 'linear (spline)' beats the baseline 'trivial'" in score.verdict()


def test_a_tie_goes_to_the_smaller_loss():
    board = Leaderboard(METRICS["accuracy"])
    board.enter(Tried(None, "kernel", 100, score=0.9, loss=0.3, place=0))
    board.enter(Tried(None, "linear (spline)", 100, score=0.9, loss=0.2, baseline=True))
    assert board.winner().name == "linear (spline)"
    board.kernels = True
    assert board.winner().name == "kernel"


# --- the paired test --------------------------------------------------------------------------


def two_models(name, n, rng, gain):
    """Targets and the predictions of two models that err on the same hard rows."""
    if METRICS[name].task == "regression":
        y, hard = rng.normal(size=n), rng.normal(size=n)
        return y, *(y + hard + s * rng.normal(size=n) for s in (1 - gain, 1)), None
    y = rng.integers(0, 2, n)
    signs, hard = 2 * y - 1, rng.normal(size=n)
    second = (
        1 / (1 + np.exp(-(signs * (1 + g) + hard + rng.normal(size=n)))) for g in (2 * gain, 0)
    )
    return y, *(np.stack([1 - p, p], axis=1) for p in second), np.array([0, 1])


@pytest.mark.parametrize("name", ["accuracy", "log_loss", "mae", "rmse", "r2"])
def test_equal_models_are_rarely_told_apart_and_better_ones_often(name):
    rng = np.random.default_rng(0)
    false, found = [], []
    for draw in range(60):
        for gain, said in ((0, false), (0.8, found)):
            y, one, two, classes = two_models(name, 80, rng, gain)
            said.append(compared(METRICS[name], y, one, two, classes, draw).outcome)
    assert np.mean(np.array(false) != "as good") < 0.12  # 5%, and three standard errors of it
    assert np.mean(np.array(found) == "better") > 0.6
    assert "worse" not in found


@pytest.mark.parametrize("name", ["roc_auc", "f1", "balanced_accuracy", "average_precision"])
def test_scores_that_are_no_means_are_compared_too(name):
    rng = np.random.default_rng(1)
    y, one, two, classes = two_models(name, 150, rng, 1.5)
    found = compared(METRICS[name], y, one, two, classes)
    assert found.outcome == "better"
    assert found.low < found.difference < found.high
    other = compared(METRICS[name], y, two, one, classes)
    assert (other.outcome, other.difference) == ("worse", -found.difference)
    assert compared(METRICS[name], y, one, one, classes).outcome == "as good"


def test_accuracies_are_compared_by_the_rows_on_which_models_differ():
    y, classes = np.zeros(40, int), np.array([0, 1])
    right, wrong = np.array([0.9, 0.1]), np.array([0.1, 0.9])
    always = np.tile(right, (40, 1))
    five, six = (np.where(np.arange(40)[:, None] < k, wrong, right) for k in (5, 6))
    assert_allclose(compared(METRICS["accuracy"], y, always, five, classes).p, 2 / 2**5)
    assert compared(METRICS["accuracy"], y, always, five, classes).outcome == "as good"
    assert compared(METRICS["accuracy"], y, always, six, classes).outcome == "better"


def test_two_intervals_that_overlap_may_belong_to_models_that_differ():
    """An accuracy of 0.775 against one of 0.875 on the same 400 rows was called as good."""
    y, classes = np.zeros(400, int), np.array([0, 1])
    right, wrong = np.array([0.9, 0.1]), np.array([0.1, 0.9])
    one, two = (np.where(np.arange(400)[:, None] < k, wrong, right) for k in (90, 50))
    found = compared(METRICS["accuracy"], y, one, two, classes)
    assert (found.outcome, round(found.difference, 3)) == ("worse", -0.1)
    said = verdict({"linear": found}, {"linear": 0.875}, "the kernel machine")
    assert said.startswith("A simpler model is better: the baseline 'linear' scores 0.875")


def test_a_better_simple_model_is_named_before_one_as_good():
    even, worse = ModelComparison(0.0, -0.1, 0.1, 0.9), ModelComparison(-0.2, -0.3, -0.1, 0.01)
    better = ModelComparison(0.2, 0.1, 0.3, 0.01)
    assert as_good({"trivial": even, "linear": worse}) == "linear"
    assert as_good({"trivial": better, "linear": even}) == "linear"
    assert as_good({"trivial": better, "linear": better}) is None
