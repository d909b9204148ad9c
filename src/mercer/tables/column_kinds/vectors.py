"""Columns with a vector in each cell: embeddings, spectra, histograms of one length."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer.samples import LISTED, kind_named
from mercer.tables.column_kinds.interface import Extent
from mercer.tables.column_kinds.objects import ObjectColumns
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

    def extent(self, column: Any, values: np.ndarray, counts: Counter) -> Extent:
        length = (vector_lengths(values[~missing_values(values)]) or [0])[0]
        return length, length, []

    def cells(self, column: Any, values: np.ndarray) -> np.ndarray:
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

    def views(self, column: Any, cells: object) -> dict[str, str]:
        return {str(column.name): "vectors", f"{column.name}: direction": "directions"}

    def range_in_words(self, low: str, high: str) -> str:
        return f"vectors of {high} numbers"

    def _shown(self, column: Any, values: np.ndarray) -> list:
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
