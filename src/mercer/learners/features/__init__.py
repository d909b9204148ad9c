"""Kernels as features of finitely many columns, and features of time series, for linear methods of
any library."""

from mercer.learners.features.nystroem import DIGITS, Nystroem, different_centres, principal_axes
from mercer.learners.features.random_features import RandomFeatures, frequencies
from mercer.learners.features.series_features import (
    ConvolutionFeatures,
    SignatureFeatures,
    WarpingFeatures,
)

__all__ = [
    "DIGITS", "ConvolutionFeatures", "Nystroem", "RandomFeatures", "SignatureFeatures",
    "WarpingFeatures", "different_centres", "frequencies", "principal_axes",
]  # fmt: skip
