"""Every public distance passes the published contract, and equals its twin in oracles.py."""

import inspect

import pytest

import cases
import mercer.distances
import oracles
from mercer.distances import Distance
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
