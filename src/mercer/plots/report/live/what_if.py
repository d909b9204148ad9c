"""The section of the report that predicts by itself: its data, and why there may be none."""

from __future__ import annotations

import base64
import hashlib
import re
from copy import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import ascii_letters
from typing import Any

import numpy as np

from mercer.plots.report.live.export import exported
from mercer.plots.report.live.inputs import Inputs, NotInPage, TooMany
from mercer.plots.report.section import Section
from mercer.plots.report.subject import Subject
from mercer.spoken import in_page, spoken

HERE = Path(__file__).parent
MOST_BYTES = 5_000_000  # of the model in the page
CENTRES, FEWEST = 2000, 100  # of a model that takes more, at most and at least
#: products of two numbers a second, of which centres take their square for each row, and what the
#: fit of centres may take where the report's time is over: a share of it, and least seconds
WORK, SECONDS = 5e9, (0.2, 0.5)
COMMENTS = re.compile(r"(?:^|\s)//.*")  # of a script
#: its texts, which stay as they are; or a mark, and the blanks around it
BLANKS = re.compile(
    r"('(?:\\.|[^'\\])*'|`[^`]*`)"
    r"|(?:\s*([-+]=|[=,;:?{}()\[\]|&<>*])|(?:(?<=\w) |(?<=[)\]] ))([-+/])(?= [\w(]))\s*"
)
#: names of variables that are never keys of an object in the scripts, nor words of a template: each
#: gets a letter
NAMES = (
    "found model classes numbers cells order high spread answer zeros knots make chosen symbols "
    "COLOURS text brief substrings name BOTTOM rarities squares interpolated level product "
    "answers low expansion fields row kept ordered size characters sum code neighbourhood draw "
    "taken range quarter output last part features turns codes likelihoods clip middle mean now "
    "digits softmax density missing factors percent waiting RIGHT rare ends texts placed cell "
    "windowed logs within owner known asked until before weight label colour LEFT most error add "
    "read splines FORWARD players rounded took explain phi targets bytes below means dense votes "
    "gains shown clock dated curve ticks rough steps lines later normal shapes next linear owners "
    "number inside said NONE mark levels target"
)
#: a text; or a name that is no property
NAMED = re.compile(r"'(?:\\.|[^'\\])*'|(?<![\w$])(?:(?<=\.\.\.)|(?<!\.))[a-zA-Z]\w*")
ROWS = 1000  # from which those that are most alike are taken, at most


@dataclass(frozen=True)
class WhatIf(Section):
    """A form for a row, what the model predicts for it, and what happens as a column moves."""

    name, place = "what_if", "what_if"

    model: dict[str, Any] | None  # what model.js evaluates; None if a page cannot
    said: str  # why it cannot, or what was lost so that it can

    @classmethod
    def applies(cls, subject: Subject) -> bool:
        return subject.what_if

    @classmethod
    def measured(cls, subject: Subject) -> WhatIf:
        model, X = subject.kept
        try:
            said, (found, inputs) = _fitting(subject, model, X)
        except NotInPage as reason:
            return cls(None, f"This model cannot predict in a page: {reason}.")
        names = [column.name for column in model.columns_]
        for field, source in zip(found["fields"], inputs.sources):
            field["place"] = names.index(source)
        moved = [i for i, field in enumerate(found["fields"]) if field["kind"] != "text"]
        along = [i for name in subject.foremost for i in moved if inputs.sources[i] == name]
        found |= {"target": subject.facts.target, "along": next(iter([*along, *moved]), "")}
        if subject.rows and subject.known:
            found["rows"] = _rows(subject, inputs)
        if not subject.rows and not any("X" in machine for machine in found["machines"]):
            found["explained"] = None
        return cls(found, said)

    @property
    def data(self) -> str:
        """What model.js evaluates, as text for the page."""
        return in_page(self.model)

    @property
    def script(self) -> str:
        """The one script of the page."""
        return script()

    @property
    def digest(self) -> str:
        """Its hash, by which the policy of the page names it."""
        return base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()

    @property
    def style(self) -> str:
        return (HERE / "panel.css").read_text("utf-8")

    @property
    def holds(self) -> str:
        """What the page holds of training rows, in a sentence."""
        assert self.model is not None
        if any("X" in machine for machine in self.model["machines"]):
            how = "with which the model compares a new row"
        elif "rows" in self.model:
            how = "of which it shows those most alike"
        elif self.model["explained"]:
            how = "beside which it says what moves an answer"
        else:
            return "It holds ranges and levels of the columns, but no training rows."
        return f"It holds training rows, {how}: share it as you would share them."

    @property
    def unexplained(self) -> str:
        """Why the page does not say what moves an answer."""
        assert self.model is not None
        if any("X" in machine for machine in self.model["machines"]) or "rows" in self.model:
            return "the model was fitted by an earlier version, which kept no rows to compare with"
        return "the page holds no training rows to compare a row with"

    def lines(self) -> list[str]:
        if self.model is None:
            return [self.said]
        return [f"The report predicts by itself. {self.holds} {self.said}".rstrip()]

    def numbers(self) -> dict[str, Any]:
        return {self.name: {"predicts": self.model is not None, "said": self.said}}


