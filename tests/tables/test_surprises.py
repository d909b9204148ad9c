"""What new rows hold that training had not: each count, and the same in one block and in many."""

import numpy as np
import pandas as pd
import pytest

from mercer.tables.encoding import TableEncoder
from mercer.tables.surprises import Surprises
from mercer.tables.values import ReadTable, read_columns

N = 40
TRAINING = pd.DataFrame(
    {
        "size": np.linspace(-1, 3, N),
        "rate": [f"{i}%" for i in range(N)],
        "day": [f"2024-01-{i % 28 + 1:02d}" for i in range(N)],
        "colour": ["red", "blue"] * (N // 2),
    }
)
NEW = pd.DataFrame(
    {
        "size": ["1e12", "much", "", "2", "-2", "7.5"],
        "rate": ["0.1", "0.2", "0.3", "0.4", None, "0.6"],
        "day": ["2024-01-02", "3.1.2024", "n/a", "2031-01-01", "2024-01-03", "2024-01-04"],
        "colour": ["red", "pink", "green", "blue", "blue", None],
    }
)
SAID = [
    "size: 1 of 5 values cannot be read as numbers, such as 'much', and counts as missing.",
    "size: 2 of 5 values lie far from the training range -1 to 3, such as 1 trillion.",
    "size: 1 value is missing, but training missed none; the median stands for it.",
    "rate: no value has %, which training had: 12% and 12 are the same number, and 0.12 is another",
    "rate: 1 value is missing",
    "day: 1 of 5 values cannot be read as dates, such as '3.1.2024', and counts as missing.",
    "day: 1 of 5 values lies far from the training range 2024-01-01 to 2024-01-28, such as 2031-01",
    "day: 1 value is missing",
    "colour: 2 levels that were absent or rare in training: green, pink. They count as one unknown",
]


@pytest.mark.parametrize("block", [1, 4, 6])
def test_each_surprise_is_counted_and_said(block):
    surprises = Surprises(TableEncoder().fit(TRAINING))
    for start in range(0, len(NEW), block):
        surprises.see(read_columns(NEW[start : start + block].astype(object)))
    said = surprises.sentences()
    assert len(said) == len(SAID), said
    for sentence, begins in zip(said, SAID):
        assert sentence.startswith(begins)
    assert surprises.unreadable() == []


def test_rows_like_those_of_training_are_no_surprise():
    surprises = Surprises(TableEncoder().fit(TRAINING))
    surprises.see(read_columns(TRAINING[::3]))
    assert surprises.sentences() == []


def test_a_column_that_cannot_be_read_at_all_and_signs_that_are_new():
    surprises = Surprises(TableEncoder().fit(TRAINING))
    new = NEW.assign(day="soon", size=["$5"] * 6)
    surprises.see(read_columns(new))
    (column,) = surprises.unreadable()
    assert (column.name, surprises.example(column)) == ("day", "soon")
    assert any(
        "size: some values have $, which training did not have" in s for s in surprises.sentences()
    )


def test_ranges_of_the_largest_numbers_do_not_overflow():
    surprises = Surprises(TableEncoder().fit(ReadTable({"x": 1.7e308 * np.linspace(-1, 1, N)})))
    surprises.see({"x": np.array([1.7e308, -1e300, np.nan])})
    assert not surprises.far["x"]


def test_cells_that_cannot_be_read_are_named_with_their_rows():
    surprises = Surprises(TableEncoder().fit(TRAINING))
    cells = ["1", "a", "2", "b", "c", "d"]
    for start in (0, 3):
        block = pd.DataFrame({"size": cells[start : start + 3]})
        surprises.see(read_columns(block.astype(object)))
    (said,) = [s for s in surprises.sentences() if "cannot be read" in s]
    places = "'a' (row 2), 'b' (row 4), 'c' (row 5)"
    assert said.endswith(f"Mend {places}: write them as in training.")


def test_levels_with_commas_are_quoted():
    surprises = Surprises(TableEncoder().fit(TRAINING))
    surprises.see(read_columns(pd.DataFrame({"colour": ["grey", "Brien, Ann"]})))
    (said,) = surprises.sentences()
    assert said.startswith("colour: 2 levels that were absent or rare in training: 'Brien, Ann', g")


@pytest.mark.parametrize(("old", "new", "sentence"), [
    ("{0:02d}.{1:02d}.2024", "{1:02d}.{0:02d}.2024",
     "x: 12 of 20 values are written month-first, and training had day-first: others whose day is "
     "at most 12 may be read wrongly. Write the whole column as in training, day-first."),
    ("{1:02d}/{0:02d}/2024", "{0:02d}/{1:02d}/2024",
     "x: 12 of 20 values are written day-first, and training had month-first: others whose day is "
     "at most 12 may be read wrongly. Write the whole column as in training, month-first."),
    ("1.{0:03d},5 €", "1,{0:03d}.5 €",
     "x: 20 of 20 values are written decimal-point, and training had decimal-comma: others with "
     "thousands may be read wrongly. Write the whole column as in training, decimal-comma."),
])  # fmt: skip
def test_another_decimal_sign_or_order_of_dates_is_said(old, new, sentence):
    cells = [old.format(i + 1, i % 12 + 1) for i in range(28)]
    later = [new.format(i + 1, i % 12 + 1) for i in range(4, 24)]
    surprises = Surprises(TableEncoder().fit(ReadTable.of(pd.DataFrame({"x": cells}))))
    surprises.see(read_columns(pd.DataFrame({"x": cells})))
    assert not any("training had" in said for said in surprises.sentences())
    surprises = Surprises(surprises.encoder)
    surprises.see(read_columns(pd.DataFrame({"x": later})))
    said = [each for each in surprises.sentences() if "and training had" in each]
    assert said == [sentence]
