"""Distances between vectors, categories, sets, strings and mixed columns."""

from mercer.distances.amounts import BrayCurtis, Canberra
from mercer.distances.base import Coordinates, Distance
from mercer.distances.binary import Binary
from mercer.distances.categories import LogFrequency, Match, SmoothedMatch
from mercer.distances.comparison import Comparison, Composite
from mercer.distances.differences import PairDifferences
from mercer.distances.from_function import FromFunction
from mercer.distances.kernel_distance import KernelDistance
from mercer.distances.mapped import MappedMinkowski
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
    "Minkowski",
    "Mixed",
    "NanEuclidean",
    "PairDifferences",
    "SmoothedMatch",
    "SquaredEuclidean",
    "WeightedEdit",
    "correlation_weights",
    "dense_rows",
]
