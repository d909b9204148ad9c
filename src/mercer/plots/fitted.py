"""The kernel machine inside a model, and its Gram matrix on a sample of rows.

Searches have a ``best_estimator_``, and pipelines have a last step. The functions below find the
kernel learner in both, so that every display takes the estimator that the user has fitted.
Scikit-learn's SVC, SVR and KernelRidge work too.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state
from sklearn.utils.validation import _num_samples

from mercer.gram import gram
from mercer.kernels import Kernel, as_kernel
from mercer.samples import describe
from mercer.tables import ReadTable


def kernel_machine(model: Any) -> tuple[list, Any]:
    """The transformers of a model, in order, and the kernel learner at its end.

    Raises
    ------
    TypeError
        The model has no kernel learner.
    """
    if hasattr(model, "best_estimator_"):
        return kernel_machine(model.best_estimator_)
    if hasattr(model, "encoder_"):  # an automatic estimator: its kernel reads the encoded table
        return [model.encoder_], model
    if hasattr(model, "steps"):
        before = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
        inner, machine = kernel_machine(model.steps[-1][1])
        return before + inner, machine
    if hasattr(model, "kernel_") or hasattr(model, "kernel"):
        return [], model
    raise TypeError(
        f"{type(model).__name__} is not a kernel learner and does not contain one: give a fitted "
        "learner with a kernel, a pipeline that ends in one, or a search over them."
    )


def bound_kernel(machine: Any, X: Any) -> Kernel:
    """The bound kernel of a fitted learner.

    Scikit-learn's learners have only a name and parameters, so their kernel is bound to X.
    """
    if hasattr(machine, "kernel_"):
        return machine.kernel_
    given = {name: getattr(machine, name, None) for name in ("gamma", "degree", "coef0")}
    given["gamma"] = getattr(machine, "_gamma", given["gamma"])  # SVC resolves "scale" in fit
    kernel = as_kernel(machine.kernel, pairwise=not hasattr(machine, "support_"), **given)
    return kernel.bind(kernel.encode(X))


def sample_gram(
    model: Any, X: Any, *, max_samples: int = 1000, random_state: Any = 0
) -> tuple[np.ndarray, np.ndarray]:
    """K between random rows of X (without replacement), and their numbers, ascending.

    The model is a kernel learner or contains one (see `kernel_machine`). All rows are used if there
    are at most ``max_samples``.
    """
    transformers, machine = kernel_machine(model)
    rows = sample_rows(row_count(X), max_samples, random_state)
    Z = X if is_precomputed(machine) else take(X, rows)
    for transformer in transformers:
        Z = transformer.transform(Z)
    kernel = bound_kernel(machine, Z)
    if is_precomputed(machine):
        Z = kernel.encode(Z)[rows]
    else:  # in the codes of the training rows
        Z = kernel.encode(Z, like=getattr(machine, "X_fit_", None))
    with np.errstate(all="ignore"):  # displays refuse what no float can hold
        return gram(kernel, Z).dense(), rows


def is_precomputed(machine: Any) -> bool:
    """Whether a kernel learner was fitted to a Gram matrix instead of samples."""
    if hasattr(machine, "kernel_"):
        return machine.kernel_.reads.pairwise
    return isinstance(machine.kernel, str) and machine.kernel == "precomputed"


def sample_rows(n: int, max_samples: int, random_state: Any = 0) -> np.ndarray:
    """At most ``max_samples`` of n row numbers, ascending, without replacement."""
    if n <= max_samples:
        return np.arange(n)
    return np.sort(check_random_state(random_state).choice(n, max_samples, replace=False))


def take(X: Any, rows: np.ndarray) -> Any:
    """Some rows of an array, a data frame, a list or a table that was read."""
    return X[rows] if isinstance(X, ReadTable) else _safe_indexing(X, rows)


def row_count(X: Any, y: Any = None) -> int:
    """How many rows X has: at least one, and as many as y, unless this is None."""
    if isinstance(X, (str, bytes, Mapping, Set)) or X is None:
        raise TypeError(f"X is {describe(X)}: give the rows of data, as an array, frame or list.")
    n = _num_samples(X)
    if y is not None:
        check_consistent_length(X, y)
    if not n:
        raise ValueError("X has no rows: give at least one.")
    return n
