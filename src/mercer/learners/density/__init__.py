"""Clusters of rows that lie close together, and rows that stand for them, under any distance."""

from mercer.learners.density.hdbscan import HDBSCAN
from mercer.learners.density.kmedoids import KMedoids

__all__ = ["HDBSCAN", "KMedoids"]
