"""The same machine without bins: kernels between all different numbers, by two recursions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer import _native
from mercer.solvers.result import Reason, Result
from mercer.threads import raise_if_stopped


@dataclass(frozen=True)
class ExactSum:
    r"""f = Σ f_j with (Σ K̃_j / λ_j + W⁻¹) a = y and :math:`f_j = \tilde K_j a / λ_j`.

    Parameters
    ----------
    gamma : float > 0
        γ of exp(-γ |t - t'|) between positions.
    tol : float
        Relative residual of the conjugate gradients.
    max_iter : int

    Notes
    -----
    A product with K of one column takes two recursions over its numbers in order, O(n).
    """

    gamma: float
    tol: float = 1e-8
    max_iter: int = 2000

    def solve(
        self,
        codes: Sequence[np.ndarray],
        positions: Sequence[np.ndarray],
        y: np.ndarray,
        weights: np.ndarray,
        penalties: np.ndarray,
    ) -> tuple[list[np.ndarray], Result]:
        """The values of each function at the levels of its column, for targets of mean 0.

        Positions (levels,) ascend; those of levels that are like no other are NaN, and stand last.
        """
        columns = [
            _Column(row, t, weights, self.gamma) for row, t in zip(codes, positions, strict=True)
        ]
        roots = np.sqrt(weights)

        def product(z: np.ndarray) -> np.ndarray:
            out = np.zeros_like(z)
            for column, penalty in zip(columns, penalties):
                out += column.values(roots * z)[column.codes] / penalty
            return z + roots * out

        b = roots * y
        z, r, p, steps = np.zeros_like(b), b, b, 0
        size = float(np.linalg.norm(b)) or 1.0
        while np.linalg.norm(r) > self.tol * size and steps < self.max_iter:
            raise_if_stopped()
            q = product(p)
            pace = float(r @ r) / float(p @ q)
            z, before, r = z + pace * p, r, r - pace * q
            p, steps = r + float(r @ r) / float(before @ before) * p, steps + 1
        gap = float(np.linalg.norm(b - product(z)) / size)
        done = gap <= 10 * self.tol
        result = Result(
            roots * z, gap=gap, iterations=steps, converged=done, solver="ExactSum",
            reason=Reason.CONVERGED if done else Reason.LIMIT, certificate="relative residual",
        )  # fmt: skip
        return [c.values(roots * z) / penalty for c, penalty in zip(columns, penalties)], result


class _Column:
    """Products with the centred kernel of one column."""

    def __init__(self, codes: np.ndarray, positions: np.ndarray, weights: np.ndarray, gamma: float):
        self.codes = codes
        self.size, self.placed = len(positions), int((~np.isnan(positions)).sum())
        self.decay = np.exp(-gamma * np.diff(positions[: self.placed]))
        self.shares = np.bincount(codes, weights, self.size) / weights.sum()

    def values(self, v: np.ndarray) -> np.ndarray:
        """H K Hᵀ Zᵀ v at each level, where Zᵀ sums rows by level."""
        by_level = np.bincount(self.codes, v, self.size)
        by_level -= self.shares * by_level.sum()
        out = by_level.copy()
        if self.placed:
            product = np.empty(self.placed)
            _native.laplacian_product(self.decay, by_level[: self.placed], product)
            out[: self.placed] = product
        return out - self.shares @ out
