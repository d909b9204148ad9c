"""A machine for the search of `mercer.KernelClassifier` and `mercer.KernelRegressor`."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, cross_val_predict

from mercer.learners import KernelLearner
from mercer.machines import Candidate, Machine, MachineKind, Recipe

PENALTIES = (0.01, 0.1, 1.0, 10.0)


class OfScikitLearn(KernelLearner):
    """scikit-learn's KernelRidge on the Gram matrix of any kernel."""

    def __init__(self, kernel="rbf", memory=None, n_jobs=None):
        self.kernel = kernel
        self.memory = memory
        self.n_jobs = n_jobs

    def fit(self, X, Y, sample_weight=None, penalty=None):
        training = self.make_training(X, Y, sample_weight)
        K, Y, weights = self.make_gram(training.X).dense(), training.y, training.weights
        given = {} if weights is None else {"sample_weight": weights}
        folds, found = KFold(min(3, len(K)), shuffle=True, random_state=0), []
        for alpha in PENALTIES if penalty is None else (penalty,):
            ridge = KernelRidge(alpha=alpha, kernel="precomputed")
            left_out = cross_val_predict(ridge, K, Y, cv=folds, params=given)
            error = np.average(np.square(left_out - Y).sum(axis=1), weights=weights)
            found.append((error, ridge, left_out))
        _, ridge, self.left_out_ = min(found, key=lambda each: each[0])
        self.penalty_, self.dual_coef_ = ridge.alpha, ridge.fit(K, Y, **given).dual_coef_
        self.keep_support(training.X)
        return self


@dataclass
class TheirMachine(Machine):
    """What is fitted: outputs of rows, of which ``finish`` makes numbers or probabilities."""

    learner: OfScikitLearn
    finish: Any
    penalty: float
    kind = "training rows"

    def outputs(self, M):
        return self.learner.cross_gram(M) @ self.learner.dual_coef_

    def contributions(self, M, outputs):
        return self.learner.cross_gram(M).dense() * self.learner.dual_coef_[:, outputs].T

    def again(self, share=1.0):
        return Recipe("theirs", self.penalty)

    @property
    def stored(self):
        return np.arange(len(self.learner.dual_coef_))

    @property
    def description(self):
        return f"kernel ridge of scikit-learn, alpha = {self.penalty:g}"


class TheirKind(MachineKind):
    """What a search knows of such machines: what to try, how they are fitted, what that takes."""

    name, words, prefix = "theirs", "kernel ridge of scikit-learn", "theirs: "

    def candidates(self, settings):
        gaussian = Candidate("gaussian", machine=self.name)
        return [gaussian, replace(gaussian, scale=3.0)]

    def fit(self, recipe, task, kernel, X, y, weights):
        learner = OfScikitLearn(kernel, **recipe.place())
        learner.fit(X, task.targets(y), weights, recipe.penalty)
        finish = task.calibrate(learner.left_out_, y, weights)
        return TheirMachine(learner, finish, learner.penalty_)

    def seconds(self, finals, candidate, rows):
        return rows**2 * finals.entry(candidate) + 1e-10 * rows**3
