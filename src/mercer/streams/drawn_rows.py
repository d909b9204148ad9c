"""Rows drawn from all of a stream, each as likely as any other, whatever its chunks are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer.samples import Samples
from mercer.streams.chunks import Chunk, Chunks
from mercer.streams.kept_rows import count_rows, join_rows, take_rows

HELD = 2  # times as many rows as are wanted are held, before some are dropped


class Drawn(NamedTuple):
    """Rows of a stream, in their order.

    Attributes
    ----------
    X : rows, as the stream gives them
    y, weights : ndarray or None
    rows : ndarray of int
        Their numbers in the stream.
    total : int
        How many rows of positive weight the stream has.
    """

    X: Any
    y: np.ndarray | None
    weights: np.ndarray | None
    rows: np.ndarray
    total: int


def draw_rows(
    chunks: Chunks,
    count: int,
    random: np.random.RandomState,
    see: Callable[[Chunk], None] | None = None,
) -> Drawn:
    """At most ``count`` rows of positive weight; ``see`` is called for each chunk.

    Each row gets a random number, and those with the smallest ones are drawn.

    Examples
    --------
    >>> chunks = Chunks(np.arange(9.0)[:, None], rows=2)
    >>> draw_rows(chunks, 3, np.random.RandomState(0)).rows
    array([3, 4, 6])
    """
    found, bound = Lottery(count), np.inf
    total = 0
    for chunk in chunks.read(missing=False):
        n = count_rows(chunk.X)
        tickets = random.uniform(size=n)
        if chunk.weights is not None:
            tickets[chunk.weights == 0] = np.inf
        total += int(np.isfinite(tickets).sum())
        rows = np.flatnonzero(tickets < bound)
        if len(rows):
            bound = found.add(chunk, rows, tickets[rows])
        if see is not None:
            see(chunk)
    if not total:
        raise ValueError("weights are 0 for every row: give some rows a weight > 0.")
    return found.drawn(total)


def draw_numbers(total: int, count: int, random: np.random.RandomState) -> np.ndarray:
    """The numbers of the rows that `draw_rows` draws of a stream of ``total`` rows without weights.

    Examples
    --------
    >>> draw_numbers(9, 3, np.random.RandomState(0))
    array([3, 4, 6])
    """
    if total <= count:
        return np.arange(total)
    return np.sort(np.argpartition(random.uniform(size=total), count - 1)[:count])


class Lottery:
    """The rows with the smallest tickets up to now."""

    def __init__(self, count: int):
        self.count = count
        self.bound = np.inf
        self.parts: list[tuple] = []  # X, y, weights, row numbers, tickets

    def add(self, chunk: Chunk, rows: np.ndarray, tickets: np.ndarray) -> float:
        """Offer rows; returns the ticket that those of further rows must be below."""
        y, w = (None if part is None else part[rows] for part in (chunk.y, chunk.weights))
        self.parts.append((take_rows(chunk.X, rows), y, w, chunk.start + rows, tickets))
        if sum(len(part[4]) for part in self.parts) > HELD * self.count:
            self._drop()
        return self.bound

    def _drop(self) -> None:
        tickets = np.concatenate([part[4] for part in self.parts])
        kept = np.sort(np.argpartition(tickets, self.count - 1)[: self.count])
        whole = self._joined()
        self.parts = [tuple(_some(part, kept) for part in whole)]
        self.bound = float(tickets[kept].max())

    def _joined(self) -> tuple:
        X, *rest = zip(*self.parts)
        return join_rows(*X), *(None if p[0] is None else np.concatenate(p) for p in rest)

    def drawn(self, total: int) -> Drawn:
        if sum(len(part[4]) for part in self.parts) > self.count:
            self._drop()
        X, y, w, rows, _ = self._joined()
        return Drawn(X, y, w, rows, total)


def _some(part: Samples | None, rows: np.ndarray) -> Any:
    return None if part is None else take_rows(part, rows)
