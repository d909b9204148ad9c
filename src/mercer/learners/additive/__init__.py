"""Additive learners: sums of functions of single columns and of pairs of columns."""

from mercer.learners.additive.regressor import AdditiveRegressor

__all__ = ["AdditiveRegressor"]
