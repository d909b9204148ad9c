"""Forces of maps: any points are read within the grid, and wrong shapes are refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _native

RNG = np.random.default_rng(0)
SIDE, N = 16, 30
POINTS = RNG.uniform(0, 1, (N, 2))
SPACE = np.random.default_rng(1).normal(size=(N, 3))
WILD = np.array([[np.nan, 0.5], [np.inf, -np.inf], [1e300, -1e300], [-5.0, 99.0]])
GRID = (-0.5, -0.5, 0.2)
FIELD = RNG.normal(size=(SIDE, SIDE))


def spread(Y, side=SIDE):
    charges = np.zeros((side, side), np.int64)
    _native.embedding_spread(Y, *GRID, charges)
    return charges


def gather(Y):
    out = np.empty((len(Y), 3))
    _native.embedding_gather(Y, *GRID, FIELD, out)
    return out


def edges(n=N):
    """A ring, as sparse rows."""
    starts, columns = 2 * np.arange(n + 1), np.c_[np.arange(n) - 1, np.arange(n) + 1].ravel() % n
    return starts.astype(np.int64), columns.astype(np.int32), np.full(2 * n, 0.5 / n, np.float32)


def descend(begin=0, end=N, Y=POINTS, **changed):
    starts, columns, pull = edges()
    given = {
        "starts": starts, "columns": columns, "pull": pull, "moved": np.zeros_like(Y),
        "gains": np.ones_like(Y), "out": Y.copy(),
    }  # fmt: skip
    given |= changed
    given.setdefault("push", gather(Y[:, :2].copy())[begin:end])
    _native.embedding_descend(
        begin, exaggeration=2.0, share=9.0, rate=3.0, momentum=0.5, longest=1.0, Y=Y, **given
    )
    return given["out"]


def summed(Z=SPACE):
    out = np.empty((len(Z), 4))
    _native.embedding_sum(*(np.ascontiguousarray(one.T, np.float32) for one in (SPACE, Z)), out)
    return out


def place_among(near, Y=SPACE, out=None):
    out = np.empty((len(near), 3)) if out is None else out
    _native.embedding_place_among(near, Y, 1.0, 1.0, 20, 0.1, out)
    return out


def place(near, **changed):
    given = {"Y": POINTS, "potential": FIELD, "out": np.empty((len(near), 2))} | changed
    _native.embedding_place(
        near, given["Y"], *GRID, given["potential"], 1.0, 1.0, 20, 0.1, given["out"]
    )
    return given["out"]


@pytest.mark.parametrize("isa", _native.available_isas())
def test_all_instruction_sets_agree(isa):
    near = RNG.integers(0, N, (7, 4))
    deep = {"Y": SPACE, "push": summed()}
    calls = [
        lambda: spread(POINTS), lambda: gather(POINTS), descend, lambda: place(near),
        lambda: descend(**deep), lambda: place_among(near),
    ]  # fmt: skip
    wanted, sums = [call() for call in calls], summed()
    before = _native.isa()
    _native.use_isa(isa)
    try:
        found, other_sums = [call() for call in calls], summed()
    finally:
        _native.use_isa(before)
    assert_allclose(found[0], wanted[0], atol=2)
    assert_allclose(other_sums, sums, atol=1e-5)
    for one, other in zip(found[1:], wanted[1:]):
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_splines_keep_charges_and_read_lines():
    assert_allclose(spread(POINTS).sum() * 2.0**-32, N, rtol=1e-6)
    x, y = GRID[0] + GRID[2] * np.arange(SIDE), GRID[1] + GRID[2] * np.arange(SIDE)
    out = np.empty((N, 3))
    _native.embedding_gather(POINTS, *GRID, 3 * x[:, None] - 2 * y + 1, out)
    wanted = [3 * POINTS[:, 0] - 2 * POINTS[:, 1] + 1, np.full(N, 3.0), np.full(N, -2.0)]
    assert_allclose(out, np.transpose(wanted), atol=1e-9)


def test_a_step_is_that_of_the_formula():
    _, columns, pull = edges()
    P = np.zeros((N, N))
    P[np.repeat(np.arange(N), 2), columns] = pull
    gaps = POINTS[:, None] - POINTS
    drawn = (P / (1 + (gaps**2).sum(axis=2)))[..., None] * gaps
    slope = 4 * (2.0 * drawn.sum(axis=1) + gather(POINTS)[:, 1:] / 2 / 9.0)
    gains = np.where(slope > 0, 1.2, 0.8)  # nothing has moved yet
    step = -3.0 * gains * slope
    step /= np.maximum(np.linalg.norm(step, axis=1), 1.0)[:, None]
    assert_allclose(descend(), POINTS + step, rtol=1e-6)
    halves = descend(0, 11), descend(11, N)
    assert_array_equal(np.r_[halves[0][:11], halves[1][11:]], descend())


def test_sums_are_those_of_the_formula():
    gaps = SPACE[:, None] - SPACE
    q = 1 / (1 + (gaps**2).sum(axis=2))
    wanted = np.c_[q.sum(axis=1), (-2 * q[..., None] ** 2 * gaps).sum(axis=1)]
    assert_allclose(summed(), wanted, atol=1e-5)
    assert_array_equal(summed(SPACE[5:8]), summed()[5:8])


def test_points_anywhere_stay_within_the_grid():
    assert spread(WILD).sum() > 0
    assert np.isfinite(gather(WILD)).all()
    Y = np.vstack([POINTS[:-4], WILD])
    assert descend(Y=Y).shape == Y.shape
    assert place(np.arange(N)[:, None], Y=Y).shape == (N, 2)
    assert summed(np.array([[np.nan, 0.5, 1e30]])).shape == (1, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spread(POINTS, 7), "8 nodes on a side"),
        (lambda: spread(np.zeros((3, 3))), "points must have 2 columns"),
        (
            lambda: _native.embedding_spread(POINTS, 0.0, 0.0, 0.0, np.zeros((8, 8), np.int64)),
            "spacing must be > 0",
        ),
        (
            lambda: _native.embedding_spread(POINTS, *GRID, np.zeros((8, 9), np.int64)),
            "must be square",
        ),
        (
            lambda: _native.embedding_gather(POINTS, *GRID, FIELD, np.empty((N - 1, 3))),
            "a row for each point",
        ),
        (lambda: descend(push=np.zeros((N + 1, 3))), "rows of points that there are"),
        (lambda: descend(push=np.zeros((N, 2))), "push must have one column more"),
        (lambda: descend(starts=np.zeros(N, np.int64)), "one number more"),
        (lambda: descend(starts=edges()[0] + 1), "starts must ascend"),
        (lambda: descend(starts=edges()[0][::-1].copy()), "starts must ascend"),
        (lambda: descend(starts=edges()[0] - 1), "starts must ascend"),
        (lambda: descend(columns=edges()[1] + 1), "numbers of points"),
        (lambda: descend(columns=edges()[1] - 1), "numbers of points"),
        (lambda: descend(pull=edges()[2][:-1]), "as many numbers as columns"),
        (lambda: descend(moved=np.zeros((N - 1, 2))), "must have a row for each point"),
        (lambda: descend(gains=np.zeros((N, 3))), "points must have 2 columns"),
        (lambda: descend(Y=np.zeros((N, 4)), push=np.zeros((N, 5))), "1 to 3 columns"),
        (
            lambda: _native.embedding_sum(*2 * [np.zeros((2, 9), np.float32)], np.empty((9, 4))),
            "3 rows, one for each",
        ),
        (
            lambda: _native.embedding_sum(*2 * [np.zeros((3, 9), np.float32)], np.empty((9, 3))),
            "4 numbers for each",
        ),
        (lambda: place_among(np.full((2, 3), N)), "numbers of points, or -1"),
        (lambda: place_among(np.full((2, 3), -1)), "must have a neighbour"),
        (lambda: place_among(np.zeros((2, 3), np.int64), POINTS), "2 columns, or 3"),
        (lambda: place_among(np.zeros((2, 3), np.int64), out=np.empty((3, 3))), "each row of near"),
        (lambda: place(np.full((2, 3), N)), "numbers of points, or -1"),
        (lambda: place(np.full((2, 3), -2)), "numbers of points, or -1"),
        (lambda: place(np.full((2, 3), -1)), "must have a neighbour"),
        (lambda: place(np.zeros((2, 0), np.int64)), "must have a neighbour"),
        (lambda: place(np.zeros((2, 1), np.int64), out=np.empty((3, 2))), "for each row of near"),
    ],
)
def test_wrong_shapes(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_wrong_kinds():
    with pytest.raises(TypeError):
        spread(POINTS.astype(np.float32))
    with pytest.raises(TypeError):
        descend(out=np.zeros((N, 2), np.float32))
    with pytest.raises(TypeError):
        place(np.zeros((2, 1), np.int32))
