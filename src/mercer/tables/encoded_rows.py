"""Rows that were encoded before, and the door to them: no learner of tables asks which it has.

`rows_of` reads what it is given, and `encoder_of` has an encoder for these rows, whose ``encoded``
tells the matrix and what its columns are. Encoded rows pass through both as they are: a search
encodes its table once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

from mercer.persistence import fields
from mercer.samples import EncodedColumns
from mercer.tables.encoding import Feature, TableEncoder
from mercer.tables.values import ReadTable


class EncodedRows:
    """Encoded rows with what their columns are, without the table that they were read from.

    Learners of columns take them in place of a table.
    """

    def __init__(self, matrix: EncodedColumns, features: list[Feature]):
        self.matrix, self.features = matrix, features

    @property
    def names(self) -> list:
        """The columns of the table that they are from."""
        return list(dict.fromkeys(feature.source for feature in self.features))

    def renamed(self, names: Sequence) -> EncodedRows:
        """The same rows with other names of the columns, in their order."""
        new = dict(zip(self.names, names, strict=True))
        features = [replace(feature, source=new[feature.source]) for feature in self.features]
        return EncodedRows(self.matrix, features)

    def __len__(self) -> int:
        return len(self.matrix)

    def __getitem__(self, rows: Any) -> EncodedRows:
        return EncodedRows(self.matrix[rows], self.features)


@fields()
class KnownEncoding:
    """The encoder of rows that were encoded before, which it returns as they are."""

    def fit(self, X: EncodedRows, y: Any = None) -> KnownEncoding:
        """There is nothing to learn; y is not used."""
        return self

    def encoded(self, X: EncodedRows) -> EncodedRows:
        """The same rows."""
        return X


@singledispatch
def rows_of(X: Any) -> Any:
    """Any table, read if it was not: a `ReadTable`; encoded rows stay what they are.

    Both have ``names``, ``renamed``, a length and parts by row numbers.
    """
    return ReadTable.of(X)


@rows_of.register
def _(X: EncodedRows) -> EncodedRows:
    return X


@singledispatch
def encoder_of(rows: Any) -> Any:
    """An encoder for such rows, to be fitted; ``encoded(rows)`` has ``matrix`` and ``features``."""
    return TableEncoder()


@encoder_of.register
def _(rows: EncodedRows) -> KnownEncoding:
    return KnownEncoding()
