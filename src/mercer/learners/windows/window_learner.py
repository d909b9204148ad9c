"""What regression and classification by windows share: the width, the sums, and reasons by rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import DistanceLearner, MeansOfRows, Training, check_count
from mercer.learners.windows.learnt_width import Loss, learn_width
from mercer.learners.windows.totals import (
    ENDLESS,
    SHAPES,
    Reduce,
    candidate_widths,
    neighbour_totals,
    typical_distance,
    window_totals,
    window_values,
)
from mercer.persistence import fields, whole
from mercer.samples import Samples, SamplesLike, is_number
from mercer.search import Index

# Means and local lines from sums over windows, and how much noise of the targets changes them.
#
# A `Smoother` says which columns V the sums :math:`S = \sum_i K_i V_i` need, and turns the sums
# around a point into the value there. For a mean these are the weights w and w y. A local line
# needs the moments of the rows, too: with x̄ and ȳ the means over the window, and C and c the
# covariances, it is :math:`\bar y + (u - \bar x)^\top C^{-1} c` at u.


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


WIDTHS = ("auto", "learnt")
WIDEST = 2.0  # candidate, in medians of the distances
WIDER = 4  # candidates of a learnt width that are wider than it
BLOCK = 4_000_000  # numbers of the largest matrix of shares


@fields(rows_=whole(length=lambda model: model.X_fit_.shape[0]))
@estimator
class WindowLearner(MeansOfRows, DistanceLearner):
    r"""Abstract: the mean of the training rows' targets within a window around each new sample.

    ``fit`` of a subclass calls `check_parameters`, `make_training` and `learn`, and `keep_samples`
    at the end.

    Parameters
    ----------
    width : float > 0, "auto", "learnt" or None, default="auto"
        h. "auto" is the one of 24 widths with the least leave-one-out loss, found in one pass over
        the distances. "learnt" moves the width by the gradient of that loss, and with it the
        weights of the distance, where it has them: a width for each column of Minkowski with p <
        inf and of `Match`, for each part of `Mixed`, and for each distance of
        `mercer.distances.Sum`. It needs a window without end, and learns from at most 2,000 rows.
        None is the distance to the (k + 1)-th neighbour of x, for k = ``n_neighbors``.
    n_neighbors : int, optional
        Number of nearest rows that the mean is over; None means all rows.
    window : str, default="gaussian"
        K(u): "gaussian", exp(-u²/2); "exponential", exp(-u), so that the weights are a softmax of
        -ρ / h; or "rectangular", "triangular", "epanechnikov", "quartic" or "tricube", which are 0
        beyond u = 1. If a window is empty, the nearest rows decide, and rows that are equally near
        count equally; so the answer is never NaN.
    algorithm : str or Index, default="auto"
        How the k nearest rows are searched for, as `mercer.search.fit_index` says.

    Attributes
    ----------
    width_ : float or None
        h; None where it is the distance to a neighbour.
    temperature_ : float
        :math:`\tau` of weights :math:`e^{-\tau \rho}`, for the exponential window, or
        :math:`e^{-\tau \rho^2}`, for the Gaussian one.
    weights_ : ndarray of shape (d,)
        The weights of the distance; only with "learnt", if it has weights.
    distance_ : Distance
        The distance; with "learnt", it has the weights that were learnt.
    algorithm_ : str
        How the nearest rows are found; only with ``n_neighbors``.
    rows_ : ndarray of shape (n,)
        Numbers of the rows of positive weight in the samples that were given.
    X_fit_ : encoded samples
        These rows.
    """

    width: Any = "auto"
    _: KW_ONLY
    n_neighbors: Any = None
    window: str = "gaussian"
    p: float = 2

    #: what the mean is judged by
    loss: ClassVar[Loss]

    _smoother: Smoother = field(init=False)
    _weights: np.ndarray = field(init=False)
    _targets: np.ndarray = field(init=False)

    def check_parameters(self) -> None:
        """Raise an error for parameters that are invalid alone or combined."""
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
        if h == "learnt" and self.window not in ENDLESS:
            raise ValueError(
                f'window={self.window!r}: width="learnt" needs the derivative of a window without '
                f"end; give one of {list(ENDLESS)}."
            )

    def learn(
        self, training: Training, Y: np.ndarray, rows: np.ndarray | None = None
    ) -> np.ndarray | None:
        """Find the width for targets Y (n, t), and keep all that sums need but the samples.

        ``rows`` are coordinates, for local lines. Returns what leaving each row out gave, in the
        form of `left_out_values`; None if the width was given.
        """
        X, w, n = training.X, training.all_weights, training.X.shape[0]
        if isinstance(self.width, str) and n < 2:
            raise ValueError(f"width={self.width!r} leaves a row out, but n_samples=1: give h.")
        learnt = None
        if self.width == "learnt":
            shape = SHAPES[self.window]
            self.distance_, learnt = learn_width(
                X, Y, w, self.distance_, shape, self.loss, self.place
            )
            if self.distance_.terms(X):
                self.weights_ = np.array(self.distance_.get_params(deep=False)["weights"])
        self._smoother = Smoother(Y, w, rows)
        self._targets, self._weights = Y, w
        self._index = None
        if self.n_neighbors is not None:
            self._index, self.algorithm_ = self._fitted_index(X)
        self.width_ = float(self.width) if is_number(self.width) else None
        found = self._choose(X, learnt) if isinstance(self.width, str) else None
        if self.width_ is not None and self.window in ENDLESS:
            shape = SHAPES[self.window]
            self.temperature_ = shape.rate / self.width_**shape.power
        self.rows_ = training.rows
        return found

    def _fitted_index(self, X: Samples) -> tuple[Index, str]:
        """An index of the rows, after a check that there are enough of them."""
        n, wanted = X.shape[0], self.n_neighbors + (self.width is None)
        if wanted >= n:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} leaves too few of n_samples={n}: give at most "
                f"{n - 1 - (self.width is None)}."
            )
        return self.make_index(X)

    # --- leave one out ---------------------------------------------------------------------------

    def _choose(self, X: Samples, learnt: float | None) -> np.ndarray:
        """The width of the least leave-one-out loss, of the widest one if equal.

        A width that was learnt is among the candidates.
        """
        power = SHAPES[self.window].power
        if learnt is None:
            largest = WIDEST * typical_distance(self.distance_, X)
            widths = candidate_widths(largest, power)
        else:
            widths = learnt * candidate_widths(2.0 ** (WIDER / power), power)
        values = self.totals(X, X, widths, self.left_out_values(X), left_out=True)
        losses = self.left_out_losses(values)
        best = int(np.argmin(losses))
        self.errors_ = dict(zip(widths.tolist(), losses.tolist(), strict=True))
        self.width_ = float(widths[best])
        return values[best]

    def left_out_values(self, X: Samples) -> Reduce:
        """What is kept of the sums around each row without it, for each candidate: the means."""
        return self.means(X)

    def left_out_losses(self, values: np.ndarray) -> np.ndarray:
        """The mean loss of each candidate, from `left_out_values`, (candidates, n, c)."""
        return np.average(self.loss.values(values, self._targets), 1, self._weights)

    # --- sums over windows -----------------------------------------------------------------------

    @property
    def widths(self) -> np.ndarray | None:
        """h as an array; None where it is the distance to a neighbour."""
        return None if self.width_ is None else np.array([self.width_])

    def means(self, X: SamplesLike) -> Reduce:
        """The reduction of sums around rows of X to the means there."""

        def values(sums: np.ndarray, squares: np.ndarray, _: object, rows: slice) -> np.ndarray:
            return self._smoother.values(sums)

        return values

    def totals(
        self,
        X: SamplesLike,
        Z: Samples,
        widths: np.ndarray | None,
        reduce: Reduce,
        *,
        left_out: bool = False,
        V: np.ndarray | None = None,
        Q: np.ndarray | None = None,
    ) -> np.ndarray:
        """For each width, the reduced sums around each row of X (of Z, without it, if left out).

        V and Q are what K and K² are multiplied with; None means what the smoother needs. The array
        has the shape (widths, n) or (widths, n, r).
        """
        V = self._smoother.V if V is None else V
        shape = SHAPES[self.window]
        if self._index is not None:
            queries, k = None if left_out else X, self.n_neighbors
            return neighbour_totals(self._index, queries, k, V, shape, widths, reduce, Q)
        assert widths is not None
        # of a row with weight 2, one copy is left
        share = np.minimum(self._weights, 1) / self._weights if left_out else None
        return window_totals(
            self.distance_, X, Z, V, shape, widths, reduce, Q=Q, left_out=share,
            place=self.place,
        )  # fmt: skip

    # --- rows that predict -----------------------------------------------------------------------

    def kneighbors(
        self, X: SamplesLike | None = None, n_neighbors: int = 5, return_distance: bool = True
    ) -> tuple[np.ndarray, np.ndarray] | np.ndarray:
        """The training rows that are nearest to each row of X by ``distance_``.

        Parameters
        ----------
        X : samples, optional
            None means the training rows; no row is its own neighbour.
        n_neighbors : int, default=5
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of shape (n, n_neighbors)
            Ascending in each row; only with ``return_distance``.
        indices : ndarray of shape (n, n_neighbors)
            Numbers of rows that were given to ``fit``.
        """
        check_is_fitted(self)
        check_count("n_neighbors", n_neighbors, optional=False)
        Z = None if X is None else self.encode_new(X)
        n = self.X_fit_.shape[0] - (Z is None)
        if n_neighbors > n:
            raise ValueError(
                f"n_neighbors={n_neighbors}, but there are {n:,} rows to compare with: ask for "
                "fewer."
            )
        index = self._index
        if index is None:
            index, _ = self.make_index(self.X_fit_)
        distances, indices = index.query(Z, n_neighbors)
        indices = np.where(indices >= 0, self.rows_[indices], -1)
        return (distances, indices) if return_distance else indices

    def some_shares(self, X: SamplesLike) -> Iterator[np.ndarray]:
        Z: Samples = self.encode_new(X)
        n, step = len(self.rows_), max(1, BLOCK // max(len(self.rows_), 1))
        shape, B = SHAPES[self.window], None
        for start in range(0, Z.shape[0], step):
            some = Z[start : start + step]
            if self._index is None:
                B = self.distance_.prepare(self.X_fit_) if B is None else B
                D = self.distance_.block(self.distance_.prepare(some, B), B)
                W = window_values(shape, D.astype(np.float64, copy=False), self.width_)
                W *= self._weights
            else:
                k = self.n_neighbors
                D, near = self._index.query(some, k + (self.width_ is None))
                width = D[:, k:].astype(np.float64) if self.width_ is None else self.width_
                near = near[:, :k]
                K = window_values(shape, D[:, :k].astype(np.float64), width)
                W = np.zeros((len(D), n))
                np.put_along_axis(W, near, K * self._weights[near], axis=1)
            yield W / W.sum(axis=1, keepdims=True)
