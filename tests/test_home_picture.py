"""The bars of the home page (docs/ratios.py) are those of benchmarks/RESULTS.md."""

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
    for name in ("ratios", "chapters"):
        sys.modules.pop(name, None)


def test_each_bar_has_its_row(ratios):
    text = ratios.RESULTS.read_text(encoding="utf-8")
    for words, *where in ratios.BARS:
        assert ratios.ratio(text, *where) > 0, words
    assert len(ratios.draw().axes[0].patches) == len(ratios.BARS)


def test_the_ratio_is_that_of_the_row(ratios):
    text = "\n## a\n\n| task | library | ratio |\n| --- | --- | --- |\n| x | b | 1,200x |\n\n## b\n"
    assert ratios.ratio(text, "a", ["x", "b"], "ratio") == 1200
    with pytest.raises(ValueError, match="unpack"):
        ratios.ratio(text, "a", ["y"], "ratio")
