"""DNA and proteins in the report: what each letter of some held-out sequences adds to the
prediction, and the strongest pieces of all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.explain import LetterValues, letters
from mercer.plots.fitted import sample_rows, take
from mercer.plots.report.section import Section
from mercer.plots.report.subject import Subject

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
class Piece:
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
    pieces: list[tuple[str, list[Piece]]]  # the strongest for each answer
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


def _pieces(subject: Subject, found: LetterValues, width: int) -> list[tuple[str, list[Piece]]]:
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
        pieces = [Piece(text, len(own), sum(own) / len(own)) for text, own in strongest]
        pieces = [piece for piece in pieces if piece.adds > 0]
        result += [(answer, pieces)] if pieces else []
    return result
