"""Distances of a user's function, of objects of any type."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cases import objects, words_apart
from mercer.distances import FromFunction
from mercer.kernels import FromDistance
from mercer.search import BruteForce

X = objects()
D = np.array([[words_apart(a, b) for b in X] for a in X])


def test_values_kernels_and_neighbours_of_any_objects():
    rho = FromFunction(words_apart)
    assert_array_equal(rho(X), D)
    assert_allclose(FromDistance(rho, 0.5)(X), np.exp(-0.5 * D))
    distances, places = BruteForce(rho).fit(X).query(X[:3], k=2)
    assert_array_equal(distances, np.sort(D[:3])[:, :2])
    assert_array_equal(places, np.argsort(D[:3], kind="stable")[:, :2])


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, None, 1j, "x"], ids=repr)
def test_what_is_no_distance_names_the_pair(value):
    def odd(a, b):
        return value if {a, b} == {("rum", 1), ()} else 1.0

    message = r"odd returned .* for X\[2\] = .* and X\[3\] = .* a finite number >= 0\.$"
    with pytest.raises(ValueError, match=message):
        FromFunction(odd)(X)


def test_a_function_that_is_not_symmetric_is_found_out():
    def longer(a, b):
        return max(len(a) - len(b), 0)

    with pytest.raises(ValueError, match=r"longer is not symmetric.* that is symmetric\.$"):
        FromFunction(longer)(X)


def test_an_error_of_the_function_is_its_own():
    with pytest.raises(ZeroDivisionError) as info:
        FromFunction(lambda a, b: len(a) / 0)(X)
    assert "X[0] = " in info.value.__notes__[0]


def test_a_function_says_whether_it_is_a_metric():
    assert not FromFunction(words_apart).metric
    assert FromFunction(words_apart, metric=True).metric
