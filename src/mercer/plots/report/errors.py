"""Errors of a model on held-out rows: residuals, intervals, parts of the table, and rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.machines import Coverage, measure_coverage, with_classes_of
from mercer.plots.fitted import ModelRows, sample_rows
from mercer.plots.marks import BOTTOM, LEFT, RIGHT, TOP, Axis, brief, padded
from mercer.plots.report.section import Section, Several, plain
from mercer.plots.report.subject import Subject, is_table
from mercer.samples import kind_that_holds
from mercer.tables import ColumnKind, as_numbers, column_kind, missing_values

POINTS = 1500  # most residuals that are drawn
LEVELS = (0.5, 0.8, 0.9, 0.95)
PARTS, LEAST_ROWS = 4, 10  # groups of a column of numbers, and rows of a group that counts
CLEARLY = 2.0  # standard errors by which a group is worse than the others
WORST, SHOWN = 8, 6  # rows, and groups
SHOWN_COLUMNS = 4  # relevant columns that are shown with a row


@dataclass(frozen=True)
class Residuals(Section):
    """True minus predicted value, and the prediction, for held-out rows or a sample of them.

    ``half`` and ``most`` are the 50% and 95% quantiles of the absolute residual over all ``rows``.
    """

    name, place = "residuals", "errors"

    predicted: np.ndarray
    residual: np.ndarray
    rows: int
    half: float
    most: float

    @classmethod
    def measured(cls, subject: Subject) -> Residuals:
        left = subject.y_test - subject.predicted
        rows = sample_rows(len(left), POINTS, subject.seed)
        half, most = np.quantile(np.abs(left), [0.5, 0.95])
        return cls(subject.predicted[rows], left[rows], len(left), float(half), float(most))

    def drawn(self, report: object) -> dict[str, Any] | None:
        """Residual against prediction; None without values."""
        p, r = self.predicted, self.residual
        if not len(p):
            return None
        reach = float(np.abs(r).max(initial=0)) or 1.0
        x = Axis(*padded(float(p.min()), float(p.max())), LEFT, RIGHT)
        y = Axis(-1.05 * reach, 1.05 * reach, BOTTOM, TOP)
        points = [(x.at(a), y.at(b)) for a, b in zip(p.tolist(), r.tolist())]
        band = y.at(min(self.most, y.high)), y.at(max(-self.most, y.low))
        return {"x": x, "y": y, "points": points, "zero": y.at(0), "band": band}

    def without_values(self, report: object) -> Residuals:
        return replace(self, predicted=np.empty(0), residual=np.empty(0))


@dataclass(frozen=True)
class Covered(Section):
    """What the model's own intervals held."""

    name, place = "coverage", "errors"

    coverage: Coverage

    @classmethod
    def measured(cls, subject: Subject) -> Covered | None:
        if subject.scored is not None:
            found = subject.scored.coverage
        elif subject.automatic:
            found = measure_coverage(subject.model, subject.X_test, subject.y_test)
        else:
            found = None
        return None if found is None else cls(found)

    def doubts(self, report: object) -> list[str]:
        return [self.coverage.sentence()] if self.coverage.too_narrow else []

    def numbers(self) -> dict[str, Any]:
        return {self.name: plain(self.coverage)}


@dataclass(frozen=True)
class Intervals(Section):
    """Prediction intervals: prediction ± ``half`` holds the truth with probability ``level``.

    ``coverage`` is the share of held-out rows in intervals made of the other half of these rows.
    """

    name, place = "intervals", "errors"

    level: np.ndarray
    half: np.ndarray
    coverage: np.ndarray

    @classmethod
    def applies(cls, subject: Subject) -> bool:
        """Whether the model has no intervals of its own."""
        return "coverage" not in subject.found

    @classmethod
    def measured(cls, subject: Subject) -> Intervals | None:
        return prediction_intervals(subject.y_test, subject.predicted)


