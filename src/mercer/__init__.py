"""Mercer: learning from similarity. Any data, any kernel, any learner, any size.

The public names below are loaded on first use, so that ``import mercer`` costs almost nothing.
"""

from importlib import import_module as _import_module

__version__ = "0.1.0"

_import_module("mercer._native")  # an ImportError at once where it cannot work: it takes 2 ms

_HOME = {
    "AdditiveClassifier": "mercer.learners.additive.classifier",
    "AdditiveRegressor": "mercer.learners.additive.regressor",
    "ConvolutionFeatures": "mercer.learners.features.convolutions",
    "FeatureMachineClassifier": "mercer.learners.metrics.feature_machine",
    "FeatureMachineRegressor": "mercer.learners.metrics.feature_machine",
    "KNeighborsClassifier": "mercer.learners.neighbours.neighbour_classifier",
    "KNeighborsRegressor": "mercer.learners.neighbours.neighbour_classifier",
    "KernelCCA": "mercer.learners.spectral.cca",
    "KernelDensity": "mercer.learners.windows.density",
    "KernelDiscriminant": "mercer.learners.spectral.discriminant",
    "KernelKMeans": "mercer.learners.spectral.kmeans",
    "KernelLogisticRegression": "mercer.learners.ridge.logistic",
    "KernelPCA": "mercer.learners.spectral.pca",
    "KernelPerceptron": "mercer.learners.perceptrons.kernel_perceptron",
    "KernelQuantileRegression": "mercer.learners.margin.quantiles",
    "KernelRidge": "mercer.learners.ridge.kernel_ridge",
    "KernelRidgeClassifier": "mercer.learners.ridge.kernel_ridge_classifier",
    "KernelClassifier": "mercer.selection.automatic.classifier",
    "KernelRegressor": "mercer.selection.automatic.regressor",
    "KernelSearchCV": "mercer.selection.grid.search",
    "Checkpoint": "mercer.streams.checkpoint",
    "Chunks": "mercer.streams.chunks",
    "LSHIndex": "mercer.search.lsh",
    "LinearSVC": "mercer.learners.margin.linear_svc",
    "LinearSVR": "mercer.learners.margin.linear_svr",
    "MinHash": "mercer.search.minhash",
    "LocalOutlierFactor": "mercer.learners.neighbours.local_outliers",
    "NearestNeighbors": "mercer.learners.neighbours.neighbour_learner",
    "LargeMarginNeighbours": "mercer.learners.metrics.linear_metric",
    "MultipleKernelClassifier": "mercer.learners.many_kernels.multiple_kernel",
    "MultipleKernelRegressor": "mercer.learners.many_kernels.multiple_kernel",
    "NadarayaWatson": "mercer.learners.windows.nadaraya_watson",
    "NadarayaWatsonClassifier": "mercer.learners.windows.nadaraya_watson",
    "NeighbourGaussianProcess": "mercer.learners.neighbours.local_process",
    "NeighbourhoodComponents": "mercer.learners.metrics.linear_metric",
    "NeighbourhoodMachineClassifier": "mercer.learners.neighbourhoods.neighbourhood_regressor",
    "NeighbourhoodMachineRegressor": "mercer.learners.neighbourhoods.neighbourhood_regressor",
    "NuSVC": "mercer.learners.margin.svc",
    "NuSVR": "mercer.learners.margin.svr",
    "Nystroem": "mercer.learners.features.nystroem",
    "OneClassSVM": "mercer.learners.margin.one_class",
    "Perceptron": "mercer.learners.perceptrons.perceptron",
    "RadiusNeighborsClassifier": "mercer.learners.neighbours.radius_predictor",
    "RadiusNeighborsRegressor": "mercer.learners.neighbours.radius_predictor",
    "RandomFeatures": "mercer.learners.features.random_features",
    "SignatureFeatures": "mercer.learners.features.series_features",
    "WarpingFeatures": "mercer.learners.features.series_features",
    "SVC": "mercer.learners.margin.svc",
    "SVR": "mercer.learners.margin.svr",
    "Stolp": "mercer.learners.neighbours.stolp",
    "SpectralClustering": "mercer.learners.spectral.spectral_clustering",
    "deduplicate": "mercer.dedup.documents",
    "alignment": "mercer.learners.spectral.statistics",
    "effective_dimension": "mercer.learners.spectral.statistics",
    "hsic_test": "mercer.learners.spectral.statistics",
    "mmd_test": "mercer.learners.spectral.statistics",
    "show_versions": "mercer.environment",
    "save": "mercer.persistence",
    "load": "mercer.persistence",
    "kernels": "mercer.kernels",
    "learners": "mercer.learners",
    "datasets": "mercer.datasets",
    "dedup": "mercer.dedup",
    "deep": "mercer.deep",
    "distances": "mercer.distances",
    "distributed": "mercer.distributed",
    "gram": "mercer.gram",
    "solvers": "mercer.solvers",
    "search": "mercer.search",
    "samples": "mercer.samples",
    "speech": "mercer.speech",
    "plots": "mercer.plots",
    "testing": "mercer.testing",
}

# `mercer.testing` needs pytest, which a plain installation lacks
__all__ = sorted(name for name in _HOME if name != "testing")


def __getattr__(name):
    if name not in _HOME:
        return _import_module("mercer.renamed").old_name("mercer", name)
    module = _import_module(_HOME[name])
    value = module if _HOME[name] == f"mercer.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_HOME])
