"""K as an operator: dense, tiled, centred, shifted or precomputed; memory and threads live here."""

from mercer.gram.build import Gram
from mercer.gram.centred import CentredGram, ShiftedGram
from mercer.gram.dense import DenseGram
from mercer.gram.factored import FactoredGram, FeatureGram
from mercer.gram.low_rank import LowRankGram, low_rank_gram, pivoted_cholesky
from mercer.gram.operator import GramOperator
from mercer.gram.tiled import TiledGram

__all__ = [
    "CentredGram",
    "DenseGram",
    "FactoredGram",
    "FeatureGram",
    "Gram",
    "GramOperator",
    "LowRankGram",
    "ShiftedGram",
    "TiledGram",
    "low_rank_gram",
    "pivoted_cholesky",
]
