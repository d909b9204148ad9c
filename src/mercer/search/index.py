"""The common part of all indexes of nearest neighbours.

An index proposes candidates: training rows that may be near to some queries. `Index` does the rest.
It encodes the samples, compares the candidates by tiles on all threads, keeps the nearest ones,
holds the memory within its budget, adds and removes rows, leaves out rows that a question excludes,
and writes and reads files. So a new index is one class with one method, `Index.candidates`;
`BruteForce` (brute.py) is an example.
"""

from __future__ import annotations

import os
from abc import ABC
from collections.abc import Iterable
from copy import copy
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.distances import Distance, safe_unit
from mercer.persistence import fields, length_of, number, optional, whole
from mercer.samples import (
    Samples,
    SamplesLike,
    copies_of,
    is_number,
    is_whole,
    joined,
    row_numbers,
)
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
    if (copies.count, len(copies)) != (len(index._training), index._n_held):
        raise ValueError(f"has {len(copies)} copies of {copies.count} rows, which are others")


def _of_rows_left(index: Any, left: Any) -> None:
    """Whether each row that is held is still there."""
    length_of(lambda index: index._n_held)(index, left)
    if left.dtype != bool or left.sum() != index.n_samples_fit_:
        raise ValueError(f"does not leave {index.n_samples_fit_} rows")


def _as_given(index: Any, given: Any) -> None:
    """How many numbers were given: as many as there are rows, where none was removed."""
    n, removed = index.n_samples_fit_, index._numbers is not None or index._left is not None
    if type(given) is not int or not (given > n if removed else given == n):
        raise ValueError(f"is {str(given)[:40]} beside {n} rows")


