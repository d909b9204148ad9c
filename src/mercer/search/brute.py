"""Nearest neighbours by comparing everything.

Exact for every distance, and the measure of every other index. Rows of numbers are searched by the
native loops of vectors.py. For other samples tiles of distances stream by, and the nearest stay;
where the distance has a ``key`` (the length of a string), rows are held in its order, and tiles
whose keys are too far apart are passed over; where it has ``bounds``, bounded.py computes only the
distances that these leave open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.distances import dense_rows
from mercer.persistence import fields, length_of, offsets
from mercer.search.bounded import BoundedSearch
from mercer.search.index import Asked, Index
from mercer.search.known import KnownSearch
from mercer.search.rows import EDGE, OrderedRows, Selection
from mercer.search.vectors import AllRows, NormedRows, VectorSearch


@fields(
    _bounds=offsets(lambda index: len(index._training)),
    _low=length_of(lambda index: len(index._bounds) - 1),
    _high=length_of(lambda index: len(index._bounds) - 1),
)
class BruteForce(Index):
    """An index that compares each query with each row of the training sample.

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
        The distance, bound to the training sample.
    n_samples_fit_ : int

    See Also
    --------
    KDTree, MetricTree : The same neighbours by fewer distances.
    fit_index : Takes the one that is likely to be the fastest.

    Notes
    -----
    O(n m) distances for n queries of m rows; memory O(n k) beside the tiles and the rows, never
    O(n m). Of equally near rows the one of smaller index comes first. Distances between dense rows
    of numbers (``Distance.coordinates``) are summed in float64 and rounded once, and do not depend
    on other rows; others are those of the tiles, where rounding may differ from that of the whole
    matrix.

    Examples
    --------
    >>> from mercer.distances import Edit
    >>> index = BruteForce(Edit()).fit(["anna", "hanna", "otto", "anne"])
    >>> distances, indices = index.query(["hannah"], k=2)
    >>> distances, indices
    (array([[1., 2.]]), array([[1, 0]]))
    >>> distances, indices, starts = index.query_radius(radius=1)
    >>> indices, starts
    (array([1, 3, 0, 0]), array([0, 2, 3, 3, 4]))
    """

    divisible = True

    def _hold(self, X: Any) -> None:
        found = self.distance_.coordinates(X)
        self._rows = None if found is None else AllRows(NormedRows(found))
        if self._rows is None:
            super()._hold(X)
        else:
            self._training = OrderedRows(X)

    def _ask(self, Z: Any) -> Asked:
        rows = self._rows
        if rows is None:
            known = None if Z is None else self.distance_.known(Z, self._training.X)
            if known is not None:
                return KnownSearch(known, False)
            one = self._training.X[:1]
            if self.distance_.bounds(one, one) is not None:
                return BoundedSearch(self, Z, self._training)
            return super()._ask(Z)
        if Z is None:
            own = np.arange(len(rows.normed))
            return VectorSearch(rows, rows.normed, own, self.memory, self.n_jobs)
        queries = self.distance_.coordinates(dense_rows(Z))
        assert queries is not None  # as the training rows have them
        return VectorSearch(rows, NormedRows(queries), None, self.memory, self.n_jobs)

    def arrange(self, X: Any) -> np.ndarray | None:
        """The order of the keys; the tiles, and the least and the largest key of each."""
        order = self.arrange_queries(X)
        keys = self._keys(X) if order is None else self._keys(X)[order]
        bounds = np.append(np.arange(0, len(keys), EDGE), len(keys))
        self._bounds = bounds  # tile t has the rows from bounds[t] up to bounds[t + 1]
        self._low, self._high = keys[bounds[:-1]], keys[bounds[1:] - 1]
        return order

    def arrange_queries(self, Z: Any) -> np.ndarray | None:
        keys = self.distance_.key(Z)
        return None if keys is None else np.argsort(keys, kind="stable")

    def candidates(self, Z: Any, limits: np.ndarray) -> Iterator[tuple[Selection, Selection]]:
        """Tiles in the order of the gap between their keys and those of Z, up to the limits."""
        keys = self._keys(Z)
        gaps = np.maximum(np.maximum(self._low - keys.max(), keys.min() - self._high), 0)
        for t in np.argsort(gaps, kind="stable"):
            if gaps[t] > limits.max():
                return
            yield slice(None), slice(int(self._bounds[t]), int(self._bounds[t + 1]))

    def _keys(self, X: Any) -> np.ndarray:
        """The key of each row; 0 where the distance has none."""
        keys = self.distance_.key(X)
        return np.zeros(X.shape[0]) if keys is None else keys
