"""Records of columns in model files: one text, whatever the names of the columns are."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import mercer
from mercer.persistence.own_objects import packed, unpacked
from mercer.tables.columns import Column

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "name", ["age", 'a "b"\n', "ä", "", 3, 1.5, True, None, np.int64(4), np.str_("x")]
)
def test_records_come_back(name):
    columns = [Column(name, "number", "why", 1, 2, -1.5, 1e300, ["a"], ";", 9)]
    for items in (columns, {"a column": columns[0]}, [], {}):
        text = packed(items)
        assert isinstance(text, bytes)
        assert unpacked(Column, text) == items


@pytest.mark.parametrize("odd", [("a", 1), float("nan"), 1j, pd.Timestamp("2020-01-01")])
def test_records_of_other_values_stay_as_they_are(odd):
    columns = [Column(odd, "number", "", 0, 1)]
    assert packed(columns) is columns
    by_name = {"a": columns[0]}
    assert packed(by_name) is by_name


@pytest.mark.parametrize("kind", [{"a": "number"}, {0: "number"}, {}, None])
def test_kinds_that_are_no_records_stay_as_they_are(tmp_path, kind):
    model = mercer.KernelRegressor(kind=kind)
    mercer.save(model, tmp_path / "m.mercer")
    assert mercer.load(tmp_path / "m.mercer").kind == kind


@pytest.mark.parametrize("names", [[f"gene {j}" for j in range(300)], list(range(300))])
def test_a_wide_table_is_a_small_file(tmp_path, names):
    X = pd.DataFrame(RNG.normal(size=(40, 300)), columns=names)
    y = np.where(X[names[0]] > 0, "a", "b")
    model = mercer.KernelClassifier(trials=1).fit(X, y)
    if isinstance(names[0], str):  # as `mercer fit` gives what it has read
        model.set_params(kind={column.name: column for column in model.columns_}).fit(X, y)
    mercer.save(model, tmp_path / "m.mercer")
    with zipfile.ZipFile(tmp_path / "m.mercer") as archive:
        schema = archive.read("schema.json").decode()
    assert schema.count("__class__") < 20 * 300  # it was 80 for each column
    again = mercer.load(tmp_path / "m.mercer")
    assert again.kind == model.kind
    assert again.columns_ == model.columns_
    assert again.encoder_.features_ == model.encoder_.features_
    assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "values",
    [[0, False], [1, 1.0], [0.0, -0.0], ["", None], [[], []], [[1], [1]], [2**70, 2**70]],
)
def test_values_that_are_alike_keep_their_types_and_lists_are_not_shared(values):
    columns = [Column("a", "number", "", 0, 1, low=value) for value in values]
    again = unpacked(Column, packed(columns))
    assert [repr(column.low) for column in again] == [repr(value) for value in values]
    assert again[0].low is not again[1].low or not isinstance(values[0], list)
    assert again[0].doubts is not again[1].doubts


def test_fields_that_a_class_got_later_have_their_defaults():
    text = b'[null, [["age", "sex"], ["number"], [""], [0], [9]]]'
    columns = [Column(name, "number", "", 0, 9) for name in ("age", "sex")]
    assert unpacked(Column, text) == columns
    assert unpacked(Column, text.replace(b"null", b'["a", "b"]')) == dict(zip("ab", columns))


def test_records_of_a_file_are_read_whether_packed_or_not():
    X = pd.DataFrame(RNG.normal(size=(40, 2)), columns=list("ab"))
    model = mercer.KernelRegressor(trials=1).fit(X, X["a"])
    state = model.__getstate__()
    state["columns_"] = unpacked(Column, state["columns_"])
    other = mercer.KernelRegressor()
    other.__setstate__(state)
    assert other.columns_ == model.columns_
    assert json.loads(model.__getstate__()["columns_"])[1][0] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"[null, {[['a']] * 23}]".replace("'", '"'), "a Column of 23 fields, not 22"),
        ('[null, [["age"]]]', "a Column of 1 fields, not 22"),
        ('[["a"], [["age"]]]', "a Column of 1 fields, not 22"),
        ("[1]", "no list of lists"), ('{"a": 1}', "no list of lists"), ("3", "no list of lists"),
        ("[null, 1]", "no list of lists"), ('[null, ["ab"]]', "no list of lists"),
        ('[null, [["a", "b"], ["", "", ""], [""], [0], [1]]]', "not one value, nor 2"),
        ('[null, [["a", "b"], [], [""], [0], [1]]]', "not one value, nor 2"),
        ('[["x"], [["a", "b"], [""], [""], [0], [1]]]', "is longer than argument 1"),
    ],
)  # fmt: skip
def test_records_of_other_sizes_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        unpacked(Column, text.encode())
