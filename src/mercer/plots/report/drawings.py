"""Positions of the marks in the report's figures, which the template draws; its pictures as PNG.

A drawing is 360 units wide, the text width on a phone, so that its letters are never made smaller.
``x`` and ``y`` are axes; marks have positions in drawing units. PNG files have 256 colours, and are
written only with the standard library.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from mercer.plots.axes import Axis, padded
from mercer.plots.classes import class_codes
from mercer.plots.displays import Dependence, EmbeddingDisplay, RelianceDisplay, SpectrumDisplay
from mercer.plots.fitted import sample_rows
from mercer.plots.report.advice import LearningCurve
from mercer.plots.report.contents import ColumnSummary, Contender, Score, TargetSummary
from mercer.plots.report.failures import Calibration, Confusion, Rates, Residuals

DRAWN = 600  # points of a cloud
SHADES = 8  # colours of classes, or of the values of a target
LEFT, RIGHT, TOP, BOTTOM = 50, 348, 30, 206
LOWER = 146  # the bottom of a low chart
NEAR = 0.05  # an axis of probabilities that comes so near to 0 or 1 reaches it


def spectrum_drawing(spectrum: SpectrumDisplay) -> dict[str, Any]:
    """Eigenvalues against rank, both logarithmic."""
    values = spectrum.visible
    if not len(values):  # K = 0
        values = np.ones(1)
    x = Axis(1, max(len(values), 10), LEFT, RIGHT, log=True)
    low = 10.0 ** np.floor(np.log10(values[-1]))
    high = 10.0 ** np.ceil(np.log10(values[0]) + 1e-12)
    y = Axis(low, high if high > low else 10 * low, BOTTOM, TOP, log=True)
    ranks = np.arange(1, len(values) + 1)
    # a rank is not drawn if it is less than half a unit from the one before
    steps = np.floor(2 * np.log10(ranks) / np.log10(x.high) * (RIGHT - LEFT))
    drawn = np.flatnonzero(np.diff(steps, prepend=-1, append=np.inf)[:-1] > 0)
    points = [(x.at(ranks[i]), y.at(values[i]), ranks[i], values[i]) for i in drawn]
    marks = [(share, spectrum.rank(share)) for share in (0.5, 0.9, 0.99)]
    return {
        "x": x,
        "y": y,
        "points": points,
        "marks": [(share, r, x.at(r)) for share, r in marks if r <= len(values)],
    }


def calibration_drawing(calibration: Calibration) -> dict[str, Any]:
    """Observed share against predicted probability, with intervals and numbers of rows.

    Both axes go from 0 to 1; if all values are low, to the next round number.
    """
    most = float(max(calibration.predicted.max(), calibration.high.max()))
    unit = 10.0 ** np.floor(np.log10(max(most, 1e-6)))
    end = 1.0 if most > 0.5 else float(unit * np.ceil(most / unit))
    x, y = Axis(0, end, LEFT, RIGHT), Axis(0, end, BOTTOM, TOP)
    most = calibration.counts.max()
    points = [
        {
            "x": x.at(p), "y": y.at(o), "low": y.at(low), "high": y.at(high),
            "r": round(2.5 + 4 * float(np.sqrt(n / most)), 2),
            "predicted": p, "observed": o, "rows": n,
        }
        for p, o, low, high, n in zip(
            calibration.predicted.tolist(), calibration.observed.tolist(),
            np.clip(calibration.low, 0, end).tolist(), np.clip(calibration.high, 0, end).tolist(),
            calibration.counts.tolist(),
        )
    ]  # fmt: skip
    return {"x": x, "y": y, "points": points}


def residuals_drawing(residuals: Residuals) -> dict[str, Any]:
    """Residual against prediction."""
    p, r = residuals.predicted, residuals.residual
    reach = float(np.abs(r).max(initial=0)) or 1.0
    x = Axis(*(padded(float(p.min()), float(p.max())) if len(p) else (0.0, 1.0)), LEFT, RIGHT)
    y = Axis(-1.05 * reach, 1.05 * reach, BOTTOM, TOP)
    points = [(x.at(a), y.at(b)) for a, b in zip(p.tolist(), r.tolist())]
    band = y.at(min(residuals.most, y.high)), y.at(max(-residuals.most, y.low))
    return {"x": x, "y": y, "points": points, "zero": y.at(0), "band": band}


def embedding_drawing(embedding: EmbeddingDisplay) -> dict[str, Any]:
    """Rows on two axes of feature space, with the colour of their class or of their target."""
    some = sample_rows(len(embedding.scores), DRAWN, 0)
    scores, y = embedding.scores[some], np.asarray(embedding.labels)[some]
    x, y_axis = (
        Axis(*padded(float(column.min()), float(column.max())), *ends)
        for column, ends in zip(scores.T, ((LEFT, RIGHT), (BOTTOM, TOP)))
    )
    names: list[str] = []
    if embedding.classes is None:
        low, high = np.quantile(y, [0.02, 0.98])  # so that a few far ones do not take all colours
        looks = [f"v{v}" for v in (levels(y, low, high).astype(int) * SHADES // 256).tolist()]
    else:
        low = high = 0.0
        codes = class_codes(y, embedding.classes, "labels")
        counts = np.bincount(codes, minlength=len(embedding.classes))
        shown = SHADES if len(counts) <= SHADES else SHADES - 1
        often = np.argsort(-counts, kind="stable")[:shown]
        place = np.full(len(counts), shown)  # the last colour is that of all others
        place[often] = np.arange(len(often))
        looks = [f"c{place[c]}" for c in codes.tolist()]
        names = [str(embedding.classes[c]) for c in often]
        names += [f"{len(counts) - len(names)} others"] if len(counts) > len(names) else []
    points = [
        (x.at(a), y_axis.at(b), look) for (a, b), look in zip(scores.tolist(), looks, strict=True)
    ]
    return {"x": x, "y": y_axis, "points": points, "names": names, "low": low, "high": high}


def histogram_drawing(target: TargetSummary) -> dict[str, Any]:
    """Number of rows in each interval of a numeric target."""
    assert target.edges is not None
    edges = target.edges.tolist()
    x = Axis(edges[0], edges[-1], LEFT, RIGHT)
    y = Axis(0, max(1.05 * float(target.counts.max()), 1.0), BOTTOM, TOP, count=4, whole=True)
    bars = [
        {"x": x.at(a), "width": round(max(x.at(b) - x.at(a) - 1, 0.5), 2), "y": y.at(n),
         "height": round(BOTTOM - y.at(n), 2), "low": a, "high": b, "rows": n}
        for a, b, n in zip(edges, edges[1:], target.counts.tolist())
    ]  # fmt: skip
    return {"x": x, "y": y, "bars": bars}


def confusion_drawing(confusion: Confusion) -> dict[str, Any]:
    """Cells of a confusion matrix that is too large for numbers, without the empty cells."""
    k = len(confusion.classes)
    size, totals = 300 / k, np.maximum(confusion.matrix.sum(axis=1), 1)
    cells = [
        {"x": round(36 + j * size, 2), "y": round(30 + i * size, 2),
         "share": round(float(confusion.matrix[i, j] / totals[i]), 3),
         "rows": int(confusion.matrix[i, j]), "true": i, "predicted": j}
        for i, j in np.argwhere(confusion.matrix).tolist()
    ]  # fmt: skip
    every = -(-k // 20)
    labels = confusion.labels
    ticks = [(labels[i], round((i + 0.5) * size, 2)) for i in range(0, k, every)]
    return {"cells": cells, "size": round(size, 2), "ticks": ticks}


def score_tracks(contenders: list[Contender], score: Score) -> dict[str, Any]:
    """Held-out scores of the winner and the baselines on one scale, in percent of its width."""
    shown = [c for c in contenders if c.unseen is not None and c.unseen.value == c.unseen.value]
    order = {"winner": 0, "linear": 1, "trivial": 2}
    shown.sort(key=lambda c: order.get(c.role, 3))
    scores = [c.unseen for c in shown if c.unseen]
    ends = [v for s in scores for v in (s.value, s.low, s.high) if v == v]
    if not ends:
        return {"rows": [], "low": 0.0, "high": 1.0}
    low, high = padded(min(ends), max(ends))
    if score.metric in ("accuracy", "balanced_accuracy", "roc_auc", "f1"):
        low, high = max(low, 0.0), min(high, 1.0)
        if not high > low:
            low = high - 0.1
    axis = Axis(low, high, 0, 100)
    rows = [
        {"contender": c, "at": axis.at(s.value), "from": axis.at(max(s.low, low)),
         "to": axis.at(min(s.high, high))}
        for c, s in zip(shown, scores)
    ]  # fmt: skip
    return {"rows": rows, "low": low, "high": high}


def relevance_tracks(relevance: RelianceDisplay) -> dict[str, Any]:
    """Bars and whiskers in percent of the width of their track, and the position of 0."""
    low, high = (np.nan_to_num(a) for a in (relevance.low, relevance.high))
    bottom = float(min(0, low.min(), relevance.loss.min()))
    top = float(
        max(high.max(), relevance.loss.max(), 0.005)
    )  # 0.005 is less than the last digit shown
    axis = Axis(bottom, top, 0, 100)
    zero = axis.at(0)
    rows = []
    for name, loss, a, b in zip(
        relevance.columns, relevance.loss.tolist(), relevance.low.tolist(), relevance.high.tolist()
    ):
        at = axis.at(loss)
        whisker = (axis.at(a), axis.at(b)) if a == a and b == b else None
        rows.append({"name": str(name), "loss": loss, "low": a, "high": b, "left": min(at, zero),
                     "width": round(abs(at - zero), 2), "whisker": whisker})  # fmt: skip
    return {"rows": rows, "zero": zero}


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


def rates_drawing(rates: Rates) -> dict[str, Any]:
    """The receiver operating curve and the precision-recall curve."""
    x, y = Axis(0, 1, LEFT, RIGHT), Axis(0, 1, BOTTOM, TOP)

    def line(a: np.ndarray, b: np.ndarray) -> list[tuple[float, float]]:
        return [(x.at(u), y.at(v)) for u, v in zip(a.tolist(), b.tolist())]

    return {
        "x": x, "y": y, "roc": line(rates.false_alarms, rates.hits),
        "precision": line(rates.recall, rates.precision), "chance": y.at(rates.share),
    }  # fmt: skip


def learning_drawing(learning: LearningCurve, score: Score) -> dict[str, Any]:
    """The score against the number of training rows, with the interval of the last score."""
    low, high = padded(
        float(min(learning.score.min(), score.low)), float(max(learning.score.max(), score.high))
    )
    x = Axis(0, 1.05 * float(learning.rows[-1]), LEFT, RIGHT, count=4, whole=True)
    y = Axis(low, high, BOTTOM, TOP)
    points = [(x.at(n), y.at(v)) for n, v in zip(learning.rows.tolist(), learning.score.tolist())]
    return {"x": x, "y": y, "points": points, "low": y.at(score.low), "high": y.at(score.high)}


def curve_points(column: ColumnSummary) -> list[tuple[float, float]]:
    """The mean curve (x, y) of a column of series in a box of 96 x 24."""
    low, high = min(column.curve), max(column.curve)
    step, unit = 96 / (len(column.curve) - 1), 20 / (high - low) if high > low else 0.0
    return [
        (round(step * i, 2), round(22 - unit * (value - low), 2) if unit else 12.0)
        for i, value in enumerate(column.curve)
    ]


def sparkline(column: ColumnSummary) -> list[tuple[float, float, float]]:
    """Bars (x, y, height) of a column's distribution in a box of 96 x 24."""
    if not column.counts:
        return []
    most = max(column.counts)
    heights = [round(22 * n / most, 2) if most else 0.0 for n in column.counts]
    return [(8.0 * i, round(24 - max(h, 0.5), 2), max(h, 0.5)) for i, h in enumerate(heights)]


