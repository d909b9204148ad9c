"""The home page: its bars (docs/ratios.py) are those of benchmarks/RESULTS.md, and each kind of
data has a picture (docs/kind_pictures.py).
"""

import posixpath
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("matplotlib")

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def ratios(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import ratios

    yield ratios
    for name in ("ratios", "chapters", "measured"):
        sys.modules.pop(name, None)


def test_each_bar_has_its_row(ratios):
    text = ratios.RESULTS.read_text(encoding="utf-8")
    for words, cell in ratios.BARS:
        assert ratios.number(text, cell) > 0, words
    assert len(ratios.draw().axes[0].patches) == len(ratios.BARS)


def test_each_learner_has_its_line(ratios):
    _, *rows = ratios.table_of(ratios.section_of(ratios.RESULTS.read_text("utf-8"), "growth"))
    panels = ratios.draw_growth().axes
    assert sum(len(ax.lines) for ax in panels) == len(rows)
    for ax, direction in zip(panels, ratios.DIRECTIONS):
        wanted = {row[0] for row in rows if row[1] == direction}
        assert {str(line.get_label()).rpartition(":")[0] for line in ax.lines} == wanted


def test_a_page_shows_columns_of_a_table(ratios):
    text = "\n## a\n\n| b | c, d | e |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n"
    assert ratios.shown(text, "a", "e; c, d") == [["e", "c, d"], ["3", "2"]]
    assert ratios.shown(text, "a", "") == [["b", "c, d", "e"], ["1", "2", "3"]]
    with pytest.raises(ValueError, match="not in list"):
        ratios.shown(text, "a", "f")


def test_each_kind_has_one_picture(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import kind_pictures

    contents = (DOCS / "kinds" / "index.rst").read_text(encoding="utf-8").split(":maxdepth: 1")[1]
    pages = [posixpath.normpath(f"kinds/{name}") for name in contents.split()]
    assert [page for _, page, _ in kind_pictures.KINDS] == pages
    for _, _, kind in kind_pictures.KINDS:
        (ax,) = kind_pictures.draw(kind).axes
        assert len(ax.get_children()) > 12  # more than an empty drawing has
    for name in ("kind_pictures", "chapters"):
        sys.modules.pop(name, None)
