"""Where the nodes of graphs and trees stand in a picture: what `Kind.drawing` asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path

from mercer.samples import Drawing

NODES, EDGES = 100, 300  # most of them that a picture shows
STEPS, SMALL = 300, 1e-5  # of the descent of the stress, and the step at which it ends
NEAR = 0.05  # how far nodes are moved at first, so that no two stand at one place
LETTERS = 12  # of a label in a picture
GAP, LEVEL, LINE = 2.0, 4.5, 2.2  # between words, levels and lines, in widths of a letter
BROAD, WIDE = 60.0, 100.0  # a broader tree lies on its side, and a deeper one is not drawn


def graph_places(n: int, edges: np.ndarray) -> np.ndarray:
    """Places of the nodes of a graph, (n, 2), whose distances are about the numbers of steps.

    They minimise the stress Σ (|p_i - p_j| - d_ij)² / d_ij² by majorisation (Gansner, Koren &
    North, "Graph drawing by stress majorization", 2004), from classical scaling on. Parts that are
    not connected stand beside each other. The longest way lies from left to right.

    Examples
    --------
    >>> P = graph_places(3, np.array([[0, 1], [1, 2]]))
    >>> np.round(np.linalg.norm(P[[1, 2, 2]] - P[[0, 1, 0]], axis=1), 2).tolist()
    [1.0, 1.0, 2.0]
    """
    if n < 2:
        return np.zeros((n, 2))
    A = sp.csr_array((np.ones(len(edges)), edges.reshape(-1, 2).T), (n, n))
    D = shortest_path(A, directed=False, unweighted=True)
    apart = np.isinf(D)
    D[apart] = D[~apart].max() + 1
    W = 1 / np.square(D + np.eye(n)) - np.eye(n)
    V = np.linalg.pinv(np.diag(W.sum(axis=1)) - W)
    P = _scaled(D) + NEAR * np.random.default_rng(0).normal(size=(n, 2))
    for _ in range(STEPS):
        gap = np.linalg.norm(P[:, None] - P, axis=2) + np.eye(n)
        B = -W * D / np.maximum(gap, SMALL)
        before, P = P, V @ (B @ P - B.sum(axis=1)[:, None] * P)
        if np.abs(P - before).max() < SMALL:
            break
    P -= P.mean(axis=0)
    return P @ np.linalg.svd(P, full_matrices=False)[2].T


def _scaled(D: np.ndarray) -> np.ndarray:
    """Classical scaling: the plane in which points of these distances are spread most."""
    S = np.square(D)
    S = -(S - S.mean(axis=0) - S.mean(axis=1)[:, None] + S.mean()) / 2
    values, vectors = np.linalg.eigh(S)
    return vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))


def tree_drawing(labels: list, children: list[int], said: str) -> Drawing:
    """A tree in preorder with its root at the top; a broad one with the root at the left.

    Examples
    --------
    >>> tree_drawing(["a", "b", "c"], [2, 0, 0], "a tree").places[:, 1].tolist()
    [0.0, -4.5, -4.5]
    """
    words = [shortened(label) for label in labels]
    if not words:
        return Drawing.none(said)
    if len(words) > NODES:
        return Drawing.none(f"{said}, too many to draw")
    parents = np.full(len(words), -1)
    depth = np.zeros(len(words), int)
    left: list[list[int]] = []  # the open nodes, and how many children they wait for
    for i, count in enumerate(children):
        if left:
            parents[i], depth[i] = left[-1][0], len(left)
            left[-1][1] -= 1
        left.append([i, count])
        while left and not left[-1][1]:
            left.pop()
    leaves = np.flatnonzero(np.array(children, int) == 0)
    wide = np.array([len(words[i]) + GAP for i in leaves])
    ends = np.cumsum(wide)
    upright = ends[-1] <= BROAD
    across = np.zeros(len(words))
    across[leaves] = ends - wide / 2 if upright else -LINE * np.arange(len(leaves))
    for i in reversed(range(len(words))):
        if children[i]:
            own = across[parents == i]
            across[i] = (own[0] + own[-1]) / 2
    if upright:
        places = np.stack([across, 0.0 - LEVEL * depth], axis=1)
    else:
        wide = np.array([max(len(words[i]) for i in np.flatnonzero(depth == t)) + 2 * GAP
                         for t in range(depth.max() + 1)])  # fmt: skip
        places = np.stack([(np.cumsum(wide) - wide / 2)[depth], across], axis=1)
    if np.ptp(places[:, 1 if upright else 0]) > WIDE:
        return Drawing.none(f"{said}, too deep to draw")
    inner = np.flatnonzero(parents >= 0)
    return Drawing(places, np.stack([parents[inner], inner], axis=1), words, said, written=True)


def shortened(label: object) -> str:
    """A label, shortened to fit in a picture."""
    text = label.decode("utf-8", "replace") if isinstance(label, bytes) else str(label)
    text = " ".join(text.split())
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"


def graph_drawing(n: int, edges: np.ndarray, labels: Any, said: str, directed: bool) -> Drawing:
    """A graph of n nodes, whose labels may be None."""
    if n > NODES or len(edges) > EDGES:
        return Drawing.none(f"{said}, too many to draw")
    words = [shortened(label) for label in ([] if labels is None else labels)]
    return Drawing(graph_places(n, edges), edges, words, said, directed=directed)
