"""Solvers of numerical problems with a Gram operator. They never need a kernel or a sample.

**A solver is a value**, a frozen dataclass: the penalty, tolerances and limits are its fields. It
has ``solve(K, y, weights=None)`` for an operator K (n, n), targets y of shape (n,) or (n, outputs)
and weights that mean repetition, and returns a `Result`: coefficients, a certificate, and why it
stopped. Solvers of ridge regression take one ``penalty``, or one for each output; `RidgeSweep`
takes many ``penalties`` and returns a list of results. `NewtonLogistic` reads a factor of K,
`LocalSolver` solves on a `LocalGram`, `SmoSolver` takes a `DualProblem` instead of y.
`TopEigenSolver` takes no y: it finds the largest eigenvalues of K.

**A factorisation** is the part of the work that a solver can use again for other right sides or
penalties. ``factorise(K, weights)`` makes it, and it has ``solve`` and ``leave_one_out``. A
`CholeskyFactor` is for one penalty, `EigenFactor` and `LowRankFactor` are for all penalties.
`RidgeFolds` is for all folds of a cross-validation.

**A preconditioner** is a value as well, with ``prepare(K, weights)``; see `Preconditioner`.

**Weights of many kernels** are found by solvers that take a list of operators instead of one:
`AlignmentWeights`, `EasyWeights`, `MarginWeights`, `NeighbourhoodWeights`. None of them holds the
matrices; ``coef`` of their result are the weights.

To compare your own solver with numpy's, use `mercer.testing.check_ridge_solver`.
"""

from mercer.solvers.alignment_weights import AlignmentWeights
from mercer.solvers.cholesky import CholeskyFactor, CholeskySolver
from mercer.solvers.conjugate_gradient import ConjugateGradientSolver
from mercer.solvers.dual import DualProblem
from mercer.solvers.easy_weights import EasyWeights
from mercer.solvers.eigenpairs import EigenFactor, EigenSolver
from mercer.solvers.kernel_products import InnerProducts, inner_products
from mercer.solvers.local_ridge import LocalSolver
from mercer.solvers.low_rank import LowRankFactor, LowRankSolver
from mercer.solvers.margin_machines import HingeMachines, RidgeMachine
from mercer.solvers.margin_weights import MarginWeights
from mercer.solvers.neighbourhood_weights import NeighbourhoodWeights
from mercer.solvers.newton import NewtonLogistic
from mercer.solvers.nonnegative import nonnegative_minimum
from mercer.solvers.preconditioners import (
    NystroemPreconditioner,
    Preconditioner,
    PreparedPreconditioner,
)
from mercer.solvers.result import ConvergenceWarning, Reason, Result
from mercer.solvers.riccati import riccati
from mercer.solvers.ridge_folds import RidgeFolds
from mercer.solvers.ridge_sweep import RidgeSweep
from mercer.solvers.smo import SmoResult, SmoSolver
from mercer.solvers.top_eigenpairs import (
    Eigenpairs,
    TopEigenSolver,
    dense_eigenpairs,
    factor_eigenpairs,
)

__all__ = [
    "AlignmentWeights",
    "CholeskyFactor",
    "CholeskySolver",
    "ConjugateGradientSolver",
    "ConvergenceWarning",
    "DualProblem",
    "EasyWeights",
    "EigenFactor",
    "EigenSolver",
    "Eigenpairs",
    "HingeMachines",
    "InnerProducts",
    "LocalSolver",
    "LowRankFactor",
    "LowRankSolver",
    "MarginWeights",
    "NeighbourhoodWeights",
    "NewtonLogistic",
    "NystroemPreconditioner",
    "Preconditioner",
    "PreparedPreconditioner",
    "Reason",
    "Result",
    "RidgeFolds",
    "RidgeMachine",
    "RidgeSweep",
    "SmoResult",
    "SmoSolver",
    "TopEigenSolver",
    "dense_eigenpairs",
    "factor_eigenpairs",
    "inner_products",
    "nonnegative_minimum",
    "riccati",
]
