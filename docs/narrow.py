"""Pages on a narrow screen: names of code break between words, and a tap shows a picture alone.

mercer.css lets names break on telephones only, in tables and where they are wider than a line.
"""

from __future__ import annotations

import re
from typing import Any

SHORT, LONG = 12, 28  # letters of a name that fits into a column of a table, and into a line
BREAK = r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[_.,(=/])(?=[\w\"'&\[(])"
PICTURE = r'(<img src="([^"]*)"[^>]*class = "sphx-glr-(?:single|multi)-img"/>)'


def _name(found: re.Match) -> str:
    text = found[1]
    if text.startswith("-"):  # the hyphens of an option would be places to break
        return f'<span class="pre option">{text}</span>'
    kind = "pre long" if len(text) > LONG else "pre"
    if len(text) > SHORT:
        text = re.sub(BREAK, "<wbr>", text)
    return f'<span class="{kind}">{text}</span>'


def _narrow(app: Any, name: str, template: str, context: dict, document: Any) -> None:
    links = context.get("generate_toctree_html")
    if links is not None:  # names of the side bar break between words, too
        context["generate_toctree_html"] = lambda kind, **named: (
            links(kind, **named) if kind == "raw" else _broken(links(kind, **named))
        )
    if "body" in context:
        body = re.sub(r'<span class="pre">([^<]*)</span>', _name, context["body"])
        # titles of the reference are names, too
        body = re.sub(r"(?<=<h1>)[\w.]+(?=<)", lambda title: re.sub(BREAK, "<wbr>", title[0]), body)
        # a full stop stays with its formula
        body = re.sub(r"</math></span>([.,;:)]+)", r"</math>\1</span>", body)
        context["body"] = re.sub(PICTURE, r'<a class="image-reference" href="\2">\1</a>', body)


def _broken(links: Any) -> Any:
    if links is None:
        return None
    # in a span, since parts of a link are laid out beside each other
    return re.sub(
        r"(?<=>)[\w.]+(?=</a>)", lambda name: f"<span>{re.sub(BREAK, '<wbr>', name[0])}</span>",
        str(links),
    )  # fmt: skip


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-page-context", _narrow, priority=900)  # after the theme's own
    return {"parallel_read_safe": True, "parallel_write_safe": True}
