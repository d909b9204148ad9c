"""Functions of the Laplacian of a graph, f(L), of which kernels between nodes are made.

For small graphs f(L) comes from the eigenvalues of L, and values are products of its eigenvectors.
For larger ones only f(L) V is computed, by a polynomial of L: no matrix of nodes by nodes is made,
and a product takes as many operations as the polynomial has terms, for each edge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from scipy.special import ive

from mercer.samples import scaled_rows

WIDTH = 2**21  # most numbers of the vectors that are multiplied at a time
MOST = 10_000  # terms of a polynomial
ROUNDS = 30  # of the iteration that bounds an eigenvalue
SAFE = 1 - 1e-9  # bounds are kept by this share of rounding


class LaplacianFunction(ABC):
    """f(L), a symmetric matrix (n, n)."""

    @abstractmethod
    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """f(L)[i][:, j] as a new array."""

    @abstractmethod
    def diag(self, i: np.ndarray) -> np.ndarray:
        """f(L)[i, i]."""


class SpectralFunction(LaplacianFunction):
    """f(L) = U diag(values) Uᵀ for the eigenvectors U of L."""

    def __init__(self, values: np.ndarray, vectors: np.ndarray):
        self.values, self.vectors = values, vectors

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return (self.vectors[i] * self.values) @ self.vectors[j].T

    def diag(self, i: np.ndarray) -> np.ndarray:
        return np.square(self.vectors[i]) @ self.values


class MultipliedFunction(LaplacianFunction):
    """f(L) of which products are computed. Abstract: define ``multiply``, ``size`` and ``cost``."""

    size: int
    cost: float  # operations of a product with one vector

    @abstractmethod
    def multiply(self, V: np.ndarray) -> np.ndarray:
        """f(L) V for V of shape (n, c), in V's dtype."""

    def columns(self, j: np.ndarray, dtype: DTypeLike = np.float64) -> np.ndarray:
        """f(L)[:, j]."""
        V = np.zeros((self.size, len(j)), dtype)
        V[j, np.arange(len(j))] = 1
        return self.multiply(V)

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        if len(i) < len(j):
            return np.ascontiguousarray(self.block(j, i).T)
        distinct, back = np.unique(j, return_inverse=True)
        step = strip_of(self.size)
        parts = [
            self.columns(distinct[s : s + step])[i] for s in range(0, max(len(distinct), 1), step)
        ]
        return np.concatenate(parts, axis=1)[:, back]

    def diag(self, i: np.ndarray) -> np.ndarray:
        found, step = np.empty(len(i)), strip_of(self.size)
        for s in range(0, len(i), step):
            some = i[s : s + step]
            found[s : s + step] = self.columns(some)[some, np.arange(len(some))]
        return found


class ChebyshevFunction(MultipliedFunction):
    r"""left (Σ_k c_k T_k(M)) left, for M = diag(own) + shared with eigenvalues in [-1, 1].

    Parameters
    ----------
    coefficients : ndarray
        c, of the Chebyshev polynomials T.
    own, shared : ndarray (n,), csr_array (n, n)
        The matrix M.
    left : ndarray (n,), optional
    """

    def __init__(self, coefficients: np.ndarray, own: np.ndarray, shared: Any, left: Any = None):
        self.coefficients, self.own, self.shared, self.left = coefficients, own, shared, left
        self.size = len(own)
        self.cost = 2.0 * max(len(coefficients), 1) * (shared.nnz + 2 * self.size)

    def multiply(self, V: np.ndarray) -> np.ndarray:
        dtype = V.dtype
        c = self.coefficients.astype(dtype)
        own, shared = self.own.astype(dtype)[:, None], self.shared.astype(dtype, copy=False)
        left = None if self.left is None else self.left.astype(dtype)[:, None]
        before = V if left is None else left * V
        total = c[0] * before
        if len(c) > 1:
            now = own * before + shared @ before
            total += c[1] * now
        for each in c[2:]:  # T_k+1 = 2 M T_k - T_k-1
            after = shared @ now
            after += own * now
            after *= 2
            after -= before
            before, now = now, after
            total += each * now
        return total if left is None else left * total


