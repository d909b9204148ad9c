r"""Means and local lines from sums over windows, and how much noise of the targets changes them.

A `Smoother` says which columns V the sums :math:`S = \sum_i K_i V_i` need, and turns the sums
around a point into the value there. For a mean these are the weights w and w y. A local line needs
the moments of the rows, too: with x̄ and ȳ the means over the window, and C and c the covariances,
it is :math:`\bar y + (u - \bar x)^\top C^{-1} c` at u.
"""

from __future__ import annotations

import numpy as np

from mercer.persistence import fields

#: of C, in units of its mean diagonal and of the variance of all rows: below, a direction has no
#: rows, and the line is level along it
SMALLEST, FLOOR = 1e-8, 1e-9


@fields()
class Smoother:
    """Means over windows, or local lines.

    Parameters
    ----------
    y : ndarray of shape (n, t)
    w : ndarray of shape (n,)
    rows : ndarray of shape (n, d), optional
        Coordinates of the rows, for local lines.
    """

    t: int
    d: int
    V: np.ndarray
    Q: np.ndarray
    middle: np.ndarray
    origin: np.ndarray
    scale: np.ndarray
    upper: tuple

    def __init__(self, y: np.ndarray, w: np.ndarray, rows: np.ndarray | None = None):
        self.t, self.d = y.shape[1], 0 if rows is None else rows.shape[1]
        # in these units sums of squares lose few digits
        self.middle = np.average(y, axis=0, weights=w)
        y = y - self.middle
        self.V, self.Q = np.column_stack([w, w[:, None] * y]), w[:, None]
        if rows is not None:
            self.origin = np.average(rows, axis=0, weights=w)
            spread = np.sqrt(np.average((rows - self.origin) ** 2, axis=0, weights=w))
            self.scale = np.where(spread > 0, spread, 1)
            x = self._scaled(rows)
            self.upper = np.triu_indices(self.d)
            squares = x[:, self.upper[0]] * x[:, self.upper[1]]
            products = (x[:, :, None] * y[:, None]).reshape(len(x), -1)
            wide = w[:, None]
            self.V = np.hstack([self.V, wide * x, wide * squares, wide * products])
            self.Q = np.hstack([wide, wide * x, wide * squares])

    def values(self, sums: np.ndarray, points: np.ndarray | None = None) -> np.ndarray:
        """The value at each point, (n, t), from the sums around it, (n, c), up to a factor."""
        total = sums[:, 0]
        mean = sums[:, 1 : 1 + self.t] / total[:, None]
        if points is None:
            return mean + self.middle
        x, slopes = self._pull(sums, points)
        products = sums[:, -self.d * self.t :] / total[:, None]
        c = products.reshape(len(sums), self.d, self.t) - x[:, :, None] * mean[:, None]
        return mean + np.einsum("nd,ndt->nt", slopes, c) + self.middle

    def squared_weights(
        self, sums: np.ndarray, squares: np.ndarray, points: np.ndarray | None = None
    ) -> np.ndarray:
        """Σ l², (n,), for the value Σ l_i y_i at each point; from sums of K and of K²."""
        total = sums[:, 0]
        if points is None:
            return squares[:, 0] / total**2
        x, slopes = self._pull(sums, points)
        # l_i = K_i w_i (1 + slopesᵀ (x_i - x̄)) / total
        level = 1 - np.einsum("nd,nd->n", slopes, x)
        first = np.einsum("nd,nd->n", slopes, squares[:, 1 : 1 + self.d])
        second = self._matrices(squares[:, 1 + self.d :])
        quadratic = np.einsum("nd,nde,ne->n", slopes, second, slopes)
        return np.maximum(level**2 * squares[:, 0] + 2 * level * first + quadratic, 0) / total**2

    def _pull(self, sums: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x̄, and C⁻¹ (u - x̄); both (n, d)."""
        start, total = 1 + self.t, sums[:, :1]
        x = sums[:, start : start + self.d] / total
        end = start + self.d + len(self.upper[0])
        C = self._matrices(sums[:, start + self.d : end] / total) - x[:, :, None] * x[:, None]
        trace = np.einsum("ndd->n", C) / self.d
        ridge = SMALLEST * np.maximum(trace, 0) + FLOOR
        C[:, np.arange(self.d), np.arange(self.d)] += ridge[:, None]
        gap = self._scaled(points) - x
        return x, np.linalg.solve(C, gap[:, :, None])[:, :, 0]

    def _matrices(self, upper: np.ndarray) -> np.ndarray:
        """Symmetric matrices, (n, d, d), from their upper triangles."""
        C = np.empty((len(upper), self.d, self.d))
        C[:, self.upper[0], self.upper[1]] = upper
        C[:, self.upper[1], self.upper[0]] = upper
        return C

    def _scaled(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.origin) / self.scale
