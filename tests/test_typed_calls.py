# pyright: standard, reportUnnecessaryTypeIgnoreComment=true
"""A user's program of forty calls, which pyright checks in its mode "standard" as it checks Mercer.

At the end each line has an error. If a name were Any for type checkers, pyright would not see it,
and would say that the comment beside it is not needed.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

import mercer
from mercer import KernelSearchCV, KNeighborsClassifier, KNeighborsRegressor, distances, kernels
from mercer.gram import gram
from mercer.kernels import RBF, Jaccard, Kernel, Laplacian, Spectrum, TableKernel, check_mercer
from mercer.solvers import CholeskySolver

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X[:, 0] + X[:, 1] ** 2
CLASSES = np.where(X[:, 0] > 0, "a", "b")
WORDS = ["banana", "ananas", "tea", "ten"] * 3
KINDS = ["fruit", "fruit", "thing", "thing"] * 3
SETS = [{"tea"}, {"tea", "milk"}, {"bread"}, {"bread", "milk"}] * 3


def test_kernels_and_distances():
    kernel: Kernel = 2.0 * RBF(0.5) + Laplacian("median") * RBF()
    assert kernel.get_params()["left"] is not None
    assert RBF(gamma=0.5)(X).shape == (40, 40)
    assert Laplacian(1.0)(X[:3].tolist(), X).shape == (3, 40)
    assert Spectrum(2, shortest=1).normalised()(WORDS).shape == (12, 12)
    assert Jaccard()(SETS, SETS[:2]).shape == (12, 2)
    assert distances.Minkowski(1)(X, X[:2]).shape == (40, 2)
    assert distances.Edit()(WORDS).shape == (12, 12)
    assert kernels.FromDistance(distances.Edit(), 0.5, 2.0)(WORDS).shape == (12, 12)
    assert kernels.FromFunction(lambda a, b: float(len(a & b)))(SETS).shape == (12, 12)
    assert TableKernel([(RBF(), [0, 1]), (Laplacian(), [2])])(X).shape == (40, 40)
    assert check_mercer(RBF(), X).positive_definite


def test_learners(tmp_path: Path):
    svc = mercer.SVC(kernel=RBF(0.5), C=10.0).fit(X, CLASSES)
    assert svc.predict(X[:2]).shape == (2,)
    assert svc.decision_function(X.tolist()).shape == (40,)
    sparse = mercer.SVC(kernel="rbf", gamma="scale").fit(sp.csr_array(X), CLASSES)
    assert sparse.score(X, CLASSES) > 0
    words = mercer.SVC(kernel=Spectrum(2)).fit(WORDS, KINDS)
    assert words.predict(["bananas"]).tolist() == ["fruit"]
    assert mercer.SVC(kernel=Jaccard()).fit(SETS, KINDS).predict(SETS[:1]).tolist() == ["fruit"]
    assert mercer.SVR(epsilon=0.01).fit(X, Y, sample_weight=np.ones(40)).predict(X).shape == (40,)
    ridge = mercer.KernelRidge(alpha=0.1, kernel="rbf", solver=CholeskySolver()).fit(X, Y)
    assert ridge.predict(X).shape == (40,)
    assert mercer.KernelRidge(kernel=RBF()).fit(X, np.column_stack([Y, Y])).predict(X).shape[1] == 2
    assert mercer.KernelRidgeClassifier().fit(X, CLASSES).predict(X).shape == (40,)
    assert mercer.KernelLogisticRegression().fit(X, CLASSES).predict_proba(X).shape == (40, 2)
    assert KNeighborsClassifier(3, metric=distances.Edit()).fit(WORDS, KINDS).predict(WORDS).shape
    assert KNeighborsRegressor(3).fit(X, Y).predict(X).shape == (40,)
    assert len(mercer.NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X[:3])) == 2
    assert mercer.NadarayaWatson().fit(X, Y).predict(X).shape == (40,)
    assert mercer.KernelDensity().fit(X).score_samples(X).shape == (40,)
    assert mercer.KernelPCA(2, kernel="rbf").fit(X).transform(X).shape == (40, 2)
    assert mercer.Nystroem(RBF(), n_components=5).fit_transform(X).shape == (40, 5)
    assert mercer.KernelKMeans(2, random_state=0).fit(X).labels_.shape == (40,)
    assert mercer.OneClassSVM(nu=0.2).fit(X).predict(X).shape == (40,)
    assert mercer.ConvolutionFeatures("hydra", 2).fit(X).transform(X).shape[0] == 40
    search = KernelSearchCV(mercer.SVC(kernel=RBF()), {"C": [1.0, 10.0]}, cv=2).fit(X, CLASSES)
    assert search.predict(X).shape == (40,)
    mercer.save(ridge, tmp_path / "model.mercer")
    assert mercer.load(tmp_path / "model.mercer").predict(X).shape == (40,)
    assert 0 <= mercer.alignment(RBF(), Y, X) <= 1
    assert (gram(RBF(), X) @ Y).shape == (40,)
    assert mercer.MinHash(64, random_state=0).fit(SETS).transform(SETS).shape == (12, 64)


def names_are_not_any() -> None:
    """Never called: each line is an error for a type checker that knows the names."""
    mercer.SVC().fitt  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018
    mercer.KernelRidge(penalty=1.0)  # pyright: ignore[reportCallIssue]
    mercer.KernelRidge().fit(X)  # pyright: ignore[reportCallIssue]
    RBF(gama=1.0)  # pyright: ignore[reportCallIssue]
    mercer.SVCC  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018
    mercer.kernels.RBFF  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018
    KernelSearchCV(mercer.SVC(), {}, vc=2)  # pyright: ignore[reportCallIssue]
