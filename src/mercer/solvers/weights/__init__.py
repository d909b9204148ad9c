"""Weights of many kernels: by alignment, by margin, by neighbourhoods."""

from mercer.solvers.weights.kernel_products import InnerProducts, inner_products
from mercer.solvers.weights.kernel_weights import (
    AlignmentWeights,
    EasyWeights,
    NeighbourhoodWeights,
)
from mercer.solvers.weights.margin_weights import HingeMachines, MarginWeights, RidgeMachine
from mercer.solvers.weights.nonnegative import equal_if_none, nonnegative_minimum

__all__ = [
    "AlignmentWeights", "EasyWeights", "HingeMachines", "InnerProducts", "MarginWeights",
    "NeighbourhoodWeights", "RidgeMachine", "equal_if_none", "inner_products",
    "nonnegative_minimum",
]  # fmt: skip
