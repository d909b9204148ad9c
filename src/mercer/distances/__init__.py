"""Distances between vectors, categories, sets, strings and mixed columns."""

from mercer.distances.amounts import BrayCurtis, Canberra
from mercer.distances.base import Coordinates, Distance, Norm
from mercer.distances.binary import Binary
from mercer.distances.categories import LogFrequency, Match, SmoothedMatch
from mercer.distances.comparison import Comparison, Composite
from mercer.distances.differences import PairDifferences
from mercer.distances.from_function import FromFunction
from mercer.distances.kernel_distance import KernelDistance
from mercer.distances.mapped import MappedMinkowski
from mercer.distances.meaning import Meaning
from mercer.distances.missing import NanEuclidean
from mercer.distances.mixed import Mixed
from mercer.distances.products import dense_rows
from mercer.distances.sets import Dice, Jaccard
from mercer.distances.sphere import Haversine
from mercer.distances.squared import SquaredEuclidean
from mercer.distances.strings import Edit, JaroWinkler, WeightedEdit
from mercer.distances.vectors import Cosine, Mahalanobis, Minkowski
from mercer.distances.weights import correlation_weights

__all__ = [
    "Binary",
    "BrayCurtis",
    "Canberra",
    "Comparison",
    "Composite",
    "Coordinates",
    "Cosine",
    "Dice",
    "Distance",
    "Edit",
    "FromFunction",
    "Haversine",
    "Jaccard",
    "JaroWinkler",
    "KernelDistance",
    "LogFrequency",
    "Mahalanobis",
    "MappedMinkowski",
    "Match",
    "Meaning",
    "Minkowski",
    "Mixed",
    "NanEuclidean",
    "Norm",
    "PairDifferences",
    "SmoothedMatch",
    "SquaredEuclidean",
    "WeightedEdit",
    "correlation_weights",
    "dense_rows",
]

# what other rooms use, and no user needs
from mercer.distances.categories import column_weights as column_weights
from mercer.distances.categories import match_counts as match_counts
from mercer.distances.comparison import Member as Member
from mercer.distances.comparison import encode_groups as encode_groups
from mercer.distances.cosine_gap import CorrelationGap as CorrelationGap
from mercer.distances.cosine_gap import CosineGap as CosineGap
from mercer.distances.left_out import Answers as Answers
from mercer.distances.left_out import nearest_left_out as nearest_left_out
from mercer.distances.mixed import check_columns as check_columns
from mercer.distances.mixed import check_parts as check_parts
from mercer.distances.pair_function import PairFunction as PairFunction
from mercer.distances.pair_function import function_name as function_name
from mercer.distances.pair_function import listed as listed
from mercer.distances.precomputed import Precomputed as Precomputed
from mercer.distances.products import check_weights as check_weights
from mercer.distances.products import cosines as cosines
from mercer.distances.products import feature_sum as feature_sum
from mercer.distances.products import from_origin as from_origin
from mercer.distances.products import inner_products as inner_products
from mercer.distances.products import over_pairs as over_pairs
from mercer.distances.products import squared_euclidean as squared_euclidean
from mercer.distances.products import squared_norms as squared_norms
from mercer.distances.products import unit_rows as unit_rows
from mercer.distances.sets import ReadsSets as ReadsSets
from mercer.distances.sets import overlaps as overlaps
from mercer.distances.sets import shared_items as shared_items
from mercer.distances.tiles import EDGE as EDGE
from mercer.distances.tiles import WORK as WORK
from mercer.distances.tiles import by_strips as by_strips
from mercer.distances.tiles import fill as fill
from mercer.distances.tiles import mirrored as mirrored
from mercer.distances.tiles import tile_edge as tile_edge
