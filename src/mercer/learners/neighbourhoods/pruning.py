"""Which columns of a table matter to a learnt neighbourhood.

A first network reads all columns. How much its held-out loss rises when a column's values are
permuted says how much the column matters. New networks on the best 4, 8, 16, ... columns are then
judged by the same held-out rows: a threshold alone may keep far too few.
"""

from __future__ import annotations

import numpy as np

from mercer.solvers.neighbourhoods import (
    NeighbourhoodResult,
    TrainingRows,
    held_out_loss,
    smooth,
)

ROWS, CANDIDATES = 1000, 4000  # held-out rows that are permuted, and rows that vote on them
LEAST_SHARE, LEAST_RISE = 0.003, 1e-4  # of the largest rise, and of any, to matter


def rises(
    result: NeighbourhoodResult,
    rows: TrainingRows,
    held: TrainingRows,
    sources: list,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> dict[object, float]:
    """How much the held-out loss rises when each column of the table is permuted."""
    network, taus = result.network, (result.temperature,)
    some = rows.take(rng.permutation(rows.count)[:CANDIDATES])
    held = held.take(np.arange(min(held.count, ROWS)))
    Z = network.embed(some.numbers, some.extra, n_jobs)
    order = rng.permutation(held.count)
    p = held.numbers.shape[1]

    def loss(numbers: np.ndarray, extra: np.ndarray) -> float:
        queries = network.embed(numbers, extra, n_jobs)
        values = smooth(queries, Z, some.targets, some.weights, taus, n_jobs)[0]
        return held_out_loss(values, held.targets, held.weights, held.classes)

    least, found = loss(held.numbers, held.extra), {}
    for name in dict.fromkeys(sources):
        numbers, extra = held.numbers.copy(), held.extra.copy()
        own = [j for j, source in enumerate(sources) if source == name]
        for j in own:
            side, k = (numbers, j) if j < p else (extra, j - p)
            side[:, k] = side[order, k]
        found[name] = loss(numbers, extra) - least
    return found


def ladder(risen: dict[object, float]) -> list[list]:
    """Sets of columns to try: the best 4, 8, 16, ..., and those that seem to matter."""
    order = sorted(risen, key=lambda name: -risen[name])
    least = max(LEAST_SHARE * max(risen.values()), LEAST_RISE)
    sizes = {sum(rise > least for rise in risen.values())}
    size = 4
    while size < len(order):
        sizes.add(size)
        size *= 2
    return [order[:size] for size in sorted(sizes - {0, len(order)})]
