"""Kernels of the inner product, of histograms and of subsets; names; peers; bad values."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels

import oracles
from mercer import _native
from mercer.distances import Minkowski
from mercer.kernels import (
    ANOVA,
    RBF,
    AllSubsets,
    ChiSquared,
    Cosine,
    FromFunction,
    HistogramIntersection,
    Linear,
    Match,
    Polynomial,
    QueryKey,
    Sigmoid,
    as_kernel,
)

X = np.random.default_rng(0).normal(size=(12, 5))
Z = np.random.default_rng(1).normal(size=(7, 5))


@pytest.mark.parametrize(
    "name", ["linear", "poly", "polynomial", "rbf", "laplacian", "sigmoid", "cosine", "chi2"]
)
@pytest.mark.parametrize("arguments", [{}, {"gamma": 0.7, "degree": 2, "coef0": 0.5}])
def test_names_mean_what_they_mean_to_scikit_learn(name, arguments):
    A, B = (np.abs(X), np.abs(Z)) if name == "chi2" else (X, Z)
    ours = as_kernel(name, **arguments)
    ours = ours.bind(ours.encode(A))
    theirs = pairwise_kernels(A, B, metric=name, filter_params=True, **arguments)
    assert_allclose(ours(A, B), theirs, rtol=1e-9)


def test_no_argument_is_ignored_beside_a_kernel_object():
    with pytest.raises(ValueError, match=r"gamma=2 is given together with .* RBF\(\)"):
        as_kernel(RBF(), gamma=2, degree=None)
    kernel = RBF()
    assert as_kernel(kernel, gamma=None) is kernel


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        ("rfb", ValueError, "kernel='rfb' is not known. Did you mean 'rbf'"),
        ("?", ValueError, "Give one of .*precomputed"),
        (3, TypeError, "kernel=3: give a kernel object, a name, or a function"),
        (Minkowski(), TypeError, r"is a distance.*FromDistance\(Minkowski\(\)\)"),
        (RBF, TypeError, r"kernel=RBF is a class: give an object, RBF\(\)"),
    ],
)
def test_what_is_no_kernel(kernel, error, message):
    with pytest.raises(error, match=message):
        as_kernel(kernel)


def test_functions_are_kernels():
    def rows(x, z, power=1):
        return float(x @ z) ** power

    arrays = as_kernel(lambda A, B: A @ B.T)
    assert_allclose(arrays(X, Z), X @ Z.T)
    pairs = as_kernel(rows, pairwise=True, kernel_params={"power": 2})
    assert_allclose(pairs(X, Z), (X @ Z.T) ** 2)
    assert_allclose(pairs(sp.csr_array(X), Z), (X @ Z.T) ** 2)
    with pytest.raises(ValueError, match=r"returned shape \(12, 5\).*must return \(12, 7\)"):
        FromFunction(lambda A, B: A, at_once=True)(X, Z)


def test_every_kernel_is_a_callable_of_scikit_learn():
    y = X[:, 0]
    theirs = KernelRidge(kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X, y).predict(Z)
    gram = Polynomial(2)(X)
    ours = KernelRidge(kernel="precomputed").fit(gram, y).predict(Polynomial(2)(Z, X))
    assert_allclose(ours, theirs)


def test_the_sum_of_all_degrees_of_anova_is_all_subsets():
    total = 1 + sum(ANOVA(p)(X, Z) for p in range(1, 6))
    assert_allclose(AllSubsets()(X, Z), total, rtol=1e-9)
    assert (ANOVA(6)(X, Z) == 0).all()


@pytest.mark.parametrize("isa", _native.available_isas())
@pytest.mark.parametrize(("m", "d", "p"), [(1, 1, 1), (63, 2, 2), (64, 5, 3), (65, 4, 4),
                                           (130, 3, 5), (513, 6, 2)])  # fmt: skip
def test_native_subset_loops(isa, m, d, p):
    rng = np.random.default_rng(m)
    A, B = rng.normal(size=(2, d)), rng.normal(size=(m, d))
    before = _native.isa()
    _native.use_isa(isa)
    K, L = ANOVA(p).block(A, B), AllSubsets().block(A, B)
    _native.use_isa(before)
    e = np.zeros((p + 1, 2, m))
    e[0] = 1
    for j in range(d):
        for q in range(p, 0, -1):
            e[q] += np.outer(A[:, j], B[:, j]) * e[q - 1]
    assert_allclose(K, e[p], rtol=1e-9, atol=1e-11)
    assert_allclose(L, (1 + A[:, None] * B[None]).prod(-1), rtol=1e-9, atol=1e-11)


def test_all_subsets_beyond_the_range_of_floats():
    # on its way the product passes 10^500, which no float64 holds; its value is 10^(500 - 480)
    x = np.array([[1e5] * 100 + [1.0] * 480])
    z = np.array([[1.0] * 100 + [-0.9] * 480])
    expected = 100 * np.log(1e5 + 1) + 480 * np.log(0.1)
    assert_allclose(np.log(AllSubsets()(x, z)[0, 0]), expected, rtol=1e-10)
    z[0, 0] = -1.0
    assert AllSubsets()(x, z)[0, 0] < 0
    # beyond the range: infinite itself, finite once normalised
    big = np.full((2, 400), 10.0) * [[1.0], [0.9]]
    assert AllSubsets()(big)[0, 0] == np.inf
    K = AllSubsets().normalised()(big)
    assert_allclose(K[0, 1], (91 / np.sqrt(101 * 82)) ** 400)
    assert_allclose(K.diagonal(), 1)


def test_homogeneous_polynomials_have_features_of_one_degree():
    # C(d + p - 1, p) monomials of degree exactly p, C(d + p, p) of degree at most p; the first
    # appear among the second with an inhomogeneous coordinate that is 0
    F = Polynomial(2, 1.0, 0.0).features(X)
    assert (np.abs(F).sum(axis=0) > 0).sum() == 15
    G = Polynomial(2, 1.0, 1.0).features(X)
    assert (np.abs(G).sum(axis=0) > 0).sum() == 21


def test_zero_vectors_have_cosine_zero():
    K = Cosine()(np.array([[0.0, 0.0], [1.0, 0.0]]))
    assert (K == [[0, 0], [0, 1]]).all()


def test_histograms_must_not_be_negative():
    for kernel in (ChiSquared(), HistogramIntersection()):
        for samples in (X, sp.csr_array(X)):
            with pytest.raises(ValueError, match="compares non-negative vectors"):
                kernel(samples)


def test_histogram_intersection_counts_shared_elements():
    A = (X > 0).astype(float)
    assert_allclose(HistogramIntersection()(A), A @ A.T)


def test_queries_and_keys_live_in_two_domains():
    kernel = QueryKey(np.ones((2, 3)), np.ones((2, 5)))
    K = kernel(np.ones((4, 3)), np.ones((6, 5)))
    assert K.shape == (4, 6)
    assert not kernel.symmetric
    with pytest.raises(ValueError, match="queries reads 3 and keys 5"):
        kernel(np.ones((4, 5)), np.ones((6, 5)))
    with pytest.raises(ValueError, match="queries has shape"):
        QueryKey(np.ones((2, 3)), np.ones((3, 3)))(X)


@pytest.mark.parametrize("form", ["dot_product", "rbf", "distance", "quadratic", "intersection"])
def test_forms_of_queries_and_keys(form):
    rng = np.random.default_rng(0)
    kernel = QueryKey(rng.normal(size=(2, 3)), rng.normal(size=(2, 5)), form=form, scale=0.7)
    A, B = rng.normal(size=(4, 3)), rng.normal(size=(6, 5))
    wanted = [[oracles.query_key(kernel, a, b, None) for b in B] for a in A]
    assert_allclose(kernel(A, B), wanted)
    assert kernel(A.astype(np.float32), B.astype(np.float32)).dtype == np.float32
    assert "c = 0.7" in kernel.meaning.formula


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"form": "linear"}, "form='linear': give one of 'dot_product'"), ({"scale": 0}, "scale=0"),
     ({"form": None}, "form=None"), ({"scale": np.inf}, "scale=inf")],
)  # fmt: skip
def test_wrong_forms_of_queries_and_keys_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        QueryKey(np.eye(3), np.eye(3), **arguments)(X[:, :3])


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Polynomial(0), "degree=0: a polynomial kernel needs an integer >= 1"),
        (Polynomial(1.5), "degree=1.5"),
        (Polynomial(2, coef0=-1), "coef0=-1: must be >= 0"),
        (Polynomial(2, gamma=-1), "gamma=-1"),
        (Sigmoid(gamma=0), "gamma=0"),
        (ANOVA(0), "degree=0"),
        (ChiSquared(0), "gamma=0"),
    ],
)
def test_bad_parameters_are_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(np.abs(X))


def test_weights_of_match():
    with pytest.raises(ValueError, match="weights must be >= 0"):
        Match([-1.0])([["a"]])
    with pytest.raises(ValueError, match=r"weights has shape \(2,\)"):
        Match([1.0, 2.0])([["a"]])


def test_linear_is_symmetric_to_the_last_bit():
    K = Linear()(X)
    assert (K == K.T).all()
