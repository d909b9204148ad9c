"""k-means in the feature space of a kernel: Σ w_i |φ(x_i) - μ_c(i)|² is made small (Lloyd 1982).

|φ(x) - μ_c|² = k(x, x) - 2 Σ_j w_j k(x, x_j) / W_c + Σ_jl w_j w_l k(x_j, x_l) / W_c², with sums
over the samples of cluster c and W_c the sum of their weights. `KMeansSolver.solve` keeps the sums
for all samples and clusters, `KMeansSolver.solve_factor` the centres in the finite feature space of
a factor of K (see `cluster_spaces`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from mercer.gram import FactoredGram, GramOperator
from mercer.solvers.clusters.cluster_spaces import Centres, ClusterSpace, Sums
from mercer.solvers.result import Reason, Result
from mercer.threads import raise_if_stopped


@dataclass(frozen=True)
class KMeansResult(Result):
    r"""Clusters; ``objective`` is the inertia, and ``gap`` the share of samples that still moved.

    .. math:: \|\varphi(x_i) - \mu_c\|^2 = k(x_i, x_i)
              - \frac{2}{W_c} \sum_{j \in c} w_j\, k(x_i, x_j) + \|\mu_c\|^2

    :math:`W_c` is the sum of the weights of cluster c; the distances are those of Schölkopf, Smola
    & Müller (1998).

    Attributes
    ----------
    labels : ndarray of shape (n,), int
    squares : ndarray of shape (clusters,)
        ``|μ_c|²``; infinite for an empty cluster.
    sizes : ndarray of shape (clusters,)
        W_c.
    own, other : ndarray of shape (n,)
        Squared distance of each sample to its centre and to the nearest other one.
    centres : ndarray of shape (clusters, rank) or None
        The centres in the feature space of a factor.
    inertias : list of float
        After each iteration of the best start.

    Examples
    --------
    >>> from mercer.gram import gram
    >>> from mercer.kernels import Linear
    >>> K = gram(Linear(), np.array([[0.0], [2.0], [9.0]]))
    >>> found = KMeansSolver(2, seed=0).solve(K, np.ones(3))
    >>> round(found.objective, 6), np.sort(found.sizes)
    (2.0, array([1., 2.]))
    """

    labels: np.ndarray = field(kw_only=True)
    squares: np.ndarray = field(kw_only=True)
    sizes: np.ndarray = field(kw_only=True)
    own: np.ndarray = field(kw_only=True)
    other: np.ndarray = field(kw_only=True)
    centres: np.ndarray | None = field(kw_only=True)
    inertias: list[float] = field(kw_only=True)

    @property
    def medoids(self) -> np.ndarray:
        """The sample nearest to each centre; -1 for an empty cluster."""
        found = np.full(len(self.sizes), -1)
        order = np.argsort(self.own, kind="stable")[::-1]
        found[self.labels[order]] = order  # the last one written is the nearest
        return found

    def ordered(self) -> KMeansResult:
        """The same clusters, largest first, so that all starts number them in the same way."""
        order = np.lexsort((self.squares, -self.sizes))
        place = np.argsort(order)
        return replace(
            self, labels=place[self.labels], squares=self.squares[order], sizes=self.sizes[order],
            centres=None if self.centres is None else self.centres[order],
        )  # fmt: skip


@dataclass(frozen=True)
class KMeansSolver:
    r"""Lloyd's method from several starts by k-means++:

    .. math:: \min \, \sum_i w_i \|\varphi(x_i) - \mu_{c(i)}\|^2, \qquad
              \mu_c = \frac{1}{W_c} \sum_{c(i) = c} w_i\, \varphi(x_i)

    c(i) is the cluster of sample i, and :math:`W_c` the sum of the weights of cluster c; labels
    have the shape (n,).

    Parameters
    ----------
    clusters : int >= 1
    max_iter : int >= 1
        Most iterations of each start.
    restarts : int >= 1
    batch : int, optional
        Samples of each iteration (Sculley 2010); only for `solve_factor`. None means all.
    seed : int or RandomState
    cache_bytes : int
        Most bytes for rows of K.
    n_jobs : int or None
    exchange : bool
        Go on by single samples where no other centre is nearer (Hartigan 1975); only for `solve`.
        A large diagonal of K draws each sample to its own centre, so that Lloyd's steps end early.

    Notes
    -----
    With a positive semidefinite K the inertia never rises. An empty cluster gets the sample that is
    farthest from its centre. The first iteration reads K once, each later one the rows of the
    samples that moved. With a factor of m columns an iteration costs n m k operations at most:
    samples whose centre is certainly still the nearest are not compared (Hamerly, "Making k-means
    even faster", SDM 2010), which does not change the result.

    References
    ----------
    Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 28, 1982;
    Arthur & Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.

    Examples
    --------
    >>> from mercer.gram import gram
    >>> from mercer.kernels import RBF
    >>> K = gram(RBF(1.0), np.array([[0.0], [0.1], [5.0], [5.1]]))
    >>> result = KMeansSolver(2, seed=0).solve(K, np.ones(4))
    >>> bool(result.labels[0] == result.labels[1] != result.labels[2] == result.labels[3])
    True
    """

    clusters: int
    max_iter: int = 300
    restarts: int = 1
    batch: int | None = None
    seed: int | np.random.RandomState = 0
    cache_bytes: int = 2**30
    n_jobs: int | None = None
    exchange: bool = False

    def solve(self, K: GramOperator, weights: np.ndarray) -> KMeansResult:
        """Clusters of the samples of K, (n, n)."""
        return self._best(Sums(K, self.clusters, self.cache_bytes, self.n_jobs), weights)

    def solve_factor(self, K: FactoredGram, weights: np.ndarray) -> KMeansResult:
        """The same for K = F Fᵀ, with centres in the space of F's rows."""
        return self._best(Centres(K, self.clusters, self.n_jobs), weights)

    def _best(self, space: ClusterSpace, weights: np.ndarray) -> KMeansResult:
        """The best of several runs from different first centres."""
        random = np.random.RandomState(self.seed) if isinstance(self.seed, int) else self.seed
        best = None
        for _ in range(self.restarts):
            first = careful_seeds(space.diag, space.products, weights, self.clusters, random)[1]
            found = self._lloyd(space, weights, first, random)
            if best is None or found.objective < best.objective:
                best = found
        assert best is not None
        if not np.isfinite(best.objective):
            raise np.linalg.LinAlgError("The inertia is not finite.")
        return best.ordered()

    def _lloyd(self, space: ClusterSpace, weights, labels, random) -> KMeansResult:
        """Lloyd's steps from the first labels."""
        total, inertias, reason = float(weights @ space.diag), [], Reason.LIMIT
        steps = self.max_iter
        if self.batch is not None:
            labels = space.by_batches(labels, weights, self.batch, self.max_iter, random)
            steps = 1
        moved = np.ones(len(labels), bool)
        for step in range(steps + 1):
            raise_if_stopped()
            sizes = np.bincount(labels, weights, self.clusters)
            squares = space.place(labels, weights, sizes)
            inertias.append(total - float(sizes[sizes > 0] @ squares[sizes > 0]))
            if step == steps:
                break
            rows, found = space.moves(labels, squares, sizes)
            after = labels.copy()
            after[rows] = found
            self._fill(after, space, squares, sizes, weights)
            if self.exchange and (after == labels).all():
                after = space.exchanged(labels, weights, squares, sizes)
            moved = after != labels
            if not moved.any():
                reason = Reason.CONVERGED
                break
            labels = after
        _, _, own, other = space.nearest(labels, squares, sizes)
        return KMeansResult(
            labels, np.nan, inertias[-1], float(moved.mean()), len(inertias),
            reason is Reason.CONVERGED or self.batch is not None, reason, "Kernel k-means",
            "share of samples that moved", labels=labels,
            squares=np.where(sizes > 0, squares, np.inf), sizes=sizes,
            own=np.maximum(own + space.diag, 0), other=np.maximum(other + space.diag, 0),
            centres=None if space.centres is None else space.centres.copy(), inertias=inertias,
        )  # fmt: skip

    def _fill(self, labels: np.ndarray, space: ClusterSpace, squares, sizes, weights) -> None:
        """Give each empty cluster the sample that adds most to the inertia, if it is apart."""
        counts = np.bincount(labels, minlength=self.clusters)
        empty = np.flatnonzero(counts == 0)
        if not len(empty):
            return
        distances = space.nearest(labels, squares, sizes)[2] + space.diag
        for i in np.argsort(-weights * distances, kind="stable"):
            if not len(empty) or distances[i] <= space.room:
                break
            if counts[labels[i]] > 1:
                counts[labels[i]] -= 1
                labels[i], empty = empty[0], empty[1:]


def careful_seeds(
    diag: np.ndarray, products: Callable[[np.ndarray], np.ndarray], weights: np.ndarray,
    count: int, random: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Samples drawn by k-means++, the best of several candidates each, and the nearest of each row.

    ``diag`` is k(x, x) of the n rows, and ``products(rows)`` is k between some and all, (., n).
    There are fewer samples than ``count`` if fewer differ.

    Arthur & Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
    """

    def apart(rows: np.ndarray) -> np.ndarray:
        D = diag[rows][:, None] + diag - 2 * products(rows)
        D[np.arange(len(rows)), rows] = 0
        return np.maximum(D, 0)

    n, trials = len(weights), 2 + int(np.log(count))
    chosen = np.array([_draw(weights, 1, random)[0]])
    labels = np.zeros(n, np.intp)
    near = apart(chosen)[0]
    while len(chosen) < min(count, n):
        raise_if_stopped()
        if not (weights * near).any():  # no more samples that differ
            break
        candidates = _draw(weights * near, trials, random)
        nearer = np.minimum(near, apart(candidates))
        best = int((nearer @ weights).argmin())
        labels[nearer[best] < near] = len(chosen)
        labels[candidates[best]] = len(chosen)
        near, chosen = nearer[best], np.append(chosen, candidates[best])
    return chosen, labels


def _draw(shares: np.ndarray, count: int, random) -> np.ndarray:
    """Samples drawn with probabilities in proportion to these shares."""
    sums = np.cumsum(shares, dtype=np.float64)
    return np.minimum(np.searchsorted(sums, random.random_sample(count) * sums[-1], "right"),
                      np.flatnonzero(shares)[-1])  # fmt: skip
