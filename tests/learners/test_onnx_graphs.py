"""Graphs of ONNX, by onnx's own evaluator, beside the models that they come from."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import mercer
from mercer.distances import Cosine, Mahalanobis, Minkowski
from mercer.kernels import (
    RBF,
    ArcCosine,
    Convex,
    Cosine as Angle,
    ExponentialPower,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
)

pytest.importorskip("onnx", reason="the extra [onnx] is not installed")
reference = pytest.importorskip("onnx.reference")

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(60, 3)), RNG.normal(size=(17, 3))
NUMBERS = np.column_stack([np.sin(X[:, 0]) + 5, X[:, 1] * X[:, 2]])
TWO = (X[:, 0] > 0).astype(int)
FOUR = np.array(["a", "b", "c", "ö"])[2 * TWO + (X[:, 1] > 0.3)]

KERNELS = [
    RBF(0.5), RBF(0.5, Minkowski(2, weights=[1.0, 2.0, 0.3])), RBF(0.4, Mahalanobis()),
    Laplacian(0.3), Laplacian(0.3, Minkowski(2)), ExponentialPower(2.0, 1.2, Minkowski(1.5)),
    Matern(0.5), Matern(1.5, 0.8), Matern(2.5), Matern(np.inf), RationalQuadratic(0.7, 1.3),
    Linear(), Polynomial(3, 0.5, 1.0), Angle(), 2.0 * RBF(0.3) + Linear() * Laplacian(0.1),
]  # fmt: skip


def asked(model, rows, dtype=np.float64):
    """What the graph of a model says about rows, by the names of its outputs."""
    graph = mercer.to_onnx(model)
    found = reference.ReferenceEvaluator(graph).run(None, {"X": np.asarray(rows, dtype)})
    return dict(zip([output.name for output in graph.graph.output], found, strict=True))


def check(model, targets, dtype, tolerance):
    rows, new = X.astype(dtype), NEW.astype(dtype)
    model.fit(rows, targets)
    found = asked(model, new, dtype)
    if "variable" in found:
        wanted = model.predict(new)
        given = found["variable"]
    else:
        assert_array_equal(found["label"], model.predict(new))
        chances = hasattr(model, "predict_proba") and not isinstance(model, mercer.SVC)
        wanted = model.predict_proba(new) if chances else model.decision_function(new)
        given = found["scores"]
    assert given.dtype == dtype
    assert given.shape == wanted.shape
    assert_allclose(given, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())


MODELS = [
    (mercer.SVC(C=10), TWO), (mercer.SVC(C=10), FOUR), (mercer.SVC(break_ties=True), FOUR),
    (mercer.SVC(decision_function_shape="ovo"), FOUR), (mercer.SVC(multi_class="ovr"), FOUR),
    (mercer.SVC(kernel="linear"), FOUR), (mercer.NuSVC(nu=0.1), FOUR),
    (mercer.SVR(), NUMBERS[:, 0]), (mercer.NuSVR(), NUMBERS[:, 0]),
    (mercer.KernelRidge(0.1, kernel="rbf"), NUMBERS),
    (mercer.KernelRidge(0.1, kernel="poly", solver="low_rank", rank=9, random_state=0), NUMBERS),
    (mercer.KernelRidgeClassifier(0.1), TWO), (mercer.KernelRidgeClassifier(0.1), FOUR),
    (mercer.KernelLogisticRegression(kernel="rbf"), TWO),
    (mercer.KernelLogisticRegression(kernel="rbf"), FOUR),
    (mercer.KNeighborsClassifier(5), FOUR), (mercer.KNeighborsClassifier(4), TWO),
    (mercer.KNeighborsClassifier(5, weights="distance", class_weight="balanced"), FOUR),
    (mercer.KNeighborsRegressor(3), NUMBERS), (mercer.KNeighborsRegressor("auto"), NUMBERS[:, 0]),
    (mercer.KNeighborsRegressor(3, weights="distance", p=1), NUMBERS),
]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "targets"), MODELS, ids=lambda value: repr(value) if hasattr(value, "fit") else ""
)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_answers_are_the_models(model, targets, dtype, tolerance):
    check(model, targets, dtype, tolerance)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_all_profiles_and_coordinates(kernel, dtype, tolerance):
    check(mercer.SVR(kernel=kernel), NUMBERS[:, 1], dtype, tolerance)


def test_rows_that_are_stored_are_at_distance_0():
    near = mercer.KNeighborsRegressor(3, weights="distance").fit(X, NUMBERS)
    assert_allclose(asked(near, X[:9])["variable"], NUMBERS[:9], atol=1e-6)
    far = X + 1e6  # differences of large numbers
    machine = mercer.SVR().fit(far, NUMBERS[:, 0])
    assert_allclose(asked(machine, NEW + 1e6)["variable"], machine.predict(NEW + 1e6), rtol=1e-8)


def test_sparse_rows_and_a_row_of_zeros():
    rows = sp.csr_array(np.where(np.abs(X) < 0.3, 0, X))
    machine = mercer.SVC(kernel=Angle()).fit(rows, TWO)
    new = np.vstack([np.zeros(3), NEW])
    assert_allclose(asked(machine, new)["scores"], machine.decision_function(new), atol=1e-12)


def test_a_row_alone_and_a_file(tmp_path):
    import onnx

    machine = mercer.SVC().fit(X, FOUR)
    onnx.save(mercer.to_onnx(machine), tmp_path / "machine.onnx")
    read = reference.ReferenceEvaluator(str(tmp_path / "machine.onnx"))
    together = read.run(["scores"], {"X": NEW})[0]
    alone = np.vstack([read.run(["scores"], {"X": NEW[i : i + 1]})[0] for i in range(17)])
    assert_allclose(alone, together, atol=1e-14)


@pytest.mark.parametrize(
    ("model", "targets", "message"),
    [(mercer.SVC(kernel=ArcCosine()), TWO, "ArcCosine.*not among the kernels"),
     (mercer.SVR(kernel=Matern(0.7)), TWO, "Matern.*not among"),
     (mercer.SVR(kernel=RBF(1.0).normalised()), TWO, "Normalised.*no formula"),
     (mercer.KNeighborsClassifier(metric=Cosine()), TWO, "Minkowski"),
     (mercer.KNeighborsClassifier(weights="rank"), TWO, "weights='rank'"),
     (mercer.KNeighborsClassifier(), np.c_[TWO, TWO], "several labels"),
     (mercer.KernelRidgeClassifier(), np.c_[TWO, 1 - TWO], "several labels"),
     (mercer.SVC(), TWO + 0.0, "whole numbers or texts")],
)  # fmt: skip
def test_what_has_no_graph_says_why(model, targets, message):
    with pytest.raises(ValueError, match=message):
        mercer.to_onnx(model.fit(X, targets))


def test_other_refusals(monkeypatch):
    words = mercer.SVC(kernel=Spectrum(2)).fit(["ab", "ba", "bb", "aa"], [0, 1, 0, 1])
    with pytest.raises(TypeError, match="reads strings"):
        mercer.to_onnx(words)
    given = mercer.SVC(kernel="precomputed").fit(RBF(1.0)(X), TWO)
    with pytest.raises(TypeError, match="vectors alone"):
        mercer.to_onnx(given)
    weighted = mercer.KNeighborsClassifier().fit(X, TWO, np.where(TWO, 2.0, 1.0))
    with pytest.raises(ValueError, match="fit without weights"):
        mercer.to_onnx(weighted)
    leaves = mercer.KernelRidge(kernel="rbf", solver="local", leaf_rows=9, rank=5).fit(X, TWO)
    with pytest.raises(TypeError, match="no single sum"):
        mercer.to_onnx(leaves)
    for model in (mercer.OneClassSVM().fit(X), make_pipeline(mercer.SVC()).fit(X, TWO)):
        with pytest.raises(TypeError, match=r"has no graph of ONNX: give SVC.*last step"):
            mercer.to_onnx(model)
    with pytest.raises(NotFittedError):
        mercer.to_onnx(mercer.SVC())
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[onnx\]"'):
        mercer.to_onnx(given)


def test_the_mean_of_a_process_is_in_double_precision():
    model = mercer.GaussianProcessRegressor(alpha=0.1, normalize_y=True)
    check(model, NUMBERS, np.float64, 1e-12)
    model.fit(np.float32(X), NUMBERS)
    assert asked(model, NEW)["variable"].dtype == np.float64


def test_an_indefinite_kernel():
    check(mercer.KernelRidge(1.0, kernel=Sigmoid(0.1)), NUMBERS[:, 0], np.float64, 1e-10)


ROOTS = [
    Matern(0.5), Laplacian(0.3, Minkowski(2)), ExponentialPower(2.0, 0.5), Matern(1.5, 0.8),
    Laplacian(0.3, Minkowski(2, weights=[1.0, 2.0, 0.3])), Laplacian(0.4, Mahalanobis()),
    Laplacian(0.3), RationalQuadratic(0.7, 1.3, Minkowski(2)),
]  # fmt: skip


@pytest.mark.parametrize("kernel", ROOTS, ids=repr)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-7), (np.float32, 1e-3)])
def test_roots_of_distances_of_stored_rows(kernel, dtype, tolerance):
    """The model's k(x, x) is a root of rounding too."""
    if kernel.get_params().get("power") == 0.5:
        tolerance = np.sqrt(tolerance)
    for rows in (X, X + 100):
        rows = rows.astype(dtype)
        machine = mercer.SVR(kernel=kernel).fit(rows, NUMBERS[:, 1])
        wanted = machine.predict(rows)
        assert_allclose(
            asked(machine, rows, machine.X_fit_.dtype)["variable"],
            wanted,
            rtol=0,
            atol=tolerance * np.abs(machine.dual_coef_).max(),
        )


