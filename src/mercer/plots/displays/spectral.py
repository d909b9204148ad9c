"""Draw the spectrum of a Gram matrix, the errors of low ranks, and samples on two axes of a map."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from mercer.estimator import Seed
from mercer.gram import DenseGram, pivoted_cholesky
from mercer.plots.displays.display import (
    ARRAY,
    PLANE,
    VECTOR,
    Display,
    display,
    one_for_each,
    square,
)
from mercer.plots.fitted import sample_gram
from mercer.plots.marks import class_codes, class_handles, class_points, colour, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator

    from mercer.samples import SamplesLike

VISIBLE = 1e-14  # smaller parts of a trace are rounding errors


@display
class SpectrumDisplay(Display):
    r"""Eigenvalues of K / n, in decreasing order.

    .. math:: \tfrac1n K v_i = \lambda_i v_i, \qquad \lambda_1 \ge \lambda_2 \ge \ldots

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

    References
    ----------
    Shawe-Taylor, Williams, Cristianini & Kandola, "On the eigenspectrum of the Gram matrix and the
    generalization error of kernel-PCA", IEEE Transactions on Information Theory 51, 2005.

    Examples
    --------
    >>> display = SpectrumDisplay.from_gram(np.diag([3.0, 1.0, 0.0]))
    >>> display.eigenvalues.round(3), display.rank(0.7)
    (array([1.   , 0.333, 0.   ]), 1)
    """

    eigenvalues: Any = field(metadata=VECTOR)
    precision: float = float(np.finfo(np.float64).eps)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.eigenvalues = np.sort(self.eigenvalues)[::-1]

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
        estimator: BaseEstimator,
        X: SamplesLike,
        *,
        max_samples: int = 1000,
        random_state: Seed = 0,
        ax: Axes | None = None,
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

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> SpectrumDisplay:
        """Draw ``line_``, eigenvalue against rank on log scales. ``kwargs`` go to ``ax.loglog``."""
        ax, values = self._draw_on(ax), self.visible
        style = {"color": colour(1), **kwargs}
        (self.line_,) = ax.loglog(np.arange(1, len(values) + 1), values, **style)
        ax.set(xlabel="Rank", ylabel="Eigenvalue of K / n")
        return self

    def _rounding(self) -> float:
        size = float(np.abs(self.eigenvalues).max(initial=0))
        return len(self.eigenvalues) * self.precision * size


@display
class RankErrorDisplay(Display):
    r"""The share of the trace that a Gram matrix of low rank lacks, by the number r of its centres.

    .. math:: \frac{\mathrm{tr}(K - \hat K_r)}{\mathrm{tr}\,K}
              \ge \frac{\sum_{i > r} \lambda_i}{\sum_i \lambda_i}

    Beside it stands the right side, the least that any matrix of that rank lacks. Where both fall
    fast, few centres are enough; where they hardly fall, no low rank is enough.

    Parameters
    ----------
    errors : array-like of shape (rank,)
        What is left with 1, 2, ... centres.
    least : array-like of shape (rank,)
        What the best matrix of this rank leaves.

    Notes
    -----
    `from_gram` takes O(n³) operations, nearly all of them for the eigenvalues.

    References
    ----------
    Eckart & Young, "The approximation of one matrix by another of lower rank", Psychometrika 1,
    1936; for the centres Chen, Epperly, Tropp & Webber, "Randomly pivoted Cholesky", 2022.

    Examples
    --------
    >>> display = RankErrorDisplay.from_gram(np.diag([3.0, 1.0, 0.0]))
    >>> display.least, display.rank(0.3)
    (array([0.25, 0.  ]), 1)
    """

    errors: Any = field(metadata=VECTOR)
    least: Any = field(metadata=VECTOR)

    @classmethod
    def from_gram(
        cls, K: ArrayLike, rank: int | None = None, random_state: Seed = 0
    ) -> RankErrorDisplay:
        """The errors of randomly pivoted centres, up to ``rank``, of a positive semidefinite K."""
        K = square("K", K)
        trace = float(np.trace(K))
        if not trace > 0:
            raise ValueError(f"K has the trace {trace:g}: give a matrix with k(x, x) > 0.")
        most = len(K) if rank is None else min(rank, len(K))
        low = pivoted_cholesky(DenseGram(K, symmetric=True), most, random_state=random_state)
        assert low.F is not None
        explained = np.cumsum(np.square(low.F).sum(axis=0))
        values = np.maximum(scipy.linalg.eigvalsh(K)[::-1], 0)
        best = np.cumsum(values)[: low.rank]
        return cls((1 - explained / trace).clip(0), (1 - best / values.sum()).clip(0))

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: SamplesLike,
        *,
        rank: int | None = None,
        max_samples: int = 1000,
        random_state: Seed = 0,
        ax: Axes | None = None,
    ) -> RankErrorDisplay:
        """Draw the errors of a fitted model's kernel on a sample of the rows of X."""
        K, _ = sample_gram(estimator, X, max_samples=max_samples, random_state=random_state)
        return cls.from_gram(K, rank, random_state).plot(ax)

    def rank(self, error: float) -> int | None:
        """The least number of centres with at most this error; None if there is none."""
        enough = np.flatnonzero(self.errors <= error)
        return int(enough[0]) + 1 if len(enough) else None

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> RankErrorDisplay:
        """Draw two ``lines_`` on log scales. ``kwargs`` go to ``ax.loglog`` of the errors."""
        ax, self.lines_ = self._draw_on(ax), []
        for values, style in (
            (self.errors, {"label": "centres", "color": colour(1), **kwargs}),
            (self.least, {"label": "least possible", "color": "0.5", "linestyle": "--"}),
        ):
            shown = values > VISIBLE
            ranks = np.arange(1, len(values) + 1)[shown]
            self.lines_ += ax.loglog(ranks, values[shown], **style)
        ax.set(xlabel="Number of centres", ylabel="Missing share of the trace")
        ax.legend(frameon=False)
        return self


