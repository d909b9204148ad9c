"""Samples that are time series, of one or several channels and of different lengths; and bags: sets
of points, in no order, in any number."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar

import numpy as np

from mercer.callers import first_outside
from mercer.persistence import fields, floats
from mercer.samples.kind import Kind
from mercer.samples.numbers import is_number, is_whole
from mercer.samples.protocol import SamplesLike
from mercer.samples.ragged import Ragged, cell_numbers, points_of_all
from mercer.samples.raw_data import (
    LISTED,
    as_objects,
    describe,
    frame_of,
    index_levels,
    is_frame,
    is_missing_value,
    object_columns,
)

SAID_OF_ONE = (
    "X is {} series of one point each, among which {} has no time to compare: if X is one series, "
    "put it into a list, and if each row is a vector, give a kernel or a distance on vectors."
)
LAYOUTS = ("last", "first")
LOWEST_RATE = 1000  # samples in a second of a sound, at least


@fields(values=floats(2))
class Series(Ragged):
    """Time series as the points of all of them, in one array.

    Parameters
    ----------
    values : ndarray of shape (total, d), float64
        Series i is ``values[starts[i] : starts[i + 1]]``, one row for each point of time.
    starts : ndarray of shape (n + 1,), int64
    dtype : floating dtype, default=float64
        The dtype of what is computed from them. Sums are in float64 in any case.

    Examples
    --------
    >>> from mercer.distances import DTW
    >>> series = DTW().encode([[0.0, 1.0, 2.0], [0.5, 1.5]])
    >>> series.values.ravel(), series.starts, series.channels
    (array([0. , 1. , 2. , 0.5, 1.5]), array([0, 3, 5]), 1)
    """

    @property
    def channels(self) -> int:
        """How many numbers each point has, d."""
        return self.values.shape[1]


class SeriesKind(Kind):
    """Time series."""

    name = "series"
    looks = "a list of arrays of shape (T,) or (T, d), or one array (n, T) or (n, T, d), time first"
    encoded = (Series,)
    coded = True
    column = "series"
    judged = True
    size_of = "points"
    distance = "mercer.distances:DTW"
    kernels = ("mercer.kernels:Convolutions", "mercer.kernels:GlobalAlignment")
    tags: ClassVar = {"two_d_array": True, "three_d_array": True, "sparse": False}

    def __init__(self):
        self.forms = (of_sounds, of_nested_frame, of_channels_first)

    def encode(self, X: SamplesLike, like: Series | None, reader: str) -> Series:
        if like is not None and like.channels > 1 and isinstance(X, np.ndarray) and X.ndim == 3:
            X = list(X)  # some may have a single point
        rows = [_points(row, f"X[{i}]", reader) for i, row in enumerate(self.rows(X, reader))]
        said = "X[{}] has {} channels, but {} {}: give series with the same channels."
        first, fitted = "X[0] has", "the series it is compared with have"
        points = points_of_all(rows, like, said, first if like is None else fitted)
        if like is None and len(rows) > 1 and all(len(row) == 1 for row in rows):
            warnings.warn(SAID_OF_ONE.format(len(rows), reader), stacklevel=first_outside())
        _warn_of_turned(rows, isinstance(X, np.ndarray))
        return Series(*points)

    def rows(self, X: SamplesLike, reader: str) -> list:
        return _rows(X, reader)

    def form_of(self, X: SamplesLike) -> Any:
        found = super().form_of(X)
        return time_first(X) if found is None else found

    def recognise(self, X: SamplesLike, items: list | None) -> list | None:
        """Arrays (n, T, d) that are no images, which are as high as wide; or cells of series."""
        if isinstance(X, np.ndarray) and X.ndim == 3 and X.shape[1] != X.shape[2]:
            return _stacked(X)
        known = [item for item in items or [] if not is_missing_value(item)]
        return items if known and are_series(known) else None

    def curves(self, item: Any) -> np.ndarray:
        return np.asarray(item, np.float64).reshape(len(item), -1)

    def remedy(self) -> str:
        return (
            "Give a kernel on series, such as kernel=GlobalAlignment(), or where there is metric= "
            "a distance on series, such as metric=DTW(window=0.1)."
        )


def series_of(X: SamplesLike, *, channels: str = "last", padded: bool = False) -> list[np.ndarray]:
    """Time series in the layout of another library, as a list of arrays (T, d).

    Parameters
    ----------
    X : array of shape (n, T), (n, T, d) or (n, d, T), list of arrays, or pandas data frame
        In a data frame whose index has two levels, series and time, as in sktime, each column is a
        channel, and the series are in the order of the frame.
    channels : {"last", "first"}, default="last"
        Whether points of time are the rows of each series, or channels are, as in arrays of aeon
        and sktime. In a data frame of two levels they are the columns.
    padded : bool, default=False
        Whether points of NaN at the end of a series are not part of it, as in tslearn.

    Returns
    -------
    series : list of ndarray of shape (T, d)
        Samples that every comparison of series reads.

    Examples
    --------
    Two channels of three points, then two series of one channel, the second of which is shorter:

    >>> import numpy as np
    >>> series_of(np.zeros((1, 2, 3)), channels="first")[0].shape
    (3, 2)
    >>> [len(each) for each in series_of([[1.0, 2.0, 3.0], [4.0, 5.0, np.nan]], padded=True)]
    [3, 2]

    A data frame of sktime:

    >>> import pandas as pd
    >>> index = pd.MultiIndex.from_tuples([("a", 0), ("a", 1), ("b", 0)])
    >>> frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [4.0, 5.0, 6.0]}, index=index)
    >>> [each.tolist() for each in series_of(frame)]
    [[[1.0, 4.0], [2.0, 5.0]], [[3.0, 6.0]]]
    """
    if channels not in LAYOUTS:
        raise ValueError(f'channels={channels!r}: give "last" or "first".')
    levels = index_levels(X)
    if levels > 1 and channels == "first":
        raise ValueError(
            'channels="first", but X is a data frame whose index has levels, and its columns are '
            "the channels: leave out channels=."
        )
    found = []
    for i, row in enumerate(_by_index(X) if levels > 1 else _rows(X, "series_of")):
        points = _array(row, f"X[{i}]", "series_of")
        if channels == "first" and points.ndim == 2:
            points = points.T
        points = points.reshape(len(points), math.prod(points.shape[1:]))
        if padded:
            known = np.flatnonzero(~np.isnan(points).all(axis=1))
            points = points[: known[-1] + 1] if len(known) else points[:0]
        found.append(_checked(points, f"X[{i}]", "series_of"))
    return found


def of_sounds(X: object) -> list | None:
    """The samples of pairs (samples, rate) of one rate, as soundfile reads them; else None."""
    items = X if isinstance(X, list) else []
    pairs = items if all(isinstance(each, tuple) and len(each) == 2 for each in items) else []
    rates = {rate if is_whole(rate) else 0 for _, rate in pairs}
    sounds = [samples for samples, _ in pairs]
    arrays = all(isinstance(each, np.ndarray) and each.ndim in (1, 2) for each in sounds)
    return sounds if arrays and len(rates) == 1 and rates.pop() >= LOWEST_RATE else None


def of_nested_frame(X: Any) -> list | None:
    """The series of a frame of sktime, each cell of which is a column of points; else None."""
    frame = frame_of(X) if is_frame(X) and X.shape[0] and X.shape[1] else None
    # pandas' moments have a `to_numpy` too
    if frame is None or not all(hasattr(c, "to_numpy") and np.ndim(c) for c in frame.row(0)):
        return None
    rows = list(zip(*object_columns(X)))
    for i, row in enumerate(rows):
        if len(set(map(np.shape, row))) > 1:
            raise ValueError(f"the channels of X[{i}] have different lengths: give as many points.")
    stacked = [np.stack(row, axis=1) for row in rows]
    return [points[:, 0] for points in stacked] if X.shape[1] == 1 else stacked


def of_channels_first(X: object) -> list | None:
    """Arrays (d, T) of one d and several T, as in aeon, with time first; None for all else."""
    items = X if isinstance(X, (list, tuple)) else []
    shapes = {each.shape if isinstance(each, np.ndarray) else () for each in items}
    turned = len({shape[1:] for shape in shapes}) > 1 and len({shape[:1] for shape in shapes}) == 1
    return [each.T for each in items] if turned and {*map(len, shapes)} == {2} else None


def time_first(X: SamplesLike) -> list | None:
    """The series of an array of xarray whose last of three axes is "time"; None for all else.

    Only series are turned by it: rows of numbers keep the order that the array without names has.
    """
    axes = getattr(X, "dims", ())
    named = isinstance(axes, tuple) and len(axes) == 3 and axes[-1] == "time"
    return [each.T for each in np.asarray(X)] if named else None


def are_series(cells: list) -> bool:
    """Whether the cells of a column are series beyond doubt, and no sets of numbers.

    They are lists or arrays of numbers of different lengths that have fractions, or points of
    several numbers, as many in all cells.
    """
    try:
        rows = [np.asarray(cell) for cell in cells if isinstance(cell, LISTED)]
    except ValueError:  # lists of lists of different lengths
        return False
    numbers = [row for row in rows if row.dtype.kind in "iuf" and row.size]
    if len(numbers) < len(cells) or len({row.ndim for row in numbers}) > 1:
        return False
    if numbers[0].ndim == 2:
        return len({row.shape[1] for row in numbers}) == 1
    if numbers[0].ndim > 2 or len({len(row) for row in numbers}) == 1:
        return False
    return any(row.dtype.kind == "f" and (row != np.rint(row)).any() for row in numbers)


def _by_index(X: Any) -> list[np.ndarray]:
    """The points of each series of a data frame whose index has two levels, series and time."""
    if X.index.nlevels != 2:
        raise ValueError(
            f"the index of X has {X.index.nlevels} levels, but series_of reads two, series and "
            "time: give a frame for each series of higher level, or X.droplevel(0)."
        )
    (names, times), (series, when) = X.index.levels, X.index.codes
    missing = np.flatnonzero((series < 0) | (when < 0))
    if len(missing):
        raise ValueError(
            f"the index of X is missing in row {missing[0]}: fill it, or drop the row."
        )
    fresh = np.flatnonzero(np.diff(series, prepend=-1))
    again = fresh[~np.isin(np.arange(len(fresh)), np.unique(series[fresh], return_index=True)[1])]
    if len(again):
        raise ValueError(
            f"the rows of series {names[series[again[0]]]} do not follow each other: give "
            "X.sort_index()."
        )
    moments = times.take(when)
    late = np.flatnonzero((series[1:] == series[:-1]) & ~(moments[1:] > moments[:-1]))
    if len(late):
        at = late[0] + 1
        raise ValueError(
            f"time {moments[at]} of series {names[series[at]]} follows {moments[at - 1]}: "
            "give X.sort_index(), and each time once."
        )
    wrong = [name for name, dtype in X.dtypes.items() if dtype.kind not in "iufb"]
    if wrong or not X.shape[1]:
        named = f"column {wrong[0]!r} of X holds no numbers" if wrong else "X has no columns"
        raise TypeError(f"{named}, but series_of reads one channel from each: give X[columns].")
    single = all(dtype == np.float32 for dtype in X.dtypes)
    values = X.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
    return np.split(values, fresh[1:]) if len(values) else []


def _rows(X: Any, reader: str) -> list:
    """One object for each series."""
    if index_levels(X) > 1:
        raise ValueError(
            f"X is {describe(X)} whose index has levels, as frames of series in sktime: give "
            "mercer.samples.series_of(X)."
        )
    if is_frame(X) and X.shape[1] > 1:  # one column for each point of time
        try:
            X = np.asarray(frame_of(X).to_numpy(), dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"X is {describe(X)} whose cells are no numbers, but {reader} compares series, and "
                "reads one point of time from each column: give one column of series, X[name], or "
                "np.stack the channels of each series."
            ) from None
    if isinstance(X, np.ndarray) and X.ndim > 1 and X.shape[1:] != (1,) and X.dtype == object:
        X = np.stack([_array(row, f"X[{i}]", reader) for i, row in enumerate(X)]) if len(X) else X
    if isinstance(X, np.ndarray) and X.dtype.kind in "iufb":
        if X.ndim in (2, 3) and len(X):
            return _stacked(X)
        if X.ndim not in (1, 2, 3) or (X.ndim == 1 and len(X)):
            raise ValueError(
                f"X is {describe(X)}, but {reader} compares series: give {SeriesKind.looks}. "
                "Put a single series into a list."
            )
    empty = isinstance(X, np.ndarray) and X.size == 0
    rows = as_objects([] if empty else X, "series", reader)
    if all(is_number(row) and not is_missing_value(row) for row in rows):
        raise ValueError(
            f"X is one list of {len(rows)} numbers, but {reader} compares series: put a single "
            f"series into a list, or give {SeriesKind.looks}."
        )
    return rows


def _stacked(X: np.ndarray) -> list:
    """The series of an array (n, T) or (n, T, d), or of one channel each, (n, 1, T), as in aeon."""
    return list(X.transpose(0, 2, 1) if X.ndim == 3 and X.shape[1] == 1 else X)


def _array(row: list | np.ndarray, name: str, reader: str) -> np.ndarray:
    """Numbers of one series, (T,) or (T, d)."""
    points = cell_numbers(row, name, reader, SeriesKind)
    if points.ndim not in (1, 2):
        raise ValueError(
            f"{name} has {points.ndim} dimensions; {reader} needs 1, or 2: points of time and "
            "channels."
        )
    return points


def _points(row: list | np.ndarray, name: str, reader: str) -> np.ndarray:
    points = _array(row, name, reader)
    return _checked(points[:, None] if points.ndim == 1 else points, name, reader)


def _checked(points: np.ndarray, name: str, reader: str) -> np.ndarray:
    """The points (T, d), which are finite and at least one."""
    if points.size == 0:
        raise ValueError(
            f"{name} has no points, but {reader} needs at least one in each series: leave it out."
        )
    wrong = np.argwhere(~np.isfinite(points))
    if len(wrong):
        t, c = wrong[0].tolist()
        where = f"point {t}" + (f", channel {c}" if points.shape[1] > 1 else "")
        raise ValueError(
            f"{name} holds {points[t, c]} at {where}: fill the gap, or cut the series there. If "
            "series are padded with NaN at their ends, give mercer.samples.series_of(X, "
            "padded=True)."
        )
    return points


def _warn_of_turned(rows: list, array: bool) -> None:
    """Warn if series have more channels than points, or of an array as many, as if their channels
    came first."""
    turned = [i for i, row in enumerate(rows) if row.shape[1] + array > len(row) > 1]
    if len(turned) > len(rows) / 2:
        i = turned[0]
        warnings.warn(
            f"X[{i}] has {len(rows[i])} points of {rows[i].shape[1]} channels, and most other "
            "series have no more points than channels, too. Time comes first: if these are "
            'channels first, give mercer.samples.series_of(X, channels="first").',
            stacklevel=5,
        )


@fields(values=floats(2))
class Bags(Ragged):
    """Bags of points, those of all bags in one array.

    Parameters
    ----------
    values : ndarray of shape (total, d), float64
        The points of bag i are ``values[starts[i] : starts[i + 1]]``.
    starts : ndarray of shape (n + 1,), int64
    dtype : floating dtype, default=float64

    Examples
    --------
    >>> from mercer.kernels import Linear, MeanMap
    >>> bags = MeanMap(Linear()).encode([[[0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]]])
    >>> bags.values.shape, bags.starts
    ((3, 2), array([0, 1, 3]))
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
        rows = [_bag(row, f"X[{i}]", reader) for i, row in enumerate(self.rows(X, reader))]
        said = "the points of X[{}] have {} numbers, but {} {}: give bags with the same columns."
        first, fitted = "those of X[0] have", "the bags of the fit have"
        return Bags(*points_of_all(rows, like, said, first if like is None else fitted))

    def remedy(self) -> str:
        return (
            "Give a kernel on bags, such as kernel=MeanMap().normalised(), or where there is "
            "metric= a distance on bags, such as metric=SlicedWasserstein()."
        )


def _bag(row: Any, name: str, reader: str) -> np.ndarray:
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
