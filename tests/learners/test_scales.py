"""Data in another unit, or far from 0: the same answers where the mathematics has them."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons

from mercer import (
    SVC,
    KernelDiscriminant,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidgeClassifier,
    KernelSearchCV,
    NearestNeighbors,
)
from mercer.distances import Mahalanobis, Minkowski
from mercer.kernels import RBF, Linear
from mercer.search import BruteForce

UNITS = [2.0**-400, 2.0**-540, 2.0**-1020]
MOONS, CLASSES = make_moons(120, noise=0.1, random_state=0)
FAR = np.random.default_rng(0).normal(size=(150, 3)) * [2.4, 1.5, 0.85] + 2000


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, 4, np.inf])
@pytest.mark.parametrize("algorithm", ["brute", "kd_tree", "metric_tree"])
def test_neighbours_do_not_depend_on_the_unit(algorithm, p):
    make = lambda: NearestNeighbors(n_neighbors=4, algorithm=algorithm, p=p)  # noqa: E731
    distances, indices = make().fit(MOONS).kneighbors()
    near = make().fit(MOONS).radius_neighbors(radius=0.3, sort_results=True)[1]
    if p != 4:  # other rows may be larger, as far as floats reach
        far = make().fit(MOONS * 2.0**-400).kneighbors([[1.0, 0.0]])[0]
        assert_allclose(far, 1.0)
    for unit in UNITS:
        model = make().fit(MOONS * unit)
        found = model.kneighbors()
        assert_array_equal(found[1], indices)
        assert_allclose(found[0] / unit, distances, rtol=1e-9 if unit > 1e-300 else 1e-3)
        within = model.radius_neighbors(radius=0.3 * unit, sort_results=True)[1]
        if unit > 1e-300:
            for a, b in zip(within, near, strict=True):
                assert_array_equal(a, b)


def test_sparse_rows_do_not_depend_on_the_unit():
    want = NearestNeighbors(n_neighbors=4).fit(sp.csr_array(MOONS)).kneighbors()[1]
    for unit in UNITS:
        model = NearestNeighbors(n_neighbors=4).fit(sp.csr_array(MOONS * unit))
        assert_array_equal(model.kneighbors()[1], want)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SVC(),
        lambda: SVC(kernel=RBF("median")),
        lambda: KernelRidgeClassifier(kernel="rbf", gamma="scale"),
        lambda: KernelLogisticRegression(kernel=RBF("scale")),
        lambda: KernelDiscriminant(kernel=RBF("scale")),
    ],
    ids=["svc", "median", "ridge", "logistic", "discriminant"],
)
def test_a_learnt_width_does_not_depend_on_the_unit(make):
    want = make().fit(MOONS, CLASSES).decision_function(MOONS)
    for unit in UNITS[:2]:
        for S in (MOONS * unit, sp.csr_array(MOONS * unit)):
            found = make().fit(S, CLASSES).decision_function(S)
            assert_allclose(found, want, rtol=1e-6, atol=1e-6 * np.abs(want).max())
    for unit in (1e-20, 1e-22):
        S = (MOONS * unit).astype(np.float32)
        found = make().fit(S, CLASSES).decision_function(S)
        assert_allclose(found, want, rtol=0.02, atol=0.02 * np.abs(want).max())


def test_a_width_that_cannot_be_learnt_is_refused():
    with pytest.raises(ValueError, match=r"column \d of X reaches only .*MaxAbsScaler"):
        SVC(kernel="poly", gamma="scale").fit(MOONS * 1e-170, CLASSES)
    with pytest.raises(ValueError, match=r"column \d of X reaches only .*MaxAbsScaler"):
        Mahalanobis().bind(MOONS * 1e-170)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_float32_far_from_0_has_the_components_of_float64(kernel):
    rows = FAR.astype(np.float32)
    options = {"kernel": kernel, "degree": 2, "gamma": 1.0}
    model = KernelPCA(3, **options).fit(rows)
    want = KernelPCA(3, **options).fit(rows.astype(np.float64))
    assert_allclose(model.eigenvalues_, want.eigenvalues_, rtol=1e-6)
    assert_allclose(model.transform(rows[:9]), want.transform(rows[:9].astype(float)), rtol=1e-5)


@pytest.mark.parametrize(
    "make",
    [KernelDiscriminant, SVC, KernelRidgeClassifier, KernelLogisticRegression],
    ids=lambda make: make.__name__,
)
def test_float32_far_from_0_has_the_classes_of_float64(make):
    rows = (MOONS + 2000).astype(np.float32)
    found = make(kernel="linear").fit(rows, CLASSES)
    want = make(kernel="linear").fit(rows.astype(np.float64), CLASSES)
    assert_array_equal(found.predict(rows), want.predict(rows))
    assert found.score(rows, CLASSES) > 0.8
    assert_array_equal(found.predict(rows[:1]), want.predict(rows[:1]))


@pytest.mark.parametrize("make", [SVC, KernelRidgeClassifier], ids=lambda make: make.__name__)
def test_a_search_scores_as_its_machines_do(make):
    rows = (MOONS + 2000).astype(np.float32)
    grid = {"C": [1.0, 10.0]} if make is SVC else {"alpha": [0.1, 1.0]}
    found, want = (
        KernelSearchCV(make(kernel="linear"), grid).fit(X, CLASSES)
        for X in (rows, rows.astype(np.float64))
    )
    scores = [search.cv_results_["mean_test_score"] for search in (found, want)]
    assert_allclose(*scores)
    assert scores[0].min() > 0.8


def test_an_index_of_tiny_rows_is_kept_in_a_file(tmp_path):
    tiny = MOONS * 2.0**-540
    index = BruteForce(Minkowski()).fit(tiny[:60]).add(tiny[60:])
    index.save(tmp_path / "tiny.index")
    again = BruteForce.load(tmp_path / "tiny.index")
    want = BruteForce(Minkowski()).fit(MOONS).query(k=3)
    for found in (index.query(k=3), again.query(k=3)):
        assert_allclose(found[0], want[0] * 2.0**-540, rtol=1e-12)
        assert_array_equal(found[1], want[1])


@pytest.mark.parametrize("make", [SVC, KernelPCA, KernelDiscriminant], ids=lambda m: m.__name__)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_float32_far_from_0_is_read_in_float64(make, kernel):
    """SVC had .48 of the classes for .98, and KernelPCA two components of 0."""
    rows = sp.csr_array((MOONS + 2000).astype(np.float32))
    found, want = (make(kernel=kernel).fit(X, CLASSES) for X in (rows, rows.astype(np.float64)))
    name = "transform" if make is KernelPCA else "decision_function"
    assert_allclose(getattr(found, name)(rows), getattr(want, name)(rows.astype(np.float64)))


@pytest.mark.parametrize("read", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_linear_kernels_refuse_what_inner_products_lose(read):
    """They answered with nonsense: components of 0, -130454 for a score of .99."""
    for rows, remedy in ((MOONS + 1e9, "StandardScaler"), (MOONS * 2.0**-540, "MaxAbsScaler")):
        for machine in (SVC(kernel="linear"), KernelPCA(kernel="linear"), KernelDiscriminant(
            kernel=2 * Linear()
        )):  # fmt: skip
            with pytest.raises(ValueError, match=rf"column \d of X .*{remedy}"):
                machine.fit(read(rows), CLASSES)


def test_linear_kernels_read_what_inner_products_keep():
    for rows in (MOONS + 1e6, np.full((120, 2), 9.0), np.zeros((120, 2)), MOONS * 2.0**-400):
        SVC(kernel="linear").fit(rows, CLASSES)
    assert SVC(kernel="linear").fit(MOONS + 1e6, CLASSES).score(MOONS + 1e6, CLASSES) > 0.8
