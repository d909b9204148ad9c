"""tune: a learner fitted to a task's targets, and what turns its outputs into answers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelRidge
from mercer.kernels import RBF
from mercer.selection.tasks import Classification, Regression
from mercer.selection.tuned import ridge, tune

KERNEL = RBF(0.5)
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Z = rng.normal(size=(9, 3))
f = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=60) + 5
WEIGHTS = rng.integers(1, 4, 60).astype(float)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("rank", [None, 60])
def test_regression_is_ridge_on_the_target_less_its_mean(weights, rank):
    tuned = tune(Regression(), ridge(KERNEL, rank, random_state=0), X, f, weights)
    mean = np.average(f, weights=weights)
    wanted = KernelRidge("auto", kernel=KERNEL).fit(X, f - mean, weights)
    assert_allclose(tuned.offset, [mean])
    assert tuned.learner.alpha_ == wanted.alpha_
    assert_allclose(tuned(Z), wanted.predict(Z) + mean, atol=1e-7)
    assert_allclose(tuned.outputs(Z), tuned(Z)[:, None])
    assert_allclose(tuned.left_out()[:, 0], wanted.left_out_ + mean, atol=1e-7)


def test_a_constant_is_predicted_by_the_offset():
    tuned = tune(Regression(), ridge(KERNEL), X, np.full(60, 7.0))
    assert_allclose(tuned(Z), 7.0)
    assert_allclose(tuned.left_out(), 7.0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_classification_is_calibrated_on_rows_that_the_fit_has_not_seen(classes, weights):
    y = np.array(list("abc"))[np.digitize(f, [5.0] if classes == 2 else [4.6, 5.4])]
    task = Classification(np.array(list("abc"))[:classes])
    tuned = tune(task, ridge(KERNEL), X, y, weights)
    targets = task.targets(y)
    mean = np.average(targets, axis=0, weights=weights)
    wanted = KernelRidge("auto", kernel=KERNEL).fit(X, targets - mean, weights)
    assert_allclose(tuned.outputs(Z), wanted.predict(Z) + mean, atol=1e-7)
    assert_allclose(tuned.left_out(), wanted.left_out_ + mean, atol=1e-7)
    finish = task.calibrate(wanted.left_out_ + mean, y, weights)
    assert_allclose(tuned(Z), finish(wanted.predict(Z) + mean), atol=1e-6)
    assert tuned(Z).shape == (9, classes)
    assert_allclose(tuned(Z).sum(axis=1), 1)
    assert np.mean(task.classes[tuned(X).argmax(axis=1)] == y) > 0.8


def test_weights_mean_repetition_but_for_the_rows_that_are_left_out_together():
    """A row and its copies are left out as one: outputs agree where the penalties do."""
    times = WEIGHTS.astype(int)
    tuned = tune(Regression(), ridge(KERNEL), X, f, WEIGHTS)
    many = np.repeat(np.arange(60), times)
    mean = f[many].mean()
    repeated = KernelRidge(tuned.learner.alpha_, kernel=KERNEL).fit(X[many], f[many] - mean)
    assert_allclose(tuned(Z), repeated.predict(Z) + mean, atol=1e-6)


def test_float32_outputs_are_summed_in_float64():
    tuned = tune(Regression(), ridge(KERNEL), X.astype(np.float32), f)
    assert tuned.learner.dual_coef_.dtype == np.float32
    assert tuned.outputs(Z.astype(np.float32)).dtype == np.float64
    assert_allclose(
        tuned(Z.astype(np.float32)), tune(Regression(), ridge(KERNEL), X, f)(Z), atol=1e-2
    )


def test_the_learner_of_the_search():
    exact, few = ridge(KERNEL, memory=10**8), ridge(KERNEL, 20, n_jobs=1)
    assert (exact.alpha, exact.solver, exact.rank, exact.memory) == ("auto", "auto", None, 10**8)
    assert (few.alpha, few.solver, few.rank, few.n_jobs) == ("auto", "low_rank", 20, 1)
    assert tune(Regression(), few, X, f).learner.dual_coef_.shape == (20, 1)