@display
class EmbeddingDisplay(Display):
    """Scores of samples on two components, as a scatter plot.

    Parameters
    ----------
    scores : array-like of shape (n, 2)
    labels : array-like of shape (n,), optional
        Classes, each with a colour and a mark of its own, or numbers for a colour scale.
    names : pair of str
        Names of the axes.
    classes : array-like of shape (classes,), optional
        The classes in ascending order; by default the labels, unless these are floats.

    Examples
    --------
    >>> display = EmbeddingDisplay([[0.0, 1.0], [2.0, 3.0]], ["a", "b"])
    >>> display.classes
    array(['a', 'b'], dtype='<U1')
    """

    scores: Any = field(metadata=PLANE)
    labels: Any = field(default=None, metadata=ARRAY | one_for_each("scores"))
    names: tuple[str, str] = ("First component", "Second component")
    classes: Any = field(default=None, metadata=ARRAY)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes is None and self.labels is not None and self.labels.dtype.kind != "f":
            self.classes = np.unique(self.labels)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        components: tuple[int, int] = (0, 1),
        ax: Axes | None = None,
    ) -> EmbeddingDisplay:
        """Draw the scores that a fitted transformer gives the samples X.

        Parameters
        ----------
        estimator : fitted estimator with ``transform``
        X : samples
        y : array-like of shape (n,), optional
            Classes or numbers to colour by.
        components : pair of int, default=(0, 1)
            Which columns of the scores are drawn.
        ax : matplotlib axes, optional
        """
        scores = np.asarray(estimator.transform(X))
        first, second = components
        if not -scores.shape[1] <= min(components) <= max(components) < scores.shape[1]:
            raise ValueError(
                f"components={components!r}: the estimator has {scores.shape[1]} of them, "
                "numbered from 0: give two of these."
            )
        named = getattr(estimator, "get_feature_names_out", None)
        plain = [f"{type(estimator).__name__.lower()}{i}" for i in range(scores.shape[1])]
        names = [str(name) for name in named()] if named else plain
        if names == plain:  # say no more than the number, which people count from 1
            names = [f"Component {i + 1}" for i in range(len(names))]
        return cls(scores[:, [first, second]], y, (names[first], names[second])).plot(ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> EmbeddingDisplay:
        """Draw ``points_``, a collection for each class. ``kwargs`` go to ``ax.scatter``."""
        ax = self._draw_on(ax)
        style = {"s": 22, "alpha": 0.85, "edgecolors": "white", "linewidths": 0.4, **kwargs}
        if self.classes is not None:
            codes = class_codes(self.labels, self.classes, "labels")
            self.points_ = class_points(ax, self.scores, codes, len(self.classes), **style)
            legend_below(ax, class_handles(self.classes))
        else:
            known = self.labels is not None
            look = {"c": self.labels, "cmap": "cividis"} if known else {"color": [colour(1)]}
            self.points_ = [ax.scatter(*self.scores.T, **{**look, **style})]
            if known:
                self.figure_.colorbar(self.points_[0], ax=ax, label="y")
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        return self
