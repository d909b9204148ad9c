"""Suites for what others add: contracts of kernels, distances and Gram operators to inherit, and
checks of estimators on strings and sets.

The contracts need pytest.
"""

from mercer.testing.distances import DistanceContract
from mercer.testing.gram import GramContract
from mercer.testing.index import check_index
from mercer.testing.kernels import KernelContract
from mercer.testing.objects import (
    check_object_estimator,
    object_checks,
    parametrize_with_object_checks,
)

__all__ = [
    "DistanceContract",
    "GramContract",
    "KernelContract",
    "check_index",
    "check_object_estimator",
    "object_checks",
    "parametrize_with_object_checks",
]
