"""What one search of an automatic estimator is given, and does not change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, Self

import numpy as np
import scipy.linalg

from mercer.gram import LEAF_ROWS, Place
from mercer.machines.scores import Metric
from mercer.machines.tasks import Task
from mercer.samples import EncodedColumns
from mercer.tables import Feature, Related
from mercer.threads import Clock

ROWS = 700  # of the matrix that is factorised
VALUES = 100_000  # whose exponentials are computed
LONG = 0.1  # seconds


@dataclass(frozen=True)
class Speed:
    """What the predictions of `Costs` are multiplied with."""

    operations: float  # those a second of a Cholesky factor in float32, by the threads of a fit
    value: float  # seconds of an exponential in float32, in one thread

    @classmethod
    def measured(cls) -> Self:
        """That of this machine now, with all that runs beside."""
        rng = np.random.default_rng(0)
        A = rng.normal(size=(ROWS, ROWS)).astype(np.float32)
        A = A @ A.T + ROWS * np.eye(ROWS, dtype=np.float32)
        values = rng.normal(size=VALUES).astype(np.float32)
        factor = least_seconds(lambda: scipy.linalg.cholesky(A, check_finite=False))
        return cls(ROWS**3 / 3 / factor, least_seconds(lambda: np.exp(values)) / VALUES)


#: the machine on which the constants of `Costs` were measured, with nothing beside it
REFERENCE = Speed(6e10, 4e-10)


def least_seconds(step: Callable[[], Any]) -> float:
    """The least time of three: another process may take the core for a moment.

    A long step is timed once: it would cost too much of the time that is planned.
    """
    times = []
    while len(times) < 3 and sum(times) < LONG:
        start = perf_counter()
        step()
        times.append(perf_counter() - start)
    return min(times)


LITTLE = 2**26  # bytes of memory

#: how many rows, and the centres of ridge; None is an exact fit
Rung = tuple[int, int | None]


@dataclass(frozen=True)
class Sizes:
    """How many rows and centres the steps of a search take; the same on every machine."""

    small_rows: int = 1500  # with at most so many rows, none are set aside to learn weights
    one_rung_rows: int = 2000  # with at most so many rows, there is one rung
    #: the rows of both rungs, and the centres of the low-rank factor
    rungs: tuple[tuple[int, int], tuple[int, int]] = ((4000, 500), (20_000, 1000))
    all_rows: int = 6000  # with at most so many rows, the first rung has all of them
    learning_rows: int = 1200  # rows from which weights are learnt, in tables of up to 20 columns
    spared_rows: int = 2400  # a metric is learnt from half of them, and judged on the others
    few_learning_rows: int = 600  # the same for each fold of a small table, in 0.5 s instead of 3
    exact_rows: int = 6000  # with at most so many rows, ridge is exact if there is time
    #: most rows of the leaves of a local machine, by the time that is left
    leaves: tuple[int, ...] = (LEAF_ROWS, 1000, 500)
    smallest_rank: int = 300  # centres of ridge if almost no time is left
    #: rows of a support vector machine or of windows if almost no time is left
    fewest_rows: int = 2000
    quick_rows: int = 5000  # most rows of a final fit after an interruption
    #: part of the loss by which a mean must be better than that without its last machine
    gain: float = 0.01


@dataclass(frozen=True, eq=False)
class SearchSettings:
    """The rows and the task of a search, and the time and memory that it may take."""

    task: Task  # makes targets of machines from y, and predictions from outputs
    features: list[Feature]  # descriptions of the encoded columns
    M: EncodedColumns
    y: np.ndarray
    metric: Metric
    memory: int  # bytes
    seed: int  # seed for folds, centres and samples
    weights: np.ndarray | None = None  # of the rows, all > 0
    related: Related | None = None  # groups or times of the rows, which the folds keep apart
    moving: tuple[str, ...] = ()  # labels of the features that move with the times
    trend: tuple[str, ...] = ()  # those of them that the linear model reads as straight lines
    #: infinite for a search with a fixed number of trials, and for a replay
    clock: Clock = field(default_factory=Clock)
    n_jobs: int | None = None
    only: str | None = None  # "kernels" if no simple model may be the winner
    #: called before each trial with a dict: trial, done, of, leaderboard
    progress: Callable[[dict[str, Any]], object] | None = None
    sizes: Sizes = Sizes()
    speed: Speed = REFERENCE  # that of the machine, by which the time of steps is predicted

    @cached_property
    def place(self) -> Place:
        """Where the Gram matrices of the search are."""
        return Place(self.memory, self.n_jobs)

    @property
    def little_memory(self) -> bool:
        """Whether there is too little memory for support vector machines or linear models on texts
        and other objects, whose features or counts stand in memory beside all rows."""
        return self.memory < LITTLE

    @cached_property
    def Y(self) -> np.ndarray:
        """The targets that machines are fitted to, (n, outputs)."""
        return self.task.targets(self.y)

    @property
    def several(self) -> bool:
        """Whether there are several targets."""
        return self.y.ndim > 1

    @cached_property
    def objects(self) -> bool:
        """Whether the rows hold more than numbers and categories."""
        return any(feature.holds_objects for feature in self.features)

    def weights_of(self, rows: np.ndarray) -> np.ndarray | None:
        """The weights of some rows; None where all rows count alike."""
        return None if self.weights is None else self.weights[rows]
