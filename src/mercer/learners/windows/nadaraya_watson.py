"""Nadaraya-Watson regression: means over windows, for any distance, and local lines for vectors."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.distances import dense_rows
from mercer.estimator import estimator
from mercer.learners.base import DistanceLearner, check_count, finite_fit, finite_values
from mercer.learners.windows.feature_widths import learn_feature_widths
from mercer.learners.windows.smoother import Smoother
from mercer.learners.windows.totals import (
    SHAPES,
    candidate_widths,
    neighbour_totals,
    typical_distance,
    window_totals,
)
from mercer.samples import is_number, is_whole
from mercer.search import Index, fit_index
from mercer.threads import fitting

WIDTHS = ("auto", "features")
WIDEST = 2.0  # candidate, in medians of the distances


@estimator
class NadarayaWatson(MultiOutputMixin, RegressorMixin, DistanceLearner):
    r"""Nadaraya-Watson regression, the mean of the targets over a window,

    .. math:: a(x) = \frac{\sum_i w_i K(\rho(x, x_i) / h) \, y_i}{\sum_i w_i K(\rho(x, x_i) / h)},

    or, with ``degree=1``, the value at x of the line that fits best there with these weights.

    Parameters
    ----------
    width : float > 0, "auto", "features" or None, default="auto"
        h. "auto" is the one of 24 widths with the least squared leave-one-out error, found in one
        pass over the distances. "features" also learns the weights of the distance, and so a width
        for each column, by the gradient of that error; it needs the Gaussian window, and
        Minkowski with p < inf, `Match` or `Mixed`. None is the distance to the (k + 1)-th neighbour
        of x, for k = ``n_neighbors``.
    n_neighbors : int, optional
        Number of nearest rows that the mean is over; None means all rows.
    window : str, default="gaussian"
        K: "gaussian", or "rectangular", "triangular", "epanechnikov", "quartic" or "tricube", which
        are 0 beyond h. If a window is empty, the nearest rows decide, and rows that are equally
        near count equally; so the answer is never NaN.
    degree : {0, 1}, default=0
        0 is the mean. 1 is the local line, for vectors; it has less bias at the edges of the data.
    algorithm : str or Index, default="auto"
        How the k nearest rows are searched for, as `mercer.search.fit_index` says.

    Attributes
    ----------
    width_ : float or None
        h; None where it is the distance to a neighbour.
    errors_ : dict
        Mean squared leave-one-out error of each width; only with "auto" and "features".
    left_out_ : ndarray of the shape of y
        Prediction for each row of positive weight without it; only with "auto" and "features".
    distance_ : Distance
        The distance; with "features", it has the weights that were learnt.
    algorithm_ : str
        How the nearest rows are found; only with ``n_neighbors``.
    X_fit_ : encoded samples
        The samples of positive weight.
    n_features_in_ : int

    Notes
    -----
    A prediction costs O(n m) distances for n queries and m rows, or one search for neighbours, and
    memory O(n + m) in addition to the tiles. A local line takes O(n m d²) operations and O(m d²)
    memory. Weights mean repetition, except that the number of neighbours counts rows. A sum over a
    Gaussian window is measured from the nearest row, so that it is not 0 far away: there the
    nearest rows decide.

    Standard errors are :math:`s(x) (\sum_i l_i^2)^{1/2}` with the weights :math:`l_i` that targets
    have in a(x), where s(x)² is the mean over the same window of squared leave-one-out errors, each
    divided by its expectation for errors of variance 1. They do not contain the bias.

    References
    ----------
    Nadaraya, "On estimating regression", 1964; Watson, "Smooth regression analysis", 1964;
    Cleveland, "Robust locally weighted regression and smoothing scatterplots", JASA 74, 1979; Fan &
    Gijbels, "Local Polynomial Modelling and Its Applications", 1996, sections 3.2.1 and 4.3;
    Weinberger & Tesauro, "Metric learning for kernel regression", AISTATS 2007.

    Examples
    --------
    >>> from mercer import NadarayaWatson
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = NadarayaWatson(degree=1).fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict([[1.5]], return_std=True)
    >>> mean.round(2), bool(std[0] < 0.01)
    (array([1.]), True)
    >>> from mercer.distances import Edit
    >>> lengths = NadarayaWatson(1.0, metric=Edit()).fit(["a", "ab", "abcd"], [1.0, 2.0, 4.0])
    >>> lengths.predict(["abc"]).round(1)
    array([2.8])
    """

    width: Any = "auto"
    _: KW_ONLY
    n_neighbors: Any = None
    window: str = "gaussian"
    degree: int = 0
    p: float = 2

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X (n) and targets y of shape (n,) or (n, n_targets).

        ``sample_weight`` is a number or one per row, >= 0 and not all 0.
        """
        self._check_parameters()
        training = self.make_training(X, y, sample_weight)
        y, w = training.y.astype(np.float64), training.all_weights
        n = training.X.shape[0]
        if self.degree == 1 and not self.distance_.reads.coordinates:
            raise TypeError(
                f"degree=1 needs vectors, which {self.distance_!r} does not read: give degree=0."
            )
        if isinstance(self.width, str) and n < 2:
            raise ValueError(f"width={self.width!r} leaves a row out, but n_samples=1: give h.")
        if self.width == "features":
            self.distance_ = learn_feature_widths(
                training.X, y.reshape(n, -1), w, self.distance_, self.place
            )
        rows = dense_rows(training.X) if self.degree else None
        self._smoother = Smoother(y.reshape(n, -1), w, rows)
        self._targets, self._weights, self._flat = y.reshape(n, -1), w, y.ndim == 1
        self._noise, self._index = None, None
        if self.n_neighbors is not None:
            self._index, self.algorithm_ = self._fitted_index(training.X)
        self.width_ = float(self.width) if is_number(self.width) else None
        if isinstance(self.width, str):
            self._choose(training.X)
        self.keep_samples(training.X)
        return self

    def _check_parameters(self) -> None:
        h = self.width
        if not (
            h is None or (h in WIDTHS if isinstance(h, str) else is_number(h) and 0 < h < np.inf)
        ):
            raise ValueError(
                f"width={h!r}: give a finite number > 0, one of {list(WIDTHS)}, or None."
            )
        check_count("n_neighbors", self.n_neighbors)
        if h is None and self.n_neighbors is None:
            raise ValueError(
                "width=None is the distance to the (n_neighbors + 1)-th neighbour: give n_neighbors"
                ", or a width."
            )
        if not (isinstance(self.window, str) and self.window in SHAPES):
            raise ValueError(f"window={self.window!r}: give one of {list(SHAPES)}.")
        if h == "features" and self.window != "gaussian":
            raise ValueError(
                f'window={self.window!r}: width="features" needs the derivative of the Gaussian '
                'window; give window="gaussian".'
            )
        if not (is_whole(self.degree) and self.degree in (0, 1)):
            raise ValueError(f"degree={self.degree!r}: give 0 or 1.")

    def _fitted_index(self, X: Any) -> tuple[Index, str]:
        n, wanted = X.shape[0], self.n_neighbors + (self.width is None)
        if wanted >= n:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} leaves too few of n_samples={n}: give at most "
                f"{n - 1 - (self.width is None)}."
            )
        return fit_index(X, self.distance_, self.algorithm, memory=self.memory, n_jobs=self.n_jobs)

    # --- leave one out ---------------------------------------------------------------------------

    def _choose(self, X: Any) -> None:
        """The width of the least squared leave-one-out error, of the widest one if equal."""
        largest = WIDEST * typical_distance(self.distance_, X)
        widths = candidate_widths(largest, SHAPES[self.window].power)
        values = self._totals(X, X, widths, self._values(X), left_out=True)
        errors = np.average(((self._targets - values) ** 2).mean(axis=2), 1, self._weights)
        best = int(np.argmin(errors))
        self.errors_ = dict(zip(widths.tolist(), errors.tolist(), strict=True))
        self.width_, self.left_out_ = float(widths[best]), self._shaped(values[best])

    def _noise_of_rows(self) -> np.ndarray:
        """The squared leave-one-out error of each row over its expectation for unit noise."""
        X, points = self.X_fit_, self._points(self.X_fit_)

        def noise(sums: np.ndarray, squares: np.ndarray, _: Any, rows: slice) -> np.ndarray:
            here = None if points is None else points[rows]
            errors = self._targets[rows] - self._smoother.values(sums, here)
            spread = self._smoother.squared_weights(sums, squares, here)
            return errors**2 / (1 + spread)[:, None]

        return self._totals(X, X, self._widths, noise, left_out=True, squares=True)[0]

    # --- new samples -----------------------------------------------------------------------------

    @finite_values
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """a at the rows of X, of shape (n,) or (n, n_targets).

        Parameters
        ----------
        X : samples
        return_std : bool, default=False
            Whether to return the pair of a and its standard errors, of the same shape. The first
            such call leaves each training row out, which costs as much as their prediction.
        """
        X = self.encode_new(X)
        if not return_std:
            return self._shaped(self._totals(X, self.X_fit_, self._widths, self._values(X))[0])
        if self._noise is None:
            self._noise = self._noise_of_rows()
        points, t = self._points(X), self._targets.shape[1]

        def both(sums: np.ndarray, squares: np.ndarray, _: Any, rows: slice) -> np.ndarray:
            here = None if points is None else points[rows]
            sums, noise = sums[:, :-t], sums[:, -t:] / sums[:, :1]
            spread = self._smoother.squared_weights(sums, squares, here)
            std = np.sqrt(noise * spread[:, None])
            return np.hstack([self._smoother.values(sums, here), std])

        found = self._totals(X, self.X_fit_, self._widths, both, squares=True)[0]
        return self._shaped(found[:, :t]), self._shaped(found[:, t:])

    @property
    def _widths(self) -> np.ndarray | None:
        return None if self.width_ is None else np.array([self.width_])

    def _values(self, X: Any) -> Any:
        """The reduction of sums around rows of X to a."""
        points = self._points(X)

        def values(sums: np.ndarray, squares: Any, _: Any, rows: slice) -> np.ndarray:
            return self._smoother.values(sums, None if points is None else points[rows])

        return values

    def _totals(
        self,
        X: Any,
        Z: Any,
        widths: Any,
        reduce: Any,
        *,
        left_out: bool = False,
        squares: bool = False,
    ) -> np.ndarray:
        """For each width, the reduced sums around each row of X (of Z, without it, if left out).

        Beside the smoother's columns they have the noise of each row, if squares are wanted and it
        is known.
        """
        V, Q = self._smoother.V, self._smoother.Q if squares else None
        if squares and not left_out:
            V = np.hstack([V, self._weights[:, None] * self._noise])
        shape = SHAPES[self.window]
        if self._index is not None:
            queries, k = None if left_out else X, self.n_neighbors
            return neighbour_totals(self._index, queries, k, V, shape, widths, reduce, Q)
        # of a row with weight 2, one copy is left
        share = np.minimum(self._weights, 1) / self._weights if left_out else None
        return window_totals(
            self.distance_, X, Z, V, shape, widths, reduce, Q=Q, left_out=share,
            place=self.place,
        )  # fmt: skip

    def _points(self, X: Any) -> np.ndarray | None:
        return dense_rows(X) if self.degree else None

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        """(n,) for one flat target, in the precision of the targets."""
        return values[:, 0] if self._flat else values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
