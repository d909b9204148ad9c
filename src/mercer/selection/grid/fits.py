"""The fits of a path: candidates of a search that differ in one penalty, and share their solver."""

from __future__ import annotations

import copy
import inspect
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from mercer.kernels import Kernel
from mercer.learners.base import KernelLearner
from mercer.samples import Samples


class Fit(NamedTuple):
    """A fitted model and all samples as it reads them, or the error in place of it."""

    model: Any
    samples: Any
    error: Exception | None = None
    trace: Any = None  # where the error was raised first


def copies(
    models: list[KernelLearner], kernel: Kernel | None, n_jobs: int | None, memory: int
) -> list[Any]:
    """Models of a path to be fitted, with their part of the threads and of the memory.

    ``kernel`` stands in the place of their own and of arguments beside it; None leaves it.
    """
    first = models[0]
    defaults = inspect.signature(type(first)).parameters
    changes: dict[str, Any] = {}
    if kernel is not None:
        beside = [n for n in ("gamma", "degree", "coef0", "kernel_params") if n in defaults]
        changes = {"kernel": kernel, **{name: defaults[name].default for name in beside}}
    if n_jobs is not None:
        changes["n_jobs"] = n_jobs
    if first.memory is None:
        changes["memory"] = memory
    made: Any = clone(first)
    made.set_params(**changes)
    others = [copy.copy(made) for _ in models[1:]]
    for other, model in zip(others, models[1:]):
        name = str(model.path_parameter)
        setattr(other, name, getattr(model, name))
    return [made, *others]


def fit_along(
    models: list[Any], samples: Samples, train: np.ndarray, y: np.ndarray | None, fit_params: dict
) -> list[Fit]:
    """Fits to the rows ``train`` of the samples; y and the parameters are those of the rows."""
    X, fit_params = samples[train], fit_params | _path(models)
    fits = []
    for model in models:
        try:
            fits.append(Fit(model.fit(X, y, **fit_params), samples))
        except Exception as error:
            fits.append(Fit(None, None, error, error.__traceback__))
    return fits


def fit_left_out(
    models: list[Any], samples: Samples, y: np.ndarray | None, fit_params: dict
) -> list[Fit] | None:
    """What answers for each row as a fit to all others; None if this needs a fit for each row."""
    fit_params, fits = fit_params | _path(models), []
    for model in models:
        try:
            found = model.leave_one_out(samples, y, **fit_params)
        except Exception as error:
            fits.append(Fit(None, None, error, error.__traceback__))
            continue
        if found is None:
            return None
        fits.append(Fit(*found))
    return fits


def _path(models: list[Any]) -> dict[str, Any]:
    """The work that fits along the penalty share, as a parameter of fits."""
    name = models[0].path_parameter
    return (
        {} if name is None else {"fit_path": models[0].new_path([getattr(m, name) for m in models])}
    )


def leave_one_out(train: np.ndarray, test: np.ndarray, n: int) -> bool:
    """Whether a split leaves out one of n rows."""
    if len(test) != 1 or len(train) != n - 1:
        return False
    rest = np.delete(np.arange(n), test)
    return np.array_equal(train, rest) or np.array_equal(np.sort(train), rest)
