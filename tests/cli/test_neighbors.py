"""``mercer neighbors``: distances against Gower's formula written out, explanations that add up to
them, and commands that are refused."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rapidfuzz.distance import Levenshtein

from cli.runner import command, printed
from mercer.cli.tables import read_table

COLOURS = ["red", "green", "blue", None]
NAMES = ["Anna Karenina", "Anna Karenin", "War and Peace", "The Idiot", "Oblomov", None]


def table(n, seed):
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 900, n)
    return pl.DataFrame(
        {
            "price": [None if rng.random() < 0.1 else float(v) for v in rng.normal(5, 2, n)],
            "colour": [COLOURS[i] for i in rng.integers(0, 4, n)],
            "name": [NAMES[i] for i in rng.integers(0, 6, n)],
            "bought": [str(np.datetime64("2024-01-01") + int(d)) for d in days],
            "tags": [";".join(rng.choice(list("abcde"), rng.integers(1, 4), False)) for _ in days],
            "constant": ["x"] * n,
        }
    )


ITEMS, QUERIES = table(60, 0), table(9, 1)
KINDS = ("--kind", "name=text", "--kind", "tags=set")


@pytest.fixture
def folder(folder):
    ITEMS.write_csv("items.csv")
    QUERIES.write_csv("queries.csv")
    return folder


def neighbours(*arguments):
    assert command("neighbors", *arguments, "--force") == 0
    return read_table("neighbors.csv")


def gower(a, b, low, high):
    """The five columns' differences of two rows."""
    x, z = ((r["price"] - low) / (high - low) if r["price"] is not None else None for r in (a, b))
    known = [v for v in (x, z) if v is not None]
    price = abs(x - z) if len(known) == 2 else 0.5 + abs(known[0] - 0.5) if known else 0.0
    names = [r["name"] or "" for r in (a, b)]
    tags = [{*r["tags"].split(";")} for r in (a, b)]
    days = [np.datetime64(r["bought"]) for r in (a, b)]
    all_days = ITEMS["bought"].str.to_date()
    return [
        price,
        float(a["colour"] != b["colour"]),
        Levenshtein.normalized_distance(*names),
        abs((days[0] - days[1]).astype(int)) / (all_days.max() - all_days.min()).days,
        1 - len(tags[0] & tags[1]) / len(tags[0] | tags[1]),
    ]


def expected(queries):
    low, high = ITEMS["price"].min(), ITEMS["price"].max()
    rows = ITEMS.to_dicts()
    return np.array([[gower(a, b, low, high) for b in rows] for a in queries.to_dicts()])


@pytest.mark.spread(1)
@pytest.mark.parametrize("themselves", [False, True])
def test_distances_are_the_mean_of_the_columns(themselves, capsys):
    given = ["items.csv"] if themselves else ["items.csv", "queries.csv"]
    found = neighbours(*given, "-k", 4, "--explain", *KINDS)
    D = expected(ITEMS if themselves else QUERIES)
    whole = D.mean(axis=2)
    if themselves:
        np.fill_diagonal(whole, np.inf)
    order = np.argsort(whole.round(9), axis=1, kind="stable")[:, :4]
    assert found["row"].to_list() == np.repeat(np.arange(len(whole)) + 1, 4).tolist()
    assert found["rank"].to_list() == [1, 2, 3, 4] * len(whole)
    nearest = np.take_along_axis(whole, order, 1).ravel()
    np.testing.assert_allclose(found["distance"], nearest, atol=1e-9)
    i, j = found["row"].to_numpy() - 1, found["neighbour"].to_numpy() - 1
    np.testing.assert_allclose(whole[i, j], nearest, atol=1e-9)
    names = ["price", "colour", "name", "bought", "tags"]
    for a, b, said in zip(i, j, found["differs"].to_list()):
        shares = dict(part.rsplit(" ", 1) for part in (said or "").split(", ") if part)
        assert len(shares) == min(3, np.count_nonzero(D[a, b]))
        largest = np.sort(D[a, b])[::-1] / 5
        for value, share in zip(shares.values(), largest):
            assert float(value) == pytest.approx(share, rel=0.01)
        for name, value in shares.items():
            assert float(value) == pytest.approx(D[a, b, names.index(name)] / 5, rel=0.01)
    printed = " ".join(capsys.readouterr().out.split())
    assert (
        "price, bought (in shares of the range); colour (equal or not); name (by edits)" in printed
    )
    assert "Left out: constant." in printed


