"""Convolutions of time series with short kernels: the features of MiniRocket, MultiRocket and
Hydra, and the kernel that they make."""

from mercer.kernels.convolutions.fixed import FixedConvolutions
from mercer.kernels.convolutions.kernel import (
    CompetingConvolutions,
    Convolutions,
    ScaledCounts,
    WithDifferences,
)
from mercer.kernels.convolutions.plans import FeatureMap

__all__ = [
    "CompetingConvolutions", "Convolutions", "FeatureMap", "FixedConvolutions", "ScaledCounts",
    "WithDifferences",
]  # fmt: skip
