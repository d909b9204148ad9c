"""Feature machines: kernel ridge regression under a metric that is learnt from the targets.

The metric is learnt on about a thousand rows (feature_metric.py); then one machine is fitted to all
rows with it, exactly or on centres. The classifier is the regression of class indicators, with
probabilities from the leave-one-out outputs.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.distances import dense_rows
from mercer.estimator import Seed, documented, estimator
from mercer.gram import GramOperator
from mercer.kernels import ExponentialPower, Kernel
from mercer.learners.base import (
    LIMITS,
    Classifier,
    KernelLearner,
    KernelSum,
    Regressor,
    SoftmaxCalibration,
    Training,
    check_count,
    check_positive,
    check_solver,
    different_rows,
    encode_classes,
    finite_fit,
    finite_values,
    fit_softmax,
    is_value,
    solver_name,
    unit_of,
)
from mercer.learners.metrics.feature_metric import (
    FORMS,
    FULL_COLUMNS,
    FeatureMetric,
    KernelForm,
    choose_metric,
)
from mercer.learners.ridge import least_left_out, solve_by_value
from mercer.samples import Samples, SamplesLike, is_number
from mercer.solvers import CholeskySolver, LowRankSolver, Result
from mercer.threads import blas_limit, count_jobs

SOLVERS = ("auto", "cholesky", "low_rank")
METRICS = ("auto", "diagonal", "full")
FEWEST_ROWS = 20  # with fewer different rows nothing is learnt, and all of them choose the penalty
SQUARES = 48  # bytes for each pair of learning rows: K, its factor, slopes and temporary arrays
FOLDS = 5  # folds that replace leaving out one row, if the solver is a value
ROWS = 64  # bytes for each entry of the learning rows


@estimator
class FeatureMachine(KernelLearner):
    """Abstract: learn a metric on some rows, then solve (K + λ W⁻¹) a = y for all of them.

    Parameters
    ----------
    norm : {1, 2, "auto"}
        p, the exponent of the metric: 1 suits thresholds and steps, 2 smooth functions.
    power : float in (0, norm] or "auto"
        q; "auto" is 1 for a diagonal W, 1.4 for a full one.
    metric : {"auto", "diagonal", "full"}
        Whether W has a factor for each column or is a matrix (norm 2 only). With "auto", here and
        in ``norm``, up to three forms are learnt, and judged on rows held back; a full matrix is
        kept if its error is less by a quarter, and not tried with more than 400 columns.
    bandwidth : float > 0 or "auto"
        L, in units of the median distance under W; "auto" chooses 1/2, 1 or 2.
    alpha : float > 0 or "auto"
        The penalty λ.
    steps : int >= 0
        Most steps of learning; it ends with the first one that gains less than a fiftieth.
    learning_rows : int
        The metric is learnt on at most this many different rows, drawn at random, and judged on at
        most as many others. A diagonal metric needs 300 rows, a full one 600 to 1,200.
    solver : {"auto", "cholesky", "low_rank"} or solver value
        Solver of the machine for all rows. "cholesky" is exact; "low_rank" restricts f to ``rank``
        centres; "auto" is exact up to 20,000 rows where K and its factor fit ``memory``. A value
        is one for `KernelRidge`; probabilities then come from five folds.
    rank : int, optional
        Centres of the low-rank machine; None means 2000, or fewer if ``memory`` is too small.
    random_state : int, RandomState or None
        Seed for choosing the rows that the metric is learnt on, and the centres.

    Attributes
    ----------
    metric_ : ndarray of shape (d,) or (d, d)
        The mean outer product of the gradients, or its diagonal, of the step that was kept; in
        units of the columns' standard deviations, and with trace 1.
    relevance_ : ndarray of shape (d,)
        Its diagonal: the share of each column. Of two columns that say the same, each gets a part.
    kernel_ : ExponentialPower
        The learnt kernel on the columns as they are; ``kernel_.metric.linear_map`` is W / L.
    norm_, power_, bandwidth_, alpha_ : int, float, float, float
        p, q, L and λ of the machine.
    errors_ : list of float
        Squared error on the rows held back after 0, 1, ... steps, in units of the variance of y.
    step_ : int
        The step that was kept.
    dual_coef_ : ndarray of shape (n, outputs)
        Coefficients of the different rows of positive weight, or of the centres, in random order;
        one output for two classes, else one for each class or target.
    intercept_ : ndarray of shape (outputs,)
    X_fit_ : ndarray or sparse matrix of shape (n, d)
        The samples that ``dual_coef_`` belongs to.
    solver_, gram_ : str
        Descriptions of the solver and of the Gram matrix.
    residual_ : float
        Certificate: backward error ("cholesky") or relative residual ("low_rank").
    """

    _: KW_ONLY
    norm: Any = "auto"
    power: Any = "auto"
    metric: str = "auto"
    bandwidth: Any = "auto"
    alpha: Any = "auto"
    steps: int = 4
    learning_rows: int = 1200
    solver: Any = "auto"
    rank: int | None = None
    random_state: Seed = None

    #: the form of the kernel; what it is for the training samples is learnt
    kernel: ClassVar[Kernel] = ExponentialPower()
    gamma: ClassVar[None] = None
    degree: ClassVar[None] = None
    coef0: ClassVar[None] = None
    kernel_params: ClassVar[None] = None
    fitted_by = "residual_"
    intercept_: np.ndarray = field(init=False)

    @abstractmethod
    def predict(self, X: SamplesLike) -> np.ndarray:
        """The answer for each row of X."""

    def _prepare(
        self, X: SamplesLike, y: Any, sample_weight: ArrayLike | None, *, numeric: bool = True
    ) -> Training:
        """The different rows in random order, weighted by their copies; y are numbers or codes.

        Rows that are the same make the same machine, in whatever order and however often given.
        """
        training = self.make_training(X, y, sample_weight, numeric=numeric)
        y = training.y
        if not numeric:
            self.classes_, y = encode_classes(column_or_1d(y, warn=True))
        rows, w = different_rows(training.X, y, training.weights, self.random_state)
        weights = None if (w == 1).all() else w
        return Training(training.X[rows], y[rows], weights, training.rows[rows], training.shape)

    def _learn(self, training: Training, Y: np.ndarray) -> None:
        """Set ``kernel_`` and the attributes that describe it."""
        d = training.X.shape[1]
        forms = self._forms(d)
        m = self._affordable_rows(training.X, forms)
        n = min(training.X.shape[0], 2 * m)
        few = n < FEWEST_ROWS
        found = choose_metric(
            dense_rows(training.X[:n]), Y[:n], training.all_weights[:n],
            forms=forms[-1:] if few else forms, bandwidth=self.bandwidth, penalty=self.alpha,
            steps=0 if few else self.steps, held=0 if few else max(n - m, n // 5),
            n_jobs=self.n_jobs,
        )  # fmt: skip
        self.kernel_ = found.kernel
        self._describe(found)

    def _describe(self, found: FeatureMetric) -> None:
        """Keep what was learnt in the attributes."""
        G = found.outer_product
        self.metric_ = G
        self.relevance_ = G if G.ndim == 1 else G.diagonal().copy()
        self.norm_, self.power_ = found.form.norm, float(found.form.power)
        self.bandwidth_, self.alpha_ = found.bandwidth, found.penalty
        self.step_, self.errors_ = found.step, found.errors

    def _solve(self, training: Training, Y: np.ndarray, left_out: bool) -> np.ndarray | None:
        """Set ``dual_coef_`` for centred targets (n, outputs).

        Minimise Σ w (y - K a)² + λ aᵀK a   =>   (K + λ W⁻¹) a = y. Returns for each row the
        outputs of the fit without it, if ``left_out``.
        """
        X, w, unit = training.X, training.weights, unit_of(Y)
        Y, outputs = Y / unit, None
        with blas_limit(X.shape[0]):
            factor = None if is_value(self.solver) else self._exact_factor(training)
            if is_value(self.solver):
                result, outputs = self._solve_by_value(training, Y, left_out)
            elif factor is not None:
                self.keep_support(X)
                self.solver_ = "cholesky"
                if left_out:
                    outputs = factor.leave_one_out(Y)
                result = factor.solve(Y)
            else:
                K = self.make_low_rank_gram(X, LIMITS["feature machine"].rank)
                self.keep_support(X[K.centres])
                self.solver_ = "low_rank"
                low = LowRankSolver().factorise(K, w)
                if self.alpha == "auto":  # all penalties cost little here
                    self.alpha_, outputs = least_left_out(low, Y, w, self.place.budget())
                elif left_out:
                    outputs = low.leave_one_out(Y, [self.alpha_])[0]
                result = low.solve(Y, self.alpha_)
        self.dual_coef_ = (unit * result.coef).astype(X.dtype, copy=False)
        self.residual_ = result.gap
        result.conclude()
        return None if outputs is None else unit * outputs

    def _solve_by_value(
        self, training: Training, Y: np.ndarray, left_out: bool
    ) -> tuple[Result, np.ndarray | None]:
        """The solution, and outputs of fits without a fifth of the rows at a time."""
        K, w = self.make_gram(training.X), training.weights

        def solved(K: GramOperator, rows: np.ndarray) -> Result:
            weights = None if w is None else w[rows]
            return solve_by_value(self.solver, K, Y[rows], weights, self.alpha_)

        every, outputs = np.arange(len(Y)), None
        if left_out:
            outputs = np.empty_like(Y)
            for held in np.array_split(every, min(FOLDS, len(Y))):  # rows have a random order
                others = np.setdiff1d(every, held)
                outputs[held] = K.part(held, others) @ solved(K.part(others), others).coef
        self.keep_support(training.X)
        self.solver_ = solver_name(self.solver)
        return solved(K, every), outputs

    def _exact_factor(self, training: Training) -> Any:
        """K + λ W⁻¹ factorised, or None if the fit is of low rank."""
        limits, X = LIMITS["feature machine"], training.X
        if not limits.exact(self.solver, X.shape[0]):
            return None
        matrices = limits.matrices + (X.dtype != np.float64)  # a factor in float64, if need be
        K = self.make_gram(X, matrices=matrices)
        if K.fits(matrices):
            solver = CholeskySolver(self.alpha_)
            return solver.factorise(K, training.weights)
        if self.solver == "cholesky":
            K.refuse(matrices, "an exact fit", ', or solver="low_rank"')
        K.concede(matrices, "an exact fit", 'solver="low_rank"')
        return None

    def kernel_sum(self) -> KernelSum:
        self.check_fitted()
        return KernelSum.of(
            self.kernel_, self.X_fit_, self.dual_coef_, self.intercept_, self.encode_new
        )

    @finite_values
    def _outputs(self, X: Samples) -> np.ndarray:
        """Outputs for new samples, (n, outputs)."""
        return np.asarray(self.cross_gram(X) @ self.dual_coef_ + self.intercept_)

    # --- parameters -------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        if self.norm != "auto" and self.norm not in (1, 2):
            raise ValueError(f'norm={self.norm!r}: give 1, 2 or "auto".')
        if self.metric not in METRICS:
            raise ValueError(f"metric={self.metric!r}: give one of {list(METRICS)}.")
        if self.norm == 1 and self.metric == "full":
            raise ValueError('norm=1 has no full metric: give norm=2, or metric="diagonal".')
        most = 2 if self.norm == "auto" else self.norm
        if self.power != "auto" and not (is_number(self.power) and 0 < self.power <= most):
            raise ValueError(
                f'power={self.power!r}: give a number > 0 and at most the norm, or "auto"; above '
                "the norm the kernel is not positive semidefinite."
            )
        for name in ("bandwidth", "alpha"):
            if not isinstance(getattr(self, name), str):
                check_positive(name, getattr(self, name))
            elif getattr(self, name) != "auto":
                raise ValueError(f'{name}={getattr(self, name)!r}: give a number > 0 or "auto".')
        check_count("steps", self.steps, 0, optional=False)
        check_count("learning_rows", self.learning_rows, optional=False)
        check_count("rank", self.rank)
        check_solver(self.solver, SOLVERS, ["penalty"])

    def _forms(self, d: int) -> list[KernelForm]:
        """The forms that the parameters allow, with the given power."""
        norms = (1, 2) if self.norm == "auto" else (self.norm,)
        kinds = {"auto": (False, True), "diagonal": (False,), "full": (True,)}[self.metric]
        if self.metric == "auto" and not 1 < d <= FULL_COLUMNS:
            kinds = (False,)
        forms = [form for form in FORMS if form.norm in norms and form.full in kinds]
        if self.power == "auto":
            return forms
        return [form._replace(power=self.power) for form in forms if self.power <= form.norm]

    def _affordable_rows(self, X: Samples, forms: list[KernelForm]) -> int:
        """``learning_rows``, or fewer if there are fewer rows or ``memory`` holds fewer."""
        d, full = X.shape[1], any(form.full for form in forms)
        at_once = min(len(forms), count_jobs(self.n_jobs))

        def needed(m: int) -> int:
            each = SQUARES * m * m + (64 * d * d if full else 0)
            return at_once * each + 2 * m * ROWS * d

        m = min(self.learning_rows, X.shape[0])
        budget = self.place.budget(needed(m))
        while m > FEWEST_ROWS and needed(m) > budget:
            m = max(int(0.9 * m), FEWEST_ROWS)
        if needed(m) <= budget:
            return m
        other = ', or metric="diagonal"' if full else ""
        self.place.refuse(needed(m), f"learning a metric of {d:,} columns", other)


@documented
class FeatureMachineRegressor(MultiOutputMixin, Regressor, FeatureMachine):
    r"""Kernel ridge regression under a metric that is learnt from the gradients of its own fits.

    .. math:: k(x, z) = \exp(-(\|W (x - z)\|_p / L)^q), \qquad
        W^\top W \propto \sum_i w_i \nabla f(x_i) \nabla f(x_i)^\top,

    where f is the fit of the step before, and W of the first step divides each column by its
    standard deviation. Columns that matter little shrink; a full W finds the directions that
    matter.

    Notes
    -----
    The order of the rows changes nothing; the units of the columns change nothing but which rows
    are drawn. Weights mean repetition: a row given twice is a row of weight 2. A step takes 0.2 to
    0.5 s on one core with 1,200 learning rows and 10 to 40 columns, and the three forms take 6 to
    15 steps together; the exact fit costs O(n³ / 3). With fewer than 20 different rows no metric is
    learnt.

    The metric is learnt in float32, the machine is solved in the precision of X.

    References
    ----------
    Radhakrishnan et al., "Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models", Science 383, 2024.

    Examples
    --------
    >>> from mercer import FeatureMachineRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 5))
    >>> model = FeatureMachineRegressor(random_state=0).fit(X, np.sin(5 * X[:, 2]))
    >>> int(model.relevance_.argmax()), bool(model.relevance_[2] > 0.9)
    (2, True)
    """

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to vectors X (n, d), dense or sparse, and targets y of (n,) or (n, outputs)."""
        self._check_parameters()
        training = self._prepare(X, y, sample_weight)
        assert training.y is not None
        self._flat = training.y.ndim == 1
        Y = np.asarray(training.y, np.float64).reshape(len(training.y), -1)
        mean = np.average(Y, axis=0, weights=training.weights)
        centred = Y - mean
        size = np.abs(centred).max(axis=0)
        self._learn(training, centred / np.where(size > 0, size, 1))
        self.intercept_ = mean
        self._solve(training, centred, left_out=False)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """f at the rows of X, of shape (n,) or (n, outputs) as y was."""
        check_is_fitted(self)
        f = self._outputs(X)
        return f[:, 0] if self._flat else f


