"""Weights of many kernels: centred alignment, EasyMKL, SimpleMKL and weights without labels."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint, minimize, nnls

import mercer
from mercer.gram import DenseGram
from mercer.solvers import NeighbourhoodWeights

RNG = np.random.default_rng(0)
n = 20
X = RNG.normal(size=(n, 3))
Y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.3 * RNG.normal(size=n) > 0, 1.0, -1.0)
KERNELS = [
    np.exp(-g * (X[:, [c]] - X[:, c]) ** 2) for c, g in ((0, 0.5), (1, 0.5), (2, 2.0))
]  # k(x, x) = 1


def weights(method, **options):
    model = mercer.MultipleKernelClassifier("precomputed", method=method, tol=1e-7, **options)
    return model.fit(KERNELS, Y)


def centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def test_the_average():
    assert_allclose(weights("average").weights_, 1 / 3)


def alignments():
    target = np.outer(Y, Y)
    return np.array([(centred(K) * target).sum() for K in KERNELS])


def test_centred_alignment():
    """μ_t in proportion to <K̃_t, yyᵀ> / (|K̃_t| |yyᵀ|)."""
    a = alignments() / [np.linalg.norm(centred(K)) for K in KERNELS]
    assert_allclose(weights("align").weights_, a / a.sum(), rtol=1e-8)


def test_the_sum_with_the_largest_alignment():
    """min vᵀMv - 2vᵀa over v >= 0 with M_st = <K̃_s, K̃_t>, by non-negative least squares."""
    M = np.array([[(centred(K) * centred(L)).sum() for L in KERNELS] for K in KERNELS])
    root = np.linalg.cholesky(M)
    v = nnls(root.T, np.linalg.solve(root, alignments()))[0]
    found = weights("alignf").weights_
    assert_allclose(found, v / v.sum(), atol=1e-6)

    def aligned(mu):
        return mu @ alignments() / math.sqrt(mu @ M @ mu)

    assert aligned(found) >= max(aligned(RNG.dirichlet(np.ones(3))) for _ in range(2000)) - 1e-9


@pytest.mark.parametrize("lam", [0.1, 0.5, 1.0])
def test_easy_mkl(lam):
    """min over γ with the sum 1 in each class of γᵀY[(1 - λ) Σ K + λI]Yγ; μ_t ∝ γᵀY K_t Yγ."""
    Q = np.outer(Y, Y) * ((1 - lam) * sum(KERNELS) + lam * np.eye(n))
    sums = LinearConstraint(np.array([Y > 0, Y < 0]) * 1.0, 1, 1)
    start = np.where(Y > 0, 1 / (Y > 0).sum(), 1 / (Y < 0).sum())
    gamma = minimize(
        lambda g: g @ Q @ g, start, jac=lambda g: 2 * Q @ g, bounds=[(0, None)] * n,
        constraints=[sums], method="SLSQP", options={"ftol": 1e-15, "maxiter": 1000},
    ).x  # fmt: skip
    mu = np.array([(gamma * Y) @ K @ (gamma * Y) for K in KERNELS])
    assert_allclose(weights("easy", lam=lam).weights_, mu / mu.sum(), atol=1e-4)


def machine(K, C):
    """J(K): the least value of a soft margin, by its dual."""
    Q = K * np.outer(Y, Y)
    found = minimize(
        lambda a: a @ Q @ a / 2 - a.sum(), np.zeros(n), jac=lambda a: Q @ a - 1,
        bounds=[(0, C)] * n, constraints=[LinearConstraint(Y[None], 0, 0)], method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )  # fmt: skip
    return -found.fun, found.x


@pytest.mark.parametrize("method", ["simple", "one_norm"])
def test_simple_mkl(method):
    """min over the simplex of J(Σ μ K), with the gap ½ (max S_t - Σ μ S_t), S = (α∘y)ᵀK_t(α∘y)."""
    model = weights(method, C=2.0, max_iter=2000)
    value, alpha = machine(sum(m * K for m, K in zip(model.weights_, KERNELS)), 2.0)
    assert model.objective_ == pytest.approx(value, rel=1e-4)
    S = np.array([(alpha * Y) @ K @ (alpha * Y) for K in KERNELS])
    assert (S.max() - model.weights_ @ S) / 2 < 1e-3 * value
    grid = [np.array(m) / 5 for m in itertools.product(range(6), repeat=3) if sum(m) == 5]
    best = min(machine(sum(m * K for m, K in zip(mu, KERNELS)), 2.0)[0] for mu in grid)
    assert value <= best * (1 + 1e-6)


def test_weights_without_labels():
    """½ |X(I - K∘D)|² + γ Σ (K∘D∘M) with D the k nearest: a quadratic program over the simplex."""
    k, distance_weight = 4, 0.1
    P = sum(KERNELS) / 3
    M = P.diagonal()[:, None] + P.diagonal() - 2 * P
    near = np.argsort(M + np.diag(np.full(n, np.inf)), axis=1)[:, :k]
    D = np.zeros((n, n))
    for i, rows in enumerate(near):
        D[rows, i] = 1 / k

    def value(mu):
        E = np.eye(n) - sum(m * K for m, K in zip(mu, KERNELS)) * D
        parts = np.einsum("ji,jl,li->", E, P, E) / 2
        return parts + distance_weight * ((np.eye(n) - E) * M).sum()

    grams = [DenseGram(K, symmetric=True) for K in KERNELS]
    found = NeighbourhoodWeights(k, distance_weight).solve(grams).coef
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    best = min(value(RNG.dirichlet(np.ones(3))) for _ in range(3000))
    assert value(found) <= best + 1e-9
