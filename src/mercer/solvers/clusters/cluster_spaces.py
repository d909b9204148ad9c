"""Feature space as k-means reads it: what compares samples with the centres of their clusters.

`Sums` keeps Σ_j w_j k(x, x_j) of each cluster for all samples x, and changes them by the rows of K
of those samples that moved. `Centres` has centres in the finite feature space of a factor of K:
there sums are cheap and comparisons are not, and bounds of the distances say which samples need
none. (Lloyd's method, which moves the samples: `kernel_kmeans`.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.gram import FactoredGram, GramOperator
from mercer.samples import SamplesLike
from mercer.solvers.rows import row_source
from mercer.threads import ordered_map, raise_if_stopped

ROUNDING = 64  # units of the last digit by which a sample must come nearer to move
STRIP = 4096  # rows of a factor that are compared with the centres at a time
PROBES = 64  # random vectors by which a diagonal is estimated
WHOLE = 0.5  # a share of moved samples above which all sums are computed again


class ClusterSpace(ABC):
    """Feature space as Lloyd's method reads it."""

    diag: np.ndarray
    room: float  # what rounding may change of a squared distance
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

    def moves(
        self, labels: np.ndarray, squares: np.ndarray, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The samples that another centre is nearer to, by more than rounding so that none returns,
        and the cluster of that centre."""
        nearest, near, own, _ = self.nearest(labels, squares, sizes)
        rows = np.flatnonzero(near < own - self.room)
        return rows, nearest[rows]

    def exchanged(
        self, labels: np.ndarray, weights: np.ndarray, squares: np.ndarray, sizes: np.ndarray
    ) -> np.ndarray:
        """Clusters after exchanges that lessen the inertia, of which no two have a cluster in
        common."""
        raise TypeError("exchange= needs the sums of all samples: use solve.")

    def by_batches(
        self, labels: np.ndarray, weights: np.ndarray, batch: int, steps: int, random
    ) -> np.ndarray:
        """Clusters after steps with some samples each."""
        raise TypeError("batch= needs centres in the space of a factor: use solve_factor.")


class Sums(ClusterSpace):
    """Σ_j w_j k(x, x_j) over the samples of each cluster, for all samples x."""

    def __init__(self, K: GramOperator, clusters: int, cache_bytes: int, n_jobs: int | None):
        self.K, self.multiplied = K, "rows" not in K.cheap
        diag = estimated_diagonal(K) if self.multiplied else K.diag()
        self.diag = np.asarray(diag, np.float64)
        self.room = _rounding(self.diag, np.float64)  # in which sums are taken
        if not self.multiplied:
            self.source = row_source(K, cache_bytes, 1e-7, n_jobs)
        self.sums = np.zeros((clusters, K.shape[0]))
        self.labels: np.ndarray | None = None

    def products(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.K.rows(rows), np.float64)

    def place(self, labels: np.ndarray, weights: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        every, before = np.arange(len(labels)), self.labels
        if self.multiplied:
            members = np.zeros((len(labels), len(sizes)))
            members[every, labels] = weights
            self.sums = np.ascontiguousarray((self.K @ members).T)
            return self._squares(labels, weights, sizes)
        joins = leaves = _changed(before, labels)
        if len(joins) == len(labels):
            self.sums[:], leaves = 0, every[:0]
        for c, sums in enumerate(self.sums):
            self._add(joins[labels[joins] == c], weights, sums)
            if before is not None:
                self._add(leaves[before[leaves] == c], -weights, sums)
        self.labels = labels.copy()
        return self._squares(labels, weights, sizes)

    def _squares(self, labels: np.ndarray, weights: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        own = self.sums[labels, np.arange(len(labels))]
        return np.bincount(labels, weights * own, len(sizes)) / np.where(sizes > 0, sizes, 1) ** 2

    def _add(self, rows: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> None:
        if len(rows):
            again = np.full(len(rows), len(rows) < len(sums) // 10)
            self.source.add(rows, weights[rows], sums, again)

    def nearest(self, labels, squares, sizes):
        return _two_nearest(self._compared(squares, sizes), labels)

    def exchanged(self, labels, weights, squares, sizes):
        # to leave cluster a lessens the inertia by w W_a / (W_a - w) |φ - μ_a|², and to join b adds
        # w W_b / (W_b + w) |φ - μ_b|² (Hartigan, "Clustering algorithms", 1975, chapter 4)
        every, full = np.arange(len(labels)), sizes > 0
        D = self._compared(squares, sizes)
        D[full] += self.diag
        D[~full] = 0
        left = sizes[labels] - weights
        leaves = weights * sizes[labels] / np.where(left > 0, left, 1) * D[labels, every]
        D *= sizes[:, None] * weights / (sizes[:, None] + weights)
        D[labels, every] = np.inf
        target, gain = D.argmin(axis=0), leaves - D.min(axis=0)
        alone = np.bincount(labels, minlength=len(sizes))[labels] == 1
        gain[alone] = 0
        after, free = labels.copy(), np.ones(len(sizes), bool)
        for i in np.argsort(-gain, kind="stable"):
            if not gain[i] > self.room * weights[i]:
                break
            pair = [labels[i], target[i]]
            if free[pair].all():
                after[i], free[pair] = target[i], False
        return after

    def _compared(self, squares: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """|μ|² - 2 <φ, μ> of all clusters and samples; infinite for empty clusters."""
        full = sizes > 0
        D = self.sums * (-2 / np.where(full, sizes, 1))[:, None]
        D += np.where(full, squares, np.inf)[:, None]
        return D


def estimated_diagonal(K: GramOperator) -> np.ndarray:
    """About k(x, x) of each row, by products of K with random signs.

    An entry is wrong by a root of Σ_j K_ij² / 64, and their sum by much less (Bekas, Kokiopoulou &
    Saad, "An estimator for the diagonal of a matrix", 2007).
    """
    signs = np.random.default_rng(0).integers(0, 2, (K.shape[0], PROBES)) * 2.0 - 1
    return np.einsum("ij,ij->i", signs, K @ signs) / PROBES


class Centres(ClusterSpace):
    """Centres in the space of the rows of a factor F.

    ``far`` is at least the distance of a sample to its centre, ``near`` at most that to any other
    one. When a centre moves, they change by the way that it went (Hamerly 2010).
    """

    def __init__(self, K: FactoredGram, clusters: int, n_jobs: int | None):
        self.K, self.diag = K, np.asarray(K.diag(), np.float64)
        self.room = _rounding(self.diag, K.dtype)
        self.sums, self.n_jobs = np.zeros((clusters, K.rank)), n_jobs
        self.centres = self.sums.copy()
        self.full = np.zeros(clusters, bool)  # whether the cluster has samples
        self.labels: np.ndarray | None = None
        self.far, self.near = np.full(len(self.diag), np.inf), np.zeros(len(self.diag))

    def products(self, rows: np.ndarray) -> np.ndarray:
        F = self.K.factor(rows)
        chosen = np.asarray(F.toarray() if sp.issparse(F) else F).T
        parts = self._by_strips(lambda _, F: np.asarray(F @ chosen, np.float64))
        return np.concatenate(list(parts)).T

    def _by_strips(self, task: Callable, rows: np.ndarray | None = None) -> Iterator:
        """task(numbers of the rows, their F) for parts of some rows, or of all."""
        if rows is None or len(rows) == len(self.diag):
            return ordered_map(lambda part: task(*part), self.K.strips(), self.n_jobs)
        parts = (rows[s : s + STRIP] for s in range(0, len(rows), STRIP))
        return ordered_map(lambda part: task(part, self.K.factor(part)), parts, self.n_jobs)

    def place(self, labels: np.ndarray, weights: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        before, changed, k = self.labels, _changed(self.labels, labels), len(sizes)
        if len(changed) == len(labels):
            self.sums[:], before = 0, None

        def strip(rows: slice, F: np.ndarray) -> np.ndarray:
            joins = _indicators(labels[rows], weights[rows], k, F.dtype)
            if before is not None:
                joins = joins - _indicators(before[rows], weights[rows], k, F.dtype)
            return joins @ F

        for part in self._by_strips(strip, changed):
            self.sums += part
        centres, full = self.sums / np.where(sizes > 0, sizes, 1)[:, None], sizes > 0
        self._widen(labels, np.linalg.norm(centres - self.centres, axis=1))
        unknown = slice(None) if (full > self.full).any() else changed
        self.far[unknown], self.near[unknown] = np.inf, 0.0
        self.labels, self.centres, self.full = labels.copy(), centres, full
        return np.einsum("cj,cj->c", centres, centres)

    def _widen(self, labels: np.ndarray, ways: np.ndarray) -> None:
        """The bounds after the centres went these ways."""
        first = int(ways.argmax())
        others = np.full(len(ways), ways[first])  # the longest way of another centre
        others[first] = np.delete(ways, first).max(initial=0)
        self.far += ways[labels]
        self.near -= others[labels]

    def moves(self, labels, squares, sizes) -> tuple[np.ndarray, np.ndarray]:
        rows = np.flatnonzero(self.far > self.near)
        nearest, near, own, other = self._compare(rows, labels, squares, sizes)
        squared = own + self.diag[rows], other + self.diag[rows]
        self.far[rows] = np.sqrt(np.maximum(squared[0], 0) + self.room)
        self.near[rows] = np.sqrt(np.maximum(squared[1] - self.room, 0))
        moved = near < own - self.room
        return rows[moved], nearest[moved]

    def nearest(self, labels, squares, sizes):
        return self._compare(np.arange(len(labels)), labels, squares, sizes)

    def _compare(self, rows, labels, squares, sizes) -> tuple[np.ndarray, ...]:
        """`nearest` for some rows."""
        C = np.ascontiguousarray(self.centres.T.astype(self.K.dtype))
        offsets = np.where(sizes > 0, squares, np.inf)

        def strip(part: SamplesLike, F: np.ndarray) -> tuple[np.ndarray, ...]:
            D = -2 * np.asarray(F @ C, np.float64).T + offsets[:, None]
            return _two_nearest(D, labels[part])

        parts = list(self._by_strips(strip, rows))
        if not parts:
            return tuple(np.empty(0, kind) for kind in (np.intp, float, float, float))
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
        self.labels = None  # the sums and bounds are those of other centres
        return self.nearest(labels, squares, seen)[0]


def _rounding(diag: np.ndarray, dtype: Any) -> float:
    """What rounding may change of squared distances."""
    return ROUNDING * float(np.finfo(dtype).eps) * float(np.abs(diag).max())


def _changed(before: np.ndarray | None, labels: np.ndarray) -> np.ndarray:
    """The samples whose sums are to be changed: all, where many have another label."""
    if before is None or (before != labels).mean() > WHOLE:
        return np.arange(len(labels))
    return np.flatnonzero(before != labels)


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
