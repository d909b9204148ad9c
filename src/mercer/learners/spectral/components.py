"""The principal components of a centred Gram matrix, found in the way that suits it.

All ways end in the same form. With K̃ the Gram matrix of the features minus their mean φ̄, and
K̃ v = λ v, the score of a sample is y(x) = Σ_i a_i k(x, x_i) + b with a = v / √λ: as K̃ has rows that
sum to 0, so has a, and what centring changes for a new sample is the constant b alone.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, replace
from typing import Any, NamedTuple, cast

import numpy as np

from mercer.estimator import estimator
from mercer.gram import CentredGram, FactoredGram, GramOperator, LowRankGram
from mercer.learners.base import KernelLearner, Limits, check_solver, is_value, solver_name
from mercer.samples import Samples
from mercer.solvers import Eigenpairs, TopEigenSolver, dense_eigenpairs, factor_eigenpairs
from mercer.solvers.eigen import GUARDS

DRAWN = 500  # rows whose components are the start of those of all
ROUGH = 1e-2  # relative residual of theirs
PATIENCE = 3  # products in float32, which may be too rough for a smaller residual
STRIP = 2**22  # numbers of K that are read at a time
#: an eigenvalue below this part of the largest is 0, and above that part of it, below 0, a fault
ROUNDING = {np.dtype(np.float32): (2e-7, 5e-3), np.dtype(np.float64): (1e-12, 1e-5)}


class Components(NamedTuple):
    """Components in the order of their eigenvalues, as functions of k(x, x_i) of m samples x_i.

    Attributes
    ----------
    values : ndarray of shape (count,)
        Eigenvalues λ of K̃; those within rounding of 0 are 0.
    vectors : ndarray of shape (m, count)
        Entries of the unit eigenvectors that belong to the m samples.
    coef : ndarray of shape (m, count)
        a; 0 where λ is 0.
    offset : ndarray of shape (count,)
        b.
    mean : ndarray of shape (m,)
        φ̄ = Σ_i mean_i φ(x_i).
    square : float
        ‖φ̄‖².
    lowest : float
        The smallest eigenvalue that was found, if it is below 0 and not by rounding; else 0.
    found : Eigenpairs
        How they were found.
    """

    values: np.ndarray
    vectors: np.ndarray
    coef: np.ndarray
    offset: np.ndarray
    mean: np.ndarray
    square: float
    lowest: float
    found: Eigenpairs

    def positive(self) -> Components:
        """The components whose eigenvalue is not 0."""
        kept = self.values > 0
        return self._replace(
            values=self.values[kept],
            vectors=self.vectors[:, kept],
            coef=self.coef[:, kept],
            offset=self.offset[kept],
        )


def components_of_matrix(K: GramOperator, count: int) -> Components:
    """Components from all of K̃: O(n³) operations, and three more matrices of the size of K."""
    centred = CentredGram(K)
    return _of_all_rows(centred, dense_eigenpairs(centred, count))


def components_by_products(
    K: GramOperator, solver: TopEigenSolver, single: GramOperator | None = None
) -> Components:
    """Components by products with K̃; if ``single`` is K in float32, few of them are with K itself.

    A solver with ``tol`` = 0, which asks for a number of products, gets no start from some rows.
    """
    start, centred = None, CentredGram(K)
    values = np.append(K.diag(), K.rows(np.arange(1))[0])
    if np.ptp(values) <= 8 * np.finfo(K.dtype).eps * np.abs(values).max():
        # k(x, x) = k(x, z) for all z, so that all are equal, and what is left is rounding
        return _of_all_rows(centred, replace(solver, tol=1.0).solve(centred))
    if solver.tol > 0:
        start = _start(K if single is None else single, solver)
    if single is not None:
        half, most = solver.tol / 2, solver.max_iter
        rough = TopEigenSolver(solver.count, half, most, solver.memory, 0, patience=PATIENCE)
        start = rough.solve(CentredGram(single), start).coef
    return _of_all_rows(centred, solver.solve(centred, start))


def components_by_value(K: GramOperator, solver: TopEigenSolver) -> Components:
    """Components by this solver, or by another one with ``solve(K) -> Eigenpairs``."""
    centred = CentredGram(K)
    return _of_all_rows(centred, solver.solve(centred))


def _start(K: GramOperator, solver: TopEigenSolver) -> np.ndarray | None:
    """About the first eigenvectors of K̃, from those of some rows; None where there are too few.

    Williams & Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.
    """
    n, count = K.shape[0], solver.count + GUARDS
    drawn = max(DRAWN, 4 * count)
    if 4 * drawn > n or "factor" in K.cheap:
        return None
    rows = np.sort(np.random.RandomState(0).choice(n, drawn, replace=False))
    V = TopEigenSolver(count, ROUGH, random_state=0).solve(CentredGram(K.part(rows).held())).coef
    start = np.zeros((n, count), K.dtype)
    step = max(1, STRIP // n)
    for s in range(0, drawn, step):
        some = np.asarray(K.rows(rows[s : s + step]))
        start += some.T @ V[s : s + step].astype(some.dtype)
    return start - start.mean(axis=0)


def components_of_factor(K: FactoredGram, count: int) -> Components:
    """Components from the features F of all rows, K = F Fᵀ: O(n m²) operations."""
    pairs, mean = factor_eigenpairs(K)
    count = min(count, len(pairs.values))
    values, lowest = _judged(pairs.values[:count], K, _largest(pairs, mean, K))
    Q = pairs.coef[:, :count]
    scores = np.concatenate([F @ Q.astype(F.dtype) for _, F in K.strips()]) - mean @ Q
    roots = _inverse_roots(values)
    vectors = scores * roots
    signs = _signs(vectors)
    vectors *= signs
    n, coef = K.shape[0], _centred(vectors * roots)
    # Fᵀ a is Q, up to rounding, which cancels in (f(x) - mean) Fᵀ a
    directions = sum(F.T @ coef[rows].astype(F.dtype) for rows, F in K.strips())
    mean_coef, square = np.full(n, 1 / n), float(mean @ mean)
    return Components(values, vectors, coef, -(mean @ directions), mean_coef, square, lowest, pairs)


def components_of_low_rank(K: LowRankGram, count: int) -> Components:
    """Components from a factor on m centres; new samples are only compared with these."""
    pairs, mean = factor_eigenpairs(K)
    return components_of_features(K, pairs, mean, K.shape[0], count)


def components_of_features(
    K: LowRankGram, pairs: Eigenpairs, mean: np.ndarray, rows: int, count: int
) -> Components:
    """Components from the eigenpairs of F̃ᵀ F̃ and the mean of F, for features F of all rows; K
    has the centres and their features."""
    largest = float(pairs.values.max(initial=0)) + rows * float(mean @ mean)
    values, lowest = _judged(pairs.values[:count], K, largest)
    Q = pairs.coef[:, : len(values)] * (values > 0)
    scores = (K.factor(K.centres) - mean) @ Q
    signs = _signs(scores)
    Q = Q * signs
    return Components(
        values,
        scores * signs * _inverse_roots(values),
        K.lift(Q),
        -(mean @ Q),
        K.lift(mean),
        float(mean @ mean),
        lowest,
        pairs,
    )


def low_rank_scores(K: LowRankGram, components: Components) -> np.ndarray:
    """Scores of all rows of K, (n, count)."""
    Q = K.L.T @ components.coef
    return np.concatenate([F @ Q for _, F in K.strips()]) + components.offset


def _of_all_rows(centred: CentredGram, found: Eigenpairs) -> Components:
    """Components of eigenpairs of the centred K."""
    n = centred.shape[0]
    means = centred.means
    largest = n * float(np.abs(means.columns).max(initial=0))
    values, lowest = _judged(found.values, centred, largest)
    vectors = found.coef * _signs(found.coef)
    coef = _centred(vectors * _inverse_roots(values))
    mean = np.full(n, 1 / n)
    return Components(
        values, vectors, coef, -(means.columns @ coef), mean, means.all, lowest, found
    )


def _judged(values: np.ndarray, K: GramOperator, largest: float) -> tuple[np.ndarray, float]:
    """Eigenvalues that are not rounding, 0 for others, and the lowest if it is truly below 0.

    ``largest`` is the size of K before it was centred.
    """
    small, wrong = ROUNDING[np.dtype(K.dtype)]
    top = float(np.abs(values).max(initial=0))
    noise = max(small * top, 10 * float(np.finfo(K.dtype).eps) * largest)
    lowest = float(values.min(initial=0))
    return np.where(values > noise, values, 0.0), min(lowest, 0) if -lowest > max(
        wrong * top, noise
    ) else 0.0


def _largest(pairs: Eigenpairs, mean: np.ndarray, K: GramOperator) -> float:
    """The largest eigenvalue before centring, at most."""
    return float(pairs.values.max(initial=0)) + K.shape[0] * float(mean @ mean)


def _inverse_roots(values: np.ndarray) -> np.ndarray:
    return np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=values > 0)


def _centred(coef: np.ndarray) -> np.ndarray:
    """The same columns, which sum to 0 now without rounding errors."""
    return coef - coef.mean(axis=0)


def _signs(vectors: np.ndarray) -> np.ndarray:
    """Signs that make the entry of the largest size of each column positive."""
    largest = np.abs(vectors).argmax(axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


SOLVERS = ("auto", "exact", "low_rank")


class PrincipalFeatures(NamedTuple):
    """The training samples in feature space.

    Attributes
    ----------
    T : ndarray of shape (n, r)
        Scores; the columns are orthogonal and sum to 0.
    values : ndarray of shape (r,)
        Their squared norms, all > 0.
    components : Components
        The scores as functions of a sample.
    support : encoded samples
        The samples that they compare with.
    """

    T: np.ndarray
    values: np.ndarray
    components: Components
    support: Any

    def lift(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients at the support, and a constant, of the functions T beta; beta (r, c)."""
        return self.components.coef @ beta, self.components.offset @ beta


