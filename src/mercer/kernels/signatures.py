"""The signature kernel on time series: what iterated sums over the steps of two series share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.distances import Meaning, Minkowski, all_pairs, own_pairs, signature_sums
from mercer.kernels.bandwidths import median_distance
from mercer.kernels.base import Kernel
from mercer.samples import Prepared, Series, is_number, is_whole

LARGEST = 0.1  # largest product of two steps on the grid of the differential equation
MOST_HALVINGS = 8  # of each step
MOST_LEVELS = 64


class Signature(Kernel):
    r"""Signature kernel, the inner product of iterated sums over the steps of two series,

    .. math::
        k(x, z) = 1 + \sum_{q=1}^{M} \; \sum_{i_1 < \cdots < i_q} \; \sum_{j_1 < \cdots < j_q} \;
        \prod_{r=1}^{q} D_{i_r j_r},
        \qquad D_{ij} = \langle x_{i+1} - x_i, \, z_{j+1} - z_j \rangle.

    Parameters
    ----------
    levels : int in 1 .. 64 or None, default=5
        M: how many steps are looked at together. None: the limit for paths that go straight from
        point to point, of all levels, by a differential equation.
    length_scale : float > 0, "auto" or None, default=None
        σ: steps are those in the feature space of the Gaussian kernel
        :math:`e^{-\|x_i - z_j\|^2 / 2 \sigma^2}`. "auto" is the median distance between points of
        the training sample. None: steps in the space of the points themselves.
    time : bool, default=False
        Whether time, from 0 to 1, is a channel more. Without it the kernel does not see how fast a
        path is run through.
    basepoint : bool, default=False
        Whether each series begins with a step from 0. Without it the kernel does not see where a
        series begins.

    See Also
    --------
    GlobalAlignment : All ways to align the points of two series.

    Notes
    -----
    With ``levels`` it is positive semidefinite. With None, the equation is solved on two grids, and
    their values are extrapolated: each step is halved until a product of two steps is at most 0.1,
    as far as the longest steps of the two series tell, and once more. That gives relative errors
    below 1e-3 where products of steps are up to 16; `check_mercer` tests a sample.

    Repeated points change nothing. A pair of n and m points with d channels takes n m (d + 2 M)
    operations, or n m (d + 25 · 4^h) for h halvings. Bring the series to one scale first, for steps
    enter with their M-th powers; and normalise the kernel if the lengths differ.

    References
    ----------
    Király & Oberhauser, "Kernels for sequentially ordered data", JMLR 20, 2019; Salvi, Cass,
    Foster, Lyons & Yang, "The signature kernel is the solution of a Goursat PDE", SIAM J. Math.
    Data Sci. 3, 2021.

    Examples
    --------
    Two steps of 1, and one of 2: 1 + 4 for single steps, and 1 more where two steps are taken
    together, which the second series does not have:

    >>> Signature(2)([[0.0, 1.0, 2.0]], [[0.0, 1.0, 2.0], [0.0, 2.0]])
    array([[6., 5.]])

    The limit for straight paths does not see the point between:

    >>> Signature(None)([[0.0, 1.0, 2.0]], [[0.0, 1.0, 2.0], [0.0, 2.0]]).round(2)
    array([[11.3, 11.3]])
    """

    meaning = Meaning(
        "Σ_q Σ Π D over q ascending steps of x and of z",
        "how far the order of up-and-down steps of two series is the same",
    )

    kind = "series"

    def __init__(
        self, levels: int | None = 5, length_scale: float | str | None = None, time: bool = False,
        basepoint: bool = False,
    ):  # fmt: skip
        self.levels = levels
        self.length_scale = length_scale
        self.time = time
        self.basepoint = basepoint

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        return None if self.levels is None else True

    def validate(self) -> None:
        levels, scale = self.levels, self.length_scale
        if not (levels is None or (is_whole(levels) and 1 <= levels <= MOST_LEVELS)):
            raise ValueError(
                f"levels={levels!r}: give an integer from 1 to {MOST_LEVELS}, or None."
            )
        if not (scale is None or scale == "auto" or is_number(scale)):
            raise TypeError(f'length_scale={scale!r}: give a number > 0, "auto" or None.')
        if is_number(scale) and not 0 < scale < np.inf:
            raise ValueError(f"length_scale={scale!r}: give a finite number > 0.")
        for name in ("time", "basepoint"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise TypeError(f"{name}={getattr(self, name)!r}: give True or False.")

    def bind(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        self.validate()
        if self.length_scale != "auto":
            return self
        of_points = None
        if sample_weight is not None:
            of_points = np.repeat(np.asarray(sample_weight), self.path(X).lengths)
        return self.copied(
            length_scale=median_distance(Minkowski(2), self.path(X).values, of_points)
        )

    def pair_cost(self, X: Any) -> float:
        series = X.parts[0] if isinstance(X, Prepared) else X
        if not len(series):
            return 0.0
        each = series.channels + (2.0 * self.levels if self.levels else 20.0)
        return each * float(series.lengths.mean()) ** 2

    def prepare(self, X: Any, like: Any = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        path = self.path(X)
        return Prepared((path, self._longest_steps(path)))

    def block(self, X: Any, Z: Any) -> np.ndarray:
        same = X is Z
        X, Z = self.sides(X, Z)
        n, m = X.shape[0], Z.shape[0]
        dtype = np.result_type(X.dtype, Z.dtype)
        if not same:
            return self._values(X, Z, all_pairs(n, m)).reshape(n, m).astype(dtype, copy=False)
        i, j = np.tril_indices(n)
        K = np.empty((n, n), dtype)
        K[i, j] = K[j, i] = self._values(X, X, np.stack([i, j], axis=1))
        return K

    def diag(self, X: Any) -> np.ndarray:
        X = self.prepare(X)
        return self._values(X, X, own_pairs(X.parts[0])).astype(X.dtype, copy=False)

    def path(self, X: Series) -> Series:
        """The series with the channels and the points that are added."""
        values, starts = X.values, X.starts
        if self.time:
            lengths = np.repeat(X.lengths, X.lengths)
            place = np.arange(len(values)) - np.repeat(starts[:-1], X.lengths)
            values = np.column_stack([values, place / np.maximum(lengths - 1, 1)])
        if self.basepoint:
            values = np.insert(values, starts[:-1], 0.0, axis=0)
            starts = starts + np.arange(len(starts))
        return Series(np.ascontiguousarray(values), starts, X.dtype)

    @property
    def _gamma(self) -> float:
        """Of the Gaussian kernel between points; -1 for none."""
        if isinstance(self.length_scale, str):
            raise ValueError(
                f"length_scale={self.length_scale!r} is learnt from the training sample: call "
                'Signature(length_scale="auto").bind(X) first (learners call it), or give a number.'
            )
        return -1.0 if self.length_scale is None else 0.5 / float(self.length_scale) ** 2

    def _longest_steps(self, path: Series) -> np.ndarray:
        """The length of the longest step of each series, (n,)."""
        squares = np.zeros(len(path.values))
        squares[1:] = np.square(np.diff(path.values, axis=0)).sum(axis=1)
        squares[path.starts[:-1]] = 0
        if self._gamma >= 0:
            squares = -2 * np.expm1(-self._gamma * squares)
        return np.sqrt(np.maximum.reduceat(squares, path.starts[:-1])) if len(path) else squares

    def _values(self, X: Prepared, Z: Prepared, pairs: np.ndarray) -> np.ndarray:
        (x, far_x), (z, far_z) = X.parts, Z.parts
        if self.levels is not None:
            return signature_sums(x, z, pairs, self._gamma, int(self.levels), 0)
        # the halvings of a pair depend on nothing else, so that other pairs change no value
        steps = np.maximum(far_x[pairs[:, 0]] * far_z[pairs[:, 1]] / LARGEST, 1)
        halvings = np.ceil(np.log2(steps) / 2 - 1e-12).astype(int)
        if (halvings > MOST_HALVINGS).any():
            at = int(np.argmax(halvings))
            raise ValueError(
                f"two series have steps of length {far_x[pairs[at, 0]]:.3g} and "
                f"{far_z[pairs[at, 1]]:.3g}, which the differential equation would have to halve "
                f"{halvings[at]} times, and at most {MOST_HALVINGS}: divide the series by a "
                "typical step, or give levels=."
            )
        out = np.empty(len(pairs))
        for h in np.unique(halvings):
            some = halvings == h
            chosen = np.ascontiguousarray(pairs[some])
            rough, fine = (
                signature_sums(x, z, chosen, self._gamma, 0, int(each)) for each in (h, h + 1)
            )
            out[some] = (4 * fine - rough) / 3  # Richardson: errors fall to a quarter
        return out
