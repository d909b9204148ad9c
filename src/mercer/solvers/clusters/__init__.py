"""k-means in the feature space of a kernel."""

from mercer.solvers.clusters.kernel_kmeans import KMeansResult, KMeansSolver

__all__ = ["KMeansResult", "KMeansSolver"]
