"""Missing cells from the nearest rows: the definition, forms of tables, and how good they are."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata
from sklearn.datasets import load_iris, load_wine
from sklearn.impute import KNNImputer as Theirs
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import KNNImputer
from mercer.learners.neighbours.knn_imputer import association

RNG = np.random.default_rng(0)
N = 120
GROUP = RNG.integers(0, 3, N)
FULL = pd.DataFrame(
    {
        "kind": np.array(["ash", "beech", "oak"])[GROUP],
        "height": 10.0 * GROUP + RNG.normal(size=N).round(3),
        "count": 5 * GROUP + RNG.integers(0, 3, N),
        "planted": pd.to_datetime("2000-01-01") + pd.to_timedelta(GROUP * 900 + np.arange(N), "D"),
        "note": np.array(["stands in the wood", "by the river", "alone on a hill"])[GROUP],
        "healthy": GROUP > 0,
    }
)
LOST = RNG.random(FULL.shape) < 0.15
LOST[LOST.all(axis=1)] = False


def lacking(frame=FULL):
    frame = frame.astype({"count": "Int64", "healthy": "boolean"})
    return frame.mask(LOST)


def in_polars():
    return pl.from_pandas(lacking())


@parametrize_with_checks([KNNImputer(3)])
def test_scikit_learn(estimator, check):
    check(estimator)


def slow(X, n_neighbors, weights, relevance):
    """Cells of numbers by the definition, row by row."""
    found = X.copy()
    known = ~np.isnan(X)
    ranks = np.full(X.shape, np.nan)
    for j in range(X.shape[1]):
        ranks[known[:, j], j] = (rankdata(X[known[:, j], j]) - 0.5) / known[:, j].sum()
    usual = [np.nanmean(np.abs(u[:, None] - u)) for u in ranks.T]
    for i, c in np.argwhere(~known):
        donors = np.flatnonzero(known[:, c])
        gaps = np.abs(ranks[donors] - ranks[i])
        gaps = np.where(np.isnan(gaps), usual, gaps) @ relevance[c]
        near = gaps <= np.sort(gaps)[min(n_neighbors, len(gaps)) - 1] + 1e-8
        w = 1 / (gaps[near] + 1e-9) if weights == "distance" else np.ones(near.sum())
        found[i, c] = (w * X[donors[near], c]).sum() / w.sum()
    return found


@pytest.mark.parametrize("weights", ["distance", "uniform"])
def test_numbers_are_means_of_the_nearest(weights):
    X = np.where(RNG.random((80, 4)) < 0.15, np.nan, RNG.normal(size=(80, 4)).round(2))
    X[:, 3] = X[:, 0] + X[:, 1]
    model = KNNImputer(4, weights=weights)
    found = model.fit_transform(X)
    assert_allclose(model.relevance_.sum(axis=1), 1)
    assert_allclose(found, slow(X, 4, weights, model.relevance_), atol=1e-5)
    assert_array_equal(found[~np.isnan(X)], X[~np.isnan(X)])


def test_relevance_is_cramers_v():
    from scipy.stats import chi2_contingency

    a, b = RNG.integers(0, 3, 200), RNG.integers(0, 4, 200)
    b = np.where(RNG.random(200) < 0.5, a, b)
    a[:20], b[10:40] = -1, -1
    both = (a >= 0) & (b >= 0)
    table = pd.crosstab(a[both], b[both])
    n, (r, c) = both.sum(), table.shape
    phi = chi2_contingency(table, correction=False).statistic / n - (r - 1) * (c - 1) / (n - 1)
    assert_allclose(association([a, b])[0, 1], phi / (min(r, c) - 1))


def test_all_columns_of_all_libraries():
    frame = lacking()
    found = KNNImputer(5).fit_transform(frame)
    assert isinstance(found, pd.DataFrame)
    assert list(found.dtypes) == list(frame.dtypes)
    assert not found.isna().to_numpy().any()
    for name in ("kind", "note", "healthy"):
        assert (found[name] == FULL[name]).mean() > 0.97
    assert np.abs(found["height"] - FULL["height"]).max() < 25
    assert np.abs(found["height"] - FULL["height"])[LOST[:, 1]].mean() < 2
    of_polars = KNNImputer(5).fit_transform(in_polars())
    assert isinstance(of_polars, pl.DataFrame)
    assert of_polars.schema == in_polars().schema
    assert of_polars.to_dicts() == pl.from_pandas(found).to_dicts()
    arrow = in_polars().to_arrow()
    of_arrow = KNNImputer(5).fit_transform(arrow)
    assert isinstance(of_arrow, pa.Table)
    assert of_arrow.to_pylist() == of_polars.to_dicts()


def test_levels_of_categories_and_other_cells():
    frame = pl.DataFrame(
        {
            "size": ["small", "small", None, "large", "large", "large"],
            "day": [datetime.date(2020, 1, 1)] * 3 + [datetime.date(2021, 1, 1)] * 2 + [None],
            "kg": [1, 1, 1, 9, 9, 9],
            "parts": [["a"], ["a"], None, ["b", "c"], ["b", "c"], ["b", "c"]],
        },
        schema_overrides={"size": pl.Enum(["small", "large"])},
    )
    found = KNNImputer(1).fit_transform(frame)
    assert found.schema == frame.schema
    assert found["size"].to_list() == ["small"] * 3 + ["large"] * 3
    assert found["day"][5] == datetime.date(2021, 1, 1)
    assert found["parts"].to_list()[2] == ["a"]
    ordered = frame.drop("parts").to_pandas()
    ordered.index = list("uvwxyz")
    again = KNNImputer(1).fit_transform(ordered)
    assert again["size"].dtype == ordered["size"].dtype
    assert list(again.index) == list("uvwxyz")
    numbered = pd.DataFrame([["a", 1.0], ["a", None], ["b", 9.0]], index=list("uvw"))
    assert KNNImputer(1).fit_transform(numbered).loc["v"].tolist() == ["a", 1.0]
    cells = [["a", 1.0], ["a", None], ["b", 9.0], [None, 9.0], ["b", 9.0], ["a", 1.0]]
    rows = KNNImputer(2).fit_transform(cells)
    assert rows[1, 1] == 1.0
    assert rows[3, 0] == "b"


def test_a_row_is_filled_alone_as_among_others():
    frame = lacking()
    model = KNNImputer(5).fit(frame[:80])
    together = model.transform(frame[80:])
    for i in range(80, N):
        alone = model.transform(frame[i : i + 1])
        pd.testing.assert_frame_equal(alone, together[i - 80 : i - 79])
    nothing = pd.DataFrame([[None] * 6], columns=list(frame)).astype(frame.dtypes)
    filled = model.transform(nothing)
    assert_allclose(filled["height"], frame["height"][:80].mean())
    assert filled["kind"][0] == frame["kind"][:80].mode()[0]


def test_the_order_of_rows_threads_and_memory():
    frame = lacking()
    found = KNNImputer(5, n_jobs=1).fit_transform(frame)
    order = RNG.permutation(N)
    other = KNNImputer(5, n_jobs=3, memory="1MB").fit_transform(frame.iloc[order])
    pd.testing.assert_frame_equal(other.sort_index(), found)


def test_files(tmp_path):
    frame = lacking()
    model = KNNImputer(5).fit(frame[:80])
    mercer.save(model, tmp_path / "fill.mercer")
    again = mercer.load(tmp_path / "fill.mercer")
    pd.testing.assert_frame_equal(again.transform(frame[80:]), model.transform(frame[80:]))


def test_new_levels_and_other_columns():
    model = KNNImputer(3).fit(lacking())
    new = lacking()[:5].assign(kind="willow")
    assert (model.transform(new)["kind"] == "willow").all()
    with pytest.raises(ValueError, match="feature names"):
        model.transform(lacking().drop(columns="note"))
    with pytest.raises(ValueError, match="n_neighbors=0"):
        KNNImputer(0).fit(FULL)
    with pytest.raises(ValueError, match="weights='near'"):
        KNNImputer(weights="near").fit(FULL)
    with pytest.warns(UserWarning, match="No value is known in empty"):
        found = KNNImputer(3).fit_transform(FULL.assign(empty=np.nan))
    assert found["empty"].isna().all()


def test_it_works_in_a_pipeline():
    frame = lacking()
    y = FULL["healthy"].to_numpy()
    model = make_pipeline(KNNImputer(), mercer.AdditiveClassifier())
    model.fit(frame.drop(columns="healthy"), y)
    assert model.score(frame.drop(columns="healthy"), y) > 0.9


def without_some(X, seed):
    lost = np.random.default_rng(seed).random(X.shape) < 0.1
    return np.where(lost, np.nan, X), lost


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_it_is_better_than_that_of_scikit_learn(load):
    X = load().data
    errors = []
    for imputer in (KNNImputer(), Theirs()):
        lacks, lost = without_some(X, 0)
        gaps = (imputer.fit_transform(lacks) - X) / X.std(axis=0)
        errors.append(np.sqrt((gaps[lost] ** 2).mean()))
    assert errors[0] < errors[1]


def test_single_precision_stays():
    X = without_some(load_iris().data, 1)[0].astype(np.float32)
    found = KNNImputer().fit_transform(X)
    assert found.dtype == np.float32
    double = KNNImputer().fit_transform(X.astype(np.float64))
    assert_allclose(found, double, rtol=1e-6)
