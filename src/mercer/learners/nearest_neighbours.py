"""The nearest neighbours of samples of any kind, with the interface of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mercer.learners.finite import finite_fit
from mercer.learners.neighbours_base import NeighboursLearner, check_mode
from mercer.learners.parameters import check_count
from mercer.samples import is_number
from mercer.threads import fitting

__all__ = ["NearestNeighbors"]


class NearestNeighbors(NeighboursLearner):
    """Search for the nearest training rows of new samples, or of the training rows themselves.

    Parameters
    ----------
    n_neighbors : int >= 1, default=5
        Neighbours of a query of `kneighbors`.
    radius : float >= 0, default=1.0
        Radius of a query of `radius_neighbors`; a row at this very distance is within it.
    algorithm : {"auto", "brute", ...} or Index, default="auto"
        How to search, a name of ``mercer.search.ALGORITHMS``; "auto" takes what is likely to be
        the fastest, and scikit-learn's "ball_tree" the tree that the distance suits. An index that
        is not exact may find fewer neighbours (`mercer.search.Index`).
    leaf_size : int >= 1, optional
        Rows of a leaf of "metric_tree", which changes no result. The other indexes have leaves of
        their own size.
    metric : distance object, kernel, name or callable, default="minkowski"
        A distance of `mercer.distances`, on samples of its kind; a kernel, for the distance in its
        feature space; scikit-learn's "minkowski", "euclidean", "manhattan", "chebyshev", "cosine",
        "jaccard", "hamming", "mahalanobis" and others; "precomputed"; or a symmetric function of
        two samples.
    p : float >= 0, default=2
        Of "minkowski": 1 is "manhattan", 2 "euclidean".
    metric_params : dict, optional
        Further arguments of a named metric (w, V, VI) or of a function.
    memory : int, str or None
        Budget in bytes or as "4GB" for tiles and results; None means half of what is free.
    n_jobs : int or None
        Threads; None means all cores.

    Attributes
    ----------
    algorithm_ : str
        How it searches.
    distance_ : Distance
        Bound to the training samples.
    effective_metric_ : str or object
        As in scikit-learn.
    effective_metric_params_ : dict
    n_samples_fit_ : int
    X_fit_ : encoded samples
    index_ : Index
        What searches. ``index_.save(path)`` writes it for `mercer.search.Index.load`.

    Notes
    -----
    Neighbours and ties are those of scikit-learn, with one rule: of equally near rows the one of
    smaller index comes first. With "precomputed" distances X may be a sparse matrix of known
    neighbours, as `kneighbors_graph` makes it with ``mode="distance"``. Results do not depend on
    ``memory`` and ``n_jobs``.

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

    def __init__(
        self,
        *,
        n_neighbors: Any = 5,
        radius: float = 1.0,
        algorithm: Any = "auto",
        leaf_size: int | None = None,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params=None,
        memory=None,
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.memory = memory
        self.n_jobs = n_jobs

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Build the index of samples X; y is not used."""
        check_count("n_neighbors", self.n_neighbors, optional=False)
        check_radius(self.radius)
        training = self.make_training(X, targets=False)
        self.keep_index(training, *self.make_index(training))
        return self

    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """All training rows within a distance of each row of X.

        Parameters
        ----------
        X : samples, optional
            None: the training rows, none of which is its own neighbour.
        radius : float >= 0, optional
            None: as the learner has it.
        return_distance : bool, default=True
        sort_results : bool, default=False
            In the order of the distances; otherwise of the indices.

        Returns
        -------
        distances : ndarray of shape (n,) of arrays
            Only with ``return_distance``.
        indices : ndarray of shape (n,) of arrays

        Raises
        ------
        ValueError
            The radius is no number >= 0, or the results exceed ``memory``.
        """
        if sort_results and not return_distance:
            raise ValueError(
                "sort_results=True, but the order is that of distances: give return_distance must "
                "be True as well."
            )
        distances, indices, starts = self._within(X, radius, sort_results)
        split = _arrays(indices, starts)
        return (_arrays(distances, starts), split) if return_distance else split

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> sp.csr_array:
        """The graph of the rows within a distance as sparse rows, one column for each training row.

        Parameters
        ----------
        X : samples, optional
            None: the training rows, none of which is its own neighbour.
        radius : float >= 0, optional
            None: as the learner has it.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether an edge is 1 or the distance.
        sort_results : bool, default=False
            The entries of a row in the order of the distances; otherwise of the indices.
        """
        check_mode(mode)
        distances, indices, starts = self._within(X, radius, sort_results)
        values = distances if mode == "distance" else np.ones(len(indices))
        return sp.csr_array((values, indices, starts), shape=(len(starts) - 1, self.n_samples_fit_))

    def _within(
        self, X: Any, radius: Any, by_distance: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        check_is_fitted(self)
        radius = self.radius if radius is None else radius
        check_radius(radius)
        Z = None if X is None else self.encode_new(X)
        distances, indices, starts = self.index_.query_radius(Z, radius)
        if by_distance:
            queries = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            order = np.lexsort((indices, distances, queries))
            distances, indices = distances[order], indices[order]
        return distances, indices, starts


def check_radius(radius: Any) -> None:
    """Raise an error if it is not a number >= 0."""
    if not (is_number(radius) and radius >= 0):
        raise ValueError(f"radius={radius!r}: give a number >= 0.")


def _arrays(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """One array for each query, as an array of objects."""
    parts = np.empty(len(starts) - 1, dtype=object)
    parts[:] = np.split(values, starts[1:-1])
    return parts
