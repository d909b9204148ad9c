"""Sums of many kernels against the public learner; they and windows in a search."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import KernelClassifier, KernelRegressor, MultipleKernelRegressor
from mercer.kernels import RBF, Laplacian, TableKernel
from mercer.machines.candidates.candidate import Candidate
from mercer.machines.candidates.learning import learn_sum
from mercer.tables.encoding import TableEncoder

RNG = np.random.default_rng(7)
X = RNG.uniform(size=(150, 3))
PARTS = [(Laplacian(), [0]), (Laplacian(), [1]), (RBF(0.5), [0, 1, 2]), (RBF(4.0), [0, 1, 2])]
MANY = Candidate("many", learn=True)
TABLE = pd.DataFrame(X, columns=["a", "b", "noise"]).assign(c=RNG.choice(["red", "blue"], 150))
WAVE = np.sin(6 * X[:, 0]) + (TABLE["c"] == "red") + 0.05 * RNG.normal(size=150)


def test_the_weights_are_those_of_the_public_learner():
    kernel = TableKernel(PARTS, "sum")
    Y, w = np.sin(6 * X[:, :1]) + X[:, 1:2] * X[:, 2:], RNG.integers(1, 4, 150).astype(float)
    found = learn_sum(kernel, kernel.encode(X), Y, w)
    named = [(str(j), *part) for j, part in enumerate(PARTS)]
    theirs = MultipleKernelRegressor(named, method="alignf").fit(X, Y, sample_weight=w)
    used = [PARTS[j] for j in np.flatnonzero(theirs.weights_)]
    assert [columns for _, columns in found.parts] == [columns for _, columns in used]
    assert_allclose(found.weights, theirs.weights_[theirs.weights_ > 0], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_target_that_no_kernel_tells_leaves_equal_weights(dtype):
    kernel = TableKernel(PARTS, "sum")
    Z = kernel.encode(X.astype(dtype))
    assert learn_sum(kernel, Z, np.zeros((150, 1))).weights == [0.25] * 4


def test_each_column_and_all_columns_have_kernels():
    features = TableEncoder().fit(TABLE).features_
    parts = [
        (type(k).__name__, [features[j].label for j in columns])
        for k, columns in MANY.kernel(features).parts
    ]
    alone = [("Laplacian", ["a"]), ("Laplacian", ["b"]), ("Laplacian", ["noise"]), ("Match", ["c"])]
    assert parts[:4] == alone
    assert parts[4:] == [("RBF", ["a", "b", "noise"]), ("Laplacian", ["a", "b", "noise"])] * 4


@pytest.mark.parametrize("kind", [KernelRegressor, KernelClassifier])
@pytest.mark.parametrize(
    ("family", "machine", "name"),
    [
        ("many", "ridge", "sum of many kernels, learnt weights"),
        ("interactions", "window", "window: interactions, learnt weights"),
    ],
)
def test_both_are_searched_saved_repeated_and_explained(kind, family, machine, name, tmp_path):
    y = WAVE if kind is KernelRegressor else np.where(WAVE > 0.5, "high", "low")
    entry = {"family": family, "machine": machine, "learn": True}
    model = kind(replay=[entry | {"rows": 150, "rank": 50, "steps": []}], only="kernels").fit(
        TABLE, y
    )
    assert model.winner_name_ == name
    assert model.score(TABLE, y) > 0.85
    relevance = model.relevance()
    if family == "many":
        assert_allclose(sum(relevance.values()), 1)
    assert set(list(relevance)[:2]) == {"a", "c"}
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    replayed = kind(replay=model.schedule_).fit(TABLE, y)
    space = {}
    exec(model.code(), {"X": TABLE, "y": y}, space)
    for other in (again, replayed, space["model"]):
        assert_allclose(answers(other), answers(model), rtol=1e-5)
    assert (model.reasons(TABLE[:5]).rows >= 0).all()
    assert model.kernel_.block(model.X_fit_[:2], model.X_fit_).shape == (2, 150)
    before = answers(model)
    assert np.corrcoef(answers(model.compress(TABLE, 60)).ravel(), before.ravel())[0, 1] > 0.95


def answers(model):
    kind = isinstance(model, KernelRegressor)
    return model.predict(TABLE) if kind else model.predict_proba(TABLE)


def test_its_cost_grows_with_rows_and_kernels():
    from mercer.selection.automatic.trials.costs import Costs

    costs = Costs(0, 1)
    known = costs.alignment(1000, 1e-8, 10)
    assert known < costs.alignment(2000, 1e-8, 10) / 3
    assert known < costs.alignment(1000, 1e-8, 40) < 1