@estimator
class PrincipalLearner(KernelLearner):
    """Abstract: a learner that works on principal features."""

    _: KW_ONLY
    solver: Any = "auto"
    rank: int | None = None

    _pairwise_callable = True

    def principal_features(self, X: Samples, limits: Limits) -> PrincipalFeatures:
        """The features of encoded training samples; sets ``solver_`` and ``gram_``."""
        check_solver(self.solver, SOLVERS)
        found = self._exact(X, limits) if self.solver != "low_rank" else None
        if found is None:
            low = self.make_low_rank_gram(X, limits.rank, held=1)
            self.solver_, support = "low_rank", X[low.centres]
            found = components_of_low_rank(low, low.rank).positive()
            T = low_rank_scores(low, found)
        else:
            support = X
            T = found.vectors * np.sqrt(found.values)
        if found.lowest < 0:
            warnings.warn(
                f"The kernel is not positive semidefinite on these samples: K has eigenvalues down "
                f"to {found.lowest:.3g} where the largest is {found.values.max(initial=0):.3g}. "
                "Those below 0 are left out; mercer.kernels.repair shows another way.",
                stacklevel=5,
            )
        return PrincipalFeatures(T.astype(np.float64), found.values, found, support)

    def _exact(self, X: Samples, limits: Limits) -> Components | None:
        """All components, or None where there are too many rows for that."""
        if is_value(self.solver):
            self.solver_ = solver_name(self.solver)
            return components_by_value(self.make_gram(X), self.solver).positive()
        n = X.shape[0]
        K = self.gram_between(X)
        self.gram_, self.solver_ = K.describe(), "exact"
        if "factor" in K.cheap and cast(FactoredGram, K).rank <= min(n, limits.rank):
            return components_of_factor(cast(FactoredGram, K), n).positive()
        if self.solver == "auto" and n > limits.exact_rows:
            return None
        if K.fits(limits.matrices):
            return components_of_matrix(K.held(), n).positive()
        if self.solver == "exact":
            K.refuse(limits.matrices, "an eigendecomposition", ', or solver="low_rank"')
        K.concede(limits.matrices, "an eigendecomposition", 'solver="low_rank"')
        return None
