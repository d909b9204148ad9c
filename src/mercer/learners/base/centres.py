"""Rows that stand for others: centres of low-rank learners, and different rows in random order.

Rows of centres may come in chunks or in parts. Among `different_rows` a row's place is a hash of
its numbers, its target and the seed. Equal rows have equal places, so that a row given twice is the
same as a row of weight 2, and the result does not depend on the order of the rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state

from mercer.distances import float_range
from mercer.estimator import Seed
from mercer.gram import LowRankGram, factor_rows
from mercer.learners.base.kernel_learner import KernelLearner
from mercer.learners.base.parameters import Limits
from mercer.learners.base.training import Training, encode_like_fitted
from mercer.samples import Samples, SamplesLike, check_count, mixed
from mercer.streams import Chunk, Chunks, Drawn, IncrementalFit, draw_numbers, draw_rows
from mercer.threads import ordered_map, raise_if_stopped

FEWEST, DRAWN = 20_000, 10  # rows among which centres are chosen: so many, or so many for each
STRIP = 2**22  # numbers of K between rows and centres at a time


def rows_for_centres(learner: KernelLearner, limits: Limits) -> int:
    """Among how many rows centres are chosen, that the memory has room for."""
    rank = learner.rank or limits.rank
    most = factor_rows(rank, learner.place, 8)
    if most < rank and learner.rank is not None:
        what = f"more than {most} rows of a factor of rank {rank}, of which {rank} are needed"
        learner.place.refuse(2 * rank**2 * 8, what, ", or a smaller rank=")
    return max(1, min(max(FEWEST, DRAWN * rank), most))


class CentreFit(IncrementalFit):
    """Abstract: a fit to what centres make of all rows, F = K L⁻ᵀ for K between rows and centres.

    Attributes
    ----------
    limits : Limits
    solver_parameter : str
        The parameter of the learner that may ask for other fits.
    L : ndarray of shape (rank, rank)
        K between the centres is L Lᵀ.
    products : bool
        Whether sums are those of K itself, from which those of F are made at the end.
    """

    limits: ClassVar[Limits]
    solver_parameter: ClassVar[str] = "solver"
    L: np.ndarray
    products: bool = False

    def __init__(self, learner: Any):
        super().__init__(learner)
        check_count("rank", learner.rank)
        name = self.solver_parameter
        if getattr(learner, name) not in ("auto", "low_rank"):
            raise ValueError(
                f"{name}={getattr(learner, name)!r}: a fit in chunks is of low rank: give "
                f'{name}="low_rank".'
            )

    def draw(self, chunks: Chunks, see: Callable[[Chunk], None] | None = None) -> Drawn:
        """Rows of all the stream, among which centres are chosen; ``see`` looks at each chunk."""
        name = type(self.learner).__name__
        chunks.refuse_once(
            f"{name}.fit_chunks draws centres from all rows, and then reads the rows"
        )
        random = check_random_state(self.learner.random_state)
        return draw_rows(chunks, rows_for_centres(self.learner, self.limits), random, see)

    def numbers(self, rows: int) -> np.ndarray:
        """The numbers of those among so many rows: as a stream draws them."""
        random = check_random_state(self.learner.random_state)
        return draw_numbers(rows, rows_for_centres(self.learner, self.limits), random)

    def choose(self, training: Training, rows: np.ndarray, total: int | None = None) -> LowRankGram:
        """Choose centres among drawn rows, whose numbers are ``rows``, and keep them on the
        learner; ``total`` is how many rows a stream has.

        Returns K between the drawn rows, of which L Lᵀ is K between the centres.
        """
        learner = self.learner
        low = learner.make_low_rank_gram(training.X, self.limits.rank)
        learner.keep_support(training.X[low.centres])
        learner.centres_ = rows[training.rows[low.centres]]
        self.L, self.width = low.L, low.rank
        if total is not None:
            learner.gram_ = f"low rank, {total:,} rows in chunks, rank {low.rank}"
        return low

    @abstractmethod
    def beside(
        self, X: Samples, y: ArrayLike, weights: ArrayLike | None
    ) -> tuple[np.ndarray | None, ...]:
        """What a total adds beside F: arrays with an entry for each row of encoded samples."""

    def add(
        self, total: Any, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> None:
        learner = self.learner
        encoded = float_range(encode_like_fitted(learner, learner.kernel_, X), learner.X_fit_)
        beside = self.beside(encoded, y, sample_weight)
        K = learner.gram_with_support(encoded)
        n, m = K.shape
        step = max(1, STRIP // m)

        def strip(s: int) -> tuple[slice, np.ndarray]:
            raise_if_stopped()
            rows = slice(s, min(s + step, n))
            C = K.block(rows, slice(None))
            if self.products:
                return rows, C
            return rows, solve_triangular(self.L, C.T, lower=True, check_finite=False).T

        for rows, F in ordered_map(strip, range(0, n, step), K.n_jobs):
            total.add(F, *(None if each is None else each[rows] for each in beside))


U64 = np.uint64


def different_rows(
    X: Any, y: np.ndarray, weights: np.ndarray | None, random_state: Seed = None
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


def row_copies(X: Any, y: np.ndarray, random_state: Seed = None) -> tuple[np.ndarray, np.ndarray]:
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


def _unit(largest: float) -> Any:
    """The power of two that brings the largest number of a column near 1."""
    return np.ldexp(1.0, np.clip(-np.frexp(np.float64(largest))[1], -1000, 1000))


def _hashed(values: np.ndarray, seed: Any) -> np.ndarray:
    """64 random bits for each number and seed; 0 for 0. (Steele et al., "Fast splittable
    pseudorandom number generators", OOPSLA 2014, fig. 14.)"""
    bits = (np.asarray(values, np.float64) + 0.0).view(U64)  # -0 is 0
    return np.where(bits == 0, U64(0), mixed(bits ^ seed))
