"""A Gram matrix whose products are made on an engine: rows of K are strips, which are tasks.

All samples are broadcast once, as those that each strip is compared with, and a vector in each
product. K is symmetric, so that half of each row is enough: strips stand in a ring, and each is
compared with itself and the half ahead of it. Each number serves on both sides of the diagonal.
The halves of strips are computed once and kept if all of them fit in the memory of the place, and
else in tiles for each product.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import add
from typing import Any

import numpy as np

from mercer.distributed.engine import Engine
from mercer.gram import GramOperator, Place, gram
from mercer.gram import Rows as RowNumbers

STRIP_ROWS = 1024  # fewest rows of a task
TILE = 2**17  # numbers of a kept strip that are read at a time, and stay in a core's L2 cache
EACH = 4  # tasks for each thread of the engine, so that none waits long for the last one


@dataclass(frozen=True)
class OnEngine:
    """The ``device`` of learners whose matrices are multiplied on an engine."""

    engine: Engine


def engine_gram(kernel: Any, X: Any, Z: Any, place: Place) -> GramOperator | None:
    """The maker of these matrices; those between new samples and others stay here, as do those of
    kernels that are not symmetric."""
    if not isinstance(place.device, OnEngine):
        return None
    here = replace(place, device=None)
    K = gram(kernel, X, None if Z is X else Z, place=here)
    return EngineGram(K, kernel, X, place.device.engine) if K.symmetric else K


class EngineGram(GramOperator):
    """A symmetric K of a bound kernel between encoded samples X, as ``K`` but for products."""

    cheap = frozenset({"rows"})
    symmetric = True

    def __init__(self, K: GramOperator, kernel: Any, X: Any, engine: Engine):
        self.K, self.engine = K, engine
        self.shape, self.dtype, self.place = K.shape, K.dtype, K.place
        n = self.shape[0]
        count = max(1, min(EACH * engine.tasks, n // STRIP_ROWS))
        strips = _ring(n, count)
        self._strips = engine.put([strip.itself for strip in strips])
        self._samples = engine.broadcast((kernel, X, self.place.memory))
        self._kept: list[Any] | None = None
        if self.place.holds(float(sum(s.size for s in strips)) * self.dtype.itemsize):
            self._kept = engine.keep(engine.map(_values, self._strips, self._samples))

    def block(self, i: RowNumbers, j: RowNumbers) -> np.ndarray:
        return self.K.block(i, j)

    def diag(self) -> np.ndarray:
        return self.K.diag()

    def rows(self, i: RowNumbers, out: np.ndarray | None = None) -> np.ndarray:
        return self.K.rows(i, out)

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> GramOperator:
        return self.K.part(i, j)

    def __matmul__(self, V: Any) -> np.ndarray:
        vectors = self.engine.broadcast(np.asarray(V))
        if self._kept is not None:
            tasks = self.engine.map(_kept_product, self._kept, vectors)
        else:
            tasks = self.engine.map(_product, self._strips, self._samples, vectors)
        return self.engine.reduce(add, tasks)


@dataclass(frozen=True)
class _Strip:
    """Rows from ``start`` to ``stop`` of n, and those that they are compared with: themselves, and
    those that follow them in the ring, ``width`` in all."""

    start: int
    stop: int
    width: int
    n: int

    @property
    def rows(self) -> slice:
        return slice(self.start, self.stop)

    @property
    def columns(self) -> np.ndarray:
        return np.arange(self.start, self.start + self.width) % self.n

    @property
    def size(self) -> int:
        """The numbers of K that it has."""
        return (self.stop - self.start) * self.width

    def itself(self) -> _Strip:
        """A source of this strip."""
        return self

    def between(self, samples: tuple) -> GramOperator:
        """K between the rows and what they are compared with."""
        kernel, X, memory = samples
        return gram(kernel, X[self.rows], X[self.columns], place=Place(memory, 1))

    def product(
        self, tiles: Iterable[tuple[slice, slice, np.ndarray]], V: np.ndarray
    ) -> np.ndarray:
        """What tiles of the strip and their transposes add to K V; the square of the rows with
        themselves is symmetric, and is not transposed."""
        columns = self.columns
        own, others = V[self.rows], V[columns]
        mine, theirs = np.zeros(own.shape), np.zeros(others.shape)
        for i, j, tile in tiles:
            tile = tile.astype(np.float64, copy=False)  # once for both products
            mine[i] += tile @ others[j]
            square = max(0, len(own) - j.start)
            theirs[j][square:] += tile[:, square:].T @ own[i]
        total = np.zeros(V.shape)
        total[columns] = theirs
        total[self.rows] += mine
        return total


def _ring(n: int, count: int) -> list[_Strip]:
    """So many strips of about the same number of rows: each pair of strips is in one of them."""
    cuts = np.linspace(0, n, count + 1).astype(int).tolist()
    twice = cuts + [n + cut for cut in cuts[1:]]  # the ring a second time
    strips = []
    for a in range(count):
        # of an even number, the strip opposite is ahead of the first half alone
        ahead = count // 2 if count % 2 or a < count // 2 else count // 2 - 1
        strips.append(_Strip(cuts[a], cuts[a + 1], twice[a + 1 + ahead] - cuts[a], n))
    return strips


def _values(strip: _Strip, samples: tuple) -> tuple[_Strip, np.ndarray]:
    return strip, strip.between(samples).dense()


def _kept_product(kept: tuple[_Strip, np.ndarray], V: np.ndarray) -> np.ndarray:
    strip, K = kept
    step, every = max(1, TILE // strip.width), slice(0, strip.width)
    some = [slice(s, s + step) for s in range(0, len(K), step)]
    return strip.product(((i, every, K[i]) for i in some), V)


def _product(strip: _Strip, samples: tuple, V: np.ndarray) -> np.ndarray:
    return strip.product(strip.between(samples).tiles(), V)
