"""Regression by deep kernel learning."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.deep.networks.deep_kernel import DeepKernel
from mercer.deep.networks.inputs import Standardised
from mercer.deep.networks.latent_targets import NumberTargets
from mercer.estimator import estimator
from mercer.learners.base import finite_fit, finite_values
from mercer.threads import fitting


@estimator
class DeepKernelRegressor(MultiOutputMixin, RegressorMixin, DeepKernel):
    r"""Regression by a Gaussian process on what a network makes of the samples, with the covariance

    .. math:: a\, k(z(x) / \ell, z(x') / \ell)

    for codes z of a hybrid network, length scales ℓ of their numbers and an amplitude a; or by a
    process on the columns, or by the network, whichever makes rows that were held back the
    likeliest.

    Runs on torch, which ``pip install "mercer[torch]"`` installs. It is another machine than
    `DeepKernelMachineRegressor`, whose layers are Gram matrices.

    Attributes
    ----------
    chosen_ : {"process", "network", "both"}
        What was chosen.
    held_likelihood_ : dict
        The mean log-likelihood of held rows by each candidate, for y as it was given; empty where
        there were too few rows, or one candidate, to choose.
    noise_ : float
        The variance of the noise, in units of the variance of y.
    process_ : dict of ndarray
        The numbers of the process, by name: logarithms of the ``scales``, the ``amplitude`` and the
        ``noise``, the ``points``, the ``weights`` of the mean and the ``roots`` of the variance.
    code_mean_, code_scale_ : ndarray of shape (bottleneck,)
        From where and in which unit codes are measured, with "both".
    latent_mean_ : ndarray of shape (outputs,)
        The mean of the process.
    y_mean_, y_scale_ : ndarray of shape (outputs,)
        Mean and standard deviation of the targets.
    weights_, network_, objective_path_, validation_path_, input_scale_, axes_
        The same as for `NeuralKernelClassifier`.
    X_fit_, kernel_
        The same as for `KernelRidge`.

    Notes
    -----
    To learn the network and the process together by the likelihood of all rows overfits: the
    network makes the codes of the training rows so good that the process takes the noise for too
    small. Here the network sees four fifths of the rows. What it makes of the others is as good as
    what it makes of new rows, so that their likelihood gives the numbers of the process, which is
    then conditioned on all rows. To choose, half of the unseen rows give the numbers and the other
    half is predicted.

    A fit takes O(n³) operations up to 3,000 rows, and with m inducing points O(n m²) for more; a
    prediction reads rows by batches, so that its memory does not grow with them.

    References
    ----------
    Wilson, Hu, Salakhutdinov & Xing, "Deep kernel learning", AISTATS 2016.
    Ober, Rasmussen & van der Wilk, "The promises and pitfalls of deep kernel learning", UAI 2021.
    Titsias, "Variational learning of inducing variables in sparse Gaussian processes", AISTATS
    2009.

    Examples
    --------
    >>> from mercer.deep import DeepKernelRegressor
    >>> X = np.linspace(-3, 3, 120)[:, None]
    >>> y = np.abs(X[:, 0])
    >>> model = DeepKernelRegressor(n_jobs=1, epochs=40, random_state=0).fit(X, y)
    >>> mean, std = model.predict([[-1.0], [20.0]], return_std=True)
    >>> bool(abs(mean[0] - 1) < 0.1), mean.shape == std.shape, sorted(model.held_likelihood_)
    (True, True, ['both', 'network', 'process'])
    """

    _: KW_ONLY

    fitted_by = "chosen_"

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any) -> Self:
        """Fit to samples X (n) and targets y of shape (n,) or (n, n_targets)."""
        self._check_parameters()
        training = self.make_training(X, y)
        distinct = self._distinct(training, training.y)
        Y = training.y[distinct.rows].reshape(len(distinct.rows), -1).astype(np.float64)
        scale = Standardised.of(Y, distinct.weights)
        self.y_mean_, self.y_scale_ = scale.mean * scale.unit, scale.spread * scale.unit
        self.one_target_ = training.y.ndim == 1
        self._fit_deep(distinct, scale(Y), NumberTargets())
        unit = float(np.log(self.y_scale_).sum())
        self.held_likelihood_ = {k: v - unit for k, v in self.held_likelihood_.items()}
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Means of y at the rows of X, (n,) or (n, n_targets).

        Also standard deviations of the same shape, with ``return_std``: of a new observation, its
        noise among them.
        """
        mean, std = self._predicted(X)
        return (mean, std) if return_std else mean

    @finite_values
    def _predicted(self, X: Any) -> Any:
        means, variances = self._moments(X)
        mean = self.y_mean_ + self.y_scale_ * means
        std = self.y_scale_ * np.sqrt(variances + self.noise_)
        both = np.stack([mean[:, 0], std[:, 0]] if self.one_target_ else [mean, std])
        return both.astype(
            np.float32 if self.X_fit_.dtype == np.float32 else np.float64, copy=False
        )
