"""Leave-one-feature-out relevance: how much worse a model is without a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from mercer.learners.ridge import KernelRidge
from mercer.plots.fitted import sample_rows, take
from mercer.samples import column_names, number_columns
from mercer.selection.machines import Recipe, RidgeMachine
from mercer.selection.tasks import Classification, Regression
from mercer.selection.values import as_dates, as_numbers, read_columns

__all__ = ["RelevanceDisplay"]

Z95 = 1.959963984540054  # the normal distribution's 97.5% point


class RelevanceDisplay:
    r"""The part of the explained variation that is lost without each column.

    One column at a time is made constant in training rows and test rows. The model is fitted again
    with the same hyperparameters, and both fits are scored on the same test rows. For a radial
    kernel, for `Match` and for a product of them a constant column has no effect. The loss of
    column j is

    .. math:: (L_j - L) / L_0,

    where L is the mean squared error of the full fit, :math:`L_j` the error without the column, and
    :math:`L_0` the error of a constant prediction. For numbers this is the lost R². For classes it
    is the same for the class probabilities: the lost part of 1 - Brier score / (Brier score of the
    class frequencies). A classifier without ``predict_proba`` is scored by its accuracy.

    Parameters
    ----------
    columns : list
        Names or numbers of columns.
    loss, low, high : array-like of shape (columns,)
        The loss, and its 95% interval over test rows (paired differences, normal approximation).
    full : float
        The score of the fit with all columns.
    measure : str
        Name of the score.
    n_train, n_test : int
        Number of rows that the fits used, and number of rows that they were scored on.
    n_columns : int
        Number of all columns, if only some were measured.

    Notes
    -----
    Columns with the same information can replace each other, so both have a small loss. A small
    loss means that a column is not needed if the others are there; the column can still be related
    to the target. Cost: one fit for each column on at most ``max_samples`` rows. With more than
    ``max_columns`` columns only those are measured that change the predictions of the full fit most
    if they are made constant.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import mercer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mercer.KernelRidge(kernel="rbf").fit(X[::2], y[::2])
    >>> display = RelevanceDisplay.measured(model, X[::2], y[::2], X[1::2], y[1::2])
    >>> int(display.columns[0]), display.measure
    (2, 'R²')
    """

    def __init__(
        self,
        columns: list,
        loss: Any,
        low: Any,
        high: Any,
        *,
        full: float,
        measure: str,
        n_train: int,
        n_test: int,
        n_columns: int | None = None,
    ):
        order = np.argsort(-np.asarray(loss), kind="stable")
        self.columns = [columns[j] for j in order]
        self.loss, self.low, self.high = (np.asarray(a)[order] for a in (loss, low, high))
        self.full = full
        self.measure = measure
        self.n_train = n_train
        self.n_test = n_test
        self.n_columns = len(columns) if n_columns is None else n_columns

    @classmethod
    def measured(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        X_test: Any,
        y_test: Any,
        *,
        max_samples: int = 1500,
        max_columns: int = 40,
        random_state: Any = 0,
    ) -> RelevanceDisplay:
        """Fit without each column and compare the scores, without drawing.

        Parameters
        ----------
        estimator : estimator
            A learner or pipeline, which is cloned; of a search, its ``best_estimator_``. A fitted
            automatic estimator keeps its kernel with all weights, but chooses its penalty again.
        X, y : training data
            A data frame or a 2-D array. At most ``max_samples`` random rows are used, with the
            class shares of y.
        X_test, y_test : held-out rows
            At most ``max_samples`` random rows are used.
        """
        refit, kinds = _refit(estimator, X)
        names = list(kinds)
        random = check_random_state(random_state)
        y, y_test = np.asarray(y), np.asarray(y_test)
        classifier = is_classifier(estimator)
        if classifier:
            rows = _class_shares(y, max_samples, random)
        else:
            rows = sample_rows(len(y), max_samples, random)
        test = sample_rows(len(y_test), max_samples, random)
        X, y, X_test, y_test = take(X, rows), y[rows], take(X_test, test), y_test[test]
        fit = refit(X, y)
        errors, trivial, measure = _errors(fit, classifier, X_test, y, y_test)
        chosen = _foremost(fit, X, X_test, kinds, max_columns)
        loss, low, high = np.empty((3, len(chosen)))
        for i, name in enumerate(chosen):
            train, unseen = held_constant(X, X_test, name, kinds[name])
            without, _, _ = _errors(refit(train, y), classifier, unseen, y, y_test)
            gap = (without - errors) / trivial
            half = Z95 * gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            loss[i], low[i], high[i] = gap.mean(), gap.mean() - half, gap.mean() + half
        return cls(
            chosen, loss, low, high, full=float(1 - errors.mean() / trivial), measure=measure,
            n_train=len(y), n_test=len(y_test), n_columns=len(names),
        )  # fmt: skip

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        X_test: Any,
        y_test: Any,
        *,
        ax: Any = None,
        **kwargs: Any,
    ) -> RelevanceDisplay:
        """Measure the loss of each column and draw. ``kwargs`` are passed to `measured`."""
        return cls.measured(estimator, X, y, X_test, y_test, **kwargs).plot(ax)

    def plot(self, ax: Any = None, **kwargs: Any) -> RelevanceDisplay:
        """Draw a bar for each column, the largest loss on top. ``kwargs`` go to ``ax.barh``."""
        import matplotlib.pyplot as plt

        self.ax_ = plt.subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        at = np.arange(len(self.columns))[::-1]
        whiskers = np.nan_to_num(np.stack([self.loss - self.low, self.high - self.loss]))
        self.bars_ = self.ax_.barh(at, self.loss, xerr=whiskers, **kwargs)
        self.ax_.set_yticks(at, [str(name) for name in self.columns])
        self.ax_.set_xlabel(f"{self.measure} lost without the column")
        return self


def _refit(estimator: Any, X: Any) -> tuple[Callable, dict]:
    """A function that fits to (X, y) with the same hyperparameters; column in use -> its kind."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    if hasattr(estimator, "encoder_"):
        used = {column.name: column.kind for column in estimator.columns_ if column.used}
        return _Winner(estimator).fit, used
    fresh: Any = clone
    return lambda X, y: fresh(estimator).fit(X, y), dict.fromkeys(column_names(X))


