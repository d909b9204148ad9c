"""Columns of wide tables: HSIC against its definition, and the candidates that use it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.machines.candidates.learning import dependence
from mercer.machines.tasks import Classification, Regression
from selection.automatic.simple_models import simple_model, simple_names

RNG = np.random.default_rng(3)


def by_definition(x, L, w):
    """Σ w_i w_j k(x_i, x_j) L_ij with both centred, by n x n matrices."""
    x = (x - w @ x) / np.sqrt(w @ (x - w @ x) ** 2)
    K = np.exp(-((np.clip(x, -4, 4)[:, None] - np.clip(x, -4, 4)) ** 2) / 2)
    H = np.eye(len(x)) - w  # takes the weighted mean from the columns of what follows
    return w @ ((H @ K @ H.T) * (H @ L @ H.T)) @ w


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_criterion_of_the_gaussian_kernel(weighted):
    X, y = RNG.standard_t(3, size=(90, 5)), RNG.normal(size=90)
    w = RNG.uniform(0.1, 2, 90) if weighted else np.ones(90)
    share = w / w.sum()
    z = (y - share @ y) / np.sqrt(share @ (y - share @ y) ** 2)
    L = np.exp(-((np.clip(z, -4, 4)[:, None] - np.clip(z, -4, 4)) ** 2) / 2)
    wanted = [by_definition(x, L, share) for x in X.T]
    assert_allclose(dependence(X, y[:, None], w if weighted else None), wanted, rtol=1e-4)


def test_several_targets_have_the_linear_kernel():
    X, Y = RNG.normal(size=(60, 3)), np.eye(3)[RNG.integers(0, 3, 60)]
    wanted = [by_definition(x, Y @ Y.T, np.full(60, 1 / 60)) for x in X.T]
    assert_allclose(dependence(X, Y), wanted, rtol=1e-4)


def test_blocks_of_columns_scales_and_order_change_nothing(monkeypatch):
    X, y = RNG.normal(size=(50, 7)), RNG.normal(size=(50, 1))
    wanted = dependence(X, y)
    order = RNG.permutation(50)
    assert_allclose(dependence(X[order] * 1e5 + 3, y[order] * 1e-5), wanted, rtol=1e-3)
    monkeypatch.setattr("mercer.machines.candidates.learning.BLOCK", 1)
    assert_allclose(dependence(X, y), wanted, rtol=1e-6)


def test_a_constant_depends_on_nothing():
    assert_allclose(dependence(np.ones((20, 2)), RNG.normal(size=(20, 1))), 0, atol=1e-12)
    assert_allclose(dependence(RNG.normal(size=(20, 2)), np.ones((20, 1))), 0, atol=1e-12)


def wide(n=260, d=160):
    X = RNG.normal(size=(n, d))
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(d)]), X


def test_few_columns_of_a_wide_table_are_found():
    table, X = wide()
    y = X[:, 3] * X[:, 50] + np.abs(X[:, 120])  # without a linear relation
    model = KernelRegressor(trials=4).fit(table[:200], y[:200])
    assert model.winner_["family"] == "screened"
    assert {"c3", "c50", "c120"} <= set(model.relevance())
    assert model.score(table[200:], y[200:]) > 0.5
    assert model.leaderboard_[0]["score"] < 0.95  # the columns were chosen without the fold


def test_columns_that_only_seem_related_promise_nothing():
    """Where columns are chosen with the rows that are judged, noise looks like knowledge."""
    table, _ = wide(n=100, d=400)
    model = KernelRegressor(trials=3).fit(table, RNG.normal(size=100))
    scores = [row["score"] for row in model.leaderboard_ if not row["baseline"]]
    assert max(scores) < 0.15


@pytest.mark.spread(1)
@pytest.mark.parametrize("kind", [KernelRegressor, KernelClassifier])
def test_the_linear_baseline_of_a_wide_table_is_sparse(kind):
    table, X = wide()
    y = X[:, 3] - X[:, 9] if kind is KernelRegressor else np.where(X[:, 3] > X[:, 9], "a", "b")
    model = kind(trials=1).fit(table, y, sample_weight=RNG.uniform(0.5, 1, len(y)))
    features = model.encoder_.features_
    assert simple_names(features) == ("trivial", "linear (sparse)")
    assert simple_names(features[:9]) == ("trivial", "linear (spline)")
    row = next(r for r in model.leaderboard_ if r["name"] == "linear (sparse)")
    assert row["score"] > 0.85
    M = model.encode(table)
    task = Regression() if model.task == "regression" else Classification(model.classes_)
    fitted = simple_model("linear (sparse)", features, M, y, task)
    alone = simple_model("linear (sparse)", features, M, y, task, np.ones(len(y)))
    assert_array_equal(fitted(M[:5]), alone(M[:5]))


def test_few_columns_of_very_many_are_found_by_the_centroids_of_classes():
    """Ridge on all columns has half of the rows right, as the noise of the others is larger."""
    y = np.arange(120) % 3
    X = np.random.default_rng(1).normal(size=(120, 2000))
    X[:, :9] += 1.5 * np.eye(3)[y][:, np.arange(9) % 3]
    table, labels = pd.DataFrame(X).add_prefix("c"), np.array(["a", "b", "c"])[y]
    model = KernelClassifier(trials=2, metric="log_loss").fit(table[:60], labels[:60])
    loss = {row["name"]: row["loss"] for row in model.leaderboard_}
    assert loss["centroids: linear kernel"] < 0.5 * loss["linear kernel"]
    assert model.score(table[60:], labels[60:]) > 0.8
    assert model.reasons(table[60:63]).rows.shape == (3, 3)
    assert "centroids" in model.code()


def test_many_columns_that_tell_a_little_each_are_read_together(tmp_path):
    table, _ = wide(n=120, d=1000)
    y = np.array(["a", "b", "c"])[np.arange(120) % 3]
    table += 0.25 * np.random.default_rng(0).normal(size=(3, 1000))[np.arange(120) % 3]
    model = KernelClassifier(trials=1, metric="log_loss").fit(table[:60], y[:60])
    assert (model.winner_["family"], model.winner_name_) == ("dot", "linear kernel")
    assert model.score(table[60:], y[60:]) > 0.8
    simple = next(r for r in model.leaderboard_ if r["name"] == "linear (sparse)")
    assert model.leaderboard_[0]["loss"] < simple["loss"]
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model").predict_proba(table[60:])
    assert_array_equal(again, model.predict_proba(table[60:]))
    assert "Linear()" in model.code()
