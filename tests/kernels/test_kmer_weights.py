"""Rare and repeated k-mers: the products are those of scikit-learn's TfidfVectorizer."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

import mercer
from mercer import SVC
from mercer.kernels import Spectrum
from mercer.tables import words_of

RNG = np.random.default_rng(0)
TEXTS = ["".join(RNG.choice(list("abcd"), RNG.integers(1, 30))) for _ in range(25)]
NEW = ["".join(RNG.choice(list("abcdxyz"), RNG.integers(1, 30))) for _ in range(12)]


def vectorizer(shortest, longest, sublinear, idf, **more):
    return TfidfVectorizer(
        ngram_range=(shortest, longest), sublinear_tf=sublinear, use_idf=idf, lowercase=False,
        norm=None, **more,
    )  # fmt: skip


@pytest.mark.parametrize("sublinear", [False, True])
@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("blended", [False, True])
def test_values_are_those_of_scikit_learn(blended, k, idf, sublinear):
    kernel = Spectrum(k, shortest=1 if blended else k, sublinear=sublinear, idf=idf)
    theirs = vectorizer(1 if blended else k, k, sublinear, idf, analyzer="char")
    F = theirs.fit_transform(TEXTS).toarray()
    X = kernel.encode(TEXTS)
    bound = kernel.bind(X)
    assert_allclose(bound.block(X, X), F @ F.T, rtol=1e-12)
    assert_allclose(bound.diag(X), (F**2).sum(axis=1), rtol=1e-12)
    Z = bound.encode(NEW, like=X)
    G = theirs.transform(NEW).toarray()
    assert_allclose(bound.block(Z, X), G @ F.T, rtol=1e-12)
    if idf:  # what is not in the training sample does not count
        assert_allclose(bound.block(Z, Z), G @ G.T, rtol=1e-12)
        assert_allclose(bound.diag(Z), (G**2).sum(axis=1), rtol=1e-12)
    features = bound.features(X).toarray()
    assert_allclose(features @ features.T, F @ F.T, rtol=1e-12)


def test_words_are_weighed_too():
    texts = ["the cat sat", "the dog sat down", "the cat and the dog", "a bird"]
    kernel = Spectrum(2, shortest=1, sublinear=True, idf=True).normalised()
    F = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+")
    F = F.fit_transform(texts).toarray()
    assert_allclose(kernel([words_of(text) for text in texts]), F @ F.T, rtol=1e-12)


def test_rows_alone_and_tiles_give_the_same_values():
    kernel = Spectrum(2, sublinear=True, idf=True)
    X = kernel.encode(TEXTS)
    bound = kernel.bind(X)
    K = bound.block(X, X)
    prepared = bound.prepare(X)
    assert_allclose(bound.block(prepared[3:9], prepared[0:20]), K[3:9, :20], rtol=1e-12)
    assert_allclose(bound.block(X[[4]], X), K[[4]], rtol=1e-12)


def test_a_bound_kernel_keeps_its_frequencies():
    kernel = Spectrum(2, idf=True)
    bound = kernel.bind(kernel.encode(TEXTS))
    assert kernel.idf is True
    again = bound.bind(bound.encode(NEW))
    assert again.idf is bound.idf
    assert_allclose(clone(bound)(NEW), bound(NEW))


@pytest.mark.parametrize(
    "kernel", [Spectrum(3, idf=True), Spectrum(3, shortest=1, decay=0.7, idf=True)]
)
@pytest.mark.parametrize("normalised", [False, True])
def test_features_have_a_column_for_each_known_substring(kernel, normalised):
    """A model can then keep one weight for each, and read new rows of any length."""
    kernel = kernel.normalised() if normalised else kernel
    X = kernel.encode(TEXTS)
    bound = kernel.bind(X)
    Z = bound.encode([*NEW, "", "a", "§"], like=X)
    F, G = bound.features(X), bound.features(Z)
    assert sp.issparse(F)
    assert sp.issparse(G)
    assert F.shape[1] == G.shape[1]
    assert F.indices.dtype == np.int32
    assert_allclose((G @ F.T).toarray(), bound.block(Z, X), rtol=1e-12)
    assert_allclose((bound.features(Z[-3:]) @ F.T).toarray(), bound.block(Z[-3:], X), rtol=1e-12)


def test_unbound_frequencies_are_an_error():
    kernel = Spectrum(2, idf=True)
    X = kernel.encode(TEXTS)
    with pytest.raises(ValueError, match="bind it to the training sample"):
        kernel.block(X, X)


@pytest.mark.parametrize("name", ["sublinear", "idf"])
def test_wrong_values_are_named(name):
    with pytest.raises(ValueError, match=f"{name}='yes': give True or False"):
        Spectrum(2, **{name: "yes"})(TEXTS)


def test_long_substrings_are_refused_with_the_remedy():
    wide = ["".join(map(chr, range(1000, 1400)))] * 2
    with pytest.raises(ValueError, match=r"idf=True: .* 400 symbols\. Give a smaller k"):
        Spectrum(9, idf=True)(wide)
    assert_allclose(Spectrum(9, sublinear=True)(wide), 392.0)


def test_a_machine_with_it_is_kept_in_a_file(tmp_path):
    y = np.arange(25) % 2
    model = SVC(kernel=Spectrum(3, shortest=1, sublinear=True, idf=True).normalised()).fit(TEXTS, y)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert_allclose(again.decision_function(NEW), model.decision_function(NEW), rtol=1e-12)
