"""Largest eigenvalues of an operator, and the Riccati equation."""

from mercer.solvers.eigen.riccati_equation import riccati
from mercer.solvers.eigen.top_eigenpairs import (
    GUARDS,
    Eigenpairs,
    TopEigenSolver,
    dense_eigenpairs,
    factor_eigenpairs,
)

__all__ = [
    "GUARDS", "Eigenpairs", "TopEigenSolver", "dense_eigenpairs", "factor_eigenpairs", "riccati",
]  # fmt: skip
