"""Which kinds of columns there are, and those with a vector in each cell: embeddings, spectra,
histograms of one length."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np

from mercer.samples import LISTED, all_kinds, kind_in_cells, kind_named
from mercer.tables.column_kinds.interface import ColumnKind, Extent, WrittenColumn
from mercer.tables.column_kinds.objects import (
    MoleculeColumns,
    ObjectColumns,
    SequenceColumns,
    SeriesColumns,
    SetColumns,
    TextColumns,
    of_json,
)
from mercer.tables.column_kinds.single_values import (
    DateColumns,
    LevelColumns,
    NumberColumns,
    OrderedColumns,
    TimeColumns,
)
from mercer.tables.forms import degrees_in
from mercer.tables.values import missing_values, short

_BARE = re.compile(r"[-+]?[\d.]+(?:e[-+]?\d+)?(?:(?:; ?|\| ?|, )[-+]?[\d.]+(?:e[-+]?\d+)?)+")
_POINT = re.compile(r"(?:SRID=\d+;)?POINT ?Z? ?\(([-+.\de ]+)\)")  # as databases write places
_PLACES = re.compile(r"[,;] ?|(?<=[NSEW]) ")  # between two degrees
LEAST = 2  # numbers of a vector


class VectorColumns(ObjectColumns):
    """Vectors of numbers, which may be written as texts such as "[0.1, 0.2]".

    ``low`` and ``high`` of such a column are the length of its vectors. A missing vector counts as
    zeros.
    """

    def __init__(self):
        super().__init__(kind_named("vectors"))
        self.name = "vector"
        self.gap = "A missing vector counts as zeros"

    def check(self, name: object, present: np.ndarray) -> None:
        lengths = vector_lengths(present.tolist())
        if lengths is None:
            other = next(v for v in present.tolist() if vector_lengths([v]) is None)
            raise ValueError(
                f"kind: {name}='vector', but the column holds {short(other)}: "
                'give lists of numbers, or texts such as "[0.1, 0.2]".'
            )
        if len(set(lengths)) > 1:
            raise ValueError(
                f"kind: {name}='vector', but the vectors have from {min(lengths)} to "
                f"{max(lengths)} numbers: give vectors of one length."
            )

    def extent(self, column: WrittenColumn, values: np.ndarray, counts: Counter) -> Extent:
        length = (vector_lengths(values[~missing_values(values)]) or [0])[0]
        return length, length, []

    def cells(self, column: WrittenColumn, values: np.ndarray) -> np.ndarray:
        rows = np.zeros((len(values), int(column.high)))
        for i in np.flatnonzero(~missing_values(values)):
            vector = as_vector(values[i])
            if vector is None or len(vector) != rows.shape[1]:
                raise ValueError(
                    f"column {column.name!r}: row {i} holds {short(values[i])}, but in training "
                    f"each cell was a vector of {rows.shape[1]} numbers. Give such a vector, or "
                    "leave the cell empty."
                )
            rows[i] = vector
        return rows

    def views(self, column: WrittenColumn, cells: object) -> dict[str, str]:
        return {str(column.name): "vectors", f"{column.name}: direction": "directions"}

    def range_in_words(self, low: str, high: str) -> str:
        return f"vectors of {high} numbers"

    def _shown(self, column: WrittenColumn, values: np.ndarray) -> list:
        return list(self.cells(column, values[~missing_values(values)]))

    def _sizes(self, cells: list) -> list[float]:
        return [float(np.linalg.norm(cell)) for cell in cells]


def as_vector(cell: object) -> np.ndarray | None:
    """The numbers of a list, an array or a text such as "[0.1, 0.2]"; None if it is no vector.

    Examples
    --------
    >>> as_vector("[0.5, -1e-3]"), as_vector("0.5; 2"), as_vector(["a"]), as_vector("0.5")
    (array([ 0.5  , -0.001]), array([0.5, 2. ]), None, None)
    """
    if isinstance(cell, str):
        text = cell.strip()
        places = [degrees_in(part) for part in _PLACES.split(text)] if "°" in text else []
        if len(places) == 2 and None not in places:
            return np.array(places, np.float64)
        if text[:1] in "PS" and (point := _POINT.fullmatch(text)):
            text = f"[{point[1]}]"
        if text[:1] + text[-1:] not in ("[]", "()"):
            if "." not in text or not _BARE.fullmatch(text):
                return None
            text = f"[{text}]"
        cell = text[1:-1].replace("|", " ").replace(",", " ").replace(";", " ").split()
    elif not isinstance(cell, LISTED) or any(isinstance(v, (str, bool)) for v in cell):
        return None
    try:
        vector = np.asarray(cell, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return vector if vector.ndim == 1 and np.isfinite(vector).all() else None


def vector_lengths(cells: Iterable) -> list[int] | None:
    """The lengths of the vectors in the cells; None if a cell is no vector of two numbers."""
    lengths = []
    for cell in cells:
        vector = as_vector(cell)
        if vector is None or len(vector) < LEAST:
            return None
        lengths.append(len(vector))
    return lengths


def are_vectors(cells: list) -> bool:
    """Whether the cells of a column, lists or texts, are vectors beyond doubt."""
    found = [vector for vector in map(as_vector, cells) if vector is not None]
    vectors = len(found) == len(cells) > 0 and kind_named("vectors").recognise(found, found)
    return vectors is found


class UnusedColumns(ColumnKind):
    """Identifiers, columns that are constant, empty or a duplicate, and those to leave out."""

    used = False

    def __init__(self, name: str, given: bool = False, identifies: bool = False):
        self.name, self.given, self.identifies = name, given, identifies


_KINDS = {
    kind.name: kind
    for kind in (
        NumberColumns(),
        LevelColumns(),
        DateColumns(),
        TextColumns(),
        SequenceColumns(),
        SetColumns(),
        SeriesColumns(),
        MoleculeColumns(),
        ObjectColumns(kind_named("bags")),
        VectorColumns(),
        TimeColumns(),
        OrderedColumns(),
        UnusedColumns("identifier", given=True, identifies=True),
        UnusedColumns("drop", given=True),
        *map(UnusedColumns, ("dropped", "constant", "duplicate", "empty")),
    )
}


def column_kinds() -> list[ColumnKind]:
    """All kinds of columns, those of registered kinds of samples last."""
    return [*_KINDS.values(), *_registered()]


def column_kind(name: str) -> ColumnKind:
    """The kind of column with this name; ValueError if there is none."""
    found = _KINDS.get(name) or next((k for k in _registered() if k.name == name), None)
    if found is None:
        raise ValueError(
            f"there is no kind of column {name!r}: import the module that registers it "
            "(mercer.samples.register_kind)."
        )
    return found


def object_column(cells: list) -> ColumnKind | None:
    """The kind of column whose known values all are samples of a registered kind, or objects of
    JSON that are such; or None."""
    own = next((kind for kind in _KINDS.values() if cells and kind.holds(cells)), None)
    if own is not None:
        return own
    kind = kind_in_cells(cells)
    if kind is None and cells and isinstance(cells[0], str) and cells[0].lstrip()[:1] == "{":
        kind = kind_in_cells(list(map(of_json, cells)))
    return None if kind is None else ObjectColumns(kind)


def _registered() -> list[ColumnKind]:
    return [ObjectColumns(kind) for kind in all_kinds() if kind.column and not kind.judged]
