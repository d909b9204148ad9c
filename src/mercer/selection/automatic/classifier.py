"""The automatic classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any

import numpy as np

from mercer.estimator import estimator
from mercer.learners.base import Classifier
from mercer.machines import Classification, metric_named
from mercer.selection.automatic.automatic import AutomaticKernel
from mercer.tables import levels_in_order, ranks_of


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
    classes_ : ndarray
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
    stored_rows_ : ndarray
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
