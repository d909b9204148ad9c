"""What SVC and NuSVC (svc.py) share: support vector classification with any number of classes.

Machines for pairs of classes or for one class against the rest, their votes, and probabilities.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.gram import GramOperator
from mercer.learners.base import (
    Classifier,
    KernelSum,
    Method,
    Training,
    all_pairs,
    by_class,
    by_pair,
    calibrate,
    encode_classes,
    finite_fit,
    is_value,
    votes,
    weigh_classes,
)
from mercer.learners.margin.support_vectors import MachineProblem, SupportVectorMachine
from mercer.learners.margin.warm_starts import CONTINUED, WarmStarts
from mercer.samples import SamplesLike
from mercer.solvers import Reason, solve_all, worst
from mercer.solvers.rows import SMALL, PairGrams
from mercer.solvers.smo import TINY, DualProblem, SmoResult, SmoSolver, solve_many
from mercer.threads import blas_limit, count_jobs

METHODS = get_args(Method)  # methods of calibration
LARGEST_PAIR = 4096  # most rows of a pair of classes for which all of K is computed
SHARED = 1_000_000  # with more values of K in all pairs, several threads solve them
MANY_PAIRS = 10  # with this many pairs, larger machines stop within the tolerance: not exact


class Duals(NamedTuple):
    """What the machines of a fit are solved from.

    Attributes
    ----------
    K : GramOperator of shape (n, n)
    codes : ndarray of shape (n,), int
        The number of each row's class.
    bounds : ndarray of shape (n,)
        Upper bounds of α.
    path : WarmStarts or None
    warm : bool
        Whether machines start from those of the path or of the last fit, as those of folds do not.
    """

    K: GramOperator
    codes: np.ndarray
    bounds: np.ndarray
    path: WarmStarts | None = None
    warm: bool = False


def _with_probability(learner: ManyClasses) -> bool:
    if learner.probability:
        return True
    raise AttributeError(
        "predict_proba is not available with probability=False: set probability=True and fit again."
    )


@estimator
class ManyClasses(Classifier, SupportVectorMachine):
    """Abstract: what SVC and NuSVC share; they differ in the dual of a pair.

    Parameters
    ----------
    probability : bool or {"sigmoid", "isotonic", "temperature"}
        Fit probabilities too, on the decision values of 5 folds: about six times the work. True
        means "sigmoid".
    decision_function_shape : {"ovr", "ovo"}
        What ``decision_function`` gives for machines of pairs: votes for the classes ("ovr"), or
        the values of the pairs ("ovo").
    break_ties : bool
        Break ties of votes by ``decision_function``, for more than two classes and only with
        ``decision_function_shape="ovr"``.
    random_state : int, RandomState or None
        Seed of the folds of ``probability=True`` and of the centres of ``solver="low_rank"``.
    multi_class : {"ovo", "ovr"}
        One machine for each pair of classes ("ovo"), or for each class against the rest ("ovr").

    Attributes
    ----------
    classes_, class_weight_ : as in scikit-learn
    dual_coef_ : ndarray of shape (n_classes - 1, support vectors)
        The same as in scikit-learn; with ``multi_class="ovr"`` it has a row for each class.
    calibration_ : Calibration
        Map from scores to probabilities; only with ``probability=True``.
    """

    _: KW_ONLY
    probability: bool | str = False
    class_weight: Any = None
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    multi_class: str = "ovo"

    @abstractmethod
    def _penalties(self, w: np.ndarray) -> np.ndarray:
        """Upper bounds of α for rows of weight w."""

    @abstractmethod
    def _pair_problem(self, labels: np.ndarray, bounds: np.ndarray) -> DualProblem:
        """The dual of a machine for labels ±1."""

    def _check_totals(self, totals: np.ndarray) -> None:
        """Refuse classes that have no machine; ``totals`` are the sums of their bounds."""

    def _finish(self, result: SmoResult, machine: Callable[[], MachineProblem]) -> SmoResult:
        """The result of a machine from the solution of its dual; few need ``machine`` again."""
        return result

    @finite_fit
    def fit(
        self,
        X: SamplesLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        fit_path: WarmStarts | None = None,
    ) -> Self:
        self._check_parameters()
        training = self.make_training(X, y, sample_weight, numeric=False, fit_path=fit_path)
        n, w = training.X.shape[0], training.all_weights
        y, self.classes_, codes = self._coded(training, fit_path)
        self._in_pairs = self.multi_class == "ovo" or len(self.classes_) == 2
        self.class_weight_ = self._class_weights(y, codes, w)
        bounds = self._penalties(w * self.class_weight_[codes])
        self._check_totals(np.bincount(codes, weights=bounds))
        K, low = self._operator(training.X, bounds, fit_path)
        with blas_limit(n):
            results, dual = self._solve_machines(Duals(K, codes, bounds, fit_path, warm=True))
        support = np.flatnonzero(dual.any(axis=0))
        support = support[np.argsort(codes[support], kind="stable")]
        self._n_support = np.bincount(codes[support], minlength=len(self.classes_)).astype(np.int32)
        self.n_iter_ = np.array([r.iterations for r in results], dtype=np.int32)
        self.dual_coef_ = dual[:, support]
        self._store(training, results, support, low)
        vars(self).pop("calibration_", None)
        if self.probability and worst(results).reason is not Reason.INTERRUPTED:
            self._fit_probabilities(K, codes, bounds, w)
        worst(results).conclude(CONTINUED)
        return self

    def _coded(self, training: Training, fit_path: WarmStarts | None) -> tuple[np.ndarray, ...]:
        """y, the classes and their codes, which fits on a path share."""

        def coded() -> tuple[np.ndarray, ...]:
            y = training.column
            return y, *encode_classes(y)

        return coded() if fit_path is None else fit_path.shared(coded, "classes")

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        super()._check_parameters()
        for name, known in (
            ("decision_function_shape", ("ovr", "ovo")),
            ("multi_class", ("ovo", "ovr")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(
                    f'{name}={getattr(self, name)!r}: give "{known[0]}" or "{known[1]}".'
                )
        if isinstance(self.probability, str) and self.probability not in METHODS:
            raise ValueError(f"probability={self.probability!r}: give a bool or one of {METHODS}.")
        if self.multi_class == "ovr" and self.decision_function_shape == "ovo":
            raise ValueError(
                'decision_function_shape="ovo" needs pairs of classes, which multi_class="ovr" '
                'does not have: give decision_function_shape="ovr" or multi_class="ovo".'
            )

    def _reads_again(self) -> bool:
        return bool(self.probability) or not self._in_pairs

    def _bounds(self, training: Training) -> np.ndarray:
        y, w = training.column, training.all_weights
        codes = encode_classes(y)[1]
        return self._penalties(w * self._class_weights(y, codes, w)[codes])

    def _class_weights(self, y: np.ndarray, codes: np.ndarray, w: np.ndarray) -> np.ndarray:
        """One factor for each class, (classes,)."""
        k = int(codes.max()) + 1
        if self.class_weight is None:
            return np.ones(k)
        weighed = weigh_classes(self.class_weight, y, w) / w
        factors = np.zeros(k)
        factors[codes] = weighed
        if not (factors > 0).all():
            raise ValueError(f"class_weight={self.class_weight!r}: all weights must be > 0.")
        return factors

    # --- machines -------------------------------------------------------------------------------

    def _solve_machines(self, duals: Duals) -> tuple[list[SmoResult], np.ndarray]:
        """The results of all machines, and β of all rows in the layout of ``dual_coef_``."""
        if self._in_pairs and len(self.classes_) > 2:
            return self._solve_pairs(duals)
        solver, source = self._solver(duals.K.shape[0]), None
        if not self._in_pairs:  # one against the rest: all machines read the same rows of K
            if duals.path is not None:
                source = duals.path.source(duals.K, solver, duals.bounds)
            if source is None and not is_value(self.solver):
                source = solver.rows_of(duals.K, duals.bounds)
        machines = enumerate(self.machines(duals.codes, duals.bounds))
        tasks = [
            partial(
                self._fit_machine, duals, MachineProblem(duals.K, problem, solver, number, source)
            )
            for number, (_, problem) in machines
        ]
        results = solve_all(tasks, 1)
        return results, np.stack([r.coef for r in results])

    def _fit_machine(self, duals: Duals, machine: MachineProblem) -> SmoResult:
        result = self._solve(machine, duals.path) if duals.warm else machine.solved()
        return self._finish(result, lambda: machine)

    def _solve_pairs(self, duals: Duals) -> tuple[list[SmoResult], np.ndarray]:
        """One machine for each pair of classes; threads solve several at the same time."""
        pairs, sizes = all_pairs(len(self.classes_)), np.bincount(duals.codes)
        n = duals.K.shape[0]
        firsts, seconds = np.array(pairs).T
        values = int(((sizes[firsts] + sizes[seconds]) ** 2).sum())
        own = is_value(self.solver)
        jobs = min(count_jobs(self.n_jobs), len(pairs)) if values > SHARED and not own else 1
        solver = self._solver(n, 1, 1 / jobs)
        if not own:
            solver = replace(solver, polish=len(pairs) < MANY_PAIRS)
        tiny = np.flatnonzero(sizes[firsts] + sizes[seconds] <= TINY)
        if own or n > SMALL or "dense" not in duals.K.cheap:
            tiny = tiny[:0]
        known = self._solve_tiny(duals, tiny, solver)
        rest = [machine for machine in range(len(pairs)) if machine not in known]
        if rest:  # else the blocks that its pairs share would be computed for nothing
            known |= self._solve_rest(duals, rest, jobs, solver)
        results = [known[machine] for machine in range(len(pairs))]
        return results, by_class([r.coef for r in results], duals.codes, len(self.classes_))

    def _solve_rest(
        self, duals: Duals, machines: list[int], jobs: int, solver: Any
    ) -> dict[int, SmoResult]:
        """The machines of the other pairs, by their numbers; threads solve several at a time."""
        pairs = all_pairs(len(self.classes_))
        cache = self._cache_bytes(duals.K.shape[0], 1 / jobs)
        grams = PairGrams(duals.K, duals.codes, LARGEST_PAIR, jobs * cache // 4, jobs)

        def solve(machine: int) -> SmoResult:
            rows, part = grams.of(*pairs[machine])
            problem = self._problem_of(duals.codes[rows] == pairs[machine][0], duals.bounds[rows])
            return self._fit_machine(duals, MachineProblem(part, problem, solver, machine))

        return dict(zip(machines, solve_all([partial(solve, each) for each in machines], jobs)))

    def _solve_tiny(
        self, duals: Duals, machines: np.ndarray, solver: SmoSolver
    ) -> dict[int, SmoResult]:
        """The machines of tiny pairs, by their numbers, without those that need `SmoSolver`."""
        if not len(machines) or not np.isfinite(duals.bounds).all():
            return {}
        every = list(self.machines(duals.codes, duals.bounds))
        rows, problems = zip(*(every[machine] for machine in machines))
        starts = [
            self._start(machine, problem, duals.path) if duals.warm else None
            for machine, problem in zip(machines, problems)
        ]
        found = {}
        solved = solve_many(duals.K.dense(), problems, rows, starts, self.tol)
        for m, each, problem, result in zip(machines.tolist(), rows, problems, solved):
            if not result.converged and result.reason is not Reason.STALLED:
                continue
            if duals.path is not None and duals.warm:
                duals.path.keep_dual(m, problem.C, result)

            def again(rows=each, problem=problem, number=m) -> MachineProblem:
                return MachineProblem(duals.K.part(rows), problem, solver, number)

            found[m] = self._finish(result, again)
        return found

    def _problem_of(self, positive: np.ndarray, bounds: np.ndarray) -> DualProblem:
        """The dual of a machine for which these rows are positive, and the others negative."""
        return self._pair_problem(np.where(positive, 1.0, -1.0), bounds)

    def machines(
        self, codes: np.ndarray, bounds: np.ndarray
    ) -> Iterator[tuple[np.ndarray, DualProblem]]:
        """The rows and the dual of each machine, in the order of the variables that fits keep."""
        k, every = len(self.classes_), np.arange(len(codes))
        if k == 2 or not self._in_pairs:  # of two classes the second is positive
            for c in range(k == 2, k):
                yield every, self._problem_of(codes == c, bounds)
            return
        members = [np.flatnonzero(codes == c) for c in range(k)]
        for pair in all_pairs(k):
            rows = np.concatenate([members[c] for c in pair])
            yield rows, self._problem_of(codes[rows] == pair[0], bounds[rows])

    def _pair_coef(self) -> np.ndarray:
        if len(self.classes_) == 2:
            return self.dual_coef_.T
        codes = np.repeat(np.arange(len(self.classes_)), self._n_support)
        return self._by_machine(self.dual_coef_, codes)

    def _by_machine(self, dual: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """β of shape (rows, machines) from the layout of ``dual_coef_``."""
        k = len(self.classes_)
        return by_pair(dual, codes, k) if self._in_pairs and k > 2 else dual.T

    # --- predictions ----------------------------------------------------------------------------

    def kernel_sum(self) -> KernelSum:
        """The decision values; of pairs of more than two classes the mean for each class."""
        found, k = super().kernel_sum(), len(self.classes_)
        if k == 2 or not self._in_pairs:
            return found
        of_class = np.zeros((found.coef.shape[1], k))
        for machine, (a, b) in zip(of_class, all_pairs(k)):
            machine[[a, b]] = 1, -1
        return found.times(of_class / (k - 1))

    def decision_function(self, X: SamplesLike) -> np.ndarray:
        """Decision values of the rows of X.

        Returns
        -------
        ndarray of shape (n,), (n, classes) or (n, pairs)
            Two classes: f(x), positive for ``classes_[1]``. More classes: votes of the pairs plus
            less than half a vote for their distances (n, classes); with
            ``decision_function_shape="ovo"`` the values of the pairs (n, pairs); with
            ``multi_class="ovr"`` the values of the machines (n, classes).
        """
        values = self._values(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        if self.decision_function_shape == "ovo" or not self._in_pairs:
            return values
        return votes(values, len(self.classes_))

    def predict(self, X: SamplesLike) -> np.ndarray:
        """Predicted class of each row, (n,).

        The class with most votes of the pairs (the first one of equal classes), or with
        ``multi_class="ovr"`` the class whose machine has the largest value.
        """
        self.check_fitted()
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        values = self._values(X)
        if len(self.classes_) == 2:
            return self.classes_[(values[:, 0] > 0).astype(np.intp)]
        scores = self._scores(values)
        if self._in_pairs and not self.break_ties:
            scores = np.round(scores)  # the fractions break ties; without them votes are integers
        return self.classes_[scores.argmax(axis=1)]

    def _scores(self, values: np.ndarray) -> np.ndarray:
        """One score for each class, (n, classes); -f and f for two classes."""
        if len(self.classes_) == 2:
            return np.stack([-values[:, 0], values[:, 0]], axis=1)
        return votes(values, len(self.classes_)) if self._in_pairs else values

    # --- probabilities --------------------------------------------------------------------------

    def _fit_probabilities(self, K, codes, bounds, w) -> None:
        """Calibrate on decision values of 5 folds; machines of the other folds predict each."""
        scores = np.zeros((len(codes), len(self.classes_)))
        counts = np.bincount(codes)
        folds = int(min(5, counts.min()))
        if folds < 2:
            raise ValueError(
                "probability=True needs at least two rows of each class, but class "
                f"{self.classes_.tolist()[counts.argmin()]!r} has one: add rows of this class, or "
                "give probability=False."
            )
        split = StratifiedKFold(folds, shuffle=True, random_state=self.random_state)
        for train, test in split.split(codes, codes):
            results, dual = self._solve_machines(Duals(K.part(train), codes[train], bounds[train]))
            if worst(results).reason is Reason.INTERRUPTED:
                raise KeyboardInterrupt  # the machine is fitted, but predict_proba is not available
            b = np.array([r.intercept for r in results])
            used = np.flatnonzero(dual.any(axis=0))
            beta = self._by_machine(dual[:, used], codes[train[used]])
            scores[test] = self._scores(K.part(test, train[used]) @ beta + b)
        method: Any = self.probability if isinstance(self.probability, str) else "sigmoid"
        self.calibration_ = calibrate(scores, codes, weights=w, method=method)

    @available_if(_with_probability)
    def predict_proba(self, X: SamplesLike) -> np.ndarray:
        """Probability of each class in the order of ``classes_``, (n, classes).

        For two classes the more probable class is the one that ``predict`` gives. For more
        classes this can differ, because of equal votes and because of the calibration.
        """
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False: set "
                "probability=True before fit, and do not interrupt the fit."
            )
        return self.calibration_(self._scores(self._values(X)))

    @available_if(_with_probability)
    def predict_log_proba(self, X: SamplesLike) -> np.ndarray:
        """Logarithm of ``predict_proba``, (q, n_classes)."""
        return np.log(self.predict_proba(X))
