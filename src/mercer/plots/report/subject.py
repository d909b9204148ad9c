"""What a report is about: a fitted model, the rows of its fit, and rows that it has not seen.

A `Subject` holds what the sections of a report measure; each number that several of them need is
computed once, when the first one asks for it.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
import sklearn
from sklearn.base import is_classifier

import mercer
from mercer.learners.base import check_targets
from mercer.machines import METRICS, HeldOut, Metric, interval, metric_named, score_held_out
from mercer.plots.fitted import ModelRows, rows_of, sample_gram
from mercer.plots.marks import brief
from mercer.samples import Samples, plain_targets
from mercer.spoken import spoken
from mercer.tables import ranks_of
from mercer.threads import Clock, affordable_rows

PHRASES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "area under the ROC curve",
    "average_precision": "average precision",
    "log_loss": "log loss",
    "f1": "F₁ score",
    "rank_error": "mean number of steps between the predicted class and the true one",
    "quadratic_kappa": "quadratic κ",
    "r2": "R²",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
}
SHARES = ("accuracy", "balanced_accuracy")
SPECTRUM_ROWS = 1000  # most rows of the Gram matrix
FOREMOST = 6  # relevant columns that are looked at


@dataclass(frozen=True)
class Score:
    """A metric on rows that the fit has not seen, with its 95% interval."""

    metric: str
    value: float
    low: float
    high: float
    rows: int
    groups: int | None = None  # of these rows, if they have some

    @property
    def phrase(self) -> str:
        """The metric in words."""
        return PHRASES.get(self.metric, self.metric)

    def text(self, value: float | None = None) -> str:
        """A value of this metric as text, such as 98.5% or 0.812; None means its own value."""
        value = self.value if value is None else value
        if value != value:
            return "–"
        if self.metric in SHARES:
            return f"{100 * value:.1f}%"
        if self.metric in ("rmse", "mae"):
            return spoken(value, minus="−")
        return f"{value:.3f}".replace("-0.000", "0.000").replace("-", "−")

    def interval_text(self) -> str:
        """The interval as text, such as "92.0 to 99.7%"."""
        if self.low != self.low:
            return ""
        return f"{self.text(self.low).removesuffix('%')} to {self.text(self.high)}"


def versions() -> dict[str, str]:
    """Versions of the libraries that the numbers depend on, and the platform."""
    import scipy

    return {
        "Mercer": mercer.__version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


@dataclass(frozen=True)
class Provenance:
    """How the page was made, and how to make it again."""

    versions: dict[str, str] = field(default_factory=versions)
    seed: int | None = None
    command: str = ""
    model_path: str = ""
    data_path: str = ""
    new_path: str = "NEW.csv"  # what the examples of its use call a file of new rows
    created: str = field(default_factory=_now)


@dataclass(frozen=True)
class Final:
    """The fit on all rows, whose kernel the report describes.

    ``X`` are the rows of the scored model as this one has encoded them, ``rows`` those of its fit.
    """

    model: Any
    X: Any
    rows: int


@dataclass(frozen=True)
class TableFacts:
    """What whoever has read the table knows of it.

    ``notices`` are shown after those of the model, and ``doubts`` beside the score: what speaks
    against it, such as rows in the order of time. ``rows`` are the numbers, from 0, that the rows
    of the fit and those held out have in the table; None counts both by themselves.
    """

    target: str = "target"
    notices: Sequence[str] = ()
    doubts: Sequence[str] = ()
    dropped_rows: int = 0  # rows without a target
    rows: tuple[np.ndarray, np.ndarray] | None = None


def is_table(X: Samples) -> bool:
    """Whether samples have columns."""
    return len(getattr(X, "shape", ())) == 2


def said_of(value: Any) -> str:
    """A target as the page shows it."""
    return brief(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def _targets(y: Any, task: str) -> np.ndarray:
    """Targets in any form as a learner of the task reads them; of a single column (n,)."""
    y = plain_targets(y)
    if task == "regression":
        numbers = check_targets(np.empty((len(y), 0)), y, "a report")
        y = y if y.dtype.kind in "fiub" else numbers
    return y[:, 0] if y.shape[1:] == (1,) else y


@dataclass(eq=False)
class Subject:
    """A fitted model and rows, from which `report_data` measures a report.

    Parameters
    ----------
    model : fitted estimator
        `KernelClassifier`, `KernelRegressor`, or any kernel learner, pipeline or search around one.
    X, y : the rows that ``model`` was fitted to, or None
        Without them, what needs fits is left out (the linear baseline, the learning
        curve, suspected targets), and the held-out rows are described.
    holdout : (X, y)
        Held-out rows: scores, errors, calibration and relevance are measured on these.
    scored : HeldOut, optional
        The result of `score_held_out` for an automatic estimator on the same rows, if it is known.
    final : Final, optional
        The final fit on all rows; None means that it is ``model``.
    metric : str, optional
        A metric of the automatic estimators; None means the metric of ``model``, else "accuracy" or
        "r2".
    facts : TableFacts, optional
    provenance : Provenance, optional
        Shown as the origin of the model; its seed is that of random samples.
    values : bool
        Whether the report may hold values of single rows. Otherwise rows have only numbers in it,
        columns have no levels and ranges, and there are no residuals and no words of texts.
    what_if : bool
        Whether the page predicts by itself. It holds the rows that the model compares with then.
    rows : bool
        Whether such a page shows the training rows that are most alike to a row.
    time : float, optional
        About how many seconds the report may take. What is slow gets a share of them, and takes
        fewer rows, columns or draws; what is quick is always there.

    Attributes
    ----------
    X, y : the rows that are described, which an automatic estimator has encoded
    X_test, y_test : the held-out rows, encoded as well
    known : bool
        Whether the rows of the fit were given.
    task : {"classification", "regression"}
    classes, ranks : ndarray or None
    scorer : Metric
    predicted : ndarray
        Predicted numbers, or probabilities (n, classes), of the held-out rows.
    clock : Clock
    found : dict
        The sections that are measured already, by their names.
    """

    model: Any
    X: Any = None
    y: Any = None
    _: KW_ONLY
    holdout: tuple[Any, Any]
    scored: HeldOut | None = None
    final: Final | None = None
    metric: str | None = None
    facts: TableFacts = field(default_factory=TableFacts)
    provenance: Provenance = field(default_factory=Provenance)
    values: bool = True
    what_if: bool = False
    rows: bool = True
    time: float | None = None

    def __post_init__(self) -> None:
        if self.what_if and not self.values:
            raise ValueError(
                "what_if=True puts the rows that the model compares with into the page, which "
                "values=False keeps out: leave one of them out."
            )
        model, self.clock, self.found = self.model, Clock(self.time), dict[str, Any]()
        self.seed = self.provenance.seed or 0
        self.known = self.X is not None
        self.task = "classification" if is_classifier(model) else "regression"
        self.X_test, self.y_test = self.holdout[0], _targets(self.holdout[1], self.task)
        if self.y_test.shape[1:] > (1,):
            raise ValueError(
                f"y has {self.y_test.shape[1]} columns, but a report is of one target: give one "
                "column, and of a KernelRegressor of several targets model.of_target(name)."
            )
        if hasattr(model, "encoder_") and is_table(self.X_test):  # each row is encoded once
            self.X_test = model.encode_table(self.X_test)
            self.X = model.encode_table(self.X) if self.known else None
        self.y = _targets(self.y, self.task) if self.known else self.y_test
        self.fitted_rows = len(self.y) if self.known else 0
        self.X = self.X if self.known else self.X_test
        self.classes: Any = getattr(model, "classes_", None)
        self.ranks = ranks_of(self.classes, getattr(model, "order_", None))
        given = getattr(model, "metric_", getattr(model, "metric", None))
        self.scorer = metric_named(self.metric or given, self.task).on(self.ranks)
        self.automatic = hasattr(model, "leaderboard_")
        if self.scored is None and self.known and self.automatic:
            held_out = self.X_test, self.y_test
            self.scored = score_held_out(model, (self.X, self.y), held_out, self.seed)
        self.predicted = self.scored.predicted if self.scored else self._predictions()
        self._score_time = self.clock.share(0.05).limit

    def _predictions(self) -> np.ndarray:
        """Predicted numbers, or probabilities; 0 and 1 without ``predict_proba``."""
        if self.task == "regression":
            return np.asarray(self.model.predict(self.X_test))
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(self.X_test))
        return (np.asarray(self.model.predict(self.X_test))[:, None] == self.classes).astype(float)

    def score_of(self, predicted: np.ndarray) -> Score:
        """The score of answers for the held-out rows."""
        y, scorer = self.y_test, self.scorer
        low, high = interval(scorer, y, predicted, self.classes, self.seed, self._score_time)
        return Score(scorer.name, scorer(y, predicted, self.classes), low, high, len(y))

    @property
    def is_scored(self) -> bool:
        """Whether the model was scored by the metric of the report already."""
        return self.scored is not None and self.scored.metric == self.scorer.name

    @cached_property
    def score(self) -> Score:
        """The score of the model."""
        if self.scored is None or not self.is_scored:
            return self.score_of(self.decided(self.scorer))
        s = self.scored
        return Score(s.metric, s.score, s.low, s.high, s.rows, s.groups)

    def decided(self, scorer: Metric) -> np.ndarray:
        """What is scored of the answers, by the model's own decision weights if it has some."""
        weights = getattr(self.model, "decision_weights_", None)
        return self.predicted if weights is None else scorer.decided(self.predicted, weights)

    @property
    def chances(self) -> np.ndarray | None:
        """The probabilities of classes (n, classes), if the model has some."""
        has_some = self.task == "classification" and hasattr(self.model, "predict_proba")
        return self.predicted if has_some else None

    @cached_property
    def chosen(self) -> np.ndarray:
        """A number for each held-out row and class, the largest for the class that is predicted."""
        if self.scorer.power:  # the classes of the least expected loss
            return np.eye(len(self.classes))[self.scorer.choice(self.predicted)]
        return self.decided(METRICS["accuracy"])

    @property
    def met(self) -> Any:
        """The classes of the model and those of the rows, which may have others."""
        if self.classes is None:
            return None
        return np.union1d(self.classes, np.concatenate([self.y, self.y_test]))

    @property
    def kept(self) -> tuple[Any, Any]:
        """The model whose kernel is described, and rows as it has encoded them."""
        return (self.model, self.X) if self.final is None else (self.final.model, self.final.X)

    @cached_property
    def gram(self) -> tuple[np.ndarray, np.ndarray]:
        """The Gram matrix of the kept model on a sample of the rows, and their numbers."""
        model, X = self.kept

        def matrix(rows: int) -> tuple[np.ndarray, np.ndarray]:
            return sample_gram(model, X, max_samples=rows, random_state=self.seed)

        most = min(len(self.y), SPECTRUM_ROWS)
        return matrix(affordable_rows(matrix, most, self.clock.share(0.2)))

    @property
    def used_columns(self) -> list[Any]:
        """The columns that the model uses; none if it knows no columns."""
        return [c for c in getattr(self.model, "columns_", []) if c.used]

    @property
    def table_columns(self) -> list[Any]:
        """The same where the held-out rows are those of a table; otherwise none."""
        return self.used_columns if is_table(self.X_test) else []

    @cached_property
    def foremost(self) -> list:
        """The most relevant columns, whose loss is clearly above 0 or is among the first three."""
        relevance = self.found.get("relevance")
        if relevance is None:
            return [c.name for c in self.used_columns][:FOREMOST]
        low = np.nan_to_num(relevance.display.low)
        columns = relevance.display.columns[:FOREMOST]
        return [name for i, name in enumerate(columns) if i < 3 or low[i] > 0]

    @cached_property
    def main_rows(self) -> ModelRows | None:
        """The held-out rows, by columns, if there are foremost ones."""
        found = is_table(self.X_test) and self.foremost
        return rows_of(self.model, self.X_test) if found else None

    @cached_property
    def least_wrong(self) -> np.ndarray:
        """The held-out rows, those with the largest errors last."""
        if self.task == "regression":
            error = np.abs(self.y_test - self.predicted)
        else:
            error = 1.0 - np.take_along_axis(
                self.predicted, np.searchsorted(self.classes, self.y_test)[:, None].clip(
                    max=len(self.classes) - 1), axis=1
            )[:, 0]  # fmt: skip
        return np.argsort(-error, kind="stable")[::-1]

    def answers(self, i: int) -> tuple[str, str]:
        """The target of a held-out row, and what is predicted."""
        if self.task == "regression":
            return said_of(self.y_test[i]), said_of(self.predicted[i])
        return str(self.y_test[i]), str(self.classes[self.predicted[i].argmax()])

    def numbers(self, held_out: bool) -> np.ndarray:
        """The numbers, from 0, that rows have in the table: those held out, or those of the fit."""
        if self.facts.rows is not None:
            return self.facts.rows[held_out]
        return np.arange(len(self.y_test if held_out else self.y))
