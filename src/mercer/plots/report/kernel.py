"""The kernel of a report in words and in mathematical notation, for readers who know no kernels."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.distances import Comparison, MappedMinkowski, Meaning
from mercer.kernels import Kernel, TableKernel
from mercer.plots.fitted import bound_kernel, kernel_machine
from mercer.plots.report.section import Several, plain
from mercer.plots.report.subject import Subject
from mercer.samples import is_number
from mercer.spoken import spoken

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
        named = names if len(names) <= 12 else [*names[:12], f"{len(names) - 12} more"]
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


def _learnt_map(kernel: Any) -> MappedMinkowski | None:
    """The metric of a kernel that maps the columns first; None without one."""
    metric = kernel.get_params(deep=False).get("metric")
    return metric if isinstance(metric, MappedMinkowski) else None


def _map_words(kernel: Any, names: list[str]) -> str:
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
class Machines(Several):
    """The kernel machine in words; of a mean all of them, the best one first."""

    name, place = "machines", "kernel"

    stored: str  # how many training rows the model file holds, and which

    @classmethod
    def measured(cls, subject: Subject) -> Machines:
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
