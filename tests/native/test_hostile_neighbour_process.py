"""Gaussian processes on given neighbours: as defined, also where rows are missing; wrong arrays are
refused before anything is read."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import _native

RNG = np.random.default_rng(0)


def processes(X, y, Z, near, kind, scale, noise):
    """The definition, in float64."""
    profiles = (
        lambda t: np.exp(-t), lambda t: (1 + t) * np.exp(-t), lambda t: np.exp(-t * t)
    )  # fmt: skip
    means, variances = [], []
    for z, rows in zip(Z.astype(float), near):
        x, targets = X[rows[rows >= 0]].astype(float), y[rows[rows >= 0]].astype(float)
        K = profiles[kind](scale * np.linalg.norm(x[:, None] - x, axis=2))
        k = profiles[kind](scale * np.linalg.norm(x - z, axis=1))
        both = np.linalg.solve(K + noise * np.eye(len(x)), np.column_stack([targets, k]))
        means.append(k @ both[:, 0])
        variances.append(1 + noise - k @ both[:, 1])
    return np.array(means), np.array(variances)


@pytest.mark.parametrize("isa", _native.available_isas())
@pytest.mark.parametrize(
    ("k", "d"), [(1, 1), (2, 3), (13, 1), (14, 2), (15, 2), (30, 4), (31, 1), (32, 20), (64, 5)]
)
def test_the_loop_is_the_definition(isa, k, d):
    rows = RNG.normal(size=(80, d)).astype(np.float32)
    y, Z = RNG.normal(size=80).astype(np.float32), RNG.normal(size=(7, d)).astype(np.float32)
    near = np.argsort(np.linalg.norm(Z[:, None] - rows, axis=2), axis=1)[:, :k].astype(np.int64)
    near[0, -1], near[1, 0], near[2] = -1, -1, -1  # rows that were not found
    mean, variance = np.empty((2, 7), np.float32)
    before = _native.isa()
    assert _native.use_isa(isa)
    try:
        for kind in range(3):
            _native.neighbour_process(rows, y, Z, near, kind, 0.7, 0.05, mean, variance)
            wanted = processes(rows, y, Z, near, kind, 0.7, 0.05)
            assert_allclose(mean, wanted[0], atol=1e-4)
            assert_allclose(variance, wanted[1], atol=1e-5)
    finally:
        _native.use_isa(before)


def test_the_loop_refuses_what_would_be_read_beyond_the_rows():
    rows, y, out = np.zeros((3, 2), np.float32), np.zeros(3, np.float32), np.zeros(1, np.float32)
    for near, new, kind in (([[3]], rows[:1], 0), ([[0]], rows[:1, :1].copy(), 0),
                            ([[0]], rows[:2], 0), ([[0]], rows[:1], 3)):  # fmt: skip
        with pytest.raises(ValueError, match="must"):
            _native.neighbour_process(rows, y, new, np.array(near), kind, 1.0, 0.1, out, out.copy())
