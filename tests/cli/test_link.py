"""``mercer link``: which records it finds, what it writes and says, and what is refused."""

import json
import logging
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cli.runner import command, printed
from cli.test_dedup_shared import elsewhere
from mercer.cli import link
from mercer.cli.link_options import LinkOptions
from mercer.datasets import registers
from mercer.link.link_columns import matched_columns
from mercer.tables import ReadTable

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
    assert "Left out: id (as you asked)" in said
    assert "born: date, by year, month and day" in said
    assert re.search(
        r"pairs of 600 records were compared; the model expects about \d+ matches", said
    )
    assert re.search(
        r"\d+ matches with a probability of at least 0\.5; the model estimates that [\d.]+% of "
        r"them are right\.", said,
    )  # fmt: skip
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
    from mercer.link import record_linkage, stages

    learn = record_linkage.learn
    asked = ("link", "old.csv", "new.csv", "--id", "id", "--quiet")

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(record_linkage, "learn", stopped)
    assert command(*asked) == 130
    assert not Path("links.csv").exists()
    assert Path("links.csv.work/levels-00000.npz").exists()
    monkeypatch.setattr(record_linkage, "learn", learn)
    monkeypatch.setattr(stages, "choose_passes", stopped)  # it is not asked again
    assert command(*asked) == 0
    assert f1() > 0.9
    assert not Path("links.csv.work").exists()


@pytest.mark.full
def test_an_executor_writes_the_same_and_a_named_folder_stays(capsys):
    assert command("link", "old.csv", "new.csv", "--id", "id") == 0
    whole = Path("links.csv").read_bytes()
    options = LinkOptions(
        left=Path("old.csv"), right=Path("new.csv"), id="id", work=Path("w"), executor=elsewhere,
        force=True, quiet=True,
    )  # fmt: skip
    assert link.link_tables(options) == 0
    assert Path("links.csv").read_bytes() == whole
    assert Path("w/columns-00000.npz").exists()
    # what is there needs no other process
    asked = ("link", "old.csv", "new.csv", "--id", "id", "--work", "w", "--force")
    code, said = printed(capsys, *asked, "-o", "two.csv", "--task", "2/2")
    assert (code, "Task 2/2 is done; the first task writes" in said) == (0, True)
    assert not Path("two.csv").exists()
    assert command(*asked, "-o", "two.csv", "--task", "1/2") == 0
    assert Path("two.csv").read_bytes() == whole
    # a task that comes late finds the output of the first; only that one would replace it
    late = ("link", "old.csv", "new.csv", "--id", "id", "--work", "w", "-o", "two.csv", "--task")
    assert command(*late, "2/2") == 0
    code, said = printed(capsys, *late, "1/2")
    assert (code != 0, "give --force to replace it" in said) == (True, True)
    assert Path("two.csv").read_bytes() == whole
    code, said = printed(capsys, "link", "old.csv", "-o", "x.csv", "--task", "2/2")
    assert (code, "--task: give --work" in said) == (2, True)
    code, said = printed(capsys, "link", "old.csv", "new.csv", "--executor", "spark", "--force")
    assert (code, "--executor spark: give" in said) == (2, True)


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


@pytest.mark.full
def test_columns_of_other_names_add_to_those_in_common(capsys):
    other = pl.read_csv("new.csv").rename({"born": "birthday"})
    other.write_csv("new.csv")
    assert command("link", "old.csv", "new.csv", "--id", "id", "--columns", "born=birthday") == 0
    assert f1() > 0.95
    few = ("--columns", "born=birthday", "--columns", "last_name", "--columns", "street")
    assert command("link", "old.csv", "new.csv", *few, "--force", "--json") == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert list(facts["compared"]) == ["born", "last_name", "street"]


