"""The automatic regressor."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import check_coverage, check_levels
from mercer.machines import Regression, SearchSettings, Task
from mercer.selection.automatic.automatic import AutomaticKernel
from mercer.selection.automatic.spread import learn_spread
from mercer.selection.automatic.target_scales import choose_scale, scale_named


@estimator
class KernelRegressor(RegressorMixin, AutomaticKernel):
    """Regression on table rows by a kernel machine that is chosen and tuned for them.

    Attributes and methods are those of `KernelClassifier`, without classes and probabilities, and
    one more: ``target_scale_``, the scale on which the target is fitted. Skewed, positive and
    bounded targets are fitted by their logarithm, square root, logit or ranks if left-out rows are
    predicted better, and a target that is never negative is never predicted to be.

    Parameters
    ----------
    metric : {"r2", "rmse", "mae"}, optional
        The default is "r2".
    target_scale : {None, "own", "logarithm", "square root", "logit", "ranks"}
        The scale on which the target is fitted; None chooses it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelRegressor(trials=2).fit(X, y)
    >>> bool(model.score(X, y) > 0.4)
    True
    """

    _: KW_ONLY
    target_scale: str | None = None

    task = "regression"

    def _read_target(self, y, n, order=None):
        return Regression.read(y, n, type(self).__name__)

    def _on_its_scale(self, settings: SearchSettings) -> Task:
        given = self.target_scale
        self.target_scale_ = (
            choose_scale(settings) if given is None else scale_named(given, settings.y)
        )
        if given is None and self.target_scale_.name:
            self.notices_.append(
                f"The target is fitted by its {self.target_scale_.name}, with which left-out rows "
                "are predicted better. Predictions are in its own units."
            )
        return self._scaled()

    def _learn_from_left_out(self, search, last):
        left_out, self.spread_ = last.left_out(), None
        if left_out is not None:
            given = search.settings
            self.spread_ = learn_spread(given, self.target_scale_, self.encoder_, *left_out)

    def _again(self, task: Task, y: np.ndarray) -> Task:
        self.target_scale_ = scale_named(self.target_scale_.name, y)
        return self._scaled()

    def _scaled(self) -> Task:
        return Regression(self.target_scale_, corrected=self.metric_ != "mae")

    def predict(self, X):
        """Predicted value of each row, (n,)."""
        return self._answers(X)

    def predict_quantiles(self, X, quantiles=(0.1, 0.5, 0.9)) -> np.ndarray:
        """Quantiles of the target of each row, (n, quantiles), in the order that is asked for.

        Parameters
        ----------
        X : table of n rows
        quantiles : list of numbers between 0 and 1
            About a share q of targets is below the quantile q.

        Notes
        -----
        They come from the residuals of rows that were left out of the fits of the search, divided
        by what is usual at such a row. Fits to all rows, as by `refit`, are a little better, so
        that the quantiles are rather too far apart. Rows that are unlike those of the fit may be
        farther off than the quantiles tell.
        """
        levels = check_levels("quantiles", quantiles)
        check_is_fitted(self)
        if self.spread_ is None:
            raise ValueError(
                f"this {type(self).__name__} does not know how far its predictions are off: it "
                "was fitted without a search, or with too little memory. Fit it again."
            )
        rows = self.encode_table(X)
        return self.spread_.quantiles(rows, self.predict(rows), levels)

    def predict_interval(self, X, coverage=0.9) -> np.ndarray:
        """The ends of an interval that holds the target of a row with probability ``coverage``.

        It is as likely that the target lies below as above. See `predict_quantiles`, which also
        says what it rests on.

        Returns
        -------
        ends : ndarray of shape (n, 2)
        """
        return self.predict_quantiles(X, check_coverage(coverage))