@pytest.mark.full
def test_a_radius_and_blocks_of_rows(monkeypatch):
    from mercer.cli import neighbors

    D = expected(ITEMS).mean(axis=2)
    np.fill_diagonal(D, np.inf)
    radius = float(np.quantile(D[np.isfinite(D)], 0.1)) + 1e-7
    wanted = [(i + 1, j + 1) for i, j in np.argwhere(radius >= D)]
    whole = neighbours("items.csv", "--radius", radius, *KINDS)
    assert sorted(zip(whole["row"], whole["neighbour"])) == wanted
    few = neighbours("items.csv", "--radius", radius, "-k", 1, *KINDS)
    assert few.rows() == [row for row in whole.rows() if row[3] == 1]
    monkeypatch.setattr(neighbors, "BLOCK", 7)
    assert neighbours("items.csv", "--radius", radius, *KINDS).rows() == whole.rows()
    none = neighbours("items.csv", "--radius", 0, "--columns", "price", "--drop", "colour")
    assert none.height == sum(ITEMS["price"].is_null()) * (sum(ITEMS["price"].is_null()) - 1)


def test_equal_rows_are_neighbours_and_a_row_is_not_its_own():
    pl.DataFrame({"a": [1.0, 1, 1, 1, 2], "b": ["x"] * 4 + ["y"]}).write_csv("items.csv")
    found = neighbours("items.csv", "-k", 2)
    assert found["neighbour"].to_list() == [2, 3, 1, 3, 1, 2, 1, 2, 1, 2]
    assert found["distance"].to_list() == [0.0] * 8 + [1.0] * 2


def test_ranks_do_not_feel_a_large_value():
    pl.DataFrame({"a": [1.0, 2, 3, 4, 1e9]}).write_csv("items.csv")
    pl.DataFrame({"a": [3.4, None]}).write_csv("queries.csv")
    found = neighbours("items.csv", "queries.csv", "-k", 5, "--metric", "rank")
    first = found.filter(pl.col("row") == 1)
    assert first["neighbour"].to_list() == [3, 4, 2, 5, 1]
    np.testing.assert_allclose(first["distance"], [0.1, 0.1, 0.3, 0.3, 0.5])
    by_range = neighbours("items.csv", "queries.csv", "-k", 5)
    assert (by_range["distance"][:4] < 1e-8).all()


@pytest.mark.parametrize("way", ["kmers", "words"])
def test_texts_as_sets(way):
    texts = ["The cat sat", "the CAT  sat", "a dog ran far", ""]
    pl.DataFrame({"t": texts, "n": [1.0, 2, 3, 4.5]}).write_csv("items.csv")
    found = neighbours("items.csv", "-k", 3, "--text", way, "--columns", "t", "--kind", "t=text")
    assert found.row(0)[:3] == (1, 2, 0.0)
    assert set(found["distance"]) == {0.0, 1.0}


@pytest.mark.parametrize("output", ["n.tsv", "n.parquet"])
def test_other_formats(output):
    assert command("neighbors", "items.csv", "-k", 2, "-o", output, "--quiet") == 0
    assert read_table(output).columns == ["row", "neighbour", "distance", "rank"]
    assert read_table(output).height == 120


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["missing.csv"], 3, "There is no file missing.csv"),
        (["items.csv", "-k", "0"], 2, "-k 0: give a number of neighbours, at least 1"),
        (["items.csv", "-k", "some"], 2, "some: give a whole number"),
        (["items.csv", "-k", "2.5"], 2, "2.5: give a whole number"),
        (["items.csv", "--radius", "-1"], 2, "--radius -1.0: give a number, at least 0"),
        (["items.csv", "--radius", "nan"], 2, "--radius nan"),
        (["items.csv", "-o", "x.txt"], 2, "the name must end in .csv, .tsv, .parquet"),
        (["items.csv", "-o", "items.csv", "--force"], 4, "would replace a file that is read"),
        (["items.csv", "-o", "no/x.csv"], 4, "there is no such folder"),
        (["items.csv", "--columns", "colr"], 3, "Did you mean 'colour'?"),
        (["items.csv", "--columns", "price", "--drop", "price"], 2, "by --columns and by --drop"),
        (["items.csv", "--columns", "constant"], 3, "no column to compare rows by (constant"),
        (["items.csv", "--kind", "colour=number"], 3, "--kind: colour='number', but no value"),
        (["items.csv", "--metric", "euclid"], 2, 'Choose from: "range", "rank"'),
        (["items.csv", "--memory", "lots"], 2, "--memory='lots': give a number of bytes"),
        (["items.csv", "other.csv"], 3, "other.csv has no column 'colour', by which the items"),
        (["items.csv", "words.csv"], 3, "holds numbers in the items, but none here; the first"),
        (["one.csv", "--kind", "a=category"], 3, "has one row, which has no neighbour in its own"),
        (["one.csv"], 3, "no column to compare rows by (a: constant"),
    ],
)
def test_wrong_commands_are_refused(arguments, code, said, capsys, monkeypatch):
    pl.DataFrame({"price": [1.5]}).write_csv("other.csv")
    QUERIES.with_columns(price=pl.lit("cheap")).write_csv("words.csv")
    pl.DataFrame({"a": ["x"], "b": [1.0]}).write_csv("one.csv")
    assert command("neighbors", *arguments) == code
    printed = "".join(capsys.readouterr())
    assert said in " ".join(printed.split())
    assert not Path("neighbors.csv").exists()