@cache
def script() -> str:
    """model.js and panel.js as one script, without comments and blanks that are in no text, and
    with short names."""
    text = "".join((HERE / name).read_text("utf-8") for name in ("model.js", "panel.js"))
    text = BLANKS.sub(lambda found: found[1] or found[2] or found[3], COMMENTS.sub("", text))
    text = re.sub(r"\bconst\b", "let", text).replace(";}", "}")
    text = re.sub(r"([=!])==", r"\1=", text)  # no two values of different types are compared
    short = {
        name: f"${ascii_letters[i % 52]}{i // 52 or ''}" for i, name in enumerate(NAMES.split())
    }
    return NAMED.sub(lambda name: short.get(name[0], name[0]), text)


def _fitting(subject: Subject, model: Any, X: Any) -> tuple[str, tuple[dict[str, Any], Inputs]]:
    """The model as data of a size for a page, compressed if need be, and what was lost."""
    try:
        return "", _small(model)
    except TooMany as reason:
        if not subject.known:
            raise NotInPage(f"{reason}, and only with train= it can be compressed") from reason
        n = len(subject.y)
        seconds = max(subject.clock.left(), subject.clock.part(*SECONDS))
        affordable = (WORK * seconds / n) ** 0.5
        if affordable < FEWEST:
            raise NotInPage(f"{reason}, and there is no time to compress it") from reason
    few = copy(model).compress(X, int(min(affordable, CENTRES, n)))
    return _lost(subject, model, few), _small(few)


def _small(model: Any) -> tuple[dict[str, Any], Inputs]:
    found = exported(model)
    size = len(in_page(found[0]))
    if size > MOST_BYTES:
        raise TooMany(f"it takes {spoken(size / 1e6)} MB, more than {MOST_BYTES / 1e6:g}")
    return found


def _lost(subject: Subject, model: Any, few: Any) -> str:
    """What a compressed model gets wrong of the one in the file, on the rows set aside."""
    rows = few.machine_.stored
    said = f"This page predicts with {len(rows):,} centres in place of all rows of the model"
    full, brief = (each.predict(model.encode_table(subject.X_test)) for each in (model, few))
    if subject.task == "classification":
        return f"{said}: {np.mean(full != brief):.1%} of the rows set aside get another class."
    off, error = (float(np.sqrt(np.mean((v - full) ** 2))) for v in (brief, subject.y_test))
    return (
        f"{said}: on the rows set aside its predictions differ from the model's by "
        f"{spoken(off)}, where the model errs by {spoken(error)} (root mean squares)."
    )


def _rows(subject: Subject, inputs: Inputs) -> dict[str, Any]:
    """Some rows of the fit, and their targets."""
    some = np.sort(np.random.default_rng(subject.seed).permutation(len(subject.y))[:ROWS])
    table, y = subject.X[some].columns, subject.y[some]
    targets = y.astype(str) if subject.task == "classification" else y.astype(float)
    return {"cells": inputs.cells(table), "targets": targets.tolist()}
