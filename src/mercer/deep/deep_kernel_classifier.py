"""Classification by a deep kernel machine."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d

from mercer.deep.deep_kernel_machine import DeepKernelMachine
from mercer.deep.gaussian_outputs import GaussianOutputs
from mercer.deep.targets import ClassTargets
from mercer.estimator import estimator
from mercer.learners.base import encode_classes, finite_fit
from mercer.threads import fitting


@estimator
class DeepKernelMachineClassifier(ClassifierMixin, DeepKernelMachine, GaussianOutputs):
    r"""Classification by a deep kernel machine: as `DeepKernelMachineRegressor`, with

    .. math:: \max_μ \sum_i \log softmax(μ_i)_{y_i} - \tfrac12 tr(μ^\top K^{-1} μ)
              - \tfrac{C}{2} \log\det(I + K / C), \quad K = f_{L+1}(G_L),

    instead of the likelihood of numbers, for C classes.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    grams_, inducing_, dof_, objective_, objective_path_, gradient_norm_, n_iter_
        The same as for `DeepKernelMachineRegressor`.
    coef_, covariance_, scale_, input_scale_, X_fit_, kernel_, gram_, solver_
        The same as for `DeepKernelMachineRegressor`.

    Notes
    -----
    The outputs of the classes are Gaussian, with means μ and one covariance A for all of them. The
    expected log-probability has the lower bound
    :math:`\log softmax(μ)_y - A_{ii} / 2` by Jensen's inequality, which is exact where no class is
    certain for a small A, and which needs no sampling. Its best A is :math:`(K^{-1} + I / C)^{-1}`,
    so that only μ is left, which Newton's method finds (`mercer.solvers.NewtonLogistic`).
    Probabilities are softmax(μ / √(1 + π v / 4)) for outputs of variance v (MacKay, 1992).

    References
    ----------
    MacKay, "The evidence framework applied to classification networks", Neural Computation 4, 1992.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.deep import DeepKernelMachineClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DeepKernelMachineClassifier(kernel="rbf", gamma=0.3).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9), model.predict_proba(X[:4]).shape
    (True, (4, 3))
    """

    fitted_by = "classes_"

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any) -> Self:
        """Fit to samples X (n) and classes y (n)."""
        self._check_parameters()
        training = self.make_training(X, y, numeric=False)
        classes, codes = encode_classes(column_or_1d(training.y, warn=True))
        Y = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
        result = self._fit_layers(training, ClassTargets(Y), 0.0)
        self.classes_ = classes
        result.conclude()
        return self
