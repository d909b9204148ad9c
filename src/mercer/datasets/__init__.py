"""Data that are drawn, not loaded: the sets of images on which layers of kernels are compared."""

from mercer.datasets.convex_shapes import convex
from mercer.datasets.rectangle_outlines import rectangles

__all__ = ["convex", "rectangles"]
