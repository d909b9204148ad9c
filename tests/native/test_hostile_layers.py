"""Layers of the arc-cosine kernel on hostile tiles, against numpy; see test_hostile.py."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _native
from native.test_hostile import DTYPES, REFUSED, WIDTHS, assert_guarded, place


def response(c, degree):
    t, s = np.arccos(np.clip(c, -1, 1)), np.sqrt(np.maximum(1 - c * c, 0))
    rest = np.pi - t
    values = rest, s + rest * c, 3 * s * c + rest * (1 + 2 * c * c)
    return values[degree] / (np.pi, np.pi, 3 * np.pi)[degree]


def layers_of(c, degree, layers):
    for _ in range(layers):
        c = response(c, degree)
    return c


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_tiles_of_every_size(degree, dtype, shift):
    rng = np.random.default_rng(0)
    for n in (0, 1, 3):
        for m in [*WIDTHS, 255, 256, 257]:
            layers = int(rng.integers(0, 4))
            factors = [place((0.5 + rng.random(s)).astype(dtype), shift) for s in (n, m, n, m)]
            x, z, out_x, out_z = factors
            c = rng.uniform(-0.95, 0.95, (n, m))
            G = place((c / np.multiply.outer(x, z)).astype(dtype), shift)
            c = G.astype(float) * np.multiply.outer(x.astype(float), z)
            expected = layers_of(c, degree, layers) * np.multiply.outer(out_x, out_z)
            _native.arc_cosine(G, *factors, degree, layers)
            assert_allclose(G, expected, atol=60 * np.finfo(dtype).eps)
            for array in (G, *factors):
                assert_guarded(array, shift)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_cosines_beyond_one_and_what_is_no_number(degree, dtype):
    eps = np.finfo(dtype).eps
    c = np.array([1, 1 - eps, 1 + 9 * eps, 7, np.inf, -1, 9 * eps - 1, -7, np.nan, -0.0, 0], dtype)
    G, one = c[None].copy(), np.ones(len(c), dtype)
    _native.arc_cosine(G, one[:1], one, one[:1], one, degree, 1)
    assert_array_equal(G[0, 5:8], 0)
    assert_allclose(G[0, :5], 1, rtol=2 * eps)
    assert np.isnan(G[0, 8])
    assert_allclose(G[0, 9:], response(np.zeros(2), degree), rtol=4 * eps)
    if degree == 0:
        assert_array_equal(G[0, :5], 1)


def test_symmetric_tiles_stay_symmetric():
    rng = np.random.default_rng(1)
    for dtype in DTYPES:
        X = rng.normal(size=(70, 2)).astype(dtype)
        G = (X @ X.T + (X @ X.T).T) / 2
        r = 1 / np.sqrt(G.diagonal())
        _native.arc_cosine(G, r, r, r + 1, r + 1, 0, 3)
        assert_array_equal(G, G.T)


def test_refusals():
    one = np.ones(3)
    for degree in (-1, 3, 100):
        with pytest.raises(ValueError, match="degree must be 0, 1 or 2"):
            _native.arc_cosine(np.ones((3, 3)), one, one, one, one, degree, 1)
    for wrong in range(4):
        vectors = [one] * 4
        vectors[wrong] = np.ones(2)
        with pytest.raises(ValueError, match="shapes must be"):
            _native.arc_cosine(np.ones((3, 3)), *vectors, 1, 1)
    for convert in REFUSED.values():
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.arc_cosine(convert(np.ones((2, 3))), one[:2], one, one[:2], one, 1, 1)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _native.arc_cosine(np.ones((3, 3)), one, one, one, one, 1, -1)
