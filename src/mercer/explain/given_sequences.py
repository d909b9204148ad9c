"""Sequences that a user gives a model of any kind: their column, their letters, and the model's
answers after some of the letters are replaced."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.explain.game import Explainable, Explained, explained_model, model_function
from mercer.learners.base import KernelSum
from mercer.samples import (
    EncodedColumns,
    SamplesLike,
    Strings,
    Table,
    as_cells,
    column_names,
    describe_entry,
    frame_of,
    is_frame,
)
from mercer.tables import ReadTable, level_texts
from mercer.threads import raise_if_stopped

MADE, MADE_LETTERS = 4096, 1 << 23  # sequences that a model is asked for at a time, and letters
DNA, RNA, PROTEIN = "ACGT", "ACGU", "ACDEFGHIKLMNPQRSTVWY"
BASES = set("ACGTU")
NUCLEOTIDES = BASES | set("NRYSWKMBDHV-.*")  # and letters for several of them
LETTERS = re.compile(r"[A-Za-z*.-]*")

Change = tuple[int, int, str, str]  # row, place, reference, alternative


@dataclass(frozen=True)
class GivenSequences:
    """A model, and the rows with sequences that a user gave."""

    model: Explained
    X: Any
    column: Any  # None: X is a list of sequences
    texts: list[str]
    output_names: list[str] | None
    weights: np.ndarray | None  # of the model's outputs in the one that is explained, (outputs, 1)

    @classmethod
    def read(cls, model: Any, X: Any, column: Hashable, of: object) -> GivenSequences:
        if is_frame(X) or isinstance(model, Explainable):
            explained = explained_model(model, X, None)
            if not isinstance(model, Explainable):  # it reads the user's frames as they are
                explained = replace(explained, encode=lambda rows: rows)
            column = _column(X, list(explained.columns), column)
            cells = _cells_of(X, column)
        else:
            function, names = model_function(model, None)
            explained = Explained(function, lambda rows: rows, {}, [function], None, names)
            cells, column = _cells(X), None
        texts = ["" if cell is None and column is not None else _text(i, cell)
                 for i, cell in enumerate(cells)]  # fmt: skip
        names, weights = explained.output_names, None
        if of is not None:
            weights, names = _weights_of(model, of, names), None
        return cls(explained, X, column, texts, names, weights)

    def encoded(self) -> Any:
        return self.model.encode(self.X if self.column is not None else self.texts)

    def outputs(self) -> np.ndarray:
        """What the model answers for the rows, (n, outputs)."""
        return self._answers(self.encoded(), len(self.texts))

    def named(self, values: np.ndarray) -> np.ndarray:
        """Values (n, outputs) as a user gets them: (n,) where the output has no name."""
        return values[:, 0] if self.output_names is None else values

    def _answers(self, encoded: Any, n: int) -> np.ndarray:
        count = len(self.model.output_names or [""])
        found = np.asarray(self.model.function(encoded), float).reshape(n, count)
        return found if self.weights is None else found @ self.weights

    def of_made(self, changes: list[Change]) -> np.ndarray:
        """What the model answers after each change, (n, outputs)."""
        found = [np.empty((0, len(self.output_names or [""])))]
        step = max(1, min(MADE, MADE_LETTERS // max([1, *map(len, self.texts)])))
        for start in range(0, len(changes), step):
            raise_if_stopped()
            own = changes[start : start + step]
            part = [self.texts[row][:place] + new + self.texts[row][place + len(old) :]
                    for row, place, old, new in own]  # fmt: skip
            made: Any = part
            if self.column is not None:
                rows = np.array([row for row, *_ in own])
                made = _with_column(self.X, rows, self.column, part)
            found.append(self._answers(self.model.encode(made), len(part)))
        return np.concatenate(found)

    def alphabet(self, alphabet: str | None) -> str:
        """The letters that replace others."""
        if alphabet is not None:
            if not isinstance(alphabet, str) or len(set(alphabet)) < 2:
                raise ValueError(f"alphabet={alphabet!r}: give a text of at least 2 letters.")
            return alphabet
        own = Counter("".join(self.texts).upper())
        known = self._training_letters() or own
        bases = sum(known[letter] for letter in BASES)
        if not known.keys() <= NUCLEOTIDES or 2 * bases < known.total() - known["N"]:
            return PROTEIN
        of = own if own["T"] + own["U"] else known
        return RNA if of["U"] > of["T"] else DNA

    def _training_letters(self) -> Counter:
        """The letters, as capitals, of the training sequences that the model has kept."""
        kept = [f.stored for f in self.model.summands if isinstance(f, KernelSum)]
        if self.model.background is not None:
            kept.append(self.model.background.rows)
        found: Counter = Counter()
        for rows in kept:
            parts = [rows]
            if isinstance(rows, Table):
                parts = [part for (_, names), part in zip(rows.groups, rows.parts)
                         if self.column in names]  # fmt: skip
            elif isinstance(rows, EncodedColumns):
                parts = [rows.objects.get(j) for j in self.model.columns.get(self.column, ())]
            for part in parts:
                if isinstance(part, Strings) and part.form == "text":
                    counts = np.bincount(part.values, minlength=len(part.alphabet)).tolist()
                    for letter, count in zip(part.alphabet, counts):
                        found[letter.upper()] += count
        return +found


def same_letters(one: str, two: str) -> bool:
    """Whether two texts are the same letters, in capitals or not, of RNA or of DNA."""
    plain = [text.upper().replace("U", "T") for text in (one, two)]
    return plain[0] == plain[1]


def _cells(X: Any) -> list:
    """What a list of sequences holds."""
    try:
        found = None if isinstance(X, (str, bytes, dict, set)) else list(X)
    except TypeError:  # it holds nothing
        found = None
    if found is None:
        raise TypeError(
            f"X is {str(X)[:40]!r}: give a list of sequences, or a data frame that has a column "
            "of them."
        )
    return found


def _weights_of(model: Any, of: object, names: list[str] | None) -> np.ndarray:
    """The weights of a model's outputs in that of one class, (outputs, 1)."""
    classes = [str(c) for c in getattr(model, "classes_", [])]
    if classes.count(str(of)) != 1:
        raise ValueError(f"of={of!r}: give one of the classes {classes}.")
    if names is None:  # positive for the second of two classes
        return np.array([[1.0 if classes.index(str(of)) else -1.0]])
    return np.eye(len(classes))[:, [classes.index(str(of))]]


