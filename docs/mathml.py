"""Formulas as MathML, which browsers show by themselves: no script, no fonts, no network.

Sphinx loads MathJax from a server otherwise. docutils, which Sphinx is made of, writes the MathML.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml

LONG = 25  # letters of LaTeX from which a formula in a line may be wider than a telephone
BAR = 'stretchy="false" lspace="0" rspace="0"'
THIN = "0.17em"
#: what docutils writes, and what a browser shows as LaTeX would
MENDED = [
    # With an exponent the second of two bars would not grow with the formula, as the first one
    # does; and a browser takes the first one for an operator, with space around it.
    (r'<mo(?: stretchy="false")?>([|‖⟨⟩])</mo>', rf"<mo {BAR}>\1</mo>"),
    # space around the names of functions, but none before brackets: 2 sin x, sin(x)
    (r"(</(?:mi|mn|msub|msup|mfrac|msqrt)>\s*)(<mi[^>]*>[a-z]{2,}</mi>\s*<mo>&ApplyFunction;)",
     rf'\1<mspace width="{THIN}"/>\2'),
    (r"<mo>&ApplyFunction;</mo>(?=\s*<m(?!o|under))",
     rf'<mo lspace="0" rspace="{THIN}">&ApplyFunction;</mo>'),
    (r"<mo>(max|min)</mo>(?=\s*<mo[^>]*>\()", rf'<mo lspace="{THIN}" rspace="0">\1</mo>'),
    # an index stands beside a letter with a hat, not below it
    (r'<munderover>\s*(<mi>[^<]*</mi>)\s*(<mrow>.*?</mrow>|<m[in]>[^<]*</m[in]>)\s*'
     r'(<mo stretchy="false">[^<]*</mo>)\s*</munderover>',
     r"<msub><mover>\1\3</mover>\2</msub>"),
]  # fmt: skip


def _inline(writer: Any, node: nodes.math) -> None:
    written = _mathml(node.astext(), as_block=False)
    if len(node.astext()) >= LONG:
        written = f'<span class="long-formula">{written}</span>'
    writer.body.append(written)
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    written = [_mathml(part, as_block=True) for part in _parts(node.astext())]
    if len(written) > 1:
        written = [f'<div class="part">{part}</div>' for part in written]
    writer.body.append(f'<div class="formula">{"".join(written)}</div>')
    raise nodes.SkipNode


def _parts(text: str) -> list[str]:
    """Formulas that stand side by side, so that they can stand below each other on a telephone."""
    parts = [part.strip() for part in text.split(r"\qquad")]
    pairs = (("{", "}"), (r"\left", r"\right"))
    whole = any(part.count(a) != part.count(b) for part in parts for a, b in pairs)
    return [text] if whole or re.search(r"\\\\|\\begin", text) else parts


def _mathml(text: str, *, as_block: bool) -> str:
    if "\\\\" in text and "\\begin" not in text:  # several lines, as in the renderer of MathJax
        text = f"\\begin{{aligned}}{text}\\end{{aligned}}"
    text = re.sub(r"(frac)(\d)(\d)", r"\1{\2}{\3}", text)  # docutils reads \frac12 as \frac{12}
    written = latex2mathml.tex2mathml(text, as_block=as_block)
    for shown, wanted in MENDED:
        written = re.sub(shown, wanted, written, flags=re.DOTALL)
    return written


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
