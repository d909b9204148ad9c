"""The contents of a report: numbers and words, without how they are drawn.

measure.py computes them from a fitted model, and save.py writes the page.
The classes here only hold data, except for the sentences of the verdict.
"""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import sklearn

import mercer
from mercer.machines import Comparison, Coverage, as_good, verdict
from mercer.plots.displays import (
    Dependence,
    EmbeddingDisplay,
    GramDisplay,
    RelianceDisplay,
    SpectrumDisplay,
)
from mercer.plots.report.advice import LearningCurve, Suspicion
from mercer.plots.report.effects import AddedShapes, TextPieces
from mercer.plots.report.failures import (
    Calibration,
    Confusion,
    Intervals,
    Rates,
    Residuals,
    Segment,
    WorstRow,
)
from mercer.plots.report.kernel_words import KernelWords
from mercer.samples import Drawing
from mercer.spoken import spoken
from mercer.tables import FEW_GROUPS, column_kind

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
FEW_ROWS = 100  # held-out rows with which a score is uncertain
#: part of the training rows that repeat, from which on it may be chance that new rows do, and how
#: many times this part of the new rows may
REPEATED, MORE = 0.1, 1.5
LISTED_COLUMNS = 1000  # columns that a page describes, the first ones
RARE = 0.1  # a class with a smaller share of the rows is rare


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


@dataclass(frozen=True)
class Contender:
    """A line of the leaderboard."""

    name: str
    role: str  # "winner", "kernel", "linear" or "trivial"
    #: the score that the search used to choose, from the training rows only
    validation: float | None = None
    #: the score on the held-out rows; only for the winner and the baselines
    unseen: Score | None = None
    seconds: float | None = None  # time of the fits
    detail: str = ""


@dataclass(frozen=True)
class ColumnSummary:
    """A column: its inferred kind and the reason, and the distribution of its values.

    ``counts`` has the rows in twelve equal intervals from ``low`` to ``high`` for numbers and for
    sizes of texts and other samples; for other kinds the rows of the most frequent ``levels`` or
    items. ``shown`` says it in words. ``curve`` is the mean of time series, each stretched to the
    same number of points, and ``drawing`` a sample of median size, such as a graph.
    """

    name: str
    kind: str
    reason: str
    used: bool
    missing: int
    distinct: int
    counts: list[int] = field(default_factory=list)
    low: float | None = None
    high: float | None = None
    levels: list[str] = field(default_factory=list)
    shown: str = ""
    curve: list[float] = field(default_factory=list)
    drawing: Drawing | None = None


@dataclass(frozen=True)
class TargetSummary:
    """Rows of each class, or a histogram of numbers: ``counts`` between ``edges``."""

    counts: np.ndarray
    classes: list[str] = field(default_factory=list)
    edges: np.ndarray | None = None


