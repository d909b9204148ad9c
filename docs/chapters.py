"""Chapters of the book and pages of kinds: examples that run while the page is built, pictures made
by them, and solutions that are folded.

``picture`` shows the matplotlib figure that the examples above it have named ``figure``. It becomes
part of the page, in the page's own colours. ``folded`` hides its content until it is opened. All
examples of a chapter are compared with what they should print, and a difference is a warning. The
tests run the same examples, as they do for every page (``testpaths`` in pyproject.toml).
"""

from __future__ import annotations

import doctest
import io
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.util import logging

PAGES = ("book/", "kinds/", "graphs", "series", "bags", "trees")  # beginnings of names
INK = "#010203"  # stands for the colour of the page's text
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS  # as in pyproject.toml
STYLE = {
    "svg.fonttype": "path",
    "svg.hashsalt": "mercer",  # the same names in each build
    "font.size": 11.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK
    ),
}
logger = logging.getLogger(__name__)


class Chapter:
    """The examples of one page, run up to some line at a time."""

    def __init__(self, path: Path, name: str):
        self.name, self.names = name, {}
        self.left = doctest.DocTestParser().get_examples(path.read_text(encoding="utf-8"), name)
        self.runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)

    def run_to(self, line: float) -> None:
        """Run the examples that begin above this line and have not run yet."""
        now = [example for example in self.left if example.lineno < line]
        self.left = self.left[len(now) :]
        test = doctest.DocTest(now, {}, self.name, self.name, 0, None)
        test.globs = self.names
        said = io.StringIO()
        with mpl.rc_context(STYLE):
            if self.runner.run(test, out=said.write, clear_globs=False).failed:
                logger.warning(said.getvalue(), location=self.name)


class Picture(Directive):
    """The current ``figure``; the content is its caption."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        environment = self.state.document.settings.env
        self.assert_has_content()
        chapter = environment.temp_data["chapter"]
        chapter.run_to(self.lineno)
        drawn, number = chapter.names.get("figure"), environment.new_serialno("picture")
        if drawn is None:
            raise self.error("no example above this picture makes a figure.")
        caption = nodes.caption()
        self.state.nested_parse(self.content, self.content_offset, caption)
        words = [child for paragraph in caption for child in paragraph.children]
        caption.children.clear()
        caption.extend(words)
        svg = as_svg(drawn, f"{environment.docname.replace('/', '-')}-{number}", caption.astext())
        return [nodes.figure("", nodes.raw("", svg, format="html"), caption, classes=["picture"])]


def as_svg(figure: Any, prefix: str, words: str, tight: bool = True) -> str:
    """The figure as an element of a page, with names of its own and the page's colours.

    Without ``words`` it is hidden from readers of screens, as an ornament. If it is not ``tight``,
    its margins stay.
    """
    file = io.StringIO()
    with mpl.rc_context(STYLE):
        box = "tight" if tight else None
        figure.savefig(file, format="svg", bbox_inches=box, metadata={"Date": None})
    text = file.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'( id="|"#|\(#)', rf"\g<1>{prefix}-", text).replace(INK, "currentColor")
    label = words.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    role = f'role="img" aria-label="{label}"' if words else 'aria-hidden="true"'
    return text.replace("<svg", f"<svg {role}", 1)


class Folded(Directive):
    """Content that the reader opens: the solution of an exercise, or the code of a picture."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        content = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, content)
        head = f'<details class="folded"><summary>{self.arguments[0]}</summary>'
        return [
            nodes.raw("", head, format="html"),
            *content.children,
            nodes.raw("", "</details>", format="html"),
        ]


def _begin(app: Any, name: str, source: list[str]) -> None:
    if name.startswith(PAGES):
        app.env.temp_data["chapter"] = Chapter(Path(app.env.doc2path(name)), name)


def _end(app: Any, document: nodes.document) -> None:
    if chapter := app.env.temp_data.get("chapter"):
        chapter.run_to(float("inf"))


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("picture", Picture)
    app.add_directive("folded", Folded)
    app.connect("source-read", _begin)
    app.connect("doctree-read", _end)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
