"""Clusters of iris, wine and digits: scikit-learn's k-means on features, scipy's eigenpairs, and
distances, medoids and scores written out from the definition."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans, SpectralClustering as Theirs
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from mercer import KernelKMeans, SpectralClustering
from mercer.kernels import RBF

DATA = {
    "iris": StandardScaler().fit_transform(load_iris().data),
    "wine": StandardScaler().fit_transform(load_wine().data),
    "digits": load_digits().data[:300] / 16,
}
CLASSES = {"iris": load_iris().target, "wine": load_wine().target,
           "digits": load_digits().target[:300]}  # fmt: skip
COUNTS = {"iris": 3, "wine": 3, "digits": 10}
KERNELS = {"iris": RBF(0.3), "wine": RBF(0.05), "digits": RBF(0.1)}
NAMES = ["iris", "wine", pytest.param("digits", marks=pytest.mark.full)]


def features_of(K):
    """Rows whose inner products are K."""
    values, V = scipy.linalg.eigh(K)
    return V * np.sqrt(np.maximum(values, 0))


def distances_of(K, cross, own, labels, count, w):
    """Of new samples to the centres in the feature space: |φ(x) - μ_c|, cluster by cluster."""
    found = np.empty((len(cross), count))
    for c in range(count):
        i = np.flatnonzero(labels == c)
        share = w[i] / w[i].sum()
        square = own - 2 * cross[:, i] @ share + share @ K[np.ix_(i, i)] @ share
        found[:, c] = np.sqrt(np.maximum(square, 0))
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_kernel_k_means_is_k_means_of_the_features(name, weighted):
    X, count, kernel = DATA[name], COUNTS[name], KERNELS[name]
    K, n = kernel(X), len(X)
    w = np.random.default_rng(0).uniform(0.2, 3, n) if weighted else np.ones(n)
    model = KernelKMeans(count, kernel=kernel, n_init=5, random_state=0)
    model.fit(X, sample_weight=w if weighted else None)
    D = distances_of(K, K, K.diagonal(), model.labels_, count, w)
    # a fixed point of Lloyd's iterations, whose inertia is the definition's
    assert_array_equal(D.argmin(axis=1), model.labels_)
    assert_allclose(model.inertia_, w @ D.min(axis=1) ** 2, rtol=1e-9)
    assert_allclose(model.transform(X), D, atol=1e-6)
    sizes = np.bincount(model.labels_, w)
    assert (np.diff(sizes) <= 0).all() or weighted
    for c, medoid in enumerate(model.medoids_):
        assert_allclose(D[medoid, c], D[model.labels_ == c, c].min(), atol=1e-7)
    # scikit-learn goes on from there without a step, and finds nothing that is better by itself
    Z = features_of(K)
    inside = [np.flatnonzero(model.labels_ == c) for c in range(count)]
    centres = np.stack([np.average(Z[i], axis=0, weights=w[i]) for i in inside])
    again = KMeans(count, init=centres, n_init=1).fit(Z, sample_weight=w)
    assert_array_equal(again.labels_, model.labels_)
    assert_allclose(again.inertia_, model.inertia_, rtol=1e-7)
    best = KMeans(count, n_init=5, random_state=0).fit(Z, sample_weight=w)
    assert model.inertia_ < 1.02 * best.inertia_
    # new samples
    new = X[::7] + 0.05 * np.random.default_rng(1).normal(size=X[::7].shape)
    cross = kernel(new, X)
    far = distances_of(K, cross, np.ones(len(new)), model.labels_, count, w)
    assert_allclose(model.transform(new), far, atol=1e-6)
    assert_array_equal(model.predict(new), far.argmin(axis=1))


@pytest.mark.spread(1)
@pytest.mark.parametrize("name", NAMES)
def test_spectral_clustering_is_that_of_scipy_and_scikit_learn(name):
    X, count, kernel = DATA[name], COUNTS[name], KERNELS[name]
    K = kernel(X)
    model = SpectralClustering(count, kernel=kernel, n_init=20, random_state=0).fit(X)
    degrees = K.sum(axis=1)
    values, U = scipy.linalg.eigh(K / np.sqrt(np.outer(degrees, degrees)))
    assert_allclose(model.eigenvalues_, values[::-1][:count], rtol=1e-8)
    E = (U / np.sqrt(degrees)[:, None])[:, ::-1][:, :count]
    assert_allclose(np.abs(model.embedding_), np.abs(E), atol=1e-5 * np.abs(E).max())
    # weighted k-means of the eigenvectors: from ours scikit-learn goes on without a step
    inside = [np.flatnonzero(model.labels_ == c) for c in range(count)]
    centres = np.stack([np.average(E[i], axis=0, weights=degrees[i]) for i in inside])
    again = KMeans(count, init=centres, n_init=1).fit(E, sample_weight=degrees)
    assert_array_equal(again.labels_, model.labels_)
    best = KMeans(count, n_init=20, random_state=0).fit(E, sample_weight=degrees)
    assert again.inertia_ < 1.001 * best.inertia_
    theirs = Theirs(count, affinity="precomputed", n_init=20, random_state=0).fit(K)

    def cut(labels):
        inside = labels[:, None] == np.unique(labels)
        return float(np.sum(1 - np.einsum("ic,ij,jc->c", inside, K, inside, optimize=True)
                            / (degrees @ inside)))  # fmt: skip

    assert count - model.eigenvalues_.sum() <= cut(model.labels_) <= 1.01 * cut(theirs.labels_)
    ours, peers = (adjusted_rand_score(CLASSES[name], m.labels_) for m in (model, theirs))
    assert ours > peers - 0.03
    new = X[::7] + 0.05 * np.random.default_rng(1).normal(size=X[::7].shape)
    cross = kernel(new, X)
    places = cross @ E / model.eigenvalues_ / cross.sum(axis=1, keepdims=True)
    assert_allclose(np.abs(model.transform(new)), np.abs(places), atol=1e-5 * np.abs(E).max())
    gaps = np.linalg.norm(places[:, None] - centres, axis=2)
    assert_array_equal(model.predict(new), gaps.argmin(axis=1))


@pytest.mark.parametrize("name", NAMES[:2])
def test_the_scores_of_a_number_of_clusters(name):
    X, kernel = DATA[name], KERNELS[name]
    K = kernel(X)
    degrees = K.sum(axis=1)
    values = scipy.linalg.eigvalsh(K / np.sqrt(np.outer(degrees, degrees)))[::-1]
    for model in (
        KernelKMeans("eigengap", kernel=kernel, max_clusters=6, random_state=0).fit(X),
        SpectralClustering("eigengap", kernel=kernel, max_clusters=6, random_state=0).fit(X),
    ):
        assert list(model.scores_) == [2, 3, 4, 5, 6]
        gaps = [values[k - 1] - values[k] for k in model.scores_]
        assert_allclose(list(model.scores_.values()), gaps, rtol=1e-6)
        assert len(np.unique(model.labels_)) == 2 + np.argmax(gaps)
    model = KernelKMeans(
        "silhouette", kernel=kernel, max_clusters=5, n_init=10, random_state=0
    ).fit(X)
    chosen = max(model.scores_, key=model.scores_.get)
    assert model.n_clusters_ == chosen
    D = np.sort(distances_of(K, K, np.ones(len(X)), model.labels_, chosen, np.ones(len(X))))
    assert_allclose(model.scores_[chosen], np.mean(1 - D[:, 0] / D[:, 1]), rtol=1e-6)
