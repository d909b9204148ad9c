"""What the predictions of a fitted model rest on: how much is lost without each column."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state

from mercer.estimator import Seed
from mercer.machines import Z95, Metric, drawn_rows
from mercer.plots.displays.display import ColumnLosses, display
from mercer.plots.fitted import ModelRows, row_count, rows_of, sample_rows, take
from mercer.tables import as_numbers
from mercer.threads import Clock

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mercer.samples import SamplesLike

    pass

FEW_ROWS = 100  # on which the columns are ordered, by one exchange of cells each
DRAWS = 40  # of the rows, for the interval of what a metric loses
LEAST_ODDS = 0.001  # probability below which odds are no longer told apart


@display
class RelianceDisplay(ColumnLosses):
    r"""How much worse the predictions of a fitted model are without each column.

    Nothing is fitted again. To predict a row without a column, the model predicts it with cells
    that other rows have in this column, and the mean of these predictions is taken. The loss of
    column j is

    .. math:: (L_j - L) / L_0,

    where L is the mean squared error, :math:`L_j` the error of the averaged predictions, and
    :math:`L_0` the error of a constant. For numbers this is the lost R²; for classes it is the same
    for the class probabilities: the lost part of 1 - Brier score / (Brier score of the class
    frequencies). For a classifier without ``predict_proba`` it is the accuracy that is lost with
    cells of other rows. With a ``metric`` it is what the averaged predictions lose in this score;
    if the metric is an error, it is divided by the error of a constant.

    Parameters
    ----------
    loss, low, high : array-like of shape (columns,)
        The loss, and its 95% interval over the rows (paired differences, normal approximation;
        their spread is that of draws of the rows where a ``metric`` is not a mean of errors).
    full : float
        The score of the model on these rows.
    chance : float
        The same score of a constant.
    n_test : int
        Number of rows.

    Notes
    -----
    For n rows and d columns `measured` asks the model for n d ``repeats`` predictions.

    References
    ----------
    Covert, Lundberg & Lee, "Understanding global feature contributions with additive importance
    measures", NeurIPS 2020.

    Examples
    --------
    >>> import mercer
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 3))
    >>> y = X[:, 0] * X[:, 1]
    >>> model = mercer.KernelRidge(kernel="rbf").fit(X[:200], y[:200])
    >>> display = RelianceDisplay.measured(model, X[200:], y[200:])
    >>> sorted(int(j) for j in display.columns[:2])
    [0, 1]
    """

    _: KW_ONLY
    chance: float = 0.0

    @classmethod
    def measured(
        cls,
        estimator: BaseEstimator,
        X: SamplesLike,
        y: ArrayLike,
        *,
        metric: Metric | None = None,
        max_samples: int = 500,
        max_columns: int = 40,
        repeats: int = 8,
        time: float | None = None,
        random_state: Seed = 0,
    ) -> RelianceDisplay:
        """Measure a fitted model on rows that it has not seen, without drawing.

        Parameters
        ----------
        estimator : fitted estimator
        X, y : held-out rows
            A data frame or a 2-D array. At most ``max_samples`` random rows are used.
        metric : Metric, optional
            The loss, by a `Metric` of the automatic estimators, for a model that has probabilities
            or predicts numbers. None means R², and R² of the probabilities of classes.
        max_columns : int
            If there are more columns, those that change the predictions most are measured.
        repeats : int
            How many cells of other rows are put into each row; at least 2.
        time : float, optional
            About how many seconds this may take: the last columns are left out. One
            column is always measured.
        """
        clock, random = Clock(time), check_random_state(random_state)
        some = sample_rows(row_count(X, y), max_samples, random)
        rows, y = rows_of(estimator, take(X, some)), np.asarray(y)[some]
        exchange = _Exchange(estimator, rows, random)
        order = exchange.foremost(clock.share(0.3))[:max_columns]
        errors, losses = _Errors(estimator, y), []
        if metric is not None and metric.name != "r2" and errors.squared:
            errors = _Scores(estimator, y, metric, random)
        for name in order:
            begun = clock.spent()
            without = exchange.without(name, repeats)
            lost, half = errors.lost(exchange.whole, without, exchange.is_even(name))
            losses.append(np.array([lost, lost - half, lost + half]))
            if 2 * (clock.spent() - begun) > clock.left():
                break  # the next one would take too long
        loss, low, high = np.array(losses).T
        return cls(
            order[: len(loss)], loss, low, high, full=errors.score(exchange.whole),
            measure=errors.measure, chance=errors.chance, n_test=len(y), n_columns=len(rows.kinds),
        )  # fmt: skip


class _Exchange:
    """Answers of a model for rows whose cells in one column, or in several, are of other rows."""

    def __init__(self, model: BaseEstimator, rows: ModelRows, random: np.random.RandomState):
        self.rows, self.random = rows, random
        self.answers = _answers_of(model)
        self.whole = self.answers(rows.data)
        self.odds = is_classifier(model) and hasattr(model, "predict_proba")
        labels = is_classifier(model) and not self.odds
        self.classes = np.unique(self.whole) if labels else None
        self.changed: dict[Any, float] = {}  # the mean squared change of the scale by each column

    def without(self, name: Hashable, repeats: int) -> np.ndarray:
        """Answers with cells of other rows in a column, (repeats, n, ...).

        The cells that a row gets are evenly spread over the column in the order of its values.
        """
        n, repeats = len(self.rows), max(2, repeats)
        ascending = self._ascending(name)
        own = self.random.permutation(n)
        orders = [ascending[(own + k * n // repeats) % n] for k in range(repeats)]
        return np.stack([self.answers(self.rows.with_cells(name, self.rows, o)) for o in orders])

    def _ascending(self, name: Any) -> np.ndarray:
        """The rows in the order of the values of a column."""
        cells, kind = self.rows.cells(name), self.rows.kind(name)
        if kind is not None and kind.numeric:
            return np.argsort(as_numbers(cells), kind="stable")
        return np.argsort([str(cell) for cell in cells.tolist()], kind="stable")

    def is_even(self, name: Any) -> bool:
        """Whether neighbours in the order of the values of a column are alike."""
        kind = self.rows.kind(name)
        return kind is None or kind.samples is None

    def foremost(self, clock: Clock) -> list:
        """The columns, those first whose exchange changes the answers most on some rows."""
        few = self.rows[np.arange(min(FEW_ROWS, len(self.rows)))]
        own, order = self._scale(self.whole[: len(few)]), self.random.permutation(len(few))
        names = list(self.rows.kinds)
        for name in names:
            other = self._scale(self.answers(few.with_cells(name, few, order)))
            self.changed[name] = float(np.mean((own - other) ** 2))
            if not clock.left():
                break
        return sorted(names, key=lambda name: -self.changed.get(name, 0.0))

    def _scale(self, answers: np.ndarray) -> np.ndarray:
        """Numbers, log-odds of classes, or which class it is, (n, outputs)."""
        if self.classes is not None:
            return (answers[:, None] == self.classes).astype(float)
        answers = answers.reshape(len(answers), -1)
        if not self.odds:
            return answers
        logs = np.log(np.clip(answers, LEAST_ODDS, 1.0))
        return logs - logs.mean(axis=1, keepdims=True)


class _Errors:
    """Errors of answers for rows with known targets."""

    chance = 0.0

    def __init__(self, model: Any, y: np.ndarray):
        self.truth, self.trivial, self.measure = y.astype(object), 1.0, "accuracy"
        self.squared = not is_classifier(model) or hasattr(model, "predict_proba")
        if not is_classifier(model):
            self.truth, self.measure = np.asarray(y, float)[:, None], "R²"
        elif self.squared:
            classes = np.asarray(model.classes_)
            self.truth = (y[:, None] == classes).astype(float)
            self.measure = "R² of the class probabilities"
        if self.squared:
            spread = (self.truth - self.truth.mean(axis=0)) ** 2
            self.trivial = float(spread.sum(axis=1).mean()) or 1.0

    def __call__(self, answers: np.ndarray) -> np.ndarray:
        """The error of each row, (n,)."""
        if not self.squared:
            return (answers != self.truth).astype(float)
        return ((self.truth - answers.reshape(self.truth.shape)) ** 2).sum(axis=1)

    def score(self, answers: np.ndarray) -> float:
        """The share of the error of a constant that the answers avoid."""
        return float(1 - self(answers).mean() / self.trivial)

    def lost(self, whole: np.ndarray, without: np.ndarray, even: bool) -> tuple[float, float]:
        """How much worse answers are without a column, and half of its 95% interval."""
        gap = (self.averaged(without, even) - self(whole)) / self.trivial
        half = Z95 * gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
        return float(gap.mean()), half

    def averaged(self, answers: np.ndarray, even: bool) -> np.ndarray:
        """The error of the mean of all answers that a row might get, from some of them, (n,).

        If these are not evenly spread, the mean of the products of two different ones is taken,
        which has no part of their spread.
        """
        if not self.squared:
            return np.mean([self(each) for each in answers], axis=0)
        k = len(answers)
        off = self.truth - answers.reshape(k, *self.truth.shape)
        if even:
            return (off.mean(axis=0) ** 2).sum(axis=1)
        products = off.sum(axis=0) ** 2 - (off**2).sum(axis=0)
        return products.sum(axis=1) / (k * (k - 1))


class _Scores:
    """Scores of answers by a metric; of a metric of errors 1 - error / error of a constant."""

    def __init__(
        self, model: BaseEstimator, y: np.ndarray, metric: Metric, random: np.random.RandomState
    ):
        self.y, self.metric, self.classes = y, metric, getattr(model, "classes_", None)
        self.factors = getattr(model, "decision_weights_", 1.0)
        draws = np.random.default_rng(random.randint(2**31 - 1))
        self.draws = [drawn_rows(len(y), None, draws) for _ in range(DRAWS)]
        if self.classes is None:
            constant = np.broadcast_to(np.mean(y, axis=0), y.shape)
        else:
            constant = np.tile((y[:, None] == self.classes).mean(axis=0), (len(y), 1))
        self.chance, self.error, self.measure = metric(y, constant, self.classes), None, metric.name
        if not metric.higher_is_better:
            self.measure = f"1 − {metric.name} / {metric.name} of a constant"
            self.error, self.chance = self.chance or 1.0, 0.0

    def score(self, answers: np.ndarray, rows: Any = slice(None)) -> float:
        """The score of the answers for all rows, or for some."""
        shape = self.y.shape if self.classes is None else (len(self.y), -1)
        answers = answers.reshape(shape)
        decided = self.metric.decided(answers, self.factors)
        found = self.metric(self.y[rows], decided[rows], self.classes)
        return found if self.error is None else 1 - found / self.error

    def lost(self, whole: np.ndarray, without: np.ndarray, even: bool) -> tuple[float, float]:
        """How much worse the score is without a column, and half of its 95% interval."""
        mean = without.mean(axis=0)
        gaps = [self.score(whole, rows) - self.score(mean, rows) for rows in self.draws]
        return self.score(whole) - self.score(mean), Z95 * float(np.nanstd(gaps))


def _answers_of(model: Any) -> Callable[[Any], np.ndarray]:
    """Predictions or probabilities of a model for the data of `ModelRows`."""
    if hasattr(model, "encoder_"):
        return model.machine_
    way = "predict_proba" if is_classifier(model) and hasattr(model, "predict_proba") else "predict"
    return lambda data: np.asarray(getattr(model, way)(data))
