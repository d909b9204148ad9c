"""Distances that are learnt: feature machines, linear maps, weights of columns."""

from mercer.learners.metrics.coordinate_weights import CoordinateDescentWeights, noise_features
from mercer.learners.metrics.feature_metric import KernelForm, learn_metric
from mercer.learners.metrics.linear_metric import LargeMarginNeighbours

__all__ = [
    "CoordinateDescentWeights", "KernelForm", "LargeMarginNeighbours", "learn_metric",
    "noise_features",
]  # fmt: skip
