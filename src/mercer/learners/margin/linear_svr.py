"""Linear support vector regression, with scikit-learn's parameters and attributes."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from mercer.estimator import estimator
from mercer.learners.base import Regressor, drawn_seed, finite_fit, unit_of
from mercer.learners.margin.linear_support_vectors import LinearFit, LinearMachine
from mercer.solvers.linear import LinearDual, LinearResult
from mercer.streams import fit_stream
from mercer.threads import fitting, forget


@estimator
class LinearSVR(Regressor, LinearMachine):
    r"""Linear support vector regression, for many samples and many columns.

    Minimise

    .. math:: \tfrac12 |w|^2 + C \sum_i v_i \max(0, |y_i - x_i w| - ε)

    over w, or the same with the square of each maximum.

    Parameters
    ----------
    epsilon : float >= 0, default=0.0
        Errors up to ε, in the units of y, cost nothing.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The maximum in the formula, or its square.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights of the columns, in the dtype of X.
    intercept_ : ndarray of shape (1,)

    Notes
    -----
    Weights mean repetition: weight 2 counts the row twice, weight 0 leaves it out. The cost is that
    of `LinearSVC`.

    References
    ----------
    Ho & Lin, "Large-scale Linear Support Vector Regression", JMLR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> model = LinearSVR(C=100.0, epsilon=0.1).fit(X, 2 * X[:, 0] + 1)
    >>> model.predict([[10.0]]).round(1).tolist()
    [20.9]
    """

    _: KW_ONLY
    epsilon: float = 0.0
    loss: str = "epsilon_insensitive"

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self._check_parameters(loss=("epsilon_insensitive", "squared_epsilon_insensitive"))
        forget(self)
        X, y, w = self.read_rows(X, y, sample_weight, numeric=True)
        rows = self._rows(X, w > 0, 1)
        squared = self.loss == "squared_epsilon_insensitive"
        unit = unit_of(y)
        y, C = y.astype(np.float64) / unit, self.C * w / (1 if squared else unit)
        dual = LinearDual.insensitive(y, C, self.epsilon / unit, squared)
        seed = drawn_seed(self.random_state)
        results = self._run([lambda: self._solver(seed).solve(rows, dual)])
        results = [results[0].scaled(unit**2)]
        self.store(results, unit * results[0].coef[None], X.dtype)
        self._conclude(results, X)
        return self

    @fitting
    @finite_fit
    def fit_chunks(self, chunks: Any, checkpoint: Any = None) -> Self:
        """Fit to a stream of rows and numbers, as `LinearSVC.fit_chunks` does.

        Only with ``loss="squared_epsilon_insensitive"``: the other loss needs a number for each
        row. The stream is read about six times.

        Parameters
        ----------
        chunks : Chunks, or what it takes
            Fewer than 1,500 columns.
        checkpoint : Checkpoint or path, optional
            A file from which the same fit goes on, after its last whole reading, if it was killed.

        Examples
        --------
        >>> from mercer import Chunks
        >>> x = np.linspace(0, 1, 1000)[:, None]
        >>> model = LinearSVR(loss="squared_epsilon_insensitive")
        >>> model.fit_chunks(Chunks(x, 2 * x[:, 0], rows=100)).predict([[0.5]]).round(2).tolist()
        [1.0]
        """
        losses = ("epsilon_insensitive", "squared_epsilon_insensitive")
        self._check_parameters(loss=losses)
        self._check_passes(self.loss, losses[1])
        return fit_stream(RegressionFit(self), chunks, checkpoint)

    def store(self, results: list[LinearResult], W: np.ndarray, dtype: Any) -> None:
        super().store(results, W, dtype)
        self.coef_ = self.coef_[0]

    def predict(self, X: Any) -> np.ndarray:
        """x w + intercept, shape (n,)."""
        return self._values(X)[:, 0]


class RegressionFit(LinearFit):
    """The fit of a `LinearSVR` to a stream."""

    def begin(self, seen: Any) -> int:
        return 1

    def duals(self, y: np.ndarray, w: np.ndarray) -> list[LinearDual]:
        C, epsilon = self.learner.C * w, self.learner.epsilon
        y = y.astype(np.float64)
        return [LinearDual(y, C, squared=True, one_sided=False, epsilon=epsilon)]
