"""The network f that maps rows to z, where neighbours vote: its parameters, its rows, and their z.

In order: periodic features of each number, [cos 2πcx, sin 2πcx, x] for 16 frequencies c, times one
matrix that all columns share, and ReLU; a linear layer; and, unless f is linear, batch norm, a
linear layer, ReLU, a linear layer and batch norm. src/native/neighbourhood.hpp has the order in
which the parameters stand in one array.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mercer import _native
from mercer.threads import ordered_map

FREQUENCIES, VALUES = 16, 8  # of each number: frequencies, and values that it becomes
FREQUENCY_SPREAD = 0.3
PART = 1024  # rows that a thread embeds at a time


def padded(count: int, unit: int) -> int:
    """The least multiple of ``unit`` that is not below a count."""
    return -(-count // unit) * unit


def padded_columns(extra: np.ndarray) -> np.ndarray:
    """Columns as the native loops want them: a multiple of 8, with zeros at the end."""
    n, q = extra.shape
    out = np.zeros((n, padded(q, 8)), np.float32)
    out[:, :q] = extra
    return out


def layer_shapes(columns: int, extra: int, width: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """Name and shape of the parameters, in their order; all sizes are those of the native loops."""
    shapes: dict[str, tuple[int, ...]] = {
        "frequencies": (columns, FREQUENCIES),
        "periodic": (2 * FREQUENCIES + 1, VALUES),
        "periodic_bias": (VALUES,),
        "linear": (VALUES * columns + extra, width),
        "linear_bias": (width,),
    }
    if hidden:
        shapes |= {
            "gain1": (width,), "shift1": (width,), "into": (hidden, width), "into_bias": (hidden,),
            "out": (hidden, width), "out_bias": (width,), "gain2": (width,), "shift2": (width,),
        }  # fmt: skip
    return shapes


@dataclass(frozen=True)
class Network:
    """f: rows of ``columns`` numbers and ``extra`` other columns become z, of ``width`` numbers.

    Widths that are no multiples of what the native loops want are filled up with units whose
    parameters are 0, and stay 0 in training.

    Attributes
    ----------
    parameters : ndarray, float32
    running : ndarray of shape (4 * width,), float32
        Mean and variance of what the two batch norms saw in training, for new rows.
    """

    columns: int
    extra: int
    width: int
    hidden: int
    parameters: np.ndarray
    running: np.ndarray

    @classmethod
    def drawn(
        cls, columns: int, extra: int, width: int, hidden: int, rng: np.random.Generator
    ) -> Network:
        """A network before training: linear layers are uniform in ±1/√(inputs)."""
        wide = padded(width, 16)
        shapes = layer_shapes(columns, padded(extra, 8), wide, padded(hidden, 8))
        inputs = VALUES * columns + extra
        kept = {  # parts that are not padding, and how many numbers each unit reads
            "periodic": (np.s_[:], 2 * FREQUENCIES + 1),
            "periodic_bias": (np.s_[:], 2 * FREQUENCIES + 1),
            "linear": (np.s_[:inputs, :width], inputs),
            "linear_bias": (np.s_[:width], inputs),
            "into": (np.s_[:hidden, :width], width),
            "into_bias": (np.s_[:hidden], width),
            "out": (np.s_[:hidden, :width], max(hidden, 1)),
            "out_bias": (np.s_[:width], max(hidden, 1)),
        }
        parts = []
        for name, shape in shapes.items():
            part = np.zeros(shape, np.float32)
            if name == "frequencies":
                part[:] = rng.normal(0, FREQUENCY_SPREAD, shape)
            elif name.startswith("gain"):
                part[:] = 1
            elif name in kept:
                where, reads = kept[name]
                bound = 1 / np.sqrt(reads)
                part[where] = rng.uniform(-bound, bound, part[where].shape)
            parts.append(part.ravel())
        running = np.zeros((4, wide), np.float32)
        running[1::2] = 1
        return cls(columns, extra, width, hidden, np.concatenate(parts), running.ravel())

    def copy(self) -> Network:
        """The same with parameters of its own."""
        sizes = self.columns, self.extra, self.width, self.hidden
        return Network(*sizes, self.parameters.copy(), self.running.copy())

    def layers(self) -> dict[str, np.ndarray]:
        """The parameters by their names, as they are padded: see `layer_shapes`."""
        wide = padded(self.width, 16)
        shapes = layer_shapes(
            self.columns, padded(self.extra, 8), wide, padded(self.hidden, 8)
        )  # fmt: skip
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes.values())])
        parts = (self.parameters[a:b] for a, b in pairwise(ends))
        return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts)}

    def embed(self, numbers: np.ndarray, extra: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """z of rows, (n, width) in float32; ``extra`` may be filled up with zeros already."""
        n, wide = len(numbers), padded(self.width, 16)
        extra = padded_columns(extra)
        Z = np.empty((n, wide), np.float32)

        def embed(rows: slice) -> None:
            _native.neighbourhood_embed(
                numbers[rows], extra[rows], self.parameters, self.running, wide,
                padded(self.hidden, 8), Z[rows],
            )  # fmt: skip

        for _ in ordered_map(embed, [slice(s, s + PART) for s in range(0, n, PART)], n_jobs):
            pass
        return np.ascontiguousarray(Z[:, : self.width])


# Which rows a step of training takes: random ones, or cells of rows that are near in z.


CELL_ROWS = 2**17  # most rows in cells


class Draws:
    """Rows for steps, none twice in a step; the queries come first.

    Parameters
    ----------
    n : int
        Rows of the training sample.
    queries, candidates : int
        Most queries of a step, and most candidates with them.
    rng : Generator
    """

    def __init__(self, n: int, queries: int, candidates: int, rng: np.random.Generator):
        self.n, self.rng = n, rng
        self.queries, self.candidates = min(queries, n), min(candidates, n)
        self._cells: list[np.ndarray] = []
        self._order, self._next = np.arange(n), n

    def rows_of_cells(self) -> np.ndarray | slice:
        """Rows for new cells: all, or as many as steps come to before the cells are renewed."""
        if self.n <= CELL_ROWS:
            return slice(None)
        return np.sort(self.rng.choice(self.n, CELL_ROWS, replace=False))

    def renew_cells(self, Z: np.ndarray, rows: np.ndarray | slice) -> None:
        """Make new cells of half as many rows as a step has queries, or fewer; Z is of ``rows``."""
        cells = split_cells(Z, max(self.queries // 2, 1), self.rng)
        self._cells = cells if isinstance(rows, slice) else [rows[cell] for cell in cells]

    def rows(self) -> tuple[np.ndarray, int]:
        """Row numbers of the candidates of a step, and how many of them are queries."""
        if len(self._cells) < 2:
            return self._more(), self.queries
        i, j = self.rng.choice(len(self._cells), 2, replace=False)
        near = np.concatenate([self._cells[i], self._cells[j]])
        others = self._more()
        taken = np.zeros(self.n, bool) if self.n <= 4 * self.candidates else None
        if taken is not None:
            taken[near] = True
            others = others[~taken[others]]
        else:
            others = others[~np.isin(others, near)]
        return np.concatenate([near, others])[: self.candidates], len(near)

    def _more(self) -> np.ndarray:
        """The next rows of a random order of all."""
        if self._next + self.candidates > self.n:
            self._order, self._next = self.rng.permutation(self.n), 0
        self._next += self.candidates
        return self._order[self._next - self.candidates : self._next]


def split_cells(Z: np.ndarray, size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Rows in cells of at most ``size``.

    A set of rows is split at the median of its projections on the difference of two of them.
    """
    parts, cells = [np.arange(len(Z))], []
    while parts:
        rows = parts.pop()
        if len(rows) <= size:
            cells.append(rows)
            continue
        a, b = rng.choice(rows, 2, replace=False)
        order = np.argpartition(Z[rows] @ (Z[a] - Z[b]), len(rows) // 2)
        parts += [rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]]
    return cells


class TrainingRows(NamedTuple):
    """Encoded rows with their targets, all in float32.

    Attributes
    ----------
    numbers : ndarray of shape (n, columns)
        Numbers of about unit variance, which become periodic features.
    extra : ndarray of shape (n, q)
        Columns that the linear layer reads as they are, such as indicators of categories.
    targets : ndarray of shape (n, outputs)
        Standardised numbers, or indicators of classes.
    weights : ndarray of shape (n,)
        How many times each row counts.
    classes : bool
        Whether the targets are indicators of classes.
    """

    numbers: np.ndarray
    extra: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    classes: bool

    @property
    def count(self) -> int:
        """n."""
        return len(self.weights)

    @property
    def labels(self) -> np.ndarray:
        """The number of each row's class; 0 for numbers."""
        if self.classes:
            return self.targets.argmax(axis=1).astype(np.int32)
        return np.zeros(self.count, np.int32)

    def take(self, rows: np.ndarray) -> TrainingRows:
        """Some of the rows."""
        return self._replace(
            numbers=self.numbers[rows], extra=self.extra[rows], targets=self.targets[rows],
            weights=self.weights[rows],
        )  # fmt: skip