class _Winner:
    """Fits the winning machine of an automatic estimator to other rows, with the same kernel.

    The first fit chooses the penalty and the calibration by leave-one-out. Each later fit is one
    Cholesky factorisation.
    """

    def __init__(self, model: Any):
        self.model, self.first = model, None

    def fit(self, X: Any, y: np.ndarray) -> _Fit:
        """Fit the machine to these rows."""
        model, M = self.model, self.model.encoder_.transform(X)
        if model.task == "regression":
            task: Any = Regression()
        else:
            task = Classification(model.classes_)
        settings = {"memory": model.memory, "n_jobs": model.n_jobs}
        if self.first is None:
            self.first = Recipe(**settings).fit(task, model.kernel_, M, y)
        Y = task.targets(y)
        offset = Y.mean(axis=0)
        learner = KernelRidge(
            self.first.learner.alpha_, kernel=model.kernel_, solver="cholesky", **settings
        ).fit(M, Y - offset)
        machine = RidgeMachine(learner, self.first.finish, self.first.penalty, offset)
        return _Fit(model, lambda X: machine(model.encoder_.transform(X)))


class _Fit:
    """A fit of `_Winner`: it has ``predict`` for regression, ``predict_proba`` for classes."""

    def __init__(self, model: Any, outputs: Callable):
        if model.task == "regression":
            self.predict = outputs
        else:
            self.classes_, self.predict_proba = model.classes_, outputs


