"""The mixture: its likelihood, and what is assumed of matches."""

import numpy as np
import pytest

from mercer.link import model
from mercer.link.model import Mixture, Patterns, learn_mixture


def drawn(n=4000, seed=0):
    """Levels of n pairs in three columns: matches, and pairs that agree by chance; and u."""
    rng = np.random.default_rng(seed)
    u = np.zeros((3, 8))
    u[:, [0, 2, 4, 5]] = 0.7, 0.2, 0.05, 0.05
    u[:, 7] = 1
    m = np.zeros((3, 8))
    m[:, [0, 2, 4, 5]] = 0.05, 0.05, 0.2, 0.7
    match = rng.random(n) < 0.3
    tables = np.where(match[:, None, None], m, u)[:, :, :7]
    levels = (rng.random((n, 3, 1)) > tables.cumsum(axis=2)).sum(axis=2).astype(np.uint8)
    levels[rng.random((n, 3)) < 0.1] = 7
    return levels, u, match


def test_em_finds_the_classes_and_their_likelihood():
    levels, u, match = drawn()
    patterns, total = Patterns.of(levels), 50_000.0
    start = model._normalised((u > 0) * model.START)
    found, likelihood = model._ascend(
        patterns, np.array([start, (start + u) / 2, u]), np.array([0.01, 0.005, 0.985]), total,
    )  # fmt: skip
    post = found.posterior(levels)[:, 0]
    assert post[match].mean() > 10 * post[~match].mean()
    logs = np.log(np.maximum(found.tables, 1e-300))
    logs[:, :, 7] = 0
    # pair by pair; all others are random ones
    each = np.log(found.shares) + sum(logs[:, k, levels[:, k]].T for k in range(3))
    direct = np.logaddexp.reduce(each, axis=1).sum()
    direct += (total - len(levels)) * np.log(found.shares[-1])
    assert likelihood == pytest.approx(direct, rel=1e-9)
    begin = Mixture(found.tables, np.array([0.1, 0.1, 0.8]), found.matches, 0)
    again = learn_mixture(patterns, u, total, 0.01, 1, begin)
    np.testing.assert_allclose(again.prior, found.prior, rtol=0.01)


def test_matches_agree_in_each_column_at_least_as_often_as_not():
    table = np.zeros((3, 8))
    table[0, [0, 2, 4, 5]] = 0.6, 0.2, 0.05, 0.15
    table[1, [0, 1, 3, 5]] = 0.1, 0.1, 0.3, 0.5
    table[2, [0, 1]] = 0.5, 0.5  # a column that cannot agree stays as it is
    found = model._agreeing(table.copy())
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found[0], [0.375, 0, 0.125, 0, 0.125, 0.375, 0, 0])
    np.testing.assert_array_equal(found[1:], table[1:])
