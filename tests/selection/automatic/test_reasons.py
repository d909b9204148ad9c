"""The training rows that predictions rest on: their contributions add up to the prediction."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.machines.candidates import Recipe
from mercer.machines.candidates.candidate import Candidate
from mercer.machines.scores import metric_named
from mercer.machines.settings import SearchSettings
from mercer.machines.tasks import Regression
from mercer.selection.automatic import KernelClassifier, KernelRegressor, shown
from mercer.selection.automatic.kernel_machine import Fitter


def blobs(classes, n=120):
    random = np.random.default_rng(0)
    codes = np.arange(n) % classes
    X = random.normal(size=(n, 3)) + 2.5 * np.eye(3)[codes % 3] - codes[:, None] // 3
    return pd.DataFrame(X, columns=list("uvw")), np.array(list("abcd"))[codes]


@pytest.mark.parametrize("machine", ["ridge", "svc"])
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_contributions_add_up_to_the_output_of_the_class(machine, classes):
    X, y = blobs(classes)
    model = KernelClassifier(trials=1).fit(X[:90], y[:90])
    M, task = model.encode(X), model._read_target(y, len(y))[0]
    fitted = Recipe(machine).fit(task, model.kernel_, M[:90], y[:90])
    for c in range(classes):
        parts = fitted.contributions(M, np.full(len(M), c)).sum(axis=1)
        if machine == "ridge":
            assert_allclose(parts + fitted.offset[c], fitted.outputs(M)[:, c], atol=1e-4)
            continue
        svc, k = fitted.learner, classes
        values = svc.decision_function(M) - svc.intercept_
        values = -values.reshape(len(M), -1) if k == 2 else values
        pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
        expected = sum(
            v if c == a else -v if c == b else 0 * v for (a, b), v in zip(pairs, values.T)
        )
        assert_allclose(parts, expected, atol=1e-4)


@pytest.mark.parametrize("classes", [2, 4])
def test_reasons_in_many_blocks_are_those_of_one(classes, monkeypatch):
    X, y = blobs(classes)
    model = KernelClassifier(trials=1).fit(X, y)
    whole = model.reasons(X)
    monkeypatch.setattr(shown, "BLOCK", 7 * len(model.stored_rows_))
    parts = model.reasons(X)
    for name in ("rows", "against"):
        assert np.mean(getattr(parts, name) == getattr(whole, name)) > 0.99  # but for rounding
    assert_allclose(parts.shares, whole.shares, atol=1e-5)


def test_a_row_rests_on_its_own_copy_in_the_training_table():
    X, y = blobs(3)
    model = KernelClassifier(trials=1, only="kernels").fit(
        X, y
    )  # and not a mean, whose parts store other rows
    found = model.reasons(X.iloc[model.stored_rows_])
    assert found.rows.shape == found.shares.shape == (len(model.stored_rows_), 3)
    assert np.mean((found.rows == model.stored_rows_[:, None]).any(axis=1)) > 0.6
    assert (np.diff(found.shares, axis=1) <= 0).all()
    for_ = found.rows[:, 0]
    assert np.mean(y[for_] == model.predict(X.iloc[model.stored_rows_])) > 0.9
    against = found.against[found.against[:, 0] >= 0, 0]
    assert len(against)
    text = found.texts()
    assert list(text) == ["because_1", "because_2", "because_3", "not_like_1"]
    assert text["because_1"][0].startswith(f"row {for_[0] + 1} (")
    share = float(text["because_1"][0].split("(")[1].removesuffix("%)"))
    assert abs(share - 100 * found.shares[0, 0]) < 0.51


def test_rows_of_weight_zero_are_counted_but_never_reasons():
    X, y = blobs(2)
    weights = np.where(np.arange(len(y)) < 50, 0.0, 1.0)
    model = KernelClassifier(trials=1).fit(X, y, weights)
    assert model.stored_rows_.min() >= 50
    M = model.kernel_.encode(model.encode(X.iloc[model.stored_rows_]))
    assert_array_equal(model.kernel_.diag(M), model.kernel_.diag(model.X_fit_))
    own = model.kernel_.block(M, model.X_fit_)
    assert_allclose(own.diagonal(), model.kernel_.diag(M), rtol=1e-5)


def test_a_machine_of_low_rank_names_its_centres():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    y = np.sin(X[:, 0])
    model = KernelRegressor(trials=1).fit(X, y)
    features, M = model.encoder_.features_, model.encode(X)
    metric = metric_named("r2", "regression")
    fitter = Fitter(SearchSettings(Regression(), features, M, y, metric, 10**9, 0))
    model.machine_, model._stored = fitter.fit(Candidate.of(model.winner_), Recipe(rank=30))
    found = model.reasons(X[:5])
    assert (found.kind, found.stored) == ("centres", 30)
    own = model.kernel_.block(model.kernel_.encode(model.encode(X[model.stored_rows_])),
                              model.X_fit_)  # fmt: skip
    assert_allclose(own.diagonal(), 1, rtol=1e-4)


def test_the_rows_are_in_the_model_file(tmp_path):
    X, y = blobs(3)
    model = KernelClassifier(trials=1).fit(X, y)
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert again.reasons(X).texts() == model.reasons(X).texts()
