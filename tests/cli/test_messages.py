"""Wrong command lines and wrong tables are answered in words of the command, not of Python."""

import numpy as np
import polars as pl
import pytest

from cli.runner import printed
from mercer.cli.terminal import no_column

N = 60
TABLE = pl.DataFrame(
    {"age": np.arange(N) % 17, "x": np.linspace(0, 1, N), "y": ["a", "b", "c"] * (N // 3)}
)
FIT = ("fit", "t.csv", "--target", "y")


@pytest.fixture
def folder(folder):
    TABLE.write_csv("t.csv")
    return folder


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("check", "t.csv", "--kernel", "foo"), "--kernel foo: give one of arccosine, chi2, "),
        ((*FIT, "--memory", "10"), "--memory 10 is too small for 48 rows: give at least 1MB."),
        ((*FIT, "--drop", "y"), "--drop y: this is the target"),
        (("check", "t.csv", "--target", "y", "--kind", "y=text"), "--kind y: this is the target"),
        ((*FIT, "--encoding", "foo"), "--encoding foo is not known, or cannot read t.csv"),
        (("check", "t.csv", "--encoding", "foo"), "--encoding foo is not known, or cannot"),
    ],
)
def test_a_wrong_option_is_a_wrong_command_line(given, message, folder, capsys):
    code, said = printed(capsys, *given)
    assert code == 2
    assert message in said
    for python in ("=None", "object", "memory=", "kernel="):
        assert python not in said


def test_new_tables_are_named_where_a_column_is_lacking_or_something_else(folder, capsys):
    assert printed(capsys, *FIT, "--trials", 1)[0] == 0
    TABLE.drop("age").write_csv("less.csv")
    TABLE.with_columns(age=pl.lit("old")).write_csv("other.csv")
    for command in (
        ("predict", "model.mercer", "{}", "-o", "out.csv"),
        ("report", "model.mercer", "{}", "-o", "out.html"),
    ):
        code, said = printed(capsys, *(word.format("less.csv") for word in command))
        assert code == 3
        assert "less.csv: the column 'age' of the training table is lacking; there are ['x'" in said
        code, said = printed(capsys, *(word.format("other.csv") for word in command))
        assert code == 3
        assert "other.csv: column 'age' was read as numbers in training" in said
        assert "of X" not in said


def test_the_lower_part_of_a_joined_name_is_meant():
    said = str(no_column("--target", "Ausbeute", "t.xlsx", ["Probe / Nr", "Ergebnis / Ausbeute"]))
    assert said.endswith("Did you mean 'Ergebnis / Ausbeute'?")
