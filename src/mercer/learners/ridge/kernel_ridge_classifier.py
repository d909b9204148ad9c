"""Classification by kernel ridge regression on class indicators."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.estimator import estimator
from mercer.learners.base import (
    Classifier,
    FitPath,
    FitsInParts,
    KernelSum,
    Training,
    check_labels,
    finite_fit,
    weigh_classes,
)
from mercer.learners.ridge.in_parts import RidgeClassificationParts
from mercer.learners.ridge.ridge_learner import RidgeLearner
from mercer.samples import SamplesLike
from mercer.solvers import Result
from mercer.streams import fit_stream


@estimator
class KernelRidgeClassifier(Classifier, RidgeLearner, FitsInParts):
    r"""Classification by kernel ridge regression on targets +1 (the class) and -1 (the others).

    .. math:: f_c(x) = \sum_i α_{ic} \, k(x_i, x), \qquad (K + λ I) \, α_c = y_c, \qquad
              \hat y(x) = \arg\max_c f_c(x) .

    Two classes give one regression, more give one for each class; the class of the largest
    output wins. It is the counterpart of scikit-learn's RidgeClassifier, and far cheaper to fit
    than a support vector machine: all classes share one factorisation.

    Parameters
    ----------
    alpha : float >= 0 or "auto", default=1.0
        λ, the same for all classes. "auto" chooses the one of 19 penalties from 1e-8 n to 10 n with
        the least squared leave-one-out error, which costs about one fit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    intercept_ : float or ndarray of shape (n_classes,)
        The constant of each output; with ``alpha="auto"`` the mean of the targets.

    Examples
    --------
    >>> from mercer import KernelRidgeClassifier
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["same", "other", "other", "same"]
    >>> model = KernelRidgeClassifier(alpha=0.1, kernel="rbf", gamma=1.0).fit(X, y)
    >>> model.predict([[0.1, 0.9], [0.9, 0.9]])
    array(['other', 'same'], dtype='<U5')
    """

    _: KW_ONLY
    fit_intercept: bool = True
    class_weight: Any = None

    fitted_by = "intercept_"

    @finite_fit
    def fit(
        self,
        X: SamplesLike,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        fit_path: FitPath | None = None,
    ) -> Self:
        """Fit to samples X (n) and classes y (n), or to (n, labels) indicators 0 and 1."""
        training = self.make_training(X, y, sample_weight, numeric=False, fit_path=fit_path)
        y, w = training.y, training.weights
        check_labels(y)
        self.check_alpha()
        self.learn_classes(y)
        if not self._binarizer.y_type_.startswith("multilabel"):
            y = column_or_1d(y, warn=True)
        training = training._replace(y=y)
        if self.class_weight is not None:
            training = training.weighed(weigh_classes(self.class_weight, y, w))
        Y = self.indicators(training.y)
        self._fit_targets(training, Y, fit_path).conclude()
        return self

    @finite_fit
    def fit_chunks(self, chunks: Any, checkpoint: Any = None) -> Self:
        """Fit to a stream of samples with one class for each, as `KernelRidge.fit_chunks` does.

        Parameters
        ----------
        chunks : Chunks, or what it takes
        checkpoint : Checkpoint or path, optional
            A file from which the same fit goes on if it was killed, to the same last bit.

        Examples
        --------
        >>> from mercer import Chunks, KernelRidgeClassifier
        >>> x = np.linspace(0, 6, 1000)[:, None]
        >>> chunks = Chunks(x, np.where(np.sin(x[:, 0]) > 0, "up", "down"), rows=100)
        >>> model = KernelRidgeClassifier(1e-6, kernel="rbf", rank=30, random_state=0)
        >>> model.fit_chunks(chunks).predict([[1.5], [4.5]])
        array(['up', 'down'], dtype='<U4')
        """
        return fit_stream(self.part_fit(), chunks, checkpoint)

    def _fit_targets(self, training: Training, Y: np.ndarray, fit_path: FitPath | None) -> Result:
        """Set ``dual_coef_`` and ``intercept_`` for targets of shape (n, outputs).

        Minimise Σ w (y - K a - b)² + λ aᵀK a   =>   (K + λ W⁻¹) a = y - b.
        """
        outputs = Y.shape[1]
        if self.fit_intercept and self.alpha == "auto":
            b = np.average(Y, axis=0, weights=training.weights)
            result, _ = self._fit_dual(training, Y - b, fit_path)
            self.left_out_ += b
        elif self.fit_intercept:
            # a(y - b) = a(y) - b a(1), and an intercept makes the residuals λ W⁻¹ a sum to 0
            with_one = np.column_stack([Y, np.ones(len(Y))])
            result, sums = self._fit_dual(training, with_one, fit_path)
            b = self.find_intercepts(sums)
        else:
            result, _ = self._fit_dual(training, Y, fit_path)
            b = np.zeros(outputs)
        self.keep_intercepts(b)
        return result

    def find_intercepts(self, sums: np.ndarray) -> np.ndarray:
        """Intercepts (t,) from the residual sums (t + 1,) of all targets and of 1, which leaves the
        outputs."""
        if sums[-1] == 0:
            raise ValueError(
                f"alpha={self.alpha!r} leaves no error to find the intercept from: give "
                'alpha > 0, solver="cholesky" or fit_intercept=False.'
            )
        b = sums[:-1] / sums[-1]
        self._change_outputs(lambda a: a[..., :-1] - a[..., -1:] * b.astype(a.dtype))
        return b

    def keep_intercepts(self, b: np.ndarray) -> None:
        if len(b) == 1:
            self._change_outputs(lambda a: a[..., 0])
            if "left_out_" in vars(self):
                self.left_out_ = self.left_out_[:, 0]
        self.intercept_ = b if len(b) > 1 else float(b[0])  # last: the classifier is fitted now

    # --- rows in parts -------------------------------------------------------------------------

    def part_fit(self) -> RidgeClassificationParts:
        return RidgeClassificationParts(self)

    def check_alpha(self) -> None:
        """Raise ValueError if alpha is not one number for all classes."""
        if np.ndim(self.alpha):
            raise ValueError(f"alpha={self.alpha!r}: give a number; all classes share the penalty.")

    def learn_classes(self, y: np.ndarray) -> None:
        """The classes of labels y, which are those of all rows."""
        self._binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(y)
        self.classes_ = self._binarizer.classes_
        labels = not self._binarizer.y_type_.startswith("multilabel")
        if labels and len(self.classes_) < 2:
            (only,) = self.classes_.tolist()
            raise ValueError(
                f"y has one class, {only!r}, among the rows of positive "
                "weight: a classifier needs at least two."
            )

    def indicators(self, y: np.ndarray) -> np.ndarray:
        """+1 for the class and -1 for others, (n, outputs)."""
        return np.asarray(self._binarizer.transform(y), dtype=np.float64)

    def kernel_sum(self) -> KernelSum:
        found = super().kernel_sum()
        return replace(found, offset=np.broadcast_to(self.intercept_, found.offset.shape))

    def decision_function(self, X: SamplesLike) -> np.ndarray:
        """Outputs of the regressions: (n,), positive for ``classes_[1]``; or (n, n_classes)."""
        return self._evaluate(X) + self.intercept_

    def predict(self, X: SamplesLike) -> np.ndarray:
        """The class of each row; for indicators, (n, labels) of 0 and 1."""
        check_is_fitted(self)
        f = self.decision_function(X)
        if self._binarizer.y_type_.startswith("multilabel"):
            return np.asarray(self._binarizer.inverse_transform(np.where(f > 0, 1.0, -1.0)))
        best = (f > 0).astype(np.intp) if f.ndim == 1 else f.argmax(axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
