"""Rows of K that SMO, the perceptron and k-means read many times, and K of pairs of classes."""

from mercer.solvers.rows.by_operator import (
    ROUNDED_ROWS,
    SMALL,
    CachedRows,
    FactorRows,
    PairGram,
    PairGrams,
    PairRows,
    rounds_to_float32,
    row_source,
)
from mercer.solvers.rows.row_sources import HeldRowSource, RowSource, add_products

__all__ = [
    "ROUNDED_ROWS", "SMALL", "CachedRows", "FactorRows", "HeldRowSource", "PairGram", "PairGrams",
    "PairRows", "RowSource", "add_products", "rounds_to_float32", "row_source",
]  # fmt: skip
