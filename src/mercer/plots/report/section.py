"""Sections of the report, behind one interface: each measures, draws and prints itself.

`SECTIONS` lists them in the order in which they are measured, and shown within their place. The
file of a section is imported when a report has one.
"""

from __future__ import annotations

import dataclasses
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from mercer.plots.marks import brief
from mercer.plots.report.subject import Subject

#: where the page shows sections
PLACES: tuple[str, ...] = (
    "what_if", "why", "errors", "parts", "next", "data", "kernel", "pictures",
)  # fmt: skip
TEMPLATES = Path(__file__).parent / "templates"
#: name of each section -> its file in this room, its class, and the task that it is of ("": both)
SECTIONS = {
    "target_summary": ("data", "Target", ""),
    "columns": ("data", "ColumnSection", ""),
    "machines": ("kernel", "MachineSection", ""),
    "gram": ("kernel", "Gram", ""),
    "embedding": ("kernel", "EmbeddingSection", ""),
    "spectrum": ("kernel", "SpectrumSection", ""),
    "relevance": ("why", "Relevance", ""),
    "additions": ("additions", "Additions", ""),
    "dependences": ("why", "Dependences", ""),
    "shapes": ("why", "ShapeSection", ""),
    "texts": ("why", "Texts", ""),
    "confusion": ("class_errors", "Confusion", "classification"),
    "residuals": ("errors", "Residuals", "regression"),
    "rates": ("class_errors", "Rates", "classification"),
    "coverage": ("errors", "Covered", "regression"),
    "intervals": ("errors", "Intervals", "regression"),
    "calibration": ("class_errors", "Calibration", "classification"),
    "segments": ("errors", "Segments", ""),
    "worst": ("errors", "Worst", ""),
    "molecules": ("structures", "MoleculeSection", ""),
    "sequences": ("structures", "Sequences", ""),
    "reasons": ("additions", "ReasonSection", ""),
    "learning": ("advice", "LearningCurve", ""),
    "suspicion": ("advice", "Suspicion", ""),
    "what_if": ("live", "WhatIf", ""),
}
_REGISTERED: dict[str, type[Section]] = {}


class Section(ABC):
    """Abstract: a part of the report, a dataclass of what it has measured.

    Attributes
    ----------
    name : str
        Its key in the report and in the numbers of the page.
    place : str
        Where the page shows it: "what_if" (what predicts in the page), "why", "errors" or "parts"
        (figures of where the model fails, and what is below them), "next", "data",
        "kernel" or "pictures" (of the kernel).
    template : str
        Its HTML as a template of jinja2, which reads ``section``, ``drawn`` and ``report``, a
        `ReportData`. The library's own sections are macros of ``sections.html`` with their name.
    """

    name: ClassVar[str]
    place: ClassVar[str]
    template: ClassVar[str] = ""

    @classmethod
    def applies(cls, subject: Subject) -> bool:
        """Whether there is such a section in the report of a subject."""
        return True

    @classmethod
    @abstractmethod
    def measured(cls, subject: Subject) -> Self | None:
        """Measure it, within a share of ``subject.clock``; None if there is nothing to show."""

    def drawn(self, report: Any) -> Any:
        """What its template draws, such as positions of marks."""
        return None

    def html(self, report: Any) -> str:
        """Its part of the page."""
        if self.template:
            template = environment().from_string(self.template)
            return template.render(section=self, drawn=self.drawn(report), report=report)
        macros: Any = environment().get_template("sections.html").module
        return getattr(macros, self.name)(self, self.drawn(report), report)

    def doubts(self, report: Any) -> list[str]:
        """What it says against the score, which stands beside the score."""
        return []

    def lines(self) -> list[str]:
        """What is printed of it on the screen."""
        return []

    def without_values(self, report: Any) -> Self | None:
        """The same without values of single rows; None if nothing is left."""
        return self

    def numbers(self) -> dict[str, Any]:
        """What the page holds of it as JSON, by key."""
        return {self.name: plain(self)}


@dataclass(frozen=True)
class Several(Section):
    """Abstract: a section that is a list, which may be empty."""

    each: list

    def __iter__(self) -> Iterator[Any]:
        return iter(self.each)

    def __len__(self) -> int:
        return len(self.each)

    def __getitem__(self, i: Any) -> Any:
        return self.each[i]

    def numbers(self) -> dict[str, Any]:
        return {self.name: plain(self.each)}


def register_section(section: type[Section]) -> Callable[[], None]:
    """Let reports have a section of your own, below those of its place.

    Returns
    -------
    remove : callable
        A function without arguments, which takes it away again.
    """
    if section.name in SECTIONS or section.name in _REGISTERED:
        raise ValueError(f"section={section!r}: there is a section {section.name!r} already.")
    if section.place not in PLACES:
        raise ValueError(f"place={section.place!r}: give one of {', '.join(PLACES)}.")
    _REGISTERED[section.name] = section
    return partial(_REGISTERED.__delitem__, section.name)


def sections_of(task: str) -> Iterator[type[Section]]:
    """The sections of a task in their order, each imported when it is reached."""
    for file, name, of in SECTIONS.values():
        if of in ("", task):
            yield getattr(import_module(f"mercer.plots.report.{file}"), name)
    yield from _REGISTERED.values()


@cache  # to compile templates takes longer than to write a page
def environment() -> Any:
    """What reads the templates of the page."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            'The report needs jinja2, which is not installed: run pip install "mercer[cli]"'
        ) from error
    made = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {
        "brief": brief, "rows": lambda n: f"{n:,} row" + ("s" if n != 1 else ""),
        "python": repr, "shell": shlex.quote, "count": lambda n: f"{n:,}",
    }  # fmt: skip
    return made


def plain(value: object) -> Any:
    """A value in types of JSON: NaN and infinities become None, other objects their text."""
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


def attributes(value: object, names: str) -> dict[str, Any]:
    """Some attributes of an object in types of JSON."""
    return {name: plain(getattr(value, name)) for name in names.split()}
