"""The automatic estimators: scikit-learn's contract, hostile tables, probabilities, refits."""

from copy import deepcopy
from dataclasses import asdict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

import mercer
from lanes import few
from mercer import KernelClassifier, KernelRegressor
from mercer.machines.candidates.candidate import Candidate

RNG = np.random.default_rng(0)
N = 120
TABLE = pd.DataFrame(
    {
        "size": RNG.normal(size=N),
        "age": np.where(RNG.uniform(size=N) < 0.1, np.nan, RNG.integers(20, 60, size=N)),
        "colour": np.array(["red", "green", None], dtype=object)[RNG.integers(3, size=N)],
        "since": pd.date_range("2020-01-01", periods=N),
        "note": [f"some words, never the same {i}" for i in range(N)],
        "row": np.arange(N),
        "one": 1,
    }
)
LABELS = np.where((TABLE["size"] > 0) ^ (TABLE["colour"] == "red"), "yes", "no")
NUMBERS = TABLE["size"].to_numpy() ** 2 + (TABLE["colour"] == "green")


@pytest.mark.full
@pytest.mark.parametrize("estimator", [KernelClassifier(trials=1), KernelRegressor(trials=1)])
def test_scikit_learns_checks_all_pass(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    failed = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
    # A row of weight 2 stands in one fold, a row given twice in two. Machines compute in float32,
    # whose rounding is as large as what scikit-learn allows a row that is alone: see the next test.
    assert failed.keys() <= {
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
        "check_methods_subset_invariance",
    }
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}
    own = DummyClassifier() if estimator.task == "classification" else DummyRegressor()
    assert len(results) - len(skipped) >= len(list(estimator_checks_generator(own)))


@pytest.mark.spread(1)
@pytest.mark.parametrize("estimator", [KernelClassifier(trials=2), KernelRegressor(trials=2)])
def test_a_row_is_predicted_alone_as_among_others(estimator):
    model = estimator.fit(TABLE, LABELS if estimator.task == "classification" else NUMBERS)
    method = model.predict_proba if estimator.task == "classification" else model.predict
    alone = np.concatenate([method(TABLE.iloc[[i]]) for i in range(0, N, 7)])
    assert_allclose(alone, method(TABLE)[::7], rtol=1e-5, atol=1e-5)


