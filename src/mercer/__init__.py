"""Mercer: learning from similarity. Any data, any kernel, any learner, any size.

The public names below are loaded on first use, so that ``import mercer`` costs almost nothing.
"""

from importlib import import_module as _import_module

__version__ = "0.1.0"

_HOME = {
    "KernelLogisticRegression": "mercer.learners.logistic",
    "KernelRidge": "mercer.learners.ridge",
    "KernelRidgeClassifier": "mercer.learners.ridge",
    "KernelClassifier": "mercer.selection.automatic",
    "KernelRegressor": "mercer.selection.automatic",
    "KernelSearchCV": "mercer.selection.search",
    "LinearSVC": "mercer.learners.linear_svm",
    "LinearSVR": "mercer.learners.linear_svm",
    "NuSVC": "mercer.learners.svm_classifiers",
    "NuSVR": "mercer.learners.svm_regressors",
    "OneClassSVM": "mercer.learners.one_class",
    "SVC": "mercer.learners.svm_classifiers",
    "SVR": "mercer.learners.svm_regressors",
    "show_versions": "mercer.environment",
    "save": "mercer.persistence",
    "load": "mercer.persistence",
    "kernels": "mercer.kernels",
    "distances": "mercer.distances",
    "gram": "mercer.gram",
    "plots": "mercer.plots",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    module = _import_module(_HOME[name])
    value = module if _HOME[name] == f"mercer.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_HOME])
