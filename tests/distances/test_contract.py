"""Every public distance passes the published contract, and equals its twin in oracles.py."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import cases
import mercer.distances
import oracles
from mercer.distances import Distance, Mahalanobis
from mercer.testing import DistanceContract


class TestDistances(DistanceContract):
    @pytest.fixture(params=cases.DISTANCES, ids=cases.name)
    def case(self, request):
        return request.param

    @pytest.fixture
    def distance(self, case):
        return case[0]

    @pytest.fixture
    def samples(self, case):
        return case[1]

    def twin(self, distance, samples):
        rows = cases.rows(samples)
        return oracles.block(oracles.distance, distance, rows, rows, rows)


def test_every_public_distance_has_a_case():
    public = [getattr(mercer.distances, name) for name in mercer.distances.__all__]
    distances = {c for c in public if inspect.isclass(c) and issubclass(c, Distance)}
    concrete = {c for c in distances if not inspect.isabstract(c)}
    assert concrete == {type(distance) for distance, _ in cases.DISTANCES}


#: distances with loops of their own for listed pairs; sums of others are rounded as BLAS adds them
LISTED = "Edit", "JaroWinkler", "Jaccard", "Dice", "Tanimoto", "Match", "DTW", "ERP", "MSM", "TWED"


@pytest.mark.parametrize(
    "case", [c for c in cases.DISTANCES if type(c[0]).__name__ in LISTED], ids=cases.name
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_listed_pairs_to_the_last_bit(case, dtype):
    distance, samples = case
    X = distance.encode(samples).astype(dtype)
    D = distance.bind(X).raw(X, X[:])
    pairs = np.argwhere(np.ones(D.shape, bool))[::-1]
    for A, B in ((X, X[:]), (X, X)):
        found = distance.bind(X).of_pairs(A, B, pairs, np.full(len(pairs), np.inf))
        assert_array_equal(found.astype(dtype), D.ravel()[::-1])


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_more_blocks_of_listed_pairs_change_nothing(rows, monkeypatch):
    """The default of `Distance.of_pairs`, with blocks of so many rows."""
    monkeypatch.setattr(Mahalanobis, "pair_rows", rows)
    rng = np.random.default_rng(0)
    distance = Mahalanobis()
    X = distance.encode(rng.normal(size=(30, 3)))
    distance = distance.bind(X)
    pairs = rng.integers(0, 30, (200, 2))
    found = distance.of_pairs(X, X, pairs, np.full(200, np.inf))
    assert_allclose(found, distance.raw(X, X)[tuple(pairs.T)], rtol=1e-12, atol=1e-12)
