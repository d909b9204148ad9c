"""The check of each invariance, on given data: the same for the small table and for long trials."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import mercer
from invariances.table import IN_TARGETS, IN_WEIGHTS, Fit, Row
from mercer.search import Index


class Data(NamedTuple):
    """Training rows, targets of each task, and new rows."""

    X: np.ndarray
    classes: np.ndarray
    numbers: np.ndarray
    sets: list
    new: np.ndarray
    new_sets: list


def data(rng: np.random.Generator, n: int = 45, columns: int = 3, count: int = 9) -> Data:
    """Three clusters, and classes that are not quite theirs; no rows are equal."""
    centres = 4 * rng.normal(size=(3, columns))
    clusters = np.arange(n + count) % 3
    X = centres[clusters] + rng.normal(size=(n + count, columns))
    X *= np.exp(rng.uniform(-1, 1, columns))
    some = np.flatnonzero(rng.uniform(size=n + count) < 0.3)
    X[some, rng.integers(0, columns, len(some))] = 0
    classes = np.where(rng.uniform(size=n + count) < 0.15, (clusters + 1) % 3, clusters)
    numbers = np.sin(X[:, 0]) + X[:, -1] / X[:, -1].std() + 0.1 * rng.normal(size=n + count)
    sets = [set(rng.choice(20, 6).tolist()) for _ in range(n + count)]
    return Data(X[:n], classes[:n], numbers[:n], sets[:n], X[n:], sets[n:])


def fitted(row: Row, X: Any, y: Any, w: Any = None, **parameters: Any) -> Fit:
    model = clone(row.model)
    known = {name: value for name, value in parameters.items() if name in model.get_params()}
    model.set_params(**known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if w is not None:
            model.fit(X, sample_weight=w) if y is None else model.fit(X, y, sample_weight=w)
        else:
            model.fit(X) if y is None else model.fit(X, y)
    return Fit(model, X, y)


def agree(answers: np.ndarray, wanted: np.ndarray, close: float) -> None:
    """In parts of the largest answer; NaN, where a row has no neighbours, agrees with NaN."""
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
    assert_allclose(answers, wanted, rtol=close, atol=close * largest)


class Task(NamedTuple):
    """A row of the table on some data."""

    row: Row
    X: Any
    y: Any
    Z: Any
    first: Fit
    rng: np.random.Generator
    folder: Path

    @classmethod
    def of(
        cls, row: Row, given: Data, rng: np.random.Generator, folder: Path, first: Any = None
    ) -> Task:
        """With the fit that others are compared with, where it is known."""
        X, y, Z = given.X, None, given.new
        if row.task == "sets":
            X, Z = given.sets, given.new_sets
        elif row.task == "views":
            y = np.column_stack([given.numbers, given.X[:, 0] ** 2])
        elif row.task != "none":
            y = getattr(given, row.task)
        return cls(row, X, y, Z, first or fitted(row, X, y), rng, folder)

    def fit(self, X: Any = None, y: Any = None, w: Any = None, **parameters: Any) -> Fit:
        """On the same data where none are given."""
        X, y = (self.X, self.y) if X is None else (X, y)
        return fitted(self.row, X, y, w, **parameters)

    def same(
        self, other: Fit, Z: Any = None, first: Fit | None = None, close: float | None = None
    ) -> None:
        """Both fits mean the same for the new rows, which may be given in another form."""
        wanted = self.row.meant(self.row.answers(first or self.first, self.Z))
        answers = self.row.meant(self.row.answers(other, self.Z if Z is None else Z))
        agree(answers, wanted, close or self.row.close)

    def multiplied(self, powers: Mapping[type, Mapping[str, int]], factor: float) -> dict:
        """The numbers among the parameters times powers of a factor."""
        given = self.row.model.get_params(deep=False)
        wanted = powers.get(type(self.row.model), {}).items()
        return {
            name: given[name] * factor**power for name, power in wanted if given[name] != "auto"
        }

    def take(self, rows: np.ndarray) -> tuple[Any, Any]:
        X = self.X[rows] if isinstance(self.X, np.ndarray) else [self.X[i] for i in rows]
        return X, None if self.y is None else self.y[rows]


def rows(task: Task) -> None:
    order = task.rng.permutation(len(task.X))
    task.same(task.fit(*task.take(order)))


def alone(task: Task) -> None:
    parts(task, 1)


def parts(task: Task, size: int = 4) -> None:
    wanted = task.row.answers(task.first, task.Z)
    pieces = [task.Z[i : i + size] for i in range(0, len(task.Z), size)]
    answers = np.concatenate([task.row.answers(task.first, Z) for Z in pieces])
    agree(answers, wanted, task.row.close)


def threads(task: Task) -> None:
    for n_jobs in (1, 2):
        task.same(task.fit(n_jobs=n_jobs))


def memory(task: Task) -> None:
    """K some times, and what is beside it."""
    enough = task.row.matrices * 8 * len(task.X) ** 2 + 2**20
    task.same(task.fit(memory=enough))


def float32(task: Task) -> None:
    y = task.y if task.row.task != "views" else task.y.astype(np.float32)
    single = task.fit(task.X.astype(np.float32), y)
    close = max(task.row.single, 2.0**-24 * task.row.rounded(task.first.model))
    task.same(single, task.Z.astype(np.float32), close=close)


def scale(task: Task) -> None:
    """Another unit, in which no digit is rounded."""
    for power in (-300, -30, task.rng.choice([-3, -1, 1, 3]), 30, 300):
        factor = 2.0**power
        task.same(task.fit(task.X * factor, task.y), task.Z * factor)


def targets(task: Task) -> None:
    """y in another unit: 1e-301 to 1e90."""
    wanted = task.row.meant(task.row.answers(task.first, task.Z))
    for power in (-1000, -300, -30, 30, 300):
        factor = 2.0**power
        parameters = task.multiplied(IN_TARGETS, factor)
        try:
            other = task.fit(task.X, task.y * factor, **parameters)
        except ValueError as error:
            if abs(power) > 30 and "other units" in str(error):
                continue
            raise
        found = task.row.meant(task.row.answers(other, task.Z))
        agree(found if task.row.task == "views" else found / factor, wanted, task.row.close)


def weights(task: Task) -> None:
    given = np.where(np.arange(len(task.X)) % 2, 1.0, 3.0)
    first = task.fit(w=given)
    for power in (-30, -10, 10, 30):
        factor = 2.0**power
        parameters = task.multiplied(IN_WEIGHTS, factor)
        task.same(task.fit(w=given * factor, **parameters), first=first)


def translation(task: Task) -> None:
    shift = 3 * task.rng.normal(size=task.X.shape[1])
    task.same(task.fit(task.X + shift, task.y), task.Z + shift)


def repetition(task: Task) -> None:
    times = task.rng.integers(0, 4, len(task.X))
    X, y = task.take(np.repeat(np.arange(len(times)), times))
    task.same(task.fit(w=times.astype(float)), first=task.fit(X, y))


def file(task: Task) -> None:
    path = task.folder / "model.mercer"
    if isinstance(task.first.model, Index):
        task.first.model.save(path)
        loaded = Index.load(path)
    else:
        mercer.save(task.first.model, path)
        loaded = mercer.load(path)
    wanted = task.row.answers(task.first, task.Z)
    answers = task.row.answers(task.first._replace(model=loaded), task.Z)
    agree(answers, wanted, 1e-10)


def sparse(task: Task) -> None:
    task.same(task.fit(sp.csr_array(task.X), task.y), sp.csr_array(task.Z))


CHECKS: dict[str, Callable[[Task], None]] = {
    check.__name__: check
    for check in (
        rows, alone, parts, threads, memory, float32, scale, targets, weights, translation,
        repetition, file, sparse,
    )
}  # fmt: skip
