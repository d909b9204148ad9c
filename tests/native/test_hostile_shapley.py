"""Shapley values of product games: what all coalitions say, any sizes, and shapes refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import _native
from mercer.explain.shapley import all_coalitions, gauss_rule, pairs_of_game, values_of_game

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 2, 3, 7, 12])
def test_what_all_coalitions_say(dtype, d):
    random = np.random.default_rng(d)
    P, Q = (random.uniform(0, 1, (k, d, 37)).astype(dtype) for k in (3, 6))
    weights, alpha = random.uniform(size=6), random.normal(size=(37, 2))
    wide = P.astype(float), Q.astype(float)
    games = np.array([
        (np.prod(wide[0][:, S], axis=1) * (weights @ np.prod(wide[1][:, ~S], axis=1))) @ alpha
        for S in all_coalitions(d)
    ]).swapaxes(0, 1)  # fmt: skip
    tolerance = 1e-12 if dtype == np.float64 else 1e-6 * np.abs(alpha).sum()
    found = np.zeros((3, d, 2))
    _native.shapley_values(P, Q, weights, alpha, gauss_rule(d - 1), found)
    assert_allclose(found, [values_of_game(g) for g in games], atol=tolerance, rtol=0)
    if d > 1:
        pairs = np.zeros((3, d, d, 2))
        _native.shapley_pairs(P, Q, weights, alpha, gauss_rule(d - 2), pairs)
        whole = np.array([pairs_of_game(g) for g in games])
        above = np.triu(np.ones((d, d)), 1)[:, :, None]
        assert_allclose(pairs, whole * above, atol=tolerance, rtol=0)


def test_many_players_need_nodes_and_sum_to_the_whole():
    P, Q = (RNG.uniform(0.6, 1, (k, 31, 20)) for k in (3, 6))
    weights, alpha, found = np.full(6, 1 / 6), RNG.normal(size=(20, 1)), np.zeros((3, 31, 1))
    _native.shapley_values(P, Q, weights, alpha, gauss_rule(30), found)
    whole = P.prod(axis=1) @ alpha - weights @ Q.prod(axis=1) @ alpha
    assert_allclose(found.sum(axis=1), whole, atol=1e-14)
    few, again = (P[:, :20].copy(), Q[:, :20].copy()), np.zeros((3, 20, 1))
    ones = [np.concatenate([side, np.ones((len(side), 8, 20))], axis=1) for side in few]
    more = np.zeros((3, 28, 1))
    _native.shapley_values(*few, weights, alpha, gauss_rule(19), again)
    _native.shapley_values(*ones, weights, alpha, gauss_rule(27), more)
    assert_allclose(more[:, :20], again, atol=1e-14)  # the tree and the nodes
    assert_allclose(more[:, 20:], 0, atol=1e-15)


@pytest.mark.parametrize("sizes", [(0, 3, 4), (2, 0, 4), (2, 3, 0), (1, 1, 1), (2, 3, 65)])
@pytest.mark.parametrize("d", [1, 2, 24, 25, 40])
def test_any_sizes(sizes, d):
    n, B, m = sizes
    P, Q = (RNG.uniform(0, 1, (k, d, m)).astype(np.float32) for k in (n, B))
    weights, alpha = np.full(B, 1 / max(B, 1)), RNG.normal(size=(m, 2))
    found = np.full((n, d, 2), 7.0)
    _native.shapley_values(P, Q, weights, alpha, gauss_rule(d - 1), found)
    whole = (P.astype(float).prod(axis=1) * weights.sum()) @ alpha
    whole = whole - (weights @ Q.astype(float).prod(axis=1)) @ alpha
    assert_allclose(found.sum(axis=1) - 7 * d, np.broadcast_to(whole, (n, 2)), atol=1e-4)
    if d > 1:
        _native.shapley_pairs(P, Q, weights, alpha, gauss_rule(d - 2), np.zeros((n, d, d, 2)))


def test_wild_numbers_stay_in_their_row():
    P, Q = RNG.uniform(0, 1, (3, 5, 9)), RNG.uniform(0, 1, (4, 5, 9))
    P[1, 2, 3] = np.nan
    P[2, 0, 0] = 1e300
    found = np.zeros((3, 5, 1))
    _native.shapley_values(P, Q, np.full(4, 0.25), np.ones((9, 1)), gauss_rule(4), found)
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize("wrong", ["players", "rows", "out", "nodes", "alone"])
def test_shapes_that_do_not_fit_are_refused(wrong):
    P, Q, out, nodes = np.ones((2, 3, 4)), np.ones((5, 3, 4)), np.zeros((2, 3, 1)), gauss_rule(2)
    alpha = np.ones((3 if wrong == "rows" else 4, 1))
    if wrong == "alone":
        with pytest.raises(ValueError, match="two for pairs"):
            _native.shapley_pairs(P[:, :1].copy(), Q[:, :1].copy(), np.ones(5), alpha, nodes,
                                  np.zeros((2, 1, 1, 1)))  # fmt: skip
        return
    Q = Q[:, :2].copy() if wrong == "players" else Q
    out = out[:1].copy() if wrong == "out" else out
    nodes = nodes[:0].copy() if wrong == "nodes" else nodes
    with pytest.raises(ValueError, match="must have"):
        _native.shapley_values(P, Q, np.ones(5), alpha, nodes, out)
