"""The report of ``mercer dedup``: what was removed, beside what stays, and the S-curve.

It is one HTML file that loads nothing."""

from __future__ import annotations

import difflib
import html
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mercer.dedup import Bands

WORDS = 300  # of a document that is shown
STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;
color:#1b1b1b;background:#fff}table{border-collapse:collapse}td,th{padding:.2em 1em .2em 0;
text-align:left;vertical-align:top}.pair{display:grid;grid-template-columns:1fr 1fr;gap:1.5em;
border-top:1px solid #ccc;padding:.6em 0;overflow-wrap:anywhere}.pair p{margin:.2em 0;
white-space:pre-wrap}small{color:#555}del{background:#ffd9d4;text-decoration:none}
ins{background:#d4f0d4;text-decoration:none}h2{margin-top:2em}"""


class Shown(NamedTuple):
    """A document of the report."""

    place: str  # "part-1.jsonl, line 3"
    text: str


class Cluster(NamedTuple):
    """A document that stays, and some of those that go for it."""

    kept: Shown
    size: int  # of all that go
    removed: list[tuple[Shown, float]]


def page(facts: dict[str, str], clusters: Iterable[Cluster], bands: Bands, threshold: float) -> str:
    """The whole report."""
    rows = "".join(f"<tr><th>{_safe(k)}</th><td>{_safe(v)}</td></tr>" for k, v in facts.items())
    body = "".join(map(_cluster, clusters)) or "<p>There are no near-duplicates.</p>"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Near-duplicates</title>'
        f"<style>{STYLE}</style><h1>Near-duplicates</h1><table>{rows}</table>"
        "<h2>How many pairs are compared</h2>"
        f"<p>Pairs share one of {bands.n_bands} keys, made of {bands.n_hashes} hashes each, with "
        "the probability that the curve shows. Only such pairs are compared, and every removal is "
        f"verified exactly.</p>{_curve(bands, threshold)}"
        "<h2>Clusters</h2><p>On the left the document that stays, on the right one that goes for "
        "it. Words of one side alone are marked. The largest clusters come first.</p>"
        f"{body}</html>\n"
    )


def _cluster(cluster: Cluster) -> str:
    kept, size = cluster.kept, cluster.size
    pairs = "".join(_pair(kept, shown, similarity) for shown, similarity in cluster.removed)
    more = size - len(cluster.removed)
    rest = f"<p>… and {more:,} more.</p>" if more else ""
    return f"<h3>{_safe(kept.place)}: {size:,} removed</h3>{pairs}{rest}"


def _pair(kept: Shown, removed: Shown, similarity: float) -> str:
    a, b = kept.text.split()[:WORDS], removed.text.split()[:WORDS]
    left, right = [], []
    for what, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        left.append(_marked(a[i:j], "" if what == "equal" else "del"))
        right.append(_marked(b[k:m], "" if what == "equal" else "ins"))
    return (
        f'<div class="pair"><div><small>stays</small><p>{" ".join(left)}</p></div>'
        f"<div><small>{_safe(removed.place)}, similarity {similarity:.3f}</small>"
        f"<p>{' '.join(right)}</p></div></div>"
    )


def _marked(words: list[str], tag: str) -> str:
    said = _safe(" ".join(words))
    return f"<{tag}>{said}</{tag}>" if tag and said else said


def _curve(bands: Bands, threshold: float) -> str:
    """The S-curve as a drawing of 420 by 200 points, with a margin of 30."""
    J = np.linspace(0, 1, 101)
    line = " ".join(f"{30 + 380 * x:.1f},{180 - 160 * p:.1f}" for x, p in zip(J, bands.recall(J)))
    at, share = 30 + 380 * threshold, float(bands.recall(threshold))
    return (
        '<svg viewBox="0 0 440 215" width="440" role="img" aria-label="S-curve">'
        '<path d="M30 20V180H410" fill="none" stroke="#888"/>'
        f'<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="2"/>'
        f'<path d="M{at:.1f} 20V180" stroke="#c33" stroke-dasharray="4"/>'
        f'<text x="{at - 4:.1f}" y="170" text-anchor="end" font-size="12" fill="#c33">threshold '
        f"{threshold:g}: {share:.3f}</text>"
        '<text x="30" y="195" font-size="12">0</text><text x="402" y="195" font-size="12">1</text>'
        '<text x="220" y="208" text-anchor="middle" font-size="12">similarity</text>'
        '<text x="8" y="184" font-size="12">0</text><text x="8" y="24" font-size="12">1</text>'
        "</svg>"
    )


def _safe(text: object) -> str:
    return html.escape(str(text).encode("utf-8", "backslashreplace").decode())
