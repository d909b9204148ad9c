"""The loops of binned columns against their twins, for every instruction set."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _native

SIZES = [0, 1, 31, 32, 33, 255, 1000]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", SIZES)
def test_bins_are_the_edges_below(n, dtype):
    rng = np.random.default_rng(n)
    edges = np.full((3, 255), np.inf, dtype)
    for row, count in zip(edges, [0, 7, 254]):
        row[:count] = np.sort(rng.normal(size=count))
    X = rng.normal(size=(n, 3)).astype(dtype)
    X[rng.random((n, 3)) < 0.2] = np.nan
    X[rng.random((n, 3)) < 0.1] = edges[1, 3]  # a number on an edge is below it
    X[rng.random((n, 3)) < 0.05] = np.inf
    X[rng.random((n, 3)) < 0.05] = -np.inf
    gaps = np.array([1, 8, 255], np.uint8)
    codes = np.full((3, n + 5), 77, np.uint8)
    _native.search_bins(X, edges, gaps, codes, 2)
    for j in range(3):
        wanted = np.searchsorted(edges[j, : [0, 7, 254][j]], X[:, j])
        assert_array_equal(codes[j, 2:-3], np.where(np.isnan(X[:, j]), gaps[j], wanted))
    assert (codes[:, :2] == 77).all()
    assert (codes[:, -3:] == 77).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("n", SIZES)
def test_sums_and_reads(n, dtype):
    rng = np.random.default_rng(n)
    codes, v = rng.integers(0, 200, n).astype(dtype), rng.normal(size=n)
    out, twin = np.ones(200), np.ones(200)
    _native.add_bin_sums(codes, v, out)
    np.add.at(twin, codes, v)
    assert_array_equal(out, twin)
    read, table = np.ones(n), rng.normal(size=200)
    _native.add_bin_reads(codes, table, read)
    assert_array_equal(read, 1 + table[codes])


@pytest.mark.parametrize("n", SIZES)
def test_tables_of_two_columns(n):
    rng = np.random.default_rng(n)
    a, b = rng.integers(0, 5, n).astype(np.uint8), rng.integers(0, 256, n).astype(np.uint8)
    for w in (None, rng.random(n)):
        out, twin = np.ones((5, 256)), np.ones((5, 256))
        _native.add_pair_table(a, b, w, out)
        np.add.at(twin, (a, b), 1 if w is None else w)
        assert_array_equal(out, twin)
    cells = np.empty(n, np.uint16)
    _native.pair_cells(a, b, 256, cells)
    assert_array_equal(cells, a.astype(int) * 256 + b)


@pytest.mark.parametrize("n", [1, 2, 33, 500])
def test_the_recursion_is_the_dense_product(n):
    rng = np.random.default_rng(n)
    t, v = np.sort(rng.normal(size=n)), rng.normal(size=n)
    out = np.empty(n)
    _native.laplacian_product(np.exp(-np.diff(t)), v, out)
    assert_allclose(out, np.exp(-np.abs(t[:, None] - t)) @ v, rtol=1e-10, atol=1e-12)


def test_codes_beyond_a_table_are_refused():
    codes = np.array([0, 9], np.uint8)
    with pytest.raises(ValueError, match="less than the size"):
        _native.add_bin_sums(codes, np.ones(2), np.zeros(9))
    with pytest.raises(ValueError, match="less than the size"):
        _native.add_bin_reads(codes, np.ones(9), np.zeros(2))
    with pytest.raises(ValueError, match="less than the size"):
        _native.add_pair_table(codes, codes, None, np.zeros((10, 9)))
    with pytest.raises(ValueError, match="255"):
        _native.search_bins(np.ones((2, 1)), np.ones((1, 254)), codes[:1], codes[None], 0)
