"""scikit-learn estimators: each is a few lines over a Gram operator and a solver.

The estimators themselves are names of `mercer`; here is what a learner of your own is made of.
"""

from mercer.learners.base import FitPath, KernelLearner, Training

__all__ = ["FitPath", "KernelLearner", "Training"]
