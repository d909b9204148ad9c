"""Allows one fit of an object at a time, and limits BLAS to ``n_jobs`` threads during it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar

from mercer.threads.schedule import blas_share

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Any)

_lock = threading.Lock()
_fitted_by: dict[int, int] = {}  # the thread that fits an object, by the object's id


def fitting(fit: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Decorate the ``fit`` of an estimator with a parameter ``n_jobs``.

    Two fits of one object at the same time would mix their results, so the second one raises
    RuntimeError. BLAS keeps to ``n_jobs`` as well: see `blas_share`.
    """

    @functools.wraps(fit)
    def alone(self: S, *arguments: P.args, **options: P.kwargs) -> R:
        with _claimed(self), blas_share(getattr(self, "n_jobs", None)):
            return fit(self, *arguments, **options)

    return alone


def forget(estimator: Any, kept: Collection[str] = ()) -> None:
    """Drop what an earlier fit found: mixed with a fit that was cut short it is not a model."""
    for name in [n for n in vars(estimator) if n.endswith("_") and n not in kept]:
        delattr(estimator, name)


@contextmanager
def _claimed(estimator: Any) -> Iterator[None]:
    me, key = threading.get_ident(), id(estimator)
    with _lock:
        other = _fitted_by.get(key)
        if other is None:
            _fitted_by[key] = me
    if other is not None and other != me:
        raise RuntimeError(
            f"{type(estimator).__name__} is being fitted by another thread: fit an object of its "
            "own in each thread, sklearn.base.clone(estimator)."
        )
    try:
        yield
    finally:
        if other is None:
            with _lock:
                del _fitted_by[key]
