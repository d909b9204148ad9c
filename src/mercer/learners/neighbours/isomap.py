"""Maps by the lengths of the shortest ways along the graph of neighbours."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, shortest_path
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.distances import in_float64
from mercer.estimator import Seed, estimator
from mercer.learners.base import check_count, drawn_seed, finite_fit, finite_values
from mercer.learners.neighbours.neighbour_learner import CountSearch
from mercer.persistence import fields, floats, whole
from mercer.samples import Samples, SamplesLike
from mercer.solvers import LandmarkScaling
from mercer.threads import ordered_map, raise_if_stopped

MOST, FEW = 5_000, 500  # rows that are all landmarks, and landmarks of more rows
STRIP = 64  # landmarks of a task


def rows(model: Isomap) -> int:
    """How many rows the model was fitted to."""
    return model.n_samples_fit_


@estimator
@fields(
    embedding_=floats(2, rows, lambda model: model.scaling_.count),
    landmarks_=whole(rows, length=lambda model: model.scaling_.landmarks),
    dist_matrix_=floats(2, rows, lambda model: model.scaling_.landmarks),
)
class Isomap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CountSearch):
    r"""Isomap: a map that keeps the lengths of the shortest ways along the graph of neighbours.

    Each row has edges to its k nearest neighbours, as long as their distances. Where samples lie
    near a curved surface, the shortest ways G stay on it, and classical scaling unrolls it:

    .. math:: Y = V \Lambda^{1/2}, \qquad
        V \Lambda V^T \approx -\tfrac{1}{2} J G^2 J, \qquad J = I - \tfrac{1}{n} 1 1^T,

    with the squares of G one by one, and the largest eigenvalues Λ. Samples are of any kind, with
    any distance or kernel.

    Parameters
    ----------
    n_neighbors : int >= 1, default=5
        Neighbours of a row; less than the number of rows. With too many, edges leave the surface.
    n_components : int >= 1, default=2
        Coordinates of the map, at most the number of landmarks.
    n_landmarks : int >= 1, optional
        Rows from which the ways are measured, and by which all are placed; None means all up to
        5,000 rows, and 500 of more.
    random_state : int, RandomState or None, default=0
        Seed for choosing the landmarks, where they are not all rows.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The map. A column is 0 where no eigenvalue is above 0.
    dist_matrix_ : ndarray of shape (n, n_landmarks)
        Lengths of the shortest ways from each row to the landmarks.
    landmarks_ : ndarray of shape (n_landmarks,)
        Row numbers of the landmarks, ascending.
    n_parts_ : int
        Parts of the graph between which there was no edge.
    scaling_ : LandmarkScaling
        ``scaling_.values`` are the eigenvalues.

    Raises
    ------
    ValueError
        There are not more rows than neighbours, or distances are known between some rows alone, and
        the graph of these has several parts.

    Warns
    -----
    UserWarning
        The graph has several parts. Each two of them are joined by one edge between their nearest
        rows, as in scikit-learn: how far apart they are in the map means little.

    See Also
    --------
    NeighbourEmbedding : Keeps the neighbours themselves, and shows clusters.
    sklearn.manifold.Isomap : The same map, up to rounding, of all rows.

    Notes
    -----
    After the search for neighbours, m landmarks take m searches of O(n (k + log n)) operations and
    8 m n bytes. Joining parts takes all n² distances. A new row reaches the landmarks through its
    own neighbours, so that its place does not depend on other new rows.

    References
    ----------
    Tenenbaum, de Silva & Langford, "A global geometric framework for nonlinear dimensionality
    reduction", Science 290, 2000; de Silva & Tenenbaum, "Sparse multidimensional scaling using
    landmark points", 2004.

    Examples
    --------
    A spiral, whose points are in the order of their place along it.

    >>> import numpy as np
    >>> from mercer import Isomap
    >>> turn = np.linspace(1, 9, 100)
    >>> spiral = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)])
    >>> model = Isomap(n_neighbors=2, n_components=1).fit(spiral)
    >>> steps = np.diff(model.embedding_[:, 0])
    >>> bool((steps > 0).all() or (steps < 0).all())
    True
    """

    n_neighbors: int = 5
    n_components: int = 2
    _: KW_ONLY
    n_landmarks: int | None = None
    random_state: Seed = 0

    fitted_by = "embedding_"

    @finite_fit
    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Make the map of samples X; y is not used."""
        for name in ("n_neighbors", "n_components", "n_landmarks"):
            check_count(name, getattr(self, name), optional=name == "n_landmarks")
        seed = drawn_seed(self.random_state)
        training = self.make_training(X, targets=False)
        training = training._replace(X=in_float64(training.X))
        n, k = training.X.shape[0], int(self.n_neighbors)
        if n <= k:
            raise ValueError(
                f"n_neighbors={k}, but n_samples={n}: give fewer neighbours, or more samples."
            )
        self.landmarks_ = self._chosen(n, seed)
        index, algorithm, apart, near = self.own_neighbours(X, training.X, k)
        self.keep_index(training, index, algorithm)
        # min over Y of |J (G² + Y Yᵀ) J|, with Y Yᵀ of rank n_components
        self.dist_matrix_ = self._ways(self._connected(_edges(apart, near)))
        squares = self.dist_matrix_**2
        self.scaling_ = LandmarkScaling.of(squares[self.landmarks_], int(self.n_components))
        self.embedding_ = self.scaling_.places(squares)
        return self

    def _chosen(self, n: int, seed: int) -> np.ndarray:
        """The landmarks of n rows."""
        most = self.n_landmarks or (n if n <= MOST else FEW)
        count = min(int(most), n)
        if self.n_components > count:
            raise ValueError(
                f"n_components={self.n_components} is more than the number of "
                + (f"landmarks, n_landmarks={count}" if count < n else f"samples, n_samples={n}")
                + ": give fewer."
            )
        needed = 3 * 8 * n * count
        if not self.place.holds(needed):
            self.place.refuse(
                needed, f"the ways of {n:,} rows to {count:,} landmarks", ", or fewer n_landmarks"
            )
        if count == n:
            return np.arange(n)
        return np.sort(np.random.default_rng(seed).permutation(n)[:count])

    def _connected(self, graph: sp.csr_array) -> sp.csr_array:
        """The graph, of which each two parts are joined between their nearest rows."""
        self.n_parts_, labels = connected_components(graph, directed=False)
        if self.n_parts_ == 1:
            return graph
        X: Any = self.X_fit_
        if self.distance_.known(X, X) is not None:
            raise ValueError(
                f"X holds the distances of some rows, and their nearest neighbours connect "
                f"{self.n_parts_} parts, each within itself: give more neighbours, or the samples "
                "and a distance."
            )
        warnings.warn(
            f"The {self.n_neighbors} nearest neighbours of all rows connect {self.n_parts_} parts, "
            "each within itself. The nearest rows of each two parts are joined, but how far apart "
            "parts are means little: give more neighbours, or fit each part alone.",
            UserWarning,
            stacklevel=5,
        )
        i, j, far = self._joints(X, labels)
        edges = sp.coo_array(graph)
        a, b, lengths = edges.row, edges.col, edges.data
        joined = np.append(lengths, far), (np.append(a, i), np.append(b, j))
        return sp.csr_array(sp.coo_array(joined, shape=graph.shape))

    def _joints(self, X: Samples, labels: np.ndarray) -> tuple[np.ndarray, ...]:
        """The nearest rows of each two parts, and their distances."""
        order, count = np.argsort(labels, kind="stable"), self.n_parts_
        starts = np.searchsorted(labels[order], np.arange(count + 1))
        best = np.full((count, count), np.inf)
        ends = np.zeros((2, count, count), np.int32)
        for strip in self.strips(len(labels), len(labels)):
            raise_if_stopped()
            D = np.asarray(self.distances_to(X[strip], X), np.float64)[:, order]
            near = np.minimum.reduceat(D, starts[:-1], axis=1)
            for part in np.unique(labels[strip]):
                mine = np.flatnonzero(labels[strip] == part)
                least = mine[near[mine].argmin(axis=0)]
                nearer = near[least, np.arange(count)] < best[part]
                for other in np.flatnonzero(nearer[part + 1 :]) + part + 1:
                    row, inside = least[other], slice(starts[other], starts[other + 1])
                    best[part, other] = near[row, other]
                    column = order[inside][D[row, inside].argmin()]
                    ends[:, part, other] = strip.start + row, column
        pairs = np.triu_indices(count, 1)
        return *ends[:, *pairs], best[pairs]

    def _ways(self, graph: sp.csr_array) -> np.ndarray:
        """Lengths of the shortest ways from all rows to the landmarks, (n, m)."""

        def ways(start: int) -> np.ndarray:
            raise_if_stopped()
            some = self.landmarks_[start : start + STRIP]
            return shortest_path(graph, method="D", directed=False, indices=some)

        parts = ordered_map(ways, range(0, len(self.landmarks_), STRIP), self.n_jobs)
        found = np.concatenate(list(parts)).T
        if not np.isfinite(found).all():
            raise ValueError(
                f"a distance is not finite: check what {self.distance_!r} returns for these "
                "samples."
            )
        return np.ascontiguousarray(found)

    def fit_transform(self, X: SamplesLike, y: object = None) -> np.ndarray:
        """`fit`, and return the map of X, (n, n_components)."""
        return self.fit(X).embedding_

    @finite_values
    def transform(self, X: SamplesLike) -> np.ndarray:
        """The places of the rows of X in the map, each as if it were alone, (q, n_components)."""
        check_is_fitted(self)
        Z = in_float64(self.encode_new(X))
        q, k, places = Z.shape[0], int(self.n_neighbors), []
        for strip in self.strips(q, k * len(self.landmarks_)):
            apart, near = self.nearest(Z[strip], k)
            ways = np.full((len(apart), len(self.landmarks_)), np.inf)
            for far, ids in zip(apart.T, near.T, strict=True):
                found = ids >= 0  # an index that is not exact may find fewer
                through = far[found, None] + self.dist_matrix_[ids[found]]
                ways[found] = np.minimum(ways[found], through)
            places.append(self.scaling_.places(ways**2))
        return np.concatenate(places)

    def reconstruction_error(self) -> float:
        """What the map of the landmarks lacks: the root of the squares of all eigenvalues that are
        not in it, over the number of landmarks."""
        check_is_fitted(self)
        return self.scaling_.lost(self.dist_matrix_[self.landmarks_] ** 2)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def _edges(apart: np.ndarray, near: np.ndarray) -> sp.csr_array:
    """The neighbours of all rows as sparse rows of distances."""
    i, j = np.nonzero(np.isfinite(apart))  # an index that is not exact may find fewer
    ends = i.astype(np.int32), near[i, j].astype(np.int32)  # as csgraph of SciPy 1.16 wants
    return sp.csr_array((apart[i, j].astype(np.float64), ends), shape=(len(near), len(near)))
