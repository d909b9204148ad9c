"""Each command on a file of each format with a column of each kind: how it is read, or the remedy.

A column of one kind is written in every format that can hold it. All formats are read alike, and
each command answers for all of them, or refuses with words that say what to give.
"""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.runner import printed

from mercer.cli import table_distance
from mercer.samples import all_kinds
from mercer.tables import column_kinds

#: a column of the package of a test, which may be loaded here, and one that needs RDKit
THEIRS = {"structure", "molecule"}
N = 24
Y = np.arange(N) % 2
RNG = np.random.default_rng(0)
WORDS = ["tea", "milk", "rum", "sugar", "ice"], ["nail", "screw", "saw", "glue", "ice"]


def rounded(*shape):
    """Some points of numbers, higher in the rows of the second class."""
    return np.round(RNG.normal(size=shape), 3)


def drawn(c, count):
    return RNG.choice(WORDS[c], count).tolist()


WALKS = [rounded(5 + i % 3).cumsum().round(3) + 3 * c for i, c in enumerate(Y)]
PATHS = [{"nodes": 4 + i % 3, "edges": [[j, j + 1] for j in range(3 + i % 3)]} for i in range(N)]
STARS = [{"nodes": 5 + i % 2, "edges": [[0, j] for j in range(1, 5 + i % 2)]} for i in range(N)]
TREES = [f"(S (NP {w}) (VP b))" if c else f"(S (NP (D a) (N {w})) (VP d))"
         for c, (w,) in zip(Y, (drawn(c, 1) for c in Y))]  # fmt: skip

#: what a sample is -> the cells of a column, how tables read it, and what has to be said for that
CELLS = {
    "numbers": ((rounded(N) + 2 * Y).round(3).tolist(), "number", ""),
    "truth values": ((RNG.random(N) < 0.5).tolist(), "category", ""),
    "categories": ([drawn(c, 1)[0] for c in Y], "category", ""),
    "levels": (RNG.choice(["low", "mid", "high"], N).tolist(), "ordered", "ordered:low<mid<high"),
    "dates": ([str(np.datetime64("2024-01-01") + d) for d in RNG.integers(0, 300, N)], "date", ""),
    "times": ([f"{h:02}:{h * 2:02}" for h in RNG.integers(0, 24, N)], "time", ""),
    "texts": ([" ".join(drawn(c, 6)) for c in Y], "text", ""),
    "DNA": (["".join(RNG.choice(list("ACGT"[c : c + 3]), 24)) for c in Y], "sequence", ""),
    "proteins": (["".join(RNG.choice(list("ACDEFGHIKL"), 30)) for _ in Y], "sequence", ""),
    "sets": ([sorted(set(drawn(c, 3))) for c in Y], "set", ""),
    "tokens": ([drawn(c, 4 + i % 3) for i, c in enumerate(Y)], "text", "text"),
    "vectors": ((rounded(N, 3) + Y[:, None]).round(3).tolist(), "vector", ""),
    "series": ([walk.round(3).tolist() for walk in WALKS], "series", ""),
    "channels": ([np.c_[walk, -walk].round(3).tolist() for walk in WALKS], "series", ""),
    "images": ((rounded(N, 4, 4) + Y[:, None, None]).round(3).tolist(), "series", ""),
    "bags": ([np.c_[walk, -walk].round(3).tolist() for walk in WALKS], "bag", "bag"),
    "graphs": ([PATHS[i] if c else STARS[i] for i, c in enumerate(Y)], "graph", ""),
    "trees": (TREES, "tree", "tree"),
}  # fmt: skip
FORMATS = ["csv", "tsv", "parquet", "arrow", "jsonl", "json"]


def as_text(cell):
    """A cell of a text table: words with semicolons between them, other lists as JSON."""
    if isinstance(cell, list) and isinstance(cell[0], str):
        return ";".join(cell)
    return json.dumps(cell) if isinstance(cell, (list, dict)) else cell


def write(kind, form):
    """The names of a file with all rows, and of one with the last ones."""
    cells, answers = CELLS[kind][0], np.where(Y, "u", "v").tolist()
    names = f"all.{form}", f"new.{form}"
    for name, rows in zip(names, (slice(None), slice(16, None))):
        x, y = cells[rows], answers[rows]
        if form in ("csv", "tsv"):
            table = pl.DataFrame({"x": list(map(as_text, x)), "y": y})
            table.write_csv(name, separator="," if form == "csv" else "\t")
        elif form in ("jsonl", "json"):
            records = [json.dumps({"x": each, "y": answer}) for each, answer in zip(x, y)]
            whole = "\n".join(records) if form == "jsonl" else f"[{','.join(records)}]"
            Path(name).write_text(whole)
        else:
            table = pl.DataFrame({"x": x, "y": y})
            if kind == "dates":
                table = table.with_columns(pl.col("x").str.to_date())
            if kind == "times":
                table = table.with_columns(pl.col("x").str.to_time("%H:%M"))
            (table.write_parquet if form == "parquet" else table.write_ipc)(name)
    return names


