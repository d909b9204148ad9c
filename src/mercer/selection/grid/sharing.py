"""What the fits of a search can share: distances and Gram matrices of samples encoded once, and
along a path of one penalty their solver.

Matrices of the whole data set are looked up in the place of kernel values: the fits get the rows of
a matrix as their samples, and `Precomputed` (or `FromDistances`) as their kernel, so that learners
and solvers need not know. `SharedMatrices` holds the matrices within the memory budget.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from mercer.distances import Comparison, Distance, by_strips, fill, tile_edge
from mercer.gram import Place, gram, made_here
from mercer.kernels import Kernel, Precomputed, Radial
from mercer.learners.base import KernelLearner
from mercer.samples import MatrixRows, Samples
from mercer.solvers.rows import rounds_to_float32


def key_of(value: Any) -> Any:
    """A hashable key, equal for parameters of equal meaning.

    Objects of no known kind are their identity.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> key_of(RBF(0.5)) == key_of(RBF(0.5)), key_of(RBF(0.5)) == key_of(RBF())
    (True, False)
    """
    if isinstance(value, Comparison):  # all that it holds: what `bind` learnt may be no parameter
        held = vars(value)
        return type(value), tuple((name, key_of(held[name])) for name in sorted(held))
    if is_frozen(value):
        held = {field.name: getattr(value, field.name) for field in fields(value)}
        return type(value), key_of(held)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return "array", value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, (list, tuple, np.ndarray)):
        return "list", tuple(key_of(item) for item in value)
    if isinstance(value, dict):
        return "dict", tuple((repr(k), key_of(v)) for k, v in value.items())
    if value is None or isinstance(value, (str, bytes, bool)):
        return value, type(value).__name__
    if isinstance(value, (int, float, np.number)):
        return "number", float(value)
    return "object", id(value)


def is_frozen(value: object) -> bool:
    """Whether a value is one of a frozen dataclass, as solvers are."""
    made = getattr(type(value), "__dataclass_params__", None)
    return made is not None and made.frozen


class SharedMatrices:
    """Matrices of all samples of a search: distances, and K of the kernels that stand together.

    They may take ``memory`` bytes.
    """

    def __init__(self, memory: int, n_jobs: int | None):
        self.memory, self.n_jobs = memory, n_jobs
        self.samples: Any = None
        self.distances: tuple[Any, np.ndarray] | None = None
        self._grams: dict[Any, np.ndarray] = {}

    def use(self, samples: Samples) -> None:
        """Take encoded samples; matrices of other samples are forgotten."""
        if self.samples is not samples:
            self.forget()
        self.samples = samples

    def matrix_bytes(self) -> int:
        """The bytes of one matrix of all rows."""
        return self.samples.shape[0] ** 2 * np.dtype(self.samples.dtype).itemsize

    def held_bytes(self) -> int:
        """The bytes of the matrices that are held."""
        distances = [] if self.distances is None else [self.distances[1]]
        return sum(K.nbytes for K in [*distances, *self._grams.values()])

    def made_here(self, kernel: Kernel, device: str | None) -> bool:
        """Whether matrices of a bound kernel are arrays of this machine, which fits can share."""
        return made_here(kernel, self.samples, Place(self.memory, self.n_jobs, device))

    def hold_distances(self, kernel: Radial) -> None:
        """Compute the distances of a bound radial kernel between all rows."""
        distance, X = kernel.distance, self.samples
        if not self._holds(distance):
            self.distances = None  # its memory is for the next
            self.forget_grams()
            self.distances = key_of(distance), distance.whole(X, X, self.n_jobs, distance.raw)

    def hold_gram(self, kernel: Kernel, room: float = 0.0) -> None:
        """Compute K of a bound kernel for all rows.

        It is kept in float32 if its entries may be off by that: ``room`` is the relative error
        that fits leave room for.
        """
        dtype = self._precision(kernel, room)
        K = gram(kernel, self.samples, place=Place(n_jobs=self.n_jobs)).dense()
        if K.dtype != dtype:
            K = by_strips(K, lambda values: values, dtype, self.n_jobs)
        self._grams[key_of(kernel)] = K

    def hold_profiles(self, kernels: list[Radial], rooms: list[float]) -> None:
        """Compute K of bound radial kernels of one distance, as `hold_gram`.

        The distances are those that are held. If none are, each tile of them serves all kernels
        while it is in cache, and is then forgotten.
        """
        X, distance = self.samples, kernels[0].distance
        dtypes = [self._precision(kernel, room) for kernel, room in zip(kernels, rooms)]
        if self._holds(distance):
            assert self.distances is not None
            D = self.distances[1]
            grams = [
                by_strips(D, lambda part, k=kernel: k.profile(part.copy()), dtype, self.n_jobs)
                for kernel, dtype in zip(kernels, dtypes)
            ]
        else:
            A, B = distance.sides(X, X)
            n = X.shape[0]
            grams = [np.empty((n, n), dtype) for dtype in dtypes]

            def tiles(i: slice, j: slice) -> Iterator[np.ndarray]:
                rows = A[i]
                D = distance.raw(rows, rows if i == j else B[j])
                for kernel in kernels:
                    yield kernel.profile(D.copy())

            step = tile_edge((n, n), distance.pair_cost(X))
            fill(tiles, grams, step, distance.symmetric, self.n_jobs)
        for kernel, K in zip(kernels, grams):
            self._grams[key_of(kernel)] = K

    def gram(self, kernel: Kernel) -> tuple[Kernel, MatrixRows]:
        """A kernel that looks up the values of one that is held, and all samples for it."""
        known = Precomputed(kernel.positive_definite)
        return known, MatrixRows.of(self._grams[key_of(kernel)])

    def of_distances(self, kernel: Radial) -> tuple[Kernel, MatrixRows]:
        """A kernel that has the values of a bound radial one from the distances, and all samples
        for it."""
        assert self.distances is not None
        return FromDistances(kernel), MatrixRows.of(self.distances[1])

    def forget(self) -> None:
        """All matrices."""
        self.distances = None
        self.forget_grams()

    def forget_grams(self) -> None:
        """All but the distances."""
        self._grams.clear()

    def _holds(self, distance: Distance) -> bool:
        return self.distances is not None and self.distances[0] == key_of(distance)

    def _precision(self, kernel: Kernel, room: float) -> np.dtype:
        rounded = rounds_to_float32(kernel.diag(self.samples), room)
        return np.dtype(np.float32) if rounded else self.samples.dtype


class FromDistances(Kernel):
    """A bound radial kernel whose distances are known: its samples are rows of their matrix."""

    kind = "precomputed"

    def __init__(self, kernel: Radial):
        self.kernel = kernel

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        return self.kernel.positive_definite

    def members(self) -> list:
        return []  # the kernel reads no samples here

    def support(self, X: MatrixRows) -> MatrixRows:
        return X.without_values()

    def block(self, X: MatrixRows, Z: MatrixRows) -> np.ndarray:
        D, rows, columns = Precomputed().matrix(X, Z)
        return self.kernel.profile(D[np.ix_(rows, columns)])

    def diag(self, X: MatrixRows) -> np.ndarray:
        D, rows, columns = Precomputed().matrix(X, X)
        return self.kernel.profile(D[rows, columns])


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
