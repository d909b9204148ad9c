"""How alike: kernels on vectors, categories and tables, and their algebra."""

from mercer.kernels.base import Kernel, Radial
from mercer.kernels.dot import Linear
from mercer.kernels.names import as_kernel
from mercer.kernels.radial import RBF

__all__ = ["RBF", "Kernel", "Linear", "Radial", "as_kernel"]
