"""Kernel ridge regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import (
    FitPath,
    ScoreQuantiles,
    check_coverage,
    check_levels,
    finite_fit,
    is_auto,
)
from mercer.learners.ridge.ridge_learner import RidgeLearner
from mercer.threads import fitting


@estimator
class KernelRidge(MultiOutputMixin, RegressorMixin, RidgeLearner):
    r"""Kernel ridge regression: :math:`f(x) = \sum_i α_i k(x, x_i)` with

    .. math:: α = \arg\min \sum_i w_i (y_i - f(x_i))^2 + λ α^\top K α
                = (K + λ W^{-1})^{-1} y.

    Parameters of scikit-learn's KernelRidge have the same meaning here.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,) or (n, n_targets)
        α, of the rows of positive weight; with ``solver_ == "low_rank"`` at the centres alone.
    leaves_ : Leaves
        The tree, which says which rows are in which leaf; only with ``solver_ == "local"``.
    leaf_coef_ : ndarray of shape (leaves, rank) or (leaves, rank, n_targets)
        Coefficients of each leaf at the centres, in addition to those of its own rows; only with
        ``solver_ == "local"``.
    X_fit_ : encoded samples
        The samples that ``dual_coef_`` belongs to: the training samples, or the centres; with
        ``alpha="auto"`` and leaves, copies count as one.
    centres_ : ndarray of shape (rank,)
        Numbers of the centres among the rows of positive weight, or with leaves among ``X_fit_``;
        only with ``solver_`` "low_rank" or "local".
    kernel_ : Kernel
        The kernel, bound to the training samples.
    alpha_ : float
        The penalty that was chosen; only with ``alpha="auto"``.
    left_out_ : ndarray of the shape of y
        Prediction for each row of positive weight by the fit without it; only with
        ``alpha="auto"``.
    missed_ : ScoreQuantiles
        The quantiles of ``y - left_out_``, with which `predict_interval` works; only with
        ``alpha="auto"`` and one target.
    solver_, gram_ : str
        Descriptions of the solver and of the Gram matrix.
    residual_ : float
        Certificate: backward error (Cholesky) or relative residual (the others).
    n_iter_ : int

    Notes
    -----
    Weights mean repetition: weight 2 counts the row twice, weight 0 leaves it out. A singular
    system (for example alpha=0 and duplicate rows) gets the solution of minimum norm and a
    ConvergenceWarning. There is no intercept: centre y, or add a constant kernel.
    `mercer.solvers.EigenSolver` has leave-one-out predictions for many λ. Fits that differ in alpha
    alone share their work by ``path = model.new_path(alphas)`` and ``fit(X, y, fit_path=path)``,
    which `KernelSearchCV` does.

    The local machine replaces K by K̂, which is K for rows of one leaf and its low-rank
    approximation for rows of different ones (Snelson & Ghahramani, "Local and global sparse
    Gaussian process approximations", AISTATS 2007). The leaves halve the rows again and again along
    the direction in which the kernel's features of the centres vary most. With leaves of p rows a
    fit takes O(n p² / 3 + 2 n p · rank) operations: it grows with n, as that of low rank, and if
    near rows matter most, its error is close to the exact one. A prediction compares a sample with
    the centres and one leaf. With ``alpha="auto"``, 1,400 rows and two leaves choose the penalty.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 4.0])
    >>> model = KernelRidge(alpha=0.01, kernel="poly", degree=2, gamma=1.0).fit(X, y)
    >>> model.predict([[3.0]]).round(1), model.solver_
    (array([9.]), 'cholesky')
    """

    alpha: Any = 1

    @fitting
    @finite_fit
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, fit_path: FitPath | None = None
    ) -> Self:
        """Fit to samples X (n) and targets y of shape (n,) or (n, n_targets).

        ``sample_weight`` is a number or one per row, >= 0 and not all 0; ``fit_path`` is shared by
        fits that differ in alpha (see `new_path`).
        """
        training = self.make_training(X, y, sample_weight, fit_path=fit_path)
        # minimise Σ w (y - K a)² + λ aᵀK a   =>   (K + λ W⁻¹) a = y
        result, _ = self._fit_dual(training, training.y, fit_path)
        if is_auto(self.alpha) and training.y.ndim == 1:
            self.missed_ = ScoreQuantiles.of(training.y - self.left_out_, training.weights)
        result.conclude()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """f at the rows of X, of shape (n,) or (n, n_targets)."""
        return self._evaluate(X)

    def predict_quantiles(self, X: Any, quantiles: Any = (0.1, 0.5, 0.9)) -> np.ndarray:
        """Quantiles of the target of each row, (n, quantiles), in the order that is asked for.

        They are as far from f as those of what the fits without a row have missed of it, the same
        everywhere. For that ``alpha`` has to be "auto", and y to have one target. `KernelRegressor`
        learns where rows are farther off.
        """
        check_is_fitted(self)
        levels = check_levels("quantiles", quantiles)
        missed = vars(self).get("missed_")
        if missed is None:
            raise ValueError(
                f"alpha={self.alpha!r}: quantiles need what fits without a row predict for it, of "
                'one target: fit with alpha="auto" and y of shape (n,).'
            )
        return self.predict(X)[:, None] + missed(levels)

    def predict_interval(self, X: Any, coverage: Any = 0.9) -> np.ndarray:
        """Both ends of an interval that holds the target with probability ``coverage``, (n, 2).

        See `predict_quantiles`.

        Examples
        --------
        >>> from mercer import KernelRidge
        >>> x = np.linspace(0, 6, 50)[:, None]
        >>> y = np.sin(x[:, 0]) + np.resize([0.1, -0.1], 50)
        >>> KernelRidge("auto", kernel="rbf").fit(x, y).predict_interval([[1.5]], 0.8).shape
        (1, 2)
        """
        return self.predict_quantiles(X, check_coverage(coverage))
