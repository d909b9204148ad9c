"""scikit-learn estimators: each is a few lines of code over a Gram operator and a solver.

Import the estimators from `mercer`; import from here what you need to write your own learner.
"""

from mercer.learners.base import FitPath, KernelLearner, Training

__all__ = ["FitPath", "KernelLearner", "Training"]
