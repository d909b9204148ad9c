"""Principal components, canonical correlation, Fisher's discriminant and clusters in feature space.

The feature space is that of (<x, z> + 1)², whose features are written down, so that each method is
its plain form on a matrix of features.
"""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh

import mercer
from mercer.kernels import RBF, Polynomial

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
NEW = RNG.normal(size=(5, 2))
SQUARE = Polynomial(2, 1.0, 1.0)


def features(A):
    A = np.c_[A, np.ones(len(A))]
    return (A[:, :, None] * A[:, None, :]).reshape(len(A), -1)


def same_up_to_signs(found, wanted, **close):
    """Columns are directions, whose signs mean nothing."""
    signs = np.sign((found * wanted).sum(axis=0))
    assert_allclose(found * signs, wanted, **close)


# --- principal components ---------------------------------------------------------------------


def test_principal_components_of_the_centred_gram_matrix():
    """K̃ = K - 1K - K1 + 1K1, K̃ a = λ a, λ|a|² = 1, y(x) = Σ a_i k̃(x, x_i)."""
    K, one = RBF(0.5)(X), np.full((12, 12), 1 / 12)
    centred = K - one @ K - K @ one + one @ K @ one
    values, A = np.linalg.eigh(centred)
    values, A = values[::-1][:3], A[:, ::-1][:, :3]
    A = A / np.sqrt(values)
    assert_allclose(values * (A**2).sum(axis=0), 1)
    new, row = RBF(0.5)(NEW, X), np.full((5, 12), 1 / 12)
    wanted = (new - row @ K - new @ one + row @ K @ one) @ A
    model = mercer.KernelPCA(3, kernel=RBF(0.5)).fit(X)
    assert_allclose(model.eigenvalues_, values, rtol=1e-9)
    same_up_to_signs(model.transform(NEW), wanted, rtol=1e-7, atol=1e-9)


def test_principal_components_are_those_of_the_features():
    F = features(X) - features(X).mean(axis=0)
    U, s, Vt = np.linalg.svd(F, full_matrices=False)
    model = mercer.KernelPCA(4, kernel=SQUARE).fit(X)
    assert_allclose(model.eigenvalues_, s[:4] ** 2, rtol=1e-9)
    assert_allclose(model.explained_variance_ratio_, s[:4] ** 2 / (s**2).sum(), rtol=1e-9)
    same_up_to_signs(model.transform(X), (U * s)[:, :4], rtol=1e-7, atol=1e-9)
    wanted = (features(NEW) - features(X).mean(axis=0)) @ Vt[:4].T
    same_up_to_signs(model.transform(NEW), wanted, rtol=1e-7, atol=1e-9)


def test_principal_components_in_float32_and_far_from_0():
    """The linear kernel of X + 100 in single precision has the components of X."""
    single = (X + 100).astype(np.float32)
    F = single.astype(float) - single.astype(float).mean(axis=0)
    model = mercer.KernelPCA(2, kernel="linear").fit(single)
    assert_allclose(model.eigenvalues_, np.linalg.svd(F)[1] ** 2, rtol=1e-4)


def test_a_pre_image_is_at_least_as_good_as_every_training_row():
    """It maximises <Σ g_i φ(x_i), φ(z)>, which for a Gaussian is the least distance to φ(z)."""
    kernel = RBF(2.0)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(20, 2))
        model = mercer.KernelPCA(4, kernel=kernel).fit(A)
        scores = model.transform(A) * rng.normal(1.0, 0.3, size=(20, 4))
        G = scores @ model.projection_.T + model.mean_coef_
        found = (G * kernel(model.inverse_transform(scores), A)).sum(axis=1)
        assert (found >= (G @ kernel(A)).max(axis=1) - 1e-9).all()


