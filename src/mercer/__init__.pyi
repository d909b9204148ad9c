"""The public names, each from its home: `__init__.py` reads them here, and so do type checkers."""

import typing

from mercer import (
    datasets as datasets,
    dedup as dedup,
    deep as deep,
    distances as distances,
    distributed as distributed,
    explain as explain,
    gram as gram,
    kernels as kernels,
    learners as learners,
    link as link,
    plots as plots,
    samples as samples,
    search as search,
    solvers as solvers,
    speech as speech,
    testing as testing,
)
from mercer.dedup.documents import deduplicate as deduplicate
from mercer.environment import show_versions as show_versions
from mercer.learners.additive.classifier import AdditiveClassifier as AdditiveClassifier
from mercer.learners.additive.regressor import AdditiveRegressor as AdditiveRegressor
from mercer.learners.density.hdbscan import HDBSCAN as HDBSCAN
from mercer.learners.density.kmedoids import KMedoids as KMedoids
from mercer.learners.features.nystroem import Nystroem as Nystroem
from mercer.learners.features.random_features import RandomFeatures as RandomFeatures
from mercer.learners.features.series_features import (
    ConvolutionFeatures as ConvolutionFeatures,
    SignatureFeatures as SignatureFeatures,
    WarpingFeatures as WarpingFeatures,
)
from mercer.learners.many_kernels.multiple_kernel import (
    MultipleKernelClassifier as MultipleKernelClassifier,
    MultipleKernelRegressor as MultipleKernelRegressor,
)
from mercer.learners.margin.linear_machines import LinearSVC as LinearSVC, LinearSVR as LinearSVR
from mercer.learners.margin.svc import SVC as SVC, NuSVC as NuSVC, OneClassSVM as OneClassSVM
from mercer.learners.margin.svr import (
    SVR as SVR,
    KernelQuantileRegression as KernelQuantileRegression,
    NuSVR as NuSVR,
)
from mercer.learners.metrics.feature_machine import (
    FeatureMachineClassifier as FeatureMachineClassifier,
    FeatureMachineRegressor as FeatureMachineRegressor,
)
from mercer.learners.metrics.linear_metric import (
    LargeMarginNeighbours as LargeMarginNeighbours,
    NeighbourhoodComponents as NeighbourhoodComponents,
)
from mercer.learners.neighbourhoods.neighbourhood_regressor import (
    NeighbourhoodMachineClassifier as NeighbourhoodMachineClassifier,
    NeighbourhoodMachineRegressor as NeighbourhoodMachineRegressor,
)
from mercer.learners.neighbours.isomap import Isomap as Isomap
from mercer.learners.neighbours.knn_imputer import KNNImputer as KNNImputer
from mercer.learners.neighbours.label_spreading import LabelSpreading as LabelSpreading
from mercer.learners.neighbours.local_outliers import LocalOutlierFactor as LocalOutlierFactor
from mercer.learners.neighbours.local_process import (
    NeighbourGaussianProcess as NeighbourGaussianProcess,
)
from mercer.learners.neighbours.neighbour_classifier import (
    KNeighborsClassifier as KNeighborsClassifier,
    KNeighborsRegressor as KNeighborsRegressor,
)
from mercer.learners.neighbours.neighbour_embedding import NeighbourEmbedding as NeighbourEmbedding
from mercer.learners.neighbours.neighbour_learner import NearestNeighbors as NearestNeighbors
from mercer.learners.neighbours.radius_predictor import (
    RadiusNeighborsClassifier as RadiusNeighborsClassifier,
    RadiusNeighborsRegressor as RadiusNeighborsRegressor,
)
from mercer.learners.neighbours.stolp import Stolp as Stolp
from mercer.learners.onnx_graphs import to_onnx as to_onnx
from mercer.learners.perceptrons.kernel_perceptron import KernelPerceptron as KernelPerceptron
from mercer.learners.perceptrons.perceptron import Perceptron as Perceptron
from mercer.learners.ridge.gaussian_process import (
    GaussianProcessRegressor as GaussianProcessRegressor,
)
from mercer.learners.ridge.kernel_ridge import KernelRidge as KernelRidge
from mercer.learners.ridge.kernel_ridge_classifier import (
    KernelRidgeClassifier as KernelRidgeClassifier,
)
from mercer.learners.ridge.logistic import KernelLogisticRegression as KernelLogisticRegression
from mercer.learners.spectral.cca import KernelCCA as KernelCCA
from mercer.learners.spectral.discriminant import KernelDiscriminant as KernelDiscriminant
from mercer.learners.spectral.kmeans import KernelKMeans as KernelKMeans
from mercer.learners.spectral.pca import KernelPCA as KernelPCA
from mercer.learners.spectral.spectral_clustering import SpectralClustering as SpectralClustering
from mercer.learners.spectral.statistics import (
    alignment as alignment,
    effective_dimension as effective_dimension,
    hsic_test as hsic_test,
    mmd_test as mmd_test,
)
from mercer.learners.windows.density import KernelDensity as KernelDensity
from mercer.learners.windows.nadaraya_watson import (
    NadarayaWatson as NadarayaWatson,
    NadarayaWatsonClassifier as NadarayaWatsonClassifier,
)
from mercer.link.record_linkage import RecordLinkage as RecordLinkage
from mercer.persistence import load as load, save as save
from mercer.search.lsh import LSHIndex as LSHIndex
from mercer.search.minhash import MinHash as MinHash
from mercer.selection.automatic.estimators import (
    KernelClassifier as KernelClassifier,
    KernelRegressor as KernelRegressor,
)
from mercer.selection.elimination import RecursiveElimination as RecursiveElimination
from mercer.selection.grid.search import KernelSearchCV as KernelSearchCV
from mercer.streams.checkpoint import Checkpoint as Checkpoint
from mercer.streams.chunks import Chunks as Chunks

__version__: str

_native: typing.Any
