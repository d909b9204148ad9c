"""What all learners on neighbours share: the metric, the samples, the index and its questions.

`NeighboursLearner` builds an index of `mercer.search` and asks it, `CountSearch` answers who the k
nearest are, and `RadiusSearch` who is within a radius. The distance and the samples are the part of
`DistanceLearner`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, field
from typing import Any, NoReturn, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import (
    DistanceLearner,
    Training,
    check_count,
    effective_metric,
    finite_fit,
)
from mercer.samples import Samples, SamplesLike, is_number, largest_column
from mercer.search import Index, NeighbourGraph

PAIR = 96  # bytes that a neighbour of a query takes, with what is computed of it
QUERIES, PAIRS = 256, 2**22  # fewest queries at a time, and about how many neighbours at a time


@estimator
class NeighboursLearner(DistanceLearner):
    """Abstract: a learner that searches with an index; its ``fit`` calls `make_training`,
    `make_index` and, at the end, `keep_index`.

    Parameters
    ----------
    leaf_size : int >= 1, optional
        Rows of a leaf of "metric_tree", which changes no result. The other indexes have leaves of
        their own size.

    Attributes
    ----------
    algorithm_ : str
        Name of the search algorithm.
    effective_metric_ : str or object
        The same as in scikit-learn.
    effective_metric_params_ : dict
    n_samples_fit_ : int
    X_fit_ : encoded samples
    index_ : Index
        The index that is searched. ``index_.save(path)`` writes it for `mercer.search.Index.load`.
        Add and remove rows of ``copy.copy(index_)``: the learner knows no targets of new rows.
    """

    _: KW_ONLY
    p: float = 2
    leaf_size: int | None = None

    fitted_by = "index_"
    index_: Index = field(init=False)

    def keep_index(self, training: Training, index: Index, algorithm: str) -> None:
        """Keep what neighbours are searched with: the learner is fitted now."""
        self.effective_metric_, self.effective_metric_params_ = effective_metric(
            self.metric, self.p, self.metric_params
        )
        self.n_samples_fit_ = training.shape[0]
        self.algorithm_ = algorithm
        self._rows = None if len(training.rows) == training.shape[0] else training.rows
        self.keep_samples(training.X)
        self.index_ = index

    # --- questions ------------------------------------------------------------------------------

    def nearest(self, Z: Samples | None, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and numbers of the k nearest rows of the index, for encoded samples or None."""
        return self.ask(self.index_, self.X_fit_, Z, k)

    def ask(
        self, index: Index, X: Samples, Z: Samples | None, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same of an index of rows X that is not kept yet.

        Raises
        ------
        MemoryError
            Z is None, and ``memory`` does not hold k neighbours of all rows.
        ValueError
            A distance is not finite.
        """
        n = X.shape[0]
        needed = PAIR * n * k
        if Z is None and not self.place.holds(needed):
            self.place.refuse(needed, f"{k} neighbours of all {n:,} rows", ", or fewer neighbours")
        distances, indices = index.query(Z, k)
        if not np.isfinite(distances[indices >= 0]).all():
            self._refuse_infinite(X, Z)
        return distances, indices

    def _refuse_infinite(self, X: Samples, Z: Any) -> NoReturn:
        """Raise an error that says why a distance is not finite."""
        message = "a distance is not finite"
        if self.distance_.reads_missing:
            raise ValueError(
                f"{message}: there are too few rows that have a known column in common. Ask for "
                "fewer neighbours, or fill missing numbers in."
            )
        if not self.distance_.reads.coordinates:
            raise ValueError(f"{message}: check what {self.distance_!r} returns for these samples.")
        norm = self.distance_.norm
        if norm is not None and norm.p < 1:
            raise ValueError(
                f"{message}: sums to the power 1 / p are beyond floats for p={norm.p:g}. Give a "
                "larger p, or p=0 for the number of columns that differ."
            )
        j, size = max(
            (largest_column(side) for side in (X, Z) if side is not None), key=lambda side: side[1]
        )
        raise ValueError(
            f"{message}: column {j} of X reaches {size:.3g}; divide it by its largest value "
            "(sklearn.preprocessing.MaxAbsScaler does it for all columns)."
        )

    def own_neighbours(
        self, X: object, rows: Samples, k: int, least: int | None = None
    ) -> tuple[Index, str, np.ndarray, np.ndarray]:
        """An index of encoded rows, its name, and the k nearest of all rows.

        Where X is a graph of these rows that holds k neighbours of each, or as many as ``least``,
        nothing is searched for.
        """
        if isinstance(X, NeighbourGraph) and X.X_fit_ is rows:
            index, algorithm = X.index_, X.algorithm_
            if (k if least is None else least) <= X.n_neighbors_:
                return index, algorithm, X.distances_[:, :k].copy(), X.indices_[:, :k].copy()
        else:
            index, algorithm = self.make_index(rows)
        return index, algorithm, *self.ask(index, rows, None, k)

    def strips(self, n: int, k: int) -> Iterator[slice]:
        """Parts of n queries that are so small that k neighbours of each query fit ``memory``."""
        wanted = min(max(QUERIES, PAIRS // k), n)
        step = max(1, min(wanted, self.place.budget(PAIR * k * wanted) // (PAIR * k)))
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))

    def check_enough(self, k: int, Z: Samples | None) -> None:
        """Raise ValueError if k neighbours are more than there are rows."""
        n = self.X_fit_.shape[0]
        if k > n - (Z is None):
            sign = "<" if Z is None else "<="
            raise ValueError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, n_samples_fit ="
                f" {n}, n_samples = {(n if Z is None else Z.shape[0])}: give fewer neighbours, or "
                "more training samples."
            )

    def queries(self, X: SamplesLike) -> Any:
        """New samples, encoded; or None for the training rows."""
        if X is not None:
            return self.encode_new(X)
        if self._rows is not None:
            raise ValueError(
                "X=None means the training rows, but some of them have weight 0 and were left out: "
                "give X."
            )
        return None

    def given_rows(self, indices: np.ndarray) -> np.ndarray:
        """Row numbers in the data that the user gave, in the shape of ``indices``; -1 stays -1."""
        if self._rows is None:
            return indices
        return np.where(indices >= 0, self._rows[indices], -1)


class CountSearch(NeighboursLearner):
    """Abstract: a learner that also has ``n_neighbors``, and answers who the nearest rows are."""

    n_neighbors: Any

    def kneighbors(
        self,
        X: SamplesLike | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> Any:
        """The nearest training rows of each row of X.

        Parameters
        ----------
        X : samples, optional
            None means the training rows; no row is its own neighbour.
        n_neighbors : int, optional
            None: as the learner has it.
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of shape (n, k)
            Ascending in each row; only with ``return_distance``.
        indices : ndarray of shape (n, k)
            If several rows are equally near, the one with the smallest index comes first.

        Raises
        ------
        ValueError
            There are fewer than ``n_neighbors`` training rows, not counting the row itself.
        """
        check_is_fitted(self)
        Z = None if X is None else self.encode_new(X)
        k = self._wanted(n_neighbors)
        self.check_enough(k, Z)
        distances, indices = self.nearest(Z, k)
        indices = self.given_rows(indices)
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(
        self,
        X: SamplesLike | None = None,
        n_neighbors: int | None = None,
        mode: str = "connectivity",
    ) -> sp.csr_array:
        """The graph of neighbours as sparse rows, one column for each training row.

        Parameters
        ----------
        X : samples, optional
            None means the training rows; no row is its own neighbour.
        n_neighbors : int, optional
            None: as the learner has it.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether an edge is 1 or the distance.
        """
        check_mode(mode)
        distances, indices = self.kneighbors(X, n_neighbors)
        i, j = np.nonzero(indices >= 0)  # an index that is not exact may find fewer
        values = distances[i, j] if mode == "distance" else np.ones(len(i))
        starts = np.concatenate(([0], np.cumsum((indices >= 0).sum(axis=1))))
        shape = len(indices), self.n_samples_fit_
        return sp.csr_array((values, indices[i, j], starts), shape=shape)

    def _wanted(self, n_neighbors: int | None) -> int:
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        k = getattr(self, "n_neighbors_", k) if n_neighbors is None else k
        check_count("n_neighbors", k, optional=False)
        return int(k)


class RadiusSearch(NeighboursLearner):
    """Abstract: a learner that also has ``radius``."""

    radius: Any

    def radius_neighbors(
        self,
        X: SamplesLike | None = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """All training rows within a distance of each row of X.

        Parameters
        ----------
        X : samples, optional
            None means the training rows; no row is its own neighbour.
        radius : float >= 0, optional
            None: as the learner has it.
        return_distance : bool, default=True
        sort_results : bool, default=False
            Sort the rows by distance; otherwise they are sorted by index.

        Returns
        -------
        distances : ndarray of shape (n,) of arrays
            Only with ``return_distance``.
        indices : ndarray of shape (n,) of arrays

        Raises
        ------
        ValueError
            The radius is not a number >= 0, or the results exceed ``memory``.
        """
        if sort_results and not return_distance:
            raise ValueError(
                "sort_results=True sorts by distance, so return_distance must be True as well."
            )
        distances, indices, starts = self._within(X, radius, sort_results)
        split = _arrays(indices, starts)
        return (_arrays(distances, starts), split) if return_distance else split

    def radius_neighbors_graph(
        self,
        X: SamplesLike | None = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> sp.csr_array:
        """The graph of the rows within a distance as sparse rows, one column for each training row.

        Parameters
        ----------
        X : samples, optional
            None means the training rows; no row is its own neighbour.
        radius : float >= 0, optional
            None: as the learner has it.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether an edge is 1 or the distance.
        sort_results : bool, default=False
            Sort the entries of a row by distance; otherwise they are sorted by index.
        """
        check_mode(mode)
        distances, indices, starts = self._within(X, radius, sort_results)
        values = distances if mode == "distance" else np.ones(len(indices))
        return sp.csr_array((values, indices, starts), shape=(len(starts) - 1, self.n_samples_fit_))

    def _within(
        self, X: Any, radius: Any, by_distance: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows within a radius of each query."""
        check_is_fitted(self)
        radius = self.radius if radius is None else radius
        check_radius(radius)
        Z = None if X is None else self.encode_new(X)
        distances, indices, starts = self.index_.query_radius(Z, radius)
        indices = self.given_rows(indices)
        if by_distance:
            queries = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            order = np.lexsort((indices, distances, queries))
            distances, indices = distances[order], indices[order]
        return distances, indices, starts


def check_mode(mode: str) -> None:
    """Raise an error if edges of this kind are unknown."""
    if mode not in ("connectivity", "distance"):
        raise ValueError(f'mode={mode!r}: give one of "connectivity" or "distance".')


def check_radius(radius: Any) -> None:
    """Raise an error if it is not a number >= 0."""
    if not (is_number(radius) and radius >= 0):
        raise ValueError(f"radius={radius!r}: give a number >= 0.")


def _arrays(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """One array for each query, as an array of objects."""
    parts = np.empty(len(starts) - 1, dtype=object)
    parts[:] = np.split(values, starts[1:-1])
    return parts


@estimator
class NearestNeighbors(CountSearch, RadiusSearch):
    """Search for the nearest training rows of new samples, or of the training rows themselves.

    Parameters
    ----------
    n_neighbors : int >= 1 or None, default=5
        Neighbours of a query of `kneighbors`; None means that each question names its own.
    radius : float >= 0 or None, default=1.0
        Radius of a query of `radius_neighbors`; rows at exactly this distance are included. None
        means that each question names its own.

    Notes
    -----
    Neighbours and ties are those of scikit-learn, with one rule: if rows are equally near, the
    one with the smallest index comes first. With "precomputed" distances X may be a sparse matrix
    of known neighbours, as `kneighbors_graph` makes it with ``mode="distance"``. Results do not
    depend on ``memory`` and ``n_jobs``.

    Examples
    --------
    >>> from mercer import NearestNeighbors
    >>> from mercer.distances import Edit
    >>> model = NearestNeighbors(n_neighbors=2, metric=Edit()).fit(["anna", "hanna", "otto"])
    >>> model.kneighbors(["hannah"])
    (array([[1., 2.]]), array([[1, 0]]))
    >>> model.kneighbors_graph(n_neighbors=1).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [1., 0., 0.]])
    """

    _: KW_ONLY
    n_neighbors: Any = 5
    radius: float | None = 1.0

    @finite_fit
    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Build the index of samples X; y is not used."""
        check_count("n_neighbors", self.n_neighbors)
        if self.radius is not None:
            check_radius(self.radius)
        training = self.make_training(X, targets=False)
        self.keep_index(training, *self.make_index(training.X))
        return self
