"""The choice of k and of a window's width by the leave-one-out error, from one search.

The nearest rows of each training row are found once, for the largest k. Each row is then left out
of its own neighbourhood, with all of its weight, and what smaller k would answer follows from the
first of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mercer.learners.neighbours.neighbour_targets import Classes, Numbers
from mercer.learners.neighbours.neighbour_weights import Neighbourhoods, Weighing
from mercer.threads import ordered_map

ALL = 25  # up to this many neighbours each number is tried, beyond it about 10% more each time
LEAST, MOST = 20, 200  # the largest number tried is 2 √n, but within these
WIDTHS = 12
STRIP = 1024  # rows whose answers are compared at a time, at most
SUMS = 2**18  # numbers of all sums of a strip, about


def some_neighbours(n: int) -> list[int]:
    """The numbers of neighbours to try, for n rows.

    Examples
    --------
    >>> some_neighbours(100)[-3:], some_neighbours(10_000)[24:28]
    ([18, 19, 20], [25, 28, 31, 35])
    """
    most = min(n - 1, int(np.clip(2 * np.sqrt(n), LEAST, MOST)))
    tried = list(range(1, min(most, ALL) + 1))
    while tried[-1] < most:
        tried.append(min(tried[-1] + max(1, -(-tried[-1] // 10)), most))
    return tried


def some_widths(distances: np.ndarray) -> list[float]:
    """Widths of a window to try, from half the usual distance of the nearest to the largest one.

    Parameters
    ----------
    distances : ndarray of shape (n, k)
        Distances from each row to its nearest rows, ascending.
    """
    positive = np.where(distances > 0, distances, np.inf).min(axis=1)
    positive = positive[np.isfinite(positive)].astype(np.float64)
    if not len(positive):  # all rows are equal
        return [1.0]
    return np.geomspace(np.median(positive) / 2, float(distances.max()), WIDTHS).tolist()


def left_out_scores(
    found: Neighbourhoods,
    targets: Classes | Numbers,
    weighings: Sequence[Weighing],
    numbers: Sequence[int],
    weights: np.ndarray | None,
    n_jobs: int | None,
) -> np.ndarray:
    """The leave-one-out score of each weighing for each of the ascending ``numbers`` of neighbours:
    (weighings, numbers).

    Parameters
    ----------
    found : Neighbourhoods
        Neighbours of the training rows; no row is its own neighbour.
    targets : Classes or Numbers
    weighings : sequence of Weighing
    numbers : sequence of int
    weights : ndarray of shape (n,) or None
        Weights of the rows that are left out.

    Notes
    -----
    Where the weight of a neighbour does not depend on k, a further neighbour costs O(n): its votes
    are added to those before. Otherwise the weights are computed again for each k. What is read of
    the neighbours' targets is read once for all weighings. Rows with equally far neighbours are
    taken together, so that what is beyond a window is left out of all of them.
    """
    n = len(found.distances)
    width = targets.columns(slice(0, 1)).shape[1]
    step = int(np.clip(SUMS // (len(numbers) * width), 1, STRIP))
    added = found.counts is None and weighings[0].independent
    order = np.argsort(found.distances[:, -1], kind="stable")

    def tallies(start: int) -> np.ndarray:
        rows = order[start : start + step]
        near = found.of(rows)
        near = near._replace(distances=near.distances.astype(np.float64))
        running = targets.running(near.indices, numbers) if added else None
        parts = []
        for weighing in weighings:
            sums = _sums(near, targets, running, weighing, numbers)
            if found.counts is not None:  # an index that is not exact may have found nobody
                sums = targets.filled(sums)
            parts.append(targets.tally(targets.answers(sums), rows, weights))
        return np.stack(parts)

    total = np.add.reduce(list(ordered_map(tallies, range(0, n, step), n_jobs)))
    return targets.scores(total, weights)


def _sums(
    found: Neighbourhoods,
    targets: Classes | Numbers,
    running: Callable[[np.ndarray], np.ndarray] | None,
    weighing: Weighing,
    numbers: Sequence[int],
) -> np.ndarray:
    """What the nearest sum up to, for each number of them: (n, numbers, columns)."""
    if running is None:
        each = []
        for k in numbers:
            W = weighing(found, k)
            each.append(targets.sums(found.indices[:, : W.shape[1]], W))
        return np.stack(each, axis=1)
    near = found._replace(distances=found.distances[:, : weighing.reach(found)])
    W = weighing(near, numbers[-1])
    total = running(W)
    first = (W > 0).argmax(axis=1)  # the place of the nearest whose weight is not 0
    if first.any():
        rows, late = np.nonzero(first[:, None] >= np.asarray(numbers))
        total[rows, late] = targets.sums(found.indices[rows, :1], np.ones((len(rows), 1)))
    return total
