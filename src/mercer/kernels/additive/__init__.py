"""Kernels of sums of functions of columns: bins of numbers, and functions of their levels."""

from mercer.kernels.additive.additive_kernel import (
    FITTED,
    Additive,
    CoarseColumn,
    LearntAdditive,
    PairFunctions,
    coarse_column,
    laplacian,
    level_functions,
    pair_functions,
)
from mercer.kernels.additive.bins import MOST, ColumnBins, TableBins

__all__ = [
    "FITTED", "MOST", "Additive", "CoarseColumn", "ColumnBins", "LearntAdditive", "PairFunctions",
    "TableBins", "coarse_column", "laplacian", "level_functions", "pair_functions",
]  # fmt: skip
