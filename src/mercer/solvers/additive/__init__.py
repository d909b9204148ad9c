"""Sums of functions of single columns and of pairs of columns, from counts of binned rows."""

from mercer.solvers.additive.column_pairs import SCORED, choose_pairs, score_pairs
from mercer.solvers.additive.evidence import EvidenceRidge, PartResult
from mercer.solvers.additive.row_design import CountTables, RowDesign, column_parts
from mercer.solvers.additive.row_ridge import ExactSum, PartNewton, RowRidge

__all__ = [
    "SCORED", "CountTables", "EvidenceRidge", "ExactSum", "PartNewton", "PartResult", "RowDesign",
    "RowRidge", "choose_pairs", "column_parts", "score_pairs",
]  # fmt: skip
