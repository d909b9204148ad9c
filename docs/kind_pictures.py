"""The row of small pictures on the home page: one for each kind of data, which leads to its page.

``kind-pictures`` draws them while the page is built, all with the same lines and the same three
colours: that of the page's text, blue, and orange for what samples share. Each shows what a sample
of the kind is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
from chapters import INK, STYLE, as_svg
from docutils import nodes
from docutils.parsers.rst import Directive
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Ellipse, Rectangle

BLUE, ORANGE, GREY = "#3d8fc9", "#d55e00", "#8a8a8a"  # readable on white and on black
WIDTH, HEIGHT = 12, 8  # of the room that each drawing has


def table(ax: Any) -> None:
    """Cells, of which one is empty, and a column that is to be predicted."""
    filled = np.random.default_rng(3).uniform(0.5, 2.0, (5, 3))
    for i in range(5):
        for j in range(3):
            ax.add_patch(Rectangle((1 + 2.5 * j, 1 + 1.2 * i), 2.5, 1.2, fc="none", ec=GREY, lw=1))
            if (i, j) != (2, 1):
                ax.plot([1.3 + 2.5 * j, 1.3 + 2.5 * j + filled[i, j]], [1.6 + 1.2 * i] * 2, lw=3,
                        color=BLUE)  # fmt: skip
        ax.add_patch(Rectangle((9.2, 1 + 1.2 * i), 1.8, 1.2, fc=ORANGE, ec=GREY, lw=1))


def text(ax: Any) -> None:
    """Lines of words; some words are in both texts."""
    widths = [[2.4, 1.2, 3.0, 2.2], [1.4, 3.2, 1.8, 2.4], [3.2, 2.0, 1.2, 2.4], [1.8, 2.6, 1.4]]
    for line, words in enumerate(widths):
        start = 0.8
        for place, width in enumerate(words):
            shared = (line, place) in {(0, 2), (1, 1), (3, 1)}
            ax.plot([start, start + width], [6.7 - 1.8 * line] * 2, lw=4,
                    color=ORANGE if shared else GREY)  # fmt: skip
            start += width + 0.6


def sequence(ax: Any) -> None:
    """Two pieces of DNA with a common part."""
    for y, letters, first in ((5.2, "GATTACA", 1), (2.2, "CCATTAG", 2)):
        for i, letter in enumerate(letters):
            shared = first <= i < first + 4
            ax.text(1.2 + 1.6 * i, y, letter, color=ORANGE if shared else INK, ha="center",
                    va="center", family="monospace", weight="bold", fontsize=12)  # fmt: skip


def sets(ax: Any) -> None:
    """Two sets and what they have in common."""
    for x in (4.4, 7.6):
        ax.add_patch(Circle((x, 4), 3.2, fc="none", ec=BLUE, lw=1.5))
    for x, y in ((2.4, 4.9), (3.1, 2.6), (9.4, 3.1), (8.9, 5.4), (9.9, 4.6)):
        ax.plot(x, y, "o", ms=4, color=GREY)
    for x, y in ((6, 5.1), (5.6, 3.6), (6.5, 2.9)):
        ax.plot(x, y, "o", ms=4.5, color=ORANGE)


def molecule(ax: Any) -> None:
    """A ring of six atoms with a group, which is what it shares with others."""
    ring = [(4.6 + 2.3 * np.sin(a), 4 + 2.3 * np.cos(a)) for a in np.arange(6) * np.pi / 3]
    for i in range(6):
        ax.plot(*zip(ring[i], ring[(i + 1) % 6], strict=True), color=BLUE, lw=2)
    for i in (0, 2, 4):
        ends = [(4.6 + 0.8 * (x - 4.6), 4 + 0.8 * (y - 4)) for x, y in (ring[i], ring[i + 1])]
        ax.plot(*zip(*ends, strict=True), color=BLUE, lw=1)
    carbon, ends = (8.6, 4.0), ((8.6, 6.1), (10.4, 3.0))
    ax.plot(*zip(ring[2], carbon, strict=True), color=ORANGE, lw=2)
    for x, y in ends:
        ax.plot(*zip(carbon, (x, y), strict=True), color=ORANGE, lw=2)
        ax.text(x + 0.5 * (x > 9), y + (0.1 if y > 4 else -0.4), "O", color=ORANGE, ha="center",
                va="bottom", weight="bold", fontsize=10)  # fmt: skip


def names(ax: Any) -> None:
    """Two spellings of one name."""
    for y, letters, others in ((5.2, "Maier", (2, 3)), (2.2, "Meyer", (1, 2))):
        for i, letter in enumerate(letters):
            ax.text(2.8 + 1.6 * i, y, letter, color=INK if i in others else ORANGE, ha="center",
                    va="center", family="monospace", weight="bold", fontsize=12)  # fmt: skip


def graph(ax: Any) -> None:
    """A molecule: a ring with two arms."""
    angles = np.pi / 6 + np.arange(6) * np.pi / 3
    at = [(4.6 + 2.3 * np.cos(a), 4 + 2.3 * np.sin(a)) for a in angles]
    at += [(8.9, 6.6), (11.0, 5.4), (8.9, 1.4)]
    for i, j in [*((i, (i + 1) % 6) for i in range(6)), (0, 6), (6, 7), (5, 8)]:
        ax.plot(*zip(at[i], at[j], strict=True), color=GREY, lw=1.5, zorder=1)
    for i, (x, y) in enumerate(at):
        ax.plot(x, y, "o", ms=7, color=ORANGE if i in (7, 8) else BLUE, zorder=2)


def series(ax: Any) -> None:
    """Two curves, and which of their points belong together."""
    t = np.linspace(0, 1, 80)
    low = 2.2 + 1.4 * np.sin(2 * np.pi * 1.5 * t)
    late = t**1.5
    high = 5.8 + 1.4 * np.sin(2 * np.pi * 1.5 * late)
    for place in (0.0, 1 / 6, 0.5, 5 / 6, 1.0):
        x, y = place, place ** (1 / 1.5)
        ends = [2.2 + 1.4 * np.sin(2 * np.pi * 1.5 * x), 5.8 + 1.4 * np.sin(2 * np.pi * 1.5 * x)]
        ax.plot([0.8 + 10.4 * x, 0.8 + 10.4 * y], ends, color=GREY, lw=1, ls=":")
    ax.plot(0.8 + 10.4 * t, low, color=BLUE, lw=2)
    ax.plot(0.8 + 10.4 * t, high, color=ORANGE, lw=2)


def bags(ax: Any) -> None:
    """Clouds of points: each cloud is one sample."""
    rng = np.random.default_rng(1)
    for x, y, wide, high, colour in ((3, 5.2, 2.2, 1.9, BLUE), (6.6, 2.2, 2.2, 1.7, ORANGE),
                                     (9.6, 5.6, 1.9, 1.9, BLUE)):  # fmt: skip
        ax.add_patch(Ellipse((x, y), 2 * wide, 2 * high, fc="none", ec=GREY, lw=1))
        far, angle = np.sqrt(rng.uniform(0, 0.6, 9)), 2 * np.pi * (np.arange(9) * 0.382)
        ax.plot(x + wide * far * np.cos(angle), y + high * far * np.sin(angle), "o", ms=3,
                color=colour)  # fmt: skip


def tree(ax: Any) -> None:
    """A sentence, cut into its parts."""
    at = [(6, 7.2), (3.4, 5.0), (8.6, 5.0), (2, 2.8), (4.8, 2.8), (7.2, 2.8), (10, 2.8), (9, 0.8),
          (11, 0.8)]  # fmt: skip
    common = {2, 5, 6}
    for i, j in ((0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (6, 7), (6, 8)):
        ax.plot(*zip(at[i], at[j], strict=True), lw=1.5, zorder=1,
                color=ORANGE if {i, j} <= common else GREY)  # fmt: skip
    for i, (x, y) in enumerate(at):
        ax.plot(x, y, "o", ms=6, color=ORANGE if i in common else BLUE, zorder=2)


def image(ax: Any) -> None:
    """A digit of eight by eight pixels."""
    rows = ["00111100", "01100110", "00000110", "00011100", "00000110", "00000110", "01100110",
            "00111100"]  # fmt: skip
    for i, row in enumerate(rows):
        for j, dark in enumerate(row):
            ax.add_patch(Rectangle((2.4 + 0.9 * j, 6.7 - 0.9 * i), 0.8, 0.8, lw=0,
                                   fc=BLUE if dark == "1" else GREY,
                                   alpha=1 if dark == "1" else 0.25))  # fmt: skip


def audio(ax: Any) -> None:
    """A sound, louder and softer."""
    t = np.linspace(0, 1, 34)
    loud = 0.25 + 2.9 * np.abs(np.sin(3 * np.pi * t**0.8)) * np.exp(-0.9 * t)
    loud *= np.random.default_rng(0).uniform(0.55, 1.0, len(t))
    for place, height in zip(0.7 + 10.6 * t, loud, strict=True):
        colour = ORANGE if 4.2 < place < 7.8 else BLUE
        ax.plot([place] * 2, [4 - height, 4 + height], color=colour, lw=2)


def anything(ax: Any) -> None:
    """Two objects, and a question."""
    ax.add_patch(Rectangle((1.2, 2.6), 2.8, 2.8, fc="none", ec=BLUE, lw=2))
    ax.add_patch(Circle((9.4, 4), 1.6, fc="none", ec=BLUE, lw=2))
    arrow = {"arrowstyle": "<->", "color": ORANGE, "lw": 1.8}
    ax.annotate("", (7.6, 4), (4.2, 4), arrowprops=arrow)
    ax.text(5.9, 4.5, "?", color=ORANGE, ha="center", va="bottom", fontsize=13, weight="bold")


#: words below the picture, the page, and the drawing
KINDS: list[tuple[str, str, Callable[[Any], None]]] = [
    ("Tables", "kinds/tables", table), ("Texts", "kinds/texts", text),
    ("DNA, proteins", "kinds/sequences", sequence), ("Sets", "kinds/sets", sets),
    ("Molecules", "kinds/molecules", molecule),
    ("Names, records", "kinds/records", names), ("Graphs", "graphs", graph),
    ("Series", "series", series), ("Bags", "bags", bags), ("Trees", "trees", tree),
    ("Images", "kinds/images", image), ("Audio", "kinds/audio", audio),
    ("Anything else", "kinds/anything", anything),
]  # fmt: skip


def draw(kind: Callable[[Any], None]) -> Figure:
    """One picture, all of the same size."""
    figure = Figure(figsize=(1.8, 1.2))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, HEIGHT), aspect="equal")
    ax.set_axis_off()
    kind(ax)
    return figure


class KindPictures(Directive):
    """A list of links, each a picture and the words below it."""

    def run(self) -> list[nodes.Node]:
        pages, items = self.state.document.settings.env.found_docs, []
        for words, page, kind in KINDS:
            if page not in pages:
                raise self.error(f"there is no page {page}.")
            with mpl.rc_context(STYLE):
                svg = as_svg(draw(kind), f"kind-{kind.__name__}", "", tight=False)
            shown = nodes.raw("", svg, format="html")
            label = nodes.inline(words, words)
            link = nodes.reference("", "", shown, label, refuri=f"{page}.html", internal=True)
            items.append(nodes.list_item("", nodes.paragraph("", "", link)))
        return [nodes.bullet_list("", *items, classes=["kind-pictures"])]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("kind-pictures", KindPictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
