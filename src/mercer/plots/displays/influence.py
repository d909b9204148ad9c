"""The influence of training rows, and the rows whose label or number is probably wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import sklearn.kernel_ridge
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from mercer.estimator import Seed
from mercer.gram import gram
from mercer.learners.base import is_auto
from mercer.learners.ridge import KernelRidge
from mercer.machines import KernelRidgeMachine, Task
from mercer.plots.displays.display import MeasuredDisplay, display, square
from mercer.plots.fitted import row_count, rows_of, sample_gram, sample_rows, take, task_of
from mercer.plots.marks import colour
from mercer.threads import Clock, blas_limit, raise_if_stopped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mercer.kernels import Kernel
    from mercer.samples import Samples, SamplesLike

EXACT_ROWS = 3000  # most rows of an inverse
PILOT = 400  # rows that are measured first where the time is limited
UNLIKELY = 0.1  # a label is suspected if its probability is smaller, and also smaller than
HALF = 0.5  # this part of the share of its class: those of rare classes are never probable
FAR = 4.0  # a number is suspected at so many robust standard deviations


@display
class InfluenceDisplay(MeasuredDisplay):
    r"""How surprising each training row is, and how much the model depends on it.

    A row is predicted by a fit that has not seen it. The surprise of a class is the probability of
    all other classes; the surprise of a number is the absolute residual, divided by 1.4826 times
    its median over the rows (the standard deviation of normal residuals). A large surprise means
    that the label or the number is wrong, or that the row is of a rare kind.

    For exact kernel ridge regression of up to 3,000 rows, with :math:`G = K + λ W^{-1}` and
    α = G⁻¹ y, both are in closed form. The residual of row i without row i is
    :math:`α_i / (G^{-1})_{ii}`, and the influence of the row is the root mean square of the change
    of all n predictions if it is left out,

    .. math:: \frac{|α_i|}{\sqrt n\,(G^{-1})_{ii}} \; \| (I - λ W^{-1} G^{-1})_{\cdot i} \|.

    The kernel and λ are those of the fit to all rows. It holds for the automatic estimators whose
    machine it is, for `KernelRidge` and for scikit-learn's, alone or inside a search. Other models,
    and pipelines, are fitted again on ``folds`` parts of the rows, without weights of rows, and
    there is no influence.

    Parameters
    ----------
    rows : array-like of shape (n,)
        Numbers of the rows, from 0.
    surprise : array-like of shape (n,)
    given, expected : array-like of shape (n,)
        The targets, and what the fits without the row predict.
    suspected : array-like of bool, shape (n,)
        Rows whose class has a probability below 10% and below half of its share of the rows, or
        whose residual is beyond four robust standard deviations.
    influence : array-like of shape (n,), optional

    Attributes
    ----------
    rows, surprise, given, expected, suspected, influence
        One entry for each row, in decreasing order of surprise.

    References
    ----------
    Allen, "The relationship between variable selection and data augmentation and a method for
    prediction", Technometrics 1974 (residuals). Cook, "Detection of influential observation in
    linear regression", Technometrics 1977 (influence). Northcutt, Jiang & Chuang, "Confident
    learning", JAIR 2021 (labels).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import mercer
    >>> X, y = load_iris(return_X_y=True)
    >>> y[7] = 2
    >>> display = InfluenceDisplay.measured(mercer.KernelClassifier(trials=1).fit(X, y), X, y)
    >>> int(display.rows[0]), int(display.given[0]), int(display.expected[0])
    (7, 2, 0)
    """

    rows: Any
    surprise: Any
    given: Any
    expected: Any
    suspected: Any
    influence: Any = None

    def __post_init__(self) -> None:
        order = np.argsort(-np.asarray(self.surprise), kind="stable")
        for name, values in vars(self).items():
            setattr(self, name, None if values is None else np.asarray(values)[order])

    @classmethod
    def measured(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        folds: int = 5,
        max_samples: int = 5000,
        time: float | None = None,
        random_state: Seed = 0,
    ) -> InfluenceDisplay:
        """Predict each row by a fit without it, without drawing.

        Parameters
        ----------
        estimator : fitted estimator
            An automatic estimator and exact kernel ridge regression keep their kernel and penalty;
            another learner or pipeline is cloned.
        X, y : the rows that the estimator was fitted to
            At most ``max_samples`` random rows are used. y has one target of each row.
        folds : int
            Number of folds, for models without a closed form.
        time : float, optional
            About how many seconds this may take: fewer rows are used.
        """
        estimator = getattr(estimator, "best_estimator_", estimator)
        clock = Clock(time)
        y = np.asarray(y)
        if y.ndim != 1:
            raise ValueError(
                f"y has the shape {y.shape}: give one target of each row, of shape (n,)."
            )
        size = min(row_count(X, y), max_samples)
        measure = _automatic if hasattr(estimator, "encoder_") else _cloned

        def of_rows(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
            if size <= EXACT_ROWS and _is_exact_ridge(estimator):
                return _of_kernel_ridge(estimator, X, y, size, random_state)
            rows = sample_rows(len(y), size, random_state)
            found = measure(estimator, take(X, rows), y[rows], folds, random_state)
            return rows, found[0], found[1]

        with blas_limit(size):
            if not clock.limited or size <= PILOT:
                rows, answers, influence = of_rows(size)
            else:
                rows, answers, influence = of_rows(PILOT)
                # a fit takes between the square and the cube of its rows
                more = (clock.left() / max(clock.spent(), 1e-6)) ** 0.4
                if more > 1:
                    rows, answers, influence = of_rows(int(min(PILOT * more, size)))
        y = y[rows]
        if is_classifier(estimator):
            classes = estimator.classes_
            codes = np.searchsorted(classes, y)
            own, shares = answers[np.arange(len(y)), codes], np.bincount(codes) / len(y)
            expected = classes[answers.argmax(axis=1)]
            suspected = own < np.minimum(UNLIKELY, HALF * shares[codes])
            return cls(rows, 1 - own, y, expected, suspected, influence)
        residual = np.abs(y - answers)
        surprise = residual / (1.4826 * np.median(residual) or 1.0)
        return cls(rows, surprise, y, answers, surprise > FAR, influence)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> InfluenceDisplay:
        """Draw surprise against row number, or influence against surprise where it is known.

        ``points_`` are orange for suspected rows, and the first ones have the number of the row
        beside them where there is room. ``kwargs`` go to ``ax.scatter``.
        """
        ax = self._draw_on(ax)
        x, y = self.rows, self.surprise
        labels = ("Row", "Surprise")
        if self.influence is not None:
            x, y, labels = self.surprise, self.influence, ("Surprise", "Influence")
        colours = {"c": [colour(5 if each else 1) for each in self.suspected], "s": 14}
        self.points_ = ax.scatter(x, y, **(colours | kwargs))
        suspected = np.flatnonzero(self.suspected)
        near, taken = np.maximum([0.08 * np.ptp(x), 0.05 * np.ptp(y)], 1e-300), np.empty((0, 2))
        for i in suspected[:10]:
            if not (np.abs(taken - [x[i], y[i]]) < near).all(axis=1).any():
                ax.annotate(f" {self.rows[i]}", (x[i], y[i]), fontsize="small", va="center")
                taken = np.vstack([taken, [x[i], y[i]]])
        ax.set(xlabel=labels[0], ylabel=labels[1])
        if len(suspected):
            ax.scatter([], [], color=[colour(5)], s=14, label="suspected")
            ax.legend(frameon=False)
        return self


def _automatic(
    model: Any, X: Any, y: np.ndarray, folds: int, random_state: Seed
) -> tuple[np.ndarray, np.ndarray | None]:
    """Answers without the row, and its influence or None, of the machine of the search."""
    M, machine = rows_of(model, X).data, model.machine_.parts[0]
    task = task_of(model)
    exact = isinstance(machine, KernelRidgeMachine) and machine.learner.solver_ != "low_rank"
    if exact and len(y) <= EXACT_ROWS:
        return _closed_form(model.kernel_, M, y, task, machine.penalty * len(y))
    recipe = replace(machine.again(), memory=model.memory, n_jobs=model.n_jobs)
    answers = np.empty((len(y), len(model.classes_)) if model.task != "regression" else len(y))
    for train, left_out in _folds(y, model.task == "classification", folds, random_state):
        raise_if_stopped()
        answers[left_out] = recipe.fit(task, machine.source, M[train], y[train])(M[left_out])
    return answers, None


def _closed_form(
    kernel: Kernel, M: Samples, y: np.ndarray, task: Task, penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    """Held-out predictions and influences of a ridge machine, by its closed form."""
    K, Y = gram(kernel, kernel.encode(M)).dense(), task.targets(y)
    residual, influence = _left_out(K, Y - Y.mean(axis=0), np.full(len(y), penalty))
    outputs = Y - residual
    return task.calibrate(outputs, y)(outputs), influence


def _is_exact_ridge(model: BaseEstimator) -> bool:
    if isinstance(model, KernelRidge):
        return model.solver_ not in ("low_rank", "local")
    return isinstance(model, sklearn.kernel_ridge.KernelRidge)


def _of_kernel_ridge(
    model: Any, X: SamplesLike, y: np.ndarray, size: int, random_state: Seed
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, their answers without the row, and its influence, of exact kernel ridge regression."""
    K, rows = sample_gram(model, X, max_samples=size, random_state=random_state)
    K = square("K", K)
    weights = vars(model).get("weights_")
    if weights is not None and len(weights) != len(y):
        raise ValueError(
            f"X has {len(y)} rows, but the model was fitted to {len(weights)} rows of positive "
            "weight: give those alone."
        )
    w = np.ones(len(rows)) if weights is None else weights[rows]
    penalty = np.ravel(model.alpha_ if is_auto(model.alpha) else model.alpha)[0]
    residual, influence = _left_out(K, y[rows, None], penalty / w)
    return rows, y[rows] - residual[:, 0], influence


