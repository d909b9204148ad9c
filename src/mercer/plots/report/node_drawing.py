"""Graphs and trees in the report: where their nodes and edges are in a figure, and in which colour.

A figure is 360 units wide, as those of drawings.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plots.classes import COLOURS, node_codes
from mercer.samples import Drawing

WIDTH, HEIGHT, MARGIN = 360.0, 260.0, 14.0
LONGEST = 46.0  # an edge of a small graph
LETTER = 6.4  # the width of a letter in a font of
FONT = 11.0
RADIUS = 6.5  # of a node; smaller where nodes are many


def node_drawing(drawing: Drawing) -> dict[str, Any]:
    """The nodes (x, y, colour, label), the edges (x, y, x, y), and what the colours say."""
    names, codes = node_codes(drawing)
    P = drawing.places * [1, -1]
    # words are centred at their nodes, and go beyond them
    beyond = np.zeros(len(P))
    if drawing.written:
        beyond += [len(word) / 2 + 1 for word in drawing.labels]
    left, right = float((P[:, 0] - beyond).min()), float((P[:, 0] + beyond).max())
    top, high = float(P[:, 1].min()), float(np.ptp(P[:, 1]))
    room = WIDTH - 2 * MARGIN
    unit = min(LETTER if drawing.written else LONGEST, room / max(right - left, 1e-9))
    if not drawing.written:
        unit = min(unit, (HEIGHT - 2 * MARGIN) / max(high, 1e-9))
    at = np.array([(WIDTH - unit * (left + right)) / 2, MARGIN - unit * top]) + unit * P
    radius = RADIUS if len(P) <= 40 else RADIUS * (40 / len(P)) ** 0.5
    edges = [
        _to_the_rim(at[u], at[v], radius + 2 if drawing.directed else 0.0)
        for u, v in drawing.edges.tolist()
        if u != v
    ]
    nodes = [
        (*place, codes[i], drawing.labels[i] if drawing.labels else "")
        for i, place in enumerate(at.round(1).tolist())
    ]
    return {
        "nodes": nodes, "edges": edges,
        "loops": [nodes[u] for u, v in drawing.edges.tolist() if u == v],
        "names": [] if drawing.written else list(zip(names, COLOURS)),
        "radius": round(radius, 1), "height": round(unit * high + 2 * MARGIN, 1),
        "font": round(FONT * unit / LETTER, 1),
    }  # fmt: skip


def _to_the_rim(start: np.ndarray, end: np.ndarray, short: float) -> list[float]:
    """A line that ends so much before its end, where an arrow meets the circle of a node."""
    gap = end - start
    share = max(1 - short / max(float(np.hypot(*gap)), 1e-9), 0.0)
    return [*start.round(1).tolist(), *(start + share * gap).round(1).tolist()]
