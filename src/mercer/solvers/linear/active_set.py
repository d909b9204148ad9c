"""The active variables of a coordinate descent, in the form that the native loops read."""

from __future__ import annotations

import numpy as np


class ActiveSet:
    """The active variables of a coordinate descent, and the state of its shuffle."""

    def __init__(self, variables: int, seed: int):
        self.active = np.arange(variables, dtype=np.int64)
        self._state = np.array([variables, seed + 1], dtype=np.uint64)  # never 0
        self._violation = np.array([np.inf])

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.active, self._state, self._violation

    @property
    def violation(self) -> float:
        """The largest violation in the last epoch."""
        return float(self._violation[0])

    def take(self, variables: np.ndarray) -> None:
        """Make only these variables active."""
        self.active[: len(variables)] = variables
        self._state[0], self._violation[0] = len(variables), np.inf

    def take_all(self) -> None:
        """Make all variables active; the next epoch drops those that are far from a change."""
        self._state[0] = len(self.active)
