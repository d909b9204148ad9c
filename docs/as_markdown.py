"""Every page as Markdown beside its HTML, and llms.txt, which lists them: for readers that are
programs.

A page is written from the same tree as its HTML, so that its examples run once. Pictures are left
out, and their captions stay. Links lead from Markdown to Markdown.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from docutils import nodes

SUMMARY = re.compile(r"<summary>(.*?)</summary>")
PAGES = "Documentation"  # heading of the list of pages


class Markdown(nodes.NodeVisitor):
    """A tree of docutils as Markdown.

    Parameters
    ----------
    document : nodes.document
    root : str
        The way from the page's folder to the root of all pages: "" or "../".
    """

    def __init__(self, document: nodes.document, root: str = ""):
        super().__init__(document)
        self.root = root
        self.parts: list[list[str]] = [[]]  # what is open: list items, cells, paragraphs
        self.level = 0
        self.rows: list[list[str]] = []

    def text(self) -> str:
        self.document.walkabout(self)
        return re.sub(r"\n{3,}", "\n\n", "".join(self.parts[0])).strip() + "\n"

    def add(self, text: str) -> None:
        self.parts[-1].append(text)

    def open(self, node: nodes.Node | None = None) -> None:
        self.parts.append([])

    def close(self) -> str:
        return "".join(self.parts.pop()).strip()

    def unknown_visit(self, node: nodes.Node) -> None:
        """What has no method is only its content."""

    def unknown_departure(self, node: nodes.Node) -> None:
        """See `unknown_visit`."""

    def leave_out(self, node: nodes.Node) -> None:
        raise nodes.SkipNode

    visit_comment = visit_index = visit_system_message = visit_substitution_definition = leave_out

    def visit_section(self, node: nodes.Node) -> None:
        self.level += 1

    def depart_section(self, node: nodes.Node) -> None:
        self.level -= 1

    visit_title = visit_rubric = visit_paragraph = visit_term = visit_field_name = open
    visit_caption = visit_emphasis = visit_strong = visit_reference = visit_list_item = open
    visit_entry = open

    def depart_title(self, node: nodes.Node) -> None:
        text, in_section = self.close(), isinstance(node.parent, nodes.section)
        self.add(f"{'#' * self.level} {text}\n\n" if in_section else f"**{text}**\n\n")

    def depart_rubric(self, node: nodes.Node) -> None:
        self.add(f"**{self.close()}**\n\n")

    depart_term = depart_field_name = depart_rubric

    def depart_paragraph(self, node: nodes.Node) -> None:
        self.add(f"{self.close()}\n\n")

    def depart_caption(self, node: nodes.Node) -> None:
        self.add(f"*Picture: {self.close()}*\n\n")

    def visit_Text(self, node: nodes.Text) -> None:
        self.add(node.astext())

    def depart_emphasis(self, node: nodes.Node) -> None:
        self.add(f"*{self.close()}*")

    def depart_strong(self, node: nodes.Node) -> None:
        self.add(f"**{self.close()}**")

    def visit_literal(self, node: nodes.Node) -> None:
        self.add(f"`{node.astext()}`")
        raise nodes.SkipNode

    def visit_math(self, node: nodes.Node) -> None:
        self.add(f"${node.astext()}$")
        raise nodes.SkipNode

    def visit_math_block(self, node: nodes.Node) -> None:
        self.add(f"$$\n{node.astext()}\n$$\n\n")
        raise nodes.SkipNode

    def visit_literal_block(self, node: Any) -> None:
        text, language = node.astext().rstrip(), node.get("language", "")
        if text.startswith(">>>"):
            language = "python"
        self.add(f"```{'' if language == 'default' else language}\n{text}\n```\n\n")
        raise nodes.SkipNode

    visit_doctest_block = visit_literal_block

    def visit_desc_signature(self, node: nodes.Node) -> None:
        self.add(f"**`{' '.join(node.astext().split())}`**\n\n")
        raise nodes.SkipNode

    def visit_raw(self, node: nodes.Node) -> None:
        if found := SUMMARY.search(node.astext()):
            self.add(f"**{found[1]}**\n\n")
        raise nodes.SkipNode

    def visit_image(self, node: Any) -> None:
        words = " ".join(node.get("alt", "").split())
        self.add(f"![{words}]({self.root}_images/{posixpath.basename(node['uri'])})\n\n")
        raise nodes.SkipNode

    def depart_reference(self, node: Any) -> None:
        text, address = self.close(), node.get("refuri", "") or f"#{node.get('refid', '')}"
        if text.startswith("!["):  # a picture that leads to itself
            self.add(f"{text}\n\n")
            return
        if "://" not in address:
            address = re.sub(r"\.html(#|$)", r".md\1", address)
        self.add(f"[{text}]({address})")

    def depart_list_item(self, node: Any) -> None:
        text, numbered = self.close(), isinstance(node.parent, nodes.enumerated_list)
        mark = f"{node.parent.index(node) + 1}. " if numbered else "- "
        self.add(mark + re.sub(r"\n(?=.)", "\n" + " " * len(mark), text) + "\n")

    def depart_bullet_list(self, node: nodes.Node) -> None:
        self.add("\n")

    depart_enumerated_list = depart_bullet_list

    def visit_table(self, node: nodes.Node) -> None:
        self.rows = []

    def visit_row(self, node: nodes.Node) -> None:
        self.rows.append([])

    def depart_entry(self, node: nodes.Node) -> None:
        self.rows[-1].append(re.sub(r"\s+", " ", self.close()).replace("|", "\\|"))

    def depart_table(self, node: nodes.Node) -> None:
        lines = [f"| {' | '.join(row)} |" for row in self.rows]
        lines.insert(1, "|" + " --- |" * len(self.rows[0]))
        self.add("\n".join(lines) + "\n\n")


def _write_page(app: Any, name: str, template: str, context: dict, document: Any) -> None:
    if document is None:  # a page of the theme, such as the search
        return
    path = Path(app.outdir, f"{name}.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(Markdown(document, "../" * name.count("/")).text(), encoding="utf-8")
    link = f'<link rel="alternate" type="text/markdown" href="{posixpath.basename(name)}.md">'
    context["metatags"] = context.get("metatags", "") + link


def _write_list(app: Any, error: Exception | None) -> None:
    """llms.txt: the title, what it is, and each page in the order of the tables of contents."""
    if error or app.builder.format != "html":
        return
    tree, titles = app.env.toctree_includes, app.env.titles
    lines, seen = [], set()

    def walk(name: str, depth: int) -> None:
        if name not in seen:
            seen.add(name)
            lines.append(f"{'  ' * depth}- [{titles[name].astext()}]({name}.md)")
            for below in tree.get(name, []):
                walk(below, depth + 1)

    for name in tree.get(app.config.root_doc, []):
        walk(name, 0)
    about = "Any data, any kernel, any learner, any size: kernel machines for Python."
    text = f"# {app.config.project}\n\n> {about}\n\n## {PAGES}\n\n" + "\n".join(lines) + "\n"
    Path(app.outdir, "llms.txt").write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-page-context", _write_page)
    app.connect("build-finished", _write_list)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
