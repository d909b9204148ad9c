"""Nearest neighbours under any metric by a tree of vantage points.

Each node is divided by the distance to one of its rows, the vantage point: the nearer half and the
farther half. By the triangle inequality no row of a half is nearer to a query than the query's
distance to the vantage point is outside of the half's range.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.distances import Distance
from mercer.estimator import estimator
from mercer.persistence import fields, floats, halves, length_of, offsets
from mercer.samples import Samples, check_count
from mercer.search.index import Index
from mercer.search.rows import EDGE, Selection, slices
from mercer.search.vectors import SummedRows, exact_tiles

LEAF, LEAVES = 64, 4096  # rows of a leaf at least, and leaves of a tree at most
ITSELF = 64  # rows whose distance to themselves is computed


@fields(
    _halves=halves,
    _ranges=floats(3, lambda tree: len(tree._halves)),
    _starts=offsets(lambda tree: len(tree._training), length=lambda tree: len(tree._halves) + 2),
    vantages_=length_of(lambda tree: len(tree._halves)),
)
@estimator
class MetricTree(Index):
    r"""An index for any metric: of strings, sets, categories, tables, kernels.

    .. math:: d(z, x) \ge |d(z, v) - d(v, x)|

    By this bound, with the distances from a vantage point v, parts farther away than the k nearest
    rows so far are passed over. Results have the shape (queries, k).

    Parameters
    ----------
    distance : Distance
        Its attribute ``metric`` must be True.
    leaf_size : int >= 1, optional
        Rows of a leaf at most, where that makes at most 4,096 leaves. None: 64. Results do not
        depend on it; distances to the rows of a leaf are computed together.

    Attributes
    ----------
    vantages_ : encoded samples
        The vantage point of each inner node.

    Raises
    ------
    ValueError
        The distance is not a metric.

    See Also
    --------
    KDTree : Faster for a few columns of numbers.
    BruteForce : For every distance; the results are the same.

    Notes
    -----
    It takes n log n distances to build, and a query at least n / leaf_size, those to the vantage
    points. It pays where distances are costly and rows form groups. If most distances are alike,
    as between long random texts, no half can be ruled out, and brute force is faster:
    ``fit_index(..., "auto")`` finds out. Of equally near rows the one of smaller index comes first.

    References
    ----------
    Yianilos, "Data structures and algorithms for nearest neighbor search in general metric spaces",
    SODA 1993.

    Examples
    --------
    >>> from mercer.distances import Edit
    >>> index = MetricTree(Edit()).fit(["anna", "hanna", "otto", "anne"])
    >>> index.query(["hannah"], k=2)
    (array([[1., 2.]]), array([[1, 0]]))
    """

    distance: Distance
    memory: int | float | str | None = None
    n_jobs: int | None = None
    leaf_size: int | None = None

    holds_copies_once = True

    def arrange(self, X: Samples) -> np.ndarray:
        distance = exact_tiles(self.distance_, X)
        if not self.distance_.metric:
            raise ValueError(
                f"distance={self.distance_!r} is not a metric: the triangle inequality, by which "
                "MetricTree rules rows out, does not hold. Use BruteForce."
            )
        n = X.shape[0]
        check_count("leaf_size", self.leaf_size)
        leaf = max(LEAF if self.leaf_size is None else int(self.leaf_size), -(-n // LEAVES))
        rows, order = distance.prepare(X), np.arange(n)
        near = distance.block(rows, rows[:1])[:, 0]  # to the vantage point of the parent
        vantages: list[int] = []
        #: of each inner node: the range of the distances of either half, and what the half is, a
        #: node or ~ leaf; halves that are leaves follow each other as their rows do
        ranges: list[list] = []
        halves: list[list[int]] = []
        starts: list[int] = []
        # the parent and its half, rows from where to where, distances to the parent's vantage point
        waiting = [(-1, 0, 0, n, near)]
        while waiting:
            parent, half, begin, end, near = waiting.pop()
            here = len(vantages)
            if end - begin <= leaf:
                here = ~len(starts)
                starts.append(begin)
            if parent >= 0:
                halves[parent][half] = here
            if here < 0:
                continue
            mine = order[begin:end]
            vantage = int(
                mine[near.argmax()]
            )  # far from the last one, so that it sees other things
            near = distance.block(rows[mine], rows[vantage : vantage + 1])[:, 0].astype(np.float64)
            by_distance = np.argsort(near, kind="stable")
            order[begin:end], near = mine[by_distance], near[by_distance]
            middle = (end - begin) // 2
            parts = near[:middle], near[middle:]
            vantages.append(vantage)
            ranges.append([[part[0], part[-1]] for part in parts])
            halves.append([0, 0])
            # the first half is taken first, so that leaves follow each other
            waiting.append((here, 1, begin + middle, end, parts[1]))
            waiting.append((here, 0, begin, begin + middle, parts[0]))
        self.vantages_ = X[np.array(vantages, np.int64)]
        self._ranges = np.array(ranges, np.float64).reshape(-1, 2, 2)
        self._halves = np.array(halves, np.int64).reshape(-1, 2)
        self._starts = np.array([*starts, n], np.int64)
        self._slack = self._rounding(X, self._ranges)
        return order

    def insert(self, X: Samples) -> bool:
        """Rows go to the leaf on their side of all divisions, whose ranges grow to hold them."""
        ranges, starts = self._ranges.copy(), self._starts
        homes = [
            self._home(self._to_vantages(X[part]), ranges) for part in slices(X.shape[0], EDGE)
        ]
        leaves = len(starts) - 1
        leaf = np.concatenate([np.repeat(np.arange(leaves), np.diff(starts)), *homes])
        training = self._training.with_more(X, np.argsort(leaf, kind="stable"))
        training.prepare(exact_tiles(self.distance_, training.X))
        slack = self._rounding(training.X, ranges)
        self._training, self._ranges, self._slack = training, ranges, slack
        self._starts = np.concatenate(([0], np.cumsum(np.bincount(leaf, minlength=leaves))))
        return True

    def _rounding(self, X: Samples, ranges: np.ndarray) -> float:
        """The error that distances may have: rounding must not rule rows out."""
        distance, eps = exact_tiles(self.distance_, X), np.finfo(X.dtype).eps
        largest = ranges.max(initial=0)
        ratios = distance.exponent == 1 and distance.reads.discrete  # of small integers
        if ratios or isinstance(distance, SummedRows):
            return float(64 * eps * largest)
        # the square root of rounding, as of ‖x‖² + ‖z‖² - 2<x, z>; how large the terms are is not
        # known, but the distance of a row to itself shows it
        some = X[np.linspace(0, X.shape[0] - 1, min(ITSELF, X.shape[0])).astype(np.int64)]
        A, B = distance.prepare(some), distance.prepare(some[::1])
        seen = np.diagonal(distance.block(A, B)).max() if distance.reflexive else 0.0
        return float(4 * np.sqrt(eps) * largest + 8 * seen)

    def arrange_queries(self, Z: Samples) -> np.ndarray | None:
        if Z.shape[0] <= EDGE:
            return None  # they have one tile, and distances to the vantage points may be costly
        homes = [self._home(self._to_vantages(Z[part])) for part in slices(Z.shape[0], EDGE)]
        return np.argsort(np.concatenate(homes), kind="stable")

    def candidates(self, Z: Samples, limits: np.ndarray) -> Iterator[tuple[Selection, Selection]]:
        """The leaf on each query's own side first, then all leaves that are not ruled out."""
        D = self._to_vantages(Z)
        home, least = self._home(D), self._least(D)
        for leaf in np.unique(home):
            yield np.flatnonzero(home == leaf), self._rows(leaf)
        for leaf in np.argsort(least.mean(axis=0), kind="stable"):
            near = (least[:, leaf] <= limits) & (home != leaf)
            if near.any():
                yield np.flatnonzero(near), self._rows(leaf)

    def rows_left(self, Z: Samples, limits: np.ndarray) -> float:
        """How many distances an encoded query takes on average, if its neighbours are known to be
        within its limit."""
        left = self._least(self._to_vantages(Z)) <= limits[:, None]
        return len(self._halves) + float((left @ np.diff(self._starts)).mean())

    def _to_vantages(self, Z: Samples) -> np.ndarray:
        if not len(self._halves):
            return np.empty((Z.shape[0], 0))
        distance = exact_tiles(self.distance_, self.vantages_)
        return distance.whole(Z, self.vantages_).astype(np.float64, copy=False)

    def _rows(self, leaf: int) -> slice:
        return slice(int(self._starts[leaf]), int(self._starts[leaf + 1]))

    def _home(self, D: np.ndarray, ranges: np.ndarray | None = None) -> np.ndarray:
        """The leaf on a query's side of all divisions, from its distances to vantage points; these
        are put into ``ranges``."""
        if not D.shape[1]:
            return np.zeros(len(D), np.int64)
        place, every = np.zeros(len(D), np.int64), np.arange(len(D))
        while (inner := place >= 0).any():
            node = np.where(inner, place, 0)
            far = D[every, node]
            last, first = self._ranges[node, 0, 1], self._ranges[node, 1, 0]
            side = (far - last > first - far).astype(np.int64)
            if ranges is not None:
                first, ends = 4 * node[inner] + 2 * side[inner], ranges.reshape(-1)
                np.minimum.at(ends, first, far[inner])
                np.maximum.at(ends, first + 1, far[inner])
            place = np.where(inner, self._halves[node, side], place)
        return ~place

    def _least(self, D: np.ndarray) -> np.ndarray:
        """No row of a leaf is nearer to a query than this, (n, leaves)."""
        leaves = np.zeros((len(D), len(self._starts) - 1))
        nodes, inside = np.zeros(min(1, D.shape[1]), np.int64), np.zeros((len(D), 1))
        while len(nodes):  # one level of the tree after the other
            far = D[:, nodes, None]
            low, high = self._ranges[nodes, :, 0], self._ranges[nodes, :, 1]
            least = np.maximum(np.maximum(far - high, low - far), inside[:, :, None])
            halves = self._halves[nodes].ravel()
            least = least.reshape(len(D), -1)
            leaves[:, ~halves[halves < 0]] = least[:, halves < 0]
            nodes, inside = halves[halves >= 0], least[:, halves >= 0]
        return leaves * (1 - 1e-6) - self._slack
