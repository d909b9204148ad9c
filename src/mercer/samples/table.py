"""Samples that are rows of a table: groups of columns, each encoded by its kernel or distance.

`EncodedColumns` is a table without groups: its columns are encoded once for several kernels.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer.persistence import each, fields, floats, length_of
from mercer.samples.categories import Categories
from mercer.samples.kind import Kind, joined
from mercer.samples.protocol import SamplesLike
from mercer.samples.raw_data import (
    LISTED,
    describe,
    frame_of,
    is_frame,
    named_fields,
    rows_of_cells,
)


@fields(
    groups=length_of(lambda table: len(table.parts)),
    parts=each(length_of(lambda table: table.parts[0].shape[0])),
)
class Table:
    """Rows of several parts, each encoded by the comparison that reads it.

    Parameters
    ----------
    groups : list of (encoding, columns)
        How the columns of each part were encoded (`Comparison.encoding`), and a tuple of their
        names.
    parts : list of encoded samples
        The samples of each group, all with the same number of rows.

    Examples
    --------
    >>> X = Table([(None, ("a",)), (None, ("b",))], [np.eye(3), np.ones((3, 1))])
    >>> X.shape, X[1:].parts[0]
    ((3, 2), array([[0., 1., 0.],
           [0., 0., 1.]]))
    """

    def __init__(self, groups: list[tuple[Hashable, tuple]], parts: list):
        self.groups = groups
        self.parts = parts

    @property
    def shape(self) -> tuple[int, int]:
        return self.parts[0].shape[0], len(self.parts)

    @property
    def dtype(self) -> np.dtype:
        return np.result_type(*[part.dtype for part in self.parts])

    def __len__(self) -> int:
        return self.shape[0]

    def part(self, encoding: Hashable, columns: Sequence) -> Any:
        """The samples of a group of columns, which comparisons with this encoding read."""
        group = encoding, tuple(columns)
        if group in self.groups:  # as nearly always, and much faster: no group is hashed
            return self.parts[self.groups.index(group)]
        return self.by_group()[group]

    def by_group(self) -> dict[tuple, Any]:
        """The samples of each group, by its encoding and columns.

        A group that is a table itself also has the name of the groups that were found in it.
        """
        tables = {
            (("table", *part.groups), columns): part
            for (_, columns), part in zip(self.groups, self.parts)
            if isinstance(part, Table)
        }
        return tables | dict(zip(self.groups, self.parts))

    def astype(self, dtype: DTypeLike) -> Table:
        """The same rows, compared in another precision."""
        return Table(self.groups, [part.astype(dtype) for part in self.parts])

    def __getitem__(self, rows) -> Table:
        return Table(self.groups, [part[rows] for part in self.parts])

    def __repr__(self) -> str:
        return f"Table({len(self)} rows, parts {self.groups})"


class TableKind(Kind):
    """Rows of a table. What reads its columns encodes it."""

    name = "table"
    looks = "a data frame (pandas, polars, arrow) or a 2-D array"
    encoded = (Table,)
    of_columns = True
    tags: ClassVar = {"sparse": False, "categorical": True}

    def encode(self, X: SamplesLike, like: SamplesLike, reader: str) -> Table:
        raise TypeError(
            f"X cannot be encoded as a table by itself: {reader} has to say what reads its columns."
        )

    def rows(self, X: SamplesLike, reader: str) -> Any:
        """A data frame as it is, or with named fields; all else as a 2-D array.

        A TypeError says how to make a table from X.
        """
        if isinstance(X, EncodedColumns):
            return X
        X = named_fields(X)
        if is_frame(X):
            frame_of(X)  # which refuses columns of one name
            return X
        remedy = "a data frame (pandas, polars, arrow), or a 2-D array or list of rows"
        if sp.issparse(X):
            remedy += ". Make a sparse matrix dense with X.toarray(), or use a kernel on vectors"
        elif isinstance(X, Mapping):
            remedy += ". If X is a dict of columns, give pandas.DataFrame(X)"
        elif isinstance(X, LISTED):
            rows = rows_of_cells(X)
            if rows.ndim == 2:
                return rows
        raise TypeError(
            f"X is {describe(X)}, but {reader} reads columns of a table. Give {remedy}."
        )

    def joined(self, X: Table, more: Table) -> Table:
        return Table(X.groups, [joined(a, b) for a, b in zip(X.parts, more.parts, strict=True)])


def _rows_of_columns(owner: EncodedColumns, value: object) -> None:
    """The encoded samples of some columns: one for each row."""
    n, p = owner.numbers.shape
    if not isinstance(value, dict):
        raise ValueError("is no dict of columns")
    for j, samples in value.items():
        if not (isinstance(j, int) and 0 <= j < p and samples.shape[0] == n):
            raise ValueError(f"has for column {j!r} not the {n} rows of one of {p} columns")


@fields(numbers=floats(2), objects=_rows_of_columns)
class EncodedColumns:
    """Columns 0, 1, ... of a table, encoded before any kernel reads them.

    ``numbers`` are all p columns (n, p), where those that are not numbers are 0; ``objects`` has
    the encoded samples of each of these: n rows of one category, strings or sets.
    """

    def __init__(self, numbers: np.ndarray, objects: dict[int, Any]):
        self.numbers = numbers
        self.objects = objects

    @property
    def shape(self) -> tuple[int, int]:
        return self.numbers.shape

    @property
    def dtype(self) -> np.dtype:
        return self.numbers.dtype

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows) -> EncodedColumns:
        objects = {j: samples[rows] for j, samples in self.objects.items()}
        return EncodedColumns(self.numbers[rows], objects)

    def select(self, columns: Sequence, coordinates: bool = False) -> Any:
        """The objects of one column, several columns of categories, or numbers (n, columns).

        With ``coordinates`` categories are numbers too: their codes.
        """
        objects = [self.objects[j] for j in columns if j in self.objects]
        coded = bool(objects) and all(isinstance(samples, Categories) for samples in objects)
        if coordinates and coded:
            return self.numbers[:, list(columns)]
        if len(objects) == len(columns) == 1:
            return objects[0]
        if coded:
            return Categories.side_by_side(objects)
        return self.numbers[:, list(columns)]

    def __repr__(self) -> str:
        return f"EncodedColumns({self.shape[0]} rows, {self.shape[1]} columns)"