class PowerFunction(MultipliedFunction):
    """(diag(own) + shared)^p."""

    def __init__(self, own: np.ndarray, shared: Any, power: int):
        self.own, self.shared, self.power = own, shared, power
        self.size = len(own)
        self.cost = 2.0 * power * (shared.nnz + self.size)

    def multiply(self, V: np.ndarray) -> np.ndarray:
        own, shared = self.own.astype(V.dtype)[:, None], self.shared.astype(V.dtype, copy=False)
        for _ in range(self.power):
            V = own * V + shared @ V
        return V


def strip_of(size: int) -> int:
    """How many vectors of this size are multiplied at a time."""
    return int(np.clip(WIDTH // max(size, 1), 1, 256))


def exponential(
    beta: float, largest: float, own: np.ndarray, shared: sp.csr_array
) -> ChebyshevFunction:
    """exp(-β L) for L = diag(own) - shared with eigenvalues from 0 to ``largest``.

    With L = (1 + M) largest / 2 and z = β largest / 2 its coefficients are (-1)^k 2 I_k(z) exp(-z),
    that of k = 0 the half (Abramowitz & Stegun 1964, 9.6.34).
    """
    half = largest / SAFE / 2
    z = beta * half
    if not z > 0:
        return ChebyshevFunction(np.ones(1), np.zeros(len(own)), shared)
    c = 2 * ive(np.arange(MOST), z)
    c = c[: _terms(c, beta)]
    c[1::2] *= -1
    c[0] /= 2
    return ChebyshevFunction(c, own / half - 1, shared * (-1 / half))


def inverse(beta: float, own: np.ndarray, shared: sp.csr_array) -> ChebyshevFunction:
    """(I + β L)⁻¹ for the Laplacian L = diag(own) - shared of a graph.

    With d = 1 + β own it is d^-½ (I - S)⁻¹ d^-½, S = β d^-½ shared d^-½, and with s >= ρ(S) and
    r = (1 - √(1 - s²)) / s the coefficients of (1 - s t)⁻¹ are 2 r^k / √(1 - s²), that of k = 0 the
    half.
    """
    left = 1 / np.sqrt(1 + beta * own)
    S = scaled_rows(shared, left) * beta
    s = largest_at_most(np.zeros(len(own)), S)
    # the row sums of S, weighted by the roots of d, are 1 - 1 / d
    s = min(s, float((1 - left**2).max())) / SAFE
    if not s > 0:
        return ChebyshevFunction(np.ones(1), np.zeros(len(own)), S, left)
    root = np.sqrt(max((1 - s) * (1 + s), 1e-300))
    r = s / (1 + root)
    with np.errstate(over="ignore"):
        c = 2 / root * r ** np.arange(MOST, dtype=np.float64)
    c = c[: _terms(c, beta)]
    c[0] /= 2
    return ChebyshevFunction(c, np.zeros(len(own)), S * (1 / s), left)


def _terms(sizes: np.ndarray, beta: float) -> int:
    """The least number of terms from which on they are below the rounding unit of float64."""
    small = np.flatnonzero(sizes < np.finfo(np.float64).eps / 4)
    if not len(small):
        raise ValueError(
            f"beta={beta:g} is too large for this graph: products with the kernel would take more "
            f"than {MOST:,} steps along its edges. Give a smaller beta, or "
            'laplacian="normalised".'
        )
    return int(small[0])


def largest_at_most(own: np.ndarray, shared: sp.csr_array) -> float:
    """A bound of the largest eigenvalue of diag(own) + shared, neither of which is negative.

    For each x > 0 the largest (M x)_i / x_i is one (Collatz 1942); the power iteration comes near
    the eigenvalue. So the bound holds also where the iteration has not converged.
    """
    x, least = np.ones(len(own)), np.inf
    for _ in range(ROUNDS):
        y = own * x + shared @ x
        least = min(least, float((y / x).max()))
        x = y + 0.5 * least * x  # a shift, without which the sides of a bipartite graph take turns
        if not x.max() > 0:
            return 0.0
        # components of small eigenvalues stay above 0
        x = np.maximum(x / x.max(), 1e-100)
    return least
