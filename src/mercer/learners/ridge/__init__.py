"""Kernel ridge regression, classification by it, and kernel logistic regression."""

from mercer.learners.ridge.kernel_ridge import KernelRidge
from mercer.learners.ridge.penalty import (
    PENALTIES,
    affordable,
    least_left_out,
    mixed_outputs,
    solve_by_value,
)

__all__ = [
    "PENALTIES", "KernelRidge", "affordable", "least_left_out", "mixed_outputs",
    "solve_by_value",
]  # fmt: skip
