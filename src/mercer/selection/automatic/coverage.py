"""How often the intervals of a model hold the targets of rows that it was not fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.selection.automatic.regressor import KernelRegressor
from mercer.selection.automatic.scores import wilson

COVERAGES = (0.5, 0.8, 0.9, 0.95)
SAID = 0.9  # the one that the sentence is about


@dataclass(frozen=True)
class Coverage:
    """The intervals for some rows: which share of the rows they should hold, and what they held."""

    wanted: np.ndarray
    held: np.ndarray
    low: np.ndarray  # Wilson's 95% interval of ``held``
    high: np.ndarray
    width: np.ndarray  # the median width
    rows: int

    @property
    def too_narrow(self) -> bool:
        """Whether the intervals of 90% hold clearly fewer rows than they should."""
        return bool(self.high[self._said] < SAID)

    @property
    def _said(self) -> int:
        return self.wanted.tolist().index(SAID)

    def sentence(self) -> str:
        """What the intervals of 90% are worth."""
        i = self._said
        held, low, high = (100 * float(each[i]) for each in (self.held, self.low, self.high))
        said = (
            f"Half of the 90% intervals are at most {self.width[i]:.4g} wide; they hold "
            f"{held:.1f}% of the {self.rows:,} held-out rows (95% interval {low:.1f} to "
            f"{high:.1f}%)"
        )
        if low <= 100 * SAID <= high:
            return f"{said}."
        return f"{said}: {'more' if held > 100 * SAID else 'fewer'} than they should."


def measure_coverage(model: Any, X: Any, y: np.ndarray) -> Coverage | None:
    """What the intervals of a model hold of rows that it has not seen; None if it has none."""
    if not (isinstance(model, KernelRegressor) and model.spread_ is not None and len(y)):
        return None
    wanted = np.array(COVERAGES)
    levels = np.concatenate([(1 - wanted) / 2, (1 + wanted) / 2])
    found = model.predict_quantiles(X, levels)
    below, above = np.split(found, 2, axis=1)
    held = ((below <= y[:, None]) & (y[:, None] <= above)).mean(axis=0)
    low, high = wilson(held, len(y))
    return Coverage(wanted, held, low, high, np.median(above - below, axis=0), len(y))
