"""The common part of all indexes of nearest neighbours.

An index proposes candidates: training rows that may be near to some queries. `Index` does the rest.
It encodes the samples, compares the candidates by tiles on all threads, keeps the nearest ones,
holds the memory within its budget, and writes and reads files. So a new index is one class with one
method, `Index.candidates`; `BruteForce` (brute.py) is an example.
"""

from __future__ import annotations

import os
from abc import ABC
from collections.abc import Iterable
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.distances import Distance, safe_unit
from mercer.persistence import fields, number, optional
from mercer.samples import Samples, SamplesLike, copies_of, is_number, is_whole, joined
from mercer.search.compare import Search
from mercer.search.files import check_unchanged, load_index, save_index
from mercer.search.rows import CopiedSearch, Copies, OrderedRows, Selection
from mercer.search.vectors import exact_tiles


class Asked(Protocol):
    """A question to an index by some queries."""

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest rows of each query: distances and numbers."""
        ...

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows within a radius: distances, numbers, and where those of each query start."""
        ...


def _of_all_rows(index: Any, copies: Any) -> None:
    """Copies of the rows that an index holds."""
    if (copies.count, len(copies)) != (len(index._training), index.n_samples_fit_):
        raise ValueError(f"has {len(copies)} copies of {copies.count} rows, which are others")


