"""Numbers with units, and negative numbers as accountants write them."""

import numpy as np
import pandas as pd
import pytest

from mercer.tables import (
    ReadTable,
    Surprises,
    TableEncoder,
    as_numbers,
    column_notices,
    infer_columns,
    read_columns,
)

N = 30

COLUMNS = {
    "brackets": ([f"({i}.50)" for i in range(N)], [-i - 0.5 for i in range(N)], ""),
    "currency in brackets": (["($12.30)", "$5", "$ (1,234)"] * 10, [-12.3, 5, -1234] * 10, ""),
    "minus at the end": (["12-", "7", "1.200,50-"] * 10, [-12, 7, -1200.5] * 10, ""),
    "kilograms": ([f"{i}.6 kg" for i in range(N)], [i + 0.6 for i in range(N)], "kg"),
    "decimal commas": ([f"{i},6kg" for i in range(N)], [i + 0.6 for i in range(N)], "kg"),
    "thousands": ([f"1,{i:03d} km" for i in range(N)], [1000 + i for i in range(N)], "km"),
    "bytes": (["3 GB", "512 MB", "1.5 GB"] * 10, [3, 0.512, 1.5] * 10, "GB"),
    "mass": (["300 g", "2 kg", "150 g"] * 10, [300, 2000, 150] * 10, "g"),
    "spans": (["1h 20m", "45m", "2h"] * 10, [4 / 3, 0.75, 2] * 10, "h"),
    "degrees": (["35 °C", "-4 °C", "0.5 °C"] * 10, [35, -4, 0.5] * 10, "°C"),
    "words": (["5 years", "1 year", "12 years"] * 10, [5, 1, 12] * 10, "years"),
    "rates": ([f"{i} km/h" for i in range(N)], [*range(N)], "km/h"),
    "some bare": ([*[f"{i} kg" for i in range(N - 5)], *["40"] * 5], None, "kg"),
    "missing": (["3 kg", "n/a", "5 kg", "7 kg"] * 10, [3, np.nan, 5, 7] * 10, "kg"),
}
NO_NUMBERS = {
    "other units": ["3 kg", "4 m", "5 years"] * 10,
    "codes": [f"{i}A" for i in range(N)],
    "times of day": ["10 am", "11 am", "12 am"] * 10,
    "houses": [f"{i} High Street" for i in range(N)],
}


def judged(texts):
    return infer_columns(
        read_columns(pd.DataFrame({"x": texts, "size": np.sin(range(len(texts)))}))
    )


@pytest.mark.parametrize("case", COLUMNS)
def test_quantities_are_numbers(case):
    texts, numbers, unit = COLUMNS[case]
    column = judged(texts)[0]
    assert (column.kind, column.unit) == ("number", unit)
    if numbers is not None:
        np.testing.assert_allclose(column.of.read(np.array(texts, object), column), numbers)
        np.testing.assert_allclose(as_numbers(np.array(texts, object)), numbers)
    if unit:
        assert f"numbers in {unit}, stored as text" in column.reason
        assert f"in {unit})." in column_notices([column])[0]


@pytest.mark.parametrize("case", NO_NUMBERS)
def test_other_texts_are_none(case):
    assert judged(NO_NUMBERS[case])[0].kind != "number"


def encoder(texts):
    frame = pd.DataFrame({"x": texts})
    return TableEncoder().fit(ReadTable.of(frame))


def test_new_rows_are_read_in_the_unit_of_training():
    fitted = encoder([f"{i} kg" for i in range(N)])
    new = pd.DataFrame({"x": ["3 kg", "3000 g", "3"]})
    scaled = fitted.transform(new).numbers[:, 1]
    assert scaled[0] == scaled[1] == scaled[2]


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (["3", "4"], "no value has kg, which training had. Check the unit."),
        ([3.0, 4.0], "no value has kg, which training had. Check the unit."),
        (["3 kg", "4 m"], "1 of 2 values cannot be read as numbers, such as '4 m'"),
    ],
)
def test_other_units_in_new_rows_are_said(new, said):
    surprises = Surprises(encoder([f"{i} kg" for i in range(N)]))
    surprises.see(read_columns(pd.DataFrame({"x": new})))
    assert any(said in sentence for sentence in surprises.sentences())


def test_a_unit_that_training_had_not_is_no_number():
    surprises = Surprises(encoder([float(i) for i in range(N)]))
    surprises.see(read_columns(pd.DataFrame({"x": ["3 kg", "4 kg"]})))
    assert [column.name for column in surprises.unreadable()] == ["x"]


def test_different_units_in_a_few_cells_say_nothing_of_the_others():
    column = judged([str(60 + i) for i in range(200)] + ["5 ft 9 inches", "170 cm"] * 2)[0]
    assert (column.kind, column.unit, column.high, column.unfit) == ("number", "", 259, 4)
    column = judged([str(60 + i) for i in range(200)] + ["170 cm"] * 2)[0]
    assert (column.unit, column.doubts[0][0]) == ("cm", "unit")


def test_limits_are_values_beside_a_flag():
    texts = [*["<0.1"] * 4, *[f"{i}.5" for i in range(N)], "> 100", None, "n/a"]
    column = judged(texts)[0]
    assert (column.limits, column.low, column.high, column.missing) == (True, 0.1, 100, 2)
    fitted = encoder(texts)
    assert [f.label for f in fitted.features_ if f.kind == "scaled"] == ["x", "x: beyond a limit"]
    (at,) = (j for j, f in enumerate(fitted.features_) if f.name == "x: beyond a limit (level)")
    new = fitted.transform(pd.DataFrame({"x": ["<0.1", "0.1", "> 7", "n/a", "7"]})).numbers
    assert new[:, at].tolist() == [0, 1, 2, 1, 1]  # below, none, above
    assert fitted.transform(pd.DataFrame({"x": [0.1, 7.0]})).numbers[:, at].tolist() == [1, 1]
    plain = encoder([f"{i}.5" for i in range(N)])
    assert {f.label for f in plain.features_} == {"x"}
