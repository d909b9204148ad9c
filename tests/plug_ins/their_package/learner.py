"""A learner: regression by any solver of (K + penalty / weights) a = y."""

from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from mercer.learners import KernelLearner
from their_package.solver import PlainConjugateGradient


class PlainRidge(RegressorMixin, KernelLearner):
    """f(x) = sum of a_i k(x, x_i) over the training samples x_i."""

    def __init__(self, kernel="rbf", solver=None, memory=None, n_jobs=None):
        self.kernel = kernel
        self.solver = solver
        self.memory = memory
        self.n_jobs = n_jobs

    def fit(self, X, y, sample_weight=None):
        training = self.make_training(X, y, sample_weight)
        targets = column_or_1d(training.y, warn=True)
        solver = self.solver or PlainConjugateGradient()
        result = solver.solve(self.make_gram(training.X), targets, training.weights)
        self.dual_coef_ = result.coef
        self.keep_support(training.X)
        result.conclude()
        return self

    def predict(self, X):
        return self.cross_gram(X) @ self.dual_coef_
