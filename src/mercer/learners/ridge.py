"""Kernel ridge regression, and classification by regression on class indicators."""

from __future__ import annotations

from typing import Any

from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.learners.base import KernelLearner
from mercer.solvers import CholeskySolver

__all__ = ["KernelRidge"]


class KernelRidge(MultiOutputMixin, RegressorMixin, KernelLearner):
    """Kernel ridge regression."""

    _pairwise_callable = True

    def __init__(
        self,
        alpha=1,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        memory=None,
        n_jobs=None,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.memory = memory
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fit."""
        X = self._encode_fit(X, y)
        y = self._check_targets(X, y)
        w = self._check_weights(X, sample_weight)
        K = self._gram(X)
        # minimise Σ w (y - K a)² + λ aᵀK a   =>   (K + λ W⁻¹) a = y
        result = CholeskySolver(self.alpha).solve(K, y, w)
        result.warn_unless_converged("CholeskySolver", "backward error")
        self.dual_coef_ = result.coef.astype(K.dtype, copy=False)
        return self

    def predict(self, X):
        """Predict."""
        X = self._encode_new(X)
        return self._gram(X, self.X_fit_) @ self.dual_coef_
