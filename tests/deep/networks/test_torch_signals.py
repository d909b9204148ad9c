"""SIGINT at any moment of a fit by torch: KeyboardInterrupt, and no fit or a whole epoch."""

import os

import numpy as np
import pytest

pytest.importorskip("torch")

from sklearn.base import clone

from learners.test_signals import interrupt_often, known, rings
from mercer.deep import (
    AttentionClassifier,
    ConvolutionalDeepKernelMachine,
    DeepKernelClassifier,
    DeepKernelRegressor,
    NeuralKernelClassifier,
    NeuralKernelRegressor,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(os.name == "nt", reason="Windows has no os.kill of one signal"),
]
ROWS, CODES = rings(60, 3)
WORDS = [" ".join("abcdefgh"[int(8 * abs(np.sin(v)))] for v in row) for row in ROWS]
IMAGES = np.abs(np.sin(np.arange(20 * 36.0))).reshape(20, 6, 6)
FITS = {
    "attention": (AttentionClassifier(epochs=3, random_state=0), WORDS, CODES),
    "network of classes": (NeuralKernelClassifier(epochs=3, random_state=0), ROWS, CODES),
    "network": (NeuralKernelRegressor(epochs=3, random_state=0), ROWS, ROWS[:, 0]),
    "process of classes": (DeepKernelClassifier(epochs=3, random_state=0), ROWS, CODES),
    "process": (DeepKernelRegressor(epochs=3, random_state=0), ROWS, ROWS[:, 0]),
    "images": (ConvolutionalDeepKernelMachine(epochs=2, random_state=0), IMAGES, CODES[:20]),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("name", FITS)
def test_a_signal_at_any_moment_leaves_no_half_fit(name):
    model, X, y = FITS[name]
    made = []

    def fit():
        made[:] = [clone(model)]
        made[0].fit(X, y)

    # what is left raises nothing but NotFittedError, which `known` knows
    assert interrupt_often(fit, 5, lambda: known(made[0], X[:5])) > 0
    made[0].fit(X, y)  # and can be fitted again
    assert known(made[0], X[:5])
