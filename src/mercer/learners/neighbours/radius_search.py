"""Who is within a radius of a sample: the questions of learners that have a ``radius``."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mercer.learners.neighbours.neighbour_learner import NeighboursLearner, check_mode
from mercer.samples import is_number


class RadiusSearch(NeighboursLearner):
    """Abstract: a learner that also has ``radius``."""

    radius: Any

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
        indices = self.given_rows(indices)
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
