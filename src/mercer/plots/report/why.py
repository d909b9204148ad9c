"""Why a model predicts what it predicts: relevant columns, how predictions change with each, the
functions of columns that an additive machine adds up, and words of texts, found by predictions with
and without each."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.estimator import Seed
from mercer.machines import Z95
from mercer.plots.displays import Dependence, PartialDependenceDisplay, RelianceDisplay, direction
from mercer.plots.fitted import sample_rows, take
from mercer.plots.marks import LEFT, LOWER, RIGHT, TOP, Axis, padded
from mercer.plots.report.contents import ReportData
from mercer.plots.report.section import Section, Several, attributes
from mercer.plots.report.subject import Subject, is_table
from mercer.samples import Samples, SamplesLike
from mercer.tables import as_texts, column_kind, words_of
from mercer.threads import Clock, affordable_rows

NAMED = 5  # columns on the screen
LOST = 0.001  # loss of a column that is named there
NEAR = 0.05  # an axis of probabilities that comes so near to 0 or 1 reaches it
MOST, MOST_LEVELS = 6, 12  # functions that are shown, and levels of one of them
OF_LARGEST = 0.03  # part of the largest function, below which one is not shown
TEXTS = 3  # most text columns whose words are measured
ROWS = 1000  # most rows from which pieces are taken
FIRST = 100  # those that tell how long others take
FEWEST = 3  # least rows that contain a piece
PIECES, EACH = 150, 10  # most pieces that are tried, and most rows in which each is left out
SHOWN = 10  # most pieces for each answer
LETTERS = 4  # letters of a piece, in a text without words
LEAST = 0.02  # least effect that is shown, in standard deviations of the answers
WORDS = 2  # texts with fewer words on average count as texts without words


@dataclass(frozen=True)
class Relevance(Section):
    """How much of the score is lost without each column."""

    name, place = "relevance", "why"

    display: RelianceDisplay

    @classmethod
    def measured(cls, subject: Subject) -> Relevance | None:
        """None if there is nothing to compare: one column, one class, samples without columns."""
        used = sum(column.used for column in subject.found["columns"])
        if used < 2 or len(np.unique(subject.y)) < 2 or len(subject.y_test) < 2:
            return None
        return cls(RelianceDisplay.measured(
            subject.model, subject.X_test, subject.y_test, metric=subject.scorer,
            time=subject.clock.share(0.4).limit, random_state=subject.seed,
        ))  # fmt: skip

    def drawn(self, report: ReportData) -> dict[str, Any]:
        """Bars and whiskers in percent of the width of their track, and the position of 0."""
        found = self.display
        low, high = (np.nan_to_num(a) for a in (found.low, found.high))
        bottom = float(min(0, low.min(), found.loss.min()))
        # 0.005 is less than the last digit shown
        axis = Axis(bottom, float(max(high.max(), found.loss.max(), 0.005)), 0, 100)
        zero, rows = axis.at(0), []
        ends = zip(found.loss.tolist(), found.low.tolist(), found.high.tolist())
        for name, (loss, a, b) in zip(found.columns, ends):
            at = axis.at(loss)
            whisker = (axis.at(a), axis.at(b)) if a == a and b == b else None
            text = f"{100 * loss:.1f}".replace("-0.0", "0.0").replace("-", "−")
            rows.append({"name": str(name), "text": text, "loss": loss, "low": a, "high": b,
                         "left": min(at, zero), "width": round(abs(at - zero), 2),
                         "whisker": whisker})  # fmt: skip
        return {"rows": rows, "zero": zero}

    def lines(self) -> list[str]:
        found = self.display
        first = [(c, loss) for c, loss in zip(found.columns, found.loss.tolist()) if loss >= LOST]
        if found.full <= 0 or not first:
            return []
        listed = ", ".join(f"{column} {100 * loss:.1f}" for column, loss in first[:NAMED])
        said = f"Lost without a column, in percentage points of {found.measure}: {listed}."
        return [said]

    def numbers(self) -> dict[str, Any]:
        names = "columns loss low high full chance measure n_test n_columns"
        return {self.name: attributes(self.display, names)}


class Dependences(Several):
    """How predictions change with the most relevant columns that have an order or levels."""

    name, place = "dependences", "why"

    @classmethod
    def measured(cls, subject: Subject) -> Dependences:
        columns = getattr(subject.model, "columns_", [])
        objects = [c.name for c in columns if c.of.samples is not None]
        shown = [name for name in subject.foremost if name not in objects]
        if not is_table(subject.X) or not shown:
            return cls([])
        time = subject.clock.share(0.27).limit
        return cls(PartialDependenceDisplay.measured(
            subject.model, subject.X, shown, time=time, random_state=subject.seed
        ).dependences)  # fmt: skip

    def drawn(self, report: ReportData) -> list[tuple]:
        return [(each, dependence_drawing(each)) for each in self]

    def without_values(self, report: object) -> Dependences:
        return Dependences(_rounded(self.each))


def dependence_drawing(dependence: Dependence) -> dict[str, Any]:
    """Mean prediction and the range of most rows against a column: a curve, or a track a level."""
    # the mean of a rare class may be above the range of most rows
    drawn = np.stack([dependence.low, dependence.mean, dependence.high])
    low, high = padded(float(drawn.min()), float(drawn.max()))
    if dependence.answer:
        low, high = (low if low > NEAR else 0.0), (high if high < 1 - NEAR else 1.0)
    if dependence.of.levelled:
        axis = Axis(low, high, 0, 100)
        rows = [
            {"name": name, "mean": m, "at": axis.at(m), "from": axis.at(a), "to": axis.at(b)}
            for name, m, a, b in zip(
                dependence.values, dependence.mean.tolist(), dependence.low.tolist(),
                dependence.high.tolist(),
            )
        ]  # fmt: skip
        return {"rows": rows, "low": low, "high": high}
    values = np.array(dependence.values)
    if dependence.of.in_time:
        values = values.astype("datetime64[s]").astype(np.int64).astype(float)
    x, y = Axis(values[0], values[-1], LEFT, RIGHT), Axis(low, high, LOWER, TOP, count=4)
    at = [x.at(v) for v in values.tolist()]
    mean, lower, upper = (
        [y.at(v) for v in edge.tolist()] for edge in (dependence.mean, dependence.low,
                                                      dependence.high)
    )  # fmt: skip
    ends = [str(v)[:10] for v in (dependence.values[0], dependence.values[-1])]
    return {
        "x": x, "y": y, "line": list(zip(at, mean)),
        "band": [*zip(at, upper), *zip(at[::-1], lower[::-1])],
        "ends": ends if dependence.of.in_time else None,
    }  # fmt: skip


@dataclass(frozen=True)
class ShapeSection(Section):
    """What is shown of an additive machine.

    Attributes
    ----------
    functions : list of Dependence
        The largest functions of single columns, with 95% intervals.
    pairs : list of str
        The pairs of columns with the largest functions.
    adds : str
        What they add to.
    alone : bool
        Whether the model is this machine alone.
    """

    name, place = "shapes", "why"

    functions: list[Dependence]
    pairs: list[str]
    adds: str
    alone: bool

    @classmethod
    def measured(cls, subject: Subject) -> ShapeSection | None:
        """None if there is no additive machine in the model."""
        model = subject.kept[0]
        parts = model.machine_.parts if hasattr(model, "machine_") else ()
        additive = [part for part in parts if part.kind == "columns"]
        if not additive:
            return None
        shapes, surfaces = additive[0].shapes(model.encoder_)
        least = OF_LARGEST * max(shape.strength for shape in shapes)
        functions = [_function(s) for s in _strongest(shapes) if s.strength > least]
        pairs = [surface.name for surface in _strongest(surfaces)]
        return cls(functions, pairs, _adds(model), len(parts) == 1)

    def drawn(self, report: object) -> list[tuple]:
        return [(each, dependence_drawing(each)) for each in self.functions]

    def without_values(self, report: object) -> ShapeSection:
        return replace(self, functions=_rounded(self.functions))


def _rounded(dependences: list[Dependence]) -> list[Dependence]:
    """Those of numbers, with values of two digits, which are no cells any more."""
    return [
        replace(each, values=[float(f"{value:.2g}") for value in each.values])
        for each in dependences if each.of.numeric
    ]  # fmt: skip


def _strongest(parts: list) -> list:
    return sorted(parts, key=lambda part: -part.strength)[:MOST]


def _function(shape: Any) -> Dependence:
    """The function of a column of an additive machine, as it is drawn."""
    known = np.flatnonzero(shape.counts[: len(shape.levels)] > 0)
    if not shape.ordered:  # the most frequent levels
        known = np.sort(known[np.argsort(-shape.counts[known], kind="stable")[:MOST_LEVELS]])
    values, errors = shape.values[known, 0], Z95 * shape.errors[known, 0]
    levels = [shape.levels[i] for i in known]
    kind = "number" if shape.ordered else "category"
    said = direction(column_kind(kind), levels, values)
    return Dependence(
        shape.column, "", kind, levels, values, values - errors, values + errors, said
    )


def _adds(model: Any) -> str:
    """What the functions of an additive machine add to, in words."""
    classes, scale = getattr(model, "classes_", None), getattr(model, "target_scale_", None)
    if classes is not None:
        return f"to the log-odds of {classes[-1]}"
    if scale is not None and scale.name:
        return f"to the prediction on the scale {scale.name}"
    return "to the prediction"


class Texts(Several):
    """The words that matter in the first text columns that a model of a table uses."""

    name, place = "texts", "why"

    @classmethod
    def measured(cls, subject: Subject) -> Texts:
        model, X, clock = subject.model, subject.X, subject.clock.share(0.45)
        if not subject.values or not hasattr(model, "encoder_") or not is_table(X):
            return cls([])
        spoken = {f.source for f in model.encoder_.features_ if f.kind == "characters"}
        names = [c.name for c in model.columns_ if c.name in spoken][:TEXTS]
        found = [
            text_pieces(model, X, name, subject.seed, clock.share(1 / (len(names) - place)))
            for place, name in enumerate(names) if clock.left()
        ]  # fmt: skip
        return cls([pieces for pieces in found if pieces is not None])

    def lines(self) -> list[str]:
        found = []
        for text in self:
            found.append(f"\nWhich {text.noun} of {text.column} speak for what:")
            found += [f"  {sentence}" for sentence in text.sentences()]
        return found


@dataclass(frozen=True)
class TextPiece:
    """A word, or a few letters, and its effect on the prediction."""

    text: str
    rows: int  # number of rows of the sample that contain it
    towards: str  # the class that it makes more probable; for a number "more" or "less"
    effect: float  # mean change of the prediction, in log-odds of that class or units of the number


@dataclass(frozen=True)
class TextPieces:
    """The pieces of a column that change the predictions most, grouped by ``towards``."""

    column: str
    noun: str
    rows: int
    pieces: list[TextPiece]

    def sentences(self, most: int = 6) -> list[str]:
        """For each answer, the pieces with the largest effects towards it."""
        found: dict[str, list[str]] = {}
        for piece in self.pieces:
            found.setdefault(piece.towards, []).append(piece.text)
        return [f"{towards}: {', '.join(texts[:most])}" for towards, texts in found.items()]


def text_pieces(
    model: Any, X: Samples, column: object, random_state: Seed = 0, clock: Clock | None = None
) -> TextPieces | None:
    """The effects of the most frequent words of a text column on the predictions of a model.

    Each word is left out of up to 10 texts that contain it, of at most 1,000 random rows. In texts
    without words, such as DNA, runs of 4 letters are replaced by a letter that occurs nowhere else.
    A clock leaves fewer texts and words, where a prediction takes long. Returns None if no word is
    in 3 texts, or if no word changes a prediction.
    """
    table = model.encode_table(take(X, sample_rows(X.shape[0], ROWS, random_state)))
    texts = as_texts(table.columns[column], column)

    first = _spread(len(texts), FIRST)
    known: dict[int, np.ndarray] = {}  # what is predicted for each row

    def read(rows: np.ndarray) -> None:
        known.update(zip(rows.tolist(), _answers(model, table[rows])))

    most = affordable_rows(
        lambda _: read(first), PIECES * EACH, clock or Clock(), power=1, pilot=len(first)
    )
    some = np.union1d(list(known), _spread(len(texts), most - len(known))).astype(int)
    if rest := sorted({*some.tolist()} - {*known}):
        read(np.array(rest))
    before = np.stack([known[i] for i in some.tolist()])
    table, texts = table[some], [texts[i] for i in some]
    found = [set(words_of(text)) for text in texts]
    spoken = sum(map(len, found)) >= WORDS * len(found)
    if not spoken:
        found = [{t[i : i + LETTERS] for i in range(len(t) - LETTERS + 1)} for t in texts]
    holders: dict[str, list[int]] = {}
    for i, pieces in enumerate(found):
        for piece in pieces:
            holders.setdefault(piece, []).append(i)
    counts = Counter({piece: len(rows) for piece, rows in holders.items() if len(rows) >= FEWEST})
    tried = sorted(counts, key=lambda piece: (-counts[piece], piece))[: most // EACH]
    if not tried:
        return None
    rows = np.array([i for piece in tried for i in holders[piece][:EACH]])
    owners = np.array([j for j, piece in enumerate(tried) for _ in holders[piece][:EACH]])
    without = [_without(texts[i], tried[j], spoken) for i, j in zip(rows, owners)]
    least = LEAST * max(float(before.std()), 1e-12)
    change = before[rows] - _answers(model, table[rows].replaced(column, np.array(without, object)))
    effects = np.stack([change[owners == j].mean(axis=0) for j in range(len(tried))])
    names = _names(model)
    best = effects.argmax(axis=1)
    pieces = [
        TextPiece(piece, counts[piece], names[c], float(effects[j, c]))
        for j, (piece, c) in enumerate(zip(tried, best))
        if effects[j, c] > least
    ]
    pieces.sort(key=lambda piece: -piece.effect)
    kept = [p for name in names for p in [p for p in pieces if p.towards == name][:SHOWN]]
    noun = "words" if spoken else f"runs of {LETTERS} letters"
    return TextPieces(str(column), noun, len(texts), kept) if kept else None


def _spread(n: int, count: int) -> np.ndarray:
    """So many rows of n, or all, at equal distances."""
    return np.linspace(0, n - 1, min(count, n)).astype(int)


def _names(model: Any) -> list[str]:
    return [str(c) for c in model.classes_] if hasattr(model, "classes_") else ["more", "less"]


def _answers(model: Any, X: SamplesLike) -> np.ndarray:
    """The log-odds of each class, or the predicted number and its negative; (n, answers)."""
    if not hasattr(model, "predict_proba"):
        f = np.asarray(model.predict(X))
        return np.stack([f, -f], axis=1)
    P = np.clip(model.predict_proba(X), 1e-12, 1 - 1e-12)
    return np.log(P) - np.log1p(-P)


def _without(text: str, piece: str, spoken: bool) -> str:
    if not spoken:
        return text.replace(piece, "\0" * len(piece))
    bounded = rf"(?<!\w){re.escape(piece)}(?!\w)" if piece[0].isalnum() else re.escape(piece)
    return re.sub(bounded, "", text, flags=re.IGNORECASE)
