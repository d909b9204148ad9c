"""The kernel of a report in words, for readers who know no kernels, in mathematical notation and in
pictures: its Gram matrix, where it puts the rows, and its spectrum.

PNG files have 256 colours, and are written only with the standard library.
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.distances import Comparison, MappedMinkowski, Meaning
from mercer.kernels import Kernel, TableKernel
from mercer.learners.neighbours import NeighbourEmbedding
from mercer.plots.displays import EmbeddingDisplay, GramDisplay, SpectrumDisplay
from mercer.plots.fitted import (
    bound_kernel,
    is_precomputed,
    kernel_machine,
    sample_gram,
    sample_rows,
)
from mercer.plots.marks import BOTTOM, COLOURS, LEFT, RIGHT, TOP, Axis, class_codes, padded
from mercer.plots.report.contents import ReportData
from mercer.plots.report.section import Section, Several, attributes, plain
from mercer.plots.report.subject import Subject
from mercer.samples import is_number
from mercer.spoken import spoken
from mercer.threads import affordable_rows, blas_threads

SYMBOLS = {"gamma": "γ", "coef0": "c", "length_scale": "ℓ", "scale": "σ", "nu": "ν", "alpha": "α",
           "decay": "λ"}  # fmt: skip
BRACES = re.compile(r"\{(\w+)\}")  # what a formula or a sentence fills in
POWER = re.compile(r"\^([123])(?![\w.])")
SUPERSCRIPTS = {"1": "", "2": "²", "3": "³"}
MOST_NAMED = 3  # items of a list that are written out; of more, the first and the last
MOST_SHARES = 6  # columns whose shares of a learnt map are named

#: how the encoder of the automatic estimators passes a number to the kernel
SCALES = {
    "rank": "A number is replaced by its rank among the training rows, scaled to unit variance.",
    "scaled": "From a number its mean is subtracted; then it is divided by its standard deviation.",
    "normal": "A number is replaced by the value of a standard normal variable of the same rank.",
    "level": "An integer of few values is a category too.",
}


@dataclass(frozen=True)
class KernelWords:
    """The explanation of a kernel."""

    formula: str  # k(x, z) in Unicode mathematics
    meaning: str  # one or two sentences
    parameters: list[tuple[str, str]] = field(default_factory=list)
    #: the parts of a kernel of tables: ``columns``, ``formula``, ``weight`` (None if parts have no
    #: weights), and ``map``, a sentence about the learnt map of these columns, or ""
    parts: list[dict] = field(default_factory=list)
    code: str = ""  # the kernel as Python code


def kernel_words(kernel: Kernel, label: Callable[[Any], str] = str) -> KernelWords:
    """Explain a bound kernel.

    ``label`` gives the name of a column for the reader, from its name in the kernel.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> words = kernel_words(RBF(0.5))
    >>> words.formula, words.parameters
    ('exp(−γ ‖x − z‖²)', [('γ', '0.5')])
    """
    code = repr(kernel) if len(repr(kernel)) <= 2000 else ""
    given = (kernel.parts or []) if isinstance(kernel, TableKernel) else []
    if isinstance(kernel, TableKernel) and kernel.combine == "product" and len(given) == 1:
        part, columns = given[0]
        words, names = kernel_words(part), [label(c) for c in columns]
        reads = (
            f"It reads {len(names)} columns together" if len(names) > 1 else "It reads one column"
        )
        named = names if len(names) <= 12 else [*names[:12], f"and {len(names) - 12} more"]
        meaning = f"{words.meaning} {reads}: {', '.join(named)}. {_map_words(part, names)}".strip()
        return replace(words, meaning=meaning, code=code)
    formula, meaning = _filled(kernel, "formula"), f"Similarity is {_filled(kernel, 'words')}."
    if isinstance(kernel, TableKernel) and kernel.parts:
        weights = [None] * len(kernel.parts)
        if kernel.combine != "product":
            given = kernel.weights
            weights = np.ones(len(kernel.parts)) if given is None else np.asarray(given, float)
        parts = [
            {
                "columns": [label(c) for c in columns],
                "formula": _with_values(part, "formula" if len(columns) > 1 else "alone"),
                "weight": None if weight is None else float(weight),
                "map": _map_words(part, [label(c) for c in columns]),
            }
            for (part, columns), weight in zip(kernel.parts, weights)
        ]
        if kernel.combine != "product":
            parts.sort(key=lambda part: -part["weight"])
        return KernelWords(formula, meaning, [], parts, code)
    return KernelWords(formula, meaning, _parameters(kernel), [], code)


def _says(told: Comparison) -> Meaning:
    return told.meaning or Meaning.of_class(type(told))


def _filled(told: Comparison, part: str) -> str:
    """The formula (also for a single column: "alone") or the words of a kernel or a distance."""
    says = _says(told)
    text = getattr(says, part) or says.formula
    text = BRACES.sub(lambda name: _value(getattr(told, name[1]), part), text)
    return POWER.sub(lambda power: SUPERSCRIPTS[power[1]], text)


def _value(value: Any, part: str) -> str:
    """What stands in the place of the name of an attribute."""
    if isinstance(value, Comparison):
        return _filled(value, part)
    if is_number(value):
        return spoken(float(value), 4, "−")
    if isinstance(value, str):
        return value
    values = [_value(item, part) for item in value]
    if len(values) > MOST_NAMED:
        values = [f"{values[0]} … {values[-1]} ({len(values)} in all)"]
    return (", " if isinstance(value[0], str) else "; ").join(values)


def _parameters(kernel: Comparison, prefix: str = "") -> list[tuple[str, str]]:
    """The numbers that the formula does not show, by symbol or name."""
    out, shown = [], BRACES.findall(_says(kernel).formula)
    for name, value in kernel.get_params(deep=False).items():
        if isinstance(value, Kernel):
            out += _parameters(value, f"{prefix}{name} ")
        elif is_number(value) and name not in shown:
            out.append((f"{prefix}{SYMBOLS.get(name, name)}", spoken(float(value), 4, "−")))
    return out


def _with_values(kernel: Kernel, part: str) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in _parameters(kernel))
    return _filled(kernel, part) + (f", {values}" if values else "")


def _learnt_map(kernel: Kernel) -> MappedMinkowski | None:
    """The metric of a kernel that maps the columns first; None without one."""
    metric = kernel.get_params(deep=False).get("metric")
    return metric if isinstance(metric, MappedMinkowski) else None


def _map_words(kernel: Kernel, names: list[str]) -> str:
    """What the learnt map W of a kernel does with its columns, in one or two sentences."""
    metric = _learnt_map(kernel)
    if metric is None or len(names) == 1:
        return ""
    A = np.asarray(metric.linear_map, np.float64)
    G = A.T @ A if A.ndim == 2 else np.square(A)
    shares = (G.diagonal() if A.ndim == 2 else G) / (np.square(A).sum() or 1.0)
    if A.ndim == 2 and np.array_equal(G, np.diag(G.diagonal())) and not np.ptp(G.diagonal()):
        return "W stretches all directions alike."
    order = np.argsort(-shares, kind="stable")
    named = [f"{names[j]} {100 * shares[j]:.2g}%" for j in order[:MOST_SHARES]]
    what = (
        "W is a matrix that turns and stretches the columns"
        if A.ndim == 2
        else "W multiplies each column by its own factor"
    )
    first = "" if len(names) <= MOST_SHARES else "mostly "
    return f"{what}; it was learnt. Its squared weights belong {first}to: {', '.join(named)}."


@dataclass(frozen=True)
class MachineWords:
    """A kernel machine in words: its kernel, and how it learns."""

    kernel: KernelWords
    learner: str


@dataclass(frozen=True)
class MachineSection(Several):
    """The kernel machine in words; of a mean all of them, the best one first."""

    name, place = "machines", "kernel"

    stored: str  # how many training rows the model file holds, and which

    @classmethod
    def measured(cls, subject: Subject) -> MachineSection:
        model, X = subject.kept
        transformers, machine = kernel_machine(model)
        features = getattr(getattr(machine, "encoder_", None), "features_", None)
        if features is not None:
            said = [
                MachineWords(
                    _table_words(part.kernel, features),
                    f"{part.description[:1].upper()}{part.description[1:]}",
                )
                for part in machine.machine_.parts
            ]
        else:
            for transformer in transformers:
                X = transformer.transform(X)
            said = [MachineWords(kernel_words(bound_kernel(machine, X)), repr(machine))]
        return cls(said, _stored(machine))

    def numbers(self) -> dict[str, Any]:
        return {self.name: plain(self.each), "stored": self.stored}


def _table_words(kernel: Any, features: list) -> KernelWords:
    """A kernel of encoded columns in words, with what the encoder does to the columns."""
    words = kernel_words(kernel, lambda column: features[column].label)
    read = {features[c].kind for _, columns in kernel.parts for c in columns}
    scales = [sentence for kind, sentence in SCALES.items() if kind in read]
    return replace(words, meaning=" ".join([words.meaning, *scales]))


def _stored(machine: Any) -> str:
    """How many training rows the model keeps, in words."""
    if hasattr(machine, "machine_"):
        kind = machine.machine_.kind
        if not len(machine.stored_rows_):
            return ""
        which = "" if kind == "training rows" else f", the {kind}"
        return f"{len(machine.stored_rows_):,} training rows{which}"
    kept = getattr(machine, "X_fit_", None)
    return "" if kept is None or not hasattr(kept, "shape") else f"{kept.shape[0]:,} training rows"


MATRIX = 300  # rows of a matrix that is drawn
DRAWN, FEWEST = 600, 10  # points of a map
NEAREST = 15  # neighbours that it keeps near each
WORST = 0.05  # the share of rows, those with the largest errors, that are marked
SHADES = 8  # colours of classes, or of the values of a target


@dataclass(frozen=True)
class Gram(Section):
    """A picture of the Gram matrix of some rows."""

    name, place = "gram", "pictures"

    display: GramDisplay

    @classmethod
    def measured(cls, subject: Subject) -> Gram:
        K, rows = subject.gram
        some = sample_rows(len(rows), MATRIX, subject.seed)
        y, classes = subject.y[rows[some]], subject.met
        return cls(GramDisplay.from_gram(K[np.ix_(some, some)], y, classes=classes))

    def drawn(self, report: ReportData) -> dict[str, Any]:
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
class EmbeddingSection(Section):
    """A map of held-out rows by the kernel, on which those are marked that are predicted worst."""

    name, place = "embedding", "pictures"

    display: EmbeddingDisplay
    wrong: np.ndarray  # which rows have another class than is predicted, or the largest errors

    @classmethod
    def measured(cls, subject: Subject) -> EmbeddingSection | None:
        """None where there are too few rows, or the kernel is known of the training rows alone."""
        n, machine = len(subject.y_test), kernel_machine(subject.model)[1]
        if n < FEWEST or is_precomputed(machine):
            return None

        def matrix(rows: int) -> tuple[np.ndarray, np.ndarray]:
            return sample_gram(
                subject.model, subject.X_test, max_samples=rows, random_state=subject.seed
            )

        K, rows = matrix(affordable_rows(matrix, min(n, DRAWN), subject.clock.share(0.1)))
        norms = np.diag(K)
        apart = np.sqrt(np.maximum(norms[:, None] + norms - 2 * K, 0))
        if not (np.isfinite(apart).all() and apart.any()):
            return None
        nearest = min(NEAREST, (len(K) - 1) // 2)
        with blas_threads(1):
            places = NeighbourEmbedding(nearest, metric="precomputed").fit_transform(apart)
        y = subject.y_test
        if subject.classes is not None:
            wrong = subject.classes[subject.chosen.argmax(axis=1)] != y
        else:
            errors = np.abs(subject.predicted - y)
            wrong = errors > np.quantile(errors, 1 - WORST)
        return cls(EmbeddingDisplay(places, y[rows], ("", ""), subject.met), wrong[rows])

    def drawn(self, report: ReportData) -> dict[str, Any]:
        """The rows, with the colour of their class or of their target."""
        embedding = self.display
        scores, y = embedding.scores, np.asarray(embedding.labels)
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
            (x.at(a), y_axis.at(b), f"{look} wrong" if wrong else look)
            for (a, b), look, wrong in zip(scores.tolist(), looks, self.wrong, strict=True)
        ]
        return {"points": points, "names": names, "low": low, "high": high,
                "colours": COLOURS}  # fmt: skip

    def without_values(self, report: object) -> None:
        return None

    def numbers(self) -> dict[str, Any]:
        return {self.name: {"rows": len(self.wrong), "wrong": int(self.wrong.sum())}}


@dataclass(frozen=True)
class SpectrumSection(Section):
    """The eigenvalues of the Gram matrix."""

    name, place = "spectrum", "pictures"

    display: SpectrumDisplay

    @classmethod
    def measured(cls, subject: Subject) -> SpectrumSection:
        with blas_threads(1):
            return cls(SpectrumDisplay.from_gram(subject.gram[0]))

    def drawn(self, report: ReportData) -> dict[str, Any]:
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
