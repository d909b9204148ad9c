"""Suites for what others add: contracts of kernels, distances and Gram operators to inherit, checks
of estimators on strings and sets, and checks of indexes and of solvers of ridge regression.

The contracts need pytest.
"""

from mercer.testing.gram import GramContract
from mercer.testing.index import check_index
from mercer.testing.kernels import DistanceContract, KernelContract
from mercer.testing.objects import (
    check_object_estimator,
    object_checks,
    parametrize_with_object_checks,
)
from mercer.testing.solvers import check_ridge_solver

__all__ = [
    "DistanceContract", "GramContract", "KernelContract", "check_index", "check_object_estimator",
    "check_ridge_solver", "object_checks", "parametrize_with_object_checks",
]  # fmt: skip
