"""What a learnt neighbourhood says of new rows: z, their neighbours, means, shares and reasons.

A mean is over all training rows, or over those that an index finds to be the nearest in z. Indexes
are built when they are first used, and are in no file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.distances import Minkowski
from mercer.estimator import estimator
from mercer.gram import PlaceOfLearner
from mercer.learners.base import MeansOfRows, check_count, read_like_fitted
from mercer.learners.neighbourhoods.trials import NetworkMember
from mercer.persistence import fields, whole
from mercer.samples import SamplesLike
from mercer.search import Index, fit_index
from mercer.solvers.neighbourhoods import nearest_shares, smooth, smooth_nearest, vote_shares

BLOCK = 4_000_000  # numbers of the largest matrix of shares
PAIRS = 2**22  # neighbours that are searched at a time


@fields(rows_=whole())
@estimator
class NeighbourhoodAnswers(
    MeansOfRows, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Abstract: a mean over the rows that are near in z, which a fit has learnt.

    Parameters
    ----------
    n_neighbors : int, optional
        Rows that a prediction is the mean of: the nearest ones in z, found by an index. None, or at
        least as many as there are, means all rows.
    algorithm : str or Index, default="auto"
        How the nearest rows are searched for, as `mercer.search.fit_index` says. "auto" is exact;
        "descent" walks along a graph of near rows, for millions of rows, and finds most of them.
    """

    _: KW_ONLY
    n_neighbors: int | None = None
    algorithm: Any = "auto"
    memory: int | float | str | None = None
    n_jobs: int | None = None

    members_: list[NetworkMember] = field(init=False)
    rows_: np.ndarray = field(init=False)
    encoder_: Any = field(init=False)
    _targets: np.ndarray = field(init=False)
    _weights: np.ndarray = field(init=False)
    #: the indexes of the members, and the algorithm that they were built by
    _indexes: ClassVar[tuple[Any, list[Index]] | None] = None

    def __sklearn_is_fitted__(self) -> bool:
        return "members_" in vars(self)

    place = PlaceOfLearner()

    @property
    def votes(self) -> np.ndarray:
        """What each of the rows ``rows_`` weighs in a mean, (rows,); copies are one row."""
        return self._weights

    def transform(self, X: SamplesLike) -> np.ndarray:
        """z of new rows, (n, width); of several members side by side."""
        return np.hstack(self._embedded(X))

    def kneighbors(
        self, X: SamplesLike, n_neighbors: int = 5, return_distance: bool = True
    ) -> tuple[np.ndarray, np.ndarray] | np.ndarray:
        """The training rows that are nearest to each row of X in the learnt space.

        Parameters
        ----------
        X : table of n rows
        n_neighbors : int, default=5
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of shape (n, n_neighbors)
            Distances of z; only with ``return_distance``.
        indices : ndarray of shape (n, n_neighbors)
            Numbers of rows that were given to ``fit``; of copies the first one. An ``algorithm``
            that is not exact may find fewer: the distance is then infinite and the number -1.
        """
        check_is_fitted(self)
        check_count("n_neighbors", n_neighbors, optional=False)
        n = len(self.rows_)
        if n_neighbors > n:
            raise ValueError(
                f"n_neighbors={n_neighbors}, but the fit had {n:,} different rows: ask for fewer."
            )
        queries = self._embedded(X)
        if len(queries) == 1:
            index = self.indexes()[0]
        else:
            index = self._index_of(np.hstack([member.Z for member in self.members_]))
        distances, found = index.query(np.hstack(queries), n_neighbors)
        indices = np.where(found >= 0, self.rows_[found], -1)
        return (distances, indices) if return_distance else indices

    def some_shares(self, X: SamplesLike) -> Iterator[np.ndarray]:
        queries = self._embedded(X)
        step = max(1, BLOCK // len(self.rows_))
        for start in range(0, max(len(queries[0]), 1), step):
            yield self._shares([Z[start : start + step] for Z in queries])

    def shares(self, X: SamplesLike) -> np.ndarray:
        return self._shares(self._embedded(X))

    def indexes(self) -> list[Index]:
        """An index of the training rows in z for each member."""
        if self._indexes is None or self._indexes[0] is not self.algorithm:
            made = [self._index_of(member.Z) for member in self.members_]
            vars(self)["_indexes"] = self.algorithm, made
            return made
        return self._indexes[1]

    def __getstate__(self) -> dict[str, Any]:
        """The state without indexes: files need none, and cannot hold a graph."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_indexes"}

    @property
    def searches(self) -> bool:
        """Whether predictions are means over the nearest rows, and not over all."""
        return self.n_neighbors is not None and self.n_neighbors < len(self._weights)

    def _index_of(self, Z: np.ndarray) -> Index:
        options = {"memory": self.memory, "n_jobs": self.n_jobs}
        return fit_index(Z, Minkowski(2), self.algorithm, **options)[0]

    def _embedded(self, X: SamplesLike) -> list[np.ndarray]:
        """z of new rows, for each member."""
        check_is_fitted(self)
        M = self.encoder_.encoded(read_like_fitted(self, X)).matrix
        return [member.embed(M, self.n_jobs) for member in self.members_]

    def _means(self, X: SamplesLike) -> np.ndarray:
        """The mean of the members' predictions, (n, outputs)."""
        values = [self._mean(m, Z) for m, Z in enumerate(self._embedded(X))]
        return np.asarray(np.mean(values, axis=0, dtype=np.float64))

    def _mean(self, m: int, Z: np.ndarray) -> np.ndarray:
        """The prediction of one member, from z of new rows."""
        member = self.members_[m]
        tau, targets, weights = member.temperature, self._targets, self._weights
        if not self.searches:
            return smooth(Z, member.Z, targets, weights, (tau,), self.n_jobs)[0]
        values = np.empty((len(Z), targets.shape[1]), np.float32)
        for rows, distances, near in self._nearest(m, Z):
            values[rows] = smooth_nearest(distances, near, targets, weights, tau)
        return values

    def _shares(self, queries: list[np.ndarray]) -> np.ndarray:
        return np.mean([self._votes(m, Z) for m, Z in enumerate(queries)], axis=0)

    def _votes(self, m: int, Z: np.ndarray) -> np.ndarray:
        """The shares of all training rows in the predictions of one member."""
        member = self.members_[m]
        if not self.searches:
            return vote_shares(Z, member.Z, self._weights, member.temperature)
        votes = np.zeros((len(Z), len(self._weights)))
        for rows, distances, near in self._nearest(m, Z):
            shares = nearest_shares(distances, near, self._weights, member.temperature)
            here, place = np.nonzero(near >= 0)
            votes[rows][here, near[here, place]] = shares[here, place]
        return votes

    def _nearest(self, m: int, Z: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """For some rows of Z at a time, the distances and numbers of their nearest rows."""
        k = self.n_neighbors
        assert k is not None
        step = max(1, PAIRS // k)
        for start in range(0, len(Z), step):
            rows = slice(start, start + step)
            yield rows, *self.indexes()[m].query(Z[rows], k)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
