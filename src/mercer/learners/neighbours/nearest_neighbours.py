"""The nearest neighbours of samples of any kind, with the interface of scikit-learn."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

from mercer.estimator import estimator
from mercer.learners.base import check_count, finite_fit
from mercer.learners.neighbours.neighbour_learner import CountSearch, RadiusSearch, check_radius
from mercer.threads import fitting


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

    Attributes
    ----------
    algorithm_ : str
        Name of the search algorithm.
    distance_ : Distance
        The distance, bound to the training samples.
    effective_metric_ : str or object
        The same as in scikit-learn.
    effective_metric_params_ : dict
    n_samples_fit_ : int
    X_fit_ : encoded samples
    index_ : Index
        The index that is searched. ``index_.save(path)`` writes it for `mercer.search.Index.load`.

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

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Build the index of samples X; y is not used."""
        check_count("n_neighbors", self.n_neighbors)
        if self.radius is not None:
            check_radius(self.radius)
        training = self.make_training(X, targets=False)
        self.keep_index(training, *self.make_index(training))
        return self
