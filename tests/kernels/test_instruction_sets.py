"""Every kernel gives the same values whatever instruction set runs its loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import cases
from mercer import _native

SIZES = [(1, 1), (3, 63), (2, 65), (1, 513)]


@pytest.fixture
def restored():
    before = _native.isa()
    yield
    _native.use_isa(before)


@pytest.mark.spread(42)
@pytest.mark.parametrize("case", cases.KERNELS, ids=cases.name)
def test_all_instruction_sets_agree(restored, case):
    kernel, samples = case
    X = kernel.encode(samples)
    kernel = kernel.bind(X)
    rng = np.random.default_rng(0)
    for n, m in SIZES:
        A, B = X[rng.integers(X.shape[0], size=n)], X[rng.integers(X.shape[0], size=m)]
        blocks = []
        for isa in _native.available_isas():
            assert _native.use_isa(isa)
            blocks.append(kernel.block(A, B))
        for K in blocks[1:]:
            assert_allclose(K, blocks[0], rtol=1e-13, atol=1e-13 * np.abs(K).max())
