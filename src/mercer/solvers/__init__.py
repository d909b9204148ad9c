"""Solvers of numerical problems with a Gram operator. They never need a kernel or a sample.

**A solver is a value**, a frozen dataclass: the penalty, tolerances and limits are its fields. It
has ``solve(K, y, weights=None)`` for an operator K (n, n), targets y of shape (n,) or (n, outputs)
and weights that mean repetition, and returns a `Result`: coefficients, a certificate, and why it
stopped. Solvers of ridge regression take one ``penalty``, or one for each output; `RidgeSweep`
takes many ``penalties`` and returns a list of results. `NewtonLogistic` reads a factor of K,
`SketchedSolver` its centres, `LocalSolver` solves on a `LocalGram`, `SmoSolver` takes a
`DualProblem` instead of y. `TopEigenSolver` takes no y: it finds the largest eigenvalues of K.

**A factorisation** is the part of the work that a solver can use again for other right sides or
penalties. ``factorise(K, weights)`` makes it, and it has ``solve`` and ``leave_one_out``. A
`CholeskyFactor` is for one penalty; `EigenFactor`, `LowRankFactor`, `SketchedFactor` for all.
`RidgeFolds` is for all folds of a cross-validation.

**A preconditioner** is a value as well, with ``prepare(K, weights)``; see `Preconditioner`.

**Weights of many kernels** are found by solvers that take a list of operators instead of one:
`AlignmentWeights`, `EasyWeights`, `MarginWeights`, `NeighbourhoodWeights`. None of them holds the
matrices; ``coef`` of their result are the weights.

**Rows of K** that a solver reads many times come from a `RowSource`. `row_source` chooses it by the
class of the operator; every operator has one.

**``solver=`` of a learner** takes a name or such a value. What is in the learner's own equation
takes the place of the value's field: ``penalty`` of ridge and logistic regression, ``count`` of
eigenpairs, ``clusters``. Its other fields stay, such as tolerances and limits.

To compare your own solver with numpy's, use `mercer.testing.check_ridge_solver`.
"""

from sklearn.exceptions import ConvergenceWarning

from mercer.solvers.clusters import KMeansResult, KMeansSolver
from mercer.solvers.eigen import (
    Eigenpairs,
    TopEigenSolver,
    dense_eigenpairs,
    factor_eigenpairs,
    riccati,
)
from mercer.solvers.embedding import EmbeddingSolver, LandmarkScaling
from mercer.solvers.result import Reason, Result
from mercer.solvers.ridge import (
    CholeskyFactor,
    CholeskySolver,
    ConjugateGradientSolver,
    EigenFactor,
    EigenProSolver,
    EigenSolver,
    LocalSolver,
    LowRankFactor,
    LowRankSolver,
    NewtonLogistic,
    NystroemPreconditioner,
    Preconditioner,
    PreparedPreconditioner,
    RidgeFolds,
    RidgeSweep,
    SketchedFactor,
    SketchedSolver,
)
from mercer.solvers.rows import RowSource, row_source
from mercer.solvers.smo import DualProblem, SmoResult, SmoSolver
from mercer.solvers.weights import (
    AlignmentWeights,
    EasyWeights,
    HingeMachines,
    InnerProducts,
    MarginWeights,
    NeighbourhoodWeights,
    RidgeMachine,
    inner_products,
    nonnegative_minimum,
)

__all__ = [
    "AlignmentWeights", "CholeskyFactor", "CholeskySolver", "ConjugateGradientSolver",
    "ConvergenceWarning", "DualProblem", "EasyWeights", "EigenFactor", "EigenProSolver",
    "EigenSolver", "Eigenpairs", "EmbeddingSolver", "HingeMachines", "InnerProducts",
    "KMeansResult", "KMeansSolver", "LandmarkScaling",
    "LocalSolver", "LowRankFactor", "LowRankSolver", "MarginWeights", "NeighbourhoodWeights",
    "NewtonLogistic", "NystroemPreconditioner", "Preconditioner", "PreparedPreconditioner",
    "Reason", "Result", "RidgeFolds", "RidgeMachine", "RidgeSweep", "RowSource", "SketchedFactor",
    "SketchedSolver", "SmoResult", "SmoSolver", "TopEigenSolver", "dense_eigenpairs",
    "factor_eigenpairs", "inner_products", "nonnegative_minimum", "riccati", "row_source",
]  # fmt: skip

# what other rooms use, and no user needs
from mercer.solvers.result import solve_all, worst
