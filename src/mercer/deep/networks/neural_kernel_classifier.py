"""Classification and regression by a hybrid neural-kernel network."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.base import MultiOutputMixin
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if

from mercer.deep.networks.inputs import Standardised
from mercer.deep.networks.neural_kernel import NeuralKernel
from mercer.estimator import estimator
from mercer.learners.base import (
    OutputClassifier,
    Regressor,
    encode_classes,
    finite_fit,
    finite_values,
    weigh_classes,
)
from mercer.samples import Samples, SamplesLike


@estimator
class NeuralKernelRegressor(MultiOutputMixin, Regressor, NeuralKernel):
    r"""Regression by a hybrid network: as `NeuralKernelClassifier`, with the squared loss:

    .. math:: \min \, \sum_i \tfrac12 (y_i - f(x_i))^2

    y is in units of its standard deviation, and several targets are summed.

    Parameters
    ----------
    trained : {"all", "last"}, default="all"
        "last" leaves the blocks as they are drawn. With the squared loss the solution is then ridge
        regression on their features, in closed form.

    Attributes
    ----------
    y_mean_, y_scale_ : ndarray of shape (outputs,)
        Mean and standard deviation of the targets.
    n_iter_ : int
        The best epoch, counted from 1.

    Notes
    -----
    With ``trained="last"`` it is ridge regression on the features of blocks that are drawn, in
    closed form.

    References
    ----------
    Mehrkanoon & Suykens, "Deep hybrid neural-kernel networks using random Fourier features",
    Neurocomputing 298, 2018.

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

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
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
    def predict(self, X: SamplesLike) -> np.ndarray:
        """Answers for the rows of X, (n,) or (n, n_targets)."""
        f = self._network_outputs(X)
        f = self.y_mean_ + self.y_scale_ * f
        f = f.astype(np.float32 if self.X_fit_.dtype == np.float32 else np.float64, copy=False)
        return f[:, 0] if self.one_target_ else f


LOSSES = ("cross_entropy", "hinge", "squared")


@estimator
class NeuralKernelClassifier(OutputClassifier, NeuralKernel):
    r"""Classification by a hybrid network: blocks of a fully connected layer and an explicit layer
    of kernel features,

    .. math:: h_l = W_l x_{l-1} + b_l, \quad φ_l = \frac{1}{\sqrt D}
              [\cos(Ω_l h_l / σ_l), \sin(Ω_l h_l / σ_l)], \quad
              x_l = [φ_l, h_l / (s_l \sqrt{width})],

    and a linear layer f on top, trained together: they minimise

    .. math:: \frac{α}{2} \sum_l \|W_l\|_F^2 + \frac1n \sum_i L(y_i, f(x_i)).

    The frequencies Ω are drawn once, so that :math:`φ^\top φ'` is a kernel of h; what is learnt is
    the W, the b and the length scales σ. It is a kernel machine in its primal form, whose kernel is
    learnt by gradients.

    Runs on torch, which ``pip install "mercer[torch]"`` installs.

    Parameters
    ----------
    loss : {"cross_entropy", "hinge", "squared"}, default="cross_entropy"
        L: -log P(y), the hinge loss of a support vector machine, or the squared loss of a least
        squares one. The latter two compare f with 1 for the class of a row and -1 for others.
    trained : {"all", "last"}, default="all"
        "last" leaves the blocks as they are drawn. With the squared loss the solution is then ridge
        regression on their features, in closed form.
    class_weight : dict or "balanced", optional
        Weight of each class, a factor of its rows' weights.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        The best epoch, counted from 1.

    Notes
    -----
    A row of weight w is w rows, and neither copies nor the order of rows change the network, except
    where centres are drawn: only different rows are trained on, in an order that their hashes give.

    Ctrl-C ends training; the network of the best epoch stays. A fitted network is saved as plain
    arrays, without code.

    References
    ----------
    Mehrkanoon & Suykens, "Deep hybrid neural-kernel networks using random Fourier features",
    Neurocomputing 298, 2018.
    Mehrkanoon, "Deep neural-kernel blocks", Neural Networks 116, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.deep import NeuralKernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NeuralKernelClassifier(n_jobs=1, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9), model.predict_proba(X[:4]).shape
    (True, (4, 3))

    A network on strings:

    >>> from mercer.kernels import Spectrum
    >>> words = ["abab", "baba", "abba", "cdcd", "dcdc", "cddc"]
    >>> model = NeuralKernelClassifier(kernel=Spectrum(2), n_jobs=1, random_state=0)
    >>> model.fit(words, [0, 0, 0, 1, 1, 1]).predict(["ababab", "cdcdcd"])
    array([0, 1])
    """

    _: KW_ONLY
    loss: str = "cross_entropy"
    trained: str = "all"  # pyright: ignore[reportIncompatibleVariableOverride]
    class_weight: Any = None

    @finite_fit
    def fit(self, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to samples X (n) and classes y (n); ``sample_weight`` has one number >= 0 a row."""
        self._check_parameters()
        if self.loss not in LOSSES:
            raise ValueError(f'loss={self.loss!r}: give "cross_entropy", "hinge" or "squared".')
        training = self.make_training(X, y, sample_weight, numeric=False)
        y = column_or_1d(training.y, warn=True)
        if self.class_weight is not None:
            training = training.weighed(weigh_classes(self.class_weight, y, training.weights))
            y = column_or_1d(training.y)
        classes, codes = encode_classes(y)
        self.classes_ = classes
        distinct = self._distinct(training, codes)
        codes = codes[distinct.rows]
        columns = [1] if len(classes) == 2 else range(len(classes))
        Y = np.where(codes[:, None] == np.array(columns), 1.0, -1.0)
        self._fit_network(distinct, Y, self.loss, codes)
        return self

    @finite_values
    def _outputs(self, X: Samples) -> np.ndarray:
        return self._network_outputs(X)

    @available_if(lambda self: self.loss == "cross_entropy")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes in the order of ``classes_``, (q, n_classes); only with
        ``loss="cross_entropy"``."""
        f = self._outputs(X)
        if f.shape[1] > 1:
            return softmax(f, axis=1)
        return np.column_stack([expit(-f[:, 0]), expit(f[:, 0])])
