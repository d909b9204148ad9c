"""The contract of Gram operators: tests that the test class of an operator inherits.

Subclass `GramContract` in a test module and define the fixture::

    class TestMyGram(GramContract):
        @pytest.fixture
        def pair(self):
            return MyGram(kernel, X), kernel(X)
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.gram import GramOperator, require
from mercer.solvers import row_source


class GramContract:
    """Tests for every Gram operator. Define ``pair``: the operator, and its matrix as an array.

    Examples
    --------
    >>> import pytest
    >>> from mercer.gram import DenseGram
    >>> class TestDense(GramContract):
    ...     pair = pytest.fixture(lambda self: (DenseGram(np.eye(9)), np.eye(9)))
    """

    #: tolerances for float64 and float32, relative to the largest entry
    tol = 1e-9
    tol32 = 2e-4

    @pytest.fixture
    def pair(self) -> tuple[GramOperator, np.ndarray]:
        raise NotImplementedError(
            "Define a fixture `pair` that returns the operator and its matrix."
        )

    def same(self, values: np.ndarray, wanted: np.ndarray, dense: np.ndarray, terms=1) -> None:
        """Assert that values are equal up to the rounding of sums of ``terms`` entries."""
        tol = self.tol32 if dense.dtype == np.float32 else self.tol
        size = np.abs(dense).max(initial=0) * terms
        assert np.shape(values) == np.shape(wanted)
        assert_allclose(values, wanted, rtol=tol, atol=tol * size)

    def test_shape_and_precision(self, pair):
        K, dense = pair
        assert K.shape == dense.shape
        assert K.dtype == dense.dtype
        for values in (K.dense(), K.diag(), K.rows(slice(0, 1)), K.block(slice(0, 1), [0])):
            assert values.dtype == dense.dtype

    def test_entries(self, pair):
        K, dense = pair
        n, m = dense.shape
        rng = np.random.default_rng(0)
        i, j = rng.integers(0, n, 7), rng.integers(0, m, 5)
        self.same(K.dense(), dense, dense)
        self.same(K.diag(), dense.diagonal(), dense)
        self.same(K.block(i, j), dense[np.ix_(i, j)], dense)
        self.same(K.block(slice(0, 3), j), dense[:3][:, j], dense)
        self.same(K.block(i, slice(1, None)), dense[i, 1:], dense)
        self.same(K.rows(i), dense[i], dense)
        self.same(K.rows(np.arange(0)), dense[:0], dense)

    def test_rows_are_written_where_they_are_wanted(self, pair):
        K, dense = pair
        out = np.full((2, dense.shape[1]), np.nan, np.float32)
        self.same(K.rows(np.array([0, -1 % len(dense)]), out), dense[[0, -1]], dense.astype("f4"))
        assert np.isfinite(out).all()

    def test_products(self, pair):
        K, dense = pair
        n, m = dense.shape
        rng = np.random.default_rng(1)
        for V in (rng.normal(size=m), rng.normal(size=(m, 4)), np.empty((m, 0))):
            V = V.astype(dense.dtype)
            self.same(K @ V, dense @ V, dense, np.sqrt(m) * 5)
            assert (K @ V).dtype == dense.dtype
        self.same(K.T @ np.ones(n, dense.dtype), dense.sum(axis=0), dense, n)

    def test_transpose(self, pair):
        K, dense = pair
        self.same(K.T.dense(), dense.T, dense)
        self.same(K.T.T.dense(), dense, dense)
        if K.symmetric:
            self.same(dense, dense.T, dense)

    def test_tiles_cover_the_matrix_once(self, pair):
        K, dense = pair
        counts, values = np.zeros(dense.shape), np.zeros(dense.shape)
        for i, j, tile in K.tiles():
            counts[i, j] += 1
            values[i, j] = tile
        wanted = np.triu(np.ones(dense.shape, bool)) if K.symmetric else np.ones(dense.shape, bool)
        assert (counts[wanted] == 1).all()
        self.same(values[wanted], dense[wanted], dense)

    def test_blocks_are_fresh(self, pair):
        """If a caller changes a block, the matrix does not change."""
        K, dense = pair
        i, s = np.arange(min(2, *dense.shape)), slice(0, 2)
        for rows, columns in ((i, i), (s, s), (s, i), (i, s)):
            K.block(rows, columns)[...] = np.nan
        K.rows(s)[...] = np.nan
        K.diag()[...] = np.nan
        self.same(K.block(i, i), dense[np.ix_(i, i)], dense)

    def test_what_is_held_is_the_same_matrix(self, pair):
        K, dense = pair
        held = K.held()
        assert "dense" not in K.cheap or held.dense() is held.dense()
        self.same(held.dense(), dense, dense)

    def test_a_source_of_rows_gives_blocks_and_products(self, pair):
        """What solvers use that read rows of a symmetric matrix many times."""
        K, dense = pair
        if not (K.symmetric and "rows" in K.cheap):
            pytest.skip("solvers read rows only of symmetric matrices that have cheap rows")
        n = len(dense)
        rows = np.unique(np.linspace(0, n - 1, 7).astype(int))
        change = np.arange(1.0, len(rows) + 1)
        for source in (row_source(K, 10**8, 0.0, 1), row_source(K, 10**8, 1e-3, 2)):
            source.begin()
            g = np.zeros(n)
            source.add(rows, change, g)
            wanted = dense[:, rows].astype(float) @ change
            size = np.abs(dense).max(initial=0) * np.abs(change).sum()
            assert_allclose(g, wanted, rtol=1e-5, atol=1e-5 * size)
            block = source.block(rows, np.arange(len(rows)))
            assert_allclose(block, dense[np.ix_(rows, rows)], rtol=1e-5, atol=1e-5 * size)

    def test_what_is_not_cheap_is_refused(self, pair):
        K, _ = pair
        operations = {"rows", "dense", "factor", "factorise"}
        assert K.cheap <= operations
        for operation in operations:
            if operation in K.cheap:
                require(K, operation, "a solver")
            else:
                with pytest.raises(TypeError, match=rf"a solver needs '?{operation}"):
                    require(K, operation, "a solver")

    def test_it_says_what_fits_where_it_lives(self, pair):
        K, dense = pair
        assert K.nbytes == dense.nbytes
        assert 0 <= K.kept_bytes <= K.held_bytes
        assert K.beside("1TB").budget() == 10**12
        assert K.beside("1TB").n_jobs == K.n_jobs == K.place.n_jobs
        tight = K.beside(max(K.nbytes // 2, 1))
        assert not tight.holds(K.nbytes)
        with pytest.raises(MemoryError, match=r"too small for a test and .* rows: .*, or so"):
            K.refuse(10, "a test", ", or so")

    def test_it_is_factorised_where_that_is_cheap(self, pair):
        """K + c I for a c that makes it positive definite; weights of rows scale it."""
        K, dense = pair
        if "factorise" not in K.cheap or not K.symmetric:
            pytest.skip("this operator is not factorised")
        n, rng = len(dense), np.random.default_rng(2)
        shift, B = 2 * float(np.linalg.norm(dense)), rng.normal(size=(n, 2))
        s = rng.uniform(0.5, 1, n)
        for A, wanted in ((K, dense), (K.scaled(s), s[:, None] * dense * s)):
            wanted = wanted.astype(np.float64)
            self.same(A.norm(), np.array(np.linalg.norm(wanted)), dense, n)
            self.same(A.wide_product(B), wanted @ B, dense, n)
            inverse = np.linalg.inv(wanted + shift * np.eye(n))
            factor = A.factorise(shift)
            for values in (factor.solve(B), factor.inverse_diagonal()):
                assert values.dtype == np.float64
            tol = self.tol32 if dense.dtype == np.float32 else self.tol
            assert_allclose(factor.solve(B), inverse @ B, rtol=tol, atol=tol / shift)
            assert_allclose(factor.inverse_diagonal(), inverse.diagonal(), rtol=tol)
            values, Q = A.eigenpairs()
            assert (np.diff(values) >= 0).all()
            self.same(Q * values @ Q.T, wanted.astype(dense.dtype), dense, n)
        with pytest.raises(np.linalg.LinAlgError):
            K.factorise(-shift)

    def test_a_cheap_factor_is_read_by_strips(self, pair):
        K, dense = pair
        if "factor" in K.cheap:
            parts = [F.toarray() if sp.issparse(F) else F for _, F in K.strips()]
            F = np.concatenate(parts)
            assert F.shape == (K.shape[0], K.rank)
            self.same(F @ F.T, dense, dense, K.rank)