def prediction_intervals(y: np.ndarray, predicted: np.ndarray, seed: int = 0) -> Intervals | None:
    """Split conformal intervals from held-out rows; None for fewer than 20 rows.

    With n rows, the interval of level q reaches to the ⌈(n + 1) q⌉-th smallest absolute residual.

    References
    ----------
    Lei, G'Sell, Rinaldo, Tibshirani & Wasserman, "Distribution-free predictive inference for
    regression", JASA 2018, algorithm 2.
    """
    n = len(y)
    if n < 20:
        return None
    residual = np.abs(y - predicted)
    order = np.random.default_rng(seed).permutation(n)
    halves = order[: n // 2], order[n // 2 :]
    covered = np.zeros((len(LEVELS), n), bool)
    for mine, other in (halves, halves[::-1]):
        for i, level in enumerate(LEVELS):
            covered[i, other] = residual[other] <= _reach(residual[mine], level)
    half = np.array([_reach(residual, level) for level in LEVELS])
    return Intervals(np.array(LEVELS), half, covered.mean(axis=1))


def _reach(residual: np.ndarray, level: float) -> float:
    place = int(np.ceil((len(residual) + 1) * level)) - 1
    return float(np.sort(residual)[min(place, len(residual) - 1)])


@dataclass(frozen=True)
class RowSegment:
    """A part of the held-out rows: the share of wrong classes, or the mean absolute residual."""

    column: str
    part: str
    rows: int
    error: float
    others: float


class Segments(Several):
    """The parts of the held-out rows that are predicted worse than the others."""

    name, place = "segments", "parts"

    @classmethod
    def measured(cls, subject: Subject) -> Segments:
        predicted, y, rows = subject.predicted, subject.y_test, subject.main_rows
        if rows is None:  # samples that are no table have no parts
            return cls([])
        if subject.task == "classification":
            errors = (subject.classes[predicted.argmax(axis=1)] != y).astype(float)
        else:
            errors = np.abs(y - predicted)
        kinds = {c.name: c.of for c in getattr(subject.model, "columns_", [])}
        split = [
            name for name in subject.foremost
            if name not in kinds or not (kinds[name].samples or kinds[name].in_time)
        ]  # fmt: skip
        return cls(weak_segments(rows, split, kinds, errors))

    def without_values(self, report: Any) -> Segments:
        levels = {c.name for c in report["columns"] if not column_kind(c.kind).numeric}
        return Segments([part for part in self if part.column not in levels])


def weak_segments(
    rows: ModelRows, columns: list, kinds: dict, errors: np.ndarray
) -> list[RowSegment]:
    """The parts of held-out rows, by the values of one column, in which errors are clearly larger.

    Numbers have four parts of equal size; other values are parts. An error is 1 for a row whose
    class is wrong, else 0; or an absolute residual.
    """
    found = []
    for name in columns:
        for part, members in _parts(rows.cells(name), kinds.get(name)):
            inside, outside = errors[members], errors[~members]
            if min(len(inside), len(outside)) < LEAST_ROWS:
                continue
            gap = inside.mean() - outside.mean()
            error = np.sqrt(errors.var() * (1 / len(inside) + 1 / len(outside)))
            if gap > CLEARLY * error > 0:
                segment = RowSegment(
                    str(name), part, len(inside), float(inside.mean()), float(outside.mean())
                )
                found.append((gap / error, segment))
    return [segment for _, segment in sorted(found, key=lambda each: -each[0])[:SHOWN]]


def _parts(cells: np.ndarray, kind: ColumnKind | None) -> list[tuple[str, np.ndarray]]:
    """Names and members of the parts of a column."""
    found = []
    if cells.dtype.kind in "iuf" if kind is None else kind.numeric:
        numbers = as_numbers(cells)
        missing = np.isnan(numbers)
        if not missing.all():
            edges = np.unique(np.quantile(numbers[~missing], np.linspace(0, 1, PARTS + 1)))
            for low, high in pairwise(edges):
                first = low == edges[0]
                members = ((numbers >= low) if first else (numbers > low)) & (numbers <= high)
                found.append((f"{brief(float(low))} to {brief(float(high))}", members))
    else:
        missing = missing_values(cells)
        texts = np.array([str(value) for value in cells.tolist()], dtype=object)
        frequent = Counter(texts[~missing].tolist()).most_common(8)
        found = [(text, (texts == text) & ~missing) for text, _ in frequent]
    return [*found, ("missing", missing)] if missing.any() else found


@dataclass(frozen=True)
class WorstRow:
    """A held-out row that is predicted badly; ``cells`` are its values in the main columns."""

    row: int
    truth: str
    predicted: str
    error: float
    cells: list[str]


@dataclass(frozen=True)
class Worst(Several):
    """The held-out rows that are predicted worst, with their cells in the main columns."""

    name, place = "worst", "parts"

    columns: list[str]

    @classmethod
    def measured(cls, subject: Subject) -> Worst:
        named = subject.foremost[:SHOWN_COLUMNS] if is_table(subject.X_test) else []
        found = worst_rows(
            subject.main_rows, subject.y_test, subject.predicted, subject.classes,
            named if subject.values else [], subject.numbers(True),
        )  # fmt: skip
        return cls(found, [str(name) for name in named])

    def without_values(self, report: object) -> Worst:
        return Worst([replace(row, truth="", predicted="", cells=[]) for row in self], [])

    def numbers(self) -> dict[str, Any]:
        return super().numbers() | {"worst_columns": self.columns}


def worst_rows(
    rows: ModelRows | None,
    y: np.ndarray,
    predicted: np.ndarray,
    classes: np.ndarray | None,
    columns: list,
    numbers: np.ndarray,
) -> list[WorstRow]:
    """The rows with the largest errors: the smallest probability of the true class, or residual.

    ``numbers`` are the row numbers that are shown, from 0; ``columns`` those whose cells are.
    """
    if classes is None:
        error, said = np.abs(y - predicted), [brief(float(v)) for v in predicted]
        truth = [brief(float(v)) for v in y]
        wrong = error > 0
    else:
        wide, both = with_classes_of(y, predicted, classes)
        chance = wide[np.arange(len(y)), np.searchsorted(both, y)]
        error, answers = 1 - chance, classes[predicted.argmax(axis=1)]
        truth, said = [str(v) for v in y], [str(v) for v in answers]
        wrong = answers != y
    order = np.argsort(-error, kind="stable")[:WORST]
    shown = [] if rows is None else [rows.cells(name) for name in columns]
    return [
        WorstRow(
            int(numbers[i]), truth[i], said[i], float(error[i]), [cell_text(c[i]) for c in shown]
        )
        for i in order
        if wrong[i]
    ]


def cell_text(value: object) -> str:
    """A cell as the page shows it."""
    if isinstance(value, (float, np.floating)):
        return "–" if value != value else brief(float(value))
    if isinstance(value, np.datetime64):  # without the seconds, and the time of day of a mere date
        text = str(value.astype("datetime64[s]")).replace("T", " ").removesuffix(":00")
        return text.removesuffix(" 00:00")
    kind = kind_that_holds(value)
    text = "–" if value is None else str(value) if kind is None else kind.text(value)
    return text if len(text) <= 60 else text[:59] + "…"