@documented
class FeatureMachineClassifier(Classifier, FeatureMachine):
    r"""Classification by a `FeatureMachineRegressor` of class indicators, with probabilities.

    .. math:: k(x, z) = \exp(-(\|W (x - z)\|_p / L)^q), \qquad
        P(c \mid x) \propto \exp(a f_c(x) + b_c),

    where :math:`f_c` is the kernel ridge regression of +1 for class c and -1 for the others, under
    the metric W that is learnt from the gradients of all :math:`f_c`. All classes share one kernel,
    one metric and one factorisation, so that many classes cost little more than two. The source is
    that of the regressor (Radhakrishnan et al. 2024).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    calibration_ : function
        Makes probabilities from the scores of the classes.

    Notes
    -----
    The scale a and the shifts :math:`b_c` are the most likely ones for the leave-one-out outputs.
    These have a closed form, which costs an exact fit O(n³ / 3) once more.

    Examples
    --------
    >>> from mercer import FeatureMachineClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 5))
    >>> model = FeatureMachineClassifier(random_state=0).fit(X, X[:, 0] * X[:, 3] > 0)
    >>> sorted(model.relevance_.argsort()[-2:].tolist())
    [0, 3]
    >>> model.predict_proba(X[:1]).shape
    (1, 2)
    """

    fitted_by = "calibration_"

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to vectors X (n, d), dense or sparse, and classes y (n,)."""
        self._check_parameters()
        training = self._prepare(X, y, sample_weight, numeric=False)
        codes = training.y
        assert codes is not None
        Y = 2.0 * (codes[:, None] == np.arange(len(self.classes_))) - 1
        Y = Y[:, 1:] if len(self.classes_) == 2 else Y
        self._learn(training, Y)
        self.intercept_ = np.average(Y, axis=0, weights=training.weights)
        outputs = self._solve(training, Y - self.intercept_, left_out=True)
        assert outputs is not None
        scores = _scores(outputs + self.intercept_)
        self.calibration_: SoftmaxCalibration = fit_softmax(scores, codes, training.weights)
        return self

    def decision_function(self, X: SamplesLike) -> np.ndarray:
        """Calibrated log-odds (n,) for two classes; log-probabilities (n, classes) for more."""
        logs = np.log(self.predict_proba(X))
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, in the order of ``classes_``; (n, classes)."""
        check_is_fitted(self)
        return self.calibration_(_scores(self._outputs(X)))

    def predict(self, X: SamplesLike) -> np.ndarray:
        """The most probable class of each row, (n,)."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _scores(outputs: np.ndarray) -> np.ndarray:
    """A score for each class, (n, classes); two classes share one output."""
    return np.hstack([-outputs, outputs]) if outputs.shape[1] == 1 else outputs
