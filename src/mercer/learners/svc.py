"""Support vector classification, with C and with ν, for any number of classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.learners.many_classes import ManyClasses
from mercer.solvers.dual import DualProblem
from mercer.solvers.smo import SmoResult

__all__ = ["SVC", "NuSVC"]

SHARPENED = 3  # times at most that NuSVC solves for a smaller tolerance
LEAST_MARGIN = 1e-9  # of NuSVC before the division, of the largest that f may be


class SVC(ManyClasses):
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
    path_parameter = "C"

    def __init__(
        self,
        *,
        C=1.0,
        kernel: Any = "rbf",
        degree=3,
        gamma: Any = "scale",
        coef0: float = 0.0,
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


class NuSVC(ManyClasses):
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
    path_parameter = "nu"

    def __init__(
        self,
        *,
        nu=0.5,
        kernel: Any = "rbf",
        degree=3,
        gamma: Any = "scale",
        coef0: float = 0.0,
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

    def _fit_machine(self, K, problem, machine, solver, source, fit_path) -> SmoResult:
        """All divided by the margin ρ = (ρ₊ - ρ₋) / 2, so that f is ±1 there (LIBSVM section 4).

        The violation is divided too: where ρ is small the solution is made sharper first.
        """
        result = super()._fit_machine(K, problem, machine, solver, source, fit_path)
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
