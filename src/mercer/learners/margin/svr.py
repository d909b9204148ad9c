"""Support vector regression: SVR with a tube of given width, NuSVR with ν, and quantile regression,
whose loss has a quantile as its minimum."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import d2_pinball_score
from sklearn.utils.validation import column_or_1d

from mercer.estimator import estimator
from mercer.gram import GramOperator
from mercer.learners.base import Regressor, Training, finite_fit, is_value, unit_of
from mercer.learners.margin.support_vectors import MachineProblem, SupportVectorMachine
from mercer.learners.margin.warm_starts import CONTINUED, WarmStarts
from mercer.samples import SamplesLike, is_number
from mercer.solvers import solve_all, worst
from mercer.solvers.smo import DualProblem, SmoResult


class _SupportVectorRegressor(Regressor, SupportVectorMachine):
    """Abstract: what SVR and NuSVR share; they differ in the dual."""

    C: float

    @abstractmethod
    def _problem(self, y: np.ndarray, bounds: np.ndarray, unit: float) -> DualProblem:
        """The dual for targets y and upper bounds."""

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
        training = self.make_training(X, y, sample_weight, fit_path=fit_path)
        y = training.column
        bounds, unit = self._bounds(training), _unit(y)
        K, low = self._operator(training.X, bounds, fit_path)
        problem = self._problem(y.astype(np.float64) / unit, bounds, unit)
        result = self._solve_one(K, problem, fit_path).scaled(unit)
        self._store_one(training, result, low)
        self._keep_tube(result)
        result.conclude(CONTINUED)
        return self

    def _bounds(self, training: Training) -> np.ndarray:
        return self.C * training.all_weights / _unit(training.y)

    def _keep_tube(self, result: SmoResult) -> None:
        """Store the width of the tube if the fit has found it; does nothing if it was given."""

    def _infeasible(self) -> str:
        return (
            "C=inf requires a function within the tube at every row, but rows that are equal for "
            "the kernel have targets that differ by more than its width: give a finite C."
        )

    def predict(self, X: SamplesLike) -> np.ndarray:
        """Predicted value of each row, (n,)."""
        return self._values(X)[:, 0]


@estimator
class SVR(_SupportVectorRegressor):
    r"""ε-insensitive support vector regression with any kernel.

    Minimise

    .. math:: \tfrac12 \|w\|^2 + C \sum_i w_i \max(0, |y_i - f(x_i)| - \varepsilon) .

    Parameters
    ----------
    C : float > 0, default=1.0
        Penalty of an error; a larger C fits the training samples more closely. ``inf`` allows no
        error, and raises one if no function is within the tube at every row.
    epsilon : float >= 0, default=0.1
        Half the width of the tube in which errors cost nothing, in the units of y.

    References
    ----------
    Smola & Schölkopf, "A tutorial on support vector regression", Statistics and Computing 14,
    2004.

    Examples
    --------
    >>> model = SVR(C=10, epsilon=0.01).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.predict([[1.0]]).round(1).tolist()
    [1.0]
    """

    _: KW_ONLY
    C: float = 1.0
    epsilon: float = 0.1

    path_parameter = "C"

    def _problem(self, y: np.ndarray, bounds: np.ndarray, unit: float) -> DualProblem:
        """The dual problem in units of the targets; a warning where its solution is a constant."""
        spread = unit * float(np.ptp(y))
        if 0 < spread < 2 * self.epsilon:
            warnings.warn(
                f"All targets are inside the tube of epsilon={self.epsilon!r}, so that the "
                f"prediction is a constant: give epsilon below {spread / 2:.3g}, or targets in "
                "other units.",
                stacklevel=2,
            )
        return DualProblem.regression(y, bounds, float(self.epsilon) / unit)

    def leave_one_out(
        self, X: SamplesLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, *,
        fit_path: Any = None,
    ) -> tuple[Any, Any] | None:  # fmt: skip
        def machines(training: Training, bounds: np.ndarray, path: WarmStarts) -> Any:
            targets, rows = training.column.astype(np.float64), np.arange(len(bounds))
            unit = _unit(targets)
            machine = rows, self._problem(targets / unit, bounds, unit)
            return ([machine], unit) if len(rows) > 1 else None

        return self._left_out(machines, X, y, sample_weight, fit_path)


@estimator
class NuSVR(_SupportVectorRegressor):
    r"""Support vector regression where ν in (0, 1] determines the width of the tube.

    Minimise

    .. math:: \tfrac12 \|w\|^2 + C (\nu \varepsilon \sum_i w_i + \sum_i w_i \max(0, |y_i -
              f(x_i)| - \varepsilon))

    over f and ε. At most a part ν of the rows is outside the tube, and at least a part ν of the
    rows are support vectors.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        Largest part of the rows outside the tube.
    C : float > 0, default=1.0
        Penalty of an error; must be finite.

    Attributes
    ----------
    epsilon_ : float
        Half the width of the tube that was found.

    References
    ----------
    Schölkopf, Smola, Williamson & Bartlett, "New support vector algorithms", Neural Computation
    12, 2000.

    Examples
    --------
    >>> model = NuSVR(C=10, nu=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.predict([[1.0]]).round(1).tolist()
    [1.0]
    """

    _: KW_ONLY
    nu: float = 0.5
    C: float = 1.0

    path_parameter = "C"

    def _keep_tube(self, result: SmoResult) -> None:
        above, below = result.levels
        self.epsilon_ = (below - above) / 2

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        super()._check_parameters()
        if not np.isfinite(self.C):
            raise ValueError(
                f"C={self.C!r}: must be finite, because C also weights the width of the tube; for "
                "C=inf use SVR, which has a tube of given width."
            )

    def _problem(self, y: np.ndarray, bounds: np.ndarray, unit: float) -> DualProblem:
        return DualProblem.nu_regression(y, bounds, float(self.nu))


def _unit(y: np.ndarray) -> float:
    """The unit in which the problem is solved, a power of two.

    ``tol`` and rounding errors hold for targets of about 1. In units of their spread, smaller
    targets have the same relative precision; larger ones stay as they are, as in scikit-learn.
    """
    targets = np.asarray(y, np.float64)
    largest = float(np.abs(targets).max())
    # squares of the smallest numbers would be 0
    spread = float(np.std(targets / largest)) * largest if largest > 0 else 0.0
    return 2.0 ** np.floor(np.log2(spread)) if 0 < spread < 1 else 1.0


GUESSED_LEAST = 3000  # rows from which a guess takes less time than it saves
GUESSED_FROM = 1000  # rows, about, whose quantiles it reads
GUESSED_TO = 1e-2  # their tolerance


def _at_bounds(residuals: np.ndarray, bounds: np.ndarray, level: float) -> np.ndarray:
    """β of shape (n,) that is optimal if f is a constant: rows below the quantile of the residuals
    are at their lower bound, rows above it at the upper one, and one row makes the sum 0."""
    order = np.argsort(residuals, kind="stable")
    sums = np.cumsum(bounds[order])
    below = sums <= level * sums[-1]
    beta = np.empty(len(bounds))
    beta[order] = np.where(below, level - 1, level) * bounds[order]
    beta[order[below.sum()]] -= beta.sum()
    return beta


@estimator
class KernelQuantileRegression(Regressor, SupportVectorMachine):
    r"""Quantiles of a target, each a smooth function of the samples.

    Minimise

    .. math:: \tfrac12 \|w\|^2 + C \sum_i w_i \rho_\tau(y_i - f(x_i))

    for each quantile :math:`\tau`, where :math:`\rho_\tau(r) = \max(\tau r, (\tau - 1) r)` is the
    pinball loss. About a part :math:`\tau` of the training targets is then below f.

    Parameters
    ----------
    quantile : float or sequence of floats, each in (0, 1), default=0.5
        Several quantiles share the Gram matrix, and their predictions never cross.
    C : float > 0, default=1.0
        Penalty of an error; a larger C fits the training samples more closely. As in `SVR`, a
        target of other units needs another C: its penalty and ‖w‖² grow at different rates.
    tol : float > 0
        Largest violation of the optimality conditions, in standard deviations of y.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (quantiles, support vectors)
    intercept_ : ndarray of shape (quantiles,)
    n_iter_ : ndarray of shape (quantiles,), int

    Notes
    -----
    The dual of each quantile is that of `SVR` without a tube, where the dual variables of targets
    above and below f have the upper bounds :math:`C \tau` and :math:`C (1 - \tau)`. Each function
    is exact to ``dual_gap_``, which is computed. Functions of different quantiles can cross where
    data are few; the predictions of a row are sorted, which never increases the loss
    (Chernozhukov et al.). Weights mean repetition.

    References
    ----------
    Takeuchi, Le, Sears & Smola, "Nonparametric quantile estimation", JMLR 7, 2006.

    Chernozhukov, Fernández-Val & Galichon, "Quantile and probability curves without crossing",
    Econometrica 78, 2010.

    Examples
    --------
    >>> X, y = np.zeros((5, 1)), [1.0, 2.0, 3.0, 4.0, 100.0]
    >>> KernelQuantileRegression().fit(X, y).predict([[0.0]]).round(3).tolist()
    [3.0]
    >>> several = KernelQuantileRegression(quantile=[0.3, 0.7]).fit(X, y)
    >>> several.predict([[0.0]]).round(3).tolist()
    [[2.0, 4.0]]
    """

    _: KW_ONLY
    quantile: Any = 0.5
    C: float = 1.0

    path_parameter = "C"

    @finite_fit
    def fit(
        self,
        X: SamplesLike,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        fit_path: WarmStarts | None = None,
    ) -> Self:
        self._check_parameters()
        training = self.make_training(X, y, sample_weight, fit_path=fit_path)
        y = training.column.astype(np.float64)
        scale, bounds = _scale(training), self._bounds(training)
        K, low = self._operator(training.X, bounds, fit_path)
        problems = [DualProblem.quantile(y / scale, bounds, level) for level in self._levels()]

        known = fit_path is not None or self.warm_start or low is not None or is_value(self.solver)
        guesses = [None] * len(problems) if known else self._guesses(K, y / scale, bounds)

        def machine(i: int) -> SmoResult:
            machine = MachineProblem(K, problems[i], self._solver(K.shape[0]), i)
            return self._solve(machine, fit_path, guesses[i]).scaled(scale)

        results = solve_all([lambda i=i: machine(i) for i in range(len(problems))], 1)
        coef = np.stack([result.coef for result in results])
        support = np.flatnonzero(coef.any(axis=0))
        self._n_support = np.array([len(support)], dtype=np.int32)
        self.n_iter_ = np.array([result.iterations for result in results], dtype=np.int32)
        self.dual_coef_ = coef[:, support]
        self._store(training, results, support, low)
        worst(results).conclude(CONTINUED)
        return self

    def _guesses(
        self, K: GramOperator, target: np.ndarray, bounds: np.ndarray
    ) -> list[SmoResult] | list[None]:
        """Starts for the solver: nearly all rows are at one of their bounds, and the quantiles of
        some rows say at which. The products with K, for all quantiles together, read each pair
        once. None if there are few rows.
        """
        n, levels = K.shape[0], self._levels()
        if n < GUESSED_LEAST:
            return [None] * len(levels)
        some = np.flatnonzero(bounds)
        some = some[:: max(1, len(some) // GUESSED_FROM)]
        part, C = K.part(some), bounds[some] * (bounds.sum() / bounds[some].sum())
        solver = replace(self._solver(len(some)), tol=GUESSED_TO, polish=False, report=None)
        found = [
            solver.solve(part, DualProblem.quantile(target[some], C, level)) for level in levels
        ]
        f = K.part(np.arange(n), some) @ np.stack([result.coef for result in found], axis=1)
        beta = np.stack(
            [_at_bounds(target - f[:, k], bounds, level) for k, level in enumerate(levels)], axis=1
        )
        products = K @ beta
        return [
            replace(result, alpha=np.concatenate([np.maximum(b, 0), np.maximum(-b, 0)]), coef=b,
                    products=products[:, k])
            for k, (result, b) in enumerate(zip(found, beta.T))
        ]  # fmt: skip

    def predict(self, X: SamplesLike) -> np.ndarray:
        """The quantile of each row, (n,); (n, quantiles), never crossing, if several are given."""
        values = self._values(X)
        if is_number(self.quantile):
            return values[:, 0]
        order = np.argsort(self._levels(), kind="stable")
        values[:, order] = np.sort(values, axis=1)
        return values

    def score(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """D², the share of the pinball loss of the best constant that is avoided: 1 is perfect, and
        0 is no better than the constant. The mean over the quantiles if several are given."""
        f = np.reshape(self.predict(X), (-1, len(self._levels())))
        scores = [
            d2_pinball_score(y, column, sample_weight=sample_weight, alpha=level)
            for column, level in zip(f.T, self._levels())
        ]
        return float(np.mean(scores))

    def _levels(self) -> list[float]:
        return [float(level) for level in np.atleast_1d(self.quantile)]

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        super()._check_parameters()
        levels = [self.quantile] if is_number(self.quantile) else self.quantile
        try:
            known = bool(len(levels)) and all(is_number(q) and 0 < q < 1 for q in levels)
        except TypeError:
            known = False
        if not known:
            raise ValueError(
                f"quantile={self.quantile!r}: give a number between 0 and 1, or a list of them, "
                "such as [0.1, 0.5, 0.9]."
            )
        if not np.isfinite(self.C):
            raise ValueError(
                f"C={self.C!r}: must be finite, because a quantile needs errors on both sides."
            )

    def _bounds(self, training: Training) -> np.ndarray:
        # w / scale minimises the same problem for y / scale and C / scale
        return self.C / _scale(training) * training.all_weights

    def _reads_again(self) -> bool:
        return not is_number(self.quantile)


def _scale(training: Training) -> float:
    """Standard deviation of the targets, in whose units the tolerance is."""
    w, unit = training.all_weights, unit_of(training.y)
    y = column_or_1d(training.y).astype(np.float64) / unit
    errors = y - np.average(y, weights=w)
    return unit * float(np.sqrt(np.average(errors**2, weights=w))) or 1.0