# --- canonical correlation --------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_canonical_correlation(alpha):
    """cov(f, g)² / ((var f + κ1 |f|²/n)(var g + κ2 |g|²/n)), κ = α tr K̃, as an eigenproblem."""
    Y = np.c_[X[:, 0] ** 2 + 0.1 * RNG.normal(size=12), RNG.normal(size=12)]
    A, B = (features(V) - features(V).mean(axis=0) for V in (X, Y))
    k1, k2 = (alpha * np.trace(V @ V.T) for V in (A, B))
    zero = np.zeros((9, 9))
    left = np.block([[zero, A.T @ B], [B.T @ A, zero]])
    tiny = 1e-13 * np.eye(9)
    right = np.block([[A.T @ A + k1 * np.eye(9), zero], [zero, B.T @ B + k2 * np.eye(9)]])
    _, vectors = eigh(left, right + np.kron(np.eye(2), tiny))
    f, g = A @ vectors[:9, ::-1][:, :2], B @ vectors[9:, ::-1][:, :2]
    model = mercer.KernelCCA(2, alpha=alpha, kernel=SQUARE, kernel_y=SQUARE).fit(X, Y)
    same_up_to_signs(model.transform(X, Y)[0], f / f.std(axis=0), rtol=1e-5, atol=1e-6)
    same_up_to_signs(model.transform(X, Y)[1], g / g.std(axis=0), rtol=1e-5, atol=1e-6)
    wanted = [np.corrcoef(f[:, j], g[:, j])[0, 1] for j in range(2)]
    assert_allclose(model.correlations_, wanted, rtol=1e-6)


# --- Fisher's discriminant --------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_fishers_discriminant(classes):
    """wᵀ S_B w / wᵀ (S_W + α I) w, and Gaussian classes of one covariance on these directions."""
    y, alpha = np.arange(12) % classes, 0.4
    A = X + np.c_[y, y == 1]
    F = features(A)
    means = np.array([F[y == c].mean(axis=0) for c in range(classes)])
    within = sum((F[y == c] - means[c]).T @ (F[y == c] - means[c]) for c in range(classes))
    between = sum(
        (y == c).sum() * np.outer(*[means[c] - F.mean(axis=0)] * 2) for c in range(classes)
    )
    values, W = eigh(between, within + alpha * np.eye(9))
    W = W[:, ::-1][:, : classes - 1] * math.sqrt(12)  # (S_W + αI)/n is the identity on them
    model = mercer.KernelDiscriminant(alpha, kernel=SQUARE).fit(A, y)
    wanted = (features(NEW) - F.mean(axis=0)) @ W
    same_up_to_signs(model.transform(NEW), wanted, rtol=1e-6, atol=1e-7)
    ratio = values[::-1][: classes - 1]
    assert_allclose(model.explained_variance_ratio_, ratio / ratio.sum(), rtol=1e-7)
    centres = (means - F.mean(axis=0)) @ W
    shares = np.bincount(y) / 12
    logs = np.log(shares) - ((wanted[:, None] - centres[None]) ** 2).sum(axis=2) / 2
    proba = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(NEW), proba, atol=1e-7)


# --- clusters ---------------------------------------------------------------------------------


def partitions(n, k):
    """All labellings of n rows by k clusters that are not empty."""
    for labels in itertools.product(range(k), repeat=n):
        if len(set(labels)) == k:
            yield np.array(labels)


def inertia(F, labels, w):
    total = 0.0
    for c in set(labels):
        own = labels == c
        mean = np.average(F[own], axis=0, weights=w[own])
        total += (w[own] * ((F[own] - mean) ** 2).sum(axis=1)).sum()
    return total


@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_k_means_finds_the_best_of_all_partitions(weighted):
    """Σ w |φ(x) - μ|² in feature space, over all 2^8 labellings."""
    A = X[:8]
    w = RNG.uniform(0.5, 2, 8) if weighted else np.ones(8)
    best = min(inertia(features(A), labels, w) for labels in partitions(8, 2))
    model = mercer.KernelKMeans(2, kernel=SQUARE, n_init=30, random_state=0)
    model.fit(A, sample_weight=w)
    assert model.inertia_ == pytest.approx(best, rel=1e-9)
    assert model.inertia_ == pytest.approx(inertia(features(A), model.labels_, w), rel=1e-9)


