"""Gram matrices with a factor, and parts of operators, through the contract of all operators."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import (
    DenseGram,
    FeatureGram,
    MatrixPart,
    Place,
    ShiftedGram,
    TiledGram,
    low_rank,
    pivoted_cholesky,
)
from mercer.gram.operator import PartGram
from mercer.kernels import RBF
from mercer.testing import GramContract

RNG = np.random.default_rng(0)
F = RNG.normal(size=(300, 6))
F[RNG.random(F.shape) < 0.4] = 0
SHORT = F[:80]
K = RBF(0.5)(SHORT)
I, J = np.array([3, 70, 5, 11, 40]), np.array([0, 70, 3, 9])

OPERATORS = {
    "features": lambda: (FeatureGram(SHORT), SHORT @ SHORT.T),
    "features, float32": lambda: (
        FeatureGram(SHORT.astype(np.float32)),
        SHORT.astype(np.float32) @ SHORT.astype(np.float32).T,
    ),
    "features, strips": lambda: (FeatureGram(F, Place(1, 3)), F @ F.T),
    "features, one row": lambda: (FeatureGram(F[:1]), F[:1] @ F[:1].T),
    "sparse features": lambda: (FeatureGram(sp.csr_array(SHORT)), SHORT @ SHORT.T),
    "sparse features, strips": lambda: (FeatureGram(sp.csr_array(F), Place(1, 2)), F @ F.T),
    "sparse matrix": lambda: (FeatureGram(sp.csr_matrix(SHORT)), SHORT @ SHORT.T),
    "part of a dense one": lambda: (DenseGram(K, symmetric=True).part(I), K[np.ix_(I, I)]),
    "rectangular part of a dense one": lambda: (
        DenseGram(K, symmetric=True).part(I, J), K[np.ix_(I, J)]
    ),
    "part of a tiled one": lambda: (TiledGram(RBF(0.5), SHORT).part(I), K[np.ix_(I, I)]),
    "rectangular part of a tiled one": lambda: (
        TiledGram(RBF(0.5), SHORT).part(I, J), K[np.ix_(I, J)]
    ),
    "part of a part": lambda: (
        TiledGram(RBF(0.5), SHORT).part(np.arange(60)[::-1]).part(I % 60, J % 60),
        K[np.ix_(59 - I % 60, 59 - J % 60)],
    ),
    "part of features": lambda: (FeatureGram(SHORT).part(I), SHORT[I] @ SHORT[I].T),
    "rectangular part of features": lambda: (
        FeatureGram(SHORT).part(I, J), SHORT[I] @ SHORT[J].T
    ),
    "part of low rank": lambda: (
        pivoted_cholesky(DenseGram(SHORT @ SHORT.T, symmetric=True), 6, random_state=0).part(I),
        SHORT[I] @ SHORT[I].T,
    ),
    "part of a part of features": lambda: (
        FeatureGram(SHORT).part(np.arange(60)).part(I % 60),
        SHORT[I % 60] @ SHORT[I % 60].T,
    ),
    "part of a shifted one": lambda: (
        ShiftedGram(DenseGram(K, symmetric=True), 0.5).part(I),
        (K + 0.5 * np.eye(80))[np.ix_(I, I)],
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_strips(monkeypatch):
    monkeypatch.setattr(low_rank, "PRODUCT", 128)


class TestOperators(GramContract):
    @pytest.fixture(params=OPERATORS, ids=str)
    def pair(self, request):
        return OPERATORS[request.param]()


@pytest.mark.parametrize("features", [F, sp.csr_array(F), F.astype(np.float32)], ids=type)
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_the_primal_side(features, n_jobs):
    """Fᵀβ of some rows, and F w: dense or sparse, in strips."""
    K = FeatureGram(features, Place(1, n_jobs))
    assert K.rank == 6
    tol = 1e-3 if features.dtype == np.float32 else 1e-10
    beta, w = RNG.normal(size=len(F)), RNG.normal(size=6)
    for rows in (slice(None), np.arange(0, len(F), 3), np.arange(0)):
        assert_allclose(K.combine(rows, beta[rows]), F[rows].T @ beta[rows], atol=tol)
    assert_allclose(K.project(w), F @ w, atol=tol)
    assert K.project(w).dtype == features.dtype
    covered = np.concatenate([np.arange(len(F))[rows] for rows, _ in K.strips()])
    assert_array_equal(covered, np.arange(len(F)))


def test_sums_over_rows_are_in_double_precision():
    ones = FeatureGram(np.ones((20_000, 1), np.float32))
    total = ones.combine(slice(None), np.full(20_000, 1 / 3))
    assert total.dtype == np.float64
    assert_allclose(total, 20_000 / 3, rtol=1e-5)


def test_products_are_the_same_whatever_the_threads():
    w = RNG.normal(size=6)
    for features in (F, F.astype(np.float32), sp.csr_array(F)):
        one, three = (FeatureGram(features, Place(1, jobs)).project(w) for jobs in (1, 3))
        assert_array_equal(one, three)


def test_parts_keep_the_kind_of_operator_where_they_can():
    assert isinstance(DenseGram(K, symmetric=True).part(I), MatrixPart)
    assert isinstance(TiledGram(RBF(0.5), SHORT).part(I), TiledGram)
    assert TiledGram(RBF(0.5), SHORT).part(I).symmetric
    assert not TiledGram(RBF(0.5), SHORT).part(I, J).symmetric
    part = FeatureGram(SHORT).part(I)
    assert part.symmetric
    assert "dense" not in part.cheap
    assert not PartGram(FeatureGram(SHORT), I, J).symmetric
