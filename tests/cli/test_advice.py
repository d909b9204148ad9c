"""What ``mercer check`` says of learners and kernels, and that docs/choose.rst says the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cli.runner import command, printed
from mercer.cli.check import KERNELS, MEASURED, PAIRS, SEARCH, between, fit_said

PAGE = Path(__file__).parents[2] / "docs" / "choose.rst"
RAISED = {"⁸": 8, "⁷": 7, "⁶": 6, "⁵": 5, "⁴": 4, "³": 3}


def rows_of_the_page(title: str) -> list[list[str]]:
    """The cells of the table below a title; an empty first cell is that of the row above."""
    part = PAGE.read_text(encoding="utf-8").split(f"\n{title}\n")[1].split("\n\n.. list-table::")[1]
    rows: list[list[str]] = []
    for text in part.split("\n\n\n")[0].splitlines():
        if found := re.match(r"   \* -(?: (.*))?$", text):
            rows.append([found[1] or rows[-1][0]])
        elif (found := re.match(r"     -(?: (.*))?$", text)) and rows:
            rows[-1].append(found[1] or "")
        elif rows and not text.strip():
            break
    return rows


def number(text: str) -> float:
    return float(text.replace(",", ""))


@pytest.mark.parametrize("machine", MEASURED)
def test_the_page_has_the_figures_of_the_command(machine):
    page = rows_of_the_page("3. How many samples?")
    for rows, seconds, megabytes in MEASURED[machine]:
        (cells,) = [row for row in page if number_or_none(row[0]) == rows and row[1] == machine]
        assert number(cells[2]) == seconds
        value, unit = cells[3].split() if cells[3] else (None, None)
        held = None if value is None else number(value) * (1000 if unit == "GB" else 1)
        assert held == megabytes


def number_or_none(text: str) -> float | None:
    return number(text) if re.fullmatch(r"[\d,]+", text) else None


def test_the_page_has_the_speeds_of_the_command():
    page = {row[0]: row[1] for row in rows_of_the_page("What a kernel costs")}
    for kernel, pairs in PAIRS.items():
        factor, power = re.fullmatch(r"([\d.]+) · 10(.)", page[kernel]).groups()
        assert float(factor) * 10 ** RAISED[power] == pairs
    assert {pairs for _, pairs in KERNELS.values()} <= {*PAIRS, None}
    assert SEARCH in PAGE.read_text(encoding="utf-8")


def test_between_two_measurements_time_is_a_power_of_the_rows():
    points = [(10, 1.0, None), (1000, 100.0, None)]
    assert [between(points, n, 2) for n in (10, 100, 1000)] == pytest.approx([1, 10, 100])
    assert between(points, 2000, 2) == pytest.approx(400)
    assert between(points, 5, 2) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("rows", "task", "said"),
    [
        (1000, "classification", "less than 0.1 seconds, 8 MB"),
        (50_000, "classification", "about 6 seconds, 2.4 GB"),
        (10_000, "regression", "about 2 seconds, 1.2 GB"),
        (15_000, "regression", "about 2 seconds, 110 MB"),
        (1_500_000, "regression", "about 3 minutes, 11.0 GB"),
    ],
)
def test_a_fit_is_predicted(rows, task, said):
    assert fit_said(rows, task) == said


def test_the_command_says_what_fits(folder, capsys):
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    table = table.with_columns(y=pl.Series(["no", "yes"] * 30), kind=pl.Series(list("uvw") * 20))
    table.drop("kind").write_csv("n.csv")
    table.write_csv("m.csv")
    said = printed(capsys, "check", "n.csv", "--target", "y")[1]
    assert 'In Python: SVC with RBF("scale") on scaled columns.' in said
    assert "One fit of 60 rows: less than 0.1 seconds, 1 MB, on two cores." in said
    said = printed(capsys, "check", "m.csv", "--target", "y")[1]
    assert "SVC with TableKernel()" in said
    assert "One fit" not in said
    said = printed(capsys, "check", "n.csv")[1]
    assert "To predict a column, name it with --target." in said
    assert command("check", "n.csv", "--target", "a", "--json") == 0
    assert any("KernelRidge" in text for text in json.loads(capsys.readouterr().out)["advice"])
