"""From a table to the matrix: ranks, scales, codes, and tables that changed since training."""

import io
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from lanes import few
from mercer.persistence.models import model_bytes
from mercer.tables import encoding
from mercer.tables.column_rules import infer_columns
from mercer.tables.encoding import TableEncoder
from mercer.tables.values import read_columns

RNG = np.random.default_rng(0)


def numbers(encoder, table):
    """The matrix beside which categories, texts and sets stand."""
    return encoder.transform(table).numbers


def kinds(encoder):
    return [(f.label, f.kind) for f in encoder.features_]


def test_a_number_becomes_its_rank_and_its_standard_score():
    x = RNG.normal(size=500) ** 3
    M = numbers(TableEncoder().fit(x[:, None]), x[:, None])
    assert M.dtype == np.float32
    ranks = x.argsort().argsort() / 499
    assert_allclose(M[:, 0], ranks * np.sqrt(12), atol=1e-5)
    assert_allclose(M[:, 0].std(), 1, atol=0.01)
    inside = np.abs(M[:, 1]) < 10
    assert_allclose(M[inside, 1], ((x - x.mean()) / x.std())[inside], atol=1e-5)
    assert np.abs(M[:, 1]).max() <= 10


def test_ties_share_their_middle_rank_and_new_numbers_stay_within():
    x = np.array([0.0] * 50 + [1.0] * 30 + [2.0] * 20)[:, None]
    encoder = TableEncoder().fit(x)
    ranks = numbers(encoder, np.array([[0.0], [1.0], [2.0], [-9.0], [9.0]]))[:, 0] / np.sqrt(12)
    assert_allclose(ranks, [0.25, 0.65, 0.9, 0.0, 1.0], atol=0.02)


def test_a_missing_number_is_the_median_and_marked_if_training_had_any():
    table = pd.DataFrame({"a": [1.0, 2.0, 6.0, np.nan], "b": [1.0, 2.0, 3.0, 4.0]})
    encoder = TableEncoder().fit(table)
    assert kinds(encoder) == [
        ("a", "rank"), ("a", "scaled"), ("a", "normal"), ("a", "level"), ("a is missing", "code"),
        ("b", "rank"), ("b", "scaled"), ("b", "normal"), ("b", "level"),
    ]  # fmt: skip
    M = numbers(encoder, pd.DataFrame({"a": [np.nan, 2.0], "b": [np.nan, 2.5]}))
    assert_array_equal(M[0, [0, 1, 2, 3, 5, 6, 7]], M[1, [0, 1, 2, 3, 5, 6, 7]])
    assert_array_equal(M[:, 4], [1, 0])


def test_the_median_of_huge_numbers_is_one_of_them():
    table = pd.DataFrame({"a": [1e308, -1e308, 1.6e308, 1.7e308, np.nan], "b": range(5)})
    M = numbers(TableEncoder().fit(table), table)
    assert M[4, 0] == pytest.approx(np.sqrt(12) / 2)  # in the middle of all ranks
    assert 0 < M[4, 1] < M[2, 1]


@pytest.mark.spread(3)
@pytest.mark.parametrize("rows", few(2, [3, 40, 129, 1001]))
@pytest.mark.parametrize("cells", [1, 600, 2**20])
def test_a_column_is_encoded_alone_as_among_others(monkeypatch, rows, cells):
    """Bit for bit, however many columns are reckoned at a time."""
    rng = np.random.default_rng(rows)
    table = pd.DataFrame(rng.normal(size=(rows, 6)) * 10.0 ** np.arange(-3, 9, 2))
    table.columns = [f"number {j}" for j in range(6)]
    table["ties"] = np.round(rng.normal(size=rows), 1)
    table["whole"] = rng.integers(0, 5, rows)
    table["huge"] = rng.uniform(-1.7, 1.7, rows) * 1e308
    table["gaps"] = np.where(rng.random(rows) < 0.3, np.nan, rng.exponential(size=rows))
    table["few"] = np.where(rng.random(rows) < 0.3, np.nan, rng.integers(0, 3, rows))
    table["day"] = np.datetime64("2020-02-28") + 11 * np.arange(rows)
    columns = infer_columns(read_columns(table))
    monkeypatch.setattr(encoding, "CELLS", cells)
    whole = TableEncoder(columns).fit(table)
    among = whole.transform(table)
    assert list(among.objects) == sorted(among.objects)
    for column in columns:
        alone = TableEncoder([column]).fit(table)
        one = alone.transform(table)
        at = [j for j, feature in enumerate(whole.features_) if feature.source == column.name]
        assert [whole.features_[j] for j in at] == alone.features_
        assert_array_equal(among.numbers[:, at], one.numbers)
        assert {at.index(j) for j in at if j in among.objects} == set(one.objects)
        for j, samples in one.objects.items():
            assert_array_equal(among.objects[at[j]].codes, samples.codes)


def test_numbers_missing_in_the_same_rows_share_a_mark():
    table = pd.DataFrame({"a": [1.0, 2.0, 6.0, np.nan], "b": [3.0, 2.0, 9.0, np.nan]})
    assert [label for label, kind in kinds(TableEncoder().fit(table)) if kind == "code"] == [
        "a is missing"
    ]


