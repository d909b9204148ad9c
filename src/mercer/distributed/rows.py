"""Rows as users give them, cut into partitions: dask collections, or arrays of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.distributed import on_dask
from mercer.distributed.engine import Engine, Partition, ThreadEngine
from mercer.learners.base import take_rows
from mercer.samples import Samples, check_format
from mercer.streams import count_rows, plain_form

FEWEST, MOST = 4096, 2**18  # rows of a partition of an array that lies here


def engine_of(client: object) -> Engine:
    """The engine of a client, or of the current one; without one threads of this process."""
    if isinstance(client, Engine):
        return client
    client = on_dask.current_client() if client is None else client
    if client is None:
        return ThreadEngine()
    on_dask.need_dask("client=")
    return on_dask.DaskEngine(client)


class Rows:
    """X, y and weights, from which partitions are made when an engine needs them.

    Parameters
    ----------
    X : dask array or data frame, or samples of this process
    y, weights : of the same partitions, or arrays; None if there are none
    """

    def __init__(self, X: Any, y: Any = None, weights: Any = None):
        self.X, self.y, self.weights = X, y, weights
        self.far = on_dask.is_collection(X)
        if not self.far:
            self.X, self.y, self.weights = plain_form(X), self._here(y), self._here(weights)

    @staticmethod
    def _here(part: Any) -> Any:
        return on_dask.gathered(part) if on_dask.is_collection(part) else sliceable(part)

    @property
    def numbers(self) -> bool:
        """Whether X is an array of numbers."""
        return on_dask.numeric_array(self.X) or (
            isinstance(self.X, np.ndarray) and self.X.dtype.kind in "fiub"
        )

    def sources(self, engine: Engine, *, skip: bool = False) -> Sequence[Callable[[], Partition]]:
        """A function for each partition that makes it; ``skip`` leaves out X of a collection."""
        if self.far:
            return on_dask.blocks(self.X, self.y, self.weights, skip=skip)
        n = count_rows(self.X)
        for name, part in (("y", self.y), ("sample_weight", self.weights)):
            if np.ndim(part) and len(part) != n:
                raise ValueError(f"{name} has {len(part)} rows, and X has {n}: give as many.")
        count = max(1, min(engine.tasks, n // FEWEST), -(-n // MOST))
        cuts = np.array_split(np.arange(n), count)
        return [
            partial(
                Partition, i, take_rows(self.X, rows),
                *(part[rows] if np.ndim(part) else part for part in self._beside()),
            )
            for i, rows in enumerate(cuts)
        ]  # fmt: skip

    def _beside(self) -> list[Any]:
        return [np.asarray(part) if np.ndim(part) else part for part in (self.y, self.weights)]

    def gathered(self) -> tuple[Any, Any, Any]:
        """All rows in this process."""
        return self._here(self.X), self._here(self.y), self._here(self.weights)


def sliceable(part: Samples | None) -> Any:
    """Rows of which some can be taken: CSR rows, and arrays of what is none but can become one."""
    if sp.issparse(part):
        check_format(part)
        return sp.csr_array(part)
    return np.asarray(part) if hasattr(part, "__array__") and not hasattr(part, "__len__") else part


def aligned(part: Samples | None) -> Any:
    """An array whose numbers are aligned in memory; those from messages may not be.

    Examples
    --------
    >>> shifted = np.frombuffer(bytes(9), np.float64, 1, offset=1)
    >>> shifted.flags.aligned, aligned(shifted).flags.aligned
    (False, True)
    """
    return np.require(part, None, "A") if isinstance(part, np.ndarray) else part


def kept(part: Partition) -> Partition | None:
    """The rows of positive weight; None if there are none."""
    part = replace(part, X=aligned(part.X), y=aligned(part.y), weights=aligned(part.weights))
    n = len(part.y) if part.X is None else count_rows(part.X)
    if part.y is not None and len(part.y) != n:
        raise ValueError(
            f"partition {part.number}, from 0: y has {len(part.y)} rows, but X has {n}: give one "
            "target for each row."
        )
    if not n:
        return None
    w = part.weights
    if w is None or not np.ndim(w):
        return None if w is not None and w == 0 else part
    w = np.asarray(w)
    if (w != 0).all():
        return replace(part, weights=w)
    rows = np.flatnonzero(w)
    if not len(rows):
        return None
    X = part.X if part.X is None else take_rows(part.X, rows)
    return replace(
        part, X=X, y=None if part.y is None else np.asarray(part.y)[rows], weights=w[rows]
    )
