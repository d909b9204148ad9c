"""Numerical problems, given a Gram operator. Solvers never see a kernel or a sample."""

from mercer.solvers.cholesky import CholeskySolver
from mercer.solvers.result import ConvergenceWarning, Reason, Result
from mercer.solvers.ridge_path import RidgePath

__all__ = ["CholeskySolver", "ConvergenceWarning", "Reason", "Result", "RidgePath"]
