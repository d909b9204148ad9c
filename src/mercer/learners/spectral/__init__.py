"""Learners on eigenvectors and sums of K: PCA, CCA, discriminant, clusters, statistics."""

from mercer.learners.spectral.pca import KernelPCA

__all__ = ["KernelPCA"]
