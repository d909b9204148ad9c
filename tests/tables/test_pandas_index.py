"""The index of a pandas table is left out in every form that a file may have it in."""

import numpy as np
import pandas as pd
import pytest

from mercer.tables import column_notices, infer_columns, read_columns

N = 90
SHUFFLED = np.random.default_rng(0).permutation(N)
RUNS = np.r_[np.arange(50), np.arange(40)]

INDEX = {
    "from 0": (range(N), ""),
    "after a split": (SHUFFLED[:60], "shuffled or with gaps"),
    "sorted after a split": (np.sort(SHUFFLED)[::3], "shuffled or with gaps"),
    "after a concat": (RUNS, "starts again at 0"),
    "shuffled after a concat": (RUNS[SHUFFLED], "numbers that return"),
}
OTHER = {
    "a measure": (np.arange(N) * 0.5, "index", "number"),
    "a code": (np.arange(N) % 12, "index", "number"),
    "an index of prices": (90 + SHUFFLED % 30, "index", "number"),
    "hours": (np.arange(N) % 24, "hour", "number"),
    "a measure without a name": (np.arange(N) * 0.5, "Unnamed: 0", "number"),
    "negative": (np.arange(N) % 30 - 7, "Unnamed: 0", "number"),
}


def judged(values, name, before=()):
    table = {other: np.sin(np.arange(len(values))) + i for i, other in enumerate(before)}
    table[name] = np.array(values, dtype=float)
    table["size"] = np.cos(np.arange(len(values)))
    return next(c for c in infer_columns(read_columns(pd.DataFrame(table))) if c.name == name)


@pytest.mark.parametrize("name", ["Unnamed: 0", "", "index", "level_0", "__index_level_0__"])
@pytest.mark.parametrize("form", INDEX)
def test_each_form_is_left_out_and_said(form, name):
    values, how = INDEX[form]
    column = judged(values, name)
    assert column.kind == "identifier"
    assert column.reason.startswith("the index of a pandas table")
    assert how in column.reason or name.startswith("__")
    assert column_notices([column]) == [f"Not used: {name} ({column.reason})."]


@pytest.mark.parametrize("case", OTHER)
def test_measures_and_codes_are_no_index(case):
    values, name, kind = OTHER[case]
    assert judged(values, name).kind == kind


def test_a_column_without_a_name_is_no_index_behind_others():
    assert judged(RUNS, "Unnamed: 1", before=["weight"]).kind == "number"
    assert judged(RUNS, "index", before=["weight"]).kind == "identifier"


def test_an_index_that_was_saved_twice_is_left_out_twice():
    frame = pd.DataFrame({"Unnamed: 0.1": range(N), "Unnamed: 0": RUNS, "size": np.sin(range(N))})
    columns = infer_columns(read_columns(frame))
    assert [c.kind for c in columns] == ["identifier", "identifier", "number"]


def test_a_few_rows_are_enough_where_they_have_no_name():
    frame = pd.DataFrame({"Unnamed: 0": [2, 0, 1, 3], "size": [0.5, 1.5, 2.5, 0.25]})
    assert infer_columns(read_columns(frame))[0].kind == "identifier"
    frame["Unnamed: 0"] = [7, 0, 1, 3]
    assert infer_columns(read_columns(frame))[0].kind == "number"


def test_a_kind_that_is_given_keeps_it():
    frame = pd.DataFrame({"Unnamed: 0": range(N), "size": np.sin(range(N))})
    assert infer_columns(read_columns(frame), kind={"Unnamed: 0": "number"})[0].kind == "number"


def test_row_names_of_r_are_no_index_of_pandas():
    for values, said in ((range(1, N + 1), "row names"), (range(N), "index of a pandas table")):
        (column, _) = infer_columns(
            read_columns(pd.DataFrame({"": np.float64(values), "size": np.cos(range(N))}))
        )
        assert column.kind == "identifier"
        assert said in column.reason
        assert "--kind" not in column_notices([column])[0]
