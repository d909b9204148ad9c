"""The rows that a neighbourhood is learnt from, as the native step reads them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class TrainingRows(NamedTuple):
    """Encoded rows with their targets, all in float32.

    Attributes
    ----------
    numbers : ndarray of shape (n, columns)
        Numbers of about unit variance, which become periodic features.
    extra : ndarray of shape (n, q)
        Columns that the linear layer reads as they are, such as indicators of categories.
    targets : ndarray of shape (n, outputs)
        Standardised numbers, or indicators of classes.
    weights : ndarray of shape (n,)
        How many times each row counts.
    classes : bool
        Whether the targets are indicators of classes.
    """

    numbers: np.ndarray
    extra: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    classes: bool

    @property
    def count(self) -> int:
        """n."""
        return len(self.weights)

    @property
    def labels(self) -> np.ndarray:
        """The number of each row's class; 0 for numbers."""
        if self.classes:
            return self.targets.argmax(axis=1).astype(np.int32)
        return np.zeros(self.count, np.int32)

    def take(self, rows: np.ndarray) -> TrainingRows:
        """Some of the rows."""
        return self._replace(
            numbers=self.numbers[rows], extra=self.extra[rows], targets=self.targets[rows],
            weights=self.weights[rows],
        )  # fmt: skip
