"""What LinearSVC and LinearSVR (linear_machines.py) share: samples, certificate, values.

They need no kernel matrix: they solve for the weights themselves, and use O(n + d) memory in
addition to the samples, which are dense or CSR, and at times a copy of the rows on the margin;
of all rows with a loss where losses are squared.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer.estimator import Seed, estimator
from mercer.learners.base import ClassTotals, LinearLearner, check_seed, finite_values
from mercer.persistence import fields
from mercer.samples import SamplesLike, check_count, is_number
from mercer.solvers import Reason, solve_all, worst
from mercer.solvers.linear import (
    FACTORED,
    LinearDual,
    LinearPasses,
    LinearResult,
    LinearRows,
    LinearSolver,
    PassedMachine,
)
from mercer.streams import Chunks, IncrementalFit
from mercer.threads import blas_limit, count_jobs

Solve = Callable[[], LinearResult]


@estimator
class LinearSupportVectors(LinearLearner):
    r"""Abstract: the parts of LinearSVC and LinearSVR that are the same.

    Parameters
    ----------
    dual : {"auto", True, False}
        The method; the solution is the same. True: coordinate descent on the dual. False:
        Newton's method on the primal, for the hinge loss too (scikit-learn has no such solver).
        "auto" starts with the cheap method and changes to the exact one if needed; this is best
        for most data.
    tol : float > 0
        The duality gap at the end is at most tol / 100 of the objective. This is about the gap
        that LIBLINEAR reaches with the same tol, if it converges.
    C : float > 0
        Weight of the losses.
    fit_intercept : bool
        Whether f has an intercept.
    intercept_scaling : float > 0
        The intercept is the weight of a constant column of this value, and it is penalised like
        all weights. A larger value penalises the intercept less.
    verbose : int
        If not 0, print a line each time the gap is computed.
    random_state : int, RandomState or None
        Seed of the order of the rows in coordinate descent.
    max_iter : int >= 0
        Most epochs of coordinate descent, and also most Newton steps, for each machine.
    n_jobs : int or None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    n_features_in_, feature_names_in_, n_iter_ : as in scikit-learn
    objective_ : float
        Value of the minimised function, summed over the machines.
    dual_gap_ : float
        Certificate: ``objective_`` is at most this much above the smallest possible value. With
        the l2 penalty :math:`\tfrac12 |w - w^*|^2` is at most ``dual_gap_`` too, for all weights
        and intercepts (divided by ``intercept_scaling``) together.
    margin_ : ndarray of shape (machines,)
        1 / ‖coef‖, the width of the margin on each side of the boundary.
    converged_ : bool
        Whether all machines reached ``tol``.
    solver_ : str
        The method that was used.
    """

    _: KW_ONLY
    dual: bool | str = "auto"
    tol: float = 1e-4
    C: float = 1.0
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    verbose: int = 0
    random_state: Seed = None
    max_iter: int = 1000
    n_jobs: int | None = None

    @abstractmethod
    def fit(self, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to samples X and classes or numbers y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            float32 and float64 are not converted; CSR is not copied.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Raises
        ------
        ValueError
            A parameter is out of range, two parameters cannot be used together, y has only one
            class, or X, y and the weights do not match.
        """

    def _check_passes(self, loss: str, squared: str) -> None:
        """Refuse parameters of a fit in chunks, which has this squared loss alone."""
        if loss != squared:
            raise ValueError(
                f"loss={loss!r} needs a dual variable for each row, which a fit in chunks "
                f'does not keep: give loss="{squared}", or fit to rows in memory.'
            )
        if self.dual is True:
            raise ValueError(
                "dual=True needs a variable for each row, which a fit in chunks does not keep: "
                'give dual="auto" or False.'
            )

    def _check_parameters(self, **choices: tuple) -> None:
        """Check that numbers are in their ranges, and that each argument is one of its choices."""
        numbers = [("C", True), ("tol", True), ("intercept_scaling", True), ("epsilon", False)]
        for name, strict in numbers:
            value: Any = getattr(self, name, 1.0)
            known = is_number(value) and np.isfinite(value)
            if not (known and (value > 0 or (value == 0 and not strict))):
                raise ValueError(
                    f"{name}={value!r}: must be a finite number {'>' if strict else '>='} 0."
                )
        check_seed(self.random_state)
        count_jobs(self.n_jobs)
        check_count("max_iter", self.max_iter, 0, optional=False)
        for name, values in {"dual": ("auto", True, False), **choices}.items():
            if getattr(self, name) not in values:
                raise ValueError(
                    f"{name}={getattr(self, name)!r}: give one of {', '.join(map(repr, values))}."
                )

    def _rows(self, X: Any, used: np.ndarray, machines: int) -> LinearRows:
        """The rows with positive C. One machine uses all threads, several machines share them."""
        if not used.all():
            X = X[np.flatnonzero(used)]
        return LinearRows(X, self.bias, self.n_jobs if machines == 1 else 1)

    @property
    def bias(self) -> float:
        """The value of the constant column; 0 without an intercept."""
        return self.intercept_scaling if self.fit_intercept else 0.0

    def _solver(self, seed: int) -> LinearSolver:
        methods = {True: "descent", False: "newton", "auto": "auto"}
        return LinearSolver(
            methods[self.dual], self.tol / 100, self.max_iter, seed,
            print if self.verbose else None,
        )  # fmt: skip

    def _run(self, tasks: list[Solve]) -> list[LinearResult]:
        """Solve the machines, several at the same time in threads."""
        return solve_all(tasks, min(count_jobs(self.n_jobs), len(tasks)))

    def store(self, results: list[LinearResult], W: np.ndarray, dtype: Any) -> None:
        """Store the coefficients W of the machines, (machines, d + 1), and the certificate."""
        self.intercept_ = (self.bias * W[:, -1]).astype(dtype)
        lengths = np.linalg.norm(W[:, :-1], axis=1)
        self.margin_ = 1 / lengths  # infinite where all coefficients are 0
        self.objective_ = float(sum(r.objective for r in results))
        self.dual_gap_ = float(sum(r.gap for r in results))
        self.converged_ = all(r.converged for r in results)
        self.n_iter_ = max(r.iterations for r in results)
        self.solver_ = worst(results).solver
        self.coef_ = W[:, :-1].astype(dtype)

    def _conclude(self, results: list[LinearResult], X: Any) -> None:
        """Warn if the worst machine did not converge; it cannot if rows have infinite lengths."""
        last = worst(results)
        if not (last.converged or np.isfinite(LinearRows(X, 0.0).squares()).all()):
            raise np.linalg.LinAlgError("The length of a row of X is not finite.")
        stays = self.dual not in ("auto", False) and last.reason is Reason.LIMIT
        last.conclude('With dual="auto" the fit goes on with Newton steps' if stays else "")

    @finite_values
    def _values(self, X: Any) -> np.ndarray:
        """X coefᵀ + intercept, (n, machines)."""
        return self.values_of(self.new_rows(X))


