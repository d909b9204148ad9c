"""Comparisons of kernels and samples, learnt distances, and the search over parameters."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV

import mercer
from mercer.kernels import RBF, Linear
from mercer.learners.metrics import noise_features

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(18, 2)), RNG.normal(size=(14, 2)) + 0.5
LABELS = np.where(X[:, 0] + 0.4 * RNG.normal(size=18) > 0, "a", "b")
NUMBERS = X[:, 0] + 0.1 * RNG.normal(size=18)


def gaussian(A, B, gamma=0.5):
    return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


# --- kernels and samples ----------------------------------------------------------------------


@pytest.mark.parametrize("middle", [True, False])
def test_alignment(middle):
    """<K, L> / (|K| |L|), of centred matrices or not, with yyᵀ or with equal classes."""
    for y, L in ((NUMBERS, np.outer(NUMBERS, NUMBERS)), (LABELS, LABELS[:, None] == LABELS)):
        K, L = gaussian(X, X), L.astype(float)
        K, L = (centred(K), centred(L)) if middle else (K, L)
        wanted = (K * L).sum() / np.linalg.norm(K) / np.linalg.norm(L)
        assert mercer.alignment(RBF(0.5), y, X, centred=middle) == pytest.approx(wanted)


def test_the_alignment_of_a_kernel_with_itself_is_1():
    assert mercer.alignment(Linear(), Linear(), X) == pytest.approx(1)


def test_the_mean_discrepancy():
    """The means of k(x, x') and k(z, z') over pairs of different rows, less 2 k(x, z)."""
    n, m = len(X), len(Z)
    wanted = sum(gaussian(*[X[[i]], X[[j]]])[0, 0] for i in range(n) for j in range(n) if i != j)
    wanted /= n * (n - 1)
    wanted += (gaussian(Z, Z).sum() - m) / (m * (m - 1)) - 2 * gaussian(X, Z).mean()
    found = mercer.mmd_test(RBF(0.5), X, Z, permutations=10, random_state=0)
    assert found.statistic == pytest.approx(wanted)


def test_independence():
    """tr(K̃ L̃) / n²."""
    Y = X[:, :1] ** 2
    wanted = np.trace(centred(gaussian(X, X)) @ centred(gaussian(Y, Y))) / 18**2
    found = mercer.hsic_test(RBF(0.5), RBF(0.5), X, Y, permutations=10, random_state=0)
    assert found.statistic == pytest.approx(wanted)


def test_the_effective_dimension():
    """Σ λ_i / (λ_i + λ), the trace of K (K + λI)⁻¹."""
    K = gaussian(X, X)
    wanted = np.trace(K @ np.linalg.inv(K + 0.3 * np.eye(18)))
    assert mercer.effective_dimension(RBF(0.5), X, 0.3) == pytest.approx(wanted)


# --- learnt distances -------------------------------------------------------------------------


def test_a_random_neighbour_has_the_same_class_as_likely_as_possible():
    """Σ p_ij over pairs of one class: no map near the one that was found is better."""
    model = mercer.NeighbourhoodComponents(1, tol=1e-10, max_iter=1000).fit(X, LABELS)

    def value(A):
        w = np.exp(-(((X @ A.T)[:, None] - (X @ A.T)[None]) ** 2).sum(axis=2))
        np.fill_diagonal(w, 0)
        return ((w / w.sum(axis=1, keepdims=True)) * (LABELS[:, None] == LABELS)).sum()

    best = value(model.components_)
    for size in (1e-3, 1e-2):
        for _ in range(50):
            assert value(model.components_ + size * RNG.normal(size=(1, 2))) <= best + 1e-9


def test_large_margins_of_neighbours():
    """(1 - μ) Σ d² to targets + μ Σ max(0, 1 + d² - d² of impostors), over the rows."""
    model = mercer.LargeMarginNeighbours(2, push=0.4, max_iter=200, init="identity")
    model.fit(X, LABELS)
    gaps = ((X[:, None] - X[None]) ** 2).sum(axis=2) + np.diag(np.full(18, math.inf))
    same = LABELS[:, None] == LABELS
    targets = np.argsort(np.where(same, gaps, math.inf), axis=1)[:, :2]

    def value(A):
        D = (((X @ A.T)[:, None] - (X @ A.T)[None]) ** 2).sum(axis=2)
        total = 0.0
        for i, near in enumerate(targets):
            for j in near:
                impostors = np.maximum(0, 1 + D[i, j] - D[i, ~same[i]]).sum()
                total += 0.6 * D[i, j] + 0.4 * impostors
        return total / 18

    assert model.loss_ == pytest.approx(value(model.components_), rel=1e-8)
    assert model.loss_ <= value(np.eye(2))


def test_noise_features_are_found_by_leaving_each_out():
    """The leave-one-out error of k neighbours with all columns, and without each."""
    A = np.c_[X, RNG.normal(size=18)]

    def error(columns):
        w = 1 / A.std(axis=0)[columns]  # alike in the mean, up to one factor
        B = A[:, columns] * w
        D = ((B[:, None] - B[None]) ** 2).sum(axis=2) + np.diag(np.full(18, math.inf))
        votes = LABELS[np.argsort(D, axis=1)[:, :3]]
        return np.mean([list(v).count(y) < 2 for v, y in zip(votes, LABELS)])

    found = noise_features(A, LABELS, n_neighbors=3)
    assert found.error == pytest.approx(error([0, 1, 2]))
    assert_allclose(found.errors, [error([1, 2]), error([0, 2]), error([0, 1])])


# --- searches ---------------------------------------------------------------------------------


def test_a_search_has_the_scores_of_fits_one_by_one():
    grid = {"alpha": [0.01, 0.1, 1.0], "gamma": [0.1, 1.0]}
    ours = mercer.KernelSearchCV(mercer.KernelRidge(kernel="rbf"), grid, cv=3).fit(X, NUMBERS)
    plain = GridSearchCV(mercer.KernelRidge(kernel="rbf"), grid, cv=3).fit(X, NUMBERS)
    scores = "mean_test_score"
    assert_allclose(ours.cv_results_[scores], plain.cv_results_[scores], rtol=1e-8)
    assert ours.best_params_ == plain.best_params_
