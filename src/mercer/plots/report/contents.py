"""The report: what it contains, and the one HTML file of it, which loads nothing.

`report_data` measures a fitted model, a `Subject`: the few facts that all sections share, and the
sections by name. `write_report` writes the page. It runs no script, but for the one of a page that
predicts, which its policy names by its hash. The numbers are also in a block of JSON for programs,
``<script type="application/json" id="mercer-report">``.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.dummy import DummyClassifier, DummyRegressor

from mercer.machines import ModelComparison, as_good, compared, kept_words, verdict
from mercer.persistence import write_whole
from mercer.plots.fitted import kernel_machine
from mercer.plots.marks import Axis, padded
from mercer.plots.report.section import (
    PLACES,
    SECTIONS,
    TEMPLATES,
    Section,
    environment,
    plain,
    sections_of,
)
from mercer.plots.report.subject import Provenance, Score, Subject, TableFacts, is_table
from mercer.spoken import in_page, visible
from mercer.tables import FEW_GROUPS

FEW_ROWS = 100  # held-out rows with which a score is uncertain
#: part of the training rows that repeat, from which on it may be chance that new rows do, and how
#: many times this part of the new rows may
REPEATED, MORE = 0.1, 1.5
ROLES = {"trivial": "trivial", "linear (spline)": "linear", "linear (sparse)": "linear"}
FROM_0_TO_1 = ("accuracy", "balanced_accuracy", "roc_auc", "f1")


@dataclass(frozen=True)
class Contender:
    """A line of the leaderboard."""

    name: str
    role: str  # "winner", "kernel", "linear" or "trivial"
    #: the score that the search used to choose, from the training rows only
    validation: float | None = None
    #: the score on the held-out rows; only for the winner and the baselines
    unseen: Score | None = None
    seconds: float | None = None  # time of the fits
    detail: str = ""


@dataclass(frozen=True)
class Contenders:
    """What was tried, and how much better the model is than simple ones."""

    contenders: list[Contender]
    #: name of a simple model -> how much better the model is on the held-out rows
    versus: dict[str, ModelComparison]
    kept: str  # what the model is called beside them, such as "the kernel machine"

    @classmethod
    def measured(cls, subject: Subject) -> Contenders:
        """The leaderboard of a search, or of a model and a constant."""
        scored, model, classes = subject.scored, subject.model, subject.classes
        if scored is None:
            simple = {"trivial": _constant(subject.y, classes, len(subject.y_test))}
        else:
            simple = scored.baseline_predictions
        contenders = _contenders(subject, simple)
        if scored is not None and subject.is_scored:
            versus = scored.versus
        else:
            winner, decided = getattr(model, "winner_name_", ""), subject.decided(subject.scorer)
            versus = {
                name: compared(
                    subject.scorer, subject.y_test, decided, answers, classes, subject.seed
                )
                for name, answers in takewhile(lambda each: each[0] != winner, simple.items())
            }  # fmt: skip
        kept = kept_words(model) if hasattr(model, "winner_") else "the kernel machine"
        return cls(contenders, versus, kept)

    def unseen(self, role: str) -> Score | None:
        """The score on the held-out rows of the contender with a role."""
        return next((c.unseen for c in self.contenders if c.role == role and c.unseen), None)

    @property
    def winner(self) -> str:
        """The name of the winner, or ""."""
        return next((c.name for c in self.contenders if c.role == "winner"), "")

    def sentence(self, score: Score) -> str:
        """The sentence that compares the model with simple ones."""
        scores = {c.name: c.unseen.value for c in self.contenders if c.unseen is not None}
        return verdict(self.versus, scores, self.kept, score.text)

    def tracks(self, score: Score) -> dict[str, Any]:
        """Held-out scores of the winner and the baselines on one scale, in percent of its width."""
        found = [(c, c.unseen) for c in self.contenders if c.unseen is not None]
        shown = [(c, s) for c, s in found if s.value == s.value]
        order = {"winner": 0, "linear": 1, "trivial": 2}
        shown.sort(key=lambda each: order.get(each[0].role, 3))
        ends = [v for _, s in shown for v in (s.value, s.low, s.high) if v == v]
        if not ends:
            return {"rows": [], "low": 0.0, "high": 1.0}
        low, high = padded(min(ends), max(ends))
        if score.metric in FROM_0_TO_1:
            low, high = max(low, 0.0), min(high, 1.0)
            if not high > low:
                low = high - 0.1
        axis = Axis(low, high, 0, 100)
        rows = [
            {"contender": c, "at": axis.at(s.value), "from": axis.at(max(s.low, low)),
             "to": axis.at(min(s.high, high))}
            for c, s in shown
        ]  # fmt: skip
        return {"rows": rows, "low": low, "high": high}


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows."""

    task: str  # "classification" or "regression"
    score: Score  # that of the fit on ``fitted_rows`` rows, measured on held-out rows
    #: rows of the fit that was scored, and rows of the final fit in the model file; 0 if unknown
    fitted_rows: int
    final_rows: int
    leaderboard: Contenders
    facts: TableFacts  # with the notices of the search before its own
    provenance: Provenance
    #: how many of the rows that the score is from were in the training table; None if unknown
    seen: int | None = None
    repeated: float = 0.0  # part of the training rows that are equal to another one
    has_values: bool = True  # whether the report holds values of single rows
    sections: dict[str, Section] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """The section with a name."""
        return self.sections[name]

    def get(self, name: str) -> Any:
        """The section with a name, or None."""
        return self.sections.get(name)

    def having(self, **sections: object) -> ReportData:
        """The same with other sections; those that are None are left out."""
        changed = self.sections | sections
        return replace(self, sections={k: v for k, v in changed.items() if v is not None})

    @property
    def verdict(self) -> str:
        """One sentence that says how good the model is."""
        score, trivial = self.score, self.leaderboard.unseen("trivial")
        if score.value != score.value:
            return f"{score.rows} held-out rows are too few to measure how good the model is."
        unseen = bool(self.fitted_rows) or self.seen == 0
        rows = "rows that it had not seen" if unseen else "these rows"
        if score.metric == "accuracy":
            of = f"the {rows}" if unseen else rows
            sentence = f"The model predicts the right class for {score.text()} of {of}"
        else:
            sentence = f"On {rows}, the model reaches {score.phrase} {score.text()}"
        if trivial is None:
            return sentence + "."
        guess = "the most frequent class" if self.task == "classification" else "the mean"
        versus = self.leaderboard.versus
        beaten = "trivial" in versus and versus["trivial"].outcome == "better"
        if not beaten and self.leaderboard.winner != "trivial":
            return f"{sentence}: no better than always answering {guess} ({trivial.text()})."
        return f"{sentence}; always answering {guess} would reach {trivial.text()}."

    @property
    def seen_before(self) -> str:
        """A sentence that says how many of the rows were in the training table; "" if unknown."""
        if self.seen is None:
            return ""
        n = self.score.rows
        if not self.seen:
            return f"None of the {n:,} rows was in the training table."
        were = "was" if self.seen == 1 else "were"
        said = f"{self.seen:,} of {n:,} rows {were} in the training table"
        if self.repeated > REPEATED and self.seen <= MORE * self.repeated * n:
            return (
                f"{said}; but {100 * self.repeated:.0f}% of the training rows are equal to another "
                "one, so that new rows may equal one by chance."
            )
        return f"{said}: everything below, above all the score, is too good for new rows."

    @property
    def simpler(self) -> str:
        """The sentence that a simpler model is as good; empty if no simpler model is."""
        if as_good(self.leaderboard.versus) is None:
            return ""
        said = self.leaderboard.sentence(self.score)
        return f"{said} A simpler model is enough for these data."

    @property
    def trust(self) -> list[tuple[bool, str]]:
        """What is for and against the score: (whether it is fine, a sentence)."""
        score, found = self.score, []
        rows = f"{score.rows:,} row{'s' if score.rows != 1 else ''}"
        if score.groups is not None:
            rows += f" in {score.groups} group{'s' if score.groups != 1 else ''}"
        text = f"The score is from {rows}{' that no fit has seen' * bool(self.fitted_rows)}"
        if score.interval_text():
            text += f"; its 95% interval is {score.interval_text()}"
        few = "These are few rows." if score.rows < FEW_ROWS else ""
        if score.groups is not None and score.groups < FEW_GROUPS:
            few = "These are few groups, and rows of a group err alike."
        found.append((not few, f"{text}. {few}".strip()))
        if not self.fitted_rows and self.seen is None:
            found.append((
                False, "The model file does not tell whether it has learnt from some of these rows:"
                " if it has, the score is too good.",
            ))  # fmt: skip
        elif self.seen is not None:
            found.append((not self.seen, self.seen_before))
        linear = self.leaderboard.unseen("linear")
        if self.leaderboard.versus and linear and not self.simpler:  # which says the contrary
            found.append((True, self.leaderboard.sentence(score)))
        doubts = [doubt for section in self.sections.values() for doubt in section.doubts(self)]
        return found + [(False, doubt) for doubt in [*doubts, *self.facts.doubts]]

    def lines(self, name: str) -> list[str]:
        """What the screen says of a section; nothing where there is none."""
        return self.sections[name].lines() if name in self.sections else []

    def without_values(self) -> ReportData:
        """The same without values of single rows: cells, targets, residuals, levels and ranges."""
        kept = {name: section.without_values(self) for name, section in self.sections.items()}
        return replace(self, has_values=False).having(**kept)

    def numbers(self) -> dict[str, Any]:
        """The whole report in types of JSON, for the block that is embedded in the page.

        The Gram matrix is left out: its picture in the page has it to 1/255 of its range. Of many
        columns it has those that the page lists, and their number.
        """
        names = "task score fitted_rows final_rows provenance has_values seen repeated"
        out = {name: plain(getattr(self, name)) for name in names.split()}
        out |= plain(self.leaderboard) | plain(self.facts)
        del out["rows"]
        out |= dict.fromkeys(SECTIONS)
        for section in self.sections.values():
            out |= section.numbers()
        return out | {"verdict": self.verdict, "simpler": self.simpler}


