"""Support vector classification, with C and with ν, for any number of classes."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.gram import GramOperator
from mercer.gram.memory import memory_budget
from mercer.gram.schedule import count_jobs
from mercer.learners.calibration import Method, calibrate
from mercer.learners.classes import encode_classes, weigh_classes
from mercer.learners.machines import solve_all
from mercer.learners.pairs import PairGrams, all_pairs, by_class, by_pair, votes
from mercer.learners.svm import SupportVectorMachine
from mercer.solvers.dual import DualProblem
from mercer.solvers.result import ConvergenceWarning, Reason
from mercer.solvers.smo import SmoResult, SmoSolver
from mercer.solvers.smo_rows import SMALL, RowSource

__all__ = ["SVC", "NuSVC"]

METHODS = get_args(Method)  # of calibration
SHARPENED = 3  # times at most that NuSVC solves for a smaller tolerance
LEAST_MARGIN = 1e-9  # of NuSVC before the division, of the largest that f may be
MANY_PAIRS = 100  # whose machines end within the tolerance, and are not made exact


def _with_probability(learner: _SupportVectorClassifier) -> bool:
    if learner.probability:
        return True
    raise AttributeError("predict_proba is available when probability=True is given before fit.")


def _interrupted(results: list[SmoResult]) -> bool:
    return any(result.reason is Reason.INTERRUPTED for result in results)


class _SupportVectorClassifier(ClassifierMixin, SupportVectorMachine):
    """Abstract: what SVC and NuSVC share; they differ in the dual of a pair."""

    probability: bool | str
    class_weight: Any
    decision_function_shape: str
    break_ties: bool
    multi_class: str

    @abstractmethod
    def _penalties(self, w: np.ndarray) -> np.ndarray:
        """Upper bounds of α for rows of weight w."""

    @abstractmethod
    def _pair_problem(
        self, labels: np.ndarray, bounds: np.ndarray, pair: str, of_fold: bool
    ) -> DualProblem:
        """The dual of a machine; ``pair`` names its classes for errors."""

    def _fit_machine(
        self, K: GramOperator, problem: DualProblem, machine: int | None, solver: SmoSolver,
        source: RowSource | None = None,
    ) -> SmoResult:  # fmt: skip
        """The machine of a dual; ``machine`` is its number, None without a warm start."""
        if machine is None:
            return solver.solve(K, problem, source=source)
        return self._solve(K, problem, machine, solver, source)

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fit to samples X and class labels y.

        Parameters
        ----------
        X : array-like, sparse matrix or samples of the kernel's kind
            (n, n) for ``kernel="precomputed"``.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Raises
        ------
        ValueError
            A parameter is out of range, there is one class, X, y, weights do not fit, or no
            machine exists (a hard margin between classes that overlap, too large a ν).
        """
        self._check_parameters()
        X, y, w, kept = self._samples_and_weights(X, y, sample_weight)
        self.classes_, codes = encode_classes(y)
        self._in_pairs = self.multi_class == "ovo" or len(self.classes_) == 2
        self.class_weight_ = self._class_weights(y, codes, w)
        bounds = self._penalties(w * self.class_weight_[codes])
        K = self._operator(X, bounds)
        results, beta = self._solve_machines(K, codes, bounds, warm=True)
        support = np.flatnonzero(np.any(beta != 0, axis=1))
        support = support[np.argsort(codes[support], kind="stable")]
        self._n_support = np.bincount(codes[support], minlength=len(self.classes_)).astype(np.int32)
        self.n_iter_ = np.array([r.iterations for r in results], dtype=np.int32)
        self.dual_coef_ = beta[support].T
        if self._in_pairs:
            self.dual_coef_ = by_class(beta[support], codes[support], len(self.classes_))
        self._store(X, K, results, support, beta, kept)
        vars(self).pop("calibration_", None)
        if self.probability and not _interrupted(results):
            self._fit_probabilities(K, codes, bounds, w)
        return self

    def _check_parameters(self) -> None:
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
                'multi_class="ovr" has no pairs of classes: give decision_function_shape="ovr".'
            )

    def _class_weights(self, y: np.ndarray, codes: np.ndarray, w: np.ndarray) -> np.ndarray:
        """One factor for each class."""
        k = len(self.classes_)
        if self.class_weight is None:
            return np.ones(k)
        weighed = weigh_classes(self.class_weight, y, w) / w
        factors = np.zeros(k)
        factors[codes] = weighed
        if not (factors > 0).all():
            raise ValueError(f"class_weight={self.class_weight!r}: weights must be > 0.")
        return factors

    # --- machines -------------------------------------------------------------------------------

    def _solve_machines(
        self, K: GramOperator, codes: np.ndarray, bounds: np.ndarray, warm: bool = False
    ) -> tuple[list[SmoResult], np.ndarray]:
        """Results of the machines, and β of shape (n, machines)."""
        if self._in_pairs:
            return self._solve_pairs(K, codes, bounds, warm)
        # one against the rest: all machines read the same rows of K
        solver = self._solver()
        source = solver.rows_of(K, bounds)

        def task(c: int) -> Callable:
            problem = self._problem(np.where(codes == c, 1.0, -1.0), bounds, (c, None), not warm)
            machine = c if warm else None
            return lambda stop: self._fit_machine(
                K, problem, machine, self._stopping(solver, stop), source
            )

        results = solve_all([task(c) for c in range(len(self.classes_))], 1)
        return results, np.stack([r.coef for r in results], axis=1)

    def _solve_pairs(
        self, K: GramOperator, codes: np.ndarray, bounds: np.ndarray, warm: bool
    ) -> tuple[list[SmoResult], np.ndarray]:
        """One machine for each pair of classes; several at a time where there are several."""
        pairs = all_pairs(len(self.classes_))
        grams = PairGrams(K, codes, SMALL, memory_budget(self.memory) // 4, self.n_jobs)
        jobs = min(count_jobs(self.n_jobs), len(pairs))
        solver = self._solver(1 if len(pairs) > 1 else None, 1 / jobs)
        solver = replace(solver, polish=len(pairs) < MANY_PAIRS)

        def task(machine: int) -> Callable:
            def solve(stop: Callable[[], bool]) -> SmoResult:
                first, second = pairs[machine]
                rows, part = grams.of(first, second)
                labels = np.where(codes[rows] == first, 1.0, -1.0)
                if len(pairs) == 1:  # two classes: the second is positive, as in scikit-learn
                    labels = -labels
                problem = self._problem(labels, bounds[rows], (first, second), not warm)
                number = machine if warm else None
                return self._fit_machine(part, problem, number, self._stopping(solver, stop))

            return solve

        beta = np.zeros((len(codes), len(pairs)))
        results = solve_all([task(machine) for machine in range(len(pairs))], jobs)
        for machine, result in enumerate(results):
            beta[grams.rows_of(*pairs[machine]), machine] = result.coef
        return results, beta

    def _problem(self, labels, bounds, classes: tuple[int, int | None], of_fold) -> DualProblem:
        first, second = classes
        other = "the rest" if second is None else repr(self.classes_.tolist()[second])
        pair = f"{self.classes_.tolist()[first]!r} and {other}"
        return self._pair_problem(labels, bounds, pair, of_fold)

    def _pair_coef(self) -> np.ndarray:
        if not self._in_pairs:
            return self.dual_coef_.T
        codes = np.repeat(np.arange(len(self.classes_)), self._n_support)
        return by_pair(self.dual_coef_, codes, len(self.classes_))

    # --- predictions ----------------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distance, (n,), positive for ``classes_[1]``; for more classes votes refined by
        distances (n, classes), or with "ovo" the pairs' values (n, pairs). With
        ``multi_class="ovr"`` the machines' values (n, classes)."""
        values = self._values(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        if self.decision_function_shape == "ovo" or not self._in_pairs:
            return values
        return votes(values, len(self.classes_))

    def predict(self, X: Any) -> np.ndarray:
        """Class of each row, (n,): by votes of the pairs, ties to the first class; or that of the
        machine with the largest value."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        scores = self._scores(self._values(X))
        if self._in_pairs and len(self.classes_) > 2 and not self.break_ties:
            scores = np.round(scores)  # the fractions break ties; without them votes are integers
        return self.classes_[scores.argmax(axis=1)]

    def _scores(self, values: np.ndarray) -> np.ndarray:
        """One score a class, (n, classes): two classes have f and -f."""
        if len(self.classes_) == 2:
            return np.stack([-values[:, 0], values[:, 0]], axis=1)
        return votes(values, len(self.classes_)) if self._in_pairs else values

    # --- probabilities --------------------------------------------------------------------------

    def _fit_probabilities(self, K, codes, bounds, w) -> None:
        """Calibrate on the decision values of 5 folds, each predicted by the others."""
        scores = np.zeros((len(codes), len(self.classes_)))
        counts = np.bincount(codes)
        folds = int(min(5, counts.min()))
        if folds < 2:
            raise ValueError(
                "probability=True needs two rows of each class; class "
                f"{self.classes_.tolist()[counts.argmin()]!r} has one."
            )
        split = StratifiedKFold(folds, shuffle=True, random_state=self.random_state)
        for train, test in split.split(codes, codes):
            results, beta = self._solve_machines(K.part(train), codes[train], bounds[train])
            if _interrupted(results):
                warnings.warn(
                    "The calibration of probabilities was interrupted: the machine is fitted, "
                    "predict_proba is not available.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
                return
            b = np.array([r.intercept for r in results])
            used = np.flatnonzero(np.any(beta != 0, axis=1))
            scores[test] = self._scores(K.part(test, train[used]) @ beta[used] + b)
        method: Any = self.probability if isinstance(self.probability, str) else "sigmoid"
        self.calibration_ = calibrate(scores, codes, weights=w, method=method)

    @available_if(_with_probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class in the order of ``classes_``, (n, classes).

        For two classes the larger one is that of ``predict``; for more it is so up to ties of
        the votes and the shifts of calibration.
        """
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False: set "
                "probability=True before fit (and let it end)."
            )
        return self.calibration_(self._scores(self._values(X)))

    @available_if(_with_probability)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of ``predict_proba``."""
        return np.log(self.predict_proba(X))


class SVC(_SupportVectorClassifier):
    r"""Support vector classification with any kernel.

    The dual of the soft margin: maximise
    :math:`\sum_i \alpha_i - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j)` over
    :math:`0 \le \alpha_i \le C w_i`, :math:`\sum_i \alpha_i y_i = 0`; several classes one
    against one.

    Parameters
    ----------
    C : float > 0, default=1.0
        Penalty of an error; larger fits closer. Infinite is the hard margin: an error says so
        when no hyperplane separates the classes.
    kernel : str, Kernel, "precomputed" or callable, default="rbf"
        A kernel object of `mercer.kernels` may compare anything: categories, tables ...
        "linear" is solved in the primal, sparse rows stay sparse.
    degree, gamma, coef0 : as in scikit-learn, for named kernels
        Given beside a kernel object they are an error.
    shrinking : bool, default=True
        Leave rows out that have stopped to matter, and look at them again before the end.
    probability : bool or {"sigmoid", "isotonic", "temperature"}, default=False
        Fit probabilities too, on the decision values of 5 folds: about six times the work. True
        is "sigmoid".
    tol : float, default=1e-3
        Largest violation of optimality.
    cache_size : ignored
        Accepted, and changes nothing here: ``memory`` is the budget of the cache.
    class_weight : dict or "balanced", optional
        Factor of C for each class.
    verbose : bool, default=False
        Print a line a second while the fit goes on.
    max_iter : int, default=-1
        Rounds of the solver (working sets, not pairs as in LIBSVM); -1 is a limit of 10,000,
        which ordinary problems stay far below.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Of one-against-one machines: votes for the classes, or the values of the pairs.
    break_ties : bool, default=False
        Break ties of votes by ``decision_function``; more than two classes, "ovr" only.
    random_state : int, RandomState or None
        Of the folds of ``probability=True``, and of the centres of ``solver="low_rank"``.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One machine for each pair of classes, or for each class against the rest.
    warm_start : bool, default=False
        Start from the dual variables of the last fit, which was to the same rows: continues a
        fit that was stopped, or goes on with another C.
    solver : {"auto", "exact", "low_rank"}, default="auto"
        "low_rank" replaces K by a factor of ``rank`` columns; "auto" does from 200,000 rows on.
    rank : int, optional
        None means 2000, or what half of ``memory`` holds.
    memory : int, str or None
        Budget in bytes or as "4GB" for rows of K; None is half of what is free.
    n_jobs : int or None
        Threads; None means all cores.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_, intercept_, n_support_, class_weight_,
    shape_fit_, n_iter_, fit_status_, coef_ : as in scikit-learn
        With ``multi_class="ovr"``, ``dual_coef_`` has a row for each class. After
        ``solver="low_rank"`` predictions use coefficients at the centres.
    objective_ : float
        The dual's value, summed over the machines.
    dual_gap_ : float
        Certificate: the primal's value lies within this of the dual's (the largest of all
        machines), for K as it was rounded: rows of a large K are kept in float32 where ``tol``
        has room for that. No bound where the kernel is not positive semidefinite.
    converged_ : bool
    margin_ : ndarray of shape (machines,)
        1 / ‖w‖, the distance of the margins from the hyperplane in the feature space.
    solver_, gram_ : str
    kernel_ : Kernel
        Bound to the training sample.
    X_fit_ : samples
        What predictions compare with: the support vectors, encoded, or the centres.
    calibration_ : Calibration
        Of ``probability=True``.
    duals_ : list of ndarray
        Of ``warm_start=True``.

    Notes
    -----
    Weights mean repetition: weight 2 is the row twice, weight 0 no row. Batch SMO needs about as
    many rows of K as there are support vectors, O(n d) operations each, and O(n) memory beside
    its cache. A kernel that is not positive semidefinite has a dual with several local maxima:
    the fit ends in one of them, and ``dual_gap_`` is no bound.

    References
    ----------
    Cortes & Vapnik, "Support-vector networks", Machine Learning 20, 1995.

    Examples
    --------
    >>> model = SVC().fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> model.predict([[-0.5], [3.0]]).tolist()
    [0, 1]
    """

    C: float
    _path_parameter = "C"

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability=False,
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        multi_class="ovo",
        warm_start=False,
        solver="auto",
        rank=None,
        memory=None,
        n_jobs=None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.warm_start = warm_start
        self.solver = solver
        self.rank = rank
        self.memory = memory
        self.n_jobs = n_jobs

    def _penalties(self, w: np.ndarray) -> np.ndarray:
        return self.C * w

    def _pair_problem(self, labels, bounds, pair, of_fold) -> DualProblem:
        return DualProblem.classification(labels, bounds)


class NuSVC(_SupportVectorClassifier):
    r"""Support vector classification where ν in (0, 1] takes the place of C.

    ν bounds the part of the rows that lie within the margin from above, and the part that are
    support vectors from below. The dual: minimise
    :math:`\tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j)` over
    :math:`0 \le \alpha_i \le w_i`, :math:`\sum_i \alpha_i y_i = 0`,
    :math:`\sum_i \alpha_i = \nu \sum_i w_i`; divided by the margin that it finds, the machine is
    that of some C.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        At most twice the part of the smaller class (for each pair of classes).
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, class_weight, verbose,
    max_iter, decision_function_shape, break_ties, random_state, multi_class, warm_start, solver,
    rank, memory, n_jobs
        As in `SVC`; ``class_weight`` is a factor of the rows' weights.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_, intercept_, n_support_, class_weight_,
    shape_fit_, n_iter_, fit_status_, coef_, objective_, dual_gap_, converged_, margin_, solver_,
    gram_, kernel_, X_fit_, calibration_, duals_
        As in `SVC`; objective and gap are those of the machine after the division.

    References
    ----------
    Schölkopf, Smola, Williamson & Bartlett, "New support vector algorithms", Neural Computation
    12, 2000.

    Examples
    --------
    >>> model = NuSVC(nu=0.5).fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> model.predict([[-0.5], [3.0]]).tolist()
    [0, 1]
    """

    nu: float
    _path_parameter = "nu"

    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability=False,
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        multi_class="ovo",
        warm_start=False,
        solver="auto",
        rank=None,
        memory=None,
        n_jobs=None,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.warm_start = warm_start
        self.solver = solver
        self.rank = rank
        self.memory = memory
        self.n_jobs = n_jobs

    def _penalties(self, w: np.ndarray) -> np.ndarray:
        return w / w.mean()  # a common factor does not matter, but the tolerance would meet it

    def _pair_problem(self, labels, bounds, pair, of_fold) -> DualProblem:
        smaller = min(bounds[labels > 0].sum(), bounds[labels < 0].sum())
        largest = 2 * smaller / bounds.sum()
        if of_fold:  # whose classes stand in slightly other proportions
            return DualProblem.nu_classification(labels, bounds, min(self.nu, largest))
        if self.nu > largest * (1 + 1e-12):
            raise ValueError(
                f"specified nu is infeasible: nu={self.nu!r} for the classes {pair} must be <= "
                f"{largest:.6g}, twice the part of the smaller one."
            )
        return DualProblem.nu_classification(labels, bounds, self.nu)

    def _fit_machine(self, K, problem, machine, solver, source=None) -> SmoResult:
        """All divided by the margin ρ = (ρ₊ - ρ₋) / 2, so that f is ±1 there (LIBSVM section 4).

        The violation is divided too: where ρ is small the solution is made sharper first.
        """
        result = super()._fit_machine(K, problem, machine, solver, source)
        least = LEAST_MARGIN * float(np.abs(K.diag()).max()) * sum(problem.sums or ()) / 2
        for _ in range(SHARPENED):
            margin = (result.levels[0] - result.levels[1]) / 2
            wanted = self.tol * max(margin, least)
            if not result.converged or wanted >= solver.tol:
                break
            solver = replace(solver, tol=wanted)
            result = solver.solve(K, problem, result.alpha, source)
        margin = (result.levels[0] - result.levels[1]) / 2
        if not margin > least:
            raise ValueError(
                f"specified nu is infeasible: nu={self.nu!r} leaves no margin between two classes "
                f"(less than {least:.2g}): give a larger nu, or a kernel that separates more."
            )
        return result.scaled(1 / margin)