def test_the_distance_to_a_centre():
    """ρ² = k(x, x) - 2/|C| Σ k(x, z) + 1/|C|² ΣΣ k(z, z')."""
    model = mercer.KernelKMeans(3, kernel=RBF(0.5), random_state=0).fit(X)
    K, new = RBF(0.5)(X), RBF(0.5)(NEW, X)
    squares = np.stack(
        [
            1 - 2 * new[:, own].mean(axis=1) + K[np.ix_(own, own)].mean()
            for own in (model.labels_ == c for c in range(3))
        ],
        axis=1,
    )
    assert_allclose(model.transform(NEW), np.sqrt(squares), rtol=1e-9)
    assert_allclose(model.predict(NEW), squares.argmin(axis=1))


def test_no_row_is_nearer_to_another_centre():
    model = mercer.KernelKMeans(3, kernel=RBF(0.5), random_state=0).fit(X)
    assert_allclose(model.predict(X), model.labels_)


def test_the_correction_adds_the_same_to_all_partitions():
    """Lingoes: δ more on the diagonal adds δ (n - k) to every inertia."""
    D = np.abs(X[:7, None] - X[None, :7]).sum(axis=2) ** 2  # squares of no Euclidean distance
    K = -D / 2
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    model = mercer.KernelKMeans(2, kernel="precomputed", correction="lingoes", random_state=0)
    model.fit(K)
    assert model.correction_ == pytest.approx(-np.linalg.eigvalsh(centred).min(), rel=1e-6)
    assert model.correction_effect_ == pytest.approx(model.correction_ * 5, rel=1e-9)

    def pairwise(labels):
        return (
            sum(D[np.ix_(labels == c, labels == c)].sum() / (labels == c).sum() for c in (0, 1)) / 2
        )

    assert model.inertia_ == pytest.approx(pairwise(model.labels_), rel=1e-9)


@pytest.mark.parametrize("seed", [3, 5])
def test_k_means_with_the_correction_finds_the_best_of_all_partitions(seed):
    """Squared distances drawn at random, far from any that points have."""
    D = np.random.default_rng(seed).uniform(size=(12, 12))
    D = (D + D.T) * (1 - np.eye(12))
    first = np.array(list(itertools.product([0.0, 1.0], repeat=12)))[1:2048]  # row 0 in cluster 0
    best = min(sum(p @ D @ p / p.sum() for p in (q, 1 - q)) / 2 for q in first)
    model = mercer.KernelKMeans(
        2, kernel="precomputed", correction="lingoes", n_init=100, random_state=0
    )
    assert model.fit(-D / 2).inertia_ <= best * (1 + 1e-9)


def test_spectral_clustering_embeds_by_the_first_eigenvectors():
    """D⁻¹K e = λ e with Σ d_i e_i² = 1."""
    K = RBF(0.5)(X)
    d = K.sum(axis=1)
    values, E = eigh(K, np.diag(d))
    model = mercer.SpectralClustering(3, kernel=RBF(0.5), random_state=0).fit(X)
    assert_allclose(model.eigenvalues_, values[::-1][:3], rtol=1e-7)
    same_up_to_signs(model.embedding_, E[:, ::-1][:, :3], rtol=1e-6, atol=1e-7)


def test_the_normalised_cut_is_weighted_kernel_k_means():
    """With w = d and the kernel D⁻¹ K D⁻¹, inertia = Σ d k - (number of clusters - the cut)."""
    K = RBF(2.0)(X[:8])
    d = K.sum(axis=1)

    def cut(labels):
        return sum(K[np.ix_(labels == c, labels != c)].sum() / d[labels == c].sum() for c in (0, 1))

    best = min(map(cut, partitions(8, 2)))
    model = mercer.KernelKMeans(2, kernel="precomputed", n_init=30, random_state=0)
    model.fit(K / np.outer(d, d), sample_weight=d)
    assert cut(model.labels_) == pytest.approx(best, rel=1e-9)
    assert model.inertia_ == pytest.approx((K.diagonal() / d).sum() - 2 + best, rel=1e-9)
