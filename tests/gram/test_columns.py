"""Samples that are the columns of several matrices are prepared once, and are in no file."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import mercer
from mercer.gram import PreparedSide, gram
from mercer.kernels import RBF, Laplacian, Spectrum

rng = np.random.default_rng(0)
X, NEW = rng.normal(size=(40, 3)), rng.normal(size=(7, 3))
Y = X[:, 0] * X[:, 1]


class Watched(RBF):
    """Counts the rows that it prepares."""

    rows = 0

    def prepare(self, X, like=None):
        type(self).rows += X.shape[0]
        return super().prepare(X, like)


@pytest.mark.parametrize(
    "kernel", [RBF(0.3), Laplacian(0.3), RBF(0.3) + Laplacian(), RBF(0.3).normalised()]
)
def test_the_matrix_is_the_same(kernel):
    kernel = kernel.bind(X)
    columns = PreparedSide(kernel, X)
    for new in (NEW, NEW[:1], X):
        K, plain = gram(kernel, new, columns), gram(kernel, new, X)
        assert K.columns is columns
        assert_allclose(K.dense(), plain.dense(), rtol=1e-12)
        assert_allclose(K @ Y, plain @ Y, rtol=1e-10, atol=1e-12)


def test_the_samples_of_a_fit_are_prepared_once():
    model = mercer.KernelRidge(kernel=Watched(0.3)).fit(X, Y)
    first = model.predict(NEW)
    Watched.rows = 0
    assert_allclose(model.predict(NEW), first)
    assert Watched.rows < len(X)


@pytest.mark.parametrize("what", ["X_fit_", "kernel_"])
def test_what_was_replaced_is_prepared_again(what):
    model, other = (mercer.KernelRidge(kernel=RBF(g)).fit(A, Y) for g, A in ((0.3, X), (2.0, -X)))
    before = model.predict(NEW)
    setattr(model, what, getattr(other, what))
    K = model.kernel_.block(NEW, model.X_fit_)
    assert_allclose(model.predict(NEW), K @ model.dual_coef_, rtol=1e-10)
    assert not np.allclose(model.predict(NEW), before)


def test_a_second_fit_does_not_use_the_samples_of_the_first():
    model = mercer.KernelRidge(kernel=RBF(0.3)).fit(X, Y)
    model.predict(NEW)
    again = model.fit(-X, Y).predict(NEW)
    assert_allclose(again, clone(model).fit(-X, Y).predict(NEW))


def test_files_and_copies_do_not_have_it(tmp_path):
    model = mercer.SVC(kernel=RBF(0.3)).fit(X, Y > 0)
    size = len(pickle.dumps(model))
    wanted = model.decision_function(NEW)
    assert len(pickle.dumps(model)) == size
    assert "_columns" not in copy.deepcopy(model).__getstate__()
    mercer.save(model, tmp_path / "model.mercer")
    for twin in (pickle.loads(pickle.dumps(model)), mercer.load(tmp_path / "model.mercer")):
        before = dict(vars(twin))
        assert_allclose(twin.decision_function(NEW), wanted)
        assert vars(twin) == before  # a prediction changes nothing that is seen


def test_other_kinds_of_samples():
    words = ["".join(rng.choice(list("ab"), 6)) for _ in range(20)]
    model = mercer.KernelRidge(kernel=Spectrum(2, shortest=1)).fit(words, Y[:20])
    one_by_one = np.concatenate([model.predict([word]) for word in words])
    assert_allclose(one_by_one, model.predict(words), rtol=1e-8, atol=1e-10)
