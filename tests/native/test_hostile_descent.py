"""The loops of the search by descent: against plain sums, and with arguments that do not fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _native

N, D, K, ROOM = 90, 16, 5, 4
X = np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)
FAR = ((X[:, None].astype(float) - X) ** 2).sum(axis=2)
EVERY = np.arange(N, dtype=np.int32)
ALL = np.array([0, N], np.int32)


def lists():
    ids, far = np.full((N, K), -1, np.int32), np.full((N, K), np.inf, np.float32)
    return ids, far, np.zeros((N, K), np.uint8)


def nearest():
    """The lists after all rows were compared."""
    found = lists()
    _native.descent_leaves(X, True, EVERY, ALL, *found)
    return found


def parts(leaf=8, table=None, most=40):
    if table is None:
        table = np.empty((N, 6), np.float32)
        _native.descent_table(X, True, X, EVERY[:6], table)
    order, bounds = np.empty(N, np.int32), np.empty(most, np.float32)
    children, pivots = np.empty((most, 2), np.int32), np.empty((most, 2), np.int32)
    starts = np.empty(most + 1, np.int32)
    apart = np.ascontiguousarray(table[:6])
    leaves = _native.descent_parts(table, apart, leaf, 3, order, children, pivots, bounds, starts)
    nodes = leaves - 1
    return table, order, starts[: leaves + 1], children[:nodes], pivots[:nodes], bounds[:nodes]


def test_lists_are_the_nearest_of_all_that_were_compared():
    ids, far, fresh = nearest()
    alone = FAR + np.where(np.eye(N), np.inf, 0)
    assert_array_equal(ids, np.argsort(alone, axis=1)[:, :K])
    assert_allclose(far, np.sort(alone, axis=1)[:, :K], rtol=1e-5)
    assert fresh.all()
    again = ids.copy()
    _native.descent_leaves(X, True, EVERY, ALL, ids, far, fresh)
    assert_array_equal(ids, again)


@pytest.mark.parametrize("leaf", [1, 2, 8, 90])
def test_partitions_are_halves(leaf):
    _, order, starts, children, _, _ = parts(leaf, most=2 * N)
    assert_array_equal(np.sort(order), EVERY)
    sizes = np.diff(starts)
    assert sizes.max() <= leaf
    assert sizes.max() - sizes.min() <= 1
    below = np.sort(children.ravel())
    wanted = np.append(np.arange(-len(sizes), 0), np.arange(1, len(children)))
    assert_array_equal(below, wanted[: 2 * len(children)])
    if leaf == 8:  # equal rows are halved, too
        _, order, starts, *_ = parts(leaf, np.zeros((N, 6), np.float32))
        assert_array_equal(np.sort(order), EVERY)
        assert np.diff(starts).max() <= leaf


def test_a_turn_joins_neighbours_and_improves_the_lists():
    found = lists()
    starts = np.append(np.arange(0, N, 15), N).astype(np.int32)
    for order in (EVERY, np.random.default_rng(2).permutation(EVERY)):
        _native.descent_leaves(X, True, order, starts, *found)
    ids, far, fresh = found
    before = far.copy()
    newer, older = (np.empty((N, ROOM), np.int32) for _ in range(2))
    _native.descent_candidates(1, ids, fresh, newer, older)
    assert (older == -1).all()
    assert (newer >= 0).all()
    near = np.zeros((N, N), bool)
    near[EVERY[:, None], ids] = True
    assert (near | near.T)[EVERY[:, None], newer].all()
    taken = (ids[:, :, None] == newer[:, None]).any(axis=2)
    assert_array_equal(fresh == 0, taken)
    room = ROOM * (ROOM - 1) // 2 + ROOM**2
    pairs, lengths = np.empty((N * room, 2), np.int32), np.empty(N * room, np.float32)
    count = _native.descent_join(X, True, newer, older, far, pairs, lengths)
    pairs, lengths = pairs[:count], lengths[:count]
    assert_allclose(lengths, FAR[pairs[:, 0], pairs[:, 1]], rtol=1e-5)
    whole = [part.copy() for part in found]
    changed = _native.descent_apply(pairs, lengths, 0, N, *whole)
    mixed = np.random.default_rng(1).permutation(count)
    halves = [(pairs[mixed], lengths[mixed], 40, N), (pairs, lengths, 0, 40)]
    _ = [_native.descent_apply(*some, *found) for some in halves]
    assert_array_equal(ids, whole[0])  # in any order and parts
    assert changed > 0
    assert (far <= before).all()


def test_walks_find_the_nearest_rows():
    table, order, starts, children, pivots, bounds = parts()
    held = X[order]
    found = lists()
    _native.descent_leaves(held, True, EVERY, ALL, *found)
    links = np.empty((N, 2 * K), np.int32)
    _native.descent_links(found[0], found[1], links)
    assert_array_equal(links[:, :K], found[0])
    for p in range(N):
        for q in links[p, K:][links[p, K:] >= 0]:
            assert p in found[0][q]
    out = np.empty((N, 3), np.int32)
    tree = children, pivots, bounds, starts
    near = np.argsort(FAR[order][:, order], axis=1)
    for own, first in ((np.full(N, -1, np.int32), 0), (EVERY, 1)):
        _native.descent_walk(held, True, links, *tree, held, table[order], own, 1, N, out)
        assert (out == near[:, first : first + 3]).mean() > 0.99
    # without links a walk sees the leaves at which it begins: more of them, and at last all rows
    alone, shares = np.full_like(links, -1), []
    for probes in (1, 2, 4, len(starts) - 1, 1000):
        _native.descent_walk(held, True, alone, *tree, held, table[order], EVERY, probes, N, out)
        shares.append((out == near[:, 1:4]).mean())
    assert (np.diff(shares[:4]) > 0).all()
    assert shares[3] == shares[4] == 1
    with pytest.raises(ValueError, match="must begin in a leaf"):
        _native.descent_walk(held, True, links, *tree, held, table[order], EVERY, 0, N, out)


def test_steps_of_walks_are_those_of_a_sorted_list():
    rng = np.random.default_rng(2)
    links = rng.integers(-1, N, (N, 4)).astype(np.int32)
    links[5] = -2, N, 2**31 - 1, 7  # numbers of no row are passed over
    q, wide, beyond = 6, 5, np.iinfo(np.int32)
    ids, far = np.full((q, wide), -1, np.int32), np.full((q, wide), np.inf)
    closed, seen = np.ones((q, wide), np.uint8), np.zeros((q, N), np.uint8)
    entries = [5, 3, 9, beyond.max, 8, 5]
    ids[:, 0], far[:, 0], closed[:, 0] = entries, 2.0, 0
    views = [[(2.0, e, True)] + [(np.inf, -1, False)] * (wide - 1) for e in entries]
    met = [set() for _ in entries]
    room = np.full((q * 4 + 1, 2), -7)
    for _ in range(60):
        wanted = []
        for i, view in enumerate(views):
            listed = []
            for j, (f, row, left) in enumerate(view):
                if not left or row >= N or listed:
                    continue
                view[j] = f, row, False
                for near in links[row].tolist():
                    if 0 <= near < N and near not in met[i]:
                        met[i].add(near)
                        listed.append((i, near))
            wanted += listed
        count = _native.descent_open(links, ids, closed, seen, room[:-1])
        assert [*map(tuple, room[:count].tolist())] == wanted
        lengths = rng.choice([0.5, 1.0, 1.0, 3.0, np.inf, np.nan], count)
        _native.descent_meet(room[:count], lengths, ids, far, closed)
        for (i, row), f in zip(wanted, lengths.tolist(), strict=True):
            if f < np.inf:
                views[i] = sorted([*views[i], (f, row, True)], key=lambda s: s[:2])[:wide]
        assert_array_equal(ids, [[row for _, row, _ in view] for view in views])
        assert_array_equal(far, [[f for f, _, _ in view] for view in views])
    assert count == 0
    assert (room[-1] == -7).all()


def test_pairs_of_no_query_are_refused():
    for pair in ([2, 0], [-1, 0], [0, -1], [0, 2**31]):
        given = arguments("meet")
        given[0] = np.array([pair, [0, 0]])
        with pytest.raises(ValueError, match="numbers of queries and rows"):
            _native.descent_meet(*given)


def arguments(name):
    """Arguments that fit."""
    ids, far, fresh = nearest()
    newer, older = (np.full((N, ROOM), -1, np.int32) for _ in range(2))
    pairs, lengths = np.empty((N * 22, 2), np.int32), np.empty(N * 22, np.float32)
    table, order, starts, children, pivots, bounds = parts()
    some = np.empty((N, 6), np.float32)
    room = np.empty((40, 2), np.int32), np.empty((40, 2), np.int32), np.empty(40, np.float32)
    return {
        "table": [X, True, X, EVERY[:6], some],
        "parts": [table, table[:6].copy(), 8, 1, order, *room, np.empty(41, np.int32)],
        "leaves": [X, True, order, starts, ids, far, fresh],
        "candidates": [1, ids, fresh, newer, older],
        "join": [X, True, newer, older, far, pairs, lengths],
        "apply": [np.zeros((4, 2), np.int32), np.zeros(4, np.float32), 0, N, ids, far, fresh],
        "links": [ids, far, np.empty((N, 2 * K), np.int32)],
        "walk": [X, True, np.zeros((N, 4), np.int32), children, pivots, bounds, starts, X, table,
                 EVERY, 2, 9, np.empty((N, 3), np.int32)],
        "open": [np.zeros((N, 4), np.int32), np.zeros((2, 3), np.int32), np.zeros((2, 3), np.uint8),
                 np.zeros((2, N), np.uint8), np.empty((8, 2), np.int64)],
        "meet": [np.zeros((2, 2), np.int64), np.zeros(2), np.zeros((2, 3), np.int32),
                 np.zeros((2, 3)), np.zeros((2, 3), np.uint8)],
    }[name]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["table", "parts", "leaves", "candidates", "join", "apply", "links", "walk", "open", "meet"],
)
def test_arguments_that_do_not_fit_are_refused(name):
    call = getattr(_native, f"descent_{name}")
    call(*arguments(name))
    for place, value in enumerate(arguments(name)):
        if not isinstance(value, np.ndarray):
            continue
        wrong = arguments(name)
        wrong[place] = np.zeros(value.shape, complex)
        with pytest.raises(TypeError):
            call(*wrong)
        if (name, place) == ("leaves", 3):  # no leaves
            continue
        wrong = arguments(name)
        wrong[place] = value[:1].copy()
        with pytest.raises(ValueError, match=r"must|no row"):
            call(*wrong)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("table", 3),
        ("leaves", 2),
        ("candidates", 1),
        ("join", 2),
        ("join", 3),
        ("apply", 0),
        ("links", 0),
        ("walk", 9),
    ],
)
def test_numbers_of_no_row_are_refused(name, place):
    for number in (N, -2):
        wrong = arguments(name)
        wrong[place] = wrong[place].copy()
        wrong[place].flat[0] = number
        with pytest.raises(ValueError, match="no row"):
            getattr(_native, f"descent_{name}")(*wrong)


def test_rows_of_other_widths_are_refused():
    with pytest.raises(ValueError, match="multiple of 16"):
        _native.descent_table(X[:, :7].copy(), True, X, EVERY[:6], np.empty((N, 6), np.float32))
