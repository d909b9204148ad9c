"""Bars and tables in pages, from benchmarks/RESULTS.md while the page is built.

``ratios`` draws how many times as fast as other libraries Mercer is, and ``growth`` how seconds
grow with sizes. Their content is the caption, and a test sees to it that each bar and each line
finds its row. ``measured`` shows columns of a section's table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import matplotlib as mpl
from chapters import INK, STYLE, Chapter, Picture
from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList
from matplotlib.figure import Figure
from measured import RESULTS, Cell, number, section_of, table_of

#: words, and where the ratio stands
BARS = [
    ("SVC, 10,000 rows\nscikit-learn",
     Cell("svc_fit", ["overlapping, 5% noise", "mercer", "float64"], "ratio")),
    ("ridge, 160 settings\nscikit-learn", Cell("ridge_search", ["mercer", "float64"], "ratio")),
    ("kernel k-means\nnumpy", Cell("clusters", ["numpy"], "ratio")),
    ("neighbours of sets\nscikit-learn",
     Cell("sets_and_edit", ["10 nearest of 20,000 sets", "mercer"], "ratio")),
    ("edit distance, DNA\nRapidFuzz",
     Cell("sets_and_edit", ["edit matrix, DNA, length 100", "mercer, tiles"], "ratio")),
    ("edit distance, names\nRapidFuzz",
     Cell("sets_and_edit", ["edit matrix, names", "mercer, tiles"], "ratio")),
    ("k-mers of DNA\nLS-GKM",
     Cell("kmers", ["the same, both strands, normalised", "LS-GKM, d=4 (all)"], "mercer is")),
    ("series, DTW\naeon", Cell("objects", ["DTW", "aeon"], "mercer is faster by")),
    ("series, signatures\npysiglib",
     Cell("signature kernels", ["Trace", "pysiglib, polynomials of order 6"],
          "mercer is faster by")),
    ("graphs, 1,113 proteins\nGraKeL",
     Cell("graphs", ["Weisfeiler-Lehman", "PROTEINS", "grakel"], "mercer is faster by")),
    ("quantiles, 10,000 rows\nLightGBM", Cell("quantiles", ["10,000", "LightGBM"], "ratio")),
]  # fmt: skip


def draw() -> Figure:
    """The bars, on a scale of powers of ten."""
    text = RESULTS.read_text(encoding="utf-8")
    values = [number(text, cell) for _, cell in BARS]
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


#: what a section of growth is by, and the words below its panel
DIRECTIONS = {
    "rows": "rows",
    "columns": "columns",
    "classes": "classes",
    "length": "letters, or points of a series",
    "kernels": "kernels",
}
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"]


def draw_growth() -> Figure:
    """Processor seconds by size, a panel for each direction, from the section "growth"."""
    names, *rows = table_of(section_of(RESULTS.read_text(encoding="utf-8"), "growth"))
    figure = Figure(figsize=(7.4, 14), layout="constrained")
    for ax, (direction, words) in zip(figure.subplots(len(DIRECTIONS)), DIRECTIONS.items()):
        found = [dict(zip(names, row)) for row in rows if row[1] == direction]
        for i, row in enumerate(found):
            x, y = ([float(cell.replace(",", "")) for cell in row[key].split(" · ")]
                    for key in ("sizes", "seconds"))  # fmt: skip
            # beyond the colours, the form of the line tells learners apart
            form = ["-", "--", ":"][i // len(COLOURS)]
            label = f"{row['learner']}: {row['exponent'] or 'too few'}"
            ax.plot(x, y, form, marker="o", ms=3, color=COLOURS[i % len(COLOURS)], label=label)
        ax.set(xscale="log", yscale="log")
        ax.set_xlabel(words, color=INK)
        ax.set_ylabel("processor seconds", color=INK)
        ax.tick_params(colors=INK, which="both")
        ax.spines[["top", "right"]].set_visible(False)
        legend = ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8,
                           title="learner: exponent", title_fontsize=8)  # fmt: skip
        for text in (*legend.get_texts(), legend.get_title()):
            text.set_color(INK)
    return figure


class Ratios(Picture):
    """`draw` as a picture of the page; the content is its caption."""

    drawing = staticmethod(draw)

    def run(self) -> list[Any]:
        environment = self.state.document.settings.env
        chapter = Chapter(Path(environment.doc2path(environment.docname)), environment.docname)
        chapter.left, chapter.names = [], {}  # no example of the page makes it
        with mpl.rc_context(STYLE):
            chapter.names["figure"] = self.drawing()
        environment.temp_data["chapter"] = chapter
        try:
            return super().run()
        finally:
            del environment.temp_data["chapter"]


class Growth(Ratios):
    """`draw_growth` as a picture of the page."""

    drawing = staticmethod(draw_growth)


def shown(text: str, title: str, columns: str) -> list[list[str]]:
    """The columns of a section's table that are listed with semicolons, or all of them."""
    names, *lines = table_of(section_of(text, title))
    wanted = [name.strip() for name in columns.split(";")] if columns else names
    places = [names.index(name) for name in wanted]
    return [[row[place] for place in places] for row in [names, *lines]]


class Measured(Directive):
    """The table of the section that is named, or those of its columns that ``:columns:`` lists."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"columns": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        text = RESULTS.read_text(encoding="utf-8")
        rows = shown(text, self.arguments[0], self.options.get("columns", ""))
        lines = [".. list-table::", "   :header-rows: 1", ""]
        for first, *others in rows:
            lines += [f"   * - {first}", *(f"     - {cell}" for cell in others)]
        found = nodes.container()
        self.state.nested_parse(StringList(lines), self.content_offset, found)
        return found.children


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("ratios", Ratios)
    app.add_directive("growth", Growth)
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
