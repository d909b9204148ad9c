"""The choice of k and of a window's width by the leave-one-out error, from one search.

The nearest rows of each training row are found once, for the largest k. Each row is then left out
of its own neighbourhood, with all of its weight, and what smaller k would answer follows from the
first of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mercer.learners.neighbour_targets import Classes, Numbers
from mercer.learners.neighbour_weights import Neighbourhoods, Weighing
from mercer.threads import ordered_map

__all__ = ["left_out_scores", "some_neighbours", "some_widths"]

ALL = 25  # up to so many neighbours every number is tried, then about every tenth more
LEAST, MOST = 20, 200  # the largest number tried is 2 √n, but within these
WIDTHS = 12
STRIP = 1024  # rows whose answers are compared at a time


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
        Of the nearest rows of each row, ascending.
    """
    positive = np.where(distances > 0, distances, np.inf).min(axis=1)
    positive = positive[np.isfinite(positive)].astype(np.float64)
    if not len(positive):  # all rows are equal
        return [1.0]
    return np.geomspace(np.median(positive) / 2, float(distances.max()), WIDTHS).tolist()


def left_out_scores(
    found: Neighbourhoods,
    targets: Classes | Numbers,
    weighing: Weighing,
    numbers: Sequence[int],
    weights: np.ndarray | None,
    n_jobs: int | None,
) -> list[float]:
    """The leave-one-out score for each of the ascending ``numbers`` of neighbours.

    Parameters
    ----------
    found : Neighbourhoods
        Of the training rows, none of which is its own neighbour.
    targets : Classes or Numbers
    weighing : Weighing
    numbers : sequence of int
    weights : ndarray of shape (n,) or None
        Of the rows, as those that are left out.

    Notes
    -----
    Where the weight of a neighbour does not depend on k, a further neighbour costs O(n): its votes
    are added to those before. Otherwise the weights are computed again for each k.
    """
    n = len(found.distances)

    def answers(start: int) -> np.ndarray:
        rows = found.of(slice(start, start + STRIP))
        each = _sums(rows, targets, weighing, numbers)
        if found.counts is not None:  # an index that is not exact may have found nobody
            each = map(targets.filled, each)
        return np.stack([targets.answers(sums) for sums in each])

    strips = list(ordered_map(answers, range(0, n, STRIP), n_jobs))
    return [targets.score(answer, weights) for answer in np.concatenate(strips, axis=1)]


def _sums(
    found: Neighbourhoods, targets: Classes | Numbers, weighing: Weighing, numbers: Sequence[int]
) -> Iterator[np.ndarray]:
    """What the nearest sum up to, for each number of them."""
    if found.counts is not None or not weighing.independent:
        for k in numbers:
            W = weighing(found, k)
            yield targets.sums(found.indices[:, : W.shape[1]], W)
        return
    W = weighing(found, numbers[-1])
    nearest = targets.sums(found.indices[:, :1], np.ones((len(W), 1)))
    first = (W > 0).argmax(axis=1)[:, None]  # the place of the nearest whose weight is not 0
    total: Any = 0.0
    done = 0
    for k in numbers:
        total = total + targets.sums(found.indices[:, done:k], W[:, done:k])
        done = k
        yield np.where(first < k, total, nearest) if first.max() >= k else total
