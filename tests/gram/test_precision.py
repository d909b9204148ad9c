"""Samples in single precision: the kernel stays within the error promised, or X stays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram.place import in_single_precision
from mercer.kernels import RBF, Laplacian, Linear, Matern, RationalQuadratic

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("kernel", [RBF(0.02), RBF(0.2), RationalQuadratic(2.0, 3.0)])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("columns", [2, 50, 3000])
def test_within_the_error(kernel, offset, columns):
    X = RNG.normal(size=(200, columns)) / np.sqrt(max(1, columns / 10))
    X[100:] = X[:100] + 1e-3 * RNG.normal(size=(100, columns))  # near pairs
    X += offset
    single = in_single_precision(kernel, X)
    assert single.dtype == np.float32
    exact = kernel.block(X - X.mean(axis=0), X - X.mean(axis=0))
    assert_allclose(kernel.block(single, single), exact, atol=1e-5)


def test_what_would_lose_keeps_its_precision():
    X = RNG.normal(size=(50, 3))
    far = np.vstack([X, X + 3e3])  # two clusters, each finer than float32 resolves from afar
    for kernel, samples in (
        (RBF(1.0), far), (RBF(1e3), X), (Matern(0.5), X), (Laplacian(), X), (Linear(), X),
        (RBF(1.0), X[:0]), (RBF(1.0), X * 1e200),
    ):  # fmt: skip
        assert in_single_precision(kernel, samples) is samples
    single = X.astype(np.float32)
    assert in_single_precision(RBF(1.0), single) is single
