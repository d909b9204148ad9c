"""Samples that are bags: sets of points, in no order, in any number."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.persistence import fields, floats
from mercer.samples.kind import Kind
from mercer.samples.protocol import SamplesLike
from mercer.samples.ragged import Ragged, cell_numbers, points_of_all
from mercer.samples.raw_data import as_objects, describe


@fields(values=floats(2))
class Bags(Ragged):
    """Bags of points, those of all bags in one array.

    Parameters
    ----------
    values : ndarray of shape (total, d), float64
        The points of bag i are ``values[starts[i] : starts[i + 1]]``.
    starts : ndarray of shape (n + 1,), int64
    dtype : floating dtype, default=float64
    """

    @property
    def columns(self) -> int:
        """How many numbers each point has, d."""
        return self.values.shape[1]


class BagsKind(Kind):
    """Bags of points."""

    name = "bags"
    looks = "a list of arrays of shape (points, d), one for each bag, or one array (n, points, d)"
    encoded = (Bags,)
    coded = True
    column = "bag"
    judged = True
    size_of = "points"
    distance = "mercer.distances:SlicedWasserstein"
    kernels = ("mercer.kernels:bag_kernel",)

    def rows(self, X: SamplesLike, reader: str) -> list:
        if isinstance(X, np.ndarray) and X.dtype.kind in "iufb":
            if X.ndim == 3 and len(X):
                return list(X)
            raise ValueError(
                f"X is {describe(X)}, but {reader} compares bags: give {self.looks}. Put a single "
                "bag into a list."
            )
        return as_objects(X, self.name, reader)

    def encode(self, X: SamplesLike, like: Bags | None, reader: str) -> Bags:
        rows = [_points(row, f"X[{i}]", reader) for i, row in enumerate(self.rows(X, reader))]
        said = "the points of X[{}] have {} numbers, but {} {}: give bags with the same columns."
        first, fitted = "those of X[0] have", "the bags of the fit have"
        return Bags(*points_of_all(rows, like, said, first if like is None else fitted))

    def remedy(self) -> str:
        return (
            "Give a kernel on bags, such as kernel=MeanMap().normalised(), or where there is "
            "metric= a distance on bags, such as metric=SlicedWasserstein()."
        )


def _points(row: Any, name: str, reader: str) -> np.ndarray:
    """The points of one bag, (points, d), which are finite and at least one."""
    points = cell_numbers(row, name, reader, BagsKind)
    if points.size == 0:
        raise ValueError(
            f"{name} has no points, but {reader} needs at least one in each bag: leave it out."
        )
    if points.ndim != 2:
        raise ValueError(
            f"{name} has the shape {points.shape}; {reader} needs points with their numbers, "
            "(points, d). Give points of one number as bag.reshape(-1, 1)."
        )
    wrong = np.argwhere(~np.isfinite(points))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise ValueError(
            f"{name} holds {points[i, j]} in point {i}, column {j}: fill it in, or leave the point "
            "out."
        )
    return points
