"""What all support vector machines share: solver, support vectors, certificate, predictions.

`SupportVectorMachine` is the abstract learner behind SVC, NuSVC (svm_classifiers.py), SVR, NuSVR
(svm_regressors.py) and OneClassSVM (one_class.py). A subclass states its dual problems; this class
chooses the Gram operator, solves, and keeps what predictions need.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.gram import DenseGram, FeatureGram, GramOperator, LowRankGram, TiledGram, low_rank_gram
from mercer.gram.memory import memory_budget
from mercer.gram.precision import in_single_precision
from mercer.kernels import Linear, as_kernel
from mercer.learners.base import FitPath, KernelLearner, describe_gram
from mercer.solvers.dual import DualProblem
from mercer.solvers.result import Reason
from mercer.solvers.smo import SmoResult, SmoSolver
from mercer.solvers.smo_rows import (
    ROUNDED_ROWS,
    SMALL,
    RowSource,
    rounding_room,
    rounds_to_float32,
)

__all__ = ["SupportVectorMachine", "WarmStarts"]

MOST_ROUNDS = 10_000  # of the solver, where max_iter is -1
EXACT_ROWS = 200_000  # beyond, solver="auto" takes a Gram matrix of low rank
RANK = 2000
BESIDE = 40_000_000  # bytes that a fit takes beside rows of K: blocks, tiles, room of BLAS
SOLVERS = ("auto", "exact", "low_rank")
SAID_EVERY = 1.0  # seconds between lines of verbose=True


class SupportVectorMachine(KernelLearner, ABC):
    """Abstract: give ``_pair_coef`` and a ``fit`` of these steps: `_check_parameters`,
    `_samples_and_weights`, `_operator`, `_solve` for each machine, `_store`."""

    gamma: float | str
    degree: int
    coef0: float
    tol: float
    shrinking: bool
    verbose: bool | int
    max_iter: int
    warm_start: bool
    solver: str
    rank: int | None
    random_state: Any
    _n_support: np.ndarray
    _path: WarmStarts | None

    def _new_path(self, models: list) -> WarmStarts:
        return WarmStarts(self._path_parameter == "C")

    @abstractmethod
    def _pair_coef(self) -> np.ndarray:
        """β at the support vectors for each machine, (support vectors, machines)."""

    # --- before the solver ----------------------------------------------------------------------

    def _check_parameters(self) -> None:
        ranges = {
            "C": (0, True, np.inf),
            "tol": (0, True, np.inf),
            "epsilon": (0, False, np.inf),
            "nu": (0, True, 1),
        }
        for name, (low, strict, high) in ranges.items():
            value: Any = getattr(self, name, 1.0)
            known = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            if not (known and value <= high and (value > low or (value == low and not strict))):
                above = f" and <= {high}" if np.isfinite(high) else ""
                raise ValueError(
                    f"{name}={value!r}: must be a number {'>' if strict else '>='} {low}{above}."
                )
        for name in ("tol", "epsilon"):
            if not np.isfinite(getattr(self, name, 1.0)):
                raise ValueError(f"{name}={getattr(self, name)!r}: must be finite.")
        if not (
            isinstance(self.max_iter, Integral) and (self.max_iter == -1 or self.max_iter >= 1)
        ):
            raise ValueError(f"max_iter={self.max_iter!r}: give -1 (no limit of yours) or >= 1.")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r}: give one of {list(SOLVERS)}.")
        if self.rank is not None and not (isinstance(self.rank, Integral) and self.rank >= 1):
            raise ValueError(f"rank={self.rank!r}: give a positive number of centres, or None.")

    def _samples_and_weights(
        self, X: Any, y: Any, sample_weight: Any, *, numeric: bool = False, targets: bool = True
    ):
        """Encoded rows of positive weight, their targets, weights and numbers in X."""
        X = self._encode_fit(X, y)
        if targets:
            y = column_or_1d(self._check_targets(X, y, numeric=numeric), warn=True)
        w = self._check_weights(X, sample_weight)
        n = X.shape[0]
        if w is not None and self._weighted_scale():
            self.kernel_ = self._with_weighted_scale(X, w)
        else:
            self._bind_present(X, y if targets else None, w)
        self.shape_fit_ = tuple(X.shape)
        if self.kernel_ is not None and not self.kernel_.symmetric:
            raise TypeError(
                f"{self.kernel_!r} is not symmetric; {type(self).__name__} needs k(x, z) = k(z, x)."
            )
        kept = np.arange(n) if w is None else np.flatnonzero(w)
        if len(kept) < n:  # weight 0 equals absence
            X = X[np.ix_(kept, kept)] if self.kernel_ is None else X[kept]
            y = y[kept] if targets else None
        return X, y, np.ones(len(kept)) if w is None else w[kept], kept

    def _weighted_scale(self) -> bool:
        return isinstance(self.kernel, str) and self.gamma == "scale"

    def _with_weighted_scale(self, X: Any, w: np.ndarray) -> Any:
        """The named kernel with γ = 1 / (d · var(X)), each row counted as often as it weighs."""
        if self.kernel_ is None or not hasattr(self.kernel_, "gamma"):
            return self.kernel_
        share = w / (w.sum() * X.shape[1])
        mean = float((share @ X).sum())  # sparse rows stay sparse
        if sp.issparse(X):
            variance = float((share @ X.multiply(X)).sum()) - mean**2
        else:
            variance = float((share @ (X - mean) ** 2).sum())
        gamma = 1 / (X.shape[1] * variance) if variance > 0 else 1.0
        given = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}
        return as_kernel(self.kernel, **given).bind(X)

    def _operator(self, X: Any, bounds: np.ndarray) -> GramOperator:
        """K for SMO: it asks for rows, which are computed as they are needed, and cached."""
        K = self._choose_operator(X, bounds)
        words = {"FeatureGram": "batch SMO in the primal", "LowRankGram": "batch SMO, low rank"}
        self.solver_ = words.get(type(K).__name__, "batch SMO")
        if self.kernel_ is not None and self.kernel_.positive_definite is False:
            self.solver_ += ", not convex: the kernel is indefinite, dual_gap_ is no bound"
        self.gram_ = describe_gram(K) + (f", rank {K.rank}" if isinstance(K, LowRankGram) else "")
        return K

    def _choose_operator(self, X: Any, bounds: np.ndarray) -> GramOperator:
        if self.kernel_ is None:
            return self._gram(np.ascontiguousarray(X))
        n = X.shape[0]
        large = self.solver == "auto" and n > EXACT_ROWS
        if (large or self.solver == "low_rank") and not self._is_linear():
            return self._low_rank(X)
        room = rounding_room(self.tol, bounds)
        if self._path is not None:
            return self._path.rounded(self._gram(X), room)
        if self._is_linear() and n > SMALL:
            return FeatureGram(X, n_jobs=self.n_jobs)
        if isinstance(X, np.ndarray) and X.dtype == np.float32 and n < ROUNDED_ROWS:
            X = self._sharper(X, room)
        elif n >= ROUNDED_ROWS:
            X = in_single_precision(self.kernel_, X, min(1e-5, room))
        return TiledGram(self.kernel_, X, n_jobs=self.n_jobs)

    def _sharper(self, X: Any, room: float) -> Any:
        """A few float32 samples as float64, where distances in float32 are too coarse for C.

        Of many rows that would cost time; K is then that of the precision of X.
        """
        wide = X.astype(np.float64)
        fine = in_single_precision(self.kernel_, wide, max(room, 1e-6)).dtype == np.float32
        return X if fine else wide

    def _low_rank(self, X: Any) -> LowRankGram:
        """K ≈ F Fᵀ; F takes at most half of ``memory``, which bounds the rank."""
        n = X.shape[0]
        if X.dtype == np.float64 and self.tol >= 1e-4:
            X = in_single_precision(self.kernel_, X, 1e-4)
        fitting = int(memory_budget(self.memory) / 2 / (n * X.dtype.itemsize))
        if self.rank is None and fitting < 1:
            raise MemoryError(
                f"memory={self.memory!r} has no room for a factor of {n} rows: give a larger one."
            )
        return low_rank_gram(
            self.kernel_, X, self.rank or min(RANK, fitting), memory=self.memory,
            random_state=self.random_state, n_jobs=self.n_jobs,
        )  # fmt: skip

    # --- the solver -----------------------------------------------------------------------------

    def _solver(self, n_jobs: int | None = None, share: float = 1.0) -> SmoSolver:
        """``share`` is the part of the memory that one of several machines may take."""
        return SmoSolver(
            tol=self.tol,
            max_rounds=MOST_ROUNDS if self.max_iter == -1 else self.max_iter,
            cache_bytes=self._cache_bytes(share),
            n_jobs=self.n_jobs if n_jobs is None else n_jobs,
            shrinking=bool(self.shrinking),
            stop=None if self._path is None else self._path.stopped.is_set,
            report=_Lines() if self.verbose else None,
        )

    def _stopping(self, solver: SmoSolver, stop: Callable[[], bool]) -> SmoSolver:
        """The solver that ends with its siblings; along a path it ends with the search alone."""
        return solver if self._path is not None else replace(solver, stop=stop)

    def _cache_bytes(self, share: float) -> int:
        """What rows of K may take of the memory, beside blocks and what is being computed."""
        budget = memory_budget(self.memory)
        return int(share * max(0.9 * budget - BESIDE, budget / 4))

    def _solve(
        self,
        K: GramOperator,
        problem: DualProblem,
        machine: int = 0,
        solver: SmoSolver | None = None,
        source: RowSource | None = None,
    ) -> SmoResult:
        """The dual of one machine. Along a path it starts from where the last one ended, with
        ``warm_start`` from where the last fit did."""
        path, start = self._path, None
        if path is not None:
            start = path.start(machine, problem.C)
        elif self.warm_start and hasattr(self, "duals_"):
            start = self._last_dual(machine, problem)
        result = (solver or self._solver()).solve(K, problem, start, source)
        if result.reason is Reason.INFEASIBLE:
            raise ValueError(self._infeasible())
        if path is not None:
            path.keep(machine, problem.C, result)
        return result

    def _last_dual(self, machine: int, problem: DualProblem) -> np.ndarray:
        known: Any = self.duals_[machine] if machine < len(self.duals_) else []
        if len(known) != len(problem.y):
            raise ValueError(
                f"warm_start=True continues a fit to the same samples, but the last one had "
                f"{len(known)} dual variables and this one has {len(problem.y)}: give the same "
                "samples in the same order, or warm_start=False."
            )
        return known

    # --- after the solver -----------------------------------------------------------------------

    def _store(
        self, X: Any, K: GramOperator, results: list[SmoResult], support: np.ndarray,
        kept: np.ndarray,
    ) -> None:  # fmt: skip
        """Certificate and support vectors, when ``dual_coef_`` is known."""
        self.objective_ = float(sum(r.objective for r in results))
        self.dual_gap_ = float(max(r.gap for r in results))
        self.converged_ = all(r.converged for r in results)
        self.fit_status_ = 0 if self.converged_ else 1
        self.intercept_ = np.array([float(r.intercept) for r in results])
        squares = np.array([r.square for r in results])
        self.margin_ = np.divide(
            1.0, np.sqrt(squares), out=np.full(len(squares), np.inf), where=squares > 0
        )
        vars(self).pop("duals_", None)
        if self.warm_start:
            self.duals_ = [r.alpha for r in results]
        self.support_ = kept[support].astype(np.int32)
        self._center_coef = None
        if self.kernel_ is None:
            self.support_vectors_ = np.empty((0, 0))
            self.X_fit_ = np.empty((self.shape_fit_[0], 0))  # K itself is not kept
        else:
            self.X_fit_ = self.support_vectors_ = X[support]
        if isinstance(K, LowRankGram):
            self.X_fit_ = X[K.centres]
            weights = [K.combine(support, beta) for beta in self._pair_coef().T]
            self._center_coef = K.lift(np.stack(weights, axis=1))
        worst = max(results, key=lambda r: (not r.converged, r.gap))
        worst.warn_unless_converged(
            "Batch SMO", "duality gap", "A fit with warm_start=True can be continued"
        )

    def _infeasible(self) -> str:
        return (
            "C=inf asks for a hard margin, but no hyperplane in the kernel's feature space "
            "separates the classes: give a finite C, a kernel that separates more (a larger "
            "gamma), or remove rows that are equal but differ in class."
        )

    def _values(self, X: Any) -> np.ndarray:
        """K(X, support) β + b for each machine: predictions touch the support vectors alone."""
        check_is_fitted(self)
        X = self._encode_new(X)
        coef = self._pair_coef() if self._center_coef is None else self._center_coef
        if self.kernel_ is None:
            return X[:, self.support_] @ coef.astype(X.dtype) + self.intercept_.astype(X.dtype)
        if not self.X_fit_.shape[0]:
            return np.repeat(self.intercept_[None].astype(X.dtype), X.shape[0], axis=0)
        if self._is_linear() and self._center_coef is None:
            weights = self._linear_weights().T.astype(X.dtype)
            return np.asarray(X @ weights) + self.intercept_.astype(X.dtype)
        K = TiledGram(self.kernel_, X, self.X_fit_, n_jobs=self.n_jobs)
        return K @ coef.astype(K.dtype) + self.intercept_.astype(K.dtype)

    @property
    def n_support_(self) -> np.ndarray:
        """Number of support vectors of each class (classifiers) or in all."""
        check_is_fitted(self)
        return self._n_support

    def _is_linear(self) -> bool:
        return type(self.kernel_) is Linear

    def _linear_weights(self) -> np.ndarray:
        return np.asarray((self.support_vectors_.T @ self._pair_coef()).T)

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, for ``kernel="linear"`` alone; not to be written to."""
        if not (self._is_linear() if hasattr(self, "kernel_") else self.kernel == "linear"):
            raise AttributeError('coef_ is only available with kernel="linear".')
        check_is_fitted(self)
        weights = self._linear_weights()
        weights.flags.writeable = False
        return weights