#: colours of cividis, which looks the same to colour-blind readers (Nuñez et al., PLOS ONE 2018)
ANCHORS = np.array([
    (0, 32, 77), (0, 48, 111), (57, 72, 107), (92, 99, 109), (123, 123, 120),
    (156, 148, 118), (192, 175, 107), (229, 205, 84), (255, 234, 70),
])  # fmt: skip
AT = np.linspace(0, len(ANCHORS) - 1, 256)
PALETTE = np.stack(
    [np.interp(AT, np.arange(len(ANCHORS)), channel) for channel in ANCHORS.T], axis=1
)
PALETTE = PALETTE.round().astype(np.uint8)


def levels(K: np.ndarray, low: float, high: float) -> np.ndarray:
    """Values as levels 0 (low and below) to 255 (high and above)."""
    scale = 255 / (high - low) if high > low else 0.0
    return np.clip(np.rint((K - low) * scale), 0, 255).astype(np.uint8)


def indexed_png(pixels: np.ndarray) -> bytes:
    """A PNG image of ``pixels`` of shape (height, width), each an index into `PALETTE`.

    Examples
    --------
    >>> indexed_png(np.zeros((2, 3), np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    height, width = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    rows = np.hstack([np.zeros((height, 1), np.uint8), pixels.astype(np.uint8)])  # filter 0
    chunks = [(b"IHDR", header), (b"PLTE", PALETTE.tobytes()),
              (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")]  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )
