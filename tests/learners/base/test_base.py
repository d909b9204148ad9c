"""What all learners share: the kernel argument, rows, targets, weights, precomputed matrices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge

from mercer import KernelRidge, KernelRidgeClassifier
from mercer.kernels import RBF, Linear, Match, Precomputed, TableKernel

rng = np.random.default_rng(0)
X, y = rng.normal(size=(25, 3)), rng.normal(size=25)
Z = rng.normal(size=(7, 3))


@pytest.mark.parametrize(("name", "value"), [("gamma", 0.5), ("degree", 2), ("coef0", 0.0)])
def test_arguments_beside_a_kernel_object_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}={value} is given together with .* RBF"):
        KernelRidge(kernel=RBF(), **{name: value}).fit(X, y)


def test_default_arguments_beside_a_kernel_object_are_not_given():
    model = KernelRidge(kernel=RBF(0.3)).fit(X, y)
    same = KernelRidge(kernel="rbf", gamma=0.3).fit(X, y)
    assert_allclose(model.predict(Z), same.predict(Z))


def test_the_parameter_is_left_as_it_is():
    kernel = RBF("scale")
    model = KernelRidge(kernel=kernel).fit(X, y)
    assert model.kernel is kernel
    assert kernel.gamma == "scale"
    assert model.kernel_.gamma == pytest.approx(1 / (3 * X.var()))


def test_unknown_kernel_name():
    with pytest.raises(ValueError, match="Did you mean 'rbf'"):
        KernelRidge(kernel="rbg").fit(X, y)


def test_strings_to_a_vector_kernel():
    with pytest.raises(TypeError, match=r"X is 25 strings, .*RBF.* compares vectors"):
        KernelRidge(kernel="rbf").fit(["text"] * 25, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite(bad):
    A = X.copy()
    A[3, 1] = bad
    with pytest.raises(ValueError, match=r"(?i)nan|infinity"):
        KernelRidge().fit(A, y)
    t = y.copy()
    t[4] = bad
    with pytest.raises(
        ValueError, match=r"y contains (NaN|infinity) in row 4; 1 of 25 rows have no finite target"
    ):
        KernelRidge().fit(X, t)
    w = np.ones(25)
    w[2] = bad
    with pytest.raises(ValueError, match="sample_weight contains NaN or infinity"):
        KernelRidge().fit(X, y, w)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (None, "requires y to be passed"),
        (y[:-1], "y has 24 rows, but X has 25"),
        (y[:, None, None], "y has shape"),
        (["a"] * 25, "y has values that are not numbers, such as 'a' in row 0: .*use a classifier"),
        (["-1.036,90"] * 25, 'such as \'-1.036,90\' in row 0: .*decimal=",", thousands="."'),
        (np.arange(25).astype("M8[D]"), r"y has dates, such as 1970-01-01: .*\(y - y.min\(\)\) / "),
        (np.arange(25).astype("m8[h]"), "y has durations, such as 0 hours.* y / numpy.timedelta64"),
    ],
)
def test_wrong_targets(target, message):
    with pytest.raises(ValueError, match=message):
        KernelRidge().fit(X, target)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(24), r"sample_weight has shape \(24,\), wanted \(25,\)"),
        (-np.ones(25), "sample_weight has the negative value -1 in row 0"),
        (np.zeros(25), "sample_weight is zero for every row"),
    ],
)
def test_wrong_weights(weights, message):
    for model in (KernelRidge(), KernelRidgeClassifier()):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y > 0, weights)


# --- precomputed matrices -----------------------------------------------------------------------


def test_precomputed_equals_the_kernel():
    kernel = RBF(0.4)
    given = KernelRidge(kernel="precomputed").fit(kernel(X), y)
    assert_allclose(given.predict(kernel(Z, X)), KernelRidge(kernel=kernel).fit(X, y).predict(Z))
    assert repr(given.kernel_) == "Precomputed()"
    assert given.__sklearn_tags__().input_tags.pairwise


def test_precomputed_is_validated():
    K = RBF(0.4)(X)
    with pytest.raises(ValueError, match=r"shape \(25, 20\); .* must be square"):
        KernelRidge(kernel="precomputed").fit(K[:, :20], y)
    crooked = K.copy()
    crooked[3, 8] += 0.1
    with pytest.raises(ValueError, match=r"not symmetric: K\[3, 8\] = .*\(K \+ K.T\) / 2"):
        KernelRidge(kernel="precomputed").fit(crooked, y)
    model = KernelRidge(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match=r"X has shape \(7, 3\), but it must be \(m, 25\)"):
        model.predict(Z)
    K[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KernelRidge(kernel="precomputed").fit(K, y)


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_precomputed_matrices_are_refused(container):
    K = RBF(0.4)(X)
    message = r"^Sparse precomputed kernels are not supported: .* Give X\.toarray\(\)"
    for learner in (KernelRidge(kernel="precomputed"), KernelRidgeClassifier(kernel=Precomputed())):
        with pytest.raises(TypeError, match=message):
            learner.fit(container(K), y > 0)
        with pytest.raises(TypeError, match=message):
            learner.fit(K, y > 0).predict(container(K))


def test_rounding_is_not_asymmetry():
    K = RBF(0.4)(X).astype(np.float32)
    K[3, 8] *= 1 + 1e-6
    KernelRidge(kernel="precomputed").fit(K, y)


# --- kinds of samples ---------------------------------------------------------------------------


def test_sparse_rows_equal_dense_ones():
    A = np.where(np.abs(X) > 0.5, X, 0)
    for kernel in ("linear", "rbf", "poly"):
        dense = KernelRidge(kernel=kernel).fit(A, y).predict(A)
        for make in (sp.csr_array, sp.csc_matrix):
            model = KernelRidge(kernel=kernel).fit(make(A), y)
            assert_allclose(model.predict(make(A)), dense, atol=1e-10)


def test_feature_names_are_remembered():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = KernelRidge().fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])


def test_categories_and_tables():
    frame = pd.DataFrame({"size": X[:, 0], "colour": np.where(X[:, 1] > 0, "red", "blue")})
    target = X[:, 0] + (X[:, 1] > 0)
    for kernel, data in (
        (Match(), frame[["colour"]]),
        (TableKernel([(RBF(1.0), ["size"]), (Match(), ["colour"])]), frame),
    ):
        model = KernelRidge(alpha=0.01, kernel=kernel).fit(data, target)
        K = kernel.bind(kernel.encode(data)).block(*[kernel.encode(data)] * 2)
        assert_allclose(K @ model.dual_coef_ + 0.01 * model.dual_coef_, target, atol=1e-9)
        assert_allclose(model.predict(data.iloc[:4]), (K @ model.dual_coef_)[:4])
    unseen = frame.iloc[:1].assign(colour="green")
    assert np.isfinite(model.predict(unseen)).all()


def test_callable_compares_two_rows_as_in_scikit_learn():
    def cauchy(x, z, width=1.0):
        return 1 / (1 + np.sum((x - z) ** 2) / width)

    ours = KernelRidge(kernel=cauchy, kernel_params={"width": 2.0}).fit(X, y)
    theirs = SklearnKernelRidge(kernel=cauchy, kernel_params={"width": 2.0}).fit(X, y)
    assert_allclose(ours.predict(Z), theirs.predict(Z))


def test_gram_is_said_in_words():
    assert KernelRidge(kernel=Linear()).fit(X, y).gram_ == "DenseGram 25 x 25 float64"
    big = np.random.default_rng(0).normal(size=(600, 2)).astype(np.float32)
    tight = KernelRidge(kernel="rbf", memory="1MB").fit(big, big[:, 0])
    assert tight.gram_ == "TiledGram 600 x 600 float32"
