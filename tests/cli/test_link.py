"""``mercer link``: which records it finds, what it writes and says, and what is refused."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cli.runner import command, printed
from mercer.cli import link
from mercer.datasets import registers

NAMES = "first_name", "last_name", "born", "street", "number", "place"


@pytest.fixture(autouse=True)
def folder(folder):
    A, B, truth = registers(400, seed=0)
    for name, table, letter in (("old.csv", A, "a"), ("new.csv", B, "b")):
        ids = [f"{letter}{i:04d}x" for i in range(len(table["born"]))]
        pl.DataFrame({"id": ids} | {k: list(v) for k, v in table.items()}).write_csv(name)
    np.savetxt("truth.csv", truth + 1, "%d", ",", header="left_row,right_row", comments="")
    return folder


def truth():
    return set(pl.read_csv("truth.csv").iter_rows())


def pairs(path="links.csv"):
    return pl.read_csv(path) if path.endswith("csv") else pl.read_parquet(path)


def f1(path="links.csv"):
    found = set(pairs(path).select("left_row", "right_row").iter_rows())
    return 2 * len(found & truth()) / (len(found) + len(truth()))


def test_two_tables_are_linked(capsys):
    code, said = printed(capsys, "link", "old.csv", "new.csv", "--id", "id", "--one-to-one",
                         "--clusters", "c.csv")  # fmt: skip
    assert code == 0
    assert f1() > 0.95
    table = pairs()
    assert table.columns[:7] == [
        "left_row", "right_row", "left_id", "right_id", "probability", "match_weight", "cluster",
    ]  # fmt: skip
    assert {f"weight_{name}" for name in NAMES} <= set(table.columns)
    assert table["left_id"][0] == f"a{table['left_row'][0] - 1:04d}x"
    assert "Left out: id (as asked for)" in said
    assert "born: date, by year, month and day" in said
    assert re.search(r"pairs of 600 records were compared; about \d+ matches are expected", said)
    clusters = pl.read_csv("c.csv")
    assert clusters.height == 600
    cluster = {(t, r): c for t, r, c in clusters.iter_rows()}
    for left, right, c in table.select("left_row", "right_row", "cluster").iter_rows():
        assert cluster["left", left] == cluster["right", right] == c


def test_pairs_are_written_in_blocks(monkeypatch):
    assert command("link", "old.csv", "new.csv", "--id", "id", "-o", "one.csv") == 0
    monkeypatch.setattr(link, "BLOCK", 7)
    assert command("link", "old.csv", "new.csv", "--id", "id", "-o", "two.csv") == 0
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()


def test_a_killed_run_goes_on(monkeypatch, capsys):
    from mercer.link import record_linkage

    learn = record_linkage.learn
    asked = ("link", "old.csv", "new.csv", "--id", "id", "--quiet")

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(record_linkage, "learn", stopped)
    assert command(*asked) == 130
    assert not Path("links.csv").exists()
    assert Path("links.csv.work/levels.npy").exists()
    monkeypatch.setattr(record_linkage, "learn", learn)
    monkeypatch.setattr(record_linkage, "choose_passes", stopped)  # it is not asked again
    assert command(*asked) == 0
    assert f1() > 0.9
    assert not Path("links.csv.work").exists()


def test_one_table_and_json(capsys):
    both = pl.concat([pl.read_csv("old.csv"), pl.read_csv("new.csv")], how="vertical_relaxed")
    both.write_parquet("both.parquet")
    assert command("link", "both.parquet", "-o", "l.parquet", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["records"] == [600]
    assert facts["pairs"] == pairs("l.parquet").height > 150
    assert facts["compared"]["born"] == "date"
    assert facts["output"] == "l.parquet"
    assert (pairs("l.parquet")["left_row"] < pairs("l.parquet")["right_row"]).all()


def test_columns_of_other_names_add_to_those_in_common(capsys):
    other = pl.read_csv("new.csv").rename({"born": "birthday"})
    other.write_csv("new.csv")
    assert command("link", "old.csv", "new.csv", "--id", "id", "--columns", "born=birthday") == 0
    assert f1() > 0.95
    few = ("--columns", "born=birthday", "--columns", "last_name", "--columns", "street")
    assert command("link", "old.csv", "new.csv", *few, "--force", "--json") == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert list(facts["compared"]) == ["born", "last_name", "street"]


def test_labels_by_rows_and_by_ids(capsys):
    link = ("link", "old.csv", "new.csv", "--id", "id", "--force")
    assert command(*link) == 0
    before = f1()
    right = sorted(truth())[:40]
    rows = [(i, j, 1) for i, j in right] + [
        (i, right[k - 1][1], 0) for k, (i, _) in enumerate(right)
    ]
    table = pl.DataFrame(rows, schema=["left_row", "right_row", "match"], orient="row")
    table.write_csv("labels.csv")
    assert command(*link, "--labels", "labels.csv") == 0
    assert f1() >= before
    by_row = pairs()
    assert set(right) <= set(by_row.select("left_row", "right_row").iter_rows())
    pl.DataFrame({
        "left_id": [f"a{i - 1:04d}x" for i, _, _ in rows],
        "right_id": [f"b{j - 1:04d}x" for _, j, _ in rows],
        "match": ["yes" if m else "no" for *_, m in rows],
    }).write_csv("labels.csv")  # fmt: skip
    assert command(*link, "--labels", "labels.csv") == 0
    assert pairs().equals(by_row)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n1,2\n", "it has the columns"), ("left_row,right_row,match\n1,2,x\n", "match is 'x'"),
        ("left_row,right_row,match\n1.5,2,1\n", "give numbers of rows"),
        ("left_row,right_row,match\n1,999,1\n", "row 998 of table B"),
        ("left_row,right_row,match\n0,1,1\n", "row -1 of table A"),
        ("left_row,right_row,match\n1,1,1\n1,1,0\n", "is no match, but others"),
        ("left_id,right_id,match\na0001x,zz,1\n", "no record has the right_id 'zz'"),
    ],
)  # fmt: skip
def test_wrong_labels(content, said, capsys):
    Path("labels.csv").write_text(content)
    code, told = printed(
        capsys, "link", "old.csv", "new.csv", "--id", "id", "--labels", "labels.csv"
    )
    assert code == 3
    assert said in told
    assert not Path("links.csv").exists()


def test_repeated_ids_in_labels(capsys):
    table = pl.read_csv("old.csv").with_columns(id=pl.lit("same"))
    table.write_csv("old.csv")
    Path("labels.csv").write_text("left_id,right_id,match\nsame,b0001x,1\n")
    code, said = printed(
        capsys, "link", "old.csv", "new.csv", "--id", "id", "--labels", "labels.csv"
    )
    assert (code, "several records have the left_id 'same'" in said) == (3, True)


def test_no_match_is_no_error(capsys):
    odd = pl.DataFrame({name: [f"q{i}{name[0]}w{i * 7}" for i in range(40)] for name in NAMES})
    odd.write_csv("odd.csv")
    code, said = printed(capsys, "link", "old.csv", "odd.csv", "--threshold", "0.999")
    assert code == 0
    assert "No pair is a match with a probability of 0.999" in said
    assert pairs().height == 0
    assert pairs().columns[:2] == ["left_row", "right_row"]
    code, said = printed(capsys, "link", "old.csv", "new.csv", "--fail", "--force")
    assert code == 7


def test_tables_that_do_not_fit(capsys):
    pl.DataFrame({"x": range(40), "given_name": ["a"] * 40}).write_csv("odd.csv")
    code, said = printed(capsys, "link", "old.csv", "odd.csv")
    assert code == 3
    assert "no column in common" in said
    assert "last_name=given_name" in said or "first_name=given_name" in said
    pl.read_csv("old.csv").head(9).write_csv("few.csv")
    code, said = printed(capsys, "link", "few.csv")
    assert (code, "9 records are given" in said) == (3, True)
    for wrong, expected, fault in (
        (("--columns", "frst_name"), 3, "Did you mean 'first_name'"),
        (("--id", "ids"), 3, "--id ids"), (("--kind", "born"), 2, "write column"),
        (("--kind", "born=dat"), 2, "born='dat'; kinds are"),
        (("--columns", "born", "--drop", "born"), 2, "leave one out"),
        (("-o", "l.xlsx"), 2, "must end in"), (("--report", "r.csv"), 2, "must end in .html"),
    ):  # fmt: skip
        code, said = printed(capsys, "link", "old.csv", "new.csv", *wrong)
        assert code == expected, wrong
        assert fault in said
    code, said = printed(capsys, "link", "old.csv", "--one-to-one")
    assert (code, "give a second one" in said) == (2, True)


def test_a_column_is_what_it_is_said_to_be(capsys):
    given = ("--kind", "place=category", "--kind", "street=text", "--drop", "number")
    assert command("link", "old.csv", "new.csv", "--id", "id", *given, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["compared"]["place"] == "category"
    assert facts["compared"]["street"] == "text"
    assert facts["left_out"] == {"id": "as asked for", "number": "as asked for"}


def test_the_report(capsys):
    assert command("link", "old.csv", "new.csv", "--id", "id", "--report", "r.html") == 0
    page = Path("r.html").read_text("utf-8")
    facts = json.loads(re.search(r'id="mercer-report">(.*?)</script>', page, re.S)[1])
    assert facts["pairs"] == pairs().height
    assert facts["tables"] == ["old.csv", "new.csv"]
    assert facts["left_out"] == ["id: left out, as asked for"]
    assert any(one["matches"] for one in facts["classes"])
    family = [one for one in facts["classes"] if not one["matches"] and not one["random"]]
    assert any("street" in one["said"] for one in family)
    assert all(len(example) == 2 for one in family for example in one["examples"])
    for said in ("A usual match", "Just below", "What each level weighs", "Still missed"):
        assert said in page
    precision = [float(row["precision"]) for row in facts["thresholds"]]
    recall = [float(row["recall"]) for row in facts["thresholds"]]
    assert precision == sorted(precision)
    assert recall == sorted(recall, reverse=True)
    assert "<script>" not in page  # it runs none


def test_hostile_cells_do_no_harm_to_the_page():
    rows = pl.read_csv("old.csv").with_columns(
        street=pl.lit("<script>alert(1)</script> ") + pl.col("street")
    )
    rows.write_csv("old.csv")
    assert command("link", "old.csv", "--id", "id", "--report", "r.html", "--threshold", "0.2") == 0
    assert "<script>alert" not in Path("r.html").read_text("utf-8")
