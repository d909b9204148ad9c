"""Sums of functions of single columns and of pairs of columns, from counts of binned rows."""

from mercer.solvers.additive.column_pairs import (
    FITTED,
    SCORED,
    PairFunctions,
    choose_pairs,
    coarse_column,
    pair_functions,
    score_pairs,
)
from mercer.solvers.additive.count_tables import CountTables, column_parts
from mercer.solvers.additive.evidence import EvidenceRidge, PartResult
from mercer.solvers.additive.exact_sum import ExactSum
from mercer.solvers.additive.functions_of_levels import laplacian, level_functions
from mercer.solvers.additive.part_newton import PartNewton
from mercer.solvers.additive.row_design import RowDesign
from mercer.solvers.additive.row_ridge import RowRidge

__all__ = [
    "FITTED", "SCORED", "CountTables", "EvidenceRidge", "ExactSum", "PairFunctions", "PartNewton",
    "PartResult", "RowDesign", "RowRidge", "choose_pairs", "coarse_column", "column_parts",
    "laplacian", "level_functions", "pair_functions", "score_pairs",
]  # fmt: skip
