"""Samples together with what a comparison computes once for each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.persistence import each, fields, length_of


@fields(parts=each(length_of(lambda rows: rows.parts[0].shape[0])))
class Prepared:
    """What `block` reads, computed once from encoded samples: see `Comparison.prepare`.

    Parameters
    ----------
    parts : tuple
        Samples or arrays with the same rows: scaled vectors, their norms, the samples that inner
        comparisons read ... The first one has the precision of all.
    common : any, optional
        What both sides must have in common, such as the origin that was subtracted from vectors.
    """

    def __init__(self, parts: tuple, common: Any = None):
        self.parts = parts
        self.common = common

    @property
    def shape(self) -> tuple[int]:
        return (self.parts[0].shape[0],)

    @property
    def dtype(self) -> np.dtype:
        return self.parts[0].dtype

    def __getitem__(self, rows: Any) -> Prepared:
        return Prepared(tuple(part[rows] for part in self.parts), self.common)

    def __repr__(self) -> str:
        return f"Prepared({self.shape[0]} rows, {len(self.parts)} parts)"
