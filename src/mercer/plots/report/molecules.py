"""Molecules in the report: those with the largest errors, the atoms that carry the prediction, the
nearest training molecules, and alike molecules with different targets (activity cliffs)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.distances import Distance
from mercer.plots.fitted import sample_rows
from mercer.plots.report.section import Section
from mercer.plots.report.subject import Subject, said_of
from mercer.samples import Kind, as_cells
from mercer.tables import ReadTable

CASES, NEAREST, CLIFFS = 4, 3, 4
MOST = 2000  # training molecules that are compared with each other
ALIKE = 0.3  # the largest distance of a pair that is a cliff


@dataclass(frozen=True)
class Shown:
    """A molecule of the page.

    ``row`` is its number in the table, from 0; ``answer`` its target, ``said`` what is told of it.
    """

    picture: str
    row: int
    answer: str
    said: str


@dataclass(frozen=True)
class Molecules(Section):
    """Drawings of molecules of the first column of such samples."""

    name, place = "molecules", "parts"

    column: str
    cases: list[tuple[Shown, list[Shown]]]  # a held-out molecule, and the nearest training ones
    cliffs: list[tuple[Shown, Shown]]  # the most alike with the most different targets
    atoms: bool  # whether atoms are coloured

    @classmethod
    def applies(cls, subject: Subject) -> bool:
        return _column(subject) is not None and subject.known and subject.values

    @classmethod
    def measured(cls, subject: Subject) -> Molecules | None:
        column: Any = _column(subject)
        kind: Kind = column.of.samples
        new, known = (column.of.cells(column, X.columns[column.name])
                      for X in (subject.X_test, subject.X))  # fmt: skip
        rows = sample_rows(len(known), MOST, subject.seed)
        known, y = [known[i] for i in rows], subject.y[rows]
        numbers = subject.numbers(False)[rows]
        rho: Distance = kind.make_distance()
        training = rho.encode(known)
        worst = subject.least_wrong[::-1][:CASES]
        D = rho.whole(rho.encode([new[i] for i in worst], training), training)
        cases, coloured = [], False
        for distances, i in zip(D, worst.tolist()):
            near = np.argsort(distances, kind="stable")[:NEAREST].tolist()
            weights = _atoms(subject, column, new, i)
            coloured |= weights is not None
            truth, answer = subject.answers(i)
            own = Shown(
                kind.picture(new[i], weights) or "", int(subject.numbers(True)[i]), truth,
                f"predicted {answer}",
            )  # fmt: skip
            beside = [
                Shown(kind.picture(known[j]) or "", int(numbers[j]), said_of(y[j]),
                      f"distance {distances[j]:.2f}")
                for j in near
            ]  # fmt: skip
            cases.append((own, beside))
        cliffs = [
            (Shown(kind.picture(known[i]) or "", int(numbers[i]), said_of(y[i]), ""),
             Shown(kind.picture(known[j]) or "", int(numbers[j]), said_of(y[j]),
                   f"distance {distance:.2f}"))
            for i, j, distance in _cliffs(rho.whole(training, training), y, subject.task)
        ]  # fmt: skip
        return cls(str(column.name), cases, cliffs, coloured)

    def without_values(self, report: object) -> None:
        return None

    def numbers(self) -> dict[str, Any]:
        bare = [[replace(s, picture="") for s in (own, *near)] for own, near in self.cases]
        pairs = [[replace(s, picture="") for s in pair] for pair in self.cliffs]
        rows = {"cases": [[s.row for s in each] for each in bare],
                "cliffs": [[s.row for s in each] for each in pairs]}  # fmt: skip
        return {self.name: {"column": self.column} | rows}


def _column(subject: Subject) -> Any:
    """The first column whose samples can be drawn as pictures by parts; None if there is none."""
    kinds = ((c, c.of.samples) for c in subject.table_columns)
    return next((c for c, samples in kinds if samples is not None and samples.pictured), None)


def _atoms(subject: Subject, column: Any, cells: list, i: int) -> np.ndarray | None:
    """By how much the prediction of a row falls if an atom is hidden, for each atom."""
    others: Any = column.of.samples.without_each_node(cells[i])
    if not others:
        return None
    rows = [cells[i], *others]
    columns = {
        name: np.repeat(values[i : i + 1], len(rows))
        for name, values in subject.X_test.columns.items()
    } | {column.name: as_cells(rows)}
    table = ReadTable(columns)
    if subject.task == "regression":
        found = np.asarray(subject.model.predict(table), np.float64)
    elif hasattr(subject.model, "predict_proba"):
        chances = np.asarray(subject.model.predict_proba(table))
        found = chances[:, chances[0].argmax()]
    else:
        return None
    return found[0] - found[1:]


def _cliffs(D: np.ndarray, y: np.ndarray, task: str) -> list[tuple[int, int, float]]:
    """Pairs of alike rows with the most different targets, each row in one pair."""
    i, j = np.nonzero(np.triu(D <= ALIKE, 1))
    gaps = np.abs(y[i] - y[j]) if task == "regression" else (y[i] != y[j]).astype(float)
    order = np.lexsort((D[i, j], -gaps))
    found: list[tuple[int, int, float]] = []
    seen: set[int] = set()
    for place in order[: 50 * CLIFFS].tolist():
        a, b = int(i[place]), int(j[place])
        if gaps[place] > 0 and not seen & {a, b}:
            seen |= {a, b}
            found.append((a, b, float(D[a, b])))
    return found[:CLIFFS]
