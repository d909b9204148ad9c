"""k-means in the feature space of a kernel: Σ w_i |φ(x_i) - μ_c(i)|² is made small (Lloyd 1982).

|φ(x) - μ_c|² = k(x, x) - 2 Σ_j w_j k(x, x_j) / W_c + Σ_jl w_j w_l k(x_j, x_l) / W_c², with sums
over the samples of cluster c and W_c the sum of their weights. `KMeansSolver.solve` keeps the sums
for all samples and clusters, and changes them by the rows of K of those samples that moved, which
soon are few. `KMeansSolver.solve_factor` has centres in the finite feature space of a factor of K.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.gram import FactoredGram, GramOperator
from mercer.gram.row_sources import RowSource
from mercer.solvers.result import Reason, Result
from mercer.threads import ordered_map, raise_if_stopped

__all__ = ["KMeansResult", "KMeansSolver"]

ROUNDING = 64  # units of the last digit by which a sample must come nearer to move
WHOLE = 0.5  # a share of moved samples above which all sums are computed again


@dataclass(frozen=True)
class KMeansResult(Result):
    """Clusters; ``objective`` is the inertia, and ``gap`` the share of samples that still moved.

    Attributes
    ----------
    labels : ndarray of shape (n,), int
    squares : ndarray of shape (clusters,)
        |μ_c|²; infinite for an empty cluster.
    sizes : ndarray of shape (clusters,)
        W_c.
    own, other : ndarray of shape (n,)
        Squared distance of each sample to its centre and to the nearest other one.
    centres : ndarray of shape (clusters, rank) or None
        In the feature space of a factor.
    inertias : list of float
        After each iteration of the best start.
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
        """The same clusters, from the largest to the smallest, so that starts number them alike."""
        order = np.lexsort((self.squares, -self.sizes))
        place = np.argsort(order)
        return replace(
            self, labels=place[self.labels], squares=self.squares[order], sizes=self.sizes[order],
            centres=None if self.centres is None else self.centres[order],
        )  # fmt: skip


