"""The contract of every index of nearest neighbours, as one function to call from a test.

It needs no slow twin: an index is held against the full matrix of distances. A test is::

    @pytest.mark.parametrize("distance, samples", [(Minkowski(), vectors()), (Edit(), names())])
    def test_my_index(distance, samples):
        check_index(lambda d: MyIndex(d, leaf_size=3), distance, samples)
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from mercer.distances import Distance
from mercer.persistence import ModelFileError
from mercer.samples import SamplesLike
from mercer.search import Index


def check_index(
    make_index: Callable[[Distance], Index],
    distance: Distance,
    X: SamplesLike,
    Z: SamplesLike | None = None,
    *,
    tol: float = 1e-6,
    saved: bool = True,
    trusted: tuple = (),
) -> None:
    """Hold an index against brute force over the full matrix of distances.

    Parameters
    ----------
    make_index : callable
        ``make_index(distance)`` returns an index that is not fitted.
    distance : Distance
    X : samples
        Raw, as a user would give them: 3 to 200 rows, with duplicates if possible.
    Z : samples, optional
        Queries; X by default.
    tol : float, default=1e-6
        Distances of a tile may differ by it, relative to the largest distance, from those of the
        full matrix. 0: they must be equal, and so must the order of all neighbours.
    saved : bool, default=True
        False: the distance holds a function, or the samples are objects, which no file can hold.
        The index must then refuse to be saved.
    trusted : tuple of classes
        Those from outside this library that the index or the distance holds.

    Raises
    ------
    AssertionError
        The index breaks the contract; the message says where.

    Notes
    -----
    Of an index that is not ``exact`` the neighbours that it does find are checked, and not how
    many they are. A third of the rows is left out by a mask, and then removed.

    Examples
    --------
    >>> from mercer.distances import Edit
    >>> from mercer.search import BruteForce
    >>> check_index(BruteForce, Edit(), ["anna", "hanna", "otto", "anna"], tol=0)
    """
    Z = X if Z is None else Z
    index = make_index(distance)
    _check_conventions(index, X, Z)
    encoded = distance.encode(X)
    bound = distance.bind(encoded)
    among, others = bound.whole(encoded, encoded), bound.whole(distance.encode(Z, encoded), encoded)
    alone = np.where(np.eye(len(among), dtype=bool), np.inf, among)
    size = tol * max(1.0, float(others.max(initial=0)), float(among.max(initial=0)))
    for queries, D in ((Z, others), (None, alone)):
        most = D.shape[1] - (queries is None)
        for k in sorted({1, min(3, most), most}):
            _check_nearest(index, *index.query(queries, k), D, k, size)
        finite = D[np.isfinite(D)]
        for radius in (0.0, float(np.median(finite)), float(finite.max())):
            # between two distances, so that rounding does not decide; or at one, if it is exact
            radius += 2 * size
            _check_within(index, index.query_radius(queries, radius), D, radius, size)
    _check_questions(index, Z)
    _check_some(index, Z, others, alone, size)
    _check_files(index, Z, saved, trusted)


def _check_conventions(index: Index, X: SamplesLike, Z: SamplesLike) -> None:
    """Check parameters, errors before fit, and what fit returns."""
    assert isinstance(index, Index), f"{index!r} is no subclass of mercer.search.Index"
    before = repr(index)
    assert repr(clone(index)) == before, "the constructor must store its arguments untouched"
    for ask in (index.query, index.query_radius):
        with pytest.raises(NotFittedError):
            ask(Z)
    with pytest.raises(NotFittedError):
        index.save("index that is not fitted")
    wrong: Any = clone(index)
    with pytest.raises(TypeError, match="give a distance"):
        wrong.set_params(distance="euclid").fit(X)
    assert index.fit(X) is index, "fit must return the index"
    assert repr(index) == before, "fit must leave the parameters alone"


def _check_nearest(
    index: Index, distances: np.ndarray, indices: np.ndarray, D: np.ndarray, k: int, size: float
) -> None:
    """Distances ascend and are those of their rows; ties go to the row of smaller index."""
    assert distances.shape == indices.shape == (len(D), k)
    assert indices.dtype == np.int64
    found = indices >= 0
    assert found.all() or not index.exact, "an exact index finds k neighbours"
    assert np.isinf(distances[~found]).all(), "the distance of no neighbour is infinite"
    rows = np.repeat(np.arange(len(D)), k).reshape(D.shape[0], k)
    assert_allclose(distances[found], D[rows[found], indices[found]], rtol=0, atol=size)
    for row in np.where(found, indices, -1 - np.arange(k)):
        assert len(set(row.tolist())) == k, "a neighbour comes twice"
    earlier, later = distances[:, :-1], distances[:, 1:]
    tied = (earlier == later) & found[:, 1:]
    assert (tied | (earlier < later) | ~found[:, 1:]).all(), "distances must ascend"
    assert (indices[:, :-1] < indices[:, 1:])[tied].all(), "ties go to the smaller index"
    if index.exact:
        order = np.argsort(D, axis=1, kind="stable")[:, :k]
        nearest = np.take_along_axis(D, order, 1)
        assert_allclose(distances, nearest, rtol=0, atol=size)
        if size == 0:
            assert_array_equal(indices, order)


def _check_within(index: Index, found: tuple, D: np.ndarray, radius: float, size: float) -> None:
    """The radius is inclusive, neighbours are in ascending order, and starts divide them."""
    distances, indices, starts = found
    assert starts.shape == (len(D) + 1,)
    assert starts[0] == 0
    assert starts[-1] == len(indices) == len(distances)
    assert indices.dtype == starts.dtype == np.int64
    assert (distances <= radius).all()
    for row, (start, end) in zip(D, pairwise(starts)):
        mine = indices[start:end]
        assert (np.diff(mine) > 0).all(), "neighbours must ascend, without repetition"
        assert_allclose(distances[start:end], row[mine], rtol=0, atol=size)
        if index.exact:
            clear = np.flatnonzero(row <= radius - size)
            assert np.isin(clear, mine).all(), f"neighbours within radius={radius} are missing"


def _check_questions(index: Index, Z: SamplesLike) -> None:
    """Check that wrong questions are refused."""
    n = index.n_samples_fit_
    wrong = [(Z, 0), (Z, -1), (Z, n + 1), (None, n), (Z, 1.0), (Z, np.nan)]
    for queries, k in wrong:
        with pytest.raises(ValueError, match=f"k={k}"):
            index.query(queries, k)
    for radius in (-1.0, np.nan):
        with pytest.raises(ValueError, match=f"radius={radius}"):
            index.query_radius(Z, radius)


def _check_some(
    index: Index, Z: SamplesLike, others: np.ndarray, alone: np.ndarray, size: float
) -> None:
    """A mask leaves rows out, and removed rows are gone; the others keep their numbers."""
    n = index.n_samples_fit_
    mask = np.arange(n) % 3 > 0

    def check(asking: np.ndarray, where: np.ndarray | None) -> None:
        for queries, D in ((Z, others), (None, alone[asking])):
            D, most = np.where(mask, D, np.inf), int(mask.sum()) - (queries is None)
            for k in sorted({1, most}):
                _check_nearest(index, *index.query(queries, k, where=where), D, k, size)
            radius = float(np.median(D[np.isfinite(D)])) + 2 * size
            found = index.query_radius(queries, radius, where=where)
            _check_within(index, found, D, radius, size)

    check(np.ones(n, bool), mask)
    for where in (mask[1:], mask.astype(int)):
        with pytest.raises(ValueError, match="where is an array of"):
            index.query(Z, 1, where=where)
    gone = np.flatnonzero(~mask)
    assert index.remove(gone) is index, "remove must return the index"
    check(mask, None)
    assert_array_equal(index.numbers_, np.flatnonzero(mask), "the others keep their numbers")
    with pytest.raises(ValueError, match="was removed before"):
        index.remove(gone)


def _check_files(index: Index, Z: SamplesLike, saved: bool, trusted: tuple) -> None:
    """A file gives an index of the same class, with the same parameters and the same answers."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "saved.index")
        if not saved:
            with pytest.raises(ModelFileError):
                index.save(path)
            return
        index.save(path)
        loaded = type(index).load(path, trusted=trusted)
        assert type(loaded) is type(index)
        assert repr(loaded) == repr(index)
        for queries in (Z, None):
            asked = [(i.query(queries, 1), i.query_radius(queries, 1.0)) for i in (index, loaded)]
            for mine, theirs in zip(*asked):
                for a, b in zip(mine, theirs):
                    assert_array_equal(a, b, "a loaded index must give the very same answers")
        loaded.fit(Z)  # what is read from the file can be replaced
