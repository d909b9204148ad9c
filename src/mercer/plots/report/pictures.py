"""Pictures of the kernel of a report: its Gram matrix, where it puts the rows, and its spectrum.

PNG files have 256 colours, and are written only with the standard library.
"""

from __future__ import annotations

import base64
import struct
import warnings
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.learners.spectral import KernelPCA
from mercer.plots.axes import BOTTOM, LEFT, RIGHT, TOP, Axis, padded
from mercer.plots.classes import COLOURS, class_codes
from mercer.plots.displays import EmbeddingDisplay, GramDisplay, SpectrumDisplay
from mercer.plots.fitted import sample_rows
from mercer.plots.report.section import Section, attributes, plain
from mercer.plots.report.subject import Subject
from mercer.threads import blas_threads

GRAM_ROWS = 300
DRAWN = 600  # points of a cloud
SHADES = 8  # colours of classes, or of the values of a target


@dataclass(frozen=True)
class Gram(Section):
    """A picture of the Gram matrix of some rows."""

    name, place = "gram", "pictures"

    display: GramDisplay

    @classmethod
    def measured(cls, subject: Subject) -> Gram:
        K, rows = subject.gram
        some = sample_rows(len(rows), GRAM_ROWS, subject.seed)
        y, classes = subject.y[rows[some]], subject.met
        return cls(GramDisplay.from_gram(K[np.ix_(some, some)], y, classes=classes))

    def drawn(self, report: Any) -> dict[str, Any]:
        """The picture, its colours, and the classes with the start and size of their blocks in
        percent."""
        found, blocks = self.display, []
        if found.classes is not None and found.sizes is not None:
            n = len(found.K)
            blocks = [
                {"name": str(name), "rows": int(size), "start": round(100 * (end - size) / n, 3),
                 "size": round(100 * size / n, 3)}
                for name, size, end in zip(found.classes, found.sizes, np.cumsum(found.sizes))
            ]  # fmt: skip
        picture = indexed_png(levels(found.K, *found.limits))
        return {
            "blocks": blocks, "png": base64.b64encode(picture).decode("ascii"),
            "gradient": ", ".join(f"rgb({r} {g} {b})" for r, g, b in ANCHORS.tolist()),
        }  # fmt: skip

    def numbers(self) -> dict[str, Any]:
        facts = attributes(self.display, "classes sizes within between limits")
        return {self.name: {"rows": len(self.display.K)} | facts}


@dataclass(frozen=True)
class Embedding(Section):
    """The rows on two axes of feature space."""

    name, place = "embedding", "pictures"

    display: EmbeddingDisplay

    @classmethod
    def measured(cls, subject: Subject) -> Embedding | None:
        """The rows on the first two axes of kernel PCA; None where there are no two."""
        K, rows = subject.gram
        axes = KernelPCA(2, kernel="precomputed", eigen_solver="dense")
        with warnings.catch_warnings(), blas_threads(1):
            # the spectrum beside it says what an indefinite kernel loses
            warnings.simplefilter("ignore", UserWarning)
            scores = axes.fit_transform(K)
        if scores.shape[1] < 2 or not np.ptp(scores, axis=0).all():
            return None
        parts = axes.explained_variance_ratio_
        first, second = (
            f"{name} axis ({100 * part:.0f}%)" for name, part in zip(("first", "second"), parts)
        )
        return cls(EmbeddingDisplay(scores, subject.y[rows], (first, second), subject.met))

    def drawn(self, report: Any) -> dict[str, Any]:
        """Rows on two axes of feature space, with the colour of their class or of their target."""
        embedding = self.display
        some = sample_rows(len(embedding.scores), DRAWN, 0)
        scores, y = embedding.scores[some], np.asarray(embedding.labels)[some]
        x, y_axis = (
            Axis(*padded(float(column.min()), float(column.max())), *ends)
            for column, ends in zip(scores.T, ((LEFT, RIGHT), (BOTTOM, TOP)))
        )
        names: list[str] = []
        if embedding.classes is None:
            low, high = np.quantile(
                y, [0.02, 0.98]
            )  # so that a few far ones do not take all colours
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
            (x.at(a), y_axis.at(b), look)
            for (a, b), look in zip(scores.tolist(), looks, strict=True)
        ]
        return {"x": x, "y": y_axis, "points": points, "names": names, "low": low, "high": high,
                "colours": COLOURS}  # fmt: skip

    def without_values(self, report: Any) -> None:
        return None

    def numbers(self) -> dict[str, Any]:
        return {self.name: {"rows": len(self.display.scores), "names": list(self.display.names)}}


@dataclass(frozen=True)
class Spectrum(Section):
    """The eigenvalues of the Gram matrix."""

    name, place = "spectrum", "pictures"

    display: SpectrumDisplay

    @classmethod
    def measured(cls, subject: Subject) -> Spectrum:
        with blas_threads(1):
            return cls(SpectrumDisplay.from_gram(subject.gram[0]))

    def drawn(self, report: Any) -> dict[str, Any]:
        """Eigenvalues against rank, both logarithmic."""
        spectrum = self.display
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

    def numbers(self) -> dict[str, Any]:
        return {self.name: {"eigenvalues": plain(self.display.eigenvalues)}}


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
