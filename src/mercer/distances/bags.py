"""Distances between bags of points, as between distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.base import Coordinates, Distance
from mercer.distances.meaning import Meaning
from mercer.distances.vectors import Minkowski
from mercer.samples import Bags, Prepared, as_samples, check_count, is_whole

EUCLID = Minkowski(2)


class SlicedWasserstein(Distance):
    r"""Sliced Wasserstein distance: the root of the mean of :math:`W_2^2` between the projections
    of two bags on lines through the origin.

    In one dimension

    .. math:: W_2^2(A, B) = \int_0^1 (F_A^{-1}(q) - F_B^{-1}(q))^2 dq ,

    where :math:`F^{-1}(q)` are the quantiles of a bag. They are averaged over ``levels`` equal
    parts of [0, 1], and the directions of the lines are drawn once.

    Parameters
    ----------
    directions : int >= 1, default=64
        The lines. Points of one number have one line.
    levels : int >= 1, default=64
        The parts of [0, 1].
    random_state : int >= 0, default=0
        From it, and from the number of columns, the directions are drawn.

    See Also
    --------
    mercer.kernels.MeanMap : Compares bags by a kernel on their points.

    Notes
    -----
    It is the Euclidean distance of ``directions`` x ``levels`` features of each bag, so that
    ``RBF(gamma, SlicedWasserstein())`` is positive semidefinite, and ``RBF("median",
    SlicedWasserstein())`` learns γ. It is 0 for bags with equal means of quantiles. With a number
    of levels that all sizes of bags divide, it is exact for the given lines; else it is a lower
    bound. A bag of n points takes n log n operations for each direction, and a pair one product of
    its features.

    References
    ----------
    Bonneel, Rabin, Peyré & Pfister, "Sliced and Radon Wasserstein barycenters of measures", Journal
    of Mathematical Imaging and Vision 51, 2015.
    Kolouri, Zou & Rohde, "Sliced Wasserstein kernels for probability distributions", CVPR 2016.

    Examples
    --------
    >>> bags = [[[0.0], [1.0]], [[2.0], [3.0]], [[1.0], [0.0]]]
    >>> SlicedWasserstein()(bags)
    array([[0., 2., 0.],
           [2., 0., 2.],
           [0., 2., 0.]])
    """

    meaning = Meaning("SW₂(x, z)", "how far the points of one bag are moved to those of the other")
    kind = "bags"
    exponent = 2.0
    definite_up_to = 2.0
    metric = True

    def __init__(self, directions: int = 64, levels: int = 64, random_state: int = 0):
        self.directions = directions
        self.levels = levels
        self.random_state = random_state

    def validate(self) -> None:
        for name in ("directions", "levels"):
            value = getattr(self, name)
            check_count(name, value, optional=False)
        if not (is_whole(self.random_state) and 0 <= self.random_state < 2**32):
            raise ValueError(
                f"random_state={self.random_state!r}: give a whole number from 0 to 2**32 - 1."
            )

    def prepare(self, X: Bags, like: Any = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        F = self.features(X)
        return Prepared((EUCLID.prepare(F, None if like is None else like.parts[0]),))

    def raw(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        (x,), (z,) = X.parts, Z.parts
        return EUCLID.raw(x, z)

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        return np.sqrt(self.raw(X, Z))

    def coordinates(self, X: Any) -> Coordinates:
        return Coordinates(np.asarray(self.features(X)), 2.0, None)

    def features(self, X: Bags) -> Any:
        """Vectors whose Euclidean distances are those of the bags, (n, directions x levels)."""
        lines = self._lines(X.columns)
        scale = 1 / np.sqrt(len(lines) * int(self.levels))
        F = np.empty((len(X), len(lines) * int(self.levels)))
        shares = np.arange(int(self.levels) + 1) / int(self.levels)
        for i in range(len(X)):
            S = np.sort(X.values[X.starts[i] : X.starts[i + 1]] @ lines.T, axis=0)
            F[i] = _mean_quantiles(S, shares).T.ravel() * scale
        return as_samples(F.astype(X.dtype, copy=False))

    def _lines(self, columns: int) -> np.ndarray:
        """Directions of length 1, (directions, d)."""
        if columns == 1:
            return np.ones((1, 1))
        rng = np.random.default_rng([int(self.random_state), columns])
        W = rng.standard_normal((int(self.directions), columns))
        return W / np.linalg.norm(W, axis=1, keepdims=True)


def _mean_quantiles(S: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The means of the quantiles of sorted columns S (n, L) between neighbouring shares."""
    n = len(S)
    whole = np.concatenate([np.zeros((1, S.shape[1])), np.cumsum(S, axis=0)])
    at = shares * n
    low = np.minimum(at.astype(np.int64), n - 1)
    # the integral of the quantile function from 0 to each share, times n
    upto = whole[low] + (at - low)[:, None] * S[low]
    return np.diff(upto, axis=0) * ((len(shares) - 1) / n)
