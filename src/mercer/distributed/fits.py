"""How learners are fitted over partitions: in parts, with products elsewhere, or fold by fold."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.distributed import on_dask
from mercer.distributed.engine import Engine, Partition
from mercer.distributed.products import OnEngine, engine_gram
from mercer.distributed.rows import Rows, kept
from mercer.gram import register
from mercer.learners.base import FitsInParts, GramPlaced, PartFit, join_rows, solver_name, take_rows
from mercer.selection.grid import KernelSearchCV, SearchTask, Tried, try_task

ITERATIVE = ("conjugate_gradient", "ConjugateGradientSolver")


@singledispatch
def fit_over(learner: Any, engine: Engine, rows: Rows, fit_params: dict) -> Any:
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
def _in_parts(learner: FitsInParts, engine: Engine, rows: Rows, fit_params: dict) -> Any:
    if _iterates(learner):
        return fit_with_products(learner, engine, rows)
    return fit_in_parts(learner.part_fit(), engine, rows)


def _iterates(learner: Any) -> bool:
    placed = isinstance(learner, GramPlaced)
    return placed and solver_name(getattr(learner, "solver", "")) in ITERATIVE


# --- in parts ------------------------------------------------------------------------------------


def fit_in_parts(fit: PartFit, engine: Engine, rows: Rows) -> Any:
    """The learner of a `PartFit`, by three reductions over the partitions."""
    if rows.y is None:
        name = type(fit.learner).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
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
    fit.begin(survey, taken.X, taken.y, taken.weights)
    sums = engine.reduce(added, engine.map(_summed, parts, engine.broadcast(fit)))
    return fit.finish(sums[1])


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
        raise ValueError(_other_columns(a, b)) from error
    w = None if a.weights is None else _weights(a, b)
    return Partition(a.number, X, np.concatenate([np.asarray(a.y), np.asarray(b.y)]), w)


def _weights(a: Partition, b: Partition) -> np.ndarray:
    each = [np.broadcast_to(part.weights, len(part.y)) for part in (a, b)]
    return np.concatenate(each)


def _other_columns(a: Partition, b: Partition) -> str:
    return (
        f"partitions {a.number} and {b.number} of X have different columns, {_columns(a.X)} and "
        f"{_columns(b.X)}: give the same ones in all."
    )


def _columns(X: Any) -> Any:
    return list(X.columns)[:20] if hasattr(X, "columns") else np.shape(X)[1:]


def named(part: Partition, work: Callable[[], Any]) -> Any:
    """The result of ``work``; its errors name the partition."""
    try:
        return work()
    except (ValueError, TypeError) as error:
        if type(error) not in (ValueError, TypeError):
            raise
        raise type(error)(f"partition {part.number}, from 0: {error}") from error


def _surveyed(part: Partition, fit: PartFit) -> tuple[list, Any]:
    rows = kept(part)
    if rows is None:
        return [0], None
    found = named(part, lambda: fit.survey(rows.X, rows.y, rows.weights))
    return [found.rows], found


def _taken(part: Partition, wanted: list[np.ndarray]) -> Partition | None:
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
    return [], named(part, lambda: fit.sums(rows.X, rows.y, rows.weights))


# --- with products elsewhere ---------------------------------------------------------------------


def fit_with_products(learner: Any, engine: Engine, rows: Rows) -> Any:
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
def _search(learner: KernelSearchCV, engine: Engine, rows: Rows, fit_params: dict) -> Any:
    """A search whose tasks are folds of candidates that can share work."""
    X, y, weights = rows.gathered()
    more = fit_params if weights is None else {**fit_params, "sample_weight": weights}
    params = {name: value for name, value in more.items() if name != "groups"}
    shared = engine.broadcast((clone(learner), X, y, params))

    def execute(tasks: list[SearchTask]) -> list[Tried]:
        parts = engine.put([_Given(task) for task in tasks])
        return engine.reduce(_listed, engine.map(_tried, parts, shared))

    return learner.fit_elsewhere(execute, X, y, **more)


class _Given:
    """A source that returns what it was given."""

    def __init__(self, value: Any):
        self.value = value

    def __call__(self) -> Any:
        return self.value


def _tried(task: SearchTask, given: tuple) -> list[Tried]:
    return [try_task(task, *given)]


def _listed(a: list, b: list) -> list:
    return a + b
