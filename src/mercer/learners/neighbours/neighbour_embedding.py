"""Maps of samples of any kind in one to three dimensions, in which neighbours stay neighbours."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components
from scipy.stats import rankdata, spearmanr
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer.distances import in_float64
from mercer.estimator import Seed, estimator
from mercer.learners.base import (
    check_count,
    check_positive,
    drawn_seed,
    finite_fit,
    finite_values,
)
from mercer.learners.neighbours.neighbour_learner import CountSearch
from mercer.persistence import fields, floats
from mercer.samples import Samples, SamplesLike
from mercer.solvers import EmbeddingSolver, LandmarkScaling

LEAST_ROWS = 3  # of a map
LANDMARKS = 256  # rows by whose distances a map begins
DIGITS = 20  # binary ones of its largest coordinate, to which all are rounded
# Of the first map of a graph: rounds, steps of each, vectors that take part, and where polynomials
# are small at most. 3 rounds of 9 find vectors as smooth as 100 plain steps. Smoother ones, of 4
# rounds, show small groups alone: in a map of MNIST distances correlate less with the true ones.
ROUNDS, DEGREE, SMOOTHED, HIGHEST = 3, 9, 6, 0.999
JUDGED = 1000  # rows on which the quality of a map is measured
FEWEST_STEPS = 10
MOST_AXES = 3


class MapQuality(NamedTuple):
    """How well a map shows the distances of its samples."""

    kept: float  # share of the neighbours of each row that are its neighbours in the map
    trustworthiness: float  # 1 less what rows that are neighbours in the map alone are far apart
    far: float  # rank correlation of the distances of all pairs
    accuracy: float  # of the labels by the neighbours in the map; NaN without labels


def samples(model: NeighbourEmbedding) -> int:
    """How many rows the map has."""
    return model.n_samples_fit_


def axes(model: NeighbourEmbedding) -> int:
    """How many coordinates its points have."""
    return model._potential.axes


@estimator
@fields(embedding_=floats(2, samples, axes))
class NeighbourEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CountSearch):
    r"""A map that keeps the neighbours of samples of any kind: t-SNE on their graph.

    Each row is drawn to its k nearest neighbours, and all points push each other apart:

    .. math:: \min_Y \sum_{ij} p_{ij} \log \frac{p_{ij}}{q_{ij}}, \qquad
        q_{ij} = \frac{(1 + \|y_i - y_j\|^2)^{-1}}{\sum_{k \ne l} (1 + \|y_k - y_l\|^2)^{-1}}

    where :math:`p_{ij}` is 1 / k for neighbours, made symmetric, with sum 1.

    Near points are alike. How far apart clusters are, how large they are and what shape they have
    means little: see `quality`.

    Parameters
    ----------
    n_neighbors : int >= 1, default=15
        Neighbours of a row: at most half of the others, with a warning.
    exaggeration : float > 0, default=1.0
        Factor of the pull. From 1.5 to 2 clusters are drawn together; beyond, few neighbours are
        kept.
    steps : int >= 10, default=250
        Steps of the descent.
    n_components : {1, 2, 3}, default=2
        Dimensions of the map.
    random_state : int, RandomState or None
        Seed for choosing the rows that the first map is made of.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The map.
    n_neighbors_ : int
    n_parts_ : int
        Parts of the graph between which there is no edge: their distances in the map mean nothing.
    kl_divergence_ : float
        What is minimised.

    Notes
    -----
    The first map is made of the distances to 256 of the rows (landmark scaling), which keeps apart
    what is far apart; of a graph that is given ("precomputed" and sparse), of its smooth vectors.
    Equal weights of few neighbours keep more of them than a perplexity does. After the search for
    neighbours a fit takes ``steps`` times O(n k + G² log G) operations, with G nodes on a side of
    the map; in one or three dimensions it takes ``steps`` times O(n²), on one core 0.7 seconds for
    5,000 rows and 10 for 20,000. It does not depend on ``n_jobs``.

    A new row moves alone in the map, so that its place does not depend on the other new rows; a row
    that is equal to one of the fit has its place.

    Warns
    -----
    UserWarning
        There are fewer than twice as many rows as neighbours.

    References
    ----------
    van der Maaten & Hinton, "Visualizing data using t-SNE", JMLR 9, 2008; Linderman et al., "Fast
    interpolation-based t-SNE", Nature Methods 16, 2019; de Silva & Tenenbaum, "Sparse
    multidimensional scaling using landmark points", 2004; Venna & Kaski, "Neighborhood preservation
    in nonlinear projection methods", ICANN 2001.

    Examples
    --------
    >>> from mercer import NeighbourEmbedding
    >>> from mercer.distances import Edit
    >>> names = ["anna", "hanna", "hannah", "otto", "lotto", "motto"]
    >>> model = NeighbourEmbedding(n_neighbors=2, metric=Edit(), random_state=0).fit(names)
    >>> model.embedding_.shape, model.n_parts_
    ((6, 2), 2)
    """

    n_neighbors: int = 15
    _: KW_ONLY
    exaggeration: float = 1.0
    steps: int = 250
    n_components: int = 2
    random_state: Seed = None

    fitted_by = "kl_divergence_"

    @finite_fit
    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Make the map of samples X; y is not used."""
        self._check_parameters()
        training = self.make_training(X, targets=False)
        training = training._replace(X=in_float64(training.X))
        n = training.X.shape[0]
        if n < LEAST_ROWS:
            raise ValueError(f"n_samples={n}: a map needs {LEAST_ROWS} rows or more.")
        # where all rows are neighbours of all, a map says nothing, and has no width
        most = (n - 1) // 2
        if self.n_neighbors > most:
            warnings.warn(
                f"n_neighbors={self.n_neighbors} is more than half of the other rows, which are "
                f"{n - 1}: {most} are taken.",
                UserWarning,
                stacklevel=4,
            )
        self.n_neighbors_ = min(int(self.n_neighbors), most)
        index, algorithm, apart, near = self.own_neighbours(X, training.X, self.n_neighbors_)
        self.keep_index(training, index, algorithm)
        seed = drawn_seed(self.random_state)
        P = symmetric_graph(np.where(np.isfinite(apart), near, -1))
        self.n_parts_ = int(connected_components(P, directed=False)[0])
        rows: Any = self.X_fit_
        known = self.distance_.known(rows, rows) is not None
        axes = int(self.n_components)
        start = smooth_vectors(P, seed, axes) if known else self._scaled(rows, seed)
        solver = self._solver()
        self.embedding_, self._potential = solver.solve(P, start, seed)
        self.kl_divergence_ = solver.divergence(P, self.embedding_, self._potential)
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        check_count("n_neighbors", self.n_neighbors, optional=False)
        check_positive("exaggeration", self.exaggeration)
        check_count("steps", self.steps, optional=False, least=FEWEST_STEPS)
        check_count("n_components", self.n_components, optional=False)
        if self.n_components > MOST_AXES:
            raise ValueError(
                f"n_components={self.n_components}: a map has {MOST_AXES} at most; give 1, 2 or 3."
            )

    def _solver(self) -> EmbeddingSolver:
        return EmbeddingSolver(float(self.exaggeration), int(self.steps), self.n_jobs)

    def _scaled(self, X: Samples, seed: int) -> np.ndarray:
        """Classical scaling of some rows, and places of all by their distances to these."""
        n = X.shape[0]
        chosen = np.sort(np.random.default_rng(seed).permutation(n)[:LANDMARKS])
        landmarks = X[chosen]
        among = self.distances_to(landmarks, landmarks).astype(np.float64)
        # whose square might be beyond floats; some distances are infinite, as of series that no
        # window aligns
        size = float(np.max(among, where=np.isfinite(among), initial=0.0)) or 1.0
        squares = np.minimum(among / size, 1.0) ** 2
        scaling = LandmarkScaling.of(squares, int(self.n_components))
        parts = [
            scaling.places(self._shares(X[rows], landmarks, size) ** 2)
            for rows in self.strips(n, len(chosen))
        ]
        # the descent makes much of the last digits, which more threads may change
        found = np.concatenate(parts)
        unit = np.ldexp(1.0, np.frexp(np.abs(found).max())[1] - DIGITS)
        return np.rint(found / unit) * unit

    def _shares(self, X: Samples, Z: Samples, size: float) -> np.ndarray:
        """Distances as parts of a large one, at most twice as large."""
        return np.minimum(self.distances_to(X, Z).astype(np.float64) / size, 2.0)

    def fit_transform(self, X: SamplesLike, y: object = None) -> np.ndarray:
        """`fit`, and return the map of X, (n, n_components)."""
        return self.fit(X).embedding_

    @finite_values
    def transform(self, X: SamplesLike) -> np.ndarray:
        """The places of the rows of X in the map, each as if it were alone, (q, n_components)."""
        check_is_fitted(self)
        Z = in_float64(self.encode_new(X))
        parts = []
        for rows in self.strips(Z.shape[0], self.n_neighbors_):
            distances, near = self.nearest(Z[rows], self.n_neighbors_)
            places = self._solver().place(near, self.embedding_, self._potential)
            known = distances[:, 0] == 0
            places[known] = self.embedding_[near[known, 0]]
            parts.append(places)
        return np.concatenate(parts)

    def quality(self, y: ArrayLike | None = None) -> MapQuality:
        """How well the map shows the distances, measured on at most 1,000 of its rows.

        Parameters
        ----------
        y : array-like of shape (n,), optional
            Labels of the rows, which the nearest rows in the map are to predict.

        Returns
        -------
        kept : float
            Share of the ``n_neighbors`` of a row that are among as many neighbours in the map.
        trustworthiness : float
            1 less a sum of ranks of rows that are neighbours in the map alone (Venna & Kaski).
        far : float
            Spearman's correlation of the distances of all pairs.
        accuracy : float
            Share of the rows whose label is that of most neighbours in the map; NaN without y.
        """
        check_is_fitted(self)
        n, k, X = len(self.embedding_), self.n_neighbors_, self.X_fit_
        some = np.sort(np.random.default_rng(0).permutation(n)[:JUDGED])
        here = self.embedding_[some]
        flat = np.sqrt(((here[:, None] - self.embedding_) ** 2).sum(axis=2))
        true = self.distances_to(X[some], X).astype(np.float64)
        own = np.arange(len(some)), some
        flat[own] = true[own] = -1.0  # the row itself is the first
        near = np.argsort(flat, axis=1, kind="stable")[:, 1 : k + 1]
        ranks = rankdata(true, axis=1, method="ordinal")[np.arange(len(some))[:, None], near] - 1
        excess = np.maximum(ranks - k, 0).sum() / len(some)
        worst = k * (2 * n - 3 * k - 1) / 2  # the largest excess of a row
        pairs = np.triu_indices(len(some), 1)
        far: Any = spearmanr(flat[:, some][pairs], true[:, some][pairs])
        accuracy = np.nan
        if y is not None:
            check_consistent_length(self.embedding_, y)
            codes = np.unique(np.asarray(y), return_inverse=True)[1]
            votes = np.zeros((len(some), codes.max() + 1))
            np.add.at(votes, (np.arange(len(some))[:, None], codes[near]), 1)
            accuracy = float((votes.argmax(axis=1) == codes[some]).mean())
        trust = 1 - excess / worst if worst > 0 else 1.0
        return MapQuality(float((ranks <= k).mean()), float(trust), float(far.statistic), accuracy)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def symmetric_graph(near: np.ndarray) -> sp.csr_array:
    """Equal weights of the neighbours (n, k) of each row, made symmetric, with sum 1.

    Examples
    --------
    >>> symmetric_graph(np.array([[1], [0], [1]])).toarray() * 6
    array([[0., 2., 0.],
           [2., 0., 1.],
           [0., 1., 0.]])
    """
    n, known = len(near), near >= 0  # an index that is not exact may find fewer
    counts = known.sum(axis=1)
    starts = np.concatenate(([0], np.cumsum(counts)))
    weights = np.repeat(1 / np.maximum(counts, 1), counts)
    places = near[known].astype(np.int32), starts.astype(np.int32)
    A = sp.csr_array((weights, *places), shape=(n, n))
    P = sp.csr_array(A + A.T)
    P.data /= P.data.sum()
    return P


