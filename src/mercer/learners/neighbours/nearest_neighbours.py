"""The nearest neighbours of samples of any kind, with the interface of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

from mercer.learners.base import check_count, finite_fit
from mercer.learners.neighbours.neighbour_learner import CountSearch
from mercer.learners.neighbours.radius_search import RadiusSearch, check_radius
from mercer.threads import fitting

__all__ = ["NearestNeighbors"]


class NearestNeighbors(CountSearch, RadiusSearch):
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
        feature space; a name of scikit-learn's: "minkowski", "euclidean", "sqeuclidean",
        "seuclidean", "manhattan", "chebyshev", "mahalanobis", "cosine", "correlation", "canberra",
        "braycurtis", "haversine", "nan_euclidean" (numbers may be missing), "hamming", and of 0 and
        1 "jaccard", "dice", "rogerstanimoto", "sokalmichener", "sokalsneath", "russellrao", "yule";
        "precomputed"; or a symmetric function of two samples.
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