@pytest.mark.parametrize("metric", [Minkowski(2), Minkowski(2, weights=[1, 2, 0.3]), Mahalanobis()])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_neighbours_of_stored_rows(metric, dtype, tolerance):
    for rows in (X, X + 100):
        rows = rows.astype(dtype)
        near = mercer.KNeighborsRegressor(3, weights="distance", metric=metric).fit(rows, NUMBERS)
        assert_allclose(asked(near, rows, dtype)["variable"], NUMBERS, rtol=tolerance)


def test_factors_of_sums():
    check(mercer.SVR(kernel=2.0 * (RBF() + Linear())), NUMBERS[:, 0], np.float64, 1e-12)
    for kernel in (RBF() ** 2, Convex([RBF(), Linear()])):
        machine = mercer.SVR(kernel=kernel).fit(X, NUMBERS[:, 0])
        with pytest.raises(ValueError, match=r"no formula.*k \* k.*a \* k \+ b \* l"):
            mercer.to_onnx(machine)


def test_labels_that_int64_does_not_hold():
    large = np.where(TWO, np.uint64(2**63 + 5), np.uint64(7))
    with pytest.raises(ValueError, match=r"below 2\*\*63, and 9223372036854775813 is not"):
        mercer.to_onnx(mercer.SVC().fit(X, large))
    check(mercer.SVC(), np.where(TWO, np.uint64(2**63 - 1), np.uint64(7)), np.float64, 1e-12)


def test_what_is_no_estimator_or_not_fitted():
    with pytest.raises(TypeError, match=r"model: int has no graph.*give SVC"):
        mercer.to_onnx(3)
    with pytest.raises(NotFittedError):
        mercer.to_onnx(mercer.GaussianProcessRegressor())
