"""What columns add to predictions, by Shapley values: on average, in pairs, and for single rows,
beside the training rows that speak for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from mercer.explain import (
    ShapleyValues,
    explained_model,
    is_quick,
    shapley_interactions,
    shapley_values,
)
from mercer.machines import Z95
from mercer.plots.fitted import rows_of, sample_rows, take
from mercer.plots.marks import Axis, brief
from mercer.plots.report.contents import ReportData
from mercer.plots.report.errors import SHOWN_COLUMNS, cell_text
from mercer.plots.report.section import Section, Several, attributes
from mercer.plots.report.subject import Subject, is_table
from mercer.threads import affordable_rows

#: rows whose values are computed, at most and at least; and where all coalitions are asked
EXPLAINED, FEWEST, ASKED = 200, 5, 20
BACKGROUND = 50  # training rows of a model that keeps none that stand for all
MAIN, OTHERS = 5, "all other columns"  # players where all coalitions are asked
#: pairs that are named: how many; the least part of what one of them adds that depends on the other
#: one; and the least size beside that of the column that adds most
PAIRS, DEPENDS, NOTICED = 4, 0.25, 0.05
SINGLE, COLUMNS, ROWS = 3, 6, 3  # rows that are explained, their columns and training rows


@dataclass(frozen=True)
class _Way:
    """How a report explains a model: by exact values, or by all coalitions of the main columns."""

    subject: Subject
    background: Any  # None: the rows that the model has kept
    exact: bool
    players: Mapping[str, list] | None

    @classmethod
    def of(cls, subject: Subject) -> _Way | None:
        """None for samples without columns, a single column, and where no row is known that
        predictions could be compared with."""
        model, X = subject.model, subject.X_test
        if not is_table(X) or sum(column.used for column in subject.found["columns"]) < 2:
            return None
        explained = explained_model(model, X, None)
        background = None
        if explained.background is None:
            if not subject.known:
                return None
            background = take(subject.X, sample_rows(len(subject.y), BACKGROUND, subject.seed))
        if is_quick(model, take(X, np.arange(1)), background):
            return cls(subject, background, True, None)
        relevance = subject.found.get("relevance")
        main = (subject.foremost if relevance is None else relevance.display.columns)[:MAIN]
        others = [column for column in explained.columns if column not in main]
        return cls(subject, background, False, {OTHERS: others} if others[1:] else None)

    def values(self, rows: np.ndarray) -> ShapleyValues:
        """The values of some held-out rows."""
        X = take(self.subject.X_test, rows)
        return shapley_values(self.subject.model, X, self.background, players=self.players)

    def pairs(self, rows: np.ndarray) -> np.ndarray:
        """Sizes of the interaction indices of some held-out rows, (rows, players, players)."""
        X = take(self.subject.X_test, rows)
        found = shapley_interactions(self.subject.model, X, self.background, players=self.players)
        return _sizes(found.values, 3)


def _sizes(values: np.ndarray, ndim: int) -> np.ndarray:
    """Sizes of values, which are (..., outputs) where there are several: their mean then."""
    return np.abs(values) if values.ndim == ndim else np.abs(values).mean(axis=-1)


@dataclass(frozen=True)
class Pair:
    """Two columns that act together; their size is that of the Shapley interaction index."""

    columns: tuple[str, str]
    size: float

    def __str__(self) -> str:
        return f"{self.columns[0]} × {self.columns[1]}"


def acting_pairs(names: list[str], values: np.ndarray, pairs: np.ndarray) -> list[Pair]:
    """The pairs that act together most, by mean sizes of values (players,) and of interaction
    indices (players, players).

    Half of an index is a part of the values of both columns, so that size / 2 over the size of a
    value is the part of it that depends on the other column.
    """
    found = []
    for j, l in combinations([j for j, name in enumerate(names) if name != OTHERS], 2):
        size, least = float(pairs[j, l]), float(min(values[j], values[l]))
        if size > max(2 * DEPENDS * least, NOTICED * float(values.max())):
            first, second = (j, l) if values[j] >= values[l] else (l, j)
            found.append(Pair((names[first], names[second]), size))
    return sorted(found, key=lambda pair: -pair.size)[:PAIRS]


@dataclass(frozen=True)
class Additions(Section):
    """What each column adds to predictions on average, and which columns act together: mean sizes
    of Shapley values and of interaction indices."""

    name, place = "additions", "why"

    columns: list[str]
    sizes: np.ndarray  # means over rows, and over outputs where there are several
    low: np.ndarray  # ends of 95% intervals over rows
    high: np.ndarray
    pairs: list[Pair]
    n_rows: int
    adds: str  # what is added to
    exact: bool  # whether no coalition had to be asked

    @classmethod
    def measured(cls, subject: Subject) -> Additions | None:
        """None where nothing can be compared, and where the time is not enough for a few rows."""
        way = _Way.of(subject)
        if way is None:
            return None
        rows = sample_rows(len(subject.y_test), EXPLAINED if way.exact else ASKED, subject.seed)

        def computed(count: int) -> tuple[ShapleyValues, np.ndarray]:
            return way.values(rows[:count]), way.pairs(rows[:count])

        count = affordable_rows(computed, len(rows), subject.clock.share(0.2), power=1, pilot=2)
        if count < min(FEWEST, len(rows)):
            return None
        found, pairs = computed(count)
        size = _sizes(found.values, 2)
        order = np.argsort(-size.mean(axis=0), kind="stable")
        means, spread = size.mean(axis=0)[order], size.std(axis=0)[order] / np.sqrt(count)
        names = [found.feature_names[j] for j in order]
        return cls(
            names, means, np.maximum(means - Z95 * spread, 0), means + Z95 * spread,
            acting_pairs(names, means, pairs.mean(axis=0)[np.ix_(order, order)]), count,
            _added_to(subject, "a class"), way.exact,
        )  # fmt: skip

    def drawn(self, report: ReportData) -> dict[str, Any]:
        """Bars and whiskers in percent of the width of their track; those of pairs as well."""
        most = max(float(self.high.max()), *(pair.size for pair in self.pairs), 0.0)
        axis = Axis(0.0, most or 1.0, 0, 100)
        ends = zip(self.sizes.tolist(), self.low.tolist(), self.high.tolist())
        columns = [
            _bar(name, axis, 0.0, size) | {"whisker": (axis.at(low), axis.at(high))}
            for name, (size, low, high) in zip(self.columns, ends)
        ]
        pairs = [_bar(str(pair), axis, 0.0, pair.size) for pair in self.pairs]
        return {"zero": 0, "rows": columns, "pairs": pairs}

    def lines(self) -> list[str]:
        if not self.pairs:
            return []
        named = ", ".join(f"{' and '.join(p.columns)} ({brief(p.size)})" for p in self.pairs)
        return [f"Columns that act together, by what both add to {self.adds} beyond each: {named}."]

    def numbers(self) -> dict[str, Any]:
        return {self.name: attributes(self, "columns sizes low high pairs n_rows adds exact")}


def _bar(name: str, axis: Axis, start: float, end: float, signed: bool = False) -> dict[str, Any]:
    """A bar of a track from one value to another."""
    a, b = sorted((axis.at(start), axis.at(end)))
    text = f"{end - start:{'+' if signed else ''}.3g}".replace("-", "−")
    less = signed and end < start
    return {"name": name, "text": text, "left": a, "width": round(b - a, 2), "whisker": None,
            "less": less}  # fmt: skip


@dataclass(frozen=True)
class Spoken:
    """A training row that speaks for a prediction, or against it."""

    row: int  # its number, from 0
    target: str
    share: float  # of the sum of what all stored rows say; below 0 if it is against
    cells: list[str]


@dataclass(frozen=True)
class RowReason:
    """Why a held-out row has its prediction: by columns, and by rows."""

    row: int  # its number, from 0
    truth: str
    predicted: str
    base: float  # the mean over the background, to which columns add
    columns: list[tuple[str, float]]  # what each adds, the largest first
    cells: list[str]  # in the main columns
    rows: list[Spoken]


@dataclass(frozen=True)
class ReasonSection(Several):
    """Why the rows that are predicted worst have their predictions."""

    name, place = "reasons", "parts"

    shown: list[str]  # the main columns
    adds: str
    exact: bool

    @classmethod
    def measured(cls, subject: Subject) -> ReasonSection | None:
        """None without values of rows, and where no row is wrong."""
        worst = subject.found["worst"][:SINGLE]
        way = _Way.of(subject) if worst and subject.values else None
        if way is None:
            return None
        held_out = {int(number): i for i, number in enumerate(subject.numbers(True))}
        some = np.array([held_out[each.row] for each in worst])
        found = subject.clock.share(0.1).within(lambda _: way.values(some))
        if found is None:
            return None
        spoken = _spoken(subject, some)
        answers, several = subject.predicted[some], found.values.ndim == 3
        reasons = []
        for i, each in enumerate(worst):
            values, base, sign = found.values[i], found.base_values[i], 1.0
            if subject.classes is not None:
                chosen = int(answers[i].argmax())
                if several:
                    values, base = values[:, chosen], base[chosen]
                elif chosen == 0:
                    sign = -1.0
            added = list(zip(found.feature_names, (sign * values).tolist()))
            added.sort(key=lambda pair: -abs(pair[1]))
            reasons.append(RowReason(
                each.row, each.truth, each.predicted, sign * float(base), added, each.cells,
                spoken[i],
            ))  # fmt: skip
        shown = subject.found["worst"].columns
        return cls(reasons, shown, _added_to(subject, "the predicted class"), way.exact)

    def drawn(self, report: ReportData) -> list[dict[str, Any]]:
        """For each row the bars of its main columns, in percent of the width of their track."""
        found = []
        for reason in self:
            shown = reason.columns[:COLUMNS]
            rest = [value for _, value in reason.columns[COLUMNS:]]
            if rest:
                shown = [*shown, (f"{len(rest)} more columns" if rest[1:] else
                                  reason.columns[-1][0], sum(rest))]  # fmt: skip
            values = [0.0, *(value for _, value in shown)]
            axis = Axis(min(values), max(values) if max(values) > min(values) else 1.0, 0, 100)
            bars = [_bar(name, axis, 0.0, value, signed=True) for name, value in shown]
            answer = reason.base + sum(value for _, value in reason.columns)
            found.append({"zero": axis.at(0.0), "rows": bars, "answer": brief(answer)})
        return found

    def without_values(self, report: object) -> None:
        return None


def _added_to(subject: Subject, named: str) -> str:
    """What columns add to."""
    if subject.classes is None:
        return "the prediction"
    return f"the {'log-odds' if subject.automatic else 'output of the model for'} of {named}"


def _spoken(subject: Subject, some: np.ndarray) -> list[list[Spoken]]:
    """The training rows that speak most for the answers of some held-out rows, and against them."""
    if not (subject.automatic and subject.known):
        return [[] for _ in some]
    found = subject.model.reasons(take(subject.X_test, some), ROWS)
    if found.kind == "columns":  # a machine that has kept no rows
        return [[] for _ in some]
    numbers, y = subject.numbers(False), subject.y
    rows = np.hstack([found.rows, found.against[:, :1]])
    shares = np.hstack([found.shares, -found.against_shares[:, :1]])
    cells = rows_of(subject.model, subject.X)
    main = subject.foremost[:SHOWN_COLUMNS]

    def one(row: int, share: float) -> Spoken:
        target = str(y[row]) if subject.classes is not None else brief(float(y[row]))
        return Spoken(int(numbers[row]), target, share,
                      [cell_text(cells.cells(name)[row]) for name in main])  # fmt: skip

    return [
        [one(row, share) for row, share in zip(*each) if row >= 0]
        for each in zip(rows.tolist(), shares.tolist())
    ]
