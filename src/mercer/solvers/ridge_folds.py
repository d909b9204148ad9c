"""Cross-validated ridge regression on a low-rank Gram matrix, without a fit from scratch per fold.

With K ≈ F Fᵀ the normal matrix of a fold's training rows is FᵀF less that of the fold's own rows,
so that one pass over F serves all folds, and one eigendecomposition of m x m a fold serves every
penalty and every target.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from mercer.gram.low_rank import LowRankGram
from mercer.solvers.ridge_system import check_penalties

__all__ = ["RidgeFolds"]


class RidgeFolds:
    """Held-out predictions of f(x) = k(x)ᵀ a + b, where b is the mean of the training targets.

    Parameters
    ----------
    K : LowRankGram of shape (n, n) and rank m
        Its centres stay as they are, whichever fold they are from: they are chosen without targets.
    folds : int array of shape (n,)
        Row i is left out by the fit of fold ``folds[i]`` and by no other; -1 by none.
    weights : ndarray of shape (n,), optional
        Of the rows, in fits and errors.

    Notes
    -----
    O(n m²) operations for all folds and O(m³) for each; O(m²) memory for each.

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

    def errors(self, y: np.ndarray, penalties: Sequence[float] | np.ndarray) -> np.ndarray:
        """Sum of the squared errors of each fold's rows for each λ, (folds, penalties)."""
        penalties = check_penalties(penalties)
        Y = np.asarray(y, dtype=np.float64).reshape(self.K.shape[0], -1)
        # coefficients on F for every λ side by side: (m, penalties · outputs)
        fits = [
            (Q @ (c[:, None] * self._inverse(mu, penalties)[:, :, None]).reshape(len(c), -1), b)
            for (mu, Q), (c, b) in zip(self.spectra, self._rotated(Y))
        ]
        out = np.zeros((self.count, len(penalties)))
        for rows, F in self.K.strips():
            within = self.folds[rows]
            for f, (beta, b) in enumerate(fits):
                mine = within == f
                outputs = (F[mine] @ beta.astype(F.dtype)).reshape(-1, len(penalties), Y.shape[1])
                gaps = (Y[rows][mine] - b)[:, None] - outputs
                out[f] += self.weights[rows][mine] @ np.sum(gaps**2, axis=2)
        return out

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
        total = np.zeros((m, outputs + 1))
        own = np.zeros((self.count, m, outputs + 1))
        for rows, F in self.K.strips():
            within = self.folds[rows]
            for f in (-1, *range(self.count)):
                mine = within == f
                B = F[mine].T @ with_one[rows][mine].astype(F.dtype)
                total += B
                if f >= 0:
                    own[f] += B
        out = []
        for f, (_, Q) in enumerate(self.spectra):
            others = self.folds != f
            b = np.average(Y[others], axis=0, weights=self.weights[others])
            B = total - own[f]
            out.append((Q.T @ (B[:, :-1] - B[:, -1:] * b), b))
        return out

    def _inverse(self, mu: np.ndarray, penalty: float | np.ndarray) -> np.ndarray:
        """1 / (μ + λ), and 0 where that is rounding: shape (m,) or (m, penalties)."""
        shifted = mu.reshape(-1, *[1] * np.ndim(penalty)) + penalty
        floor = len(mu) * np.finfo(np.float64).eps * mu.max(initial=0)
        return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=shifted > floor)
