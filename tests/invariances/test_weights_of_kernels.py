"""What kernels and distances learn from rows with weights is what they learn from repeated rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cases import DISTANCES, KERNELS, name
from mercer.distances import Mahalanobis
from mercer.kernels import (
    RBF,
    Centred,
    ChiSquared,
    Laplacian,
    Linear,
    Polynomial,
    Spectrum,
)
from mercer.kernels.radial import median_distance

ROWS = np.random.default_rng(0).normal(size=(12, 5)) * [1, 2, 3, 4, 5]
WORDS = ["banana", "ananas", "anna", "bandanas", "cabana"]
MORE = [
    (RBF("scale"), ROWS), (RBF("median"), ROWS), (RBF("median"), ROWS * 1e-170),
    (Laplacian("median"), ROWS), (Polynomial(2, "scale"), ROWS), (ChiSquared("scale"), ROWS**2),
    (Centred(Linear()), ROWS), (Centred(RBF("median"), ROWS[:4]), ROWS),
    (Spectrum(2, idf=True), WORDS),
    (Mahalanobis(), ROWS), (Mahalanobis(), ROWS[:4]), (Mahalanobis(shrinkage=0.2), ROWS),
]  # fmt: skip
ALL = [(case[0], case[1]) for case in (*KERNELS, *DISTANCES)] + MORE


@pytest.mark.parametrize(("compared", "samples"), ALL, ids=list(map(name, ALL)))
def test_a_weight_is_a_repetition(compared, samples):
    X = compared.encode(samples)
    times = np.random.default_rng(1).integers(1, 4, X.shape[0])
    bound = compared.bind(X, None, times.astype(float))
    again = compared.bind(X[np.repeat(np.arange(len(times)), times)])
    assert_allclose(bound.block(X, X), again.block(X, X), rtol=1e-6, atol=1e-7)


def test_the_median_of_many_rows_is_that_of_repeated_ones():
    X = np.random.default_rng(0).normal(size=(1500, 2))
    times = np.random.default_rng(1).integers(1, 4, len(X))
    found = median_distance(RBF().distance, X, times.astype(float))
    assert found == median_distance(RBF().distance, np.repeat(X, times, axis=0))
    # weights that are no counts leave it near that of all
    parts = median_distance(RBF().distance, X, np.full(len(X), 1 / len(X)))
    assert_allclose(parts, median_distance(RBF().distance, X), rtol=0.03)


def test_the_least_weights_of_few_rows():
    D = RBF().distance
    assert median_distance(D, np.array([[0.0], [3.0]]), np.array([0.1, 0.2])) == 3
    assert median_distance(D, np.array([[0.0]]), np.array([0.1])) == 1
    assert np.isfinite(Mahalanobis().bind(ROWS, None, np.full(12, 1 / 12)).covariance).all()
