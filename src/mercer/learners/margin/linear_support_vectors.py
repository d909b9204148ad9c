"""What LinearSVC (linear_svc.py) and LinearSVR (linear_svr.py) share: samples, certificate, values.

They need no kernel matrix: they solve for the weights themselves, and use O(n + d) memory in
addition to the samples, which are dense or CSR.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from mercer.estimator import Seed, estimator
from mercer.learners.base import LinearLearner, check_seed, finite_values
from mercer.persistence import fields
from mercer.samples import check_count, is_number
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
from mercer.streams import Keeper, as_chunks, told
from mercer.threads import blas_limit, count_jobs, forget, raise_if_stopped

BLOCK = 2**13  # rows that are added up at a time


@fields()
class Progress:
    """What is known between two readings.

    Attributes
    ----------
    width : int
        Weights of a machine.
    single : bool
        Whether X is float32.
    machines : list of PassedMachine
    factors : ndarray of shape (classes,)
        What the weights of the rows of each class are multiplied by.
    """

    machines: list[PassedMachine]
    factors: Any

    def __init__(self, width: int, single: bool):
        self.width, self.single = width, single
        self.machines = []
        self.factors = np.ones(1)

    def begin(self, classes: int, factors: np.ndarray | None = None) -> None:
        """As many machines as ``classes`` need against the rest; one for two classes or none."""
        count = classes if classes > 2 else 1
        self.machines = [PassedMachine(self.width) for _ in range(count)]
        if factors is not None:
            self.factors = factors

    @property
    def dtype(self) -> Any:
        return np.float32 if self.single else np.float64


LinearFit = Callable[[], LinearResult]


@estimator
class LinearMachine(LinearLearner):
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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

    def _passes(self, loss: str, squared: str) -> LinearPasses:
        """The solver of a fit in chunks, which has this loss alone."""
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
        return LinearPasses(self.tol / 100, self.max_iter)

    def _fit_in_passes(
        self,
        solver: LinearPasses,
        chunks: Any,
        checkpoint: Any,
        begin: Callable[[Progress], None],
        duals: Callable[[np.ndarray, np.ndarray, Progress], Sequence[LinearDual]],
        see: Callable[[np.ndarray, np.ndarray], None] | None = None,
    ) -> list[LinearResult]:
        """Fit to a stream: read it once for its columns, and again for each step of the solver.

        In the first reading ``see`` looks at classes y and weights, which are numbers without it.
        ``begin`` then makes the machines, and ``duals`` the dual of each for some y and weights.
        """
        chunks = as_chunks(chunks)
        keeper = Keeper(checkpoint, self, chunks)

        def read(first: bool = False) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
            for block, _ in chunks.blocks(BLOCK):
                raise_if_stopped()
                with told(f"the block from row {block.start:,} of the stream"):
                    rows = self.read_rows(
                        block.X, block.y, block.weights,
                        numeric=see is None, reset=first and not block.start,
                    )  # fmt: skip
                yield rows

        progress: Progress | None = keeper.load()
        if progress is None:
            forget(self)
            name = type(self).__name__
            chunks.refuse_once(f"{name}.fit_chunks reads the stream again for each step")
            width, dtype = 0, np.dtype(np.float64)
            for X, y, w in read(first=True):
                if X.shape[1] >= FACTORED:
                    raise ValueError(
                        f"X has {X.shape[1]:,} columns, and a fit in chunks has matrices of so "
                        f"many rows and columns: give fewer than {FACTORED:,}, as features of a "
                        "transformer by chunks.through(), or fit to rows in memory."
                    )
                if see is not None:
                    see(y, w)
                width, dtype = X.shape[1] + 1, X.dtype
            progress = Progress(width, dtype == np.float32)
            begin(progress)
        known, bias = progress, self.intercept_scaling if self.fit_intercept else 0.0

        def parts() -> Iterator[tuple[LinearRows, Sequence[LinearDual]]]:
            for X, y, w in read():
                yield LinearRows(X, bias, self.n_jobs), duals(y, w, known)

        with np.errstate(over="ignore", invalid="ignore"), blas_limit(known.width):
            results = solver.solve(parts, known.machines, lambda: keeper.offer(known))
        self._store(results, np.stack([r.coef for r in results]), known.dtype)
        keeper.done()
        return results

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
        bias = self.intercept_scaling if self.fit_intercept else 0.0
        return LinearRows(X, bias, self.n_jobs if machines == 1 else 1)

    def _solver(self, seed: int) -> LinearSolver:
        methods = {True: "descent", False: "newton", "auto": "auto"}
        return LinearSolver(
            methods[self.dual], self.tol / 100, self.max_iter, seed,
            print if self.verbose else None,
        )  # fmt: skip

    def _run(self, tasks: list[LinearFit]) -> list[LinearResult]:
        """Solve the machines, several at the same time in threads."""
        return solve_all(tasks, min(count_jobs(self.n_jobs), len(tasks)))

    def _store(self, results: list[LinearResult], W: np.ndarray, dtype: Any) -> None:
        """Store the coefficients W of the machines, (machines, d + 1), and the certificate."""
        scale = self.intercept_scaling if self.fit_intercept else 0.0
        self.intercept_ = (scale * W[:, -1]).astype(dtype)
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
