"""All wrong kinds and names of columns are said in one message."""

from pathlib import Path

import pytest
from tests.cli.runner import command, printed

from mercer.cli.problem import columns_of
from mercer.cli.tables import Tables
from mercer.cli.terminal import TableError
from mercer.tables import infer_columns, read_columns

TEXT = "size,colour,note,y\n" + "".join(f"{i}.5,c{i % 3},n{i % 5},{i % 2}\n" for i in range(40))


@pytest.fixture(autouse=True)
def table(folder):
    (folder / "t.csv").write_text(TEXT)


@pytest.mark.parametrize(
    "start",
    [
        ("fit", "t.csv", "--target", "y"),
        ("check", "t.csv"),
        ("neighbors", "t.csv"),
        ("map", "t.csv"),
    ],
)
def test_what_the_table_shows_to_be_wrong_is_one_message(start, capsys):
    wrong = ("--kind", "colr=text", "--kind", "siz=number", "--kind", "note=date")
    code, said = printed(capsys, *start, *wrong, "--kind", "colour=number", "--drop", "nte")
    assert code == 3
    for fault in ("--kind colr: t.csv has no such", "--kind siz: t.csv has no such",
                  "--drop nte: t.csv has no such", "--kind: note='date', but no value is a date",
                  "--kind: colour='number', but no value is a number"):  # fmt: skip
        assert fault in said


def test_what_no_table_could_make_right_is_one_message_before(capsys):
    wrong = ("--kind", "size=colour", "--kind", "note", "--kind", "colour=txt")
    code, said = printed(capsys, "fit", "absent.csv", "--target", "y", *wrong)
    assert code == 2
    for fault in ("size='colour'", "--kind note: write column=kind", "colour='txt'"):
        assert fault in said


def test_each_fault_has_a_line(capsys):
    assert command("check", "t.csv", "--kind", "a=text", "--kind", "b=text") == 3
    assert [line[:8] for line in capsys.readouterr().err.splitlines()] == ["mercer: ", "--kind b"]


def test_the_library_says_all_too():
    columns = read_columns([["a", 1.5], ["b", 2.5]])
    with pytest.raises(ValueError, match=r"'no'.*\n.*'never'.*\n.*0='words'.*\n.*1='date'"):
        infer_columns(columns, kind={"no": "text", 0: "words", 1: "date"}, drop=["never"])


def test_one_target_may_be_named_alone():
    tables = Tables([Path("t.csv")])
    values = read_columns(tables.frame())
    assert len(columns_of(values, {"y": "category"}, [], tables, "sky")) == 4
    with pytest.raises(TableError, match="--kind y: this is the target"):
        columns_of(values, {"y": "category"}, [], tables, "y")
