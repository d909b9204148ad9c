"""Rows of samples for linear machines: their products, by native loops, in float64.

A row is dense or CSR, in float32 or float64, plus a constant column whose weight is the intercept.
Several threads work on blocks of rows. The blocks do not depend on the number of threads, so the
sums do not either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from mercer import _native
from mercer.threads import ordered_map

BLOCK = 500_000  # least stored values in a block for one thread
SMALL = 100_000  # problems with at most this many stored values are solved to the last digit
FACTORED = 1500  # order of the largest matrix that is factored in each step
SINGULAR = 1e-14  # curvature, beside that of the diagonal, that is not distinguished from 0
TALL = 8  # rows for each column, with fewer of which descent comes first
GRAM_ROWS = 1024  # rows of a dense block, which stays in cache while it is multiplied


class LinearRows:
    """The rows (x, bias) of X.

    Parameters
    ----------
    X : ndarray of shape (n, d), C order, or CSR of that shape with ascending columns
    bias : float
        The constant; 0 for no intercept.
    n_jobs : int or None

    Attributes
    ----------
    shape : (n, d + 1)
    cheap : bool
        Whether it is cheap to factor matrices of order d + 1.
    small : bool
        Whether all the work is cheap.
    wide : bool
        Whether a factorisation costs more than many epochs of descent, as d² n beside d n.
    arrays : tuple
        Arguments of the native loops: values, columns and starts (None if dense), and the bias.
    """

    def __init__(self, X: Any, bias: float, n_jobs: int | None = 1):
        self.X, self.bias, self.n_jobs = X, float(bias), n_jobs
        n, d = X.shape
        self.shape = n, d + 1
        self.sparse = sp.issparse(X)
        self.cheap = d < FACTORED
        if self.sparse:
            if d >= 2**31:
                raise ValueError(
                    f"X has {d} columns, but a sparse X can have at most 2^31 - 1: remove or hash "
                    "columns."
                )
            self.arrays: tuple = (
                np.require(X.data, requirements="A"),
                X.indices.astype(np.int32, copy=False),
                X.indptr.astype(np.int64, copy=False),
                self.bias,
            )
        else:
            self.arrays = np.require(X, requirements=["C", "A"]).reshape(-1), None, None, self.bias
        self.stored = len(self.arrays[0])
        self.small = self.cheap and self.stored <= SMALL
        self.wide = not (self.sparse or self.small) and n < TALL * d
        blocks = max(1, min(n, self.stored // BLOCK))
        ends = np.linspace(0, n, blocks + 1).astype(int)
        self.blocks = [slice(a, b) for a, b in pairwise(ends)]

    def outputs(self, w: np.ndarray) -> np.ndarray:
        """X w, shape (n,)."""
        f = np.empty(self.shape[0])
        for _ in self._map(lambda rows: _native.linear_outputs(*self._of(rows), w, f[rows])):
            pass
        return f

    def combined(self, c: np.ndarray) -> np.ndarray:
        """Xᵀ c, shape (d + 1,); rows with c = 0 cost nothing."""

        def part(rows: slice) -> np.ndarray:
            w = np.zeros(self.shape[1])
            _native.linear_combine(*self._of(rows), c[rows], w)
            return w

        return sum(self._map(part), start=np.zeros(self.shape[1]))

    def squares(self) -> np.ndarray:
        """|x_i|², without the bias, shape (n,)."""
        out = np.empty(self.shape[0])
        _native.linear_squares(*self.arrays[:3], self.shape[1] - 1, out)
        return out

    def taken(self, rows: np.ndarray) -> Any:
        """Some rows (x, bias) as a float64 matrix."""
        A, bias = self.X[rows].astype(np.float64), np.full((len(rows), 1), self.bias)
        return sp.csr_array(sp.hstack([A, bias])) if self.sparse else np.hstack([A, bias])

    def gram(self, h: np.ndarray) -> np.ndarray:
        """Xᵀ diag(h) X, shape (d + 1, d + 1); only its lower triangle is valid."""
        H = np.zeros((self.shape[1],) * 2)
        if self.sparse:

            def part(rows: slice) -> np.ndarray:
                H = np.zeros((self.shape[1],) * 2)
                _native.linear_gram(*self._of(rows), h[rows], H)
                return H

            for P in self._map(part):
                H += P
            return H
        for sign in (1, -1):
            for P in self._dense_grams(np.maximum(sign * h, 0)):
                H += sign * P
        return H

    def _dense_grams(self, h: np.ndarray) -> Iterator[np.ndarray]:
        """Terms of Xᵀ diag(h) X for h >= 0, one for each block of rows."""
        used = np.flatnonzero(h)

        def part(s: int) -> np.ndarray:
            rows = used[s : s + GRAM_ROWS]
            scale = np.sqrt(h[rows])
            A = np.empty((len(rows), self.shape[1]))
            np.multiply(self.X[rows], scale[:, None], out=A[:, :-1])
            A[:, -1] = self.bias * scale
            return A.T @ A

        starts = range(0, len(used), GRAM_ROWS)
        return ordered_map(part, starts, self.n_jobs if len(starts) > 4 else 1)

    def system(self) -> NewtonSystem:
        return NewtonSystem(self)

    def _of(self, rows: slice) -> tuple:
        """The arrays of a block of rows."""
        values, columns, starts, bias = self.arrays
        if len(self.blocks) == 1:
            return self.arrays
        if starts is None:
            d = self.shape[1] - 1
            return values[rows.start * d : rows.stop * d], None, None, bias
        begin, end = starts[rows.start], starts[rows.stop]
        own = starts[rows.start : rows.stop + 1] - begin
        return values[begin:end], columns[begin:end], own, bias

    def _map(self, task):
        return ordered_map(task, self.blocks, self.n_jobs if len(self.blocks) > 1 else 1)


class NewtonSystem:
    """I + Xᵀ diag(h) X for a sequence of h, where most entries of h do not change."""

    def __init__(self, X: LinearRows):
        self.X = X
        self._h, self._H = np.zeros(X.shape[0]), np.zeros((0, 0))

    def gram(self, h: np.ndarray) -> np.ndarray:
        """A new array with Xᵀ diag(h) X; only its lower triangle is valid."""
        change = h - self._h
        if len(self._H) and 2 * np.count_nonzero(change) < np.count_nonzero(h):
            self._H += self.X.gram(change)
        else:
            self._H = self.X.gram(h)
        self._h = h
        return self._H.copy()

    def inverse_times(self, h: np.ndarray, g: np.ndarray) -> np.ndarray:
        """(I + Xᵀ diag(h) X)⁻¹ g, by the smaller of two systems or by conjugate gradients."""
        X = self.X
        if X.shape[1] <= FACTORED:
            H = self.gram(h)
            H[np.diag_indices_from(H)] += 1
            return solved(H, g)
        free = np.flatnonzero(h)
        A, h = X.taken(free), h[free]
        if len(free) <= FACTORED:  # Woodbury's identity
            K = A @ A.T
            K = K.toarray() if X.sparse else K
            K[np.diag_indices_from(K)] += 1 / h
            return g - A.T @ solved(K, A @ g)
        squares = A.multiply(A) if X.sparse else A**2
        return conjugate_gradients(lambda p: p + A.T @ (h * (A @ p)), g, 1 + squares.T @ h)


def solved(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """H⁻¹ g for positive definite H; reads only the lower triangle of H and overwrites H."""
    scale = 1 / np.sqrt(H.diagonal())  # so that the scales of columns do not matter
    H *= scale[:, None]
    H *= scale
    H[np.diag_indices_from(H)] += 1e-14
    return scale * cho_solve(cho_factor(H, lower=True, overwrite_a=True), scale * g)


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    g: np.ndarray,
    diagonal: np.ndarray,
    part: float = 1e-2,
    most: int = 500,
) -> np.ndarray:
    """H⁻¹ g with a residual of at most ``part`` times |g|, or as ``most`` steps leave it.

    The diagonal of H is the preconditioner.
    """
    x, r = np.zeros_like(g), g.copy()
    p = z = r / diagonal
    rho = float(r @ z)
    enough = part * np.linalg.norm(g)
    for _ in range(most):
        if np.linalg.norm(r) <= enough:
            break
        Hp = product(p)
        bend = float(p @ Hp)
        if bend <= SINGULAR * float(p @ (diagonal * p)):  # along p, H is 0 up to rounding
            break
        size = rho / bend
        x, r = x + size * p, r - size * Hp
        z = r / diagonal
        rho, last = float(r @ z), rho
        p = z + rho / last * p
    return x