@dataclass(frozen=True)
class MachineWords:
    """A kernel machine in words: its kernel, and how it learns."""

    kernel: KernelWords
    learner: str


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


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows."""

    target: str
    task: str  # "classification" or "regression"
    score: Score  # that of the fit on ``fitted_rows`` rows, measured on held-out rows
    #: rows of the fit that was scored, and rows of the final fit in the model file; 0 if unknown
    fitted_rows: int
    final_rows: int
    contenders: list[Contender]
    #: name of a simple model -> how much better the model is on the held-out rows
    versus: dict[str, Comparison]
    kept: str  # what the model is called beside them, such as "the kernel machine"
    columns: list[ColumnSummary]
    target_summary: TargetSummary
    spectrum: SpectrumDisplay
    gram: GramDisplay
    machines: list[MachineWords]  # the machine; of a mean all of them, the best one first
    provenance: Provenance
    embedding: EmbeddingDisplay | None = None
    relevance: RelianceDisplay | None = None
    #: how the predictions change with the values of the most relevant columns
    dependences: list[Dependence] = field(default_factory=list)
    shapes: AddedShapes | None = None  # the functions of an additive machine
    #: the words of each text column that change the predictions most
    texts: list[TextPieces] = field(default_factory=list)
    confusion: Confusion | None = None
    rates: Rates | None = None
    residuals: Residuals | None = None
    #: what the model's own intervals held; of a model without some, intervals of one width
    coverage: Coverage | None = None
    intervals: Intervals | None = None
    calibration: Calibration | None = None
    #: parts of the held-out rows, and rows, that are predicted worst
    segments: list[Segment] = field(default_factory=list)
    worst: list[WorstRow] = field(default_factory=list)
    worst_columns: list[str] = field(default_factory=list)
    #: whether more rows would help, and training rows that are probably wrong
    learning: LearningCurve | None = None
    suspicion: Suspicion | None = None
    stored: str = ""  # how many training rows the model file holds, and which
    has_values: bool = True  # whether the report holds values of single rows
    #: what to know about the data and the search, and what speaks against the score
    notices: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    dropped_rows: int = 0  # rows without a target
    #: how many of the rows that the score is from were in the training table; None if unknown
    seen: int | None = None
    repeated: float = 0.0  # part of the training rows that are equal to another one

    @property
    def verdict(self) -> str:
        """One sentence that says how good the model is."""
        score, trivial = self.score, self._unseen("trivial")
        if score.value != score.value:
            return f"{score.rows} held-out rows are too few to measure how good the model is."
        unseen = bool(self.fitted_rows) or self.seen == 0
        rows = "rows that it had not seen" if unseen else "these rows"
        if score.metric == "accuracy":
            of = f"the {rows}" if unseen else rows
            sentence = f"The model predicts the right class for {score.text()} of {of}"
        else:
            sentence = f"On {rows}, the model reaches {score.phrase} {score.text()}"
        if trivial is None:
            return sentence + "."
        guess = "the most frequent class" if self.task == "classification" else "the mean"
        beaten = "trivial" in self.versus and self.versus["trivial"].outcome == "better"
        if not beaten and self._winner != "trivial":
            return f"{sentence}: no better than always answering {guess} ({trivial.text()})."
        return f"{sentence}; always answering {guess} would reach {trivial.text()}."

    @property
    def seen_before(self) -> str:
        """A sentence that says how many of the rows were in the training table; "" if unknown."""
        if self.seen is None:
            return ""
        n = self.score.rows
        if not self.seen:
            return f"None of the {n:,} rows was in the training table."
        were = "was" if self.seen == 1 else "were"
        said = f"{self.seen:,} of {n:,} rows {were} in the training table"
        if self.repeated > REPEATED and self.seen <= MORE * self.repeated * n:
            return (
                f"{said}; but {100 * self.repeated:.0f}% of the training rows are equal to another "
                "one, so that new rows may equal one by chance."
            )
        return f"{said}: everything below, above all the score, is too good for new rows."

    @property
    def simpler(self) -> str:
        """The sentence that a simpler model is as good; empty if no simpler model is."""
        if as_good(self.versus) is None:
            return ""
        return f"{self._compared()} A simpler model is enough for these data."

    def _compared(self) -> str:
        """The sentence that compares the model with simple ones."""
        scores = {c.name: c.unseen.value for c in self.contenders if c.unseen is not None}
        return verdict(self.versus, scores, self.kept, self.score.text)

    @property
    def _winner(self) -> str:
        return next((c.name for c in self.contenders if c.role == "winner"), "")

    @property
    def trust(self) -> list[tuple[bool, str]]:
        """What is for and against the score: (whether it is fine, a sentence)."""
        score, found = self.score, []
        rows = f"{score.rows:,} row{'s' if score.rows != 1 else ''}"
        if score.groups is not None:
            rows += f" in {score.groups} group{'s' if score.groups != 1 else ''}"
        text = f"The score is from {rows}{' that no fit has seen' * bool(self.fitted_rows)}"
        if score.interval_text():
            text += f"; its 95% interval is {score.interval_text()}"
        few = "These are few rows." if score.rows < FEW_ROWS else ""
        if score.groups is not None and score.groups < FEW_GROUPS:
            few = "These are few groups, and rows of a group err alike."
        found.append((not few, f"{text}. {few}".strip()))
        if not self.fitted_rows and self.seen is None:
            found.append((
                False, "The model file does not tell whether it has learnt from some of these rows:"
                " if it has, the score is too good.",
            ))  # fmt: skip
        elif self.seen is not None:
            found.append((not self.seen, self.seen_before))
        linear = self._unseen("linear")
        if self.versus and linear is not None and not self.simpler:  # which says the contrary
            found.append((True, self._compared()))
        if self.rates is not None and self.rates.share < RARE:
            found.append((
                False,
                f"Only {100 * self.rates.share:.1f}% of the rows are {self.rates.event}: a share "
                "of right classes says little. Average precision is "
                f"{self.rates.average_precision:.3f} (by chance {self.rates.share:.3f}), the area "
                f"under the ROC curve {self.rates.auc:.3f} (by chance 0.5).",
            ))  # fmt: skip
        if self.coverage is not None and self.coverage.too_narrow:
            found.append((False, self.coverage.sentence()))
        if self.suspicion is not None and self.suspicion.count:
            suspicion, count = self.suspicion, self.suspicion.count
            are = "row has a target that is" if count == 1 else "rows have targets that are"
            said = f"{count:,} training {are} hard to believe"
            if self.task == "regression" and suspicion.many:
                said = (
                    f"{count:,} of {suspicion.looked_at:,} training rows are far from what a fit "
                    "without them expects: some errors are much larger than most, or targets are "
                    "wrong"
                )
            found.append((False, f"{said}: see “Targets to check”."))
        return found + [(False, doubt) for doubt in self.doubts]

    def without_values(self) -> ReportData:
        """The same without values of single rows: cells, targets, residuals, levels and ranges."""
        columns = [
            replace(
                c,
                levels=[],
                low=None,
                high=None,
                counts=[] if c.levels else c.counts,
                shown=f"{c.distinct:,} different",
                drawing=None,
            )
            for c in self.columns
        ]
        suspicion = self.suspicion
        if suspicion is not None:
            rows = [replace(row, given="", expected="") for row in suspicion.rows]
            suspicion = replace(suspicion, rows=rows)
        none = np.empty(0)
        residuals = self.residuals
        if residuals is not None:
            residuals = replace(residuals, predicted=none, residual=none)
        worst = [replace(row, truth="", predicted="", cells=[]) for row in self.worst]
        segments = [
            s for s in self.segments
            if all(column_kind(c.kind).numeric for c in self.columns if c.name == s.column)
        ]  # fmt: skip
        dependences = [replace(d, values=_rounded(d.values)) for d in self.dependences
                       if d.of.numeric]  # fmt: skip
        shapes = self.shapes
        if shapes is not None:
            functions = [replace(d, values=_rounded(d.values)) for d in shapes.functions
                         if d.of.numeric]  # fmt: skip
            shapes = replace(shapes, functions=functions)
        target = self.target_summary
        if target.edges is not None:
            target = replace(target, edges=_widened(target.edges))
        return replace(
            self, target_summary=target, columns=columns, suspicion=suspicion,
            residuals=residuals, worst=worst, worst_columns=[], segments=segments,
            dependences=dependences, shapes=shapes, texts=[], embedding=None, has_values=False,
        )  # fmt: skip

    def _unseen(self, role: str) -> Score | None:
        return next((c.unseen for c in self.contenders if c.role == role and c.unseen), None)

    def numbers(self) -> dict[str, Any]:
        """The whole report in types of JSON, for the block that is embedded in the page.

        The Gram matrix is left out: its picture in the page has it to 1/255 of its range. Of many
        columns it has those that the page lists, and their number.
        """
        listed = replace(self, columns=self.columns[:LISTED_COLUMNS])
        out = {f.name: plain(getattr(listed, f.name)) for f in dataclasses.fields(self)}
        out["n_columns"] = len(self.columns)
        out["verdict"], out["simpler"] = self.verdict, self.simpler
        return out


def plain(value: Any) -> Any:
    """A value in types of JSON: NaN and infinities become None, other objects their text."""
    if isinstance(value, SpectrumDisplay):
        return {"eigenvalues": plain(value.eigenvalues)}
    if isinstance(value, EmbeddingDisplay):
        return {"rows": len(value.scores), "names": list(value.names)}
    if isinstance(value, GramDisplay):
        names = ("classes", "sizes", "within", "between", "limits")
        return {"rows": len(value.K)} | {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, RelianceDisplay):
        names = "columns loss low high full chance measure n_test n_columns"
        told = {name: plain(getattr(value, name)) for name in names.split()}
        pairs = [plain(pair) | {"said": str(pair)} for pair in value.pairs]
        return told | {"pairs": pairs}
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def _widened(edges: np.ndarray) -> np.ndarray:
    """Equal intervals between round numbers outside the ends, which are no targets any more."""
    unit = 10.0 ** (np.floor(np.log10(max(float(np.ptp(edges)), 1e-300))) - 1)
    low, high = np.floor(edges[0] / unit) * unit, np.ceil(edges[-1] / unit) * unit
    return np.linspace(low, high, len(edges)) if high > low else edges


def _rounded(values: list) -> list:
    """Numbers with two digits, which are no cells any more."""
    return [float(f"{value:.2g}") for value in values]
