"""Arrays of wrong shapes are refused by the searches among rows: they would read past the end."""

import numpy as np
import pytest

from mercer import _native


def rows(**changes):
    right = {
        "Q": np.zeros((2, 3)), "own": np.full(2, -1), "X": np.zeros((5, 3)), "first": 0,
        "w": np.ones(3), "origin": np.zeros(3), "features": np.arange(3, dtype=np.int32),
        "p": 2.0, "safe": True, "distances": np.empty((2, 4)), "ids": np.empty((2, 4), np.int64),
    }  # fmt: skip
    return right | changes


def tree(**changes):
    right = {
        "rows": np.zeros((2, 3, 16)), "order": np.arange(20), "features": np.zeros(1, np.int32),
        "bounds": np.zeros((1, 2)), "box": np.zeros((2, 3)), "Q": np.zeros((2, 3)),
        "own": np.full(2, -1), "w": np.ones(3), "p": 2.0, "safe": True,
        "distances": np.empty((2, 4)), "ids": np.empty((2, 4), np.int64),
    }  # fmt: skip
    return right | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"Q": np.zeros((2, 4))}, {"own": np.zeros(3, np.int64)}, {"w": np.ones(2)},
        {"origin": np.zeros(4)}, {"features": np.zeros(2, np.int32)},
        {"features": np.array([0, 1, 3], np.int32)}, {"features": np.array([0, -1, 2], np.int32)},
        {"distances": np.empty((2, 3))}, {"ids": np.empty((3, 4), np.int64)},
        {"distances": np.empty((2, 0)), "ids": np.empty((2, 0), np.int64)},
    ],
)  # fmt: skip
def test_wrong_shapes_of_rows(changes):
    _native.nearest_rows(**rows())
    with pytest.raises(ValueError, match=r"must be"):
        _native.nearest_rows(**rows(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": np.zeros((2, 3, 8))}, {"order": np.arange(40)}, {"order": np.arange(0)},
        {"features": np.array([3], np.int32)}, {"features": np.zeros(2, np.int32)},
        {"bounds": np.zeros((2, 2))}, {"box": np.zeros((2, 2))}, {"Q": np.zeros((2, 2))},
        {"own": np.zeros(1, np.int64)}, {"w": np.ones(4)}, {"ids": np.empty((2, 3), np.int64)},
    ],
)  # fmt: skip
def test_wrong_shapes_of_trees(changes):
    _native.kd_nearest(**tree())
    with pytest.raises(ValueError, match=r"must be"):
        _native.kd_nearest(**tree(**changes))
    if not set(changes) & {"distances", "ids"}:
        kept = {"distances": np.empty(9), "ids": np.empty(9, np.int64)}
        room = kept | {"radius": 1.0, "queries": np.empty(9, np.int64)}
        _native.kd_within(**tree(**room))
        with pytest.raises(ValueError, match=r"must be"):
            _native.kd_within(**tree(**changes, **room))


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": np.zeros((2, 3, 8))}, {"order": np.arange(40)}, {"bounds": np.zeros((2, 2))},
        {"features": np.array([3], np.int32)}, {"box": np.zeros((2, 2))},
        {"Q": np.zeros((2, 2))}, {"leaf": np.empty(3, np.int64)},
    ],
)  # fmt: skip
def test_wrong_shapes_of_leaves(changes):
    names = ("rows", "order", "features", "bounds", "box", "Q")
    right = {name: part for name, part in tree().items() if name in names}
    right["leaf"] = np.empty(2, np.int64)
    _native.kd_leaves(**right)
    with pytest.raises(ValueError, match="must"):
        _native.kd_leaves(**right | changes)


def test_wrong_shapes_of_builds_and_results():
    with pytest.raises(ValueError, match="shapes must be X"):
        _native.kd_build(
            np.zeros((20, 3)), np.ones(3), np.empty(19, np.int64), np.empty(1, np.int32),
            np.empty((1, 2)),
        )  # fmt: skip
    within = {k: v for k, v in rows().items() if k not in ("distances", "ids")}
    with pytest.raises(ValueError, match="one length"):
        _native.rows_within(
            **within, radius=1.0, queries=np.empty(3, np.int64), ids=np.empty(2, np.int64),
            distances=np.empty(3),
        )  # fmt: skip


def edges(n, nodes):
    return {
        "core": np.zeros(n), "part": np.arange(n), "whole": np.full(nodes, -1),
        "least": np.zeros(nodes), "lengths": np.full(n, np.inf), "ids": np.full(n, -1),
        "limits": np.full(n, np.inf),
    }  # fmt: skip


@pytest.mark.parametrize("searched", ["tree", "rows"])
@pytest.mark.parametrize(
    "changes",
    [
        {"core": np.zeros(4)}, {"part": np.full(20, 20)}, {"part": np.full(20, -1)},
        {"limits": np.zeros(19)}, {"whole": np.zeros(2, np.int64)}, {"least": np.zeros(4)},
        {"own": np.array([0, 20])}, {"own": np.array([-1, 0])}, {"ids": np.zeros(1, np.int64)},
    ],
)  # fmt: skip
def test_wrong_edges(searched, changes):
    of_tree = searched == "tree"
    reach = _native.kd_reach if of_tree else _native.rows_reach
    right = tree() if of_tree else rows(X=np.zeros((20, 3)))
    right |= edges(20, 3 if of_tree else 0) | {"own": np.array([3, 5])}
    del right["distances"]
    reach(**right)
    with pytest.raises(ValueError, match="must"):
        reach(**right | changes)
    if of_tree:
        with pytest.raises(ValueError, match="order must be"):
            reach(**right | {"order": np.full(20, 20)})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 2.5, 3, 4, np.inf])
def test_listed_pairs_are_those_of_the_search(dtype, p):
    rng = np.random.default_rng(3)
    for d in (0, 1, 7, 8, 9, 40):
        Q, X = (rng.integers(-3, 4, (n, d)).astype(dtype) / 2 for n in (4, 6))
        w = rng.random(d).astype(dtype)
        near = {"queries": np.empty(24, np.int64), "ids": np.empty(24, np.int64)}
        given = rows(Q=Q, X=X, w=w, own=np.full(4, -1), p=p, origin=np.zeros(d, dtype),
                     features=np.arange(d, dtype=np.int32), radius=np.inf,
                     distances=np.empty(24, dtype)) | near  # fmt: skip
        assert _native.rows_within(**given) == 24
        guarded = np.full(26, -7, dtype)
        pairs = np.stack([given["queries"], given["ids"]], axis=1)
        _native.rows_of_pairs(Q, X, w, p, pairs, guarded[1:-1])
        np.testing.assert_array_equal(guarded[1:-1], given["distances"])
        assert (guarded[[0, -1]] == -7).all()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, np.zeros((2, 4))), (1, np.zeros((5, 2))), (2, np.ones(2)),
        (4, np.zeros((2, 3), np.int64)), (5, np.empty(3)), (4, np.array([[0, 0], [2, 0]])),
        (4, np.array([[0, -1], [0, 0]])), (4, np.array([[0, 5], [0, 0]])),
    ],
)  # fmt: skip
def test_listed_pairs_that_are_refused(place, value):
    given = [np.zeros((2, 3)), np.zeros((5, 3)), np.ones(3), 2.0, np.array([[0, 4], [1, 0]]),
             np.empty(2)]  # fmt: skip
    _native.rows_of_pairs(*given)
    with pytest.raises(ValueError, match="must"):
        _native.rows_of_pairs(*given[:place], value, *given[place + 1 :])
