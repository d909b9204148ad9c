"""Several classes from machines for two: the same as separate fits, each value of K once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from learners.margin.machines import IRIS, WINE, values
from mercer import SVC, NuSVC
from mercer.gram import FeatureGram, TiledGram
from mercer.kernels import RBF, Kernel
from mercer.learners.base.reasons import all_pairs, by_class, by_pair, votes
from mercer.solvers.rows import PairGram, PairGrams

RNG = np.random.default_rng(0)


def classes(k, rows=8):
    """k classes on a circle, which overlap a little."""
    y = np.repeat(np.arange(k), rows)[RNG.permutation(k * rows)]
    angle = 2 * np.pi * y / k
    X = k * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.8 * RNG.normal(size=(k * rows, 2))
    return X, y


@pytest.mark.parametrize("k", [3, 4, 7, 26])
@pytest.mark.parametrize("Classifier", [SVC, NuSVC])
def test_pairs_are_separate_fits(Classifier, k):
    X, y = classes(k)
    given = {"gamma": 0.3, "tol": 1e-8} | ({"nu": 0.3} if Classifier is NuSVC else {})
    model = Classifier(**given).fit(X, y)
    columns = values(model, X).T
    assert len(columns) == k * (k - 1) // 2 == len(model.n_iter_) == len(model.margin_)
    some = range(0, len(columns), 1 + len(columns) // 12)
    for machine in some:
        first, second = all_pairs(k)[machine]
        rows = np.isin(y, (first, second))
        alone = Classifier(**given).fit(X[rows], y[rows] == first)
        assert_allclose(columns[machine], alone.decision_function(X), atol=1e-5)
        assert_allclose(model.margin_[machine], alone.margin_[0], rtol=1e-5)
        assert_allclose(model.intercept_[machine], alone.intercept_[0], atol=1e-5)


@pytest.mark.parametrize("k", [3, 5, 12])
@pytest.mark.parametrize("Classifier", [SVC, NuSVC])
def test_one_against_the_rest_are_separate_fits(Classifier, k):
    X, y = classes(k)
    given = {"gamma": 0.3, "tol": 1e-8} | ({"nu": 0.1} if Classifier is NuSVC else {})
    model = Classifier(multi_class="ovr", **given).fit(X, y)
    f = model.decision_function(X)
    assert f.shape == (len(X), k)
    assert model.dual_coef_.shape == (k, len(model.support_))
    for c in range(k):
        alone = Classifier(**given).fit(X, y == c)
        assert_allclose(f[:, c], alone.decision_function(X), atol=1e-5)
    assert_array_equal(model.predict(X), model.classes_[f.argmax(axis=1)])
    assert_array_equal(model.n_support_, np.bincount(y[model.support_], minlength=k))
    assert_allclose(f, RBF(0.3)(X, model.support_vectors_) @ model.dual_coef_.T + model.intercept_)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_shapes(k, multi_class):
    X, y = classes(k)
    pairs = k * (k - 1) // 2
    for shape, width in (("ovr", k), ("ovo", pairs)):
        if multi_class == shape == "ovo" or shape == "ovr":
            model = SVC(multi_class=multi_class, decision_function_shape=shape).fit(X, y)
            f = model.decision_function(X[:5])
            assert f.shape == ((5,) if k == 2 else (5, width))
            assert model.predict(X[:5]).shape == (5,)
            assert model.score(X, y) > 0.7
    model = SVC(multi_class=multi_class, probability=True, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (len(X), k)


def test_one_against_the_rest_has_no_pairs():
    with pytest.raises(ValueError, match=r"needs pairs of classes"):
        SVC(multi_class="ovr", decision_function_shape="ovo").fit(*IRIS)


def test_two_classes_are_one_machine_however_they_are_asked_for():
    X, y = classes(2)
    one, other = SVC().fit(X, y), SVC(multi_class="ovr").fit(X, y)
    assert_array_equal(one.decision_function(X), other.decision_function(X))
    assert_array_equal(one.dual_coef_, other.dual_coef_)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_layout_of_coefficients_comes_back(k):
    codes = RNG.permutation(np.arange(40) % k)
    grams = PairGrams(TiledGram(RBF(0.3), np.zeros((40, 2))), codes, 0, 0)
    beta, coefs = np.zeros((40, k * (k - 1) // 2)), []
    for machine, pair in enumerate(all_pairs(k)):
        rows = grams.rows_of(*pair)
        assert_array_equal(np.sort(rows), np.flatnonzero(np.isin(codes, pair)))
        coefs.append(RNG.normal(size=len(rows)))
        beta[rows, machine] = coefs[-1]
    dual = by_class(coefs, codes, k)
    assert dual.shape == (k - 1, 40)
    assert_array_equal(by_pair(dual, codes, k), beta)


def test_votes_of_enormous_values_are_finite():
    f = np.array([[1e308, 1e308, 1.0], [-1e308, -np.inf, 1e308]])
    with np.errstate(all="raise"):
        scores = votes(f, 3)
    assert_array_equal(scores.argmax(axis=1), [0, 1])
    assert (np.abs(scores - np.round(scores)) < 0.5).all()


def test_votes_are_counted():
    """A row beyond doubt: class c wins against all; distances stay below half a vote."""
    f = np.array([[1.0, 1.0, -5.0], [-1e9, 1e-9, 1e9], [0.0, 0.0, 0.0]])
    scores = votes(f, 3)
    assert_array_equal(np.round(scores), [[2, 0, 1], [1, 2, 0], [2, 1, 0]])
    assert np.abs(scores - np.round(scores)).max() < 1 / 3 + 1e-12


# Values of K that pairs share


class Counting(Kernel):
    """RBF that counts how often each value is computed; the first column is the row's number."""

    def __init__(self, counts=None):
        self.counts = counts

    def block(self, X, Z):
        self.counts[np.ix_(X[:, 0].astype(int), Z[:, 0].astype(int))] += 1
        return RBF(0.3).block(X[:, 1:], Z[:, 1:])


