r"""Crammer and Singer's machine for several classes: one loss over all classes.

Minimise :math:`\tfrac12 \sum_m |w_m|^2 + \sum_i C_i \max_m (w_m x_i - w_{y_i} x_i + [m \ne y_i])`.
The dual has a block of one variable per class for each row. The solver
`mercer.solvers.linear.linear_svm.LinearSolver` uses `ClassRows` and `ClassDual` in the same way as
`LinearRows` and `LinearDual`; the vectors of all classes come one after the other.
"""

from __future__ import annotations

import numpy as np

from mercer import _native
from mercer.solvers.linear.linear_dual import ActiveSet
from mercer.solvers.linear.linear_rows import FACTORED, LinearRows, conjugate_gradients, solved

CHEAP = 200  # up to this order it is cheap to set up a Newton system, one product per class pair


class ClassRows:
    """The rows of X for each of k classes: w is (k (d + 1),) and f is (k n,)."""

    def __init__(self, X: LinearRows, classes: int):
        self.X, self.classes = X, classes
        self.shape = classes * X.shape[0], classes * X.shape[1]
        self.stored = classes * X.stored
        self.cheap = self.shape[1] <= CHEAP
        self.small = self.cheap and X.small

    def outputs(self, w: np.ndarray) -> np.ndarray:
        return np.concatenate([self.X.outputs(v) for v in w.reshape(self.classes, -1)])

    def combined(self, beta: np.ndarray) -> np.ndarray:
        return np.concatenate([self.X.combined(c) for c in beta.reshape(self.classes, -1)])

    def system(self) -> ClassRows:
        """The object with the method ``inverse_times``."""
        return self

    def inverse_times(self, slope: tuple[np.ndarray, np.ndarray], g: np.ndarray) -> np.ndarray:
        """(I + Xᵀ J X)⁻¹ g, where J is step (I - 11ᵀ / count) between the free classes of a row."""
        free, step = slope
        share = step / np.maximum(free.sum(axis=0), 1)
        if self.shape[1] <= FACTORED:
            return solved(self._system(free, step, share), g)

        def product(p: np.ndarray) -> np.ndarray:
            F = free * self.outputs(p).reshape(free.shape)
            return p + self.combined(np.ravel(step * F - free * (share * F.sum(axis=0))))

        return conjugate_gradients(product, g, np.ones_like(g))

    def _system(self, free: np.ndarray, step: np.ndarray, share: np.ndarray) -> np.ndarray:
        """I + Xᵀ J X; only the blocks on and below the diagonal."""
        width = self.X.shape[1]
        H = np.eye(self.shape[1])
        for m in range(self.classes):
            rows = slice(m * width, (m + 1) * width)
            H[rows, rows] += self.X.gram(free[m] * (step - share))
            for l in range(m):
                part = self.X.gram(free[m] * free[l] * share)
                H[rows, l * width : (l + 1) * width] -= np.tril(part) + np.tril(part, -1).T
        return H


class ClassDual:
    """Minimise ½ |Xᵀ α|² + Σ [m ≠ y_i] α_im over Σ_m α_im = 0, α_im <= C_i [m = y_i].

    Parameters
    ----------
    codes : ndarray of shape (n,)
        y as numbers of classes, from 0.
    C : ndarray of shape (n,), > 0
    classes : int
        The number of classes, k.
    """

    squared = False
    unit = 1.0

    def __init__(self, codes: np.ndarray, C: np.ndarray, classes: int):
        self.codes, self.C = np.ascontiguousarray(codes, dtype=np.int64), C
        self.own = np.arange(classes)[:, None] == codes
        self.wrong = np.where(self.own, 0.0, 1.0)
        self.bound = np.where(self.own, C, 0.0)

    def losses(self, f: np.ndarray) -> np.ndarray:
        F = f.reshape(self.own.shape)
        return self.C * (np.max(F + self.wrong, axis=0) - F[self.codes, np.arange(len(self.C))])

    def conjugates(self, beta: np.ndarray) -> np.ndarray:
        return self.wrong.ravel() * beta

    def rounded(self, beta: np.ndarray, width: float) -> RoundedClasses:
        return RoundedClasses(self, beta.reshape(self.own.shape), width / self.C)

    def descent(self, X: ClassRows, seed: int) -> ClassDescent:
        return ClassDescent(X, self, seed)


class RoundedClasses:
    """For each row, the α' that minimise (f + [m ≠ y]) α' + pull |α' - α|² / 2 in their bounds."""

    def __init__(self, dual: ClassDual, alpha: np.ndarray, pull: np.ndarray):
        self.shift, self.pull = dual.wrong - pull * alpha, pull
        self.bound = dual.bound

    def nearest(self, f: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """α' and its slope, in the form that `ClassRows.inverse_times` needs.

        α'_m = min(bound_m, (b - B_m) / pull), with the b that makes the sum 0. Newton's method
        finds b from below; each step has fewer free classes.
        """
        B = f.reshape(self.bound.shape) + self.shift
        room = self.pull * self.bound
        free = np.ones(B.shape, bool)
        for _ in range(len(B)):
            count = np.maximum(free.sum(axis=0), 1)
            b = np.sum(np.where(free, B, -room), axis=0) / count
            still = free & (b - B < room)
            if (still == free).all():
                break
            free = still
        near = np.where(free, (b - B) / self.pull, self.bound)
        return near.ravel(), (free, 1 / self.pull)

    def along(self, f: np.ndarray, change: np.ndarray, size: float, near: np.ndarray) -> float:
        return float(change @ (self.nearest(f + size * change)[0] - near))


class ClassDescent:
    """Epochs of coordinate descent over the rows; a step changes all classes of a row.

    Keerthi et al., "A Sequential Dual Method for Large Scale Multi-class Linear SVMs", KDD 2008.
    """

    unit = 1.0

    def __init__(self, X: ClassRows, dual: ClassDual, seed: int):
        self.X, self.dual, self.squares = X.X, dual, X.X.squares()
        self.active = ActiveSet(len(dual.C), seed)
        self._alpha = np.zeros((len(dual.C), X.classes))

    def run(self, epochs: int, within: float, w: np.ndarray) -> int:
        classes = self._alpha.shape[1]
        W = np.ascontiguousarray(w.reshape(classes, -1).T)
        done = _native.linear_class_epochs(
            *self.X.arrays, self.dual.codes, self.dual.C, self.squares, W, self._alpha,
            *self.active.arrays, epochs, within,
        )  # fmt: skip
        w[:] = W.T.ravel()
        return done

    @property
    def beta(self) -> np.ndarray:
        return self._alpha.T.ravel()
