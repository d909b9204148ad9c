"""`LinearSVC` and `LinearSVR` on a stream, which is read again for each Newton step.

An exact fit with the dual variables of a loss with a kink keeps a number for each row. A squared
loss needs none: all that a step wants of the rows are sums, and memory does not depend on n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mercer.persistence import fields
from mercer.solvers.linear import (
    FACTORED,
    LinearDual,
    LinearPasses,
    LinearResult,
    LinearRows,
    PassedMachine,
)
from mercer.streams import Chunks, Keeper, told
from mercer.threads import blas_limit, raise_if_stopped

BLOCK = 2**13  # rows that are added up at a time


@fields()
class Progress:
    """What is known between two readings.

    Attributes
    ----------
    width : int
        Weights of a machine.
    single : bool
        Whether X is float32.
    machines : list of PassedMachine
    factors : ndarray of shape (classes,)
        What the weights of the rows of each class are multiplied by.
    """

    machines: list[PassedMachine]
    factors: Any

    def __init__(self, width: int, single: bool):
        self.width, self.single = width, single
        self.machines = []
        self.factors = np.ones(1)

    def begin(self, classes: int, factors: np.ndarray | None = None) -> None:
        """As many machines as ``classes`` need against the rest; one for two classes or none."""
        count = classes if classes > 2 else 1
        self.machines = [PassedMachine(self.width) for _ in range(count)]
        if factors is not None:
            self.factors = factors

    @property
    def dtype(self) -> Any:
        return np.float32 if self.single else np.float64


def begun(
    learner: Any,
    chunks: Chunks,
    numeric: bool,
    see: Callable[[np.ndarray, np.ndarray], None] = lambda y, w: None,
) -> Progress:
    """The first reading, in which ``see`` looks at y and the weights."""
    name = type(learner).__name__
    chunks.refuse_once(f"{name}.fit_chunks reads the stream again for each step")
    width, dtype = 0, np.dtype(np.float64)
    for X, y, w in _read(learner, chunks, numeric, first=True):
        if X.shape[1] >= FACTORED:
            raise ValueError(
                f"X has {X.shape[1]:,} columns, and a fit in chunks has matrices of so many rows "
                f"and columns: give fewer than {FACTORED:,}, as features of a transformer by "
                "chunks.through(), or fit to rows in memory."
            )
        see(y, w)
        width, dtype = X.shape[1] + 1, X.dtype
    return Progress(width, dtype == np.float32)


def solve_in_passes(
    learner: Any,
    chunks: Chunks,
    keeper: Keeper,
    progress: Progress,
    solver: LinearPasses,
    bias: float,
    duals: Callable[[np.ndarray, np.ndarray], Sequence[LinearDual]],
    numeric: bool,
) -> list[LinearResult]:
    """The solutions; ``duals(y, w)`` makes the dual of each machine for some rows."""

    def read() -> Iterator[tuple[LinearRows, Sequence[LinearDual]]]:
        for X, y, w in _read(learner, chunks, numeric):
            yield LinearRows(X, bias, learner.n_jobs), duals(y, w)

    with np.errstate(over="ignore", invalid="ignore"), blas_limit(progress.width):
        return solver.solve(read, progress.machines, lambda: keeper.offer(progress))


def _read(
    learner: Any, chunks: Chunks, numeric: bool, first: bool = False
) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
    for block, _ in chunks.blocks(BLOCK):
        raise_if_stopped()
        with told(f"the block from row {block.start:,} of the stream"):
            rows = learner.read_rows(
                block.X, block.y, block.weights, numeric=numeric, reset=first and not block.start
            )
        yield rows
