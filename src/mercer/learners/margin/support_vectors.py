"""What support vector machines have in common: solver, support vectors, certificate, predictions.

`SupportVectorMachine` is the abstract learner behind SVC, NuSVC (svc.py), SVR, NuSVR (svr.py),
KernelQuantileRegression (svr.py) and OneClassSVM (svc.py). A subclass defines its dual
problems; this class chooses the Gram operator, solves the problems and keeps what predictions need.
"""

from __future__ import annotations

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, field, replace
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import Seed, estimator
from mercer.gram import GramOperator, LowRankGram, in_single_precision
from mercer.kernels import Precomputed
from mercer.learners.base import (
    LIMITS,
    FitPath,
    KernelLearner,
    KernelSum,
    Training,
    check_solver,
    finite_values,
    is_value,
    solver_name,
)
from mercer.learners.margin.warm_starts import CONTINUED, WarmStarts
from mercer.persistence import fields, whole
from mercer.samples import MatrixRows, Samples, SamplesLike, is_number, is_whole
from mercer.solvers import Reason, RowSource, worst
from mercer.solvers.rows import ROUNDED_ROWS, SMALL
from mercer.solvers.smo import DualProblem, SmoResult, SmoSolver, leave_out, rounding_room
from mercer.streams import count_rows
from mercer.threads import blas_limit

MOST_ROUNDS = 10_000  # most rounds of the solver, if max_iter is -1
BESIDE = 40_000_000  # bytes that a fit needs in addition to rows of K: blocks, tiles, BLAS buffers
SOLVERS = ("auto", "exact", "low_rank")
SAID_EVERY = 1.0  # seconds between lines of verbose=True


class MachineProblem(NamedTuple):
    """What one machine of a fit is solved from.

    Attributes
    ----------
    K : GramOperator
        The Gram operator of its own rows.
    problem : DualProblem
    solver : SmoSolver or solver value
    number : int
        Its place among the machines of the fit, by which warm starts know it.
    source : RowSource or None
        Rows of K that several machines share; only `SmoSolver` knows them.
    """

    K: GramOperator
    problem: DualProblem
    solver: Any
    number: int = 0
    source: RowSource | None = None

    def solved(
        self, alpha: np.ndarray | None = None, nearby: SmoResult | None = None,
        tol: float | None = None,
    ) -> SmoResult:  # fmt: skip
        """The solution from α; ``tol`` replaces the tolerance of the solver."""
        solver = self.solver if tol is None else replace(self.solver, tol=tol)
        if self.source is None and nearby is None:
            return solver.solve(self.K, self.problem, alpha)
        return solver.solve(self.K, self.problem, alpha, self.source, nearby)


