"""What a page makes of the cells of a row: the numbers that machines read, and a form for cells;
and kernels with the rows that they compare with, as data that model.js evaluates.

A form has a field for each column that a machine reads. Its cells become *series* of numbers (a
date has several), and these the *inputs*, the columns of the encoded table.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.distances import Match as MatchDistance, PairDifferences
from mercer.kernels import (
    FromDistance,
    Kernel,
    Match,
    Normalised,
    On,
    OnCoordinates,
    OneTerm,
    Spectrum,
    TableKernel,
)
from mercer.samples import Categories, EncodedColumns, Strings, Table
from mercer.tables import (
    MISSING,
    Column,
    Feature,
    LevelEffect,
    TableEncoder,
    as_dates,
    as_texts,
    level_texts,
)

READ = (
    "number",
    "time",
    "date",
    "category",
    "ordered",
    "text",
)  # kinds of columns that have a field
MOST_LEVELS = 1000  # of a field, whose list is long enough
WHOLE = 0.9  # part of the quantiles that are whole numbers, if all cells are
BEYOND = ": beyond a limit"  # the end of a label: a field holds no limits such as <0.1


class NotInPage(Exception):
    """Why a model cannot predict in a page, as the end of a sentence."""


class TooMany(NotInPage):
    """It has too many rows or parts: one with few centres could."""


def packed(values: Any, dtype: str = "f8") -> dict[str, str]:
    """Numbers as model.js unpacks them."""
    array = np.ascontiguousarray(values, f"<{dtype}")
    return {dtype: base64.b64encode(array.tobytes()).decode()}


class Inputs:
    """The columns of encoded tables that a page computes, in the order in which it does.

    Parameters
    ----------
    columns : list of Column
        Those of the table.

    Attributes
    ----------
    fields : list of dict
        The form: a field for each column of the table that is read.
    series, entries : list of dict
        What model.js makes of the fields, and of these series.
    texts : list
        Those of stored rows, whose numbers are inputs; lists of words, or texts of characters.
    rarities : list
        How rare substrings are, for kernels on texts: pairs of a weight and those that have it.
    orders : list of ndarray
        The numbers of the features of these substrings, in their order.
    """

    def __init__(self, columns: Sequence[Column]):
        self.columns = {column.name: column for column in columns}
        self.fields: list[dict[str, Any]] = []
        self.series: list[dict[str, Any]] = []
        self.entries: list[dict[str, Any]] = []
        self.sources: list[Any] = []  # the names of the columns of the fields
        self._read: list[tuple[TableEncoder, int, LevelEffect | None]] = []
        self.texts: list[Any] = []
        self.rarities: list[list[tuple[float, list[str]]]] = []
        self.orders: list[np.ndarray] = []
        self._texts: dict[Any, int] = {}
        self._rarities: dict[int, int] = {}
        self._series: dict[tuple, int] = {}
        self._entries: dict[tuple, int] = {}

    def places(
        self, encoder: TableEncoder, columns: Iterable[int], effect: LevelEffect | None = None
    ) -> list[int]:
        """The places of columns that an encoder makes, among the inputs of the page.

        Give ``effect`` for a column of levels that is read by the effects of its levels.
        """
        return [self._place(encoder, j, effect) for j in columns]

    def _place(self, encoder: TableEncoder, j: int, effect: LevelEffect | None) -> int:
        """The number of an input of the page, which is entered when it is asked for first."""
        key = id(encoder), j, id(effect)
        if key not in self._entries:
            feature = encoder.features_[j]
            entry = self._entry(encoder, feature)
            if effect is not None:
                entry["effects"] = packed(effect.values)
            self._entries[key] = len(self.entries)
            self.entries.append(entry)
            self._read.append((encoder, j, effect))
        return self._entries[key]

    def matrix(self, encoder: TableEncoder, M: EncodedColumns) -> np.ndarray:
        """The inputs of rows that an encoder has encoded; 0 for those of another encoder."""
        found = np.zeros((len(M), len(self._read)), np.float32)
        for i, (own, j, effect) in enumerate(self._read):
            if own is encoder and "text" in self.entries[i]:
                found[:, i] = self.numbered(M.objects[j])
            elif own is encoder:
                numbers = M.numbers[:, j]
                found[:, i] = numbers if effect is None else effect(numbers)
        return found

    def numbered(self, strings: Strings) -> list[int]:
        """The numbers of encoded texts among those of the page."""
        codes, found = np.array(strings.alphabet, object)[strings.values], []
        for start, stop in pairwise(strings.starts.tolist()):
            symbols = codes[start:stop].tolist()  # of characters with a blank at both ends
            text = symbols if strings.form == "tokens" else "".join(symbols)[1:-1]
            key = tuple(symbols)
            if key not in self._texts:
                self._texts[key] = len(self.texts)
                self.texts.append(text)
            found.append(self._texts[key])
        return found

    def rarity(self, idf: Any, alphabet: list) -> int:
        """The number of known frequencies among those of the page."""
        if id(idf) not in self._rarities:
            gap = " " if any(len(symbol) > 1 for symbol in alphabet) else ""
            base, found = np.uint64(idf.base), list[str]()
            for size, keys in enumerate(idf.keys, 1):
                digits = (
                    keys[:, None] // base ** np.arange(size - 1, -1, -1, dtype=np.uint64) % base
                )
                found += [gap.join(alphabet[d] for d in each) for each in digits.astype(int)]
            weights = np.concatenate(idf.weights)
            order = np.argsort(weights, kind="stable")
            first = np.flatnonzero(np.diff(weights[order], prepend=-1))
            self.rarities.append([
                (float(weights[some[0]]), [found[i] for i in some])
                for some in np.split(order, first[1:])
            ])  # fmt: skip
            self._rarities[id(idf)] = len(self.orders)
            self.orders.append(order)
        return self._rarities[id(idf)]

    def _entry(self, encoder: TableEncoder, feature: Feature) -> dict[str, Any]:
        """How the page makes an input from a field."""
        kind, name = feature.kind, feature.source
        field = self._field(encoder, name)
        if kind in ("code", "each") and feature.label == str(name):
            levels = (encoder.levels_ if kind == "code" else encoder.each_)[name]
            return {"field": field, "levels": [None if v == MISSING else v for v in levels]}
        if kind in ("characters", "words"):
            return {"field": field, "text": kind}
        if feature.holds_objects:
            raise NotInPage(f"it reads {feature.label!r}, which is no number and no level")
        label = feature.label.removesuffix(" is missing") if kind == "code" else feature.label
        series = self._series_of(encoder, name, label, field)
        if kind == "code":
            return {"series": series, "kind": "missing"}
        known = encoder.numbers_[label]
        if kind == "level":
            return {"series": series, "kind": kind, "values": known.values}
        if kind in ("rank", "normal"):
            shown = self.series[series]
            shown.setdefault("quantiles", packed(encoder.quantiles_[known.place]))
        return {"series": series, "kind": kind}

    def _series_of(self, encoder: TableEncoder, name: Any, label: str, field: int) -> int:
        """The number of the series of numbers that the page reads from a field."""
        key = id(encoder), label
        if key not in self._series:
            column, known = self.columns[name], encoder.numbers_[label]
            made = {
                "field": field, "median": known.median, "centre": known.centre,
                "spread": known.spread,
            }  # fmt: skip
            if column.kind in ("category", "ordered"):
                levels = np.array(self.fields[field]["levels"], object)
                numbers = column.of.series(column, levels)[label]
                made["numbers"] = [None if n != n else n for n in numbers.tolist()]
            else:
                part = label.removeprefix(f"{name}").removeprefix(": ")
                made["part"] = "none" if label.endswith(BEYOND) else part
            self._series[key] = len(self.series)
            self.series.append(made)
        return self._series[key]

    def _field(self, encoder: TableEncoder, name: Any) -> int:
        """The place of the field of a column of the table."""
        if name not in self.sources:
            column = self.columns[name]
            if column.kind not in READ:
                raise NotInPage(f"it reads {name!r}, whose kind is {column.kind}")
            self.sources.append(name)
            self.fields.append(_field_of(column, encoder))
        return self.sources.index(name)

    def cells(self, table: dict[Any, np.ndarray]) -> list[list[Any]]:
        """Rows of a table as the cells of the form, None for a missing one."""
        read = [_cells(self.columns[name], table[name]) for name in self.sources]
        return [list(row) for row in zip(*read)]


def _field_of(column: Column, encoder: TableEncoder) -> dict[str, Any]:
    """The field of a column: its range or its levels, and the value that it starts with."""
    name, kind = column.name, column.kind
    if kind == "text":
        return {"name": str(name), "kind": kind, "text": True, "start": ""}
    found: dict[str, Any] = {"name": str(name), "kind": kind, "missing": bool(column.missing)}
    if kind in ("category", "ordered"):
        levels = column.levels
        if kind == "category":
            known = encoder.each_.get(name, encoder.levels_[name])
            levels = [level for level in known if level != MISSING]
        if len(levels) > MOST_LEVELS:
            raise NotInPage(f"{name!r} has {len(levels):,} levels, too many for a list")
        often = [level for level in column.levels if level in levels] or levels
        start = levels[len(levels) // 2] if kind == "ordered" else next(iter(often), None)
        return found | {"levels": levels, "start": start}
    if kind == "date":
        ends = as_dates(np.array([column.low, column.high], object)).astype("M8[s]").astype(int)
        days = encoder.numbers_.get(f"{name}: elapsed days")
        middle = (ends[0] + ends[1]) / 2 if days is None else 86400 * days.median
        timed = any(f"{name}: {part}" in encoder.numbers_ for part in ("hour", "minute"))
        step = 60 if timed else 86400
        ends = [int(ends[0]) // step * step, int(ends[1]) // step * step]
        return found | {
            "low": ends[0], "high": ends[1], "start": int(middle) // step * step, "step": step
        }  # fmt: skip
    known = encoder.numbers_[str(name)]
    quantiles = encoder.quantiles_[known.place]
    # quantiles of whole numbers may lie between two of them
    whole = np.mean(np.abs(quantiles - np.round(quantiles)) < 1e-6) > WHOLE
    low, high = float(quantiles[0]), float(quantiles[-1])
    return found | {"low": low, "high": high, "start": known.median, "step": 1 if whole else None}


def _cells(column: Column, values: np.ndarray) -> list[Any]:
    """The cells of a column of a table as those of its field."""
    if column.kind == "text":
        return as_texts(values, column.name)
    if column.kind == "category":
        return [None if v == MISSING else v for v in level_texts(values, MISSING)]
    numbers = column.of.read(values, column)
    if numbers.dtype.kind == "M":
        seconds = numbers.astype("M8[s]").astype(float)
        numbers = np.where(np.isnat(numbers), np.nan, seconds)
    cells = [None if v != v else v for v in numbers.tolist()]
    if column.kind == "ordered":
        return [None if v is None else column.levels[int(v)] for v in cells]
    return cells


def stored_rows(kernel: Kernel, rows: Any, encoder: TableEncoder, inputs: Inputs) -> dict[str, Any]:
    """A kernel, and the rows that new ones are compared with, of the columns that it reads."""
    if not isinstance(rows, Table):
        raise NotInPage(f"its kernel reads {type(rows).__name__}")
    columns = sorted({j for _, own in rows.groups for j in own})
    at = inputs.places(encoder, columns)  # which refuses what a page cannot read
    matrix = np.empty((len(rows), len(columns)), np.float32)
    for (_, own), part in zip(rows.groups, rows.parts):
        places = [columns.index(j) for j in own]
        if isinstance(part, Strings):
            matrix[:, places[0]] = inputs.numbered(part)
        else:
            matrix[:, places] = part.codes if isinstance(part, Categories) else np.asarray(part)
    return {
        "at": at, "rows": len(rows), "X": packed(matrix, "f4"),
        "kernel": expression(kernel, Layout.of(rows, inputs)),
    }  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """Where the columns that a kernel reads stand in the rows of a page."""

    columns: list[int]  # in their order
    inputs: Inputs
    alphabets: dict[int, list]  # the symbols of columns of texts, by their place

    @classmethod
    def of(cls, rows: Table, inputs: Inputs) -> Layout:
        columns = sorted({j for _, own in rows.groups for j in own})
        texts = {
            columns.index(own[0]): part.alphabet
            for (_, own), part in zip(rows.groups, rows.parts) if isinstance(part, Strings)
        }  # fmt: skip
        return cls(columns, inputs, texts)

    def has_text(self, columns: Iterable[int]) -> bool:
        """Whether one of these columns is of texts."""
        return any(self.columns.index(j) in self.alphabets for j in columns)

    def leaf(self, kernel: Kernel, columns: Iterable[int]) -> dict[str, Any]:
        """A kernel on some of these columns as data."""
        at = [self.columns.index(j) for j in columns]
        if self.has_text(columns):
            return self._of_texts(kernel, at[0])
        return leaf(kernel, at)

    def _of_texts(self, kernel: Kernel, at: int) -> dict[str, Any]:
        """The numbers from which the page computes a kernel of texts."""
        of = kernel.kernel if isinstance(kernel, Normalised) else kernel
        if of is kernel or not isinstance(of, Spectrum) or of.decay != 1:
            raise NotInPage(f"the kernel {type(of).__name__} on texts is not written in JavaScript")
        rarity = -1 if not of.idf else self.inputs.rarity(of.idf, self.alphabets[at])
        return {
            "of": "texts", "at": [at], "longest": of.k, "sublinear": bool(of.sublinear),
            "shortest": of.k if of.shortest is None else of.shortest, "rarity": rarity,
        }  # fmt: skip


def expression(kernel: Kernel, layout: Layout) -> dict[str, Any]:
    """A table kernel as data: how its parts are combined, and what each of them reads where."""
    if isinstance(kernel, On):
        return layout.leaf(kernel.kernel, kernel.columns)
    if not isinstance(kernel, TableKernel):
        raise NotInPage(f"the kernel {type(kernel).__name__} is not written in JavaScript")
    weights = np.ones(len(kernel.parts)) if kernel.weights is None else kernel.weights
    return {
        "combine": kernel.combine, "weights": [float(w) for w in weights],
        "parts": [layout.leaf(part, own) for part, own in kernel.parts],
    }  # fmt: skip


def leaf(kernel: Kernel, at: list[int]) -> dict[str, Any]:
    """A kernel on some columns as data."""
    if isinstance(kernel, OnCoordinates):
        return leaf(kernel.kernel, [at[j] for j in kernel.columns])
    if isinstance(kernel, OneTerm):
        found = {"at": [at[kernel.column]], "rate": float(kernel.rate)}
        rho: Any = kernel.rho
        if isinstance(rho, MatchDistance):
            return {"of": "unequal"} | found
        scale = {} if kernel.factor is None else {"scale": [float(kernel.factor)]}
        return {"of": "distance", "p": float(rho.p), "power": 1.0} | found | scale
    if isinstance(kernel, Match) and kernel.weights is None:
        return {"of": "share", "at": at}
    if isinstance(kernel, Match) and sorted(kernel.weights)[:-1] == [0.0] * (len(at) - 1):
        return {"of": "share", "at": [at[int(np.argmax(kernel.weights))]]}
    if isinstance(kernel, FromDistance) and kernel.power == 1:
        of, rate = kernel.rho, {"at": at, "rate": float(kernel.gamma)}
        if isinstance(of, MatchDistance) and of.weights is None:
            return {"of": "unequal"} | rate
        if isinstance(of, PairDifferences) and of.p == 1:
            return {"of": "differences"} | rate
    formula = kernel.formula
    falls = formula is not None and formula.profile == "exponential" and formula.factor == 1
    if formula is None or not falls or formula.coordinates != "distance":
        raise NotInPage(f"the kernel {type(kernel).__name__} is not written in JavaScript")
    found = {"of": "distance", "at": at, "p": float(formula.p)} | dict(formula.parameters)
    if formula.scaling is None:
        return found
    A = np.asarray(formula.scaling, float)
    return found | ({"scale": A.tolist()} if A.ndim == 1 else {"map": A.tolist()})
