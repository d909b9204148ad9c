"""Gram matrices with labels, through the contract of all operators."""

import numpy as np
import pytest

from mercer.gram import LabelledGram, gram
from mercer.kernels import Linear
from mercer.testing import GramContract


class TestLabelledGram(GramContract):
    @pytest.fixture(params=[np.float32, np.float64])
    def pair(self, request):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(40, 3)).astype(request.param), rng.choice([-1.0, 1.0], 40)
        K = gram(Linear(), X)
        dense = (0.5 * np.outer(y, y) * (X @ X.T + 1)).astype(request.param)
        return LabelledGram(K, y, 1.0, 0.5), dense