@fields(
    support_=whole(lambda model: model.shape_fit_[0]),
    _n_support=whole(lambda model: len(model.support_) + 1),
)
@estimator
class SupportVectorMachine(KernelLearner, ABC):
    """Abstract: a support vector machine.

    Subclasses write ``_bounds`` and a ``fit`` of these steps:
    `_check_parameters`, `make_training`, `_operator`, `_solve` for each machine, `_store`, and
    `Result.conclude`.

    Parameters
    ----------
    kernel : str, Kernel, "precomputed" or callable
        A kernel object of `mercer.kernels` can compare other samples than vectors: categories,
        tables ... "linear" is solved in the primal; sparse rows stay sparse.
    shrinking : bool
        Leave out rows that no longer change, and check them again before the end.
    tol : float > 0
        Largest violation of the optimality conditions.
    cache_size : float
        Accepted as in scikit-learn, but has no effect: ``memory`` is the budget of the cache.
    verbose : bool
        Print a line each second during the fit.
    max_iter : int
        Most rounds of the solver (one round solves one working set; LIBSVM counts pairs). -1
        means 10,000; ordinary problems need far fewer.
    warm_start : bool
        Start from the dual variables of the last fit, which must have used the same rows. This
        continues a fit that was stopped, or fits again with another C or ν.
    solver : {"auto", "exact", "low_rank"} or solver value
        "low_rank" replaces K by a factor of ``rank`` columns; "auto" does so for 200,000 rows or
        more. A value, with ``solve(K, problem, alpha) -> SmoResult`` for a `DualProblem`, solves
        on K itself; its ``tol`` replaces that of the learner, and ``max_iter``,
        ``shrinking`` and ``verbose`` are not read.
    rank : int, optional
        Columns of the factor; None means 2000, or fewer if half of ``memory`` holds fewer.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, n_support_ : as in scikit-learn
        After ``solver="low_rank"`` predictions use coefficients at the centres.
    shape_fit_, n_iter_, fit_status_, coef_ : as in scikit-learn
    objective_ : float
        Value of the dual, summed over the machines.
    dual_gap_ : float
        Certificate: the primal value minus the dual value, the largest of all machines. It holds
        for K after rounding: rows of a large K are kept in float32 if ``tol`` allows it. It is
        not a bound if the kernel is not positive semidefinite.
    converged_ : bool
        Whether all machines reached ``tol``.
    margin_ : ndarray of shape (machines,)
        1 / ‖w‖, the distance of the margins from the hyperplane in the feature space.
    solver_, gram_ : str
        Descriptions of the solver and of the Gram matrix that the fit used.
    X_fit_ : samples
        The encoded samples that predictions compare with: the support vectors, or the centres.
    duals_ : list of ndarray
        Dual variables of each machine; only with ``warm_start=True``.
    """

    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: float = 3
    coef0: float = 0.0
    shrinking: bool = True
    tol: float = 1e-3
    cache_size: float = 200
    verbose: Any = False
    max_iter: int = -1
    warm_start: bool = False
    solver: Any = "auto"
    rank: int | None = None
    random_state: Seed = None

    kernel_params: ClassVar[None] = None
    _n_support: np.ndarray = field(init=False)

    def new_path(self, values: list) -> WarmStarts:
        return WarmStarts(self, values)

    @abstractmethod
    def fit(
        self,
        X: SamplesLike,
        y: object,
        sample_weight: object = None,
        *,
        fit_path: WarmStarts | None = None,
    ) -> Self:
        """Fit to samples X, and to classes or numbers y, which `OneClassSVM` does not use.

        Parameters
        ----------
        X : array-like, sparse matrix or samples of the kernel's kind
            (n, n) for ``kernel="precomputed"``.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        fit_path : WarmStarts, optional
            Work that fits share if they differ only in C or ν (see `new_path`).

        Raises
        ------
        ValueError
            A parameter is out of range, y has only one class, X, y and the weights do not match,
            or there is no solution (a hard margin between classes that overlap, or ν too large).
        KeyboardInterrupt
            After Ctrl-C; the learner then keeps the best machine so far.
        """

    def _pair_coef(self) -> np.ndarray:
        """β at the support vectors for each machine, (support vectors, machines)."""
        return self.dual_coef_.T

    # --- before the solver ----------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        ranges = {
            "C": (0, True, np.inf),
            "tol": (0, True, np.inf),
            "epsilon": (0, False, np.inf),
            "nu": (0, True, 1),
        }
        for name, (low, strict, high) in ranges.items():
            value: Any = getattr(self, name, 1.0)
            known = is_number(value)
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
            raise ValueError(
                f"max_iter={self.max_iter!r}: give a whole number >= 1, or -1 for the default "
                f"limit of {MOST_ROUNDS:,} rounds."
            )
        check_solver(self.solver, SOLVERS, ["tol"])
        if self.rank is not None and not (is_whole(self.rank) and self.rank >= 1):
            raise ValueError(f"rank={self.rank!r}: give a positive number of centres, or None.")

    @abstractmethod
    def _bounds(self, training: Training) -> np.ndarray:
        """Upper bounds of the dual variables, one for each row, (n,)."""

    def entry_room(self, training: Training) -> float:
        """The largest relative error of K's entries that ``tol`` allows."""
        return rounding_room(self._tolerance(), self._bounds(training))

    def _operator(
        self, X: Samples, bounds: np.ndarray, fit_path: FitPath | None
    ) -> tuple[GramOperator, LowRankGram | None]:
        """K for SMO, which reads rows when it needs them, and the factor of K or None."""
        low = None
        exact = LIMITS["support vectors"].exact(self.solver, X.shape[0])
        if exact or self.kernel_.linear:
            K = self._exact_operator(X, bounds, fit_path)
            if self.kernel_.at_once and "dense" in K.cheap and not np.isfinite(K.dense()).all():
                raise ValueError(
                    f"{self.kernel_!r} returned NaN or infinity for the training samples: it must "
                    "return a finite number for each pair."
                )
            self.gram_ = K.describe()
        else:
            if X.dtype == np.float64 and self._tolerance() >= 1e-4:
                X = in_single_precision(self.kernel_, X, 1e-4)
            rank = LIMITS["support vectors"].rank
            K = low = self.make_low_rank_gram(X, rank, held=1, fit_path=fit_path)
        name = solver_name(self.solver) if is_value(self.solver) else "batch SMO"
        self.solver_ = name + f"{', ' if low else ' '}{K.nature}".rstrip()
        if self.kernel_.positive_definite is False:
            self.solver_ += ", not convex: the kernel is indefinite, dual_gap_ is not a bound"
        return K, low

    def _exact_operator(
        self, X: Samples, bounds: np.ndarray, fit_path: FitPath | None
    ) -> GramOperator:
        """K of the training samples, in float32 where that is enough for the tolerance."""
        if fit_path is not None:
            return fit_path.shared(lambda: self.gram_between(X).held())
        vectors = isinstance(X, np.ndarray) or sp.issparse(X)
        room = rounding_room(self._tolerance(), bounds)
        if X.shape[0] >= ROUNDED_ROWS:
            X = in_single_precision(self.kernel_, X, min(1e-5, room))
        elif isinstance(X, np.ndarray) and X.dtype == np.float32:
            # with few float32 samples, distances may be too inexact for a large C
            wide = X.astype(np.float64)
            fine = in_single_precision(self.kernel_, wide, max(room, 1e-6)).dtype == np.float32
            X = X if fine else wide
        K = self.gram_between(X)
        # K of many vectors is not kept: to compute some of its rows again costs less
        keep = self._reads_again() and not self.kernel_.linear
        return K.held() if keep and (X.shape[0] <= SMALL or not vectors) else K

    def _reads_again(self) -> bool:
        """Whether a fit solves problems with the same rows of K several times."""
        return False

    # --- the solver -----------------------------------------------------------------------------

    def _tolerance(self) -> float:
        """Largest violation of optimality: a solver value has its own."""
        return self.solver.tol if is_value(self.solver) else self.tol

    def _solver(self, n: int, n_jobs: int | None = None, share: float = 1.0) -> Any:
        """The solver for n rows; ``share`` is how much of the memory one machine may use."""
        if is_value(self.solver):
            return self.solver
        return SmoSolver(
            tol=self.tol,
            max_rounds=MOST_ROUNDS if self.max_iter == -1 else self.max_iter,
            cache_bytes=self._cache_bytes(n, share),
            n_jobs=self.n_jobs if n_jobs is None else n_jobs,
            shrinking=bool(self.shrinking),
            report=_Lines() if self.verbose else None,
        )

    def _cache_bytes(self, n: int, share: float) -> int:
        """Bytes of the memory budget for rows of K; the rest is for blocks and results."""
        budget = self.place.budget(32 * n * n / share)  # all of K fits in a quarter of it
        return int(share * max(0.9 * budget - BESIDE, budget / 4))

    def _solve(
        self,
        machine: MachineProblem,
        fit_path: WarmStarts | None = None,
        guess: SmoResult | None = None,
    ) -> SmoResult:
        """Solve the dual of one machine.

        On a path it starts from the last solution on the path; with ``warm_start`` from the
        solution of the last fit; else from a guess, if there is one.
        """
        start, nearby = self._start(machine.number, machine.problem, fit_path), None
        if fit_path is not None and not is_value(self.solver):
            source = machine.source or fit_path.source(machine.K, machine.solver, machine.problem.C)
            machine = machine._replace(source=source)
            nearby = fit_path.nearby(machine.number, source)
        elif start is None and guess is not None:
            start, nearby = guess.alpha, guess
        result = machine.solved(start, nearby)
        if result.reason is Reason.INFEASIBLE:
            raise ValueError(self._infeasible())
        if fit_path is not None:
            fit_path.keep_dual(machine.number, machine.problem.C, result, machine.source)
        return result

    def _solve_one(
        self, K: GramOperator, problem: DualProblem, fit_path: WarmStarts | None
    ) -> SmoResult:
        """The same for the only machine of a learner."""
        return self._solve(MachineProblem(K, problem, self._solver(K.shape[0])), fit_path)

    def _start(
        self, machine: int, problem: DualProblem, fit_path: WarmStarts | None
    ) -> np.ndarray | None:
        """The warm start of a machine, from the path or with ``warm_start`` from the last fit."""
        if fit_path is not None:
            return fit_path.start(machine, problem.C)
        if not (self.warm_start and "duals_" in vars(self)):
            return None
        known: Any = self.duals_[machine] if machine < len(self.duals_) else []
        if len(known) != len(problem.y):
            raise ValueError(
                f"warm_start=True continues a fit to the same samples, but the last fit had "
                f"{len(known)} dual variables and this fit has {len(problem.y)}: give the same "
                "samples in the same order, or warm_start=False."
            )
        return known

    # --- after the solver -----------------------------------------------------------------------

    def _store(
        self, training: Training, results: list[SmoResult], support: np.ndarray,
        low: LowRankGram | None,
    ) -> None:  # fmt: skip
        """Store the certificate and the support vectors; ``dual_coef_`` must be set before."""
        X = training.X
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
        self.shape_fit_ = training.shape
        self.support_ = training.rows[support].astype(np.int32)
        precomputed = self.kernel_.reads.pairwise  # there are no vectors then
        self.support_vectors_ = np.empty((0, 0)) if precomputed else X[support]
        self._center_coef = None
        if low is not None:
            weights = [low.combine(support, beta) for beta in self._pair_coef().T]
            self._center_coef = low.lift(np.stack(weights, axis=1))
        self.keep_support(X[support] if low is None else X[low.centres])

    def _store_one(self, training: Training, result: SmoResult, low: Any) -> np.ndarray:
        """The same for a single machine; returns the numbers of its support vectors."""
        support = np.flatnonzero(result.coef)
        self._n_support = np.array([len(support)], dtype=np.int32)
        self.n_iter_ = result.iterations
        self.dual_coef_ = result.coef[support][None]
        self._store(training, [result], support, low)
        return support

    def _infeasible(self) -> str:
        return (
            "C=inf requires a hard margin, but no hyperplane in the kernel's feature space "
            "separates the classes: give a finite C, choose a kernel that separates more (a larger "
            "gamma), or remove rows that are equal but differ in class."
        )

    def kernel_sum(self) -> KernelSum:
        return self.machine_sum()

    def machine_sum(self) -> KernelSum:
        """The values of all machines as a sum over stored rows."""
        self.check_fitted()
        return KernelSum.of(
            self.kernel_, self.X_fit_, self._machine_coef(), self.intercept_, self.encode_new
        )

    def _machine_coef(self) -> np.ndarray:
        """What the rows of ``X_fit_`` count in each machine, (rows, machines)."""
        return self._pair_coef() if self._center_coef is None else self._center_coef

    @finite_values
    def _values(self, X: Any) -> np.ndarray:
        """K(X, support) β + b for each machine; only the support vectors are used."""
        K = self.cross_gram(X)
        coef = self._machine_coef()
        return K @ coef.astype(K.dtype) + self.intercept_.astype(K.dtype)

    def _left_out(
        self, machines: Callable[[Training, np.ndarray, WarmStarts], Any], X: SamplesLike, y: Any,
        sample_weight: Any, fit_path: WarmStarts | None,
    ) -> tuple[Self, MatrixRows] | None:  # fmt: skip
        """What ``leave_one_out`` returns: the machine with known values, and its samples.

        After a fit to all rows, ``machines`` makes of the samples and the bounds of α the rows and
        the dual of each machine, and the unit of its values. None means that each row needs a fit,
        as where ``machines`` finds none. A row changes only the machines that it is a support
        vector of.
        """
        exact = LIMITS["support vectors"].exact(self.solver, count_rows(X))
        if is_value(self.solver) or not exact:
            return None
        path: Any = fit_path or self.new_path([])  # of this fit alone
        self.fit(X, y, sample_weight, fit_path=path)
        training, bounds = path.training, self._bounds(path.training)
        K = self._exact_operator(training.X, bounds, path)
        found = machines(training, bounds, path) if "dense" in K.cheap else None
        if found is None:
            return None
        outputs, results, unit = self._values(X), [], found[1]
        values, solver = outputs[training.rows].astype(np.float64) / unit, self._solver(K.shape[0])
        with blas_limit(len(values)):
            for machine, (rows, problem) in enumerate(found[0]):
                part = K if len(rows) == len(values) else K.part(rows)
                alpha, source = path.start(machine, problem.C), path.source(part, solver, problem.C)
                each = leave_out(solver, part, problem, alpha, source)
                values[rows[each.rows], machine] = each.values
                results += each.results
        if results:
            worst(results).conclude(CONTINUED)
        outputs[training.rows] = unit * values
        known, count = copy.copy(self), outputs.shape[1]
        every, samples = np.arange(count), np.arange(len(outputs))
        known.kernel_ = Precomputed()
        known._center_coef, known.intercept_ = np.eye(count), np.zeros(count)
        known.keep_support(MatrixRows(None, every, every, count, outputs.dtype))
        return known, MatrixRows(outputs, samples, None, count, outputs.dtype)

    @property
    def n_support_(self) -> np.ndarray:
        """Number of support vectors: of each class for classifiers, else the total."""
        check_is_fitted(self)
        return self._n_support

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, only for ``kernel="linear"``; a read-only array."""
        fitted = vars(self).get("kernel_")
        if not (self.kernel == "linear" if fitted is None else fitted.linear):
            raise AttributeError('coef_ is only available with kernel="linear".')
        check_is_fitted(self)
        weights = np.asarray((self.support_vectors_.T @ self._pair_coef()).T)
        weights.flags.writeable = False
        return weights


class _Lines:
    """Print a line each second, for ``verbose=True``."""

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
