"""Networks of a learnt neighbourhood: those that are tried, and those that it keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.learners.neighbourhoods.design import Design
from mercer.samples import EncodedColumns
from mercer.solvers import Reason
from mercer.solvers.neighbourhoods import Network, TrainingRows, held_out_loss, smooth


@dataclass(frozen=True)
class Member:
    """A trained network, with z of the training rows.

    Attributes
    ----------
    design : Design
        How it reads encoded rows.
    network : Network
    temperature : float
    Z : ndarray of shape (n, width)
    split : int
        The number of the split that said which rows it did not train on.
    """

    design: Design
    network: Network
    temperature: float
    Z: np.ndarray
    split: int

    def embed(self, M: EncodedColumns, n_jobs: int | None) -> np.ndarray:
        """z of encoded rows."""
        return self.network.embed(*self.design.read(M), n_jobs)


@dataclass(frozen=True)
class Trial:
    """Rows as a design reads them, and what was trained on them."""

    rows: TrainingRows
    design: Design
    result: Any = None
    split: int = 0

    @property
    def loss(self) -> float:
        """The held-out loss."""
        return self.result.objective

    @property
    def interrupted(self) -> bool:
        return self.result is not None and self.result.reason is Reason.INTERRUPTED

    def cut(self) -> Trial:
        """The same; a later one was interrupted."""
        return replace(self, result=replace(self.result, reason=Reason.INTERRUPTED))

    def member(self, n_jobs: int | None) -> Member:
        """The network that was trained, with z of all rows."""
        result, rows = self.result, self.rows
        Z = result.network.embed(rows.numbers, rows.extra, n_jobs)
        return Member(self.design, result.network, result.temperature, Z, self.split)

    def held_values(self, fit: np.ndarray, held: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """What the rows it was trained on predict for those that were held out, (held, outputs)."""
        new = self.rows.take(held)
        return self._values(new.numbers, new.extra, fit, n_jobs)

    def values(self, M: EncodedColumns, fit: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """What the rows it was trained on predict for other encoded rows, (rows, outputs)."""
        return self._values(*self.design.read(M), fit, n_jobs)

    def _values(self, numbers, extra, fit: np.ndarray, n_jobs: int | None) -> np.ndarray:
        known, result = self.rows.take(fit), self.result
        network, tau = result.network, (result.temperature,)
        Z = network.embed(known.numbers, known.extra, n_jobs)
        queries = network.embed(numbers, extra, n_jobs)
        return smooth(queries, Z, known.targets, known.weights, tau, n_jobs)[0]


def mean_loss(trials: list[Trial], fit: np.ndarray, held: np.ndarray, n_jobs: int | None) -> float:
    """The held-out loss of the mean of several machines."""
    values = np.mean([trial.held_values(fit, held, n_jobs) for trial in trials], axis=0)
    new = trials[0].rows.take(held)
    return held_out_loss(values, new.targets, new.weights, new.classes)
