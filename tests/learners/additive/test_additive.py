"""Additive learners: what they find, and what does not change it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import AdditiveClassifier, AdditiveRegressor
from mercer.kernels.additive import laplacian
from mercer.kernels.additive.bins import TableBins
from mercer.learners.additive import Shape, joined_levels

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (600, 4))
f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
y = f + rng.normal(scale=0.1, size=600)
MAINS = AdditiveRegressor(pairs=0, gamma=1.0)


@parametrize_with_checks([AdditiveRegressor(), AdditiveClassifier(1)])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_it_finds_the_columns_and_the_pair():
    model = AdditiveRegressor().fit(X, y)
    assert model.pairs_ == [(1, 2)]
    assert np.mean((model.predict(X) - f) ** 2) < 0.1 * np.var(f)
    strengths = [shape.strength for shape in model.shapes_]
    assert strengths[0] > 0.5
    assert max(strengths[1:]) < 0.1
    for shape in model.shapes_:  # each has mean 0 over the rows
        assert abs(shape.counts @ shape.values[:, 0]) < 1e-8


def test_pairs_that_others_hide_come_in_a_later_round():
    Z = rng.uniform(-1, 1, (400, 4))
    target = 10 * Z[:, 0] * Z[:, 1] + Z[:, 2] * Z[:, 3] + rng.normal(scale=0.05, size=400)
    assert set(AdditiveRegressor().fit(Z, target).pairs_) == {(0, 1), (2, 3)}
    assert len(AdditiveRegressor(1).fit(Z, target).pairs_) == 1
    assert AdditiveRegressor([(2, 3)]).fit(Z, target).pairs_ == [(2, 3)]


def test_contributions_add_up_to_the_prediction():
    model = AdditiveRegressor().fit(X, y)
    assert_allclose(
        model.contributions(X).sum(axis=1) + model.intercept_, model.predict(X), rtol=1e-10
    )
    reasons = model.reasons(X[:5], most=2)
    assert reasons.parts.shape == (5, 2)
    assert reasons.texts()["because_1"][0].startswith(reasons.names[reasons.parts[0, 0]])


def test_missing_values_and_categories():
    x = np.where(rng.random(600) < 0.2, np.nan, X[:, 0])
    table = pd.DataFrame({"x": x, "kind": rng.choice(["a", "b", None], 600)})
    kind = table["kind"].map({"a": 1.0, "b": -1.0}).fillna(0.5).to_numpy()
    target = np.where(np.isnan(x), 2.0, np.nan_to_num(x)) + kind
    model = AdditiveRegressor(0).fit(table, target)
    assert model.score(table, target) > 0.99
    assert model.shapes_[1].levels == ["a", "b"]
    assert model.shapes_[0].values[-1] > model.shapes_[0].values[:-1].max()
    new = pd.DataFrame({"x": [0.0], "kind": ["never seen"]})
    assert np.isfinite(model.predict(new)).all()
    array = AdditiveRegressor(0).fit(table.to_numpy(object), target)
    assert_allclose(array.predict(table.to_numpy(object)), model.predict(table), rtol=1e-9)


def test_pairs_of_a_category_of_many_levels_have_all_of_them():
    """Ten functions were those of any ten levels: births by states and years had R² .925, not
    .969."""
    rng = np.random.default_rng(0)
    level, x = rng.integers(0, 40, 6000), rng.uniform(-1, 1, 6000)
    slope = rng.normal(size=40)
    y = slope[level] * x + rng.normal(size=6000) * 0.1
    X = pd.DataFrame({"level": [f"l{i}" for i in level], "x": x})
    model = AdditiveRegressor().fit(X[:4000], y[:4000])
    assert model.pairs_ == [("level", "x")]
    assert model.score(X[4000:], y[4000:]) > 0.94


def test_numbers_may_be_categories():
    codes = rng.integers(0, 6, (600, 1)).astype(float)
    effects = np.array([3.0, -1, 2, -3, 0, 5])
    model = AdditiveRegressor(0, categories=[0]).fit(codes, effects[codes[:, 0].astype(int)])
    assert not model.shapes_[0].ordered
    assert_allclose(model.predict(codes), effects[codes[:, 0].astype(int)], atol=0.05)


def test_a_weight_is_a_repetition():
    w = rng.integers(0, 3, 600)
    again = np.repeat(np.arange(600), w)
    weighted, repeated = MAINS.fit(X, y, w).predict(X), MAINS.fit(X[again], y[again]).predict(X)
    assert_allclose(weighted, repeated, rtol=1e-8, atol=1e-8)


@pytest.mark.full
def test_any_chunks_have_the_same_answer(monkeypatch):
    import mercer.learners.additive.regressor as home

    monkeypatch.setattr(home, "BIN_ROWS", 250)
    ways = [[600], [100] * 6, [1, 299, 300], [249, 1, 1, 349]]
    answers = []
    for sizes in ways:
        model, start = AdditiveRegressor(gamma=1.0), 0
        for size in sizes:
            model.partial_fit(X[start : start + size], y[start : start + size])
            start += size
        answers.append(model.predict(X))
    for other in answers[1:]:
        assert_array_equal(other, answers[0])


def test_a_stream_below_the_rows_of_the_bins_is_a_fit():
    model = AdditiveRegressor(0, gamma=1.0)
    for rows in np.array_split(np.arange(600), 4):
        model.partial_fit(X[rows], y[rows])
    assert_array_equal(model.predict(X), MAINS.fit(X, y).predict(X))


def test_a_file_keeps_a_stream_with_tables(monkeypatch, tmp_path):
    import mercer.learners.additive.regressor as home

    monkeypatch.setattr(home, "BIN_ROWS", 250)
    model = AdditiveRegressor(gamma=1.0).partial_fit(X[:400], y[:400])
    mercer.save(model, tmp_path / "stream.mercer")
    again = mercer.load(tmp_path / "stream.mercer")
    for each in (model, again):
        each.partial_fit(X[400:], y[400:])
    assert_array_equal(again.predict(X), model.predict(X))


def test_a_bad_chunk_is_named_and_leaves_the_model():
    model = AdditiveRegressor(0, gamma=1.0).partial_fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match=r"chunk 1 of the stream.*row 3"):
        model.partial_fit(X[:5], [0, 0, 0, np.nan, 0])
    assert_array_equal(model.predict(X), before)


def test_threads_and_the_order_of_rows_change_nothing():
    one = AdditiveRegressor(n_jobs=1).fit(X, y)
    assert_array_equal(AdditiveRegressor(n_jobs=2).fit(X, y).predict(X), one.predict(X))
    order = rng.permutation(600)
    other = AdditiveRegressor(n_jobs=1).fit(X[order], y[order])
    assert other.pairs_ == one.pairs_
    assert_allclose(other.predict(X), one.predict(X), atol=1e-5)


def test_single_precision_has_the_bins_of_its_numbers():
    single = X.astype(np.float32)
    a = MAINS.fit(single, y).predict(single)
    b = MAINS.fit(single.astype(np.float64), y).predict(single.astype(np.float64))
    assert_allclose(a, b, atol=1e-6)


def test_neighbours_in_any_precision_have_bins_of_their_own():
    """The middle of two numbers that follow each other is rounded to one of them."""
    for one in (1.0, -3.0, 5e-324, 1e300):
        two = np.nextafter(one, np.inf)
        rows = np.array([one, two, np.nextafter(two, np.inf), np.nan])[:, None]
        assert TableBins.of(rows, None, 255, set()).codes(rows).tolist() == [[0, 1, 2, 3]]
    # in float32 the edge between the second and the third would be rounded to the third
    rows = (1 + np.arange(4) * 2.0**-23).astype(np.float32)[:, None]
    bins = TableBins.of(rows, None, 255, set())
    assert bins.codes(rows).tolist() == bins.codes(rows.astype(float)).tolist() == [[0, 1, 2, 3]]


def test_every_bin_has_rows_also_where_one_value_is_that_of_most():
    for x in (
        np.r_[np.arange(300.0), np.full(400, 1000.0)], np.r_[np.full(400, -5.0), np.arange(300.0)],
        np.r_[np.arange(30.0), np.full(4000, 7.0)], np.arange(700.0),
    ):  # fmt: skip
        bins = TableBins.of(x[:, None], None, 16, set())
        (codes,), (column,) = bins.codes(x[:, None]), bins.columns
        counts = np.bincount(codes, minlength=column.size - 1)
        assert (counts > 0).all()
        assert len(counts) == column.size - 1 <= 16
        assert_allclose(column.centres, np.bincount(codes, x) / counts)


def test_joined_levels_are_the_means_of_their_rows():
    counts = np.array([1.0, 3.0, 5.0, 5.0, 2.0])
    zeros = np.zeros((5, 1))
    shape = Shape("a", [0.0, 4.0, 10.0, 20.0], True, zeros, zeros, counts, np.arange(3.0))
    groups = np.array([0, 0, 1, 1, 2])
    assert joined_levels(shape, groups) == [3.0, 15.0, "missing"]
    named = Shape("b", ["x", "y", "u", "v"], False, zeros, zeros, counts, np.empty(0))
    assert joined_levels(named, groups) == ["x, y", "u, v", "missing"]


def test_several_targets_are_fits_of_their_own():
    both = MAINS.fit(X, np.column_stack([y, -2 * f])).predict(X)
    assert_allclose(both[:, 0], MAINS.fit(X, y).predict(X), rtol=1e-8, atol=1e-8)
    assert both.shape == (600, 2)


def test_classes_by_a_pair():
    classes = np.where(X[:, 1] * X[:, 2] > 0, "same", "other")
    model = AdditiveClassifier().fit(X, classes)
    assert model.pairs_ == [(1, 2)]
    assert model.score(X, classes) > 0.9
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    both = model.contributions(X).sum(axis=1) + model.intercept_
    assert_allclose(both, model.decision_function(X), rtol=1e-9)


@pytest.mark.full
def test_three_classes():
    classes = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.4, 0.4])
    model = AdditiveClassifier(0).fit(X, classes)
    assert model.score(X, classes) > 0.93
    assert model.decision_function(X).shape == (600, 3)
    assert model.reasons(X[:4]).parts.shape == (4, 3)


def test_separable_classes_stay_finite():
    model = AdditiveClassifier().fit(X, X[:, 0] > 0)
    assert model.score(X, X[:, 0] > 0) > 0.98
    assert np.isfinite(model.decision_function(X)).all()


def test_columns_without_use():
    constant = np.ones((50, 1))
    assert_allclose(AdditiveRegressor().fit(constant, y[:50]).predict(constant), y[:50].mean())
    gone = np.full((50, 2), np.nan)
    assert np.isfinite(AdditiveRegressor().fit(gone, y[:50]).predict(gone)).all()


@pytest.mark.full
def test_many_columns_have_fewer_bins():
    wide = rng.normal(size=(400, 300))
    model = AdditiveRegressor(0, gamma=1.0).fit(wide, wide[:, 7])
    assert np.argmax([shape.strength for shape in model.shapes_]) == 7


@pytest.mark.parametrize(
    ("parameters", "wrong"),
    [
        ({"alpha": -1.0}, "alpha=-1.0"),
        ({"pairs": -1}, "pairs=-1"),
        ({"pairs": [(0, 9)]}, "pairs has"),
        ({"pairs": [(0, 0)]}, "two different columns"),
        ({"gamma": 0}, "gamma=0"),
        ({"solver": "cg"}, "solver='cg'"),
        ({"categories": ["no"]}, "no column 'no'"),
        ({"categories": 3}, "categories=3"),
    ],
)
def test_wrong_parameters_are_named(parameters, wrong):
    with pytest.raises((TypeError, ValueError), match=wrong):
        AdditiveRegressor(**parameters).fit(X, y)


def test_given_pairs():
    model = AdditiveRegressor([(2, 1), (1, 2), (0, 3)]).fit(X, y)
    assert model.pairs_ == [(1, 2), (0, 3)]
    assert model.surfaces_[0].strength > 5 * model.surfaces_[1].strength


def test_no_penalty_is_least_squares():
    steps = rng.integers(0, 3, (200, 2)).astype(float)
    target = steps[:, 0] ** 2 - steps[:, 1]
    with pytest.warns(mercer.solvers.ConvergenceWarning, match="singular"):
        model = AdditiveRegressor(0, alpha=0).fit(np.column_stack([steps, steps[:, 0]]), target)
    assert_allclose(model.predict(np.column_stack([steps, steps[:, 0]])), target, atol=1e-6)


def test_bins_agree_with_the_exact_recursion():
    wide = rng.uniform(-1, 1, (1500, 3))
    target = np.sin(3 * wide[:, 0]) + np.abs(wide[:, 1]) + rng.normal(scale=0.3, size=1500)
    binned, exact = (
        AdditiveRegressor(0, gamma=1.0, solver=solver).fit(wide, target)
        for solver in ("bins", "exact")
    )
    new = rng.uniform(-1, 1, (500, 3))
    apart = np.std(binned.predict(new) - exact.predict(new)) / np.std(exact.predict(new))
    assert apart < 0.04
    assert len(exact.shapes_[0].levels) == 1500


def test_the_exact_solution_is_that_of_dense_kernels():
    few = np.round(rng.uniform(-1, 1, (60, 2)), 1)
    few[rng.random((60, 2)) < 0.1] = np.nan
    target, w = np.nan_to_num(few).sum(axis=1), rng.integers(1, 3, 60).astype(float)
    model = AdditiveRegressor(0, gamma=1.0, solver="exact").fit(few, target, w)
    K = np.zeros((60, 60))
    codes = model._bins.codes(few)
    for row, column, penalty in zip(codes, model._bins.columns, model.penalties_[0]):
        kernel = laplacian(column.positions, 1.0)[np.ix_(row, row)]
        H = np.eye(60) - w / w.sum()
        K += H @ kernel @ H.T / penalty
    dual = np.linalg.solve(K + np.diag(1 / w), target - model.intercept_)
    assert_allclose(model.predict(few), K @ dual + model.intercept_, atol=1e-5)


def test_exact_fits_are_for_few_rows():
    with pytest.raises(ValueError, match="at most 20,000 rows"):
        AdditiveRegressor(solver="exact").fit(np.zeros((20_001, 1)), np.zeros(20_001))
