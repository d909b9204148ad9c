"""Figures in README.md and in the pages are those of benchmarks/RESULTS.md (docs/measured.py)."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MADE = {"generated", "gallery", "_build"}
PAGES = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").rglob("*.rst"))
      if not MADE & set(path.relative_to(ROOT).parts)),
]  # fmt: skip
RESULTS = """
## a

| task | library | seconds | ratio |
| --- | --- | --- | --- |
| x | b | 1.25 ± 0.1 (3) | 1,200x |
| x | c | 2e-3 | 1 |

- 30 trees, 4.5 s of the processor

## b
"""


@pytest.fixture
def measured(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import measured

    yield measured
    sys.modules.pop("measured")


def name(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_figures_are_those_of_the_results(measured, path):
    results = measured.RESULTS.read_text(encoding="utf-8")
    assert [*measured.check(name(path), path.read_text(encoding="utf-8"), results)] == []


def test_each_listed_page_exists(measured):
    listed = {*measured.FIGURES, *(page for pages in measured.OTHERS.values() for page in pages)}
    assert listed <= {name(path) for path in PAGES}


def test_a_figure_is_read(measured):
    Cell, Note, number = measured.Cell, measured.Note, measured.number
    assert number(RESULTS, Cell("a", ["x", "b"], "ratio")) == 1200
    assert number(RESULTS, Cell("a", ["x", "b"], "seconds", 1000)) == 1250
    assert number(RESULTS, Cell("a", ["x", "c"], "seconds", over=1)) == 500
    assert number(RESULTS, Note("a", r"trees, ([\d.]+) s")) == 4.5
    with pytest.raises(ValueError, match="2 rows, not one"):
        number(RESULTS, Cell("a", ["x"], "ratio"))


@pytest.mark.parametrize(
    ("written", "value", "same"),
    [
        ("1.3", 1.25, True),
        ("1.2", 1.25, True),
        ("1.2", 1.26, False),
        ("5,700", 5660, True),
        ("5,600", 5660, False),
        ("20", 20.4, True),
        ("20", 21, False),
        ("130", 127, True),
        ("0.80", 0.806, False),
    ],
)
def test_a_figure_is_rounded_to_what_is_written(measured, written, value, same):
    assert measured.agree(written, value) == same


def test_what_is_not_measured_is_named(measured, monkeypatch):
    source = measured.Cell("a", ["x", "b"], "seconds")
    monkeypatch.setattr(measured, "FIGURES", {"page": [("takes {} s.", source)]})
    monkeypatch.setattr(measured, "OTHERS", {"a limit": {"page": ["at most 9 s"]}})
    right = "It takes 1.3 s.\nThe others wait at most\n9 s here."
    assert [*measured.check("page", right, RESULTS)] == []
    for old, new, words in [
        ("1.3", "1.4", "has 1.4, and Cell"),
        ("It takes 1.3 s.", "", "is there 0 times"),
        ("9 s", "8 s", "is not there"),
        ("here.", "here, 12 MB.", "is not measured"),
    ]:
        assert words in " ".join(measured.check("page", right.replace(old, new), RESULTS))
    example = "\n>>> 3\n3 s\n\nEnd"
    assert [*measured.check("page", right + example, RESULTS)] == []
