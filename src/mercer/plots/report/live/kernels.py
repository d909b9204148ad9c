"""Kernels and the rows that they compare with, as data that model.js evaluates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
from mercer.plots.report.live.inputs import Inputs, NotInPage, packed
from mercer.samples import Categories, Strings, Table
from mercer.tables import TableEncoder


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
