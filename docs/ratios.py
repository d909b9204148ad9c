"""The bars of the home page: how many times as fast as other libraries, from benchmarks/RESULTS.md.

``ratios`` draws them while the page is built, so that they cannot differ from the tables. A test
sees to it that each bar finds its row. The content of the directive is the caption.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
from chapters import INK, STYLE, Chapter, Picture
from matplotlib.figure import Figure

RESULTS = Path(__file__).parents[1] / "benchmarks" / "RESULTS.md"

#: words, then where it stands: title, cells that a row begins with, and the column of the ratio
BARS = [
    ("SVC, 10,000 rows\nscikit-learn", "svc_fit",
     ["overlapping, 5% noise", "mercer", "float64"], "ratio"),
    ("ridge, 160 settings\nscikit-learn", "ridge_search", ["mercer", "float64"], "ratio"),
    ("kernel k-means\nnumpy", "clusters", ["numpy"], "ratio"),
    ("neighbours of sets\nscikit-learn", "sets_and_edit",
     ["10 nearest of 20,000 sets", "mercer"], "ratio"),
    ("edit distance, DNA\nRapidFuzz", "sets_and_edit",
     ["edit matrix, DNA, length 100", "mercer, tiles"], "ratio"),
    ("edit distance, names\nRapidFuzz", "sets_and_edit",
     ["edit matrix, names", "mercer, tiles"], "ratio"),
    ("k-mers of DNA\nLS-GKM", "kmers",
     ["the same, both strands, normalised", "LS-GKM, d=4 (all)"], "mercer is"),
    ("series, DTW\naeon", "objects", ["DTW", "aeon"], "mercer is faster by"),
    ("series, signatures\npysiglib", "signature kernels",
     ["Trace", "pysiglib, polynomials of order 6"], "mercer is faster by"),
    ("graphs, 1,113 proteins\nGraKeL", "graphs",
     ["Weisfeiler-Lehman", "PROTEINS", "grakel"], "mercer is faster by"),
    ("quantiles, 10,000 rows\nLightGBM", "quantiles", ["10,000", "LightGBM"], "ratio"),
]  # fmt: skip


def ratio(text: str, title: str, first: list[str], column: str) -> float:
    """The number in the row of a section that begins with these cells."""
    section = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| ")
    ]
    place = rows[0].index(column)
    (row,) = [row for row in rows if row[: len(first)] == first]
    return float(re.sub(r"[x,]", "", row[place]))


def draw() -> Figure:
    """The bars, on a scale of powers of ten."""
    text = RESULTS.read_text(encoding="utf-8")
    values = [ratio(text, *where) for _, *where in BARS]
    figure = Figure(figsize=(6.4, 5.9), layout="constrained")
    ax = figure.subplots()
    colours = ["#0072b2" if value >= 1 else "#d55e00" for value in values]
    ax.barh(range(len(BARS)), [v - 1 for v in values], left=1, color=colours, height=0.6)
    for place, value in enumerate(values):
        words = f"{value:.2g}" if value < 100 else f"{value:.0f}"
        ax.text(max(value, 1) * 1.06, place, words, va="center", color=INK)
    ax.set(xscale="log", xlim=(0.4, 250), xticks=[1, 10, 100], xticklabels=["1", "10", "100"])
    ax.set_yticks(range(len(BARS)), [words for words, *_ in BARS], color=INK)
    ax.invert_yaxis()
    ax.axvline(1, color=INK, lw=0.8)
    ax.set_xlabel("times as fast as the library named below the task", color=INK)
    ax.tick_params(colors=INK, which="both")
    ax.spines[["left", "top", "right"]].set_visible(False)
    ax.spines["bottom"].set_edgecolor(INK)
    return figure


class Ratios(Picture):
    """`draw` as a picture of the page; the content is its caption."""

    def run(self) -> list[Any]:
        environment = self.state.document.settings.env
        chapter = Chapter(Path(environment.doc2path(environment.docname)), environment.docname)
        chapter.left, chapter.names = [], {}  # no example of the page makes it
        with mpl.rc_context(STYLE):
            chapter.names["figure"] = draw()
        environment.temp_data["chapter"] = chapter
        try:
            return super().run()
        finally:
            del environment.temp_data["chapter"]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("ratios", Ratios)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
