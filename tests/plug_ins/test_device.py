"""Gram matrices that live elsewhere serve every learner: a maker from outside makes them.

Two makers: that of ``their_package``, which needs torch, and a twin without torch whose matrix no
learner may read as a whole.
"""

from collections import Counter

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose
from sklearn.base import clone

import mercer
from mercer.gram import GramFactor, GramOperator, Place, gram, register
from mercer.kernels import RBF, Laplacian, Spectrum
from mercer.solvers import CholeskySolver, ConjugateGradientSolver, EigenSolver
from mercer.testing import GramContract

USED = Counter()


class Counted:
    """Counts what is read of an operator, of which no learner may read the whole."""

    def block(self, i, j):
        USED["block"] += 1
        return super().block(i, j)

    def __matmul__(self, V):
        USED["product"] += 1
        return super().__matmul__(V)

    def factorise(self, shift=0.0, dtype=None):
        USED["factor"] += 1
        return super().factorise(shift, dtype)

    def eigenpairs(self, memory=None):
        USED["eigenpairs"] += 1
        return super().eigenpairs(memory)

    def dense(self):
        assert self.shape != (len(X), len(X)), "all of K was read where it does not live"
        return super().dense()


class Elsewhere(GramOperator):
    """A matrix that is only seen through products, rows and factors."""

    cheap = frozenset({"rows", "factorise"})

    def __init__(self, A, symmetric, place):
        self._A, self.symmetric, self.place = A, symmetric, place
        self.shape, self.dtype = A.shape, A.dtype

    def block(self, i, j):
        return self._A[i][:, j].copy()

    def diag(self):
        return self._A.diagonal().copy()

    def __matmul__(self, V):
        return self._A @ np.asarray(V)

    def part(self, i, j=None):
        A = self._A[i][:, i if j is None else j]
        return CountedElsewhere(A, self.symmetric and (j is None or j is i), self.place)

    def scaled(self, factors):
        s = factors.astype(self.dtype)
        return CountedElsewhere(s[:, None] * self._A * s, True, self.place)

    def factorise(self, shift=0.0, dtype=None):
        A = self._A.astype(self.dtype if dtype is None else dtype)
        return ElsewhereFactor(A + shift * np.eye(len(A)))

    def eigenpairs(self, memory=None):
        return scipy.linalg.eigh(self._A)


class CountedElsewhere(Counted, Elsewhere):
    pass


class ElsewhereFactor(GramFactor):
    def __init__(self, A):
        self.inverse = np.linalg.inv(scipy.linalg.cholesky(A, lower=True))

    def solve(self, B):
        return self.inverse.T @ (self.inverse @ B)

    def inverse_diagonal(self):
        return np.square(self.inverse).sum(axis=0)


def elsewhere_gram(kernel, X, Z, place):
    served = isinstance(kernel, RBF) and isinstance(X, np.ndarray)
    return CountedElsewhere(kernel.block(X, Z), Z is X, place) if served else None


def torch_gram(kernel, X, Z, place):
    from their_package import device

    class CountedTorch(Counted, device.TorchGram):
        pass

    K = device.torch_gram(kernel, X, Z, place)
    return None if K is None else CountedTorch(K.K, K.symmetric, place)


@pytest.fixture(params=["twin", "torch"])
def elsewhere(request):
    if request.param == "torch":
        pytest.importorskip("torch")
    USED.clear()
    return {"twin": elsewhere_gram, "torch": torch_gram}[request.param]


rng = np.random.default_rng(0)
X, NEW = rng.normal(size=(90, 3)), rng.normal(size=(20, 3))
Y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=90)
TWO = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.argmax(X + 0.1, axis=1)]
WEIGHTS = rng.integers(1, 4, 90)
KERNEL = RBF(0.4)
EVERY = {"kernel": KERNEL}

