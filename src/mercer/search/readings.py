"""Samples as rows for hash functions and lists of candidates, for each distance with a family.

A reading turns encoded samples into rows, names the family of their distance, and computes the
distances of listed pairs. Distances of vectors become norms of differences: weights scale the
columns, Mahalanobis' distance is that of whitened rows, and an angle is found from its chord.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mercer import _native
from mercer.distances import (
    Cosine,
    Distance,
    Jaccard,
    Mahalanobis,
    MappedMinkowski,
    Match,
    Minkowski,
    dense_rows,
    unit_rows,
)
from mercer.persistence import fields, one_of
from mercer.samples import Samples, Sets
from mercer.search.families import BitSampling, HashFamily, Hyperplanes, StableProjections
from mercer.search.minhash import MinHash


class Reading(ABC):
    """Abstract: how samples are read for one distance."""

    family: HashFamily

    @abstractmethod
    def rows(self, X: Samples) -> Any:
        """Encoded samples as rows, which can be sliced."""

    @abstractmethod
    def listed(
        self, Z: Samples, X: Samples, ids: np.ndarray, starts: np.ndarray, dtype: DTypeLike
    ) -> np.ndarray:
        """Distances of row i of Z to the rows ``ids[starts[i] : starts[i + 1]]`` of X, (total,)."""

    @abstractmethod
    def sizes(self, X: Samples) -> tuple[float, float]:
        """About how many operations one hash of a row takes, and one distance."""

    def stepped(self, X: Samples, Z: Samples, near: float) -> Any:
        """Rows at the distance ``near`` of each row of X, in the direction of those of Z.

        None (the default) where there is no such direction.
        """
        return None


@fields(norm=one_of("squares", "manhattan", "differences"))
@dataclass(eq=False)
class VectorReading(Reading):
    """Vectors, compared by a norm of their difference."""

    distance: Distance  # a bound one
    norm: str  # the native loop: "squares", "manhattan" or "differences"
    family: HashFamily
    weights: Any = None  # those of the columns, (d,), if differences are counted

    def rows(self, X: Samples) -> np.ndarray:
        return np.ascontiguousarray(_mapped(self.distance, X), X.dtype)

    def listed(
        self, Z: np.ndarray, X: np.ndarray, ids: np.ndarray, starts: np.ndarray, dtype: DTypeLike
    ) -> np.ndarray:
        out = np.empty(len(ids), dtype)
        Z, X = (side.astype(dtype, copy=False) for side in (Z, X))
        w = np.empty(0) if self.weights is None else self.weights
        measure = getattr(_native, f"listed_{self.norm}")
        measure(Z, X, np.asarray(w, dtype), ids, starts, out)
        if self.norm != "squares":
            return out
        np.sqrt(out, out=out)
        if isinstance(self.distance, Cosine):  # from the length of the chord
            out = 2 * np.arcsin(np.minimum(out / 2, 1, out=out), out=out)
        return out

    def stepped(self, X: np.ndarray, Z: np.ndarray, near: float) -> Any:
        if not isinstance(self.family, StableProjections):
            return None
        each = np.arange(len(X) + 1)
        D = self.listed(X, Z, each[:-1].astype(np.int32), each, X.dtype)
        apart = np.flatnonzero(D > 0)
        out = X.copy()  # equal rows stay where they are
        out[apart] += (Z[apart] - X[apart]) * (near / D[apart])[:, None].astype(X.dtype)
        return out

    def sizes(self, X: Samples) -> tuple[float, float]:
        columns = float(X.shape[1])
        return 1.0 if self.norm == "differences" else columns / 8, columns / 4


@fields()
class SetReading(Reading):
    """Sets, compared by Jaccard's distance."""

    def __init__(self) -> None:
        self.family = MinHash()

    def rows(self, X: Sets) -> Sets:
        return X

    def listed(
        self, Z: Any, X: Any, ids: np.ndarray, starts: np.ndarray, dtype: DTypeLike
    ) -> np.ndarray:
        out = np.empty(len(ids), dtype)
        _native.listed_jaccard(Z.values, Z.starts, X.values, X.starts, ids, starts, out)
        return out

    def sizes(self, X: Sets) -> tuple[float, float]:
        items = len(X.values) / max(len(X), 1)
        return items / 8, 4 * items


def reading_of(distance: Distance, X: Samples) -> Reading:
    """The reading of encoded training samples X for a bound distance."""
    if isinstance(distance, Jaccard):
        return SetReading()
    if isinstance(distance, Cosine):
        return VectorReading(distance, "squares", Hyperplanes())
    if isinstance(distance, Mahalanobis):
        return VectorReading(distance, "squares", StableProjections(2))
    if isinstance(distance, Match) or (isinstance(distance, Minkowski) and distance.p == 0):
        return _counting(distance, distance.weights, X.shape[1])
    if isinstance(distance, (Minkowski, MappedMinkowski)) and distance.p in (1, 2):
        norm = "squares" if distance.p == 2 else "manhattan"
        return VectorReading(distance, norm, StableProjections(int(distance.p)))
    raise TypeError(
        f"LSHIndex has no hash functions for {distance!r}: give Jaccard, Cosine, Mahalanobis, "
        "Match, Minkowski(0), or Minkowski or MappedMinkowski with p = 1 or 2; or search exactly "
        "by BruteForce. Strings can be compared as sets of their k-mers."
    )


def _counting(distance: Distance, weights: Any, columns: int) -> VectorReading:
    w = np.ones(columns) if weights is None else np.asarray(weights, np.float64)
    if w.shape != (columns,):
        raise ValueError(f"weights has shape {w.shape}, but X has {columns} columns.")
    some = w if w.any() else np.ones(columns)  # all rows are at distance 0
    return VectorReading(distance, "differences", BitSampling(some), w)


def _mapped(distance: Distance, X: Any) -> np.ndarray:
    """Rows between which the distance is a plain norm."""
    if isinstance(distance, Match):
        return X.codes
    X = dense_rows(X)
    if isinstance(distance, Mahalanobis):
        return X @ distance.factor()
    if isinstance(distance, MappedMinkowski):
        A = np.asarray(distance.linear_map, np.float64)
        return X * A if A.ndim == 1 else X @ A.T
    if isinstance(distance, Cosine):
        units = unit_rows(X)  # a zero vector is one more axis
        return np.hstack([units, (units == 0).all(axis=1, keepdims=True)])
    if not isinstance(distance, Minkowski) or distance.weights is None or distance.p == 0:
        return X
    w = np.asarray(distance.weights, np.float64)
    return X * (w if distance.p == 1 else np.sqrt(w))
