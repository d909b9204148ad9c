"""The kernel of additive models, alone and beside the learner that it comes from."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer import AdditiveClassifier, AdditiveRegressor, KernelRidge
from mercer.kernels import Additive, check_mercer

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (400, 4))
f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
y = f + rng.normal(scale=0.1, size=400)


def centred_laplacian(x, gamma):
    """The kernel of one column with a bin for each number, slowly."""
    order = np.argsort(np.argsort(x))
    low, high = np.sort(x)[int(np.ceil(0.02 * len(x))) - 1], np.sort(x)[int(0.98 * len(x) - 1e-9)]
    rank, value = (order + 0.5) / len(x), ((x - low) / (high - low)).clip(-0.5, 1.5)
    t = (rank + value) / 2
    K = np.exp(-gamma * np.abs(t[:, None] - t))
    H = np.eye(len(x)) - 1 / len(x)
    return H @ K @ H


def test_all_functions_are_the_centred_kernel():
    few = X[:100]
    K = Additive(gamma=1.0, functions=300, weights=[1.0, 0.5, 0.0, 2.0])(few)
    slow = sum(w * centred_laplacian(x, 1.0) for w, x in zip([1.0, 0.5, 0.0, 2.0], few.T))
    assert_allclose(K, slow, atol=1e-8)
    assert_allclose(K.mean(axis=0), 0, atol=1e-12)


def test_it_is_a_kernel_and_its_features_are_centred():
    kernel = Additive([(0, 1), (2, 3)], categories=[])
    assert check_mercer(kernel, X).positive_definite
    features = kernel.bind(X).features(X)
    assert features.shape == (400, 4 * 32 + 2 * 60)
    assert_allclose(features.mean(axis=0), 0, atol=1e-10)


def test_weights_are_repetitions():
    w = rng.integers(1, 4, 100)
    again = np.repeat(np.arange(100), w)
    kernel = Additive([(0, 1)])
    weighted = kernel.bind(X[:100], sample_weight=w.astype(float))
    repeated = kernel.bind(X[again])
    assert_allclose(weighted.block(X, X), repeated.block(X, X), atol=1e-9)


def test_ridge_with_the_kernel_of_a_fit_is_the_fit():
    model = AdditiveRegressor(pairs=[(1, 2)]).fit(X, y)
    ridge = KernelRidge(1.0, kernel=model.kernel()).fit(X, y - y.mean())
    Z = rng.uniform(-1, 1, (50, 4))
    # the additive solver of pairs stops at 1e-5
    assert_allclose(ridge.predict(Z) + y.mean(), model.predict(Z), atol=2e-3)
    alone = AdditiveRegressor(pairs=0).fit(X, y)
    ridge = KernelRidge(1.0, kernel=alone.kernel()).fit(X, y - y.mean())
    assert_allclose(ridge.predict(Z) + y.mean(), alone.predict(Z), atol=1e-5)


def test_kernels_of_classifiers_and_tables():
    table = pd.DataFrame(X, columns=list("abcd"))
    kernel = AdditiveClassifier(pairs=[("b", "c")]).fit(table, f > 0).kernel()
    assert [tuple(pair) for pair in kernel.pairs] == [(1, 2)]
    assert kernel(X).shape == (400, 400)
    three = AdditiveClassifier(0).fit(table, np.digitize(f, [-0.3, 0.3])).kernel()
    assert len(three.weights) == 4
    words = table.assign(d=np.where(X[:, 3] > 0, "x", "y"))
    with pytest.raises(ValueError, match="column 'd' has no numbers"):
        AdditiveRegressor(0).fit(words, y).kernel()
    with pytest.raises(ValueError, match='"exact" has no bins'):
        AdditiveRegressor(solver="exact").fit(X, y).kernel()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Additive(gamma=0), "gamma=0"),
        (Additive(weights=-1), "weights=-1"),
        (Additive(weights=[1.0, 2.0]), "weights has 2 numbers, but there are 4 columns"),
        (Additive([(0, 1)], pair_weights=[1, 2]), "pair_weights has 2 numbers, but there are 1"),
        (Additive([(0, 0)]), "two different columns"),
        (Additive([(0, 7)]), "name columns 0 to 7, but X has columns 0 to 3"),
        (Additive(categories=[-1]), "name columns -1 to -1"),
        (Additive(functions=0), "functions=0"),
    ],
)
def test_bad_parameters(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(X)


def test_unbound_kernels_say_so():
    with pytest.raises(ValueError, match="has no bins yet: bind it"):
        Additive().features(X)
    with pytest.raises(ValueError, match="X has 2 columns, but the kernel is bound to 4"):
        Additive().bind(X).features(X[:, :2])


def test_a_column_with_one_level():
    constant = np.column_stack([X, np.ones(400)])
    assert_allclose(Additive()(constant), Additive()(X), atol=1e-12)
    pairs = Additive([(0, 4)])(constant)
    assert_allclose(pairs, Additive()(X), atol=1e-12)
