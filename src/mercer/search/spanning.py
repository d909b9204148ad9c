"""The spanning tree of mutual reachability, by which clusters of any density are found.

An edge is as long as the distance of its ends, or as the core of one of them if that is larger: the
distance of a row to its k-th neighbour (Campello, Moulavi & Sander 2013). Several trees may have
the shortest edges together, whose lengths are then the same.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from mercer import _native
from mercer.distances import Distance
from mercer.samples import Samples
from mercer.search.index import Index
from mercer.search.rows import slices
from mercer.search.vectors import SHARES, WORK, Question, VectorSearch, exact_tiles
from mercer.threads import count_jobs, ordered_map, raise_if_stopped

Edges = tuple[np.ndarray, np.ndarray, np.ndarray]  # the ends and the length of each


def reachability_tree(
    index: Index, X: Any, core: np.ndarray, near: np.ndarray, numbers: np.ndarray
) -> Edges:
    """The edges of the tree, ascending by their length.

    Parameters
    ----------
    index : Index
        The index of the encoded rows X.
    core : ndarray of shape (n,)
    near, numbers : ndarray of shape (n, k)
        Distances and numbers of the neighbours of each row, k >= 0.
    """
    known = index.distance_.known(X, X)
    asked = index._ask(None) if known is None and near.shape[1] else None
    if known is not None:
        edges = _of_known(sp.csr_array(known), core)
    elif isinstance(asked, VectorSearch):
        unit = index._unit
        a, b, lengths = _by_rounds(asked, core * unit, near * unit, numbers)
        edges = a, b, lengths / unit
    else:
        edges = _by_rows(index, X, core)
    order = np.argsort(edges[2], kind="stable")
    return edges[0][order], edges[1][order], edges[2][order]


def _of_known(graph: sp.csr_array, core: np.ndarray) -> Edges:
    """The known edges; infinite ones join parts that no edge joins."""
    n = len(core)
    a, b = np.repeat(np.arange(n), np.diff(graph.indptr)), graph.indices
    a, b, far = (values[a != b] for values in (a, b, graph.data))
    lengths = np.maximum(np.maximum(core[a], core[b]), far)
    # scipy takes an edge of length 0 for none: it is given ranks, and of two edges one
    values, ranks = np.unique(lengths, return_inverse=True)
    order = np.lexsort((ranks, np.maximum(a, b), np.minimum(a, b)))
    a, b, ranks = np.minimum(a, b)[order], np.maximum(a, b)[order], ranks[order]
    once = np.ones(len(a), bool)
    once[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    ends = a[once].astype(np.int32), b[once].astype(np.int32)  # as csgraph of SciPy 1.16 wants
    ranked = sp.csr_array((ranks[once] + 1.0, ends), shape=(n, n))
    tree = minimum_spanning_tree(ranked).tocoo()
    _, roots = np.unique(connected_components(tree, directed=False)[1], return_index=True)
    return (
        np.append(tree.row, roots[1:]).astype(np.int64),
        np.append(tree.col, np.full(len(roots) - 1, roots[0])).astype(np.int64),
        np.append(values[tree.data.astype(np.int64) - 1], np.full(len(roots) - 1, np.inf)),
    )


def _by_rows(index: Index, X: Any, core: np.ndarray) -> Edges:
    """Prim's algorithm: about n² / 2 distances of any kind, a row at a time.

    Where the distance has bounds, those that bounds and cores leave open, and no farther than what
    a row has.
    """
    distance = exact_tiles(index.distance_, X)
    bounded = distance.bounds(X[:1], X[:1]) is not None
    held = X if bounded else distance.prepare(X)
    n = len(core)
    left = places = np.arange(1, n)  # rows that the tree lacks, and where they are held
    best, source = np.full(n - 1, np.inf), np.zeros(n - 1, np.int64)
    a, b, lengths = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    here, row = 0, held[:1]
    for e in range(n - 1):
        raise_if_stopped()
        if 8 * len(left) < 7 * held.shape[0]:
            held, places = held[places], np.arange(len(left))
        cores = np.maximum(core[left], core[here])
        if bounded:
            far = _within(distance, row, held, places, np.where(cores < best, best, -1.0))
        else:
            far = np.asarray(distance.block(row, held)[0], np.float64)[places]
        reach = np.maximum(far, cores)
        nearer = reach < best
        best[nearer], source[nearer] = reach[nearer], here
        m = int(best.argmin())
        here, row = int(left[m]), held[places[m] : places[m] + 1]
        a[e], b[e], lengths[e] = source[m], here, best[m]
        left, places, best, source = (np.delete(v, m) for v in (left, places, best, source))
    return a, b, lengths


def _within(
    distance: Distance, row: Samples, held: Samples, places: np.ndarray, limits: np.ndarray
) -> np.ndarray:
    """The distances of a row to some of those held where they are below limits; below 0 none is."""
    far = np.full(len(places), np.inf)
    powers = np.where(limits < 0, -1.0, np.abs(limits) ** distance.exponent)
    bounds = distance.bounds(row, held)
    assert bounds is not None  # as the caller has asked
    asked = np.flatnonzero(bounds[0, places] <= powers)
    pairs = np.stack([np.zeros(len(asked), np.int64), places[asked]], axis=1)
    found = distance.of_pairs(row, held, pairs, powers[asked])
    far[asked] = found ** (1 / distance.exponent)
    return far


def _by_rounds(search: VectorSearch, core: np.ndarray, near: np.ndarray, ids: np.ndarray) -> Edges:
    """Borůvka's algorithm: each part is joined with the nearest other one, in about log n rounds.

    The neighbours that are known answer for most rows. The others are searched for, and no farther
    than the best edge that their part has.
    """
    own, n = search.own, len(core)
    first, behind = search.source.nodes()
    places = np.stack([first, behind], axis=1).ravel()
    least = np.minimum.reduceat(np.append(core[own], np.inf), places)[::2]
    part, listed = np.arange(n), np.zeros(n, np.int64)
    lengths, ends = np.full(n, np.inf), np.full(n, -1)
    floor = np.maximum(near[:, -1], core)  # no edge of a row that is not known is shorter
    edges: list[Edges] = []
    joined = 0
    while joined < n - 1:
        limits = np.full(n, np.inf)
        _native.reach_listed(near, ids, core, part, listed, lengths, ends, limits)
        # the part that all rows of a node are in: no other follows before the end of the node
        there = part[own]
        changes = np.append(np.flatnonzero(there[1:] != there[:-1]) + 1, n)
        until = changes[np.searchsorted(changes, first, side="right")]
        whole = np.where(until >= behind, there[first], -1)
        asked = np.flatnonzero(floor[own] < np.minimum(lengths, limits[part])[own])
        _ask(search, asked, (core, part, whole, least, lengths, ends), limits)
        searched = own[asked]
        floor[searched] = np.minimum(lengths, limits[part])[searched]
        best = np.flatnonzero((lengths == limits[part]) & (ends >= 0))
        chosen = np.full(n, -1)
        chosen[part[best]] = best  # one edge of each part
        a = chosen[chosen >= 0]
        b, joins = ends[a], np.empty(len(a), bool)
        _native.join_parts(a, b, part, joins)
        edges.append((a[joins], b[joins], lengths[a[joins]]))
        joined += int(joins.sum())
    a, b, lengths = (np.concatenate(column) for column in zip(*edges, strict=True))
    return a, b, lengths


def _ask(
    search: VectorSearch, asked: np.ndarray, edges: tuple[np.ndarray, ...], limits: np.ndarray
) -> None:
    """Search for edges of the rows at some places, and lower the limits of the parts."""
    merging, (n, columns) = Lock(), search.source.shape
    step = -(-len(asked) // (SHARES * count_jobs(search.n_jobs)))
    if search.source.divisible:  # every row is read
        step = min(step, int(WORK / (n * columns)))

    def ask(rows: slice) -> None:
        places = asked[rows]
        # what another thread finds at the same time does not matter but for speed
        with merging:
            mine = limits.copy()
        question = Question(search.queries[places], search.own[places], search.safe)
        search.source.reach(question, (*edges, mine))
        with merging:
            np.minimum(limits, mine, out=limits)

    for _ in ordered_map(ask, slices(len(asked), max(step, 1)), search.n_jobs):
        pass
