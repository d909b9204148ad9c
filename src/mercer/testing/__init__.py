"""Contract suites to inherit in the tests of a new kernel, distance or Gram operator.

They need pytest.
"""

from mercer.testing.distances import DistanceContract
from mercer.testing.gram import GramContract
from mercer.testing.kernels import KernelContract

__all__ = ["DistanceContract", "GramContract", "KernelContract"]