class WarmStarts(FitPath):
    """Machines that differ in C or ν share K, and each starts from the dual variables of the last.

    Parameters
    ----------
    bounded : bool
        The parameter is C, the upper bound: variables at it move with it.
    """

    def __init__(self, bounded: bool = True):
        super().__init__()
        self.bounded = bounded
        self._rounded: tuple[GramOperator, DenseGram] | None = None
        self.last: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def rounded(self, K: GramOperator, room: float) -> GramOperator:
        """K in float32 where the tolerance has room for that: half the bytes to read."""
        if not (isinstance(K, DenseGram) and rounds_to_float32(K, room)):
            return K
        if self._rounded is None or self._rounded[0] is not K:
            self._rounded = K, DenseGram(K.K.astype(np.float32), K.symmetric)
        return self._rounded[1]

    def start(self, machine: int, C: np.ndarray) -> np.ndarray | None:
        """The last dual variables of a machine, those at their bounds moved to the new ones."""
        if machine not in self.last:
            return None
        alpha, bounds = self.last[machine]
        if not self.bounded:
            return alpha
        return np.where((alpha >= bounds) & np.isfinite(C), C, np.minimum(alpha, C))

    def keep(self, machine: int, C: np.ndarray, result: SmoResult) -> None:
        self.interrupted |= result.reason is Reason.INTERRUPTED
        if result.alpha is not None:
            self.last[machine] = result.alpha, C


class _Lines:
    """What ``verbose=True`` prints: a line a second."""

    def __init__(self):
        self.began = self.said = time.perf_counter()

    def __call__(self, rounds: int, violation: float, active: int, support: int) -> None:
        now = time.perf_counter()
        if now - self.said < SAID_EVERY:
            return
        self.said = now
        print(
            f"round {rounds}: violation {violation:.2g}, {active:,} rows active, {support:,} "
            f"support vectors, {now - self.began:.0f} s",
            flush=True,
        )
