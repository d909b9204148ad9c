"""Weights mean repetition: weight 2 is the row twice, weight 0 no row, for all five machines."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from learners.margin.machines import IRIS, MACHINES, overlapping, target, values
from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import RBF, Laplacian


def parameters(Machine):
    return {"tol": 1e-8} | ({"nu": 0.3} if Machine is NuSVC else {})


def problem(seed=0):
    """Two classes, and weights 0 to 3 that weigh them alike."""
    X, y = overlapping(90, seed)
    return X, y, np.tile(np.repeat([0, 1, 2, 3, 2], 2), 9)[np.argsort(np.argsort(y, kind="stable"))]


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("Machine", MACHINES)
def test_a_weight_is_a_number_of_copies(Machine, kernel):
    X, y, w = problem()
    if Machine is NuSVC and kernel == "linear":
        X = X + 2 * y[:, None]  # so that there is a margin
    t = target(Machine, y)
    model = Machine(kernel=kernel, coef0=1.0, **parameters(Machine))
    weighted = values(model.fit(X, t, sample_weight=w), X)
    objective, gap, margin = model.objective_, model.dual_gap_, model.margin_
    copies = None if t is None else np.repeat(t, w)
    repeated = values(model.fit(np.repeat(X, w, axis=0), copies), X)
    assert_allclose(weighted, repeated, atol=1e-8 + 1e-5 * np.abs(repeated).max())
    assert_allclose(objective, model.objective_, rtol=1e-6, atol=1e-9)
    if kernel != "linear" or Machine is not OneClassSVM:  # through the origin there: w = 0
        assert_allclose(margin, model.margin_, rtol=1e-5)
    assert gap <= 1e-5 * (1 + abs(objective))


@pytest.mark.parametrize(
    "kernel", ["rbf", "laplacian", RBF("scale"), RBF("median"), Laplacian("median")], ids=repr
)
@pytest.mark.parametrize("Machine", MACHINES)
def test_weight_0_is_absence(Machine, kernel):
    """Kernels learn nothing from such rows either; classes vanish with their rows."""
    X, y = overlapping(90)
    X[60:] *= 10
    w = np.repeat([1.0, 0.0], [60, 30])
    labels = np.where(np.arange(90) < 60, y, 7)
    t = labels if Machine in (SVC, NuSVC) else target(Machine, y)
    model = Machine(kernel=kernel, **parameters(Machine))
    weighted = values(model.fit(X, t, sample_weight=w), X)
    gamma, support = model.kernel_.gamma, model.support_
    alone = values(model.fit(X[:60], None if t is None else t[:60]), X)
    assert_allclose(gamma, model.kernel_.gamma)
    assert_allclose(weighted, alone, atol=1e-6)
    assert_array_equal(support, model.support_)
    if Machine in (SVC, NuSVC):
        assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("Machine", MACHINES)
def test_weight_0_in_a_precomputed_matrix_and_in_sparse_rows(Machine):
    X, y, w = problem()
    K, t, kept = RBF(0.5)(X), target(Machine, y), np.flatnonzero(w)
    model = Machine(kernel="precomputed", **parameters(Machine)).fit(K, t, sample_weight=w)
    weighted = values(model, K)
    copies = np.repeat(np.arange(90), w)
    model = Machine(gamma=0.5, **parameters(Machine))
    model.fit(X[copies], None if t is None else t[copies])
    assert_allclose(weighted, values(model, X), atol=1e-5)
    model.fit(sp.csr_array(X), t, sample_weight=w)
    assert_allclose(weighted, values(model, X), atol=1e-5)
    assert np.isin(model.support_, kept).all()
    assert model.shape_fit_ == (90, 3)


@pytest.mark.spread(1)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_weighted_sparse_rows_are_never_made_dense(kernel):
    X = sp.random(300, 20_000, 0.001, format="csr", random_state=0)
    y, w = np.arange(300) % 2, np.random.default_rng(0).uniform(0.5, 2, 300)
    tracemalloc.start()
    model = SVC(kernel=kernel).fit(X, y, w)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300 * 20_000 * 8 / 4
    dense = SVC(kernel=kernel).fit(X.toarray(), y, w)
    assert_allclose(values(model, X), values(dense, X), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e3])
@pytest.mark.parametrize("Machine", [NuSVC, OneClassSVM])
def test_a_common_factor_of_all_weights_does_not_matter_with_nu(Machine, scale):
    X, y, w = problem()
    w = w + 1.0
    model = Machine(gamma=0.5, nu=0.3)
    wanted = values(model.fit(X, y, sample_weight=w), X)
    found = values(model.fit(X, y, sample_weight=scale * w), X)
    if Machine is OneClassSVM:
        found = found / scale  # which is not divided by its margin
    assert_allclose(found, wanted, atol=2e-2 * np.abs(wanted).max())


@pytest.mark.parametrize("Machine", [SVR, NuSVR, SVC])
def test_a_common_factor_of_all_weights_is_one_of_the_penalty(Machine):
    X, y, w = problem()
    t, w = target(Machine, y), w + 1.0
    wanted = values(Machine(C=6.0, gamma=0.5, tol=1e-8).fit(X, t, w), X)
    found = values(Machine(C=2.0, gamma=0.5, tol=1e-8).fit(X, t, 3 * w), X)
    assert_allclose(found, wanted, atol=1e-5)


# Weights of classes


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("Classifier", [SVC, NuSVC])
def test_class_weights_are_factors_of_the_weights_of_rows(Classifier, multi_class):
    X, y = IRIS
    rng = np.random.default_rng(0)
    w = rng.uniform(0.5, 1.5, 150)
    factors = {0: 0.8, 1: 1.3}
    given = {"gamma": 0.2, "multi_class": multi_class, "tol": 1e-8}
    given |= {"nu": 0.2} if Classifier is NuSVC else {}
    for weights in (None, w):
        by_class = Classifier(class_weight=factors, **given).fit(X, y, weights)
        rows = np.array([factors.get(c, 1.0) for c in y])
        by_row = Classifier(**given).fit(X, y, rows * (1 if weights is None else weights))
        assert_allclose(values(by_class, X), values(by_row, X), atol=1e-5)
        assert_allclose(by_class.class_weight_, [0.8, 1.3, 1.0])


@pytest.mark.parametrize("Classifier", [SVC, NuSVC])
def test_balanced_classes_weigh_the_same(Classifier):
    """Weights count as rows do: balanced are Σ w / (k · the class's Σ w)."""
    X, y = IRIS
    X, y = X[:130], y[:130]
    w = np.random.default_rng(0).integers(0, 4, 130)
    given = {"gamma": 0.2, "tol": 1e-8} | ({"nu": 0.5} if Classifier is NuSVC else {})
    model = Classifier(class_weight="balanced", **given).fit(X, y, w)
    sums = np.bincount(y, w)
    assert_allclose(model.class_weight_, w.sum() / (3 * sums))
    repeated = Classifier(class_weight="balanced", **given)
    repeated.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(values(model, X), values(repeated, X), atol=1e-5)


def test_balanced_weights_make_any_nu_feasible():
    X, y = overlapping(100)
    X, y = np.vstack([X[y == 0], X[y == 1][:5]]), np.repeat([0, 1], [50, 5])
    with pytest.raises(ValueError, match=r"nu=0.5 .* must be <= 0.181818"):
        NuSVC(gamma=1.0).fit(X, y)
    model = NuSVC(gamma=1.0, class_weight="balanced").fit(X, y)
    assert model.converged_
    assert model.predict(X)[y == 1].all()


@pytest.mark.parametrize("Classifier", [SVC, NuSVC])
def test_a_class_whose_weights_are_all_0(Classifier):
    X, y = IRIS
    with pytest.raises(
        ValueError, match=r"y has only one class, 1 \(rows of weight 0 do not count\)"
    ):
        Classifier().fit(X[:100], y[:100], np.repeat([0.0, 1.0], 50))
    model = Classifier(nu=0.2) if Classifier is NuSVC else Classifier()
    model.fit(X, y, np.repeat([1.0, 0.0, 1.0], 50))
    assert model.classes_.tolist() == [0, 2]
    assert set(model.predict(X)) == {0, 2}
    with pytest.raises(ValueError, match="class 9, but y does not have it"):
        Classifier(class_weight={9: 2.0}).fit(X, y)
    with pytest.raises(ValueError, match="weights must be > 0"):
        Classifier(class_weight={1: 0.0}).fit(X, y)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_probabilities_of_weighted_rows(method):
    X, y = overlapping(200)
    w = np.where(y == 1, 3.0, 1.0)
    plain = SVC(probability=method, random_state=0).fit(X, y)
    weighted = SVC(probability=method, random_state=0).fit(X, y, w)
    assert weighted.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.02
