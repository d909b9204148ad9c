"""Leave-one-feature-out relevance: how much worse a model is without a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import KW_ONLY
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import check_random_state

from mercer.estimator import Seed
from mercer.learners.ridge import KernelRidge
from mercer.machines import Z95, KernelRidgeMachine, Recipe
from mercer.plots.displays.display import ColumnLosses, display
from mercer.plots.fitted import (
    ModelRows,
    row_count,
    rows_of,
    sample_rows,
    take,
    task_of,
    typical_row,
)
from mercer.tables import as_numbers
from mercer.threads import Clock, blas_limit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mercer.samples import SamplesLike

    pass

PILOT = 300  # rows of the fit that says how long others take
FITS = 12.0  # fits that must be in time: ten columns, all columns, and the choice of them
MOVED = 200  # rows whose predictions choose the columns


@display
class RelevanceDisplay(ColumnLosses):
    r"""The share of the explained variation that is lost without each column.

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
    loss, low, high : array-like of shape (columns,)
        The loss, and its 95% interval over test rows (paired differences, normal approximation).
    full : float
        The score of the fit with all columns.
    n_train, n_test : int
        Number of rows that the fits used, and number of rows that they were scored on.

    Notes
    -----
    Columns with the same information can replace each other, so both have a small loss. A small
    loss means that a column is not needed if the others are there; the column can still be related
    to the target. Cost: one fit for each column on at most ``max_samples`` rows. With more than
    ``max_columns`` columns, or in a limited ``time``, those are measured first that have the
    largest learnt weights in the kernel, or change the predictions of the full fit most if they are
    made constant.

    References
    ----------
    Lei, G'Sell, Rinaldo, Tibshirani & Wasserman, "Distribution-free predictive inference for
    regression", Journal of the American Statistical Association 113, 2018.

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

    _: KW_ONLY
    n_train: int

    @classmethod
    def measured(
        cls,
        estimator: BaseEstimator,
        X: SamplesLike,
        y: ArrayLike,
        X_test: SamplesLike,
        y_test: ArrayLike,
        *,
        max_samples: int = 1500,
        max_columns: int = 40,
        time: float | None = None,
        random_state: Seed = 0,
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
        time : float, optional
            About how many seconds this may take. Fewer rows are used if this makes room for ten
            columns, and the last columns are left out; one column is always measured.
        """
        clock = Clock(time)
        estimator = getattr(estimator, "best_estimator_", estimator)
        random = check_random_state(random_state)
        row_count(X, y)
        row_count(X_test, y_test)
        y, y_test = np.asarray(y), np.asarray(y_test)
        classifier = is_classifier(estimator)
        if classifier:
            rows = _class_shares(y, max_samples, random)
        else:
            rows = sample_rows(len(y), max_samples, random)
        test = sample_rows(len(y_test), max_samples, random)
        train, unseen = rows_of(estimator, take(X, rows)), rows_of(estimator, take(X_test, test))
        y, y_test = y[rows], y_test[test]
        names = list(train.kinds)
        refit = _refit(estimator)
        with blas_limit(len(y)):
            if clock.limited:
                fewer = _affordable(refit, train, y, unseen, clock, classifier, random)
                train, y = train[fewer], y[fewer]
            fit = refit(train.data, y)
            errors, trivial, measure = _errors(fit, classifier, unseen.data, y, y_test)
            chosen, losses = _foremost(estimator, fit, train, unseen, max_columns, clock), []
            for name in chosen:
                row, begun = typical_row(train.cells(name), train.kinds[name]), clock.spent()
                without = refit(train.held(name, train, row), y)
                changed = unseen.held(name, train, row)
                gap = (_errors(without, classifier, changed, y, y_test)[0] - errors) / trivial
                half = Z95 * gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
                losses.append((gap.mean(), gap.mean() - half, gap.mean() + half))
                if clock.spent() - begun > clock.left():
                    break  # the next one would take too long
        loss, low, high = np.array(losses).T
        return cls(
            chosen[: len(loss)], loss, low, high, full=float(1 - errors.mean() / trivial),
            measure=measure, n_train=len(y), n_test=len(y_test), n_columns=len(names),
        )  # fmt: skip


def _refit(estimator: BaseEstimator) -> Callable:
    """A function that fits to (data of `ModelRows`, y) with the same hyperparameters."""
    if hasattr(estimator, "encoder_"):
        return _winner(estimator)
    fresh: Any = clone
    return lambda X, y: fresh(estimator).fit(X, y)


def _winner(model: Any) -> Callable:
    """A function that fits the winning machine of an automatic estimator to encoded rows, with the
    same kernel.

    The first fit chooses the penalty and the calibration by leave-one-out. Each later fit is one
    Cholesky factorisation.
    """
    task, settings = task_of(model), {"memory": model.memory, "n_jobs": model.n_jobs}

    first: Any = None

    def fit(M: Any, y: np.ndarray) -> SimpleNamespace:
        nonlocal first
        first = first or Recipe(**settings).fit(task, model.kernel_, M, y)
        Y = task.targets(y)
        offset = Y.mean(axis=0)
        learner = KernelRidge(
            first.learner.alpha_, kernel=model.kernel_, solver="cholesky", **settings
        ).fit(M, Y - offset)
        machine = KernelRidgeMachine(learner, first.finish, first.penalty, offset)
        if task.classes is None:
            return SimpleNamespace(predict=machine)
        return SimpleNamespace(classes_=model.classes_, predict_proba=machine)

    return fit


def _errors(fit: Any, classifier: bool, X_test: SamplesLike, y: np.ndarray, y_test: np.ndarray):
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


def _foremost(
    estimator: Any, fit: Any, train: ModelRows, unseen: ModelRows, max_columns: int, clock: Clock
) -> list:
    """The columns to measure, those first that matter most to the fit.

    The order is that of the learnt weights of the kernel, where there are some. Otherwise it is the
    change of the predictions if a column is made constant, for as many columns as a third of the
    time allows: first those that the predictions depend on most if one column alone is regarded.
    """
    names = list(train.kinds)
    weights = estimator.relevance() if hasattr(estimator, "encoder_") else {}
    if weights:
        strength = dict.fromkeys(names, 0.0)
        for feature in estimator.encoder_.features_:
            strength[feature.source] += weights.get(feature.label, 0.0)
        return sorted(names, key=lambda name: -strength[name])[:max_columns]
    if len(names) <= max_columns and not clock.limited:
        return names
    few = unseen[np.arange(min(MOVED, len(unseen)))]
    ways = ("predict_proba", "decision_function", "predict")
    answers = next(getattr(fit, way) for way in ways if hasattr(fit, way))
    full = answers(few.data)
    if full.dtype.kind not in "fiu":
        return names[:max_columns]
    if len(names) > max_columns:
        names.sort(key=lambda name: -_dependence(few.cells(name), full))
    change, until = dict.fromkeys(names, 0.0), clock.spent() + clock.left() / 3
    for name in names:
        if clock.spent() > until:
            break
        row = typical_row(train.cells(name), train.kinds[name])
        change[name] = float(np.abs(answers(few.held(name, train, row)) - full).mean())
    return sorted(names, key=lambda name: -change[name])[:max_columns]


def _dependence(cells: np.ndarray, answers: np.ndarray) -> float:
    """The largest part of the variance of an answer that lies between ten groups of equal cells.

    Numbers are put in ten groups of equal size; of other values the nine most frequent are groups.
    """
    if cells.dtype.kind in "iuf":
        numbers = np.nan_to_num(as_numbers(cells))
        groups = 10 * rankdata(numbers, method="min").astype(int) // (len(numbers) + 1)
    else:
        texts = [str(value) for value in cells.tolist()]
        place = {text: i for i, (text, _) in enumerate(Counter(texts).most_common(9))}
        groups = np.array([place.get(text, 9) for text in texts])
    answers = answers.reshape(len(cells), -1) - answers.mean(axis=0)
    members = groups[None] == np.arange(10)[:, None]
    means = members @ answers / np.maximum(members.sum(axis=1), 1)[:, None]
    between = members.sum(axis=1) @ means**2
    whole = np.square(answers).sum(axis=0)
    return float(np.divide(between, whole, out=np.zeros(len(whole)), where=whole > 0).max())


def _affordable(
    refit: Callable, train: ModelRows, y: np.ndarray, unseen: ModelRows, clock: Clock,
    classifier: bool, random: np.random.RandomState,
) -> np.ndarray:  # fmt: skip
    """The number of training rows for which ten fits are in time, judged by one fit to a few."""
    n = len(y)
    if n <= PILOT:
        return np.arange(n)
    few = _class_shares(y, PILOT, random) if classifier else sample_rows(n, PILOT, random)
    begun = clock.spent()
    refit(train[few].data, y[few])
    seconds = max(clock.spent() - begun, 1e-6)
    most = int(len(few) * np.sqrt(clock.left() / (FITS * seconds)))  # entries of K are squares
    if most >= n:
        return np.arange(n)
    size = max(most, PILOT)
    return _class_shares(y, size, random) if classifier else sample_rows(n, size, random)
