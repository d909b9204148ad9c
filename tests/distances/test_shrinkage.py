"""The covariance that Mahalanobis learns: the sample's, drawn towards a simpler matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist, squareform
from sklearn.covariance import LedoitWolf, shrunk_covariance

from mercer.distances import Mahalanobis

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4)) * [1.0, 5.0, 0.2, 2.0]
S = np.cov(X, rowvar=False)


@pytest.mark.parametrize("shrinkage", [0, 0.3, 1])
def test_a_shrinkage_that_is_given(shrinkage):
    bound = Mahalanobis(shrinkage=shrinkage).bind(X)
    assert_allclose(bound.covariance, shrunk_covariance(S, shrinkage), rtol=1e-12)
    assert bound.shrinkage == shrinkage


def test_of_few_rows_it_is_that_of_ledoit_and_wolf():
    wide = RNG.normal(size=(6, 10)) * np.linspace(1, 3, 10)
    theirs = LedoitWolf().fit(wide)
    bound = Mahalanobis().bind(wide)
    assert_allclose(bound.shrinkage, theirs.shrinkage_)
    assert theirs.shrinkage_ > 0.05
    assert_allclose(bound.covariance, theirs.covariance_ * 6 / 5, rtol=1e-10)


def test_distances_are_those_of_the_inverse_covariance():
    bound = Mahalanobis(shrinkage=0.3).bind(X)
    gaps = X[:5, None] - X[None, 5:9]
    P = np.linalg.inv(shrunk_covariance(S, 0.3))
    wanted = np.sqrt(np.einsum("ijk,kl,ijl->ij", gaps, P, gaps))
    assert_allclose(bound.block(X[:5], X[5:9]), wanted, rtol=1e-10)


def test_the_covariance_is_divided_by_one_row_less():
    """As in the definition, and in SciPy."""
    found = Mahalanobis(shrinkage=0).bind(X).block(X, X)
    assert_allclose(found, squareform(pdist(X, "mahalanobis")), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("shrinkage", [0.3, 1])
def test_a_sample_may_be_drawn_towards_its_variances(shrinkage):
    bound = Mahalanobis(shrinkage=shrinkage, target="diagonal").bind(X)
    wanted = (1 - shrinkage) * S + shrinkage * np.diag(S.diagonal())
    assert_allclose(bound.covariance, wanted, rtol=1e-12)
    constant = np.column_stack([X, np.ones(len(X))])
    assert np.isfinite(Mahalanobis(shrinkage=0.5, target="diagonal")(constant)).all()
    with pytest.raises(ValueError, match="target='none'"):
        Mahalanobis(target="none").bind(X)


def test_leave_one_out_chooses_the_target():
    """Columns of different units that do not correlate: the identity drowns the smaller ones."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 6)) * [1e-3, 1e-3, 1e3, 1e3, 1e3, 1e3]
    classes = (rows[:, 0] + rows[:, 1] > 0).astype(int)
    bound = Mahalanobis(shrinkage="leave_one_out").bind(rows, classes)
    assert bound.target == "diagonal"
    towards = Mahalanobis(shrinkage="leave_one_out", target="identity").bind(rows, classes)
    assert towards.target == "identity"
