"""Draw how the certificates of solvers fall with their iterations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.plots.displays.display import Display, drawable
from mercer.solvers import Result

LIMITS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class ConvergenceDisplay(Display):
    """Certificates (duality gaps, relative residuals) by the number of iterations, for one or more
    solvers of one problem.

    Parameters
    ----------
    results : dict of str to sequence of Result
        For each solver its results after ever more iterations.

    Attributes
    ----------
    curves : dict of str to ndarray of shape (2, results)
        Iterations and certificates.
    certificate : str
        What the certificates are.
    ax_, figure_, lines_
        The matplotlib objects that `plot` drew.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers import ConjugateGradientSolver
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> K = DenseGram(X @ X.T, symmetric=True)
    >>> display = ConvergenceDisplay.from_solvers(
    ...     {"plain": ConjugateGradientSolver(0.1, preconditioner=None)}, K, X[:, 0])
    >>> bool(display.curves["plain"][1, -1] < 1e-6)
    True
    """

    def __init__(self, results: Mapping[str, Sequence[Result]]):
        if not results or not all(len(each) for each in results.values()):
            raise ValueError("results has none: give at least one for each solver.")
        self.curves = {
            name: np.array(
                [[each.iterations for each in found], [float(each.gap) for each in found]]
            )
            for name, found in results.items()
        }
        said = {each.certificate for found in results.values() for each in found}
        self.certificate = said.pop() if len(said) == 1 else "certificate"

    @classmethod
    def from_solvers(
        cls,
        solvers: Mapping[str, Any],
        K: Any,
        y: Any,
        weights: Any = None,
        limits: Iterable[int] = LIMITS,
    ) -> ConvergenceDisplay:
        """Solve one problem with ever larger ``max_iter``, and keep each result.

        Every solver with a field ``max_iter`` will do. It begins anew for each limit, and no
        further limit is tried once it has converged.
        """
        y, found = drawable("y", y, 1, 2), {}
        if len(y) != K.shape[0]:
            raise ValueError(f"y has {len(y)} targets, but K has {K.shape[0]} rows: give one each.")
        for name, solver in solvers.items():
            if not hasattr(solver, "max_iter"):
                raise TypeError(f"{name}: {solver!r} has no max_iter: give an iterative solver.")
            found[name] = []
            for limit in limits:
                result = replace(solver, max_iter=limit).solve(K, y, weights)
                found[name].append(result)
                if result.converged:
                    break
        return cls(found)

    def plot(self, ax: Any = None, **kwargs: Any) -> ConvergenceDisplay:
        """Draw the curves. ``kwargs`` are passed to ``ax.semilogy``."""
        self._draw_on(ax)
        self.lines_ = []
        for name, (steps, gaps) in self.curves.items():
            shown = gaps > 0
            options = {"marker": "o", "markersize": 3.5, "label": name, **kwargs}
            self.lines_ += self.ax_.semilogy(steps[shown], gaps[shown], **options)
        label = self.certificate[:1].upper() + self.certificate[1:]
        self.ax_.set(xlabel="Iterations", ylabel=label)
        if len(self.curves) > 1:
            self.ax_.legend()
        return self
