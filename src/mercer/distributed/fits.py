"""How learners are fitted over partitions: in parts, with products elsewhere, or fold by fold.

The products of a Gram matrix are made on an engine: rows of K are strips, which are tasks.
All samples are broadcast once, as those that each strip is compared with, and a vector in each
product. K is symmetric, so that half of each row is enough: strips stand in a ring, and each is
compared with itself and the half ahead of it. Each number serves on both sides of the diagonal.
The halves of strips are computed once and kept if all of them fit in the memory of the place, and
else in tiles for each product. `PartitionedRows` are what users give, dask collections or arrays
of this process, cut into partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from mercer.distributed import on_dask
from mercer.distributed.engine import Engine, Partition, ThreadEngine, itself
from mercer.gram import GramOperator, Place, Rows as RowNumbers, gram, register
from mercer.learners.base import (
    FitsInParts,
    KernelLearner,
    PartFit,
    join_rows,
    require_targets,
    solver_name,
    take_rows,
)
from mercer.samples import Samples, check_format
from mercer.selection.grid import KernelSearchCV, SearchTask, TaskFindings, try_task
from mercer.streams import count_rows, plain_form, told

if TYPE_CHECKING:
    from mercer.kernels import Kernel

FEWEST, MOST = 4096, 2**18  # rows of a partition of an array that lies here


def engine_of(client: object) -> Engine:
    """The engine of a client, or of the current one; without one threads of this process."""
    if isinstance(client, Engine):
        return client
    client = on_dask.current_client() if client is None else client
    if client is None:
        return ThreadEngine()
    on_dask.need_dask("client=")
    return on_dask.DaskEngine(client)


class PartitionedRows:
    """X, y and weights, from which partitions are made when an engine needs them.

    Parameters
    ----------
    X : dask array or data frame, or samples of this process
    y, weights : of the same partitions, or arrays; None if there are none
    """

    def __init__(self, X: Any, y: Any = None, weights: Any = None):
        self.X, self.y, self.weights = X, y, weights
        self.far = on_dask.is_collection(X)
        if not self.far:
            self.X, self.y, self.weights = plain_form(X), self._here(y), self._here(weights)

    @staticmethod
    def _here(part: Any) -> Any:
        return on_dask.gathered(part) if on_dask.is_collection(part) else sliceable(part)

    @property
    def numbers(self) -> bool:
        """Whether X is an array of numbers."""
        return on_dask.numeric_array(self.X) or (
            isinstance(self.X, np.ndarray) and self.X.dtype.kind in "fiub"
        )

    def sources(self, engine: Engine, *, skip: bool = False) -> Sequence[Callable[[], Partition]]:
        """A function for each partition that makes it; ``skip`` leaves out X of a collection."""
        if self.far:
            return on_dask.blocks(self.X, self.y, self.weights, skip=skip)
        n = count_rows(self.X)
        for name, part in (("y", self.y), ("sample_weight", self.weights)):
            if np.ndim(part) and len(part) != n:
                raise ValueError(f"{name} has {len(part)} rows, and X has {n}: give as many.")
        count = max(1, min(engine.tasks, n // FEWEST), -(-n // MOST))
        cuts = np.array_split(np.arange(n), count)
        return [
            partial(
                Partition, i, take_rows(self.X, rows),
                *(part[rows] if np.ndim(part) else part for part in self._beside()),
            )
            for i, rows in enumerate(cuts)
        ]  # fmt: skip

    def _beside(self) -> list[Any]:
        return [np.asarray(part) if np.ndim(part) else part for part in (self.y, self.weights)]

    def gathered(self) -> tuple[Any, Any, Any]:
        """All rows in this process."""
        return self._here(self.X), self._here(self.y), self._here(self.weights)


def sliceable(part: Samples | None) -> Any:
    """Rows of which some can be taken: CSR rows, and arrays of what is none but can become one."""
    if sp.issparse(part):
        check_format(part)
        return sp.csr_array(part)
    return np.asarray(part) if hasattr(part, "__array__") and not hasattr(part, "__len__") else part


def aligned(part: Samples | None) -> Any:
    """An array whose numbers are aligned in memory; those from messages may not be.

    Examples
    --------
    >>> shifted = np.frombuffer(bytes(9), np.float64, 1, offset=1)
    >>> shifted.flags.aligned, aligned(shifted).flags.aligned
    (False, True)
    """
    return np.require(part, None, "A") if isinstance(part, np.ndarray) else part


def kept(part: Partition) -> Partition | None:
    """The rows of positive weight; None if there are none."""
    part = replace(part, X=aligned(part.X), y=aligned(part.y), weights=aligned(part.weights))
    n = len(part.y) if part.X is None else count_rows(part.X)
    if part.y is not None and len(part.y) != n:
        raise ValueError(
            f"partition {part.number}, from 0: y has {len(part.y)} rows, but X has {n}: give one "
            "target for each row."
        )
    if not n:
        return None
    w = part.weights
    if w is None or not np.ndim(w):
        return None if w is not None and w == 0 else part
    w = np.asarray(w)
    if (w != 0).all():
        return replace(part, weights=w)
    rows = np.flatnonzero(w)
    if not len(rows):
        return None
    X = part.X if part.X is None else take_rows(part.X, rows)
    return replace(
        part, X=X, y=None if part.y is None else np.asarray(part.y)[rows], weights=w[rows]
    )


STRIP_ROWS = 1024  # fewest rows of a task
TILE = 2**17  # numbers of a kept strip that are read at a time, and stay in a core's L2 cache
EACH = 4  # tasks for each thread of the engine, so that none waits long for the last one


@dataclass(frozen=True)
class OnEngine:
    """The ``device`` of learners whose matrices are multiplied on an engine."""

    engine: Engine


def engine_gram(kernel: Kernel, X: Samples, Z: Samples, place: Place) -> GramOperator | None:
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

    def __init__(self, K: GramOperator, kernel: Kernel, X: Samples, engine: Engine):
        self.K, self.engine = K, engine
        self.shape, self.dtype, self.place = K.shape, K.dtype, K.place
        n = self.shape[0]
        count = max(1, min(EACH * engine.tasks, n // STRIP_ROWS))
        strips = _ring(n, count)
        self._strips = engine.put([partial(itself, strip) for strip in strips])
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

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
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


ITERATIVE = ("conjugate_gradient", "ConjugateGradientSolver")


@singledispatch
def fit_over(learner: object, engine: Engine, rows: PartitionedRows, fit_params: dict) -> Any:
    """A learner, fitted to rows on an engine; the learner itself is changed."""
    if _iterates(learner):
        return fit_with_products(learner, engine, rows)
    name = type(learner).__name__
    raise TypeError(
        f"{name} cannot be fitted to rows in partitions: AdditiveRegressor, AdditiveClassifier, "
        "KernelRidge, KernelRidgeClassifier and KernelSearchCV can. Fit it here; Distributed "
        "predicts with any fitted learner."
    )


@fit_over.register(FitsInParts)
def _in_parts(learner: FitsInParts, engine: Engine, rows: PartitionedRows, fit_params: dict) -> Any:
    if _iterates(learner):
        return fit_with_products(learner, engine, rows)
    return fit_in_parts(learner.part_fit(), engine, rows)


def _iterates(learner: object) -> bool:
    kernel = isinstance(learner, KernelLearner)
    return kernel and solver_name(getattr(learner, "solver", "")) in ITERATIVE


# --- in parts ------------------------------------------------------------------------------------


def fit_in_parts(fit: PartFit, engine: Engine, rows: PartitionedRows) -> Any:
    """The learner of a `PartFit`, by three reductions over the partitions."""
    require_targets(rows.y, type(fit.learner).__name__)
    light = engine.put(rows.sources(engine, skip=not fit.surveys_samples(rows.numbers)))
    parts = engine.put(rows.sources(engine))
    found = engine.reduce(added, engine.map(_surveyed, light, engine.broadcast(fit)))
    sizes, survey = found
    if survey is None:
        raise ValueError(
            "sample_weight is zero for every row, or X has none: there are no rows of positive "
            "weight in any partition: give at least one."
        )
    wanted, starts = fit.sample(survey), np.cumsum([0, *sizes])
    some = [wanted[slice(*np.searchsorted(wanted, starts[i : i + 2]))] - a
            for i, a in enumerate(starts[:-1])]  # fmt: skip
    taken = engine.reduce(joined, engine.map(_taken, parts, engine.broadcast(some)))
    learner = None
    with np.errstate(all="ignore"):
        fit.begin(survey, taken.X, taken.y, taken.weights)
        while learner is None:
            sums = engine.reduce(added, engine.map(_summed, parts, engine.broadcast(fit)))
            learner = fit.finish(sums[1])
    return learner


def added(a: tuple[list, Any], b: tuple[list, Any]) -> tuple[list, Any]:
    """Sums of two groups of partitions, with the sizes of these; None stands for no rows."""
    (sizes, first), (more, second) = a, b
    total = second if first is None else first if second is None else first + second
    return sizes + more, total


def joined(a: Partition | None, b: Partition | None) -> Partition | None:
    """The rows of both."""
    if a is None or b is None:
        return b if a is None else a
    try:
        X = join_rows(a.X, b.X)
    except Exception as error:
        raise ValueError(
            f"partitions {a.number} and {b.number} of X have different columns, {_columns(a.X)} "
            f"and {_columns(b.X)}: give the same ones in all."
        ) from error
    w = None
    if a.weights is not None:
        w = np.concatenate([np.broadcast_to(part.weights, len(part.y)) for part in (a, b)])
    return Partition(a.number, X, np.concatenate([np.asarray(a.y), np.asarray(b.y)]), w)


def _columns(X: Any) -> Any:
    return list(X.columns)[:20] if hasattr(X, "columns") else np.shape(X)[1:]


def named(part: Partition) -> AbstractContextManager[None]:
    """Errors inside this context name the partition."""
    return told(f"partition {part.number}, from 0")


def _surveyed(part: Partition, fit: PartFit) -> tuple[list, Any]:
    """What a fit looks at first in a partition."""
    rows = kept(part)
    if rows is None:
        return [0], None
    with named(part):
        found = fit.survey(rows.X, rows.y, rows.weights)
    return [found.rows], found


def _taken(part: Partition, wanted: list[np.ndarray]) -> Partition | None:
    """The rows of a partition that are wanted; None if there are none."""
    rows, numbers = kept(part), wanted[part.number]
    if rows is None or not len(numbers):
        return None
    w = rows.weights
    return Partition(
        part.number, take_rows(rows.X, numbers), np.asarray(rows.y)[numbers],
        w[numbers] if w is not None and np.ndim(w) else w,
    )  # fmt: skip


def _summed(part: Partition, fit: PartFit) -> tuple[list, Any]:
    rows = kept(part)
    if rows is None:
        return [], None
    with named(part), np.errstate(all="ignore"):
        return [], fit.sums(rows.X, rows.y, rows.weights)


# --- with products elsewhere ---------------------------------------------------------------------


def fit_with_products(learner: Any, engine: Engine, rows: PartitionedRows) -> Any:
    """An exact fit by conjugate gradients, whose products with K are made on the engine."""
    size = on_dask.bytes_of(rows.X) if rows.far else 0
    if not learner.place.holds(2 * size):
        learner.place.refuse(
            2 * size, "an exact fit, which keeps all rows", ', or solver="low_rank"'
        )
    X, y, weights = rows.gathered()
    device = learner.device
    learner.set_params(device=OnEngine(engine))
    try:
        with register(engine_gram):
            learner.fit(X, y, *([] if weights is None else [weights]))
    finally:
        learner.set_params(device=device)
    return learner


# --- fold by fold --------------------------------------------------------------------------------


@fit_over.register
def _search(
    learner: KernelSearchCV, engine: Engine, rows: PartitionedRows, fit_params: dict
) -> Any:
    """A search whose tasks are folds of candidates that can share work."""
    X, y, weights = rows.gathered()
    more = fit_params if weights is None else {**fit_params, "sample_weight": weights}
    params = {name: value for name, value in more.items() if name != "groups"}
    shared = engine.broadcast((clone(learner), X, y, params))

    def execute(tasks: list[SearchTask]) -> list[TaskFindings]:
        parts = engine.put([partial(itself, task) for task in tasks])
        return engine.reduce(add, engine.map(_tried, parts, shared))

    return learner.fit_elsewhere(execute, X, y, **more)


def _tried(task: SearchTask, given: tuple) -> list[TaskFindings]:
    return [try_task(task, *given)]
