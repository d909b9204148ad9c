"""Kernels of sums of functions of columns: bins of numbers, and functions of their levels."""

from mercer.kernels.additive.additive_kernel import Additive, AdditiveParts
from mercer.kernels.additive.bins import MOST, ColumnBins, TableBins
from mercer.kernels.additive.grids import (
    FITTED,
    CoarseColumn,
    PairFunctions,
    coarse_column,
    laplacian,
    level_functions,
    pair_functions,
)

__all__ = [
    "FITTED", "MOST", "Additive", "AdditiveParts", "CoarseColumn", "ColumnBins", "PairFunctions",
    "TableBins", "coarse_column", "laplacian", "level_functions", "pair_functions",
]  # fmt: skip
