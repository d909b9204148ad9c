"""The automatic estimators: of classes and of numbers."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, field, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import Classifier, Regressor, check_coverage, check_levels, target_names
from mercer.machines import (
    Classification,
    JointScale,
    OneOutput,
    Regression,
    SearchSettings,
    TargetScale,
    Task,
    metric_named,
)
from mercer.selection.automatic.automatic import AutomaticKernel
from mercer.selection.automatic.number_targets import choose_scale, learn_spread, scale_named
from mercer.tables import RowHashes, levels_in_order, ranks_of


@estimator
class KernelClassifier(Classifier, AutomaticKernel):
    """Classification of table rows by a kernel machine that is chosen and tuned for them.

    Parameters
    ----------
    metric : str, optional
        "accuracy", "balanced_accuracy", "roc_auc", "average_precision", "log_loss" or "f1"; of
        ordered classes also "rank_error", by how many steps predictions are off on average, or
        "quadratic_kappa". The default is "accuracy", but "average_precision" for two classes of
        which one has less than a tenth of the rows, and "rank_error" for ordered classes.
    order : list, optional
        The classes from the lowest to the highest, if they have an order. None: as the type of y
        says (ordered categories of pandas, Enum of polars).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    order_ : list or None
        The classes from the lowest to the highest, if they have an order.
    decision_weights_ : ndarray of shape (classes,)
        `predict` gives the class of the largest product of these and the probabilities. They are 1
        but for "balanced_accuracy", "f1" and "average_precision", for which they were chosen on
        held-out rows.
    metric_ : str
        The metric of the search.
    columns_ : list of Column
        Name, kind, reason, missing values and different values of each column.
    notices_ : list of str
        Other facts that a user should know.
    leaderboard_ : list of dict
        rank, name, baseline, score, loss (log loss or squared error), spread (over folds), rows,
        seconds; the best score first.
    moving_ : tuple of str
        Labels of encoded columns that move with the ``times`` of the fit: most later values are
        new ones.
    trend_ : tuple of str
        Those of them that the linear model reads as straight lines; none if dates span less than
        two years, in which seasons look like trends.
    row_hashes_ : RowHashes
        Hashes of the rows of the fit, by which `mercer.plots.save_report` knows them again.
    searched_ : str
        A fingerprint of what the search was made on, which ``resume`` compares.
    schedule_ : list of dict
        The candidates in the order in which they were tried, and the settings of the final fit.
    interrupted_ : {None, "search", "final fit"}
        The part of the fit that Ctrl-C stopped, or None. The model is then the best one so far.
    winner_, winner_name_ : dict, str
    seconds_, final_seconds_ : float
        Time of the fit, and of its last step, the final fit to all rows.
    encoder_ : TableEncoder
    machine_ : Machine
        ``learner``, the fitted `KernelRidge` with one output for each class, `SVC` or
        `NadarayaWatson`, and ``finish``, which makes probabilities from its outputs.
    kernel_ : TableKernel
        The winning kernel, bound to the encoded columns of ``encoder_``.
    X_fit_, solver_
        Attributes of the learner.
    stored_rows_ : ndarray of shape (rows,)
        The numbers, from 0, of the training rows that ``X_fit_`` holds: all of them, the support
        vectors, or the centres of a machine of low rank.

    Notes
    -----
    The machine is a support vector machine, kernel ridge regression of one-hot ±1 targets, or
    their mean over a window, whichever predicts held-out rows better. The penalty of ridge and the
    width of a window are chosen by leave-one-out in closed form, the penalty of a support vector
    machine on a fifth of the rows. Probabilities are the
    softmax of the machine's outputs, with a scale and shifts that are calibrated on rows that it
    was not fitted to. With up to 6,000 rows ridge is exact if there is time; with more it is exact
    inside leaves of up to 2,000 rows and costs O(n 2000²), or it has low rank with up to 4,000
    centres and costs O(n 4000²), whichever predicts held-out rows better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelClassifier(trials=2).fit(X, y)
    >>> model.predict(X[:2]).tolist(), model.columns_[0].kind
    ([0, 0], 'number')
    """

    task = "classification"

    _: KW_ONLY
    order: list | None = None

    order_: list | None = field(init=False)

    def _read_target(self, y, n, order=None):
        """The task and the targets; classes keep what an earlier search gave them."""
        given = levels_in_order(y) if self.order is None else self.order
        task, y = Classification.read(y, n, type(self).__name__, given if order is None else order)
        fit: Any = self if self.__sklearn_is_fitted__() else None
        # a refit keeps the factors of the classes that the search met
        known = {} if fit is None else dict(zip(fit.classes_, fit.decision_weights_))
        self.classes_, self.order_ = task.classes, task.order
        self.decision_weights_ = np.array([known.get(each, 1.0) for each in task.classes])
        return task, y

    def _learn_from_left_out(self, search, last):
        found = search.state.decision_weights
        self.decision_weights_ = found.get(self.winner_name_, self.decision_weights_)

    def decision_function(self, X):
        """Calibrated log-odds (n,) for two classes; log-probabilities (n, classes) for more."""
        logs = np.log(np.clip(self.predict_proba(X), 1e-300, 1))
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs

    def predict_proba(self, X):
        """Probability of each class, in the order of ``classes_``; (n, classes)."""
        return self._answers(X)

    def predict(self, X):
        """The class of the largest probability times its ``decision_weights_``, for each row, (n,).

        With the metrics "accuracy", "roc_auc" and "log_loss" this is the most probable class; with
        those of ordered classes it is the one of the least expected loss, such as the median.
        """
        P = self.predict_proba(X) * self.decision_weights_
        metric = metric_named(self.metric_, self.task).on(ranks_of(self.classes_, self.order_))
        return self.classes_[metric.choice(P)]


@estimator
class KernelRegressor(Regressor, AutomaticKernel):
    """Regression on table rows by a kernel machine that is chosen and tuned for them.

    Attributes and methods are those of `KernelClassifier`, without classes and probabilities, and
    one more: ``target_scale_``, the scale on which the target is fitted. Skewed, positive and
    bounded targets are fitted by their logarithm, square root, logit or ranks if left-out rows are
    predicted better, and a target that is never negative is never predicted to be.

    Parameters
    ----------
    metric : {"r2", "rmse", "mae"}, optional
        The default is "r2". Of several targets it is the mean, with errors divided by the standard
        deviation of each target.
    target_scale : {None, "own", "logarithm", "square root", "logit", "ranks"} or list
        The scale on which the target is fitted; None chooses it. Of several targets a list has one
        for each.

    Attributes
    ----------
    targets_ : list or None
        The names of several targets: those of the columns of y, or 0, 1, ... ; None for one target.

    Notes
    -----
    With y of shape (n, targets) all targets have one kernel, one factor of its matrix and one
    penalty; each has a scale and intervals of its own, and is divided by its spread, so that its
    unit does not matter. ``scores`` of a row of ``leaderboard_`` are those of each target, and
    `of_target` is the regressor of one. Only machines that learn several numbers together are
    tried. Where the targets have little in common, one fit for each is better.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelRegressor(trials=2).fit(X, y)
    >>> bool(model.score(X, y) > 0.4)
    True
    >>> both = KernelRegressor(trials=2).fit(X, np.stack([y, X[:, 2] - y], axis=1))
    >>> both.predict(X[:3]).shape, both.of_target(1).predict(X[:3]).shape
    ((3, 2), (3,))
    """

    _: KW_ONLY
    target_scale: str | list | None = None

    targets_: list | None = field(init=False)

    task = "regression"

    def _read_target(self, y, n, order=None):
        return Regression.read(y, n, type(self).__name__)

    def _read(self, X, y, sample_weight):
        found = super()._read(X, y, sample_weight)
        self.targets_ = None if found[2].ndim == 1 else target_names(y)
        return found

    def _hashed(self, rows, y):
        return RowHashes.of(rows, y) if y.ndim == 1 else [RowHashes.of(rows, v) for v in y.T]

    def _on_its_scale(self, settings: SearchSettings) -> Task:
        """The task on the scale of the target that predicts left-out rows best."""
        y, scales = settings.y, []
        for place, (given, own) in enumerate(self._of_each(self.target_scale, y)):
            if given is not None:
                scales.append(scale_named(given, own))
                continue
            scales.append(choose_scale(replace(settings, y=own)))
            if scales[-1].name:
                target = "The target" if self.targets_ is None else self.targets_[place]
                self.notices_.append(
                    f"{target} is fitted by its {scales[-1].name}, with which left-out rows are "
                    "predicted better. Predictions are in its own units."
                )
        return self._on_scales(scales, y, settings.weights)

    def _of_each(self, names: Any, y: np.ndarray) -> list[tuple[Any, np.ndarray]]:
        """The name of the scale of each target, and the target."""
        columns = _columns(y)
        names = names if isinstance(names, (list, tuple)) else [names] * len(columns)
        if len(names) != len(columns):
            raise ValueError(
                f"target_scale={names!r} has {len(names)} entries, but y has {len(columns)} "
                "columns: give one for each, or one name for all."
            )
        return list(zip(names, columns))

    def _on_scales(
        self, scales: list[TargetScale], y: np.ndarray, weights: np.ndarray | None
    ) -> Task:
        self.target_scale_ = scales[0] if y.ndim == 1 else JointScale.joined(scales, y, weights)
        return Regression(self.target_scale_, corrected=self.metric_ != "mae")

    def _learn_from_left_out(self, search, last):
        """Learn how wide intervals are from the errors of left-out rows."""
        left_out, self.spread_ = last.left_out(), None
        if left_out is None:
            return
        rows, predicted = left_out
        given, scales = search.settings, self.target_scale_.each
        found = [
            learn_spread(replace(given, y=own), each, self.encoder_, rows, told)
            for own, each, told in zip(_columns(given.y), scales, _columns(predicted))
        ]
        self.spread_ = found[0] if self.targets_ is None else found

    def _again(self, task: Task, y: np.ndarray, weights: np.ndarray) -> Task:
        """The task on the scales that the search chose."""
        names = [scale.name for scale in self.target_scale_.each]
        if len(names) != len(_columns(y)):
            raise ValueError(
                f"y has {len(_columns(y))} columns, but the search had {len(names)} targets: give "
                "the same ones."
            )
        scales = [scale_named(name, own) for name, own in zip(names, _columns(y))]
        return self._on_scales(scales, y, weights)

    def of_target(self, target) -> KernelRegressor:
        """The regressor of one of several targets, with the same predictions of it.

        Its score, its intervals, its reasons, its report and its code are those of this target.

        Parameters
        ----------
        target : str or int
            One of ``targets_``, or its place among them, from 0.
        """
        check_is_fitted(self)
        if self.targets_ is None:
            raise ValueError(
                f"this {type(self).__name__} has one target, and needs no of_target({target!r})."
            )
        names = self.targets_
        if target not in names and not (isinstance(target, int) and 0 <= target < len(names)):
            raise ValueError(f"target={target!r}: give one of the targets {names}.")
        place = names.index(target) if target in names else int(target)
        one, spread = copy(self), self.spread_
        one.machine_ = OneOutput.of(self.machine_, place)
        one.target_scale_ = self.target_scale_.each[place]
        one.spread_ = spread[place] if isinstance(spread, list) else None
        one.row_hashes_, one.targets_ = self.row_hashes_[place], None
        board: list[dict[str, Any]] = self.leaderboard_
        one.leaderboard_ = [
            row | {"score": row["scores"][place]} if "scores" in row else row for row in board
        ]
        return one

    def predict(self, X):
        """Predicted value of each row, (n,); of several targets (n, targets)."""
        return self._answers(X)

    def reasons(self, X, most=3):
        self._refuse_several("reasons(X)")
        return super().reasons(X, most)

    def report(self, path, X, y, **options):
        self._refuse_several("report(path, X, y)")
        super().report(path, X, y, **options)

    def _refuse_several(self, call: str) -> None:
        """Refuse a call that is of one target where there are several."""
        check_is_fitted(self)
        if self.targets_ is not None:
            raise ValueError(
                f"this {type(self).__name__} has the targets {self.targets_}, and {call} is of "
                f"one: call of_target({self.targets_[0]!r}).{call}."
            )

    def predict_quantiles(self, X, quantiles=(0.1, 0.5, 0.9)) -> np.ndarray:
        """Quantiles of the target of each row, (n, quantiles), in the order that is asked for.

        Of several targets they have the shape (n, targets, quantiles).

        Parameters
        ----------
        X : table of n rows
        quantiles : list of numbers between 0 and 1
            About a share q of targets is below the quantile q.

        Notes
        -----
        They come from the residuals of rows that were left out of the fits of the search, divided
        by what is usual at such a row. Fits to all rows, as by `refit`, are a little better, so
        that the quantiles are rather too far apart. Rows that are unlike those of the fit may be
        farther off than the quantiles tell.
        """
        levels = check_levels("quantiles", quantiles)
        check_is_fitted(self)
        if self.spread_ is None:
            raise ValueError(
                f"this {type(self).__name__} does not know how far its predictions are off: it "
                "was fitted without a search, or with too little memory. Fit it again."
            )
        rows, spread = self.encode_table(X), self.spread_
        predicted = self.predict(rows)
        if not isinstance(spread, list):
            return spread.quantiles(rows, predicted, levels)
        each = [own.quantiles(rows, told, levels) for own, told in zip(spread, predicted.T)]
        return np.stack(each, axis=1)

    def predict_interval(self, X, coverage=0.9) -> np.ndarray:
        """The ends of an interval that holds the target of a row with probability ``coverage``.

        It is as likely that the target lies below as above. See `predict_quantiles`, which also
        says what it rests on.

        Returns
        -------
        ends : ndarray of shape (n, 2), of several targets (n, targets, 2)
        """
        return self.predict_quantiles(X, check_coverage(coverage))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _columns(y: np.ndarray) -> list[np.ndarray]:
    """The targets of an array (n,) or (n, targets)."""
    return [y] if y.ndim == 1 else list(y.T)