@pytest.mark.parametrize("k", [3, 6, 26])
def test_each_value_of_the_kernel_is_computed_once(k):
    """Those within a class once for all its pairs, those between two once for theirs."""
    X, y = classes(k)
    kernel = Counting(np.zeros((len(X), len(X)), int))
    K = TiledGram(kernel, np.column_stack([np.arange(len(X)), X]))
    grams = PairGrams(K, y, small=2048, memory=2**30)
    for first, second in all_pairs(k):
        rows, part = grams.of(first, second)
        assert isinstance(part, PairGram)
        assert_array_equal(rows, [*np.flatnonzero(y == first), *np.flatnonzero(y == second)])
        assert_allclose(part.dense(), RBF(0.3)(X[rows]), atol=1e-12)
        assert_allclose(part.dense(), part.dense().T, atol=0)
    counts, between = kernel.counts, y[:, None] != y
    assert ((counts + counts.T)[between] == 1).all()  # one side of the diagonal alone
    assert (counts[~between] == 1).all()


@pytest.mark.parametrize(("small", "memory"), [(10, 2**30), (2048, 100), (2048, 4000)])
def test_pairs_that_are_large_or_many_are_parts_of_the_whole(small, memory):
    """4,000 bytes are enough for what is shared, but not for the rows of a pair beside it."""
    X, y = classes(4)
    grams = PairGrams(TiledGram(RBF(0.3), X), y, small, memory)
    assert not grams.own
    for first, second in all_pairs(4):
        rows, part = grams.of(first, second)
        assert not isinstance(part, PairGram)
        assert_allclose(part.dense(), RBF(0.3)(X[rows]), atol=1e-12)


def test_pairs_of_very_different_sizes():
    """One class too large for its pairs to be held, the others small."""
    y = np.repeat([0, 1, 2, 3], [60, 5, 6, 7])
    X = RNG.normal(size=(78, 3)) + y[:, None]
    grams = PairGrams(TiledGram(RBF(0.3), X), y, small=30, memory=2**20)
    assert sorted(grams.own) == [1, 2, 3]
    for pair in all_pairs(4):
        rows, part = grams.of(*pair)
        assert isinstance(part, PairGram) == (0 not in pair)
        assert_allclose(part.dense(), RBF(0.3)(X[rows]), atol=1e-12)


def test_two_classes_read_the_operator_as_it_is():
    X, y = classes(2)
    K = FeatureGram(X)
    rows, part = PairGrams(K, y, 2048, 2**30).of(0, 1)
    assert part is K
    assert_array_equal(rows, np.arange(16))


@pytest.mark.parametrize("data", [IRIS, WINE], ids=["iris", "wine"])
def test_a_precomputed_matrix_gives_the_same_pairs(data):
    X, y = data
    K = RBF(0.1)(X)
    for multi_class in ("ovo", "ovr"):
        wanted = SVC(kernel=RBF(0.1), multi_class=multi_class, tol=1e-8).fit(X, y)
        model = SVC(kernel="precomputed", multi_class=multi_class, tol=1e-8).fit(K, y)
        assert_allclose(values(model, K), values(wanted, X), atol=1e-5)
