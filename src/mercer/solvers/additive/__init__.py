"""Sums of functions of single columns and of pairs of columns, from counts of binned rows."""

from mercer.solvers.additive.count_tables import CountTables, column_parts
from mercer.solvers.additive.evidence import EvidenceRidge, PartResult
from mercer.solvers.additive.level_functions import laplacian, level_functions

__all__ = [
    "CountTables", "EvidenceRidge", "PartResult", "column_parts", "laplacian", "level_functions",
]  # fmt: skip