def test_headers_that_differ_by_case_and_marks_stay_in_common(capsys):
    old = pl.read_csv("old.csv")
    old.rename({"born": "Born", "place": "PLACE", "first_name": "First name"}).write_csv("old.csv")
    other = pl.read_csv("new.csv").rename({"last_name": "surname"})
    other.write_csv("new.csv")
    asked = ("link", "old.csv", "new.csv", "--id", "id", "--columns", "last_name=surname")
    assert command(*asked, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    compared = {"Born", "PLACE", "First name", "last_name", "street", "number"}
    assert set(facts["compared"]) == compared
    assert f1() > 0.95


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["A", "b c", "d", "é"], ["a", "B_C", "D.", "É"]),
        (["a", "A", "x"], ["A", "a.", "y"]),
        (["a", "A"], ["a"]),
        (["a_b", "ab"], ["A B", "ab", "x"]),
        (["straße", "Nr."], ["STRASSE", "nr"]),
    ],
)
def test_columns_in_common_are_those_of_the_library(first, second):
    tables = [ReadTable({name: np.zeros(1) for name in names}) for names in (first, second)]
    found = matched_columns(*tables, None)
    expected = {column.name: column.other for column in found if not column.reason}
    assert link._compared(LinkOptions(), tables) is None
    more = [ReadTable(table.columns | {name: np.zeros(1)})
            for table, name in zip(tables, ("mine", "theirs"))]  # fmt: skip
    options = LinkOptions(columns=("mine=theirs",))
    assert link._compared(options, more) == expected | {"mine": "theirs"}


def test_a_column_that_is_given_is_joined_once():
    options = LinkOptions(columns=("name=Given",))
    names = [["name", "Given", "given", "born"], ["name", "Given", "Born"]]
    tables = [ReadTable({name: np.zeros(1) for name in some}) for some in names]
    assert link._compared(options, tables) == {"name": "Given", "born": "Born"}


def test_columns_with_the_same_values_are_joined_and_said(capsys):
    names = {"born": "Tag", "last_name": "surname", "place": "Ort"}
    days = pl.col("born").str.to_date("%d.%m.%Y", strict=False).dt.to_string("%Y/%m/%d")
    new = pl.read_csv("new.csv").with_columns(days.fill_null(pl.col("born")))
    new.rename(names).with_columns(flag=pl.lit("x")).write_csv("new.csv")
    assert command("link", "old.csv", "new.csv", "--id", "id", "--drop", "Ort") == 0
    said = capsys.readouterr().out
    assert "born with Tag: date" in said
    assert "last_name with surname: name" in said
    assert "place (as you asked)" in said
    assert "flag (the first table has no such column)" in said
    assert f1() > 0.9


@pytest.mark.spread(1)
@pytest.mark.parametrize("table", ["old.csv", "new.csv"])
def test_a_column_of_one_table_alone_may_be_dropped(table):
    pl.read_csv(table).with_columns(note=pl.lit("x")).write_csv(table)
    assert command("link", "old.csv", "new.csv", "--id", "id", "--drop", "note", "--quiet") == 0
    assert f1() > 0.9


def test_a_column_may_be_dropped_by_each_of_its_names(capsys):
    pl.read_csv("new.csv").rename({"place": "Place"}).write_csv("new.csv")
    for name in ("place", "Place"):
        asked = ("--id", "id", "--drop", name, "--kind", "number=drop", "--force", "--json")
        assert command("link", "old.csv", "new.csv", *asked) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["left_out"] == {
            "id": "as you asked",
            "number": "as you asked",
            "place": "as you asked",
        }


def test_a_kind_of_a_column_that_is_not_compared(capsys):
    given = ("--columns", "born", "--columns", "street", "--kind", "place=category")
    code, said = printed(capsys, "link", "old.csv", "new.csv", *given)
    assert (code, "--kind: no column 'place' is compared" in said) == (3, True)


@pytest.mark.full
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
        (
            "left_row,right_row,match\n1,1,1\n2,2.5,1\n3,0,1\n",
            "right_row is '2.5' in row 2; give a row of new.csv, from 1 to 300, without the header",
        ),
        ("left_row,right_row,match\n1,1,1\nx,2,1\n", "left_row is 'x' in row 2"),
        ("left_row,right_row,match\n1,1,1\n,2,1\n", "left_row is '' in row 2"),
        ("left_row,right_row,match\n1,301,1\n", "right_row is '301' in row 1"),
        ("left_row,right_row,match\n1,1e300,1\n", "right_row is '1e+300' in row 1"),
        ("left_row,right_row,match\n0,1,1\n", "left_row is '0' in row 1; give a row of old.csv"),
        (
            "left_row,right_row,match\n1,2,1\n1,2,0\n",
            "row 2 says that row 1 of old.csv and row 2 of new.csv are no match, but other",
        ),
        (
            "left_id,right_id,match\na0000x,b0001x,1\na0000x,b0001x,0\n",
            "row 2 says that 'a0000x' and 'b0001x' are no match, but other rows say",
        ),
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


