"""The automatic estimators: a table in, a tuned kernel machine out.

`fit` infers what the columns are, encodes them, tries candidates (kernel families, with learnt or
equal column weights) beside two baselines on the same validation splits within a time budget, and
fits the winner again on all rows. What was tried is in ``leaderboard_``, in what order in
``schedule_``, which ``replay=`` repeats exactly.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.gram import TiledGram
from mercer.gram.memory import memory_budget
from mercer.learners.calibration import Calibration, calibrate
from mercer.selection.baselines import fit_baseline
from mercer.selection.candidates import Candidate, FittedKernelMachine, candidates, fit_candidate
from mercer.selection.columns import infer_columns, read_columns
from mercer.selection.encoding import TableEncoder
from mercer.selection.metrics import metric_named, seconds

__all__ = ["KernelClassifier", "KernelRegressor"]

BASELINES = ("trivial", "linear (spline)")
SEARCH_ROWS, SEARCH_RANK = 20_000, 1000  # most training rows of a trial, and centres
FINAL_SHARE = 0.35  # of the time budget, kept for the final fit on all rows


class _AutomaticKernel(BaseEstimator, ABC):
    """Abstract: what the classifier and the regressor share."""

    task: str

    @abstractmethod
    def _read_target(self, y: Any, n: int) -> np.ndarray:
        """y validated against n rows."""

    @abstractmethod
    def _targets(self, y: np.ndarray) -> np.ndarray:
        """What the machine is fitted to, (n, outputs)."""

    @abstractmethod
    def _finish(self, machine: FittedKernelMachine, y: np.ndarray) -> Callable:
        """A function from the machine's outputs to predictions or probabilities."""

    @abstractmethod
    def _store_finish(self, machine: FittedKernelMachine, y: np.ndarray) -> None:
        """Keep what `_finish` learnt as fitted attributes."""

    @abstractmethod
    def _loss(self, y: np.ndarray, predicted: np.ndarray) -> float:
        """A smooth loss of predictions or probabilities."""

    @abstractmethod
    def _baseline_prediction(self, model: Any, M: np.ndarray) -> np.ndarray:
        """Predictions or probabilities of a baseline."""

    def __init__(
        self,
        *,
        time=120,
        memory=None,
        trials=None,
        metric=None,
        kind=None,
        drop=None,
        replay=None,
        random_state=0,
        n_jobs=None,
        progress=None,
    ):
        self.time = time
        self.memory = memory
        self.trials = trials
        self.metric = metric
        self.kind = kind
        self.drop = drop
        self.replay = replay
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X, y):
        """Infer, search, and fit the winner on all rows.

        Parameters
        ----------
        X : data frame (pandas, polars, arrow) or array of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        started = time.monotonic()
        metric = metric_named(self.metric, self.task)
        memory = memory_budget(self.memory)
        table = read_columns(X)
        n = len(next(iter(table.values())))
        y = self._read_target(y, n)
        if n < 2:
            raise ValueError(f"X has n_samples = {n}: at least 2 rows are needed to learn from.")
        self._remember_features(X, table)
        self.columns_ = infer_columns(table, self.kind, self.drop or ())
        self.notices_ = _notices(self.columns_)
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if np.all(y == y[0]):
            self.notices_.append("The target is constant: so is the prediction.")
        self.encoder_ = TableEncoder(self.columns_).fit(table)
        M = self.encoder_.transform(table)
        deadline = started + seconds(self.time)
        search_end = deadline - FINAL_SHARE * seconds(self.time)
        self._timed = self.replay is None and self.trials is None
        winner = self._search(M, y, metric, memory, search_end)
        self._fit_final(winner, M, y, memory, deadline - 0.15 * seconds(self.time))
        self.seconds_ = time.monotonic() - started
        return self

    def refit(self, X, y):
        """Fit the winner of the search on other rows of the same table, without a new search.

        Columns keep the kinds that were inferred; the leaderboard stays.
        """
        check_is_fitted(self)
        table = read_columns(X)
        y = self._read_target(y, len(next(iter(table.values()))))
        self.encoder_ = TableEncoder(self.columns_).fit(table)
        memory = memory_budget(self.memory)
        self._fit_final(Candidate(**self.winner_), self.encoder_.transform(table), y, memory)
        return self

    # --- the search ---------------------------------------------------------------------------

    def _search(self, M, y, metric, memory, search_end) -> Candidate:
        """Score baselines and candidates on the same splits; the best candidate."""
        self.leaderboard_: list[dict] = []
        self.schedule_: list[dict] = []
        features = self.encoder_.features_
        splits = self._splits(y)
        order: list[Candidate] = candidates(features)
        if self.replay is not None:
            order = [Candidate(**entry) for entry in self.replay]
        elif self.trials is not None:
            if not self.trials >= 1:
                raise ValueError(f"trials={self.trials!r}: give at least 1.")
            order = order[: self.trials]
        longest = 0.0
        try:
            for baseline in BASELINES:
                self._trial(baseline, M, y, metric, splits, memory, search_end)
            for i, candidate in enumerate(order):
                began = time.monotonic()
                if self._timed and i > 0 and began + longest > search_end:
                    self.notices_.append(
                        f"The time budget ended the search after {i} of {len(order)} candidates."
                    )
                    break
                self._report(candidate.name, i, len(order))
                self._trial(candidate, M, y, metric, splits, memory, search_end)
                self.schedule_.append(
                    {"family": candidate.family, "scale": candidate.scale, "learn": candidate.learn}
                )
                longest = max(longest, time.monotonic() - began)
        except KeyboardInterrupt:
            if not self.schedule_:
                raise
            self.notices_.append(
                f"Interrupted after {len(self.schedule_)} candidates; the best so far was kept."
            )
        self._rank(metric)
        return Candidate(**self.schedule_[self._winner(metric, sum(len(v) for _, v in splits))])

    def _winner(self, metric, rows: int) -> int:
        """Place in the schedule of the best candidate.

        Scores that count hits are coarse: of the candidates within one standard error of the best
        the one of the smallest loss wins (log loss; squared error).
        """
        tried = {row["name"]: row for row in self.leaderboard_ if not row["baseline"]}
        names = [Candidate(**entry).name for entry in self.schedule_]
        scores = np.array([metric.sign() * tried[name]["score"] for name in names])
        scores = np.where(np.isnan(scores), -np.inf, scores)
        best = scores.max()
        slack = 0.0
        if metric.name in ("accuracy", "balanced_accuracy", "f1") and 0 < best < 1:
            slack = np.sqrt(best * (1 - best) / rows)
        losses = np.array([tried[name]["loss"] for name in names])
        return int(np.argmin(np.where(scores >= best - slack, losses, np.inf)))

    def _splits(self, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Validation splits: 5 folds of a small table, fewer of a larger one, one of a large."""
        n = len(y)
        stratify = self.task == "classification" and np.unique(y, return_counts=True)[1].min() >= 2
        if n < 4:
            rows = np.arange(n)  # nothing can be set aside
            return [(rows, rows)]
        if n <= 4000:
            folds = 5 if n <= 1500 else 3
            if stratify:
                smallest = int(np.unique(y, return_counts=True)[1].min())
                folds = max(2, min(folds, smallest))
                splitter: Any = StratifiedKFold(folds, shuffle=True, random_state=self._seed)
            else:
                splitter = KFold(min(folds, n), shuffle=True, random_state=self._seed)
        else:
            kind = StratifiedShuffleSplit if stratify else ShuffleSplit
            size = min(10_000, n // 3)
            splitter = kind(1, test_size=size, random_state=self._seed)
        return list(splitter.split(np.zeros(n), y if stratify else None))

    def _trial(self, candidate, M, y, metric, splits, memory, deadline) -> None:
        """Enter a candidate's mean score over the splits into the leaderboard."""
        began = time.monotonic()
        scores, losses, rows = [], [], 0
        for train, validation in splits:
            if isinstance(candidate, str):
                model = fit_baseline(
                    candidate, self.encoder_.features_, M[train], y[train], self.task
                )
                predicted = self._baseline_prediction(model, M[validation])
                rows = len(train)
            else:
                rows = min(SEARCH_ROWS, len(train))
                chosen = np.random.default_rng(self._seed).permutation(train)[:rows]
                predict = self._fit_once(candidate, M[chosen], y[chosen], memory, deadline)
                predicted = predict(M[validation])
            scores.append(metric(y[validation], predicted, getattr(self, "classes_", None)))
            losses.append(self._loss(y[validation], predicted))
        score = float(np.nanmean(scores)) if not np.isnan(scores).all() else np.nan
        self.leaderboard_.append(
            {
                "name": candidate if isinstance(candidate, str) else candidate.name,
                "baseline": isinstance(candidate, str),
                "score": score,
                "loss": float(np.mean(losses)),
                "spread": float(np.nanstd(scores)) if len(scores) > 1 else None,
                "rows": rows,
                "seconds": time.monotonic() - began,
            }
        )

    def _rank(self, metric) -> None:
        self.leaderboard_.sort(
            key=lambda row: -np.inf if np.isnan(row["score"]) else metric.sign() * row["score"],
            reverse=True,
        )
        for rank, row in enumerate(self.leaderboard_, 1):
            row["rank"] = rank

    def _report(self, name: str, done: int, of: int) -> None:
        if self.progress is not None:
            rows = [r for r in self.leaderboard_ if not np.isnan(r["score"])]
            self.progress({"trial": name, "done": done, "of": of, "leaderboard": rows})

    # --- the final fit ------------------------------------------------------------------------

    def _fit_once(self, candidate, M, y, memory, deadline) -> Callable:
        """Fit on some rows; a function from an encoded matrix to predictions or probabilities."""
        machine = fit_candidate(
            candidate, self.encoder_.features_, M, self._targets(y), rank=SEARCH_RANK,
            random_state=self._seed, memory=memory, n_jobs=self.n_jobs,
            deadline=deadline if self._timed else np.inf,
        )  # fmt: skip
        finish = self._finish(machine, y)
        return lambda rows: finish(machine.outputs(rows, memory, self.n_jobs))

    def _fit_final(self, winner: Candidate, M, y, memory, deadline=np.inf) -> None:
        """Fit the winner on all rows."""
        self._report(f"final fit: {winner.name}", len(self.schedule_), len(self.schedule_))
        self.winner_ = {
            "family": winner.family, "scale": winner.scale, "learn": winner.learn,
        }  # fmt: skip
        self.winner_name_ = winner.name
        machine = fit_candidate(
            winner, self.encoder_.features_, M, self._targets(y), random_state=self._seed,
            memory=memory, n_jobs=self.n_jobs, deadline=deadline if self._timed else np.inf,
        )  # fmt: skip
        self.kernel_ = machine.kernel
        self.X_fit_ = machine.support
        self.dual_coef_ = machine.coef
        self.intercept_ = machine.intercept
        self.penalty_ = machine.penalty
        self.solver_ = machine.solver
        self.left_out_ = machine.left_out
        self._store_finish(machine, y)

    def _outputs(self, X) -> np.ndarray:
        """f for raw rows, (n, outputs)."""
        check_is_fitted(self)
        table = self._read_new(X)
        samples = self.kernel_.encode(self.encoder_.transform(table), like=self.X_fit_)
        K = TiledGram(self.kernel_, samples, self.X_fit_, self.n_jobs)
        return (K @ self.dual_coef_).astype(np.float64) + self.intercept_

    def relevance(self) -> dict[str, float]:
        """Learnt weight of each column's part of the kernel, the largest first.

        Only where the winner has learnt weights; else empty. A weight of 0 means that the column
        does not matter.
        """
        check_is_fitted(self)
        if not self.winner_["learn"]:
            return {}
        features = self.encoder_.features_
        kernel: Any = self.kernel_
        weights = {
            features[columns[0]].label: float(w)
            for (_, columns), w in zip(kernel.parts, kernel.weights)
        }
        return dict(sorted(weights.items(), key=lambda item: -item[1]))

    # --- columns ------------------------------------------------------------------------------

    def _remember_features(self, X, table) -> None:
        self.n_features_in_ = len(table)
        if all(isinstance(name, str) for name in table):
            self.feature_names_in_ = np.array(list(table), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _read_new(self, X) -> dict:
        table = read_columns(X)
        numbered = not any(isinstance(name, str) for name in table)
        if numbered and hasattr(self, "feature_names_in_"):
            if len(table) != self.n_features_in_:
                raise ValueError(
                    f"X has {len(table)} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input: {list(self.feature_names_in_)}."
                )
            table = dict(zip(self.feature_names_in_, table.values()))
        elif numbered and len(table) != self.n_features_in_:
            raise ValueError(
                f"X has {len(table)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return table

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class KernelClassifier(ClassifierMixin, _AutomaticKernel):
    """Classification of table rows by a kernel machine that is chosen and tuned for them.

    Parameters
    ----------
    time : float or str, default=120
        Time budget of ``fit`` in seconds or as "5min"; small tables need a fraction of it.
    memory : int, str or None
        Memory budget in bytes or as "4GB"; None is half of what is free.
    trials : int, optional
        A fixed number of candidates in place of a time budget: the same model on any machine.
    metric : str, optional
        "accuracy" (default), "balanced_accuracy", "roc_auc", "log_loss" or "f1".
    kind : dict, optional
        Column name -> "number", "category", "date", "text" or "identifier", in place of what
        would be inferred.
    drop : list, optional
        Columns to leave out.
    replay : list of dict, optional
        The ``schedule_`` of an earlier fit, to be repeated.
    random_state : int, RandomState or None, default=0
    n_jobs : int or None
        Threads; None means all cores.
    progress : callable, optional
        Called before each trial with a dict: trial, done, of, leaderboard.

    Attributes
    ----------
    classes_ : ndarray
    columns_ : list of Column
        Name, kind, reason, missing values, different values.
    notices_ : list of str
        What else a user should know.
    leaderboard_ : list of dict
        rank, name, baseline, score, loss (log loss or squared error), spread (over folds), rows,
        seconds; the best score first.
    schedule_ : list of dict
        The candidates in the order in which they were tried.
    winner_, winner_name_ : dict, str
    kernel_ : TableKernel
        The winning kernel, bound, on the columns of ``encoder_``'s matrix.
    X_fit_, dual_coef_, intercept_, penalty_ : the machine
        f(x) = Σ_i k(x, x_i) a_i + b, one column a class.
    solver_ : str
    encoder_ : TableEncoder

    Notes
    -----
    The machine is kernel ridge regression of one-hot ±1 targets, the penalty chosen by closed-form
    leave-one-out; probabilities are the softmax of its outputs, scaled and shifted to be
    calibrated on the leave-one-out outputs. Up to 3,000 rows it is exact, beyond that of low rank
    with 2,000 centres: O(n 2000²).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelClassifier(trials=2).fit(X, y)
    >>> model.predict(X[:2]).tolist(), model.columns_[0].kind
    ([0, 0], 'number')
    """

    task = "classification"

    def _read_target(self, y, n):
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        _check_target(y, n)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return self.classes_[codes]

    def _codes(self, y) -> np.ndarray:
        return np.searchsorted(self.classes_, y)

    def _targets(self, y) -> np.ndarray:
        return 2.0 * np.eye(len(self.classes_))[self._codes(y)] - 1

    def _finish(self, machine, y) -> Callable:
        return calibrate(machine.left_out, self._codes(y))

    def _store_finish(self, machine, y) -> None:
        calibration = calibrate(machine.left_out, self._codes(y))
        self.calibration_slope_ = calibration.slope
        self.calibration_bias_ = calibration.bias

    def _loss(self, y, predicted):
        likelihoods = predicted[np.arange(len(y)), self._codes(y)]
        return float(-np.mean(np.log(np.clip(likelihoods, 1e-12, 1))))

    def _baseline_prediction(self, model, M):
        P = np.zeros((len(M), len(self.classes_)))
        P[:, np.searchsorted(self.classes_, model.classes_)] = model.predict_proba(M)
        return P

    def decision_function(self, X):
        """Calibrated log-odds: (n,) for two classes, else log-probabilities (n, classes)."""
        logs = np.log(np.clip(self.predict_proba(X), 1e-300, 1))
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs

    def predict_proba(self, X):
        """Probability of each class, in the order of ``classes_``; (n, classes)."""
        outputs = self._outputs(X)
        return Calibration(self.calibration_slope_, self.calibration_bias_)(outputs)

    def predict(self, X):
        """The most probable class of each row, (n,)."""
        P = self.predict_proba(X)
        return self.classes_[P.argmax(axis=1)]


class KernelRegressor(RegressorMixin, _AutomaticKernel):
    """Regression on table rows by a kernel machine that is chosen and tuned for them.

    Parameters, attributes and method are those of `KernelClassifier`, but for classes; ``metric``
    is "r2" (default), "rmse" or "mae".

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelRegressor(trials=2).fit(X, y)
    >>> bool(model.score(X, y) > 0.4)
    True
    """

    task = "regression"

    def _read_target(self, y, n):
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        y = column_or_1d(y, warn=True)
        try:
            y = y.astype(np.float64)
        except (ValueError, TypeError):
            raise ValueError(
                f"y holds {y[0]!r}, which is no number: regression needs numbers. For classes use "
                "KernelClassifier."
            ) from None
        _check_target(y, n)
        return y

    def _targets(self, y) -> np.ndarray:
        return y[:, None]

    def _finish(self, machine, y) -> Callable:
        return lambda outputs: outputs[:, 0]

    def _store_finish(self, machine, y) -> None:
        pass

    def _loss(self, y, predicted):
        return float(np.mean((y - predicted) ** 2))

    def _baseline_prediction(self, model, M):
        return model.predict(M)

    def predict(self, X):
        """The predicted number of each row, (n,)."""
        return self._outputs(X)[:, 0]


def _check_target(y: np.ndarray, n: int) -> None:
    if len(y) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows and y "
            f"{len(y)} values."
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError(
            f"Input y contains NaN or infinity in {int((~np.isfinite(y)).sum())} rows: drop them."
        )


def _notices(columns) -> list[str]:
    notices = []
    texts = [str(c.name) for c in columns if c.kind == "text"]
    if texts:
        notices.append(
            f"Free text is set aside, since there are no text kernels yet: {', '.join(texts)}."
        )
    dropped = [
        f"{c.name} ({c.reason})"
        for c in columns
        if c.kind in ("identifier", "constant", "duplicate", "empty")
    ]
    if dropped:
        notices.append(f"Not used: {'; '.join(dropped)}.")
    filled = [str(c.name) for c in columns if c.used and c.kind != "category" and c.missing]
    if filled:
        notices.append(
            f"Missing numbers are filled with the median, and marked: {', '.join(filled)}."
        )
    return notices