@pytest.mark.spread(2)
@pytest.mark.parametrize("make", [lambda t: t, pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_every_library_give_the_same_model(make):
    frame = TABLE.drop(columns="note")
    one = KernelClassifier(trials=1).fit(make(frame), LABELS)
    two = KernelClassifier(trials=1).fit(frame, LABELS)
    assert_allclose(one.predict_proba(make(frame)), two.predict_proba(frame), rtol=1e-6)
    assert one.feature_names_in_.tolist() == frame.columns.tolist()
    assert one.n_features_in_ == 6


@pytest.fixture(scope="module")
def fitted():
    return KernelClassifier(trials=3).fit(TABLE, LABELS)


def test_columns_are_inferred_and_what_is_left_out_is_said(fitted):
    kinds = {column.name: column.kind for column in fitted.columns_}
    assert kinds == {
        "size": "number", "age": "number", "colour": "category", "since": "date", "note": "text",
        "row": "identifier", "one": "constant",
    }  # fmt: skip
    notices = " ".join(fitted.notices_)
    for part in ("row (counts the rows", "one (every value is 1)", "age"):
        assert part in notices


def test_probabilities_sum_to_one_and_agree_with_the_classes(fitted):
    P = fitted.predict_proba(TABLE)
    assert_allclose(P.sum(axis=1), 1)
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert_array_equal(fitted.predict(TABLE), fitted.classes_[P.argmax(axis=1)])
    f = fitted.decision_function(TABLE)
    assert_allclose(f, np.log(P[:, 1] / P[:, 0]), rtol=1e-6)
    assert_array_equal(f > 0, fitted.predict(TABLE) == "yes")


def test_the_machine_is_the_printed_kernel(fitted):
    """K of kernel_ and the kept rows, times the coefficients, is what it predicts from."""
    rows = fitted.kernel_.encode(fitted.encoder_.transform(TABLE), like=fitted.X_fit_)
    K = fitted.kernel_.block(rows, fitted.X_fit_)
    machine = fitted.machine_
    outputs = K @ machine.learner.dual_coef_ + machine.offset
    odds = machine.finish.slope * outputs + machine.finish.bias
    assert_allclose(odds[:, 1] - odds[:, 0], fitted.decision_function(TABLE), rtol=1e-3, atol=1e-3)
    assert np.linalg.eigvalsh(fitted.kernel_.block(rows, rows).astype(float))[0] > -1e-4
    assert "TableKernel" in repr(fitted.kernel_)


@pytest.mark.full
def test_probabilities_are_calibrated():
    X = RNG.uniform(-1, 1, size=(1200, 2))
    p = 1 / (1 + np.exp(-4 * X[:, 0] * np.sign(X[:, 1])))
    y = (RNG.uniform(size=1200) < p).astype(int)
    model = KernelClassifier(trials=2).fit(X[:600], y[:600])
    P = model.predict_proba(X[600:])
    assert log_loss(y[600:], P) < log_loss(y[600:], np.c_[1 - p, p][600:]) + 0.05
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
        inside = (P[:, 1] >= low) & (P[:, 1] <= high)
        assert abs(P[inside, 1].mean() - y[600:][inside].mean()) < 0.1


@pytest.mark.spread(1)
@pytest.mark.parametrize("metric", few(2, ["balanced_accuracy", "log_loss", "roc_auc", "f1"]))
def test_metrics_of_classification(metric):
    model = KernelClassifier(trials=2, metric=metric).fit(TABLE, LABELS)
    assert model.leaderboard_[-1]["name"] == "trivial"


def test_an_unknown_metric_is_refused_before_anything_else():
    with pytest.raises(ValueError, match="metric='accuracy': for regression give one of r2, rmse"):
        KernelRegressor(metric="accuracy").fit("no table", None)


def test_new_tables_may_be_ordered_otherwise_and_hold_more(fitted):
    shuffled = TABLE[TABLE.columns[::-1]].assign(further=0)
    assert_array_equal(fitted.predict(shuffled), fitted.predict(TABLE))
    needed = pl.from_pandas(TABLE[["since", "note", "colour", "age", "size"]])
    assert_array_equal(fitted.predict(needed), fitted.predict(TABLE))


def test_new_tables_may_hold_what_training_did_not(fitted):
    new = pd.DataFrame(
        {"size": [1e9, None], "age": [None, 200], "colour": ["blue", None],
         "since": pd.to_datetime(["2050-01-01", None]), "note": [None, "ζ"]}
    )  # fmt: skip
    assert np.isfinite(fitted.predict_proba(new)).all()


def test_missing_columns_and_infinities_are_refused(fitted):
    with pytest.raises(ValueError, match=r"the columns 'size', 'since' of .* are lacking"):
        fitted.predict(TABLE.drop(columns=["size", "since"]))
    with pytest.raises(ValueError, match="infinity in column 'size', row 3"):
        fitted.predict(TABLE.assign(size=np.where(np.arange(N) == 3, np.inf, 0.0)))


def test_arrays_must_keep_their_number_of_columns():
    X, y = load_iris(return_X_y=True)
    model = KernelClassifier(trials=1).fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but KernelClassifier is expecting 4"):
        model.predict(X[:, :3])


@pytest.mark.parametrize("fit", [KernelClassifier, KernelRegressor])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        (np.ones(N - 1), "inconsistent numbers of samples"),
        (np.full(N, np.nan), "y contains NaN in row 0; 120 of 120 rows"),
        (np.where(np.arange(N) == 5, np.inf, 1.0), "y contains infinity in row 5; 1 of 120 rows"),
        (np.array([1, None] * (N // 2), dtype=object), "y contains NaN in row 1"),
    ],
)
def test_targets_that_are_none(fit, y, message):
    with pytest.raises(ValueError, match=message):
        fit(trials=1).fit(TABLE, y)


def test_a_regression_needs_numbers_and_a_classification_classes():
    with pytest.raises(ValueError, match="are not numbers, such as 'no' in row 0: a regression"):
        KernelRegressor(trials=1).fit(TABLE, np.sort(LABELS))
    mixed = np.array([1, 2.5, "three"] * (N // 3), dtype=object)
    with pytest.raises(ValueError, match="are not numbers, such as 'three' in row 2: a regression"):
        KernelRegressor(trials=1).fit(TABLE, mixed)
    with pytest.raises(ValueError, match="one class, 'yes', in all 120 rows"):
        KernelClassifier(trials=1).fit(TABLE, ["yes"] * N)
    with pytest.raises(ValueError, match="Unknown label type"):
        KernelClassifier(trials=1).fit(TABLE, NUMBERS)


def test_a_constant_number_is_predicted_and_said():
    model = KernelRegressor(trials=1).fit(TABLE, np.full(N, 3.5))
    assert_allclose(model.predict(TABLE), 3.5)
    assert "The target is constant, so the prediction is constant too." in model.notices_


def test_many_classes_of_few_rows_are_said_once(recwarn):
    """scikit-learn would warn of each of the fits."""
    X, y = RNG.normal(size=(40, 2)), [f"c{i % 27}" for i in range(40)]
    model = KernelClassifier(trials=2).fit(X, y)
    assert not len(recwarn)
    assert sum("The target has 27 classes in 40 rows" in notice for notice in model.notices_) == 1


@pytest.mark.parametrize(
    "given", [{"trials": 0}, {"trials": 1.5}, {"time": "soon"}, {"memory": "much"}]
)
def test_wrong_parameters_are_named(given):
    (name,) = given
    with pytest.raises(ValueError, match=f"{name}="):
        KernelRegressor(**given).fit(TABLE, NUMBERS)


HOSTILE = {
    "3 rows": pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"]}),
    "2 rows": pd.DataFrame({"a": [1.0, 2.0]}),
    "1 feature": pd.DataFrame({"a": RNG.normal(size=60)}),
    "1 category": pd.DataFrame({"a": ["x", "y", "z"] * 20}),
    "more features than rows": pd.DataFrame(RNG.normal(size=(20, 60)), columns=map(str, range(60))),
    "more than 100 features": pd.DataFrame(
        RNG.normal(size=(30, 120)), columns=[*map(str, range(120))]
    ),
    "many levels": pd.DataFrame(
        {"a": [f"v{i % 300}" for i in range(600)], "b": np.arange(600.0) % 9}
    ),
    "mixed types": pd.DataFrame({"a": [1, "a", 2.5, None] * 15}),
    "dates": pd.DataFrame({"a": pd.date_range("2024-01-01", periods=40, freq="37h")}),
    "duplicate rows": pd.DataFrame({"a": [1.0, 2.0, 3.0] * 20, "b": [1.0, 2.0, 3.0] * 20}),
    "mostly missing": pd.DataFrame({"a": [1.0, 2.0, 3.0, *[None] * 57], "b": range(0, 120, 2)}),
    "huge and tiny": pd.DataFrame({"a": 10.0 ** np.arange(-300, 300, 10)}),
}


@pytest.mark.spread(3)
@pytest.mark.parametrize("table", few(5, HOSTILE.values()), ids=HOSTILE)
def test_hostile_tables(table):
    n = len(table)
    y = np.arange(n) % 2
    classifier = KernelClassifier(trials=2).fit(table, y)
    assert np.isfinite(classifier.predict_proba(table)).all()
    regressor = KernelRegressor(trials=2).fit(table, RNG.normal(size=n))
    assert np.isfinite(regressor.predict(table)).all()


def test_one_row_is_too_few():
    with pytest.raises(ValueError, match="n_samples = 1: give at least 2 rows"):
        KernelRegressor().fit([[1.0]], [1.0])


def test_nothing_to_learn_from_is_an_error_that_says_so():
    with pytest.raises(ValueError, match=r"no column that can be used: one: constant \(every"):
        KernelRegressor(trials=1).fit(TABLE[["one"]], NUMBERS)


@pytest.mark.full
def test_classes_of_a_single_row():
    y = np.array(["a"] * 60 + ["b"] * 59 + ["only"], dtype=object)
    model = KernelClassifier(trials=2).fit(TABLE, y)
    assert model.classes_.tolist() == ["a", "b", "only"]
    assert model.predict_proba(TABLE).shape == (N, 3)


def test_a_refit_keeps_the_winner_and_learns_from_all_rows(fitted):
    table = TABLE[["size", "colour"]]
    half = KernelRegressor(trials=1).fit(table[: N // 2], NUMBERS[: N // 2])
    board, name = half.leaderboard_, half.winner_name_
    weights = half.kernel_.weights
    half.refit(table, NUMBERS)
    assert half.X_fit_.shape[0] == N
    assert (half.leaderboard_, half.winner_name_) == (board, name)
    assert half.kernel_.weights == weights
    again = deepcopy(fitted).refit(TABLE, LABELS)
    assert_allclose(again.predict_proba(TABLE), fitted.predict_proba(TABLE), rtol=1e-6)


def test_a_refit_on_rows_with_new_gaps_learns_its_weights_anew():
    full = TABLE[["size", "colour"]]
    model = KernelRegressor(trials=1, only="kernels").fit(full, NUMBERS)
    gaps = full.assign(size=full["size"].where(np.arange(N) > 5))
    model.refit(gaps, NUMBERS)
    assert len(model.kernel_.weights) == len(model.kernel_.parts) == 3
    assert np.isfinite(model.predict(full)).all()


@pytest.mark.parametrize(
    ("table", "y", "said"),
    [
        (TABLE[["size", "colour"]], np.zeros(N), "one class"),
        (TABLE[["size"]], LABELS, "the column 'colour' of the training table is lacking"),
        (np.zeros((N, 1)), LABELS, "X has 1 features"),
    ],
)
def test_a_refit_that_is_refused_leaves_the_model_as_it_was(table, y, said):
    model = KernelClassifier(trials=1, metric="f1").fit(TABLE[["size", "colour"]], LABELS)
    before = model.predict(TABLE)
    with pytest.raises(ValueError, match=said):
        model.refit(table, y)
    assert_array_equal(model.predict(TABLE), before)


def test_a_refit_to_other_classes_keeps_the_factors_of_those_that_it_knew():
    labels = np.where(RNG.uniform(size=N) < 0.2, "rare", "usual")
    model = KernelClassifier(trials=1, metric="balanced_accuracy").fit(TABLE, labels)
    known = dict(zip(model.classes_, model.decision_weights_))
    assert known["rare"] > 1
    model.refit(TABLE, np.where(np.arange(N) % 5 == 0, "all new", labels))
    assert model.classes_.tolist() == ["all new", "rare", "usual"]
    assert_allclose(model.decision_weights_, [1, known["rare"], known["usual"]])
    assert set(model.predict(TABLE)) <= set(model.classes_)


def test_relevance_is_the_learnt_weight_of_each_column():
    X = RNG.uniform(size=(200, 3))
    model = KernelRegressor(trials=1, only="kernels").fit(X, np.sin(8 * X[:, 1]))
    relevance = model.relevance()
    assert next(iter(relevance)) == "1"
    assert relevance["1"] > 10 * relevance["0"]
    assert list(relevance.values()) == sorted(relevance.values(), reverse=True)
    plain = [
        {"family": "gaussian", "scale": 1.0, "learn": False, "rows": 200, "rank": 50, "steps": []}
    ]
    assert KernelRegressor(replay=plain, only="kernels").fit(X, X[:, 1]).relevance() == {}


def test_it_is_good_on_real_tables():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    assert cross_val_score(KernelRegressor(trials=2), X, y, cv=2).mean() > 0.45
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = KernelClassifier(trials=2).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.95


def test_models_are_cloned_pickled_and_saved(fitted, tmp_path):
    import pickle

    assert clone(fitted).get_params() == fitted.get_params()
    wanted = fitted.predict_proba(TABLE)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(TABLE), wanted)
    mercer.save(fitted, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert_array_equal(loaded.predict_proba(TABLE), wanted)
    assert loaded.columns_ == fitted.columns_
    assert loaded.schedule_ == fitted.schedule_


def test_little_memory_is_kept_to():
    model = KernelRegressor(trials=1, memory="200kB").fit(TABLE, NUMBERS)
    assert "low rank" in model.solver_
    assert model.score(TABLE, NUMBERS) > 0.5


@pytest.mark.full
def test_little_memory_is_enough_for_many_rows():
    """The machine of the start had 300 centres, and leaves 2,000 rows, whatever the memory."""
    x, z = RNG.uniform(-3, 3, size=(2, 3000))
    X, y = pd.DataFrame({"x": x, "z": z}), np.abs(x - z)
    assert KernelRegressor(time=3, memory="1MB").fit(X, y).score(X, y) > 0.9
    local = asdict(Candidate("gaussian", machine="local")) | {"rank": None, "steps": []}
    model = KernelRegressor(replay=[local | {"rows": 3000}], memory="2MB").fit(X, y)
    assert model.schedule_[-1]["leaf_rows"] < 200
    assert model.score(X, y) > 0.9


def test_too_little_memory_is_refused_at_once():
    with pytest.raises(MemoryError, match="1,000 bytes, but 120 rows need at least 1MB"):
        KernelClassifier(memory="1kB").fit(TABLE, LABELS)


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_a_compressed_model_predicts_nearly_the_same(task):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 2))
    wave = np.sin(3 * X[:, 0]) + X[:, 1]
    if task == "classes":
        y = np.digitize(wave, [-0.5, 0.5])
        model = KernelClassifier(trials=1).fit(X[:500], y[:500])
    else:
        model = KernelRegressor(trials=1, only="kernels").fit(X[:500], wave[:500])
    full = model.machine_.outputs(model.encode(X[500:]))
    stored, finish = model.X_fit_.shape[0], model.machine_.finish
    assert model.compress(X[:500], 150) is model
    few = model.machine_.outputs(model.encode(X[500:]))
    assert model.X_fit_.shape[0] == 150 < stored
    assert model.machine_.finish is finish
    assert np.mean((few - full) ** 2) < 0.05 * np.var(full)
    rows = model.stored_rows_
    np.testing.assert_allclose(
        model.encode(X[rows]).numbers[:, 1], model.encode(X[:500]).numbers[rows, 1]
    )
    with pytest.raises(ValueError, match="rank"):
        model.compress(X[:500], 0)


@pytest.mark.parametrize(
    ("scale", "message"),
    [(1e20, "too much for squared errors"), (1e300, "too much"), (1e-25, "too little")],
)
def test_targets_that_have_no_squares_are_refused(scale, message):
    X = RNG.normal(size=(40, 2))
    with pytest.raises(ValueError, match=f"y reaches .*{message}.*: give it in other units"):
        KernelRegressor(trials=1).fit(X, X[:, 0] * scale)


@pytest.mark.parametrize("scale", [1e-19, 1e15])
def test_the_unit_of_a_target_does_not_matter(scale):
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    one, other = (KernelRegressor(trials=2).fit(X, s * y) for s in (1.0, scale))
    assert one.winner_name_ == other.winner_name_
    assert_allclose(other.predict(X) / scale, one.predict(X), atol=1e-4)