def test_the_last_row_has_a_label_and_no_row_is_its_own_partner(capsys):
    Path("labels.csv").write_text("left_row,right_row,match\n300,300,0\n")
    asked = ("--labels", "labels.csv", "--quiet")
    assert command("link", "old.csv", "new.csv", "--id", "id", *asked) == 0
    code, said = printed(capsys, "link", "old.csv", "--id", "id", *asked, "--force")
    assert (code, "row 1 pairs row 300 of old.csv with itself" in said) == (3, True)


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
    assert "No pair has a probability of 0.999 or more." in said
    assert pairs().height == 0
    assert pairs().columns[:2] == ["left_row", "right_row"]
    code, said = printed(capsys, "link", "old.csv", "new.csv", "--fail", "--force")
    assert code == 7


def test_tables_that_do_not_fit(capsys):
    pl.DataFrame({"x": range(40), "given_name": ["a"] * 40}).write_csv("odd.csv")
    code, said = printed(capsys, "link", "old.csv", "odd.csv")
    assert code == 3
    assert "--columns: the tables have no column in common" in said
    assert "Say which column of the first is which one of the second. Perhaps" in said
    assert "last_name=given_name" in said or "first_name=given_name" in said
    pl.read_csv("old.csv").head(9).write_csv("few.csv")
    code, said = printed(capsys, "link", "few.csv")
    assert (code, "mercer: 9 records are given" in said) == (3, True)
    Path("links.csv.work").mkdir()
    Path("links.csv.work/mine.txt").touch()
    code, said = printed(capsys, "link", "old.csv", "new.csv")
    assert code == 3
    assert (
        "--work: the folder links.csv.work holds 'mine.txt', which is no file of a linkage" in said
    )
    Path("links.csv.work/mine.txt").unlink()
    given = ("--columns", "born", "--columns", "place", "--kind", "born=drop", "--id", "place")
    code, said = printed(capsys, "link", "old.csv", "new.csv", *given)
    assert code == 3
    assert "(born: left out, as you asked; place: left out, as you asked)" in said
    assert "or say of which kind they are." in said
    for wrong, expected, fault in (
        (("--columns", "frst_name"), 3, "Did you mean 'first_name'"),
        (("--id", "ids"), 3, "--id ids"), (("--kind", "born"), 2, "write column"),
        (("--kind", "born=dat"), 2, "born='dat'; kinds are"),
        (("--columns", "born", "--drop", "born"), 2, "leave one out"),
        (("--columns", "first_name=last_name", "--drop", "last_name"), 2, "leave one out"),
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
    assert facts["left_out"] == {"id": "as you asked", "number": "as you asked"}


def test_notices_of_the_model_are_said(capsys):
    given = ("--columns", "first_name", "--columns", "place", "--pairs-per-record", "0.1")
    code, said = printed(capsys, "link", "old.csv", "new.csv", *given)
    assert code == 0
    assert "larger blocks (max_block) or more pairs of each record (pairs_per_record)." in said


def test_the_report(capsys):
    assert command("link", "old.csv", "new.csv", "--id", "id", "--report", "r.html") == 0
    page = Path("r.html").read_text("utf-8")
    facts = json.loads(re.search(r'id="mercer-report">(.*?)</script>', page, re.S)[1])
    assert facts["pairs"] == pairs().height
    assert facts["tables"] == ["old.csv", "new.csv"]
    assert facts["left_out"] == ["id: left out, as you asked"]
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


@pytest.mark.spread(1)
@pytest.mark.parametrize("quiet", [True, False])
@pytest.mark.parametrize("asked", ["link old.csv new.csv", "dedup old.csv --column street"])
def test_a_quiet_command_keeps_the_log_to_itself(asked, quiet):
    """It says for which other processes a task waits."""
    assert command(*asked.split(), "-o", "out.csv", "--force", *["--quiet"] * quiet) == 0
    assert logging.getLogger("mercer").isEnabledFor(logging.WARNING) != quiet