def normalised_graph(P: sp.csr_array) -> tuple[sp.csr_array, np.ndarray]:
    """D^-½ P D^-½ and the diagonal of D^½, where D has the sums of the rows of P."""
    root = np.sqrt(np.maximum(P.sum(axis=1), np.finfo(float).tiny))
    S = sp.diags_array(1 / root) @ P @ sp.diags_array(1 / root)
    return sp.csr_array(S), root


def smooth_vectors(P: sp.csr_array, seed: int, count: int = 2) -> np.ndarray:
    """Smooth vectors of a graph, (n, count): eigenvectors of D^-½ P D^-½, roughly.

    They are found by subspace iteration with Chebyshev's polynomials, which are small between -1
    and the least eigenvalue that the round before found (Zhou, Saad, Tiago & Chelikowsky, 2006).
    """
    n, low = len(P.indptr) - 1, 0.0
    S, root = normalised_graph(P)
    first = root / np.linalg.norm(root)
    V = np.random.default_rng(seed).normal(size=(n, min(SMOOTHED, n)))
    for _ in range(ROUNDS):
        middle, half = (low - 1) / 2, (low + 1) / 2
        before, V = V, (S @ V - middle * V) / half
        for _ in range(DEGREE - 1):
            before, V = V, 2 * (S @ V - middle * V) / half - before
        V = np.linalg.qr(V - np.outer(first, first @ V))[0]
        values, turn = np.linalg.eigh(V.T @ (S @ V))
        V, low = V @ turn, min(max(low, float(values[0])), HIGHEST)
    return V[:, ::-1][:, :count] / root[:, None]