def _left_out(K: np.ndarray, Y: np.ndarray, penalty: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residuals of each row by the fit without it, (n, outputs), and its influence, (n,).

    ``penalty`` has one number for each row.
    """
    K, n = K.astype(np.float64), len(K)
    G = K + np.diag(penalty)
    inverse: Any
    try:
        inverse = scipy.linalg.cho_solve(scipy.linalg.cho_factor(G), np.eye(n))
        moved = np.eye(n) - penalty[:, None] * inverse
    except np.linalg.LinAlgError:  # equal rows and hardly a penalty, or an indefinite kernel
        values, V = scipy.linalg.eigh(G)
        largest, eps = np.abs(values).max() or 1.0, np.finfo(float).eps
        # the limit of small penalties, well above the rounding of V: in a residual they cancel
        values[np.abs(values) < n * eps * largest] = np.sqrt(eps) * largest
        inverse = (V / values) @ V.T
        moved = K @ inverse
    residual = inverse @ Y / inverse.diagonal()[:, None]
    lengths = np.linalg.norm(residual, axis=1) * np.linalg.norm(moved, axis=0)
    return residual, lengths / np.sqrt(n)


def _cloned(
    estimator: BaseEstimator, X: SamplesLike, y: np.ndarray, folds: int, random_state: Seed
) -> tuple[np.ndarray, None]:
    """Answers without the row; 0 and 1 for the classes of a model without probabilities."""
    classifier = is_classifier(estimator)
    fresh: Any = clone
    classes: Any = getattr(estimator, "classes_", None)
    answers = np.zeros((len(y), len(classes)) if classifier else len(y))
    for train, left_out in _folds(y, classifier, folds, random_state):
        raise_if_stopped()
        fit: Any = fresh(estimator).fit(take(X, train), y[train])
        Z = take(X, left_out)
        if not classifier:
            answers[left_out] = fit.predict(Z)
            continue
        met = np.searchsorted(classes, fit.classes_)
        if hasattr(fit, "predict_proba"):
            answers[np.ix_(left_out, met)] = fit.predict_proba(Z)
        else:
            answers[left_out] = np.asarray(fit.predict(Z))[:, None] == classes
    return answers, None


def _folds(y: np.ndarray, classifier: bool, folds: int, random_state: Seed) -> Any:
    """Pairs of training and held-out rows, with all classes in each fold where they can be."""
    folds = max(2, min(folds, len(y)))
    if classifier:
        counts = np.unique(y, return_counts=True)[1]
        folds = max(2, min(folds, int(counts.max())))
        cut: Any = StratifiedKFold(folds, shuffle=True, random_state=random_state)
        if counts.min() >= folds:
            return cut.split(y, y)
    return KFold(folds, shuffle=True, random_state=random_state).split(y)
