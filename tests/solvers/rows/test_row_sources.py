"""Where SMO gets rows of K from: all sources answer as the dense matrix does."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from lanes import examples
from mercer.gram import DenseGram, FeatureGram, GramOperator, TiledGram, pivoted_cholesky
from mercer.kernels import RBF, Linear
from mercer.solvers import row_source
from mercer.solvers.rows import (
    ROUNDED_ROWS,
    CachedRows,
    FactorRows,
    HeldRowSource,
    PairGram,
    PairRows,
    add_products,
    by_operator,
    row_sources,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
K = RBF(0.5)(X)
L = X @ X.T


def cached(rows):
    return CachedRows(TiledGram(RBF(0.5), X), rows * 150 * 8, 0.0, 1)


def pair_gram(size):
    return PairGram(K[:size, :size].copy(), K[:size, size:].copy(), K[size:, size:].copy())


SOURCES = {
    "held": lambda: (HeldRowSource(K, 1), K),
    "held, threads": lambda: (HeldRowSource(K, 3), K),
    "held, fortran order": lambda: (HeldRowSource(np.asfortranarray(K), 1), K),
    "pair": lambda: (PairRows(pair_gram(61), 1), K),
    "pair, threads": lambda: (PairRows(pair_gram(1), 3), K),
    "cache of 1 row": lambda: (cached(1), K),
    "cache of 7 rows": lambda: (cached(7), K),
    "cache of all": lambda: (cached(1000), K),
    "features": lambda: (FactorRows(FeatureGram(X)), L),
    "low rank": lambda: (FactorRows(pivoted_cholesky(DenseGram(L, symmetric=True), 3)), L),
}


@pytest.fixture(params=SOURCES)
def source(request):
    return SOURCES[request.param]()


def test_blocks_and_sums(source):
    """In any order of asking, also for variables that share rows."""
    rows_of, dense = source
    rng = np.random.default_rng(0)
    g, beta = np.zeros(150), np.zeros(150)
    for round_ in range(12):
        rows = np.sort(rng.choice(150, rng.integers(1, 40), replace=False))
        place = rng.permutation(
            np.concatenate([np.arange(len(rows)), rng.integers(0, len(rows), 5)])
        )
        place = np.arange(len(rows)) if round_ % 3 == 0 else place
        block = rows_of.block(rows, place)
        assert block.flags.c_contiguous
        assert_allclose(block, dense[np.ix_(rows[place], rows[place])], atol=1e-12)
        change = rng.normal(size=len(rows))
        again = None if round_ % 4 < 3 else rng.random(len(rows)) < 0.5
        rows_of.add(rows, change, g, again)
        beta[rows] += change
        assert_allclose(g, dense @ beta, atol=1e-10)


def test_magnitudes_are_sums_of_absolute_values(source):
    rows_of, dense = source
    rng = np.random.default_rng(1)
    for count in (0, 1, 40, 150):
        rows = np.sort(rng.choice(150, count, replace=False))
        beta = rng.uniform(size=count)
        found = rows_of.magnitudes(rows, beta)
        if found is not None:
            assert_allclose(found, np.abs(dense[:, rows]) @ beta, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", ["held", "pair"])
def test_rows_in_memory_have_magnitudes(name):
    source, dense = SOURCES[name]()
    assert_allclose(source.magnitudes(np.array([3]), np.ones(1)), np.abs(dense[:, 3]))


@pytest.mark.parametrize(
    "place", [np.arange(150), np.arange(150)[::-1], np.arange(90)], ids=["all", "turned", "first"]
)
def test_the_block_for_steps_is_that_of_the_variables(source, place):
    """For all rows in order a pair gives its blocks, for all others a copy."""
    rows_of, dense = source
    square = rows_of.square(np.arange(150), place)
    assert_allclose(square.array(), dense[np.ix_(place, place)], atol=1e-12)


def test_the_whole_of_a_matrix_that_is_held_is_not_copied():
    rows = np.arange(150)
    held = HeldRowSource(K, 1)
    assert held.block(rows, rows) is K
    assert held.block(rows, rows[::-1].copy()) is not K


def test_rows_are_computed_once_while_the_cache_holds_them():
    source = cached(50)
    asked = []
    real = source.K.rows

    def counted(i, out=None):
        asked.extend(i)
        return real(i, out)

    source.K.rows = counted
    g = np.zeros(150)
    for rows in (np.arange(20), np.arange(10, 40), np.arange(40)):
        source.add(rows, np.ones(len(rows)), g)
    assert sorted(asked) == list(range(40))
    source.add(np.arange(20, 50), np.ones(30), g)  # 40 to 49 are new; all is full now
    source.add(np.arange(100, 120), np.ones(20), g)  # in the place of those used longest ago
    source.add(np.arange(20, 50), np.ones(30), g)
    assert len(asked) == 70
    # those that are not likely to be asked for again are computed where they are not held
    passed, block = [], source.K.block
    source.K.block = lambda i, j: passed.extend(i) or block(i, j)
    before = g.copy()
    source.add(np.arange(45, 55), np.ones(10), g, np.zeros(10, bool))
    assert set(passed) == set(range(50, 55))
    assert len(asked) == 70
    assert_allclose(g - before, K[:, 45:55].sum(axis=1), atol=1e-12)


@examples(60)
@given(seed=st.integers(0, 10_000), capacity=st.sampled_from([1, 5, 40, 400]))
def test_narrowing_keeps_what_is_known(seed, capacity):
    """Rows of the cache stay those of K, however often some are left out."""
    rng = np.random.default_rng(seed)
    source, active, g = cached(capacity), np.arange(150), np.zeros(150)
    while len(active) > 10:
        for _ in range(3):
            rows = np.sort(rng.choice(len(active), rng.integers(1, len(active)), replace=False))
            change = rng.normal(size=len(rows))
            wanted = g + K[np.ix_(active, active[rows])] @ change
            source.add(rows, change, g)
            assert_allclose(g, wanted, atol=1e-10)
            place = np.arange(len(rows))
            block = source.block(rows, place)
            assert_allclose(block, K[np.ix_(active[rows], active[rows])], atol=1e-12)
        held = np.flatnonzero(source.row_in >= 0)
        assert len(np.unique(source.row_in[held])) == len(held)
        assert_array_equal(source.slot_of[source.row_in[held]], held)
        assert_allclose(
            source.values[held], K[np.ix_(active[source.row_in[held]], active)], atol=1e-12
        )
        kept = np.sort(rng.choice(len(active), rng.integers(1, len(active)), replace=False))
        source, active, g = source.narrow(kept), active[kept], g[kept]


def test_narrowing_computes_nothing():
    source, g = cached(400), np.zeros(150)
    source.add(np.arange(150), np.ones(150), g)
    kept = np.arange(0, 150, 2)
    source = source.narrow(kept)
    source.K = None
    assert_allclose(source.block(np.arange(75), np.arange(75)), K[::2, ::2], atol=1e-12)
    g = g[kept]
    source.add(np.arange(75), np.ones(75), g)
    assert_allclose(g, K[::2].sum(axis=1) + K[::2, ::2].sum(axis=1), atol=1e-10)


def test_only_a_cache_can_narrow():
    assert cached(5).can_narrow
    for name in ("held", "features"):
        source, _ = SOURCES[name]()
        assert not source.can_narrow
        with pytest.raises(TypeError, match="cannot leave out columns"):
            source.narrow(np.arange(3))


def test_which_source():
    dense, tiled = DenseGram(K, symmetric=True), TiledGram(RBF(0.5), X)
    assert isinstance(row_source(dense, 0, 0.0, 1), HeldRowSource)
    assert isinstance(row_source(FeatureGram(X), 0, 0.0, 1), FactorRows)
    held = row_source(tiled, 2**30, 0.0, 1)  # it is small, and there is room
    assert isinstance(held, HeldRowSource)
    assert_allclose(held.values, K, atol=1e-12)
    assert isinstance(row_source(tiled, 150 * 150 * 8 - 1, 0.0, 1), CachedRows)


class Products(GramOperator):
    """An operator that says nothing but what it must."""

    symmetric = True

    def __init__(self, F):
        self.F, self.shape, self.dtype = F, (len(F), len(F)), F.dtype

    def block(self, i, j):
        return self.F[i] @ self.F[j].T

    def diag(self):
        return (self.F**2).sum(axis=1)


def test_an_operator_of_a_users_own_has_a_source():
    assert isinstance(row_source(Products(X), 150 * 150 * 8, 0.0, 1), HeldRowSource)
    few, g = row_source(Products(X), 10 * 150 * 8, 0.0, 1), np.zeros(150)
    assert isinstance(few, CachedRows)
    few.add(np.array([3, 7]), np.array([1.0, -2.0]), g)
    assert_allclose(g, L[:, 3] - 2 * L[:, 7], atol=1e-12)


def test_an_operator_of_a_users_own_may_choose_another():
    class Known(Products):
        pass

    row_source.register(Known, lambda K, cache_bytes, room, n_jobs: HeldRowSource(L, n_jobs))
    assert row_source(Known(X), 0, 0.0, 1).values is L
    assert isinstance(row_source(Products(X), 0, 0.0, 1), CachedRows)


@pytest.mark.parametrize("room", [0.0, 1e-6])
def test_a_part_is_copied_as_rounded_as_the_tolerance_allows(room, monkeypatch):
    monkeypatch.setattr(by_operator, "ROUNDED_ROWS", 100)
    chosen = np.arange(140)[::-1]
    part, size = DenseGram(K, symmetric=True).part(chosen), 4 if room else 8
    held = row_source(part, 140 * 140 * size, room, 1)
    assert held.values.dtype.itemsize == size
    assert_allclose(held.values, K[np.ix_(chosen, chosen)], rtol=1e-7 if room else 0)
    assert isinstance(row_source(part, 140 * 140 * size - 1, room, 1), CachedRows)


def test_the_budget_of_the_cache():
    for numbers, rows in ((10 * 150, 10), (10 * 150 + 149, 10), (1, 1), (10**6, 150)):
        source = CachedRows(TiledGram(RBF(0.5), X), numbers * 8, 0.0, 1)
        assert source.values.shape == (rows, 150)
    n = ROUNDED_ROWS
    large = TiledGram(RBF(0.5), RNG.normal(size=(n, 2)))
    for room, dtype in ((1e-6, np.float32), (1e-8, np.float64)):
        source = CachedRows(large, 100 * n * 8, room, 1)
        assert source.values.dtype == dtype
        assert source.values.nbytes <= 100 * n * 8


@pytest.mark.parametrize("columns", [None, np.arange(5, 90)])
@pytest.mark.parametrize("passing", [1, 7, 512])
def test_products_of_rows_that_are_not_kept(columns, passing, monkeypatch):
    monkeypatch.setattr(row_sources, "PASSING", passing)
    monkeypatch.setattr(row_sources, "TILE", 300)
    rows, change = np.array([3, 4, 50, 149]), np.array([1.0, -2.0, 0.5, 3.0])
    part = slice(None) if columns is None else columns
    wanted = 1 + K[part][:, rows] @ change
    for operator in (
        TiledGram(RBF(0.5), X),
        DenseGram(K, symmetric=True),
        TiledGram(RBF(0.5), X, X.copy()),
    ):
        g = np.ones(len(wanted))
        add_products(operator, rows, columns, change, g, 2)
        assert_allclose(g, wanted, atol=1e-11)


def test_sums_are_in_double_precision():
    """Rows may be rounded; what is summed of them is not."""
    ones = TiledGram(Linear(), np.ones((300, 1), np.float32))
    source, g = CachedRows(ones, 2**20, 1.0, 1), np.zeros(300)
    source.add(np.arange(2), np.array([1e10, 1.0]), g)
    source.add(np.arange(2), np.array([-1e10, 0.0]), g)
    assert_array_equal(g, 1.0)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_sums_do_not_depend_on_the_threads(n_jobs, monkeypatch):
    monkeypatch.setattr(row_sources, "SHARED", 1)
    rows, change = np.arange(150), RNG.normal(size=150)
    one, several = np.zeros(150), np.zeros(150)
    HeldRowSource(K, 1).add(rows, change, one)
    HeldRowSource(K, n_jobs).add(rows, change, several)
    assert_array_equal(one, several)


def test_a_part_of_a_matrix_is_copied_only_if_the_cache_holds_it():
    part = DenseGram(K, symmetric=True).part(np.arange(100))
    assert isinstance(row_source(part, 100 * 100 * 8, 0.0, 1), HeldRowSource)
    assert isinstance(row_source(part, 100 * 100 * 8 - 1, 0.0, 1), CachedRows)


def test_working_sets_of_a_factor_fit_the_cache():
    F = FeatureGram(np.zeros((3000, 2)))
    assert row_source(F, 2**30, 0.0, 1).least_set == 2048
    assert row_source(F, 8 * 1000**2, 0.0, 1).least_set == 1000
