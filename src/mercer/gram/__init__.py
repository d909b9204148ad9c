"""Gram matrices as operators, with memory, tiles, threads and low rank. Use `gram` to make one."""

from mercer.gram.build import gram
from mercer.gram.centred import CentredGram, Means, ShiftedGram
from mercer.gram.combined import CombinedGram
from mercer.gram.factored import CrossFeatureGram, FactoredGram, FeatureGram
from mercer.gram.labelled import LabelledGram
from mercer.gram.leaves import Leaves, grow_leaves
from mercer.gram.local import LocalGram
from mercer.gram.low_rank import LowRankGram, low_rank_gram, pivoted_cholesky
from mercer.gram.memory import memory_budget
from mercer.gram.operator import DenseGram, GramOperator, MatrixPart, require
from mercer.gram.scaled import ScaledGram
from mercer.gram.tiled import TiledGram
from mercer.gram.triangle import TriangleGram, held_for_products

__all__ = [
    "CentredGram",
    "CombinedGram",
    "CrossFeatureGram",
    "DenseGram",
    "FactoredGram",
    "FeatureGram",
    "GramOperator",
    "LabelledGram",
    "Leaves",
    "LocalGram",
    "LowRankGram",
    "MatrixPart",
    "Means",
    "ScaledGram",
    "ShiftedGram",
    "TiledGram",
    "TriangleGram",
    "gram",
    "grow_leaves",
    "held_for_products",
    "low_rank_gram",
    "memory_budget",
    "pivoted_cholesky",
    "require",
]

# what other rooms use, and no user needs
from mercer.gram.low_rank import factor_rows as factor_rows
from mercer.gram.memory import in_megabytes as in_megabytes
from mercer.gram.operator import Rows as Rows
from mercer.gram.precision import in_single_precision as in_single_precision
