"""A Gram matrix whose products are made on an engine: rows of K are strips, which are tasks.

All samples are broadcast once, as the centres that each strip is compared with, and a vector in
each product. Strips of K are computed once and kept if all of them fit in the memory of the place,
and else in tiles for each product.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.distributed.engine import Engine
from mercer.gram import DenseGram, GramOperator, Place, gram
from mercer.gram import Rows as RowNumbers

STRIP_ROWS = 1024  # fewest rows of a task
EACH = 4  # tasks for each thread of the engine, so that none waits long for the last one


@dataclass(frozen=True)
class OnEngine:
    """The ``device`` of learners whose matrices are multiplied on an engine."""

    engine: Engine


def engine_gram(kernel: Any, X: Any, Z: Any, place: Place) -> GramOperator | None:
    """The maker of these matrices; those between new samples and others stay here."""
    if not isinstance(place.device, OnEngine):
        return None
    here = replace(place, device=None)
    if Z is not X:
        return gram(kernel, X, Z, place=here)
    return EngineGram(gram(kernel, X, place=here), kernel, X, place.device.engine)


class EngineGram(GramOperator):
    """K of a bound kernel between encoded samples X, as ``K`` but for products."""

    cheap = frozenset({"rows"})

    def __init__(self, K: GramOperator, kernel: Any, X: Any, engine: Engine):
        self.K, self.engine = K, engine
        self.shape, self.dtype, self.place = K.shape, K.dtype, K.place
        self.symmetric = K.symmetric
        n = self.shape[0]
        count = max(1, min(EACH * engine.tasks, n // STRIP_ROWS))
        cuts = np.linspace(0, n, count + 1).astype(int)
        strips = [slice(a, b) for a, b in pairwise(cuts)]
        self._strips = engine.put([_Strip(rows) for rows in strips])
        self._samples = engine.broadcast((kernel, X, self.place.memory))
        self._kept: list[Any] | None = None
        if self.place.holds(float(n) * n * self.dtype.itemsize):
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
        return np.concatenate(self.engine.reduce(_joined, tasks))


class _Strip:
    """A source of the rows of a strip."""

    def __init__(self, rows: slice):
        self.rows = rows

    def __call__(self) -> slice:
        return self.rows


def _rows_of_gram(rows: slice, samples: tuple) -> GramOperator:
    kernel, X, memory = samples
    return gram(kernel, X[rows], X, place=Place(memory, 1))


def _product(rows: slice, samples: tuple, V: np.ndarray) -> list[np.ndarray]:
    return [_rows_of_gram(rows, samples) @ V]


def _values(rows: slice, samples: tuple) -> np.ndarray:
    return _rows_of_gram(rows, samples).block(slice(None), slice(None))


def _kept_product(K: np.ndarray, V: np.ndarray) -> list[np.ndarray]:
    return [DenseGram(K, place=Place(n_jobs=1)) @ V]


def _joined(a: list, b: list) -> list:
    return a + b
