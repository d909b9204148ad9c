"""Mercer: learning from similarity. Any data, any kernel, any learner, any size.

The public names below are loaded on first use, so that ``import mercer`` costs almost nothing.
"""

from importlib import import_module as _import_module

__version__ = "0.1.0"

_HOME = {
    "CoordinateDescentWeights": "mercer.learners.coordinate_weights",
    "FeatureMachineClassifier": "mercer.learners.feature_machine",
    "FeatureMachineRegressor": "mercer.learners.feature_machine",
    "KNeighborsClassifier": "mercer.learners.neighbour_classifier",
    "KNeighborsRegressor": "mercer.learners.neighbour_regressor",
    "KernelCCA": "mercer.learners.cca",
    "KernelDensity": "mercer.learners.density",
    "KernelDiscriminant": "mercer.learners.discriminant",
    "KernelKMeans": "mercer.learners.kmeans",
    "KernelLogisticRegression": "mercer.learners.logistic",
    "KernelPCA": "mercer.learners.pca",
    "KernelPerceptron": "mercer.learners.kernel_perceptron",
    "KernelRidge": "mercer.learners.ridge",
    "KernelRidgeClassifier": "mercer.learners.ridge_classifier",
    "KernelClassifier": "mercer.selection.automatic",
    "KernelRegressor": "mercer.selection.automatic",
    "KernelSearchCV": "mercer.selection.search",
    "LSHIndex": "mercer.search.lsh",
    "LinearSVC": "mercer.learners.linear_svc",
    "LinearSVR": "mercer.learners.linear_svr",
    "MinHash": "mercer.search.minhash",
    "LocalOutlierFactor": "mercer.learners.local_outliers",
    "NearestNeighbors": "mercer.learners.nearest_neighbours",
    "LargeMarginNeighbours": "mercer.learners.large_margin",
    "MultipleKernelClassifier": "mercer.learners.multiple_kernel",
    "MultipleKernelRegressor": "mercer.learners.multiple_kernel",
    "NadarayaWatson": "mercer.learners.nadaraya_watson",
    "NeighbourhoodComponents": "mercer.learners.neighbourhood_components",
    "NuSVC": "mercer.learners.svc",
    "NuSVR": "mercer.learners.svr",
    "OneClassSVM": "mercer.learners.one_class",
    "Perceptron": "mercer.learners.perceptron",
    "RadiusNeighborsClassifier": "mercer.learners.radius_classifier",
    "RadiusNeighborsRegressor": "mercer.learners.radius_regressor",
    "SVC": "mercer.learners.svc",
    "SVR": "mercer.learners.svr",
    "Stolp": "mercer.learners.stolp",
    "SpectralClustering": "mercer.learners.spectral_clustering",
    "alignment": "mercer.learners.statistics",
    "effective_dimension": "mercer.learners.statistics",
    "hsic_test": "mercer.learners.statistics",
    "mmd_test": "mercer.learners.statistics",
    "noise_features": "mercer.learners.noise_features",
    "show_versions": "mercer.environment",
    "save": "mercer.persistence",
    "load": "mercer.persistence",
    "kernels": "mercer.kernels",
    "learners": "mercer.learners",
    "datasets": "mercer.datasets",
    "deep": "mercer.deep",
    "distances": "mercer.distances",
    "gram": "mercer.gram",
    "solvers": "mercer.solvers",
    "search": "mercer.search",
    "samples": "mercer.samples",
    "plots": "mercer.plots",
    "testing": "mercer.testing",
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
