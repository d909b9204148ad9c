"""Cross-validated ridge regression on a low-rank Gram matrix, without a fit from scratch per fold.

With K ≈ F Fᵀ the normal matrix of a fold's training rows is FᵀF less that of the fold's own rows,
so that one pass over F serves all folds, and one eigendecomposition of m x m a fold serves every
penalty and every target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.linalg

from mercer.gram import LowRankGram
from mercer.solvers.ridge.ridge_system import check_penalties


class RidgeFolds:
    """Held-out predictions of f(x) = k(x)ᵀ a + b, where b is the mean of the training targets.

    Parameters
    ----------
    K : LowRankGram of shape (n, n) and rank m
        Its centres stay as they are, whichever fold they are from: they are chosen without targets.
    folds : int array of shape (n,)
        Row i is left out by the fit of fold ``folds[i]`` and by no other; -1 by none.
    weights : ndarray of shape (n,), optional
        Weights of the rows, in fits and in errors.

    Notes
    -----
    O(n m²) operations for all folds and O(m³) for each; O(m²) memory for each. `leave_one_out`
    takes O(n m²) for each fold.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> from mercer.gram.low_rank import pivoted_cholesky
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> K = pivoted_cholesky(DenseGram(X @ X.T, symmetric=True), rank=3, random_state=0)
    >>> RidgeFolds(K, np.arange(3)).predict(y, [0.5] * 3).round(3)
    array([1.5  , 1.444, 1.167])
    """

    def __init__(self, K: LowRankGram, folds: np.ndarray, weights: np.ndarray | None = None):
        self.K = K
        self.folds = np.asarray(folds)
        self.weights = np.ones(len(self.folds)) if weights is None else weights
        self.count = int(self.folds.max(initial=-1)) + 1
        total = np.zeros((K.rank, K.rank))
        own = [np.zeros((K.rank, K.rank)) for _ in range(self.count)]
        for rows, F in K.strips():
            within, roots = self.folds[rows], np.sqrt(self.weights[rows]).astype(F.dtype)
            for f in (-1, *range(self.count)):
                part = F[within == f] * roots[within == f, None]
                A = part.T @ part
                total += A
                if f >= 0:
                    own[f] += A
        self.spectra = []
        for A in own:
            eigenvalues, Q = scipy.linalg.eigh(total - A, check_finite=False, driver="evd")
            self.spectra.append((np.maximum(eigenvalues, 0), Q))

    def leave_one_out(self, y: np.ndarray, penalties: np.ndarray) -> Iterator[np.ndarray]:
        """For each fold, the prediction of each of its training rows by its fit without that row.

        A penalty that they choose has not seen the fold's own targets, which the errors of other
        folds would show to it. ``penalties`` has the shape (folds, penalties) and what is yielded
        (penalties, \\*y.shape), NaN for the fold's own rows. As in
        `LowRankFactor.leave_one_out`, centres and b stay as they are. O(n m²) for each fold.
        """
        penalties = np.stack([check_penalties(some) for some in penalties])
        Y = np.asarray(y, dtype=np.float64).reshape(self.K.shape[0], -1)
        dtype = self.K.dtype
        for f, ((mu, Q), (c, b)) in enumerate(zip(self.spectra, self._rotated(Y))):
            inverses = self._inverse(mu, penalties[f])  # (m, penalties)
            beta = (c[:, None] * inverses[:, :, None]).reshape(len(c), -1).astype(dtype)
            turn, inverses = Q.astype(dtype), inverses.astype(dtype)
            out = np.full((penalties.shape[1], *Y.shape), np.nan)
            for rows, F in self.K.strips():
                mine = np.flatnonzero(self.folds[rows] != f)
                T = F[mine] @ turn
                outputs = (T @ beta).astype(np.float64).reshape(len(mine), *out.shape[::2])
                np.square(T, out=T)
                h = self.weights[rows][mine, None] * (T @ inverses).astype(np.float64)
                left = np.maximum(1 - h, np.finfo(dtype).eps)[:, :, None]
                gaps = (Y[rows][mine] - b)[:, None]
                out[:, rows.start + mine] = b + ((outputs - h[:, :, None] * gaps) / left).transpose(
                    1, 0, 2
                )
            yield out.reshape(-1, *np.shape(y))

    def predict(self, y: np.ndarray, penalties: Sequence[float] | np.ndarray) -> np.ndarray:
        """The prediction of each row by the fit that left it out, NaN for rows that none did.

        ``penalties`` holds a λ for each fold; the shape is that of y.
        """
        penalties = check_penalties(penalties)
        Y = np.asarray(y, dtype=np.float64).reshape(self.K.shape[0], -1)
        fits = []
        for (mu, Q), (c, b), penalty in zip(self.spectra, self._rotated(Y), penalties):
            fits.append((Q @ (c * self._inverse(mu, penalty)[:, None]), b))
        out = np.full(Y.shape, np.nan)
        for rows, F in self.K.strips():
            within = self.folds[rows]
            for f, (beta, b) in enumerate(fits):
                mine = np.flatnonzero(within == f)
                out[rows.start + mine] = F[mine] @ beta + b
        return out.reshape(np.shape(y))

    def _rotated(self, Y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each fold Qᵀ Fᵀ (Y - b) over its training rows, and b."""
        n, m, outputs = len(Y), self.K.rank, Y.shape[1]
        with_one = np.column_stack([Y, np.ones(n)]) * self.weights[:, None]
        parts = np.zeros((self.count + 1, m, outputs + 1))  # the last is that of -1
        for rows, F in self.K.strips():
            within = self.folds[rows]
            for f in range(-1, self.count):
                mine = within == f
                parts[f] += F[mine].T @ with_one[rows][mine].astype(F.dtype)
        out = []
        for f, (_, Q) in enumerate(self.spectra):
            others = self.folds != f
            b = np.average(Y[others], axis=0, weights=self.weights[others])
            # summed anew: the total less the fold's part would hold a rounding of its targets
            B = np.delete(parts, f, axis=0).sum(axis=0)
            out.append((Q.T @ (B[:, :-1] - B[:, -1:] * b), b))
        return out

    def _inverse(self, mu: np.ndarray, penalty: float | np.ndarray) -> np.ndarray:
        """1 / (μ + λ), and 0 where that is rounding: shape (m,) or (m, penalties)."""
        shifted = mu.reshape(-1, *[1] * np.ndim(penalty)) + penalty
        floor = len(mu) * np.finfo(np.float64).eps * mu.max(initial=0)
        return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=shifted > floor)
