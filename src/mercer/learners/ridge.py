"""Kernel ridge regression."""

from __future__ import annotations

from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.learners.base import KernelLearner
from mercer.solvers import CholeskySolver

__all__ = ["KernelRidge"]


class KernelRidge(MultiOutputMixin, RegressorMixin, KernelLearner):
    """Kernel ridge regression."""

    def __init__(self, alpha=1.0, *, kernel="linear", gamma=None, memory=None, n_jobs=None):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.memory = memory
        self.n_jobs = n_jobs

    def _kernel_arguments(self):
        return {"gamma": self.gamma}

    def fit(self, X, y):
        """Fit."""
        X = self._encode_fit(X, y)
        K = self._gram(X)
        # minimise |y - K a|² + λ aᵀK a   =>   (K + λI) a = y
        self.dual_coef_ = CholeskySolver(self.alpha).solve(K, y).coef
        return self

    def predict(self, X):
        """Predict."""
        X = self._encode_new(X)
        return self._gram(X, self.X_fit_) @ self.dual_coef_
