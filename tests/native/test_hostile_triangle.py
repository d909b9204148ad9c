"""Products with strips of a triangle: wrong shapes are refused before anything is read."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import _native


def arrays(h, w, c):
    A = np.random.default_rng(0).normal(size=(h, w)).astype(np.float32)
    return A, np.ones((w, c), np.float32), np.zeros((w, c))


@pytest.mark.parametrize("isa", _native.available_isas())
@pytest.mark.parametrize(("h", "w"), [(1, 1), (3, 3), (5, 700), (400, 401), (800, 1000)])
@pytest.mark.parametrize("c", [16, 32, 48])
def test_as_numpy(isa, h, w, c):
    A, _, out = arrays(h, w, c)
    A[:, :h] = (A[:, :h] + A[:, :h].T) / 2
    V = np.random.default_rng(1).normal(size=(w, c)).astype(np.float32)
    before = _native.isa()
    _native.use_isa(isa)
    try:
        _native.triangle_add_strip(A, V, out)
        first = out.copy()
        _native.triangle_add_strip(A, V, out)
    finally:
        _native.use_isa(before)
    wanted = np.zeros((w, c))
    wanted[:h] = A.astype(np.float64) @ V
    wanted[h:] = A[:, h:].T.astype(np.float64) @ V[:h]
    assert_allclose(first, wanted, atol=1e-4)
    assert_allclose(out, 2 * wanted, atol=2e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda A, V, out: (np.ones((9, 5), np.float32), V[:5], out[:5]), "for each of its rows"),
        (lambda A, V, out: (A, V[:-1], out), "a row for each column"),
        (lambda A, V, out: (A, V, out[:-1]), "a row for each column"),
        (lambda A, V, out: (A, V, np.zeros((len(out), 32))), "columns of V"),
        (lambda A, V, out: (A, np.ones((7, 3), np.float32), np.zeros((7, 3))), "multiple of 16"),
    ],
)
def test_wrong_shapes(change, message):
    with pytest.raises(ValueError, match=message):
        _native.triangle_add_strip(*change(*arrays(4, 7, 16)))


def test_wrong_kinds_and_no_columns():
    A, V, out = arrays(4, 7, 16)
    for wrong in ((A.astype(np.float64), V, out), (A, V, out.astype(np.float32)), (A.T, V, out)):
        with pytest.raises(TypeError):
            _native.triangle_add_strip(*wrong)
    _native.triangle_add_strip(A, np.ones((7, 0), np.float32), np.zeros((7, 0)))
    _native.triangle_add_strip(A[:0], V, out)
    assert (out == 0).all()
