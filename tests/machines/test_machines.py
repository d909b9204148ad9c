"""Recipes: a learner fitted to a task's targets, and what turns its outputs into answers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from mercer import SVC, KernelRidge, NadarayaWatson
from mercer.kernels import RBF
from mercer.machines import linear, recipes
from mercer.machines.candidates import Recipe
from mercer.machines.machines import pair_likelihoods
from mercer.machines.recipes import splits
from mercer.machines.tasks import Classification, Regression
from mercer.threads import Stop

KERNEL = RBF(0.5)
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Z = rng.normal(size=(9, 3))
f = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=60) + 5
WEIGHTS = rng.integers(1, 4, 60).astype(float)


Y3 = np.array(list("abc"))[np.digitize(f, [4.6, 5.4])]
TASK3 = Classification(np.array(list("abc")))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("rank", [None, 60])
def test_regression_is_ridge_on_the_target_less_its_mean(weights, rank):
    tuned = Recipe(rank=rank).fit(Regression(), KERNEL, X, f, weights)
    mean = np.average(f, weights=weights)
    wanted = KernelRidge("auto", kernel=KERNEL).fit(X, f - mean, weights)
    assert_allclose(tuned.offset, [mean])
    assert tuned.learner.alpha_ == wanted.alpha_
    assert_allclose(tuned(Z), wanted.predict(Z) + mean, atol=1e-7)
    assert_allclose(tuned.outputs(Z), tuned(Z)[:, None])
    total = 60 if weights is None else weights.sum()
    assert_allclose(tuned.penalty, wanted.alpha_ / total)


def test_a_constant_is_predicted_by_the_offset():
    tuned = Recipe().fit(Regression(), KERNEL, X, np.full(60, 7.0))
    assert_allclose(tuned(Z), 7.0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_classification_is_calibrated_on_rows_that_the_fit_has_not_seen(classes, weights):
    y = np.array(list("abc"))[np.digitize(f, [5.0] if classes == 2 else [4.6, 5.4])]
    task = Classification(np.array(list("abc"))[:classes])
    tuned = Recipe().fit(task, KERNEL, X, y, weights)
    targets = task.targets(y)
    mean = np.average(targets, axis=0, weights=weights)
    wanted = KernelRidge("auto", kernel=KERNEL).fit(X, targets - mean, weights)
    assert_allclose(tuned.outputs(Z), wanted.predict(Z) + mean, atol=1e-7)
    finish = task.calibrate(wanted.left_out_ + mean, y, weights)
    assert_allclose(tuned(Z), finish(wanted.predict(Z) + mean), atol=1e-6)
    assert tuned(Z).shape == (9, classes)
    assert_allclose(tuned(Z).sum(axis=1), 1)
    assert np.mean(task.classes[tuned(X).argmax(axis=1)] == y) > 0.8


def test_weights_mean_repetition_but_for_the_rows_that_are_left_out_together():
    """A row and its copies are left out as one: outputs agree where the penalties do."""
    times = WEIGHTS.astype(int)
    tuned = Recipe().fit(Regression(), KERNEL, X, f, WEIGHTS)
    many = np.repeat(np.arange(60), times)
    mean = f[many].mean()
    repeated = KernelRidge(tuned.learner.alpha_, kernel=KERNEL).fit(X[many], f[many] - mean)
    assert_allclose(tuned(Z), repeated.predict(Z) + mean, atol=1e-6)


def test_float32_outputs_are_summed_in_float64():
    tuned = Recipe().fit(Regression(), KERNEL, X.astype(np.float32), f)
    assert tuned.learner.dual_coef_.dtype == np.float32
    assert tuned.outputs(Z.astype(np.float32)).dtype == np.float64
    assert_allclose(
        tuned(Z.astype(np.float32)), Recipe().fit(Regression(), KERNEL, X, f)(Z), atol=1e-2
    )


def test_few_centres():
    machine = Recipe(rank=20, memory=10**8, n_jobs=1).fit(Regression(), KERNEL, X, f)
    assert machine.learner.dual_coef_.shape == (20, 1)
    assert "low rank, 20 centres" in machine.description


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_an_exact_machine_has_the_penalty_of_fewer_rows(kind, weights, monkeypatch):
    monkeypatch.setattr(recipes, "PENALTY_ROWS", 40)
    task, y = (Regression(), f) if kind == "numbers" else (TASK3, Y3)
    found = Recipe(exact=True).fit(task, KERNEL, X, y, weights)
    rows = np.sort(np.random.default_rng(0).permutation(60)[:40])
    few = Recipe().fit(task, KERNEL, X[rows], y[rows], None if weights is None else weights[rows])
    assert found.learner.solver_ == "cholesky"
    assert found.learner.alpha == few.learner.alpha_
    targets = task.targets(y)
    mean = np.average(targets, axis=0, weights=weights)
    wanted = KernelRidge(few.learner.alpha_, kernel=KERNEL).fit(X, targets - mean, weights)
    assert_allclose(found.outputs(Z), wanted.predict(Z) + mean, atol=1e-7)
    assert_allclose(found(Z), few.finish(found.outputs(Z)))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("penalty", [None, 10.0])
def test_a_support_vector_machine_is_that_of_the_learner(weights, penalty):
    machine = Recipe("svc", penalty).fit(TASK3, KERNEL, X, Y3, weights)
    assert machine.penalty in ((1.0, 10.0, 100.0) if penalty is None else (10.0,))
    wanted = SVC(C=machine.penalty, kernel=KERNEL, decision_function_shape="ovo")
    values = wanted.fit(X, Y3, weights).decision_function(Z)
    assert_allclose(machine.outputs(Z), pair_likelihoods(values, 3), atol=1e-2)
    assert_allclose(machine(Z).sum(axis=1), 1)
    assert np.mean(TASK3.classes[machine(X).argmax(axis=1)] == Y3) > 0.8


def test_its_probabilities_are_calibrated_on_rows_that_the_fits_have_not_seen():
    """On its own rows a machine with a narrow kernel is never wrong; its probabilities are."""
    noise = np.array(list("ab"))[rng.integers(2, size=200)]
    points = rng.normal(size=(200, 3))
    machine = Recipe("svc").fit(Classification(np.array(list("ab"))), RBF(50.0), points, noise)
    assert np.abs(machine(rng.normal(size=(50, 3))) - 0.5).max() < 0.2


@pytest.mark.parametrize("k", [2, 3, 5])
def test_likelihoods_of_pairs(k):
    """Each pair gives both of its classes the logarithm of a logistic function."""
    pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
    values = rng.normal(size=(7, len(pairs)))
    wanted = np.zeros((7, k))
    for (a, b), v in zip(pairs, values.T):
        wanted[:, a] += np.log(1 / (1 + np.exp(-3 * v)))
        wanted[:, b] += np.log(1 / (1 + np.exp(3 * v)))
    given = -values[:, 0] if k == 2 else values
    assert_allclose(pair_likelihoods(given, k), wanted)


def test_rows_are_split_by_class():
    codes = np.repeat([0, 1, 2], [100, 20, 1])
    folds = splits(codes, 0)
    assert len(folds) == 3
    assert_array_equal(np.sort(np.concatenate([judged for _, judged in folds])), np.arange(120))
    for train, judged in folds:
        assert not set(train) & set(judged)
        assert 120 in train  # the only row of its class
        assert np.sum(codes[judged] == 1) in (6, 7)
    (train, judged), *others = splits(np.repeat([0, 1], 5000), 0)
    assert not others
    assert (len(train), len(judged)) == (3200, 800)


def test_classes_of_single_rows_are_fitted():
    y = np.array(["a", "b"])
    machine = Recipe("svc").fit(Classification(y), KERNEL, X[:2], y)
    assert machine(X[:2]).argmax(axis=1).tolist() == [0, 1]


def test_a_class_that_is_not_judged_is_not_shifted():
    """One row among thousands: its shift is that of the others, not what the prior makes of it."""
    points = rng.normal(size=(600, 3))
    y = np.array(list("ab"))[(points[:, 0] > 0).astype(int)]
    y[7] = "rare"
    machine = Recipe("svc").fit(Classification(np.array(["a", "b", "rare"])), KERNEL, points, y)
    predicted = machine(rng.normal(size=(500, 3))).argmax(axis=1)
    assert np.mean(predicted == 2) < 0.02


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_a_window_is_that_of_the_learner(kind, weights):
    task, y = (Regression(), f) if kind == "numbers" else (TASK3, Y3)
    machine = Recipe("window").fit(task, KERNEL, X, y, weights)
    learner = NadarayaWatson(metric=KERNEL).fit(X, task.targets(y), weights)
    assert machine.penalty == learner.width_
    means, left_out = learner.predict(Z), learner.left_out_
    if kind == "classes":
        shares = (1 + np.asarray(left_out)) / 2
        finish = task.calibrate(np.log(shares + 1e-3), y, weights)
        assert_allclose(machine(Z), finish(np.log((1 + means) / 2 + 1e-3)), atol=1e-9)
        assert np.mean(task.classes[machine(X).argmax(axis=1)] == y) > 0.8
    else:
        assert_allclose(machine(Z), means[:, 0])
    some = np.arange(9) % task.targets(y).shape[1]
    parts = machine.contributions(Z, some)
    assert_allclose(parts.sum(axis=1), means[np.arange(9), some], atol=1e-6)
    again = machine.again(0.5).fit(task, machine.kernel, X, y, weights)
    assert_allclose(again(Z), machine(Z), atol=1e-6)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_a_local_machine_is_that_of_the_learner(kind, weights):
    task, y = (Regression(), f) if kind == "numbers" else (TASK3, Y3)
    machine = Recipe("local", rank=9, leaf_rows=20).fit(task, KERNEL, X, y, weights)
    Y = task.targets(y)
    mean = np.average(Y, axis=0, weights=weights)
    settings = {"solver": "local", "rank": 9, "leaf_rows": 20, "random_state": 0}
    learner = KernelRidge("auto", kernel=KERNEL, **settings).fit(X, Y - mean, weights)
    assert machine.learner.alpha_ == learner.alpha_
    outputs = learner.predict(Z) + mean
    assert_allclose(machine.outputs(Z), outputs, atol=1e-7)
    finish = task.calibrate(learner.left_out_ + mean, y, weights)
    assert_allclose(machine(Z), finish(outputs), atol=1e-6)
    which = np.arange(9) % Y.shape[1]
    parts = machine.contributions(Z, which)
    assert parts.shape == (9, 60)
    assert_allclose(parts.sum(axis=1), (outputs - mean)[np.arange(9), which], atol=1e-7)
    assert machine.kind == "training rows"
    assert machine.description.startswith("kernel ridge, 4 leaves of 15 rows, 9 centres, penalty")
    again = machine.again(0.5).fit(task, machine.kernel, X, y, weights)
    assert again.learner.leaf_rows == 20


def test_a_local_machine_is_local_where_an_exact_one_would_do(monkeypatch):
    """Its folds may be small enough to be exact, but memory for it may be short."""
    monkeypatch.setattr(recipes, "PENALTY_ROWS", 40)
    machine = Recipe("local", rank=9, exact=True, leaf_rows=20).fit(Regression(), KERNEL, X, f)
    assert machine.learner.solver_ == "local"


def test_a_window_of_hardly_any_rows():
    """One row has no other that it could be predicted from."""
    assert_allclose(Recipe("window").fit(Regression(), KERNEL, X[:1], f[:1])(Z), f[0], rtol=1e-6)
    two = Recipe("window").fit(Regression(), KERNEL, X[:2], f[:2])(Z)
    assert (two >= f[:2].min() - 1e-9).all()
    assert (two <= f[:2].max() + 1e-9).all()
    same = Recipe("window").fit(TASK3, KERNEL, X[[0] * 6], Y3[:6])
    assert_allclose(same(Z).sum(axis=1), 1)


def test_ridge_on_many_features_chooses_as_a_grid_does_and_can_be_stopped(monkeypatch):
    monkeypatch.setattr(linear, "MANY_FEATURES", 3)
    w = WEIGHTS
    grid = GridSearchCV(
        Ridge(solver="sparse_cg"), {"alpha": linear.ALPHAS * w.mean()}, cv=3,
        scoring="neg_mean_squared_error",
    ).fit(X, f, sample_weight=w)  # fmt: skip
    found = linear._ridge(X, f[:, None], w)
    assert found.penalty == grid.best_params_["alpha"]
    assert_allclose(found.coef[:, 0], grid.best_estimator_.coef_)
    with Stop() as stop:
        stop.set()
        with pytest.raises(KeyboardInterrupt):
            linear._ridge(X, f[:, None], w)
