"""Gram matrices by torch: the contract, every kernel with a formula, learners by ``device``."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import mercer
from mercer import kernels
from mercer.distances import Mahalanobis, Minkowski
from mercer.gram import Place, gram
from mercer.kernels import RBF, Laplacian, Linear, Matern
from mercer.testing import GramContract

torch = pytest.importorskip("torch")

from mercer.gram.on_torch import TorchGram  # noqa: E402

PLACE = Place(device="cpu:torch")
rng = np.random.default_rng(0)
X, Z = rng.normal(size=(60, 3)), rng.normal(size=(17, 3))
Y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
TWO = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")

FORMULAS = {
    "linear": Linear(),
    "polynomial": kernels.Polynomial(3, gamma=0.5, coef0=1.0),
    "rbf": RBF(0.7),
    "laplacian": Laplacian(0.3),
    "power": kernels.ExponentialPower(2.0, 1.4),
    "rational": kernels.RationalQuadratic(alpha=1.5),
    "matern 1/2": Matern(nu=0.5),
    "matern 3/2": Matern(nu=1.5),
    "matern 5/2": Matern(nu=2.5, length_scale=0.6),
    "matern 9/2": Matern(nu=4.5),
    "cosine": kernels.Cosine(),
    "sigmoid": kernels.Sigmoid(gamma=0.1, coef0=0.2),
    "arc-cosine 1": kernels.ArcCosine(1),
    "arc-cosine 2": kernels.ArcCosine(2),
    "scaled": 2.5 * RBF(0.4),
    "weights of columns": kernels.ExponentialPower(
        2.0, 1.0, metric=Minkowski(1, weights=[0.2, 3.0, 0.0])
    ),
    "a covariance": kernels.ExponentialPower(2.0, 2.0, metric=Mahalanobis()),
}  # fmt: skip


def on_torch(kernel, X, Z=None):
    K = gram(kernel.bind(X), X, Z, place=PLACE)
    assert isinstance(K, TorchGram)
    return K


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FORMULAS)
def test_values_are_those_of_the_kernel(name, dtype):
    kernel, A, B = FORMULAS[name], X.astype(dtype), Z.astype(dtype)
    tol = 1e-10 if dtype == np.float64 else 2e-5
    for second in (None, B):
        K, wanted = on_torch(kernel, A, second), kernel.bind(A)(A.astype("f8"), second)
        assert K.dtype == dtype
        size = np.abs(wanted).max()
        assert_allclose(K.dense(), wanted, rtol=tol, atol=tol * size)
        assert_allclose(K.diag(), np.diagonal(wanted), rtol=tol, atol=tol * size)


@pytest.mark.parametrize("kernel", [kernels.ChiSquared(0.5)])
def test_histograms(kernel):
    A = np.abs(X)
    A[3] = 0
    assert_allclose(on_torch(kernel, A).dense(), kernel(A), rtol=1e-10)


def test_rows_of_zeros_have_no_angle():
    A = X.copy()
    A[5] = 0
    assert_allclose(on_torch(kernels.Cosine(), A).dense(), kernels.Cosine()(A), atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_float32_far_from_zero(offset):
    A = (X + offset).astype("f4")
    wanted = RBF(0.5)(A.astype("f8"))
    assert_allclose(on_torch(RBF(0.5), A).dense(), wanted, atol=2e-5)


def test_equal_rows_have_similarity_one():
    K = on_torch(RBF(1.0), 1e3 * X)
    np.testing.assert_array_equal(K.diag(), 1)
    np.testing.assert_array_equal(np.diagonal(K.dense()), 1)


class Contract(GramContract):
    @pytest.fixture(params=["whole", "strips", "scaled", "crossed"])
    def pair(self, request, dtype, monkeypatch):
        A, B = X.astype(dtype), Z.astype(dtype)
        K = on_torch(RBF(0.4), A, B if request.param == "crossed" else None)
        dense = RBF(0.4)(A.astype("f8"), B.astype("f8") if request.param == "crossed" else None)
        if request.param == "strips":
            monkeypatch.setattr("mercer.gram.on_torch.operator.STRIP", 500)
            small = Place(60 * 60 * A.itemsize, device="cpu:torch")
            K = gram(RBF(0.4), A, place=small)
            assert K.kept is None
            assert "factorise" not in K.cheap
        if request.param == "scaled":
            s = rng.random(len(A)) + 0.5
            K, dense = K.scaled(s), s[:, None] * dense * s
        return K, dense.astype(dtype)


class TestFloat64(Contract):
    @pytest.fixture
    def dtype(self):
        return np.float64


class TestFloat32(Contract):
    tol32 = 1e-3

    @pytest.fixture
    def dtype(self):
        return np.float32


LEARNERS = {
    "ridge": (mercer.KernelRidge(0.1, kernel=RBF(0.5)), Y),
    "ridge by name": (mercer.KernelRidge(0.1, kernel="laplacian", gamma=0.5), Y),
    "ridge, penalty chosen": (mercer.KernelRidge("auto", kernel=RBF(0.5)), Y),
    "low rank": (mercer.KernelRidge(0.1, kernel=RBF(0.5), solver="low_rank", random_state=0), Y),
    "conjugate gradients": (
        mercer.KernelRidge(0.1, kernel=RBF(0.5), solver="conjugate_gradient", tol=1e-10,
                           random_state=0), Y,
    ),
    "SVC": (mercer.SVC(kernel=RBF(0.5), tol=1e-8), TWO),
    "SVR": (mercer.SVR(kernel=RBF(0.5), tol=1e-8), Y),
    "logistic": (mercer.KernelLogisticRegression(kernel=RBF(0.5)), TWO),
    "components": (mercer.KernelPCA(3, kernel=RBF(0.5)), None),
    "k-means": (mercer.KernelKMeans(3, kernel=RBF(0.5), random_state=0), None),
    "search": (mercer.KernelSearchCV(mercer.KernelRidge(kernel=RBF()),
                                     {"alpha": [0.1, 1.0], "kernel__gamma": [0.3, 1.0]}, cv=3), Y),
    "several kernels": (
        mercer.MultipleKernelClassifier([RBF(0.2), RBF(1.0)], method="easy", normalise=None), TWO,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_give_the_same_answers(name, monkeypatch):
    made = []
    begin = TorchGram.__init__

    def counted(self, *arguments, **named):
        made.append(1)
        begin(self, *arguments, **named)

    monkeypatch.setattr(TorchGram, "__init__", counted)
    model, y = LEARNERS[name]
    plain = clone(model).fit(X, y)
    assert not made
    inner = "estimator__device" if name == "search" else "device"
    there = clone(model).set_params(**{inner: "cpu:torch"}).fit(X, y)
    assert made
    for method in ("decision_function", "transform", "predict"):
        if hasattr(plain, method):
            wanted = getattr(plain, method)(Z)
            found = getattr(there, method)(Z)
            if wanted.dtype.kind == "f":
                assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
            else:
                np.testing.assert_array_equal(found, wanted)


def test_saved_and_loaded(tmp_path):
    model = mercer.KernelRidge(0.1, kernel=RBF(0.5), device="cpu:torch").fit(X, Y)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict(Z), model.predict(Z))


@pytest.mark.parametrize(("kernel", "samples", "words"), [
    (kernels.Spectrum(2), ["ab", "ba", "aa"], "has no formula"),
    (Matern(nu=1.2), X[:3], "nu = 1/2, 3/2"),
    (kernels.ArcCosine(0), X[:3], "has no formula"),
])  # fmt: skip
def test_what_torch_cannot_compute_is_refused_by_name(kernel, samples, words):
    with pytest.raises(ValueError, match=words):
        mercer.KernelRidge(kernel=kernel, device="cpu:torch").fit(samples, [0.0, 1.0, 2.0])


def test_sparse_samples_and_missing_devices_are_refused():
    from scipy.sparse import csr_array

    with pytest.raises(ValueError, match="give dense arrays"):
        mercer.KernelRidge(kernel=RBF(1.0), device="cpu:torch").fit(csr_array(X), Y)
    with pytest.raises(ValueError, match="torch cannot use it"):
        mercer.KernelRidge(kernel=RBF(1.0), device="cuda:99").fit(X, Y)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="torch cannot use it"):
            mercer.KernelRidge(kernel=RBF(1.0), device="cuda").fit(X, Y)


@pytest.mark.parametrize("step", ["cholesky_ex", "from_numpy", "cat"])
def test_a_device_without_room_is_told(step, monkeypatch):
    def full(*given, **named):
        raise torch.OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 7.79 GiB"
            " of which 0.50 GiB is free. If reserved memory is large, try a setting of torch."
        )

    monkeypatch.setattr(torch.linalg if step == "cholesky_ex" else torch, step, full)
    solver = "conjugate_gradient" if step == "cat" else "cholesky"
    model = mercer.KernelRidge(kernel=RBF(1.0), device="cpu:torch", solver=solver, memory=30_000)
    words = r"device= has no room.*2.00 GiB.*0.50 GiB is free\). Give memory= below.*device="
    with pytest.raises(MemoryError, match=words) as told:
        model.set_params(memory=None if step == "cholesky_ex" else 30_000).fit(X, Y)
    assert "setting" not in str(told.value)


def test_a_matrix_that_is_singular_there():
    A = np.ones((5, 2))
    with pytest.warns(mercer.solvers.ConvergenceWarning):
        model = mercer.KernelRidge(0.0, kernel=RBF(1.0), device="cpu:torch").fit(A, np.arange(5.0))
    assert_allclose(model.predict(A), 2.0)
