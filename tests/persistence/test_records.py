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
        assert isinstance(text, str)
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


def test_files_with_lists_of_records_are_still_read(tmp_path):
    """As they were written before."""
    X = pd.DataFrame(RNG.normal(size=(40, 2)), columns=list("ab"))
    model = mercer.KernelRegressor(trials=1).fit(X, X["a"])
    state = model.__getstate__()
    state["columns_"] = unpacked(Column, state["columns_"])
    other = mercer.KernelRegressor()
    other.__setstate__(state)
    assert other.columns_ == model.columns_
    assert json.loads(model.__getstate__()["columns_"])[0][0] == "a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[["age", "number", "", 0, 9, null, null, [], null, 0, "", "", "", "", false, "", false, '
         '[], [], 0, [], false, 1]]', "a Column of 23 fields, not 22"),
        ('[["age"]]', "a Column of 1 fields, not 22"),
        ('{"a": []}', "a Column of 0 fields, not 22"),
        ('[1]', "no list of lists"), ('{"a": 1}', "no list of lists"), ("3", "no list of lists"),
    ],
)  # fmt: skip
def test_records_of_other_sizes_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        unpacked(Column, text)