def report_data(subject: Subject) -> ReportData:
    """Measure a fitted model for a report.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import mercer
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = mercer.KernelRidge(kernel="rbf").fit(X[::2], y[::2])
    >>> data = report_data(Subject(model, X[::2], y[::2], holdout=(X[1::2], y[1::2])))
    >>> data.task, data.score.metric, data.score.rows
    ('regression', 'r2', 221)
    """
    model, facts, final = subject.model, subject.facts, subject.final
    leaderboard = Contenders.measured(subject)
    for section in sections_of(subject.task):
        found = section.measured(subject) if section.applies(subject) else None
        if found is not None:
            subject.found[section.name] = found
    repeated = getattr(getattr(model, "row_hashes_", None), "repeated", 0.0)
    data = ReportData(
        subject.task, subject.score, subject.fitted_rows,
        (final is not None and final.rows) or subject.fitted_rows, leaderboard,
        replace(facts, notices=[*getattr(model, "notices_", []), *facts.notices]),
        subject.provenance, None if subject.known else _seen(subject),
        0.0 if subject.known else repeated, sections=subject.found,
    )  # fmt: skip
    return data if subject.values else data.without_values()


def _constant(y: np.ndarray, classes: ArrayLike | None, n: int) -> np.ndarray:
    """The mean of the targets, or the shares of the classes, for n rows."""
    dummy: Any = DummyClassifier() if classes is not None else DummyRegressor()
    dummy.fit(np.zeros((len(y), 1)), y)
    blank = np.zeros((n, 1))
    return dummy.predict(blank) if classes is None else dummy.predict_proba(blank)


