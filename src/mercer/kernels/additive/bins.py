"""Bins of numbers: the edges of each column, the code of each row, and where a bin lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap

import numpy as np

from mercer import _native
from mercer.persistence import fields
from mercer.threads import ordered_map

EDGES = 255  # numbers of a row of edges that are searched
MOST = 255  # bins of a column, beside the code of what is missing
STRIP = 4096  # rows at a time: they stay in the cache while all columns are read
TAIL = 0.02  # a part of the rows at each end that does not set the scale of a column
BEYOND = 0.5  # how far from the others positions of such rows may be


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """The bins of one column.

    Attributes
    ----------
    edges : ndarray
        In ascending order; a number is in the bin after all edges below it.
    centres : ndarray of shape (bins,)
        A value of each bin: its mean.
    positions : ndarray of shape (bins + 1,)
        Where bins lie for the kernel, about 0 to 1: the mean of rank and of value. NaN for
        categories, and for the last level, which are missing values.
    """

    edges: np.ndarray
    centres: np.ndarray
    positions: np.ndarray

    @property
    def size(self) -> int:
        """The number of levels, with that of missing values."""
        return len(self.positions)


@fields()
class TableBins:
    """The bins of all columns of a table.

    Parameters
    ----------
    columns : sequence of ColumnBins
    """

    def __init__(self, columns: Sequence[ColumnBins]):
        self.columns = list(columns)

    @property
    def sizes(self) -> list[int]:
        """The number of levels of each column."""
        return [column.size for column in self.columns]

    @classmethod
    def of(
        cls, rows: np.ndarray, weights: np.ndarray | None, most: int, categories: set[int]
    ) -> TableBins:
        """Bins with about equal weight of these rows (n, columns); a bin for each different number
        if they are few."""
        columns = [(rows[:, j], j in categories) for j in range(rows.shape[1])]
        return cls(list(starmap(lambda x, levels: _column_bins(x, weights, most, levels), columns)))

    def codes(self, rows: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """The code of each number, (columns, n); codes of NaN are the last ones."""
        n, d = rows.shape
        if max(self.sizes) > EDGES + 1:  # each different number has a level
            return np.array([_many_codes(x, c) for x, c in zip(rows.T, self.columns)])
        codes = np.empty((d, n), np.uint8)
        edges = np.full((d, EDGES), np.inf, rows.dtype)
        for j, column in enumerate(self.columns):
            edges[j, : len(column.edges)] = _rounded_down(column.edges, rows.dtype)
        gaps = np.array([size - 1 for size in self.sizes], np.uint8)

        def strip(start: int) -> None:
            _native.search_bins(rows[start : start + STRIP], edges, gaps, codes, start)

        for _ in ordered_map(strip, range(0, n, STRIP), n_jobs):
            pass
        return codes


def _many_codes(x: np.ndarray, column: ColumnBins) -> np.ndarray:
    codes = np.searchsorted(column.edges, x.astype(np.float64))
    return np.where(np.isnan(x), column.size - 1, codes).astype(np.uint16)


def _column_bins(x: np.ndarray, weights: np.ndarray | None, most: int, levels: bool) -> ColumnBins:
    """The bins of a column: its levels, or intervals with about equal shares of the weights."""
    known = ~np.isnan(x)
    x = x[known].astype(np.float64)
    w = np.ones(len(x)) if weights is None else weights[known]
    values, where = np.unique(x, return_inverse=True)
    if not len(values):
        return ColumnBins(np.empty(0), np.zeros(1), np.array([0.0, np.nan]))
    share = np.bincount(where, w, len(values)) / w.sum()
    if levels:
        return ColumnBins(_between(values), values, np.full(len(values) + 1, np.nan))
    ends = np.cumsum(share)
    bin_of = np.arange(len(values))
    edges = _between(values)
    if len(values) > most:
        # the number at each quantile is the last one of its bin
        cuts = np.unique(np.searchsorted(ends, np.arange(1, most) / most - 1e-12))
        cuts = cuts[cuts < len(values) - 1]
        edges = values[cuts]
        bin_of = np.searchsorted(cuts, bin_of)
    size = len(edges) + 1
    weight = np.bincount(bin_of, share, size)
    unit = max(float(np.abs(values).max()), np.finfo(float).tiny)  # no sum overflows
    centres = unit * (np.bincount(bin_of, share * (values / unit), size) / weight)
    ranks = np.cumsum(weight) - weight / 2
    low, high = (
        values[np.searchsorted(ends, q).clip(0, len(values) - 1)] for q in (TAIL, 1 - TAIL)
    )
    span = high / unit - low / unit
    scaled = (centres / unit - low / unit) / span if span > 0 else ranks
    scaled = scaled.clip(-BEYOND, 1 + BEYOND)
    return ColumnBins(edges, centres, np.append((ranks + scaled) / 2, np.nan))


def _between(values: np.ndarray) -> np.ndarray:
    """Edges halfway between different numbers; the lower number is not above its edge."""
    return np.maximum(values[:-1] / 2 + values[1:] / 2, values[:-1]).clip(max=_below(values[1:]))


def _below(values: np.ndarray) -> np.ndarray:
    return np.nextafter(values, -np.inf)


def _rounded_down(edges: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The largest numbers of a precision that are not above the edges."""
    rounded = edges.astype(dtype)
    return np.where(rounded > edges, np.nextafter(rounded, dtype.type(-np.inf)), rounded)
