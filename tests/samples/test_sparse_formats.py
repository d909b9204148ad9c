"""Broken sparse matrices are refused at every door, before SciPy or native code read them."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer.distances import Jaccard as JaccardDistance, Minkowski, Precomputed
from mercer.kernels import FromFunction, Jaccard
from mercer.samples import NodeGraph, as_samples, check_format
from mercer.search import BruteForce, LSHIndex, MinHash

# symmetric and of 0 and 1: vectors, sets, the edges of a graph, and distances
A = np.ones((12, 12)) - np.eye(12)
A[0, 5:] = A[5:, 0] = 0.0
Y = np.arange(12) % 2
FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
FAR = 2**30


def broken(form, change):
    X = sp.csr_array(A).asformat(form)
    change(X)
    return X


def set_item(name, at, value):
    """A change of one number in an array of a matrix."""

    def change(X):
        array = getattr(X, name).copy()
        array[at] = value
        setattr(X, name, array)

    return change


def cut(name):
    """A change that leaves only the first half of an array of a matrix."""

    def change(X):
        setattr(X, name, getattr(X, name)[: len(getattr(X, name)) // 2].copy())

    return change


def set_coordinate(axis, value):
    def change(X):
        coords = [numbers.copy() for numbers in X.coords]
        coords[axis][3] = value
        X.coords = tuple(coords)

    return change


def float_indices(X):
    X.indices = X.indices + 0.5


def offset(number):
    """The last diagonal elsewhere, by a number of 64 bits: scipy wrote beside its arrays."""
    return lambda X: setattr(X, "offsets", np.array([*X.offsets[:-1], number], np.int64))


def blocks_of_five(X):
    X.data = np.ones((len(X.indices), 5, 5))


def keys(place):
    return lambda X: X._dict.__setitem__(place, 1.0)


COMPRESSED = {
    "index too large": set_item("indices", 3, FAR),
    "index at the width": set_item("indices", -1, 12),
    "index negative": set_item("indices", 3, -FAR),
    "indptr falls": set_item("indptr", 1, FAR),
    "indptr from 2": set_item("indptr", 0, 2),
    "indptr negative": set_item("indptr", 0, -FAR),
    "indptr counts too many": set_item("indptr", -1, FAR),
    "indptr short": cut("indptr"),
    "indices short": cut("indices"),
    "data short": cut("data"),
    "indices of floats": float_indices,
}
FORGERIES = {
    **{
        f"{form}: {name}": (form, change)
        for form in ("csr", "csc", "bsr")
        for name, change in COMPRESSED.items()
    },
    "coo: row too large": ("coo", set_coordinate(0, FAR)),
    "coo: column negative": ("coo", set_coordinate(1, -FAR)),
    "coo: data short": ("coo", cut("data")),
    "bsr: flat data": ("bsr", lambda X: setattr(X, "data", X.data.ravel())),
    "bsr: blocks do not divide": ("bsr", blocks_of_five),
    "lil: column too large": ("lil", lambda X: X.rows[2].__setitem__(0, FAR)),
    "lil: column negative": ("lil", lambda X: X.rows[2].__setitem__(0, -FAR)),
    "lil: values missing": ("lil", lambda X: X.data[2].pop()),
    "lil: columns missing": ("lil", lambda X: X.rows[2].pop()),
    "lil: no list": ("lil", lambda X: X.rows.__setitem__(2, None)),
    "lil: rows missing": ("lil", cut("rows")),
    "dok: row too large": ("dok", keys((FAR, 0))),
    "dok: column negative": ("dok", keys((0, -FAR))),
    "dia: offsets missing": ("dia", cut("offsets")),
    "dia: offset negative beyond 32 bits": ("dia", offset(-(2**62))),
    "dia: offset beyond 32 bits": ("dia", offset(2**40)),
    "lil: a column twice": ("lil", lambda X: X.rows[2].__setitem__(0, X.rows[2][1])),
    "lil: columns descend": ("lil", lambda X: X.rows[2].reverse()),
    "dia: one diagonal twice": ("dia", lambda X: setattr(X, "offsets", 0 * X.offsets)),
}  # fmt: skip


def of_fitted(learner):
    """A door for new samples."""
    return lambda X: learner.fit(A, Y).predict(X)


def jaccard_predict(X):
    return mercer.SVC(kernel=Jaccard()).fit(sp.csr_array(A), Y).predict(X)


DOORS = {
    "SVC": lambda X: mercer.SVC().fit(X, Y),
    "SVC.predict": of_fitted(mercer.SVC()),
    "KernelRidge": lambda X: mercer.KernelRidge().fit(X, Y),
    "LinearSVC": lambda X: mercer.LinearSVC().fit(X, Y),
    "LinearSVC.predict": of_fitted(mercer.LinearSVC()),
    "KNeighborsClassifier": lambda X: mercer.KNeighborsClassifier().fit(X, Y),
    "KNeighborsClassifier.predict": of_fitted(mercer.KNeighborsClassifier()),
    "KernelKMeans": lambda X: mercer.KernelKMeans(2).fit(X),
    "NearestNeighbors": lambda X: mercer.NearestNeighbors().fit(X),
    "Nystroem": lambda X: mercer.Nystroem(n_components=3).fit(X),
    "sets": lambda X: as_samples(X, "sets"),
    "sets, learner": lambda X: mercer.SVC(kernel=Jaccard()).fit(X, Y),
    "sets, predict": jaccard_predict,
    "vectors": as_samples,
    "a graph": lambda X: as_samples([A, A, X], "graphs"),
    "a graph of GraKeL": lambda X: as_samples([[X, None]], "graphs"),
    "the graph of nodes": NodeGraph.of,
    "precomputed kernel": lambda X: mercer.SVC(kernel="precomputed").fit(X, Y),
    "precomputed distances": lambda X: mercer.KNeighborsClassifier(metric=Precomputed()).fit(X, Y),
    "brute force": lambda X: BruteForce(Minkowski()).fit(X),
    "LSHIndex": lambda X: LSHIndex(JaccardDistance()).fit(X),
    "MinHash": lambda X: MinHash().fit(sp.csr_array(A)).transform(X),
    "a search": lambda X: mercer.KernelSearchCV(mercer.SVC(), {"C": [1, 2]}, cv=2).fit(X, Y),
    "chunks of rows": lambda X: mercer.LinearSVC().fit_chunks(mercer.streams.Chunks(X, Y)),
    "a list of chunks": lambda X: mercer.LinearSVC().fit_chunks(mercer.streams.Chunks([(X, Y)])),
    "a function": lambda X: mercer.SVC(kernel=FromFunction(lambda _X, _Z: X, at_once=True)).fit(
        A, Y
    ),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("forgery", FORGERIES)
def test_broken_matrices_are_refused(door, forgery):
    X = broken(*FORGERIES[forgery])
    if door == "precomputed kernel":  # refuses all sparse matrices, unread
        with pytest.raises(TypeError, match=r"Give X\.toarray"):
            DOORS[door](X)
        return
    with pytest.raises(ValueError, match=r"is broken: .*\. Build it anew from its entries"):
        DOORS[door](X)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("of", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("shape", [(12, 12), (0, 4), (4, 0), (3, 7), (6, 2)])
def test_whole_matrices_pass(form, of, shape):
    X = of(np.resize(A, shape)).asformat(form)
    check_format(X)
    check_format(of(shape).asformat(form))


@pytest.mark.parametrize("form", ["coo", "csr", "dok"])
def test_one_dimension_passes(form):
    row = sp.coo_array(A[0]).asformat(form)
    check_format(row)
    if form == "coo":
        set_coordinate(0, FAR)(row)
        with pytest.raises(ValueError, match="place numbers"):
            check_format(row)
