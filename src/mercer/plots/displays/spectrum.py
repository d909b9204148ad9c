"""Draw the eigenvalues of a Gram matrix: how many directions of feature space the data use."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from mercer.plots.displays.display import Display, drawable, square
from mercer.plots.fitted import sample_gram


class SpectrumDisplay(Display):
    r"""Eigenvalues :math:`\lambda_1 \ge \lambda_2 \ge \ldots` of K / n, in decreasing order.

    If they fall fast, few directions of feature space matter, and a low-rank model is enough. If
    they hardly fall, every sample is similar only to itself.

    Parameters
    ----------
    eigenvalues : array-like of shape (n,)
        Eigenvalues of K / n, so that they do not grow with n; in any order.
    precision : float, optional
        Relative error of the entries of K: values below n · precision · λ₁ are rounding errors.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n,)
        Eigenvalues in decreasing order.
    ax_, figure_, line_
        The matplotlib objects that `plot` drew.

    Examples
    --------
    >>> display = SpectrumDisplay.from_gram(np.diag([3.0, 1.0, 0.0]))
    >>> display.eigenvalues.round(3), display.rank(0.7)
    (array([1.   , 0.333, 0.   ]), 1)
    """

    def __init__(self, eigenvalues: Any, precision: float = float(np.finfo(np.float64).eps)):
        self.precision = precision
        self.eigenvalues = np.sort(drawable("eigenvalues", eigenvalues, 1))[::-1]

    @classmethod
    def from_gram(cls, K: np.ndarray) -> SpectrumDisplay:
        """The spectrum of a symmetric matrix."""
        dtype = getattr(K, "dtype", None)
        precision = float(np.finfo(np.float32 if dtype == np.float32 else np.float64).eps)
        K = square("K", K)
        return cls(scipy.linalg.eigvalsh(K) / len(K), precision)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        max_samples: int = 1000,
        random_state: Any = 0,
        ax: Any = None,
    ) -> SpectrumDisplay:
        """Draw the spectrum of a fitted model's Gram matrix on a sample of the rows of X."""
        K, _ = sample_gram(estimator, X, max_samples=max_samples, random_state=random_state)
        return cls.from_gram(K).plot(ax)

    @property
    def visible(self) -> np.ndarray:
        """The eigenvalues that are larger than rounding errors; only these are drawn."""
        return self.eigenvalues[self.eigenvalues > self._rounding()]

    @property
    def indefinite(self) -> bool:
        """Whether the smallest eigenvalue is negative, and not only by rounding errors."""
        return bool(self.eigenvalues[-1] < -10 * self._rounding())

    def rank(self, share: float) -> int:
        """The number of largest eigenvalues whose sum is at least this share of the trace."""
        sums = np.cumsum(np.maximum(self.eigenvalues, 0))
        return int(np.searchsorted(sums, share * sums[-1] * (1 - 1e-12)) + 1)

    def plot(self, ax: Any = None, **kwargs: Any) -> SpectrumDisplay:
        """Draw eigenvalue against rank on log scales. ``kwargs`` are passed to ``ax.loglog``."""
        self._draw_on(ax)
        values = self.visible
        (self.line_,) = self.ax_.loglog(np.arange(1, len(values) + 1), values, **kwargs)
        self.ax_.set(xlabel="Rank", ylabel="Eigenvalue of K / n")
        return self

    def _rounding(self) -> float:
        size = float(np.abs(self.eigenvalues).max(initial=0))
        return len(self.eigenvalues) * self.precision * size
