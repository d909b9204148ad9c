"""``mercer map``: what it draws, writes and says, and commands that are refused."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cli.runner import command, printed

GROUPS = ("a", "b", "c")


def table(n=150):
    """Three groups of rows, which numbers, levels and texts tell apart."""
    rng = np.random.default_rng(0)
    group = np.arange(n) % 3
    return pl.DataFrame({
        "id": [f"row-{i:05d}" for i in range(n)],
        "size": rng.normal(8 * group),
        "colour": [("red", "green", "blue")[g] for g in group],
        "said": [f"{('good', 'bad', 'poor')[g]} thing {rng.integers(60)}" for g in group],
        "group": [GROUPS[g] for g in group],
    })  # fmt: skip


@pytest.fixture(autouse=True)
def folder(folder):
    table().write_csv("t.csv")
    return folder


def page():
    text = Path("map.html").read_text("utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text)[1])


def test_groups_of_a_table_are_clusters_and_their_points_are_near(capsys):
    draw = ("map", "t.csv", "--drop", "group", "--kind", "said=text", "--points", "p.parquet")
    code, said = printed(capsys, *draw)
    assert code == 0
    assert "3 clusters; " in said
    assert "Compared: size (in shares of the range); colour (equal or not); said (by edits)" in said
    assert "Left out: id, group" in said
    assert "that are not connected" not in said.partition("Compared")[0]
    points = pl.read_parquet("p.parquet")
    assert points.columns == ["row", "x", "y", "cluster", "probability", "outlier"]
    assert points["row"].to_list() == list(range(1, 151))
    found, given = points["cluster"].to_numpy(), np.arange(150) % 3
    assert all(len({*found[given == g]} - {None}) == 1 for g in range(3))
    places = points.select("x", "y").to_numpy()
    gaps = np.linalg.norm(places[:, None] - places, axis=2) + 1e9 * np.eye(150)
    assert (given[gaps.argmin(axis=1)] == given).mean() > 0.95
    words = [said for cluster in page()["clusters"] for said in cluster["words"]]
    assert any(said.startswith("colour is red: ") for said in words)
    assert {c["name"] for c in page()["columns"]} >= {"id", "size", "colour", "said", "group"}


def test_the_same_command_writes_the_same_page():
    assert command("map", "t.csv") == 0
    first = Path("map.html").read_bytes()
    assert command("map", "t.csv", "--force") == 0
    assert Path("map.html").read_bytes() == first


def test_of_many_rows_some_are_drawn_and_keep_their_numbers(capsys):
    code, said = printed(capsys, "map", "t.csv", "--rows", 60, "--points", "p.csv")
    assert code == 0
    assert "60 of 150 rows are drawn, chosen at random" in said
    rows = pl.read_csv("p.csv")["row"].to_numpy()
    assert len(rows) == len(set(rows)) == 60
    sizes = {column["name"]: column for column in page()["columns"]}["id"]
    numbers = np.frombuffer(__import__("base64").b64decode(page()["rows"]), "<u4")
    np.testing.assert_array_equal(numbers, rows)
    assert sorted(sizes["levels"]) == sorted(f"row-{row - 1:05d}" for row in rows)


def test_the_middle_of_a_cluster_has_its_number_in_the_table(capsys):
    draw = ("map", "t.csv", "--rows", 60, "--drop", "group", "--points", "p.csv", "--json")
    assert command(*draw) == 0
    points = pl.read_csv("p.csv")
    clusters = json.loads(capsys.readouterr().out)["clusters"]
    assert clusters
    for number, cluster in enumerate(clusters, start=1):
        found = points.filter(pl.col("row") == cluster["middle"])["cluster"]
        assert found.to_list() == [number]


def test_clusters_can_be_left_out_and_a_column_can_colour(capsys):
    code, said = printed(
        capsys, "map", "t.csv", "--no-clusters", "--color", "colour", "--points", "p.csv"
    )
    assert code == 0
    assert "cluster" not in said
    found = page()
    assert found["columns"][found["color"]]["name"] == "colour"
    assert (found["clusters"], found["noise"]) == ([], None)
    assert pl.read_csv("p.csv").columns == ["row", "x", "y"]


def test_numbers_alone_are_points_of_a_tree_with_the_same_distances():
    """The distance is the mean of the columns' differences, as it is beside other columns."""
    table().select("size", x=pl.col("size") ** 2).write_csv("n.csv")
    assert command("neighbors", "n.csv", "-k", 3) == 0
    read, found = pl.read_csv("n.csv").to_numpy(), pl.read_csv("neighbors.csv")
    scaled = (read - read.min(axis=0)) / np.ptp(read, axis=0)
    apart = scaled[found["row"].to_numpy() - 1] - scaled[found["neighbour"].to_numpy() - 1]
    np.testing.assert_allclose(found["distance"], np.abs(apart).mean(axis=1), atol=1e-9)
    assert command("map", "n.csv") == 0


def test_a_table_without_groups_and_one_of_equal_rows(capsys):
    pl.DataFrame({"x": np.arange(40.0), "y": np.zeros(40)}).write_csv("even.csv")
    code, said = printed(capsys, "map", "even.csv")
    assert code == 0
    assert "No cluster was found" in said
    pl.DataFrame({"x": ["a", "b"] * 80, "y": list("uuvv") * 40}).write_csv("equal.csv")
    code, said = printed(capsys, "map", "equal.csv", "--force")
    assert code == 0
    assert "connect 4 parts" in said


@pytest.mark.parametrize(("arguments", "code", "words"), [
    (["t.csv", "-o", "map.csv"], 2, "--output map.csv: the name must end in .html"),
    (["t.csv", "--points", "p.txt"], 2, "--points p.txt: the name must end in .csv"),
    (["t.csv", "--color", "colr"], 3, "Did you mean 'colour'?"),
    (["t.csv", "--columns", "size", "--drop", "size"], 2, "by --columns and by --drop"),
    (["t.csv", "--no-clusters", "--min-cluster-size", 5], 2, "give one of them"),
    (["t.csv", "--min-cluster-size", 1], 2, "at least 2"),
    (["two.csv"], 3, "two.csv has 2 rows: a map needs 3 or more"),
    (["same.csv"], 3, "no column to compare rows by"),
    (["t.csv", "-o", "t.html", "--points", "T.HTML"], 2, "--points T.HTML"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_refused(arguments, code, words, capsys):
    table(2).write_csv("two.csv")
    pl.DataFrame({"x": [1] * 9}).write_csv("same.csv")
    done, said = printed(capsys, "map", *arguments)
    assert done == code
    assert words in said
    assert not Path("map.html").exists()


def test_few_rows_have_fewer_neighbours(capsys):
    table(5).write_csv("few.csv")
    code, said = printed(capsys, "map", "few.csv")
    assert code == 0
    assert "the map keeps 2 neighbours of each, in place of 15" in said
