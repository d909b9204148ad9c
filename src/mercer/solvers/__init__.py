"""Numerical problems, given a Gram operator. Solvers never see a kernel or a sample."""

from mercer.solvers.cholesky import CholeskySolver
from mercer.solvers.conjugate_gradient import ConjugateGradientSolver
from mercer.solvers.low_rank_ridge import LowRankRidge
from mercer.solvers.newton import NewtonLogistic
from mercer.solvers.result import ConvergenceWarning, Reason, Result
from mercer.solvers.ridge_path import RidgePath

__all__ = [
    "CholeskySolver",
    "ConjugateGradientSolver",
    "ConvergenceWarning",
    "LowRankRidge",
    "NewtonLogistic",
    "Reason",
    "Result",
    "RidgePath",
]
