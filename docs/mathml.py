"""Formulas as MathML, which browsers show by themselves: no script, no fonts, no network.

Sphinx loads MathJax from a server otherwise. docutils, which Sphinx is made of, writes the MathML.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml

LONG = 30  # letters of LaTeX from which a formula in a line may be wider than a telephone
BAR = 'stretchy="false" lspace="0" rspace="0"'


def _inline(writer: Any, node: nodes.math) -> None:
    written = _mathml(node, as_block=False)
    if len(node.astext()) >= LONG:
        written = f'<span class="long-formula">{written}</span>'
    writer.body.append(written)
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{_mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def _mathml(node: nodes.Node, *, as_block: bool) -> str:
    text = node.astext()
    if "\\\\" in text and "\\begin" not in text:  # several lines, as in the renderer of MathJax
        text = f"\\begin{{aligned}}{text}\\end{{aligned}}"
    text = re.sub(r"(frac)(\d)(\d)", r"\1{\2}{\3}", text)  # docutils reads \frac12 as \frac{12}
    written = latex2mathml.tex2mathml(text, as_block=as_block)
    # With an exponent the second of two bars would not grow with the formula, as the first one
    # does; and a browser takes the first one for an operator, with space around it.
    return re.sub(r'<mo(?: stretchy="false")?>([|‖⟨⟩])</mo>', rf"<mo {BAR}>\1</mo>", written)


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