FITS = {
    "ridge": (mercer.KernelRidge(0.1, **EVERY), Y),
    "ridge, several targets": (mercer.KernelRidge([0.1, 1.0], **EVERY), np.c_[Y, -Y + X[:, 1]]),
    "ridge, Cholesky": (mercer.KernelRidge(0.1, solver="cholesky", **EVERY), Y),
    "ridge, solver value": (mercer.KernelRidge(0.1, solver=CholeskySolver(), **EVERY), Y),
    "ridge, conjugate gradients": (
        mercer.KernelRidge(0.1, solver="conjugate_gradient", tol=1e-10, random_state=0, **EVERY),
        Y,
    ),
    "ridge, low rank": (mercer.KernelRidge(0.1, solver="low_rank", random_state=0, **EVERY), Y),
    "ridge, local": (
        mercer.KernelRidge(0.1, solver="local", leaf_rows=40, random_state=0, **EVERY), Y,
    ),
    "ridge, penalty chosen": (mercer.KernelRidge("auto", **EVERY), Y),
    "ridge classifier": (mercer.KernelRidgeClassifier("auto", **EVERY), THREE),
    "logistic": (mercer.KernelLogisticRegression(**EVERY), THREE),
    "logistic, low rank": (
        mercer.KernelLogisticRegression(solver="low_rank", random_state=0, **EVERY), TWO,
    ),
    "SVC": (mercer.SVC(tol=1e-8, **EVERY), TWO),
    "SVC of three": (mercer.SVC(tol=1e-8, **EVERY), THREE),
    "SVC, low rank": (mercer.SVC(tol=1e-8, solver="low_rank", random_state=0, **EVERY), TWO),
    "NuSVC": (mercer.NuSVC(nu=0.3, tol=1e-8, **EVERY), TWO),
    "SVR": (mercer.SVR(tol=1e-8, **EVERY), Y),
    "NuSVR": (mercer.NuSVR(tol=1e-8, **EVERY), Y),
    "quantiles": (mercer.KernelQuantileRegression(quantile=[0.3, 0.7], tol=1e-8, **EVERY), Y),
    "one class": (mercer.OneClassSVM(nu=0.2, tol=1e-8, **EVERY), None),
    "components": (mercer.KernelPCA(3, **EVERY), None),
    "components, Krylov": (mercer.KernelPCA(3, eigen_solver="krylov", tol=1e-9, **EVERY), None),
    "correlations": (mercer.KernelCCA(2, alpha=0.1, **EVERY), X[:, :2]),
    "discriminant": (mercer.KernelDiscriminant(**EVERY), THREE),
    "k-means": (mercer.KernelKMeans(3, random_state=0, **EVERY), None),
    "spectral clusters": (mercer.SpectralClustering(3, random_state=0, **EVERY), None),
    "perceptron": (mercer.KernelPerceptron(random_state=0, **EVERY), TWO),
    "voted perceptron": (mercer.KernelPerceptron(combine="vote", random_state=0, **EVERY), TWO),
    "search": (mercer.KernelSearchCV(
        mercer.KernelRidge(**EVERY), {"alpha": [0.01, 0.1, 1.0], "kernel__gamma": [0.2, 0.4]}, cv=3
    ), Y),
    "search of SVC": (
        mercer.KernelSearchCV(mercer.SVC(tol=1e-8, **EVERY), {"C": [0.1, 1.0, 10.0]}, cv=3), TWO,
    ),
    "several kernels": (
        mercer.MultipleKernelClassifier([RBF(0.2), RBF(1.0)], method="easy", normalise=None), TWO,
    ),
    "several kernels, margins": (
        mercer.MultipleKernelClassifier([RBF(0.2), RBF(1.0)], method="simple", normalise=None), TWO,
    ),
    "several kernels, alignment": (
        mercer.MultipleKernelRegressor([RBF(0.2), RBF(1.0)], normalise=None), Y,
    ),
    "deep kernel machine": (
        mercer.deep.DeepKernelMachineRegressor(n_inducing=5, random_state=0, **EVERY), Y,
    ),
}  # fmt: skip


def outputs(model):
    """What a fitted learner says of new samples, in numbers."""
    for name in ("decision_function", "transform", "predict"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(NEW))
    return np.asarray(model.labels_)


def used():
    """Whether a matrix that lives elsewhere was read since this was last asked."""
    count = sum(USED.values())
    USED.clear()
    return count > 0


@pytest.mark.parametrize("name", FITS)
def test_every_learner_works_with_matrices_that_live_elsewhere(name, elsewhere):
    model, y = FITS[name]
    plain = outputs(clone(model).fit(X, y))
    assert not used()
    with register(elsewhere):
        model = clone(model).fit(X, y)
        assert used()
        there = outputs(model)
        assert used() or name.startswith(
            ("several", "search")
        )  # whose kernel is no RBF, or its own
    assert_allclose(there, plain, atol=2e-4 * np.abs(plain).max(), rtol=2e-4)


def test_weights_of_rows_and_several_penalties(elsewhere):
    model = mercer.KernelRidge([0.1, 1.0], kernel=KERNEL)
    Y2 = np.c_[Y, X[:, 1]]
    plain = clone(model).fit(X, Y2, WEIGHTS).predict(NEW)
    with register(elsewhere):
        assert_allclose(model.fit(X, Y2, WEIGHTS).predict(NEW), plain, rtol=1e-6, atol=1e-8)
        assert used()
        chosen = mercer.KernelRidge("auto", kernel=KERNEL).fit(X, Y, WEIGHTS)
    assert_allclose(chosen.alpha_, clone(chosen).fit(X, Y, WEIGHTS).alpha_)


@pytest.mark.parametrize(
    "solver", [CholeskySolver(0.3), EigenSolver(0.3), ConjugateGradientSolver(0.3, tol=1e-10)]
)
def test_solvers_of_ridge_regression(solver, elsewhere):
    with register(elsewhere):
        K = gram(KERNEL, X)
    A = KERNEL(X) + 0.3 * np.eye(len(X))
    result = solver.solve(K, Y)
    assert result.converged
    assert_allclose(result.coef, np.linalg.solve(A, Y), rtol=1e-6, atol=1e-9)
    assert used()


def test_statistics(elsewhere):
    def statistics():
        return [
            mercer.alignment(KERNEL, RBF(1.0), X),
            mercer.mmd_test(KERNEL, X, NEW + 0.5, permutations=20, random_state=0).statistic,
            mercer.hsic_test(
                KERNEL, RBF(1.0), X[:60], X[:60, :1], permutations=20, random_state=0
            ).statistic,
            mercer.effective_dimension(KERNEL, X, 0.1),
            mercer.effective_dimension(KERNEL, X, 0.1, rank=40, random_state=0),
        ]

    plain = statistics()
    with register(elsewhere):
        assert_allclose(statistics(), plain, rtol=1e-6)
    assert used()


def test_what_the_maker_leaves_is_served_as_before(elsewhere):
    with register(elsewhere):
        mercer.SVC(kernel=Laplacian()).fit(X, TWO)
        mercer.SVC(kernel=Spectrum(2, shortest=1)).fit(["aab", "bba", "aa", "bb"], [0, 1, 0, 1])
    assert not used()


class TestOperator(GramContract):
    @pytest.fixture(params=["square", "float32", "rectangular"])
    def pair(self, request, elsewhere):
        A = X[:40].astype(np.float32) if request.param == "float32" else X[:40]
        B = NEW if request.param == "rectangular" else A
        place = Place("1GB", 1)
        return elsewhere(KERNEL, A, B, place), KERNEL.block(A, B)
