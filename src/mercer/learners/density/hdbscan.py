"""Clusters of any density and shape, under any distance, and what belongs to none."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mercer import _native
from mercer.distances import in_float64
from mercer.estimator import estimator
from mercer.learners.base import check_count, check_flag, finite_fit
from mercer.learners.neighbours import NeighboursLearner
from mercer.persistence import fields, floats, number, whole
from mercer.samples import SamplesLike, is_number
from mercer.search import reachability_tree

LISTED = 15  # neighbours of each row that are asked for at least: they answer for most of the tree
ROUNDED = 1e-12  # lengths that differ by a smaller part of them are one length
METHODS = ("eom", "leaf")


def rows(model: HDBSCAN) -> int:
    """How many rows the model was fitted to."""
    return len(model._core)


def clusters(model: HDBSCAN) -> int:
    """How many clusters its tree has."""
    return len(model._above)


@estimator
@fields(
    _home=whole(clusters, length=rows),
    _fell=floats(1, rows),
    _core=floats(1),
    _above=whole(clusters, least=-1),
    _birth=floats(1, clusters),
    _most=floats(1, clusters),
    _enters=number(),
    _k=number(lambda model: len(model._core) - 1),
    _sizes=whole(length=clusters),
    _chosen=whole(clusters, least=-1, length=clusters),
    _number=whole(length=clusters, least=-1),
    labels_=whole(least=-1),
    persistence_=floats(1),
)
class HDBSCAN(ClusterMixin, NeighboursLearner):
    r"""Clusters of any density and shape, and noise: rows that belong to none.

    Two rows are connected at the height h if their mutual reachability is at most h,

    .. math:: r(x, z) = \max(\rho(x, z), c(x), c(z)),

    where the core c(x) is the distance of x to its neighbour number ``min_samples``, with x itself
    as the first. While h falls, clusters lose rows, and split where two or more parts have
    ``min_cluster_size`` rows. Of all clusters of this tree those are chosen that last longest over
    most rows. Samples are of any kind, with any distance or kernel.

    Parameters
    ----------
    min_cluster_size : int >= 2, default=5
        Fewest rows of a cluster.
    min_samples : int >= 1, optional
        The more, the smoother are the clusters, and the more rows are noise; None means
        ``min_cluster_size``. It counts the row itself, as scikit-learn does.
    cluster_selection_method : {"eom", "leaf"}, default="eom"
        "eom" takes the clusters with the largest excess of mass, the sum over their rows of the
        densities 1 / h that they stay for; "leaf" those that do not split any more.
    allow_single_cluster : bool, default=False
        Whether all rows may be one cluster.
    max_cluster_size : int, optional
        Larger clusters are not taken, unless ``cluster_selection_epsilon`` joins them.
    cluster_selection_epsilon : float >= 0, default=0.0
        Clusters that part at a height below this are joined.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The cluster of each row: 0 is the largest, and -1 is noise.
    probabilities_ : ndarray of shape (n,)
        How deep in its cluster a row is: the density at which it leaves, over the largest one at
        which a row does; 0 for noise.
    outlier_scores_ : ndarray of shape (n,)
        GLOSH: 1 less the density at which a row leaves its last cluster, over the largest one in
        this cluster and those inside of it. It is near 1 for outliers, also for those of a cluster.
    persistence_ : ndarray of shape (n_clusters,)
        How long each cluster lasts, from 0 to 1: its excess of mass, over what it would be if its
        rows stayed from the density 0 to the largest one at which any row leaves.
    condensed_tree_ : structured ndarray of shape (edges,)
        Fields parent, child, lambda_val and child_size: which rows (below n) and clusters (from n
        on; n is all rows) leave which cluster at which density 1 / h.

    See Also
    --------
    sklearn.cluster.HDBSCAN : The same names. It parts equal heights one after the other, so that
        clusters depend on the order of the rows where distances are equal.

    Notes
    -----
    Edges of one length are removed together, as in the paper: the clusters do not depend on the
    order of the rows, nor on ``n_jobs``. Rows of numbers take about n log n distances by a tree of
    boxes if they have few columns, and n² with many. Other samples take n² / 2 distances beside
    those of their neighbours, or, where the distance has bounds (`DTW`), what these leave open.
    Memory is O(n). Copies of a row, at least ``min_samples`` of them,
    have the density infinity. Where the distances are a sparse matrix of known neighbours, parts
    that no edge joins are apart at every height.

    References
    ----------
    Campello, Moulavi & Sander, "Density-based clustering based on hierarchical density estimates",
    PAKDD 2013; Campello, Moulavi, Zimek & Sander, "Hierarchical density estimates for data
    clustering, visualization, and outlier detection", ACM TKDD 10, 2015.

    Examples
    --------
    >>> from mercer import HDBSCAN
    >>> from mercer.distances import Edit
    >>> names = ["anna", "anne", "hanna", "hanne", "peter", "petra", "pete", "petr", "x"]
    >>> model = HDBSCAN(min_cluster_size=3, min_samples=2, metric=Edit()).fit(names)
    >>> model.labels_.tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, -1]
    >>> model.approximate_predict(["hannah", "peer"])[0].tolist()
    [0, 1]
    """

    min_cluster_size: int = 5
    min_samples: int | None = None
    _: KW_ONLY
    cluster_selection_method: str = "eom"
    allow_single_cluster: bool = False
    max_cluster_size: int | None = None
    cluster_selection_epsilon: float = 0.0

    @finite_fit
    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Find the clusters of samples X; y is not used."""
        self._check_parameters()
        training = self.make_training(X, targets=False)
        training = training._replace(X=in_float64(training.X))
        n = training.X.shape[0]
        if self.min_samples is not None and self.min_samples > n:
            raise ValueError(
                f"min_samples={self.min_samples} must be at most the number of samples, which is "
                f"n_samples={n}: give fewer."
            )
        self._k = min(self.min_samples or self.min_cluster_size, n) - 1
        rows: Any = training.X
        known = self.distance_.known(rows, rows) is not None  # nothing else is asked for
        k = self._k if known else min(max(self._k, LISTED), n - 1)
        if k:
            index, algorithm, near, numbers = self.own_neighbours(X, rows, k, self._k)
            near = near.astype(np.float64, copy=False)
        else:
            index, algorithm = self.make_index(rows)
            near, numbers = np.empty((n, 0)), np.empty((n, 0), np.int64)
        self._core = near[:, self._k - 1].copy() if self._k else np.zeros(n)
        a, b, lengths = reachability_tree(index, rows, self._core, near, numbers)
        self._condense(a, b, _levels(lengths))
        self._choose()
        self.labels_, self.probabilities_ = self._answers(self._home, self._fell)
        # Campello et al. 2015, equation 8: densities in place of their inverses
        death = self._deaths()
        for c in range(len(death) - 1, 0, -1):
            death[self._above[c]] = max(death[self._above[c]], death[c])
        self.outlier_scores_ = 1 - _share(self._fell, death[self._home])
        self.keep_index(training, index, algorithm)
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        for name in ("min_cluster_size", "max_cluster_size", "min_samples"):
            check_count(name, getattr(self, name), optional=name != "min_cluster_size")
        if self.min_cluster_size < 2:
            raise ValueError(f"min_cluster_size={self.min_cluster_size}: give an integer >= 2.")
        check_flag("allow_single_cluster", self.allow_single_cluster)
        method, epsilon = self.cluster_selection_method, self.cluster_selection_epsilon
        if not isinstance(method, str) or method not in METHODS:
            raise ValueError(f'cluster_selection_method={method!r}: give "eom" or "leaf".')
        if not (is_number(epsilon) and epsilon >= 0):
            raise ValueError(f"cluster_selection_epsilon={epsilon!r}: give a number >= 0.")

    # --- the tree of clusters -------------------------------------------------------------------

    def _condense(self, a: np.ndarray, b: np.ndarray, lengths: np.ndarray) -> None:
        """Keep the condensed tree: the cluster that each row falls out of, and where."""
        n = len(lengths) + 1
        self._home, self._fell = np.empty(n, np.int64), np.empty(n)
        above, birth, sizes = np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64)
        least = int(self.min_cluster_size)
        count = _native.condense(a, b, lengths, least, self._home, self._fell, above, birth, sizes)
        self._above, self._birth, self._sizes = above[:count], birth[:count], sizes[:count]

    @property
    def condensed_tree_(self) -> np.ndarray:
        check_is_fitted(self)
        n, inner = len(self._home), np.arange(1, len(self._above))
        names = "parent", "child", "lambda_val", "child_size"
        tree = np.empty(n + len(inner), list(zip(names, "qqdq", strict=True)))
        tree["parent"] = n + np.append(self._above[inner], self._home)
        tree["child"] = np.append(n + inner, np.arange(n))
        tree["lambda_val"] = np.append(self._birth[inner], self._fell)
        tree["child_size"] = np.append(self._sizes[inner], np.ones(n))
        return tree

    def _deaths(self) -> np.ndarray:
        """The largest density at which a row, or a cluster, leaves each cluster."""
        death = np.zeros(len(self._above))
        np.maximum.at(death, self._home, self._fell)
        np.maximum.at(death, self._above[1:], self._birth[1:])
        return death

    def _choose(self) -> None:
        """The clusters that are taken, and the one of them that each cluster is in, or -1."""
        count, above, single = len(self._above), self._above, self.allow_single_cluster
        inside: list[list[int]] = [[] for _ in range(count)]
        for c in range(1, count):
            inside[above[c]].append(c)
        # sums that do not depend on the order of the rows
        order = np.lexsort((self._fell, self._home))
        home = self._home[order]
        mass = np.bincount(home, self._fell[order] - self._birth[home], count)
        split = self._birth.copy()  # where a cluster parts, all of its rows leave it
        split[above[1:]] = self._birth[1:]
        mass += np.bincount(above[1:], self._sizes[1:], count) * (split - self._birth)
        best, taken = np.zeros(count), np.zeros(count, bool)
        most = self.max_cluster_size or len(home)
        for c in range(count - 1, -1 if single else 0, -1):
            below = float(sum(sorted(best[inside[c]])))
            if self.cluster_selection_method == "leaf":
                taken[c] = not inside[c]
            else:
                taken[c] = mass[c] >= below and self._sizes[c] <= most
            best[c] = mass[c] if taken[c] else below
        taken[0] &= len(home) >= self.min_cluster_size
        self._chosen = self._outermost(taken)
        if self.cluster_selection_epsilon > 0 and not taken[0]:
            with np.errstate(divide="ignore"):
                height = 1 / self._birth
            taken = np.zeros(count, bool)
            for c in np.flatnonzero(self._chosen == np.arange(count)):
                while height[c] < self.cluster_selection_epsilon and (above[c] > 0 or single):
                    c = above[c]
                taken[c] = True
            self._chosen = self._outermost(taken)
        self._most, self._enters = self._deaths(), 0.0
        if taken[0]:
            epsilon = self.cluster_selection_epsilon
            self._enters = 1 / epsilon if epsilon else float(self._most[0])
        self._number = np.full(count, -1)
        members = self._chosen[self._home]
        clusters, first, sizes = np.unique(
            members[members >= 0], return_index=True, return_counts=True
        )
        clusters = clusters[np.lexsort((first, -sizes))]
        self._number[clusters] = np.arange(len(clusters))
        # copies of a row stay for ever: the largest density of the others is the measure
        longest = self._fell[np.isfinite(self._fell)].max(initial=0.0)
        self.persistence_ = _share(mass[clusters], self._sizes[clusters] * longest)

    def _outermost(self, taken: np.ndarray) -> np.ndarray:
        """The outermost cluster that is taken around each cluster, or -1."""
        found = np.full(len(taken), -1)
        for c in range(len(taken)):
            outer = found[self._above[c]] if c else -1
            found[c] = outer if outer >= 0 else c if taken[c] else -1
        return found

    def _answers(self, home: np.ndarray, fell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Labels and probabilities of rows that leave these clusters at these densities."""
        enters = self._enters * (1 - ROUNDED)
        cluster = np.where(fell >= enters, self._chosen[home], -1)
        labels = np.where(cluster >= 0, self._number[cluster], -1).astype(np.int32)
        return labels, np.where(labels >= 0, _share(fell, self._most[cluster]), 0.0)

    def approximate_predict(self, X: SamplesLike) -> tuple[np.ndarray, np.ndarray]:
        """Clusters of new samples, each by itself; the tree stays as it is.

        A new sample joins the row that it is nearest to by mutual reachability, at that height, and
        leaves its cluster with this row at the latest.

        Returns
        -------
        labels : ndarray of shape (q,)
        probabilities : ndarray of shape (q,)
        """
        check_is_fitted(self)
        Z = self.encode_new(X)
        n, q = self.n_samples_fit_, Z.shape[0]
        home, fell = np.zeros(q, np.int64), np.zeros(q)
        left, k = np.arange(q), min(max(2 * self._k, LISTED), n)
        while len(left):
            missed = []
            for rows in self.strips(len(left), k):
                some = left[rows]
                far, ids = self.nearest(Z[some], k)
                core = far[:, self._k - 1] if self._k else np.zeros(len(some))
                reach = np.maximum(np.maximum(far, core[:, None]), self._core[ids])
                least = reach.min(axis=1, keepdims=True)
                # of rows that are equally near the one that stays longest
                stays = np.where(reach <= least * (1 + ROUNDED), self._fell[ids], -1.0)
                nearest = ids[np.arange(len(some)), stays.argmax(axis=1)]
                with np.errstate(divide="ignore"):
                    fell[some] = 1 / least[:, 0]
                home[some] = nearest
                missed.append(some[(far[:, -1] <= least[:, 0] * (1 + ROUNDED)) & (k < n)])
            left, k = np.concatenate(missed), min(2 * k, n)
        fell, home = np.minimum(fell, self._fell[home]), self._home[home]
        while (outside := (home > 0) & (self._birth[home] >= fell * (1 - ROUNDED))).any():
            home[outside] = self._above[home[outside]]
        return self._answers(home, fell)


def _levels(lengths: np.ndarray) -> np.ndarray:
    """Ascending lengths, of which those that differ by rounding alone are made equal."""
    new = np.ones(len(lengths), bool)
    new[1:] = lengths[1:] > lengths[:-1] * (1 + ROUNDED)
    return lengths[new][np.cumsum(new) - 1]


def _share(part: np.ndarray, most: np.ndarray) -> np.ndarray:
    """min(part / most, 1), and 1 where both are infinite or 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(part >= most, 1.0, part / most)
