"""The rows that a neighbourhood is learnt from, as the native step reads them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
