"""What single words and columns add: words of a text that change a prediction, found by predictions
with and without each, and the functions of columns that an additive machine adds up."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.machines import Z95
from mercer.plots.displays import Dependence, direction
from mercer.plots.fitted import sample_rows, take
from mercer.tables import as_texts, column_kind, words_of
from mercer.threads import Clock, affordable_rows

ROWS = 1000  # most rows from which pieces are taken
FEWEST = 3  # least rows that contain a piece
PIECES, EACH = 150, 10  # most pieces that are tried, and most rows in which each is left out
SHOWN = 10  # most pieces for each answer
LETTERS = 4  # letters of a piece, in a text without words
LEAST = 0.02  # least effect that is shown, in standard deviations of the answers
WORDS = 2  # texts with fewer words on average count as texts without words


@dataclass(frozen=True)
class Piece:
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
    pieces: list[Piece]

    def sentences(self, most: int = 6) -> list[str]:
        """For each answer, the pieces with the largest effects towards it."""
        found: dict[str, list[str]] = {}
        for piece in self.pieces:
            found.setdefault(piece.towards, []).append(piece.text)
        return [f"{towards}: {', '.join(texts[:most])}" for towards, texts in found.items()]


def text_pieces(
    model: Any, X: Any, column: Any, random_state: Any = 0, clock: Clock | None = None
) -> TextPieces | None:
    """The effects of the most frequent words of a text column on the predictions of a model.

    Each word is left out of up to 10 texts that contain it, of at most 1,000 random rows. In texts
    without words, such as DNA, runs of 4 letters are replaced by a letter that occurs nowhere else.
    A clock leaves fewer texts and words, where a prediction takes long. Returns None if no word is
    in 3 texts, or if no word changes a prediction.
    """
    table = model.encode_table(take(X, sample_rows(X.shape[0], ROWS, random_state)))
    texts = as_texts(table.columns[column], column)

    def read(count: int) -> np.ndarray:
        rows = np.arange(count) % len(texts)
        return _answers(model, table[rows].replaced(column, np.array(texts, object)[rows]))

    most = affordable_rows(read, PIECES * EACH, clock or Clock(), power=1)
    some = np.linspace(0, len(texts) - 1, min(most, len(texts))).astype(int)
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
    before = _answers(model, table)
    least = LEAST * max(float(before.std()), 1e-12)
    change = before[rows] - _answers(model, table[rows].replaced(column, np.array(without, object)))
    effects = np.stack([change[owners == j].mean(axis=0) for j in range(len(tried))])
    names = _names(model)
    best = effects.argmax(axis=1)
    pieces = [
        Piece(piece, counts[piece], names[c], float(effects[j, c]))
        for j, (piece, c) in enumerate(zip(tried, best))
        if effects[j, c] > least
    ]
    pieces.sort(key=lambda piece: -piece.effect)
    kept = [p for name in names for p in [p for p in pieces if p.towards == name][:SHOWN]]
    noun = "words" if spoken else f"runs of {LETTERS} letters"
    return TextPieces(str(column), noun, len(texts), kept) if kept else None


def _names(model: Any) -> list[str]:
    return [str(c) for c in model.classes_] if hasattr(model, "classes_") else ["more", "less"]


def _answers(model: Any, X: Any) -> np.ndarray:
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


MOST, MOST_LEVELS = 6, 12  # functions that are shown, and levels of one of them
LEAST = 0.03  # of the largest one, below which a function is not shown


@dataclass(frozen=True)
class AddedShapes:
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

    functions: list[Dependence]
    pairs: list[str]
    adds: str
    alone: bool


def added_shapes(model: Any) -> AddedShapes | None:
    """The functions of the additive machine in an automatic estimator; None if it has none."""
    parts = model.machine_.parts if hasattr(model, "machine_") else ()
    additive = [part for part in parts if part.kind == "columns"]
    if not additive:
        return None
    shapes, surfaces = additive[0].shapes(model.encoder_)
    largest = max(shape.strength for shape in shapes)
    shapes = [s for s in _strongest(shapes) if s.strength > LEAST * largest]
    pairs = [surface.name for surface in _strongest(surfaces)]
    return AddedShapes([_drawn(shape) for shape in shapes], pairs, _adds(model), len(parts) == 1)


def _strongest(parts: list) -> list:
    return sorted(parts, key=lambda part: -part.strength)[:MOST]


def _drawn(shape: Any) -> Dependence:
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
    classes, scale = getattr(model, "classes_", None), getattr(model, "target_scale_", None)
    if classes is not None:
        return f"to the log-odds of {classes[-1]}"
    if scale is not None and scale.name:
        return f"to the prediction on the scale {scale.name}"
    return "to the prediction"
