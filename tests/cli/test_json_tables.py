"""JSON as it is met: lines and arrays, objects in objects, and the forms that pandas writes."""

import json

import pandas as pd
import polars as pl
import pytest
from tests.cli.runner import printed

from mercer.cli.tables import Tables, read_table
from mercer.cli.terminal import TableError

NESTED = [
    {"id": i, "user": {"age": 20 + i, "at": {"x": i / 2}}, "tags": ["a", "b"]} for i in range(6)
] + [{"id": 6, "user": None, "tags": None}]  # fmt: skip
FRAME = pd.DataFrame({"size": [1.5, 2.5, None], "colour": ["red", "blue", None]})
ROWS = [(1.5, "red"), (2.5, "blue"), (None, None)]


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
@pytest.mark.parametrize("lines", [True, False])
def test_objects_in_objects_are_columns(name, lines, folder):
    if not lines and name == "t.jsonl":
        pytest.skip("an array is no JSON lines")
    text = "\n".join(map(json.dumps, NESTED)) if lines else json.dumps(NESTED, indent=1)
    (folder / name).write_text(text)
    frame = read_table(name)
    assert frame.columns == ["id", "user.age", "user.at.x", "tags"]
    assert frame["user.age"].to_list() == [20, 21, 22, 23, 24, 25, None]
    assert pl.concat(Tables([folder / name]).blocks(3)).equals(frame)


@pytest.mark.parametrize("orient", ["records", "columns", "split", "table"])
def test_the_forms_of_pandas(orient, folder):
    frame = FRAME if orient != "table" else FRAME.rename_axis("n")
    frame.to_json("t.json", orient=orient)
    assert read_table("t.json").select("size", "colour").rows() == ROWS


def test_an_object_that_holds_the_rows(folder):
    (folder / "t.json").write_text(json.dumps({"took": 3, "hits": NESTED}))
    tables = Tables([folder / "t.json"])
    assert tables.frame().height == 7
    assert "The rows are those of 'hits' in the file." in tables.notes


@pytest.mark.parametrize("text", ["3", '{"a": 1}', "[1, 2]", "[]", '{"a": [1], "b": [1, 2]}'])
def test_what_is_no_table(text, folder):
    (folder / "t.json").write_text(text)
    with pytest.raises(TableError, match=r"holds no table\. Give an array of objects"):
        read_table("t.json")


def test_what_is_no_json(folder, capsys):
    (folder / "t.json").write_text('[{"a": 1},\n{"a": }]')
    code, said = printed(capsys, "check", "t.json")
    assert (code, "t.json is not JSON: Expecting value: line 2" in said) == (3, True)


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
@pytest.mark.parametrize("opening", ['{"a":', "["])
def test_what_is_nested_too_deep(opening, suffix, folder):
    closing = "}" if opening == '{"a":' else "]"

    def nested(depth):
        return '{"y": 1, "x": ' + opening * depth + "1" + closing * depth + "}"

    (folder / f"flat{suffix}").write_text(nested(20) + "\n" + nested(20) + "\n")
    assert len(read_table(folder / f"flat{suffix}")) == 2
    for depth in (64, 300, 100_000):
        (folder / f"deep{suffix}").write_text(nested(1) + "\n" + nested(depth) + "\n")
        with pytest.raises(TableError, match="more than 64 levels deep, which no table can hold"):
            read_table(folder / f"deep{suffix}")
