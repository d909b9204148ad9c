"""Distances by angles: between places on a sphere, and one minus a cosine or a correlation."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _native
from mercer.distances.base import Distance
from mercer.distances.comparison import Meaning
from mercer.distances.products import (
    check_weights,
    cosines,
    dense_rows,
    feature_sum,
    feature_weights,
    unit_rows,
)
from mercer.samples import Prepared, Samples


class CosineGap(Distance):
    r"""The cosine distance of scikit-learn,
    :math:`\rho(x, z) = 1 - \langle x, z\rangle / (\|x\| \|z\|)`.

    A zero vector is at distance 1 from every vector, and at distance 0 from itself.

    See Also
    --------
    Cosine : The angle, a metric with the same order of neighbours.

    Notes
    -----
    It is not a metric, but half the square of one. O(n m d) operations; sparse rows stay sparse.

    Examples
    --------
    >>> CosineGap()([[1.0, 0.0]], [[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]])
    array([[1., 0., 1.]])
    """

    meaning = Meaning("(1 − cos ∠(x, z))", "1 minus the cosine of the angle between two rows")

    metric = False
    definite_up_to = 1.0  # 1 - k for a positive semidefinite k

    def prepare(self, X: Samples, like: Prepared | None = None) -> Any:
        return X if isinstance(X, Prepared) else Prepared((unit_rows(X),))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        C = cosines(X.parts[0], Z.parts[0])
        D = np.subtract(1, C, out=C)
        if X is Z:
            np.fill_diagonal(D, 0)
        return D


class CorrelationGap(CosineGap):
    r"""One minus the correlation of the entries of two vectors.

    It is the `CosineGap` of vectors, from each of which its own mean was subtracted.

    A constant vector is at distance 1 from every vector, and at distance 0 from itself.

    Parameters
    ----------
    weights : array-like of shape (d,), optional
        How much each entry counts, >= 0. None means 1 for each.

    Notes
    -----
    Sparse rows are made dense.

    Examples
    --------
    >>> rows = [[5.0, 7.0, 9.0], [3.0, 2.0, 1.0], [4.0, 4.0, 4.0]]
    >>> CorrelationGap()([[1.0, 2.0, 3.0]], rows).round(4)
    array([[0., 2., 1.]])
    """

    meaning = Meaning("(1 − corr(x, z))", "1 minus the correlation of two rows")

    def __init__(self, weights: np.ndarray | None = None):
        self.weights = weights

    def validate(self) -> None:
        check_weights(self.weights, shares=True)

    def prepare(self, X: Samples, like: Prepared | None = None) -> Any:
        if isinstance(X, Prepared):
            return X
        X = dense_rows(X)
        w = feature_weights(self.weights, X)
        w = np.ones(X.shape[1], X.dtype) if w is None else w
        means = np.average(X.astype(np.float64), axis=1, weights=w)[:, None]
        rows = ((X - means) * np.sqrt(w)).astype(X.dtype)
        # rounding leaves something of a constant row
        rest = np.abs(rows).max(axis=1) <= 4 * np.finfo(X.dtype).eps * np.abs(means[:, 0])
        rows[rest] = 0
        return Prepared((unit_rows(rows),))


ROUNDED = 1e-6  # how far pi may be exceeded, as float32 and cut digits do


class Haversine(Distance):
    r"""Angle between two places on a sphere, each given as (latitude, longitude).

    .. math:: \rho(x, z) = 2 \arcsin \sqrt{\sin^2 \tfrac{x_1 - z_1}{2}
        + \cos x_1 \cos z_1 \sin^2 \tfrac{x_2 - z_2}{2}}

    It is the length of the way between them on a sphere of radius 1: multiply it by 6371 for
    kilometres on the Earth.

    Parameters
    ----------
    units : {"radians", "degrees"}, default="radians"
        In what X gives the places. The distance is in radians with both.

    Raises
    ------
    ValueError
        X has another number of columns than two; a latitude is beyond a quarter of the circle, or a
        longitude beyond two turns. Most often the numbers are degrees then.

    Notes
    -----
    It is a metric. Places become points of three coordinates, once for each row, and the root is
    half of the straight line between them. In float32 it may be wrong by about 1e-7, which is 0.6 m
    on the Earth. O(n m) operations.

    References
    ----------
    Sinnott, "Virtues of the haversine", Sky and Telescope 68, 1984.

    Examples
    --------
    From Zurich to Vienna and to Sydney, in kilometres:

    >>> import numpy as np
    >>> places = np.array([[47.37, 8.54], [48.21, 16.37], [-33.87, 151.21]])
    >>> (6371 * Haversine("degrees")(places[:1], places[1:])).round()
    array([[  592., 16568.]])
    """

    meaning = Meaning("(distance along the sphere)", "the shortest way on the surface of a sphere")

    # the angle is in proportion to the share of great circles that separate two points
    definite_up_to = 1.0

    def __init__(self, units: str = "radians"):
        self.units = units

    def validate(self) -> None:
        if not (isinstance(self.units, str) and self.units in ("radians", "degrees")):
            raise ValueError(f'units={self.units!r}: give "radians" or "degrees".')

    def check(self, X: Samples, like: Samples | None = None) -> None:
        if X.shape[1] != 2:
            raise ValueError(
                f"X has {X.shape[1]} columns: Haversine needs 2, latitude and longitude in "
                f"{self.units}."
            )
        most = np.abs(dense_rows(X)).max(axis=0, initial=0)
        turn = 360.0 if self.units == "degrees" else 2 * np.pi
        for j, (name, limit) in enumerate((("latitude", turn / 4), ("longitude", 2 * turn))):
            if most[j] > limit * (1 + ROUNDED):
                remedy = "give latitude first and longitude second"
                if self.units == "radians":
                    remedy = 'give Haversine(units="degrees") if these are degrees'
                raise ValueError(
                    f"X has a {name} of size {most[j]:.6g} in column {j}, but it is at most "
                    f"{limit:.6g} in {self.units}: {remedy}."
                )

    def prepare(self, X: Samples, like: Prepared | None = None) -> Any:
        if isinstance(X, Prepared):
            return X
        places = dense_rows(X).astype(np.float64)
        latitude, longitude = (np.radians(places) if self.units == "degrees" else places).T
        circle = np.cos(latitude)
        points = [np.sin(latitude), circle * np.cos(longitude), circle * np.sin(longitude)]
        return Prepared((np.column_stack(points).astype(X.dtype),))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        # differences, because ‖x‖² + ‖z‖² - 2<x, z> would lose the distances of near places
        D = feature_sum(_native.squared_gaps, X.parts[0], Z.parts[0])
        np.sqrt(D, out=D)
        D *= 0.5
        np.arcsin(np.minimum(D, 1, out=D), out=D)
        D *= 2
        return D
