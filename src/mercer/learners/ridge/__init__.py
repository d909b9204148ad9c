"""Kernel ridge regression, classification by it, and kernel logistic regression."""

from mercer.learners.ridge.gaussian_process import GaussianProcessRegressor
from mercer.learners.ridge.kernel_ridge import KernelRidge
from mercer.learners.ridge.kernel_ridge_classifier import KernelRidgeClassifier
from mercer.learners.ridge.logistic import KernelLogisticRegression
from mercer.learners.ridge.penalty import (
    PENALTIES,
    affordable,
    least_left_out,
    mixed_outputs,
    solve_by_value,
)

__all__ = [
    "PENALTIES", "GaussianProcessRegressor", "KernelLogisticRegression", "KernelRidge",
    "KernelRidgeClassifier", "affordable", "least_left_out", "mixed_outputs", "solve_by_value",
]  # fmt: skip
