"""The thin type of encoded vectors: what keeps the mark that numbers were checked, and what not."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.utils
from numpy.testing import assert_array_equal

import mercer
from mercer.samples import as_samples, encode_vectors, joined, vectors
from mercer.samples.vectors import SparseRows, Vectors, is_checked

X = np.random.default_rng(0).normal(size=(30, 3))
Y = X[:, 0] - X[:, 1] ** 2
FORMS = {"dense": X, "sparse": sp.csr_array(X), "float32": X.astype(np.float32)}


@pytest.fixture
def scans(monkeypatch):
    """The arrays that were checked for numbers that are not finite."""
    read = []
    check, is_plain = sklearn.utils.check_array, vectors.is_plain
    monkeypatch.setattr(
        sklearn.utils, "check_array", lambda A, **options: read.append(A) or check(A, **options)
    )
    monkeypatch.setattr(vectors, "is_plain", lambda A: is_plain(A) and not read.append(A))
    return read


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_few_plain_rows_are_encoded_as_all_others(dtype, monkeypatch):
    plain = X.astype(dtype)
    few = as_samples(plain)
    monkeypatch.setattr(vectors, "PLAIN", 0)
    all_others = as_samples(plain)
    assert type(few) is type(all_others)
    assert (few.dtype, few.checked) == (all_others.dtype, all_others.checked)
    assert np.shares_memory(few, plain) == np.shares_memory(all_others, plain)
    assert_array_equal(few, all_others)


@pytest.mark.parametrize(
    "strange", [X.T, X[:, ::2], X[:0], X[:, :0], X[0], X.astype(int), X * np.nan, X.astype(object)]
)
def test_rows_that_are_not_plain_are_looked_at_closely(strange):
    assert not vectors.is_plain(strange)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "learner",
    [
        mercer.KNeighborsClassifier(),
        mercer.KNeighborsClassifier(algorithm="metric_tree"),
        mercer.KNeighborsRegressor(metric="manhattan"),
        mercer.SVC(),
        mercer.KernelRidge(),
        mercer.KernelRidge(alpha="auto"),
        mercer.NadarayaWatson(n_neighbors=5),
        mercer.KernelPCA(2),
    ],
    ids=lambda learner: " ".join(repr(learner).split()),
)
def test_a_fit_reads_the_numbers_once_and_so_does_a_prediction(learner, form, scans):
    data = FORMS[form]
    model = learner.fit(data, np.sign(Y))
    assert len(scans) == 1
    answer = model.predict if hasattr(model, "predict") else model.transform
    answer(data[:7].copy())
    assert len(scans) == 2


def test_missing_numbers_are_read_once_too(scans):
    model = mercer.KNeighborsRegressor(metric="nan_euclidean").fit(X, Y)
    model.predict(X[:3].copy())
    assert len(scans) == 2


@pytest.mark.parametrize("form", FORMS)
def test_rows_keep_the_mark(form):
    encoded = as_samples(FORMS[form])
    for rows in (slice(3, 9), np.arange(4), np.arange(30) % 2 == 0):
        assert is_checked(encoded[rows])
        assert as_samples(encoded[rows]).dtype == FORMS[form].dtype
    assert as_samples(encoded) is encoded


def test_the_rest_has_none():
    encoded = as_samples(X)
    strange = [encoded[:, :2], encoded[::2], encoded.T, encoded[0], encoded.astype(int),
               encoded.copy(), np.concatenate([encoded, X])]  # fmt: skip
    assert not any(map(is_checked, strange))
    for plain in (encoded + 1, encoded @ encoded.T, encoded.sum(axis=0), np.exp(encoded)):
        assert type(plain) is np.ndarray
    assert isinstance(encoded.max(), np.float64)


def test_new_numbers_are_checked_again():
    encoded = as_samples(X)[np.arange(5)]
    encoded[2, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        as_samples(encoded)
    gaps = np.array([[1.0, np.nan]])
    with pytest.raises(ValueError, match="NaN"):
        as_samples(encode_vectors(gaps, None, "RBF", missing=True))


def test_they_are_arrays_to_users():
    model = mercer.KernelRidge().fit(X, Y)
    assert isinstance(model.X_fit_, np.ndarray)
    assert repr(model.X_fit_) == repr(X)
    assert type(pickle.loads(pickle.dumps(model.X_fit_))) is np.ndarray
    assert_array_equal(copy.deepcopy(model.X_fit_), X)


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_joined(form):
    encoded = as_samples(FORMS[form])
    whole = joined(encoded[:10], encoded[10:])
    assert type(whole) not in (Vectors, SparseRows)
    assert_array_equal(whole if form != "sparse" else whole.toarray(), X.astype(whole.dtype))


def test_the_same_rows_are_the_same_samples():
    """Equal rows of one array have distance 0 exactly, and half of the pairs are computed."""
    training = as_samples(X)
    assert as_samples(X, like=training) is training
    assert as_samples(X.copy(), like=training) is not training
    for model in (mercer.KernelRidge().fit(X, Y), mercer.KNeighborsRegressor().fit(X, Y)):
        assert model.encode_new(X) is model.X_fit_
        assert model.encode_new(X.copy()) is not model.X_fit_