class _Space(ABC):
    """Feature space as Lloyd's method reads it."""

    diag: np.ndarray
    centres: Any = None  # (clusters, rank), in the space of a factor

    @abstractmethod
    def products(self, rows: np.ndarray) -> np.ndarray:
        """k between some samples and all, (len(rows), n)."""

    @abstractmethod
    def place(self, labels: np.ndarray, weights: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Put the centres where the samples of the clusters have their means: |μ_c|²."""

    @abstractmethod
    def nearest(
        self, labels: np.ndarray, squares: np.ndarray, sizes: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """The nearest cluster of each sample; |μ|² - 2 <φ, μ> of it, of its own and of the nearest
        that is not its own."""

    def by_batches(
        self, labels: np.ndarray, weights: np.ndarray, batch: int, steps: int, random
    ) -> np.ndarray:
        """Clusters after steps with some samples each."""
        raise TypeError("batch= needs centres in the space of a factor: use solve_factor.")


@dataclass(frozen=True)
class KMeansSolver:
    """Lloyd's method from several starts by k-means++.

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

    Notes
    -----
    With a positive semidefinite K the inertia never rises. An empty cluster gets the sample that is
    farthest from its centre. The first iteration reads K once, each later one the rows of the
    samples that moved; with a factor of m columns an iteration costs n m k operations.

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

    def solve(self, K: GramOperator, weights: np.ndarray) -> KMeansResult:
        """Clusters of the samples of K, (n, n)."""
        return self._best(_Sums(K, self), weights)

    def solve_factor(self, K: FactoredGram, weights: np.ndarray) -> KMeansResult:
        """The same for K = F Fᵀ, with centres in the space of F's rows."""
        return self._best(_Centres(K, self), weights)

    def _best(self, space: _Space, weights: np.ndarray) -> KMeansResult:
        random = np.random.RandomState(self.seed) if isinstance(self.seed, int) else self.seed
        best = None
        for _ in range(self.restarts):
            found = self._lloyd(space, weights, self._first(space, weights, random), random)
            if best is None or found.objective < best.objective:
                best = found
        assert best is not None
        if not np.isfinite(best.objective):
            raise np.linalg.LinAlgError("The inertia is not finite.")
        return best.ordered()

    def _first(self, space: _Space, weights: np.ndarray, random) -> np.ndarray:
        """Clusters around samples drawn by k-means++, of which the best of some are taken.

        Arthur & Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
        """
        n, trials = len(weights), 2 + int(np.log(self.clusters))
        chosen = np.array([_draw(weights, 1, random)[0]])
        labels = np.zeros(n, np.intp)
        near = self._apart(space, chosen)[0]
        while len(chosen) < min(self.clusters, n):
            raise_if_stopped()
            if not (weights * near).any():  # no more samples that differ
                break
            candidates = _draw(weights * near, trials, random)
            nearer = np.minimum(near, self._apart(space, candidates))
            best = int((nearer @ weights).argmin())
            labels[nearer[best] < near] = len(chosen)
            labels[candidates[best]] = len(chosen)
            near, chosen = nearer[best], np.append(chosen, candidates[best])
        return labels

    @staticmethod
    def _apart(space: _Space, rows: np.ndarray) -> np.ndarray:
        """Squared distances between some samples and all."""
        D = space.diag[rows][:, None] + space.diag - 2 * space.products(rows)
        D[np.arange(len(rows)), rows] = 0
        return np.maximum(D, 0)

    def _lloyd(self, space: _Space, weights, labels, random) -> KMeansResult:
        total, inertias, reason = float(weights @ space.diag), [], Reason.LIMIT
        room = ROUNDING * float(np.finfo(space.diag.dtype).eps) * float(np.abs(space.diag).max())
        steps = self.max_iter
        if self.batch is not None:
            labels = space.by_batches(labels, weights, self.batch, self.max_iter, random)
            steps = 1
        moved = np.ones(len(labels), bool)
        for _ in range(steps):
            raise_if_stopped()
            sizes = np.bincount(labels, weights, self.clusters)
            squares = space.place(labels, weights, sizes)
            inertias.append(total - float(sizes[sizes > 0] @ squares[sizes > 0]))
            nearest, near, own, other = space.nearest(labels, squares, sizes)
            # a sample moves only if it comes nearer by more than rounding, so that none returns
            moved = near < own - room
            after = np.where(moved, nearest, labels)
            self._fill(after, np.where(moved, near, own) + space.diag, weights, room)
            moved = after != labels
            if not moved.any():
                reason = Reason.CONVERGED
                break
            labels = after
        if reason is not Reason.CONVERGED:
            sizes = np.bincount(labels, weights, self.clusters)
            squares = space.place(labels, weights, sizes)
            inertias.append(total - float(sizes[sizes > 0] @ squares[sizes > 0]))
            _, _, own, other = space.nearest(labels, squares, sizes)
        return KMeansResult(
            labels, np.nan, inertias[-1], float(moved.mean()), len(inertias),
            reason is Reason.CONVERGED or self.batch is not None, reason, "Kernel k-means",
            "share of samples that moved", labels=labels,
            squares=np.where(sizes > 0, squares, np.inf), sizes=sizes,
            own=np.maximum(own + space.diag, 0), other=np.maximum(other + space.diag, 0),
            centres=None if space.centres is None else space.centres.copy(), inertias=inertias,
        )  # fmt: skip

    def _fill(self, labels: np.ndarray, distances: np.ndarray, weights, room: float) -> None:
        """Give each empty cluster the sample that adds most to the inertia, if it is apart."""
        counts = np.bincount(labels, minlength=self.clusters)
        empty = np.flatnonzero(counts == 0)
        if not len(empty):
            return
        for i in np.argsort(-weights * distances, kind="stable"):
            if not len(empty) or distances[i] <= room:
                break
            if counts[labels[i]] > 1:
                counts[labels[i]] -= 1
                labels[i], empty = empty[0], empty[1:]


def _draw(shares: np.ndarray, count: int, random) -> np.ndarray:
    """Samples drawn with probabilities in proportion to these shares."""
    sums = np.cumsum(shares, dtype=np.float64)
    return np.minimum(np.searchsorted(sums, random.random_sample(count) * sums[-1], "right"),
                      np.flatnonzero(shares)[-1])  # fmt: skip


class _Sums(_Space):
    """Σ_j w_j k(x, x_j) over the samples of each cluster, for all samples x."""

    def __init__(self, K: GramOperator, solver: KMeansSolver):
        self.K, self.diag = K, np.asarray(K.diag(), np.float64)
        self.source: RowSource = K.row_source(solver.cache_bytes, 1e-7, solver.n_jobs)
        self.sums = np.zeros((solver.clusters, K.shape[0]))
        self.labels: np.ndarray | None = None

    def products(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.K.rows(rows), np.float64)

    def place(self, labels: np.ndarray, weights: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        every = np.arange(len(labels))
        before = self.labels
        if before is None or (before != labels).mean() > WHOLE:
            self.sums[:] = 0
            joins, leaves = every, every[:0]
        else:
            joins = leaves = np.flatnonzero(before != labels)
        for c, sums in enumerate(self.sums):
            self._add(joins[labels[joins] == c], weights, sums)
            if before is not None:
                self._add(leaves[before[leaves] == c], -weights, sums)
        self.labels = labels.copy()
        own = self.sums[labels, every]
        return np.bincount(labels, weights * own, len(sizes)) / np.where(sizes > 0, sizes, 1) ** 2

    def _add(self, rows: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> None:
        if len(rows):
            again = np.full(len(rows), len(rows) < len(sums) // 10)
            self.source.add(rows, weights[rows], sums, again)

    def nearest(self, labels, squares, sizes):
        full = sizes > 0
        D = self.sums * (-2 / np.where(full, sizes, 1))[:, None]
        D += np.where(full, squares, np.inf)[:, None]
        return _two_nearest(D, labels)


class _Centres(_Space):
    """Centres in the space of the rows of a factor F."""

    def __init__(self, K: FactoredGram, solver: KMeansSolver):
        self.K, self.diag = K, np.asarray(K.diag(), np.float64)
        self.centres, self.n_jobs = np.zeros((solver.clusters, K.rank)), solver.n_jobs

    def products(self, rows: np.ndarray) -> np.ndarray:
        F = self.K.factor(rows)
        F = np.asarray(F.toarray() if sp.issparse(F) else F)
        return np.stack([self.K.project(f) for f in F]).astype(np.float64, copy=False)

    def place(self, labels: np.ndarray, weights: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        sums = np.zeros_like(self.centres)

        def strip(part: tuple) -> np.ndarray:
            rows, F = part
            return _indicators(labels[rows], weights[rows], len(sums), F.dtype) @ F

        for part in ordered_map(strip, self.K.strips(), self.n_jobs):
            sums += part
        self.centres = sums / np.where(sizes > 0, sizes, 1)[:, None]
        return np.einsum("cj,cj->c", self.centres, self.centres)

    def nearest(self, labels, squares, sizes):
        C = np.ascontiguousarray(self.centres.T.astype(self.K.dtype))
        offsets = np.where(sizes > 0, squares, np.inf)

        def strip(part: tuple) -> tuple[np.ndarray, ...]:
            rows, F = part
            D = -2 * np.asarray(F @ C, np.float64).T + offsets[:, None]
            return _two_nearest(D, labels[rows])

        parts = ordered_map(strip, self.K.strips(), self.n_jobs)
        return tuple(np.concatenate(part) for part in zip(*parts))

    def by_batches(self, labels, weights, batch: int, steps: int, random) -> np.ndarray:
        """Clusters after steps with some samples each, which centres follow by their means so far.

        Sculley, "Web-scale k-means clustering", WWW 2010.
        """
        n, k = len(labels), len(self.centres)
        first = np.sort(random.choice(n, min(n, 10 * batch), replace=False))
        seen = np.bincount(labels[first], weights[first], k)
        F = self.K.factor(first)
        sums = _indicators(labels[first], weights[first], k, F.dtype) @ F
        for _ in range(steps):
            raise_if_stopped()
            self.centres = sums / np.where(seen > 0, seen, 1)[:, None]
            rows = np.sort(random.choice(n, min(n, batch), replace=False))
            F = self.K.factor(rows)
            squares = np.where(seen > 0, np.einsum("cj,cj->c", self.centres, self.centres), np.inf)
            found = (squares - 2 * np.asarray(F @ self.centres.T.astype(F.dtype))).argmin(axis=1)
            seen = seen + np.bincount(found, weights[rows], k)
            sums = sums + _indicators(found, weights[rows], k, F.dtype) @ F
        self.centres = sums / np.where(seen > 0, seen, 1)[:, None]
        squares = np.einsum("cj,cj->c", self.centres, self.centres)
        return self.nearest(labels, squares, seen)[0]


def _indicators(labels: np.ndarray, weights: np.ndarray, clusters: int, dtype) -> sp.csr_array:
    """Weights of the samples in their clusters, (clusters, n)."""
    every = np.arange(len(labels))
    return sp.csr_array((weights.astype(dtype), (labels, every)), shape=(clusters, len(labels)))


def _two_nearest(D: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, ...]:
    """For D (clusters, n), which is overwritten: the nearest, its value, the value of the own
    cluster and the least of the others."""
    every = np.arange(D.shape[1])
    nearest = D.argmin(axis=0)
    near, own = D[nearest, every], D[labels, every].copy()
    D[labels, every] = np.inf
    return nearest, near, own, D.min(axis=0)
