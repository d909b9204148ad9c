"""Duals of support vector machines, solved by batches of SMO steps, and the kernel perceptron."""

from mercer.solvers.smo.dual import DualProblem, rounding_room
from mercer.solvers.smo.kernel_perceptron import PerceptronSolver, PerceptronStates, Watch
from mercer.solvers.smo.left_out import LeftOut, leave_out
from mercer.solvers.smo.smo import TINY, SmoResult, SmoSolver, solve_many, solve_to_gap

__all__ = [
    "TINY", "DualProblem", "LeftOut", "PerceptronSolver", "PerceptronStates", "SmoResult",
    "SmoSolver", "Watch", "leave_out", "rounding_room", "solve_many", "solve_to_gap",
]  # fmt: skip
