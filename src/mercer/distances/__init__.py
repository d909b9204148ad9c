"""How far: distances between vectors, categories and mixed columns."""

from mercer.distances.base import Distance
from mercer.distances.categories import LogFrequency, Match, SmoothedMatch
from mercer.distances.comparison import Comparison
from mercer.distances.kernel_distance import KernelDistance
from mercer.distances.mixed import Mixed
from mercer.distances.vectors import Cosine, Jaccard, Mahalanobis, Minkowski
from mercer.distances.weights import correlation_weights

__all__ = [
    "Comparison",
    "Cosine",
    "Distance",
    "Jaccard",
    "KernelDistance",
    "LogFrequency",
    "Mahalanobis",
    "Match",
    "Minkowski",
    "Mixed",
    "SmoothedMatch",
    "correlation_weights",
]
