"""Sums of functions of single columns and of pairs of columns, from counts of binned rows."""

from mercer.solvers.additive.evidence import EvidenceRidge, PartResult
from mercer.solvers.additive.row_design import (
    SCORED,
    CountTables,
    RowDesign,
    choose_pairs,
    column_parts,
    score_pairs,
)
from mercer.solvers.additive.row_ridge import ExactSum, PartNewton, RowRidge

__all__ = [
    "SCORED", "CountTables", "EvidenceRidge", "ExactSum", "PartNewton", "PartResult", "RowDesign",
    "RowRidge", "choose_pairs", "column_parts", "score_pairs",
]  # fmt: skip