def held_constant(X: Any, X_test: Any, column: Any, kind: str | None = None) -> tuple[Any, Any]:
    """X and X_test with one column set to a value of X: the median, or the most frequent value.

    A column that a model reads as numbers or dates gets a value that is one: ``kind`` says so where
    it may hold texts.
    """
    if isinstance(X, np.ndarray):
        train, test = X.copy(), X_test.copy()
        row = _typical(X[:, column], "number" if column in number_columns(X)[0] else kind)
        train[:, column] = test[:, column] = X[row, column]
        return train, test
    import narwhals as nw

    frame, unseen = (nw.maybe_reset_index(nw.from_native(f, eager_only=True)) for f in (X, X_test))
    values = frame[column]
    (cells,) = read_columns(values.alias("").to_frame()).values()
    row = _typical(cells, "number" if cells.dtype.kind == "f" else kind)
    train = frame.with_columns(values[np.full(len(frame), row).tolist()].alias(column))
    test = unseen.with_columns(values[np.full(len(unseen), row).tolist()].alias(column))
    return train.to_native(), test.to_native()


def _typical(values: np.ndarray, kind: str | None) -> int:
    """Row of the median number (without missing ones), or of the most frequent value."""
    if kind == "number":
        numbers = as_numbers(values)
        present = np.flatnonzero(~np.isnan(numbers))
        order = np.argsort(numbers[present], kind="stable")
        return int(present[order[len(present) // 2]]) if len(present) else 0
    rows = np.flatnonzero(~np.isnat(as_dates(values))) if kind == "date" else np.array([], int)
    if not len(rows):
        rows = np.arange(len(values))
    texts = [str(value) for value in values[rows].tolist()]
    commonest, _ = Counter(texts).most_common(1)[0]
    return int(rows[texts.index(commonest)])


def _errors(fit: Any, classifier: bool, X_test: Any, y: np.ndarray, y_test: np.ndarray):
    """The error of each test row, its mean for a constant prediction, and the score's name."""
    if not classifier:
        trivial = float(np.mean((y_test - y_test.mean()) ** 2)) or 1.0
        return (y_test - fit.predict(X_test)) ** 2, trivial, "R²"
    if not hasattr(fit, "predict_proba"):
        return (fit.predict(X_test) != y_test).astype(float), 1.0, "accuracy"
    classes = np.unique(np.concatenate([y, y_test]))
    truth = y_test[:, None] == classes
    P = np.zeros(truth.shape)
    P[:, np.searchsorted(classes, fit.classes_)] = fit.predict_proba(X_test)
    trivial = float(((truth - truth.mean(axis=0)) ** 2).sum(axis=1).mean()) or 1.0
    return ((P - truth) ** 2).sum(axis=1), trivial, "R² of the class probabilities"


def _class_shares(y: np.ndarray, size: int, random: np.random.RandomState) -> np.ndarray:
    """About ``size`` row numbers with the class shares of y, at least one row of each class."""
    share = min(1.0, size / len(y))
    _, codes = np.unique(y, return_inverse=True)
    groups = [random.permutation(np.flatnonzero(codes == c)) for c in range(codes.max() + 1)]
    return np.sort(np.concatenate([g[: int(np.ceil(share * len(g)))] for g in groups]))


def _foremost(fit: Any, X: Any, X_test: Any, kinds: dict, max_columns: int) -> list:
    """All columns, or those that change the predictions of a fit most if they are constant."""
    names = list(kinds)
    if len(names) <= max_columns:
        return names
    X_test = take(X_test, np.arange(min(300, X_test.shape[0])))
    ways = ("predict_proba", "decision_function", "predict")
    scores = next(getattr(fit, way) for way in ways if hasattr(fit, way))
    full = scores(X_test)
    change = [np.abs(scores(held_constant(X, X_test, c, kinds[c])[1]) - full).mean() for c in names]
    return [names[j] for j in sorted(np.argsort(change)[::-1][:max_columns])]
