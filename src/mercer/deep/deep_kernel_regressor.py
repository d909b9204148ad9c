"""Regression and classification by a deep kernel machine."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin
from sklearn.utils import column_or_1d

from mercer.deep.deep_kernel_machine import DeepKernelMachine
from mercer.deep.targets import ClassTargets, GaussianNumbers, GaussianOutputs, NumberTargets
from mercer.estimator import estimator
from mercer.learners.base import (
    Classifier,
    Regressor,
    check_flag,
    check_not_negative,
    encode_classes,
    finite_fit,
    is_auto,
    unit_of,
)
from mercer.samples import Samples, SamplesLike


@estimator
class DeepKernelMachineClassifier(Classifier, DeepKernelMachine, GaussianOutputs):
    r"""Classification by a deep kernel machine: as `DeepKernelMachineRegressor`, with

    .. math:: \max_μ \sum_i \log softmax(μ_i)_{y_i} - \tfrac12 tr(μ^\top K^{-1} μ)
              - \tfrac{C}{2} \log\det(I + K / C), \quad K = f_{L+1}(G_L),

    instead of the likelihood of numbers, for C classes.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)

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

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike) -> Self:
        """Fit to samples X (n) and classes y (n)."""
        self._check_parameters()
        training = self.make_training(X, y, numeric=False)
        classes, codes = encode_classes(column_or_1d(training.y, warn=True))
        Y = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
        result = self._fit_layers(training, ClassTargets(Y), 0.0)
        self.classes_ = classes
        result.conclude()
        return self


@estimator
class DeepKernelMachineRegressor(MultiOutputMixin, Regressor, DeepKernelMachine, GaussianNumbers):
    r"""Regression by a deep kernel machine: Gram matrices :math:`G_1, \ldots, G_L` that maximise

    .. math:: \log N(Y; 0, f_{L+1}(G_L) + σ^2 I)
              - \sum_{l=1}^{L} ν_l\, KL(N(0, G_l) \,\|\, N(0, f_l(G_{l-1}))),

    where :math:`G_0` holds the kernel between the samples and each layer f makes a kernel matrix
    of a Gram matrix. With ν → ∞ it is the Gaussian process of an infinitely wide network, whose
    kernel is f of f of …; with smaller ν the layers learn a representation of the samples.

    Parameters
    ----------
    noise : float >= 0 or "auto", default="auto"
        σ², in units of the variance of y (of 1 without ``normalize_y``). "auto" learns it together
        with an amplitude a of the outputs, whose covariance is then :math:`a f_{L+1}(G_L)`.
    normalize_y : bool, default=True
        Whether y is centred and divided by its standard deviation for the fit.

    Attributes
    ----------
    noise_, amplitude_ : float
        σ² and a, in units of the variance of y; a = 1 if σ² was given.
    y_mean_, y_scale_ : ndarray of shape (outputs,)

    Notes
    -----
    The objective is the limit of a deep Gaussian process whose layers and targets become wide
    together. Its ascent begins with steps that solve a Riccati equation for each layer
    (`mercer.solvers.riccati`) and ends with L-BFGS on Cholesky factors. It may have several maxima,
    except for linear layers: the fit starts at the infinitely wide network. A step takes
    O(depth n³) operations, or O(depth n m²) with inducing points, and the fit holds some
    16 + 20 depth matrices of n x n numbers, or four of n x m.

    Inducing points are training rows, pivots of the Cholesky factorisation of the first layer. Rows
    beyond them are predicted from them layer by layer, and the likelihood is Titsias' bound: so
    all rows as inducing points are the exact machine.

    With ``kernel="precomputed"`` k(x, x) of a new sample is not known. It is taken to be that of
    the training samples if they have all the same, and else that of x within their span.

    References
    ----------
    Yang, Robeyns, Milsom, Anson, Schoots & Aitchison, "A theory of representation learning gives a
    deep generalisation of kernel methods", ICML 2023.
    Titsias, "Variational learning of inducing variables in sparse Gaussian processes", AISTATS
    2009.

    Examples
    --------
    >>> from mercer.deep import DeepKernelMachineRegressor
    >>> X = np.linspace(-2, 2, 40)[:, None]
    >>> y = np.abs(X[:, 0])
    >>> model = DeepKernelMachineRegressor(kernel="rbf", gamma=1.0, dof=10).fit(X, y)
    >>> mean, std = model.predict([[-1.0], [1.05]], return_std=True)
    >>> bool(np.abs(mean - [1.0, 1.05]).max() < 0.02), model.grams_.shape
    (True, (3, 40, 40))
    """

    _: KW_ONLY
    noise: Any = "auto"
    normalize_y: bool = True

    fitted_by = "one_target_"

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike) -> Self:
        """Fit to samples X (n) and targets y of shape (n,) or (n, n_targets)."""
        self._check_parameters()
        check_flag("normalize_y", self.normalize_y)
        learnt = is_auto(self.noise)
        if not learnt:
            check_not_negative("noise", self.noise, ' or "auto"')
        training = self.make_training(X, y)
        Y = training.y.reshape(len(training.y), -1).astype(np.float64)
        mean, scale = np.zeros(Y.shape[1]), np.ones(Y.shape[1])
        if self.normalize_y:
            unit = unit_of(Y)
            mean, scale = Y.mean(axis=0), unit * (Y / unit).std(axis=0)
            # what is left of a constant column is rounding
            scale = np.where(scale > 1e-12 * np.abs(Y).max(axis=0), scale, 1.0)
        targets = NumberTargets((Y - mean) / scale, learnt)
        result = self._fit_layers(training, targets, 1.0 if learnt else float(self.noise))
        self.y_mean_, self.y_scale_ = mean, scale
        self.one_target_ = training.y.ndim == 1
        result.conclude()
        return self

    def _moments(self, X: Samples) -> tuple[np.ndarray, np.ndarray]:
        means, variances = self._outputs(X)
        return means, variances[:, None]
