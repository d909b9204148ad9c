r"""Maps of a graph in one to three dimensions: neighbours pull, and all points push each other.

The forces are those of t-SNE. The push of all pairs is the slope of one potential,
:math:`\sum_j 1 / (1 + \|y - y_j\|^2)`, which is computed on a grid: cubic B-splines spread the
points to its nodes, and a Fourier transform sums over them (as FIt-SNE does with three or four
charges; the slopes of the splines make one enough). In three dimensions, where a grid would have
too many nodes, and along a line it is summed over all points. Sums are of whole numbers, or in the
order of the rows, so that the map does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

import numpy as np
import scipy.fft
import scipy.sparse as sp

from mercer import _native
from mercer.gram import DenseGram
from mercer.persistence import fields, floats
from mercer.solvers.eigen import TopEigenSolver, dense_eigenpairs
from mercer.threads import count_jobs, ordered_map, raise_if_stopped

# With this distance of nodes the force is off by 2.3%, with .7 by 5% (3,000 points of width 10);
# beyond .7 the share of neighbours that a map keeps falls by .01.
SPACING = 0.5
LEAST_NODES, NODES_STEP, MARGIN = (
    64,
    32,
    8,
)  # sizes grow in steps, so that a kernel serves many maps
EACH_ROOT = 8  # most nodes on a side, for each root of the number of points
STRIP = 8192  # points of one task
SUMMED = 512  # points of one task, where each asks all others
EARLY, EARLY_SHARE = 12.0, 0.24  # exaggeration of the first steps, and their share of all
CALM, FAST = 0.5, 0.8  # momentum of the first steps and of the others
LONGEST = 5.0  # step of a point
FAR_ROWS = 20_000  # beyond, points are numbered by their place, so that memory is read in order
START, PARTED = 1e-4, 1e-6  # width of the first map, and of the noise that parts equal rows
PLACING, PACE = 100, 0.3  # steps and rate for new points
WHOLE, FEW_OF = 1000, 20  # landmarks, and their share of eigenvalues, whose matrix is all solved
SCALED = partial(TopEigenSolver, tol=1e-10, random_state=0)


@fields(
    origin=floats(1, lambda grid: 2),
    potential=floats(2, columns=lambda grid: len(grid.potential)),
)
@dataclass(frozen=True, eq=False)
class Potential:
    """The potential of a map on the nodes of a grid.

    Attributes
    ----------
    origin : ndarray of shape (2,)
        The corner of the grid.
    spacing : float
    potential : ndarray of shape (side, side)
    pairs : float
        Σ 1 / (1 + |y_i - y_j|²) over all pairs of different points, if it was asked for.
    """

    origin: np.ndarray
    spacing: float
    potential: np.ndarray
    pairs: float = 0.0

    axes = 2

    def at(self, Y: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """The potential at some points, and its two derivatives, (n, 3)."""
        out = np.empty((len(Y), 3))

        def strip(start: int) -> None:
            rows = slice(start, start + STRIP)
            _native.embedding_gather(Y[rows], *self.origin, self.spacing, self.potential, out[rows])

        for _ in ordered_map(strip, range(0, len(Y), STRIP), n_jobs):
            pass
        return out

    def place(self, near: np.ndarray, Y: np.ndarray, factor: float, out: np.ndarray) -> None:
        """Write the places of new rows with these neighbours; the pull has this factor."""
        _native.embedding_place(
            near, Y, *self.origin, self.spacing, self.potential, self.pairs / len(Y), factor,
            PLACING, PACE, out,
        )  # fmt: skip


@fields(points=floats(2, columns=lambda potential: potential.axes))
@dataclass(frozen=True, eq=False)
class SummedPotential:
    """The potential of a map along a line or in three dimensions, summed over all of its points.

    Attributes
    ----------
    points : ndarray of shape (n, axes)
    pairs : float
        The number that `Potential` has.
    """

    points: np.ndarray
    pairs: float = 0.0

    @property
    def axes(self) -> int:
        return self.points.shape[1]

    def at(self, Y: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """The potential at some points, and its derivatives, (n, axes + 1)."""
        out = np.empty((len(Y), 4))
        those = np.ascontiguousarray(in_space(self.points).T, np.float32)

        def strip(start: int) -> None:
            rows = slice(start, start + SUMMED)
            some = np.ascontiguousarray(in_space(Y[rows]).T, np.float32)
            _native.embedding_sum(those, some, out[rows])

        for _ in ordered_map(strip, range(0, len(Y), SUMMED), n_jobs):
            pass
        return np.ascontiguousarray(out[:, : self.axes + 1])

    def place(self, near: np.ndarray, Y: np.ndarray, factor: float, out: np.ndarray) -> None:
        """Write the places of new rows, as `Potential` does."""
        share, found = self.pairs / len(Y), np.empty((len(out), 3))
        _native.embedding_place_among(near, in_space(Y), share, factor, PLACING, PACE, found)
        out[:] = found[:, : self.axes]


def in_space(Y: np.ndarray) -> np.ndarray:
    """Points with three coordinates; those that they lack are 0, and no force changes them."""
    return np.hstack([Y, np.zeros((len(Y), 3 - Y.shape[1]))])


@dataclass
class PotentialGrid:
    """Makes the `Potential` of maps, and keeps the Fourier transform of its kernel."""

    n_jobs: int | None = None
    kernels: dict[tuple[int, float], tuple[int, np.ndarray]] = field(default_factory=dict)

    def of(self, Y: np.ndarray) -> Potential:
        """The potential of the points Y (n, 2)."""
        low, high = extremes(Y)
        extent = float((high - low).max())
        spacing = min(SPACING, max(extent, 1e-12) / (LEAST_NODES - MARGIN))
        # few points that are far apart need no fine grid, which would take all the memory
        spacing = max(spacing, extent / (LEAST_NODES + EACH_ROOT * np.sqrt(len(Y))))
        side = -(-int(extent / spacing + MARGIN) // NODES_STEP) * NODES_STEP
        origin = low - 3 * spacing
        size, kernel = self._kernel(side, spacing)
        # the potential of a small map is nearly constant: its slopes need all digits
        real = np.float32 if spacing >= SPACING else np.float64
        jobs = self._workers(size)
        charges = np.multiply(self._charges(Y, origin, spacing, side), 2.0**-32, dtype=real)
        waves: Any = scipy.fft.rfft2(charges, (size, size), workers=jobs)
        waves *= kernel.astype(waves.dtype)
        found: Any = scipy.fft.irfft2(waves, (size, size), workers=jobs)
        return Potential(origin, spacing, np.ascontiguousarray(found[:side, :side], np.float64))

    def _charges(self, Y: np.ndarray, origin: np.ndarray, spacing: float, side: int) -> np.ndarray:
        """The charges of all points on a grid."""

        def part(start: int) -> np.ndarray:
            charges = np.zeros((side, side), np.int64)
            _native.embedding_spread(Y[start : start + step], *origin, spacing, charges)
            return charges

        # each task has a grid of its own: a few for many points
        step = max(STRIP, -(-len(Y) // count_jobs(self.n_jobs)))
        return reduce(np.add, ordered_map(part, range(0, len(Y), step), self.n_jobs))

    def _kernel(self, side: int, spacing: float) -> tuple[int, np.ndarray]:
        """The size of a transform that holds the grid twice, and that of 1 / (1 + r²)."""
        key = side, spacing
        if key not in self.kernels:
            size = int(scipy.fft.next_fast_len(2 * side, real=True) or 0)
            gaps = np.minimum(np.arange(size), size - np.arange(size)) * spacing
            waves: Any = scipy.fft.rfft2(
                1 / (1 + gaps[:, None] ** 2 + gaps**2), workers=self._workers(size)
            )
            # points are spread by splines, and read by splines: divide by their transform twice
            spline = (4 + 2 * np.cos(2 * np.pi * np.arange(size) / size)) / 6
            waves /= spline[:, None] ** 2 * spline[: size // 2 + 1] ** 2
            if len(self.kernels) > 2:  # a map that still grows uses each for a few steps
                self.kernels.clear()
            self.kernels[key] = size, waves
        return self.kernels[key]

    def _workers(self, size: int) -> int:
        return count_jobs(self.n_jobs) if size > 600 else 1  # threads take longer to start


@dataclass(frozen=True)
class EmbeddingSolver:
    r"""Places whose similarities are near given ones, by gradient descent with momentum:

    .. math:: \min_Y \, \sum_{ij} p_{ij} \log \frac{p_{ij}}{q_{ij}}, \qquad
              q_{ij} \propto \frac{1}{1 + \|y_i - y_j\|^2}

    P, of shape (n, n), is a symmetric sparse matrix of sum 1; Y has the shape (n, dimensions).

    Parameters
    ----------
    exaggeration : float > 0
        Factor of the pull. 1 is t-SNE; larger ones draw clusters together, and keep fewer
        neighbours.
    steps : int
        Steps in all, of which the first quarter has an exaggeration of 12.
    n_jobs : int, optional

    Notes
    -----
    A step takes O(N + n + G² log G) operations for N edges and a grid of G nodes on a side; memory
    is about 12 N + 120 n + 60 G² bytes. In one or three dimensions it takes O(N + n²).

    References
    ----------
    van der Maaten & Hinton, "Visualizing data using t-SNE", JMLR 9, 2008; Linderman et al., "Fast
    interpolation-based t-SNE for improved visualization of single-cell RNA-seq data", Nature
    Methods 16, 2019; Böhm, Berens & Kobak, "Attraction-repulsion spectrum in neighbor embeddings",
    JMLR 23, 2022.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> pairs = sp.csr_array(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]) / 4)
    >>> start = np.random.default_rng(0).normal(size=(4, 1))
    >>> Y, _ = EmbeddingSolver(steps=100).solve(pairs, start)
    >>> bool(abs(Y[0] - Y[1]) < abs(Y[0] - Y[2]))
    True
    """

    exaggeration: float = 1.0
    steps: int = 250
    n_jobs: int | None = None

    def solve(
        self, P: sp.csr_array, start: np.ndarray, seed: int = 0
    ) -> tuple[np.ndarray, Potential | SummedPotential]:
        """The map of the rows of P, and its potential, from a first map (n, axes).

        The width of the first one does not matter; ``seed`` draws the noise that parts equal rows.
        """
        n, flat = len(start), start.shape[1] == 2
        potential_of = PotentialGrid(self.n_jobs).of if flat else SummedPotential
        Y = start - start.mean(axis=0)
        Y *= START / max(float(Y.std(axis=0).max()), np.finfo(float).tiny)
        Y += np.random.default_rng(seed).normal(size=Y.shape) * PARTED
        early = int(EARLY_SHARE * self.steps)
        for exaggeration, steps, momentum in (
            (EARLY, early, CALM), (self.exaggeration, self.steps - early, FAST),
        ):  # fmt: skip
            order = by_place(Y) if n > FAR_ROWS else np.arange(n)
            Y[order] = self._descend(P, order, Y, exaggeration, steps, momentum, potential_of)
        potential = potential_of(Y)
        return Y, replace(potential, pairs=pairs_of(potential.at(Y, self.n_jobs)))

    def _descend(
        self,
        P: sp.csr_array,
        order: np.ndarray,
        Y: np.ndarray,
        exaggeration: float,
        steps: int,
        momentum: float,
        potential_of: Callable[[np.ndarray], Potential | SummedPotential],
    ) -> np.ndarray:
        """The map in this order after so many steps."""
        n = len(Y)
        Y, pull = np.ascontiguousarray(Y[order]), sp.csr_array(P[order][:, order])
        pull.sort_indices()
        starts, columns = pull.indptr.astype(np.int64), pull.indices.astype(np.int32)
        weights, rate = pull.data.astype(np.float32), n / exaggeration
        moved, gains = np.zeros_like(Y), np.ones_like(Y)
        for _ in range(steps):
            raise_if_stopped()
            push, out = potential_of(Y).at(Y, self.n_jobs), np.empty_like(Y)
            step = partial(
                _native.embedding_descend, starts=starts, columns=columns, pull=weights,
                exaggeration=exaggeration, share=pairs_of(push), rate=rate, momentum=momentum,
                longest=LONGEST, Y=Y, moved=moved, gains=gains, out=out,
            )  # fmt: skip
            strips = [(begin, push[begin : begin + STRIP]) for begin in range(0, n, STRIP)]
            for _ in ordered_map(
                lambda strip, step=step: step(strip[0], push=strip[1]), strips, self.n_jobs
            ):
                pass
            for column in out.T:  # numpy is slow along the first axis of a few columns
                column -= column.mean()
            Y = out
        return Y

    def divergence(
        self, P: sp.csr_array, Y: np.ndarray, potential: Potential | SummedPotential
    ) -> float:
        """Σ p log(p / q) of a map, over the edges of its graph."""
        edges = sp.coo_array(P)
        gaps = ((Y[edges.row] - Y[edges.col]) ** 2).sum(axis=1)
        return float((edges.data * np.log(edges.data * (1 + gaps) * potential.pairs)).sum())

    def place(
        self, near: np.ndarray, Y: np.ndarray, potential: Potential | SummedPotential
    ) -> np.ndarray:
        """Places of new rows in a map Y, from the numbers of their neighbours (q, k).

        Each moves alone in the potential of the map, so that new rows do not see each other.
        """
        near, out = np.ascontiguousarray(near, np.int64), np.empty((len(near), Y.shape[1]))
        step = STRIP if potential.axes == 2 else SUMMED

        def strip(begin: int) -> None:
            raise_if_stopped()
            rows = slice(begin, begin + step)
            potential.place(near[rows], Y, max(self.exaggeration, 1.0), out[rows])

        for _ in ordered_map(strip, range(0, len(near), step), self.n_jobs):
            pass
        return out


@fields(
    means=floats(1),
    lift=floats(2, lambda scaling: len(scaling.means)),
    values=floats(1, lambda scaling: scaling.lift.shape[1]),
)
@dataclass(frozen=True, eq=False)
class LandmarkScaling:
    r"""Classical scaling of some samples, the landmarks, and places of others by their distances.

    .. math:: Y = V \Lambda^{1/2}, \qquad B = -\tfrac12 J D^2 J \approx V \Lambda V^\top, \qquad
              y = \tfrac12 \Lambda^{-1/2} V^\top (\bar d - d)

    The m landmarks have the coordinates Y, with the largest eigenvalues Λ of B; a sample with the
    squared distances d, of shape (m,), to them has y.

    Attributes
    ----------
    means : ndarray of shape (m,)
        Means of the squared distances to each landmark.
    lift : ndarray of shape (m, count)
        :math:`V \Lambda^{-1/2}`; 0 where no eigenvalue is above 0.
    values : ndarray of shape (count,)
        The eigenvalues, descending; those that are not above 0 are 0.

    References
    ----------
    de Silva & Tenenbaum, "Sparse multidimensional scaling using landmark points", 2004.

    Examples
    --------
    >>> squares = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 4.0], [9.0, 4.0, 0.0]])
    >>> LandmarkScaling.of(squares, 1).places(squares).round(6)
    array([[-1.333333],
           [-0.333333],
           [ 1.666667]])
    """

    means: np.ndarray
    lift: np.ndarray
    values: np.ndarray

    @property
    def landmarks(self) -> int:
        return len(self.means)

    @property
    def count(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, squares: np.ndarray, count: int) -> LandmarkScaling:
        """The map that the squared distances of the landmarks make, (m, m)."""
        means, m = squares.mean(axis=0), len(squares)
        K = DenseGram((means + means[:, None] - means.mean() - squares) / 2, symmetric=True)
        few = m <= WHOLE or count > m // FEW_OF
        found = dense_eigenpairs(K, count) if few else SCALED(count).solve(K)
        values, vectors = found.values, np.array(found.coef)
        largest = np.abs(vectors).argmax(axis=0)  # a sign that does not depend on the solver
        vectors *= np.sign(vectors[largest, np.arange(count)])
        least = max(1e-12 * float(values[0]), np.finfo(float).tiny)
        values = np.where(values > least, values, 0.0)
        roots = np.sqrt(np.where(values > 0, values, np.inf))
        return cls(means, vectors / roots, values)

    def places(self, squares: np.ndarray) -> np.ndarray:
        """The places of samples, from their squared distances to the landmarks, (n, m)."""
        return (self.means - squares) @ self.lift / 2

    def lost(self, squares: np.ndarray) -> float:
        """The root of Σ λ² over all eigenvalues of B but those of the map, over m."""
        means, m = squares.mean(axis=0), len(squares)
        total = ((means + means[:, None] - means.mean() - squares) ** 2).sum() / 4
        return float(np.sqrt(max(total - (self.values**2).sum(), 0.0))) / m


def extremes(Y: np.ndarray) -> np.ndarray:
    """The least and the largest of each column, (2, axes)."""
    return np.array([[column.min(), column.max()] for column in Y.T]).T


def pairs_of(push: np.ndarray) -> float:
    """Σ 1 / (1 + |y_i - y_j|²) over all pairs of different points, from the potential at each."""
    return max(float(push[:, 0].sum() - len(push)), 1e-12)


def by_place(Y: np.ndarray) -> np.ndarray:
    """An order in which points are near that are so in their first and last coordinate (Morton).

    Examples
    --------
    >>> by_place(np.array([[0.0, 0.0], [9.0, 9.0], [1.0, 1.0], [9.0, 8.0]]))
    array([0, 2, 3, 1])
    """
    low, high = extremes(Y)
    cells = ((Y - low) / max((high - low).max(), np.finfo(float).tiny) * 65535).astype(np.uint64)
    for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        cells = (cells | (cells << np.uint64(shift))) & np.uint64(mask)
    return np.argsort((cells[:, 0] << np.uint64(1)) | cells[:, -1], kind="stable")
