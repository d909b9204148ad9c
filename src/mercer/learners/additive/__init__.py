"""Additive learners: sums of functions of single columns and of pairs of columns."""

from mercer.learners.additive.classifier import AdditiveClassifier
from mercer.learners.additive.regressor import AdditiveRegressor
from mercer.learners.additive.shapes import ColumnReasons, Shape, Surface, joined_levels

__all__ = [
    "AdditiveClassifier", "AdditiveRegressor", "ColumnReasons", "Shape", "Surface", "joined_levels",
]  # fmt: skip
