"""Molecules, DNA and proteins in the report.

Of molecules it shows those with the largest errors, the atoms that carry the prediction, the
nearest training molecules, and alike molecules with different targets (activity cliffs); of
sequences what each letter of some held-out ones adds to the prediction, and the strongest pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.distances import Distance
from mercer.explain import LetterValues, letters
from mercer.plots.fitted import sample_rows, take
from mercer.plots.report.section import Section
from mercer.plots.report.subject import Subject, said_of
from mercer.samples import Kind, as_cells
from mercer.tables import ReadTable

CASES, NEAREST, CLIFFS = 4, 3, 4
MOST = 2000  # training molecules that are compared with each other
ALIKE = 0.3  # the largest distance of a pair that is a cliff


@dataclass(frozen=True)
class ShownMolecule:
    """A molecule of the page.

    ``row`` is its number in the table, from 0; ``answer`` its target, ``said`` what is told of it.
    """

    picture: str
    row: int
    answer: str
    said: str


@dataclass(frozen=True)
class MoleculeSection(Section):
    """Drawings of molecules of the first column of such samples."""

    name, place = "molecules", "parts"

    column: str
    cases: list[
        tuple[ShownMolecule, list[ShownMolecule]]
    ]  # a held-out molecule, and the nearest training ones
    cliffs: list[
        tuple[ShownMolecule, ShownMolecule]
    ]  # the most alike with the most different targets
    atoms: bool  # whether atoms are coloured

    @classmethod
    def applies(cls, subject: Subject) -> bool:
        return _molecule_column(subject) is not None and subject.known and subject.values

    @classmethod
    def measured(cls, subject: Subject) -> MoleculeSection | None:
        column: Any = _molecule_column(subject)
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
            own = ShownMolecule(
                kind.picture(new[i], weights) or "", int(subject.numbers(True)[i]), truth,
                f"predicted {answer}",
            )  # fmt: skip
            beside = [
                ShownMolecule(kind.picture(known[j]) or "", int(numbers[j]), said_of(y[j]),
                      f"distance {distances[j]:.2f}")
                for j in near
            ]  # fmt: skip
            cases.append((own, beside))
        cliffs = [
            (ShownMolecule(kind.picture(known[i]) or "", int(numbers[i]), said_of(y[i]), ""),
             ShownMolecule(kind.picture(known[j]) or "", int(numbers[j]), said_of(y[j]),
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


def _molecule_column(subject: Subject) -> Any:
    """The first column whose samples can be drawn as pictures by parts; None if there is none."""
    kinds = ((c, c.of.samples) for c in subject.table_columns)
    return next((c for c, samples in kinds if samples is not None and samples.pictured), None)


def _atoms(subject: Subject, column: Any, cells: list, i: int) -> np.ndarray | None:
    """How much the prediction of a row falls if an atom is hidden, for each atom."""
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


WORST, BEST, LEARNT = 2, 2, 200  # sequences that are shown, and whose pieces are compared
LONGEST = 300  # letters of a sequence that are shown
PIECES, OF_BASES, OF_ACIDS = 6, 8, 5  # pieces of an answer, and letters of each
ANSWERS = 4  # whose pieces are shown
SHADES = 3  # of a colour
BASES = set("ACGTUNacgtun")


@dataclass(frozen=True)
class Case:
    """A held-out sequence; ``row`` is its number in the table, from 0.

    ``runs`` are its letters from ``first`` on, by shades from -3 to 3, of ``length`` in all.
    """

    row: int
    answer: str
    said: str
    of: str  # what the letters add to
    runs: list[tuple[str, int]]
    first: int
    length: int
    best: str  # the strongest piece and its place


@dataclass(frozen=True)
class Motif:
    """Letters that stand in some sequences ``times`` times, and what they add on average."""

    text: str
    times: int
    adds: float


@dataclass(frozen=True)
class Sequences(Section):
    """Sequences of the first column of such samples."""

    name, place = "sequences", "parts"

    column: str
    cases: list[Case]
    pieces: list[tuple[str, list[Motif]]]  # the strongest for each answer
    rows: int  # sequences that the pieces are of
    adds: str  # in which unit
    method: str  # of `LetterValues`

    @classmethod
    def applies(cls, subject: Subject) -> bool:
        return _column(subject) is not None and subject.values

    @classmethod
    def measured(cls, subject: Subject) -> Sequences | None:
        column: Any = _column(subject)
        order, rest = subject.least_wrong, sample_rows(len(subject.y_test), LEARNT, subject.seed)
        shown = np.concatenate([order[::-1][:WORST], order[:-WORST][:BEST]])
        rows = np.concatenate([shown, np.setdiff1d(rest, shown)])

        clock, model = subject.clock.share(0.3), subject.model

        def found_of(count: int) -> LetterValues | None:
            some = take(subject.X_test, rows[:count])
            return clock.within(lambda _: letters(model, some, column=column.name))

        found, spent = found_of(len(shown)), max(clock.spent(), 1e-6)
        if found is None or not any(found.sequences):
            return None
        # by windows most of the time is spent on the sequences that the model has kept
        more = LEARNT if found.method == "windows" else clock.left() / spent
        found = found_of(int(len(shown) * min(max(more, 1), LEARNT))) or found
        width = OF_BASES if set("".join(found.sequences)) <= BASES else OF_ACIDS
        cases = [_case(subject, found, place, int(i), width) for place, i in enumerate(shown)]
        adds = "units of the target" if subject.classes is None else "log-odds of the class"
        pieces = _pieces(subject, found, width)
        return cls(str(column.name), cases, pieces, len(found.sequences), adds, found.method)

    def without_values(self, report: object) -> None:
        return None

    def lines(self) -> list[str]:
        said = [f"\nWhich pieces of {self.column} speak for what:"] * bool(self.pieces)
        return said + [f"  {answer}: {', '.join(piece.text for piece in pieces)}"
                       for answer, pieces in self.pieces]  # fmt: skip

    def numbers(self) -> dict[str, Any]:
        found = super().numbers()[self.name]
        rows = [case.row for case in self.cases]
        return {self.name: {"column": self.column, "rows": rows, "pieces": found["pieces"]}}


def _column(subject: Subject) -> Any:
    """The first column of letters that the model uses; None if there is none."""
    return next((c for c in subject.table_columns if c.of.lettered), None)


def _added(subject: Subject, found: LetterValues, number: int) -> list[np.ndarray]:
    """What the letters add to one of the answers."""
    if found.output_names is not None:
        return [values[:, number] for values in found.values]
    return [-values if number == 0 and subject.classes is not None else values
            for values in found.values]  # fmt: skip


def _case(subject: Subject, found: LetterValues, place: int, i: int, width: int) -> Case:
    """A sequence of the page, with the letters that add most to its prediction."""
    truth, answer = subject.answers(i)
    number = 1 if subject.classes is None else [str(c) for c in subject.classes].index(answer)
    values, text = _added(subject, found, number)[place], found.sequences[place]
    sums = np.convolve(np.abs(values), np.ones(LONGEST), "valid") if len(text) > LONGEST else [0]
    first = int(np.argmax(sums))
    some = values[first : first + LONGEST]
    largest = np.abs(values).max(initial=0.0) or 1.0
    shades = np.round(SHADES * some / largest).astype(int).tolist()
    runs: list[tuple[str, int]] = []
    for letter, shade in zip(text[first:], shades):
        if runs and runs[-1][1] == shade:
            runs[-1] = (runs[-1][0] + letter, shade)
        else:
            runs.append((letter, shade))
    best = ""
    if len(text) >= width:
        at = int(np.convolve(values, np.ones(width), "valid").argmax())
        best = f"{text[at : at + width]} at {at + 1} to {at + width}"
    of = "the prediction" if subject.classes is None else answer
    number = int(subject.numbers(True)[i])
    return Case(number, truth, f"predicted {answer}", of, runs, first, len(text), best)


def _pieces(subject: Subject, found: LetterValues, width: int) -> list[tuple[str, list[Motif]]]:
    """The pieces that speak most for each answer, by all that they add."""
    answers = ["less", "more"]
    if subject.classes is not None:
        answers = [str(c) for c in subject.classes]
    result = []
    for number, answer in enumerate(answers[:ANSWERS]):
        values = _added(subject, found, number)
        if subject.classes is None:
            values = [(-1 if number == 0 else 1) * each for each in values]
        sums: dict[str, list[float]] = {}
        one = replace(found, values=values)
        for text, added in one.strongest(width, sum(map(len, found.sequences)) or 1):
            sums.setdefault(text, []).append(added)
        strongest = sorted(sums.items(), key=lambda item: -sum(item[1]))[:PIECES]
        pieces = [Motif(text, len(own), sum(own) / len(own)) for text, own in strongest]
        pieces = [piece for piece in pieces if piece.adds > 0]
        result += [(answer, pieces)] if pieces else []
    return result
