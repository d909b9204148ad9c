"""A model knows the rows that it was fitted to, by hashes without their content."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.tables import RowHashes, TableEncoder, equal_rows, infer_columns
from mercer.tables.cells import cell_bytes, column_bytes
from mercer.tables.equal_rows import hash_rows

RNG = np.random.default_rng(0)
N = 80
TABLE = pd.DataFrame({
    "size": RNG.normal(size=N), "place": RNG.choice(["inland", "sea"], N),
    "note": [" ".join(RNG.choice(["good", "bad", "odd", "new"], 5)) + f" {i}" for i in range(N)],
    "day": pd.date_range("2024-01-01", periods=N), "tags": [{"a", str(i % 3)} for i in range(N)],
    "v": list(RNG.normal(size=(N, 12))),
})  # fmt: skip
Y = np.where(TABLE["size"] > 0, "yes", "no")
KINDS = {"note": "text"}


def test_rows_are_known_again_in_any_order_and_after_loading(tmp_path):
    model = KernelClassifier(trials=1, kind=KINDS).fit(TABLE[:60], Y[:60])
    mercer.save(model, tmp_path / "m.mercer")
    model = mercer.load(tmp_path / "m.mercer")
    hashes = model.row_hashes_
    order = RNG.permutation(N)
    assert hashes.count(model.encode_table(TABLE.iloc[order]), Y[order]) == 60
    assert hashes.count(model.encode_table(TABLE[60:]), Y[60:]) == 0
    others = np.where(Y == "yes", "no", "yes")
    assert hashes.count(model.encode_table(TABLE[:60]), others[:60]) == 0
    for name in TABLE:
        changed = TABLE[:60].copy()
        changed[name] = np.roll(changed[name].to_numpy(), 1)
        assert hashes.count(model.encode_table(changed), Y[:60]) < 45, name
    again = model.refit(TABLE, Y)
    assert again.row_hashes_.count(again.encode_table(TABLE), Y) == N


def test_numbers_of_any_type_are_the_same_rows():
    X, y = pd.DataFrame({"a": np.arange(20), "b": np.arange(20)[::-1] ** 2}), np.arange(20)
    model = KernelRegressor(trials=1).fit(X, y)
    assert model.row_hashes_.count(model.encode_table(X.astype(float)), y.astype(float)) == 20


def test_lists_and_arrays_of_numbers_are_the_same_rows():
    cells = [[1, 2], [0.5, -0.0], [[1, 2], [3, 4]], [[1, 2], [3]], ["a", 1], [], [None, 1]]
    arrays = [np.array(cell, np.float32) for cell in cells[:3]]
    assert [cell_bytes(cell) for cell in arrays] == [cell_bytes(cell) for cell in cells[:3]]
    assert len({cell_bytes(cell) for cell in [*cells, [[1, 2, 3, 4]], [1, 2, 3, 4]]}) == 9
    assert cell_bytes({"a", "b"}) == cell_bytes(frozenset({"b", "a"})) != cell_bytes(["a", "b"])


def test_long_arrays_that_differ_in_the_middle_are_not_equal():
    """Their texts are: numpy writes three numbers of each end of more than a thousand."""
    first = [np.arange(1500.0) + i for i in range(12)]
    second = [cell.copy() for cell in first]
    for cell in second:
        cell[700] = -1
    assert repr(first[0]) == repr(second[0])
    kinds = {column.name: column.kind for column in infer_columns(
        {"a": as_cells(first), "b": as_cells(second), "c": as_cells(first)}
    )}  # fmt: skip
    assert (kinds["b"], kinds["c"]) == (kinds["a"], "duplicate")
    assert column_bytes(as_cells(first)) != column_bytes(as_cells(second))


def as_cells(arrays):
    cells = np.empty(len(arrays), object)
    cells[:] = arrays
    return cells


def test_of_many_rows_some_hashes_are_kept_and_the_others_estimated(monkeypatch):
    monkeypatch.setattr(equal_rows, "MOST", 500)
    X = pd.DataFrame({"a": RNG.normal(size=4000)})
    encoder, y = TableEncoder().fit(X), np.zeros(4000)
    known = RowHashes.of(encoder.encoded(X[:2000]), y[:2000])
    assert len(known.hashes) == 500
    assert known.hashes.nbytes == 4000
    assert known.count(encoder.encoded(X), y) == pytest.approx(2000, abs=200)
    assert known.count(encoder.encoded(X[2000:]), y[2000:]) == 0


def test_rows_that_repeat_are_counted():
    X = pd.DataFrame({"a": np.tile([1.0, 2.0, 3.0, 4.0], 5)})
    table = TableEncoder().fit(X).encoded(X)
    assert RowHashes.of(table, np.zeros(20)).repeated == 1
    assert len(np.unique(hash_rows(table, np.zeros(20)))) == 4


def test_a_report_says_how_many_rows_the_model_has_seen(tmp_path):
    model = KernelClassifier(trials=1, kind=KINDS).fit(TABLE[:60], Y[:60])
    data = mercer.plots.save_report(tmp_path / "r.html", model, TABLE[40:], Y[40:])
    said = "20 of 40 rows were in the training table"
    assert data.seen == 20
    assert said in (tmp_path / "r.html").read_text()
    few = dataclasses.replace(data, repeated=0.5)
    assert "equal one by chance" in few.seen_before
    assert "too good" in dataclasses.replace(data, repeated=0.2).seen_before
    new = mercer.plots.save_report(tmp_path / "r.html", model, TABLE[60:], Y[60:])
    assert new.seen_before == "None of the 20 rows was in the training table."
