"""What distances and kernels share: both compare two samples, block by block.

A comparison is a parameter object in scikit-learn's sense: the constructor stores its arguments
untouched, so that ``get_params``, ``set_params``, ``clone`` and ``repr`` come for nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from mercer.samples import (
    Categories,
    Ragged,
    Table,
    as_samples,
    as_table,
    part_key,
    refuse_missing,
    refuse_objects,
    select_columns,
)

__all__ = ["Comparison"]

CODED = (Categories, Ragged)  # samples that have no precision of their own


class Comparison(BaseEstimator, ABC):
    """A function of two samples, evaluated on blocks of them.

    Subclasses define `block`, and override `validate` when they have parameters and `bind` when
    they learn something from the training sample.
    """

    #: the kind of sample that is compared: a key of `mercer.samples.KINDS`
    kind: str = "vectors"
    #: value(x, z) == value(z, x)
    symmetric: bool = True

    @abstractmethod
    def block(self, X: Any, Z: Any) -> np.ndarray:
        """Value for every row x of X (n) and z of Z (m), encoded samples.

        A fresh array of shape (n, m), in the dtype of the samples, which the caller may overwrite.
        """

    def validate(self) -> None:
        """Raise ValueError or TypeError when a parameter is out of range."""

    def encode(self, X: Any, like: Any = None) -> Any:
        """Raw data as the encoded samples that `block` reads; encoded samples pass unchanged."""
        if self.kind == "table":
            return _encode_table(X, self, like)
        return as_samples(X, self.kind, like=like, reader=type(self).__name__)

    def column_groups(self) -> Iterator[tuple[Comparison, tuple]]:
        """The comparisons that read columns of a table, each with its columns.

        The default looks into parameters that are comparisons themselves.
        """
        for value in self.get_params(deep=False).values():
            if isinstance(value, Comparison):
                yield from value.column_groups()

    def pair_cost(self, X: Any) -> float:
        """Operations for one pair of rows of encoded samples, about; 0: few, whatever the rows.

        Where pairs are costly, as those of long strings are, Gram matrices are computed by smaller
        tiles. The default adds up the comparisons that this one is made of.
        """
        if self.kind == "table":
            groups = self.column_groups()
            return sum(c.pair_cost(X.parts[part_key(c.kind, columns)]) for c, columns in groups)
        parts = self.get_params(deep=False).values()
        return sum(part.pair_cost(X) for part in parts if isinstance(part, Comparison))

    def bind(self, X: Any, y: Any = None) -> Self:
        """A frozen copy that has learnt what it needs from the encoded training sample.

        The default has nothing to learn: it validates the parameters and returns itself.
        """
        self.validate()
        return self

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """Values on raw data: ``kernel(X)`` or ``kernel(X, Z)``, shape (n, n) or (n, m)."""
        self.validate()
        X = self.encode(X)
        return self.block(X, X if Z is None else self.encode(Z, like=X))


def _encode_table(X: Any, reader: Comparison, like: Any) -> Table:
    """Every group of columns that the reader's parts name, encoded by the part that reads it."""
    return encode_groups(X, list(reader.column_groups()), like, type(reader).__name__)


def encode_groups(
    X: Any, groups: Sequence[tuple[Comparison, tuple]], like: Any, name: str
) -> Table:
    """The named groups of columns, each encoded by the comparison that reads it."""
    if isinstance(X, Table):
        return X
    X = as_table(X, name)
    parts, n_rows = {}, None
    for comparison, columns in groups:
        key = part_key(comparison.kind, columns)
        known = None if like is None else like.parts[key]
        raw = parts[key] if key in parts else select_columns(X, columns, name)
        if comparison.kind == "vectors" and key not in parts:
            refuse_objects(raw, name)
            refuse_missing(raw, columns, name)
        try:
            parts[key] = comparison.encode(raw, known)
        except ValueError as error:
            raise ValueError(f"columns {list(columns)}: {error}") from error
        n_rows = parts[key].shape[0]
    if n_rows is None:
        raise ValueError(f"{name} reads no columns: give it parts with columns.")
    vectors = [p.dtype for p in parts.values() if not isinstance(p, CODED)]
    dtype = np.result_type(*vectors) if vectors else np.dtype(np.float64)
    for key, part in parts.items():
        if isinstance(part, CODED):
            parts[key] = part.astype(dtype)
    return Table(parts, [(c.kind, columns) for c, columns in groups], n_rows)
