"""Distances between vectors, categories, sets, strings, series and mixed columns."""

from mercer.distances.amounts import Binary, BrayCurtis, Canberra
from mercer.distances.base import Coordinates, Distance, Norm
from mercer.distances.categories import LogFrequency, Match, SmoothedMatch
from mercer.distances.comparison import Comparison, Composite, Meaning
from mercer.distances.from_function import FromFunction, KernelDistance
from mercer.distances.graphs import GraphEdit
from mercer.distances.mapped import MappedMinkowski, PairDifferences, SquaredEuclidean
from mercer.distances.mixed import Mixed, NanEuclidean
from mercer.distances.products import dense_rows
from mercer.distances.series import DTW, ERP, MSM, TWED, SoftDTW
from mercer.distances.sets import Dice, Jaccard, Tanimoto
from mercer.distances.sphere import Haversine
from mercer.distances.strings import Edit, JaroWinkler, WeightedEdit
from mercer.distances.sums import Sum
from mercer.distances.transport import Sinkhorn, SlicedWasserstein
from mercer.distances.vectors import Cosine, Mahalanobis, Minkowski
from mercer.distances.weights import correlation_weights

__all__ = [
    "DTW", "ERP", "MSM", "TWED", "Binary", "BrayCurtis", "Canberra", "Comparison", "Composite",
    "Coordinates", "Cosine", "Dice", "Distance", "Edit", "FromFunction", "GraphEdit",
    "Haversine", "Jaccard", "JaroWinkler", "KernelDistance", "LogFrequency", "Mahalanobis",
    "MappedMinkowski", "Match", "Meaning", "Minkowski", "Mixed", "NanEuclidean", "Norm",
    "PairDifferences", "Sinkhorn", "SlicedWasserstein", "SmoothedMatch", "SoftDTW",
    "SquaredEuclidean", "Sum", "Tanimoto", "WeightedEdit", "correlation_weights", "dense_rows",
]  # fmt: skip

# what other rooms use, and no user needs
from mercer.distances.categories import column_weights, match_counts
from mercer.distances.comparison import Member, encode_groups, most_columns
from mercer.distances.from_function import PairFunction, Precomputed, function_name, listed
from mercer.distances.mixed import check_columns, check_parts
from mercer.distances.products import (
    EDGE,
    WORK,
    by_strips,
    check_weights,
    cosines,
    feature_sum,
    fill,
    float_range,
    from_origin,
    in_float64,
    inner_products,
    mirrored,
    over_pairs,
    refuse_lost_products,
    safe_unit,
    squared_euclidean,
    squared_norms,
    tile_edge,
    unit_rows,
)
from mercer.distances.series import all_pairs, own_pairs, path_sums, signature_sums
from mercer.distances.sets import INDEX, ReadsCounts, ReadsSets, molecule_distance
from mercer.distances.sphere import CorrelationGap, CosineGap
from mercer.distances.sums import OnSameSamples
from mercer.distances.weights import NeighbourAnswers, are_classes, nearest_left_out
