"""How fast this machine is, measured in some milliseconds before a search plans its time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

import numpy as np
import scipy.linalg

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