def test_levels_have_codes_and_unseen_ones_share_one():
    encoder = TableEncoder().fit(pd.DataFrame({"c": ["b", "a", None, "a"]}))
    codes = numbers(encoder, pd.DataFrame({"c": ["a", "b", None, "new", "newer"]}))[:, 0]
    assert codes[3] == codes[4]
    assert len(set(codes.tolist())) == 4


def test_rare_levels_of_many_are_pooled_with_unseen_ones():
    values = [f"v{i}" for i in range(25) for _ in range(5)] + ["rare", "rarer", "rarer"]
    encoder = TableEncoder().fit(pd.DataFrame({"c": values}))
    codes = numbers(encoder, pd.DataFrame({"c": ["rare", "rarer", "unseen", "v0"]}))[:, 0]
    assert codes[0] == codes[1] == codes[2] != codes[3]
    few = TableEncoder().fit(pd.DataFrame({"c": ["a", "a", "a", "b"]}))
    assert len(set(numbers(few, pd.DataFrame({"c": ["a", "b", "unseen"]}))[:, 0].tolist())) == 3


def test_ten_thousand_levels():
    values = [f"level {i % 10_000}" for i in range(25_000)]
    encoder = TableEncoder().fit(pd.DataFrame({"c": values}))
    codes = numbers(encoder, pd.DataFrame({"c": values}))[:, 0]
    assert len(np.unique(codes)) == 5001
    assert codes[0] != codes[4999]
    assert codes[5000] == codes[9999]  # of levels in two rows each


def test_integers_and_floats_are_the_same_levels():
    encoder = TableEncoder().fit(pd.DataFrame({"c": [0, 1, 1]}))
    one, two = (numbers(encoder, pd.DataFrame({"c": values})) for values in ([0, 1], [0.0, 1.0]))
    assert_array_equal(one, two)


def test_dates_become_numbers():
    days = pd.DataFrame({"d": pd.date_range("2023-12-25", periods=40)})
    encoder = TableEncoder().fit(days)
    labels = {label for label, _ in kinds(encoder)}
    assert labels == {
        f"d: {part}" for part in ("elapsed days", "year", "month", "day of month", "day of week")
    }
    weekday = numbers(encoder, days)[
        :, [f.label for f in encoder.features_].index("d: day of week")
    ]
    assert_allclose(weekday[:7], weekday[7:14])
    assert np.all(np.diff(weekday[:7]) > 0)  # 2023-12-25 was a Monday
    year = TableEncoder().fit(days.iloc[10:])
    assert "d: year" not in {label for label, _ in kinds(year)}  # the same in every row
    assert_array_equal(
        numbers(encoder, pd.DataFrame({"d": ["2024-01-05", None]})).shape,
        (2, len(encoder.features_)),
    )


def test_parts_of_a_date_that_are_columns_already_are_not_read_twice():
    """The same year twice took half the pairs of an additive model; some rows had mistakes."""
    days = pd.date_range("1980-01-01", periods=900)
    table = pd.DataFrame(
        {"day": days, "year": days.year, "month": days.month, "n": np.arange(900) % 7 + 0.5}
    )
    table.loc[[4, 700], "month"] = 12
    labels = {label for label, _ in kinds(TableEncoder().fit(table))}
    parts = {"elapsed days", "day of month", "day of week"}
    assert labels == {"year", "month", "n", *(f"day: {part}" for part in parts)}
    labels = {label for label, _ in kinds(TableEncoder().fit(table[["day", "n"]]))}
    assert {"day: year", "day: month"} < labels
    table.loc[:40, "month"] = 12
    assert "day: month" in {label for label, _ in kinds(TableEncoder().fit(table))}


def test_order_of_columns_and_further_columns_do_not_matter():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    encoder = TableEncoder().fit(table)
    other = pl.DataFrame({"new": [0, 0, 0], "b": ["x", "y", "x"], "a": [1.0, 2.0, 3.0]})
    assert_array_equal(numbers(encoder, other), numbers(encoder, table))


def test_missing_columns_are_listed():
    encoder = TableEncoder().fit(
        pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": list("xyx"), "k": [1, 1, 1]})
    )
    with pytest.raises(ValueError, match=r"columns 'a', 'b' of .* are lacking; there are \['z'\]"):
        numbers(encoder, pd.DataFrame({"z": [1]}))
    assert numbers(encoder, pd.DataFrame({"a": [1.0], "b": ["x"]})).shape == (1, 5)


def test_a_column_that_holds_something_else_now_is_refused():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0, 4.0]}))
    assert np.isfinite(numbers(encoder, pd.DataFrame({"a": ["3", "odd"]}))).all()
    with pytest.raises(ValueError, match=r"column 'a' was read as numbers in training.* 'odd'"):
        numbers(encoder, pd.DataFrame({"a": ["odd", None]}))
    dates = TableEncoder().fit(pd.DataFrame({"d": pd.date_range("2024-01-01", periods=9)}))
    with pytest.raises(ValueError, match="was read as dates"):
        dates.transform(pd.DataFrame({"d": [3.0, 4.0]}))


