"""Contract suites to inherit in the tests of a new kernel or distance (needs pytest)."""

from mercer.testing.distances import DistanceContract
from mercer.testing.kernels import KernelContract

__all__ = ["DistanceContract", "KernelContract"]
