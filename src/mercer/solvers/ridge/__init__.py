"""(K + λ W⁻¹) a = y: dense, iterative, of low rank, local; and Newton's method for classes."""

from mercer.solvers.ridge.cholesky import CholeskyFactor, CholeskySolver, left_out_fit
from mercer.solvers.ridge.conjugate_gradient import (
    ConjugateGradientSolver,
    NystroemPreconditioner,
    Preconditioner,
    PreparedPreconditioner,
)
from mercer.solvers.ridge.eigenpairs import EigenFactor, EigenSolver
from mercer.solvers.ridge.eigenpro import EigenProSolver
from mercer.solvers.ridge.local_ridge import LocalSolver, rounding_of
from mercer.solvers.ridge.low_rank import (
    GramEigenpairs,
    LowRankFactor,
    LowRankSolver,
    RidgeSums,
    SummedFactor,
    products_serve,
)
from mercer.solvers.ridge.newton_logistic import (
    LogisticPasses,
    LogisticProgress,
    LogisticTotal,
    NewtonLogistic,
    probabilities,
)
from mercer.solvers.ridge.ridge_sweep import RidgeFolds, RidgeSweep
from mercer.solvers.ridge.sketched import SketchedFactor, SketchedSolver

__all__ = [
    "CholeskyFactor", "CholeskySolver", "ConjugateGradientSolver", "EigenFactor",
    "EigenProSolver", "EigenSolver", "GramEigenpairs", "LocalSolver", "LogisticPasses",
    "LogisticProgress", "LogisticTotal", "LowRankFactor", "LowRankSolver", "NewtonLogistic",
    "NystroemPreconditioner", "Preconditioner", "PreparedPreconditioner", "RidgeFolds",
    "RidgeSums", "RidgeSweep", "SketchedFactor", "SketchedSolver", "SummedFactor",
    "left_out_fit", "probabilities", "products_serve", "rounding_of",
]  # fmt: skip