@fields(_unit=number(least=2.0**-1000), _copies=optional(_of_all_rows))
class Index(BaseEstimator, ABC):
    """Abstract: an index of nearest neighbours under a distance.

    A subclass defines `candidates`. It may also override `arrange`, to build what `candidates`
    reads, and `arrange_queries`. Its own parameters are arguments of its constructor, beside these.

    Parameters
    ----------
    distance : Distance
    memory : int, str or None
        Budget in bytes or as "4GB" for tiles and results; None means half of what is free.
    n_jobs : int or None
        Threads; None means all cores.

    Attributes
    ----------
    distance_ : Distance
        The distance, bound to the training rows.
    n_samples_fit_ : int

    See Also
    --------
    mercer.testing.check_index : Holds an index against the full matrix of distances.

    Notes
    -----
    The index holds the encoded training rows, and what the distance computes once for each of
    them.

    Examples
    --------
    An index of numbers that compares a query with the numbers of its own sign only.

    >>> import numpy as np
    >>> from mercer.distances import Minkowski
    >>> class SameSign(Index):
    ...     exact = False
    ...     def arrange(self, X):
    ...         self.negative_ = np.flatnonzero(X[:, 0] < 0)
    ...         self.positive_ = np.flatnonzero(X[:, 0] >= 0)
    ...     def candidates(self, Z, limits):
    ...         yield np.flatnonzero(Z[:, 0] < 0), self.negative_
    ...         yield np.flatnonzero(Z[:, 0] >= 0), self.positive_
    >>> index = SameSign(Minkowski()).fit([[-2.0], [1.0], [-1.0], [5.0]])
    >>> index.query([[0.0], [-3.0]], k=2)
    (array([[1., 5.], [1., 2.]]), array([[1, 3], [0, 2]]))
    """

    #: every row within the limits is a candidate, so that results equal those of brute force
    exact: bool = True
    #: the limits do not change the sequence of candidates, except that they may end it: several
    #: threads may then share the candidates of few queries
    divisible: bool = False
    #: one of equal rows is arranged, where many are equal; the others are found where it is
    holds_copies_once: bool = False
    #: rows are multiplied by this power of two, and distances are divided by it
    _unit: float = 1.0
    #: what equal rows are, of which one is held; None where few are equal
    _copies: Copies | None = None
    #: the file in which large arrays have stayed, and its stamp
    _mapped: tuple[str, list[int]] | None = None

    def __init__(
        self, distance: Distance, memory: int | float | str | None = None, n_jobs: int | None = None
    ):
        self.distance = distance
        self.memory = memory
        self.n_jobs = n_jobs

    # --- what an index defines -------------------------------------------------------------------

    def candidates(self, Z: Samples, limits: np.ndarray) -> Iterable[tuple[Selection, Selection]]:
        """Which training rows to compare with which queries.

        Parameters
        ----------
        Z : encoded samples, n of them
            Some of the queries, in the order of `arrange_queries`; or training rows that follow
            each other, in the order of `arrange`.
        limits : ndarray of shape (n,)
            The distance beyond which a neighbour of each query is of no use. Read it again between
            two results: it shrinks while neighbours are found. Do not write to it.

        Yields
        ------
        rows : slice or ndarray of integers
            Rows of Z, without repetition.
        columns : slice or ndarray of integers
            Training rows, numbered in the order of `arrange`. No pair of a row and a column may
            come twice.
        """
        raise NotImplementedError(
            f"{type(self).__name__} proposes no candidates: define its method candidates."
        )

    def arrange(self, X: Samples) -> np.ndarray | None:
        """Build what `candidates` reads of the encoded training rows X; called once by `fit`.

        The distance is ``self.distance_``. What is built becomes attributes that are arrays,
        numbers, texts, or lists and dicts of them, so that `save` can write it.

        Returns
        -------
        order : ndarray of shape (n,), integers, or None
            The order in which the rows are held. Rows that are candidates together should follow
            each other. None: the order of X.
        """
        return None

    def arrange_queries(self, Z: Samples) -> np.ndarray | None:
        """The order in which queries are searched for, so that those with the same candidates
        follow each other; None: the order of Z."""
        return None

    # --- what all indexes do ---------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Encode the rows of X, bind the distance to them, and arrange them; y is not used."""
        if not isinstance(self.distance, Distance):
            raise TypeError(
                f"distance={self.distance!r}: give a distance of mercer.distances, such as "
                "Minkowski(2) or Edit()."
            )
        self.distance.validate()
        X = self.distance.encode(X)
        return self.fit_bound(X, self.distance.bind(X, y))

    def fit_bound(self, X: Samples, distance: Distance) -> Self:
        """Arrange encoded rows to which the distance is bound, so that nothing is checked again."""
        self.distance_, self.n_samples_fit_ = distance, X.shape[0]
        self._unit, self._copies = self._tell_unit(X), None
        self._hold(self._measured(X))
        return self

    def append(self, X: Any) -> Self:
        """Add rows, whose numbers follow those that are there.

        The distance stays as it was bound: what it learnt from the training sample, such as a
        covariance, does not change.

        Parameters
        ----------
        X : samples
            New samples, as for `fit`. Rows of numbers take the precision of those that are there.

        Notes
        -----
        The index is arranged anew, which takes as long as `fit`: append many rows at a time.

        Examples
        --------
        >>> from mercer.distances import Edit
        >>> from mercer.search import BruteForce
        >>> BruteForce(Edit()).fit(["anna", "otto"]).append(["hanna"]).query(["hannah"], k=1)
        (array([[1.]]), array([[2]]))
        """
        check_is_fitted(self, "distance_")
        check_unchanged(self._mapped)
        X = self.distance_.encode(X, like=self._training.X)
        self._extend(self._measured(X))
        self.n_samples_fit_ += X.shape[0]
        return self

    def query(self, Z: SamplesLike | None = None, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest training rows of each row of Z.

        Parameters
        ----------
        Z : samples, optional
            None: the training rows, none of which is its own neighbour.
        k : int >= 1

        Returns
        -------
        distances : ndarray of shape (n, k)
            Ascending in each row.
        indices : ndarray of shape (n, k), int64
            Equally near rows are in the order of their index. An index that is not
            ``exact`` may find fewer than k: the distance is then infinite and the index -1.

        Raises
        ------
        ValueError
            There are fewer than k neighbours, or the results exceed ``memory``.
        """
        search = self._question(Z)
        most = self.n_samples_fit_ - (Z is None)
        if not (is_whole(k) and 1 <= k <= most):
            raise ValueError(
                f"k={k!r}: give an integer from 1 to {most}, the number of training rows"
                + (" beside the row itself." if Z is None else ".")
            )
        distances, indices = search.nearest(int(k))
        return (distances if self._unit == 1 else distances / self._unit), indices

    def query_radius(
        self, Z: SamplesLike | None = None, radius: float = 1.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All training rows within a distance of each row of Z.

        Parameters
        ----------
        Z : samples, optional
            None: the training rows, none of which is its own neighbour.
        radius : float >= 0, default=1.0
            A row at this very distance is within it. Infinity finds all rows.

        Returns
        -------
        distances : ndarray of shape (total,)
        indices : ndarray of shape (total,), int64
            Row i of Z has the neighbours ``indices[starts[i] : starts[i + 1]]``, ascending.
        starts : ndarray of shape (n + 1,), int64

        Raises
        ------
        ValueError
            The radius is not a number or is negative, or the results exceed ``memory``.
        """
        search = self._question(Z)
        if not (is_number(radius) and radius >= 0):
            raise ValueError(f"radius={radius!r}: give a number >= 0.")
        try:
            limit = float(radius)
        except OverflowError:  # an integer of hundreds of digits
            limit = np.inf
        distances, indices, starts = search.within(limit * self._unit)
        return (distances if self._unit == 1 else distances / self._unit), indices, starts

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted index to one file, whole or not at all.

        Parameters
        ----------
        path : str or path
            The file, usually ``*.index``. An existing file is replaced, at the end and in one step.

        Raises
        ------
        mercer.persistence.ModelFileError
            The index holds something that could not be loaded without running code, such as
            samples that are Python objects; the message names it.
        OSError
            The file cannot be written (full disk, no permission); an existing file is unchanged.

        Examples
        --------
        >>> import os, tempfile
        >>> from mercer.distances import Edit
        >>> from mercer.search import BruteForce
        >>> index = BruteForce(Edit()).fit(["anna", "hanna", "otto"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "names.index")
        ...     index.save(path)
        ...     BruteForce.load(path).query(["ann"], k=1)
        (array([[1.]]), array([[0]]))
        """
        check_is_fitted(self, "distance_")
        check_unchanged(self._mapped)
        save_index(path, self)

    @classmethod
    def load(
        cls, path: str | os.PathLike, *, trusted: Iterable[str | type] = (), check: bool = True
    ) -> Self:
        """Read an index that `save` wrote. No code from the file runs.

        Large arrays stay in the file: the system reads the pages that a query needs, so that an
        index may be larger than memory. A new file may replace this one, or it may be removed,
        while the index is used. If somebody writes to it in place, the next query is a
        ModelFileError; but one that makes it shorter during a query may end the process.

        Parameters
        ----------
        path : str or path
        trusted : iterable of classes or of their names, default=()
            Classes from outside this library that the index holds, such as a distance of your own.
        check : bool, default=True
            Whether to read all large arrays once and compare their checksums, which takes about a
            second for a gigabyte. Without it, whole numbers are read all the same, to see that
            they are within their range; other numbers that are damaged change the answers.

        Returns
        -------
        index : of the class that was saved
            It must be the class that ``load`` is called on, or a subclass that is imported.

        Raises
        ------
        FileNotFoundError
            There is no such file.
        mercer.persistence.ModelFileError
            The file is truncated, altered, holds no index or one of another class, was written by
            a newer version, or names types that are neither known nor trusted.
        """
        return load_index(path, cls, trusted, check)

    def _question(self, Z: SamplesLike | None) -> Asked:
        """A question to this index by raw samples, or by its training rows."""
        check_is_fitted(self, "distance_")
        check_unchanged(self._mapped)
        asking = None
        if Z is not None:
            asking = self._measured(self.distance_.encode(Z, like=self._training.X))
        if self._copies is None:
            return self._ask(asking)
        asked = self._ask(self._held() if asking is None else asking)
        return CopiedSearch(asked, self._copies, asking is None, self.memory)

    def _tell_unit(self, X: SamplesLike) -> float:
        """The factor by which rows are scaled if powers of a norm would leave floats; mostly 1."""
        power = self.distance_.exponent
        if not self.exact or not isinstance(X, (np.ndarray, sp.csr_array)):
            return 1.0
        unit = safe_unit(X, power)
        if unit == 1:
            return 1.0
        norm = self.distance_.norm
        return unit if norm is not None and norm.p == power else 1.0

    def _measured(self, X: Any) -> Any:
        """Encoded rows in the unit of the index."""
        return X if self._unit == 1 else X * self._unit

    # An index that holds its rows in a way of its own overrides these, and proposes nothing.

    def _hold(self, X: Samples) -> None:
        """Arrange encoded training rows. ``_training.X`` has their columns and symbols."""
        once = self.holds_copies_once and not self.distance_.reads.pairwise
        before, copies = self._copies, copies_of(X) if once else None
        self._copies = None if copies is None else Copies(copies)
        X = X if self._copies is None else X[self._copies.firsts]
        try:
            order = self.arrange(X)
        except BaseException:  # the rows that are held are still the former ones
            self._copies = before
            raise
        self._training = OrderedRows(X, order)
        self._training.prepare(exact_tiles(self.distance_, X))

    def _extend(self, X: Samples) -> None:
        """Hold more encoded rows."""
        held = self._held()
        self._hold(joined(held if self._copies is None else held[self._copies.numbers], X))

    def _held(self) -> Any:
        """The rows that are held, in the order in which they came."""
        return self._training.X[np.argsort(self._training.order)]

    def _ask(self, Z: Samples | None) -> Asked:
        """A question by encoded samples; None: by the training rows."""
        training = self._training
        if Z is None:
            return Search(self, training, training)
        return Search(self, OrderedRows(Z, self.arrange_queries(Z)), training)