def _contenders(subject: Subject, simple: dict[str, np.ndarray]) -> list[Contender]:
    """The leaderboard, with held-out scores of the winner and the baselines."""
    model, own = subject.model, subject.score
    if subject.scored is None:
        name = type(kernel_machine(model)[1]).__name__
        trivial = subject.score_of(simple["trivial"])
        return [
            Contender(name, "winner", unseen=own), Contender("trivial", "trivial", unseen=trivial)
        ]  # fmt: skip
    unseen = {name: subject.score_of(answers) for name, answers in simple.items()}
    unseen[model.winner_name_] = own
    tried = [row["name"] for row in model.leaderboard_]
    # a machine that took the place of a late final fit was not tried
    first = [] if model.winner_name_ in tried else [model.winner_name_]
    # nor were simple models, where the machines were given
    last = [name for name in simple if name not in [*tried, *first]]
    untried = [[{"name": name} for name in names] for names in (first, last)]
    return [
        Contender(
            row["name"],
            "winner" if row["name"] == model.winner_name_ else ROLES.get(row["name"], "kernel"),
            row.get("score"), unseen.get(row["name"]), row.get("seconds"),
        )
        for row in [*untried[0], *model.leaderboard_, *untried[1]]
    ]  # fmt: skip


def _seen(subject: Subject) -> int | None:
    """How many of the rows a model was fitted to; None where it does not know its rows."""
    model, y = subject.model, subject.y_test
    hashes = getattr(model, "row_hashes_", None)
    if hashes is None or not is_table(subject.X_test):
        return None
    if subject.task == "classification":  # the targets as the fit has read them
        y = y.astype(np.asarray(model.classes_).dtype)
    return hashes.count(model.encode_table(subject.X_test), y)