def _text(row: int, cell: object) -> str:
    if not isinstance(cell, str):
        raise ValueError(f"X[{row}] is {describe_entry(cell)}: give sequences as texts.")
    return cell


def _cells_of(X: Any, column: Hashable) -> list:
    """The cells of a column of a table, which may have been read already."""
    if isinstance(X, ReadTable):
        return [cell or None for cell in level_texts(X.columns[column])]
    return frame_of(X).get_column(column).to_list()


def _column(X: SamplesLike, known: list, column: Hashable) -> Any:
    """The column of sequences."""
    if not (is_frame(X) or isinstance(X, ReadTable)):
        raise ValueError("The model reads tables: give a data frame with the column of sequences.")
    names = X.names if isinstance(X, ReadTable) else column_names(X)
    if column is not None:
        if column not in names:
            raise ValueError(f"column={column!r}: X has the columns {names}.")
        return column
    found = []
    for name in (name for name in names if name in known):
        cells = [cell for cell in _cells_of(X, name) if cell is not None]
        if cells and all(isinstance(c, str) and LETTERS.fullmatch(c) for c in cells):
            found.append(name)
    if len(found) != 1:
        raise ValueError(
            f"{found or 'No columns'} hold sequences: name the one that changes by column=."
        )
    return found[0]


def _with_column(X: Any, rows: np.ndarray, column: Hashable, texts: list[str]) -> Any:
    """Rows of a table whose column has other texts."""
    if isinstance(X, ReadTable):
        return X[rows].replaced(column, as_cells(texts))
    import narwhals as nw

    made = frame_of(X)[rows.tolist()]
    own = made.get_column(column)
    new = nw.new_series(own.name, texts, dtype=nw.String(), backend=made.implementation)
    return made.select(new if c == column else made.get_column(c) for c in made.columns).to_native()
