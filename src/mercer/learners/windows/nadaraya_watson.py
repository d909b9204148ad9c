"""Nadaraya-Watson regression and classification: means and shares of classes over windows, for any
distance, and local lines for vectors.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.distances import dense_rows
from mercer.estimator import estimator
from mercer.learners.base import (
    Classifier,
    Reasons,
    Regressor,
    encode_classes,
    finite_fit,
    finite_values,
    unit_of,
)
from mercer.learners.windows.learnt_width import LogLoss, Loss, SquaredErrors
from mercer.learners.windows.totals import Reduce
from mercer.learners.windows.window_learner import WindowLearner
from mercer.samples import Samples, SamplesLike, is_whole


@estimator
class NadarayaWatsonClassifier(Classifier, WindowLearner):
    r"""Nadaraya-Watson classification: the probability of a class is its share of a window,

    .. math:: p_c(x) = \frac{\sum_{i : y_i = c} w_i K(\rho(x, x_i) / h)}
        {\sum_i w_i K(\rho(x, x_i) / h)}.

    Samples are of any kind, with any distance or kernel between them. With ``width="learnt"`` and
    ``window="exponential"`` it is a softmax over the training rows, whose temperature and weights
    of columns or of several distances are learnt.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    errors_ : dict
        Mean of -log p of the right class, each row left out, for each width; only with "auto" and
        "learnt".
    left_out_ : ndarray of shape (n,)
        Probability of the right class of each row of positive weight without it; only with "auto"
        and "learnt".

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

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
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

    def left_out_values(self, X: Samples) -> Reduce:
        """The share of its own class alone, so that memory does not grow with the classes."""
        means, codes = self.means(X), self._targets.argmax(axis=1)

        def values(
            sums: np.ndarray, squares: np.ndarray, logs: np.ndarray, rows: slice
        ) -> np.ndarray:
            shares = means(sums, squares, logs, rows)
            return np.take_along_axis(shares, codes[rows, None], axis=1).clip(0, 1)

        return values

    def left_out_losses(self, values: np.ndarray) -> np.ndarray:
        losses = self.loss.values(values, np.ones((len(self._targets), 1)))
        return np.average(losses, 1, self._weights)

    @finite_values
    def predict_proba(self, X: SamplesLike) -> np.ndarray:
        """Probability of each class, in the order of ``classes_``; (n, classes)."""
        X = self.encode_new(X)
        shares = self.totals(X, self.X_fit_, self.widths, self.means(X))[0].clip(0, 1)
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, X: SamplesLike) -> np.ndarray:
        """The most probable class of each row, (n,)."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def signs(self, shares: np.ndarray) -> Any:
        chosen = (shares @ self._targets).argmax(axis=1)
        return np.where(self._targets.argmax(axis=1) == chosen[:, None], 1.0, -1.0)


@estimator
class NadarayaWatson(MultiOutputMixin, Regressor, WindowLearner):
    r"""Nadaraya-Watson regression, the mean of the targets over a window,

    .. math:: a(x) = \frac{\sum_i w_i K(\rho(x, x_i) / h) \, y_i}{\sum_i w_i K(\rho(x, x_i) / h)},

    or, with ``degree=1``, the value at x of the line that fits best there with these weights.

    Parameters
    ----------
    degree : {0, 1}, default=0
        0 is the mean. 1 is the local line, for vectors; it has less bias at the edges of the data.

    Attributes
    ----------
    errors_ : dict
        Mean squared leave-one-out error of each width; only with "auto" and "learnt".
    left_out_ : ndarray of the shape of y
        Prediction for each row of positive weight without it; only with "auto" and "learnt".

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

    See Also
    --------
    NadarayaWatsonClassifier : The same for classes.

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

    _: KW_ONLY
    degree: int = 0

    loss: ClassVar[Loss] = SquaredErrors

    @finite_fit
    def fit(self, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to samples X (n) and targets y of shape (n,) or (n, n_targets).

        ``sample_weight`` is a number or one per row, >= 0 and not all 0.
        """
        self.check_parameters()
        training = self.make_training(X, y, sample_weight)
        self._unit = unit_of(training.y)
        y = training.y.astype(np.float64) / self._unit
        if self.degree == 1 and not self.distance_.reads.coordinates:
            raise TypeError(
                f"degree=1 needs vectors, which {self.distance_!r} does not read: give degree=0."
            )
        self._flat, self._noise = y.ndim == 1, None
        rows = dense_rows(training.X) if self.degree else None
        left_out = self.learn(training, y.reshape(len(y), -1), rows)
        if left_out is not None:
            self.left_out_ = self._shaped(left_out)
            self.errors_ = {h: error * self._unit**2 for h, error in self.errors_.items()}
        self.keep_samples(training.X)
        return self

    def check_parameters(self) -> None:
        super().check_parameters()
        if not (is_whole(self.degree) and self.degree in (0, 1)):
            raise ValueError(f"degree={self.degree!r}: give 0 or 1.")

    # --- standard errors -----------------------------------------------------------------------

    def _noise_of_rows(self) -> np.ndarray:
        """The squared leave-one-out error of each row over its expectation for unit noise."""
        X, points = self.X_fit_, self._points(self.X_fit_)

        def noise(sums: np.ndarray, squares: np.ndarray, _: object, rows: slice) -> np.ndarray:
            here = None if points is None else points[rows]
            errors = self._targets[rows] - self._smoother.values(sums, here)
            spread = self._smoother.squared_weights(sums, squares, here)
            return errors**2 / (1 + spread)[:, None]

        return self.totals(X, X, self.widths, noise, left_out=True, Q=self._smoother.Q)[0]

    # --- new samples -----------------------------------------------------------------------------

    @finite_values
    def predict(self, X: SamplesLike, return_std: bool = False) -> Any:
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
            return self._shaped(self.totals(X, self.X_fit_, self.widths, self.means(X))[0])
        if self._noise is None:
            self._noise = self._noise_of_rows()
        points, t = self._points(X), self._targets.shape[1]

        def both(sums: np.ndarray, squares: np.ndarray, _: object, rows: slice) -> np.ndarray:
            here = None if points is None else points[rows]
            sums, noise = sums[:, :-t], sums[:, -t:] / sums[:, :1]
            spread = self._smoother.squared_weights(sums, squares, here)
            std = np.sqrt(noise * spread[:, None])
            return np.hstack([self._smoother.values(sums, here), std])

        V = np.hstack([self._smoother.V, self._weights[:, None] * self._noise])
        found = self.totals(X, self.X_fit_, self.widths, both, V=V, Q=self._smoother.Q)[0]
        return self._shaped(found[:, :t]), self._shaped(found[:, t:])

    def means(self, X: SamplesLike) -> Reduce:
        points = self._points(X)

        def values(sums: np.ndarray, squares: np.ndarray, _: object, rows: slice) -> np.ndarray:
            return self._smoother.values(sums, None if points is None else points[rows])

        return values

    def shares(self, X: Any) -> np.ndarray:
        self._check_means()
        return super().shares(X)

    def reasons(self, X: SamplesLike, most: int = 3) -> Reasons:
        self._check_means()
        return super().reasons(X, most)

    def _check_means(self) -> None:
        if self.degree:
            raise ValueError(
                "degree=1 is the value of a line, which is no mean of rows with shares: give "
                "degree=0."
            )

    def _points(self, X: SamplesLike) -> np.ndarray | None:
        return dense_rows(X) if self.degree else None

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        """The numbers in the unit of the targets; (n,) for one flat target."""
        return self._unit * (values[:, 0] if self._flat else values)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
