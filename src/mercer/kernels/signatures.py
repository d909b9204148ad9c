"""The signature kernel on time series: what iterated sums over the steps of two series share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer.distances import Meaning, Minkowski, all_pairs, own_pairs, signature_sums
from mercer.estimator import estimator
from mercer.kernels.base import Kernel
from mercer.kernels.radial import median_distance
from mercer.samples import Prepared, Series, is_number, is_whole

LONGEST = 0.5  # longest part of a step on the grid of the differential equation
MOST_HALVINGS = 8  # of each step
MOST_LEVELS = 64


@estimator
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
    It is positive semidefinite. With None, the signature of a series is the product of the
    exponentials of its steps, of which powers up to the fifth are kept; and the steps of a series
    are halved until the longest part is at most 0.5. Both depend on the series alone, so that the
    values are inner products exactly. They are those of the differential equation to about 3e-5
    where the steps of two series are up to 4 long. Rounding errors are those of the largest value
    on the way, also where later steps undo it.

    Repeated points change nothing. A pair of n and m points with d channels takes n m (d + 2 M)
    operations, or n m (d + 60 · 2^h · 2^k) for h and k halvings. Bring the series to one scale
    first, for steps enter with their M-th powers; and normalise the kernel if the lengths differ.

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
    positive_definite = True

    free = ("length_scale",)

    levels: int | None = 5
    length_scale: float | str | None = None
    time: bool = False
    basepoint: bool = False

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

    def bind(self, X: Series, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        self.validate()
        if self.length_scale != "auto":
            return self
        of_points = None
        if sample_weight is not None:
            of_points = np.repeat(np.asarray(sample_weight), self.path(X).lengths)
        return self.copied(
            length_scale=median_distance(Minkowski(2), self.path(X).values, of_points)
        )

    def pair_cost(self, X: Series) -> float:
        series = X.parts[0] if isinstance(X, Prepared) else X
        if not len(series):
            return 0.0
        each = series.channels + (2.0 * self.levels if self.levels else 20.0)
        return each * float(series.lengths.mean()) ** 2

    def prepare(self, X: Series, like: Prepared | None = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        path = self.path(X)
        return Prepared((path, self._halvings(path)))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
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
        """γ of the Gaussian kernel between points; -1 means that there is no such kernel."""
        if isinstance(self.length_scale, str):
            raise ValueError(
                f"length_scale={self.length_scale!r} is learnt from the training sample: call "
                'Signature(length_scale="auto").bind(X) first (learners call it), or give a number.'
            )
        return -1.0 if self.length_scale is None else 0.5 / float(self.length_scale) ** 2

    def _halvings(self, path: Series) -> np.ndarray:
        """How often the steps of each series are halved, (n,): no other series changes that."""
        if self.levels is not None or not len(path):
            return np.zeros(len(path), np.int64)
        squares = np.zeros(len(path.values))
        with np.errstate(over="ignore"):  # then they are halved too often
            squares[1:] = np.square(np.diff(path.values, axis=0)).sum(axis=1)
        squares[path.starts[:-1]] = 0
        if self._gamma >= 0:
            squares = -2 * np.expm1(-self._gamma * squares)
        longest = np.sqrt(np.maximum.reduceat(squares, path.starts[:-1]))
        halvings = np.ceil(np.log2(np.maximum(longest / LONGEST, 1)) - 1e-12)
        if (halvings > MOST_HALVINGS).any():
            at = int(np.argmax(halvings))
            raise ValueError(
                f"series {at} has a step of length {longest[at]:.3g}, which the differential "
                f"equation would have to halve {halvings[at]:g} times, and at most "
                f"{MOST_HALVINGS}: divide the series by a typical step, or give levels=."
            )
        return halvings.astype(np.int64)

    def _values(self, X: Prepared, Z: Prepared, pairs: np.ndarray) -> np.ndarray:
        """The kernel of pairs of series."""
        (x, halved_x), (z, halved_z) = X.parts, Z.parts
        if self.levels is not None:
            return signature_sums(x, z, pairs, self._gamma, int(self.levels))
        out = np.empty(len(pairs))
        both = np.stack([halved_x[pairs[:, 0]], halved_z[pairs[:, 1]]], axis=1)
        for each in np.unique(both, axis=0):
            some = (both == each).all(axis=1)
            chosen = np.ascontiguousarray(pairs[some])
            out[some] = signature_sums(x, z, chosen, self._gamma, 0, tuple(each.tolist()))
        return out
