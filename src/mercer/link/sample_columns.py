"""Columns of any samples that have a distance: sets, vectors, series, graphs, molecules, places.

`read_samples` makes a column of cells of the distance's kind. Two cells agree the more, the fewer
random pairs are as near as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances import Distance, KernelDistance
from mercer.kernels import Kernel
from mercer.link.columns import Coded, Words
from mercer.link.kinds import EQUAL, GONE, Compare, LinkKind, Shares
from mercer.persistence import fields, floats
from mercer.samples import row_marks
from mercer.tables import missing_values

NEAR = (0.2, 0.05, 0.01, 0.002)  # shares of random pairs that are as near as levels 1, 2, 3, 4
PAIRS = 20_000  # random pairs of which these are
SEED = 0x1F


@fields(cuts=floats(1))
class SampleKind(LinkKind):
    """Cells that a distance compares.

    ``cuts`` are the distances up to which the levels 1, 2, 3 and 4 reach; None before a fit.
    """

    name, said, counts = "samples", "by a distance", False

    def __init__(self, distance: Distance, cuts: np.ndarray | None = None):
        self.distance, self.cuts = distance, cuts

    def comparison(self, column: Coded, shares: Shares | None, words: Words | None) -> Compare:
        X = column.samples
        assert self.cuts is not None
        cuts = np.sort(self.cuts)

        def compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            out = np.full(len(a), GONE, np.uint8)
            known = (a >= 0) & (b >= 0)
            out[known] = EQUAL
            apart = np.flatnonzero(known & (a != b))
            far = paired(self.distance, X, a[apart], b[apart])
            out[apart] = (far[:, None] <= cuts).sum(axis=1)
            return out

        return compare


def paired(distance: Distance, X: Any, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distances of rows a[i] and b[i] of X: each row in turn to those that it is paired with."""
    first, second = np.minimum(a, b), np.maximum(a, b)
    order = np.argsort(first, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(first[order], prepend=-1)), len(order))
    out = np.empty(len(a))
    for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist()):
        rows = order[start:stop]
        others, place = np.unique(second[rows], return_inverse=True)
        far = distance.whole(X[first[rows[:1]]], X[others], 1)
        out[rows] = np.asarray(far, float)[0, place]
    return out


def read_samples(name: str, kind: SampleKind, sides: list[np.ndarray], *, known: bool) -> Coded:
    """A column of samples; unless it is ``known``, the kind learns from it."""
    cells = np.concatenate([np.asarray(side, object) for side in sides])
    gone = missing_values(cells)
    size = len(sides[0]) if len(sides) > 1 else 0
    if gone.all():  # of new records
        return Coded(name, kind, [], np.full(len(cells), -1, np.int32), size)
    X: Any = kind.distance.encode(cells[~gone].tolist())
    if not known:
        kind.distance = kind.distance.bind(X)
    hashes, first, place = np.unique(row_marks(X), return_index=True, return_inverse=True)
    codes = np.full(len(cells), -1, np.int32)
    codes[~gone] = place
    values = [str(row) for row in range(len(hashes))]
    column = Coded(name, kind, values, codes, size)
    vars(column)["hashes"] = hashes
    column.samples = X[first]
    if kind.cuts is None:
        rng = np.random.default_rng(SEED)
        counts = column.counts
        a, b = (rng.choice(len(hashes), PAIRS, p=counts / counts.sum()) for _ in range(2))
        far = paired(kind.distance, column.samples, a.astype(np.int32), b.astype(np.int32))
        kind.cuts = (
            np.quantile(far[a != b], NEAR, method="lower") if (a != b).any() else np.zeros(4)
        )
    return column


def checked_distances(distances: Any, names: set[str]) -> dict[str, SampleKind]:
    """The columns that are compared by distances or kernels of a user."""
    found = {}
    for name, given in dict(distances or {}).items():
        if str(name) not in names:
            raise ValueError(
                f"distances: no column {name!r} is compared; there are {', '.join(sorted(names))}."
            )
        if isinstance(given, Kernel):
            given = KernelDistance(given)
        if not isinstance(given, Distance):
            raise TypeError(
                f"distances: {name}={given!r}; give a distance of mercer.distances or a kernel."
            )
        found[str(name)] = SampleKind(given)
    return found
