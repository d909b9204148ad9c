"""γ, the bandwidth of a kernel: a number, or a word such as "scale" for a number to be learnt.

`check_gamma` raises an error for other values, `bind_gamma` and `resolve_gamma` learn the number
from the training sample, and `bound_gamma` returns it when the kernel is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.distances import Distance, MappedMinkowski, safe_unit
from mercer.kernels.base import Kernel
from mercer.samples import is_number, largest_column, plain_rows

TINY = 1e-154  # the square of a smaller number is no usual float
LARGEST = float(np.finfo(np.float64).max)
SAMPLE = 1000  # rows that the median distance is that of


def check_gamma(gamma: Any, words: tuple[str, ...] = ("scale", "auto", "median")) -> None:
    """Raise an error if ``gamma`` is neither a positive number nor one of the words."""
    if isinstance(gamma, str) and gamma in words:
        return
    *first, last = (f'"{word}"' for word in words)
    known = f"give a number > 0, {', '.join(first)} or {last}."
    if isinstance(gamma, str):
        of_distances = " The median is one of distances: RBF has it." if gamma == "median" else ""
        raise ValueError(f"gamma={gamma!r}: {known}{of_distances}")
    if not is_number(gamma):
        raise TypeError(f"gamma={gamma!r}: {known}")
    if not 0 < gamma < np.inf:
        raise ValueError(f"gamma={gamma!r}: must be a finite number > 0.")


def resolve_gamma(gamma: float | str, X: Any, weights: np.ndarray | None = None) -> float | str:
    """γ for the training sample; a number is returned as it is.

    "scale" is 1 / (d · var(X)), or 1 if all values are equal; "auto" is 1 / d. Both are the same as
    in scikit-learn.
    """
    if gamma == "scale":
        if not (isinstance(X, np.ndarray) or sp.issparse(X)):
            raise TypeError(
                f'gamma="scale" is learnt from the variance of vectors, but X is {X!r}: give a '
                'number, or "median".'
            )
        return scale_gamma(X, weights)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    return gamma


def scale_gamma(X: Any, weights: np.ndarray | None = None) -> float:
    """1 / (d · var(X)) of vectors, dense or sparse, or 1 if all values are equal.

    A row of weight w counts as w rows.
    """
    return reciprocal(X.shape[1] * moments(X, weights)[1], "scale", X)


def moments(X: Any, weights: np.ndarray | None = None) -> tuple[float, float]:
    """Mean and variance of all values; a row of weight w counts as w rows."""
    with np.errstate(all="ignore"):
        if weights is not None:
            share = weights / weights.max()
            share /= share.sum() * X.shape[1]
            X = X.astype(np.float64, copy=False)
            mean = float((share @ X).sum())
            squares = X.multiply(X) if sp.issparse(X) else (X - mean) ** 2
            return mean, float((share @ squares).sum()) - (mean**2 if sp.issparse(X) else 0.0)
        if sp.issparse(X):
            X = X.astype(np.float64, copy=False)
            return float(X.mean()), float(X.multiply(X).mean() - X.mean() ** 2)
        X = plain_rows(X)
        return float(X.mean(dtype=np.float64)), float(X.var(dtype=np.float64))


def reciprocal(size: float, word: str, X: Any) -> float:
    """1 / size for a size that γ is learnt from, a finite number > 0; 1 if the size is 0."""
    if 0 < size < np.inf:
        return min(1.0 / size, LARGEST)
    j, largest = largest_column(X)
    if size <= 0 and not 0 < largest < TINY:  # a variance of sparse rows may round below 0
        return 1.0
    reaches, beyond = ("reaches only", "is 0 as") if size <= 0 else ("reaches", "does not fit into")
    raise ValueError(
        f"gamma={word!r} cannot be learnt: column {j} of X {reaches} {largest:.3g}, whose "
        f"square {beyond} a float. Divide it by its largest value "
        "(sklearn.preprocessing.MaxAbsScaler does it for all columns), or give gamma as a number."
    )


def bound_gamma(gamma: Any, kernel: Kernel) -> float:
    """γ as a number. It is an error if it has not been learnt yet."""
    if isinstance(gamma, str):
        raise ValueError(
            f"gamma={gamma!r} is learnt from the training sample: call "
            f"{type(kernel).__name__}(...).bind(X) first (learners call it), or give a number."
        )
    return float(gamma)


def narrowed(factor: float, dtype: np.dtype) -> Any:
    """A factor in the precision of what it multiplies, and finite: ∞ times 0 would be NaN."""
    most = np.finfo(dtype).max
    return np.clip(np.float64(factor), -most, most).astype(dtype)


def bind_gamma(kernel: Any, X: Any, power: float, weights: np.ndarray | None = None) -> Any:
    """A kernel exp(-γ ρ^power); if γ is a word, it is learnt from the training sample.

    Squares of tiny numbers have no digits left: the rows are then compared in another unit.
    """
    if kernel.gamma in ("scale", "median") and power == 2 and kernel.metric is None:
        unit = safe_unit(X)
        if unit != 1:
            bound = bind_gamma(kernel, X * unit, power, weights)
            return bound.copied(metric=MappedMinkowski(np.full(X.shape[1], unit)))
    gamma = resolve_gamma(kernel.gamma, X, weights)
    if gamma == "median":
        with np.errstate(over="ignore"):
            size = float(np.float64(median_distance(kernel.distance, X, weights)) ** power)
        gamma = reciprocal(size, "median", X)
    return kernel if gamma is kernel.gamma else kernel.copied(gamma=gamma)


def median_distance(distance: Distance, X: Any, weights: np.ndarray | None = None) -> float:
    """The median ρ of the pairs of at most 1,000 rows, spread evenly over X; 1 if it is 0.

    A row of weight w counts as w rows.
    """
    if weights is None:
        S = evenly(X, SAMPLE)
        D = distance.raw(S, S)[np.triu_indices(S.shape[0], 1)]
        median = float(np.median(D)) if D.size else 0.0
    else:
        rows, times = evenly_weighted(weights, SAMPLE)
        D = distance.raw(X[rows], X[rows])
        pairs = np.triu(np.outer(times, times), 1)
        # a row of weight w is w rows, which make w (w - 1) / 2 pairs
        np.fill_diagonal(pairs, np.maximum(times * (times - 1) / 2, 0))
        median = weighted_median(D.ravel(), pairs.ravel())
    return median ** (1 / distance.exponent) if median > 0 else 1.0


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The median of values of which each counts ``weights`` times; 0 if none counts."""
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    if not len(sums) or sums[-1] <= 0:
        return 0.0
    # of an even number of values it is the mean of the two in the middle
    places = [np.searchsorted(sums, sums[-1] / 2, side) for side in ("left", "right")]
    return float(values[order[places]].mean())


def evenly(X: Any, most: int) -> Any:
    """X, or ``most`` of its rows: the first, the last, and others at equal distances between.

    Rows that are sorted, by class say, are so all represented by their share.
    """
    n = X.shape[0]
    return X if n <= most else X[np.linspace(0, n - 1, most).round().astype(int)]


def evenly_weighted(weights: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of such rows where each counts ``weights`` times, and how often it is taken."""
    sums = np.cumsum(weights)
    if max(len(weights), sums[-1]) <= most:
        return np.arange(len(weights)), weights
    if sums[-1] > most:
        places = np.linspace(0, sums[-1] - 1, most).round()
    else:
        places = (np.arange(most) + 0.5) * sums[-1] / most
    rows = np.searchsorted(sums, places, "right")
    return np.unique(np.minimum(rows, len(weights) - 1), return_counts=True)
