"""How far: distances between vectors, categories and mixed columns."""

from mercer.distances.base import Distance
from mercer.distances.comparison import Comparison
from mercer.distances.vectors import Minkowski

__all__ = ["Comparison", "Distance", "Minkowski"]
