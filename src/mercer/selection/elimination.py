"""Backward elimination of columns, judged by exact leave-one-out without a refit."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.estimator import Seed, estimator
from mercer.explain import FactorMatrices, separated_sum
from mercer.learners.base import (
    check_count,
    check_labels,
    check_targets,
    encode_classes,
)
from mercer.persistence import fields, length_of, unread, whole
from mercer.samples import (
    SamplesLike,
    column_names,
    is_frame,
    read,
    select_columns,
)
from mercer.solvers.ridge import left_out_fit
from mercer.streams import take_rows
from mercer.threads import ordered_map

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PENALTIES = np.logspace(-4, 1, 6)  # λ, in units of the mean of K's diagonal
SCORED = 2000  # held-out rows that score, at most
NUMBERS = 1e7  # of the factors of all columns, about 80 MB
QUICK, AT_ONCE = 40, 0.2  # with more columns, this part of them leaves at once


def _has(method: str) -> Any:
    return available_if(lambda search: hasattr(search.estimator, method))


@fields(
    support_=length_of(lambda found: found.n_features_in_),
    ranking_=whole(least=1, length=lambda found: found.n_features_in_), scores_=unread,
)  # fmt: skip
@estimator
class RecursiveElimination(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Leave out the column without which the rest predicts best, again and again.

    The kernel of the fitted estimator is a sum of products of kernels of columns
    (`Kernel.separated`), so that K without a column is known without a new kernel value. Each
    candidate is judged by the exact leave-one-out error of kernel ridge regression, and what is
    chosen is scored on other rows.

    Parameters
    ----------
    estimator : estimator
        A kernel learner such as `SVC`, `KernelRidge` or `KernelLogisticRegression`, or an automatic
        estimator. It is fitted with all columns first, and with the chosen ones in the end.
    min_features_to_select : int, default=1
    test_size : float in (0, 1), default=0.25
        Part of the rows that choose nothing, and score.
    rows : int, default=500
        Most rows that judge; fewer if there are many columns.
    random_state : int, RandomState or None
        Seed for the rows that are held out, and for those that judge.
    n_jobs : int, optional
        Threads.

    Attributes
    ----------
    support_ : ndarray of shape (d,), bool
        The columns that are kept: those with the least left-out error.
    ranking_ : ndarray of shape (d,)
        1 for these, and 2, 3, ... for those that left last, before that, and so on.
    n_features_ : int
    scores_ : dict of ndarray
        "n_features", and for each the scores "left_out", of the rows that chose, and "held_out", of
        those that did not: R², or the share of right classes.
    score_ : float
        The score of the chosen columns on held-out rows.
    estimator_ : estimator
        Fitted to all rows with the chosen columns.
    n_features_in_, feature_names_in_ : as in scikit-learn

    See Also
    --------
    sklearn.feature_selection.RFECV : Refits for each candidate.
    mercer.explain.shapley_values : What each column adds to a prediction.

    Notes
    -----
    O(n³ d² + n² d³) operations for n judging rows; no kernel value is computed twice. The bandwidth
    is that of the fit with all columns.

    References
    ----------
    Guyon et al., "Gene selection for cancer classification using support vector machines", Machine
    Learning 46, 2002.

    Examples
    --------
    >>> from mercer import KernelRidge, RecursiveElimination
    >>> X = np.random.default_rng(0).normal(size=(200, 6))
    >>> y = X[:, 1] * X[:, 4]
    >>> found = RecursiveElimination(KernelRidge(kernel="rbf", gamma=0.3)).fit(X, y)
    >>> found.support_.nonzero()[0].tolist()
    [1, 4]
    >>> found.transform(X).shape
    (200, 2)
    """

    estimator: Any
    _: KW_ONLY
    min_features_to_select: int = 1
    test_size: float = 0.25
    rows: int = 500
    random_state: Seed = 0
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Choose columns, and fit the estimator with them.

        Parameters
        ----------
        X : table or array of shape (n, d)
        y : array-like of shape (n,)

        Raises
        ------
        TypeError
            What the estimator predicts is no kernel sum, or its kernel mixes columns otherwise than
            by sums and products.
        ValueError
            A parameter is out of range, or X and y do not match.
        """
        self._check_parameters()
        X = self._table(X, reset=True)
        names = column_names(X)
        if self.min_features_to_select > len(names):
            raise ValueError(
                f"min_features_to_select={self.min_features_to_select}, but X has {len(names)} "
                "columns."
            )
        classes = is_classifier(self.estimator)
        y = check_targets(np.empty((len(X), 0)), y, type(self).__name__, numeric=not classes,
                          several=False)  # fmt: skip
        if classes:
            check_labels(y)
        together = classes and np.unique(y, return_counts=True)[1].min() > 1
        random = check_random_state(self.random_state)
        split = train_test_split(
            np.arange(len(X)), test_size=self.test_size, random_state=random,
            stratify=y if together else None,
        )  # fmt: skip
        train, test = map(np.asarray, split)
        whole: Any = clone(self.estimator)
        model = whole.fit(take_rows(X, train), y[train])
        most = max(2, min(self.rows, int(np.sqrt(NUMBERS / len(names)))))
        judges, scored = random.permutation(train)[:most], test[:SCORED]
        sum_, encode = separated_sum(model, take_rows(X, train))
        own = encode(take_rows(X, judges))
        K = FactorMatrices.of(sum_, own, own, self.n_jobs)
        other = FactorMatrices.of(sum_, encode(take_rows(X, scored)), own, self.n_jobs)
        self._eliminate(K, other, _Targets(y, classes), judges, scored, len(names))
        chosen = [name for name, kept in zip(names, self.support_) if kept]
        few: Any = clone(self.estimator)
        self.estimator_ = few.fit(self._selected(X, chosen), y)
        return self

    def _eliminate(
        self, K: FactorMatrices, other: FactorMatrices, targets: _Targets, judges: np.ndarray,
        scored: np.ndarray, count: int,
    ) -> None:  # fmt: skip
        """Leave out one column after another, each time the one that is missed least."""
        left = list(range(count))
        order: list[int] = []
        sizes, inner, outer = [], [], []
        penalty = 0.0
        Y = targets.coded(judges)
        while True:
            now = K.without([])
            unit = float(np.mean(np.diagonal(now)))
            tried = {p: targets.loss(_left_out(now, Y, p * unit), judges) for p in PENALTIES}
            penalty = min(tried, key=lambda p: tried[p])
            coef, _ = left_out_fit(now, Y, penalty * unit)
            sizes.append(len(left))
            inner.append(targets.score(_left_out(now, Y, penalty * unit), judges))
            outer.append(targets.score(other.without([]) @ coef, scored))
            if len(left) <= self.min_features_to_select:
                break

            without = partial(self._loss_without, K, targets, judges, penalty * unit)
            losses = list(ordered_map(without, left, self.n_jobs))
            leaving = 1 if len(left) <= QUICK else int(AT_ONCE * len(left))
            leaving = min(leaving, len(left) - self.min_features_to_select)
            gone = [left[i] for i in np.argsort(losses, kind="stable")[:leaving]]
            for column in gone:
                left.remove(column)
                K, other = K.reduced(column), other.reduced(column)
            order += gone
        best = max(range(len(sizes)), key=lambda i: (inner[i], -sizes[i]))
        size = sizes[best]
        dropped = order[: count - size]
        self.ranking_ = np.ones(count, int)
        self.ranking_[dropped] = 1 + np.arange(len(dropped), 0, -1)
        self.support_ = self.ranking_ == 1
        self.n_features_ = size
        self.scores_ = {
            "n_features": np.array(sizes), "left_out": np.array(inner), "held_out": np.array(outer),
        }  # fmt: skip
        self.score_ = float(outer[best])

    @staticmethod
    def _loss_without(
        K: FactorMatrices, targets: _Targets, judges: np.ndarray, penalty: float, column: int
    ) -> float:
        """The left-out loss of ridge without a column."""
        left_out = _left_out(K.without([column]), targets.coded(judges), penalty)
        return targets.loss(left_out, judges)

    def _selected(self, X: Any, chosen: list) -> Any:
        if is_frame(X):
            return select_columns(X, chosen, type(self).__name__)
        return X[:, self.support_]

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def transform(self, X: SamplesLike) -> Any:
        """The chosen columns of X, in the form of X."""
        check_is_fitted(self)
        X = self._table(X, reset=False)
        return self._selected(X, [n for n, kept in zip(column_names(X), self.support_) if kept])

    @_has("predict")
    def predict(self, X: SamplesLike) -> np.ndarray:
        """The predictions of ``estimator_`` from the chosen columns of X, (q,) or (q, outputs)."""
        X = self.transform(X)
        return self.estimator_.predict(X)

    @_has("predict_proba")
    def predict_proba(self, X: SamplesLike) -> np.ndarray:
        """The probabilities of the classes from the chosen columns of X, (q, n_classes)."""
        X = self.transform(X)
        return self.estimator_.predict_proba(X)

    @_has("decision_function")
    def decision_function(self, X: SamplesLike) -> np.ndarray:
        """The decision values from the chosen columns of X, (q,) or (q, n_classes)."""
        X = self.transform(X)
        return self.estimator_.decision_function(X)

    @_has("score")
    def score(self, X: SamplesLike, y: ArrayLike) -> float:
        """The score of the fitted estimator on the chosen columns of X."""
        X = self.transform(X)
        return self.estimator_.score(X, y)

    @property
    def classes_(self) -> np.ndarray:
        """Those of the fitted classifier."""
        return self.estimator_.classes_

    def _table(self, X: Any, reset: bool) -> Any:
        """X as a table, whose columns are those of the fit, or become them."""
        if is_frame(X) or isinstance(X, list):
            _, X = read(X, "table", reader=type(self).__name__)
            X = X if is_frame(X) else np.array(X.tolist(), dtype=_common_type(X))
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        finite = not self.estimator.__sklearn_tags__().input_tags.allow_nan
        return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=finite)

    def _check_parameters(self) -> None:
        check_count("min_features_to_select", self.min_features_to_select)
        check_count("rows", self.rows)
        if not 0 < self.test_size < 1:
            raise ValueError(f"test_size={self.test_size!r}: give a part between 0 and 1.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        own = self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = own.estimator_type, own.classifier_tags
        tags.regressor_tags, tags.target_tags = own.regressor_tags, own.target_tags
        tags.input_tags = own.input_tags
        tags.input_tags.sparse = tags.target_tags.multi_output = False
        return tags


class _Targets:
    """Targets as numbers that ridge learns: less their mean, or 1 and -1 for each class."""

    def __init__(self, y: np.ndarray, classes: bool):
        self.codes = encode_classes(y)[1] if classes else None
        self.y = y if classes else y / (np.abs(y).max() or 1.0)  # whose squares are in range

    def coded(self, rows: np.ndarray) -> np.ndarray:
        if self.codes is None:
            self.mean = self.y[rows].mean()
            return self.y[rows, None] - self.mean
        Y = 2.0 * (self.codes[:, None] == np.unique(self.codes))[rows] - 1
        self.mean = Y.mean(axis=0)
        return Y - self.mean

    def loss(self, predicted: np.ndarray, rows: np.ndarray) -> float:
        """The mean squared error."""
        return float(np.mean((self.coded(rows) - predicted) ** 2))

    def score(self, predicted: np.ndarray, rows: np.ndarray) -> float:
        """R², or the share of right classes."""
        if self.codes is not None:
            return float(np.mean((predicted + self.mean).argmax(axis=1) == self.codes[rows]))
        y = self.y[rows]
        off = np.mean((y - predicted[:, 0] - self.mean) ** 2)
        return float(1 - off / (np.var(y) or 1.0))


def _left_out(K: np.ndarray, Y: np.ndarray, penalty: float) -> np.ndarray:
    """What ridge predicts for each row without it."""
    try:
        return Y - left_out_fit(K, Y, penalty)[1]
    except np.linalg.LinAlgError:
        raise ValueError(
            "The kernel matrix of the columns is not positive definite: their numbers are beyond "
            "the range of their precision. Divide them by their largest size."
        ) from None


def _common_type(X: np.ndarray) -> Any:
    """The type of numbers of lists; that of objects where a cell is no number."""
    return None if all(isinstance(cell, (int, float)) for cell in X.flat) else object
