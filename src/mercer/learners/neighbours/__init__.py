"""Learners on the nearest training rows, or on those within a radius."""

from mercer.learners.neighbours.neighbour_classifier import (
    KNeighborsClassifier,
    KNeighborsRegressor,
)
from mercer.learners.neighbours.neighbour_embedding import NeighbourEmbedding
from mercer.learners.neighbours.neighbour_learner import NeighboursLearner

__all__ = [
    "KNeighborsClassifier", "KNeighborsRegressor", "NeighbourEmbedding", "NeighboursLearner",
]  # fmt: skip
