"""Functions of two columns on a coarse grid of their levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import _native
from mercer.kernels.additive.functions_of_levels import laplacian, level_functions
from mercer.persistence import fields, whole

GAMMA = 2.0  # of the kernel of each side of a pair
SIDE = 10  # leading functions of each column, whose products are those of a pair
FITTED = 64  # levels of a column on the grid


@fields(group=whole(lambda column: len(column.functions)))
@dataclass(frozen=True, eq=False)
class CoarseColumn:
    """A column on the grid of pairs.

    Attributes
    ----------
    group : ndarray of uint8 of shape (levels,)
        Which of its coarse levels each level belongs to.
    functions : ndarray of shape (coarse levels, r)
    values : ndarray of shape (r,)
        The eigenvalues of the functions.
    """

    group: np.ndarray
    functions: np.ndarray
    values: np.ndarray


def coarse_column(positions: np.ndarray, counts: np.ndarray, most: int) -> CoarseColumn:
    """Join the levels of a column to at most ``most``: neighbours of about equal weight, or the
    rarest categories. The last level, which is that of missing values, stays alone.

    Examples
    --------
    >>> column = coarse_column(np.array([0, 0.3, 0.6, 1, np.nan]), np.array([1, 1, 2, 2, 0]), 3)
    >>> column.group
    array([0, 0, 1, 1, 2], dtype=uint8)
    """
    size = len(positions) - 1
    group = np.arange(size + 1)
    if size > most - 1 and np.isnan(positions[0]):
        rank = np.empty(size, np.intp)
        rank[np.argsort(-counts[:-1], kind="stable")] = np.arange(size)
        group[:-1] = np.minimum(rank, most - 2)
    elif size > most - 1:
        share = counts[:-1] / max(counts[:-1].sum(), np.finfo(float).tiny)
        middle = np.cumsum(share) - share / 2
        group[:-1] = np.unique((middle * (most - 1)).astype(np.intp), return_inverse=True)[1]
    group[-1] = group[:-1].max(initial=-1) + 1
    weight = np.bincount(group, counts)
    sums = np.bincount(group, np.nan_to_num(positions) * counts)
    plain = np.bincount(group, np.nan_to_num(positions)) / np.bincount(group)
    place = np.where(weight > 0, sums / np.where(weight > 0, weight, 1), plain)
    place[-1] = np.nan
    if np.isnan(positions[0]):
        place[:] = np.nan
    functions, values = level_functions(laplacian(place, GAMMA), weight, SIDE)
    return CoarseColumn(group.astype(np.uint8), functions, values)


@dataclass(frozen=True, eq=False)
class PairFunctions:
    """Functions of the cells of a grid of two columns.

    Attributes
    ----------
    columns : tuple of int
    sides : tuple of CoarseColumn
    functions : ndarray of shape (cells, r)
    """

    columns: tuple[int, int]
    sides: tuple[CoarseColumn, CoarseColumn]
    functions: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Levels of both columns on the grid."""
        return len(self.sides[0].functions), len(self.sides[1].functions)

    def cells(self, codes: np.ndarray) -> np.ndarray:
        """The cell of each row, (n,), from the codes of all columns."""
        a, b = (
            np.ascontiguousarray(side.group[codes[j]]) for j, side in zip(self.columns, self.sides)
        )
        cells = np.empty(len(a), np.uint16)
        _native.pair_cells(a, b, self.shape[1], cells)
        return cells

    def counts(self, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The weight of the rows in each cell, (cells,)."""
        found = np.zeros(len(self.functions))
        _native.add_bin_sums(self.cells(codes), weights, found)
        return found

    def centred(self, counts: np.ndarray) -> PairFunctions:
        """The functions with mean 0 over rows, of which ``counts`` (cells,) are in each cell."""
        mean = counts @ self.functions / max(counts.sum(), np.finfo(float).tiny)
        return PairFunctions(self.columns, self.sides, self.functions - mean)


def pair_functions(
    columns: tuple[int, int], left: CoarseColumn, right: CoarseColumn, most: int
) -> PairFunctions:
    """The products of functions of two columns with the largest products of eigenvalues."""
    together = np.multiply.outer(left.values, right.values)
    order = np.argsort(-together, axis=None, kind="stable")[:most]
    a, b = np.unravel_index(order, together.shape)
    product = left.functions[:, None, a] * right.functions[None, :, b]
    cells = len(left.functions) * len(right.functions)
    return PairFunctions(columns, (left, right), product.reshape(cells, len(order)))