__all__ = ["ReportData", "report_data", "save_report", "write_report"]

#: suffix -> what reads such a table in Python
READERS = {
    ".csv": "pl.read_csv({})", ".csv.gz": "pl.read_csv({})", ".csv.zst": "pl.read_csv({})",
    ".tsv": 'pl.read_csv({}, separator="\\t")', ".parquet": "pl.read_parquet({})",
    ".arrow": "pl.read_ipc({})", ".feather": "pl.read_ipc({})", ".jsonl": "pl.read_ndjson({})",
    ".ndjson": "pl.read_ndjson({})", ".xlsx": "pl.read_excel({})",
}  # fmt: skip


def write_report(path: str | os.PathLike, data: ReportData) -> None:
    """Write the result of `report_data`; an existing file is replaced, or unchanged after an error.

    Raises
    ------
    ImportError
        jinja2 is not installed: it comes with the ``cli`` extra.
    OSError
        The file cannot be written.
    """
    write_whole(path, visible(render(data)).encode("utf-8"))


def save_report(
    path: str | os.PathLike,
    model: Any,
    X: Any,
    y: Any,
    *,
    train: tuple[Any, Any] | None = None,
    target: str = "target",
    values: bool = True,
    what_if: bool = False,
    rows: bool = True,
    time: float | None = 60.0,
) -> ReportData:
    """Measure a fitted model and write its report.

    Parameters
    ----------
    path : str or path
        An existing file is replaced.
    model : fitted estimator
        `KernelClassifier`, `KernelRegressor`, or any kernel learner, pipeline or search around one.
    X, y : rows that the model was not fitted to
        The score and the errors are those on these rows.
    train : (X, y), optional
        The rows that it was fitted to. Without them there is no linear baseline, no
        learning curve, and no list of suspected targets.
    target : str
        Name of the target.
    values : bool
        Whether the report may hold values of single rows.
    what_if : bool
        Whether the page predicts by itself, without a network: a form for a row, its prediction
        with an interval or probabilities, the training rows that are most alike, and a curve of
        what happens as one column moves. The page then holds the rows that the model compares
        with, as the model file does: share it as you would share these rows. Where a page cannot
        evaluate a model, the report says why in a sentence.
    rows : bool
        Whether it shows the training rows that are most alike, if ``train`` is given.
    time : float, optional
        About how many seconds this may take; None means no limit.

    Returns
    -------
    data : ReportData
        The numbers in the report.

    Examples
    --------
    >>> import mercer, tempfile
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mercer.KernelClassifier(trials=1).fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = save_report(f"{folder}/iris.html", model, X[1::2], y[1::2])
    >>> data.score.rows
    75
    """
    data = report_data(Subject(
        model, *(train or (None, None)), holdout=(X, y), facts=TableFacts(target), values=values,
        what_if=what_if, rows=rows, time=time,
    ))  # fmt: skip
    write_report(path, data)
    return data


def render(data: ReportData) -> str:
    """The page as text."""
    shown: dict[str, str] = dict.fromkeys(PLACES, "")
    for section in data.sections.values():
        shown[section.place] += str(section.html(data))
    what_if = data.get("what_if")
    return environment().get_template("report.html").render(
        data=data, shown=shown, live=what_if if what_if and what_if.model else None,
        scores=data.leaderboard.tracks(data.score),
        style=(TEMPLATES / "style.css").read_text("utf-8"), embedded=in_page(data.numbers()),
        new_table=_table_in_python(data), file_name=Path(data.provenance.data_path).name,
    )  # fmt: skip


def _table_in_python(data: ReportData) -> str:
    """The expression that reads new rows, or what to put there where no function of polars does."""
    path, other = data.provenance.new_path, "...  # a table like {}"
    if any(column.kind == "graph" for column in data["columns"]):  # which may be several in a file
        return other.format(json.dumps(path))
    return READERS.get("".join(Path(path).suffixes).lower(), other).format(json.dumps(path))
