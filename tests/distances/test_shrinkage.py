"""The covariance that Mahalanobis learns: the sample's, drawn towards the identity."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.covariance import LedoitWolf, shrunk_covariance

from mercer.distances import Mahalanobis

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4)) * [1.0, 5.0, 0.2, 2.0]
S = np.cov(X, rowvar=False, bias=True)


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
    assert_allclose(bound.covariance, theirs.covariance_, rtol=1e-10)


def test_distances_are_those_of_the_inverse_covariance():
    bound = Mahalanobis(shrinkage=0.3).bind(X)
    gaps = X[:5, None] - X[None, 5:9]
    P = np.linalg.inv(shrunk_covariance(S, 0.3))
    wanted = np.sqrt(np.einsum("ijk,kl,ijl->ij", gaps, P, gaps))
    assert_allclose(bound.block(X[:5], X[5:9]), wanted, rtol=1e-10)
