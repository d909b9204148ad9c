"""scikit-learn estimators: each is a few lines of code over a Gram operator and a solver.

Import the estimators from `mercer`, and those for special tasks from the rooms here; import from
here what you need to write your own learner. The rooms: base (what all share), ridge (also
logistic), margin (support vector machines), spectral (PCA, CCA, discriminant, clusters), features
(Nyström and random maps), neighbours, density (clusters), neighbourhoods (learnt), windows
(Parzen), metrics (learnt distances), perceptrons, many_kernels and additive (sums of functions of
columns).
"""

from mercer.learners.base import FitPath, FitsInParts, KernelLearner, PartFit, Survey, Training

__all__ = ["FitPath", "FitsInParts", "KernelLearner", "PartFit", "Survey", "Training"]
