"""Which variables of a coordinate descent are in play, as the native loops read it."""

from __future__ import annotations

import numpy as np

__all__ = ["ActiveSet"]


class ActiveSet:
    """Which variables of a coordinate descent are in play, and the state of its shuffle."""

    def __init__(self, variables: int, seed: int):
        self.active = np.arange(variables, dtype=np.int64)
        self._state = np.array([variables, seed + 1], dtype=np.uint64)  # never 0
        self._violation = np.array([np.inf])

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.active, self._state, self._violation

    @property
    def violation(self) -> float:
        """The largest of the last epoch."""
        return float(self._violation[0])

    def take(self, variables: np.ndarray) -> None:
        """Only these are in play."""
        self.active[: len(variables)] = variables
        self._state[0], self._violation[0] = len(variables), np.inf

    def take_all(self) -> None:
        """All are looked at again; what is further from moving than the last violation goes."""
        self._state[0] = len(self.active)
