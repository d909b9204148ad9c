"""Regression by a hybrid neural-kernel network."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.deep.networks.inputs import Standardised
from mercer.deep.networks.neural_kernel import NeuralKernel
from mercer.estimator import estimator
from mercer.learners.base import finite_fit, finite_values
from mercer.threads import fitting


@estimator
class NeuralKernelRegressor(MultiOutputMixin, RegressorMixin, NeuralKernel):
    r"""Regression by a hybrid network: as `NeuralKernelClassifier`, with the loss
    :math:`\tfrac12 (y - f(x))^2` for each target, in units of its standard deviation.

    Parameters
    ----------
    trained : {"all", "last"}, default="all"
        "last" leaves the blocks as they are drawn. With the squared loss the solution is then ridge
        regression on their features, in closed form.

    Attributes
    ----------
    y_mean_, y_scale_ : ndarray of shape (outputs,)
        Mean and standard deviation of the targets.
    weights_, network_, objective_path_, validation_path_, n_iter_, input_scale_, axes_
        The same as for `NeuralKernelClassifier`.
    X_fit_, kernel_
        The same as for `KernelRidge`.

    Notes
    -----
    With ``trained="last"`` it is ridge regression on the features of blocks that are drawn, in
    closed form.

    Examples
    --------
    >>> from mercer.deep import NeuralKernelRegressor
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> y = np.sin(2 * X[:, 0])
    >>> model = NeuralKernelRegressor(n_jobs=1, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.95)
    True
    """

    _: KW_ONLY
    trained: str = "all"  # pyright: ignore[reportIncompatibleVariableOverride]

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X (n) and targets y of shape (n,) or (n, n_targets).

        ``sample_weight`` has one number >= 0 a row.
        """
        self._check_parameters()
        training = self.make_training(X, y, sample_weight)
        distinct = self._distinct(training, training.y)
        Y = training.y[distinct.rows].reshape(len(distinct.rows), -1).astype(np.float64)
        scale = Standardised.of(Y, distinct.weights)
        self.y_mean_, self.y_scale_ = scale.mean * scale.unit, scale.spread * scale.unit
        self.one_target_ = training.y.ndim == 1
        self._fit_network(distinct, scale(Y), "squared")
        return self

    @finite_values
    def predict(self, X: Any) -> np.ndarray:
        """Answers for the rows of X, (n,) or (n, n_targets)."""
        f = self._network_outputs(X)
        f = self.y_mean_ + self.y_scale_ * f
        f = f.astype(np.float32 if self.X_fit_.dtype == np.float32 else np.float64, copy=False)
        return f[:, 0] if self.one_target_ else f
