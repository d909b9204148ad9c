"""k-means in the feature space of a kernel."""

from mercer.solvers.clusters.kernel_kmeans import KMeansResult, KMeansSolver, careful_seeds

__all__ = ["KMeansResult", "KMeansSolver", "careful_seeds"]
