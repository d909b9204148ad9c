"""Statistics in feature space, beside their definitions on whole matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import alignment, effective_dimension, hsic_test, mmd_test
from mercer.gram import TiledGram
from mercer.kernels import RBF, Jaccard, Linear, Polynomial

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
H = np.eye(90) - 1 / 90


def cosine(A, B):
    return (A * B).sum() / np.sqrt((A * A).sum() * (B * B).sum())


@pytest.fixture(params=[90, 40])
def edge(request, monkeypatch):
    """One tile of all 90 samples, or the upper triangle of nine."""
    monkeypatch.setattr(TiledGram, "edge", lambda K: request.param)


def test_alignment_is_that_of_whole_matrices(edge):
    K, L, y = RBF(0.3)(X), Polynomial(2)(X), X[:, 0]
    labels = np.where(y > 0, "a", "b")
    same = (labels[:, None] == labels).astype(float)
    for centred, C in ((True, H), (False, np.eye(90))):
        for other, M in ((Polynomial(2), L), (y, np.outer(y, y)), (labels, same)):
            found = alignment(RBF(0.3), other, X, centred=centred)
            assert_allclose(found, cosine(C @ K @ C, C @ M @ C))
    with pytest.raises(ValueError, match="one target for each sample"):
        alignment(RBF(), y[:3], X)
    with pytest.raises(ValueError, match="all its samples are equal"):
        alignment(RBF(), np.ones(90), X)


def unbiased(K, x):
    z = ~x
    n, m = x.sum(), z.sum()
    xx = K[np.ix_(x, x)].sum() - K.diagonal()[x].sum()
    zz = K[np.ix_(z, z)].sum() - K.diagonal()[z].sum()
    return xx / (n * (n - 1)) + zz / (m * (m - 1)) - 2 * K[np.ix_(x, z)].mean()


def test_mmd_is_that_of_the_definition(edge):
    A, B = X[:40], X[40:] + 0.1
    test = mmd_test(RBF(0.3), A, B, permutations=5, random_state=3)
    K, random = RBF(0.3)(np.vstack([A, B])), np.random.RandomState(3)
    assert_allclose(test.statistic, unbiased(K, np.arange(90) < 40), atol=1e-12)
    for value in test.permuted:
        chosen = np.zeros(90, bool)
        chosen[random.permutation(90)[:40]] = True
        assert_allclose(value, unbiased(K, chosen), atol=1e-12)


def test_p_values_are_uniform_for_one_distribution_and_small_for_two():
    small = [
        mmd_test(RBF(0.3), *RNG.normal(size=(2, 20, 2)), permutations=99, random_state=i).pvalue
        for i in range(100)
    ]
    assert 0.02 < np.mean(np.array(small) <= 0.1) < 0.2
    assert mmd_test(RBF(0.3), X, X + 1, permutations=99, random_state=0).pvalue == 0.01
    sets = [[{"a", "b"}, {"a"}, {"b"}, {"a", "c"}] * 3, [{"x"}, {"y"}, {"x", "y"}, {"z"}] * 3]
    assert mmd_test(Jaccard(), *sets, permutations=99, random_state=0).pvalue <= 0.02
    with pytest.raises(ValueError, match="at least two each"):
        mmd_test(RBF(), X[:1], X)
    with pytest.raises(ValueError, match="give the same columns"):
        mmd_test(RBF(), X, X[:, :1])


def test_hsic_is_that_of_the_definition(edge):
    Y = X[:, :1] ** 2
    test = hsic_test(RBF(0.3), RBF(1.0), X, Y, permutations=4, random_state=1)
    K, L, random = RBF(0.3)(X), RBF(1.0)(Y), np.random.RandomState(1)
    assert_allclose(test.statistic, np.trace(H @ K @ H @ L) / 90**2)
    for value in test.permuted:
        p = random.permutation(90)
        assert_allclose(value, np.trace(H @ K @ H @ L[np.ix_(p, p)]) / 90**2)
    assert hsic_test(RBF(0.3), RBF(1.0), X, Y, permutations=99, random_state=0).pvalue == 0.01
    noise = RNG.normal(size=(90, 1))
    assert hsic_test(RBF(0.3), RBF(1.0), X, noise, permutations=99, random_state=0).pvalue > 0.02
    with pytest.raises(ValueError, match="as many of each"):
        hsic_test(RBF(), RBF(), X, Y[:3])
    with pytest.raises(ValueError, match="at least two"):
        hsic_test(RBF(), RBF(), X[:1], Y[:1])
    with pytest.raises(MemoryError, match="give memory="):
        hsic_test(RBF(), RBF(), X, Y, memory="1KB")


def test_effective_dimension_is_the_trace_of_the_hat_matrix():
    K = RBF(0.3)(X)
    wanted = np.trace(K @ np.linalg.inv(K + 0.5 * np.eye(90)))
    assert_allclose(effective_dimension(RBF(0.3), X, 0.5), wanted)
    assert_allclose(effective_dimension(RBF(0.3), X, 0.5, rank=90, random_state=0), wanted)
    assert effective_dimension(Linear(), X, 1e-9) == pytest.approx(3)
    with pytest.raises(ValueError, match="penalty=0"):
        effective_dimension(RBF(), X, 0)
