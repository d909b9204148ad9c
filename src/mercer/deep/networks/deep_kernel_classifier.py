"""Classification by deep kernel learning."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.utils import column_or_1d

from mercer.deep.networks.deep_kernel import DeepKernel
from mercer.deep.networks.latent_targets import DirichletTargets, log_shares
from mercer.estimator import estimator
from mercer.learners.base import OutputClassifier, encode_classes, finite_fit, finite_values
from mercer.threads import fitting


@estimator
class DeepKernelClassifier(OutputClassifier, DeepKernel):
    r"""Classification by a Gaussian process on what a network makes of the samples, by a process on
    the columns, or by the network: as `DeepKernelRegressor`, for classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    chosen_, held_likelihood_, process_, code_mean_, code_scale_, latent_mean_, noise_
        The same as for `DeepKernelRegressor`; the likelihood is the log-probability of the class.
    weights_, network_, objective_path_, validation_path_, input_scale_, axes_
        The same as for `NeuralKernelClassifier`.
    X_fit_, kernel_
        The same as for `KernelRidge`.

    Notes
    -----
    The process has an output for each class. Its targets are logarithms of Gamma variables whose
    shares have a Dirichlet distribution, with Gaussian noise of known size, so that it is
    conditioned as for numbers. Probabilities are the mean of the softmax over 128 draws of the
    outputs, the same draws for each row.

    References
    ----------
    Milios, Camoriano, Michiardi, Rosasco & Filippone, "Dirichlet-based Gaussian processes for
    large-scale calibrated classification", NeurIPS 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.deep import DeepKernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DeepKernelClassifier(n_jobs=1, epochs=40, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9), model.predict_proba(X[:4]).shape
    (True, (4, 3))
    """

    _: KW_ONLY

    fitted_by = "chosen_"

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any) -> Self:
        """Fit to samples X (n) and classes y (n)."""
        self._check_parameters()
        training = self.make_training(X, y, numeric=False)
        classes, codes = encode_classes(column_or_1d(training.y, warn=True))
        self.classes_ = classes
        distinct = self._distinct(training, codes)
        codes = codes[distinct.rows]
        columns = [1] if len(classes) == 2 else range(len(classes))
        Y = np.where(codes[:, None] == np.array(columns), 1.0, -1.0)
        self._fit_deep(distinct, Y, DirichletTargets(), codes)
        return self

    @finite_values
    def _log_shares(self, X: Any) -> np.ndarray:
        return log_shares(*self._moments(X))

    def _outputs(self, X: Any) -> np.ndarray:
        logs = self._log_shares(X)
        return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes in the order of ``classes_``, (n, n_classes)."""
        shares = np.exp(self._log_shares(X))
        return shares / shares.sum(axis=1, keepdims=True)