def test_nothing_that_can_be_used_is_an_error_that_says_why():
    with pytest.raises(ValueError, match=r"a: constant \(every value is 1\); b: empty"):
        TableEncoder().fit(pd.DataFrame({"a": [1, 1], "b": [None, None]}))


@pytest.mark.parametrize("scale", [1e-300, 1e300, 1.0])
def test_extreme_numbers_stay_finite(scale):
    x = np.array([1.0, 2.0, 3.0, -4.0])[:, None] * scale
    M = numbers(TableEncoder().fit(x), x)
    assert np.isfinite(M).all()
    assert_allclose(M[:, 1].std(), 1, rtol=1e-5)


def test_numbers_stored_as_text_are_numbers():
    table = pd.DataFrame({"a": ["1,000", "2,500", "?", "1e3", "7"]})
    encoder = TableEncoder(infer_columns(read_columns(table))).fit(table)
    assert [kind for _, kind in kinds(encoder)] == ["rank", "scaled", "normal", "level", "code"]
    M = numbers(encoder, table)
    assert_array_equal(M[0], M[3])


def test_it_is_a_transformer():
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", None, "y"]})
    encoder = clone(TableEncoder())
    M = encoder.fit_transform(table)
    assert encoder.get_feature_names_out().tolist() == [
        "a (rank)", "a (scaled)", "a (normal)", "a (level)", "b (code)",
    ]  # fmt: skip
    assert M.shape == (3, 5)


def test_normal_scores_are_those_of_the_ranks():
    values = RNG.exponential(size=999)
    encoder = TableEncoder().fit(values[:, None])
    scores = numbers(encoder, np.sort(values)[:, None])[:, 2]
    assert (np.diff(scores) >= 0).all()
    assert abs(scores.mean()) < 1e-3
    assert abs(scores.std() - 1) < 0.02
    assert abs(numbers(encoder, np.array([[1e9], [-1e9]]))[:, 2]).max() < 3.2


def test_integers_of_few_values_have_codes_and_new_values_share_one():
    table = pd.DataFrame({"few": [1, 5, 9] * 10, "two": [0, 1] * 15, "half": [0.5, 1, 2] * 10})
    encoder = TableEncoder().fit(table)
    assert [label for label, kind in kinds(encoder) if kind == "level"] == ["few"]
    new = pd.DataFrame({"few": [1, 5, 9, 2, 77, -3], "two": 0, "half": 1.0})
    assert numbers(encoder, new)[:, 3].tolist() == [0, 1, 2, 3, 3, 3]


def test_columns_of_one_range_are_scaled_alike():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "row": np.append([0, 7], rng.integers(0, 8, 60)),
            "column": np.append([0, 7], rng.integers(0, 4, 60)),
            "age": rng.normal(size=62),
        }
    )
    encoder = TableEncoder().fit(table)
    alike = {f.label: f.alike for f in encoder.features_ if f.kind == "scaled"}
    assert alike == {"row": 0, "column": 0, "age": -1}
    M = encoder.transform(table).numbers
    a, b = (j for j, f in enumerate(encoder.features_) if f.alike == 0)
    gaps = (M[:, a] - M[:, b]) / (table["row"] - table["column"]).replace(0, np.nan)
    assert gaps.std() < 1e-6
    many = pd.DataFrame(rng.integers(0, 5, (200, 9)), columns=list("abcdefghi"))
    assert all(f.alike == -1 for f in TableEncoder().fit(many).features_)


def test_a_piece_on_a_part_of_the_board_is_scaled_as_those_on_all_of_it():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "king": np.append([1, 4], rng.integers(1, 5, 60)),
            "rook": np.append([1, 8], rng.integers(1, 9, 60)),
            "pawn": np.append([1, 8], rng.integers(1, 9, 60)),
            "few": np.append([1, 3], rng.integers(1, 4, 60)),  # less than a third of the range
            "far": np.append([0, 7], rng.integers(0, 8, 60)),  # not within it
        }
    )
    alike = {f.label: f.alike for f in TableEncoder().fit(table).features_ if f.kind == "scaled"}
    assert alike == {"king": 0, "rook": 0, "pawn": 0, "few": -1, "far": -1}
    two = TableEncoder().fit(table[["king", "rook"]]).features_  # nothing says that they are alike
    assert all(f.alike == -1 for f in two)


def test_a_file_holds_one_array_for_the_quantiles_of_all_columns():
    rng = np.random.default_rng(0)

    def members(columns):
        table = rng.normal(size=(30, columns))
        table[:, ::2] = rng.integers(0, 5, (30, len(table[0, ::2])))  # whose values have codes
        model = make_pipeline(TableEncoder(), FunctionTransformer()).fit(table)
        with zipfile.ZipFile(io.BytesIO(model_bytes(model))) as archive:
            return len(archive.namelist())

    assert members(60) == members(6)