@fields()
class LinearFit(IncrementalFit):
    """Abstract: the fit of a linear machine to a stream, which it reads once for its columns, and
    again for each step of the solver.

    Attributes
    ----------
    single : bool
        Whether X is float32.
    machines : list of PassedMachine
        There are none before the first reading.
    """

    between: ClassVar[bool] = True
    numeric: ClassVar[bool] = True
    single: bool = False
    machines: list[PassedMachine] | None = None

    @abstractmethod
    def begin(self, seen: Any) -> int:
        """How many machines there are, by what `see` has found."""

    @abstractmethod
    def duals(self, y: np.ndarray, w: np.ndarray) -> Sequence[LinearDual]:
        """The dual of each machine for some rows."""

    def open(self, chunks: Chunks) -> None:
        super().open(chunks)
        name = type(self.learner).__name__
        chunks.refuse_once(f"{name}.fit_chunks reads the stream again for each step")

    def empty(self) -> Any:
        if self.machines is None:
            return ClassTotals(type(self.learner).__name__)
        return self.solver.empty(self.machines)

    @property
    def solver(self) -> LinearPasses:
        return LinearPasses(self.learner.tol / 100, self.learner.max_iter)

    def add(
        self, total: Any, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> None:
        learner, first = self.learner, not self.width
        table, y, w = learner.read_rows(X, y, sample_weight, numeric=self.numeric, reset=first)
        if table.shape[1] >= FACTORED:
            raise ValueError(
                f"X has {table.shape[1]:,} columns, and a fit in chunks has matrices of so "
                f"many rows and columns: give fewer than {FACTORED:,}, as features of a "
                "transformer by chunks.through(), or fit to rows in memory."
            )
        self.width, self.single = table.shape[1] + 1, table.dtype == np.float32
        if self.machines is None:
            if not self.numeric:
                total.add(len(y), y, w)
            return
        rows = LinearRows(table, learner.bias, learner.n_jobs)
        with np.errstate(over="ignore", invalid="ignore"):
            for one, dual in zip(total, self.duals(y, w), strict=True):
                if one is not None:
                    one.add(rows, dual)

    def finish(self, total: Any) -> Any:
        learner = self.learner
        if self.machines is None:
            self.machines = [PassedMachine(self.width) for _ in range(self.begin(total))]
            return None
        with np.errstate(over="ignore", invalid="ignore"), blas_limit(self.width):
            results = self.solver.finish(self.machines, total)
        if results is None:
            return None
        coef = np.stack([result.coef for result in results])
        learner.store(results, coef, np.float32 if self.single else np.float64)
        worst(results).conclude()
        return learner