@fields(
    _given=_as_given,
    _unit=number(least=2.0**-1000),
    _copies=optional(_of_all_rows),
    _left=optional(_of_rows_left),
    _numbers=optional(whole(lambda index: index._given, length=lambda index: index._n_held)),
)
class Index(BaseEstimator, ABC):
    r"""Abstract: an index of nearest neighbours under a distance.

    .. math:: \{i_1, \ldots, i_k\}: \qquad
              d(z, x_{i_1}) \le \ldots \le d(z, x_{i_k}) \le d(z, x_j) \text{ for all other } j

    This is what an exact index finds for a query z; results have the shape (queries, k).

    A subclass defines `candidates`. It may also override `arrange`, to build what `candidates`
    reads, `insert`, and `arrange_queries`. Its own parameters are arguments of its constructor,
    beside these.

    Parameters
    ----------
    distance : Distance
    memory : int, str or None
        Budget in bytes or as "4GB" for tiles and results; None means half of what is free.
    n_jobs : int or None
        Threads; None means all cores. Results do not depend on it.

    Attributes
    ----------
    distance_ : Distance
        The distance, bound to the training rows.
    n_samples_fit_ : int
        Rows that the index has: those of `fit` and `add`, without those of `remove`.
    numbers_ : ndarray of shape (n,), int64, of n rows
        The number of each row, ascending: that of its place among all rows of `fit` and `add`.

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

    distance_: Distance
    n_samples_fit_: int
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
    #: the number of each row that is held; None: 0, 1, 2 ...
    _numbers: np.ndarray | None = None
    #: which of the rows that are held were not removed; None: all
    _left: np.ndarray | None = None
    #: numbers that were given to rows, and different rows that were arranged at a time
    _given: int
    _arranged: int = 0
    #: the share of removed rows that is held before the others are arranged without them
    _most_gone: float = 0.5
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

    def insert(self, X: Samples) -> bool:
        """Hold more encoded rows, which differ from those that are held, and each other.

        ``_training`` has the rows that are held. What `arrange` built may be replaced, but arrays
        must not be written to: a call that fails or is stopped leaves the index as it was.

        Returns
        -------
        bool
            False, the default: all rows are to be arranged anew.
        """
        return False

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
        new = copy(self)
        new.distance_, new.n_samples_fit_ = distance, X.shape[0]
        new._unit = new._tell_unit(X)
        new._numbers, new._left, new._given = None, None, X.shape[0]
        new._hold(new._measured(X))
        return self._become(new)

    def add(self, X: Any) -> Self:
        """Add rows, whose numbers follow those that were given.

        The distance stays as it was bound: what it learnt from the training sample, such as a
        covariance, does not change.

        Parameters
        ----------
        X : samples
            New samples, as for `fit`. Rows of numbers take the precision of those that are there.

        Notes
        -----
        Graphs, hash tables and trees of vantage points take the new rows in, and are arranged anew
        when their rows have doubled; other indexes are arranged anew, which takes as long as `fit`.
        Arrays are copied: add many rows at a time.

        Examples
        --------
        >>> from mercer.distances import Edit
        >>> from mercer.search import BruteForce
        >>> BruteForce(Edit()).fit(["anna", "otto"]).add(["hanna"]).query(["hannah"], k=1)
        (array([[1.]]), array([[2]]))
        """
        check_is_fitted(self, "distance_")
        check_unchanged(self._mapped)
        X = self._measured(self.distance_.encode(X, like=self._training.X))
        m, new = X.shape[0], copy(self)
        new._extend(X)
        if new._numbers is not None:
            new._numbers = np.append(new._numbers, np.arange(new._given, new._given + m))
        if new._left is not None:
            new._left = np.append(new._left, np.ones(m, bool))
        new._given += m
        new.n_samples_fit_ += m
        return self._become(new)

    def remove(self, rows: ArrayLike) -> Self:
        """Remove rows. The others keep their numbers, and removed numbers are not given again.

        Parameters
        ----------
        rows : array-like of integers
            Their numbers, in any order. At least one row must be left.

        Raises
        ------
        ValueError
            A number is none of `numbers_`, or occurs twice; nothing is removed then.

        Notes
        -----
        The rows are only left out of the answers, until they are more than half of those that are
        held: then the others are arranged without them. `BruteForce` does so at once.

        Examples
        --------
        >>> from mercer.distances import Edit
        >>> from mercer.search import BruteForce
        >>> index = BruteForce(Edit()).fit(["anna", "hanna", "otto"]).remove([1])
        >>> index.query(["hannah"], k=2), index.numbers_
        ((array([[2., 6.]]), array([[0, 2]])), array([0, 2]))
        """
        check_is_fitted(self, "distance_")
        check_unchanged(self._mapped)
        gone = np.atleast_1d(np.asarray(rows))
        if gone.ndim != 1 or (gone.size and gone.dtype.kind not in "iu"):
            raise ValueError(
                f"rows={rows!r}: give the numbers of rows, integers of `numbers_`; np.flatnonzero "
                "makes them of a mask."
            )
        there = np.zeros(self._given, bool)
        there[self.numbers_] = True
        for row in gone.tolist():
            if not 0 <= row < self._given:
                raise ValueError(
                    f"rows has {row}, but the numbers of rows are from 0 to {self._given - 1}."
                )
            if not there[row]:
                raise ValueError(f"rows has {row}, which was removed before, or is named twice.")
            there[row] = False
        if not there.any():
            raise ValueError(
                f"rows has all {self.n_samples_fit_} rows, but an index needs one at least: fit it "
                "to other rows."
            )
        left, new = there if self._numbers is None else there[self._numbers], copy(self)
        new._left, new.n_samples_fit_ = left, int(left.sum())
        if (~left).mean() > self._most_gone and not self.distance_.reads.pairwise:
            numbers = new.numbers_
            new._rearrange(np.flatnonzero(left), None)
            new._numbers, new._left = numbers, None
        return self._become(new)

    def _become(self, new: Self) -> Self:
        """Take what a changed copy holds, in one step: what is stopped before changes nothing."""
        vars(self).update(vars(new))
        return self

    @property
    def numbers_(self) -> np.ndarray:
        """The number of each row, ascending."""
        check_is_fitted(self, "distance_")
        numbers = np.arange(self._n_held) if self._numbers is None else self._numbers
        return numbers if self._left is None else numbers[self._left]

    @property
    def _n_held(self) -> int:
        """How many rows are held, with those that were removed."""
        return self._given if self._numbers is None else len(self._numbers)

    def query(
        self, Z: SamplesLike | None = None, k: int = 5, *, where: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest training rows of each row of Z.

        Parameters
        ----------
        Z : samples, optional
            None: the training rows, in the order of `numbers_`, none of which is its own neighbour.
        k : int >= 1
        where : array-like of bool, optional
            Whether the row of each number may be a neighbour, for all numbers that were given. The
            answer has k neighbours of those that may be.

        Returns
        -------
        distances : ndarray of shape (n, k)
            Ascending in each row.
        indices : ndarray of shape (n, k), int64
            Numbers of rows; equally near rows are in their order. An index that is not
            ``exact`` may find fewer than k: the distance is then infinite and the index -1.

        Raises
        ------
        ValueError
            There are fewer than k neighbours, or the results exceed ``memory``.

        Examples
        --------
        >>> from mercer.distances import Edit
        >>> from mercer.search import BruteForce
        >>> index = BruteForce(Edit()).fit(["anna", "hanna", "otto"])
        >>> index.query(["hannah"], k=2, where=[True, False, True])
        (array([[2., 6.]]), array([[0, 2]]))
        """
        allowed = self._allowed(where)
        search = self._question(Z, allowed)
        many = self.n_samples_fit_ if allowed is None else int(allowed.sum())
        most = many - (Z is None)
        if not (is_whole(k) and 1 <= k <= most):
            rows = "training rows" + (" that where allows" if where is not None else "")
            rows += " beside the row itself" if Z is None else ""
            if most < 1:
                more = "add rows" if where is None else "let where allow some"
                raise ValueError(f"k={k!r}, but there are no {rows}: {more}.")
            raise ValueError(f"k={k!r}: give an integer from 1 to {most}, the number of {rows}.")
        distances, indices = search.nearest(int(k))
        if Z is None and self._left is not None:
            distances, indices = distances[self._left], indices[self._left]
        if self._numbers is not None:
            indices = np.where(indices < 0, -1, self._numbers[indices])
        return (distances if self._unit == 1 else distances / self._unit), indices

    def query_radius(
        self,
        Z: SamplesLike | None = None,
        radius: float = 1.0,
        *,
        where: ArrayLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All training rows within a distance of each row of Z.

        Parameters
        ----------
        Z : samples, optional
            None: the training rows, in the order of `numbers_`, none of which is its own neighbour.
        radius : float >= 0, default=1.0
            A row at this very distance is within it. Infinity finds all rows.
        where : array-like of bool, optional
            The same as in `query`.

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
        search = self._question(Z, self._allowed(where))
        if not (is_number(radius) and radius >= 0):
            raise ValueError(f"radius={radius!r}: give a number >= 0.")
        try:
            limit = float(radius)
        except OverflowError:  # an integer of hundreds of digits
            limit = np.inf
        distances, indices, starts = search.within(limit * self._unit)
        if Z is None and self._left is not None:
            counts = np.diff(starts)
            kept = np.repeat(self._left, counts)
            distances, indices = distances[kept], indices[kept]
            starts = np.concatenate(([0], np.cumsum(counts[self._left])))
        if self._numbers is not None:
            indices = self._numbers[indices]
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

    def _allowed(self, where: ArrayLike | None) -> np.ndarray | None:
        """Which of the rows that are held may be neighbours; None: all."""
        check_is_fitted(self, "distance_")
        if where is None:
            return self._left
        mask = np.asarray(where)
        if mask.dtype != bool or mask.shape != (self._given,):
            raise ValueError(
                f"where is an array of {mask.dtype} of shape {mask.shape}: give one of bool of "
                f"shape ({self._given},), which says of each number of a row whether it may be a "
                "neighbour; np.isin(np.arange(n), numbers) makes it of numbers."
            )
        if self._numbers is not None:
            mask = mask[self._numbers]
        allowed = mask if self._left is None else mask & self._left
        return None if allowed.all() else allowed

    def _question(self, Z: SamplesLike | None, allowed: np.ndarray | None) -> Asked:
        """A question to this index by raw samples, or by its training rows."""
        check_unchanged(self._mapped)
        asking = None
        if Z is not None:
            asking = self._measured(self.distance_.encode(Z, like=self._training.X))
        copies = self._copies
        if copies is None:
            return self._ask(asking, allowed)
        own = copies if asking is None else None
        asking = self._held() if asking is None else asking
        if allowed is None:
            return CopiedSearch(self._ask(asking), copies, own, self.memory)
        some, places = copies.only(allowed)
        index = copy(self)  # of equally near rows the one whose first copy is left comes first
        index._training = copy(self._training)
        index._training.order = places[self._training.order]
        asked = index._ask(asking, np.diff(some.starts) > 0)
        return CopiedSearch(asked, some, own, self.memory)

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
        copies = copies_of(X) if once else None
        self._copies = None if copies is None else Copies(copies)
        X = X if self._copies is None else X[self._copies.firsts]
        self._training, self._arranged = OrderedRows(X, self.arrange(X)), X.shape[0]
        self._training.prepare(exact_tiles(self.distance_, X))

    def _extend(self, X: Samples) -> None:
        """Hold more encoded rows."""
        held, n = self._held(), len(self._training)
        if n + X.shape[0] <= 2 * self._arranged:
            both = joined(held, X)
            if self._copies is None:
                few = not self.holds_copies_once or copies_of(both) is None
                if few and self.insert(X):
                    return
            else:  # rows that are there are equal to those of their own number
                more = row_numbers(both)[n:]
                numbers, first = np.unique(more, return_index=True)
                new = np.sort(first[numbers >= n])
                if not len(new) or self.insert(X[new]):
                    self._copies = Copies(np.append(self._copies.numbers, more))
                    return
        self._rearrange(None, X)

    def _rearrange(self, kept: np.ndarray | None, more: Samples | None) -> None:
        """Arrange some of the rows that are held (None: all) and more encoded ones anew."""
        held = self._held()
        held = held if self._copies is None else held[self._copies.numbers]
        held = held if kept is None else held[kept]
        self._hold(held if more is None else joined(held, more))

    def _held(self) -> Any:
        """The different rows that are held, in the order in which they came."""
        return self._training.X[np.argsort(self._training.order)]

    def _ask(self, Z: Samples | None, allowed: np.ndarray | None = None) -> Asked:
        """A question by encoded samples; None: by the training rows. ``allowed`` says of each row
        that is held, in the order in which it came, whether it may be a neighbour."""
        training = self._training
        if Z is None:
            return Search(self, training, training, allowed)
        return Search(self, OrderedRows(Z, self.arrange_queries(Z)), training, allowed)