def test_cells_are_read_by_the_record_of_their_column(folder, capsys):
    """As ``mercer fit`` reads them: masked bases are bases, and a level 1 is the number 1."""
    rng = np.random.default_rng(0)
    genes = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(30)]
    ITEMS[:30].select(gene=pl.Series(genes), code=pl.Series(["1", "2", "3a"] * 10)).write_csv(
        "a.csv"
    )
    masked = [gene[:9].lower() + gene[9:] for gene in genes]
    pl.DataFrame({"gene": masked, "code": [1, 2, 3] * 10})[:2].write_csv("b.csv")
    found = neighbours("a.csv", "b.csv", "-k", 1)
    assert found["distance"].to_list() == [0, 0]
    assert "gene" in capsys.readouterr().out


def test_names_that_are_all_different_are_compared(folder, capsys):
    names = [
        a + b for a in ("Kra", "Lem", "Mor", "Nis", "Pol") for b in ("ato", "bus", "cek", "dov")
    ]
    table = pl.DataFrame(
        {
            "who": [*names, "Kratu"],
            "code": [f"{i * 37:04d}x" for i in range(21)],
            "age": np.arange(21) % 4,
        }
    )
    table.write_csv("people.csv")
    found = neighbours("people.csv", "-k", "1").filter(pl.col("row") == 21)
    assert found["neighbour"].to_list() == [1]
    said = " ".join(capsys.readouterr().out.split())
    assert "Left out: code." in said


def test_few_names_are_compared_as_texts_where_that_is_asked_for(folder, capsys):
    names = ["Anna Berg", "Ana Berg", "Otto Lind", "Oto Lind", "Ida Sund"]
    pl.DataFrame({"id": [7, 3, 9, 1, 4], "name": names}).write_csv("n.csv")
    code, said = printed(
        capsys, "neighbors", "n.csv", "--columns", "name", "--text", "kmers", "-k", 1
    )
    assert (code, "name (by substrings of 3 characters)" in said) == (0, True)
    assert pl.read_csv("neighbors.csv")["neighbour"].to_list()[:4] == [2, 1, 4, 3]
    code, said = printed(
        capsys, "neighbors", "n.csv", "--columns", "id", "--text", "kmers", "--force"
    )
    assert code == 2
    assert "--text kmers: no column that is compared holds texts" in said


def test_columns_are_kept_of_rows_and_of_their_neighbours(folder, capsys):
    found = neighbours("items.csv", "queries.csv", "-k", "2", "--keep", "name", "--keep", "price")
    row, near = found["row"].to_numpy() - 1, found["neighbour"].to_numpy() - 1
    assert found["name"].to_list() == QUERIES["name"].gather(row).to_list()
    assert found["neighbour: name"].to_list() == ITEMS["name"].gather(near).to_list()
    np.testing.assert_allclose(found["neighbour: price"], ITEMS["price"].gather(near))
    capsys.readouterr()
    for name, code, said in (("none", 3, "no such column"), ("rank", 2, "rename yours")):
        ended, screen = printed(capsys, "neighbors", "items.csv", "--keep", name, "--force")
        assert ended == code
        assert said in screen
