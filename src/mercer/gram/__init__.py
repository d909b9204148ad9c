"""Gram matrices as operators, with memory, tiles, threads and low rank. Use `gram` to make one.

place.py says what ``memory=`` means, and refuses; build.py asks the makers. What is kept in
memory and what is streamed is decided in operator.py (`fits`, `held`).
"""

from mercer.gram.build import TiledGram, TriangleGram, gram, held_for_products, register
from mercer.gram.combined import (
    CentredGram,
    CombinedGram,
    LabelledGram,
    Means,
    MultipliedGram,
    ShiftedGram,
)
from mercer.gram.lapack import GramFactor
from mercer.gram.local import Leaves, LocalGram, grow_leaves
from mercer.gram.low_rank import (
    CrossFeatureGram,
    FactoredGram,
    FeatureGram,
    LowRankGram,
    low_rank_gram,
    pivoted_cholesky,
)
from mercer.gram.operator import DenseGram, GramOperator, MatrixPart, ScaledGram, require
from mercer.gram.place import ApproximationWarning, Place, PlaceOfLearner, PreparedSide

__all__ = [
    "CentredGram", "CombinedGram", "CrossFeatureGram", "DenseGram", "FactoredGram",
    "FeatureGram", "GramFactor", "GramOperator", "LabelledGram", "Leaves", "LocalGram",
    "LowRankGram", "MatrixPart", "Means",
    "MultipliedGram", "Place", "PreparedSide", "ScaledGram", "ShiftedGram",
    "TiledGram", "TriangleGram", "gram", "grow_leaves", "held_for_products", "low_rank_gram",
    "pivoted_cholesky", "register", "require",
]  # fmt: skip

# what other rooms use, and no user needs
from mercer.gram.build import made_here
from mercer.gram.lapack import (
    cholesky_factor,
    inverse_diagonal,
    refuse_overflow,
    solve_factored,
    symmetric_product,
    whitened,
)
from mercer.gram.local import LEAF_ROWS, affordable_leaf, leaf_coefficients, leaf_jobs, local_gram
from mercer.gram.low_rank import factor_rows, least_pivot, pivots_of_some
from mercer.gram.operator import Rows
from mercer.gram.place import in_single_precision
