"""Nadaraya-Watson classification: shares of the classes within windows, for any distance."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.estimator import estimator
from mercer.learners.base import encode_classes, finite_fit, finite_values
from mercer.learners.windows.learnt_width import LogLoss, Loss
from mercer.learners.windows.totals import Reduce
from mercer.learners.windows.window_learner import WindowLearner
from mercer.threads import fitting


@estimator
class NadarayaWatsonClassifier(ClassifierMixin, WindowLearner):
    r"""Nadaraya-Watson classification: the probability of a class is its share of a window,

    .. math:: p_c(x) = \frac{\sum_{i : y_i = c} w_i K(\rho(x, x_i) / h)}
        {\sum_i w_i K(\rho(x, x_i) / h)}.

    Samples are of any kind, with any distance or kernel between them. With ``width="learnt"`` and
    ``window="exponential"`` it is a softmax over the training rows, whose temperature and weights
    of columns or of several distances are learnt.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    width_ : float or None
        h; None where it is the distance to a neighbour.
    temperature_ : float
        :math:`\tau` of weights :math:`e^{-\tau \rho}`, for the exponential window, or
        :math:`e^{-\tau \rho^2}`, for the Gaussian one.
    weights_ : ndarray
        The weights of the distance; only with "learnt", if it has weights.
    errors_ : dict
        Mean of -log p of the right class, each row left out, for each width; only with "auto" and
        "learnt".
    left_out_ : ndarray of shape (n,)
        Probability of the right class of each row of positive weight without it; only with "auto"
        and "learnt".
    distance_ : Distance
        The distance; with "learnt", it has the weights that were learnt.
    algorithm_ : str
        How the nearest rows are found; only with ``n_neighbors``.
    rows_ : ndarray of shape (n,)
        Numbers of the rows of positive weight in the samples that were given.
    X_fit_ : encoded samples
        These rows.
    n_features_in_ : int

    Notes
    -----
    A prediction costs O(n m) distances for n queries and m rows, or one search for neighbours, and
    memory O(n + m) in addition to the tiles. Weights mean repetition, except that the number of
    neighbours counts rows. A sum over a window without end is measured from the nearest row, so
    that it is not 0 far away: there the nearest rows decide. The probability of a right class
    without any vote counts as 1e-7 in the loss.

    A kernel as ``metric=`` is the distance in its feature space; of a normalised kernel the
    Gaussian window is then :math:`e^{\tau' k(x, z)}` up to a factor, a softmax of the kernel.

    See Also
    --------
    NadarayaWatson : The same for numbers, with standard errors.
    KNeighborsClassifier : Votes of the k nearest, where k is chosen by accuracy.
    NeighbourhoodMachineClassifier : A softmax over the rows of a table, in a space that is learnt.

    References
    ----------
    Nadaraya, "On estimating regression", 1964; Goldberger et al., "Neighbourhood Components
    Analysis", NIPS 2004, for the loss of left-out rows under a softmax.

    Examples
    --------
    >>> from mercer import NadarayaWatsonClassifier
    >>> from mercer.distances import Edit, KernelDistance, Sum
    >>> from mercer.kernels import Spectrum
    >>> words = ["haus", "maus", "house", "mouse", "laus", "louse"]
    >>> languages = ["de", "de", "en", "en", "de", "en"]
    >>> rho = Sum([Edit(), KernelDistance(Spectrum(2))])
    >>> model = NadarayaWatsonClassifier("learnt", window="exponential", metric=rho)
    >>> model = model.fit(words, languages)
    >>> model.predict(["klaus", "blouse"]).tolist()
    ['de', 'en']
    >>> [words[i] for i in model.reasons(["klaus"], most=1).rows[0]]
    ['laus']
    """

    loss: ClassVar[Loss] = LogLoss

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X (n) and classes y (n,).

        ``sample_weight`` is a number or one per row, >= 0 and not all 0.
        """
        self.check_parameters()
        training = self.make_training(X, y, sample_weight, numeric=False)
        self.classes_, codes = encode_classes(column_or_1d(training.y, warn=True))
        left_out = self.learn(training, np.eye(len(self.classes_))[codes])
        if left_out is not None:
            self.left_out_ = left_out[:, 0]
        self.keep_samples(training.X)
        return self

    def left_out_values(self, X: Any) -> Reduce:
        """The share of its own class alone, so that memory does not grow with the classes."""
        means, codes = self.means(X), self._targets.argmax(axis=1)

        def values(sums: np.ndarray, squares: Any, logs: Any, rows: slice) -> np.ndarray:
            shares = means(sums, squares, logs, rows)
            return np.take_along_axis(shares, codes[rows, None], axis=1).clip(0, 1)

        return values

    def left_out_losses(self, values: np.ndarray) -> np.ndarray:
        losses = self.loss.values(values, np.ones((len(self._targets), 1)))
        return np.average(losses, 1, self._weights)

    @finite_values
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, in the order of ``classes_``; (n, classes)."""
        X = self.encode_new(X)
        shares = self.totals(X, self.X_fit_, self.widths, self.means(X))[0].clip(0, 1)
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row, (n,)."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def signs(self, shares: np.ndarray) -> Any:
        chosen = (shares @ self._targets).argmax(axis=1)
        return np.where(self._targets.argmax(axis=1) == chosen[:, None], 1.0, -1.0)
