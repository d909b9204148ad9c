"""The loops over graphs on hostile arrays: empty graphs, gaps, guards beside what is written, and
numbers that lead past the end."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from mercer import _native
from mercer.samples import graphs_of

NONE = (np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.uint64))
SIZES = [0, 1, 2, 0, 7, 31, 16, 17, 0]


def random_graphs(sizes=SIZES, share=0.3, seed=0, directed=False):
    """Graphs with loops and isolated nodes, and the raw graphs for the twins."""
    rng = np.random.default_rng(seed)
    raw, edges, first = [], [], 0
    for n in sizes:
        near = rng.random((n, n)) < share * min(1.0, 8 / max(n, 1))
        own = np.argwhere(near if directed else np.triu(near))
        raw.append((n, [tuple(e) for e in own.tolist()], rng.integers(0, 3, n).tolist()))
        edges += (own + first).tolist()
        first += n
    labels = np.concatenate([np.array(g[2], np.int64) for g in raw])
    return graphs_of(sizes, edges, labels, directed=directed), raw


def lists(X):
    return X.node_starts, X.row_starts, X.neighbours


def guarded(shape, dtype=float):
    size = int(np.prod(shape))
    buffer = np.full(size + 6, 77, dtype)
    return buffer, buffer[3 : size + 3].reshape(shape)


def whole(buffer):
    assert (buffer[:3] == 77).all()
    assert (buffer[-3:] == 77).all()


def test_colours_equal_relabelling():
    X, raw = random_graphs()
    buffer, out = guarded((4, len(X.degrees)), np.uint64)
    out[0] = X.node_labels
    _native.wl_colours(*lists(X), NONE[2], *NONE, out)
    whole(buffer)
    ends = X.node_starts
    for t in range(4):
        classes = {}
        for i, graph in enumerate(raw):
            twin = oracles.colour_rounds(graph, t)[t]
            counts = np.unique(out[t, ends[i] : ends[i + 1]], return_counts=True)
            assert sorted(twin.values()) == sorted(counts[1].tolist())
            classes.setdefault(len(twin), []).append(i)


def test_counts_and_their_order():
    rng = np.random.default_rng(0)
    starts = np.array([0, 0, 3, 3, 10, 10], np.int64)
    keys = rng.integers(0, 4, (3, 10)).astype(np.uint64) << np.uint64(62)
    found, pairs = _native.count_keys(starts, keys)
    pairs = pairs.reshape(-1, 2)
    for i in range(5):
        values, counts = np.unique(keys[:, starts[i] : starts[i + 1]], return_counts=True)
        assert_array_equal(pairs[found[i] : found[i + 1]], np.stack([values, counts], axis=1))
    total = len(pairs)
    (a, k), (b, r), (c, n) = (guarded((total,), t) for t in (np.uint64, np.int32, float))
    _native.sort_keys(found, pairs, k, r, n)
    for buffer in (a, b, c):
        whole(buffer)
    rows = np.repeat(np.arange(5), np.diff(found))
    order = np.lexsort([rows, pairs[:, 0]])
    assert_array_equal(k, pairs[order, 0])
    assert_array_equal(r, rows[order])
    assert_array_equal(n, pairs[order, 1])


@pytest.mark.parametrize("total", [0, 1, 7, 8, 9, 1000])
def test_keys_of_any_number_are_sorted(total):
    pairs = np.random.default_rng(total).integers(0, 2**63, (total, 2)).astype(np.uint64)
    k, r, n = np.empty(total, np.uint64), np.empty(total, np.int32), np.empty(total)
    _native.sort_keys(np.array([0, total], np.int64), pairs, k, r, n)
    assert_array_equal(k, np.sort(pairs[:, 0]))


def test_paths_and_graphlets_equal_their_twins():
    X, raw = random_graphs()
    starts, pairs = _native.path_counts(*lists(X), X.node_labels)
    pairs = pairs.reshape(-1, 2)
    buffer, out = guarded((len(X), 8))
    _native.graphlet_counts(*lists(X), out)
    whole(buffer)
    forms = [(1, 1, 2), (2, 2, 2)]
    fours = [(1, 1, 1, 3), (1, 1, 2, 2), (1, 2, 2, 3), (2, 2, 2, 2), (2, 2, 3, 3), (3, 3, 3, 3)]
    for i, graph in enumerate(raw):
        twin = oracles.path_lengths(graph)
        assert sorted(twin.values()) == sorted(pairs[starts[i] : starts[i + 1], 1].tolist())
        for size, names, found in ((3, forms, out[i, :2]), (4, fours, out[i, 2:])):
            counts = oracles.graphlet_counts(graph, size)
            assert_array_equal(found, [counts[name] for name in names])


@pytest.mark.spread(4)
@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("isa", _native.available_isas())
def test_walks_equal_their_twins(share, isa):
    before = _native.isa()
    _native.use_isa(isa)
    try:
        X, _ = random_graphs(share=share, seed=1)
        marks = X.node_labels
        u, v = X.ends()
        buffer, out = guarded((len(X), len(X)))
        decay = 0.9 / 40**2
        for of_edges in (NONE[2], (u + v).astype(np.uint64) % 3):
            both = (*lists(X), marks, of_edges) * 2
            for steps, symmetric in ((0, True), (0, False), (1, True), (4, False)):
                out[:] = 5
                _native.labelled_walks(*both, decay, steps, symmetric, False, False, out)
                whole(buffer)
                twin = walk_twin(X, marks, of_edges, decay, steps)
                assert_allclose(out, twin, rtol=1e-12, atol=1e-12)
                own = np.empty((len(X), 1))
                _native.labelled_walks(*both, decay, steps, symmetric, False, True, own)
                assert_allclose(own[:, 0], out.diagonal())
    finally:
        _native.use_isa(before)


def walk_twin(X, marks, of_edges, decay, steps):
    """By the matrix of the product graph; A holds 1 + the label of each edge."""
    dense = []
    for a, b in pairwise(X.node_starts):
        A = np.zeros((b - a, b - a))
        for v in range(a, b):
            edges = slice(X.row_starts[v], X.row_starts[v + 1])
            A[v - a, X.neighbours[edges]] = 1 + of_edges[edges] if len(of_edges) else 1
        dense.append((A, marks[a:b]))
    found = np.zeros((len(dense), len(dense)))
    for i, (A, a) in enumerate(dense):
        for j, (B, b) in enumerate(dense):
            mask = (a[:, None] == b).ravel().astype(float)
            W = sum(np.kron(c == A, c == B).astype(float) for c in (1, 2, 3))
            W = mask[:, None] * W * mask
            x = mask
            if steps == 0:
                x = np.linalg.solve(np.eye(len(W)) - decay * W, mask) if len(W) else mask
            else:
                for _ in range(steps - 1):
                    x = mask + decay * W @ x
            found[i, j] = mask @ x
    return found


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 33])
def test_sums_over_eigenvalues(n):
    rng = np.random.default_rng(n)
    starts = np.array([0, n // 2, n // 2, n], np.int64)
    a, p = rng.uniform(-1, 1, n), rng.random(n)
    buffer, out = guarded((3, 3))
    _native.walk_sums(a, p, starts, a, p, starts, 0.5, False, False, out)
    whole(buffer)
    parts = [(a[s:e], p[s:e]) for s, e in pairwise(starts)]
    twin = [[(q[:, None] * r / (1 - 0.5 * np.multiply.outer(b, c))).sum() for c, r in parts]
            for b, q in parts]  # fmt: skip
    assert_allclose(out, twin)
    own = np.empty((3, 1))
    _native.walk_sums(a, p, starts, a, p, starts, 0.5, False, True, own)
    assert_allclose(own[:, 0], out.diagonal())


def wrong_lists():
    X, _ = random_graphs([3, 4], share=1.0)
    nodes, rows, to = lists(X)
    far, negative, falling, short = to.copy(), to.copy(), rows.copy(), nodes.copy()
    far[0], negative[0], falling[1], short[-1] = 3, -1, 99, 5
    return {
        "far": (nodes, rows, far), "negative": (nodes, rows, negative),
        "falling": (nodes, falling, to), "short": (short, rows, to),
        "cut": (nodes, rows, to[:-1]), "no rows": (nodes, rows[:0], to),
        "no nodes": (nodes[:0], rows, to), "late": (nodes + 1, rows, to),
    }  # fmt: skip


@pytest.mark.parametrize("wrong", wrong_lists())
def test_lists_that_lead_outside_are_refused(wrong):
    given = wrong_lists()[wrong]
    marks, X = np.zeros(7, np.uint64), random_graphs([3, 4], share=1.0)[0]
    calls = [
        lambda: _native.wl_colours(*given, NONE[2], *NONE, np.zeros((2, 7), np.uint64)),
        lambda: _native.wl_colours(
            *lists(X), NONE[2], given[1], given[2], NONE[2], np.zeros((2, 7), np.uint64)
        ),
        lambda: _native.path_counts(*given, marks),
        lambda: _native.graphlet_counts(*given, np.zeros((2, 8))),
        lambda: _native.labelled_walks(
            *given,
            marks,
            NONE[2],
            *lists(X),
            marks,
            NONE[2],
            0.1,
            0,
            True,
            False,
            False,
            np.zeros((2, 2)),
        ),
    ]
    for i, call in enumerate(calls):
        if i == 1 and wrong in ("short", "no nodes", "late", "no rows"):
            continue  # the starts of nodes are those of the other side; no rows: no way back
        with pytest.raises((ValueError, IndexError), match=r"must|one label|same graph"):
            call()


def test_shapes_are_checked():
    X, _ = random_graphs([3, 4])
    marks, few = np.zeros(7, np.uint64), np.zeros(6, np.uint64)
    starts, ones = np.array([0, 7], np.int64), np.ones(7)

    def walks(labels, ours, theirs, out, own=False):
        both = *lists(X), labels, ours, *lists(X), marks, theirs
        _native.labelled_walks(*both, 0.1, 0, True, False, own, out)

    for call in [
        lambda: _native.wl_colours(*lists(X), few[:1], *NONE, np.zeros((2, 7), np.uint64)),
        lambda: _native.wl_colours(*lists(X), NONE[2], *NONE, np.zeros((2, 6), np.uint64)),
        lambda: _native.wl_colours(*lists(X), NONE[2], *NONE, np.zeros((0, 7), np.uint64)),
        lambda: _native.path_counts(*lists(X), few),
        lambda: _native.graphlet_counts(*lists(X), np.zeros((2, 6))),
        lambda: _native.count_keys(X.node_starts, np.zeros((2, 6), np.uint64)),
        lambda: _native.sort_keys(starts, np.zeros((7, 3), np.uint64), marks,
                                  np.zeros(7, np.int32), ones),
        lambda: _native.sort_keys(starts, np.zeros((7, 2), np.uint64), few,
                                  np.zeros(7, np.int32), ones),
        lambda: _native.sort_keys(starts + 1, np.zeros((7, 2), np.uint64), marks,
                                  np.zeros(7, np.int32), ones),
        lambda: _native.walk_sums(ones, ones[:6], starts, ones, ones, starts, 0.1, False, False,
                                  np.zeros((1, 1))),
        lambda: _native.walk_sums(ones, ones, starts[::-1].copy(), ones, ones, starts, 0.1, False,
                                  False, np.zeros((1, 1))),
        lambda: _native.walk_sums(ones, ones, starts, ones, ones, starts, 0.1, False, False,
                                  np.zeros((1, 2))),
        lambda: _native.walk_sums(ones, ones, starts, ones, ones, np.array([0, 3, 7]), 0.1, False,
                                  True, np.zeros((1, 1))),
        lambda: walks(few, NONE[2], NONE[2], np.zeros((2, 2))),
        lambda: walks(marks, few[:1], few[:1], np.zeros((2, 2))),
        lambda: walks(marks, np.zeros(len(X.neighbours), np.uint64), NONE[2], np.zeros((2, 2))),
        lambda: walks(marks, NONE[2], NONE[2], np.zeros((2, 3))),
        lambda: walks(marks, NONE[2], NONE[2], np.zeros((2, 2)), own=True),
    ]:  # fmt: skip
        with pytest.raises((ValueError, IndexError), match=r"must|one|own"):
            call()


def test_edits_of_hostile_graphs():
    sizes = [0, 1, 2, 0, 5, 6, 0]
    X, _ = random_graphs(sizes, directed=True)
    marks = np.arange(len(X.neighbours), dtype=np.uint64) % np.uint64(3) << np.uint64(62)
    own = (*lists(X), X.node_labels, marks)

    def edits(i=5, first=0, costs=(0.5, 0.25, 1.0, 0.5), steps=100, limit=np.inf, side=own):
        (a, low), (b, high) = guarded((len(sizes),)), guarded((len(sizes),))
        _native.graph_edits(*own, *side, i, first, *costs, True, steps, limit, low, high, list)
        whole(a)
        whole(b)
        return low, high

    for i in range(len(sizes)):
        low, high = edits(i)
        assert (low <= high).all()
        assert high[i] == 0
        assert high[0] >= 0.5 * sizes[i]
    assert (edits(first=7)[0] == 77).all()
    assert edits(steps=2**64 - 1, limit=0.0)[1][5] == 0
    outside = (*lists(X)[:2], X.neighbours + np.int32(6), X.node_labels, marks)
    for call in [
        lambda: edits(7),
        lambda: edits(costs=(0.5, np.nan, 1.0, 0.5)),
        lambda: edits(costs=(0.5, -1.0, 1.0, 0.5)),
        lambda: edits(costs=(np.inf, 0.5, 1.0, 0.5)),
        lambda: edits(steps=0),
        lambda: edits(limit=np.nan),
        lambda: edits(side=outside),
        lambda: edits(side=(*own[:4], marks[1:])),
    ]:
        with pytest.raises((ValueError, IndexError), match=r"must"):
            call()


@pytest.mark.spread(3)
@pytest.mark.parametrize("last", [1, 3])
def test_an_edit_asks_whether_to_go_on(last):
    """These graphs of 16 nodes would take longer than anybody waits."""
    X, _ = random_graphs([16, 16], share=0.8)
    side = (*lists(X), X.node_labels, NONE[2])
    (a, low), (b, high) = guarded((2,)), guarded((2,))
    asked = []

    def ask():
        asked.append(1)
        if len(asked) == last:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _native.graph_edits(
            *side, *side, 0, 1, 1.0, 1.0, 0.0, 1.0, False, 2**62, np.inf, low, high, ask
        )
    whole(a)
    whole(b)
    assert len(asked) == last
