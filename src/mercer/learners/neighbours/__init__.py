"""Learners on the nearest training rows, or on those within a radius."""

from mercer.learners.neighbours.neighbour_classifier import KNeighborsClassifier

__all__ = ["KNeighborsClassifier"]