def told(capsys, *arguments):
    """The object that a command prints with --json, or what it complains of."""
    code, said = printed(capsys, *arguments, "--json")
    return json.loads(said) if code == 0 else (code, said)


def column_read(facts):
    return [(column["name"], column["kind"]) for column in facts["columns"]]


def checked(kind, table, _, asked, capsys):
    facts = told(capsys, "check", table, "--target", "y", *asked)
    assert column_read(facts) == [("x", CELLS[kind][1])]


def fitted(kind, table, new, asked, capsys):
    facts = told(capsys, "fit", table, "--target", "y", "--trials", 1, *asked)
    assert column_read(facts) == [("x", CELLS[kind][1])]
    told(capsys, "predict", "model.mercer", new, "-o", "said.csv")
    assert set(pl.read_csv("said.csv")["prediction"]) <= {"u", "v"}


def near(kind, table, new, asked, capsys):
    """The neighbours are those of the first format."""
    compare = ("--columns", "x", "-k", 2, "--explain", "--force", *asked)
    assert told(capsys, "neighbors", table, new, *compare)["compared"] == ["x"]
    apart = pl.read_csv("neighbors.csv")["distance"].to_numpy()
    assert 0 <= apart.min() <= 1e-7
    assert apart.max() <= 1
    told(capsys, "neighbors", *write(kind, FORMATS[0]), *compare)
    np.testing.assert_allclose(apart, pl.read_csv("neighbors.csv")["distance"], atol=1e-7)


def mapped(kind, table, _, asked, capsys):
    """The map and its page are those of the first format."""
    draw = (
        "--columns",
        "x",
        "--color",
        "y",
        "--neighbors",
        5,
        "--force",
        "--points",
        "p.csv",
        *asked,
    )
    assert told(capsys, "map", table, *draw)["compared"] == ["x"]
    points, page = pl.read_csv("p.csv"), Path("map.html").read_text()
    assert told(capsys, "map", write(kind, FORMATS[0])[0], *draw)["rows"] == N
    for axis in ("x", "y"):
        np.testing.assert_allclose(points[axis], pl.read_csv("p.csv")[axis], atol=1e-6)
    if kind not in ("images", "channels", "series", "vectors", "bags", "sets", "tokens"):
        assert len(page) == pytest.approx(len(Path("map.html").read_text()), abs=200)


NO_TEXT = {
    "numbers": "a number", "truth values": "a truth value", "dates": "a date", "times": "a time",
    "graphs": "an object",
}  # fmt: skip


def deduplicated(kind, table, _, asked, capsys):
    """Texts are read, and of others the command says what it found in place of them."""
    form = Path(table).suffix
    said = told(capsys, "dedup", table, "--column", "x", "-o", f"kept{form}")
    if form in (".json", ".arrow"):
        assert said[0] == 3
        assert "the name must end in .jsonl" in said[1]
    elif isinstance(said, dict):
        assert form in (".csv", ".tsv") or isinstance(CELLS[kind][0][0], str)
        assert said["documents"] == N
    else:
        came = NO_TEXT.get(kind, "a list")
        assert f"has {came} as 'x', and no text (--column names another)" in said[1]


@pytest.mark.spread(12)
@pytest.mark.parametrize("command", [checked, fitted, near, mapped, deduplicated])
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("form", FORMATS)
def test_each_command_reads_each_kind_in_each_format(
    kind, form, command, no_report, capsys, folder
):
    given = CELLS[kind][2]
    command(kind, *write(kind, form), ("--kind", f"x={given}") if given else (), capsys)


def test_neighbours_are_the_same_where_few_pairs_are_compared_at_a_time(
    capsys, folder, monkeypatch
):
    table, new = write("graphs", "json")
    asked = ("neighbors", table, new, "--columns", "x", "-k", 2, "--force")
    told(capsys, *asked)
    apart = pl.read_csv("neighbors.csv")["distance"]
    monkeypatch.setattr(table_distance, "TILE", 5)
    told(capsys, *asked)
    np.testing.assert_allclose(pl.read_csv("neighbors.csv")["distance"], apart, atol=1e-9)


def test_each_kind_of_sample_and_of_column_stands_in_the_table():
    read = {column for _, column, _ in CELLS.values()}
    given = {kind.name for kind in column_kinds() if kind.given} - THEIRS
    assert given - read == {"identifier", "drop"}  # which are left out
    assert {kind.column for kind in all_kinds()} - {"", *THEIRS} <= read
