"""What looks like a kernel and is none: `check_mercer` finds negative eigenvalues.

Beside each stands what the library has in its place, on the same samples.
"""

import numpy as np
import pytest

from mercer.distances import DTW, ERP, MSM, TWED, SoftDTW
from mercer.kernels import (
    RBF,
    FromDistance,
    FromFunction,
    GlobalAlignment,
    MeanMap,
    Signature,
    check_mercer,
)


def best_match(a, b):
    """The similarity of the nearest pair of points of two bags."""
    return float(np.exp(-((a[:, None] - b) ** 2).sum(axis=2)).max())


def shares_most(a, b):
    """The length of the longest string that two strings have in common."""
    found = {b[i:j] for i in range(len(b)) for j in range(i, len(b) + 1)}
    return float(max(len(a[i:j]) for i in range(len(a)) for j in range(i, len(a) + 1)
                     if a[i:j] in found))  # fmt: skip


def bags():
    rng = np.random.default_rng(0)
    return [rng.normal(0, 2, size=(n, 2)) for n in rng.integers(2, 6, 40)]


def series():
    rng = np.random.default_rng(0)
    return [np.cumsum(rng.normal(size=n)) for n in rng.integers(4, 9, 40)]


def least(kernel, samples):
    """The smallest eigenvalue relative to the largest, of a check that must say the same."""
    check = check_mercer(kernel, samples)
    assert check.symmetric
    relative = check.eigenvalues[-1] / check.eigenvalues[0]
    assert check.positive_definite == (relative >= -check.tolerance)
    return relative


def test_the_best_match_of_bags():
    kernel = FromFunction(best_match)
    assert kernel.positive_definite is not True
    assert least(kernel, bags()) < -1e-2
    for definite in (MeanMap(RBF(1.0)), MeanMap(RBF(1.0) ** 5).normalised()):
        assert check_mercer(definite, bags()).positive_definite


def test_the_best_match_of_strings():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), n)) for n in rng.integers(2, 9, 60)]
    assert least(FromFunction(shares_most), words) < -1e-3


@pytest.mark.parametrize(
    ("distance", "power", "gamma"),
    [
        (DTW(), 1.0, 0.05), (DTW(), 2.0, 0.05), (DTW(2), 2.0, 0.05), (SoftDTW(0.1), 1.0, 0.05),
        (ERP(), 2.0, 0.01), (MSM(), 2.0, 0.01), (TWED(), 2.0, 0.01),
    ],
)  # fmt: skip
def test_exponentials_of_warped_distances(distance, power, gamma):
    kernel = FromDistance(distance, gamma, power)
    assert kernel.positive_definite is not True
    samples = series()
    if isinstance(distance, DTW) and distance.window is not None:  # else some are infinitely far
        samples = [x[:4] for x in samples]
    assert least(kernel, samples) < -1e-3
    assert check_mercer(GlobalAlignment(2.0), samples).positive_definite


def test_a_coarse_grid_of_the_signature_equation():
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1.5, size=(40, 4)).cumsum(axis=1)  # large steps

    def coarse(X, Z):  # the scheme of Salvi et al., 2021, a cell for each two steps
        steps, others = np.diff(X, axis=1), np.diff(Z, axis=1)
        u = np.ones((len(X), len(Z), X.shape[1], Z.shape[1]))
        for i, j in np.ndindex(steps.shape[1], others.shape[1]):
            D = np.outer(steps[:, i], others[:, j])
            both = u[:, :, i + 1, j] + u[:, :, i, j + 1]
            u[:, :, i + 1, j + 1] = both * (1 + D / 2 + D**2 / 12) - u[:, :, i, j] * (1 - D**2 / 12)
        return u[:, :, -1, -1]

    assert least(FromFunction(coarse, at_once=True), X) < -1e-2
    for kernel in (Signature(None), Signature(5)):
        assert kernel.positive_definite
        assert check_mercer(kernel, list(X)).positive_definite
