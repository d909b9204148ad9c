"""Linear machines on rows of numbers: support vector machines and the perceptron in the primal."""

from mercer.solvers.linear.linear_dual import ClassDual, ClassRows, LinearDual, LinearResult
from mercer.solvers.linear.linear_passes import LinearPasses, LinearTotal, PassedMachine
from mercer.solvers.linear.linear_perceptron import LinearPerceptron, LinearPerceptronSolver
from mercer.solvers.linear.linear_rows import FACTORED, LinearRows
from mercer.solvers.linear.linear_svm import LinearSolver, solve_lasso

__all__ = [
    "FACTORED", "ClassDual", "ClassRows", "LinearDual", "LinearPasses", "LinearPerceptron",
    "LinearPerceptronSolver", "LinearResult", "LinearRows", "LinearSolver", "LinearTotal",
    "PassedMachine", "solve_lasso",
]  # fmt: skip
