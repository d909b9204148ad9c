"""The different rows of a sample in random order, which copies and the order of rows do not change.

A row's place is a hash of its numbers, its target and the seed. Equal rows have equal places, so
that a row given twice is the same as a row of weight 2, and the result does not depend on the
order of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

U64 = np.uint64


def different_rows(
    X: Any, y: np.ndarray, weights: np.ndarray | None, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the different rows in random order, and the weights of all their copies.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    y : ndarray of shape (n,) or (n, targets)
        Numbers. Rows with different targets are different rows.
    weights : ndarray of shape (n,) or None
    random_state : int, RandomState or None

    Notes
    -----
    O(n d + n log n) operations, and a few numbers for each row. Two rows
    that differ have the same place with a probability of 2⁻⁶⁴; then they count as copies.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [1.0]]), np.array([5.0, 6.0, 5.0])
    >>> rows, weights = different_rows(X, y, None, random_state=0)
    >>> sorted(zip(rows.tolist(), weights.tolist()))
    [(0, 2.0), (1, 1.0)]
    """
    rows, copies = row_copies(X, y, random_state)
    totals = np.bincount(copies, weights, minlength=len(rows)).astype(np.float64)
    return rows, totals


def row_copies(X: Any, y: np.ndarray, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the different rows in random order, and which of them each row is, (n,).

    The order does not change when a column is multiplied by a power of two.
    """
    n, d = X.shape
    targets = np.asarray(y, np.float64).reshape(n, -1)
    words = check_random_state(random_state).bytes(8 * (d + targets.shape[1]))
    seeds = np.frombuffer(words, U64)
    places = _sparse_places(X, seeds) if sp.issparse(X) else _places(X, seeds)
    places += _places(targets, seeds[d:])
    _, rows, copies = np.unique(places, return_index=True, return_inverse=True)
    return rows, copies


def _places(X: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """The sum of the columns' hashes for each row, modulo 2⁶⁴."""
    places = np.zeros(len(X), U64)
    for column, seed in zip(X.T, seeds):
        places += _hashed(column * _unit(np.abs(column).max(initial=0)), seed)
    return places


def _sparse_places(X: Any, seeds: np.ndarray) -> np.ndarray:
    """The same as for the dense rows: zeros add nothing."""
    X = sp.csr_array(X)
    data = X.data * _unit(abs(X).max(axis=0).toarray().ravel())[X.indices]
    sums = np.concatenate([np.zeros(1, U64), np.cumsum(_hashed(data, seeds[X.indices]))])
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]


def _unit(largest: Any) -> Any:
    """The power of two that brings the largest number of a column near 1."""
    return np.ldexp(1.0, np.clip(-np.frexp(np.float64(largest))[1], -1000, 1000))


def _hashed(values: np.ndarray, seed: Any) -> np.ndarray:
    """64 random bits for each number and seed; 0 for 0. (Steele et al., "Fast splittable
    pseudorandom number generators", OOPSLA 2014, fig. 14.)"""
    bits = (np.asarray(values, np.float64) + 0.0).view(U64)  # -0 is 0
    z = bits ^ seed
    z = (z ^ (z >> U64(30))) * U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U64(27))) * U64(0x94D049BB133111EB)
    z ^= z >> U64(31)
    return np.where(bits == 0, U64(0), z)
