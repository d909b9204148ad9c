"""How kernel PCA finds its components: which solver suits K, the memory and the count.

Components of a stream take two readings: centres are drawn from all rows, and then the features
that the centres have of all rows become their covariance.

Pre-images: vectors whose features are near to given features, for radial kernels.

For k(z, x) = κ(‖z - x‖²) all features have the same norm, and the z whose feature is nearest to
Σ g_i φ(x_i) maximises Σ g_i κ(‖z - x_i‖²). Where the gradient is 0, z is a weighted mean of the
samples, with the weights g_i κ'(‖z - x_i‖²): a fixed point, which is found by iteration (Mika et
al., "Kernel PCA and de-noising in feature spaces", NIPS 1998).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar, cast

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from mercer.distances import Minkowski
from mercer.estimator import estimator
from mercer.gram import (
    FactoredGram,
    GramOperator,
    LowRankGram,
    held_for_products,
    in_single_precision,
    refuse_overflow,
)
from mercer.kernels import Kernel, Radial
from mercer.learners.base import (
    LIMITS,
    SQUARES,
    CentreFit,
    KernelLearner,
    Limits,
    is_value,
    solver_name,
)
from mercer.learners.spectral.components import (
    Components,
    components_by_products,
    components_by_value,
    components_of_factor,
    components_of_features,
    components_of_low_rank,
    components_of_matrix,
)
from mercer.persistence import fields
from mercer.samples import Samples
from mercer.solvers import Eigenpairs, TopEigenSolver
from mercer.streams import Chunks
from mercer.threads import raise_if_stopped

STEPS, TOL = 200, 1e-7  # most steps, and the step, relative to the samples, at which it ends
STARTS = 3  # training samples of the best values from which an iteration begins
PAIRS = 2**21  # pairs of wanted and training samples at a time
CANCELLED = 1e-6  # a sum of weights below this part of their sizes says nothing


def has_fixed_points(kernel: Kernel) -> bool:
    """Whether a kernel is a function of the Euclidean distance."""
    if not (isinstance(kernel, Radial) and isinstance(kernel.distance, Minkowski)):
        return False
    return kernel.distance.p == 2 and kernel.distance.exponent == 2


def fixed_points(kernel: Radial, X: np.ndarray, G: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The pre-images of Σ_i G_qi φ(x_i), (q, d).

    Parameters
    ----------
    kernel : Radial
        A function of the Euclidean distance.
    X : ndarray of shape (m, d)
    G : ndarray of shape (q, m)
    starts : ndarray of shape (q, s)
        The rows of X from which each begins; the best of them is the answer where nothing better is
        found.
    """
    mean = X.mean(axis=0)  # distances are more exact near the origin
    X, out = X - mean, np.empty((len(G), X.shape[1]), X.dtype)
    step = max(1, PAIRS // max(len(X), 1))
    for s in range(0, len(G), step):
        part = slice(s, s + step)
        wanted = G[part].astype(X.dtype, copy=False)
        points = [P for rows in starts[part].T for P in _iterate(kernel, X, wanted, X[rows])]
        values = [np.einsum("qm,qm->q", wanted, kernel.block(P, X)) for P in points]
        best = np.argmax(values, axis=0)  # with weights of both signs a step need not lead upwards
        out[part] = np.stack(points)[best, np.arange(len(best))]
    return out + mean


def _iterate(
    kernel: Radial, X: np.ndarray, G: np.ndarray, first: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where the iterations begin, and where they end."""
    size = float(np.abs(X).max(initial=0)) or 1.0
    active, Z = np.arange(len(first)), first.copy()
    for _ in range(STEPS):
        raise_if_stopped()
        D = np.maximum(kernel.distance.raw(Z[active], X), np.finfo(X.dtype).tiny)
        weights = G[active] * -kernel.profile_derivative(D)
        total, sizes = weights.sum(axis=1), np.abs(weights).sum(axis=1)
        sound = np.abs(total) > CANCELLED * sizes
        moved = (weights[sound] @ X) / total[sound, None]
        steps = np.abs(moved - Z[active[sound]]).max(axis=1, initial=0)
        Z[active[sound]] = moved
        active = active[sound][steps > TOL * size]
        if not len(active):
            break
    return first, Z


SOLVERS = ("auto", "dense", "krylov", "arpack", "randomized", "low_rank")
ROUGH = 1e-3  # largest error of a kernel value in float32, which only has to give a good start
SMALL = 500  # rows, up to which the whole matrix is decomposed
FEW_FEATURES = 500  # columns of a factor, up to which it is decomposed
RESIDUAL, MOST = 1e-6, 300  # defaults of the Krylov method


@estimator
class ComponentLearner(KernelLearner):
    """Abstract: components by the given ``eigen_solver``, or by one that suits."""

    _: KW_ONLY
    eigen_solver: Any = "auto"
    tol: float = 0
    max_iter: int | None = None
    iterated_power: Any = "auto"
    rank: int | None = None

    _pairwise_callable = True

    def _components(self, X: Any, count: int) -> tuple[Components, Any]:
        """The components, and the samples that they are functions of."""
        if is_value(self.eigen_solver):
            self.solver_ = solver_name(self.eigen_solver)
            chosen = replace(self.eigen_solver, count=count)
            return components_by_value(self.make_gram(X), chosen), X
        n, limits = X.shape[0], LIMITS["components"]
        indefinite = self.kernel_.positive_definite is False
        solver = "krylov" if self.eigen_solver == "arpack" else self.eigen_solver
        if solver == "low_rank" or (solver == "auto" and n > limits.exact_rows and not indefinite):
            if indefinite:
                raise ValueError(
                    f'eigen_solver="low_rank" needs a positive semidefinite kernel, which '
                    f'{self.kernel_!r} is not: give eigen_solver="krylov".'
                )
            self.solver_ = "low_rank"
            low = self.make_low_rank_gram(X, limits.rank)
            return components_of_low_rank(low, count), X[low.centres]
        K = self.gram_between(X)
        self.gram_ = K.describe()
        if solver == "auto":
            solver = self._suited(K, count)
        self.solver_ = solver
        if solver == "primal":
            return components_of_factor(cast(FactoredGram, K), count), X
        if solver == "dense":
            if not K.fits(limits.matrices):
                other = ', or fewer n_components with "krylov"'
                K.refuse(limits.matrices, "all eigenpairs", other)
            return components_of_matrix(K.held(), count), X
        return self._by_products(X, K, count), X

    def _suited(self, K: GramOperator, count: int) -> str:
        """What "auto" means for K in full."""
        n, smallest = K.shape[0], K.shape[0]
        if "factor" in K.cheap:
            m = cast(FactoredGram, K).rank
            smallest = min(n, m)
            needed = SQUARES * m * m
            few = m <= FEW_FEATURES or 4 * count > smallest
            if m <= n and few and K.place.holds(needed):
                return "primal"
        many = n <= SMALL or 4 * count > smallest
        return "dense" if many and K.fits(LIMITS["components"].matrices) else "krylov"

    def _by_products(self, X: Samples, K: GramOperator, count: int) -> Components:
        """Components by products with K alone."""
        n, single = X.shape[0], None
        if self.solver_ == "krylov" and n > SMALL:  # most products in float32, where that will do
            rounded = in_single_precision(self.kernel_, X, ROUGH)
            if rounded is not X:
                single = self.gram_between(rounded)
                single = held_for_products(single)
        K = held_for_products(K) if single is None and "factor" not in K.cheap else K
        memory = (K if single is None else single).beside().memory  # of what the products read
        tol, most = self.tol or RESIDUAL, self.max_iter or MOST
        if self.solver_ == "randomized":
            power = 7 if count < 0.1 * n else 4
            power = power if self.iterated_power == "auto" else self.iterated_power
            tol, most = 0.0, 1 + power
        solver = TopEigenSolver(count, tol, most, memory, self.random_state)
        return components_by_products(K, solver, single)


@fields()
class Scatter:
    """Sums over rows of their features F less ``near``, so that few digits are lost.

    Attributes
    ----------
    near, sums : ndarray of shape (rank,)
    squares : ndarray of shape (rank, rank)
    trace : float
        The sum of k(x, x).
    rows : int
    """

    sums: Any
    squares: Any
    trace: Any
    rows: Any

    def __init__(self, near: np.ndarray):
        self.near, rank = near, len(near)
        self.sums, self.squares = np.zeros(rank), np.zeros((rank, rank))
        self.trace, self.rows = 0.0, 0

    def add(self, F: np.ndarray, diagonal: np.ndarray) -> None:
        """Add rows, with their features (n, rank) and k(x, x)."""
        C = F - self.near.astype(F.dtype)
        self.sums += C.sum(axis=0, dtype=np.float64)
        self.squares += C.T @ C
        self.trace += float(diagonal.sum(dtype=np.float64))
        self.rows += len(F)

    def components(self, L: np.ndarray, count: int) -> Components:
        """The components of all rows, for K = L Lᵀ between the centres."""
        rest = self.sums / self.rows
        A = self.squares - np.outer(self.sums, rest)
        refuse_overflow(A)
        values, Q = scipy.linalg.eigh(A, overwrite_a=True, check_finite=False)
        pairs = Eigenpairs(Q[:, ::-1], values=values[::-1], solver="LAPACK")
        low = LowRankGram(np.arange(len(L)), L, F=L)
        return components_of_features(low, pairs, self.near + rest, self.rows, count)


class ComponentFit(CentreFit):
    """The fit of a `KernelPCA` to a stream.

    Attributes
    ----------
    near : ndarray of shape (rank,)
        About the mean of the features.
    """

    limits: ClassVar[Limits] = LIMITS["components"]
    solver_parameter: ClassVar[str] = "eigen_solver"
    near: np.ndarray

    def open(self, chunks: Chunks) -> None:
        """Choose the centres, which the learner keeps."""
        learner = self.learner
        drawn = self.draw(chunks)
        if drawn.weights is not None:
            raise ValueError(
                "weights are given, and KernelPCA has none: leave them out of the stream."
            )
        low = self.choose(learner.make_training(drawn.X, targets=False), *drawn[3:])
        learner.solver_ = "low_rank"
        total = np.zeros(low.rank)
        for _, F in low.strips():
            total += F.sum(axis=0, dtype=np.float64)
        self.near = total / low.shape[0]

    def empty(self) -> Scatter:
        return Scatter(self.near)

    def beside(
        self, X: Samples, y: ArrayLike, weights: ArrayLike | None
    ) -> tuple[np.ndarray | None, ...]:
        return (self.learner.kernel_.diag(X),)

    def finish(self, total: Scatter) -> Any:
        return self.learner.fit_scatter(total, self.L)
